/* ms_bfs_rows: what follows ms_bfs: distances, sums of them and predecessors, from bits.
 *
 * Purpose   The search leaves a bit for each pair that is connected, and the binary digits of its
 *           distance in planes. A row of the answer has numbers, one after the other.
 *
 * Layout    bits [block][v][word], as in ms_bfs.cl; the source in place s of a word is its bit s.
 *
 *                 seen     plane 0  plane 1         neighbouring vertices are taken together:
 *             v   .1.1     .1..     ...1            digit by digit for one source after the other,
 *             v+1 .111     ...1     .11.     ->     and stored in the row of the source
 *
 * Parameters  those of common/types.h; a work-item stores WIDTH values at a time, and
 *             PYAPSP_WORDS     16  words of a vertex
 *             PYAPSP_VERTICES   1  vertices of a work-item, a multiple of WIDTH
 *             PYAPSP_LANE    uint  holds the distance of one, and as many sources as it has bits:
 *                                  ushort where all distances are below 2^15
 *             PYAPSP_LANE_BITS 32  bits of it
 *
 * Cost      For each pair three operations for each digit, VERTICES at a time, and a store.
 *
 * Source    ours.
 */
#ifndef PYAPSP_WORDS
#define PYAPSP_WORDS 16
#endif
#ifndef PYAPSP_VERTICES
#define PYAPSP_VERTICES 1
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
/* Rows begin anywhere. */
typedef strip_t loose_t __attribute__((aligned(sizeof(value_t))));
typedef PYAPSP_LANE lane_t;
#if PYAPSP_VERTICES == 1
typedef lane_t lanes_t;
#define MASK(condition) ((lane_t) - (condition))
#else
typedef PYAPSP_JOIN(PYAPSP_LANE, PYAPSP_VERTICES) lanes_t;
#define MASK(condition) PYAPSP_JOIN(PYAPSP_JOIN(as_, PYAPSP_LANE), PYAPSP_VERTICES)(condition)
#endif
#if PYAPSP_WIDTH == 1
typedef lane_t part_t;
#define VALUES(part) ((value_t)(part))
#else
typedef PYAPSP_JOIN(PYAPSP_LANE, PYAPSP_WIDTH) part_t;
#define VALUES(part) PYAPSP_JOIN(PYAPSP_JOIN(convert_, PYAPSP_VALUE), PYAPSP_WIDTH)(part)
#endif
#define V PYAPSP_VERTICES
#define NOWHERE ((lane_t) - 1)

/* The bits of neighbouring vertices for the sources of a lane. */
static inline lanes_t lanes_of(__global const uint *bits, const int count, const int shift)
{
    lane_t each[V] __attribute__((aligned(64)));
    for (int i = 0; i < V; i++)
        each[i] = i < count ? (lane_t)(bits[(size_t)i * WORDS] >> shift) : (lane_t)0;
    return *(lanes_t *)each;
}

/* A work-item for each (V vertices, word, block). There are count rows. */
__kernel void ms_bfs_rows(__global const uint *seen, __global const uint *planes,
                          __global value_t *rows, const int n, const int digits,
                          const ulong plane, const int count)
{
    const int from = get_global_id(0) * V, w = get_global_id(1);
    const int some = min(V, n - from);
    if (from >= n)
        return;
    const size_t own = ((size_t)get_global_id(2) * n + from) * WORDS + w;
    for (int shift = 0; shift < 32; shift += PYAPSP_LANE_BITS) {
        const int first = (get_global_id(2) * WORDS + w) * 32 + shift;
        const lanes_t reached = lanes_of(seen + own, some, shift);
        lanes_t digit[31];
        for (int d = 0; d < digits; d++)
            digit[d] = lanes_of(planes + d * plane + own, some, shift);
        for (int s = 0; s < PYAPSP_LANE_BITS && first + s < count; s++) {
            const lanes_t bit = (lanes_t)((lane_t)(1u << s));
            lanes_t distance = MASK((reached & bit) == (lanes_t)(0));
            for (int d = 0; d < digits; d++)
                distance |= MASK((digit[d] & bit) != (lanes_t)(0)) & (lanes_t)((lane_t)(1u << d));
            lane_t each[V] __attribute__((aligned(64)));
            *(lanes_t *)each = distance;
            __global value_t *to = rows + (size_t)(first + s) * n + from;
            for (int i = 0; i + PYAPSP_WIDTH <= some; i += PYAPSP_WIDTH) {
                const strip_t near = VALUES(*(part_t *)(each + i));
                const strip_t far = (strip_t)(PYAPSP_INFINITY);
                *(__global loose_t *)(to + i) = near == (strip_t)((value_t)NOWHERE) ? far : near;
            }
            for (int i = some / PYAPSP_WIDTH * PYAPSP_WIDTH; i < some; i++)
                to[i] = each[i] == NOWHERE ? (value_t)PYAPSP_INFINITY : (value_t)each[i];
        }
    }
}

/* The number of vertices that each source reaches, and the sum of their distances, of a range of
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
/* The same, a work-item for all sources of a word. A plane has digit d of the distances, so the sum is
 * that of 2^d times its bits. Bits k, k + 8, k + 16 and k + 24 of a word are counted in the bytes of
 * number k, which are added up before one overflows. */
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

/* Predecessors: a work-item for each (v, word, block). Of the arcs that enter, the first whose tail
 * is one nearer; distances are compared digit by digit, for 32 sources at once. */
__kernel void ms_bfs_before(__global const long *first, __global const int *tails,
                            __global const uint *seen, __global const uint *planes,
                            __global int *before, const int n, const int digits,
                            const ulong plane, const int count)
{
    const int v = get_global_id(0), w = get_global_id(1);
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
