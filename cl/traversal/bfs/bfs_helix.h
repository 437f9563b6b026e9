/* The state of Helix, and the steps that all its kernels share: status lookup, removal of
 * duplicates, frontier update, the first frontier, and a frontier made from the levels.
 *
 * `state` has ints, and STATE(x, level) is a ring of RING of them:
 *
 *     STOP       the first level in which a list was too short; NEVER if all had room
 *     STALLED    1: a group waited for the others for too long (common/meeting.h)
 *     REACHED    the level after the last one of a launch that runs several
 *     ENTERED    groups that take part in such a launch, and whether the number is final
 *     ARRIVED    how often groups have come to a barrier of the device
 *     SIZES      ring: vertices (edge queue: entries) found at a level
 *     ARCS       ring: entries of the edge queue between the two phases
 *     BINS       for even and odd levels: vertices in each bin
 *
 * A list that is too short keeps counting, and loses what does not fit. STOP becomes that level;
 * later launches that are already enqueued do nothing. The host then makes the frontier again from
 * the levels (helix_collect), where a vertex is once, so everything fits.
 *
 * The *plain* lookup reads the level and then writes it, so two work-items may both find a vertex.
 * Both write the same level. It is then twice in the frontier, which costs time only. Reads and
 * writes are relaxed atomics, those of common/counters.h.
 *
 * The bitmask has a bit for each visited vertex. A cell is the unit that is read and written:
 *
 *     PYAPSP_MASK   cell                              two work-items set bits of a cell at once
 *     8             8 bits, each in an int of its own  one bit may be lost
 *     32            32 bits, an int                    one bit may be lost
 *     1             32 bits, an int                    no bit is lost: atomic_or
 *
 * A lost bit costs a lookup of the level. OpenCL has no 8-bit atomics, so a cell of 8 bits takes an
 * int: there are as few collisions as with bytes, in four times their memory.
 *
 *     macro                default     meaning
 *     PYAPSP_CSRM          1           1: rows has (start, end) of each vertex, 0: starts only
 *     PYAPSP_CAS           0           1: the lookup is one compare-and-exchange, so a vertex is
 *                                      found once
 *     PYAPSP_MASK          0           0: no bitmask; 8, 32, 1: see above
 *     PYAPSP_HASH          0           work-items that look for duplicates together: 0 (none),
 *                                      PYAPSP_WARP or PYAPSP_GROUP
 *     PYAPSP_HASH_LOADED   1           1: duplicates are removed from what is loaded of a list, 0:
 *                                      from what a lookup finds
 *     PYAPSP_ORDERED       1           1: a group claims room in a list with one atomic operation,
 *                                      0: each warp with its own, so that warps need not wait for
 *                                      each other (APART)
 *     PYAPSP_LOCAL         0           1: found vertices wait in queues of work-items until one of
 *                                      the group is nearly full
 *     PYAPSP_TURNS         8           arcs that a work-item looks at between two looks at queues
 *     PYAPSP_SHORT         0           for tests: the number of entries that fit in a list; 0: no
 *                                      limit
 *
 * and those of common/logical_warp.h and traversal/bfs/results.h.
 */
#ifndef TRAVERSAL_BFS_HELIX_H
#define TRAVERSAL_BFS_HELIX_H
#include "traversal/bfs/results.h"
#ifndef PYAPSP_CSRM
#define PYAPSP_CSRM 1
#endif
#ifndef PYAPSP_CAS
#define PYAPSP_CAS 0
#endif
#ifndef PYAPSP_MASK
#define PYAPSP_MASK 0
#endif
#ifndef PYAPSP_HASH
#define PYAPSP_HASH 0
#endif
#ifndef PYAPSP_HASH_LOADED
#define PYAPSP_HASH_LOADED 1
#endif
#ifndef PYAPSP_ORDERED
#define PYAPSP_ORDERED 1
#endif
#ifndef PYAPSP_LOCAL
#define PYAPSP_LOCAL 0
#endif
#ifndef PYAPSP_TURNS
#define PYAPSP_TURNS 8
#endif
#ifndef PYAPSP_SHORT
#define PYAPSP_SHORT 0
#endif

#include "common/counters.h"
#include "common/logical_warp.h"

#define NEVER INT_MAX

#define RING 64
#define STOP 0
#define STALLED 1
#define REACHED 2
#define ENTERED 3
#define ARRIVED 4
#define SIZES 64
#define ARCS 128
#define BINS 192
#define MOST_BINS 32
#define STATE_SIZE (BINS + 2 * MOST_BINS)
#define AT(ring, level) ((ring) + (level) % RING)
/* Entries that fit in a list with room for `capacity`; `whole`: it is made again. */
#define FITTING(capacity, whole) (PYAPSP_SHORT && !(whole) ? PYAPSP_SHORT : (capacity))

