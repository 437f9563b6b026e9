/* Counters that several groups of a launch read and write: relaxed loads and stores, and a fence.
 *
 * OpenCL C 1.2 has no atomic loads and stores; there, operations that change nothing take their
 * place. Its fence orders nothing between groups. The host builds what needs the fence as OpenCL C
 * 2.0 or later, and refuses devices that have none between groups; the other form lets any tool
 * parse the file.
 */
#ifndef COMMON_COUNTERS_H
#define COMMON_COUNTERS_H

typedef volatile __global int *counters_t;

#if __OPENCL_C_VERSION__ >= 200
/* Orders the earlier accesses of this work-item, and with a barrier those of its group, before
 * later accesses anywhere on the device. */
#define DEVICE_FENCE()                                                                             \
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device)

static inline int look(counters_t at)
{
    return atomic_load_explicit((volatile __global atomic_int *)at, memory_order_relaxed,
                                memory_scope_device);
}

static inline void put(counters_t at, const int value)
{
    atomic_store_explicit((volatile __global atomic_int *)at, value, memory_order_relaxed,
                          memory_scope_device);
}
#else
#define DEVICE_FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)

static inline int look(counters_t at)
{
    return atomic_or(at, 0);
}

static inline void put(counters_t at, const int value)
{
    atomic_xchg(at, value);
}
#endif

#endif /* COMMON_COUNTERS_H */
