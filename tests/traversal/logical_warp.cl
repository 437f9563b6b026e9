/* Every function of cl/common/logical_warp.h, called twice or more in a row: its work-items write
 * what they got, one row of ROWS for each function. */
#include "common/logical_warp.h"

#define GROUP __attribute__((reqd_work_group_size(PYAPSP_GROUP, 1, 1)))
#define ROWS 24

__kernel GROUP void all_functions(__global const int *given, __global int *found)
{
    __local int slots[WARP_SLOTS];
    __local int words[PYAPSP_GROUP];
    const size_t n = get_global_size(0);
    const size_t here = get_group_id(0) * (size_t)PYAPSP_GROUP + GROUP_PLACE;
    const int x = given[here];
    found += here;
    words[GROUP_PLACE] = x;
    warp_sync();
    const int next = words[WARP_FIRST + (WARP_LANE + 1) % PYAPSP_WARP];
    warp_sync();
    found[0 * n] = next;
    const int mirrored = warp_shuffle(x, PYAPSP_WARP - 1 - WARP_LANE, slots);
    found[1 * n] = warp_shuffle(mirrored, (mirrored & 0x7fffffff) % PYAPSP_WARP, slots);
    int total;
    found[2 * n] = warp_scan(x, &total, slots);
    found[3 * n] = total;
    found[4 * n] = warp_rank(x & 2, &total, slots);
    found[5 * n] = total;
    found[6 * n] = warp_any(x % 16 == 0, slots);
    found[7 * n] = warp_all(x % 16 != 0, slots);
    found[8 * n] = warp_min(x, slots);
    found[9 * n] = group_scan(x, &total, slots);
    found[10 * n] = total;
    found[11 * n] = group_rank(x & 1, &total, slots);
    found[12 * n] = total;
    found[13 * n] = group_max(x, slots);
    found[14 * n] = group_any(x % 64 == 0, slots);
    /* prefix sums with runs of equal values, and every lane another x below the total */
    const int first = warp_scan((x & 7) > 5 ? x & 7 : 0, &total, slots);
    found[15 * n] = warp_predecessor(first, total * WARP_LANE / PYAPSP_WARP, slots);
    found[16 * n] = group_scan_unordered(x & 3, &total, slots);
    found[17 * n] = total;
    found[18 * n] = group_rank_unordered(x & 1, &total, slots);
    found[19 * n] = total;
    /* flags in every second warp */
    found[20 * n] = group_scan_counts((x & 1) << WARP_NUMBER % 2, &total, slots);
    found[21 * n] = total;
}

/* Turns of two loops around a function of warps, each work-item asking for turns of its own, and the
 * sums that it gives there. The last row says whether warps may go on alone. */
__kernel GROUP void loops(__global const int *given, __global int *found)
{
    __local int slots[WARP_SLOTS];
    const size_t n = get_global_size(0);
    const size_t here = get_group_id(0) * (size_t)PYAPSP_GROUP + GROUP_PLACE;
    const int wanted = given[here] % 8;
    int turns = 0, sum = 0, total;
    for (int most = warp_turns(wanted, slots); turns < most; turns++) {
        warp_scan(turns, &total, slots);
        sum += total;
    }
    found[here] = turns;
    found[n + here] = sum;
    group_sync();
    turns = 0;
    for (int more = warp_more(wanted > 0, slots); more; turns++)
        more = warp_more(wanted > turns + 1, slots);
    found[2 * n + here] = turns;
    found[3 * n + here] = WARPS_APART;
    found[4 * n + here] = group_max(turns, slots);
}

/* The functions with counters of the device: counters has 3 ints. */
__kernel GROUP void lists(__global const int *given, __global int *found, __global int *counters)
{
    __local int slots[WARP_SLOTS];
    const size_t n = get_global_size(0);
    const size_t here = get_group_id(0) * (size_t)PYAPSP_GROUP + GROUP_PLACE;
    const int x = given[here];
    found[here] = device_scan_unordered(x & 3, &counters[0], slots);
    found[n + here] = device_rank_unordered(x & 1, &counters[1], slots);
    found[2 * n + here] = device_scan_counts(x >> 1 & 1, &counters[2], slots);
}

#if PYAPSP_INT64_ATOMICS
__kernel GROUP void pairs(__global const int *given, __global int *found, __global ulong *counter)
{
    __local int slots[WARP_SLOTS];
    const size_t n = get_global_size(0);
    const size_t here = get_group_id(0) * (size_t)PYAPSP_GROUP + GROUP_PLACE;
    const int x = given[here];
    int place;
    found[n + here] = device_scan_pair(x & 1, x >> 1 & 15, &place, counter, slots);
    found[here] = place;
}
#endif

/* Predecessors of 0 .. a[n - 1] + 2 among n entries, at most 64, of which a[0] is 0. */
__kernel GROUP void predecessors(__global const int *a, __global int *found, const int n,
                                 const int most)
{
    __local int copy[64];
    if (get_local_id(0) == 0)
        for (int i = 0; i < n; i++)
            copy[i] = a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int x = get_global_id(0); x < most; x += get_global_size(0)) {
        found[x] = predecessor_local(copy, n, x);
        found[most + x] = predecessor_global(a, n, x);
    }
}
