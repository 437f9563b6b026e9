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
 *           helix_bins has 2^(BASE + i) work-items for each. So nobody has more than two arcs,
 *           except in the last bin, which has no upper limit.
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
 *             PYAPSP_SHORT    0  for tests: lists have room for so many entries; 0: all the room
 *
 * Cost      O(n + m) in all, a launch for each level or fewer. Vertex queue: 2 n accesses to queues,
 *           edge queue: 2 m, two-phase: 2 n + 2 m. An update is one atomic operation a warp or
 *           group. The update is compiled once in each kernel, because its barriers are what takes
 *           compilers long.
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
#ifndef PYAPSP_SHORT
#define PYAPSP_SHORT 0
#endif

#include "traversal/bfs_helix.h"
#include "common/meeting.h"

#define VERTICES 0
#define EDGES 1
#define PHASES 2
#define SHUFFLED (PYAPSP_BALANCE == 1)
/* Balances that number the arcs of a team through. */
#define FLAT (PYAPSP_BALANCE >= 2)
#define STORED (PYAPSP_BALANCE == 2 || PYAPSP_BALANCE == 3)
#define BY_GROUP (PYAPSP_GATHER & 2)
#define BY_WARP (PYAPSP_GATHER & 1)
/* Where the arcs of a vertex are processed. */
#define GROUP_STEP 0
#define WARP_STEP 1
#define TEAM_STEP 2
#define NOWHERE 3
#define STEPS (1 + (BY_GROUP != 0) + (BY_WARP != 0))
#if BY_GROUP
#define STEP(number) ((number) == STEPS - 1 ? TEAM_STEP : (number) == 0 ? GROUP_STEP : WARP_STEP)
#else
#define STEP(number) ((number) == STEPS - 1 ? TEAM_STEP : WARP_STEP)
#endif
/* Vertices of a tile. */
#if PYAPSP_BALANCE == 0
#define TILE (PYAPSP_GROUP / PYAPSP_TEAM)
#else
#define TILE PYAPSP_GROUP
#endif

typedef struct {
    shared_t common;
    /* The vertices that a team shares, or that wait for a step. */
    int start[PYAPSP_GROUP], end[PYAPSP_GROUP];
    int vertex[PYAPSP_GROUP];
#if FLAT
    int sum[PYAPSP_GROUP];    /* arcs of the team before those of this work-item */
    int first[WARPS];         /* of the first work-item of a warp */
#endif
#if STORED
    int arc[PYAPSP_SLOTS * PYAPSP_GROUP];
#if PYAPSP_PREDECESSORS
    int tail[PYAPSP_SLOTS * PYAPSP_GROUP];
#endif
#endif
} tile_t;

/* Bins one after the other; a bin has room for as many vertices as can have so many arcs. */
static inline int room_of(const int bin, const long m)
{
    return (int)(m >> (PYAPSP_BASE + bin)) + 1;
}

static inline size_t bin_at(const int bin, const long m)
{
    size_t at = 0;
    for (int i = 0; i < bin; i++)
        at += room_of(i, m);
    return at;
}

static inline int bin_of(const int arcs)
{
    const int bin = 31 - clz(arcs) - PYAPSP_BASE;
    return min(bin, PYAPSP_NBINS - 1);
}

static inline int steps_for(const int arcs, const int team)
{
    return arcs > 0 ? (arcs - 1) / team + 1 : 0;
}

#if FLAT
/* The work-item of the team in whose arcs `key` is, by place in the group. */
static inline int owner_of(const int key, const int first, __local const tile_t *tile)
{
    int warp = first / PYAPSP_WARP;
#if PYAPSP_TEAM > PYAPSP_WARP
    /* Warps may be in any order: take the one with the largest first sum up to the key. Of equal
     * ones, only the one with arcs has a last sum above the key. */
    int best = -1;
    for (int i = 0; i < WARPS; i++) {
        const int last = i * PYAPSP_WARP + PYAPSP_WARP - 1;
        const int end = tile->sum[last] + tile->end[last] - tile->start[last];
        if (tile->first[i] <= key && key < end)
            best = i;
    }
    warp = max(best, 0);
#endif
    const int at = warp * PYAPSP_WARP;
    return at + predecessor_local(tile->sum + at, PYAPSP_WARP, key);
}
#endif

