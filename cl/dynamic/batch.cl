/* batch: the edges of an update, and where they go.
 *
 * Purpose   Insert and find many edges in few launches, without a sort. To insert, atomics count the
 *           new edges of each tail, which gives every edge its place in its row; manager.cl finds
 *           larger blocks for rows that outgrow theirs, and columns.cl writes the edges.
 *             Where an edge may be there already, the batch goes into a hash table first, in which
 *           equal edges meet. Then the rows of its tails are read once, and each neighbour is looked
 *           up in the table. Deletion (deletion.cl) and queries do the same.
 *             On a CPU a large batch lists its tails in the order of their numbers.
 *
 * Layout    See batch.h. tails[i], heads[i]: the batch; where[i]: the place of edge i in the row of
 *           its tail, or -1:
 *
 *             batch     0->5  2->7  0->6        degree   0: 3   2: 1
 *             where        3     1     4
 *
 * Parameters  those of blocks.h
 *
 * Cost      Insertion without a look for duplicates: 3 atomics and about 40 bytes of traffic for
 *           each edge, and twice the edges of the rows that move. With it, 3 more probes of the
 *           table for an edge, and one for each edge of the tails. 5 to 9 launches.
 *
 * Source    F. Busato, thesis, University of Verona, 2018, section 18.2, algorithms 13 to 15,
 *           https://iris.univr.it/handle/11562/979445; O. Green, D. Bader et al., Hornet, HPEC
 *           2018, doi:10.1109/HPEC.2018.8547541. Counting in place of the sort, and the hash table:
 *           ours.
 */
#include "dynamic/batch.h"

/* Whether both ends of an edge are vertices; else the least such edge is noted. */
static inline int is_edge(const uint i, const int tail, const int head,
                          __global const int *degree, volatile __global int *state, const int n)
{
    if (tail >= 0 && tail < n && head >= 0 && head < n && degree[tail] >= 0 && degree[head] >= 0)
        return 1;
    atomic_min(&state[BAD], (int)i);
    return 0;
}

