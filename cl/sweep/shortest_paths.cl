/* shortest_paths: distances from one vertex of a graph for each task.
 *
 * Purpose   The body of a sweep whose tasks are the sources of all-pairs shortest paths. All tasks
 *           share the graph, and none has an input: the source of task t is vertex t. There is a
 *           thread for each vertex. In each round, vertices whose cost has changed offer their
 *           neighbours the path through themselves (scatter), and every vertex takes the smallest
 *           offer (check).
 *
 * Layout    heads[first[v] .. first[v + 1]] are the neighbours of v, with weights:
 *
 *               first    0     3   4       7        a group of threads stages the rows of its
 *               heads  | . . . | . | . . . |        vertices, which are one range
 *
 *           costs, offers and modified have one entry for each vertex.
 *
 * Parameters  PYAPSP_ARRAYS            the arrays of a task, where the file is compiled alone
 *             PYAPSP_INFINITY  2^30 - 1  the distance of unreachable vertices
 *
 * Cost      Two launches for each round, at most m atomic minima; rounds: one more than the largest
 *           number of arcs on a shortest path from any source that is on the device.
 *
 * Source    F. Ino et al., a parallel scheme for parameter sweep applications on a GPU, 2013,
 *           section 5, after P. Harish and P. J. Narayanan, large graph algorithms on the GPU, HiPC
 *           2007. pyapsp/all_pairs/sparse has this algorithm as methods that are tuned and take all types.
 */
#ifndef PYAPSP_INFINITY
#define PYAPSP_INFINITY 0x3fffffff
#endif
#ifndef PYAPSP_ARRAYS
#define PYAPSP_ARRAYS                                                                              \
    READ(int, first), READ(int, heads), READ(int, weights), WRITE(int, costs), WRITE(int, offers), \
        WRITE(uchar, modified)
#endif
#include "sweep/task.h"

STEP(start)
{
    const int v = THREAD_X, is_source = v == TASK;
    OUT(costs, v) = is_source ? 0 : PYAPSP_INFINITY;
    SCRATCH(offers, v) = PYAPSP_INFINITY;
    SCRATCH(modified, v) = is_source;
}

STEP(scatter)
{
    const int v = THREAD_X;
    if (!SCRATCH(modified, v))
        return;
    SCRATCH(modified, v) = 0;
    const int cost = OUT(costs, v), end = COMMON(first, v + 1);
    for (int a = COMMON(first, v); a < end; a++)
        atomic_min(&SCRATCH(offers, COMMON(heads, a)), cost + COMMON(weights, a));
}

STEP(check)
{
    const int v = THREAD_X, offer = SCRATCH(offers, v);
    if (offer < OUT(costs, v)) {
        OUT(costs, v) = offer;
        SCRATCH(modified, v) = 1;
        AGAIN();
    }
}
