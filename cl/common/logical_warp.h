/* Logical warps: WIDTH neighbouring work-items of a group that exchange values.
 *
 * Purpose   Published GPU algorithms let the 32 work-items of a hardware warp shuffle values, vote
 *           and search without barriers. Devices have other widths (8, 16, 32, 64) or none, and no
 *           OpenCL device promises that work-items run in lock step. Here a *warp* is PYAPSP_WARP
 *           neighbouring work-items, a number that the program chooses. Two back ends have the same
 *           functions:
 *
 *             emulated    local memory and barriers, on every device
 *             sub-groups  the instructions of the hardware; only if its width is PYAPSP_WARP. The
 *                         host selects it (pyapsp/device/kernels/warps.py). Where a driver has no
 *                         sub-groups, a file of its vendor may have their functions
 *
 * Layout    A group of 8 work-items in warps of 4:
 *
 *             GROUP_PLACE   0 1 2 3   4 5 6 7
 *             WARP_NUMBER   0 0 0 0   1 1 1 1
 *             WARP_LANE     0 1 2 3   0 1 2 3
 *
 *           The functions need WARP_SLOTS ints of local memory, which a kernel declares in its
 *           outermost block: `__local int slots[WARP_SLOTS];`. They leave it free for the next
 *           call, and for any other use.
 *
 * Contract  Every function that takes `slots` is called by all work-items of the group, the same
 *           number of times: it has barriers in the emulated back end. A loop around a call must
 *           have the same number of turns in all work-items; group_any and group_max give a
 *           condition that is equal in all. A loop around warp_ functions only may end earlier in
 *           some warps where these have no barriers of the group: warp_turns and warp_more give
 *           its condition on both back ends. warp_ functions exchange values within a warp, group_
 *           functions within the group. Sums must be within int.
 *
 *             warp_sync()               writes to local memory before it are seen after it, in the
 *                                       warp (emulated: in the group)
 *             warp_shuffle(x, lane, slots)
 *                                       the x of a lane in [0, PYAPSP_WARP)
 *             warp_scan(x, &total, slots)
 *                                       the sum of x over the lanes before this one; over all
 *             warp_rank(flag, &count, slots)
 *                                       the same for flags: lanes before whose flag is not 0
 *             warp_any, warp_all(flag, slots)
 *                                       whether the flag of any lane, of all lanes, is not 0
 *             warp_min(x, slots)        the least x
 *             warp_turns(turns, slots), warp_more(flag, slots)
 *                                       the most turns, and whether any flag is not 0: of the
 *                                       warp if WARPS_APART, otherwise of the group
 *             warp_predecessor(value, x, slots)
 *                                       the last lane whose value is at most x. Values must not
 *                                       decrease from lane to lane, and that of lane 0 be at most
 *                                       x. x may differ between lanes
 *             group_scan(x, &total, slots), group_rank(flag, &count, slots)
 *                                       as in a warp, over the group in the order of places
 *             group_scan_unordered, group_rank_unordered
 *                                       the same, but warps follow each other in any order, by one
 *                                       atomic operation a warp; runs may give different orders
 *             group_scan_counts(x, &total, slots)
 *                                       as group_scan_unordered, for x >= 0; faster if they are
 *                                       0 and 1 in a warp (sub-groups only)
 *             group_max(x, slots), group_any(flag, slots)
 *             device_scan_unordered(x, counter, slots), device_scan_counts, device_rank_unordered
 *                                       places in a list of all groups: *counter, which starts at
 *                                       0, grows by the total of the group
 *             device_scan_pair(flag, x, &place, counter, slots)
 *                                       a count and a sum at once (PYAPSP_INT64_ATOMICS)
 *
 *           Searches of one work-item, without barriers. a[0] <= x must hold, and a must not
 *           decrease. The number of steps depends on n only, with one read a step. Of equal entries
 *           they return the last one, so they skip items that own nothing:
 *
 *             predecessor_local, predecessor_global(a, n, x)   the last i < n with a[i] <= x
 *
 *           A barrier of all groups of a launch is in all_pairs/dense/soft_sync.h, and prefix sums over all
 *           groups, in order, in device/scan.cl.
 *
 * Parameters  PYAPSP_GROUP          64  work-items of a group, a multiple of PYAPSP_WARP
 *             PYAPSP_WARP            8  1, 2, 4, 8, 16, 32 or 64
 *             PYAPSP_SUBGROUPS       0  1: the sub-group back end, 2: with functions of the vendor
 *             PYAPSP_INT64_ATOMICS   0  1: device_scan_pair exists
 *
 * Cost      Emulated, for width w and groups of g: warp_shuffle 2 barriers, warp_scan log2 w + 2,
 *           group_scan log2 g + 5, warp_rank, warp_any, warp_min, warp_turns, warp_more and
 *           group_max 3, warp_predecessor 2 and log2 w reads. With width 1 the warp_ functions, and with groups of one work-item
 *           all functions, are the identity and need neither memory nor barriers.
 *
 * Source    F. Busato, High-Performance and Power-Aware Graph Processing on GPUs, thesis, Verona
 *           2018, chapters 5 to 7: scans by shuffle and by ballot, unordered scans, search by
 *           shuffle. Emulation, and widths other than the hardware's: ours. Scan in local memory:
 *           W. D. Hillis, G. L. Steele Jr., CACM 29, 1986, doi:10.1145/7902.7903.
 */
