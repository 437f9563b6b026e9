/* fw-onegroup for CPUs: each core solves one graph after the other, in its own caches.
 *
 * Purpose   One small graph does not use all cores, and solving many of them one after the other
 *           spends most of the time on launches. Here a group of one work-item solves a whole
 *           graph. Nothing is shared between groups, there is no barrier, and the matrix stays in
 *           the smallest cache that holds it.
 *
 * Layout    weights, distances, remarks: see all_pairs/dense/batch.h. A group has `room` values of scratch, for
 *           a padded matrix of size x size values and the rows of a round as right slabs
 *           (all_pairs/dense/fw_minplus.cpu.cl):
 *
 *               size                 a round of BLOCK pivots       inside it rounds of STEP pivots
 *              +---------+           . . . . . . . . .             r r r r r r r r r  STEP rows
 *              |d      |i|           . . . . . . . . .             . . . . . . . . .
 *              |       | |           r r r r r r r r r  BLOCK      . . . . . . . . .
 *              +-------+ |           r r r r r r r r r  rows       (the BLOCK rows alone)
 *              |i i i i i|           . . . . . . . . .
 *              +---------+
 *
 *           The rows r are closed first, then all other rows are updated through them: see
 *           `pass_pivots`.
 *
 *           Groups take the next graph from a shared counter, so that a group whose graphs take
 *           less time solves more of them.
 *
 * Parameters  those of all_pairs/dense/fw_minplus.cpu.cl and all_pairs/dense/batch.h; BLOCK is a multiple of STEP
 *
 * Cost      n^3 updates and 2 n^2 values of memory traffic a graph, one launch.
 *
 * Source    pyapsp; closed rows times old columns as in the first phase of Buluc, Gilbert and Budak,
 *           Solving path problems on the GPU, Parallel Computing 36, 2010,
 *           doi:10.1016/j.parco.2009.12.002.
 */
#include "all_pairs/dense/fw_minplus.cpu.cl"
#include "all_pairs/dense/batch.h"

/* Strips in the memory of the caller, where only values are aligned. */
typedef strip_t loose_strip_t __attribute__((aligned(sizeof(PYAPSP_VALUE))));
#define LOOSE_STRIP(space, address) (*(space loose_strip_t *)(address))

/* Copy the weights into the padded matrix; return the remarks. They follow from the smallest and
 * the largest weight, and from whether a weight differs from itself, as only NaN does. */
static inline int fetch_graph(__global const raw_t *weights, __global value_t *matrix, const int n,
                              const int size, const int zeros, const float longest)
{
    const value_t nil = zeros ? FAR : 0, none = PYAPSP_RAW_INTEGER ? nil : FAR;
    const strip_t far = (strip_t)(FAR);
    strip_t low = (strip_t)(0), high = (strip_t)(0), odd = (strip_t)(0);
    int remarks = 0;
    for (int i = 0; i < n; i++) {
        __global const raw_t *from = weights + (size_t)i * n;
        __global value_t *row = matrix + (size_t)i * size;
        int j = 0;
        for (; j + PYAPSP_WIDTH <= n; j += PYAPSP_WIDTH) {
            const strip_t weight = LOOSE_STRIP(__global const, from + j);
            STRIP(__global, row + j) = (weight == nil || weight == none) ? far : weight;
            const strip_t arc = (weight == nil || weight == none) ? (strip_t)(0) : weight;
            low = (arc < low) ? arc : low;
            high = (arc > high) ? arc : high;
            odd += arc - arc;
        }
        for (; j < n; j++) {
            remarks |= remarks_on(from[j], zeros, longest);
            row[j] = no_arc(from[j], zeros) ? FAR : from[j];
        }
        for (; j < size; j++)
            row[j] = FAR;
        row[i] = row[i] < 0 ? row[i] : 0;
    }
    for (int i = n; i < size; i++)
        for (int j = 0; j < size; j += PYAPSP_WIDTH)
            STRIP(__global, matrix + (size_t)i * size + j) = far;
    for (int w = 0; w < PYAPSP_WIDTH; w++) {
        remarks |= remarks_on(((const value_t *)&low)[w], zeros, longest);
        remarks |= remarks_on(((const value_t *)&high)[w], zeros, longest);
        remarks |= ((const value_t *)&odd)[w] == 0 ? 0 : BAD;
    }
    return remarks;
}

static inline int put_graph(__global raw_t *distances, __global const value_t *matrix, const int n,
                            const int size)
{
    int remarks = 0;
    for (int i = 0; i < n; i++) {
        __global raw_t *to = distances + (size_t)i * n;
        __global const value_t *row = matrix + (size_t)i * size;
        int j = 0;
        for (; j + PYAPSP_WIDTH <= n; j += PYAPSP_WIDTH)
            LOOSE_STRIP(__global, to + j) = STRIP(__global const, row + j);
        for (; j < n; j++)
            to[j] = row[j];
        remarks |= row[i] < 0 ? CYCLE : 0;
    }
    return remarks;
}

__kernel ALONE void fw_onegroup(__global const raw_t *weights, __global raw_t *distances,
                                __global int *remarks, volatile __global int *counter,
                                __global value_t *scratch, const int graphs, const int n,
                                const int size, const int zeros, const float longest)
{
    const int block = min(PYAPSP_BLOCK, size);
    __global value_t *matrix = scratch + get_group_id(0) * ((size_t)size * size + block * SPAN);
    __global value_t *slab = matrix + (size_t)size * size;
    for (int graph = atomic_inc(counter); graph < graphs; graph = atomic_inc(counter)) {
        const size_t place = (size_t)graph * n * n;
        int found = fetch_graph(weights + place, matrix, n, size, zeros, longest);
        for (int K = 0; K < size; K += block) {
            const int depth = min(block, size - K);
            for (int k = K; k < K + depth; k += PYAPSP_STEP) {
                close_rows(matrix, size, k, PYAPSP_STEP);
                pass_pivots(matrix, size, k, PYAPSP_STEP, K, K + depth, slab);
            }
            if (depth < size)
                pass_pivots(matrix, size, K, depth, 0, size, slab);
        }
        remarks[graph] = found | put_graph(distances + place, matrix, n, size);
    }
}
