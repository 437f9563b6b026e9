/* partition_two_phase: chunks of equal size for groups, equal parts of them for work-items.
 *
 * Purpose   All groups and all work-items write the same number of units. There are two forms:
 *
 *             chunks      a launch divides the units: it searches where each chunk begins. A
 *                         second one writes owners: each work-item EACH neighbouring units, from
 *                         one search
 *             merge-path  the units and the items together are divided. The ends of the items and
 *                         the units are merged to one list; a group takes GROUP EACH entries of
 *                         it, and a work-item EACH. Empty items count, so a slice always fits
 *
 * Layout    See chunks.h for the first form, and merge_path.h for the other. There owners go through
 *           local memory, so that neighbouring work-items write neighbours.
 *
 * Parameters  those of chunks.h; PYAPSP_EACH are units, or entries of the list
 *
 * Cost      chunks: C log N + W + W / EACH log L work for W units, N items, C chunks and slices of
 *           L; C + 1 ints. merge-path: the same with N + W entries in place of W units.
 *
 * Source    A. Davidson et al., IPDPS 2014, doi:10.1109/IPDPS.2014.45 (chunks); O. Green, R.
 *           McColl, D. A. Bader, GPU merge path, ICS 2012, doi:10.1145/2304576.2304621.
 */
#include "traversal/partitioning/merge_path.h"

#define CHUNK (PYAPSP_GROUP * PYAPSP_EACH)
/* The buffer of a slice. */
#define CAPACITY (CHUNK + 2)

/* A work-item for each chunk, and one for the end. Before the expansion no slice is known that does
 * not fit: *fallbacks is 0. */
__kernel GROUP void two_phase_partition(INPUT offsets, OUTPUT parts, __global int *fallbacks,
                                        const int items, const int units, const int chunks,
                                        const int kind)
{
    const size_t c = PLACE_OF_ALL;
    if (c == 0)
        *fallbacks = 0;
    if (c <= (size_t)chunks)
        find_part(offsets, parts, c, CHUNK, items, units, kind);
}

/* A group for each chunk. *fallbacks counts slices that do not fit. */
__kernel GROUP void two_phase_expand(INPUT offsets, INPUT parts, OUTPUT owners,
                                     __global int *fallbacks, const int units)
{
    __local int slice[CAPACITY];
    const int c = get_group_id(0), low = parts[c], length = SLICE_LENGTH(low, parts[c + 1]);
    const int fits = length <= CAPACITY;
    load_slice(offsets + low, fits ? length : 0, slice);
    group_sync();
    uint unit = (uint)c * CHUNK + GROUP_PLACE * PYAPSP_EACH;
    const uint end = min(unit + PYAPSP_EACH, (uint)units);
    if (!fits) {
        if (GROUP_PLACE == 0)
            atomic_inc(fallbacks);
        for (; unit < end; unit++)
            owners[unit] = low + predecessor_global(offsets + low, length, unit);
    } else if (unit < end) {
        int i = predecessor_local(slice, length, unit);
        for (; unit < end; unit++) {
            i = walk(slice, i, unit);
            owners[unit] = low + i;
        }
    }
}

/* A work-item for each chunk, and one for the end. */
__kernel GROUP void merge_path_partition(INPUT offsets, OUTPUT parts, const int items,
                                         const int units, const int chunks)
{
    const size_t c = PLACE_OF_ALL;
    if (c <= (size_t)chunks)
        parts[c] = merged_part(offsets, c, CHUNK, items, units);
}

/* A group for each chunk of entries. */
__kernel GROUP void merge_path_expand(INPUT offsets, INPUT parts, OUTPUT owners, const int items,
                                      const int units)
{
    __local int slice[CAPACITY], staged[CHUNK];
    int count;
    const int first = stage_merged(offsets, parts, items, units, get_group_id(0), CHUNK, slice,
                                   staged, &count);
    for (int k = GROUP_PLACE; k < count; k += PYAPSP_GROUP)
        owners[first + k] = staged[k];
}
