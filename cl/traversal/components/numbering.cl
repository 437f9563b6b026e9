/* numbering: components are numbered from 0 in the order of their smallest vertices.
 *
 * Purpose   A search for components leaves for each vertex one that stands for its component. This
 *           makes the numbers that users get.
 *
 * Layout    roots      6 6 2 6 . . 6      the vertex that stands for the component of v; or -1: it
 *                                         is alone
 *           smallest   of a vertex that stands for a component, its smallest vertex: 0 for 6, 2 for
 *           2 flags      1 0 1 0 . . 0      whether v is the smallest; `sums` is their sum before v
 *           numbers    0 0 1 0 . . 0      sums[smallest[roots[v]]]
 *
 * Parameters  PYAPSP_GROUP  64  work-items of a group
 *
 * Cost      Three launches, and a scan; three accesses at random for each vertex. A work-item waits
 *           with a component until it meets another one, so that a large component has few atomics.
 *
 * Source    ours.
 */
#include "common/group_size.h"
#include "common/peek.h"

/* Make the smallest vertex of a component known. Most work-items find a smaller one there: a look is
 * cheaper than an atomic that all of them wait for. */
static inline void offer(__global int *smallest, const int v)
{
    if (PEEK_INT(smallest) > v)
        atomic_min(smallest, v);
}

/* The smallest vertex of each component. */
__kernel GROUP void number_smallest(__global int *roots, __global int *smallest, const int n)
{
    int root = -1, least = 0;
    for (size_t v = get_global_id(0); v < (size_t)n; v += get_global_size(0)) {
        if (roots[v] < 0)
            roots[v] = v;
        if (roots[v] == root)
            continue;
        if (root >= 0)
            offer(&smallest[root], least);
        root = roots[v];
        least = v;
    }
    if (root >= 0)
        offer(&smallest[root], least);
}

/* 1 for each vertex that is the smallest of its component. */
__kernel GROUP void number_flags(__global const int *roots, __global const int *smallest,
                              __global int *flags, const int n)
{
    for (size_t v = get_global_id(0); v < (size_t)n; v += get_global_size(0))
        flags[v] = smallest[roots[v]] == (int)v;
}

/* The number of the component of each vertex, from the sums of the flags. */
__kernel GROUP void number_all(__global const int *roots, __global const int *smallest,
                               __global const int *sums, __global int *labels, const int n)
{
    for (size_t v = get_global_id(0); v < (size_t)n; v += get_global_size(0))
        labels[v] = sums[smallest[roots[v]]];
}
