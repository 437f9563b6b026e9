/* The min-plus semiring on strips: how a path is extended, and which of two paths is kept.
 *
 *     macro              default   meaning
 *     PYAPSP_GUARD       0         1: integer sums know infinity and clamp at -infinity. Needed as
 *                                  soon as an integer weight is negative: infinity - 1 is not a
 *                                  distance.
 *     PYAPSP_MIN_BUILTIN 0         1: fmin() or min(); 0: a comparison and a select. Both give the
 *                                  same result. Which of them becomes one instruction depends on
 *                                  the compiler, so the host measures both.
 *     PYAPSP_MIN_BITS    0         1: floats are compared as integers of their size, PYAPSP_BITS
 *                                  (int for float, long for double). The result is the same as long
 *                                  as no sum is negative or NaN. It is up to twice as fast where
 *                                  float additions and float minima use the same execution units.
 *
 * Non-negative integers need no guard: infinity + w is never less than infinity. The guard is for
 * signed types, because unsigned types have no negative weights.
 * Floats become NaN only through a negative cycle (-inf + inf). A NaN is never kept: comparisons
 * with it are false, and fmin() ignores it.
 */
#ifndef COMMON_SEMIRING_H
#define COMMON_SEMIRING_H
#ifndef PYAPSP_GUARD
#define PYAPSP_GUARD 0
#endif
#ifndef PYAPSP_MIN_BUILTIN
#define PYAPSP_MIN_BUILTIN 0
#endif
#if PYAPSP_WIDTH > 16 /* there are no functions of such vectors */
#undef PYAPSP_MIN_BUILTIN
#define PYAPSP_MIN_BUILTIN 0
#endif
#ifndef PYAPSP_MIN_BITS
#define PYAPSP_MIN_BITS 0
#endif
#ifndef PYAPSP_BITS
#define PYAPSP_BITS int
#endif

/* Paths of lengths a, each followed by the path of length b in its place. */
static inline strip_t extend_each(const strip_t a, const strip_t b)
{
    const strip_t sum = a + b;
#if PYAPSP_INTEGER && PYAPSP_GUARD
    const strip_t infinite = (strip_t)(PYAPSP_INFINITY);
    const strip_t clamped = (sum < -infinite) ? -infinite : sum;
    return ((a == infinite) | (b == infinite)) ? infinite : clamped;
#else
    return sum;
#endif
}

/* The path of length a followed by the paths of lengths b. */
static inline strip_t extend(const value_t a, const strip_t b)
{
    return extend_each((strip_t)(a), b);
}

#if PYAPSP_MIN_BITS && PYAPSP_WIDTH == 1
#define AS_STRIP(bits) PYAPSP_JOIN(as_, PYAPSP_VALUE)(bits)
#define AS_BITS(strip) PYAPSP_JOIN(as_, PYAPSP_BITS)(strip)
#elif PYAPSP_MIN_BITS
#define AS_STRIP(bits) PYAPSP_JOIN(PYAPSP_JOIN(as_, PYAPSP_VALUE), PYAPSP_WIDTH)(bits)
#define AS_BITS(strip) PYAPSP_JOIN(PYAPSP_JOIN(as_, PYAPSP_BITS), PYAPSP_WIDTH)(strip)
#endif

#if PYAPSP_MIN_BITS && PYAPSP_MIN_BUILTIN
#define SHORTER(candidate, current) AS_STRIP(min(AS_BITS(candidate), AS_BITS(current)))
#elif PYAPSP_MIN_BITS
#define SHORTER(candidate, current)                                                                \
    AS_STRIP((AS_BITS(candidate) < AS_BITS(current)) ? AS_BITS(candidate) : AS_BITS(current))
#elif PYAPSP_MIN_BUILTIN && PYAPSP_INTEGER && PYAPSP_WIDTH == 1
/* the sum of two shorts is an int in C */
#define SHORTER(candidate, current) min((value_t)(candidate), (value_t)(current))
#elif PYAPSP_MIN_BUILTIN && PYAPSP_INTEGER
#define SHORTER(candidate, current) min(candidate, current)
#elif PYAPSP_MIN_BUILTIN
#define SHORTER(candidate, current) fmin(candidate, current)
#else
#define SHORTER(candidate, current) (((candidate) < (current)) ? (candidate) : (current))
#endif

#endif /* COMMON_SEMIRING_H */
