/* ms_bfs_rows: distances, their sums and predecessors, from the bits of ms_bfs.
 *
 * Purpose   The search leaves a bit for each pair that is connected, and the binary digits of its
 *           distance in planes. These kernels convert them to rows of numbers.
 *
 * Layout    bits [block][v][word], as in ms_bfs.cl; a word has 32 sources, the one in place s is its
 *           bit s. `seen` has the bits of the pairs that are connected. Digit d of their distances
 *           begins at planes + d * plane, and there are `digits` of them.
 *           Four planes, each with one digit of every source, are converted to four words, each
 *           with four digits (a field) of every fourth source; a distance has `fields` fields. The
 *           conversion sets all digits of a pair that is not connected to 1.
 *
 *             ..hgfedcba   digit 0        ..eeeeaaaa
 *             ..hgfedcba   digit 1   ->   ..ffffbbbb
 *             ..hgfedcba   digit 2        ..ggggcccc
 *             ..hgfedcba   digit 3        ..hhhhdddd
 *
 *           A work-item does this for STRIPS V vertices and one word of sources. Then it writes a
 *           part of the row of each source.
 *
 * Parameters  those of common/types.h; a work-item stores WIDTH values at a time, and
 *             PYAPSP_WORDS     16  words of a vertex
 *             PYAPSP_VERTICES   1  V, vertices of a vector, a multiple of WIDTH
 *             PYAPSP_STRIPS     1  vectors of a work-item
 *             PYAPSP_LANE    uint  holds one distance, or the bits of as many sources as it has
 *                                  bits: ushort if all distances are below 2^15
 *             PYAPSP_LANE_BITS 32  bits of it
 *             PYAPSP_STREAM     0  1: rows pass the caches, by Clang's builtin. A core then need not
 *                                  read a line before it writes to it.
 *
 * Cost      Two operations for each pair, and four for each further four digits, for V pairs at a
 *           time, and one store. The time is that of writing the answer to memory.
 *
 * Source    ours.
 */
#ifndef PYAPSP_WORDS
#define PYAPSP_WORDS 16
#endif
#define WORDS PYAPSP_WORDS

#include "all_pairs/sparse/ms_bfs_rows.h"

/* Work-items that follow each other have neighbouring vertices, or, if each has many vertices, words
 * in the same lines of the caches. */
#if STRIPS == 1
#define STRIP_NUMBER get_global_id(0)
#define WORD_NUMBER get_global_id(1)
#else
#define STRIP_NUMBER get_global_id(1)
#define WORD_NUMBER get_global_id(0)
#endif

/* A work-item for each (STRIPS V vertices, word, block). The first count sources have rows. */
__kernel void ms_bfs_rows(__global const uint *seen, __global const uint *planes,
                          __global value_t *rows, const int n, const int digits,
                          const ulong plane, const int count, const int fields)
{
    const int from = STRIP_NUMBER * (STRIPS * V), w = WORD_NUMBER;
    const int source = (get_global_id(2) * WORDS + w) * 32;
    if (from >= n || source >= count)
        return;
    const size_t block = (size_t)get_global_id(2) * n * WORDS;
#if STRIPS * V == 1
    /* Most distances have two fields. Loops that are unrolled for eight would test six in vain. */
    if (fields <= 2) {
        write_rows(seen + block, planes + block, rows, n, from, w, digits, plane, source, count,
                   fields, 2);
        return;
    }
#endif
    write_rows(seen + block, planes + block, rows, n, from, w, digits, plane, source, count, fields,
               MOST_FIELDS);
}

/* The number of vertices that each source reaches, and the sum of their distances, over one of
 * `ranges` ranges of the vertices: a work-item for each (source, word, block x ranges). */
