/* bfs_helix: breadth-first search over a list of vertices or arcs, with many forms of each step.
 *
 * Purpose   Levels, where every arc has length 1. A launch expands the frontier of one level. All
 *           forms share one skeleton, and macros choose the form of each step:
 *
 *             a tile of the frontier      the edge queue looks up its entries here
 *             duplicates of the tile      removed by a hash table, or not
 *             vertices with many arcs     moved to bins for other launches, or to lists for the
 *                                         whole group or the whole warp
 *             balance                     gives each work-item the index of an arc, or none
 *             its head                    is looked up, or with an edge queue only kept
 *             update                      moves found vertices to the next frontier
 *
 * Layout    The graph: heads[start .. end) are the neighbours of v, rows[v] its (start, end), or with
 *           PYAPSP_CSRM 0 start = rows[v], end = rows[v + 1]. `lists` has two frontiers for even and
 *           odd levels, `capacity` ints each; `arcs` the edge queue of the two-phase form. With
 *           PYAPSP_PREDECESSORS edge queues have a second array, the tails. State: bfs_helix.h.
 *
 *           Balance, for a warp or group of 4 work-items and vertices with 1, 5, 0 and 2 arcs:
 *
 *             node, 4 a vertex        node, shuffle           scan, search
 *             a . . .                 a . . .                 a b b b
 *             b b b b   b . . .       b b b b   b . . .       b b d d
 *             a tile is 1 vertex      a tile is 4 vertices    indices in local memory, in order
 *
 *           scan: a work-item writes the indices of its own arcs. search: it writes as many as the
 *           others, and finds where they start by a search in the prefix sums. naive: it searches
 *           for each arc and writes no indices.
 *
 *           Vertices with at least 2^BASE arcs are in bin i if they have 2^(BASE + i) or more, and
 *           helix_bins has 2^(BASE + i) work-items for each. So a work-item has at most two arcs,
 *           except in the last bin, which has no upper limit. In place of dynamic parallelism there
 *           is one bin, and a launch for each of its vertices.
 *
 * Parameters  those of bfs_helix.h and common/meeting.h, and
 *             PYAPSP_BALANCE  0  0: node, 1: node with shuffle, 2: scan, 3: search, 4: naive
 *             PYAPSP_TEAM     1  work-items that share arcs: of a vertex (0, 1), or PYAPSP_WARP or
 *                                PYAPSP_GROUP (2, 3, 4)
 *             PYAPSP_GATHER   0  1: the warp takes vertices with more arcs than it has lanes, 2: the
 *                                group those with more arcs than it has work-items, 3: both
 *             PYAPSP_NBINS    0  number of bins; 0: none
 *             PYAPSP_BASE    10  with bins: see above; 2^BASE is at least PYAPSP_GROUP
 *             PYAPSP_QUEUE    0  0: vertices, 1: arcs, 2: both in turns (helix_contract)
 *             PYAPSP_LEVELS   0  0: a launch is a level, 1: several, by one group, 2: by groups that
 *                                wait for each other
 *             PYAPSP_SLOTS    8  scan, search: indices of a work-item in local memory
 *
 * Cost      O(n + m) in all, a launch for each level or fewer. Vertex queue: 2 n accesses to queues,
 *           edge queue: 2 m, two-phase: 2 n + 2 m. An update is one atomic operation a warp or
 *           group. Each kernel contains the update once, with queues of work-items also at its end:
 *           compilers need much time for its barriers.
 *
 * Source    F. Busato, High-Performance and Power-Aware Graph Processing on GPUs, thesis, Verona
 *           2018, chapter 7, https://iris.univr.it/handle/11562/979445. Ours: widths other than 32,
 *           relaxed atomics where it has races, one skeleton for all, and the groups that meet.
 */
