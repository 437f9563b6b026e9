/* A word of the matrix: one distance, or several side by side in one integer.
 *
 *     macro              default  meaning
 *     PYAPSP_FIELD_BITS  0        b: distances are unsigned fields of b bits, 4, 8 or 16; sums
 *                                 saturate at 2^b - 1, which is infinity;
 *                                 0: one value of common/types.h
 *     PYAPSP_FORM        0        with b > 0, how they are added and compared:
 *                                 0: 32/b fields in a uint, with carries and borrows kept inside
 *                                 each
 *                                 1: one field in a uchar or ushort, strips of them being vectors
 *
 * Eight fields of 4 bits in a word, the first vertex in the lowest:
 *
 *     bit 31                              0
 *        +---+---+---+---+---+---+---+---+
 *        | 7 | 6 | 5 | 4 | 3 | 2 | 1 | 0 |      H: the highest bit of each field, 0x88888888
 *        +---+---+---+---+---+---+---+---+      ONES: the lowest bit of each field, 0x11111111
 *
 * The tile functions use: value_t and strip_t of words, FIELDS per word, factor(word, f), which
 * makes a left operand of field f, extend() and SHORTER().
 */
#ifndef DENSE_WORDS_H
#define DENSE_WORDS_H
#ifndef PYAPSP_FIELD_BITS
#define PYAPSP_FIELD_BITS 0
#endif
#ifndef PYAPSP_FORM
#define PYAPSP_FORM 0
#endif

#if PYAPSP_FIELD_BITS && !defined(PYAPSP_VALUE)
#if PYAPSP_FORM == 0
#define PYAPSP_VALUE uint
#elif PYAPSP_FIELD_BITS == 8
#define PYAPSP_VALUE uchar
#else
#define PYAPSP_VALUE ushort
#endif
#endif

#include "common/types.h"

#if PYAPSP_FIELD_BITS == 0

#define FIELDS 1
#include "common/semiring.h"

static inline value_t factor(const value_t word, const int f)
{
    return word;
}

#elif PYAPSP_FORM == 0

#define FIELDS (32 / PYAPSP_FIELD_BITS)
#define FIELD ((1u << PYAPSP_FIELD_BITS) - 1u)
#define ONES (0xffffffffu / FIELD)
#define H (ONES << (PYAPSP_FIELD_BITS - 1))

/* A word with field f in every field. */
static inline value_t factor(const value_t word, const int f)
{
    return (word >> (f * PYAPSP_FIELD_BITS) & FIELD) * ONES;
}

/* Every bit of the fields whose highest bit is in `top`. */
static inline strip_t whole_fields(const strip_t top)
{
    return (top << 1) - (top >> (PYAPSP_FIELD_BITS - 1));
}

/* The sum of each field, saturated at 2^b - 1. Sums without the highest bits stay in their fields.
 * The carry out of a highest bit is the majority of its two bits and the carry into it. */
static inline strip_t extend(const value_t a, const strip_t b)
{
    const strip_t first = (strip_t)(a);
    const strip_t low = (first & ~H) + (b & ~H);
    const strip_t over = ((first & b) | ((first | b) & low)) & H;
    return (low ^ ((first ^ b) & H)) | whole_fields(over);
}

/* The smaller of each field. Where the highest bits are equal, the other bits decide: the highest
 * bit is set before the subtraction, so no borrow leaves a field, and it stays set where nothing
 * was borrowed. */
static inline strip_t shorter(const strip_t a, const strip_t b)
{
    const strip_t rest = (a | H) - (b & ~H);
    const strip_t not_below = ((a & ~b) | (~(a ^ b) & rest)) & H;
    const strip_t take = whole_fields(not_below);
    return (a & ~take) | (b & take);
}
#define SHORTER(candidate, current) shorter(candidate, current)

#else

#define FIELDS 1
#ifndef PYAPSP_MIN_BUILTIN
#define PYAPSP_MIN_BUILTIN 0
#endif

static inline value_t factor(const value_t word, const int f)
{
    return word;
}

/* Both forms become one saturating addition on devices with such an instruction. */
static inline strip_t extend(const value_t a, const strip_t b)
{
#if PYAPSP_MIN_BUILTIN
    return add_sat((strip_t)(a), b);
#else
    const strip_t sum = (strip_t)(a) + b;
    return (sum < b) ? (strip_t)(-1) : sum;
#endif
}

#if PYAPSP_MIN_BUILTIN
#define SHORTER(candidate, current) min(candidate, current)
#else
#define SHORTER(candidate, current) (((candidate) < (current)) ? (candidate) : (current))
#endif

#endif

#endif /* DENSE_WORDS_H */
