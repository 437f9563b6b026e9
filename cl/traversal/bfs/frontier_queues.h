/* Frontiers as queues, shared by the breadth-first searches that expand only the last level.
 *
 * levels[v] is the level of v, INFINITE before it is found; searches access it only with atomic
 * operations. queues has two rows of n ints, for even and odd levels: a launch reads the frontier
 * of the previous level from one row and appends the new one to the other. state[0] and state[1]
 * are the sizes of the rows. A launch adds to one of them and clears the other, which the host has
 * read and passes as an argument. So nothing that a launch reads is written in it.
 *
 *     launch of level 5:   row 0, of level 4   7 2 9          read; size 3 is an argument
 *                          row 1, of level 5   1 3 . .        written from place 0
 *                          state               0 2            size of row 0 cleared, of row 1 added
 *
 * Macros are those of traversal/bfs/results.h.
 */
#ifndef TRAVERSAL_FRONTIER_QUEUES_H
#define TRAVERSAL_FRONTIER_QUEUES_H
#include "traversal/bfs/results.h"

/* The frontier that a launch expands, the one that it makes, and the sizes of both. */
#define QUEUE_BEFORE(queues, n, level) ((queues) + (size_t)(((level) + 1) % 2) * (n))
#define QUEUE_NOW(queues, n, level) ((queues) + (size_t)((level) % 2) * (n))
#define SIZE_BEFORE(state, level) ((state) + ((level) + 1) % 2)
#define SIZE_NOW(state, level) ((state) + (level) % 2)

/* Set the level of a vertex, unless it has one. Return whether this work-item set it. */
static inline int claim(const int v, const int u, const int level, __global int *levels,
                        __global int *parents)
{
    if (atomic_cmpxchg(&levels[v], INFINITE, level) != INFINITE)
        return 0;
#if PYAPSP_PREDECESSORS
    parents[v] = u;
#endif
    return 1;
}

/* One work-item for each vertex: no vertex but the source is found, and state, of 8 ints, is 0. */
__kernel GROUP void frontier_start(__global int *levels, __global int *parents,
                                   __global int *queues, __global int *state, const int source,
                                   const int n)
{
    const size_t v = get_global_id(0);
    if (v >= (size_t)n)
        return;
    clear_result(levels, parents, v, source);
    if (v == (size_t)source) {
        queues[0] = source;
        for (int each = 0; each < 8; each++)
            state[each] = 0;
    }
}

#endif /* TRAVERSAL_FRONTIER_QUEUES_H */
