/* bfs_4k: breadth-first search with queues, and a mapping of work-items chosen for each level.
 *
 * Purpose   Levels, where every arc has length 1. The host chooses one kernel for a level:
 *
 *             bfs_4k_single_warps, bfs_4k_single_edges
 *                            few vertices: one group, which goes on from level to level with the
 *                            frontier in local memory
 *             bfs_4k_warps   dynamic virtual warps: `width` work-items for each vertex
 *             bfs_4k_shared  the same with whole warps: a warp reads the queue at once and shuffles
 *                            its vertices
 *             bfs_4k_edges   edge-discover: each lane of a warp finds its arc by a search in the
 *                            prefix sum of the degrees of the warp's vertices
 *             bfs_4k_heavy   vertices with many arcs, which were left out of the queue: PIECE arcs
 *                            for a work-item
 *             bfs_4k_together
 *                            virtual warps and edge-discover for level after level, by all groups
 *                            that run at the same time, which meet after each
 *
 *           A work-item stores the level of a vertex when it visits it, and collects the vertices
 *           in a queue of QUEUE entries in local memory. The group then removes duplicates, and
 *           appends the rest to the frontier. A vertex is there twice if two work-items read its
 *           level before one of them stored it: where work-items of a group run one after the
 *           other, as on a CPU, never within a group.
 *
 * Layout    The graph: heads[first[v] .. first[v + 1]] are the neighbours of v. levels, queues, and
 *           state[0], state[1]: see frontier_queues.h. A vertex of a queue may be -1: none. More of
 *           state, where the rows are for even and odd levels:
 *             [2]             the next level, after a kernel of several
 *             [3], [6], [7]   entered, arrived, stalled: see common/meeting.h
 *             [4], [5]        heavy vertices of each row
 *             [8 .. 10]       sizes of frontiers in bfs_4k_together
 *             [11 ..]         two rows of `room` heavy vertices
 *
 *             virtual warps   lanes    0 1 2 3 | 4 5 6 7      width 4: vertex a has 6 arcs, b 2
 *                             arc      a0 a1 a2 a3 | b0 b1      then a4 a5
 *             edge-discover   lanes    0 1 2 3 4 5 6 7        degrees 6 2, prefix sum 0 6
 *                             arc      a0 a1 a2 a3 a4 a5 b0 b1
 *
 *             a place in the frontier: each work-item has 2, 3, 1, 2 vertices, the least is 1
 *               prefix sum            0 0 1 1 1 2 3 3
 *               induced coalescence   0 1 2 3 | 0 1 1 3        one of each lane, then the rest
 *
 * Parameters  those of frontier_queues.h, duplicates.h and logical_warp.h, and
 *             PYAPSP_AT_VISIT    1   0: levels are stored when a vertex is appended: a store for
 *                                    each different vertex, but all work-items find it until then
 *             PYAPSP_FIXED       0   1: virtual warps of all levels have the least width
 *             PYAPSP_TOGETHER    0   1: there is bfs_4k_together, which needs fences between groups
 *             PYAPSP_STATISTICS  0   1: count the frontier, duplicates and conflicts of each level,
 *                                    in told[3 * level ..]
 *           Arguments: `coalesce`: the least number of vertices of each lane from which writes are
 *           coalesced, 0: never. Vertices with `heavy` arcs or more go to the list of heavy ones if
 *           there is room; those with `strip` arcs or more are expanded by the whole group.
 *
 * Cost      A launch for each level or more; an atomic read for each arc and an atomic write for
 *           each vertex that is found. Duplicates that are not detected are expanded again. O(n + m)
 *           without them.
 *
 * Source    F. Busato, N. Bombieri, BFS-4K: an efficient implementation of BFS for Kepler GPU
 *           architectures, IEEE TPDS 26(7), 2015, doi:10.1109/TPDS.2014.2330597, and Busato's
 *           thesis, 2018, chapter 6. There a heavy vertex is a child launch of the device; levels are
 *           read and written without atomics; queues of work-items are in registers.
 */
#ifndef PYAPSP_AT_VISIT
#define PYAPSP_AT_VISIT 1
#endif
#ifndef PYAPSP_FIXED
#define PYAPSP_FIXED 0
#endif
#ifndef PYAPSP_TOGETHER
#define PYAPSP_TOGETHER 0
#endif
#ifndef PYAPSP_STATISTICS
#define PYAPSP_STATISTICS 0
#endif
#ifndef PYAPSP_COALESCE
#define PYAPSP_COALESCE 0
#endif
#ifndef PYAPSP_STRIPS
#define PYAPSP_STRIPS 0
#endif

