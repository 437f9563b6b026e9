/* clock: the cycles of the compute unit on which an item runs, and the number of that unit.
 *
 * Purpose   With them, probes.h records when items run. OpenCL C has a clock only as an extension.
 *           A compiler for x86 that knows the instructions of its processor uses those.
 *
 * Layout    out: two readings of the clock, then the unit. Without a clock all are 0; a unit that
 *           cannot be found has the number 0xFFFFFFFF.
 *
 * Parameters  none
 *
 * Cost      two readings.
 *
 * Source    Khronos, The OpenCL Extension Specification, cl_khr_kernel_clock.
 */
#if defined(__x86_64__) && !defined(__SPIR__) && !defined(__SPIR64__)
static inline ulong profile_read(uint *unit)
{
    uint low, high;
    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(*unit));
    *unit &= 0xFFF; /* the upper bits are the node */
    return (ulong)high << 32 | low;
}

static inline ulong profile_clock(void)
{
    uint unit;
    return profile_read(&unit);
}

static inline uint profile_unit(void)
{
    uint unit;
    profile_read(&unit);
    return unit;
}
#else
static inline ulong profile_clock(void)
{
#if defined(cl_khr_kernel_clock) && defined(__opencl_c_kernel_clock_scope_device)
    return clock_read_device();
#else
    return 0;
#endif
}

static inline uint profile_unit(void)
{
    return 0xFFFFFFFFu;
}
#endif

static inline ulong profile_since(const ulong before)
{
    return profile_clock() - before;
}

__kernel void profiling_clock(__global ulong *out)
{
    if (get_global_id(0) == 0) {
        out[0] = profile_clock();
        out[1] = out[0] + profile_since(out[0]);
        out[2] = profile_unit();
    }
}
