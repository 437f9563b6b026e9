/* manager: blocks for the rows of an update.
 *
 * Purpose   Vertices whose rows outgrow their blocks get larger ones, and those with short rows
 *           smaller ones: the host is told how many of each class, chooses block arrays, and kernels
 *           take the blocks out of their Vec-Trees and return the old ones.
 *
 * Layout    See batch.h.
 *           goals[j]   x: class of the new block or -1, y: its number among those, z: number among
 *                      the moving rows of the class of the old block, w: that class
 *           Vec-Tree   words of leaves (bit = block is free), then the level above: a bit for each
 *                      word that is not 0, and so on until one word:
 *
 *                        leaves   0x00000000 0x00000010 0x80000000
 *                        root     110b
 *
 * Parameters  those of blocks.h
 *
 * Cost      40 bytes of traffic for each vertex of a batch, and for each block that is taken or
 *           returned about one atomic operation. 3 launches.
 *
 * Source    F. Busato, thesis, University of Verona, 2018, section 18.2, algorithms 13 to 15,
 *           https://iris.univr.it/handle/11562/979445; O. Green, D. Bader et al., Hornet, HPEC
 *           2018, doi:10.1109/HPEC.2018.8547541. Work by class, and Vec-Trees that kernels read and
 *           write: ours.
 */
#include "dynamic/batch.h"

#define NEW 0x80000000u

/* Find the vertices that need other blocks: larger ones, or with `shrink` smaller ones, for rows
 * that have less than half of their room. */
__kernel GROUP void manager_plan(__global const int *touched, __global const int *degree,
                                 __global const uint *added, __global const uint *place,
                                 __global const uint4 *regions, volatile __global int *state,
                                 __global int4 *goals, const int least, const int steps,
                                 const int shrink)
{
    __local int need[2 * CLASSES], leave[2 * CLASSES];
    const uint count = state[TOUCHED];
#if PYAPSP_GROUP == 1
    class_begin(need);
    class_begin(leave);
#endif
    FOR_ALL (j, count) {
        int moves = 0, c = 0, goal = -1;
        if (j < count) {
            const int v = touched[j];
            /* a vertex that was deleted has no edges */
            const uint size = (uint)max(degree[v], 0) + (added[v] & ~MARK);
            c = class_at(regions, place[v]);
            const uint room = c == NO_BLOCK ? 0 : ROOM(c);
            goal = size == 0 ? NO_BLOCK : max(least, class_for(size, steps));
            moves = shrink ? size < room / 2 + (room == 1) && goal != c : size > room;
        }
        const int fresh = class_rank(moves, goal, &state[NEED], need);
        const int left = class_rank(moves, c, &state[LEFT], leave);
        if (j < count)
            goals[j] = (int4)(moves ? goal : -1, fresh, left, c);
    }
#if PYAPSP_GROUP == 1
    class_first(&state[NEED], need);
    class_first(&state[LEFT], leave);
    FOR_ALL (j, count) {
        const int4 goal = goals[j];
        if (goal.x >= 0)
            goals[j] = (int4)(goal.x, need[goal.x] + goal.y, leave[goal.w] + goal.z, goal.w);
    }
#endif
}

/* The blocks of a block array. */
static inline uint blocks_of(const int c)
{
    return max((1u << PYAPSP_BITS) / ROOM(c), 1u);
}

/* Take the first free blocks of block arrays: fresh[] are their places. One group for each. */
__kernel GROUP void manager_take(__global const uint4 *takes, const int count,
                                 __global const uint4 *regions, volatile __global uint *trees,
                                 __global uint *fresh)
{
    __local int slots[WARP_SLOTS];
    for (int t = get_group_id(0); t < count; t += get_num_groups(0)) {
        const uint4 take = takes[t];
        const uint4 region = regions[take.x];
        const int c = CLASS_OF(region), new = (take.y & NEW) != 0;
        const uint amount = take.y & ~NEW, first = take.x << PYAPSP_BITS;
        const uint blocks = blocks_of(c);
        uint words = (blocks + 31) / 32, before = 0;
        volatile __global uint *level = trees + region.z, *above = level + words;
        uint start = 0;
        for (; start < words && (new || before < amount); start += PYAPSP_GROUP) {
            const uint w = start + GROUP_PLACE;
            /* the blocks of this word */
            const uint all = w * 32 + 32 <= blocks ? ~0u : (1u << blocks % 32) - 1;
            uint free = 0;
            int total;
            if (w < words && before < amount) {
                const int there = new || words == 1 || (above[w / 32] >> w % 32 & 1);
                free = !there ? 0 : new ? all : level[w];
            }
            uint rank = before + group_scan(popcount(free), &total, slots);
            for (; free && rank < amount; rank++) {
                const uint bit = 31 - clz(free & (0 - free));
                fresh[take.z + rank] = first + (w * 32 + bit) * ROOM(c);
                free &= free - 1;
            }
            const int written = w < words && (new || before < amount);
            if (written && new && before >= amount)
                free = all;
            if (written)
                level[w] = free;
            before += total;
        }
        /* the words behind these are as they were */
        uint changed = min(start, words);
        while (words > 1) {
#if PYAPSP_GROUP > 1
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
#endif
            const uint upper = (words + 31) / 32;
            changed = (changed + 31) / 32;
            for (uint w = GROUP_PLACE; w < changed; w += PYAPSP_GROUP) {
                uint word = 0;
                for (uint b = 0; b < 32 && w * 32 + b < words; b++)
                    word |= (uint)(level[w * 32 + b] != 0) << b;
                above[w] = word;
            }
            level = above;
            words = upper;
            above = level + words;
        }
    }
}

/* Return a block to its Vec-Tree. */
static inline void give_back(__global const uint4 *regions, volatile __global uint *trees,
                             volatile __global int *freed, const uint place)
{
    const uint4 region = REGION(place);
    const int c = CLASS_OF(region);
    uint words = (blocks_of(c) + 31) / 32;
    uint block = (place & ((1u << PYAPSP_BITS) - 1)) / ROOM(c);
    volatile __global uint *level = trees + region.z;
    while (atomic_or(&level[block / 32], 1u << block % 32) == 0 && words > 1) {
        level += words;
        block /= 32;
        words = (words + 31) / 32;
    }
    atomic_inc(&freed[place >> PYAPSP_BITS]);
}

/* Give vertices their new blocks, return the old ones, and list the rows that move. */
__kernel GROUP void manager_place(__global const int *touched, __global const int4 *goals,
                                  __global const uint *fresh, __global const int *degree,
                                  __global uint *place, __global const uint4 *regions,
                                  volatile __global uint *trees, __global int *state,
                                  __global uint4 *moves)
{
    __local list_t need, left;
    const uint count = state[TOUCHED];
    set_list(&need, state + NEED);
    set_list(&left, state + LEFT);
    FOR_ALL (j, count) {
        if (j < count && goals[j].x >= 0) {
            const int4 goal = goals[j];
            const int v = touched[j];
            const uint from = place[v];
            const uint to = goal.x == NO_BLOCK ? NOWHERE : fresh[need.rows[goal.x] + goal.y];
            moves[left.rows[goal.w] + goal.z] = (uint4)(from, to, to == NOWHERE ? 0 : degree[v], v);
            place[v] = to;
            if (from != NOWHERE)
                give_back(regions, trees, state + FREED, from);
        }
    }
}
