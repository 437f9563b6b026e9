/* sssp_bellman_ford: shortest paths from one source, all arcs in every round.
 *
 * Purpose   A round reads every arc and sets the distance of every vertex to the smallest of its
 *           old distance and those through its neighbours. When a round changes nothing, the result
 *           is final. Weights may be negative. The parent of a vertex is the tail through which its
 *           distance was last lowered. If parents form a cycle, that cycle is negative; else they
 *           form a tree.
 *
 * Layout    The arcs that enter v: tails[first[v] .. first[v + 1]] with their weights.
 *           before, after: the distances of the last round and of this one. Every vertex reads before
 *           and owns one entry of after, and one of parents. LANES work-items share its arcs, and the
 *           first of them takes the best that they found.
 *
 *               before  | d d d d d |
 *                          \  |  /
 *               after   |     d     |
 *
 *           *last is the last round in which a distance was lowered.
 *
 * Parameters  those of common/types.h with PYAPSP_WIDTH 1 and of common/semiring.h, and
 *             PYAPSP_GROUP  64  work-items of a group
 *             PYAPSP_LANES   1  work-items of a vertex, a divisor of the group
 *
 * Cost      m sums a round, and one round more than the most arcs on a shortest path.
 *
 * Source    R. Bellman, on a routing problem, Quarterly of Applied Mathematics 16(1), 1958,
 *           doi:10.1090/qam/102435; L. R. Ford, network flow theory, RAND P-923, 1956.
 */
#include "common/group_size.h"
#include "common/types.h"
#include "common/semiring.h"
#ifndef PYAPSP_LANES
#define PYAPSP_LANES 1
#endif

#define NO_PREDECESSOR (-9999)

__kernel GROUP void bellman_ford_start(__global value_t *before, __global int *parents,
                                       __global int *last, const int source, const int n)
{
    const size_t v = get_global_id(0);
    if (v >= (size_t)n)
        return;
    before[v] = v == (size_t)source ? (value_t)0 : (value_t)PYAPSP_INFINITY;
    parents[v] = NO_PREDECESSOR;
    if (v == (size_t)source)
        *last = 0;
}

__kernel GROUP void bellman_ford_round(__global const long *first, __global const int *tails,
                                       __global const value_t *weights,
                                       __global const value_t *before, __global value_t *after,
                                       __global int *parents, __global int *last, const int n,
                                       const int round)
{
    __local value_t offers[PYAPSP_GROUP];
    __local int from[PYAPSP_GROUP];
    __local int some;
    const int item = get_local_id(0), lane = item % PYAPSP_LANES;
    const size_t v = get_global_id(0) / PYAPSP_LANES;
    value_t least = PYAPSP_INFINITY;
    int parent = NO_PREDECESSOR;
    if (v < (size_t)n)
        for (long a = first[v] + lane; a < first[v + 1]; a += PYAPSP_LANES) {
            const value_t offer = extend(before[tails[a]], weights[a]);
            if (offer < least) {
                least = offer;
                parent = tails[a];
            }
        }
    offers[item] = least;
    from[item] = parent;
    if (item == 0)
        some = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (v < (size_t)n && lane == 0) {
        const value_t old = before[v];
        for (int i = item + 1; i < item + PYAPSP_LANES; i++)
            if (offers[i] < least) {
                least = offers[i];
                parent = from[i];
            }
        after[v] = least < old ? least : old;
        if (least < old) {
            parents[v] = parent;
            atomic_or(&some, 1);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0 && some)
        atomic_max(last, round);
}
