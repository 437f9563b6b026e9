/* partition_direct: a work-item for each unit, which searches its owner among all offsets.
 *
 * Purpose   The simplest technique with equal work for all work-items.
 *
 * Layout    See owners.h:
 *
 *             work-item   0 1 2 3 4 5 6 7 8       a search of 3 steps each
 *             owner       0 0 0 2 3 3 4 4 4
 *
 * Parameters  those of owners.h
 *
 * Cost      O(W log N) work for W units and N items. Neighbouring work-items read neighbouring
 *           offsets only in the last steps.
 *
 * Source    F. Busato, N. Bombieri, TPDS 28, 2017, doi:10.1109/TPDS.2016.2631166: direct search.
 */
#include "traversal/partitioning/owners.h"

__kernel GROUP void partition_direct(INPUT offsets, OUTPUT owners, const int items,
                                     const int units)
{
    const size_t unit = PLACE_OF_ALL;
    if (unit < (size_t)units)
        owners[unit] = predecessor_global(offsets, items + 1, unit);
}