#include "traversal/duplicates.h"
#include "traversal/bfs/frontier_queues.h"

#if PYAPSP_TOGETHER
#include "common/meeting.h"
#define ENTERED 3
#define ARRIVED 6
#define STALLED 7
#define RING(state, level) ((state) + 8 + (level) % 3)
#define NEW_SIZE(s) ((s)->size)
#define AND_SIZE(state, level) , SIZE_NOW(state, level)
#else
#define NEW_SIZE(s) SIZE_NOW((s)->state, (s)->level)
#define AND_SIZE(state, level)
#endif

#define HEAVY_NOW(state, level) ((state) + 4 + (level) % 2)
#define HEAVY_BEFORE(state, level) ((state) + 4 + ((level) + 1) % 2)
#define LIST_NOW(state, level, room) ((state) + 11 + ((level) % 2) * (room))
#define LIST_BEFORE(state, level, room) ((state) + 11 + (((level) + 1) % 2) * (room))

/* What the functions of a launch share. The last two change. */
typedef struct {
    __global const long *first;
    __global const int *heads;
    __global int *levels, *parents, *queues, *state, *told;
    __local int *slots, *found, *from, *strips;
    __local entry *table;
    __local int *here; /* the first `here_room` places of the new frontier */
    int here_room, n, capacity, heavy, room, strip;
    int level, count;
#if PYAPSP_TOGETHER
    volatile __global int *size; /* of the new frontier */
#endif
} search;

/* Keep a neighbour in the queue of this work-item if it has no level. */
static inline void visit(search *s, const int v, const int u)
{
    /* an atomic read, for no level is -1; some compilers make an expensive fence of or-ing 0 */
    if (atomic_cmpxchg(&s->levels[v], -1, -1) != INFINITE)
        return;
    s->found[FOUND(s->count)] = v;
#if PYAPSP_PREDECESSORS
    s->from[FOUND(s->count)] = u;
#endif
    s->count++;
#if PYAPSP_AT_VISIT
    atomic_xchg(&s->levels[v], s->level);
#endif
}

/* The number of the lowest bit that is set. */
static inline int lowest(const uint bits)
{
    return 31 - clz(bits & -bits);
}

static inline void place_at(search *s, const int place, const int v)
{
    if (place < s->here_room)
        s->here[place] = v;
    else if (place < s->capacity)
        QUEUE_NOW(s->queues, s->n, s->level)[place] = v;
}

/* Whether a vertex is heavy and was put into the list. */
static inline int put_aside(search *s, const int v)
{
    if (s->room == 0 || s->first[v + 1] - s->first[v] < s->heavy)
        return 0;
    const int place = atomic_inc(HEAVY_NOW(s->state, s->level));
    if (place >= s->room)
        return 0;
    LIST_NOW(s->state, s->level, s->room)[place] = v;
    return 1;
}

/* Append what the work-items of the group have found to the frontier, and empty their queues. */
static inline void append(search *s)
{
    int dropped = 0, conflicts = 0;
    uint keep = without_duplicates(s->count, s->found, s->table, &dropped, &conflicts);
    for (int j = 0; j < s->count; j++)
        if (keep >> j & 1) {
            const int v = s->found[FOUND(j)];
#if !PYAPSP_AT_VISIT
            atomic_xchg(&s->levels[v], s->level);
#endif
#if PYAPSP_PREDECESSORS
            atomic_xchg(&s->parents[v], s->from[FOUND(j)]);
#endif
            keep &= ~((uint)put_aside(s, v) << j);
        }
#if PYAPSP_STATISTICS
    atomic_add(&s->told[3 * s->level + 1], dropped);
    atomic_add(&s->told[3 * s->level + 2], conflicts);
#endif
    volatile __global int *size = NEW_SIZE(s);
#if PYAPSP_GROUP == 1
    int place = keep ? atomic_add(size, (int)popcount(keep)) : 0;
    for (; keep; keep &= keep - 1)
        place_at(s, place++, s->found[FOUND(lowest(keep))]);
#elif PYAPSP_QUEUE == 1
    const int place = device_rank_unordered((int)keep, size, s->slots);
    if (keep)
        place_at(s, place, s->found[FOUND(0)]);
#else
    int place = device_scan_counts((int)popcount(keep), size, s->slots);
#if PYAPSP_COALESCE
    const int least = warp_min((int)popcount(keep), s->slots);
    const int base = warp_shuffle(place, 0, s->slots);
    const int rows = least < PYAPSP_COALESCE ? 0 : least;
    for (int row = 0; row < rows; keep &= keep - 1, row++)
        place_at(s, base + row * PYAPSP_WARP + WARP_LANE, s->found[FOUND(lowest(keep))]);
    place += rows * (PYAPSP_WARP - WARP_LANE);
#endif
    for (; keep; keep &= keep - 1)
        place_at(s, place++, s->found[FOUND(lowest(keep))]);
#endif
    s->count = 0;
}

