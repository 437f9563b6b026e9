/* partition_block: a group takes ITEMS items, and divides their units equally.
 *
 * Purpose   A group copies the offsets of its items to local memory. Each work-item searches the
 *           owner of its first unit there, and goes on from unit to unit.
 *
 * Layout    See owners.h. ITEMS = 5, four work-items:
 *
 *             offsets     0 3 3 4 6 9       9 units: 3 for each work-item
 *             work-item   0       1       2
 *             units       0 1 2   3 4 5   6 7 8
 *             searches    0       3       6
 *
 * Parameters  those of owners.h, and
 *             PYAPSP_ITEMS  256   items of a group
 *
 * Cost      O(W + N GROUP / ITEMS log ITEMS) work for W units and N items, ITEMS + 1 ints of local
 *           memory. Groups have different numbers of units.
 *
 * Source    A. Davidson, S. Baxter, M. Garland, J. D. Owens, work-efficient parallel GPU methods
 *           for single-source shortest paths, IPDPS 2014, doi:10.1109/IPDPS.2014.45: cooperative
 *           blocks.
 */
#include "traversal/partitioning/owners.h"
#ifndef PYAPSP_ITEMS
#define PYAPSP_ITEMS 256
#endif

__kernel GROUP void partition_block(INPUT offsets, OUTPUT owners, const int items)
{
    __local int held[PYAPSP_ITEMS + 1];
    const size_t first = (size_t)get_group_id(0) * PYAPSP_ITEMS;
    const int here = min((size_t)PYAPSP_ITEMS, (size_t)items - first), place = GROUP_PLACE;
    for (int i = place; i <= here; i += PYAPSP_GROUP)
        held[i] = offsets[first + i];
    group_sync();
    const uint end = held[here], count = end - (uint)held[0];
    const uint each = count / PYAPSP_GROUP + (count % PYAPSP_GROUP != 0);
    uint unit = (uint)held[0] + place * each;
    if (unit < end) {
        const uint stop = min(unit + each, end);
        int item = predecessor_local(held, here + 1, unit);
        for (; unit < stop; unit++) {
            while (unit >= (uint)held[item + 1])
                item++;
            owners[unit] = first + item;
        }
    }
}
