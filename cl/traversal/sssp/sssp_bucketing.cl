/* sssp_bucketing: shortest paths from one source, with waiting vertices sorted into buckets.
 *
 * Purpose   Delta-stepping with a sort. Near vertices update their neighbours in rounds, see
 *           piles.h. When the near list is empty, the waiting vertices are sorted by bucket, and
 *           those of the first bucket that has any are near.
 *
 *               bucket 0         bucket 1              last bucket
 *           |  .. bounds[0]  |  .. bounds[1]  | ... |  all beyond  |
 *           limit                                                      bounds[i]: (i + 1) delta more
 *
 *           Those at most at the old threshold have updated their neighbours, and are dropped. If
 *           all others are in the last bucket, the host finds the least distance by piles_least,
 *           and sorts again with bounds from there.
 *
 * Layout    That of piles.h, and
 *             bounds  BUCKETS - 1   distances, in order
 *             counts  BUCKETS       ints: vertices of each bucket
 *             places  BUCKETS       ints: where its next vertex goes
 *
 *             count    far[day] -> counts, from which the host makes places
 *             place    far[day] -> near[now] (the bucket `taken`), far[1 - day] (others, in order)
 *
 *           A group sorts as many vertices as it has work-items: it counts them in local memory, and
 *           reserves places by one atomic operation for each bucket.
 *
 * Parameters  those of piles.h, and
 *             PYAPSP_BUCKETS  8  at least 2
 *
 * Cost      Two reads of the waiting vertices and of their distances for each bucket, and a write.
 *           Buckets without vertices cost nothing.
 *
 * Source    that of piles.h: bucketing; U. Meyer, P. Sanders, delta-stepping, Journal of Algorithms
 *           49(1), 2003, doi:10.1016/S0196-6774(03)00076-2
 */
#ifndef PYAPSP_BUCKETS
#define PYAPSP_BUCKETS 8
#endif

#include "traversal/sssp/piles.h"

/* The bucket of a distance above the threshold. */
static inline int bucket_of(__global const value_t *bounds, const value_t distance)
{
    int low = 0, high = PYAPSP_BUCKETS - 1;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (distance <= bounds[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* A work-item for each waiting vertex. */
__kernel GROUP void bucketing_count(__global const word_t *words, __global const int *lists,
                                    __global const value_t *bounds, __global int *counts,
                                    const int n, const int day, const int count,
                                    const value_t limit)
{
    __local int of_group[PYAPSP_BUCKETS];
    const size_t i = get_global_id(0);
    const int item = get_local_id(0);
    for (int b = item; b < PYAPSP_BUCKETS; b += PYAPSP_GROUP)
        of_group[b] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < (size_t)count) {
        const value_t own = VALUE_IN(words[LIST(lists, n, FAR_LIST(day))[i]]);
        if (own > limit)
            atomic_inc(&of_group[bucket_of(bounds, own)]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int b = item; b < PYAPSP_BUCKETS; b += PYAPSP_GROUP)
        if (of_group[b] > 0)
            atomic_add(&counts[b], of_group[b]);
}

/* A work-item for each waiting vertex. */
__kernel GROUP void bucketing_place(__global const word_t *words, __global int *lists,
                                    __global int *marks, __global int *sizes,
                                    __global const value_t *bounds, __global int *places,
                                    const int n, const int now, const int day, const int count,
                                    const value_t limit, const int taken, const int near,
                                    const int far)
{
    __local int of_group[PYAPSP_BUCKETS], first[PYAPSP_BUCKETS];
    const size_t i = get_global_id(0);
    const int item = get_local_id(0);
    int v = 0, bucket = -1, place = 0;
    for (int b = item; b < PYAPSP_BUCKETS; b += PYAPSP_GROUP)
        of_group[b] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < (size_t)count) {
        v = LIST(lists, n, FAR_LIST(day))[i];
        const value_t own = VALUE_IN(words[v]);
        bucket = own > limit ? bucket_of(bounds, own) : -1;
        marks[v] = bucket < 0 ? 0 : bucket == taken ? NEAR : FAR;
        if (bucket >= 0)
            place = atomic_inc(&of_group[bucket]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int b = item; b < PYAPSP_BUCKETS; b += PYAPSP_GROUP)
        if (of_group[b] > 0)
            first[b] = atomic_add(&places[b], of_group[b]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (bucket >= 0) {
        const int list = bucket == taken ? NEAR_LIST(now) : FAR_LIST(1 - day);
        LIST(lists, n, list)[first[bucket] + place] = v;
    }
    if (i == 0) {
        sizes[NEAR_LIST(now)] = near;
        sizes[FAR_LIST(1 - day)] = far;
    }
}
