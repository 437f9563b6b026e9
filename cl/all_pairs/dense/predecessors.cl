/* predecessors: the last vertex before each vertex, found from final distances.
 *
 * Purpose   Methods that compute only distances get their predecessors here, once, at the end. The
 *           predecessor of j on the path from i is the tail k of the arc (k, j) that makes
 *           d(i,k) + w(k,j) smallest. With exact sums that minimum is d(i,j); with rounding it is
 *           within rounding of it, whatever the order in which the method added. An arc that is
 *           longer than the distance between its ends is on no shortest path, and is removed first;
 *           in a dense graph with random weights these are most arcs. Each step needs only some
 *           rows of the distances: the first those of the tails of the arcs, the second those of
 *           the sources.
 *
 * Layout    distances: row-major, `columns` values in a row, the first n of them vertices. They are
 *           the rows of `rows` vertices, from `top` on.
 *           before: rows x n ints, row-major, -9999 where there is none.
 *           Arcs by tail, for predecessors_sift: those from row k are first[k] <= a < first[k + 1],
 *           to ends[a], of length weights[a]; matters[a] becomes 1 if it may be the last of a path.
 *           Arcs by head, for predecessors_search: those that matter into the vertex j are
 *           first[j - begin] <= a < first[j - begin + 1], from ends[a], for begin <= j < end.
 *           slab: the distances from `span` sources on, transposed, so that the distances of
 *           neighbouring sources to a vertex are one strip:
 *
 *                         rows start ... start + span
 *               vertex 0 | d d d d d d d d d ...
 *               vertex 1 | d d d d d d d d d ...      an arc into j, for many sources at once:
 *                  ...   |  ...                       row of its tail + weight
 *
 *           A group treats SOURCES = GROUP_X * STRIPS * WIDTH sources and 32 vertices j. Its
 *           results go through local memory, so that they are written along the rows.
 *
 * Parameters  those of common/types.h and common/semiring.h, and
 *             PYAPSP_STRIPS   1  strips of sources of a work-item: 1, 2 or 4
 *             PYAPSP_GROUP_X 32  work-items along the sources; 1 when WIDTH is more than 1
 *             PYAPSP_GROUP_Y  8  work-items along the vertices
 *             PYAPSP_SLACK float the type of the tolerance for rounding: double for double
 *
 * Cost      rows * m' sums for m' arcs as long as the distance between their ends; m comparisons in
 *           all to find them.
 *
 * Source    The last arc (k, j) of a shortest path has d(i,k) + w(k,j) = d(i,j): T. H. Cormen et
 *           al., Introduction to Algorithms, the predecessor subgraph. On cycles of weight zero
 *           such arcs can form a cycle of predecessors: the host corrects these
 *           (pyapsp/all_pairs/dense/predecessors.py).
 */
#ifndef PYAPSP_STRIPS
#define PYAPSP_STRIPS 1
#endif
#ifndef PYAPSP_SLACK
#define PYAPSP_SLACK float
#endif

#include "common/types.h"
#include "common/semiring.h"
#include "all_pairs/group_shape.h"

#define NO_PREDECESSOR (-9999)
#define OWN (PYAPSP_STRIPS * PYAPSP_WIDTH)
#define SOURCES (PYAPSP_GROUP_X * OWN)
#define TILE 32
/* one more int in each row, so that work-items that read a column use different banks */
#define PITCH (SOURCES + (PYAPSP_WIDTH == 1))

#if PYAPSP_STRIPS == 1
#define EACH_STRIP(DO) DO(0)
#elif PYAPSP_STRIPS == 2
#define EACH_STRIP(DO) DO(0) DO(1)
#elif PYAPSP_STRIPS == 4
#define EACH_STRIP(DO) DO(0) DO(1) DO(2) DO(3)
#else
#error "PYAPSP_STRIPS must be 1, 2 or 4"
#endif

/* Which arcs may be on a shortest path. The GROUP_X work-items of a row share its arcs. An arc may
 * exceed the distance by the tolerance for rounding: relative * (|w| + |d|) + absolute, both 0 for
 * exact sums. */
