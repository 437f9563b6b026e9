/* Levels and marks, shared by the breadth-first searches that need one launch for each level.
 *
 * levels[v] is the level of v, INFINITE before it is found. Searches access it only with atomic
 * operations. The vertices of the last launch are read from marks instead. It has two rows of n
 * ints, for even and odd levels: marks[level % 2][v] is `level` if v was found then. A launch reads
 * one row and writes the other, so nothing has to be cleared.
 *
 *     launch of level 5:   marks[0]  4 . 2 4 0 . .     read: vertices of level 4
 *                          marks[1]  . 3 5 . . 1 5     written: vertices of level 5
 *
 * *last is the last level at which a vertex was found. The search ends when a launch does not
 * change it.
 *
 * Macros are those of traversal/bfs/results.h.
 */
#ifndef TRAVERSAL_LEVELS_H
#define TRAVERSAL_LEVELS_H
#include "traversal/bfs/results.h"

/* The vertices that the last launch found, and those that this one finds. */
#define FOUND_BEFORE(marks, n, level) ((marks) + (size_t)(((level) + 1) % 2) * (n))
#define FOUND_NOW(marks, n, level) ((marks) + (size_t)((level) % 2) * (n))

/* Set the level of a vertex, unless it has one. Return whether this work-item set it. */
static inline int claim(const int v, const int u, const int level, __global int *levels,
                        __global int *now, __global int *parents)
{
    if (atomic_cmpxchg(&levels[v], INFINITE, level) != INFINITE)
        return 0;
    now[v] = level;
#if PYAPSP_PREDECESSORS
    parents[v] = u;
#endif
    return 1;
}

/* One work-item for each vertex. */
__kernel GROUP void levels_start(__global int *levels, __global int *marks, __global int *parents,
                                 __global int *last, const int source, const int n)
{
    const size_t v = get_global_id(0);
    if (v >= (size_t)n)
        return;
    clear_result(levels, parents, v, source);
    marks[v] = v == (size_t)source ? 0 : INFINITE;
    marks[n + v] = INFINITE;
    if (v == (size_t)source)
        *last = 0;
}

#endif /* TRAVERSAL_LEVELS_H */
