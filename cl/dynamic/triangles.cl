/* triangles: the triangles that an update of an undirected container makes, or breaks.
 *
 * Purpose   Only the rows of the vertices of a batch are read. For an insertion the container has
 *           the new edges already, behind the old ones of their rows; for a deletion it has the old
 *           ones still, marked (deletion.cl). So each row says which of its edges *change*:
 *
 *             row, insertion   4 7 2 | 5 9      the degree is 3, and two edges were added
 *             row, deletion    4 ~7 2 ~5 9
 *
 *           Rows have no order. They become hash sets, with a bit for the edges that change. The
 *           triangles with a changing edge u-v are the neighbours w of u that are in the set of v, if
 *           u has fewer. The bits tell how many of the three edges change. A triangle with two or
 *           three is found at each of them, and counts at one: that whose opposite vertex is
 *           largest. So many are S1 - S2 / 2 + S3 / 3, the inclusion and exclusion of a batch: S1
 *           are the w of all changing edges, S2 how often an edge from w to u or v changes, and S3
 *           how often both do.
 *
 * Layout    tables[v]     of a vertex of the batch: where its set begins, and the edges of its
 *                         row, 0 if it does not change
 *           sets[]        a set has buckets of four slots, at least twice as many slots as edges:
 *                         2 neighbour + changes, or NO_EDGE. A bucket that is full goes on in the
 *                         next one. The list of the entries is behind the set, in the order of the
 *                         row:
 *
 *                           buckets   . 14 . .  5 . . 8   list   8 14 5
 *
 *           edges[]       the changing edges, as a list of rows of the classes of the shorter lists;
 *                         x, y: the ends, that of the shorter list first, z: its length. So its
 *                         entries are units of work, and a division finds the edge of one
 *           counts[v]     triangles at a vertex: not more than there are edges
 *           sums[3]       triangles with one, two and three changing edges: 64 bits in two words,
 *                         the low one first
 *
 * Parameters  those of blocks.h
 *
 * Cost      One read of the rows, one atomic operation and 12 to 16 bytes of sets for each of their
 *           edges; for each changing edge, one probe for each entry of the shorter list; up to three
 *           atomic operations for each triangle. 5 launches, 7 for an insertion.
 *
 * Source    D. Makkar, D. Bader, O. Green, exact and parallel triangle counting in dynamic graphs,
 *           HiPC 2017, https://davidbader.net/publication/2017-mbg/ (inclusion and exclusion in a
 *           batch); F. Busato, thesis, University of Verona, 2018, sections 17.0.5 and 18.4.4,
 *           https://iris.univr.it/handle/11562/979445. Hash sets in place of sorted rows, and one
 *           place for each triangle: ours.
 */
#include "dynamic/batch.h"

#define NO_EDGE 0xffffffffu

static inline uint key_of(const int w, const int changes)
{
    return 2 * (uint)w + (uint)changes;
}

/* The buckets of the set of so many edges. */
static inline uint buckets_for(const uint edges)
{
    return ROOM(class_for((edges + 1) / 2, 2));
}

/* The high bits choose the bucket of a neighbour, and the low bits its first slot there. */
static inline uint spread(const int w)
{
    uint h = (uint)w * 0x9e3779b1u;
    h ^= h >> 15;
    return h * 0x2c1b3c6du;
}

static inline uint bucket_after(const uint at, const uint buckets)
{
    return at + 1 < buckets ? at + 1 : 0;
}

/* The entry of a neighbour in a set, or NO_EDGE. Few buckets are full, so that nearly always one is
 * read. */
static inline uint entry_of(__global const uint *set, const uint buckets, const int w)
{
    uint at = mul_hi(spread(w), buckets), found, room;
    do {
        const uint4 keys = vload4(at, set);
        const uint4 others = keys | ~as_uint4(keys >> 1 == (uint4)((uint)w));
        const uint4 free = as_uint4(keys == (uint4)(NO_EDGE));
        found = others.x & others.y & others.z & others.w;
        room = free.x | free.y | free.z | free.w;
        at = bucket_after(at, buckets);
    } while (found == NO_EDGE && !room);
    return found;
}

