/* partition_cta_warp_scan: large items by the group, medium ones by a warp, the rest by a scan.
 *
 * Purpose   A group has an item for each work-item, and writes their units in three steps:
 *           1. The whole group writes each item with more than LARGE units, one after the other.
 *           2. Each warp does the same with its own items of more than MEDIUM units.
 *           3. The units of all other items are numbered by a scan. The owners of SLOTS units at a
 *              time are put into local memory, and the group writes them.
 *
 * Layout    See owners.h. Step 3 with SLOTS = 8 and four items of 3, 0, 4 and 2 units:
 *
 *             scan      0      3  3        7
 *             slots     0 0 0  2  2 2 2  3  | 3
 *
 *           In step 1 the work-item with the highest number is elected first, in step 2 that with
 *           the lowest, by atomic operations. A step ends when nobody is elected: step 2 for each
 *           warp if WARPS_APART, otherwise for the group.
 *
 * Parameters  those of owners.h, and
 *             PYAPSP_LARGE    64   items with more units are written by the group
 *             PYAPSP_MEDIUM   8    items with more units are written by a warp
 *             PYAPSP_SLOTS    256  units of a turn of step 3
 *
 * Cost      O(W) work for W units, and a work-item for each item. An election has a few barriers. A
 *           group takes as long as its items together take its work-items.
 *
 * Source    D. Merrill, M. Garland, A. Grimshaw, scalable GPU graph traversal, PPoPP 2012,
 *           doi:10.1145/2145816.2145832. There the last of concurrent writes elects. Neighbouring
 *           units of step 3 are written by neighbouring work-items here as there.
 */
#include "traversal/partitioning/owners.h"
#ifndef PYAPSP_LARGE
#define PYAPSP_LARGE 64
#endif
#ifndef PYAPSP_MEDIUM
#define PYAPSP_MEDIUM 8
#endif
#ifndef PYAPSP_SLOTS
#define PYAPSP_SLOTS 256
#endif

__kernel GROUP void partition_cta_warp_scan(INPUT offsets, OUTPUT owners, const int items)
{
    __local int slots[WARP_SLOTS], shared[3];
    __local int owner_of[PYAPSP_SLOTS], unit_of[PYAPSP_SLOTS];
    const int place = GROUP_PLACE, base = get_group_id(0) * PYAPSP_GROUP, item = base + place;
    uint begin = 0, end = 0;
    if (item < items) {
        begin = offsets[item];
        end = offsets[item + 1];
    }
    /* 1: every turn writes one item of the group */
    for (int more = 1; more;) {
        const int elected = group_max(end - begin > PYAPSP_LARGE ? place : -1, slots);
        if (place == elected) {
            shared[0] = begin;
            shared[1] = end;
            begin = end;
        }
        group_sync();
        if (elected >= 0)
            for (uint unit = (uint)shared[0] + place; unit < (uint)shared[1]; unit += PYAPSP_GROUP)
                owners[unit] = base + elected;
        group_sync();
        more = elected >= 0;
    }
    /* 2: every turn writes at most one item of each warp */
    for (int more = 1; more;) {
        const int none = PYAPSP_WARP, lane = WARP_LANE;
        const int elected = warp_min(end - begin > PYAPSP_MEDIUM ? lane : none, slots);
        const int source = elected % PYAPSP_WARP;
        const uint from = warp_shuffle(begin, source, slots), to = warp_shuffle(end, source, slots);
        if (elected < none) {
            for (uint unit = from + lane; unit < to; unit += PYAPSP_WARP)
                owners[unit] = base + WARP_FIRST + elected;
            if (lane == elected)
                begin = end;
        }
        more = warp_more(elected < none, slots);
    }
    /* 3: the rest */
    int total, rank = group_scan(end - begin, &total, slots);
    for (int first = 0; first < total; first += PYAPSP_SLOTS) {
        /* The loop does not come first in the body: without optimisation one compiler mixes up
         * turns of different work-items (tests/device/kernels/test_loops.py). */
        const int past = first + PYAPSP_SLOTS;
        for (; begin < end && rank < past; begin++, rank++) {
            owner_of[rank - first] = item;
            unit_of[rank - first] = begin;
        }
        group_sync();
        const int count = min(total - first, PYAPSP_SLOTS);
        for (int k = place; k < count; k += PYAPSP_GROUP)
            owners[unit_of[k]] = owner_of[k];
        group_sync();
    }
}
