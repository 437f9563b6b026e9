/* bfs_gunrock: breadth-first search by the operators advance and filter.
 *
 * Purpose   Levels, where every arc has length 1. An *advance* visits the arcs that leave the frontier,
 *           and writes for each of them its head, or -1 if that has a level. A *filter* makes the next
 *           frontier of those that are not -1. An advance has one of three ways to share the arcs:
 *             bfs_gunrock_degrees   by their number at each vertex: a group, a warp, or work-items
 *                                   that a prefix sum numbers; see gather.h
 *             bfs_gunrock_vertices  a group has as many vertices as work-items, and its work-items
 *                                   search their arcs in the prefix sum of the degrees
 *             bfs_gunrock_count, bfs_gunrock_partition, bfs_gunrock_arcs
 *                                   a group has as many arcs as every other: the degrees of the whole
 *                                   frontier are summed, and chunks of the arcs are searched in them
 *
 * Layout    The graph: heads[first[v] .. first[v + 1]] are the neighbours of v. queues, state and
 *           levels: see frontier_queues.h; state[6] and state[7] are the numbers of visited arcs, for
 *           even and odd levels. visited has m ints. sums and parts: see partitioning/chunks.h.
 *
 *             frontier          7 2 9       3, 1 and 2 arcs
 *             advance           4 . 8 | 8 | . 3      . is -1; of the two 8 one is -1, too
 *             filter            4 8 3
 *
 * Parameters  those of frontier_queues.h and partitioning/chunks.h
 *
 * Cost      Two launches for each level; four and those of a scan for chunks of arcs. Each arc is
 *           written and read once more than in bfs_frontier. O(n + m).
 *
 * Source    Y. Wang, A. Davidson, Y. Pan, Y. Wu, A. Riffel, J. D. Owens, Gunrock: a high-performance
 *           graph processing library on the GPU, PPoPP 2016, doi:10.1145/2851141.2851145. Chunks of
 *           arcs: A. Davidson et al., IPDPS 2014, doi:10.1109/IPDPS.2014.45. This is the form with
 *           atomic operations; the other one, where a filter drops duplicates, is not here.
 */
#include "traversal/bfs/frontier_queues.h"
#include "traversal/bfs/gather.h"
#include "traversal/partitioning/chunks.h"

#define CHUNK (PYAPSP_GROUP * PYAPSP_EACH)
#define CAPACITY (CHUNK + 2)
#define VISITED(state, level) ((state) + 6 + (level) % 2)

#define SEARCH                                                                                     \
    __global const long *first, __global const int *heads, __global int *levels,                   \
        __global int *parents, __global int *queues, __global int *state, __global int *visited,   \
        const int n, const int level, const int size

/* The head of an arc from u, if this work-item has found it, otherwise -1. */
static inline int head_found(__global const int *heads, const int arc, const int u,
                             const int level, __global int *levels, __global int *parents)
{
    const int v = heads[arc];
    return claim(v, u, level, levels, parents) ? v : -1;
}

/* What a launch of an advance clears. */
static inline void clear_counters(__global int *state, const int level)
{
    *SIZE_BEFORE(state, level) = 0;
    *VISITED(state, level + 1) = 0;
}

#define WRITE_HEAD(arc, u)                                                                         \
    do {                                                                                           \
        const int at_ = device_rank_unordered((arc) >= 0, VISITED(state, level), slots);           \
        if ((arc) >= 0)                                                                            \
            visited[at_] = head_found(heads, arc, u, level, levels, parents);                      \
    } while (0)

__kernel GROUP void bfs_gunrock_degrees(SEARCH)
{
    __local int slots[WARP_SLOTS], listed[PYAPSP_GROUP], tails[PYAPSP_GROUP];
    const size_t place = PLACE_OF_ALL;
    if (place == 0)
        clear_counters(state, level);
    const int u = place < (size_t)size ? QUEUE_BEFORE(queues, n, level)[place] : -1;
    GATHER(u, WRITE_HEAD);
}