/* Enter a key into a set; return whether it was not there. */
static inline int is_entered(volatile __global uint *set, const uint buckets, const uint key)
{
    const uint hash = spread((int)(key >> 1));
    uint bucket = mul_hi(hash, buckets), tried = 0;
    uint other = atomic_cmpxchg(&set[4 * bucket + hash % 4], NO_EDGE, key);
    while (other != NO_EDGE && other != key) {
        if (++tried % 4 == 0)
            bucket = bucket_after(bucket, buckets);
        other = atomic_cmpxchg(&set[4 * bucket + (hash + tried) % 4], NO_EDGE, key);
    }
    return other == NO_EDGE;
}

/* Divide the memory of sets among the vertices whose rows change; with `deleting`, among all. */
__kernel GROUP void triangles_divide(__global const int *touched, __global const int *degree,
                                     __global const uint *added, volatile __global int *state,
                                     __global uint2 *tables, const int deleting)
{
    __local int slots[WARP_SLOTS];
    const uint count = state[TOUCHED];
    FOR_ALL (j, count) {
        uint size = 0;
        if (j < count) {
            const int v = touched[j];
            const uint more = added[v] & ~MARK;
            size = more > 0 || deleting ? (uint)max(degree[v], 0) + more : 0;
        }
        const int own = size > 0 ? (int)(4 * buckets_for(size) + size) : 0;
        const int first = device_scan_unordered(own, &state[SLOTS], slots);
        if (j < count)
            tables[touched[j]] = (uint2)((uint)first, size);
    }
}

/* Enter the neighbours of rows into their sets and lists. A loop is in no triangle, and of equal
 * edges one counts: in the list the others are NO_EDGE. */
__kernel GROUP void triangles_enter(__global const uint4 *rows, __global const int *state,
                                    __global const int *degree, __global const uint2 *tables,
                                    volatile __global uint *sets, __global const uint4 *regions,
                                    ARENAS(const int, edges))
{
    __local list_t list;
    set_list(&list, state + HELD);
    FOR_RUNS (run, &list, rows) {
        const int v = run.row.w, old = degree[v];
        const uint2 own = tables[v];
        if (own.y == 0)
            continue;
        const uint buckets = buckets_for(own.y);
        __global const int *edge = ROW(edges, REGION(run.row.x), run.row.x);
        volatile __global uint *set = sets + own.x, *entries = set + 4 * buckets;
        for (uint k = run.from; k < run.to; k++) {
            const int marked = edge[k] < 0, w = marked ? ~edge[k] : edge[k];
            const uint key = key_of(w, marked || (int)k >= old);
            entries[k] = w != v && is_entered(set, buckets, key) ? key : NO_EDGE;
        }
    }
}

/* The ends of an edge, that of the shorter list first. */
static inline int2 shorter_first(__global const uint2 *tables, const int u, const int v)
{
    return tables[u].y <= tables[v].y ? (int2)(u, v) : (int2)(v, u);
}

/* The class of the shorter list of an edge. */
static inline int class_of_edge(__global const uint2 *tables, const int u, const int v)
{
    return class_for(min(tables[u].y, tables[v].y), 2);
}

/* Number the edges that change within the classes of their shorter lists: rank[i] of edge i of the
 * batch, or -1. The batch has the reverse of each edge, too; of equal edges one is in its table. */
