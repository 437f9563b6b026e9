/* columns: move the items of a column of edges: heads, weights, or properties.
 *
 * Purpose   An edge has an item in every column, at the same slot. Whatever an item is, it is
 *           copied: from the block of a row to another one, from a batch into rows, from the end of
 *           a row into its gaps, and between rows and compressed sparse rows (CSR).
 *
 * Layout    See blocks.h, and batch.h for the arrays of a batch. A column with items of 8 bytes:
 *
 *             arena 0    |item item item item|item item  .    .  |
 *             slot        0                   4
 *
 * Parameters  those of blocks.h, and
 *             PYAPSP_ITEM  uint  a type of the size of an item: uchar, ushort, uint, uint2, uint4,
 *                                uint8 or uint16
 *
 * Cost      One read and one write of each item, neighbouring work-items at neighbouring items;
 *           those of a batch are written where their rows end.
 *
 * Source    F. Busato, thesis, University of Verona, 2018, sections 18.2.4 to 18.2.6,
 *           https://iris.univr.it/handle/11562/979445
 */
#include "dynamic/batch.h"
#ifndef PYAPSP_ITEM
#define PYAPSP_ITEM uint
#endif

typedef PYAPSP_ITEM item_t;

/* Copy rows to their new blocks. state[counts + c] is the number of rows of class c. */
__kernel GROUP void column_move(__global const uint4 *moves, __global const int *state,
                                const int counts, __global const uint4 *regions, ARENAS(item_t, items))
{
    __local list_t list;
    set_list(&list, state + counts);
    FOR_RUNS (run, &list, moves) {
#if PYAPSP_AHEAD > 0
        PREFETCH_ROW_OF(row_soon(&run, &list, moves), items);
#endif
        __global const item_t *from = ROW(items, REGION(run.row.x), run.row.x);
        __global item_t *to = ROW(items, REGION(run.row.y), run.row.y);
        for (uint k = run.from; k < run.to; k++)
            to[k] = from[k];
    }
}

/* Write the items of a batch to their places in the rows of their tails. */
__kernel GROUP void column_write(__global const int *tails, __global const int *where,
                                 __global const item_t *values, __global const uint *place,
                                 const int count, __global const uint4 *regions,
                                 ARENAS(item_t, items))
{
    FOR_ALL (i, count) {
#if PYAPSP_AHEAD > 0
        PREFETCH(&place[tails[min(i + 2 * PYAPSP_AHEAD, (uint)count - 1)]]);
        const uint near = min(i + PYAPSP_AHEAD, (uint)count - 1);
        if (where[near] >= 0) {
            const uint first = place[tails[near]];
            PREFETCH(&ROW(items, REGION(first), first)[where[near]]);
        }
#endif
        if (i < (uint)count && where[i] >= 0) {
            const uint first = place[tails[i]];
            ROW(items, REGION(first), first)[where[i]] = values[i];
        }
    }
}

/* Write the items of a batch over those of all edges that are equal. */
__kernel GROUP void column_update(__global const uint4 *rows, __global const int *state,
                                  __global const int *tails, __global const int *heads,
                                  __global const int *table, __global const uint *filter,
                                  const uint mask, __global const item_t *values,
                                  __global const uint4 *regions, ARENAS(item_t, items),
                                  ARENAS(const int, edges))
{
    __local list_t list;
    set_list(&list, state + HELD);
    FOR_RUNS (run, &list, rows) {
        __global const int *edge = ROW(edges, REGION(run.row.x), run.row.x);
        __global item_t *item = ROW(items, REGION(run.row.x), run.row.x);
        for (uint k = run.from; k < run.to; k++) {
            const int i = found_in(table, filter, tails, heads, run.row, edge[k], mask);
            if (i != EMPTY)
                item[k] = values[i];
        }
    }
}

/* Repeat each item, for an edge and its reverse. */
__kernel GROUP void column_mirror(__global const item_t *values, __global item_t *both,
                                  const int count)
{
    FOR_ALL (i, count) {
        if (i < (uint)count)
            both[2 * i] = both[2 * i + 1] = values[i];
    }
}

/* Fill gaps. */
__kernel GROUP void column_fill(__global const uint *gaps, __global const uint *fillers,
                                const int count, __global const uint4 *regions,
                                ARENAS(item_t, items))
{
    FOR_ALL (i, count) {
        if (i < (uint)count && gaps[i] != NOWHERE) {
            const uint to = gaps[i], from = fillers[i];
            *ROW(items, REGION(to), to) = *ROW(items, REGION(from), from);
        }
    }
}

/* Close the gaps of rows in order: the items that stay keep their order. A group for each row; the
 * column of the heads, in which the gaps are marked, comes last. */
__kernel GROUP void column_squeeze(__global const uint4 *rows, __global const int *state,
                                   __global const int *removed, __global const uint4 *regions,
                                   ARENAS(item_t, items), ARENAS(const int, edges))
{
    __local int slots[WARP_SLOTS];
    const uint count = state[TOUCHED];
    for (uint r = get_group_id(0); r < count; r += get_num_groups(0)) {
        const uint4 row = rows[r];
        /* a vertex without edges has no place */
        const uint size = removed[r] ? row.z : 0, place = size ? row.x : 0;
        __global item_t *item = ROW(items, REGION(place), place);
        __global const int *edge = ROW(edges, REGION(place), place);
        uint kept = 0;
        for (uint low = 0; low < size; low += PYAPSP_GROUP) {
            const uint k = low + GROUP_PLACE;
            const int stays = k < size && edge[k] >= 0;
            item_t own;
            if (stays)
                own = item[k];
            int total;
            const int rank = group_rank(stays, &total, slots);
#if PYAPSP_GROUP > 1
            barrier(CLK_GLOBAL_MEM_FENCE); /* all have read */
#endif
            if (stays)
                item[kept + rank] = own;
            kept += total;
        }
    }
}

/* Copy rows from CSR: that of vertex v begins at first[v] - skipped. */
__kernel GROUP void column_load(__global const uint4 *rows, __global const int *state,
                                const int counts, __global const long *first, const long skipped,
                                __global const item_t *csr, __global const uint4 *regions,
                                ARENAS(item_t, items))
{
    __local list_t list;
    set_list(&list, state + counts);
    FOR_RUNS (run, &list, rows) {
        __global const item_t *from = csr + (first[run.row.w] - skipped);
        __global item_t *to = ROW(items, REGION(run.row.x), run.row.x);
        for (uint k = run.from; k < run.to; k++)
            to[k] = from[k];
    }
}

/* Copy rows to CSR. */
__kernel GROUP void column_pack(__global const uint4 *rows, __global const int *state,
                                const int counts, __global const long *first, __global item_t *csr,
                                __global const uint4 *regions, ARENAS(const item_t, items))
{
    __local list_t list;
    set_list(&list, state + counts);
    FOR_RUNS (run, &list, rows) {
        __global const item_t *from = ROW(items, REGION(run.row.x), run.row.x);
        __global item_t *to = csr + first[run.row.w];
        for (uint k = run.from; k < run.to; k++)
            to[k] = from[k];
    }
}
