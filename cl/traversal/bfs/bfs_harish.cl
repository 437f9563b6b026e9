/* bfs_harish: breadth-first search with flags, two kernels for each level.
 *
 * Purpose   Levels, where every arc has length 1. Kernel 1: every vertex of the frontier sets the
 *           level of its neighbours that are not visited, and flags them as updated. Kernel 2:
 *           updated vertices become visited, and are the frontier of the next level. Two kernels
 *           are used so that a launch does not mix two levels.
 *
 * Layout    The graph: heads[first[v] .. first[v + 1]] are the neighbours of v. An int of each of
 *           these for every vertex:
 *             levels   the level, INFINITE as long as it is not known
 *             flags    3 rows of n: frontier, updated, visited
 *             parents  with PYAPSP_PREDECESSORS: the vertex from which each was found
 *           *last is the last level at which a vertex was found.
 *
 *             frontier  . 1 . .   kernel 1   updated  1 . 1 .   kernel 2   frontier  1 . 1 .
 *             visited   . 1 . .   -------->                     -------->  visited   1 1 1 .
 *
 * Parameters  those of traversal/bfs/results.h
 *
 * Cost      Two launches for each level, with n work-items; an atomic operation for each arc to a
 *           vertex that is not visited. O(n D + m) for D levels.
 *
 * Source    P. Harish, P. J. Narayanan, large graph algorithms on the GPU, in LNCS 4873, HiPC 2007,
 *           doi:10.1007/978-3-540-77220-0_21. There several work-items may write the same level and
 *           flag; here the one that sets the flag writes the level.
 */
#include "traversal/bfs/results.h"

__kernel GROUP void bfs_harish_start(__global int *levels, __global int *flags,
                                     __global int *parents, __global int *last, const int source,
                                     const int n)
{
    const size_t v = get_global_id(0);
    if (v >= (size_t)n)
        return;
    __global int *frontier = flags, *updated = frontier + n, *visited = updated + n;
    clear_result(levels, parents, v, source);
    frontier[v] = visited[v] = v == (size_t)source;
    updated[v] = 0;
    if (v == (size_t)source)
        *last = 0;
}

__kernel GROUP void bfs_harish_expand(__global const long *first, __global const int *heads,
                                      __global int *levels, __global int *flags,
                                      __global int *parents, const int n, const int level)
{
    const size_t v = get_global_id(0);
    if (v >= (size_t)n)
        return;
    __global int *frontier = flags, *updated = frontier + n;
    __global const int *visited = updated + n;
    if (!frontier[v])
        return;
    frontier[v] = 0;
    for (long a = first[v]; a < first[v + 1]; a++) {
        const int head = heads[a];
        if (visited[head] || atomic_xchg(&updated[head], 1))
            continue;
        levels[head] = level;
#if PYAPSP_PREDECESSORS
        parents[head] = v;
#endif
    }
}

__kernel GROUP void bfs_harish_update(__global int *flags, __global int *last, const int n,
                                      const int level)
{
    __local int some;
    const size_t v = get_global_id(0);
    __global int *frontier = flags, *updated = frontier + n, *visited = updated + n;
    if (get_local_id(0) == 0)
        some = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v < (size_t)n && updated[v]) {
        updated[v] = 0;
        frontier[v] = visited[v] = 1;
        atomic_or(&some, 1);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0 && some)
        atomic_max(last, level);
}