__kernel GROUP void bfs_gunrock_vertices(SEARCH)
{
    __local int slots[WARP_SLOTS], sums[PYAPSP_GROUP], starts[PYAPSP_GROUP], tails[PYAPSP_GROUP];
    __local int base;
    const size_t place = PLACE_OF_ALL;
    if (place == 0)
        clear_counters(state, level);
    const int u = place < (size_t)size ? QUEUE_BEFORE(queues, n, level)[place] : -1;
    const int start = u < 0 ? 0 : (int)first[u], degree = u < 0 ? 0 : (int)(first[u + 1] - first[u]);
    int total;
    const int before = group_scan(degree, &total, slots);
    sums[GROUP_PLACE] = before;
    starts[GROUP_PLACE] = start - before;
    tails[GROUP_PLACE] = u;
    if (GROUP_PLACE == 0)
        base = atomic_add(VISITED(state, level), total);
    group_sync();
    for (int arc = GROUP_PLACE; arc < total; arc += PYAPSP_GROUP) {
        const int owner = predecessor_local(sums, PYAPSP_GROUP, arc);
        visited[base + arc] =
            head_found(heads, starts[owner] + arc, tails[owner], level, levels, parents);
    }
}

/* Chunks of arcs, the first launch: a work-item for each vertex. */
__kernel GROUP void bfs_gunrock_count(SEARCH, __global int *degrees)
{
    const size_t place = PLACE_OF_ALL;
    if (place == 0)
        clear_counters(state, level);
    if (place < (size_t)size) {
        const int u = QUEUE_BEFORE(queues, n, level)[place];
        degrees[place] = (int)(first[u + 1] - first[u]);
    }
}

/* The number of chunks. */
static inline int chunks_of(const int arcs)
{
    return arcs > 0 ? (arcs - 1) / CHUNK + 1 : 0;
}

/* A work-item for each chunk, and one for the end. */
__kernel GROUP void bfs_gunrock_partition(__global const int *sums, __global int *parts,
                                          __global int *state, const int level, const int size)
{
    const int arcs = sums[size], chunks = chunks_of(arcs);
    for (int c = PLACE_OF_ALL; arcs > 0 && c <= chunks; c += get_global_size(0))
        find_part(sums, parts, c, CHUNK, size, arcs, OPTIMISED);
    if (PLACE_OF_ALL == 0)
        *VISITED(state, level) = arcs;
}

/* The groups share the chunks. */
__kernel GROUP void bfs_gunrock_arcs(SEARCH, __global const int *sums, __global const int *parts)
{
    __local int slice[CAPACITY], owner_of[CHUNK];
    __global const int *before = QUEUE_BEFORE(queues, n, level);
    const int arcs = sums[size], chunks = chunks_of(arcs);
    for (int c = get_group_id(0); c < chunks; c += get_num_groups(0)) {
        const int start = c * CHUNK, count = min(CHUNK, arcs - start);
        stage_owners(sums, parts, arcs, c, slice, CAPACITY, owner_of);
        for (int p = GROUP_PLACE; p < count; p += PYAPSP_GROUP) {
            const int u = before[owner_of[p]];
            const int arc = (int)first[u] + start + p - sums[owner_of[p]];
            visited[start + p] = head_found(heads, arc, u, level, levels, parents);
        }
        group_sync();
    }
}

/* The groups share the arcs that the advance has visited. */
__kernel GROUP void bfs_gunrock_filter(__global const int *visited, __global int *queues,
                                       __global int *state, const int n, const int level)
{
    __local int slots[WARP_SLOTS];
    const int arcs = *VISITED(state, level);
    const int tiles = arcs > 0 ? (arcs - 1) / PYAPSP_GROUP + 1 : 0;
    for (int tile = get_group_id(0); tile < tiles; tile += get_num_groups(0)) {
        const int each = tile * PYAPSP_GROUP + GROUP_PLACE, v = each < arcs ? visited[each] : -1;
        const int place = device_rank_unordered(v >= 0, SIZE_NOW(state, level), slots);
        if (v >= 0)
            QUEUE_NOW(queues, n, level)[place] = v;
    }
}