/* Each `width` work-items share `degree` arcs of u from arc `from` on. */
static inline void expand(search *s, const int u, const int from, const int degree,
                          const int width, const int lane)
{
    const int steps = group_max((degree + width - 1) / width, s->slots);
    for (int step = 0; step < steps; step += PYAPSP_QUEUE) {
        const int end = min(step + PYAPSP_QUEUE, steps);
        for (int each = step; each < end; each++)
            if (each * width + lane < degree)
                visit(s, s->heads[from + each * width + lane], u);
        append(s);
    }
}

static inline int first_of(const search *s, const int u)
{
    return u < 0 ? 0 : (int)s->first[u];
}

static inline int degree_of(const search *s, const int u)
{
    return u < 0 ? 0 : (int)(s->first[u + 1] - s->first[u]);
}

/* A virtual warp of `width` work-items for u, which is the same in all of them; -1: none. */
static inline void by_virtual_warps(search *s, const int u, const int width)
{
    const int lane = GROUP_PLACE % width;
#if PYAPSP_STRIPS
    /* the vertices that the whole group expands, and then those of the virtual warps */
    __local int *strips = s->strips;
    const int degree = degree_of(s, u), aside = degree >= s->strip;
    int count;
    const int place = group_rank(aside && lane == 0, &count, s->slots);
    if (aside && lane == 0)
        strips[place] = u;
    group_sync();
    for (int each = 0; each <= count; each++) {
        const int own = each == count, v = own ? u : strips[each];
        expand(s, v, first_of(s, v), own && aside ? 0 : degree_of(s, v),
               own ? width : PYAPSP_GROUP, own ? lane : GROUP_PLACE);
    }
    group_sync();
#else
    expand(s, u, first_of(s, u), degree_of(s, u), width, lane);
#endif
}

/* A vertex u for each lane, -1: none; lanes get arcs. */
static inline void by_edges(search *s, const int u, const int extended)
{
    __local int *slots = s->slots;
    const int from = first_of(s, u), degree = degree_of(s, u);
    int total, done = 0;
    const int before = warp_scan(degree, &total, slots);
    int more = group_any(total > 0, slots);
    while (more) {
        const int mine = done + WARP_LANE, owner = warp_predecessor(before, mine, slots);
        const int skipped = warp_shuffle(from - before, owner, slots);
#if PYAPSP_PREDECESSORS
        const int tail = warp_shuffle(u, owner, slots);
#else
        const int tail = 0;
#endif
        if (mine < total)
            visit(s, s->heads[skipped + mine], tail);
        done += PYAPSP_WARP;
        /* what is left of the vertex of the last lane needs no search */
        const int last = warp_shuffle(owner, PYAPSP_WARP - 1, slots);
        const int end = warp_shuffle(before + degree, last, slots);
        const int skipped_last = warp_shuffle(from - before, last, slots);
        const int tail_last = warp_shuffle(tail, PYAPSP_WARP - 1, slots);
        if (extended)
            for (int j = 1; j < PYAPSP_QUEUE && done + PYAPSP_WARP <= end; j++) {
                visit(s, s->heads[skipped_last + done + WARP_LANE], tail_last);
                done += PYAPSP_WARP;
            }
        append(s);
        more = group_any(done < total, slots);
    }
}

#define SEARCH                                                                                     \
    __global const long *first, __global const int *heads, __global int *levels,                   \
        __global int *parents, __global int *queues, __global int *state, __global int *told,      \
        const int n, const int capacity, const int level, const int heavy, const int room,         \
        const int strip

#define FROM_SIZE (PYAPSP_PREDECESSORS ? PYAPSP_QUEUE * PYAPSP_GROUP : 1)

/* Declare the local memory and the structure of a search. */
#define OPEN(here, here_room)                                                                      \
    __local int slots[WARP_SLOTS], found[PYAPSP_QUEUE * PYAPSP_GROUP], from[FROM_SIZE];            \
    __local int strips[PYAPSP_STRIPS ? PYAPSP_GROUP : 1];                                          \
    __local entry table[TABLE_WORDS];                                                              \
    search s = {first, heads,  levels, parents, queues,    state, told,     slots,                 \
                found, from,   strips, table,   here,      here_room, n,  capacity,                \
                heavy, room,   strip,  level,   0 AND_SIZE(state, level)}

