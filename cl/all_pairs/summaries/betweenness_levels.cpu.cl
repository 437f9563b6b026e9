/* betweenness_levels, the form for CPUs: the sources of a vector are searched together.
 *
 * Purpose   The sums of betweenness.cl for arcs of length 1. A work-item searches from LANES sources at
 *           once. Sources that are near each other reach most vertices in the same level or in one
 *           beside it, so that a row of the graph is read a few times instead of LANES times, and what
 *           it adds are vectors. A level has a list of the vertices that it reaches. `forward` counts
 *           the paths to them, `backward` passes back, from the last level to the first, how much of
 *           the paths to them and beyond leads over the vertices before:
 *
 *             share(v) = (1 + delta(v)) / sigma(v)
 *             delta(u) = sigma(u) * (sum of share(v) over arcs u -> v to the next level)
 *
 * Layout    Bit b of a word is for source b of LANES, the source `batch * LANES + b`. Batch i belongs
 *           to work-item i modulo their number, which adds in the order of its batches: the bits do not
 *           depend on the launches. For each work-item:
 *
 *             counts  n vectors: sigma; from the level that is passed back on, the share in its place.
 *                     Lanes that are not reached are 0, if another one is
 *             seen    n words: the lanes that have reached a vertex
 *             at      n words: those that reach it in the level beside the one that is read; else 0
 *             order   LANES n ints: the vertices of each level
 *             words   LANES n words: the lanes that reach the vertex in this level
 *             ends    n + 1 ints: the places in `order` where a level ends
 *             sums    n doubles, or with PYAPSP_ARCS a double for each arc
 *             visits  2 longs: the entries of `order`, and their lanes, of all batches
 *
 *           state: bit 0: there are more paths than a double can count
 *
 * Parameters  PYAPSP_LANES  8  sources of a vector: 8 or 16
 *             PYAPSP_ARCS   0  1: sums for the arcs; 0: for the vertices
 *
 * Cost      O(n + m) for each batch and each of the different levels in which its sources reach a
 *           vertex: between 1 and LANES, and the fewer the nearer the sources are.
 *
 * Source    U. Brandes, J. Mathematical Sociology 25(2), 2001, doi:10.1080/0022250X.2001.9990249;
 *           M. Then et al., the more the merrier: efficient multi-source graph traversal, PVLDB 8(4),
 *           2014, doi:10.14778/2735496.2735507 (bits for sources).
 */
#ifndef PYAPSP_LANES
#define PYAPSP_LANES 8
#endif
#ifndef PYAPSP_ARCS
#define PYAPSP_ARCS 0
#endif
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define PYAPSP_GROUP 1
#include "common/group_size.h"

#pragma OPENCL FP_CONTRACT OFF

#include "all_pairs/summaries/add_sums.h"

#if PYAPSP_LANES == 16
typedef ushort word_t;
typedef double16 vector_t;
typedef long16 mask_t;
#define BITS                                                                                       \
    (mask_t)(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)
#define ADD(v) ADD_8((v).lo + (v).hi)
#else
typedef uchar word_t;
typedef double8 vector_t;
typedef long8 mask_t;
#define BITS (mask_t)(1, 2, 4, 8, 16, 32, 64, 128)
#define ADD(v) ADD_8(v)
#endif
#define ADD_2(v) ((v).s0 + (v).s1)
#define ADD_4(v) ADD_2((v).lo + (v).hi)
#define ADD_8(v) ADD_4((v).lo + (v).hi)
/* The lanes of a word from a vector, the others from another. */
#define CHOSEN(word, v, other) (((mask_t)(word) & BITS) != 0 ? (v) : (other))

__kernel GROUP void clear_sums(__global word_t *seen, __global word_t *at, __global double *sums,
                               __global long *visits, const long places, const long size)
{
    const size_t step = get_global_size(0);
    for (size_t i = get_global_id(0); i < (size_t)places; i += step)
        seen[i] = at[i] = 0;
    for (size_t i = get_global_id(0); i < (size_t)size; i += step)
        sums[i] = 0;
    visits[2 * get_global_id(0)] = visits[2 * get_global_id(0) + 1] = 0;
}

