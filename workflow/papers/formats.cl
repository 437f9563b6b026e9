/* formats: what kernels do with a graph, in the formats of table 3.1.
 *
 * Purpose   formats_relax lists the neighbours of all vertices: best[v] is the least x[u] + w(v, u) of
 *           its arcs. formats_has says for pairs of vertices whether there is an arc. Both read the
 *           format as it is.
 *
 * Layout    The arcs 0 -> 1 and 0 -> 2 of three vertices, with the weights 5 and 7:
 *
 *           1 flags      (R1)        0 1 1 / 0 0 0 / 0 0 0    the row of a vertex: PITCH elements
 *           2 weights    (R2, R3)    0 5 7 / . 0 . / . . 0    . is infinity: no arc
 *           3 rows       (R5)        offsets 0 2 2 2, heads 1 2, and weights 5 7 if WEIGHTED
 *           4 records    (R6)        offsets 0 2 2 2, arcs (1, 5) (2, 7)
 *           5 pairs      (R13)       rows (0, 2) (2, 2) (2, 2), heads 1 2
 *           6 list       (R9, R11)   tails 0 0, heads 1 2, sorted
 *           7 triples    (R10)       arcs (0, 1, 5) (0, 2, 7), sorted
 *           8 half       (R12)       ends 0 0, other ends 1 2, sorted: each edge once, as the
 *                                    smaller end and the larger
 *
 * Parameters  PYAPSP_FORMAT   3   the number above
 *             PYAPSP_WEIGHTED 0   format 3: whether weights are read; without, they are 1
 *             PYAPSP_PITCH    1   formats 1 and 2: elements of a row
 *             PYAPSP_GROUP   64   work-items of a group, a power of two
 *
 * Cost      formats_relax: a matrix reads its n^2 elements, a group for each row; rows have an item
 *           for each vertex; lists have one for each arc, with an atomic operation.
 *           formats_has: one read of a matrix, a binary search elsewhere.
 *
 * Source    F. Busato, thesis, Verona 2018, chapter 3 (the formats), table 3.1 (what is compared).
 */
#ifndef PYAPSP_FORMAT
#define PYAPSP_FORMAT 3
#endif
#ifndef PYAPSP_WEIGHTED
#define PYAPSP_WEIGHTED 0
#endif
#ifndef PYAPSP_PITCH
#define PYAPSP_PITCH 1
#endif
#ifndef PYAPSP_GROUP
#define PYAPSP_GROUP 64
#endif

#define KERNEL __kernel __attribute__((reqd_work_group_size(PYAPSP_GROUP, 1, 1))) void

#if PYAPSP_FORMAT <= 2

#if PYAPSP_FORMAT == 1
typedef uchar element_t;
#define IS_ARC(v, u, element) ((element) != 0)
#define WEIGHT(element) 1
#else
typedef float element_t;
#define IS_ARC(v, u, element) ((u) != (v) && !isinf(element))
#define WEIGHT(element) ((int)(element))
#endif

KERNEL formats_relax(__global const element_t *matrix, __global const int *x, __global int *best,
                     const int n)
{
    __local int least[PYAPSP_GROUP];
    const int v = get_group_id(0), item = get_local_id(0);
    int mine = INT_MAX;
    for (int u = item; u < n; u += PYAPSP_GROUP) {
        const element_t element = matrix[(size_t)v * PYAPSP_PITCH + u];
        if (IS_ARC(v, u, element))
            mine = min(mine, x[u] + WEIGHT(element));
    }
    least[item] = mine;
    for (int step = PYAPSP_GROUP / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < step)
            least[item] = min(least[item], least[item + step]);
    }
    if (item == 0)
        best[v] = least[0];
}

KERNEL formats_has(__global const element_t *matrix, __global const int2 *pairs,
                   __global uchar *answers, const int count)
{
    const int number = get_global_id(0);
    if (number >= count)
        return;
    const int2 pair = pairs[number];
    const element_t element = matrix[(size_t)pair.x * PYAPSP_PITCH + pair.y];
    answers[number] = IS_ARC(pair.x, pair.y, element);
}

#elif PYAPSP_FORMAT <= 5

#if PYAPSP_FORMAT == 3
#if PYAPSP_WEIGHTED
#define ARRAYS                                                                                     \
    __global const int *offsets, __global const int *heads, __global const int *weights
#define WEIGHT(arc) weights[arc]
#else
#define ARRAYS __global const int *offsets, __global const int *heads
#define WEIGHT(arc) 1
#endif
#define HEAD(arc) heads[arc]
#elif PYAPSP_FORMAT == 4
#define ARRAYS __global const int *offsets, __global const int2 *arcs
#define HEAD(arc) arcs[arc].x
#define WEIGHT(arc) arcs[arc].y
#else
#define ARRAYS __global const int2 *rows, __global const int *heads
#define HEAD(arc) heads[arc]
#define WEIGHT(arc) 1
#endif
#if PYAPSP_FORMAT == 5
#define ROW(v) rows[v]
#else
#define ROW(v) ((int2)(offsets[v], offsets[(v) + 1]))
#endif

KERNEL formats_relax(ARRAYS, __global const int *x, __global int *best, const int n)
{
    const int v = get_global_id(0);
    if (v >= n)
        return;
    const int2 row = ROW(v);
    int least = INT_MAX;
    for (int arc = row.x; arc < row.y; arc++)
        least = min(least, x[HEAD(arc)] + WEIGHT(arc));
    best[v] = least;
}

KERNEL formats_has(ARRAYS, __global const int2 *pairs, __global uchar *answers, const int count)
{
    const int number = get_global_id(0);
    if (number >= count)
        return;
    const int2 pair = pairs[number], row = ROW(pair.x);
    int low = row.x, high = row.y;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (HEAD(middle) < pair.y)
            low = middle + 1;
        else
            high = middle;
    }
    answers[number] = low < row.y && HEAD(low) == pair.y;
}

#else

#if PYAPSP_FORMAT == 7
typedef struct {
    int tail, head, weight;
} arc_t;
#define ARRAYS __global const arc_t *arcs
#define ENDS(arc) ((int2)(arcs[arc].tail, arcs[arc].head))
#define WEIGHT(arc) arcs[arc].weight
#else
#define ARRAYS __global const int *tails, __global const int *heads
#define ENDS(arc) ((int2)(tails[arc], heads[arc]))
#define WEIGHT(arc) 1
#endif

/* best[v] is INT_MAX before. */
KERNEL formats_relax(ARRAYS, __global const int *x, __global int *best, const int m)
{
    const int arc = get_global_id(0);
    if (arc >= m)
        return;
    const int2 ends = ENDS(arc);
    atomic_min(&best[ends.x], x[ends.y] + WEIGHT(arc));
#if PYAPSP_FORMAT == 8
    atomic_min(&best[ends.y], x[ends.x] + WEIGHT(arc));
#endif
}

KERNEL formats_has(ARRAYS, __global const int2 *pairs, __global uchar *answers, const int count,
                   const int m)
{
    const int number = get_global_id(0);
    if (number >= count)
        return;
    int2 pair = pairs[number];
#if PYAPSP_FORMAT == 8
    pair = (int2)(min(pair.x, pair.y), max(pair.x, pair.y));
#endif
    int low = 0, high = m;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        const int2 ends = ENDS(middle);
        if (ends.x < pair.x || (ends.x == pair.x && ends.y < pair.y))
            low = middle + 1;
        else
            high = middle;
    }
    answers[number] = 0;
    if (low < m) {
        const int2 ends = ENDS(low);
        answers[number] = ends.x == pair.x && ends.y == pair.y;
    }
}

#endif