#ifndef PYAPSP_BALANCE
#define PYAPSP_BALANCE 0
#endif
#ifndef PYAPSP_TEAM
#define PYAPSP_TEAM 1
#endif
#ifndef PYAPSP_GATHER
#define PYAPSP_GATHER 0
#endif
#ifndef PYAPSP_NBINS
#define PYAPSP_NBINS 0
#endif
#ifndef PYAPSP_BASE
#define PYAPSP_BASE 10
#endif
#ifndef PYAPSP_QUEUE
#define PYAPSP_QUEUE 0
#endif
#ifndef PYAPSP_LEVELS
#define PYAPSP_LEVELS 0
#endif
#ifndef PYAPSP_SLOTS
#define PYAPSP_SLOTS 8
#endif

#include "traversal/bfs/bfs_helix.h"
#include "common/meeting.h"
#include "traversal/bfs/bfs_helix_expand.h"

/* The two halves of `lists`, one for even and one for odd levels. `whole` is 1 in a launch that makes
 * a list again. */
static inline list_t list_of(__global int *lists, const int level, const int capacity,
                             const int whole)
{
    list_t list;
    list.capacity = FITTING(capacity, whole);
#if PYAPSP_QUEUE == EDGES
    const size_t width = PYAPSP_PREDECESSORS ? 2 * (size_t)capacity : capacity;
    list.found = lists + level % 2 * width;
    list.before = list.found + capacity;
#elif PYAPSP_QUEUE == PHASES
    list.found = lists;
    list.before = 0;
#else
    list.found = lists + level % 2 * (size_t)capacity;
    list.before = 0;
#endif
    return list;
}

#if PYAPSP_QUEUE == PHASES
static inline list_t arcs_of(__global int *arcs, const int capacity, const int whole)
{
    list_t list;
    list.capacity = FITTING(capacity, whole);
    list.found = arcs;
    list.before = arcs + capacity;
    return list;
}
#endif

/* Find the vertices of `level`, and with PYAPSP_LEVELS of the next ones: at most `levels_ahead`,
 * while there are at most `limit` vertices. With an edge queue: look up those of the last level, and
 * list their neighbours; `seeded` means that the list has vertices that are looked up already. */
__kernel GROUP void helix_level(__global const row_t *rows, __global const int *heads,
                                __global int *levels, __global int *parents, __global int *mask,
                                __global int *lists, __global int *arcs, __global int *bins,
                                __global int *state, const int level, const int seeded,
                                const int capacity, const int room, const int levels_ahead,
                                const int limit, const long m)
{
    __local tile_t tile;
    const search_t search = {levels, parents, mask};
    int groups = get_num_groups(0), mine = get_group_id(0), now = level;
#if PYAPSP_LEVELS == 2
    mine = enter(state + ENTERED, groups, &groups, tile.common.slots);
#endif
#if PYAPSP_LEVELS
    const int last = mine < 0 ? level : level + levels_ahead;
    for (; now < last; now++)
#endif
    {
        const int count = waiting(state, SIZES, now);
#if PYAPSP_LEVELS
        if (count == 0 || count > limit)
            break;
#endif
        if (mine == 0 && GROUP_PLACE == 0) {
            put(state + AT(SIZES, now + 1), 0);
            put(state + AT(ARCS, now + 1), 0);
        }
#if PYAPSP_NBINS
        if (mine == 0 && GROUP_PLACE == 0)
            for (int bin = 0; bin < PYAPSP_NBINS; bin++)
                put(state + BINS + (now + 1) % 2 * MOST_BINS + bin, 0);
#endif
#if PYAPSP_QUEUE == PHASES
        const list_t to = arcs_of(arcs, room, seeded && now == level);
        const counters_t size = state + AT(ARCS, now);
#else
        const list_t to = list_of(lists, now, capacity, seeded && now == level);
        const counters_t size = state + AT(SIZES, now);
#endif
        expand(rows, heads, search, list_of(lists, now - 1, capacity, 1), to, bins, state, size, count,
               now, seeded && now == level, levels_ahead == 1, m, mine, groups, &tile);
#if PYAPSP_LEVELS == 1
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
#elif PYAPSP_LEVELS == 2
        const int turn = now - level + 1;
        if (!meet(state + ARRIVED, state + STALLED, groups, turn, mine, tile.common.slots))
            break;
#endif
    }
#if PYAPSP_LEVELS
    if (mine == 0 && GROUP_PLACE == 0)
        put(state + REACHED, now);
#endif
}

