/* check: which statements about variables hold at every instant of a trace.
 *
 * Purpose   An entry of the dictionary names one to three rows of the trace. Its word says which
 *           statements still hold; the kernel clears the bits of those that an instant contradicts.
 *           A word that is zero ends the work for its entry.
 *
 * Layout    A row is one variable, a vector of VALUES at each step: WIDTH numbers, or WIDTH words
 *           of 32 instants each. Its last instant is repeated up to whole vectors, which changes
 *           no answer. The trace is cut into slabs:
 *
 *                      slab 0   slab 1   slab 2           group g = slab * entries + entry
 *             row 0   |########|........|....|
 *             row 1   |########|........|....|           all entries of a slab before the next
 *             row 2   |########|........|....|           slab: their rows stay in the cache
 *             alive[entry]  <- 1101 -> and -> 0101
 *
 *           With one slab as long as the trace this is the mapping of the paper: a group for each
 *           entry. In a slab the group loads GROUP * TILE vectors at a time, and checks one
 *           statement after the other on them. So a bit of the word is tested once for TILE
 *           vectors. Other groups may clear bits of the same word at the same time, so it is read
 *           atomically.
 *
 * Parameters  PYAPSP_BOOLEAN 0      1: rows are words of bits
 *             PYAPSP_REAL    float  type of numbers; PYAPSP_MASK int: integer of the same size;
 *             PYAPSP_SUFFIX  f      suffix of their literals (empty for double)
 *             PYAPSP_NEAR    4e-6f  relative difference that near() allows
 *             PYAPSP_WIDTH   4      numbers or words of a vector: 1, 2, 4, 8 or 16
 *             PYAPSP_ARITY   2      rows of an entry
 *             PYAPSP_GROUP   64     work-items of a group
 *             PYAPSP_TILE    4      vectors of a work-item between two reads of the word
 *             PYAPSP_EARLY   1      0: every statement is checked at every instant
 *             PYAPSP_UNKNOWN 0      1: values may be unknown, and a statement is checked where all its
 *                                   values are known. NaN is an unknown number; after each row of
 *                                   bits there is one with the bits that are known
 *             PYAPSP_FORMULAS       the statements, as CHECK(bit, expression over a, b and c)
 *
 * Cost      ARITY loads for each vector of an entry whose word is not zero. Only the first entry of
 *           a slab loads from memory, the others from the cache. Groups of several work-items have
 *           two barriers for each tile.
 *
 * Source    F. Busato's thesis, 2018, chapter 20: vectors, a group for each entry, a shared word.
 *           Slabs are ours. check_by_item is the mapping that it compares with: one work-item for
 *           each entry, scalars, no early end.
 */
#include "common/group.h"

#ifndef PYAPSP_BOOLEAN
#define PYAPSP_BOOLEAN 0
#endif
#ifndef PYAPSP_REAL
#define PYAPSP_REAL float
#endif
#ifndef PYAPSP_MASK
#define PYAPSP_MASK int
#endif
#ifndef PYAPSP_SUFFIX
#define PYAPSP_SUFFIX f
#endif
#ifndef PYAPSP_NEAR
#define PYAPSP_NEAR 4e-6f
#endif
#ifndef PYAPSP_WIDTH
#define PYAPSP_WIDTH 4
#endif
#ifndef PYAPSP_ARITY
#define PYAPSP_ARITY 2
#endif
#ifndef PYAPSP_TILE
#define PYAPSP_TILE 4
#endif
#ifndef PYAPSP_EARLY
#define PYAPSP_EARLY 1
#endif
#ifndef PYAPSP_UNKNOWN
#define PYAPSP_UNKNOWN 0
#endif
#ifndef PYAPSP_FORMULAS
#define PYAPSP_FORMULAS CHECK(0, IF(a == b)) CHECK(1, IF(a < b))
#endif

// devices must round alike
#pragma OPENCL FP_CONTRACT OFF

#define JOIN_(type, width) type##width
#define JOIN(type, width) JOIN_(type, width)
#if PYAPSP_WIDTH == 1
#define VECTOR(type) type
#else
#define VECTOR(type) JOIN(type, PYAPSP_WIDTH)
#endif

#if PYAPSP_BOOLEAN
typedef VECTOR(uint) VALUES, BITS;
#else
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
typedef VECTOR(PYAPSP_REAL) VALUES;
typedef VECTOR(PYAPSP_MASK) BITS;
#define NUMBER(x) ((VALUES)JOIN(x, PYAPSP_SUFFIX))
#endif
#define NO ((BITS)0)
#define YES (~NO)