__kernel GROUP void predecessors_sift(__global const value_t *distances, const int columns,
                                      const int rows, __global const long *first,
                                      __global const int *ends, __global const value_t *weights,
                                      __global uchar *matters, const PYAPSP_SLACK relative,
                                      const PYAPSP_SLACK absolute)
{
    const int k = get_global_id(1);
    if (k >= rows)
        return;
    for (long a = first[k] + get_local_id(0); a < first[k + 1]; a += PYAPSP_GROUP_X) {
        const value_t weight = weights[a];
        const value_t distance = distances[(size_t)k * columns + ends[a]];
#if PYAPSP_INTEGER
        matters[a] = weight <= distance;
#else
        /* two products, because the sum of two large numbers may be infinite, and 0 times infinity
         * is NaN */
        const PYAPSP_SLACK d = distance, w = weight;
        matters[a] = w <= d + (relative * fabs(w) + relative * fabs(d) + absolute);
#endif
    }
}

/* slab[k][s] <- row start + s, column k; infinity past the last row. Groups of tiles (k, s). */
__kernel GROUP void predecessors_slab(__global const value_t *distances, const int columns,
                                      const int n, const int rows, const int start,
                                      const int span, __global value_t *slab)
{
    __local value_t tile[TILE][TILE + 1];
    const int k = get_group_id(0) * TILE, s = get_group_id(1) * TILE;
    for (int y = get_local_id(1); y < TILE; y += PYAPSP_GROUP_Y)
        for (int x = get_local_id(0); x < TILE; x += PYAPSP_GROUP_X)
            tile[y][x] = (start + s + y < rows && k + x < n)
                             ? distances[(size_t)(start + s + y) * columns + k + x]
                             : PYAPSP_INFINITY;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int y = get_local_id(1); y < TILE; y += PYAPSP_GROUP_Y)
        for (int x = get_local_id(0); x < TILE; x += PYAPSP_GROUP_X)
            slab[(size_t)(k + y) * span + s + x] = tile[x][y];
}

/* The predecessors for the sources of a slab. Groups (SOURCES sources, TILE vertices). */
__kernel GROUP void predecessors_search(__global int *before, const int n, const int rows,
                                        const int start, const int span, const int top,
                                        const int begin, const int end,
                                        __global const value_t *slab, __global const long *first,
                                        __global const int *ends, __global const value_t *weights)
{
    __local int found[TILE * PITCH] STRIP_ALIGNED;
    const int x = get_local_id(0) * OWN;
    const int source = get_group_id(0) * SOURCES;
    const int corner = begin + get_group_id(1) * TILE;
    for (int y = get_local_id(1); y < TILE; y += PYAPSP_GROUP_Y) {
        const int j = min(corner + y, end - 1) - begin;
#define START(s)                                                                                   \
    strip_t shortest_##s = (strip_t)(PYAPSP_INFINITY);                                             \
    index_strip_t last_##s = (index_strip_t)(NO_PREDECESSOR);
        EACH_STRIP(START)
        for (long a = first[j]; a < first[j + 1]; a++) {
            const int tail = ends[a];
            const value_t weight = weights[a];
            __global const value_t *row = slab + (size_t)tail * span + source + x;
#define TRY(s)                                                                                     \
    {                                                                                              \
        const strip_t candidate =                                                                  \
            extend(weight, STRIP(__global const, row + (s) * PYAPSP_WIDTH));                       \
        last_##s = INDEX_MASK(candidate < shortest_##s) ? (index_strip_t)(tail) : last_##s;        \
        shortest_##s = (candidate < shortest_##s) ? candidate : shortest_##s;                      \
    }
            EACH_STRIP(TRY)
        }
#define KEEP(s) INDEX_STRIP(__local, found + y * PITCH + x + (s) * PYAPSP_WIDTH) = last_##s;
        EACH_STRIP(KEEP)
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = get_local_id(1); s < SOURCES; s += PYAPSP_GROUP_Y)
        for (int y = get_local_id(0); y < TILE; y += PYAPSP_GROUP_X) {
            const int i = start + source + s, j = corner + y;
            if (i < rows && j < end)
                before[(size_t)i * n + j] = (top + i == j) ? NO_PREDECESSOR : found[y * PITCH + s];
        }
}

/* suspects[i] <- 1 if in row i some predecessor is not nearer to the source than its vertex: only
 * there can predecessors form a cycle. The GROUP_X work-items of a row share it. */
__kernel GROUP void predecessors_falling(__global const value_t *distances, const int columns,
                                         const int n, const int rows, __global const int *before,
                                         __global int *suspects)
{
    const int i = get_global_id(1);
    if (i >= rows)
        return;
    __global const value_t *row = distances + (size_t)i * columns;
    int level = 0;
    for (int j = get_local_id(0); j < n; j += PYAPSP_GROUP_X) {
        const int k = before[(size_t)i * n + j];
        level |= k != NO_PREDECESSOR && !(row[k] < row[j]);
    }
    if (level)
        atomic_or(suspects + i, 1);
}