#ifndef COMMON_LOGICAL_WARP_H
#define COMMON_LOGICAL_WARP_H
#include "common/group_size.h"
#ifndef PYAPSP_WARP
#define PYAPSP_WARP 8
#endif
#ifndef PYAPSP_SUBGROUPS
#define PYAPSP_SUBGROUPS 0
#endif
#ifndef PYAPSP_INT64_ATOMICS
#define PYAPSP_INT64_ATOMICS 0
#endif

#if PYAPSP_INT64_ATOMICS
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif
#if PYAPSP_SUBGROUPS == 1
#ifdef cl_khr_subgroups
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#endif
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_ballot : enable
#endif

#define WARPS (PYAPSP_GROUP / PYAPSP_WARP)
/* Two rows of an int for each work-item, which the steps of a scan use in turn, and a counter. */
#define WARP_SLOTS (2 * PYAPSP_GROUP + 1)
#define WARP_COUNTER (2 * PYAPSP_GROUP)

#if PYAPSP_SUBGROUPS
#define WARP_LANE ((int)get_sub_group_local_id())
#define WARP_NUMBER ((int)get_sub_group_id())
#define GROUP_PLACE (WARP_NUMBER * PYAPSP_WARP + WARP_LANE)
#elif PYAPSP_GROUP == 1
#define WARP_LANE 0
#define WARP_NUMBER 0
#define GROUP_PLACE 0
#else
#define GROUP_PLACE ((int)get_local_id(0))
#define WARP_LANE (GROUP_PLACE % PYAPSP_WARP)
#define WARP_NUMBER (GROUP_PLACE / PYAPSP_WARP)
#endif
/* Whether warp_ functions have no barriers of the group, so that warps may run them alone. */
#define WARPS_APART (PYAPSP_SUBGROUPS || PYAPSP_WARP == 1)
/* The place of the first lane of this warp. */
#define WARP_FIRST (WARP_NUMBER * PYAPSP_WARP)

static inline void group_sync(void)
{
#if PYAPSP_GROUP > 1
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
}

static inline void warp_sync(void)
{
#if PYAPSP_WARP == 1
#elif PYAPSP_SUBGROUPS
    sub_group_barrier(CLK_LOCAL_MEM_FENCE);
#else
    group_sync();
#endif
}

static inline int warp_shuffle(const int x, const int lane, __local int *slots)
{
#if PYAPSP_WARP == 1
    return x;
#elif PYAPSP_SUBGROUPS
    return sub_group_shuffle(x, (uint)lane);
#else
    slots[GROUP_PLACE] = x;
    group_sync();
    const int found = slots[WARP_FIRST + lane];
    group_sync();
    return found;
#endif
}

static inline int warp_scan(const int x, int *total, __local int *slots)
{
#if PYAPSP_WARP == 1
    *total = x;
    return 0;
#elif PYAPSP_SUBGROUPS
    *total = sub_group_reduce_add(x);
    return sub_group_scan_exclusive_add(x);
#else
    int sum = x, row = 0;
    for (int d = 1; d < PYAPSP_WARP; d *= 2) {
        slots[row + GROUP_PLACE] = sum;
        group_sync();
        if (WARP_LANE >= d)
            sum += slots[row + GROUP_PLACE - d];
        row = PYAPSP_GROUP - row; /* the row that was read may still be read by others */
    }
    slots[row + GROUP_PLACE] = sum;
    group_sync();
    *total = slots[row + WARP_FIRST + PYAPSP_WARP - 1];
    group_sync();
    return sum - x;
#endif
}

#if PYAPSP_WARP > 1 && PYAPSP_WARP <= 32 && !PYAPSP_SUBGROUPS
/* The number of lanes before this one whose flag is set, and of all. A bit for each lane. */
static inline int warp_ballot_(const int flag, int *count, __local int *slots)
{
    if (WARP_LANE == 0)
        slots[WARP_NUMBER] = 0;
    group_sync();
    if (flag)
        atomic_or(&slots[WARP_NUMBER], (int)(1u << WARP_LANE));
    group_sync();
    const uint bits = slots[WARP_NUMBER];
    group_sync();
    *count = popcount(bits);
    return popcount(bits & ((1u << WARP_LANE) - 1));
}
#endif

