/* partition_dynamic_warp: virtual warps whose width is an argument; heavy items are separate.
 *
 * Purpose   The host computes the width of the virtual warps from the number of items, so that all
 *           resident work-items have some. An item with more than `threshold` units is *heavy*: its
 *           virtual warp leaves it. The published form starts a child kernel for it (dynamic
 *           parallelism), which OpenCL 1.2 does not have. In its place:
 *
 *             HEAVY 0   there are no heavy items: virtual warps write all
 *             HEAVY 1   heavy items are listed; the host reads the list, and launches
 *                       partition_heavy once for each, or partition_heavy_fused once for all
 *             HEAVY 2   the group that meets heavy items writes them with all its work-items, one
 *                       after the other, when its virtual warps are done
 *
 * Layout    See owners.h. list[0 .. *count] are the heavy items, in any order. For the fused launch
 *           before[h] is the number of groups of the heavy items before the h-th of the list:
 *
 *             list      7          2     9
 *             before    0          3     4     6
 *             group     0  1  2    3     4  5
 *
 * Parameters  those of owners.h, and
 *             PYAPSP_HEAVY  0   see above
 *             PYAPSP_EACH   8   units of a work-item of a launch for heavy items
 *
 * Cost      As virtual warps; in addition for h heavy items with U units h launches (or one) with
 *           U / EACH work-items, and the host's reading of the list.
 *
 * Source    F. Busato, N. Bombieri, BFS-4K, TPDS 26, 2015, pages 1826-1838, in the thesis of F.
 *           Busato, 2018, chapter 6. Launches by the host, their fusion, and groups that write
 *           heavy items: ours, in place of dynamic parallelism.
 */
#include "traversal/partitioning/owners.h"
#ifndef PYAPSP_HEAVY
#define PYAPSP_HEAVY 0
#endif
#ifndef PYAPSP_EACH
#define PYAPSP_EACH 8
#endif

/* Write units begin, begin + stride ... A stride that the compiler knows gives an unrolled loop, which
 * is three times as fast for large items: so there is a call for each width. */
static inline void write_units(OUTPUT owners, const int item, const uint begin, const uint end,
                               const uint stride)
{
    for (uint unit = begin; unit < end; unit += stride)
        owners[unit] = item;
}

#define WIDTH(shift)                                                                               \
    case shift:                                                                                    \
        write_units(owners, item, begin + lane, end, 1u << shift);                                 \
        break

/* Virtual warps of 2^shift work-items, up to 64. */
__kernel GROUP void partition_dynamic_warp(INPUT offsets, OUTPUT owners, __global int *list,
                                           __global int *count, const int items, const int shift,
                                           const int threshold)
{
#if PYAPSP_HEAVY == 2
    __local int heavy[PYAPSP_GROUP], heavies;
    if (GROUP_PLACE == 0)
        heavies = 0;
    group_sync();
#endif
    const size_t place = PLACE_OF_ALL, item = place >> shift;
    const uint lane = place & ((1u << shift) - 1);
    if (item < (size_t)items) {
        const uint begin = offsets[item], end = offsets[item + 1];
        if (PYAPSP_HEAVY == 0 || end - begin <= (uint)threshold) {
            switch (shift) {
                WIDTH(0);
                WIDTH(1);
                WIDTH(2);
                WIDTH(3);
                WIDTH(4);
                WIDTH(5);
                WIDTH(6);
            }
        } else if (lane == 0) {
#if PYAPSP_HEAVY == 1
            list[atomic_inc(count)] = item;
#elif PYAPSP_HEAVY == 2
            heavy[atomic_inc(&heavies)] = item;
#endif
        }
    }
#if PYAPSP_HEAVY == 2
    group_sync();
    const int all = heavies;
    for (int h = 0; h < all; h++) {
        const uint end = offsets[heavy[h] + 1];
        for (uint unit = (uint)offsets[heavy[h]] + GROUP_PLACE; unit < end; unit += PYAPSP_GROUP)
            owners[unit] = heavy[h];
    }
#endif
}

/* Write EACH units of an item with each work-item of a group, at a stride of GROUP. */
static inline void write_part(INPUT offsets, OUTPUT owners, const int item, const int part)
{
    const uint end = offsets[item + 1];
    uint unit = (uint)offsets[item] + (uint)part * (PYAPSP_GROUP * PYAPSP_EACH) + GROUP_PLACE;
    for (int k = 0; k < PYAPSP_EACH && unit < end; k++, unit += PYAPSP_GROUP)
        owners[unit] = item;
}

/* One heavy item. */
__kernel GROUP void partition_heavy(INPUT offsets, OUTPUT owners, const int item)
{
    write_part(offsets, owners, item, get_group_id(0));
}

/* All heavy items: `heavies` of them. */
__kernel GROUP void partition_heavy_fused(INPUT offsets, OUTPUT owners, INPUT list, INPUT before,
                                          const int heavies)
{
    const int group = get_group_id(0);
    const int h = predecessor_global(before, heavies + 1, group);
    write_part(offsets, owners, list[h], group - before[h]);
}
