/* symmetry: a random test of whether every arc has its reverse.
 *
 * Purpose   Tests whether the adjacency matrix of a graph without parallel arcs is symmetric,
 *           without transposing it.
 *
 * Layout    The graph: heads[first[v] .. first[v + 1]] are the neighbours of v. Work-item i reads the
 *           i-th of equal parts of the arcs; partial has a sum for each group.
 *
 *             sum = sum over arcs (u, v) of  x(u) y(v) - y(u) x(v)      modulo 2^64
 *
 *           x and y are numbers of 64 bits, hashed from the vertex and a random key. In a symmetric
 *           graph the terms of an arc and of its reverse cancel. Else let D be the matrix of arcs
 *           minus its transpose, which has a 1. The sum is x D y. For random y, the number of D y in
 *           the row of the 1 is uniform. With random x the sum is zero with a probability below
 *           2^-58.
 *
 * Parameters  PYAPSP_GROUP   64    work-items of a group
 *             PYAPSP_OFFSET  long  type of first: int or long
 *
 * Cost      The heads are read once, in order, with three multiplications for each. Compilers for
 *           CPUs make vectors of the arcs of a row.
 *
 * Source    The test is that of R. Freivalds, 1977, for matrices, with x A y = y A x.
 */
#include "common/arc_types.h"
#include "common/group_size.h"

static inline ulong folded(const ulong bits)
{
    return bits ^ bits >> 32;
}

/* What x and y are hashed from. Neither is a hash of the other: what is linear in it would cancel. */
static inline ulong seed_of(const uint v, const ulong key)
{
    return folded((v ^ key) * 0x9e3779b97f4a7c15ul);
}

static inline ulong x_of(const ulong seed)
{
    return folded(seed * 0xbf58476d1ce4e5b9ul);
}

static inline ulong y_of(const ulong seed)
{
    return folded(seed * 0x94d049bb133111ebul);
}

__kernel GROUP void symmetry(__global const offset_t *first, __global const int *heads,
                             __global ulong *partial, const int n, const int m, const ulong key)
{
    __local ulong sums[PYAPSP_GROUP];
    const int item = get_local_id(0);
    const long part = ((long)m - 1) / get_global_size(0) + 1;
    const offset_t from = min((long)m, part * (long)get_global_id(0));
    const offset_t to = min((long)m, (long)from + part);
    /* the last vertex whose arcs begin at or before `from` */
    int low = 0, high = n;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (first[middle] <= from)
            low = middle;
        else
            high = middle;
    }
    ulong sum = 0;
    offset_t arc = from;
    for (uint u = low; arc < to; u++) {
        const offset_t end = min(to, first[u + 1]);
        ulong row_x = 0, row_y = 0;
        for (; arc < end; arc++) {
            const ulong seed = seed_of(heads[arc], key);
            row_x += x_of(seed);
            row_y += y_of(seed);
        }
        const ulong seed = seed_of(u, key);
        sum += x_of(seed) * row_y - y_of(seed) * row_x;
    }
    sums[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item > 0)
        return;
    for (int other = 1; other < PYAPSP_GROUP; other++)
        sum += sums[other];
    partial[get_group_id(0)] = sum;
}
