/* sssp_tree: a tree of shortest paths, from the distances of one source.
 *
 * Purpose   Finds for each vertex v that is reached a vertex u with d(v) = d(u) + w(u, v). Only the
 *           leaving arcs are needed. Weights must not be negative.
 *
 * Layout    The graph: heads[first[v] .. first[v + 1]] are the neighbours of v, with weights.
 *             words    n   the distances, see words.h
 *             parents  n   ints; NO_PREDECESSOR for the source and vertices that are not reached
 *             state    2   flags: a vertex lacks a parent; a vertex has found one
 *
 *             rounds   n   ints; the round in which each vertex has got its parent, or NEVER
 *
 *             tree_fall    round 0: a vertex takes as its parent a vertex nearer to the source, over
 *                          an arc as long as the difference of the distances
 *             tree_level   a later round: a vertex without a parent takes one at the same distance
 *                          that got its own in an earlier round (or the source), over an arc of
 *                          weight zero (or lost in rounding)
 *             tree_count   writes the round of the vertices that have got a parent in it, and whether
 *                          a vertex has none yet
 *
 *           A parent of the first kind has a smaller distance. A parent of the second kind had a
 *           parent before. So parents form no cycle. Of the vertices that may be the parent in a
 *           round, the one with the smallest number is: as an unsigned number, "no parent" is larger
 *           than any vertex.
 *
 * Parameters  those of all_pairs/sparse/words.h, common/types.h with PYAPSP_WIDTH 1, common/semiring.h, and
 *             PYAPSP_GROUP   64     work-items of a group
 *             PYAPSP_LANES   1      work-items of a vertex, a divisor of the group
 *             PYAPSP_OFFSET  long   type of first: int or long
 *             PYAPSP_WEIGHT  float  type of the weights, which are converted to distances
 *
 * Cost      One pass over the arcs, with a read of a distance for each. If there are arcs of weight
 *           zero, as many further passes as a path has of them in a row, at most.
 *
 * Source    Ours. all_pairs/sparse/source_blocks.cl finds predecessors of many sources by the same two rules,
 *           from the entering arcs.
 */
#include "common/arc_types.h"
#include "common/group_size.h"
#include "all_pairs/sparse/words.h"
#ifndef PYAPSP_LANES
#define PYAPSP_LANES 1
#endif

#define NO_PREDECESSOR (-9999)
#define NEVER 2147483647
#define WAITING 0
#define ADVANCED 1

__kernel GROUP void tree_start(__global int *parents, __global int *rounds,
                              __global int *state, const int n)
{
    const size_t v = get_global_id(0);
    if (v < (size_t)n) {
        parents[v] = NO_PREDECESSOR;
        rounds[v] = NEVER;
    }
    if (v == 0)
        state[WAITING] = state[ADVANCED] = 0;
}

__kernel GROUP void tree_fall(__global const offset_t *first, __global const int *heads,
                              __global const weight_t *weights, __global const word_t *words,
                              __global int *parents, const int n, const value_t farthest)
{
    const size_t u = get_global_id(0) / PYAPSP_LANES;
    const int lane = get_global_id(0) % PYAPSP_LANES;
    if (u >= (size_t)n)
        return;
    const value_t distance = VALUE_IN(words[u]);
    if (!(distance <= farthest))
        return;
    for (offset_t a = first[u] + lane; a < first[u + 1]; a += PYAPSP_LANES) {
        const value_t beyond = VALUE_IN(words[heads[a]]);
        if (distance < beyond && beyond <= farthest &&
            extend(distance, (value_t)weights[a]) == beyond)
            atomic_min((volatile __global uint *)&parents[heads[a]], (uint)u);
    }
}

__kernel GROUP void tree_level(__global const offset_t *first, __global const int *heads,
                               __global const weight_t *weights, __global const word_t *words,
                               __global int *parents, __global const int *rounds,
                               __global int *state, const int source, const int n,
                               const value_t farthest)
{
    const size_t u = get_global_id(0) / PYAPSP_LANES;
    const int lane = get_global_id(0) % PYAPSP_LANES;
    if (u >= (size_t)n || rounds[u] == NEVER)
        return;
    const value_t distance = VALUE_IN(words[u]);
    if (!(distance <= farthest))
        return;
    for (offset_t a = first[u] + lane; a < first[u + 1]; a += PYAPSP_LANES) {
        const int v = heads[a];
        if (rounds[v] == NEVER && VALUE_IN(words[v]) == distance &&
            extend(distance, (value_t)weights[a]) == distance) {
            atomic_min((volatile __global uint *)&parents[v], (uint)u);
            atomic_xchg(&state[ADVANCED], 1);
        }
    }
}

__kernel GROUP void tree_count(__global const word_t *words, __global const int *parents,
                               __global int *rounds, __global int *state, const int source,
                               const int n, const value_t farthest, const int round)
{
    const size_t v = get_global_id(0);
    if (v >= (size_t)n || rounds[v] != NEVER)
        return;
    if (v == (size_t)source || parents[v] != NO_PREDECESSOR)
        rounds[v] = round;
    else if (VALUE_IN(words[v]) <= farthest)
        atomic_xchg(&state[WAITING], 1);
}
