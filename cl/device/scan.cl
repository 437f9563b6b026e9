/* scan: the sums before each of n numbers, over all groups.
 *
 * Purpose   Every sum is that of all numbers before, in their order: offsets of items from sizes.
 *           Groups scan chunks; then the totals of the chunks are scanned, by the same kernel,
 *           until there is one chunk; then each chunk adds the total before it (scan-then-fan).
 *
 * Layout    GROUP EACH = 3:
 *
 *             numbers   2 0 1   4 1 1   3          n = 7
 *             chunks    0 2 2   0 4 5   0 3        n + 1 sums: the last is that of all
 *             totals    3       6       3
 *             scanned   0       3       9
 *             sums      0 2 2   3 7 8   9 12
 *
 * Parameters  those of common/logical_warp.h, and
 *             PYAPSP_EACH  8   neighbouring numbers of a work-item
 *
 * Cost      Two reads and two writes for each number; 2 log n / log (GROUP EACH) launches.
 *
 * Source    D. Merrill, A. Grimshaw, parallel scan for stream architectures, technical report
 *           CS2009-14, University of Virginia, 2009.
 */
#include "common/logical_warp.h"
#ifndef PYAPSP_EACH
#define PYAPSP_EACH 8
#endif

#define CHUNK (PYAPSP_GROUP * PYAPSP_EACH)

/* n + 1 sums within chunks, and the total of each chunk. */
__kernel GROUP void scan_chunks(__global const int *numbers, __global int *sums,
                                __global int *totals, const int n)
{
    __local int slots[WARP_SLOTS];
    const long first = (long)get_group_id(0) * CHUNK + GROUP_PLACE * PYAPSP_EACH;
    int own = 0, total;
    for (int k = 0; k < PYAPSP_EACH; k++)
        own += first + k < n ? numbers[first + k] : 0;
    int sum = group_scan(own, &total, slots);
    for (int k = 0; k < PYAPSP_EACH && first + k <= n; k++) {
        sums[first + k] = sum;
        sum += first + k < n ? numbers[first + k] : 0;
    }
    if (GROUP_PLACE == 0)
        totals[get_group_id(0)] = total;
}

/* Add to each chunk of count sums the total before it. */
__kernel GROUP void scan_fan(__global int *sums, __global const int *before, const int count)
{
    const int more = before[get_group_id(0)];
    const long first = (long)get_group_id(0) * CHUNK;
    for (int k = GROUP_PLACE; k < CHUNK && first + k < count; k += PYAPSP_GROUP)
        sums[first + k] += more;
}
