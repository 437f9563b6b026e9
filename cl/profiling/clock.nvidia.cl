/* clock, as clock.cl: the special registers of a GPU.
 *
 * Purpose   The clock counts the cycles of a multiprocessor. Clocks of different ones must not be
 *           compared.
 *
 * Layout    as clock.cl.
 *
 * Parameters  none
 *
 * Cost      as clock.cl.
 *
 * Source    NVIDIA, PTX ISA 8.0: %clock64 and %smid.
 */
static inline ulong profile_clock(void)
{
    /* one reading of all 64 bits: the halves, read one after the other, may not belong together */
    uint low, high;
    __asm__ volatile("{ .reg .u64 now; mov.u64 now, %%clock64; mov.b64 {%0, %1}, now; }"
                     : "=r"(low), "=r"(high));
    return (ulong)high << 32 | low;
}

static inline uint profile_unit(void)
{
    uint unit;
    __asm__ volatile("mov.u32 %0, %%smid;" : "=r"(unit));
    return unit;
}

__kernel void profiling_clock(__global ulong *out)
{
    if (get_global_id(0) == 0) {
        out[0] = profile_clock();
        out[1] = profile_clock();
        out[2] = profile_unit();
    }
}
