/* bfs_b40c: breadth-first search in two phases, expansion and contraction.
 *
 * Purpose   Levels, where every arc has length 1. Expansion reads the neighbours of the frontier, and
 *           contraction keeps those that are found for the first time. The frontier between two
 *           launches has vertices or arcs:
 *             bfs_b40c_vertex     vertices: expansion, then contraction of each neighbour
 *             bfs_b40c_edge       arcs: contraction of their heads, then expansion
 *             bfs_b40c_expand, bfs_b40c_contract   two phases: one launch for each
 *           Hybrid: arcs between two levels. Few of them take bfs_b40c_edge. Many take two launches,
 *           bfs_b40c_contract_arcs and bfs_b40c_expand_found, so that no work-item whose arc was
 *           dropped waits while others expand.
 *
 *           Expansion has the three steps of gather.h. Contraction drops duplicates by a table of the
 *           warp, and then looks up a bit for each vertex.
 *
 * Layout    The graph: heads[first[v] .. first[v + 1]] are the neighbours of v. queues, state and
 *           levels: see frontier_queues.h; queues has vertices. edges has two rows of m heads, as
 *           queues has, and from a row of their tails for each, with predecessors; two phases need
 *           one row. state[6] and state[7] are numbers of arcs, or in the hybrid of vertices, between
 *           two phases, for even and odd levels. mask: a bit for each vertex.
 *
 * Parameters  those of frontier_queues.h and logical_warp.h, and
 *             PYAPSP_TABLE  1024  entries of all tables of a group: see duplicates.h
 *
 * Cost      A launch for each level, or two; an atomic operation for each arc that no table dropped.
 *           O(n + m).
 *
 * Source    D. Merrill, M. Garland, A. Grimshaw, scalable GPU graph traversal, PPoPP 2012,
 *           doi:10.1145/2145816.2145832. There bits are read and written without atomics, and levels
 *           decide. Here the work-item that sets a bit sets the level.
 */
#define PYAPSP_QUEUE 1
#define PYAPSP_DUPLICATES 3
#ifndef PYAPSP_TABLE
#define PYAPSP_TABLE 1024
#endif

#include "traversal/duplicates.h"
#include "traversal/bfs/frontier_queues.h"
#include "traversal/bfs/gather.h"

typedef struct {
    __global const long *first;
    __global const int *heads;
    __global int *levels, *parents, *queues, *state, *edges, *from;
    __global uint *mask;
    __local int *slots, *found, *table;
    int n, level;
    long row; /* the first place of the row of edges that is written */
} search;

/* The head of an arc if it is found now for the first time, otherwise -1; v is -1 without an arc. */
static inline int contracted(search *s, const int v, const int u)
{
    int dropped = 0, conflicts = 0;
    s->found[FOUND(0)] = v;
    if (!without_duplicates(v >= 0, s->found, s->table, &dropped, &conflicts))
        return -1;
    const uint bit = 1u << v % 32;
    if (atomic_or(&s->mask[v / 32], bit) & bit)
        return -1;
    s->levels[v] = s->level;
#if PYAPSP_PREDECESSORS
    if (s->level > 0)
        s->parents[v] = u;
#endif
    return v;
}

/* Append a vertex of each work-item, -1: none, to a queue. */
static inline void append(search *s, __global int *queue, __global int *size, const int v)
{
    const int place = device_rank_unordered(v >= 0, size, s->slots);
    if (v >= 0)
        queue[place] = v;
}

/* Append an arc of each work-item to the arcs. */
static inline void append_arc(search *s, __global int *size, const int arc, const int u)
{
    const int place = device_rank_unordered(arc >= 0, size, s->slots);
    if (arc >= 0) {
        s->edges[s->row + place] = s->heads[arc];
#if PYAPSP_PREDECESSORS
        s->from[s->row + place] = u;
#endif
    }
}

#define EXPAND_TO_VERTICES(arc, u)                                                                 \
    append(&s, QUEUE_NOW(queues, n, level), SIZE_NOW(state, level),                                \
           contracted(&s, (arc) < 0 ? -1 : heads[arc], u))
#define EXPAND_TO_ARCS(arc, u) append_arc(&s, size_of_arcs, arc, u)

#define SEARCH                                                                                     \
    __global const long *first, __global const int *heads, __global int *levels,                   \
        __global int *parents, __global int *queues, __global int *state, __global uint *mask,     \
        __global int *edges, __global int *from, const int n, const long m, const int level,       \
        const int size

