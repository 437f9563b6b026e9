/* Weights of many graphs in the caller's form, and remarks on each graph.
 *
 * The weights are m matrices of n x n raw values, one after the other, each in rows: the values of a
 * 3-D array. Their distances come back in the same form. Each graph also has a word of remarks,
 * which is 0 before the launch. The host reads this word, so that it need not look at all weights.
 *
 *     macro                 default   meaning
 *     PYAPSP_RAW            float     type of weights and distances
 *     PYAPSP_RAW_INTEGER    0         1 when it is an integer type
 *     PYAPSP_RAW_INFINITY   INFINITY  the distance between vertices that no path connects
 *
 *     remark     the graph has
 *     BAD        a weight that is NaN, -inf, or too large for the type
 *     NEGATIVE   a weight below zero
 *     LONG       a weight so large that a path may be too long for the type
 *     CYCLE      a negative distance on the diagonal, in the answer
 *     UNSOUND    a predecessor that may be wrong: all_pairs/dense/batch_predecessors.cl
 */
#ifndef DENSE_BATCH_H
#define DENSE_BATCH_H
#ifndef PYAPSP_RAW
#define PYAPSP_RAW float
#endif
#ifndef PYAPSP_RAW_INTEGER
#define PYAPSP_RAW_INTEGER 0
#endif
#ifndef PYAPSP_RAW_INFINITY
#define PYAPSP_RAW_INFINITY INFINITY
#endif

#define BAD 1
#define NEGATIVE 2
#define LONG 4
#define CYCLE 8
#define UNSOUND 16

typedef PYAPSP_RAW raw_t;
#define FAR ((raw_t)(PYAPSP_RAW_INFINITY))

/* Whether a weight means no arc: infinity always does, zero does unless `zeros`. Integers have no
 * infinity. In integer weights that pyapsp made (`zeros`), PYAPSP_RAW_INFINITY means no arc. */
static inline int no_arc(const raw_t weight, const int zeros)
{
#if PYAPSP_RAW_INTEGER
    return zeros ? weight == FAR : weight == 0;
#else
    return weight == FAR || (weight == 0 && !zeros);
#endif
}

/* Remarks on a weight. The sum of n - 1 weights below `longest` is in the range of the type. */
static inline int remarks_on(const raw_t weight, const int zeros, const float longest)
{
    int remarks = weight < 0 ? NEGATIVE : 0;
#if PYAPSP_RAW_INTEGER
    remarks |= (weight >= FAR || weight <= -FAR) ? BAD : 0;
#else
    remarks |= !(weight > -FAR) ? BAD : 0;
#endif
    remarks |= ((float)weight >= longest || (float)weight <= -longest) ? LONG : 0;
    return no_arc(weight, zeros) ? 0 : remarks;
}

#endif /* DENSE_BATCH_H */
