/* reduction: the sum of numbers, in the steps of a tuning for time and power.
 *
 * Purpose   The versions of table 15.7 and of section 13.5. All sums are modulo 2^32. Each launch
 *           writes a sum for each group; launches follow until one sum is left.
 *
 *             reduction_modulo   orig   neighbours are added by every 2nd, 4th, 8th, ... work-item,
 *                                       which a remainder decides
 *             reduction_index    v1.0   the same sums by the first work-items: a product in place
 *                                       of the remainder, and no warp with both paths but one
 *             reduction_strided  v2.0   few groups; a work-item first adds all numbers that are a
 *                                       grid apart, and the group then adds halves
 *                                v2.1   the same with vectors (PYAPSP_VECTOR 4)
 *             reduction_warps           as strided, with two barriers in place of log2(group): the
 *                                       first warp adds what the other warps have, and one
 *                                       work-item adds the sums of its lanes
 *
 * Layout    sums of a group in local memory, with 8 work-items
 *
 *             modulo, index   0+1 .   2+3 .   4+5 .   6+7 .       strided   0+4 1+5 2+6 3+7
 *                             0+..+3 .  . .   4+..+7  . .  .                0+..6   1+..7
 *                             0+....................+7                      0+...+7
 *
 * Parameters  PYAPSP_GROUP   64   work-items of a group: a power of two
 *             PYAPSP_VECTOR   1   numbers of a load in reduction_strided and reduction_warps
 *             PYAPSP_WARP     8   work-items of a warp, for reduction_warps; it divides the group
 *
 * Cost      Numbers are read once. modulo and index have log2(group) barriers for a number of each
 *           work-item, strided has as many for all numbers.
 *
 * Source    F. Busato, thesis, Verona 2018, sections 13.5 and 15.3.2,
 *           https://iris.univr.it/handle/11562/979445; after M. Harris, Optimizing parallel
 *           reduction in CUDA, 2007.
 */
#ifndef PYAPSP_GROUP
#define PYAPSP_GROUP 64
#endif
#ifndef PYAPSP_VECTOR
#define PYAPSP_VECTOR 1
#endif

#ifndef PYAPSP_WARP
#define PYAPSP_WARP 8
#endif

#if PYAPSP_VECTOR == 1
typedef uint numbers;
#define TOTAL(v) (v)
#elif PYAPSP_VECTOR == 2
typedef uint2 numbers;
#define TOTAL(v) ((v).x + (v).y)
#else
typedef uint4 numbers;
#define TOTAL(v) ((v).x + (v).y + (v).z + (v).w)
#endif

#define GROUP __attribute__((reqd_work_group_size(PYAPSP_GROUP, 1, 1)))

/* The sums of a group, first those of its work-items; and its result, the first sum. */
#define START(sum)                                                                                 \
    __local uint sums[PYAPSP_GROUP];                                                               \
    const int item = (int)get_local_id(0);                                                         \
    sums[item] = sum;                                                                              \
    barrier(CLK_LOCAL_MEM_FENCE)
#define END                                                                                        \
    if (item == 0)                                                                                 \
    out[get_group_id(0)] = sums[0]

/* Return the number of a work-item, 0 beyond the last. */
static inline uint number_of_item(__global const uint *in, const long n)
{
    const size_t place = get_global_id(0);
    return place < (size_t)n ? in[place] : 0;
}

/* Return what a work-item adds alone: all vectors that are a grid apart, and the rest. */
static inline uint sum_of_item(__global const uint *in, const long n)
{
    __global const numbers *vectors = (__global const numbers *)in;
    const size_t place = get_global_id(0), grid = get_global_size(0);
    const size_t whole = (size_t)n / PYAPSP_VECTOR;
    numbers sums = (numbers)(0);
    for (size_t i = place; i < whole; i += grid)
        sums += vectors[i];
    uint sum = TOTAL(sums);
    for (size_t i = whole * PYAPSP_VECTOR + place; i < (size_t)n; i += grid)
        sum += in[i];
    return sum;
}

__kernel GROUP void reduction_modulo(__global const uint *in, __global uint *out, const long n)
{
    START(number_of_item(in, n));
    for (int stride = 1; stride < PYAPSP_GROUP; stride *= 2) {
        if (item % (2 * stride) == 0)
            sums[item] += sums[item + stride];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    END;
}

__kernel GROUP void reduction_index(__global const uint *in, __global uint *out, const long n)
{
    START(number_of_item(in, n));
    for (int stride = 1; stride < PYAPSP_GROUP; stride *= 2) {
        const int first = 2 * stride * item;
        if (first < PYAPSP_GROUP)
            sums[first] += sums[first + stride];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    END;
}

__kernel GROUP void reduction_strided(__global const uint *in, __global uint *out, const long n)
{
    START(sum_of_item(in, n));
    for (int half_ = PYAPSP_GROUP / 2; half_ > 0; half_ /= 2) {
        if (item < half_)
            sums[item] += sums[item + half_];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    END;
}

__kernel GROUP void reduction_warps(__global const uint *in, __global uint *out, const long n)
{
    START(sum_of_item(in, n));
    if (item < PYAPSP_WARP) {
        uint sum = sums[item];
        for (int other = item + PYAPSP_WARP; other < PYAPSP_GROUP; other += PYAPSP_WARP)
            sum += sums[other];
        sums[item] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) {
        uint sum = sums[0];
        for (int lane = 1; lane < PYAPSP_WARP; ++lane)
            sum += sums[lane];
        out[get_group_id(0)] = sum;
    }
}