#define OPEN                                                                                       \
    __local int slots[WARP_SLOTS], found[PYAPSP_GROUP], listed[PYAPSP_GROUP], tails[PYAPSP_GROUP]; \
    __local int table[TABLE_WORDS];                                                                \
    const size_t place = get_group_id(0) * PYAPSP_GROUP + GROUP_PLACE;                             \
    search s = {first, heads, levels, parents, queues, state, edges, from, mask,                   \
                slots, found, table,  n,       level,  0};                                         \
    (void)place, (void)listed, (void)tails

/* The same for kernels that append arcs: the sizes of the next launches become 0. */
#define OPEN_ARCS(size)                                                                            \
    OPEN;                                                                                          \
    __global int *size_of_arcs = size;                                                             \
    if (place == 0) {                                                                              \
        *SIZE_BEFORE(state, level) = 0;                                                            \
        state[6 + (level + 1) % 2] = 0;                                                            \
    }

/* A work-item for each vertex: the source is found, unless the frontier has arcs, and then it is the
 * head of the first one. */
__kernel GROUP void bfs_b40c_start(__global uint *mask, __global int *edges, __global int *state,
                                   const int source, const int n, const int arcs)
{
    const size_t v = get_global_id(0);
    if (v >= (size_t)n)
        return;
    if (v % 32 == 0)
        mask[v / 32] = !arcs && source / 32 == v / 32 ? 1u << source % 32 : 0;
    if (v == (size_t)source && arcs)
        edges[0] = source;
}

__kernel GROUP void bfs_b40c_vertex(SEARCH)
{
    OPEN;
    if (place == 0)
        *SIZE_BEFORE(state, level) = 0;
    const int u = place < (size_t)size ? QUEUE_BEFORE(queues, n, level)[place] : -1;
    GATHER(u, EXPAND_TO_VERTICES);
}

/* Contract the arc of each work-item that was made for this level; return its head, or -1. */
static inline int contracted_arc(search *s, const size_t place, const long before, const int size)
{
    s->level--; /* heads of arcs have the level after that of their tails */
    const int v = place < (size_t)size ? s->edges[before + place] : -1;
#if PYAPSP_PREDECESSORS
    return contracted(s, v, place < (size_t)size ? s->from[before + place] : -1);
#else
    return contracted(s, v, -1);
#endif
}

__kernel GROUP void bfs_b40c_edge(SEARCH)
{
    OPEN_ARCS(SIZE_NOW(state, level));
    s.row = level % 2 * m;
    const int u = contracted_arc(&s, place, (level + 1) % 2 * m, size);
    GATHER(u, EXPAND_TO_ARCS);
}

/* Hybrid, the first launch of two: vertices that are found go to the queue. */
__kernel GROUP void bfs_b40c_contract_arcs(SEARCH)
{
    OPEN;
    const int v = contracted_arc(&s, place, (level + 1) % 2 * m, size);
    append(&s, queues, state + 6 + level % 2, v);
}

/* Hybrid, the second: the groups share the vertices that the contraction has counted. */
__kernel GROUP void bfs_b40c_expand_found(SEARCH)
{
    OPEN_ARCS(SIZE_NOW(state, level));
    s.row = level % 2 * m;
    const int found_now = state[6 + level % 2];
    const int tiles = found_now > 0 ? (found_now - 1) / PYAPSP_GROUP + 1 : 0;
    for (int tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        const int each = tile * PYAPSP_GROUP + GROUP_PLACE;
        const int u = each < found_now ? queues[each] : -1;
        GATHER(u, EXPAND_TO_ARCS);
    }
}

__kernel GROUP void bfs_b40c_expand(SEARCH)
{
    OPEN_ARCS(state + 6 + level % 2);
    const int u = place < (size_t)size ? QUEUE_BEFORE(queues, n, level)[place] : -1;
    GATHER(u, EXPAND_TO_ARCS);
}

/* The groups share the arcs that the expansion has counted. */
__kernel GROUP void bfs_b40c_contract(SEARCH)
{
    OPEN;
    const int arcs = state[6 + level % 2], tiles = (arcs - 1) / PYAPSP_GROUP + 1;
    for (int tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        const int each = tile * PYAPSP_GROUP + GROUP_PLACE;
        const int v = each < arcs ? edges[each] : -1;
#if PYAPSP_PREDECESSORS
        const int u = each < arcs ? from[each] : -1;
#else
        const int u = -1;
#endif
        append(&s, QUEUE_NOW(queues, n, level), SIZE_NOW(state, level), contracted(&s, v, u));
    }
}
