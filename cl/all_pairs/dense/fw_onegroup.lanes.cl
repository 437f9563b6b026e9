/* fw-onegroup for small graphs on CPUs: each core solves as many graphs at a time as a vector has
 * lanes.
 *
 * Purpose   The rows of a small graph are shorter than a vector, or fill it badly. Here lane w of
 *           every vector belongs to graph w, so that no lane is idle. Nothing is shared between
 *           groups, and there is no barrier.
 *
 * Layout    weights, distances, remarks: see all_pairs/dense/batch.h. A group has n x n vectors of scratch:
 *
 *                graph 0        graph 1                 vector 0     vector 1
 *               +--------+     +--------+              +----+----+  +----+----+
 *               |a0 a1 ..|     |b0 b1 ..|     ---->    | a0 | b0 |  | a1 | b1 |  ...
 *               +--------+     +--------+              +----+----+  +----+----+
 *
 *           Groups take the next WIDTH graphs from a shared counter. If fewer are left, the other
 *           lanes repeat the last one.
 *
 * Parameters  those of common/types.h, common/semiring.h and all_pairs/dense/batch.h
 *
 * Cost      n^3 updates and 2 n^2 values of memory traffic a graph, and 2 n^2 more in the nearest
 *           cache, one launch.
 *
 * Source    pyapsp; the layout is the column-wise arrangement of D. Takafuji's thesis, 2020, section
 *           4.2.
 */
#include "common/types.h"
#include "common/semiring.h"
#include "all_pairs/dense/batch.h"

#define ALONE __attribute__((reqd_work_group_size(1, 1, 1)))
#define VECTOR(e) STRIP(__global, matrix + (size_t)(e) * PYAPSP_WIDTH)

/* Copy the weights of the graphs to their lanes. */
static inline void fetch_lanes(__global const raw_t *weights, __global value_t *matrix,
                               const int values, const int lanes)
{
    for (int w = 0; w < PYAPSP_WIDTH; w++) {
        __global const raw_t *from = weights + (size_t)min(w, lanes - 1) * values;
        for (int e = 0; e < values; e++)
            matrix[(size_t)e * PYAPSP_WIDTH + w] = from[e];
    }
}

static inline void put_lanes(__global raw_t *distances, __global const value_t *matrix,
                             const int values, const int lanes)
{
    for (int w = 0; w < lanes; w++) {
        __global raw_t *to = distances + (size_t)w * values;
        for (int e = 0; e < values; e++)
            to[e] = matrix[(size_t)e * PYAPSP_WIDTH + w];
    }
}

static inline void close_lanes(__global value_t *matrix, const int n)
{
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++) {
            const strip_t first = VECTOR(i * n + k);
            for (int j = 0; j < n; j++) {
                const strip_t candidate = extend_each(first, VECTOR(k * n + j));
                const strip_t current = VECTOR(i * n + j);
                VECTOR(i * n + j) = SHORTER(candidate, current);
            }
        }
}

__kernel ALONE void fw_onegroup(__global const raw_t *weights, __global raw_t *distances,
                                __global int *remarks, volatile __global int *counter,
                                __global value_t *scratch, const int graphs, const int n,
                                const int size, const int zeros, const float longest)
{
    const int values = n * n;
    const value_t nil = zeros ? FAR : 0, none = PYAPSP_RAW_INTEGER ? nil : FAR;
    __global value_t *matrix = scratch + get_group_id(0) * (size_t)values * PYAPSP_WIDTH;
    for (int part = atomic_inc(counter); part * PYAPSP_WIDTH < graphs; part = atomic_inc(counter)) {
        const int start = part * PYAPSP_WIDTH, lanes = min(PYAPSP_WIDTH, graphs - start);
        fetch_lanes(weights + (size_t)start * values, matrix, values, lanes);
        strip_t low = (strip_t)(0), high = (strip_t)(0), odd = (strip_t)(0), cycle = (strip_t)(0);
        for (int e = 0; e < values; e++) {
            const strip_t weight = VECTOR(e);
            const strip_t arc = (weight == nil || weight == none) ? (strip_t)(0) : weight;
            low = (arc < low) ? arc : low;
            high = (arc > high) ? arc : high;
            odd += arc - arc;
            VECTOR(e) = (weight == nil || weight == none) ? (strip_t)(FAR) : weight;
        }
        for (int i = 0; i < n; i++) {
            const strip_t own = VECTOR(i * n + i);
            VECTOR(i * n + i) = (own < (value_t)0) ? own : (strip_t)(0);
        }
        close_lanes(matrix, n);
        for (int i = 0; i < n; i++) {
            const strip_t own = VECTOR(i * n + i);
            cycle = (own < cycle) ? own : cycle;
        }
        put_lanes(distances + (size_t)start * values, matrix, values, lanes);
        for (int w = 0; w < lanes; w++) {
            int found = remarks_on(((const value_t *)&low)[w], zeros, longest);
            found |= remarks_on(((const value_t *)&high)[w], zeros, longest);
            found |= ((const value_t *)&odd)[w] == 0 ? 0 : BAD;
            remarks[start + w] = found | (((const value_t *)&cycle)[w] < 0 ? CYCLE : 0);
        }
    }
}