/* A comparison as a mask: all bits of a lane, as vectors have it. */
#if PYAPSP_WIDTH == 1
#define IF(comparison) (-(BITS)(comparison))
#else
#define IF(comparison) (comparison)
#endif

/* A function that not all formulas call. */
#define FUNCTION static inline __attribute__((unused))

#if !PYAPSP_BOOLEAN
FUNCTION VALUES least(const VALUES x, const VALUES y)
{
    // the sum is NaN if one of them is
    return x < y ? x : (y <= x ? y : x + y);
}

FUNCTION VALUES greatest(const VALUES x, const VALUES y)
{
    return x > y ? x : (y >= x ? y : x + y);
}

FUNCTION BITS near(const VALUES x, const VALUES y)
{
    const VALUES p = fabs(x), q = fabs(y), gap = fabs(x - y);
    /* the gap between inf and -inf is infinite, and so is what is allowed */
    const BITS finite = IF(gap < (VALUES)INFINITY);
    return IF(x == y) | (finite & IF(gap <= (VALUES)PYAPSP_NEAR * (p < q ? p : q)));
}

FUNCTION BITS apart(const VALUES x, const VALUES y)
{
    return (IF(x < y) | IF(x > y)) & ~near(x, y);
}

/* Devices may miss the last bit of a root or a quotient; one step of Newton's method restores it,
 * where nothing is infinite or zero. */
FUNCTION VALUES root(const VALUES x)
{
    const VALUES s = sqrt(x), better = s + fma(-s, s, x) / (s + s);
    return ((fabs(better) <= (VALUES)MAXFLOAT) & (s > (VALUES)0)) ? better : s;
}

FUNCTION VALUES quotient(const VALUES x, const VALUES y)
{
    const VALUES q = x / y, better = q + fma(-q, y, x) / y;
    return fabs(better) <= (VALUES)MAXFLOAT ? better : q;
}
#endif

/* Whether any bit is set. */
#if PYAPSP_WIDTH == 16
#define HALF8(x) HALF4((x).lo | (x).hi)
#define SOME(x) HALF8(x)
#endif
#if PYAPSP_WIDTH >= 8
#define HALF4(x) HALF2((x).lo | (x).hi)
#endif
#if PYAPSP_WIDTH >= 4
#define HALF2(x) HALF1((x).lo | (x).hi)
#endif
#define HALF1(x) (((x).lo | (x).hi) != 0)
#if PYAPSP_WIDTH == 8
#define SOME(x) HALF4(x)
#elif PYAPSP_WIDTH == 4
#define SOME(x) HALF2(x)
#elif PYAPSP_WIDTH == 2
#define SOME(x) HALF1(x)
#elif PYAPSP_WIDTH == 1
#define SOME(x) ((x) != 0)
#endif

/* On a CPU the first tile of a slab is one vector, because most statements end in it. On a GPU the
 * tile is always the same, so that its vectors are in registers. */
#if PYAPSP_EARLY && PYAPSP_GROUP == 1
#define TILES tiles
#define UNROLL
#define FIRST_TILE 1
#else
#define TILES PYAPSP_TILE
#define UNROLL _Pragma("unroll")
#define FIRST_TILE PYAPSP_TILE
#endif

#if PYAPSP_EARLY
#define WANTED(bit) (holds & (1u << (bit)))
#define GOES_ON (holds != 0)
#else
#define WANTED(bit) 1
#define GOES_ON 1
#endif
#if PYAPSP_UNKNOWN
#define WHERE_KNOWN(t) &ks[t]
#define KNOWN BITS ks[PYAPSP_TILE]
#else
#define WHERE_KNOWN(t)
#define KNOWN
#endif
#define CHECK(bit, expression)                                                                     \
    if (WANTED(bit)) {                                                                             \
        BITS bad = NO;                                                                             \
        UNROLL                                                                                     \
        for (uint t = 0; t < TILES; t++) {                                                         \
            const VALUES a = as[t], b = bs[t], c = cs[t];                                          \
            (void)a, (void)b, (void)c;                                                             \
            bad |= ~(expression)WHERE_KNOWN(t);                                                    \
        }                                                                                          \
        if (SOME(bad))                                                                             \
            holds &= ~(1u << (bit));                                                               \
    }

