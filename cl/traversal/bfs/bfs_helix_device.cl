/* bfs_helix_device: Helix, where the arcs of a frontier are divided equally over the whole device.
 *
 * Purpose   Levels, where every arc has length 1. The arcs of the frontier are numbered through, and
 *           divided into chunks of equal size, whatever the degrees are. Three launches find a level:
 *
 *             partition   a work-item for each chunk finds the vertex in which it begins
 *             expand      a group copies the heads of the arcs of its chunk
 *             contract    a work-item for each head looks it up; vertices found are the next frontier
 *
 * Layout    The graph and state: bfs_helix.h. Two frontiers, for even and odd levels, of three rows
 *           of `capacity` ints: prefix sums of the degrees, the first arcs, the vertices.
 *
 *             vertices   b  c  d        3, 1 and 4 arcs
 *             sums       0  3  4        numbers 0 1 2 | 3 | 4 5 6 7
 *             chunks     0 .. 3, 4 .. 7 of 4 arcs: begins 0, 2
 *             heads      of the arcs 0 .. 7; with PYAPSP_PREDECESSORS a second row, their tails
 *
 *           `totals` is a ring of pairs for each level: the number of vertices in the low half, that
 *           of arcs in the high half. One 64-bit atomic operation adds to both, so a vertex with a
 *           later place has a later sum, and the sums of a frontier rise. Without such atomics
 *           contract makes a list, and offsets computes the sums, by one group.
 *
 * Parameters  those of bfs_helix.h, and
 *             PYAPSP_PACKED    0     1: contract computes the sums
 *             PYAPSP_LEAST     0     vertices with fewer arcs are left out of the next frontier
 *             PYAPSP_CHUNK     1024  the largest chunk
 *             PYAPSP_DYNAMIC   1     1: chunks of a small frontier are smaller
 *             PYAPSP_RESIDENT  2048  work-items that run at the same time
 *
 * Cost      Three launches for each level; an arc is written and read once more than in bfs_helix.
 *           O(n + m), and log n reads for each chunk.
 *
 * Source    F. Busato, High-Performance and Power-Aware Graph Processing on GPUs, thesis, Verona
 *           2018, section 7.3.1, https://iris.univr.it/handle/11562/979445.
 */
#ifndef PYAPSP_PACKED
#define PYAPSP_PACKED 0
#endif
#ifndef PYAPSP_LEAST
#define PYAPSP_LEAST 0
#endif
#ifndef PYAPSP_CHUNK
#define PYAPSP_CHUNK 1024
#endif
#ifndef PYAPSP_DYNAMIC
#define PYAPSP_DYNAMIC 1
#endif
#ifndef PYAPSP_RESIDENT
#define PYAPSP_RESIDENT 2048
#endif

#include "traversal/bfs/bfs_helix.h"

/* The rows of a frontier. */
typedef struct {
    __global int *sums, *starts, *vertices;
} frontier_t;

static inline frontier_t frontier_of(__global int *frontiers, const int level, const int capacity)
{
    frontier_t frontier;
    frontier.sums = frontiers + level % 2 * 3 * (size_t)capacity;
    frontier.starts = frontier.sums + capacity;
    frontier.vertices = frontier.starts + capacity;
    return frontier;
}

/* The number of vertices and of arcs of the last level; 0 if a list was too short before. */
static inline int2 total_of(__global const uint *totals, counters_t state, const int level)
{
    if (look(state + STOP) < level)
        return (int2)(0, 0);
    return (int2)((int)totals[2 * AT(0, level - 1)], (int)totals[2 * AT(0, level - 1) + 1]);
}

static inline int chunk_of(const int arcs)
{
#if PYAPSP_DYNAMIC
    const int each = arcs > 0 ? (arcs - 1) / PYAPSP_RESIDENT + 1 : 1;
    return each >= PYAPSP_CHUNK / PYAPSP_GROUP ? PYAPSP_CHUNK : each * PYAPSP_GROUP;
#else
    return PYAPSP_CHUNK;
#endif
}

static inline int chunks_of(const int arcs)
{
    return arcs > 0 ? (arcs - 1) / chunk_of(arcs) + 1 : 0;
}

/* The sums of the list of a level, by one group. */
__kernel GROUP void helix_offsets(__global const row_t *rows, __global const int *list,
                                  __global int *frontiers, __global uint *totals,
                                  __global int *state, const int level, const int capacity,
                                  const int room)
{
    __local shared_t shared;
    const frontier_t to = frontier_of(frontiers, level, capacity);
    const int count = look(state + STOP) <= level ? 0 : look(state + AT(SIZES, level));
    const int tiles = count > 0 ? (count - 1) / PYAPSP_GROUP + 1 : 0;
    int sum = 0, full = 0;
    for (int tile = 0; tile < tiles; tile++) {
        const int at = tile * PYAPSP_GROUP + GROUP_PLACE;
        const int v = at < count ? list[at] : -1;
        int2 row = 0;
        if (v >= 0)
            row = row_of(rows, v);
        int total;
        const int before = group_scan(row.y - row.x, &total, shared.slots);
        if (v >= 0) {
            to.sums[at] = sum + before;
            to.starts[at] = row.x;
            to.vertices[at] = v;
        }
        full |= sum > room - total;
        sum += full ? 0 : total;
    }
    if (GROUP_PLACE == 0) {
        totals[2 * AT(0, level)] = (uint)count;
        totals[2 * AT(0, level) + 1] = (uint)sum;
        if (full)
            atomic_min((counters_t)state + STOP, level);
    }
}

