/* near_far: shortest paths from a block of sources, by one work-group with its own lists.
 *
 * Purpose   Every work-group solves a block of N sources completely, in one launch. It waits only
 *           at its own barriers, and groups at different stages hide each other's latency. Vertices
 *           whose cost was lowered are put into lists: near, if the new cost is below a threshold,
 *           else far. In a round all near vertices offer their costs below the threshold to their
 *           neighbours, for the N sources side by side. When the near list is empty, the threshold
 *           is set to delta above the smallest cost in the far list.
 *
 * Layout    words[block][v][source], see words.h. So neighbouring work-items update neighbouring
 *           words:
 *
 *             work-items   0  1  2 .. N-1 | N .. 2N-1 | ...     a group has GROUP / N crews of N
 *             crew 0: near[0] -> v        | crew 1: near[1] -> v'
 *                   each for the source of its place
 *
 *           A vertex with more than LONG arcs is treated at the end of the round, where all crews
 *           share its arcs. scratch, 6 ints for each vertex and block, n rounded up to even:
 *             near  2 x n  of this round and of the next
 *             far   2 x n  of this threshold and of the next
 *             marks n      which lists a vertex is in: bits NEAR and FAR
 *             long  n      vertices with many arcs
 *
 * Parameters  those of all_pairs/sparse/words.h, common/types.h with PYAPSP_WIDTH 1 and common/semiring.h, and
 *             PYAPSP_SOURCES  32  N
 *             PYAPSP_GROUP   128  work-items of a group, a multiple of N
 *             PYAPSP_CUTOFF  0    1: costs above `farthest` are never stored, so that the search
 *                                 ends there
 *
 * Cost      A vertex offers a cost once each time that it is lowered below the current threshold:
 *           little more than once if delta is about the mean weight. Each time an arc costs one
 *           atomic minimum for each source. Rounds: about (longest distance / delta) times the
 *           number of arcs on a path of length delta.
 *
 * Source    A. Davidson, S. Baxter, M. Garland, J. D. Owens, work-efficient parallel GPU methods for
 *           single-source shortest paths, IPDPS 2014, doi:10.1109/IPDPS.2014.45 (near and far
 *           lists). A block of sources for each work-group: ours.
 */
#ifndef PYAPSP_SOURCES
#define PYAPSP_SOURCES 32
#endif
#ifndef PYAPSP_GROUP
#define PYAPSP_GROUP 128
#endif
#ifndef PYAPSP_CUTOFF
#define PYAPSP_CUTOFF 0
#endif

#include "all_pairs/sparse/words.h"

#define N PYAPSP_SOURCES
#define CREWS (PYAPSP_GROUP / N)
#define LONG (8 * CREWS)
#define NEAR 1
#define FAR 2
#define GROUP __attribute__((reqd_work_group_size(PYAPSP_GROUP, 1, 1)))
#define INFINITE WORD_OF((value_t)PYAPSP_INFINITY)
#define SYNCHRONIZE barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

/* Lower a word, and return its old value. */
static inline word_t exchange_lower(__global word_t *word, const word_t value)
{
#if PYAPSP_WORD == 32
    return atomic_min(word, value);
#else
    return atom_min(word, value);
#endif
}

/* The word of a threshold, which is less than infinity. A cost equal to the threshold counts as
 * below it. So a threshold rises above the smallest waiting cost even if adding delta has no effect
 * because of rounding. */
#define LIMIT(threshold) min(WORD_OF((value_t)(threshold)), INFINITE - 1)

/* A word in two parts, for minima in local memory. */
#if PYAPSP_WORD == 32
#define HIGH(word) (word)
#define LOW(word) 0u
#define JOINED(high, low) (high)
#else
#define HIGH(word) ((int)((word) >> 32))
#define LOW(word) ((uint)((word)&0xffffffffL))
#define JOINED(high, low) (((long)(high) << 32) | (long)(low))
#endif

/* Vertex u offers the paths through itself to the heads of its arcs, every `step`-th of them between
 * `from` and `to`: four at a time, so that their atomics do not wait for each other. A head whose
 * cost is lowered is put into the list of the next round, or into the far list. `costs` are the
 * words of one source. Each list is passed with the number of its entries. Inlined always: some
 * compilers would not inline so long a function, and the calls take an eighth of the time of a
 * search. */
__attribute__((always_inline)) static inline void
tell(const int u, const long from, const long to, const long step, __global const int *heads,
     __global const value_t *weights, const word_t limit, const word_t end, __global word_t *costs,
     __global int *marks, __global int *next, __local int *nexts, __global int *later,
     __local int *laters)
{
    const word_t told = exchange_lower(&costs[(size_t)u * N], INFINITE);
    if (told > limit)
        return;
    for (long a = from; a < to; a += 4 * step) {
        int v[4], mark[4], marked[4];
        word_t offer[4], old[4];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int has = a + j * step < to;
            v[j] = has ? heads[a + j * step] : u;
            offer[j] = has ? WORD_OF(extend(VALUE_IN(told), weights[a + j * step])) : INFINITE;
#if PYAPSP_CUTOFF
            offer[j] = offer[j] > end ? INFINITE : offer[j];
#endif
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
            old[j] = offer[j];
            if (a + j * step < to)
                old[j] = exchange_lower(&costs[(size_t)v[j] * N], offer[j]);
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
            mark[j] = marked[j] = offer[j] <= limit ? NEAR : FAR;
            if (offer[j] < old[j])
                marked[j] = atomic_or(&marks[v[j]], mark[j]);
        }
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (!(marked[j] & mark[j])) {
                if (mark[j] == NEAR)
                    next[atomic_inc(nexts)] = v[j];
                else
                    later[atomic_inc(laters)] = v[j];
            }
    }
}

