/* batch: updates of a Hornet, many edges at a time: everything but the columns of the edges.
 *
 * Purpose   Insert and delete edges in few launches, without a sort. To insert, atomics count the
 *           new edges of each tail, which gives every edge its place in its row. Vertices whose
 *           rows outgrow their blocks get larger ones: the host is told how many of each class,
 *           chooses block arrays, and kernels take the blocks out of their Vec-Trees.
 *             Where an edge may be there already, the batch goes into a hash table first, in which
 *           equal edges meet. Then the rows of its tails are read once, and each neighbour is looked
 *           up in the table. Deletion and queries do the same.
 *
 * Layout    Vertices    degree[v]  edges of v; -1: there is no such vertex
 *                       place[v]   its block, or NOWHERE
 *                       added[v]   0 between batches; new edges of v in a batch, and MARK if the
 *                                  vertex is in `touched` without a new edge
 *           Batch       tails[i], heads[i]; where[i]: the place in the row, or -1
 *                       table      an open hash table of edge numbers; slot[i]: the place of the
 *                                  edge in it; equal edges have one place, with the first one or
 *                                  the last one of them
 *           Vertices of a batch
 *                       touched[j] each tail once, in any order
 *                       goals[j]   x: class of the new block or -1, y: its number among those,
 *                                  z: number among the moving rows of the class of the old block
 *           Lists of rows (see blocks.h)
 *                       rows[]     x: place, y: new place, z: edges, w: vertex
 *           Vec-Tree    words of leaves (bit = block is free), then the level above: a bit for each
 *                       word that is not 0, and so on until one word:
 *
 *                         leaves   0x00000000 0x00000010 0x80000000
 *                         root     110b
 *
 *           state       BAD       the least edge that has no vertices, or INT_MAX
 *                       TOUCHED   vertices of the batch
 *                       KEPT      new edges
 *                       REMOVED   edges to delete
 *                       LOOPS     loops that came twice
 *                       HELD + c  rows of the batch, NEED + c: blocks that are needed, LEFT + c:
 *                                 blocks that are left, by class
 *                       FREED     and then the blocks that were freed in each region
 *
 * Parameters  those of blocks.h
 *
 * Cost      Insertion without a look for duplicates: 3 atomics and about 40 bytes of traffic for
 *           each edge, and twice the edges of the rows that move. With it, 3 more probes of the
 *           table for an edge, and one for each edge of the tails. 5 to 9 launches.
 *
 * Source    F. Busato, thesis, University of Verona, 2018, section 18.2, algorithms 13 to 15,
 *           https://iris.univr.it/handle/11562/979445; O. Green, D. Bader et al., Hornet, HPEC
 *           2018, doi:10.1109/HPEC.2018.8547541. Counting in place of the sort, the hash table,
 *           work by class, and block arrays managed by kernels: ours.
 */
#include "dynamic/blocks.h"

#define BAD 0
#define TOUCHED 1
#define KEPT 2
#define REMOVED 3
#define LOOPS 4
#define HELD 32
#define NEED 72
#define LEFT 112
#define FREED 160

#define MARK 0x80000000u
#define EMPTY -1
#define NEW 0x80000000u

/* The class of the block of a vertex. */
static inline int class_at(__global const uint4 *regions, const uint place)
{
    return place == NOWHERE ? NO_BLOCK : (int)CLASS_OF(REGION(place));
}

/* Whether both ends of an edge are vertices; else the least such edge is noted. */
static inline int is_edge(const uint i, const int tail, const int head,
                          __global const int *degree, volatile __global int *state, const int n)
{
    if (tail >= 0 && tail < n && head >= 0 && head < n && degree[tail] >= 0 && degree[head] >= 0)
        return 1;
    atomic_min(&state[BAD], (int)i);
    return 0;
}

/* Enter each edge and its reverse. */
__kernel GROUP void batch_mirror(__global const int *tails, __global const int *heads,
                                 __global int *both_tails, __global int *both_heads,
                                 const int count)
{
    FOR_ALL (i, count) {
        if (i < (uint)count) {
            both_tails[2 * i] = both_heads[2 * i + 1] = tails[i];
            both_heads[2 * i] = both_tails[2 * i + 1] = heads[i];
        }
    }
}

