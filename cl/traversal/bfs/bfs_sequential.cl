/* bfs_sequential: breadth-first search with a queue, by one work-item.
 *
 * Purpose   Levels, where every arc has length 1: the algorithm of textbooks, with which parallel
 *           searches on the same device are compared.
 *
 * Layout    The graph: heads[first[v] .. first[v + 1]] are the neighbours of v. queue: n ints. Vertices
 *           are appended at its end in the order in which they are found.
 *
 *             queue   0 | 3 1 | 2 7 4 | . .
 *             levels  0   1 1   2 2 2
 *
 * Parameters  PYAPSP_PREDECESSORS and PYAPSP_INFINITY of traversal/bfs/results.h
 *
 * Cost      One launch of one work-item: O(n + m).
 *
 * Source    T. H. Cormen, C. E. Leiserson, R. L. Rivest, C. Stein, Introduction to Algorithms, 2009,
 *           section 22.2, as in F. Busato's thesis, 2018, section 6.1.1.
 */
#include "traversal/bfs/results.h"

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void bfs_sequential(
    __global const long *first, __global const int *heads, __global int *levels,
    __global int *parents, __global int *queue, __global int *last, const int source, const int n)
{
    for (int v = 0; v < n; v++) {
        levels[v] = PYAPSP_INFINITY;
#if PYAPSP_PREDECESSORS
        parents[v] = NO_PREDECESSOR;
#endif
    }
    levels[source] = 0;
    queue[0] = source;
    int size = 1;
    for (int place = 0; place < size; place++) {
        const int u = queue[place], level = levels[u] + 1;
        for (long a = first[u]; a < first[u + 1]; a++) {
            const int v = heads[a];
            if (levels[v] != PYAPSP_INFINITY)
                continue;
            levels[v] = level;
#if PYAPSP_PREDECESSORS
            parents[v] = u;
#endif
            queue[size++] = v;
        }
    }
    *last = levels[queue[size - 1]];
}
