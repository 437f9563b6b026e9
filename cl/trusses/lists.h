/* Lists to which the work-items of all groups append, with one atomic operation for each group. */
#ifndef TRUSSES_LISTS_H
#define TRUSSES_LISTS_H
#include "common/group.h"

/* Return the place in a list for each work-item with a flag; *size grows by their number. Called by
 * all work-items of the group, the same number of times; slots has two ints. */
static inline int place_in_list(const int flag, volatile __global int *size, __local int *slots)
{
#if PYAPSP_GROUP == 1
    return flag ? atomic_inc(size) : 0;
#else
    const int first = get_local_id(0) == 0;
    if (first)
        slots[0] = 0;
    LOCAL_SYNC();
    const int rank = flag ? atomic_inc(&slots[0]) : 0;
    LOCAL_SYNC();
    if (first && slots[0] > 0)
        slots[1] = atomic_add(size, slots[0]);
    LOCAL_SYNC();
    const int place = slots[1] + rank;
    LOCAL_SYNC();
    return place;
#endif
}

#endif /* TRUSSES_LISTS_H */
