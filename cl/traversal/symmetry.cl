/* symmetry: a random test of whether every arc has its reverse.
 *
 * Purpose   Tests whether the adjacency matrix of a graph without parallel arcs is symmetric,
 *           without transposing it.
 *
 * Layout    The graph: heads[first[v] .. first[v + 1]] are the neighbours of v. Work-item i reads the
 *           i-th of equal parts of the arcs; partial has two sums for each group.
 *
 *             sum = sum over arcs (u, v) of  x(u) x(v)^2 - x(u)^2 x(v)      modulo 2^64
 *
 *           x is a number of 32 bits, hashed from the vertex and a random key. Two sums with
 *           different keys are made at once. In a symmetric graph the terms of an arc and of its
 *           reverse cancel. Else the sum is a polynomial of degree 3 that is not zero; with random x
 *           it is zero with a probability of about 3 / 2^32, and both sums with about 2^-61.
 *
 * Parameters  PYAPSP_GROUP   64    work-items of a group
 *             PYAPSP_OFFSET  long  type of first: int or long
 *
 * Cost      The heads are read once, in order, with two hashes of three multiplications for each.
 *
 * Source    The test is that of R. Freivalds, 1977, for matrices, with x A y = y A x; the bound is by
 *           J. T. Schwartz, JACM 27, 1980, doi:10.1145/322217.322225.
 */
#ifndef PYAPSP_GROUP
#define PYAPSP_GROUP 64
#endif
#ifndef PYAPSP_OFFSET
#define PYAPSP_OFFSET long
#endif

#define GROUP __attribute__((reqd_work_group_size(PYAPSP_GROUP, 1, 1)))

typedef PYAPSP_OFFSET offset_t;

static inline uint hash(const uint v, const uint key)
{
    uint x = (v ^ key) * 0x9e3779b1u;
    x = (x ^ x >> 15) * 0x85ebca77u;
    x = (x ^ x >> 13) * 0xc2b2ae3du;
    return x ^ x >> 16;
}

__kernel GROUP void symmetry(__global const offset_t *first, __global const int *heads,
                             __global ulong *partial, const int n, const int m, const uint key0,
                             const uint key1)
{
    __local ulong sums[2 * PYAPSP_GROUP];
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
    ulong sum0 = 0, sum1 = 0;
    offset_t arc = from;
    for (uint u = low; arc < to; u++) {
        const offset_t end = min(to, first[u + 1]);
        ulong one0 = 0, two0 = 0, one1 = 0, two1 = 0;
        for (; arc < end; arc++) {
            const ulong x0 = hash(heads[arc], key0), x1 = hash(heads[arc], key1);
            one0 += x0;
            two0 += x0 * x0;
            one1 += x1;
            two1 += x1 * x1;
        }
        const ulong x0 = hash(u, key0), x1 = hash(u, key1);
        sum0 += x0 * two0 - x0 * x0 * one0;
        sum1 += x1 * two1 - x1 * x1 * one1;
    }
    sums[2 * item] = sum0;
    sums[2 * item + 1] = sum1;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item > 0)
        return;
    sum0 = sum1 = 0;
    for (int other = 0; other < PYAPSP_GROUP; other++) {
        sum0 += sums[2 * other];
        sum1 += sums[2 * other + 1];
    }
    partial[2 * get_group_id(0)] = sum0;
    partial[2 * get_group_id(0) + 1] = sum1;
}
