/* bfs_frontier: breadth-first search with a queue of the last level.
 *
 * Purpose   Levels, where every arc has length 1. A launch expands one level: LANES work-items share
 *           the arcs of each vertex of the queue, and append each vertex that they are the first to
 *           reach to the queue of the next level. Only vertices of the last level are read.
 *
 * Layout    The graph: heads[first[v] .. first[v + 1]] are the neighbours of v. queues, state and
 *           levels: see frontier_queues.h.
 *
 *             queue of level 2   7 2 9          work-items 0 1 | 2 3 | 4 5      LANES = 2
 *             queue of level 3   1 3 . .
 *
 * Parameters  those of frontier_queues.h, and
 *             PYAPSP_LANES  1   work-items of a vertex
 *
 * Cost      A launch for each level, an atomic operation for each arc, and one on the size of the
 *           queue for each vertex found. O(n + m) in all.
 *
 * Source    The parallel search with two frontiers in F. Busato's thesis, 2018, algorithm 4.
 */
#ifndef PYAPSP_LANES
#define PYAPSP_LANES 1
#endif

#include "traversal/bfs/frontier_queues.h"

__kernel GROUP void bfs_frontier(__global const long *first, __global const int *heads,
                                 __global int *levels, __global int *parents, __global int *queues,
                                 __global int *state, const int n, const int level, const int size)
{
    const size_t place = get_global_id(0) / PYAPSP_LANES;
    if (get_global_id(0) == 0)
        *SIZE_BEFORE(state, level) = 0;
    if (place >= (size_t)size)
        return;
    const int u = QUEUE_BEFORE(queues, n, level)[place];
    __global int *now = QUEUE_NOW(queues, n, level);
    const long to = first[u + 1];
    for (long a = first[u] + get_global_id(0) % PYAPSP_LANES; a < to; a += PYAPSP_LANES)
        if (claim(heads[a], u, level, levels, parents))
            now[atomic_inc(SIZE_NOW(state, level))] = heads[a];
}
