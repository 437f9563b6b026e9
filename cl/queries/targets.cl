/* targets: the distances from sources to targets, and paths.
 *
 * Purpose   Many pairs of vertices. Pairs with one source are found by one search, which ends when all
 *           targets are found.
 *
 * Layout    Pairs are in the order of their sources: those of source s have the numbers starts[s] to
 *           starts[s + 1]. Without PYAPSP_PAIRS, each source has all `count` targets.
 *
 *             sources    7           | 2       |
 *             targets    3   9   1   | 9   4   |
 *             costs      c   c   c   | c   c   |
 *             rows       with PYAPSP_PREDECESSORS, place and length of each path in `paths`: 0 if there
 *                        is none, place -1 if there was no room
 *             counts     with PYAPSP_COUNTS, the number of shortest paths
 *
 *           wanted: for each work-item a bit for each vertex, as in queries/search.h
 *
 * Parameters  those of queries/search.h, and
 *             PYAPSP_PAIRS  1  0: each source has the same targets
 *
 * Cost      that of queries/search.h for each source, and O(1) for each target.
 *
 * Source    queries/search.h
 */
#ifndef PYAPSP_PAIRS
#define PYAPSP_PAIRS 1
#endif

#include "queries/search.h"

__kernel GROUP void find_targets(__global const long *first, __global const int *heads,
                                 __global const value_t *weights, __global const int *sources,
                                 const int searches, __global const int *targets,
#if PYAPSP_PAIRS
                                 __global const int *starts,
#else
                                 const int count,
#endif
                                 const int n, const value_t farthest, const int checks,
                                 __global node_t *nodes, __global entry_t *heaps,
                                 __global ulong *marks, __global ulong *wanted,
                                 volatile __global int *state, __global value_t *costs
#if PYAPSP_PREDECESSORS
                                 ,
                                 __global int *rows, __global int *paths, const int capacity
#endif
#if PYAPSP_COUNTS
                                 ,
                                 __global ulong *counts
#endif
)
{
    const memory_t memory = memory_of(nodes, heaps, marks, get_global_id(0), n);
    wanted += get_global_id(0) * words_of(n);
    for (;;) {
        const int search = atomic_inc(state + NEXT);
        if (search >= searches)
            return;
#if PYAPSP_PAIRS
        const int begin = starts[search], count = starts[search + 1] - begin;
        __global const int *mine = targets + begin;
#else
        const size_t begin = (size_t)search * count;
        __global const int *mine = targets;
#endif
        int waiting = 0;
        for (int i = 0; i < count; i++) {
            const ulong bit = LEFTMOST >> (mine[i] % 64);
            waiting += (wanted[mine[i] / 64] & bit) == 0;
            wanted[mine[i] / 64] |= bit;
        }
        search_from(sources[search], first, heads, weights, n, farthest, checks, memory, wanted,
                    waiting, state);
        for (int i = 0; i < count; i++) {
            const int target = mine[i];
            const value_t cost = memory.nodes[target].cost;
            costs[begin + i] = cost;
            wanted[target / 64] = 0;
#if PYAPSP_COUNTS
            counts[begin + i] = cost < PYAPSP_INFINITY ? memory.nodes[target].count : 0;
#endif
#if PYAPSP_PREDECESSORS
            int length = 0;
            if (cost < PYAPSP_INFINITY)
                for (int v = target; v != NONE; v = memory.nodes[v].before)
                    length++;
            const int place = room_for(state + USED, length, capacity);
            rows[2 * (begin + i)] = place;
            rows[2 * (begin + i) + 1] = length;
            if (place >= 0 && length > 0) {
                int end = place + length;
                for (int v = target; v != NONE; v = memory.nodes[v].before)
                    paths[--end] = v;
            }
#endif
        }
        FOR_REACHED(memory, n, v)
            memory.nodes[v].cost = PYAPSP_INFINITY;
        END_REACHED
    }
}