#if PYAPSP_CSRM
typedef int2 row_t;
#else
typedef int row_t;
#endif

/* Arcs of a work-item between two looks at the queues, and the room of each. The longer they are, the
 * fewer updates: those of groups take local memory from other groups. */
#if PYAPSP_LOCAL
#define TURNS PYAPSP_TURNS
#else
#define TURNS 1
#endif
#if PYAPSP_LOCAL
#define KEPT ((PYAPSP_GROUP == 1 ? 8 : 2) * TURNS)
#else
#define KEPT TURNS
#endif

/* Two entries for each work-item. */
#define TABLE (2 * PYAPSP_HASH)

/* Whether warps look at arcs apart from each other, each as often as it needs to: nothing between two
 * looks, such as a claim of room, is done by the group together. */
#define APART (WARPS_APART && !PYAPSP_ORDERED && (PYAPSP_HASH_LOADED || PYAPSP_HASH <= PYAPSP_WARP))

/* The turns of a loop that looks at arcs. */
#if APART
#define look_turns warp_turns
#else
#define look_turns group_max
#endif

/* The local memory of the steps of this file. */
typedef struct {
    int slots[WARP_SLOTS];
#if PYAPSP_HASH
    int table[2 * PYAPSP_GROUP];
    int shown[PYAPSP_GROUP];
#endif
    int kept[KEPT * PYAPSP_GROUP];
#if PYAPSP_PREDECESSORS
    int before[KEPT * PYAPSP_GROUP];
#endif
} shared_t;

/* A list of vertices, each with the vertex from which it was found if that is needed. */
typedef struct {
    __global int *found;
    __global int *before;
    int capacity;
} list_t;

/* What a search has found. */
typedef struct {
    __global int *levels;
    __global int *parents;
    __global int *mask;
} search_t;

static inline int2 row_of(__global const row_t *rows, const int v)
{
#if PYAPSP_CSRM
    return rows[v];
#else
    return (int2)(rows[v], rows[v + 1]);
#endif
}

/* The number of entries of a ring at `level - 1`, which a launch for `level` works on: 0 if a list
 * was too short at an earlier level. */
static inline int waiting(counters_t state, const int ring, const int level)
{
    return look(state + STOP) < level ? 0 : look(state + AT(ring, level - 1));
}

/* Give v the level, unless it has one. Return whether it had none. */
static inline int visit(const int v, const int u, const int level, const search_t search)
{
#if PYAPSP_MASK
    const int bits = PYAPSP_MASK == 8 ? 8 : 32;
    const counters_t cell = search.mask + v / bits;
    const int bit = (int)(1u << v % bits);
    const int seen = look(cell);
    if (seen & bit)
        return 0;
#if PYAPSP_MASK == 1
    atomic_or(cell, bit);
#else
    put(cell, seen | bit);
#endif
#endif
#if PYAPSP_CAS
    if (atomic_cmpxchg((counters_t)search.levels + v, INFINITE, level) != INFINITE)
        return 0;
#else
    if (look(search.levels + v) != INFINITE)
        return 0;
    put(search.levels + v, level);
#endif
#if PYAPSP_PREDECESSORS
    put(search.parents + v, u);
#endif
    return 1;
}

/* Writes to a table are seen by all who use it. */
static inline void table_sync(void)
{
#if PYAPSP_HASH <= PYAPSP_WARP
    warp_sync();
#else
    group_sync();
#endif
}

/* Whether another work-item of the warp or group holds the same v >= 0, and keeps it. Called by the
 * whole warp or group. Entries of the table are not cleared: one that is read was written in this
 * round. A vertex whose entry was taken by another vertex tries once more, in another place. */
static inline int is_duplicate(int v, __local shared_t *shared)
{
#if PYAPSP_HASH
    const int place = GROUP_PLACE, first = place / PYAPSP_HASH * TABLE;
    int dropped = 0;
    for (int round = 0; round < 2; round++) {
        const uint mixed = (uint)v * (round ? 2246822519u : 2654435761u);
        const int entry = first + (int)((mixed >> 15) % TABLE);
        if (v >= 0) {
            shared->shown[place] = v;
            atomic_xchg(&shared->table[entry], place);
        }
        table_sync();
        const int owner = v >= 0 ? shared->table[entry] : place;
        const int drop = owner != place && shared->shown[owner] == v;
        table_sync();
        dropped |= drop;
        v = drop ? -1 : v;
    }
    return dropped;
#else
    return 0;
#endif
}