#if PYAPSP_NBINS
/* The arcs of the vertices in bins [low, high), or only of the vertex number `only` of a bin, unless
 * that is negative: for this the whole launch. `whole` as in list_of. */
__kernel GROUP void helix_bins(__global const row_t *rows, __global const int *heads,
                               __global int *levels, __global int *parents, __global int *mask,
                               __global int *lists, __global int *arcs,
                               __global const int *bins, __global int *state, const int level,
                               const int capacity, const int room, const int low, const int high,
                               const int only, const int whole, const long m)
{
    __local shared_t shared;
    const search_t search = {levels, parents, mask};
#if PYAPSP_QUEUE == PHASES
    const list_t to = arcs_of(arcs, room, whole);
    const counters_t size = state + AT(ARCS, level);
#else
    const list_t to = list_of(lists, level, capacity, whole);
    const counters_t size = state + AT(SIZES, level);
#endif
    const int stopped = look(state + STOP) < level;
    int waits = 0;
    for (int bin = low; bin < high; bin++) {
        const int found = look(state + BINS + level % 2 * MOST_BINS + bin);
        const int parts = only < 0 ? max((1 << (PYAPSP_BASE + bin)) / PYAPSP_GROUP, 1)
                                   : (int)get_num_groups(0);
        const int vertices = only < 0 ? min(found, FITTING(room_of(bin, m), whole)) : 1;
        const long tasks = stopped ? 0 : (long)vertices * parts;
        for (long task = get_group_id(0); task < tasks; task += get_num_groups(0)) {
            const int v = bins[bin_at(bin, m) + max(only, 0) + task / parts];
            const int2 row = row_of(rows, v);
            const int part = (int)(task % parts), team = parts * PYAPSP_GROUP;
            const int turns = steps_for(row.y - row.x - part * PYAPSP_GROUP, team);
            for (int done = 0; done < turns; done += TURNS) {
                const int until = min(done + TURNS, turns);
                for (int turn = done; turn < until; turn++) {
                    const int arc =
                        row.x + turn * team + part * PYAPSP_GROUP + GROUP_PLACE;
                    int w = arc < row.y ? heads[arc] : -1;
#if PYAPSP_QUEUE == VERTICES
                    w = found_once(w, v, level, search, &shared);
#endif
                    if (w >= 0)
                        waits = keep(w, v, waits, &shared);
                }
                waits = update_full(waits, to, size, state, level, &shared);
            }
        }
    }
#if PYAPSP_LOCAL
    update(waits, to, size, state, level, &shared);
#endif
}
#endif

#if PYAPSP_QUEUE == PHASES
/* The second phase of the two-phase form: look up the entries of the edge queue. `whole` as in
 * list_of. */
__kernel GROUP void helix_contract(__global int *levels, __global int *parents, __global int *mask,
                                   __global int *lists, __global const int *arcs,
                                   __global int *state, const int level, const int capacity,
                                   const int room, const int whole)
{
    __local shared_t shared;
    const search_t search = {levels, parents, mask};
    const list_t to = list_of(lists, level, capacity, whole);
    const int there = min(look(state + AT(ARCS, level)), FITTING(room, whole));
    const int count = look(state + STOP) < level ? 0 : there;
    const int tile = PYAPSP_GROUP * TURNS, tiles = steps_for(count, tile);
    int waits = 0;
    for (int number = get_group_id(0); number < tiles; number += get_num_groups(0)) {
        for (int turn = 0; turn < TURNS; turn++) {
            const int at = number * tile + turn * PYAPSP_GROUP + GROUP_PLACE;
            int w = at < count ? arcs[at] : -1, v = NO_PREDECESSOR;
#if PYAPSP_PREDECESSORS
            if (w >= 0)
                v = arcs[room + at];
#endif
            w = found_once(w, v, level, search, &shared);
            if (w >= 0)
                waits = keep(w, v, waits, &shared);
        }
        waits = update_full(waits, to, state + AT(SIZES, level), state, level, &shared);
    }
#if PYAPSP_LOCAL
    update(waits, to, state + AT(SIZES, level), state, level, &shared);
#endif
}
#endif