__kernel GROUP void
betweenness(__global const long *first, __global const int *heads, __global const int *sources,
            const int begin, const int end, const int count, const int n, const long m,
            __global vector_t *counts, __global word_t *seen, __global word_t *at,
            __global int *order, __global word_t *words, __global int *ends, __global double *sums,
            __global long *visits, volatile __global int *state, const int endpoints)
{
    const size_t slot = get_global_id(0);
    const vector_t zero = 0, one = 1;
    counts += slot * n;
    seen += slot * n;
    at += slot * n;
    order += slot * PYAPSP_LANES * n;
    words += slot * PYAPSP_LANES * n;
    ends += slot * n;
    sums += slot * (PYAPSP_ARCS ? (size_t)m : (size_t)n);
    for (int batch = begin + (int)slot; batch < end; batch += get_global_size(0)) {
        const int first_source = batch * PYAPSP_LANES, left = count - first_source;
        const int lanes = left < PYAPSP_LANES ? left : PYAPSP_LANES;
        int found = 0, levels = 0, pairs = lanes;
        vector_t reached = -1, most = 0; /* vertices but for the source; the most paths */
        for (; found < lanes; found++) {
            const int source = sources[first_source + found];
            order[found] = source;
            words[found] = seen[source] = (word_t)(1 << found);
            counts[source] = CHOSEN(1 << found, one, zero);
        }
        for (int from = 0; from < found;) {
            const int to = found;
            ends[levels++] = to;
            for (int place = from; place < to; place++) {
                const int u = order[place], word = words[place];
                const vector_t all = counts[u];
                most = all > most ? all : most;
                if (endpoints)
                    reached += CHOSEN(word, one, zero);
                for (long a = first[u]; a < first[u + 1]; a++) {
                    const int v = heads[a], old = seen[v], more = word & ~old;
                    if (more) {
                        const int now = at[v];
                        const vector_t paths = CHOSEN(more, all, zero);
                        if (!now)
                            order[found++] = v;
                        at[v] = (word_t)(now | more);
                        counts[v] = old | now ? counts[v] + paths : paths;
                    }
                }
            }
            for (int place = to; place < found; place++) {
                const int v = order[place], word = at[v];
                words[place] = (word_t)word;
                seen[v] |= (word_t)word;
                at[v] = 0;
                pairs += popcount(word);
            }
            from = to;
        }
        for (int level = levels - 1, after = found; level >= 0; level--) {
            const int from = level ? ends[level - 1] : 0, to = ends[level];
            for (int place = to; place < after; place++)
                at[order[place]] = words[place];
            for (int place = from; place < to; place++) {
                const int u = order[place], word = words[place];
                const vector_t all = counts[u];
                vector_t share = 0;
                for (long a = first[u]; a < first[u + 1]; a++) {
                    const int v = heads[a], next = word & at[v];
                    if (next) {
                        const vector_t more = CHOSEN(next, counts[v], zero);
                        share += more;
#if PYAPSP_ARCS
                        sums[a] += ADD(all * more);
#endif
                    }
                }
                const vector_t delta = all * share;
                counts[u] = CHOSEN(word, (one + delta) / all, all);
#if !PYAPSP_ARCS
                if (level)
                    sums[u] += ADD(delta) + endpoints * popcount(word);
                else if (endpoints)
                    sums[u] += ADD(CHOSEN(word, reached, zero));
#endif
            }
            for (int place = to; place < after; place++)
                at[order[place]] = 0;
            after = to;
        }
        for (int place = 0; place < found; place++)
            seen[order[place]] = 0;
        visits[2 * slot] += found;
        visits[2 * slot + 1] += pairs;
        if (isnan(ADD(most - most))) /* one of them is infinite */
            atomic_or(state, 1);
    }
}
