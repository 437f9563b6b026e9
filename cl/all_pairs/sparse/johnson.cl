/* johnson: potentials with which no weight is negative.
 *
 * Purpose   Bellman-Ford from a vertex that has an arc of weight zero to every other: the distances
 *           h from there make w(u,v) + h(u) - h(v) >= 0 for every arc. If they do not converge,
 *           there is a negative cycle.
 *
 * Layout    The arcs that enter v: tails[first[v] .. first[v + 1]] with their weights.
 *           before, after: the potentials of the last round and of this one, one for each vertex; at
 *           first all are 0, which is the first round.
 *           parents: the tail of the arc that last lowered the potential of a vertex, -1 before that.
 *           If parents form a cycle, that cycle is negative.
 *
 *               before  | h h h h h |          every work-item reads before and owns
 *                          \  |  /             one entry of after and of parents
 *               after   |     h     |
 *
 * Parameters  those of common/types.h with PYAPSP_WIDTH 1 and of common/semiring.h
 *
 * Cost      m sums a round, and as many rounds as the most arcs on a shortest path.
 *
 * Source    D. B. Johnson, Efficient algorithms for shortest paths in sparse networks, JACM 24(1),
 *           1977, doi:10.1145/321992.321993.
 */
#include "common/types.h"
#include "common/semiring.h"

__kernel void johnson_round(__global const long *first, __global const int *tails,
                            __global const value_t *weights, __global const value_t *before,
                            __global value_t *after, __global int *parents,
                            __global int *changed, const int n)
{
    const int v = get_global_id(0);
    if (v >= n)
        return;
    const value_t old = before[v];
    value_t least = old;
    int parent = -1;
    for (long a = first[v]; a < first[v + 1]; a++) {
        const value_t candidate = extend(before[tails[a]], weights[a]);
        if (candidate < least) {
            least = candidate;
            parent = tails[a];
        }
    }
    after[v] = least;
    if (least < old) {
        parents[v] = parent;
        atomic_or(changed, 1);
    }
}
