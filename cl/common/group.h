/* What a group does together, where a group may also be one work-item: on CPUs a group is a loop on
 * one core, and a search by one work-item needs no barriers.
 *
 *     macro           default  meaning
 *     PYAPSP_GROUP    64       work-items of a group
 *     PYAPSP_AHEAD    0        0: no prefetches, for compilers without Clang's builtin for them
 *
 *     SYNC()          wait for the group; its accesses to local and global memory are done
 *     LOCAL_SYNC()    the same for local memory alone
 *     next_number     take the next number of a counter that groups share
 *     LOCAL_ADD       add to an int of local memory, and return its former value
 *     PREFETCH        the memory at this place is read soon
 *     BIT, HAS        the bit of a number in its word of a bit map, and whether it is set
 */
#ifndef COMMON_GROUP_H
#define COMMON_GROUP_H
#include "common/group_size.h"
#ifndef PYAPSP_AHEAD
#define PYAPSP_AHEAD 0
#endif

#if PYAPSP_GROUP == 1
#define SYNC()
#define LOCAL_SYNC()
#define LOCAL_ADD(place, value) local_add(place, value)
static inline int local_add(__local int *place, const int value)
{
    const int old = *place;
    *place = old + value;
    return old;
}
#else
#define SYNC() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define LOCAL_SYNC() barrier(CLK_LOCAL_MEM_FENCE)
#define LOCAL_ADD(place, value) atomic_add(place, value)
#endif

/* Take the next number of a counter that groups share; called by the whole group. */
static inline int next_number(volatile __global int *counter, __local int *taken)
{
    if (get_local_id(0) == 0)
        *taken = atomic_inc(counter);
    LOCAL_SYNC();
    const int number = *taken;
    LOCAL_SYNC();
    return number;
}

#if PYAPSP_AHEAD > 0
#define PREFETCH(place) __builtin_prefetch((const void *)(size_t)(place))
#else
#define PREFETCH(place)
#endif

#define BIT(v) (1u << ((v) & 31))
#define HAS(map, v) (((map)[(v) >> 5] & BIT(v)) != 0)

#endif /* COMMON_GROUP_H */
