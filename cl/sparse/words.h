/* Words: distances as integers that an atomic minimum can be taken of.
 *
 * A float that is not negative is in the same order as its bits, so the word of a float is its bits;
 * the word of an integer is its value. Words are ints, or longs for types of 8 bytes.
 *
 *     macro                     default  meaning
 *     PYAPSP_WORD               32       bits of a word: 64 for double and long
 *     PYAPSP_HAS_INT64_ATOMICS  0        1 on devices with an atomic minimum of longs
 *
 * Without 64-bit atomics a word is held in two halves, and a launch that lowers words is made twice:
 * in pass 0 the high halves become as small as they get, and each that does has its low half
 * forgotten; in pass 1 the low halves of the words with those high halves become as small as they
 * get. Between launches the halves are a word. PASSES says how many passes there are.
 */
#ifndef SPARSE_WORDS_H
#define SPARSE_WORDS_H
#ifndef PYAPSP_WORD
#define PYAPSP_WORD 32
#endif
#ifndef PYAPSP_HAS_INT64_ATOMICS
#define PYAPSP_HAS_INT64_ATOMICS 0
#endif

#include "common/types.h"
#include "common/semiring.h"

#if PYAPSP_WORD == 32
typedef int word_t;
#elif PYAPSP_HAS_INT64_ATOMICS
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
typedef long word_t;
#else
typedef int2 word_t; /* the low half, then the high half */
#endif
#define PASSES ((PYAPSP_WORD == 64 && !PYAPSP_HAS_INT64_ATOMICS) ? 2 : 1)

#if PYAPSP_INTEGER
#define BITS_OF(value) (value)
#define VALUE_OF(bits) ((value_t)(bits))
#else
#define BITS_OF(value) PYAPSP_JOIN(as_, PYAPSP_BITS)(value)
#define VALUE_OF(bits) PYAPSP_JOIN(as_, PYAPSP_VALUE)((PYAPSP_BITS)(bits))
#endif

#if PYAPSP_WORD == 64 && !PYAPSP_HAS_INT64_ATOMICS
#define WORD_OF(value)                                                                             \
    ((int2)((int)(BITS_OF(value) & 0xffffffffL), (int)(BITS_OF(value) >> 32)))
#define VALUE_IN(word) VALUE_OF(((long)(word).y << 32) | (long)(uint)(word).x)
#else
#define WORD_OF(value) ((word_t)BITS_OF(value))
#define VALUE_IN(word) VALUE_OF(word)
#endif

/* Make a word no larger than that of a value, in this pass. Return whether this made it smaller: in one
 * of the passes it does for the smallest value of a launch. */
static inline int lower(__global word_t *word, const value_t value, const int pass)
{
#if PYAPSP_WORD == 32
    return WORD_OF(value) < atomic_min(word, WORD_OF(value));
#elif PYAPSP_HAS_INT64_ATOMICS
    return WORD_OF(value) < atom_min(word, WORD_OF(value));
#else
    const int2 halves = WORD_OF(value);
    __global int *low = (__global int *)word;
    __global int *high = low + 1;
    if (pass == 1)
        return *high == halves.y &&
               (uint)halves.x < atomic_min((__global uint *)low, (uint)halves.x);
    if (halves.y >= atomic_min(high, halves.y))
        return 0;
    atomic_xchg((__global uint *)low, 0xffffffffu);
    return 1;
#endif
}

#endif /* SPARSE_WORDS_H */
