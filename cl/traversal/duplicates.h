/* Duplicates among the vertices that a work-group has found: tables in local memory.
 *
 * Several work-items may find the same vertex before one of them has stored its level. Each
 * work-item has up to PYAPSP_QUEUE found vertices in found[j * PYAPSP_GROUP + place], where that
 * index is the *number* of the entry. It enters each in a table, at a hash of the vertex, and drops
 * it if another entry with the same vertex is there afterwards. Of the entries with one vertex, the
 * last that was written is never dropped. If the table has another vertex there (a conflict), the
 * entry is kept, and may be a duplicate that is not detected.
 *
 *     found   7 3 7 5   table with h(v) = v % 4, after all writes    kept   . 3 7 5
 *                         0:  .    1:  5 (3)   2:  .   3:  7 (2)     3 is a conflict
 *     number  0 1 2 3                                                0 is a duplicate of 2
 *
 *     PYAPSP_DUPLICATES
 *       0   none is looked for
 *       1   a table of a group has numbers, the vertices are in found: words of 32 bits
 *       2   a table of a group has pairs (vertex, number) in words of 64 bits; atomics of 64 bits
 *           in local memory. Warps do not wait for each other, as in the source, so duplicates of
 *           two warps are detected or not, as it happens.
 *       3   a table for each warp, with vertices and numbers in separate words
 *
 *     macro              default  meaning
 *     PYAPSP_QUEUE       4        entries of a work-item, at most 32
 *     PYAPSP_DUPLICATES  1        see above
 *     PYAPSP_TABLE       256      entries of the table: a power of two, at least one for a warp
 *
 * Sources: 2: hash64 in F. Busato's thesis, 2018, section 6.4. 1: the same in words of 32 bits, ours.
 * 3: D. Merrill, M. Garland, A. Grimshaw, PPoPP 2012, doi:10.1145/2145816.2145832.
 */
#ifndef TRAVERSAL_DUPLICATES_H
#define TRAVERSAL_DUPLICATES_H
#ifndef PYAPSP_QUEUE
#define PYAPSP_QUEUE 4
#endif
#ifndef PYAPSP_DUPLICATES
#define PYAPSP_DUPLICATES 1
#endif
#ifndef PYAPSP_TABLE
#define PYAPSP_TABLE 256
#endif

#include "common/logical_warp.h"

#if PYAPSP_DUPLICATES == 2
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
typedef ulong entry;
#define TABLE_WORDS PYAPSP_TABLE
#elif PYAPSP_DUPLICATES == 3
typedef int entry;
#define TABLE_WORDS (2 * PYAPSP_TABLE)
#elif PYAPSP_DUPLICATES == 1
typedef int entry;
#define TABLE_WORDS PYAPSP_TABLE
#else
typedef int entry;
#define TABLE_WORDS 1
#endif

/* The number of an entry of this work-item. */
#define FOUND(j) ((j) * PYAPSP_GROUP + GROUP_PLACE)

static inline int hash_of(const int v, const int size)
{
    return (int)(((uint)v * 2654435769u) >> 8) & (size - 1);
}

/* Return a bit for each of the `count` entries of this work-item, 0 for those that are dropped. All
 * work-items of the group call it. dropped and conflicts are increased. */
static inline uint without_duplicates(const int count, __local const int *found,
                                      __local entry *table, int *dropped, int *conflicts)
{
    uint keep = count == 32 ? ~0u : (1u << count) - 1;
#if PYAPSP_DUPLICATES == 1
    for (int j = 0; j < count; j++)
        atomic_xchg(&table[hash_of(found[FOUND(j)], PYAPSP_TABLE)], FOUND(j));
    group_sync();
    for (int j = 0; j < count; j++) {
        const int v = found[FOUND(j)], there = table[hash_of(v, PYAPSP_TABLE)];
        const int same = there != FOUND(j) && found[there] == v;
        keep &= ~((uint)same << j);
        *dropped += same;
        *conflicts += there != FOUND(j) && !same;
    }
    group_sync();
#elif PYAPSP_DUPLICATES == 2
    for (int j = 0; j < PYAPSP_QUEUE; j++) {
        const int v = j < count ? found[FOUND(j)] : 0, hash = hash_of(v, PYAPSP_TABLE);
        const ulong mine = (ulong)(uint)v << 32 | (uint)FOUND(j);
        if (j < count)
            atom_xchg(&table[hash], mine);
        warp_sync();
        const ulong there = j < count ? atom_add(&table[hash], 0) : mine;
        const int same = there != mine && (int)(there >> 32) == v;
        keep &= ~((uint)same << j);
        *dropped += same;
        *conflicts += there != mine && !same;
    }
#elif PYAPSP_DUPLICATES == 3
    __local int *vertices = table + WARP_NUMBER * (PYAPSP_TABLE / WARPS);
    __local int *numbers = vertices + PYAPSP_TABLE;
    for (int j = 0; j < PYAPSP_QUEUE; j++) {
        const int v = j < count ? found[FOUND(j)] : 0;
        const int hash = hash_of(v, PYAPSP_TABLE / WARPS);
        if (j < count)
            atomic_xchg(&vertices[hash], v);
        warp_sync();
        const int mine = j < count && vertices[hash] == v;
        if (mine)
            atomic_xchg(&numbers[hash], FOUND(j));
        warp_sync();
        const int same = mine && numbers[hash] != FOUND(j);
        keep &= ~((uint)same << j);
        *dropped += same;
        *conflicts += j < count && !mine;
        warp_sync();
    }
#endif
    return keep;
}

#endif /* TRAVERSAL_DUPLICATES_H */
