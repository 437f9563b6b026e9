/* boruvka: a minimum spanning forest, which grows from all vertices at once.
 *
 * Purpose   The edges of least weight that connect all vertices of each component of an undirected
 *           graph.
 *
 * Layout    Arc a leads from tails[a] to heads[a]. Each edge is two arcs. Those of vertex v are
 *           starts[v] to starts[v + 1] - 1. The tree of a vertex is named after one of its vertices,
 *           the root:
 *
 *               trees    0 0 2 2 2      lightest, at roots   the lightest arc that leaves the tree
 *               vertex   0 1 2 3 4      parents, at roots    the tree that it leads to
 *
 *           A round has four steps: find_lightest; join, which makes one tree of those that the
 *           lightest arcs connect; shorten, until each parent is a root; relabel.
 *
 *           Edges of the same weight are ordered by their ends. So no two are equal, and trees that
 *           join in a cycle are two, with the same edge: the one with the smaller name is the root.
 *
 * Parameters  PYAPSP_GROUP  1    work-items of a group
 *             and those of common/types.h with PYAPSP_WIDTH 1
 *
 * Cost      At most log2(n) rounds, each of O(m) for the arcs and O(n log n) for the parents.
 *
 * Source    O. Boruvka 1926; J. Nesetril, E. Milkova, H. Nesetrilova, 2001,
 *           doi:10.1016/S0012-365X(00)00224-7.
 */
#include "common/types.h"

#ifndef PYAPSP_GROUP
#define PYAPSP_GROUP 1
#endif

#define NONE (-1)
#define ONE_FOR_EACH_VERTEX __kernel __attribute__((reqd_work_group_size(PYAPSP_GROUP, 1, 1))) void

/* Whether arc a comes before arc b: by weight, then by the smaller end, then by the larger one. */
int is_lighter(__global const int *tails, __global const int *heads,
               __global const value_t *weights, const int a, const int b)
{
    if (weights[a] != weights[b])
        return weights[a] < weights[b];
    const int first = min(tails[a], heads[a]), other = min(tails[b], heads[b]);
    if (first != other)
        return first < other;
    return max(tails[a], heads[a]) < max(tails[b], heads[b]);
}

ONE_FOR_EACH_VERTEX begin(__global int *trees, __global int *lightest, const int n)
{
    const int v = get_global_id(0);
    if (v < n) {
        trees[v] = v;
        lightest[v] = NONE;
    }
}

/* The lightest arc of each vertex that leaves its tree, and of these that of the tree. */
ONE_FOR_EACH_VERTEX find_lightest(__global const long *starts, __global const int *tails,
                                  __global const int *heads, __global const value_t *weights,
                                  __global const int *trees, volatile __global int *lightest,
                                  const int n)
{
    const int v = get_global_id(0);
    if (v >= n)
        return;
    const int tree = trees[v];
    int mine = NONE;
    for (long arc = starts[v]; arc < starts[v + 1]; arc++)
        if (trees[heads[arc]] != tree
            && (mine == NONE || is_lighter(tails, heads, weights, (int)arc, mine)))
            mine = (int)arc;
    if (mine == NONE)
        return;
    int other = atomic_cmpxchg(&lightest[tree], NONE, mine);
    while (other != NONE && is_lighter(tails, heads, weights, mine, other)) {
        const int now = atomic_cmpxchg(&lightest[tree], other, mine);
        if (now == other)
            return;
        other = now;
    }
}

/* The parent of each tree; the arc to it is in the forest. */
ONE_FOR_EACH_VERTEX join(__global const int *heads, __global const int *trees,
                         __global const int *lightest, __global int *parents,
                         __global int *chosen, volatile __global int *changed, const int n)
{
    const int tree = get_global_id(0);
    if (tree >= n)
        return;
    parents[tree] = tree;
    const int arc = lightest[tree]; /* NONE at vertices that are no roots */
    if (arc == NONE)
        return;
    const int other = trees[heads[arc]];
    if (trees[heads[lightest[other]]] == tree && tree < other)
        return;
    parents[tree] = other;
    chosen[arc] = 1;
    atomic_xchg(changed, 1);
}

ONE_FOR_EACH_VERTEX shorten(__global const int *parents, __global int *shorter,
                            volatile __global int *changed, const int n)
{
    const int v = get_global_id(0);
    if (v >= n)
        return;
    shorter[v] = parents[parents[v]];
    if (shorter[v] != parents[v])
        atomic_xchg(changed, 1);
}

ONE_FOR_EACH_VERTEX relabel(__global const int *parents, __global int *trees,
                            __global int *lightest, const int n)
{
    const int v = get_global_id(0);
    if (v < n) {
        trees[v] = parents[trees[v]];
        lightest[v] = NONE;
    }
}
