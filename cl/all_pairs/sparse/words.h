/* Words: distances as integers, for atomic minima.
 *
 * A float that is not negative is in the same order as its bits, so the word of a float is its bits;
 * the word of an integer is its value. Words are ints, or longs for types of 8 bytes.
 *
 *     macro                     default  meaning
 *     PYAPSP_WORD               32       bits of a word: 64 for double and long
 *     PYAPSP_HAS_INT64_ATOMICS  0        1 on devices with an atomic minimum of longs
 *
 * Without 64-bit atomics a word is stored in two halves, and a launch that lowers words is made
 * twice. Pass 0 finds the minimum of the high halves; if it lowers a high half, it sets the low
 * half to its largest value. Pass 1 finds the minimum of the low halves among the values with that
 * high half. After both passes the two halves are the word. PASSES is the number of passes.
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
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
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

/* Lower a word to that of a value, in this pass, if that is smaller. Return whether it was lowered.
 * For the smallest value of a launch it is, in at least one of the passes. */
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