/* One level: the tiles of group `group` of `groups`. */
static inline void expand(__global const row_t *rows, __global const int *heads,
                          const search_t search, const list_t from, const list_t to,
                          __global int *bins, counters_t state, counters_t size, const int count,
                          const int level, const int seeded, const int binned, const long m,
                          const int group, const int groups, __local tile_t *tile)
{
    __local shared_t *shared = &tile->common;
    __local int *slots = shared->slots;
    const int place = GROUP_PLACE, lane = WARP_LANE;
    const int tiles = count > 0 ? (count - 1) / TILE + 1 : 0;
    int waits = 0;
    for (int number = group; number < tiles; number += groups) {
#if PYAPSP_BALANCE == 0
        const int leads = place % PYAPSP_TEAM == 0, at = number * TILE + place / PYAPSP_TEAM;
#else
        const int leads = 1, at = number * TILE + place;
#endif
        int v = leads && at < count ? from.found[at] : -1;
#if PYAPSP_QUEUE == EDGES
        int u = NO_PREDECESSOR;
#if PYAPSP_PREDECESSORS
        if (v >= 0 && !seeded)
            u = from.before[at];
#endif
        if (v >= 0 && !seeded && !visit(v, u, level - 1, search))
            v = -1;
#endif
#if PYAPSP_HASH && PYAPSP_HASH_LOADED
        if (is_duplicate(v, shared))
            v = -1;
#endif
        int2 row = 0;
        if (v >= 0)
            row = row_of(rows, v);
        const int arcs = row.y - row.x;
        int where = v >= 0 && arcs > 0 ? TEAM_STEP : NOWHERE;
#if PYAPSP_NBINS
        if (binned && arcs >> PYAPSP_BASE) {
            const int bin = bin_of(arcs);
            const int entry = atomic_inc(state + BINS + level % 2 * MOST_BINS + bin);
            if (entry < room_of(bin, m))
                bins[bin_at(bin, m) + entry] = v;
            else
                atomic_min(state + STOP, level);
            where = NOWHERE;
        }
#endif
        int listed = place, of_group = 0, of_warp = 0;
#if BY_GROUP
        if (where == TEAM_STEP && arcs > PYAPSP_GROUP)
            where = GROUP_STEP;
#if PYAPSP_ORDERED
        const int rank_in_group = group_rank(where == GROUP_STEP, &of_group, slots);
#else
        const int rank_in_group = group_rank_unordered(where == GROUP_STEP, &of_group, slots);
#endif
        listed = where == GROUP_STEP ? rank_in_group : listed;
#endif
#if BY_WARP
        if (where == TEAM_STEP && arcs > PYAPSP_WARP)
            where = WARP_STEP;
        const int rank_in_warp = warp_rank(where == WARP_STEP, &of_warp, slots);
        listed = where == WARP_STEP ? WARP_FIRST + rank_in_warp : listed;
#endif
#if FLAT
        const int mine = where == TEAM_STEP ? arcs : 0;
        int total;
#if PYAPSP_TEAM == PYAPSP_WARP
        const int sum = warp_scan(mine, &total, slots);
#elif PYAPSP_ORDERED
        const int sum = group_scan(mine, &total, slots);
#else
        const int sum = group_scan_unordered(mine, &total, slots);
#endif
#endif
        for (int step_number = 0; step_number < STEPS; step_number++) {
            const int step = STEP(step_number);
            const int team = step == GROUP_STEP ? PYAPSP_GROUP
                             : step == WARP_STEP ? PYAPSP_WARP
                                                 : PYAPSP_TEAM;
            const int first = place / team * team, rank = place % team;
            const int items = step == GROUP_STEP ? of_group : step == WARP_STEP ? of_warp : 1;
            const int flat = FLAT & (step == TEAM_STEP), shuffled = SHUFFLED & (step == TEAM_STEP);
            if (where == step || (step == TEAM_STEP && leads)) {
                const int here = where == step, to_place = step == TEAM_STEP ? place : listed;
                tile->start[to_place] = here ? row.x : 0;
                tile->end[to_place] = here ? row.y : 0;
                tile->vertex[to_place] = v;
            }
#if FLAT
            tile->sum[place] = sum;
            if (lane == 0)
                tile->first[WARP_NUMBER] = sum;
#endif
            group_sync();
            int longest = 0;
#if FLAT
            if (flat)
                longest = total;
#endif
            if (!flat && !shuffled && rank == 0)
                for (int i = 0; i < items; i++)
                    longest += steps_for(tile->end[first + i] - tile->start[first + i], team);
            longest = group_max(longest, slots);
            const int batch = team * PYAPSP_SLOTS;
            const int batches = shuffled ? PYAPSP_TEAM : flat ? steps_for(longest, batch) : 1;
            int item = 0;
            int next = !flat && !shuffled && items > 0 ? tile->start[first] + rank : 0;
            for (int b = 0; b < batches; b++) {
                int turns = flat ? min(PYAPSP_SLOTS, steps_for(longest - b * batch, team)) : longest;
#if SHUFFLED
                /* The other steps take part in these exchanges, and ignore the values. */
                const int whose = lane / PYAPSP_TEAM * PYAPSP_TEAM + min(b, PYAPSP_TEAM - 1);
                const int begin = warp_shuffle(where == TEAM_STEP ? row.x : 0, whose, slots);
                const int more = warp_shuffle(where == TEAM_STEP ? arcs : 0, whose, slots);
                const int tail = warp_shuffle(v, whose, slots);
                const int most = group_max(steps_for(more, PYAPSP_TEAM), slots);
                turns = shuffled ? most : turns;
#endif
#if STORED
                if (flat) {
#if PYAPSP_BALANCE == 2
                    const int skipped = max(b * batch - sum, 0);
                    const int end = min(mine, (b + 1) * batch - sum);
                    for (int i = skipped; i < end; i++) {
                        const int to = first * PYAPSP_SLOTS + sum + i - b * batch;
                        tile->arc[to] = row.x + i;
#if PYAPSP_PREDECESSORS
                        tile->tail[to] = v;
#endif
                    }
#else
                    const int begins = b * batch + rank * PYAPSP_SLOTS;
                    const int ends = min(begins + PYAPSP_SLOTS, total);
                    int owner = 0;
                    int left = 0, arc = 0;
                    for (int key = begins; key < ends; key++) {
                        if (left == 0) {
                            owner = owner_of(key, first, tile);
                            arc = tile->start[owner] + key - tile->sum[owner];
                            left = tile->end[owner] - arc;
                        }
                        const int to = first * PYAPSP_SLOTS + key - b * batch;
                        tile->arc[to] = arc++;
                        left--;
#if PYAPSP_PREDECESSORS
                        tile->tail[to] = tile->vertex[owner];
#endif
                    }
#endif
                }
                group_sync();
#endif
                for (int done = 0; done < turns; done += TURNS) {
                    const int until = min(done + TURNS, turns);
                    for (int turn = done; turn < until; turn++) {
                        int arc = -1;
                        int from_v = -1;
#if SHUFFLED
                        if (shuffled) {
                            const int i = turn * PYAPSP_TEAM + rank;
                            arc = i < more ? begin + i : -1;
                            from_v = tail;
                        }
#endif
#if FLAT
                        if (flat) {
                            const int key = b * batch + turn * team + rank;
#if STORED
                            const int at_slot = first * PYAPSP_SLOTS + turn * team + rank;
                            if (key < total) {
                                arc = tile->arc[at_slot];
#if PYAPSP_PREDECESSORS
                                from_v = tile->tail[at_slot];
#endif
                            }
#else
                            if (key < total) {
                                const int owner = owner_of(key, first, tile);
                                arc = tile->start[owner] + key - tile->sum[owner];
                                from_v = tile->vertex[owner];
                            }
#endif
                        }
#endif
                        if (!flat && !shuffled) {
                            while (item < items && next >= tile->end[first + item]) {
                                item++;
                                next = item < items ? tile->start[first + item] + rank : 0;
                            }
                            if (item < items) {
                                arc = next;
                                from_v = tile->vertex[first + item];
                                next += team;
                            }
                        }
                        int w = arc >= 0 ? heads[arc] : -1;
#if PYAPSP_QUEUE == VERTICES
                        if (w >= 0 && !visit(w, from_v, level, search))
                            w = -1;
#if PYAPSP_HASH && !PYAPSP_HASH_LOADED
                        if (is_duplicate(w, shared))
                            w = -1;
#endif
#endif
                        if (w >= 0)
                            waits = keep(w, from_v, waits, shared);
                    }
#if PYAPSP_GROUP == 1
                    if (waits > KEPT - TURNS)
#endif
                    {
                        update(waits, to, size, state, level, shared);
                        waits = 0;
                    }
                }
#if STORED
                group_sync();
#endif
            }
            group_sync();
        }
    }
#if PYAPSP_GROUP == 1
    update(waits, to, size, state, level, shared);
#endif
}