/* Let there be vertices, or not: degree 0 or -1. */
__kernel GROUP void batch_vertices(__global const int *vertices, __global int *degree,
                                   const int count, const int value)
{
    FOR_ALL (j, count) {
        if (j < (uint)count)
            degree[vertices[j]] = value;
    }
}

/* Give each edge a place behind those of its tail. If the batch has the reverse of each edge behind
 * it, a loop comes twice. */
__kernel GROUP void batch_count(__global const int *tails, __global const int *heads,
                                __global const int *degree, volatile __global uint *added,
                                __global int *where, __global int *touched,
                                volatile __global int *state, const int n, const int count,
                                const int mirrored)
{
    __local int slots[WARP_SLOTS];
    FOR_ALL (i, count) {
        int first = 0, tail = 0;
        if (i < (uint)count) {
            tail = tails[i];
            const int head = heads[i];
            int place = -1;
            const int is = is_edge(i, tail, head, degree, state, n);
            if (is && mirrored && i % 2 && tail == head) {
                atomic_inc(&state[LOOPS]);
            } else if (is) {
                const int rank = atomic_inc(&added[tail]);
                place = degree[tail] + rank;
                first = rank == 0;
            }
            where[i] = place;
        }
        const int j = device_rank_unordered(first, &state[TOUCHED], slots);
        if (first)
            touched[j] = tail;
    }
}

/* The word of a hash in the filter, which has 8 bits for each place of the table. */
#define FILTER_WORD(hash, mask) (((hash) & ((mask) << 3 | 7)) >> 5)

static inline uint hash_of(const int tail, const int head)
{
    uint h = (uint)tail * 0x9e3779b1u ^ rotate((uint)head * 0x85ebca77u, 15u);
    h ^= h >> 15;
    h *= 0x2c1b3c6du;
    return h ^ h >> 13;
}

/* Enter the edges into the table; of equal ones the last counts, or the first. */
__kernel GROUP void batch_enter(__global const int *tails, __global const int *heads,
                                __global const int *degree, volatile __global uint *added,
                                volatile __global int *table, __global uint *slot,
                                volatile __global uint *filter, __global int *touched,
                                volatile __global int *state, const int n, const int count,
                                const uint mask, const int last)
{
    __local int slots[WARP_SLOTS];
    FOR_ALL (i, count) {
        int first = 0, tail = 0;
        if (i < (uint)count) {
            tail = tails[i];
            const int head = heads[i];
            if (is_edge(i, tail, head, degree, state, n)) {
                const uint hash = hash_of(tail, head);
                uint at = hash & mask;
                atomic_or(&filter[FILTER_WORD(hash, mask)], 1u << hash % 32);
                int other = atomic_cmpxchg(&table[at], EMPTY, (int)i);
                while (other != EMPTY && (tails[other] != tail || heads[other] != head)) {
                    at = (at + 1) & mask;
                    other = atomic_cmpxchg(&table[at], EMPTY, (int)i);
                }
                if (other != EMPTY && last)
                    atomic_max(&table[at], (int)i);
                else if (other != EMPTY)
                    atomic_min(&table[at], (int)i);
                slot[i] = at;
                first = atomic_or(&added[tail], MARK) == 0;
            }
        }
        const int j = device_rank_unordered(first, &state[TOUCHED], slots);
        if (first)
            touched[j] = tail;
    }
}

/* The number of the edge in the table that is equal to this one, or -1. */
static inline int found_in(__global const int *table, __global const uint *filter,
                           __global const int *tails, __global const int *heads, const int tail,
                           const int head, const uint mask)
{
    const uint hash = hash_of(tail, head);
    if (!(filter[FILTER_WORD(hash, mask)] >> hash % 32 & 1))
        return EMPTY;
    uint at = hash & mask;
    int i = table[at];
    while (i != EMPTY && (tails[i] != tail || heads[i] != head)) {
        at = (at + 1) & mask;
        i = table[at];
    }
    return i;
}

/* Number the vertices of the batch within their classes. */
__kernel GROUP void batch_hold(__global const int *touched, __global const uint *place,
                               __global const uint4 *regions, __global int *rank,
                               __global int *state)
{
    __local int sums[2 * CLASSES];
    const uint count = state[TOUCHED];
    FOR_ALL (j, count) {
        const int there = j < count;
        const int c = there ? class_at(regions, place[touched[j]]) : 0;
        const int own = class_rank(there, c, &state[HELD], sums);
        if (there)
            rank[j] = own;
    }
}

