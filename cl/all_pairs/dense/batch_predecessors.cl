/* Batches: predecessors of many graphs, from weights and final distances.
 *
 * Purpose   The last vertex before j on a shortest path from i is a tail k for which d(i,k) + w(k,j) is
 *           smallest. In small graphs all tails are tried: that is faster than first finding the
 *           arcs that can be on shortest paths, as all_pairs/dense/predecessors.cl does.
 *
 * Layout    weights, distances, remarks: see all_pairs/dense/batch.h. before: m matrices of n x n ints, -9999
 *           where there is none. A group treats row i of a graph:
 *
 *               d(i, k) ->            w(k, j)
 *               +-+-+-+-+-+           +---+---+---+
 *               | | |k| | |   with    |   |   |   | k     for each j the k with the smallest sum
 *               +-+-+-+-+-+           |   | j |   |
 *                                     +---+---+---+
 *
 *           Only tails that are nearer to i than j are candidates, so that predecessors cannot form
 *           a cycle. If another tail has a smaller sum, because of an arc of weight zero or less,
 *           the graph is marked UNSOUND, and the host finds its predecessors in another way.
 *
 * Parameters  those of common/types.h, common/semiring.h and all_pairs/dense/batch.h, and
 *             PYAPSP_ITEMS  64  work-items of a group
 *
 * Cost      n^3 sums and comparisons a graph, n^2 ints written.
 *
 * Source    pyapsp.
 */
#ifndef PYAPSP_ITEMS
#define PYAPSP_ITEMS 64
#endif

#include "common/types.h"
#include "common/semiring.h"
#include "all_pairs/dense/batch.h"

#define NOBODY (-9999)

#define LOOSE(type, space, address) (*(space type *)(address))
typedef strip_t loose_strip_t __attribute__((aligned(sizeof(PYAPSP_VALUE))));
typedef index_strip_t loose_index_strip_t __attribute__((aligned(4)));

/* The columns [at, end) of a row, one strip at a time. ANY says whether a condition holds for one
 * of the columns. */
#define SEARCH(at, end, step, values_t, loose_t, indices_t, loose_indices_t, MASK, ANY)            \
    for (; at + step <= end; at += step * PYAPSP_ITEMS) {                                          \
        const values_t goal = LOOSE(loose_t, __global const, row + at);                            \
        values_t best = (values_t)(FAR), least = (values_t)(FAR);                                  \
        indices_t tail = (indices_t)(NOBODY);                                                      \
        for (int k = 0; k < n; k++) {                                                              \
            const value_t there = row[k];                                                          \
            const values_t weight = LOOSE(loose_t, __global const, arcs + (size_t)k * n + at);     \
            const values_t sum = there + weight;                                                   \
            const values_t length =                                                                \
                (weight == nil || weight == none || (values_t)(there) == (values_t)(FAR))          \
                    ? (values_t)(FAR)                                                              \
                    : sum;                                                                         \
            least = (length < least) ? length : least;                                             \
            tail = MASK(length < best && (values_t)(there) < goal) ? (indices_t)(k) : tail;        \
            best = (length < best && (values_t)(there) < goal) ? length : best;                    \
        }                                                                                          \
        const indices_t column = LOOSE(loose_indices_t, __constant const, LANES) + (indices_t)(at); \
        if (ANY(MASK(least < best) && column != (indices_t)(i)))                                   \
            unsound = 1;                                                                           \
        tail = (column == (indices_t)(i)) ? (indices_t)(NOBODY) : tail;                            \
        LOOSE(loose_indices_t, __global, before + (graph * n + i) * n + at) = tail;                \
    }
#define ITSELF(x) (x)

__constant int LANES[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

__kernel __attribute__((reqd_work_group_size(PYAPSP_ITEMS, 1, 1))) void
batch_predecessors(__global const raw_t *weights, __global const raw_t *distances,
                   __global int *before, __global int *remarks, const int n, const int zeros)
{
    const int i = get_group_id(0) % n;
    const size_t graph = get_group_id(0) / n;
    const value_t nil = zeros ? FAR : 0, none = PYAPSP_RAW_INTEGER ? nil : FAR;
    __global const raw_t *arcs = weights + graph * n * n, *row = distances + (graph * n + i) * n;
    int unsound = 0, j = (int)get_local_id(0) * PYAPSP_WIDTH;
#if PYAPSP_WIDTH > 1
    SEARCH(j, n, PYAPSP_WIDTH, strip_t, loose_strip_t, index_strip_t, loose_index_strip_t,
           INDEX_MASK, any)
#endif
    SEARCH(j, n, 1, value_t, value_t, int, int, ITSELF, ITSELF)
    if (unsound)
        atomic_or(remarks + graph, UNSOUND);
}
