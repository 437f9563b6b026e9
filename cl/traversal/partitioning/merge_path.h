/* Chunks of items and units together: where each begins, and the owners of its units.
 *
 * Purpose   The ends of the items and the units are merged to one list, and a group takes as many of
 *           its entries as every other. So empty items count, and the offsets of a chunk always fit
 *           its buffer.
 *
 * Layout    See owners.h. Items of 3, 0, 1 and 2 units: an entry of the list is a unit, or an item (the
 *           letters) that ends after its units.
 *
 *             list        0 1 2 A B 3 C 4 5 D        a diagonal is a place in this list
 *             parts       0     |  1      | 3        of diagonals 0, 4 and 8: the item there
 *             diagonal d of item i is unit d - i
 *
 * Parameters  those of chunks.h; PYAPSP_EACH are entries of the list
 *
 * Source    O. Green, R. McColl, D. A. Bader, GPU merge path, ICS 2012, doi:10.1145/2304576.2304621.
 */
#ifndef PARTITIONING_MERGE_PATH_H
#define PARTITIONING_MERGE_PATH_H
#include "traversal/partitioning/chunks.h"

/* The item at which chunk c of `size` entries begins: the number of items that end before. */
static inline int merged_part(__global const int *offsets, const long c, const int size,
                              const int items, const int units)
{
    const long diagonal = min(c * size, (long)items + units);
    long low = max(diagonal - units, 0L), high = min(diagonal, (long)items);
    while (low < high) {
        const long middle = (low + high) / 2;
        if (offsets[middle + 1] <= diagonal - middle - 1)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Put the owners of the units of chunk c into owner_of, and their number into *count; return the
 * first of these units. A call by all work-items of the group. `size` is GROUP EACH, `slice` has two
 * ints more, and owner_of as many; other work-items may read it until the next group_sync(). */
static inline int stage_merged(__global const int *offsets, __global const int *parts,
                               const int items, const int units, const int c, const int size,
                               __local int *slice, __local int *owner_of, int *count)
{
    const long all = (long)items + units, begin = (long)c * size;
    const int entries = min((long)size, all - begin), low = parts[c], high = parts[c + 1];
    /* ends of the items low .. high; there is no item `items` */
    const int length = min(high, items - 1) - low + 1;
    load_slice(offsets + low + 1, length, slice);
    group_sync();
    const int first = begin - low; /* the first unit of the chunk */
    *count = entries - (high - low);
    const int from = min(GROUP_PLACE * PYAPSP_EACH, entries);
    const int to = min(from + PYAPSP_EACH, entries);
    int least = max(from - *count, 0), item = min(from, length);
    while (least < item) {
        const int middle = (least + item) / 2;
        if (slice[middle] <= first + from - middle - 1)
            least = middle + 1;
        else
            item = middle;
    }
    for (int entry = from; entry < to; entry++) {
        const int unit = entry - item; /* of those of the chunk */
        if (item < length && slice[item] <= first + unit)
            item++;
        else
            owner_of[unit] = low + item;
    }
    group_sync();
    return first;
}

#endif /* PARTITIONING_MERGE_PATH_H */
