/* apsp-bfs: a breadth-first search from every source, each by one work-item.
 *
 * Purpose   Distances where every arc has length 1. Only the sources are parallel. It is a
 *           baseline: the time of searching from all vertices without sharing any work.
 *
 * Layout    The graph: heads[first[v] .. first[v + 1]] are the neighbours of v.
 *           distances: a row of n values for each source, infinity before the launch.
 *           queues: a row of n ints for each source, the vertices in the order in which they are
 *           found. The neighbours of those between next and found are still to be visited:
 *
 *               | s | v v v | v v v v v v | . . . . . . . . |
 *                           ^ next        ^ found           n
 *
 *           predecessors (with PYAPSP_PREDECESSORS): rows of n ints, -9999 before the launch.
 *
 * Parameters  those of common/types.h with PYAPSP_WIDTH 1, and
 *             PYAPSP_PREDECESSORS  0   1: keep the vertex from which each was found
 *
 * Cost      n + m steps for each source.
 *
 * Source    D. Takafuji's thesis, 2020, section 3.4.1, where it is compared with the single-kernel
 *           Floyd-Warshall for the diameter and the average path length; chapter 3 as an article:
 *           doi:10.1002/cpe.5963.
 */
#ifndef PYAPSP_PREDECESSORS
#define PYAPSP_PREDECESSORS 0
#endif

#include "common/types.h"

__kernel void apsp_bfs(__global const long *first, __global const int *heads,
                      __global const int *sources, __global value_t *distances,
#if PYAPSP_PREDECESSORS
                      __global int *predecessors,
#endif
                      __global int *queues, const int n, const int count)
{
    const int s = get_global_id(0);
    if (s >= count)
        return;
    __global value_t *distance = distances + (size_t)s * n;
    __global int *queue = queues + (size_t)s * n;
    int found = 1;
    queue[0] = sources[s];
    distance[queue[0]] = 0;
    for (int next = 0; next < found; next++) {
        const int u = queue[next];
        const value_t further = distance[u] + 1;
        if (further >= PYAPSP_INFINITY)
            return; /* the type has no larger distance: other vertices stay at infinity */
        for (long a = first[u]; a < first[u + 1]; a++) {
            const int v = heads[a];
            if (distance[v] == PYAPSP_INFINITY) {
                distance[v] = further;
#if PYAPSP_PREDECESSORS
                predecessors[(size_t)s * n + v] = u;
#endif
                queue[found++] = v;
            }
        }
    }
}