static inline int warp_rank(const int flag, int *count, __local int *slots)
{
#if PYAPSP_WARP == 1
    *count = flag != 0;
    return 0;
#elif PYAPSP_SUBGROUPS
    const uint4 votes = sub_group_ballot(flag != 0);
    *count = sub_group_ballot_bit_count(votes);
    return sub_group_ballot_exclusive_scan(votes);
#elif PYAPSP_WARP > 32
    /* One CPU compiler loses ballots of two words in large kernels. */
    return warp_scan(flag != 0, count, slots);
#else
    return warp_ballot_(flag, count, slots);
#endif
}

/* As warp_scan, of counts: where a warp has only 0 and 1, they are flags. Without sub-groups the
 * choice would cost as many barriers as it saves. */
static inline int warp_scan_counts_(const int x, int *total, __local int *slots)
{
#if PYAPSP_WARP > 1 && PYAPSP_SUBGROUPS
    if (sub_group_all(x <= 1))
        return warp_rank(x, total, slots);
#endif
    return warp_scan(x, total, slots);
}

static inline int warp_any(const int flag, __local int *slots)
{
#if PYAPSP_WARP == 1
    return flag != 0;
#elif PYAPSP_SUBGROUPS
    return sub_group_any(flag) != 0;
#else
    if (WARP_LANE == 0)
        slots[WARP_NUMBER] = 0;
    group_sync();
    if (flag)
        atomic_or(&slots[WARP_NUMBER], 1);
    group_sync();
    const int any = slots[WARP_NUMBER];
    group_sync();
    return any;
#endif
}

static inline int warp_all(const int flag, __local int *slots)
{
    return !warp_any(!flag, slots);
}

static inline int warp_min(const int x, __local int *slots)
{
#if PYAPSP_WARP == 1
    return x;
#elif PYAPSP_SUBGROUPS
    return sub_group_reduce_min(x);
#else
    if (WARP_LANE == 0)
        slots[WARP_NUMBER] = INT_MAX;
    group_sync();
    atomic_min(&slots[WARP_NUMBER], x);
    group_sync();
    const int least = slots[WARP_NUMBER];
    group_sync();
    return least;
#endif
}

static inline int warp_predecessor(const int value, const int x, __local int *slots)
{
    int low = 0;
#if PYAPSP_WARP == 1
#elif PYAPSP_SUBGROUPS
    for (int step = PYAPSP_WARP / 2; step > 0; step /= 2)
        low += sub_group_shuffle(value, (uint)(low + step)) <= x ? step : 0;
#else
    slots[GROUP_PLACE] = value;
    group_sync();
    for (int step = PYAPSP_WARP / 2; step > 0; step /= 2)
        low += slots[WARP_FIRST + low + step] <= x ? step : 0;
    group_sync();
#endif
    return low;
}

/* The sum of the totals of the warps before this one, and of all. */
static inline int warps_before_(const int of_warp, int *total, __local int *slots)
{
#if WARPS == 1
    *total = of_warp;
    return 0;
#else
    const int place = GROUP_PLACE;
    if (WARP_LANE == 0)
        slots[WARP_NUMBER] = of_warp;
    group_sync();
    int sum = place < WARPS ? slots[place] : 0, row = PYAPSP_GROUP;
    for (int d = 1; d < WARPS; d *= 2) {
        slots[row + place] = sum;
        group_sync();
        if (place >= d)
            sum += slots[row + place - d];
        row = PYAPSP_GROUP - row;
    }
    slots[row + place] = sum;
    group_sync();
    *total = slots[row + WARPS - 1];
    const int before = WARP_NUMBER == 0 ? 0 : slots[row + WARP_NUMBER - 1];
    group_sync();
    return before;
#endif
}

/* The sum of the totals of the warps that came earlier, and of all: one atomic operation a warp. */
static inline int warps_earlier_(const int of_warp, int *total, __local int *slots)
{
#if WARPS == 1
    *total = of_warp;
    return 0;
#else
    if (GROUP_PLACE == 0)
        slots[WARP_COUNTER] = 0;
    group_sync();
    if (WARP_LANE == 0)
        slots[WARP_NUMBER] = atomic_add(&slots[WARP_COUNTER], of_warp);
    group_sync();
    const int before = slots[WARP_NUMBER];
    *total = slots[WARP_COUNTER];
    group_sync();
    return before;
#endif
}

/* What is before a work-item in its group: in its warp, and in the warps before. */
#define BEFORE_IN_GROUP_(name, of_the_warp, of_warps)                                              \
    static inline int name(const int x, int *total, __local int *slots)                            \
    {                                                                                              \
        int of_warp;                                                                               \
        const int before = of_the_warp(x, &of_warp, slots);                                        \
        return of_warps(of_warp, total, slots) + before;                                           \
    }

