/* bfs_luo: breadth-first search with a hierarchy of queues.
 *
 * Purpose   Levels, where every arc has length 1. Vertices that a group finds are put into one of
 *           BUCKETS small queues in local memory, each of which some work-items of the group use.
 *           Then these are joined to one queue of the group, which is appended to the queue of the
 *           device. So few work-items compete for a counter, and neighbouring work-items write
 *           neighbouring places.
 *             bfs_luo_single     few vertices: one group goes on from level to level
 *             bfs_luo_together   more: all groups that run at the same time go on from level to
 *                                level, and meet after each
 *             bfs_luo            many: a launch for each level
 *
 * Layout    The graph: heads[first[v] .. first[v + 1]] are the neighbours of v. queues, state and
 *           levels: see frontier_queues.h. More of state:
 *             [2]             the next level, after a kernel of several
 *             [3], [4], [5]   entered, arrived, stalled: see common/meeting.h
 *             [6 .. 8]        sizes of frontiers in bfs_luo_together
 *
 *             work-items   0 1 2 3 4 5 6 7     work-item i uses bucket i % 4
 *             buckets      7 . . . | 3 9 . . | . . . . | 5 . . .    local memory, BUCKETS = 4
 *             device       ... 7 3 9 5                              a place from one atomic operation
 *
 * Parameters  those of frontier_queues.h, and
 *             PYAPSP_BUCKETS   8   queues of a group
 *             PYAPSP_ROOM     32   places of such a queue; what does not fit goes to the device's
 *             PYAPSP_TOGETHER  0   1: there is bfs_luo_together, which needs fences between groups
 *
 * Cost      A launch for a level, or for several; an atomic operation for each arc. O(n + m).
 *
 * Source    L. Luo, M. Wong, W. Hwu, an effective GPU implementation of breadth-first search, DAC
 *           2010, doi:10.1145/1837274.1837289. There a frontier of medium size has at most one
 *           vertex for each work-item of the groups that meet.
 */
#ifndef PYAPSP_BUCKETS
#define PYAPSP_BUCKETS 8
#endif
#ifndef PYAPSP_ROOM
#define PYAPSP_ROOM 32
#endif
#ifndef PYAPSP_TOGETHER
#define PYAPSP_TOGETHER 0
#endif

#include "traversal/bfs/frontier_queues.h"

#define LOCAL_QUEUES                                                                               \
    __local int buckets[PYAPSP_BUCKETS * PYAPSP_ROOM], sizes[PYAPSP_BUCKETS],                      \
        starts[PYAPSP_BUCKETS]

/* Expand a vertex for each work-item, -1: none. All work-items of the group call it. */
static inline void expand(const int u, __global const long *first, __global const int *heads,
                          __global int *levels, __global int *parents, __global int *now,
                          __global int *size, const int level, __local int *buckets,
                          __local int *sizes, __local int *starts)
{
    const int item = get_local_id(0), own = item % PYAPSP_BUCKETS;
    for (int each = item; each < PYAPSP_BUCKETS; each += PYAPSP_GROUP)
        sizes[each] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const long to = u < 0 ? 0 : first[u + 1];
    for (long a = u < 0 ? 0 : first[u]; a < to; a++) {
        const int v = heads[a];
        if (!claim(v, u, level, levels, parents))
            continue;
        const int place = atomic_inc(&sizes[own]);
        if (place < PYAPSP_ROOM)
            buckets[own * PYAPSP_ROOM + place] = v;
        else
            now[atomic_inc(size)] = v;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) {
        int total = 0;
        for (int each = 0; each < PYAPSP_BUCKETS; each++) {
            starts[each] = total;
            total += min(sizes[each], PYAPSP_ROOM);
        }
        const int base = atomic_add(size, total);
        for (int each = 0; each < PYAPSP_BUCKETS; each++)
            starts[each] += base;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int each = item; each < PYAPSP_BUCKETS * PYAPSP_ROOM; each += PYAPSP_GROUP) {
        const int bucket = each / PYAPSP_ROOM, place = each % PYAPSP_ROOM;
        if (place < sizes[bucket])
            now[starts[bucket] + place] = buckets[each];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

__kernel GROUP void bfs_luo(__global const long *first, __global const int *heads,
                            __global int *levels, __global int *parents, __global int *queues,
                            __global int *state, const int n, const int level, const int size)
{
    LOCAL_QUEUES;
    const size_t place = get_global_id(0);
    if (place == 0)
        *SIZE_BEFORE(state, level) = 0;
    expand(place < (size_t)size ? QUEUE_BEFORE(queues, n, level)[place] : -1, first, heads, levels,
           parents, QUEUE_NOW(queues, n, level), SIZE_NOW(state, level), level, buckets, sizes,
           starts);
}

/* One group, until the frontier is empty or larger than the group. */
__kernel GROUP void bfs_luo_single(__global const long *first, __global const int *heads,
                                   __global int *levels, __global int *parents,
                                   __global int *queues, __global int *state, const int n,
                                   const int start, const int begin)
{
    LOCAL_QUEUES;
    __local int found;
    const int item = get_local_id(0);
    int level = start, size = begin;
    while (size > 0 && size <= PYAPSP_GROUP) {
        if (item == 0)
            atomic_xchg(SIZE_NOW(state, level), 0);
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        expand(item < size ? QUEUE_BEFORE(queues, n, level)[item] : -1, first, heads, levels,
               parents, QUEUE_NOW(queues, n, level), SIZE_NOW(state, level), level, buckets, sizes,
               starts);
        if (item == 0)
            found = atomic_or(SIZE_NOW(state, level), 0);
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        size = found;
        level++;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item == 0) {
        *SIZE_NOW(state, level) = 0;
        state[2] = level;
    }
}

#if PYAPSP_TOGETHER
#include "common/meeting.h"

#define ENTERED 3
#define ARRIVED 4
#define STALLED 5
#define RING(state, level) ((state) + 6 + (level) % 3)

/* All groups, until the frontier is empty, small enough for one group, or larger than `most`. Sizes
 * of frontiers are in a ring of three: one may still be read by a group that is late for the next
 * level, one is counted up, and one is cleared for the level after. */
__kernel GROUP void bfs_luo_together(__global const long *first, __global const int *heads,
                                     __global int *levels, __global int *parents,
                                     __global int *queues, __global int *state, const int n,
                                     const int start, const int begin, const int most)
{
    LOCAL_QUEUES;
    __local int slots[2];
    const int item = get_local_id(0);
    int groups, level = start, size = begin, turn = 0;
    const int mine = enter(state + ENTERED, get_num_groups(0), &groups, slots);
    int more = mine >= 0;
    while (more) {
        if (mine == 0 && item == 0)
            put(RING(state, level + 1), 0);
        for (int tile = mine; tile * PYAPSP_GROUP < size; tile += groups) {
            const int place = tile * PYAPSP_GROUP + item;
            expand(place < size ? QUEUE_BEFORE(queues, n, level)[place] : -1, first, heads, levels,
                   parents, QUEUE_NOW(queues, n, level), RING(state, level), level, buckets, sizes,
                   starts);
        }
        const int met = meet(state + ARRIVED, state + STALLED, groups, ++turn, mine, slots);
        size = look(RING(state, level));
        more = met && size > PYAPSP_GROUP && size <= most;
        level++;
    }
    if (mine == 0 && item == 0) {
        *SIZE_BEFORE(state, level) = size;
        *SIZE_NOW(state, level) = 0;
        state[2] = level;
    }
}
#endif
