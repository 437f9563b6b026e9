/* analytics: searches, products, ranks and components, on a Hornet or on compressed sparse rows.
 *
 * Purpose   The same kernels for both, so that they can be compared: a row is an array and a size
 *           (rows.h). `lanes` neighbouring work-items share a row. Rows that are longer than
 *           `limit` go into a list, and a second launch has a group for each of them.
 *
 * Layout    list[0 .. *count - 1]   vertices; with `listed` 0, the vertices are 0 .. *count - 1
 *           longer[0 .. *longer_count - 1]   the vertices with long rows
 *
 *             work-items   0 1 2 3   4 5 6 7      lanes = 4
 *             rows         a a a a   b b b b
 *                          a a a .   b . . .
 *
 *           search        distance[v], or -1; `next` is the next level
 *           components    two arrays of pointers to smaller vertices, read and written in turn
 *
 * Parameters  those of rows.h, and
 *             PYAPSP_VALUE     float     type of the vectors of products
 *             PYAPSP_MIN_PLUS  0         1: products in (min, +)
 *             PYAPSP_NONE      INFINITY  the sum of nothing in (min, +)
 *             PYAPSP_INTEGERS  0         whether the values are integers
 *
 * Cost      One read of each row, and one of a vector or an atomic operation for each edge.
 *
 * Source    F. Busato, thesis, University of Verona, 2018, sections 18.4.5 and 18.4.6 (one text for
 *           both formats), https://iris.univr.it/handle/11562/979445; ranks: L. Page et al., The
 *           PageRank citation ranking, Stanford 1999, and L. Katz, Psychometrika 18, 1953,
 *           doi:10.1007/BF02289026; components: Y. Shiloach, U. Vishkin, J.
 *           Algorithms 3, 1982, doi:10.1016/0196-6774(82)90008-6.
 */
#include "dynamic/rows.h"
#ifndef PYAPSP_VALUE
#define PYAPSP_VALUE float
#endif
#ifndef PYAPSP_MIN_PLUS
#define PYAPSP_MIN_PLUS 0
#endif
#ifndef PYAPSP_NONE
#define PYAPSP_NONE INFINITY
#endif
#ifndef PYAPSP_INTEGERS
#define PYAPSP_INTEGERS 0
#endif
#ifndef PYAPSP_HAS_FP64
#define PYAPSP_HAS_FP64 0
#endif
#if PYAPSP_HAS_FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

typedef PYAPSP_VALUE value_t;

#if PYAPSP_MIN_PLUS
#define ADD(a, b) ((b) < (a) ? (b) : (a))
/* Nothing plus a weight, which may be negative, is nothing. */
#define TIMES(w, x) ((x) == (value_t)PYAPSP_NONE ? (x) : (value_t)(w) + (x))
#define NOTHING ((value_t)PYAPSP_NONE)
#else
#define ADD(a, b) ((a) + (b))
#define TIMES(w, x) ((value_t)(w) * (x))
#define NOTHING ((value_t)0)
#endif

/* A term of a row. Of integers, a size comes with it: if the sizes of a row add up to more than the
 * type holds, its sum may not fit. */
#if PYAPSP_INTEGERS
#define LOST volatile __global int *lost, /* a parameter */
#define SIZES ulong size_of_terms = 0;
#define SIZES_OF_GROUP __local ulong sizes[PYAPSP_GROUP];
#define TERM(w, x) term(abs(w), (w) < 0, x, &size_of_terms)
#define CHECK_ROW                                                                                  \
    if (size_of_lanes(size_of_terms, lane, lanes, sizes) > (ulong)PYAPSP_NONE && lane == 0)        \
        atomic_xchg(lost, 1);

static inline value_t term(const ulong weight, const int negative, const value_t x, ulong *sizes)
{
    const ulong most = PYAPSP_NONE, size = abs(x);
    const value_t w = negative ? -(value_t)weight : (value_t)weight;
#if PYAPSP_MIN_PLUS
    if (x == NOTHING)
        return x;
    if (x >= 0 && !negative) /* a sum that is too large is as good as nothing */
        return weight < most && weight + size < most ? w + x : NOTHING;
    if (weight > most || (x < 0 && negative && weight + size > most))
        *sizes = ULONG_MAX;
    return w + x;
#else
    *sizes = add_sat(*sizes, mul_hi(weight, size) ? ULONG_MAX : weight * size);
    return w * x;
#endif
}
#else
#define LOST
#define SIZES
#define SIZES_OF_GROUP
#define TERM(w, x) TIMES(w, x)
#define CHECK_ROW
#endif

/* Run over rows: the same number of turns for all work-items of a group. `at` may be too large in
 * the last turn. A group of one work-item takes up to 1024 neighbours at a time, which share lines
 * of a cache. */
