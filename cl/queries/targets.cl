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

__kernel GROUP void find_targets(ARCS_ARGUMENTS, __global const int *sources, const int searches,
                                 __global const int *targets,
#if PYAPSP_PAIRS
                                 __global const int *starts,
#else
                                 const int count,
#endif
                                 SEARCH_ARGUMENTS, __global ulong *wanted,
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
    EACH_SEARCH(search, searches) {
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
            write_path(memory, target, state + USED, rows + 2 * (begin + i), paths, capacity);
#endif
        }
        FOR_REACHED(memory, n, v)
            memory.nodes[v].cost = PYAPSP_INFINITY;
        END_REACHED
    }
}
