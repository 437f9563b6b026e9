/* Soft synchronisation: the tiles of all rounds in one launch, each started as soon as its input is
 * ready.
 *
 * A task is one tile (I, J) in one round K. A group takes tickets from a counter; tickets are in an
 * order in which every task comes after all tasks that it waits for. So the group with the smallest
 * unfinished ticket waits for no other group, and a group never waits for a task that no group has
 * taken. Therefore any number of groups works, and the groups need not all be resident at the same
 * time.
 *
 * A task waits until
 *     the tile (I, J) has finished round K - 1;
 *     the tiles (I, K) and (K, J), which it reads, have finished round K;
 *     if (I, J) is in row or column K - 1, all b - 1 other tiles that read it in round K - 1 have
 *     done so, because this task overwrites it. (Without this, a slow group would read newer
 *     lengths, which are also valid. The answer would be right, but it would be a data race, and
 *     the rounding of floats would differ from run to run.)
 *
 * With m graphs, m consecutive tickets are the same task of the m graphs. So m times as many tasks
 * lie between a task and one that waits for it.
 *
 * The counters are ints, zero before the launch; b = n/t. All are read and written by atomic
 * operations only, except the place of a stall, which the host reads after the launch:
 *
 *     0              STALLED   1 when a group has stopped waiting; then its I, J and K
 *     32             FINISHED  tasks finished, modulo 2^32
 *     64             tickets   of each stage, b + 1 of them
 *     64 + b + 1     progress  of each tile: rounds finished, b * b
 *     + b * b        columns   of each tile (I, K): how many have read it as column tile, b * b
 *     + b * b        rows      of each tile (K, J): how many have read it as row tile, b * b
 *     + b * b        the last three for the next graph, and so on
 *
 * One counter of tickets would overflow at 2^31 tasks, so each stage has its own. A group continues
 * with the next stage when all tickets of a stage are taken.
 *
 *     macro             default  meaning
 *     PYAPSP_ORDER      0        0: a stage is a round; first come tiles that the next pivot needs;
 *                                1: the next pivot, row and column are moved before tasks that they
 *                                do not need, so that more tasks lie between a task and those that
 *                                wait for it
 *     PYAPSP_PATIENCE   1048576  a group stops waiting after so many checks, each after 32 polls,
 *                                if no group finished a task in that time
 *     PYAPSP_WITHHOLD   -1       for tests: the tile I * b + J that never finishes round 0
 */
#ifndef DENSE_SOFT_SYNC_H
#define DENSE_SOFT_SYNC_H
#ifndef PYAPSP_ORDER
#define PYAPSP_ORDER 0
#endif
#ifndef PYAPSP_PATIENCE
#define PYAPSP_PATIENCE 1048576
#endif
#ifndef PYAPSP_WITHHOLD
#define PYAPSP_WITHHOLD -1
#endif

#define STALLED 0
#define FINISHED 32
#define TICKETS 64
#define POLLS 32

/* The indices of the counters of the tiles. */
#define PROGRESS(blocks, graph)                                                                    \
    (TICKETS + (size_t)(blocks) + 1 + (graph) * 3 * (size_t)(blocks) * (blocks))
#define COLUMN_READS(blocks, graph) (PROGRESS(blocks, graph) + (size_t)(blocks) * (blocks))
#define ROW_READS(blocks, graph) (COLUMN_READS(blocks, graph) + (size_t)(blocks) * (blocks))

/* Orders the earlier accesses of this work-item, and with a barrier those of its group, before
 * later accesses anywhere on the device. The fences and barriers of OpenCL C 1.2 do not do this:
 * with them, groups have read old tiles. The host builds this file as OpenCL C 2.0 or later, and
 * refuses devices without it. The other form is there so that any tool can parse the file. */
#if __OPENCL_C_VERSION__ >= 200
#define DEVICE_FENCE()                                                                             \
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device)
#else
#define DEVICE_FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
#endif

typedef volatile __global int *counter_t;

/* An atomic read. OpenCL C 1.2 has no other function for it. */
static inline int look(counter_t counter)
{
    return atomic_or(counter, 0);
}

static inline int stages_of(const int blocks)
{
    return blocks + PYAPSP_ORDER;
}

/* The number of tasks of a stage for one graph: see task_of. */
static inline int tasks_of(const int stage, const int blocks)
{
#if PYAPSP_ORDER
    if (stage == 0)
        return 2 * blocks - 1;
    return stage < blocks ? blocks * blocks : (blocks - 1) * (blocks - 1);
#else
    return blocks * blocks;
#endif
}

/* Row and column tile number i, the nearest to the pivot first: (0, 1), (1, 0), (0, 2), (2, 0), ... */
static inline int2 panel_of(const int i)
{
    return i & 1 ? (int2)(i / 2 + 1, 0) : (int2)(0, i / 2 + 1);
}

/* Tile number i among those with neither coordinate 0: (1, 1), which is the next pivot; then those
 * in its row and column; then all others. */
static inline int2 other_of(const int i, const int blocks)
{
    const int nearest = 2 * blocks - 3;
    if (i == 0)
        return (int2)(1, 1);
    if (i < nearest)
        return panel_of(i - 1) + (int2)(1, 1);
    return (int2)(2 + (i - nearest) / (blocks - 2), 2 + (i - nearest) % (blocks - 2));
}

/* The task of a ticket: (I, J, K, 0), where the last is for the graph. Tiles are numbered from the
 * pivot on, modulo b. */