/* The two halves of `lists`, one for even and one for odd levels. `whole` is 1 in a launch that makes
 * a list again. */
static inline list_t list_of(__global int *lists, const int level, const int capacity,
                             const int whole)
{
    list_t list;
    list.capacity = PYAPSP_SHORT && !whole ? PYAPSP_SHORT : capacity;
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

static inline list_t arcs_of(__global int *arcs, const int capacity)
{
    list_t list;
    list.capacity = capacity;
    list.found = arcs;
    list.before = arcs + capacity;
    return list;
}

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
    search_t search;
    search.levels = levels;
    search.parents = parents;
    search.mask = mask;
    int groups = get_num_groups(0), mine = get_group_id(0), now = level;
#if PYAPSP_LEVELS == 2
    mine = enter(state + DOOR, groups, &groups, tile.common.slots);
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
        const list_t to = arcs_of(arcs, room);
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

/* A work-item or more for each arc of the vertices in bins [low, high); `whole` as in list_of. */
__kernel GROUP void helix_bins(__global const row_t *rows, __global const int *heads,
                               __global int *levels, __global int *parents, __global int *mask,
                               __global int *lists, __global int *arcs,
                               __global const int *bins, __global int *state, const int level,
                               const int capacity, const int room, const int low, const int high,
                               const int whole, const long m)
{
    __local shared_t shared;
    search_t search;
    search.levels = levels;
    search.parents = parents;
    search.mask = mask;
#if PYAPSP_QUEUE == PHASES
    const list_t to = arcs_of(arcs, room);
    const counters_t size = state + AT(ARCS, level);
#else
    const list_t to = list_of(lists, level, capacity, whole);
    const counters_t size = state + AT(SIZES, level);
#endif
    const int stopped = look(state + STOP) < level;
    int waits = 0;
    for (int bin = low; bin < high; bin++) {
        const int found = look(state + BINS + level % 2 * MOST_BINS + bin);
        const int parts = max((1 << (PYAPSP_BASE + bin)) / PYAPSP_GROUP, 1);
        const long tasks = stopped ? 0 : (long)min(found, room_of(bin, m)) * parts;
        for (long task = get_group_id(0); task < tasks; task += get_num_groups(0)) {
            const int v = bins[bin_at(bin, m) + task / parts];
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
                    if (w >= 0 && !visit(w, v, level, search))
                        w = -1;
#if PYAPSP_HASH && !PYAPSP_HASH_LOADED
                    if (is_duplicate(w, &shared))
                        w = -1;
#endif
#endif
                    if (w >= 0)
                        waits = keep(w, v, waits, &shared);
                }
#if PYAPSP_GROUP == 1
                if (waits > KEPT - TURNS)
#endif
                {
                    update(waits, to, size, state, level, &shared);
                    waits = 0;
                }
            }
        }
    }
