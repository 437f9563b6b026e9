/* predecessors: the last vertex before each vertex, found from final distances.
 *
 * Purpose   Methods that compute distances alone get their predecessors here, once, at the end: the
 *           predecessor of j on the path from i is the tail k of the arc (k, j) that makes
 *           d(i,k) + w(k,j) smallest. With exact sums that minimum is d(i,j); with rounding it is
 *           within rounding of it, whatever the order in which the method added.
 *
 * Layout    distances: row-major, `columns` values in a row, the first n of them vertices.
 *           before: n x n ints, row-major, -9999 where there is none.
 *           The arcs by head: those into j are first[j] <= a < first[j + 1], from tails[a], of
 *           length weights[a].
 *
 * Parameters  those of common/types.h and common/semiring.h, for strips of one value.
 *
 * Cost      n m sums; each is a read from a row of n distances that stays in cache.
 *
 * Source    A shortest path ends in an arc in equality: T. H. Cormen et al., Introduction to
 *           Algorithms, the predecessor subgraph. On cycles of weight zero the arcs in equality can
 *           go round: the host mends that (pyapsp/dense/predecessors.py).
 */
#include "common/types.h"
#include "common/semiring.h"

/* n x n work-items: (j, i). */
__kernel void predecessors_from_arcs(__global int *before, __global const value_t *distances,
                                     __global const int *first, __global const int *tails,
                                     __global const value_t *weights, const int n,
                                     const int columns)
{
    const int j = get_global_id(0);
    const int i = get_global_id(1);
    __global const value_t *row = distances + (size_t)i * columns;
    value_t shortest = PYAPSP_INFINITY;
    int last = -9999;
    if (i != j)
        for (int a = first[j]; a < first[j + 1]; a++) {
            const value_t candidate = extend(row[tails[a]], weights[a]);
            if (candidate < shortest) {
                shortest = candidate;
                last = tails[a];
            }
        }
    before[(size_t)i * n + j] = last;
}