/* Look v up, which was found from u: v, or -1 if it had a level or is held by another work-item. Called
 * by the whole group, or warp if APART. */
static inline int found_once(const int v, const int u, const int level, const search_t search,
                             __local shared_t *shared)
{
    const int found = v >= 0 && visit(v, u, level, search) ? v : -1;
#if PYAPSP_HASH_LOADED
    return found;
#else
    return is_duplicate(found, shared) ? -1 : found;
#endif
}

/* The sum of the counts of earlier work-items, and the total. Without PYAPSP_LOCAL, a work-item has at
 * most one entry. */
#if PYAPSP_LOCAL
#define GROUP_BEFORE group_scan
#define WARP_BEFORE warp_scan
#else
#define GROUP_BEFORE group_rank
#define WARP_BEFORE warp_rank
#endif

/* Room for `count` entries of this work-item in a list. Called by the whole group, or warp if APART. */
static inline int claim(const int count, counters_t size, __local int *slots)
{
    int total;
#if PYAPSP_GROUP == 1
    return count ? atomic_add(size, count) : 0;
#elif PYAPSP_ORDERED
    const int before = GROUP_BEFORE(count, &total, slots);
    int base = 0;
    if (GROUP_PLACE == 0)
        slots[0] = total ? atomic_add(size, total) : 0;
    group_sync();
    base = slots[0];
    group_sync();
    return base + before;
#else
    const int before = WARP_BEFORE(count, &total, slots);
    int base = 0;
    if (WARP_LANE == 0 && total)
        base = atomic_add(size, total);
    return warp_shuffle(base, 0, slots) + before;
#endif
}

/* Put v into the queue of this work-item. */
static inline int keep(const int v, const int u, const int waits, __local shared_t *shared)
{
    const int at = waits * PYAPSP_GROUP + GROUP_PLACE;
    shared->kept[at] = v;
#if PYAPSP_PREDECESSORS
    shared->before[at] = u;
#endif
    return waits + 1;
}

/* Move the queues of the group, or warp if APART, into a list. Called by all its work-items. */
static inline void update(const int waits, const list_t list, counters_t size, counters_t state,
                          const int level, __local shared_t *shared)
{
    const int base = claim(waits, size, shared->slots);
    for (int i = 0; i < waits; i++) {
        const int to = base + i, at = i * PYAPSP_GROUP + GROUP_PLACE;
        if (to >= list.capacity)
            continue;
        list.found[to] = shared->kept[at];
#if PYAPSP_PREDECESSORS
        if (list.before)
            list.before[to] = shared->before[at];
#endif
    }
    if (waits && base + waits > list.capacity)
        atomic_min(state + STOP, level);
}

/* The same where that is due: when a queue may be too short for the next turns. Return what waits. */
static inline int update_full(const int waits, const list_t list, counters_t size,
                              counters_t state, const int level, __local shared_t *shared)
{
#if PYAPSP_LOCAL
    if (look_turns(waits, shared->slots) <= KEPT - TURNS)
        return waits;
#endif
    update(waits, list, size, state, level, shared);
    return 0;
}

/* A work-item for each vertex. The frontier of level 0 is the source. */
__kernel GROUP void helix_start(__global int *levels, __global int *parents, __global int *mask,
                                __global int *lists, __global int *state, const int source,
                                const int n, const int cells)
{
    const int step = get_global_size(0);
    for (int v = get_global_id(0); v < n; v += step)
        clear_result(levels, parents, v, source);
#if PYAPSP_MASK
    const int bits = PYAPSP_MASK == 8 ? 8 : 32;
    for (int i = get_global_id(0); i < cells; i += step)
        mask[i] = i == source / bits ? (int)(1u << source % bits) : 0;
#endif
    for (int i = get_global_id(0); i < STATE_SIZE; i += step)
        state[i] = i == STOP ? NEVER : i == AT(SIZES, 0);
    if (get_global_id(0) == 0)
        lists[0] = source;
}

/* Write the vertices of a level to lists[first ...]. The size of the level is 0 before. */
__kernel GROUP void helix_collect(__global const int *levels, __global int *lists,
                                  __global int *state, const int level, const int n,
                                  const long first)
{
    __local shared_t shared;
    const int tiles = (n - 1) / PYAPSP_GROUP + 1;
    for (int tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        const int v = tile * PYAPSP_GROUP + GROUP_PLACE;
        const int found = v < n && levels[v] == level;
        const int at = claim(found, state + AT(SIZES, level), shared.slots);
        if (found)
            lists[first + at] = v;
    }
}

#endif /* TRAVERSAL_BFS_HELIX_H */