BEFORE_IN_GROUP_(group_scan, warp_scan, warps_before_)
BEFORE_IN_GROUP_(group_rank, warp_rank, warps_before_)
BEFORE_IN_GROUP_(group_scan_unordered, warp_scan, warps_earlier_)
BEFORE_IN_GROUP_(group_rank_unordered, warp_rank, warps_earlier_)
BEFORE_IN_GROUP_(group_scan_counts, warp_scan_counts_, warps_earlier_)

static inline int group_max(const int x, __local int *slots)
{
#if PYAPSP_GROUP == 1
    return x;
#else
    if (GROUP_PLACE == 0)
        slots[WARP_COUNTER] = INT_MIN;
    group_sync();
    atomic_max(&slots[WARP_COUNTER], x);
    group_sync();
    const int most = slots[WARP_COUNTER];
    group_sync();
    return most;
#endif
}

static inline int group_any(const int flag, __local int *slots)
{
    return group_max(flag != 0, slots);
}

static inline int warp_turns(const int turns, __local int *slots)
{
#if PYAPSP_WARP == 1
    return turns;
#elif PYAPSP_SUBGROUPS
    return sub_group_reduce_max(turns);
#else
    return group_max(turns, slots);
#endif
}

static inline int warp_more(const int flag, __local int *slots)
{
#if WARPS_APART
    return warp_any(flag, slots);
#else
    return group_any(flag, slots);
#endif
}

/* Add the total of the group to a counter of the device; return the old value in all work-items. */
static inline int group_claim_(const int total, volatile __global int *counter, __local int *slots)
{
#if PYAPSP_GROUP == 1
    return atomic_add(counter, total);
#else
    if (GROUP_PLACE == 0)
        slots[WARP_COUNTER] = atomic_add(counter, total);
    group_sync();
    const int base = slots[WARP_COUNTER];
    group_sync();
    return base;
#endif
}

static inline int device_scan_unordered(const int x, volatile __global int *counter,
                                        __local int *slots)
{
    int total;
    const int before = group_scan_unordered(x, &total, slots);
    return group_claim_(total, counter, slots) + before;
}

static inline int device_scan_counts(const int x, volatile __global int *counter,
                                     __local int *slots)
{
    int total;
    const int before = group_scan_counts(x, &total, slots);
    return group_claim_(total, counter, slots) + before;
}

static inline int device_rank_unordered(const int flag, volatile __global int *counter,
                                        __local int *slots)
{
    int count;
    const int before = group_rank_unordered(flag, &count, slots);
    return group_claim_(count, counter, slots) + before;
}

#if PYAPSP_INT64_ATOMICS
/* Places for the flagged work-items in a list, and the sums of x over the places before them: an
 * element in a list and its offset, which must agree. *counter has the number of places in its low
 * half and the sum in its high half. Two 32-bit counters could be changed in different orders. x
 * counts only where the flag is set. Returns the sum before this work-item. */
static inline int device_scan_pair(const int flag, const int x, int *place,
                                   volatile __global ulong *counter, __local int *slots)
{
    int count, total;
    const int rank = group_rank(flag, &count, slots);
    const int before = group_scan(flag ? x : 0, &total, slots);
#if PYAPSP_GROUP == 1
    const ulong old = atom_add(counter, (ulong)total << 32 | (uint)count);
    const int places = (int)(uint)old, sums = (int)(old >> 32);
#else
    if (GROUP_PLACE == 0) {
        const ulong old = atom_add(counter, (ulong)total << 32 | (uint)count);
        slots[0] = (int)(uint)old;
        slots[1] = (int)(old >> 32);
    }
    group_sync();
    const int places = slots[0], sums = slots[1];
    group_sync();
#endif
    *place = places + rank;
    return sums + before;
}
#endif

/* The first step of a search among n entries: the largest power of two below n, 0 if n < 2. */
static inline int first_step_(const int n)
{
    return n < 2 ? 0 : (int)(1u << (31 - clz(n - 1)));
}

#define PREDECESSOR_IN_(space)                                                                     \
    static inline int predecessor_##space(__##space const int *a, const int n, const int x)        \
    {                                                                                              \
        int low = 0;                                                                               \
        for (int step = first_step_(n); step > 0; step /= 2) {                                     \
            const int next = low + step;                                                           \
            if (next < n && a[next] <= x)                                                          \
                low = next;                                                                        \
        }                                                                                          \
        return low;                                                                                \
    }
PREDECESSOR_IN_(local)
PREDECESSOR_IN_(global)

#endif /* COMMON_LOGICAL_WARP_H */
