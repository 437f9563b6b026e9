/* The min-plus semiring on strips: how a path is extended, and which of two paths is kept.
 *
 *     macro              default   meaning
 *     PYAPSP_GUARD       0         1: integer sums know infinity and clamp at -infinity. Needed as
 *                                  soon as an integer weight is negative: infinity - 1 is not a
 *                                  distance.
 *     PYAPSP_MIN_BUILTIN 0         1: fmin() or min(); 0: a comparison and a choice. The same
 *                                  answer; which one becomes a single instruction is a matter of
 *                                  the compiler, so the host decides by measurement.
 *
 * Non-negative integers need no guard: infinity + w is never shorter than infinity.
 * A NaN, which floats can only reach through a negative cycle (-inf + inf), is never kept.
 */
#ifndef PYAPSP_GUARD
#define PYAPSP_GUARD 0
#endif
#ifndef PYAPSP_MIN_BUILTIN
#define PYAPSP_MIN_BUILTIN 0
#endif

/* The path of length a followed by the paths of lengths b. */
static inline strip_t extend(const value_t a, const strip_t b)
{
    const strip_t sum = a + b;
#if PYAPSP_INTEGER && PYAPSP_GUARD
    const strip_t first = (strip_t)(a);
    const strip_t infinite = (strip_t)(PYAPSP_INFINITY);
    const strip_t clamped = (sum < -infinite) ? -infinite : sum;
    return ((first == infinite) | (b == infinite)) ? infinite : clamped;
#else
    return sum;
#endif
}

#if PYAPSP_MIN_BUILTIN && PYAPSP_INTEGER
#define SHORTER(candidate, current) min(candidate, current)
#elif PYAPSP_MIN_BUILTIN
#define SHORTER(candidate, current) fmin(candidate, current)
#else
#define SHORTER(candidate, current) (((candidate) < (current)) ? (candidate) : (current))
#endif