/* Make the list of the rows of these vertices. */
__kernel GROUP void batch_list(__global const int *touched, __global const int *rank,
                               __global const int *degree, __global const uint *place,
                               __global const uint4 *regions, __global const int *state,
                               __global uint4 *rows)
{
    __local list_t list;
    const uint count = state[TOUCHED];
    set_list(&list, state + HELD);
    FOR_ALL (j, count) {
        if (j < count) {
            const int v = touched[j], c = class_at(regions, place[v]);
            rows[list.rows[c] + rank[j]] = (uint4)(place[v], 0, max(degree[v], 0), v);
        }
    }
}

/* Look for the edges of rows in the table. at[i]: the first place of edge i in its row. */
__kernel GROUP void batch_match(__global const uint4 *rows, __global const int *state,
                                __global const int *tails, __global const int *heads,
                                __global const int *table, __global const uint *filter,
                                volatile __global int *at, const uint mask,
                                __global const uint4 *regions, ARENAS(const int, edges))
{
    __local list_t list;
    set_list(&list, state + HELD);
    if (state[BAD] != INT_MAX)
        return;
    FOR_TILES (tile, &list) {
        FOR_UNITS (c, u, tile, &list) {
            const uint r = UNIT_AT(c, u, &list);
            if (r >= list.rows[c + 1])
                break;
            const uint4 row = rows[r];
            if (UNIT_IN(c, u) < row.z) {
                __global const int *edge = ROW(edges, REGION(row.x), row.x);
                for (uint k = UNIT_IN(c, u), end = RUN_END(c, u, row.z); k < end; k++) {
                    const int i = found_in(table, filter, tails, heads, row.w, edge[k], mask);
                    if (i != EMPTY)
                        atomic_min(&at[i], (int)k);
                }
            }
            SKIP_ROW(c, u);
        }
    }
}

/* Give each edge that is new a place behind those of its tail, and others their own if they are to
 * be written. */
__kernel GROUP void batch_select(__global const int *tails, __global const int *degree,
                                 volatile __global uint *added, __global const int *table,
                                 __global const uint *slot, __global const int *at,
                                 __global int *where, volatile __global int *state,
                                 const int count, const int update)
{
    __local int slots[WARP_SLOTS];
    const int bad = state[BAD] != INT_MAX;
    FOR_ALL (i, count) {
        int kept = 0;
        if (i < (uint)count && !bad) {
            int place = -1;
            if (table[slot[i]] == (int)i) {
                kept = at[i] == INT_MAX;
                if (kept)
                    place = degree[tails[i]] + (int)(atomic_inc(&added[tails[i]]) & ~MARK);
                else if (update)
                    place = at[i];
            }
            where[i] = place;
        }
        device_rank_unordered(kept, &state[KEPT], slots);
    }
}

/* Whether each edge was found; equal edges have one answer. */
__kernel GROUP void batch_answer(__global const int *table, __global const uint *slot,
                                 __global const int *at, __global const int *state,
                                 __global uchar *answer, const int count)
{
    const int bad = state[BAD] != INT_MAX;
    FOR_ALL (i, count) {
        if (i < (uint)count && !bad)
            answer[i] = at[table[slot[i]]] != INT_MAX;
    }
}

/* Find the vertices that need other blocks: larger ones, or with `shrink` smaller ones, for rows
 * that have less than half of their room. */
__kernel GROUP void batch_plan(__global const int *touched, __global const int *degree,
                               __global const uint *added, __global const uint *place,
                               __global const uint4 *regions, __global int *state,
                               __global int4 *goals, const int least, const int shrink)
{
    __local int sums[2 * CLASSES];
    const uint count = state[TOUCHED];
    FOR_ALL (j, count) {
        int moves = 0, c = 0, goal = -1;
        if (j < count) {
            const int v = touched[j];
            const uint size = (uint)degree[v] + (added[v] & ~MARK);
            c = class_at(regions, place[v]);
            const uint room = c == NO_BLOCK ? 0 : ROOM(c);
            goal = size == 0 ? NO_BLOCK : max(least, size == 1 ? 0 : 32 - (int)clz(size - 1));
            moves = shrink ? size < room / 2 + (room == 1) && goal != c : size > room;
        }
        const int fresh = class_rank(moves, goal, &state[NEED], sums);
        const int left = class_rank(moves, c, &state[LEFT], sums);
        if (j < count)
            goals[j] = (int4)(moves ? goal : -1, fresh, left, 0);
    }
}

