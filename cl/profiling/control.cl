/* control: what scalar code and branches cost.
 *
 * Purpose   `profiling_rows` walks through the rows of a graph as kernels of graphs do: each operation
 *           is one of a single value, all data is in the first cache, and each branch can be
 *           predicted. `profiling_branches` has a branch that goes at random or always the same way:
 *           the difference is what a wrong prediction costs.
 *
 * Layout    ends: where the rows begin and end in `heads`; heads: places in `values`, of which none
 *           is above `bound`. All work-items do the same.
 *
 *               ends    0 8 16 ...          heads   5 2 7 1 6 3 0 4 | 2 1 ...
 *
 *           out of `profiling_rows`: the sum of each work-item. out of `profiling_branches`: the
 *           number that was stored last by each work-item, then the last number of each.
 *
 * Parameters  PYAPSP_STEPS   32   branches of a round
 *             PYAPSP_KNOWN   0    1: `profiling_turns` reads the bound of its loop once
 *
 * Cost      profiling_rows: in each round 8 operations for each head and 8 for each row, and 5 of the
 *           round: those that the probes count (pyapsp/profiling/probes/expressions.py).
 *           profiling_branches: PYAPSP_STEPS branches of a work-item in a round.
 *
 * Source    A. Fog, Optimization manuals 3: microarchitecture, chapter 3 (what a wrong prediction
 *           costs); F. Busato's thesis, Verona 2018, section 13.2 (a microbenchmark uses one
 *           component).
 */
#ifndef PYAPSP_STEPS
#define PYAPSP_STEPS 32
#endif
#ifndef PYAPSP_KNOWN
#define PYAPSP_KNOWN 0
#endif

__kernel void profiling_rows(__global const uint *ends, __global const uint *heads,
                             __global const uint *values, __global uint *out, const uint rows,
                             const uint bound, const int rounds)
{
    uint sum = 0;
    for (int round = 0; round < rounds; round++) {
        for (uint row = 0; row < rows; row++) {
            const uint end = ends[row + 1];
            for (uint arc = ends[row]; arc < end; arc++) {
                const uint value = values[heads[arc]];
                if (value > bound)
                    out[get_global_id(0)] = arc;
                sum += value;
            }
        }
    }
    out[get_global_id(0)] = sum;
}

/* The upper bit of the numbers of a linear congruential generator is as good as random. The first
 * number of each work-item is in the second half of `out`: branch predictors learn numbers that are
 * those of the launch before. The store is volatile, so that the branch remains one. */
__kernel void profiling_branches(__global volatile uint *out, const uint ways, const int rounds)
{
    const uint item = get_global_id(0), last = get_global_size(0) + item;
    uint number = out[last];
    for (int round = 0; round < rounds; round++) {
#pragma unroll
        for (int step = 0; step < PYAPSP_STEPS; step++) {
            number = number * 1664525u + 1013904223u;
            if (number >> 31 < ways)
                out[item] = number;
        }
    }
    out[last] = number;
}

/* One work-item. With PYAPSP_KNOWN 0 the bound of the loop is read in each turn: the store could change
 * it. */
__kernel void profiling_turns(__global uint *out, __global const uint *bound, const int rounds)
{
    for (int round = 0; round < rounds; round++) {
#if PYAPSP_KNOWN
        const uint end = *bound;
        for (uint turn = 0; turn < end; turn++)
#else
        for (uint turn = 0; turn < *bound; turn++)
#endif
            out[turn] = turn + round;
    }
}
