/* Rows of distances and of predecessors from bits: the head of ms_bfs_rows.cl says how. Parameters
 * are those of that file; WORDS is the number of words of a vertex. */
#ifndef MS_BFS_ROWS_H
#define MS_BFS_ROWS_H
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

#ifndef PYAPSP_STREAM
#define PYAPSP_STREAM 0
#endif

#include "common/types.h"

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
typedef lane_t part_t, loose_part_t;
#define VALUES(part) ((value_t)(part))
#else
typedef PYAPSP_JOIN(PYAPSP_LANE, PYAPSP_WIDTH) part_t;
typedef part_t loose_part_t __attribute__((aligned(sizeof(lane_t))));
#define VALUES(part) PYAPSP_JOIN(PYAPSP_JOIN(convert_, PYAPSP_VALUE), PYAPSP_WIDTH)(part)
#endif
#if PYAPSP_STREAM
#define STORE(values, to) __builtin_nontemporal_store(values, (__global strip_t *)(to))
#else
#define STORE(values, to) (*(__global loose_t *)(to) = (values))
#endif
/* Converted through an int: next to a conversion from ushort to float, one compiler keeps the
 * constant in half precision and then converts its bits as an integer. */
#define VALUE(near) ((int)(near) == (int)nowhere ? (value_t)PYAPSP_INFINITY : (value_t)(int)(near))
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

/* The rows of `some` vertices from `from` on, at most STRIPS V, and of the sources of word `w`, the
 * first of which has the number `source` among `count`. `seen` and `planes` are those of its block.
 * A distance has so many fields of four digits, at most `most`, that it is below the number with all
 * digits 1, which means not reachable. */
static inline void write_rows(__global const uint *seen, __global const uint *planes,
                              __global value_t *rows, const int n, const int from, const int w,
                              const int digits, const ulong plane, const int source,
                              const int count, const int fields, const int most)
{
    const int some = STRIPS * V == 1 ? 1 : min(STRIPS * V, n - from);
    const size_t own = (size_t)from * WORDS + w;
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
        const int first = source + part * PYAPSP_LANE_BITS;
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
            int i = 0;
#if PYAPSP_STREAM
            const int line = 64 / (int)sizeof(value_t);
            for (const int to_line = min(-(int)((size_t)to / sizeof(value_t)) & (line - 1), some);
                 i < to_line; i++)
                to[i] = VALUE(each[i]);
#endif
            for (; i + PYAPSP_WIDTH <= some; i += PYAPSP_WIDTH) {
                const strip_t near = VALUES(*(loose_part_t *)(each + i));
                const strip_t far = (strip_t)(PYAPSP_INFINITY);
                STORE(near == (strip_t)((value_t)nowhere) ? far : near, to + i);
            }
            for (; i < some; i++)
                to[i] = VALUE(each[i]);
        }
    }
}

/* The predecessors of vertex `v` for the sources of word `w`, the first of which has the number
 * `source` among `count`. A predecessor is the tail of the first entering arc whose tail is nearer
 * by 1. Distances are compared digit by digit, for 32 sources at once. `seen` and `planes` are those
 * of the block. */
static inline void write_before(__global const long *first, __global const int *tails,
                                __global const uint *seen, __global const uint *planes,
                                __global int *before, const int n, const int v, const int w,
                                const int digits, const ulong plane, const int source,
                                const int count)
{
    const size_t own = (size_t)v * WORDS + w;
    before += (size_t)source * n + v;
    for (int s = 0; s < 32 && source + s < count; s++)
        before[(size_t)s * n] = NO_PREDECESSOR;
    /* sources are at distance 0, which is one more than no distance */
    uint open = 0;
    for (int d = 0; d < digits; d++)
        open |= planes[d * plane + own];
    for (long a = first[v]; open && a < first[v + 1]; a++) {
        const size_t other = (size_t)tails[a] * WORDS + w;
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

#endif /* MS_BFS_ROWS_H */
