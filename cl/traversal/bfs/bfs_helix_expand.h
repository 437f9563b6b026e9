/* One level of Helix: a tile of the frontier, its bins, the balance of its arcs, and their heads.
 *
 * The macros, the forms of each step and the drawing of the balances are those of bfs_helix.cl.
 */
#ifndef TRAVERSAL_BFS_HELIX_EXPAND_H
#define TRAVERSAL_BFS_HELIX_EXPAND_H

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

/* What a team stores is seen by all of it. Warps of such a team have equally many batches. */
static inline void team_sync(void)
{
#if PYAPSP_TEAM <= PYAPSP_WARP
    warp_sync();
#else
    group_sync();
#endif
}

static inline int steps_for(const int arcs, const int team)
{
    return arcs > 0 ? (arcs - 1) / team + 1 : 0;
}

#if FLAT
/* Sums of a group whose warps follow each other in any order. */
#define ANY_ORDER (PYAPSP_TEAM > PYAPSP_WARP && !PYAPSP_ORDERED)

/* The work-item of the team in whose arcs `key` is, by place in the group. */
static inline int owner_of(const int key, const int first, __local const tile_t *tile)
{
#if !ANY_ORDER
    return first + predecessor_local(tile->sum + first, PYAPSP_TEAM, key);
#else
    /* Take the one with the largest first sum up to the key. Of equal
     * ones, only the one with arcs has a last sum above the key. */
    int best = -1;
    for (int i = 0; i < WARPS; i++) {
        const int last = i * PYAPSP_WARP + PYAPSP_WARP - 1;
        const int end = tile->sum[last] + tile->end[last] - tile->start[last];
        if (tile->first[i] <= key && key < end)
            best = i;
    }
    const int at = max(best, 0) * PYAPSP_WARP;
    return at + predecessor_local(tile->sum + at, PYAPSP_WARP, key);
#endif
}

/* The next work-item with arcs after `owner`, whose arcs end before `key`. */
static inline int owner_after(int owner, const int key, const int first,
                              __local const tile_t *tile)
{
    do {
        owner++;
#if ANY_ORDER
        if (owner % PYAPSP_WARP == 0)
            return owner_of(key, first, tile);
#endif
    } while (tile->start[owner] == tile->end[owner]);
    return owner;
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
    (void)lane;
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
            if (entry < FITTING(room_of(bin, m), seeded))
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
            if (!flat && !shuffled && rank % PYAPSP_WARP == 0) /* one of each team and warp */
                for (int i = 0; i < items; i++)
                    longest += steps_for(tile->end[first + i] - tile->start[first + i], team);
            longest = look_turns(longest, slots);
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
                const int most = look_turns(steps_for(more, PYAPSP_TEAM), slots);
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
                    int owner = 0, arc = 0;
                    if (begins < ends) {
                        owner = owner_of(begins, first, tile);
                        arc = tile->start[owner] + begins - tile->sum[owner];
                    }
                    for (int key = begins; key < ends; key++) {
                        if (arc == tile->end[owner]) {
                            owner = owner_after(owner, key, first, tile);
                            arc = tile->start[owner];
                        }
                        const int to = first * PYAPSP_SLOTS + key - b * batch;
                        tile->arc[to] = arc++;
#if PYAPSP_PREDECESSORS
                        tile->tail[to] = tile->vertex[owner];
#endif
                    }
#endif
                }
                team_sync();
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
                        w = found_once(w, from_v, level, search, shared);
#endif
                        if (w >= 0)
                            waits = keep(w, from_v, waits, shared);
                    }
                    waits = update_full(waits, to, size, state, level, shared);
                }
#if STORED
                team_sync();
#endif
            }
            group_sync();
        }
    }
#if PYAPSP_LOCAL
    update(waits, to, size, state, level, shared);
#endif
}

#endif /* TRAVERSAL_BFS_HELIX_EXPAND_H */
