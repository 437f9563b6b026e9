/* What the kernels of an update share: its state, and the table of its edges.
 *
 *     state          BAD       the least edge that has no vertices, or INT_MAX
 *                    TOUCHED   vertices of the batch
 *                    KEPT      new edges
 *                    REMOVED   edges to delete
 *                    LOOPS     loops that came twice
 *                    EQUAL     edges of rows that are equal to another one found there
 *                    SLOTS     slots of sets of neighbours (triangles.cl)
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
 *                    filter     a bit for each edge, of 8 for each place of the table; those of a
 *                               tail are in one line of 64 bytes for each 32 edges of its row,
 *                               so that a row is looked up in few lines
 */
#ifndef DYNAMIC_BATCH_H
#define DYNAMIC_BATCH_H
#include "dynamic/blocks.h"

#define BAD 0
#define TOUCHED 1
#define KEPT 2
#define REMOVED 3
#define LOOPS 4
#define EQUAL 5
#define SLOTS 6
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

static inline uint hash_of(const int tail, const int head)
{
    const uint spread = (uint)head * 0x85ebca77u;
    uint h = (uint)tail * 0x9e3779b1u ^ (spread << 15 | spread >> 17);
    h ^= h >> 15;
    h *= 0x2c1b3c6du;
    return h ^ h >> 13;
}

/* The word of the filter with the bits of an edge, whose tail has so many edges, and the bits. */
static inline uint filter_word(const int tail, const int degree, const uint hash, const uint mask)
{
    const uint lines = 1 + (uint)degree / 32;
    return ((uint)tail * 0x9e3779b1u + (uint)((ulong)hash * lines >> 32)) * 16 + hash % 16 & mask / 4;
}

static inline uint filter_bits(const uint hash)
{
    return 1u << hash / 16 % 32 | 1u << hash / 512 % 32;
}

/* The number of the edge in the table that is equal to edge `head` of a row, or -1. */
static inline int found_in(__global const int *table, __global const uint *filter,
                           __global const int *tails, __global const int *heads, const uint4 row,
                           const int head, const uint mask)
{
    const int tail = row.w;
    const uint hash = hash_of(tail, head);
    const uint bits = filter_bits(hash);
    if ((filter[filter_word(tail, row.z, hash, mask)] & bits) != bits)
        return EMPTY;
    uint at = hash & mask;
    int i = table[at];
    while (i != EMPTY && (tails[i] != tail || heads[i] != head)) {
        at = (at + 1) & mask;
        i = table[at];
    }
    return i;
}

/* Prefetch the row whose edges a group of one work-item looks up soon, and its part of the filter. */
#if PYAPSP_AHEAD > 0
#define PREFETCH_SOUGHT(run, list, rows, edges, filter, mask)                                      \
    do {                                                                                           \
        const uint4 soon = row_soon(run, list, rows);                                              \
        PREFETCH_ROW_OF(soon, edges);                                                              \
        PREFETCH(&(filter)[filter_word(soon.w, 0, 0, mask)]);                                      \
    } while (0)
#else
#define PREFETCH_SOUGHT(run, list, rows, edges, filter, mask)
#endif

#endif /* DYNAMIC_BATCH_H */
