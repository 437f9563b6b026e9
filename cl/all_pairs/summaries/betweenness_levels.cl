/* betweenness_levels: how many shortest paths lead over each vertex, level by level for 64 sources.
 *
 * Purpose   The sums of betweenness.cl for arcs of length 1, where the graph has few levels. `forward`
 *           counts the paths to the vertices of a level. `backward` passes back, from the last level
 *           to the first, how much of the paths to them and beyond leads over the vertices before:
 *
 *             share(v) = (1 + delta(v)) / sigma(v)
 *             delta(u) = sigma(u) * (sum of share(v) over arcs u -> v to the next level)
 *
 * Layout    Bit b of a word is for source b of 64. A vertex has
 *
 *             a word for each level     the sources from which it has this level
 *             64 doubles of `counts`    sigma; those of unreached sources are not read
 *             64 doubles of `shares`
 *             64 doubles of `sums`      delta, added over all batches of 64 sources
 *
 *           A slice is 32 work-items. Item i has sources i and i + 32: the items read what belongs to
 *           one vertex side by side. A vertex with a long row has several slices, each for a part of the row; sums are
 *           added in the order of the row within a slice, then in the order of the slices.
 *
 *           state: bit 0: there are more paths than a double can count
 *
 * Parameters  PYAPSP_GROUP    128  work-items of a group, a multiple of 32 PYAPSP_SLICES
 *             PYAPSP_SLICES   1    slices of a vertex; if there are more, the group has one vertex
 *             PYAPSP_LONGEST  512  arcs of the longest row with one slice
 *
 * Cost      O(n + m) for each level and 64 sources.
 *
 * Source    U. Brandes, J. Mathematical Sociology 25(2), 2001, doi:10.1080/0022250X.2001.9990249;
 *           bits of several searches: M. Then et al., PVLDB 8(4), 2014, doi:10.14778/2735496.2735507.
 */
#ifndef PYAPSP_GROUP
#define PYAPSP_GROUP 128
#endif
#ifndef PYAPSP_SLICES
#define PYAPSP_SLICES 1
#endif
#ifndef PYAPSP_LONGEST
#define PYAPSP_LONGEST 512
#endif

#include "common/group_size.h"

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF

#define SOURCES 64
#define ITEMS 32
#define HAS(word, b) ((word) >> (b)&1)
/* Arcs that are read together. */
#define AHEAD 4

/* Where a work-item is: its vertex, or -1; its slice of the row, and its place in the slice. */
#if PYAPSP_SLICES == 1
#define VERTEX_OF(vertices, count, first) short_row((count), (first))
static int short_row(const int count, __global const long *first)
{
    const size_t v = get_global_id(0) / ITEMS;
    return v < (size_t)count && first[v + 1] - first[v] <= PYAPSP_LONGEST ? (int)v : -1;
}
#else
#define VERTEX_OF(vertices, count, first) ((vertices)[get_group_id(0)])
#endif

/* Add the values of the neighbours in the slice whose words have bits in common with `mask`, for the
 * two sources of the work-item; add the common bits to `*common`. */
static double2 added(const int v, const ulong mask, __global const long *first,
                     __global const int *heads, __global const ulong *words,
                     __global const double *values, ulong *common)
{
    const int item = get_local_id(0) % ITEMS, slice = get_local_id(0) / ITEMS % PYAPSP_SLICES;
    const long begin = first[v], length = first[v + 1] - begin;
    const long part = (length + PYAPSP_SLICES - 1) / PYAPSP_SLICES;
    const long end = begin + min(length, part * (slice + 1));
    double2 sum = 0;
    for (long a = begin + part * slice; a < end; a += AHEAD) {
        int near[AHEAD];
        ulong bits[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            near[k] = heads[min(a + k, end - 1)];
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            bits[k] = a + k < end ? words[near[k]] & mask : 0;
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            *common |= bits[k];
            const size_t place = (size_t)near[k] * SOURCES + item;
            if (HAS(bits[k], item))
                sum.x += values[place];
            if (HAS(bits[k], item + ITEMS))
                sum.y += values[place + ITEMS];
        }
    }
    return sum;
}

