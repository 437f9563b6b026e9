/* device_matrix: the facts of a matrix of weights that is in the memory of a device.
 *
 * Purpose   What methods are suitable, and whether a number type holds the weights, depends on a few
 *           facts of a matrix: to copy it to the host for them would take longer than to solve it.
 *
 * Layout    The matrix has n x n values from `first` on. 0 and +infinity are no arcs. A group looks
 *           at `piece` values, and writes its facts:
 *
 *             counts  arcs | of weight 1 | loops | flags   4 longs of each group
 *             ends    smallest | largest                   2 values of each group, of its weights
 *                                                          and 0
 *             flags   1: +infinity   2: NaN or -infinity   4: a weight that is no whole number
 *
 * Parameters  PYAPSP_GROUP  64     work-items of a group, a power of two
 *             PYAPSP_VALUE  float  the type of the weights
 *             PYAPSP_FLOAT  1      whether it is a type of floats
 *
 * Cost      Each value is read once, those of the diagonal twice.
 *
 * Source    ours.
 */
#include "common/group_size.h"
#ifndef PYAPSP_VALUE
#define PYAPSP_VALUE float
#endif
#ifndef PYAPSP_FLOAT
#define PYAPSP_FLOAT 1
#endif
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

__kernel GROUP void device_matrix_facts(__global const PYAPSP_VALUE *matrix, const long first,
                                        const long n, const long piece, __global long *counts,
                                        __global PYAPSP_VALUE *ends)
{
    __local long arcs_of[PYAPSP_GROUP], ones_of[PYAPSP_GROUP], loops_of[PYAPSP_GROUP];
    __local int flags_of[PYAPSP_GROUP];
    __local PYAPSP_VALUE low_of[PYAPSP_GROUP], high_of[PYAPSP_GROUP];
    const int item = get_local_id(0);
    const long start = get_group_id(0) * piece, end = min(start + piece, n * n);
    long arcs = 0, ones = 0, loops = 0;
    int flags = 0;
    PYAPSP_VALUE low = 0, high = 0;
    for (long i = start + item; i < end; i += PYAPSP_GROUP) {
        const PYAPSP_VALUE value = matrix[first + i];
#if PYAPSP_FLOAT
        if (!(value > -INFINITY && value < INFINITY)) {
            flags |= value > 0 ? 1 : 2;
            continue;
        }
        flags |= value == floor(value) ? 0 : 4;
#endif
        arcs += value != 0;
        ones += value == 1;
        low = value < low ? value : low;
        high = value > high ? value : high;
    }
    /* the vertices whose loops are in the piece */
    for (long v = (start + n) / (n + 1) + item; v * (n + 1) < end; v += PYAPSP_GROUP) {
        const PYAPSP_VALUE value = matrix[first + v * (n + 1)];
#if PYAPSP_FLOAT
        loops += value != 0 && value < INFINITY;
#else
        loops += value != 0;
#endif
    }
    arcs_of[item] = arcs;
    ones_of[item] = ones;
    loops_of[item] = loops;
    flags_of[item] = flags;
    low_of[item] = low;
    high_of[item] = high;
    for (int half_way = PYAPSP_GROUP / 2; half_way > 0; half_way /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < half_way) {
            const int other = item + half_way;
            arcs_of[item] += arcs_of[other];
            ones_of[item] += ones_of[other];
            loops_of[item] += loops_of[other];
            flags_of[item] |= flags_of[other];
            low_of[item] = low_of[other] < low_of[item] ? low_of[other] : low_of[item];
            high_of[item] = high_of[other] > high_of[item] ? high_of[other] : high_of[item];
        }
    }
    if (item == 0) {
        const long group = get_group_id(0);
        counts[4 * group] = arcs_of[0];
        counts[4 * group + 1] = ones_of[0];
        counts[4 * group + 2] = loops_of[0];
        counts[4 * group + 3] = flags_of[0];
        ends[2 * group] = low_of[0];
        ends[2 * group + 1] = high_of[0];
    }
}
