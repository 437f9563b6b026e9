/* Groups of a launch that wait for each other, for launches that do the work of several.
 *
 * OpenCL does not promise that all groups of a launch run at the same time, and a group that is not
 * running cannot come to a barrier. So the launch first finds out which groups are running. Each
 * group adds itself to a counter, and polls until all have done so or PYAPSP_WAIT polls are over.
 * Then it closes the counter, and groups that start later take no part. All groups that are counted
 * are running, so they can wait for each other.
 *
 * The counters are ints, all 0 before the launch:
 *
 *     entered  number of groups that take part, plus CLOSED
 *     arrived  how often groups have come to the barrier
 *     stalled  1: a group has waited for PYAPSP_PATIENCE turns, and all groups give up
 *
 *     macro             default    meaning
 *     PYAPSP_PATIENCE   268435456  polls at a barrier before a group gives up
 *     PYAPSP_WAIT       20000      polls for other groups at the start
 *     PYAPSP_WITHHOLD   0          for tests: 1: one of the groups never comes to the barrier
 *
 * The host builds a file that includes this one as OpenCL C 2.0 or later, and refuses devices
 * without fences between groups. The other forms are there so that any tool can parse the file.
 *
 * Source    Barrier: S. Xiao, W. Feng, IPDPS 2010, doi:10.1109/IPDPS.2010.5470477. Groups that run:
 *           T. Sorensen, A. F. Donaldson, M. Batty, G. Gopalakrishnan, Z. Rakamaric, OOPSLA 2016,
 *           doi:10.1145/2983990.2984032.
 */
#ifndef COMMON_MEETING_H
#define COMMON_MEETING_H
#ifndef PYAPSP_PATIENCE
#define PYAPSP_PATIENCE 268435456
#endif
#ifndef PYAPSP_WAIT
#define PYAPSP_WAIT 20000
#endif
#ifndef PYAPSP_WITHHOLD
#define PYAPSP_WITHHOLD 0
#endif

#include "common/counters.h"

#define CLOSED (1 << 30)

/* Return the number of this group among those that take part, at most `all`, or -1; *groups is how
 * many there are. Called by the whole group; `slots` has two ints. */
static inline int enter(counters_t entered, const int all, int *groups, __local int *slots)
{
    if (get_local_id(0) == 0) {
        int inside = look(entered), mine = -1;
        while (inside < CLOSED) {
            const int old = atomic_cmpxchg(entered, inside, inside + 1);
            if (old == inside) {
                mine = inside;
                break;
            }
            inside = old;
        }
        for (int poll = 0; mine >= 0 && poll < PYAPSP_WAIT; poll++) {
            const int now = look(entered);
            if (now >= CLOSED || now == all)
                break;
        }
        slots[0] = mine;
        slots[1] = (mine < 0 ? look(entered) : atomic_or(entered, CLOSED)) & ~CLOSED;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int mine = slots[0];
    *groups = slots[1];
    barrier(CLK_LOCAL_MEM_FENCE);
    return mine;
}

/* Wait for all groups that take part, for the `turn`-th time, from 1 on. Return 0 if one gave up.
 * Called by the whole group. */
static inline int meet(counters_t arrived, counters_t stalled, const int groups, const int turn,
                       const int mine, __local int *slots)
{
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        DEVICE_FENCE();
        int together = 1;
        if (!(PYAPSP_WITHHOLD && mine == 0))
            atomic_inc(arrived);
        /* both numbers may wrap */
        const uint all = (uint)turn * groups;
        for (int poll = 0; together && (int)(all - (uint)look(arrived)) > 0; poll++) {
            if (poll >= PYAPSP_PATIENCE)
                put(stalled, 1);
            together = !look(stalled);
        }
        DEVICE_FENCE();
        slots[0] = together;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const int together = slots[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return together;
}

#endif /* COMMON_MEETING_H */
