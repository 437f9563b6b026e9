/* fw-naive: Floyd-Warshall, one launch per intermediate vertex k.
 *
 * Purpose   The baseline of every comparison, and the reference that every other dense method is
 *           tested against. It is the textbook algorithm without optimisations.
 *
 * Layout    distances: n x n values, row-major; row i holds the distances from vertex i.
 *           predecessors (with PYAPSP_PREDECESSORS): n x n ints of the same shape.
 *
 *                       j
 *                 . . . . . .
 *               i . k>x . . .      x = d[i,j] <- min(d[i,j], d[i,k] + d[k,j])
 *                 . . ^ . . .
 *               k . . . . . .
 *
 *           One work-item per element, in groups that may reach past n. Row k and column k do not
 *           change in step k (a path through k to k is no shorter unless there is a negative cycle),
 *           so the work-items of step k do not write them: no work-item writes a value that another
 *           one reads.
 *
 * Parameters  those of common/types.h with PYAPSP_WIDTH 1 and of common/semiring.h, and
 *             PYAPSP_PREDECESSORS  0   1: keep the last vertex before j on the path from i
 *
 * Cost      n launches, n^3 updates, 3 n^3 values of memory traffic: bound by memory.
 *
 * Source    R. W. Floyd, Algorithm 97: Shortest path, CACM 5(6), 1962, doi:10.1145/367766.368168;
 *           F. Okuyama's thesis, 2013, section 4.2, figure 4.1.
 */
#ifndef PYAPSP_PREDECESSORS
#define PYAPSP_PREDECESSORS 0
#endif

#include "common/types.h"
#include "common/semiring.h"

__kernel void fw_naive(__global value_t *distances,
#if PYAPSP_PREDECESSORS
                       __global int *predecessors,
#endif
                       const int n, const int k)
{
    const size_t j = get_global_id(0);
    const size_t i = get_global_id(1);
    if (i >= (size_t)n || j >= (size_t)n || i == (size_t)k || j == (size_t)k)
        return;
    const size_t ij = i * n + j;
    const size_t kj = (size_t)k * n + j;
    const value_t candidate = extend(distances[i * n + k], distances[kj]);
    if (candidate < distances[ij]) {
        distances[ij] = candidate;
#if PYAPSP_PREDECESSORS
        predecessors[ij] = predecessors[kj];
#endif
    }
}