#if PYAPSP_SLICES > 1
/* Add the sums and bits of all slices, for the work-items of the first slice. */
static double2 of_slices(double2 sum, ulong *common, __local double2 *sums, __local ulong *bits)
{
    sums[get_local_id(0)] = sum;
    if (get_local_id(0) % ITEMS == 0)
        bits[get_local_id(0) / ITEMS] = *common;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) >= ITEMS)
        return sum;
    for (int slice = 1; slice < PYAPSP_SLICES; slice++) {
        sum += sums[slice * ITEMS + get_local_id(0)];
        *common |= bits[slice];
    }
    return sum;
}
#define ADD_SLICES(sum, common)                                                                      \
    __local double2 sums_of_slices[PYAPSP_GROUP];                                                    \
    __local ulong bits_of_slices[PYAPSP_SLICES];                                                     \
    sum = of_slices(sum, &common, sums_of_slices, bits_of_slices)
#else
#define ADD_SLICES(sum, common)
#endif

/* Begin the searches of a batch. The words of level 0, and `seen`, are zero. */
__kernel GROUP void begin(__global const int *sources, const int first, const int count,
                          __global ulong *words, __global ulong *seen, __global double *counts)
{
    const int b = get_global_id(0);
    if (b < count) {
        const size_t v = sources[first + b];
        words[v] = seen[v] = (ulong)1 << b;
        counts[v * SOURCES + b] = 1;
    }
}

/* Count the paths to the vertices of a level, by the arcs that lead to them. */
__kernel GROUP void forward(__global const int *vertices, const int n,
                            __global const long *first, __global const int *tails,
                            __global ulong *words, const int level, __global const ulong *seen,
                            __global ulong *seen_after, __global double *counts,
                            volatile __global int *reached, volatile __global int *state)
{
    const int v = VERTEX_OF(vertices, n, first), item = get_local_id(0) % ITEMS;
    ulong fresh = 0;
    double2 sum = 0;
    const ulong old = v < 0 ? 0 : seen[v];
    if (v >= 0 && ~old)
        sum = added(v, ~old, first, tails, words + (size_t)(level - 1) * n, counts, &fresh);
    ADD_SLICES(sum, fresh);
    if (v < 0 || get_local_id(0) / ITEMS % PYAPSP_SLICES)
        return;
    const size_t place = (size_t)v * SOURCES + item;
    if (HAS(fresh, item))
        counts[place] = sum.x;
    if (HAS(fresh, item + ITEMS))
        counts[place + ITEMS] = sum.y;
    if (isinf(sum.x) || isinf(sum.y))
        atomic_or(state, 1);
    if (item == 0) {
        words[(size_t)level * n + v] = fresh;
        seen_after[v] = old | fresh;
        if (fresh)
            atomic_max(reached, level);
    }
}

static double shared_by(const double sum, const double count, const int level, const int endpoints,
                        __global double *total)
{
    const double delta = count * sum;
    /* of a source: the number of vertices that are reached from it */
    *total += level > 0 ? delta + endpoints : endpoints ? rint(delta) : 0;
    return (1 + delta) / count;
}

/* Pass the shares of the next level back to the vertices of a level. */
__kernel GROUP void backward(__global const int *vertices, const int n,
                             __global const long *first, __global const int *heads,
                             __global const ulong *words, const int level,
                             __global const double *counts, __global double *shares,
                             __global double *sums, const int endpoints)
{
    const int v = VERTEX_OF(vertices, n, first), item = get_local_id(0) % ITEMS;
    const ulong word = v < 0 ? 0 : words[(size_t)level * n + v];
    ulong common = 0;
    double2 sum = 0;
    if (word)
        sum = added(v, word, first, heads, words + (size_t)(level + 1) * n, shares, &common);
    ADD_SLICES(sum, common);
    if (v < 0 || get_local_id(0) / ITEMS % PYAPSP_SLICES)
        return;
    const size_t place = (size_t)v * SOURCES + item, other = place + ITEMS;
    if (HAS(word, item))
        shares[place] = shared_by(sum.x, counts[place], level, endpoints, sums + place);
    if (HAS(word, item + ITEMS))
        shares[other] = shared_by(sum.y, counts[other], level, endpoints, sums + other);
}

/* Add the sums of a vertex in the order of their bits. */
__kernel GROUP void add_sums(const int n, __global const double *sums, __global double *totals)
{
    for (size_t v = get_global_id(0); v < (size_t)n; v += get_global_size(0)) {
        double total = 0;
        for (int b = 0; b < SOURCES; b++)
            total += sums[v * SOURCES + b];
        totals[v] = total;
    }
}