#if PYAPSP_UNKNOWN && PYAPSP_BOOLEAN
#define ROW_OF_EACH 2
#define LOAD_KNOWN(t, i) ks[t] = ra[(i) + stride] & rb[(i) + stride] & rc[(i) + stride];
#elif PYAPSP_UNKNOWN
#define ROW_OF_EACH 1
#define LOAD_KNOWN(t, i) ks[t] = IF(as[t] == as[t]) & IF(bs[t] == bs[t]) & IF(cs[t] == cs[t]);
#else
#define ROW_OF_EACH 1
#define LOAD_KNOWN(t, i)
#endif

/* The rows of an entry; unused ones are the first. */
#define ROW(place)                                                                                 \
    (rows + (size_t)dictionary[(size_t)entry * PYAPSP_ARITY +                                      \
                               ((place) < PYAPSP_ARITY ? (place) : 0)] * ROW_OF_EACH * stride)
#define ROWS                                                                                       \
    __global const VALUES *ra = ROW(0);                                                            \
    __global const VALUES *rb = ROW(1);                                                            \
    __global const VALUES *rc = ROW(2)

/* Load a tile: vectors `step` apart; behind the end, the last one again. */
#define LOAD(start, step, end)                                                                     \
    UNROLL                                                                                         \
    for (uint t = 0; t < TILES; t++) {                                                             \
        const uint i = min((start) + t * (step), (end) - 1);                                       \
        as[t] = ra[i];                                                                             \
        bs[t] = PYAPSP_ARITY > 1 ? rb[i] : as[t];                                                  \
        cs[t] = PYAPSP_ARITY > 2 ? rc[i] : as[t];                                                  \
        LOAD_KNOWN(t, i)                                                                           \
    }

/* One group for each slab of each entry. */
__kernel __attribute__((reqd_work_group_size(PYAPSP_GROUP, 1, 1)))
void check(__global const VALUES *restrict rows, const uint stride,
           __global const uint *restrict dictionary, __global uint *restrict alive,
           const uint entries, const uint first, const uint last, const uint slab)
{
    __local uint together[1];
    const uint entry = get_group_id(0) % entries, own = get_local_id(0);
    const uint begin = first + (uint)(get_group_id(0) / entries) * slab;
    const uint end = min(begin + slab, last);
    if (own == 0)
        together[0] = atomic_or(&alive[entry], 0u);
    LOCAL_SYNC();
    uint holds = together[0];
    const uint given = holds;
    LOCAL_SYNC();
    ROWS;
    VALUES as[PYAPSP_TILE], bs[PYAPSP_TILE], cs[PYAPSP_TILE];
    KNOWN;
    uint tiles = FIRST_TILE;
    for (uint i0 = begin; i0 < end && GOES_ON; i0 += PYAPSP_GROUP * tiles, tiles = PYAPSP_TILE) {
        LOAD(i0 + own, PYAPSP_GROUP, end)
        PYAPSP_FORMULAS
#if PYAPSP_EARLY && PYAPSP_GROUP > 1
        // all of the group go on with the same word, and end together
        if (holds != given)
            atomic_and(together, holds);
        LOCAL_SYNC();
        holds = together[0];
        LOCAL_SYNC();
#endif
    }
#if !PYAPSP_EARLY && PYAPSP_GROUP > 1
    atomic_and(together, holds);
    LOCAL_SYNC();
    holds = together[0];
#endif
    if (own == 0 && holds != given)
        atomic_and(&alive[entry], holds);
}

/* One work-item for each entry, to compare with. */
__kernel __attribute__((reqd_work_group_size(PYAPSP_GROUP, 1, 1)))
void check_by_item(__global const VALUES *restrict rows, const uint stride,
                   __global const uint *restrict dictionary, __global uint *restrict alive,
                   const uint entries, const uint first, const uint last, const uint slab)
{
    const uint entry = get_global_id(0);
    if (entry >= entries)
        return;
    uint holds = alive[entry];
    ROWS;
    VALUES as[PYAPSP_TILE], bs[PYAPSP_TILE], cs[PYAPSP_TILE];
    KNOWN;
    uint tiles = FIRST_TILE;
    for (uint i0 = first; i0 < last && GOES_ON; i0 += tiles, tiles = PYAPSP_TILE) {
        LOAD(i0, 1u, last)
        PYAPSP_FORMULAS
    }
    alive[entry] = holds;
}
