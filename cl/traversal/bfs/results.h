/* What breadth-first searches write: a level for each vertex, and its parent.
 *
 *     macro                default     meaning
 *     PYAPSP_PREDECESSORS  0           1: keep the vertex from which each was found
 *     PYAPSP_INFINITY      1073741823  the level of a vertex that is not reached
 *
 * and those of common/group_size.h.
 */
#ifndef TRAVERSAL_BFS_RESULTS_H
#define TRAVERSAL_BFS_RESULTS_H
#include "common/group_size.h"
#ifndef PYAPSP_PREDECESSORS
#define PYAPSP_PREDECESSORS 0
#endif
#ifndef PYAPSP_INFINITY
#define PYAPSP_INFINITY 1073741823
#endif

#define INFINITE PYAPSP_INFINITY
#define NO_PREDECESSOR (-9999)

/* Vertex v before a search: only the source has a level, and none has a parent. */
static inline void clear_result(__global int *levels, __global int *parents, const size_t v,
                                const size_t source)
{
    levels[v] = v == source ? 0 : INFINITE;
#if PYAPSP_PREDECESSORS
    parents[v] = NO_PREDECESSOR;
#endif
}

#endif /* TRAVERSAL_BFS_RESULTS_H */
