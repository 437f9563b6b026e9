/* partition_local_warp: a warp takes WARP items, and each lane searches the owner of a unit.
 *
 * Purpose   A warp holds the offsets of its WARP items. In each turn it writes WARP units, of which
 *           each lane finds the owner by a search of log2 WARP steps. All lanes have a unit until
 *           the last turn, however the units are distributed over the items of the warp.
 *
 * Layout    See owners.h. WARP = 4, a warp with items of 3, 0, 1 and 2 units:
 *
 *             held      0 3 3 4     and where the units of the warp end, 6
 *             turn 0    0 0 0 2     owners of units 0 1 2 3
 *             turn 1    3 3         owners of units 4 5
 *
 *             HELD 0   the offsets are in local memory, where each lane searches
 *             HELD 1   each lane has one offset, and lanes exchange them: with sub-groups without
 *                      local memory
 *
 * Parameters  those of owners.h, and
 *             PYAPSP_HELD  0   see above
 *
 * Cost      O(W log WARP) work for W units, a work-item for each item. Warps have different numbers
 *           of turns. With HELD 1 all warps of a group have the turns of the largest, unless
 *           WARPS_APART.
 *
 * Source    F. Busato, N. Bombieri, TPDS 28, 2017, doi:10.1109/TPDS.2016.2631166: local warp
 *           search; in registers: BFS-4K, TPDS 26, 2015, pages 1826-1838.
 */
#include "traversal/partitioning/owners.h"
#ifndef PYAPSP_HELD
#define PYAPSP_HELD 0
#endif

__kernel GROUP void partition_local_warp(INPUT offsets, OUTPUT owners, const int items)
{
    __local int slots[WARP_SLOTS];
    const int lane = WARP_LANE;
    const size_t first = PLACE_OF_ALL - lane, last = items;
    const int held = offsets[min(first + lane, last)];
    const int begin = offsets[min(first, last)];
    const int count = offsets[min(first + PYAPSP_WARP, last)] - begin;
#if PYAPSP_HELD
    const int turns = warp_turns((count + PYAPSP_WARP - 1) / PYAPSP_WARP, slots);
    for (int turn = 0; turn < turns; turn++) {
        const int at = turn * PYAPSP_WARP + lane, within = at < count;
        const int item = warp_predecessor(held, begin + (within ? at : 0), slots);
        if (within)
            owners[begin + at] = first + item;
    }
#else
    slots[GROUP_PLACE] = held;
    warp_sync();
    for (int at = lane; at < count; at += PYAPSP_WARP)
        owners[begin + at] = first + predecessor_local(slots + WARP_FIRST, PYAPSP_WARP, begin + at);
#endif
}