/* A work-item for each chunk. */
__kernel GROUP void helix_partition(__global const int *frontiers, __global uint *totals,
                                    __global int *begins, __global int *state, const int level,
                                    const int capacity)
{
    const frontier_t from = frontier_of((__global int *)frontiers, level - 1, capacity);
    const int2 total = total_of(totals, state, level);
    const int chunks = chunks_of(total.y), chunk = chunk_of(total.y);
    for (int i = get_global_id(0); i < chunks; i += get_global_size(0))
        begins[i] = predecessor_global(from.sums, total.x, i * chunk);
    if (get_global_id(0) == 0) {
        totals[2 * AT(0, level)] = totals[2 * AT(0, level) + 1] = 0;
        put(state + AT(SIZES, level), 0);
    }
}

/* A group for each chunk. */
__kernel GROUP void helix_expand(__global const int *heads, __global const int *frontiers,
                                 __global const uint *totals, __global const int *begins,
                                 __global int *arcs, __global int *state, const int level,
                                 const int capacity, const int room)
{
    __local int sums[PYAPSP_CHUNK + 1];
    const frontier_t from = frontier_of((__global int *)frontiers, level - 1, capacity);
    const int2 total = total_of(totals, state, level);
    const int chunks = chunks_of(total.y), chunk = chunk_of(total.y);
    for (int i = get_group_id(0); i < chunks; i += get_num_groups(0)) {
        const int first = begins[i], last = i + 1 < chunks ? begins[i + 1] : total.x - 1;
        const int vertices = last - first + 1, fits = vertices <= PYAPSP_CHUNK;
        for (int j = GROUP_PLACE; fits && j < vertices; j += PYAPSP_GROUP)
            sums[j] = from.sums[first + j];
        group_sync();
        const int end = min((i + 1) * chunk, total.y);
        for (int number = i * chunk + GROUP_PLACE; number < end; number += PYAPSP_GROUP) {
            /* vertices without arcs may make a chunk begin in more vertices than it has arcs */
            const int owner = first + (fits ? predecessor_local(sums, vertices, number)
                                            : predecessor_global(from.sums + first, vertices, number));
            arcs[number] = heads[from.starts[owner] + number - from.sums[owner]];
#if PYAPSP_PREDECESSORS
            arcs[room + number] = from.vertices[owner];
#endif
        }
        group_sync();
    }
}

/* A work-item for each arc. */
__kernel GROUP void helix_filter(__global const row_t *rows, __global int *levels,
                                 __global int *parents, __global int *mask,
                                 __global const int *arcs, __global int *frontiers,
                                 __global int *list, __global ulong *totals, __global int *state,
                                 const int level, const int capacity, const int room)
{
    __local shared_t shared;
    search_t search;
    search.levels = levels;
    search.parents = parents;
    search.mask = mask;
    const int2 total = total_of((__global const uint *)totals, state, level);
    const int tiles = total.y > 0 ? (total.y - 1) / PYAPSP_GROUP + 1 : 0;
#if PYAPSP_PACKED
    const frontier_t to = frontier_of(frontiers, level, capacity);
#endif
    for (int tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        const int at = tile * PYAPSP_GROUP + GROUP_PLACE;
        int w = at < total.y ? arcs[at] : -1, v = NO_PREDECESSOR;
#if PYAPSP_PREDECESSORS
        if (w >= 0)
            v = arcs[room + at];
#endif
        if (w >= 0 && !visit(w, v, level, search))
            w = -1;
        if (is_duplicate(w, &shared))
            w = -1;
        int2 row = 0;
        if (w >= 0)
            row = row_of(rows, w);
        const int degree = row.y - row.x, found = w >= 0 && degree >= PYAPSP_LEAST;
#if PYAPSP_PACKED
        int place;
        const int sum =
            device_scan_pair(found, degree, &place, totals + AT(0, level), shared.slots);
        if (found && (place >= FITTING(capacity, 0) || (uint)sum > (uint)(room - degree)))
            atomic_min(state + STOP, level);
        else if (found) {
            to.sums[place] = sum;
            to.starts[place] = row.x;
            to.vertices[place] = w;
        }
#else
        const int place = claim(found, state + AT(SIZES, level), shared.slots);
        if (found && place >= FITTING(capacity, 0))
            atomic_min(state + STOP, level);
        else if (found)
            list[place] = w;
#endif
    }
}