#if V == 1
__kernel void ms_bfs_totals(__global const uint *seen, __global const uint *planes,
                            __global ulong *totals, __global uint *reached, const int n,
                            const int digits, const ulong plane, const int ranges)
{
    const int s = get_global_id(0), w = get_global_id(1);
    const int block = get_global_id(2) / ranges, range = get_global_id(2) % ranges;
    const int share = (n + ranges - 1) / ranges;
    ulong total = 0;
    uint count = 0;
    for (int v = range * share; v < min(n, (range + 1) * share); v++) {
        const size_t own = ((size_t)block * n + v) * WORDS + w;
        uint distance = 0;
        for (int d = 0; d < digits; d++)
            distance |= (planes[d * plane + own] >> s & 1) << d;
        total += distance;
        count += seen[own] >> s & 1;
    }
    const size_t place = (get_global_id(2) * (size_t)WORDS + w) * 32 + s;
    totals[place] = total;
    reached[place] = count;
}
#else
/* The same, with one work-item for all sources of a word. A plane has digit d of the distances, so
 * the sum of distances is the sum of 2^d times the number of bits in plane d. The four bytes of
 * bytes<k> count the bits k, k + 8, k + 16 and k + 24 of words. After 255 words, when a byte may be
 * full, they are added to the sums. */
#define EIGHT(STEP) STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)
#define CLEAR(k) bytes##k = 0;
#define COUNT(k) bytes##k += word >> k & 0x01010101u;
#define ADD_UP(k)                                                                                  \
    sums[k] += (ulong)(bytes##k & 255) << digit;                                                   \
    sums[k + 8] += (ulong)(bytes##k >> 8 & 255) << digit;                                          \
    sums[k + 16] += (ulong)(bytes##k >> 16 & 255) << digit;                                        \
    sums[k + 24] += (ulong)(bytes##k >> 24) << digit;
static inline void count_bits(__global const uint *bits, const int vertices, const int digit,
                              ulong *sums)
{
    uint bytes0, bytes1, bytes2, bytes3, bytes4, bytes5, bytes6, bytes7;
    for (int start = 0; start < vertices; start += 255) {
        const int to = min(start + 255, vertices);
        EIGHT(CLEAR)
        for (int v = start; v < to; v++) {
            const uint word = bits[(size_t)v * WORDS];
            EIGHT(COUNT)
        }
        EIGHT(ADD_UP)
    }
}

__kernel void ms_bfs_totals(__global const uint *seen, __global const uint *planes,
                            __global ulong *totals, __global uint *reached, const int n,
                            const int digits, const ulong plane, const int ranges)
{
    const int w = get_global_id(1);
    const int block = get_global_id(2) / ranges, range = get_global_id(2) % ranges;
    const int share = (n + ranges - 1) / ranges;
    const int from = min(n, range * share), vertices = min(n, from + share) - from;
    const size_t own = ((size_t)block * n + from) * WORDS + w;
    const size_t place = (get_global_id(2) * (size_t)WORDS + w) * 32;
    ulong sums[32];
    for (int s = 0; s < 32; s++)
        sums[s] = 0;
    count_bits(seen + own, vertices, 0, sums);
    for (int s = 0; s < 32; s++) {
        reached[place + s] = (uint)sums[s];
        sums[s] = 0;
    }
    for (int d = 0; d < digits; d++)
        count_bits(planes + d * plane + own, vertices, d, sums);
    for (int s = 0; s < 32; s++)
        totals[place + s] = sums[s];
}
#endif

/* Predecessors: a work-item for each (v, word, block). The arcs into v come from tails[first[v]] on.
 * There are count rows. */
__kernel void ms_bfs_before(__global const long *first, __global const int *tails,
                            __global const uint *seen, __global const uint *planes,
                            __global int *before, const int n, const int digits,
                            const ulong plane, const int count)
{
    const int v = STRIP_NUMBER, w = WORD_NUMBER, source = (get_global_id(2) * WORDS + w) * 32;
    if (v >= n || source >= count)
        return;
    const size_t block = (size_t)get_global_id(2) * n * WORDS;
    write_before(first, tails, seen + block, planes + block, before, n, v, w, digits, plane, source,
                 count);
}
