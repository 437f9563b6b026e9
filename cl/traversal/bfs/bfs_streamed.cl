/* bfs_streamed: breadth-first search of a graph whose arcs do not fit the memory of the device.
 *
 * Purpose   Only the levels and the parents are on the device. The host cuts the arcs into blocks,
 *           and sends those that have arcs of the frontier, level after level.
 *
 * Layout    A block has neighbouring arcs, and the offsets of the vertices that own them. A vertex
 *           with many arcs has parts of several blocks:
 *
 *             vertex    0     1                   2   3
 *             arcs      . . . | . . . . . . . . . | . | . .
 *             blocks    |       0       |     1      |  2  |
 *             offsets   0     3       8   of block 0: vertices 0 and 1
 *                       0             8   of block 1: vertex 1
 *
 *           flags[b] is set if block b has arcs of a vertex of the level just found. Blocks have
 *           firsts[b] and lasts[b], the vertices of their first and last arc; neither decreases.
 *
 * Parameters  those of traversal/bfs/results.h, and
 *             PYAPSP_WIDTH  4  work-items of a vertex
 *
 * Cost      For each level the transfer of its blocks, O(n) to flag the blocks of the next one, and
 *           a wait of the host. On a bus of 50 GB/s a level of all 2^31 arcs takes 0.17 s.
 *
 * Source    ours; arcs in blocks on disk: A. Kyrola, G. Blelloch, C. Guestrin, GraphChi, OSDI 2012.
 */
#include "common/peek.h"
#include "traversal/bfs/results.h"
#ifndef PYAPSP_WIDTH
#define PYAPSP_WIDTH 4
#endif

/* A work-item for each vertex. */
__kernel GROUP void bfs_streamed_start(__global int *levels, __global int *parents,
                                       const int source, const int n)
{
    const size_t v = get_global_id(0);
    if (v >= (size_t)n)
        return;
    clear_result(levels, parents, v, source);
}

/* WIDTH work-items for each vertex of a block: from those of a level, find vertices of the next. */
__kernel GROUP void bfs_streamed_find(__global const int *offsets, __global const int *heads,
                                      volatile __global int *levels, __global int *parents,
                                      const int vertex, const int vertices, const int level)
{
    const size_t row = get_global_id(0) / PYAPSP_WIDTH;
    if (row >= (size_t)vertices || PEEK_INT(&levels[vertex + row]) != level)
        return;
    const int end = offsets[row + 1];
    for (int a = offsets[row] + (int)(get_global_id(0) % PYAPSP_WIDTH); a < end; a += PYAPSP_WIDTH) {
        const int v = heads[a];
        if (atomic_cmpxchg(&levels[v], PYAPSP_INFINITY, level + 1) != PYAPSP_INFINITY)
            continue;
#if PYAPSP_PREDECESSORS
        parents[v] = vertex + (int)row;
#endif
    }
}

/* A work-item for each vertex: flag the blocks that have arcs of a level. */
__kernel GROUP void bfs_streamed_flag(__global const int *levels, __global const int *firsts,
                                      __global const int *lasts, __global int *flags, const int n,
                                      const int blocks, const int level)
{
    const size_t v = get_global_id(0);
    if (v >= (size_t)n || levels[v] != level)
        return;
    int low = 0, high = blocks; /* blocks before `low` begin at or before v */
    while (low < high) {
        const int middle = (low + high) / 2;
        if (firsts[middle] <= (int)v)
            low = middle + 1;
        else
            high = middle;
    }
    for (int b = low - 1; b >= 0 && lasts[b] >= (int)v; b--)
        atomic_or(&flags[b], 1);
}