__kernel GROUP void triangles_rank(__global const int *tails, __global const int *heads,
                                   __global const int *table, __global const uint *slot,
                                   __global const uint2 *tables, __global const uint *sets,
                                   __global int *rank, volatile __global int *classes,
                                   const int count)
{
    __local int numbers[2 * CLASSES];
#if PYAPSP_GROUP == 1
    class_begin(numbers);
#endif
    FOR_ALL (i, count) {
        int changes = 0, c = 0;
        if (i < (uint)count) {
            const int u = tails[i], v = heads[i];
            if (u < v && table[slot[i]] == (int)i && tables[u].y > 0) {
                __global const uint *set = sets + tables[u].x;
                changes = entry_of(set, buckets_for(tables[u].y), v) == key_of(v, 1);
            }
            c = changes ? class_of_edge(tables, u, v) : 0;
        }
        const int own = class_rank(changes, c, classes, numbers);
        if (i < (uint)count)
            rank[i] = changes ? own : -1;
    }
#if PYAPSP_GROUP == 1
    class_first(classes, numbers);
    FOR_ALL (i, count) {
        if (rank[i] >= 0)
            rank[i] += numbers[class_of_edge(tables, tails[i], heads[i])];
    }
#endif
}

/* List the edges that change. */
__kernel GROUP void triangles_list(__global const int *tails, __global const int *heads,
                                   __global const uint2 *tables, __global const int *rank,
                                   __global const int *classes, __global uint4 *edges,
                                   const int count)
{
    __local list_t list;
    set_list(&list, classes);
    FOR_ALL (i, count) {
        if (i < (uint)count && rank[i] >= 0) {
            const int2 ends = shorter_first(tables, tails[i], heads[i]);
            const uint entries = tables[ends.x].y;
            const int place = (int)list.rows[class_for(entries, 2)] + rank[i];
            edges[place] = (uint4)((uint)ends.x, (uint)ends.y, entries, 0);
        }
    }
}

/* Count the triangles of the edges that change; those of vertices change by `by`, 1 or -1. */
__kernel GROUP void triangles_count(__global const uint4 *edges, __global const int *classes,
                                    __global const uint2 *tables, __global const uint *sets,
                                    volatile __global int *counts, volatile __global uint *sums,
                                    const int by)
{
    __local list_t list;
    __local ulong parts[PYAPSP_GROUP];
    ulong one = 0, two = 0, three = 0;
    set_list(&list, classes);
    FOR_RUNS (run, &list, edges) {
        const int u = (int)run.row.x, v = (int)run.row.y;
        const uint buckets = buckets_for(tables[v].y);
        __global const uint *entries = sets + tables[u].x + 4 * buckets_for(tables[u].y);
        __global const uint *set = sets + tables[v].x;
        int found = 0;
        for (uint k = run.from; k < run.to; k++) {
            const uint key = entries[k];
            const int w = (int)(key >> 1);
            const uint match = key == NO_EDGE ? NO_EDGE : entry_of(set, buckets, w);
            if (match == NO_EDGE)
                continue;
            const int with_u = key & 1, with_v = match & 1;
            /* v is opposite to u-w, and u to v-w */
            if ((with_u && v > w) || (with_v && u > w))
                continue;
            one += !with_u && !with_v;
            two += with_u != with_v;
            three += with_u && with_v;
            found++;
            atomic_add(&counts[w], by);
        }
        if (found > 0) {
            atomic_add(&counts[u], by * found);
            atomic_add(&counts[v], by * found);
        }
    }
    for (int which = 0; which < 3; which++) {
        parts[GROUP_PLACE] = which == 0 ? one : which == 1 ? two : three;
        for (int step = PYAPSP_GROUP / 2; step > 0; step /= 2) {
            group_sync();
            if (GROUP_PLACE < step)
                parts[GROUP_PLACE] += parts[GROUP_PLACE + step];
        }
        if (GROUP_PLACE == 0) {
            const uint low = (uint)parts[0], high = (uint)(parts[0] >> 32);
            const uint before = atomic_add(&sums[2 * which], low);
            atomic_add(&sums[2 * which + 1], high + (before > UINT_MAX - low));
        }
        group_sync();
    }
}
