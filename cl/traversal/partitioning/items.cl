/* partition_items: a work-item for each item.
 *
 * Purpose   Each work-item writes the units of one item, one after the other.
 *
 * Layout    See owners.h. Neighbouring work-items write units that are as far apart as their items
 *           are large:
 *
 *             work-item   0       1   2   3     4
 *             units       0 1 2       3   4 5   6 7 8
 *
 * Parameters  those of owners.h
 *
 * Cost      O(W) work for W units. The launch takes as long as its largest item, and a hardware
 *           warp as long as the largest of its items.
 *
 * Source    P. Harish, P. J. Narayanan, HiPC 2007, doi:10.1007/978-3-540-77220-0_21: vertices to
 *           threads.
 */
#include "traversal/partitioning/owners.h"

__kernel GROUP void partition_items(INPUT offsets, OUTPUT owners, const int items)
{
    const size_t item = PLACE_OF_ALL;
    if (item >= (size_t)items)
        return;
    const int end = offsets[item + 1];
    for (int unit = offsets[item]; unit < end; unit++)
        owners[unit] = item;
}
