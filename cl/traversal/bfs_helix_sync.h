/* A barrier of all groups of a launch, for launches that run several levels.
 *
 * OpenCL does not promise that all groups of a launch run at the same time, and a group that is not
 * running cannot come to a barrier. So the groups that take part are found out at the start. Each
 * enters through a door, and waits a little while for the others; the first that has waited long
 * enough closes it. Groups that come later find it closed and end at once. The groups inside are
 * running, so they can wait for each other.
 *
 *     DOOR   number of groups inside, plus CLOSED
 *
 * A group that has waited for PYAPSP_PATIENCE turns sets STALLED, and all groups end.
 *
 *     macro             default    meaning
 *     PYAPSP_PATIENCE   268435456  polls at a barrier before a group gives up
 *     PYAPSP_DOOR       20000      polls at the door
 *     PYAPSP_WITHHOLD   0          for tests: 1: a group inside never comes to the barrier
 *
 * Source    Barrier: S. Xiao, W. Feng, IPDPS 2010, doi:10.1109/IPDPS.2010.5470477. Groups that run:
 *           T. Sorensen, A. F. Donaldson, M. Batty, G. Gopalakrishnan, Z. Rakamaric, OOPSLA 2016,
 *           doi:10.1145/2983990.2984032.
 */
#ifndef TRAVERSAL_BFS_HELIX_SYNC_H
#define TRAVERSAL_BFS_HELIX_SYNC_H
#ifndef PYAPSP_PATIENCE
#define PYAPSP_PATIENCE 268435456
#endif
#ifndef PYAPSP_DOOR
#define PYAPSP_DOOR 20000
#endif
#ifndef PYAPSP_WITHHOLD
#define PYAPSP_WITHHOLD 0
#endif

#include "traversal/bfs_helix.h"

#define CLOSED (1 << 30)

/* The fence of OpenCL C 1.2 orders nothing between groups. The host refuses devices without the
 * other one; this form lets any tool parse the file. */
#if __OPENCL_C_VERSION__ >= 200
#define DEVICE_FENCE()                                                                             \
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device)
#else
#define DEVICE_FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
#endif

/* Return the number of this group among those that take part, or -1; *groups is how many there are.
 * Called by the whole group. */
static inline int enter(counters_t state, int *groups, __local int *slots)
{
    if (GROUP_PLACE == 0) {
        int inside = look(state + DOOR), mine = -1;
        while (inside < CLOSED) {
            const int old = atomic_cmpxchg(state + DOOR, inside, inside + 1);
            if (old == inside) {
                mine = inside;
                break;
            }
            inside = old;
        }
        const int all = (int)get_num_groups(0);
        for (int poll = 0; mine >= 0 && poll < PYAPSP_DOOR; poll++) {
            const int now = look(state + DOOR);
            if (now >= CLOSED || now == all)
                break;
        }
        slots[0] = mine;
        slots[1] = (mine < 0 ? look(state + DOOR) : atomic_or(state + DOOR, CLOSED)) & ~CLOSED;
    }
    group_sync();
    const int mine = slots[0];
    *groups = slots[1];
    group_sync();
    return mine;
}

/* Wait for all groups that take part, for the `turn`-th time, from 1 on. Return 0 if one gave up.
 * Called by the whole group. */
static inline int meet(counters_t state, const int groups, const int turn, const int mine,
                       __local int *slots)
{
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (GROUP_PLACE == 0) {
        DEVICE_FENCE();
        int together = 1;
        if (!(PYAPSP_WITHHOLD && mine == 0))
            atomic_inc(state + ARRIVED);
        for (int poll = 0; together && look(state + ARRIVED) < turn * groups; poll++) {
            if (poll >= PYAPSP_PATIENCE)
                put(state + STALLED, 1);
            together = !look(state + STALLED);
        }
        DEVICE_FENCE();
        slots[0] = together;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int together = slots[0];
    group_sync();
    return together;
}

#endif /* TRAVERSAL_BFS_HELIX_SYNC_H */
