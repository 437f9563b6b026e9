/* Chunks of units: where each begins among the items, and the owners of its units.
 *
 * Purpose   The two phases of a balanced partition, for any kernel with items that own units. The
 *           units are divided into chunks of equal size. The *partition*, one work-item for each
 *           chunk, searches the owner of its first unit. In the *expansion* a group takes a chunk.
 *           It copies the *slice* of the offsets that belong to the chunk to local memory; each of
 *           its work-items searches the owner of a unit there, and goes on to the next units.
 *
 * Layout    See owners.h. Chunks of 4 units:
 *
 *             unit       0 1 2 3   4 5 6 7   8           parts   0   3   4   4
 *             owner      0 0 0 2   3 3 4 4   4           the last one is the owner of the last unit
 *
 *           The slice of chunk c are the offsets of the items parts[c] .. parts[c + 1] + 1, so it
 *           includes where the last of them ends:
 *
 *             chunk 1: items 3 and 4, slice 4 6 9
 *
 *           With empty items a slice may have any length. If it does not fit its buffer, the owners
 *           are searched in the slice in global memory, one search for each unit.
 *
 * Use       A group that does other work than writing owners:
 *
 *             __local int slice[CAPACITY], owner_of[PYAPSP_GROUP * PYAPSP_EACH];
 *             for (int c = get_group_id(0); c < chunks; c += get_num_groups(0)) {
 *                 const uint first = (uint)c * (PYAPSP_GROUP * PYAPSP_EACH);
 *                 stage_owners(offsets, parts, units, c, slice, CAPACITY, owner_of);
 *                 for (int p = GROUP_PLACE; p < GROUP * EACH && first + p < units; p += GROUP)
 *                     ... first + p is a unit of the item owner_of[p] ...
 *                 group_sync();
 *             }
 *
 * Parameters  those of owners.h, and
 *             PYAPSP_EACH      8   units of a work-item
 *             PYAPSP_PREFETCH  0   1: a slice is read into registers, several offsets at a time,
 *                                  before it is written to local memory
 *
 * Source    A. Davidson et al., IPDPS 2014, doi:10.1109/IPDPS.2014.45 (two phases); F. Busato,
 *           N. Bombieri, TPDS 28, 2017, doi:10.1109/TPDS.2016.2631166 (kinds of search). Searches
 *           that return a predecessor for any x, the bound on interpolation, and slices that do not
 *           fit: ours.
 */
#ifndef PARTITIONING_CHUNKS_H
#define PARTITIONING_CHUNKS_H
#include "traversal/partitioning/owners.h"
#ifndef PYAPSP_EACH
#define PYAPSP_EACH 8
#endif
#ifndef PYAPSP_PREFETCH
#define PYAPSP_PREFETCH 0
#endif

/* Kinds of search. */
#define STANDARD 0
#define OPTIMISED 1
#define INTERPOLATION 2

/* Return an item if it is the owner, or leave out the items on its wrong side. */
#define NARROW(middle)                                                                             \
    if (a[middle] > x)                                                                             \
        high = middle - 1;                                                                         \
    else if (a[middle + 1] <= x)                                                                   \
        low = middle + 1;                                                                          \
    else                                                                                           \
        return middle;

/* Binary search that stops when it meets the owner: it reads where an item begins and where it
 * ends, up to 2 log2 n values. a has n + 1 entries, a[0] <= x < a[n]. */
static inline int standard_search(__global const int *a, const int n, const int x)
{
    int low = 0, high = n - 1;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        NARROW(middle)
    }
    return low;
}

/* Steps of an interpolation search before it becomes a binary search. */
#define INTERPOLATIONS 32

/* Search at the place where x would be if the values between the bounds were on a line: about
 * log log n steps if they nearly are. The owner is in [low, high]. */
static inline int interpolation_search(__global const int *a, const int n, const int x)
{
    int low = 0, high = n - 1;
    for (int step = 0; step < INTERPOLATIONS && low < high; step++) {
        const int from = a[low], to = a[high + 1]; /* from <= x < to */
        int middle = low + (int)((ulong)(x - from) * (ulong)(high - low) / (ulong)(to - from));
        NARROW(middle)
    }
    return low + predecessor_global(a + low, high - low + 1, x);
}

/* The item that owns a unit: the i with offsets[i] <= unit < offsets[i + 1]. */
static inline int owner_of_unit(__global const int *offsets, const int items, const int unit,
                                const int kind)
{
    return kind == STANDARD        ? standard_search(offsets, items, unit)
           : kind == INTERPOLATION ? interpolation_search(offsets, items, unit)
                                   : predecessor_global(offsets, items, unit);
}

/* The partition, for the work-item of chunk c in 0 .. chunks: the last one is the end. There is at
 * least one unit. */
static inline void find_part(__global const int *offsets, __global int *parts, const int c,
                             const int size, const int items, const int units, const int kind)
{
    const uint first = (uint)c * size;
    parts[c] = owner_of_unit(offsets, items, min(first, (uint)units - 1), kind);
}

/* The number of offsets of the slice from item `low` to the item `high` with its end. */
#define SLICE_LENGTH(low, high) ((high) - (low) + 2)

/* Copy a slice to local memory: a call by all work-items of the group; group_sync() must follow. */
static inline void load_slice(__global const int *from, const int length, __local int *slice)
{
    int i = GROUP_PLACE;
#if PYAPSP_PREFETCH
    for (; i + 3 * PYAPSP_GROUP < length; i += 4 * PYAPSP_GROUP) {
        const int a = from[i], b = from[i + PYAPSP_GROUP];
        const int c = from[i + 2 * PYAPSP_GROUP], d = from[i + 3 * PYAPSP_GROUP];
        slice[i] = a;
        slice[i + PYAPSP_GROUP] = b;
        slice[i + 2 * PYAPSP_GROUP] = c;
        slice[i + 3 * PYAPSP_GROUP] = d;
    }
#endif
    for (; i < length; i += PYAPSP_GROUP)
        slice[i] = from[i];
}

/* The owner of x at or after item i of a slice. */
static inline int walk(__local const int *slice, int i, const uint x)
{
    while (x >= (uint)slice[i + 1])
        i++;
    return i;
}

/* Put the owners of the units of chunk c, GROUP EACH units at most, into owner_of: a call by all
 * work-items of the group, in groups of any number of chunks. `slice` has `capacity` ints. */
static inline void stage_owners(__global const int *offsets, __global const int *parts,
                                const int units, const int c, __local int *slice,
                                const int capacity, __local int *owner_of)
{
    const int low = parts[c], length = SLICE_LENGTH(low, parts[c + 1]), fits = length <= capacity;
    load_slice(offsets + low, fits ? length : 0, slice);
    group_sync();
    int p = GROUP_PLACE * PYAPSP_EACH;
    const uint first = (uint)c * (PYAPSP_GROUP * PYAPSP_EACH);
    const int end = (int)min((uint)p + PYAPSP_EACH, (uint)units - min(first, (uint)units));
    if (!fits) {
        for (; p < end; p++)
            owner_of[p] = low + predecessor_global(offsets + low, length, first + p);
    } else if (p < end) {
        int i = predecessor_local(slice, length, first + p);
        for (; p < end; p++) {
            i = walk(slice, i, first + p);
            owner_of[p] = low + i;
        }
    }
    group_sync();
}

#endif /* PARTITIONING_CHUNKS_H */