/* The counters of the level after this one. */
static inline void clear_next(__global int *state, const int level)
{
    if (get_group_id(0) == 0 && GROUP_PLACE == 0) {
        *SIZE_BEFORE(state, level) = 0;
        *HEAVY_BEFORE(state, level) = 0;
    }
}

/* The first part of a kernel that expands the queue of the last level. */
#define OPEN_QUEUE                                                                                 \
    OPEN(slots, 0);                                                                                \
    clear_next(state, level);                                                                      \
    __global const int *before = QUEUE_BEFORE(queues, n, level)

__kernel GROUP void bfs_4k_warps(SEARCH, const int size, const int width)
{
    OPEN_QUEUE;
    const int each = PYAPSP_GROUP / width, tiles = (size + each - 1) / each;
    for (int tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        const int place = tile * each + GROUP_PLACE / width;
        by_virtual_warps(&s, place < size ? before[place] : -1, width);
    }
}

__kernel GROUP void bfs_4k_shared(SEARCH, const int size)
{
    OPEN_QUEUE;
    const int tiles = (size + PYAPSP_GROUP - 1) / PYAPSP_GROUP;
    for (int tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        const int place = tile * PYAPSP_GROUP + GROUP_PLACE;
        const int u = place < size ? before[place] : -1;
        for (int lane = 0; lane < PYAPSP_WARP; lane++)
            by_virtual_warps(&s, warp_shuffle(u, lane, slots), PYAPSP_WARP);
    }
}

__kernel GROUP void bfs_4k_edges(SEARCH, const int size, const int extended)
{
    OPEN_QUEUE;
    const int tiles = (size + PYAPSP_GROUP - 1) / PYAPSP_GROUP;
    for (int tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        const int place = tile * PYAPSP_GROUP + GROUP_PLACE;
        by_edges(&s, place < size ? before[place] : -1, extended);
    }
}

/* The heavy vertices from..to of the list of the last level, `piece` arcs for a work-item. */
__kernel GROUP void bfs_4k_heavy(SEARCH, const int begin, const int end, const int piece)
{
    OPEN(slots, 0);
    clear_next(state, level);
    __global const int *list = LIST_BEFORE(state, level, room);
    for (int place = begin; place < end; place++) {
        const int u = list[place], start = first[u], degree = (int)(first[u + 1] - start);
        const int part = piece * PYAPSP_GROUP, parts = (degree - 1) / part + 1;
        for (int each = get_group_id(0); each < parts; each += get_num_groups(0))
            expand(&s, u, start + each * part, min(part, degree - each * part), PYAPSP_GROUP,
                   GROUP_PLACE);
    }
}

#if PYAPSP_TOGETHER
/* Sizes of frontiers are in a ring of three: one may still be read by a group that is late for the
 * next level, one is counted up, and one is cleared for the level after. The kernel ends when the
 * frontier is empty, small enough for one group, or longer than the queue. The first level is found
 * in any case. */
__kernel GROUP void bfs_4k_together(SEARCH, const int size, const int least_width,
                                    const int discover, const int extended, const int resident,
                                    const int limit)
{
    OPEN(slots, 0);
    int groups, count = size, turn = 0;
    const int mine = enter(state + ENTERED, get_num_groups(0), &groups, slots);
    int more = mine >= 0;
    while (more) {
        s.size = RING(state, s.level);
        if (mine == 0 && GROUP_PLACE == 0)
            put(RING(state, s.level + 1), 0);
        __global const int *before = QUEUE_BEFORE(queues, n, s.level);
        const int by_arcs = (long)count * discover < resident && discover > 0;
        int width = least_width;
        while (!PYAPSP_FIXED && 2 * width <= PYAPSP_WARP && count <= resident / (2 * width))
            width *= 2;
        const int each = by_arcs ? PYAPSP_GROUP : PYAPSP_GROUP / width;
        const int tiles = (count + each - 1) / each;
        for (int tile = by_arcs ? mine : tiles; tile < tiles; tile += groups) {
            const int place = tile * each + GROUP_PLACE;
            by_edges(&s, place < count ? before[place] : -1, extended);
        }
        for (int tile = by_arcs ? tiles : mine; tile < tiles; tile += groups) {
            const int place = tile * each + GROUP_PLACE / width;
            by_virtual_warps(&s, place < count ? before[place] : -1, width);
        }
        const int met = meet(state + ARRIVED, state + STALLED, groups, ++turn, mine, slots);
        count = look(RING(state, s.level));
        more = met && count > limit && count <= capacity;
#if PYAPSP_STATISTICS
        if (mine == 0 && GROUP_PLACE == 0)
            told[3 * s.level] = count;
#endif
        s.level++;
    }
    if (mine == 0 && GROUP_PLACE == 0) {
        state[2] = s.level;
        *SIZE_BEFORE(state, s.level) = count;
    }
}
#endif