#if PYAPSP_GROUP == 1
#define FOR_ROWS(at, count, lanes)                                                                 \
    for (uint at##_run = clamp((uint)(count) / (uint)get_num_groups(0), 1u, 1024u),                \
              at##_ = get_group_id(0) * at##_run;                                                  \
         at##_ < (uint)(count); at##_ += get_num_groups(0) * at##_run)                             \
        for (uint at = at##_; at < min(at##_ + at##_run, (uint)(count)); at++)
#else
#define FOR_ROWS(at, count, lanes)                                                                 \
    for (uint at##_ = get_group_id(0) * (PYAPSP_GROUP / (lanes)),                                  \
              at = at##_ + GROUP_PLACE / (lanes);                                                  \
         at##_ < (uint)(count); at##_ += get_num_groups(0) * (PYAPSP_GROUP / (lanes)),             \
              at = at##_ + GROUP_PLACE / (lanes))
#endif

#if PYAPSP_AHEAD > 0
/* The vertex of a row that is taken soon. */
#define SOON(at)                                                                                   \
    (listed ? list[min(at + PYAPSP_AHEAD, (uint)*count - 1)]                                       \
            : (int)min(at + PYAPSP_AHEAD, (uint)*count - 1))
/* Prefetch the begin of a row, unless it follows the one before it in memory: then the hardware finds
 * it, as it finds the rest of a long row. */
#define PREFETCH_ROW(at, ROW_ITEMS)                                                                \
    if (PYAPSP_HORNET || listed) {                                                                 \
        const int soon = SOON(at);                                                                 \
        if (ROW_SIZE(soon) > 0)                                                                    \
            PREFETCH(ROW_ITEMS(soon));                                                             \
    }
#else
#define PREFETCH_ROW(at, ROW_ITEMS)
#endif

/* The row at a place of the list, or -1 if it is too long: then it is listed. */
#define TAKE_ROW(v, size, at)                                                                      \
    int v = -1, size = 0;                                                                          \
    if (at < (uint)*count) {                                                                       \
        v = listed ? list[at] : (int)at;                                                           \
        size = ROW_SIZE(v);                                                                        \
        PREFETCH_ROW(at, ROW_HEADS)                                                                \
        if (size > limit) {                                                                        \
            if (lane == 0)                                                                         \
                longer[atomic_inc(longer_count)] = v;                                              \
            v = -1;                                                                                \
            size = 0;                                                                              \
        }                                                                                          \
    }

#define LISTS                                                                                      \
    __global const int *list, __global const int *count, const int listed, const int lanes,        \
        const int limit, __global int *longer, volatile __global int *longer_count

/* The sum of the lanes of a row, in lane 0. */
#if PYAPSP_GROUP == 1
#define OVER_LANES(name, type, ADD)                                                                \
    static inline type name(const type own, const int lane, const int lanes, __local type *sums)   \
    {                                                                                              \
        return own;                                                                                \
    }
#else
#define OVER_LANES(name, type, ADD)                                                                \
    static inline type name(const type own, const int lane, const int lanes, __local type *sums)   \
    {                                                                                              \
        sums[GROUP_PLACE] = own;                                                                   \
        for (int step = lanes / 2; step > 0; step /= 2) {                                          \
            group_sync();                                                                          \
            if (lane < step)                                                                       \
                sums[GROUP_PLACE] = ADD(sums[GROUP_PLACE], sums[GROUP_PLACE + step]);              \
        }                                                                                          \
        const type sum = sums[GROUP_PLACE];                                                        \
        group_sync();                                                                              \
        return sum;                                                                                \
    }
#endif
OVER_LANES(sum_of_lanes, value_t, ADD)
#if PYAPSP_INTEGERS
OVER_LANES(size_of_lanes, ulong, add_sat)
#endif

/* Visit the neighbours of a level. */
__kernel GROUP void rows_search(LISTS, volatile __global int *distance, __global int *next,
                                volatile __global int *next_count, const int level, ROWS)
{
    const int lane = GROUP_PLACE % lanes;
    FOR_ROWS (at, *count, lanes) {
        TAKE_ROW(v, size, at)
        if (size > 0) {
            __global const int *row = ROW_HEADS(v);
            for (int k = lane; k < size; k += lanes) {
                const int w = row[k];
                if (atomic_cmpxchg(&distance[w], -1, level) == -1)
                    next[atomic_inc(next_count)] = w;
            }
        }
    }
}

/* Relax the edges of a list of vertices. Vertices whose distance falls are the next list, each once:
 * marks[v] is the last round in which v was put on a list. A distance of INT_MAX - 1 is too long for
 * an int. Edges of negative weight are counted and left out, so that no cycle goes on. */
__kernel GROUP void rows_relax(LISTS, volatile __global int *distance, volatile __global int *marks,
                               __global int *next, volatile __global int *next_count,
                               volatile __global int *negative, const int round, ROWS_WEIGHTS)
{
    const int lane = GROUP_PLACE % lanes;
    FOR_ROWS (at, *count, lanes) {
        TAKE_ROW(v, size, at)
        PREFETCH_ROW(at, ROW_WEIGHTS)
        if (size > 0) {
            __global const int *row = ROW_HEADS(v);
            __global const weight_t *weight = ROW_WEIGHTS(v);
            const int own = atomic_or(&distance[v], 0), room = INT_MAX - 1 - own;
            for (int k = lane; k < size; k += lanes) {
                if (WEIGHT_AT(weight, k) < 0) {
                    atomic_inc(negative);
                    continue;
                }
                const int fits = WEIGHT_AT(weight, k) <= room, w = row[k];
                const int now = fits ? own + (int)WEIGHT_AT(weight, k) : INT_MAX - 1;
                if (atomic_min(&distance[w], now) > now && atomic_xchg(&marks[w], round) != round)
                    next[atomic_inc(next_count)] = w;
            }
        }
    }
}

/* y = A x with weights; *lost becomes 1 if a sum of integers may not fit. */
__kernel GROUP void rows_product(LISTS, __global const value_t *x, __global value_t *y,
                                 LOST ROWS_WEIGHTS)
{
    __local value_t sums[PYAPSP_GROUP];
    SIZES_OF_GROUP
    const int lane = GROUP_PLACE % lanes;
    FOR_ROWS (at, *count, lanes) {
        TAKE_ROW(v, size, at)
        PREFETCH_ROW(at, ROW_WEIGHTS)
        value_t own = NOTHING;
        SIZES
        if (size > 0) {
            __global const int *row = ROW_HEADS(v);
            __global const weight_t *weight = ROW_WEIGHTS(v);
            for (int k = lane; k < size; k += lanes) {
                const value_t one = TERM(WEIGHT_AT(weight, k), x[row[k]]);
                own = ADD(own, one);
            }
        }
        CHECK_ROW
        const value_t sum = sum_of_lanes(own, lane, lanes, sums);
        if (v >= 0 && lane == 0)
            y[v] = sum;
    }
}

/* y = A x without weights: all are 1. */
__kernel GROUP void rows_sum(LISTS, __global const value_t *x, __global value_t *y, LOST ROWS)
{
    __local value_t sums[PYAPSP_GROUP];
    SIZES_OF_GROUP
    const int lane = GROUP_PLACE % lanes;
    FOR_ROWS (at, *count, lanes) {
        TAKE_ROW(v, size, at)
        value_t own = NOTHING;
        SIZES
        if (size > 0) {
            __global const int *row = ROW_HEADS(v);
            for (int k = lane; k < size; k += lanes) {
                const value_t one = TERM(1, x[row[k]]);
                own = ADD(own, one);
            }
        }
        CHECK_ROW
        const value_t sum = sum_of_lanes(own, lane, lanes, sums);
        if (v >= 0 && lane == 0)
            y[v] = sum;
    }
}

/* New ranks from what neighbours gave: `base` and a part of that. A vertex shares its rank among its
 * neighbours, or with `whole` gives all of it to each. Each group sums how much they change, and the
 * ranks of vertices without edges, whose share goes to all; with `whole` it sums all ranks. */
__kernel GROUP void rows_rank(__global const float *given, __global float *rank,
                              __global float *share, __global float *sums, const int n,
                              const float base, const float damping, const int whole, ROWS)
{
    __local float slots[PYAPSP_GROUP];
    float change = 0, hanging = 0;
    FOR_ALL (v, n) {
        if (v < (uint)n && IS_VERTEX(v)) {
            const float now = base + damping * given[v];
            const int size = ROW_SIZE(v);
            change += fabs(now - rank[v]);
            hanging += whole || size == 0 ? now : 0;
            rank[v] = now;
            share[v] = whole ? now : size ? now / size : 0;
        }
    }
    for (int which = 0; which < 2; which++) {
        slots[GROUP_PLACE] = which ? hanging : change;
        for (int step = PYAPSP_GROUP / 2; step > 0; step /= 2) {
            group_sync();
            if (GROUP_PLACE < step)
                slots[GROUP_PLACE] += slots[GROUP_PLACE + step];
        }
        if (GROUP_PLACE == 0)
            sums[2 * get_group_id(0) + which] = slots[0];
        group_sync();
    }
}

/* Hook the larger root of two neighbours to the smaller one. */
__kernel GROUP void rows_hook(LISTS, __global const int *now, volatile __global int *next,
                              volatile __global int *changed, ROWS)
{
    const int lane = GROUP_PLACE % lanes;
    FOR_ROWS (at, *count, lanes) {
        TAKE_ROW(v, size, at)
        if (size > 0) {
            __global const int *row = ROW_HEADS(v);
            const int own = now[v];
            int found = 0;
            for (int k = lane; k < size; k += lanes) {
                const int other = now[row[k]];
                if (other != own) {
                    atomic_min(&next[max(own, other)], min(own, other));
                    found = 1;
                }
            }
            if (found)
                atomic_xchg(changed, 1);
        }
    }
}

/* Let all vertices point to their roots. */
__kernel GROUP void rows_shorten(__global const int *next, __global int *now, const int n)
{
    FOR_ALL (v, n) {
        if (v < (uint)n) {
            int root = next[v];
            while (next[root] != root)
                root = next[root];
            now[v] = root;
        }
    }
}
