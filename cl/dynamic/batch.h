/* What the kernels of an update share: its state, and the table of its edges.
 *
 *     state          BAD       the least edge that has no vertices, or INT_MAX
 *                    TOUCHED   vertices of the batch
 *                    KEPT      new edges
 *                    REMOVED   edges to delete
 *                    LOOPS     loops that came twice
 *                    HELD + c  rows of the batch, NEED + c: blocks that are needed, LEFT + c:
 *                              blocks that are left, by class
 *                    FREED     and then the blocks that were freed in each region
 *
 *     vertices       degree[v]  edges of v; -1: there is no such vertex
 *                    place[v]   its block, or NOWHERE
 *                    added[v]   0 between batches; new edges of v in a batch, and MARK if the
 *                               vertex is in `touched` without a new edge
 *     of a batch     touched[j] each tail once, in any order
 *                    rows[]     see blocks.h; x: place, y: new place, z: edges, w: vertex
 *     edges          table      an open hash table of edge numbers; slot[i]: the place of the edge
 *                               in it; equal edges have one place, with the first one or the last
 *                               one of them
 *                    filter     a bit for the hash of each edge, 8 for each place of the table
 */
#ifndef DYNAMIC_BATCH_H
#define DYNAMIC_BATCH_H
#include "dynamic/blocks.h"

#define BAD 0
#define TOUCHED 1
#define KEPT 2
#define REMOVED 3
#define LOOPS 4
#define HELD 16
#define NEED 80
#define LEFT 144
#define FREED 208

#define MARK 0x80000000u
#define EMPTY -1

/* The class of the block of a vertex. */
static inline int class_at(__global const uint4 *regions, const uint place)
{
    return place == NOWHERE ? NO_BLOCK : (int)CLASS_OF(REGION(place));
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

#endif /* DYNAMIC_BATCH_H */