/* The first part of a single-group kernel: copy the frontier to local memory. */
#define OPEN_SINGLE                                                                                \
    OPEN(both + limit, limit);                                                                     \
    __local int *here = both;                                                                      \
    int count = size + heavies;                                                                    \
    for (int place = GROUP_PLACE; place < count; place += PYAPSP_GROUP)                            \
        here[place] = place < size ? QUEUE_BEFORE(queues, n, level)[place]                         \
                                   : LIST_BEFORE(state, level, room)[place - size];                \
    s.room = 0;                                                                                    \
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

/* Clear the size of the new frontier. */
static inline void open_level(search *s)
{
#if PYAPSP_TOGETHER
    s->size = SIZE_NOW(s->state, s->level);
#endif
    if (GROUP_PLACE == 0)
        atomic_xchg(SIZE_NOW(s->state, s->level), 0);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}

/* Go on to the next level; return the size of the new frontier. */
static inline int close_level(search *s, __local int **here)
{
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int mine = GROUP_PLACE ? 0 : atomic_or(SIZE_NOW(s->state, s->level), 0);
    const int size = group_max(mine, s->slots);
    __local int *swapped = s->here;
    s->here = *here;
    *here = swapped;
#if PYAPSP_STATISTICS
    if (GROUP_PLACE == 0)
        s->told[3 * s->level] = size;
#endif
    s->level++;
    return size;
}

/* Copy the frontier of the last level to the queue, and heavy vertices to their list. */
static inline void close_single(search *s, __local const int *here, const int size, const int room)
{
    s->level--;
    s->room = room;
    if (GROUP_PLACE == 0) {
        *SIZE_BEFORE(s->state, s->level) = 0;
        atomic_xchg(HEAVY_NOW(s->state, s->level), 0);
        *HEAVY_BEFORE(s->state, s->level) = 0;
        s->state[2] = s->level + 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int held = min(min(size, s->here_room), s->capacity);
    for (int place = GROUP_PLACE; place < held; place += PYAPSP_GROUP)
        QUEUE_NOW(s->queues, s->n, s->level)[place] = put_aside(s, here[place]) ? -1 : here[place];
}

/* `both` has 2 * limit ints. The kernel ends when the frontier is empty or has more than `limit`
 * vertices; those that `both` has no room for are in the queue at once. */
__kernel GROUP void bfs_4k_single_warps(SEARCH, const int size, const int heavies,
                                        const int least_width, const int limit, __local int *both)
{
    OPEN_SINGLE;
    while (count > 0 && count <= limit) {
        open_level(&s);
        int width = least_width;
        while (!PYAPSP_FIXED && 2 * width <= PYAPSP_WARP && 2 * width * count <= PYAPSP_GROUP)
            width *= 2;
        const int each = PYAPSP_GROUP / width, tiles = (count + each - 1) / each;
        for (int tile = 0; tile < tiles; tile++) {
            const int place = tile * each + GROUP_PLACE / width;
            by_virtual_warps(&s, place < count ? here[place] : -1, width);
        }
        count = close_level(&s, &here);
    }
    close_single(&s, here, count, room);
}

__kernel GROUP void bfs_4k_single_edges(SEARCH, const int size, const int heavies,
                                        const int extended, const int limit, __local int *both)
{
    OPEN_SINGLE;
    while (count > 0 && count <= limit) {
        open_level(&s);
        const int tiles = (count + PYAPSP_GROUP - 1) / PYAPSP_GROUP;
        for (int tile = 0; tile < tiles; tile++) {
            const int place = tile * PYAPSP_GROUP + GROUP_PLACE;
            by_edges(&s, place < count ? here[place] : -1, extended);
        }
        count = close_level(&s, &here);
    }
    close_single(&s, here, count, room);
}

/* Make the frontier of a level again, without duplicates, after they did not fit the queue. A
 * work-item for each vertex. */
__kernel GROUP void bfs_4k_collect(__global const int *levels, __global int *queues,
                                   __global int *state, const int n, const int level)
{
    const size_t v = get_global_id(0);
    if (v < (size_t)n && levels[v] == level)
        QUEUE_NOW(queues, n, level)[atomic_inc(SIZE_NOW(state, level))] = v;
}
