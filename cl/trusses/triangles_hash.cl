/* triangles_hash: triangles by a hash table for each vertex, in local memory.
 *
 * Purpose   A triangle has three vertices x, y, w. In the oriented rows (rows.cl) two of them have
 *           arcs to w. A group takes a vertex x and puts the heads of its arcs into a table. For
 *           each neighbour y with fewer oriented arcs than x, its heads w are looked up. So for
 *           each edge the shorter of the two rows is read, and the longer is the table: in R-MAT
 *           graphs that is half of what a search from the tail of each arc would read.
 *
 *           Vertices are divided by the lengths of their rows between two launches: small groups
 *           with small tables, and large ones. Groups take vertices from a list until it is empty.
 *           A row that is longer than half of the table is processed in pieces.
 *
 * Layout    SLOTS = 8, x with the heads 3, 9 and 12; `width` lanes share a row of a neighbour:
 *
 *             table   12  -   3   -   -   9   -   -      -: empty, -1
 *             hits     0  0   2   0   0   1   0   0      triangles with this head (COUNT 1, 2)
 *             y = 4: heads 3, 7, 9          y = 6: heads 3
 *
 * Parameters  PYAPSP_GROUP   64   work-items of a group
 *             PYAPSP_WIDTH    8   lanes for a row of a neighbour, which divides PYAPSP_GROUP
 *             PYAPSP_SLOTS  256   slots of the table, a power of two
 *             PYAPSP_COUNT    0   0: the number of triangles, 1: those of each vertex, 2: those of
 *                                 each edge
 *
 * Cost      For each edge a row of the shorter end, with about 1.3 reads of local memory for each
 *           entry, and two reads of `up` for each arc. COUNT 1 and 2 add an atomic operation in
 *           local memory for each triangle; COUNT 2 also one in global memory.
 *
 * Source    Hash tables, and a group or a warp for each vertex by degree: S. Pandey et al., TRUST,
 *           TPDS 32, 2021, doi:10.1109/TPDS.2021.3064892. The table of the longer row, open
 *           addressing, pieces, and the counts of edges: ours.
 */
#include "trusses/lists.h"
#ifndef PYAPSP_WIDTH
#define PYAPSP_WIDTH 8
#endif
#ifndef PYAPSP_SLOTS
#define PYAPSP_SLOTS 256
#endif
#ifndef PYAPSP_COUNT
#define PYAPSP_COUNT 0
#endif

#define WARPS (PYAPSP_GROUP / PYAPSP_WIDTH)
#define EMPTY (-1)
/* Heads of a piece. */
#define PIECE (PYAPSP_SLOTS / 2)

#if PYAPSP_GROUP == 1
static inline int claim(__local int *slot, const int head)
{
    const int old = *slot;
    if (old == EMPTY)
        *slot = head;
    return old;
}
#else
#define claim(slot, head) atomic_cmpxchg(slot, EMPTY, head)
#endif

/* Two lists of the vertices with at least two oriented arcs: those that fit a small table from the
 * front of `list`, the others from its end. counts has their numbers, 0 before. */
__kernel GROUP void hash_lists(__global const int *up, __global int *list, __global int *counts,
                               const int n, const int small)
{
    __local int slots[2];
    for (int low = get_group_id(0) * PYAPSP_GROUP; low < n; low += get_global_size(0)) {
        const int v = low + get_local_id(0), length = v < n ? up[v + 1] - up[v] : 0;
        const int is_short = length >= 2 && length <= small, is_long = length >= 2 && !is_short;
        const int front = place_in_list(is_short, &counts[0], slots);
        const int back = place_in_list(is_long, &counts[1], slots);
        if (length >= 2)
            list[is_short ? front : n - 1 - back] = v;
    }
}

/* Multiplicative hashing, for a table of 2^(32 - shift) slots. */
static inline uint place_of(const int head, const int shift)
{
    return ((uint)head * 0x9e3779b1u) >> shift;
}

/* first and heads are all rows, up and up_heads the oriented ones, ids the edges of the arcs of
 * `heads`. Vertices are list[start + i step] for i below *count, and *next is 0. `found` is a
 * sum for each group (COUNT 0), or a count for each vertex or edge. */
