/* device_rows: rows of distances that stay on the device, in the type that was asked for.
 *
 * Purpose   A method computes distances in its own type and layout. `device_rows_copy` copies them
 *           into the rows of an answer that is not downloaded. `device_rows_largest` finds the
 *           largest finite distances of these rows: they show whether the type holds all distances.
 *
 * Layout    A row of the method has `pitch` values, of which the first n are distances. Rows of the
 *           answer have n values.
 *
 *             method   3 7 U . .   pitch 5      answer   3.0 7.0 inf
 *                      0 U 2 . .                         0.0 inf 2.0
 *
 * Parameters  PYAPSP_FROM, PYAPSP_TO          float   types of the method and of the answer. For a
 *                                                     plain copy both are an unsigned integer; that
 *                                                     of the method may be wider, its low bits count
 *             PYAPSP_NONE_FROM, PYAPSP_NONE_TO   0    infinity in these types; the value of vertices
 *                                                     without a path is an argument
 *             PYAPSP_CONVERTS                    0    1 if the types, or these values, differ
 *             PYAPSP_HALF                        0    1 if the answer is of type half; then
 *                                                     PYAPSP_TO is not used
 *             PYAPSP_GROUP                       1    work-items of a group of device_rows_largest,
 *                                                     a power of two
 *
 * Cost      Each distance is read once by each kernel, and written once by the copy.
 *
 * Source    ours.
 */
#ifndef PYAPSP_FROM
#define PYAPSP_FROM uint
#endif
#ifndef PYAPSP_TO
#define PYAPSP_TO uint
#endif
#ifndef PYAPSP_NONE_FROM
#define PYAPSP_NONE_FROM 0
#endif
#ifndef PYAPSP_NONE_TO
#define PYAPSP_NONE_TO 0
#endif
#ifndef PYAPSP_CONVERTS
#define PYAPSP_CONVERTS 0
#endif
#ifndef PYAPSP_HALF
#define PYAPSP_HALF 0
#endif
#ifndef PYAPSP_GROUP
#define PYAPSP_GROUP 1
#endif
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

/* The work-items of dimension 0 share the values of a row, those of dimension 1 the rows. Infinity of
 * the answer is an argument, see cl/all_pairs/sparse/source_blocks.cl. */
__kernel void device_rows_copy(__global const PYAPSP_FROM *found, const long pitch,
#if PYAPSP_HALF
                               __global half *rows, const float infinity,
#else
                               __global PYAPSP_TO *rows, const PYAPSP_TO infinity,
#endif
                               const long first, const int count, const int n)
{
    for (long row = get_global_id(1); row < count; row += get_global_size(1))
        for (long v = get_global_id(0); v < n; v += get_global_size(0)) {
            const PYAPSP_FROM value = found[row * pitch + v];
            const long place = (first + row) * n + v;
#if PYAPSP_HALF
            vstore_half(value == PYAPSP_NONE_FROM ? infinity : (float)value, place, rows);
#elif PYAPSP_CONVERTS
            rows[place] = value == PYAPSP_NONE_FROM ? infinity : (PYAPSP_TO)value;
#else
            rows[place] = value;
#endif
        }
}

#if !PYAPSP_HALF
/* The largest finite value of each piece of the values, at least 0. A group takes the `piece` values
 * from first + group * piece on; all pieces together have `count` values. */
__kernel __attribute__((reqd_work_group_size(PYAPSP_GROUP, 1, 1))) void
device_rows_largest(__global const PYAPSP_TO *rows, __global PYAPSP_TO *largest, const long first,
                    const long count, const long piece)
{
    __local PYAPSP_TO found[PYAPSP_GROUP];
    const int item = get_local_id(0);
    const long start = get_group_id(0) * piece, end = min(start + piece, count);
    PYAPSP_TO most = 0;
    for (long v = start + item; v < end; v += PYAPSP_GROUP) {
        const PYAPSP_TO value = rows[first + v];
        if (value < PYAPSP_NONE_TO && value > most)
            most = value;
    }
    found[item] = most;
    for (int half_way = PYAPSP_GROUP / 2; half_way > 0; half_way /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < half_way && found[item + half_way] > found[item])
            found[item] = found[item + half_way];
    }
    if (item == 0)
        largest[get_group_id(0)] = found[0];
}
#endif