static inline int4 task_of(const int stage, const int ticket, const int blocks)
{
    const int panels = 2 * (blocks - 1);
    int K = stage;
    int2 tile;
#if PYAPSP_ORDER
    /* Stage 0: pivot, row and column of round 0. Stage K + 1: the other tiles of round K, the
     * nearest first; after these the pivot of round K + 1; and after half of the rest its row and
     * column. The last stage has no next round. */
    const int nearest = 2 * blocks - 3;
    const int before = nearest + (blocks - 2) * (blocks - 2) / 2;
    K = stage == 0 ? 0 : stage - 1;
    if (stage == 0)
        tile = ticket == 0 ? (int2)(0, 0) : panel_of(ticket - 1);
    else if (stage == blocks || ticket < nearest)
        tile = other_of(ticket, blocks);
    else if (ticket == nearest) {
        tile = (int2)(0, 0);
        K += 1;
    } else if (ticket <= before)
        tile = other_of(ticket - 1, blocks);
    else if (ticket <= before + panels) {
        tile = panel_of(ticket - before - 1);
        K += 1;
    } else
        tile = other_of(ticket - 1 - panels, blocks);
#else
    if (ticket == 0)
        tile = (int2)(0, 0);
    else if (ticket <= panels)
        tile = panel_of(ticket - 1);
    else
        tile = other_of(ticket - 1 - panels, blocks);
#endif
    return (int4)((tile.x + K) % blocks, (tile.y + K) % blocks, K, 0);
}

/* Wait until a counter has reached a value. Return 0 if this group or another one stopped waiting.
 * It is a stall only if no group finishes any task for a very long time; a long task of another
 * group is none. */
static inline int await(counter_t counters, const size_t index, const int value, const int4 task)
{
    int finished = look(counters + FINISHED);
    int idle = 0;
    for (;;) {
        for (int poll = 0; poll < POLLS; poll++)
            if (look(counters + index) >= value)
                return 1;
        if (look(counters + STALLED))
            return 0;
        const int now = look(counters + FINISHED);
        idle = now == finished ? idle + 1 : 0;
        finished = now;
        if (idle >= PYAPSP_PATIENCE) {
            if (atomic_cmpxchg(counters + STALLED, 0, 1) == 0) {
                counters[STALLED + 1] = task.x;
                counters[STALLED + 2] = task.y;
                counters[STALLED + 3] = task.z;
            }
            return 0;
        }
    }
}

static inline int await_all(counter_t counters, const int4 task, const int blocks)
{
    const int I = task.x, J = task.y, K = task.z, graph = task.w;
    const size_t progress = PROGRESS(blocks, graph);
    if (!await(counters, progress + (size_t)I * blocks + J, K, task))
        return 0;
    if (J != K && !await(counters, progress + (size_t)I * blocks + K, K + 1, task))
        return 0;
    if (I != K && !await(counters, progress + (size_t)K * blocks + J, K + 1, task))
        return 0;
    const size_t tile = (size_t)I * blocks + J;
    if (K > 0 && J == K - 1 && !await(counters, COLUMN_READS(blocks, graph) + tile, blocks - 1, task))
        return 0;
    if (K > 0 && I == K - 1 && !await(counters, ROW_READS(blocks, graph) + tile, blocks - 1, task))
        return 0;
    return 1;
}

/* The next task of this group, after all that it waits for is done: (I, J, K, graph), with I = -1
 * when there is none. `stage` is the stage whose tickets the group takes, 0 at first. Called by the
 * whole group; its first work-item waits. */
static inline int4 next_task(counter_t counters, __local int *shared, int *stage, const int blocks,
                             const int graphs)
{
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0 && get_local_id(1) == 0) {
        int4 task = (int4)(-1, -1, -1, 0);
        int ticket = -1;
        int at = *stage;
        while (at < stages_of(blocks) && ticket < 0) {
            ticket = atomic_inc(counters + TICKETS + at);
            if (ticket >= tasks_of(at, blocks) * graphs) {
                ticket = -1;
                at++;
            }
        }
        if (ticket >= 0) {
            task = task_of(at, ticket / graphs, blocks);
            task.w = ticket % graphs;
            if (!await_all(counters, task, blocks))
                task.x = -1;
            DEVICE_FENCE();
        }
        shared[0] = task.x;
        shared[1] = task.y;
        shared[2] = task.z;
        shared[3] = task.w;
        shared[4] = at;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    *stage = shared[4];
    return (int4)(shared[0], shared[1], shared[2], shared[3]);
}

/* Report to all groups that a task is finished. Called by the whole group. */
static inline void finish_task(counter_t counters, const int4 task, const int blocks)
{
    const int I = task.x, J = task.y, K = task.z, graph = task.w;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0 && get_local_id(1) == 0) {
        DEVICE_FENCE();
        if (K != 0 || I * blocks + J != PYAPSP_WITHHOLD)
            atomic_xchg(counters + PROGRESS(blocks, graph) + (size_t)I * blocks + J, K + 1);
        if (J != K)
            atomic_inc(counters + COLUMN_READS(blocks, graph) + (size_t)I * blocks + K);
        if (I != K)
            atomic_inc(counters + ROW_READS(blocks, graph) + (size_t)K * blocks + J);
        atomic_inc(counters + FINISHED);
    }
}

#endif /* DENSE_SOFT_SYNC_H */