__kernel GROUP void hash_count(__global const int *first, __global const int *heads,
                               __global const int *up, __global const int *up_heads,
                               __global const int *ids, __global const int *list, const int start,
                               const int step, __global const int *count, __global int *next,
#if PYAPSP_COUNT == 0
                               __global ulong *found)
#else
                               __global int *found)
#endif
{
    __local int table[PYAPSP_SLOTS], taken;
#if PYAPSP_COUNT > 0
    __local int hits[PYAPSP_SLOTS], of_x;
#else
    __local ulong sums[PYAPSP_GROUP];
    ulong sum = 0;
#endif
#if PYAPSP_COUNT == 2
    __local int places[PYAPSP_SLOTS];
#endif
    const int item = get_local_id(0), lane = item % PYAPSP_WIDTH, warp = item / PYAPSP_WIDTH;
    const int all = *count;
    for (;;) {
        const int turn = next_number(next, &taken);
        if (turn >= all)
            break;
        const int x = list[start + turn * step], row = up[x], length = up[x + 1] - row;
        const int arcs = first[x + 1];
        for (int from = 0; from < length; from += PIECE) {
            const int piece = min(PIECE, length - from);
            int bits = 2;
            while ((1 << bits) < 2 * piece)
                bits++;
            const int slots = 1 << bits, shift = 32 - bits, last = slots - 1;
            for (int s = item; s < slots; s += PYAPSP_GROUP) {
                table[s] = EMPTY;
#if PYAPSP_COUNT > 0
                hits[s] = 0;
#endif
            }
#if PYAPSP_COUNT == 1
            if (item == 0)
                of_x = 0;
#endif
            LOCAL_SYNC();
            for (int p = item; p < piece; p += PYAPSP_GROUP) {
                const int head = up_heads[row + from + p];
                uint s = place_of(head, shift);
                while (claim(&table[s], head) != EMPTY)
                    s = (s + 1) & last;
#if PYAPSP_COUNT == 2
                places[s] = row + from + p;
#endif
            }
            LOCAL_SYNC();
#if PYAPSP_COUNT == 1
            int own = 0;
#endif
            for (int arc = first[x] + warp; arc < arcs; arc += WARPS) {
                const int y = heads[arc], begin = up[y], end = up[y + 1];
                if (end - begin > length || (end - begin == length && y >= x))
                    continue;
#if PYAPSP_COUNT > 0
                int of_y = 0;
#endif
                for (int place = begin + lane; place < end; place += PYAPSP_WIDTH) {
                    const int w = up_heads[place];
                    uint s = place_of(w, shift);
                    int there = table[s];
                    while (there != w && there != EMPTY) {
                        s = (s + 1) & last;
                        there = table[s];
                    }
#if PYAPSP_COUNT == 0
                    sum += there == w;
#else
                    if (there == w) {
                        LOCAL_ADD(&hits[s], 1);
                        of_y++;
#if PYAPSP_COUNT == 2
                        atomic_inc(&found[place]);
#endif
                    }
#endif
                }
#if PYAPSP_COUNT == 1
                if (of_y > 0)
                    atomic_add(&found[y], of_y);
                own += of_y;
#elif PYAPSP_COUNT == 2
                if (of_y > 0)
                    atomic_add(&found[ids[arc]], of_y);
#endif
            }
#if PYAPSP_COUNT == 1
            if (own > 0)
                LOCAL_ADD(&of_x, own);
#endif
            LOCAL_SYNC();
#if PYAPSP_COUNT > 0
            for (int s = item; s < slots; s += PYAPSP_GROUP)
                if (hits[s] > 0)
#if PYAPSP_COUNT == 1
                    atomic_add(&found[table[s]], hits[s]);
            if (item == 0 && of_x > 0)
                atomic_add(&found[x], of_x);
#else
                    atomic_add(&found[places[s]], hits[s]);
#endif
            LOCAL_SYNC();
#endif
        }
    }
#if PYAPSP_COUNT == 0
    sums[item] = sum;
    LOCAL_SYNC();
    if (item == 0) {
        for (int other = 1; other < PYAPSP_GROUP; other++)
            sum += sums[other];
        found[get_group_id(0)] = sum;
    }
#endif
}
