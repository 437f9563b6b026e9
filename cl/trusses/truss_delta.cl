/* truss_delta: after edges are removed, the supports of other edges are decreased, not recounted.
 *
 * Purpose   The k-truss, as in truss_iterative.cl, but the triangles of the remaining edges are not
 *           counted again. A triangle that is lost has one, two or three removed edges. Let N be
 *           the rows of the remaining edges, and R those of the edges that the step removed:
 *
 *             PYAPSP_PASS 1  one: for each removed edge u-v, each match w of N(u) and N(v)
 *                            decreases the support of the edges u-w and v-w
 *             PYAPSP_PASS 2  two: for each removed edge u-v and in both directions, each match w of
 *                            N(u) and R(v) decreases that of u-w. The other removed edge, v-w,
 *                            leads to u-w too, so only the one with u < w counts
 *
 *             PYAPSP_PASS 0  the triangles of edges are counted: the matches of N(u) and N(v)
 *
 *           With three removed edges, no edge remains. The remaining edges are in compressed rows
 *           that are rewritten in each step, or in a container that is updated (remaining.h).
 *
 * Layout    Rows have both arcs of an edge, with its number. u = 1, v = 4, and 4-7 is removed too:
 *
 *             N(1)   2  6  7           N(4)   2  5          R(4)   1  7
 *             pass 1   1 and 4 have the neighbour 2: 1-2 and 2-4 lose a triangle
 *             pass 2   1-7 loses one
 *
 *           Items are the removed edges; in pass 2, item i is the edge i / 2, turned if i is odd.
 *
 * Parameters  those of intersect.h and remaining.h, and
 *             PYAPSP_PASS  1  the pass
 *
 * Cost      For each removed edge three intersections, two of them with the removed part of a row.
 *           Compressed rows of what is left are written in each step.
 *
 * Source    O. Green et al., quickly finding a truss in a haystack, HPEC 2017,
 *           doi:10.1109/HPEC.2017.8091038; F. Busato, thesis, Verona 2018, chapter 19. Supports of
 *           edges in place of those of arcs: ours.
 */
#include "traversal/partitioning/chunks.h"
#include "trusses/remaining.h"
#include "trusses/weak.h"
#ifndef PYAPSP_PASS
#define PYAPSP_PASS 1
#endif

typedef struct {
    REMAINING_FIELDS /* N */
    __global const int *removed, *removed_heads;
    __global const int *tails, *ends, *list; /* the vertices of edges, and the removed edges */
    __global int *supports;
    int hits;
} context_t;

static inline int4 rows_of(const context_t *c, const int item)
{
#if PYAPSP_PASS < 2
    const int e = c->list[item], u = c->tails[e], v = c->ends[e];
    return (int4)(ROW_BEGIN(c, u), ROW_END(c, u), ROW_BEGIN(c, v), ROW_END(c, v));
#else
    const int e = c->list[item / 2], odd = item & 1;
    const int u = odd ? c->ends[e] : c->tails[e], v = odd ? c->tails[e] : c->ends[e];
    return (int4)(ROW_BEGIN(c, u), ROW_END(c, u), c->removed[v], c->removed[v + 1]);
#endif
}

static inline int head_a(const context_t *c, const int place)
{
    return ENTRY(c, heads, place);
}

static inline int head_b(const context_t *c, const int place)
{
    return PYAPSP_PASS < 2 ? ENTRY(c, heads, place) : c->removed_heads[place];
}

static inline void found(context_t *c, const int a, const int b)
{
#if PYAPSP_PASS == 0
    c->hits++;
#elif PYAPSP_PASS == 1
    atomic_dec(&c->supports[ENTRY(c, ids, a)]);
    atomic_dec(&c->supports[ENTRY(c, ids, b)]);
#else
    /* the vertex u of the item is the other end of the edge that is left */
    const int edge = ENTRY(c, ids, a), w = ENTRY(c, heads, a);
    const int u = c->tails[edge] == w ? c->ends[edge] : c->tails[edge];
    if (u < w)
        atomic_dec(&c->supports[edge]);
#endif
}

static inline void done(context_t *c, const int item)
{
#if PYAPSP_PASS == 0
    if (c->hits > 0)
        atomic_add(&c->supports[c->list[item]], c->hits);
    c->hits = 0;
#endif
}

#include "trusses/intersect.h"

#define ARRAYS                                                                                     \
    REMAINING_ROWS, INPUT removed, INPUT removed_heads, INPUT tails, INPUT ends, INPUT list,       \
        __global int *supports
#define CONTEXT {REMAINING_NAMES, removed, removed_heads, tails, ends, list, supports, 0}

#if PYAPSP_DIVIDE < 2
__kernel GROUP void intersect_run(ARRAYS, const int start, const int items)
{
    context_t c = CONTEXT;
    intersect_items(&c, start, items);
}
#else
__kernel GROUP void intersect_units(ARRAYS, const int start, const int items, OUTPUT sizes)
{
    const context_t c = CONTEXT;
    for (size_t i = PLACE_OF_ALL; i < (size_t)items; i += get_global_size(0))
        sizes[i] = units_of(rows_of(&c, start + i));
}

__kernel GROUP void intersect_run(ARRAYS, const int start, INPUT offsets, INPUT parts,
                                  const int units)
{
    __local int slice[CAPACITY], owner_of[CHUNK];
    context_t c = CONTEXT;
    intersect_chunks(&c, offsets, parts, start, units, slice, owner_of);
}
#endif
