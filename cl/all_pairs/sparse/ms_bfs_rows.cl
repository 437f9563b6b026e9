/* ms_bfs_rows: distances, their sums and predecessors, from the bits of ms_bfs.
 *
 * Purpose   The search leaves a bit for each pair that is connected, and the binary digits of its
 *           distance in planes. These kernels convert them to rows of numbers.
 *
 * Layout    bits [block][v][word], as in ms_bfs.cl; the source in place s of a word is its bit s.
 *           Four planes, each with one digit of every source, are converted to four words, each
 *           with four digits of every fourth source. A distance with all digits 1 means not
 *           reachable.
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
 *
 * Cost      Two operations for each pair, and four for each further four digits, for V pairs at a
 *           time, and one store. The time is that of writing the answer to memory.
 *
 * Source    ours.
 */
#ifndef PYAPSP_WORDS
#define PYAPSP_WORDS 16
#endif
#ifndef PYAPSP_VERTICES
#define PYAPSP_VERTICES 1
#endif
#ifndef PYAPSP_STRIPS
#define PYAPSP_STRIPS 1
#endif
#ifndef PYAPSP_LANE
#define PYAPSP_LANE uint
#endif
#ifndef PYAPSP_LANE_BITS
#define PYAPSP_LANE_BITS 32
#endif

#include "common/types.h"

#define WORDS PYAPSP_WORDS
#define NO_PREDECESSOR (-9999)
/* A row need not begin at a multiple of the strip's size. */
typedef strip_t loose_t __attribute__((aligned(sizeof(value_t))));
typedef PYAPSP_LANE lane_t;
#if PYAPSP_VERTICES == 1
typedef lane_t lanes_t;
#else
typedef PYAPSP_JOIN(PYAPSP_LANE, PYAPSP_VERTICES) lanes_t;
#endif
#if PYAPSP_WIDTH == 1
typedef lane_t part_t;
#define VALUES(part) ((value_t)(part))
#else
typedef PYAPSP_JOIN(PYAPSP_LANE, PYAPSP_WIDTH) part_t;
#define VALUES(part) PYAPSP_JOIN(PYAPSP_JOIN(convert_, PYAPSP_VALUE), PYAPSP_WIDTH)(part)
#endif
#define V PYAPSP_VERTICES
#define STRIPS PYAPSP_STRIPS
#define PARTS (32 / PYAPSP_LANE_BITS)
/* fields of four digits: n is below 2^31, or 2^15 */
#define MOST_FIELDS (PYAPSP_LANE_BITS / 4)
/* Alternating one or two bits that are set and as many that are not. */
#define EVERY(bits) ((lanes_t)((lane_t)((bits) == 1 ? 0x55555555u : 0x33333333u)))

/* The bits of V vertices for the sources of a lane, which are in a part of each word. */
static inline lanes_t lanes_of(const uint *words, const int part)
{
#if V == 1
    return (lanes_t)(words[0] >> part * PYAPSP_LANE_BITS);
#else
    const lanes_t *found = (const lanes_t *)words;
#if PARTS == 1
    return found[0];
#else
    return part == 0 ? (lanes_t)(found[0].even, found[1].even)
                     : (lanes_t)(found[0].odd, found[1].odd);
#endif
#endif
}

/* Two words with `bits` bits for each source become two words with twice as many bits for every
 * second source: LOWER for the even ones, UPPER for the odd ones. */
#define LOWER(x, y, bits) ((x & EVERY(bits)) | ((y & EVERY(bits)) << bits))
#define UPPER(x, y, bits) (((x >> bits) & EVERY(bits)) | (y & ~EVERY(bits)))

/* Work-items that follow each other have neighbouring vertices, or, if each has many vertices, words
 * in the same lines of the caches. */
#if STRIPS == 1
#define STRIP_NUMBER get_global_id(0)
#define WORD_NUMBER get_global_id(1)
#else
#define STRIP_NUMBER get_global_id(1)
#define WORD_NUMBER get_global_id(0)
#endif

/* A work-item with one vertex has all words in registers. That is possible if every index is a
 * constant, so its loops are unrolled up to their limit. EACH goes through i from `low` on, below
 * `count`, which is at most `most`. EACH_SOURCE goes through the sources of a lane; REMAINDER is the
 * place of the source among four. */
#if STRIPS * V == 1
#define EACH(i, low, count, most)                                                                  \
    _Pragma("unroll") for (int i = (low); i < (most); i++) if (i < (count))
#define EACH_SOURCE                                                                                \
    for (int four = 0; four < PYAPSP_LANE_BITS; four += 4)                                         \
        _Pragma("unroll") for (int k = 0; k < 4; k++) if (first + four + k < count)
#define SOURCE (four + k)
#define REMAINDER k
#else
#define EACH(i, low, count, most) for (int i = (low); i < (count); i++)
#define EACH_SOURCE for (int s = 0; s < PYAPSP_LANE_BITS && first + s < count; s++)
#define SOURCE s
#define REMAINDER (s % 4)
#endif

/* The rows of a work-item's vertices and sources. A distance has so many fields of four digits, at
 * most `most`, that it is below the number with all digits 1, which means not reachable. */