/* Copy the edges of a caller; with `mirrored`, the reverse of each one comes behind it. */
__kernel GROUP void batch_copy(__global const int *tails, __global const int *heads,
                               __global int *own_tails, __global int *own_heads, const int count,
                               const int mirrored)
{
    FOR_ALL (i, count) {
        if (i < (uint)count) {
            const uint j = i << mirrored;
            own_tails[j] = tails[i];
            own_heads[j] = heads[i];
            if (mirrored) {
                own_tails[j + 1] = heads[i];
                own_heads[j + 1] = tails[i];
            }
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

/* Take the edges of rows as new ones: those of vertex v begin at first[v]. */
__kernel GROUP void batch_rows(__global const long *first, __global uint *added,
                               __global int *touched, const int start, const int count)
{
    FOR_ALL (i, count) {
        if (i < (uint)count) {
            const int v = start + (int)i;
            added[v] = (uint)(first[v + 1] - first[v]);
            touched[i] = v;
        }
    }
}

/* Give each edge a place behind those of its tail. If the batch has the reverse of each edge behind
 * it, a loop comes twice. */
__kernel GROUP void batch_count(__global const int *tails, __global const int *heads,
                                __global const int *degree, volatile __global uint *added,
                                __global int *where, __global int *touched,
                                volatile __global int *state, const int n, const int count,
                                const int mirrored, const int listed)
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
        first = first && listed;
        const int j = device_rank_unordered(first, &state[TOUCHED], slots);
        if (first)
            touched[j] = tail;
    }
}

#if PYAPSP_AHEAD > 0
/* Prefetch what batch_enter reads and writes for an edge: its degree, for the line of the filter,
 * is there when the edge is nearer. */
static inline void prefetch_edge(const uint i, __global const int *tails,
                                 __global const int *heads, __global const int *degree,
                                 volatile __global uint *added, volatile __global int *table,
                                 volatile __global uint *filter, const int n, const int count,
                                 const uint mask)
{
    const uint far = min(i + 2 * PYAPSP_AHEAD, (uint)count - 1);
    const uint near = min(i + PYAPSP_AHEAD, (uint)count - 1);
    PREFETCH(&degree[tails[far]]);
    PREFETCH(&degree[heads[far]]);
    PREFETCH(&added[tails[far]]);
    PREFETCH(&table[hash_of(tails[far], heads[far]) & mask]);
    const int tail = tails[near];
    if (tail >= 0 && tail < n)
        PREFETCH(&filter[filter_word(tail, degree[tail], hash_of(tail, heads[near]), mask)]);
}
#endif

/* Enter the edges into the table; of equal ones the last counts, or the first. */
__kernel GROUP void batch_enter(__global const int *tails, __global const int *heads,
                                __global const int *degree, volatile __global uint *added,
                                volatile __global int *table, __global uint *slot,
                                volatile __global uint *filter, __global int *touched,
                                volatile __global int *state, const int n, const int count,
                                const uint mask, const int last, const int listed)
{
    __local int slots[WARP_SLOTS];
    FOR_ALL (i, count) {
        int first = 0, tail = 0;
        if (i < (uint)count) {
#if PYAPSP_AHEAD > 0
            prefetch_edge(i, tails, heads, degree, added, table, filter, n, count, mask);
#endif
            tail = tails[i];
            const int head = heads[i];
            if (is_edge(i, tail, head, degree, state, n)) {
                const uint hash = hash_of(tail, head);
                uint at = hash & mask;
                const uint word = filter_word(tail, degree[tail], hash, mask);
                atomic_or(&filter[word], filter_bits(hash));
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
                first = atomic_or(&added[tail], MARK) == 0 && listed;
            }
        }
        const int j = device_rank_unordered(first, &state[TOUCHED], slots);
        if (first)
            touched[j] = tail;
    }
}

#if PYAPSP_GROUP == 1
/* List the vertices of the batch in the order of their numbers, in which they are in memory. */
__kernel GROUP void batch_order(__global const uint *added, __global int *touched,
                                volatile __global int *state, const int n)
{
    int own = 0;
    FOR_ALL (v, n)
        own += added[v] != 0;
    int j = atomic_add(&state[TOUCHED], own);
    FOR_ALL (v, n) {
        if (added[v])
            touched[j++] = v;
    }
}
#endif

/* Number the vertices of the batch within their classes. */
__kernel GROUP void batch_hold(__global const int *touched, __global const uint *place,
                               __global const uint4 *regions, __global int *rank,
                               volatile __global int *state)
{
    __local int sums[2 * CLASSES];
    const uint count = state[TOUCHED];
#if PYAPSP_GROUP == 1
    class_begin(sums);
#endif
    FOR_ALL (j, count) {
        const int there = j < count;
        const int c = there ? class_at(regions, place[touched[j]]) : 0;
        const int own = class_rank(there, c, &state[HELD], sums);
        if (there)
            rank[j] = own;
    }
#if PYAPSP_GROUP == 1
    class_first(&state[HELD], sums);
    FOR_ALL (j, count)
        rank[j] += sums[class_at(regions, place[touched[j]])];
#endif
}

/* Make the list of the rows of these vertices, with `new` also of the edges that are new in them. */
__kernel GROUP void batch_list(__global const int *touched, __global const int *rank,
                               __global const int *degree, __global const uint *added,
                               __global const uint *place, __global const uint4 *regions,
                               __global const int *state, __global uint4 *rows, const int new)
{
    __local list_t list;
    const uint count = state[TOUCHED];
    set_list(&list, state + HELD);
    FOR_ALL (j, count) {
        if (j < count) {
            const int v = touched[j], c = class_at(regions, place[v]);
            const uint size = (uint)max(degree[v], 0) + (new ? added[v] & ~MARK : 0);
            rows[list.rows[c] + rank[j]] = (uint4)(place[v], 0, size, v);
        }
    }
}

/* Look for the edges of rows in the table. at[i]: the first place of edge i in its row. */
__kernel GROUP void batch_match(__global const uint4 *rows, volatile __global int *state,
                                __global const int *tails, __global const int *heads,
                                __global const int *table, __global const uint *filter,
                                volatile __global int *at, const uint mask,
                                __global const uint4 *regions, ARENAS(const int, edges))
{
    __local list_t list;
    set_list(&list, (__global const int *)state + HELD);
    if (state[BAD] != INT_MAX)
        return;
    FOR_RUNS (run, &list, rows) {
        __global const int *edge = ROW(edges, REGION(run.row.x), run.row.x);
        PREFETCH_SOUGHT(&run, &list, rows, edges, filter, mask);
        for (uint k = run.from; k < run.to; k++) {
            const int i = found_in(table, filter, tails, heads, run.row, edge[k], mask);
            if (i != EMPTY && atomic_min(&at[i], (int)k) != INT_MAX)
                atomic_inc(&state[EQUAL]);
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
#if PYAPSP_AHEAD > 0
        PREFETCH(&table[slot[min(i + PYAPSP_AHEAD, (uint)count - 1)]]);
        PREFETCH(&degree[tails[min(i + PYAPSP_AHEAD, (uint)count - 1)]]);
        PREFETCH(&added[tails[min(i + PYAPSP_AHEAD, (uint)count - 1)]]);
#endif
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