__kernel GROUP void near_far(__global const long *first, __global const int *heads,
                             __global const value_t *weights, __global const int *sources,
                             __global word_t *words, __global int *scratch, const int n,
                             const value_t delta, const value_t farthest)
{
    __local int nears[2], fars[2], longs;
    __local int lowest_high;
    __local uint lowest_low;
    const size_t block = get_group_id(0);
    const int item = get_local_id(0), s = item % N, crew = item / N;
    sources += block * N;
    words += block * N * n;
    __global word_t *costs = words + s;
    __global int *near = scratch + block * 6 * ((n + 1) & ~1);
    __global int *far = near + 2 * n;
    __global int *marks = far + 2 * n;
    __global int *many = marks + n;

    for (size_t i = item; i < (size_t)n * N; i += PYAPSP_GROUP)
        words[i] = INFINITE;
    for (int v = item; v < n; v += PYAPSP_GROUP)
        marks[v] = 0;
    if (item < 2)
        nears[item] = fars[item] = 0;
    SYNCHRONIZE;
    if (crew == 0 && sources[s] >= 0) {
        costs[(size_t)sources[s] * N] = WORD_OF((value_t)0);
        if (!(atomic_or(&marks[sources[s]], NEAR) & NEAR))
            near[atomic_inc(&nears[0])] = sources[s];
    }
    int now = 0, day = 0;
    const word_t end = WORD_OF(farthest);
    word_t limit = LIMIT(delta);
    for (;;) {
        for (;;) {
            SYNCHRONIZE;
            const int count = nears[now];
            if (count == 0)
                break;
            __global const int *list = near + (size_t)now * n;
            __global int *next = near + (size_t)(1 - now) * n;
            __global int *later = far + (size_t)day * n;
            if (item == 0)
                nears[1 - now] = longs = 0;
            for (int i = item; i < count; i += PYAPSP_GROUP)
                atomic_and(&marks[list[i]], ~NEAR);
            SYNCHRONIZE;
            for (int i = crew; i < count; i += CREWS) {
                const int v = list[i];
                const long from = first[v], after = first[v + 1];
                if (after - from > LONG) {
                    if (s == 0)
                        many[atomic_inc(&longs)] = v;
                    continue;
                }
                tell(v, from, after, 1, heads, weights, limit, end, costs, marks, next,
                     &nears[1 - now], later, &fars[day]);
            }
            SYNCHRONIZE;
            for (int i = 0; i < longs; i++) {
                const int v = many[i];
                tell(v, first[v] + crew, first[v + 1], CREWS, heads, weights, limit, end, costs,
                     marks, next, &nears[1 - now], later, &fars[day]);
            }
            now = 1 - now;
        }
        /* the smallest waiting cost, which is that of a far vertex */
        const int count = fars[day];
        __global const int *list = far + (size_t)day * n;
        SYNCHRONIZE;
        if (item == 0) {
            lowest_high = HIGH(INFINITE);
            lowest_low = 0xffffffffu;
            fars[1 - day] = 0;
            nears[1 - now] = 0;
        }
        SYNCHRONIZE;
        word_t lowest = INFINITE;
        for (int i = crew; i < count; i += CREWS) {
            const word_t own = costs[(size_t)list[i] * N];
            if (own > limit && own < lowest)
                lowest = own;
            if (s == 0)
                atomic_and(&marks[list[i]], ~FAR);
        }
        atomic_min(&lowest_high, HIGH(lowest));
        SYNCHRONIZE;
        if (HIGH(lowest) == lowest_high)
            atomic_min(&lowest_low, LOW(lowest));
        SYNCHRONIZE;
        lowest = JOINED(lowest_high, lowest_low);
        if (lowest >= INFINITE)
            break;
        const word_t raised = LIMIT(VALUE_IN(lowest) + delta);
        for (int i = crew; i < count; i += CREWS) {
            const int v = list[i];
            const word_t own = costs[(size_t)v * N];
            if (own <= limit || own >= INFINITE)
                continue;
            const int mark = own <= raised ? NEAR : FAR;
            if (atomic_or(&marks[v], mark) & mark)
                continue;
            if (mark == NEAR)
                near[(size_t)now * n + atomic_inc(&nears[now])] = v;
            else
                far[(size_t)(1 - day) * n + atomic_inc(&fars[1 - day])] = v;
        }
        limit = raised;
        day = 1 - day;
    }
}

/* Convert words to values, for types that are narrower than a word: a group for each block. */
__kernel GROUP void near_far_values(__global const word_t *words, __global value_t *costs,
                                    const int n)
{
    const size_t start = get_group_id(0) * (size_t)N * n;
    for (size_t i = get_local_id(0); i < (size_t)N * n; i += PYAPSP_GROUP)
        costs[start + i] = VALUE_IN(words[start + i]);
}
