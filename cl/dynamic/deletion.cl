/* deletion: edges are marked in their rows, and the gaps are closed.
 *
 * Purpose   The rows of the tails of a batch are read once, and each neighbour is looked up in the
 *           table of the batch (batch.cl); or all rows are read, for edges from and to vertices that
 *           are deleted. A marked head is ~head. The edges behind the ones that remain fill the gaps
 *           before them (columns.cl), so that rows lose their order.
 *
 * Layout    See batch.h.
 *
 *             row        4 ~7 2 ~5 9 1      removed[r] = 2: four edges remain
 *             gaps         *    *           their slots, from begin[r] on
 *             fillers              * *
 *             row        4  9 2  1
 *
 * Parameters  those of blocks.h
 *
 * Cost      Two reads of the rows, one probe of the table for each of their edges, and for each edge
 *           that is deleted two atomics and the move of one edge. 7 to 10 launches.
 *
 * Source    F. Busato, thesis, University of Verona, 2018, section 18.2, algorithms 13 to 15,
 *           https://iris.univr.it/handle/11562/979445; O. Green, D. Bader et al., Hornet, HPEC
 *           2018, doi:10.1109/HPEC.2018.8547541. How edges are found and gaps are closed: ours.
 */
#include "dynamic/batch.h"

/* Mark the edges of rows that are in the table: ~head. `undo` takes the marks away. */
__kernel GROUP void deletion_mark(__global const uint4 *rows, __global int *state,
                                  __global const int *tails, __global const int *heads,
                                  __global const int *table, __global const uint *filter,
                                  volatile __global int *removed, const uint mask, const int undo,
                                  __global const uint4 *regions, ARENAS(int, edges))
{
    __local list_t list;
    set_list(&list, state + HELD);
    if (state[BAD] != INT_MAX)
        return;
    FOR_RUNS (run, &list, rows) {
        __global int *edge = ROW(edges, REGION(run.row.x), run.row.x);
        PREFETCH_SOUGHT(&run, &list, rows, edges, filter, mask);
        for (uint k = run.from; k < run.to; k++) {
            if (undo && edge[k] < 0) {
                edge[k] = ~edge[k];
            } else if (!undo
                       && found_in(table, filter, tails, heads, run.row, edge[k], mask) != EMPTY) {
                edge[k] = ~edge[k];
                atomic_inc(&removed[run.r]);
            }
        }
    }
}

/* Mark the edges from and to vertices that are to be deleted. */
__kernel GROUP void deletion_mark_vertices(__global const uint4 *rows, __global const int *state,
                                           __global const uchar *doomed,
                                           volatile __global int *removed,
                                           __global const uint4 *regions, ARENAS(int, edges))
{
    __local list_t list;
    set_list(&list, state + HELD);
    FOR_RUNS (run, &list, rows) {
        __global int *edge = ROW(edges, REGION(run.row.x), run.row.x);
        for (uint k = run.from; k < run.to; k++) {
            if (doomed[run.row.w] || doomed[edge[k]]) {
                edge[k] = ~edge[k];
                atomic_inc(&removed[run.r]);
            }
        }
    }
}

/* Give each row a part of the lists of gaps and fillers. begin[r]: its first place there. */
__kernel GROUP void deletion_divide(__global const uint4 *rows, volatile __global int *state,
                                    __global const int *removed, __global int *begin)
{
    __local int slots[WARP_SLOTS];
    const int count = state[TOUCHED];
    FOR_ALL (r, count) {
        const int own = r < (uint)count ? removed[r] : 0;
        const int place = device_scan_unordered(own, &state[REMOVED], slots);
        if (r < (uint)count)
            begin[r] = place;
    }
}

/* List the gaps among the first edges of each row, as many as remain, and the edges behind them
 * that fill the gaps: their slots, in any order. */
__kernel GROUP void deletion_gaps(__global const uint4 *rows, __global const int *state,
                                  __global const int *removed, __global const int *begin,
                                  volatile __global int *counts, __global uint *gaps,
                                  __global uint *fillers, __global const uint4 *regions,
                                  ARENAS(const int, edges))
{
    __local list_t list;
    set_list(&list, state + HELD);
    FOR_RUNS (run, &list, rows) {
        const uint r = run.r, lost = removed[r], kept = run.row.z - lost;
        __global const int *edge = ROW(edges, REGION(run.row.x), run.row.x);
        for (uint k = run.from; k < run.to && lost > 0; k++) {
            const int dead = edge[k] < 0;
            if (dead && k < kept)
                gaps[begin[r] + atomic_inc(&counts[2 * r])] = run.row.x + k;
            else if (!dead && k >= kept)
                fillers[begin[r] + atomic_inc(&counts[2 * r + 1])] = run.row.x + k;
        }
    }
}

/* Shorten the rows that lose edges. Other rows are left alone: their vertices may have been
 * deleted. */
__kernel GROUP void deletion_shorten(__global const uint4 *rows, __global const int *state,
                                     __global const int *removed, __global int *degree)
{
    const uint count = state[TOUCHED];
    FOR_ALL (r, count) {
        if (r < count && removed[r])
            degree[rows[r].w] = rows[r].z - removed[r];
    }
}
