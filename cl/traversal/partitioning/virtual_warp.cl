/* partition_virtual_warp: WARP neighbouring work-items for each item.
 *
 * Purpose   Work-items of a virtual warp write neighbouring units of an item at a time. A large
 *           item delays its own virtual warp less, and its units are accessed in order; a small
 *           item leaves some work-items without a unit. A virtual warp takes ITEMS items in turn.
 *
 * Layout    See owners.h. WARP = 2, ITEMS = 2:
 *
 *             work-item   0 1   2 3   4 5
 *             items       0 1   2 3   4
 *
 * Parameters  those of owners.h (PYAPSP_WARP is the width), and
 *             PYAPSP_ITEMS  1   items of a virtual warp
 *
 * Cost      O(W) work for W units, N WARP / ITEMS work-items for N items. The launch takes as long
 *           as the largest item takes WARP work-items.
 *
 * Source    S. Hong, S. K. Kim, T. Oguntebi, K. Olukotun, PPoPP 2011, doi:10.1145/1941553.1941590.
 */
#include "traversal/partitioning/owners.h"
#ifndef PYAPSP_ITEMS
#define PYAPSP_ITEMS 1
#endif

__kernel GROUP void partition_virtual_warp(INPUT offsets, OUTPUT owners, const int items)
{
    const size_t first = PLACE_OF_ALL / PYAPSP_WARP * PYAPSP_ITEMS;
    const size_t last = min(first + PYAPSP_ITEMS, (size_t)items);
    for (size_t item = first; item < last; item++) {
        const uint end = offsets[item + 1];
        for (uint unit = (uint)offsets[item] + WARP_LANE; unit < end; unit += PYAPSP_WARP)
            owners[unit] = item;
    }
}
