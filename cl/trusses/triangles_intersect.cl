/* triangles_intersect: triangles by the intersection of the two rows of each oriented arc.
 *
 * Purpose   In the oriented rows (rows.cl) each triangle has one arc u -> v whose ends both have an
 *           arc to the third vertex w. So the triangles are the matches of the rows of u and v, over
 *           all arcs. intersect.h has the ways to intersect, and to divide the arcs.
 *
 * Layout    Arcs are items. tails[arc] is u, heads[arc] is v; w is at place a of the row of u and at
 *           place b of that of v. With PYAPSP_COUNT 2, arcs have the numbers of their edges, because
 *           some of the edges may have been removed; `tails` is by edge.
 *
 *             count      0  sums, one for each work-item
 *                        1  triangles of vertices u, v, w
 *                        2  triangles of the edges of arc, a and b
 *
 * Parameters  those of intersect.h, and
 *             PYAPSP_COUNT  0  what is counted
 *
 * Cost      The sum over all arcs of the lengths of both rows (merge, intersect path), or of the
 *           shorter one times the logarithm of the longer one (binary search). Count 1 has one
 *           atomic operation for each triangle and two for each part, count 2 two and one.
 *
 * Source    See intersect.h.
 */
#include "traversal/partitioning/chunks.h"
#ifndef PYAPSP_COUNT
#define PYAPSP_COUNT 0
#endif

typedef struct {
    __global const int *up, *heads, *tails, *ids;
    __global int *counts;
    ulong sum;
    int hits;
} context_t;

static inline int tail_of(const context_t *c, const int arc)
{
#if PYAPSP_COUNT == 2
    return c->tails[c->ids[arc]];
#else
    return c->tails[arc];
#endif
}

static inline int4 rows_of(const context_t *c, const int arc)
{
    const int u = tail_of(c, arc), v = c->heads[arc];
    return (int4)(c->up[u], c->up[u + 1], c->up[v], c->up[v + 1]);
}

static inline int head_a(const context_t *c, const int place)
{
    return c->heads[place];
}

static inline int head_b(const context_t *c, const int place)
{
    return c->heads[place];
}

static inline void found(context_t *c, const int a, const int b)
{
    c->hits++;
#if PYAPSP_COUNT == 1
    atomic_inc(&c->counts[c->heads[a]]);
#elif PYAPSP_COUNT == 2
    atomic_inc(&c->counts[c->ids[a]]);
    atomic_inc(&c->counts[c->ids[b]]);
#endif
}

static inline void done(context_t *c, const int arc)
{
    if (c->hits > 0) {
#if PYAPSP_COUNT == 0
        c->sum += c->hits;
#elif PYAPSP_COUNT == 1
        atomic_add(&c->counts[tail_of(c, arc)], c->hits);
        atomic_add(&c->counts[c->heads[arc]], c->hits);
#else
        atomic_add(&c->counts[c->ids[arc]], c->hits);
#endif
    }
    c->hits = 0;
}

#include "trusses/intersect.h"

/* `sums` has a sum for each work-item, to which count 0 adds; `counts` is for the others, and ids for
 * count 2. */
#define ARRAYS                                                                                     \
    INPUT up, INPUT heads, INPUT tails, INPUT ids, __global int *counts, __global ulong *sums

#if PYAPSP_DIVIDE < 2
__kernel GROUP void intersect_run(ARRAYS, const int start, const int items)
{
    context_t c = {up, heads, tails, ids, counts, 0, 0};
    intersect_items(&c, start, items);
#else
__kernel GROUP void intersect_units(ARRAYS, const int start, const int items, OUTPUT sizes)
{
    const context_t c = {up, heads, tails, ids, counts, 0, 0};
    for (size_t i = PLACE_OF_ALL; i < (size_t)items; i += get_global_size(0))
        sizes[i] = units_of(rows_of(&c, start + i));
}

__kernel GROUP void intersect_run(ARRAYS, const int start, INPUT offsets, INPUT parts,
                                  const int units)
{
    __local int slice[CAPACITY], owner_of[CHUNK];
    context_t c = {up, heads, tails, ids, counts, 0, 0};
    intersect_chunks(&c, offsets, parts, start, units, slice, owner_of);
#endif
#if PYAPSP_COUNT == 0
    sums[PLACE_OF_ALL] += c.sum;
#endif
}
