/* bfs_virtual_warp: breadth-first search, LANES work-items for each vertex.
 *
 * Purpose   Levels, where every arc has length 1. A launch finds one level: LANES neighbouring
 *           work-items share the arcs of each vertex of the previous level. So other vertices do
 *           not wait for one with many arcs, and neighbouring work-items read neighbouring arcs.
 *
 * Layout    The graph: heads[first[v] .. first[v + 1]] are the neighbours of v. levels, marks and
 *           last: see levels.h.
 *
 *             work-items   0 1 2 3 | 4 5 6 7 | 8 ...             LANES = 4
 *             vertex       0         1         2
 *             arc          0 1 2 3   0 1 2 3   0 ...             then 4 5 6 7, ...
 *
 * Parameters  those of levels.h, and
 *             PYAPSP_LANES  1   work-items of a vertex: 1 is a work-item for each vertex
 *
 * Cost      A launch for each level, with n LANES work-items; an atomic operation for each arc from
 *           a reached vertex. O(n D + m) for D levels.
 *
 * Source    S. Hong, S. K. Kim, T. Oguntebi, K. Olukotun, PPoPP 2011, doi:10.1145/1941553.1941590.
 *           There lanes run in lock-step, and levels are written without atomics.
 */
#ifndef PYAPSP_LANES
#define PYAPSP_LANES 1
#endif

#include "traversal/bfs/levels.h"

__kernel GROUP void bfs_virtual_warp(__global const long *first, __global const int *heads,
                                     __global int *levels, __global int *marks,
                                     __global int *parents, __global int *last, const int n,
                                     const int level)
{
    __local int some;
    const size_t v = get_global_id(0) / PYAPSP_LANES;
    const int lane = get_global_id(0) % PYAPSP_LANES;
    if (get_local_id(0) == 0)
        some = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    int found = 0;
    if (v < (size_t)n && FOUND_BEFORE(marks, n, level)[v] == level - 1)
        for (long a = first[v] + lane; a < first[v + 1]; a += PYAPSP_LANES)
            found |= claim(heads[a], v, level, levels, FOUND_NOW(marks, n, level), parents);
    if (found)
        atomic_or(&some, 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0 && some)
        atomic_max(last, level);
}
