/* bfs_edge: breadth-first search, a work-item for each arc.
 *
 * Purpose   Levels, where every arc has length 1. A launch finds one level: every arc is read, and
 *           each arc from the previous level gives its head the new level, if it has none. All
 *           work-items do the same amount of work, whatever the degrees are.
 *
 * Layout    The graph as a list of arcs tails[a] -> heads[a], in the order of their tails. levels,
 *           marks and last: see levels.h.
 *
 *             work-item   0 1 2 3 4 5
 *             tails       0 0 0 1 3 3
 *             heads       1 2 5 0 1 4
 *
 * Parameters  those of levels.h
 *
 * Cost      A launch for each level, with m work-items; an atomic operation for each arc from a
 *           reached vertex.
 *           O(m D) for D levels.
 *
 * Source    Y. Jia, V. Lu, J. Hoberock, M. Garland, J. C. Hart, edge v. node parallelism for graph
 *           centrality metrics, GPU Computing Gems, Jade Edition, chapter 2, 2011.
 */
#include "traversal/bfs/levels.h"

__kernel GROUP void bfs_edge(__global const int *tails, __global const int *heads,
                             __global int *levels, __global int *marks, __global int *parents,
                             __global int *last, const int n, const int level, const long m)
{
    __local int some;
    const size_t a = get_global_id(0);
    if (get_local_id(0) == 0)
        some = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    int found = 0;
    if ((long)a < m && FOUND_BEFORE(marks, n, level)[tails[a]] == level - 1)
        found = claim(heads[a], tails[a], level, levels, FOUND_NOW(marks, n, level), parents);
    if (found)
        atomic_or(&some, 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0 && some)
        atomic_max(last, level);
}