/* The words of the leaves of a Vec-Tree. */
static inline uint leaf_words(const int c)
{
    return ((PYAPSP_BITS > c ? 1u << (PYAPSP_BITS - c) : 1) + 31) / 32;
}

/* Take the first free blocks of block arrays: fresh[] are their places. One group for each. */
__kernel GROUP void batch_take(__global const uint4 *takes, const int count,
                               __global const uint4 *regions, volatile __global uint *trees,
                               __global uint *fresh)
{
    __local int slots[WARP_SLOTS];
    for (int t = get_group_id(0); t < count; t += get_num_groups(0)) {
        const uint4 take = takes[t];
        const uint4 region = regions[take.x];
        const int c = CLASS_OF(region), new = (take.y & NEW) != 0;
        const uint amount = take.y & ~NEW, first = take.x << PYAPSP_BITS;
        const uint blocks = PYAPSP_BITS > c ? 1u << (PYAPSP_BITS - c) : 1;
        uint words = leaf_words(c), before = 0;
        volatile __global uint *level = trees + region.z, *above = level + words;
        for (uint start = 0; start < words; start += PYAPSP_GROUP) {
            const uint w = start + GROUP_PLACE;
            uint free = 0;
            int total;
            if (w < words && before < amount) {
                const int there = new || words == 1 || (above[w / 32] >> w % 32 & 1);
                free = !there ? 0 : !new ? level[w] : ~0u >> (blocks < 32 ? 32 - blocks : 0);
            }
            uint rank = before + group_scan(popcount(free), &total, slots);
            for (; free && rank < amount; rank++) {
                const uint bit = 31 - clz(free & (0 - free));
                fresh[take.z + rank] = first + ((w * 32 + bit) << c);
                free &= free - 1;
            }
            const int written = w < words && (new || before < amount);
            if (written && new && before >= amount)
                free = ~0u >> (blocks < 32 ? 32 - blocks : 0);
            if (written)
                level[w] = free;
            before += total;
        }
        while (words > 1) {
#if PYAPSP_GROUP > 1
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
#endif
            const uint upper = (words + 31) / 32;
            for (uint w = GROUP_PLACE; w < upper; w += PYAPSP_GROUP) {
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
    uint block = c < 32 ? (place & ((1u << PYAPSP_BITS) - 1)) >> c : 0, words = leaf_words(c);
    volatile __global uint *level = trees + region.z;
    while (atomic_or(&level[block / 32], 1u << block % 32) == 0 && words > 1) {
        level += words;
        block /= 32;
        words = (words + 31) / 32;
    }
    atomic_inc(&freed[place >> PYAPSP_BITS]);
}

/* Give vertices their new blocks, return the old ones, and list the rows that move. */
__kernel GROUP void batch_place(__global const int *touched, __global const int4 *goals,
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
            const int c = class_at(regions, from);
            moves[left.rows[c] + goal.z] = (uint4)(from, to, to == NOWHERE ? 0 : degree[v], v);
            place[v] = to;
            if (from != NOWHERE)
                give_back(regions, trees, state + FREED, from);
        }
    }
}

/* Count the new edges, unless the batch has failed, and clear `added`. */
__kernel GROUP void batch_finish(__global const int *touched, __global int *degree,
                                 __global uint *added, __global const int *state, const int keep)
{
    const uint count = state[TOUCHED];
    FOR_ALL (j, count) {
        if (j < count) {
            const int v = touched[j];
            if (keep)
                degree[v] += added[v] & ~MARK;
            added[v] = 0;
        }
    }
}

/* Mark the edges of rows that are in the table: ~head. `undo` takes the marks away. */
__kernel GROUP void batch_mark(__global const uint4 *rows, __global int *state,
                               __global const int *tails, __global const int *heads,
                               __global const int *table, __global const uint *filter,
                               volatile __global int *removed, const uint mask, const int undo,
                               __global const uint4 *regions, ARENAS(int, edges))
{
    __local list_t list;
    set_list(&list, state + HELD);
    if (state[BAD] != INT_MAX)
        return;
    FOR_TILES (tile, &list) {
        FOR_UNITS (c, u, tile, &list) {
            const uint r = UNIT_AT(c, u, &list);
            if (r >= list.rows[c + 1])
                break;
            const uint4 row = rows[r];
            if (UNIT_IN(c, u) < row.z) {
                __global int *edge = ROW(edges, REGION(row.x), row.x);
                for (uint k = UNIT_IN(c, u), end = RUN_END(c, u, row.z); k < end; k++) {
                    if (undo && edge[k] < 0) {
                        edge[k] = ~edge[k];
                    } else if (!undo && found_in(table, filter, tails, heads, row.w, edge[k],
                                                 mask) != EMPTY) {
                        edge[k] = ~edge[k];
                        atomic_inc(&removed[r]);
                    }
                }
            }
            SKIP_ROW(c, u);
        }
    }
}

/* Mark the edges from and to vertices that are to be deleted. */
__kernel GROUP void batch_mark_vertices(__global const uint4 *rows, __global const int *state,
                                        __global const uchar *doomed,
                                        volatile __global int *removed,
                                        __global const uint4 *regions, ARENAS(int, edges))
{
    __local list_t list;
    set_list(&list, state + HELD);
    FOR_TILES (tile, &list) {
        FOR_UNITS (c, u, tile, &list) {
            const uint r = UNIT_AT(c, u, &list), k = UNIT_IN(c, u);
            if (r >= list.rows[c + 1])
                break;
            const uint4 row = rows[r];
            if (k >= row.z) {
                SKIP_ROW(c, u);
                continue;
            }
            __global int *edge = ROW(edges, REGION(row.x), row.x) + k;
            if (doomed[row.w] || doomed[*edge]) {
                *edge = ~*edge;
                atomic_inc(&removed[r]);
            }
        }
    }
}

/* Give each row a part of the lists of gaps and tails. begin[r]: its first place there. */
__kernel GROUP void batch_divide(__global const uint4 *rows, volatile __global int *state,
                                 __global const int *removed, __global int *begin)
{
    __local int slots[WARP_SLOTS];
    const int count = state[TOUCHED];
    FOR_ALL (r, count) {
        const int own = r < (uint)count ? removed[r] : 0;
        const int place = device_scan_unordered(own, &state[REMOVED], slots);
        if (r < (uint)count)
            begin[r] = place;
    }
}

/* List the gaps among the first edges of each row, as many as remain, and the edges behind them
 * that fill the gaps: their slots, in any order. */
__kernel GROUP void batch_gaps(__global const uint4 *rows, __global const int *state,
                               __global const int *removed, __global const int *begin,
                               volatile __global int *counts, __global uint *gaps,
                               __global uint *fillers, __global const uint4 *regions,
                               ARENAS(const int, edges))
{
    __local list_t list;
    set_list(&list, state + HELD);
    FOR_TILES (tile, &list) {
        FOR_UNITS (c, u, tile, &list) {
            const uint r = UNIT_AT(c, u, &list), k = UNIT_IN(c, u);
            if (r >= list.rows[c + 1])
                break;
            const uint4 row = rows[r];
            if (k >= row.z || removed[r] == 0) {
                SKIP_ROW(c, u);
                continue;
            }
            const int dead = ROW(edges, REGION(row.x), row.x)[k] < 0;
            const int behind = k >= row.z - (uint)removed[r];
            if (dead && !behind)
                gaps[begin[r] + atomic_inc(&counts[2 * r])] = row.x + k;
            else if (!dead && behind)
                fillers[begin[r] + atomic_inc(&counts[2 * r + 1])] = row.x + k;
        }
    }
}

/* Let rows be shorter that lose edges; others may be of vertices that there are no more. */
__kernel GROUP void batch_shorten(__global const uint4 *rows, __global const int *state,
                                  __global const int *removed, __global int *degree)
{
    const uint count = state[TOUCHED];
    FOR_ALL (r, count) {
        if (r < count && removed[r])
            degree[rows[r].w] = rows[r].z - removed[r];
    }
}