#if PYAPSP_GROUP == 1
    update(waits, to, size, state, level, &shared);
#endif
}

/* The second phase of the two-phase form: look up the entries of the edge queue. */
__kernel GROUP void helix_contract(__global int *levels, __global int *parents, __global int *mask,
                                   __global int *lists, __global const int *arcs,
                                   __global int *state, const int level, const int capacity,
                                   const int room)
{
    __local shared_t shared;
    search_t search;
    search.levels = levels;
    search.parents = parents;
    search.mask = mask;
    const list_t to = list_of(lists, level, capacity, 0);
    const int count = look(state + STOP) < level ? 0 : min(look(state + AT(ARCS, level)), room);
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
            if (w >= 0 && !visit(w, v, level, search))
                w = -1;
#if PYAPSP_HASH && !PYAPSP_HASH_LOADED
            if (is_duplicate(w, &shared))
                w = -1;
#endif
            if (w >= 0)
                waits = keep(w, v, waits, &shared);
        }
#if PYAPSP_GROUP == 1
        if (waits > KEPT - TURNS)
#endif
        {
            update(waits, to, state + AT(SIZES, level), state, level, &shared);
            waits = 0;
        }
    }
#if PYAPSP_GROUP == 1
    update(waits, to, state + AT(SIZES, level), state, level, &shared);
#endif
}