static inline void write_rows(__global const uint *seen, __global const uint *planes,
                              __global value_t *rows, const int n, const int digits,
                              const ulong plane, const int count, const int fields, const int most)
{
    const int from = STRIP_NUMBER * (STRIPS * V), w = WORD_NUMBER;
    const int some = STRIPS * V == 1 ? 1 : min(STRIPS * V, n - from);
    const size_t own = ((size_t)get_global_id(2) * n + from) * WORDS + w;
    const lane_t nowhere = (lane_t)(((ulong)1 << 4 * fields) - 1);
    /* The words are far apart in memory, so each is read only once. Only the first `some` columns
     * have values. */
    uint words[1 + 4 * MOST_FIELDS][STRIPS * V] __attribute__((aligned(64)));
    EACH (d, 0, digits + 1, 1 + 4 * most) {
        __global const uint *bits = (d == 0 ? seen : planes + (d - 1) * plane) + own;
        for (int i = 0; i < some; i++)
            words[d][i] = bits[(size_t)i * WORDS];
    }
    for (int part = 0; part < PARTS; part++) {
        const int first = (get_global_id(2) * WORDS + w) * 32 + part * PYAPSP_LANE_BITS;
        lanes_t of[MOST_FIELDS][4][STRIPS];
        for (int t = 0; t * V < some; t++) {
            const lanes_t unknown = ~lanes_of(words[0] + t * V, part);
            EACH (f, 0, fields, most) {
                lanes_t digit[4];
#pragma unroll
                for (int d = 0; d < 4; d++) {
                    digit[d] = unknown;
                    if (4 * f + d < digits)
                        digit[d] |= lanes_of(words[1 + 4 * f + d] + t * V, part);
                }
                const lanes_t even[2] = {LOWER(digit[0], digit[1], 1), LOWER(digit[2], digit[3], 1)};
                const lanes_t odd[2] = {UPPER(digit[0], digit[1], 1), UPPER(digit[2], digit[3], 1)};
                of[f][0][t] = LOWER(even[0], even[1], 2);
                of[f][1][t] = LOWER(odd[0], odd[1], 2);
                of[f][2][t] = UPPER(even[0], even[1], 2);
                of[f][3][t] = UPPER(odd[0], odd[1], 2);
            }
        }
        EACH_SOURCE {
            lane_t each[STRIPS * V] __attribute__((aligned(64)));
            const lanes_t place = (lanes_t)((lane_t)(SOURCE / 4 * 4)), ones = (lanes_t)((lane_t)15);
            for (int t = 0; t * V < some; t++) {
                lanes_t distance = of[0][REMAINDER][t] >> place & ones;
                EACH (f, 1, fields, most)
                    distance |= (of[f][REMAINDER][t] >> place & ones) << 4 * f;
                *(lanes_t *)(each + t * V) = distance;
            }
            __global value_t *to = rows + (size_t)(first + SOURCE) * n + from;
            for (int i = 0; i + PYAPSP_WIDTH <= some; i += PYAPSP_WIDTH) {
                const strip_t near = VALUES(*(part_t *)(each + i));
                const strip_t far = (strip_t)(PYAPSP_INFINITY);
                *(__global loose_t *)(to + i) = near == (strip_t)((value_t)nowhere) ? far : near;
            }
            /* Converted through an int: next to a conversion from ushort to float, one compiler
             * keeps the constant in half precision and then converts its bits as an integer. */
            for (int i = some / PYAPSP_WIDTH * PYAPSP_WIDTH; i < some; i++) {
                const int near = each[i];
                to[i] = near == (int)nowhere ? (value_t)PYAPSP_INFINITY : (value_t)near;
            }
        }
    }
}

/* A work-item for each (STRIPS V vertices, word, block). There are count rows. */
__kernel void ms_bfs_rows(__global const uint *seen, __global const uint *planes,
                          __global value_t *rows, const int n, const int digits,
                          const ulong plane, const int count, const int fields)
{
    const int from = STRIP_NUMBER * (STRIPS * V), w = WORD_NUMBER;
    if (from >= n || (get_global_id(2) * WORDS + w) * 32 >= (size_t)count)
        return;
#if STRIPS * V == 1
    /* Most distances have two fields. Loops that are unrolled for eight would test six in vain. */
    if (fields <= 2) {
        write_rows(seen, planes, rows, n, digits, plane, count, fields, 2);
        return;
    }
#endif
    write_rows(seen, planes, rows, n, digits, plane, count, fields, MOST_FIELDS);
}

/* The number of vertices that each source reaches, and the sum of their distances, over a range of
 * vertices: a work-item for each (source, word, block x ranges). */
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
 * bytes<k> count the bits k, k + 8, k + 16 and k + 24 of words. They are added to the sums before
 * one overflows. */
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

/* Predecessors: a work-item for each (v, word, block). The predecessor is the tail of the first
 * entering arc whose tail is nearer by 1. Distances are compared digit by digit, for 32 sources at
 * once. */
__kernel void ms_bfs_before(__global const long *first, __global const int *tails,
                            __global const uint *seen, __global const uint *planes,
                            __global int *before, const int n, const int digits,
                            const ulong plane, const int count)
{
    const int v = STRIP_NUMBER, w = WORD_NUMBER;
    if (v >= n)
        return;
    const size_t block = (size_t)get_global_id(2) * n, own = (block + v) * WORDS + w;
    const int from = (get_global_id(2) * WORDS + w) * 32;
    if (from >= count)
        return;
    before += (size_t)from * n + v;
    for (int s = 0; s < 32 && from + s < count; s++)
        before[(size_t)s * n] = NO_PREDECESSOR;
    /* sources are at distance 0, which is one more than no distance */
    uint open = 0;
    for (int d = 0; d < digits; d++)
        open |= planes[d * plane + own];
    for (long a = first[v]; open && a < first[v + 1]; a++) {
        const size_t other = (block + tails[a]) * WORDS + w;
        uint equal = open & seen[other], carry = 0xffffffffu;
        for (int d = 0; equal && d < digits; d++) {
            const uint nearer = planes[d * plane + other];
            equal &= ~(nearer ^ carry ^ planes[d * plane + own]);
            carry &= nearer;
        }
        open &= ~equal;
        for (; equal; equal &= equal - 1)
            before[(size_t)(31 - clz(equal & -equal)) * n] = tails[a];
    }
}
