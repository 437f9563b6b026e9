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
 * Source    NVIDIA, PTX ISA 8.0: %clock, %clock_hi and %smid.
 */
static inline ulong profile_clock(void)
{
    uint before, low, after;
    __asm__ volatile("mov.u32 %0, %%clock_hi; mov.u32 %1, %%clock; mov.u32 %2, %%clock_hi;"
                     : "=r"(before), "=r"(low), "=r"(after));
    /* the upper half may change between the readings, when the lower one starts again at 0 */
    return (ulong)(low < 0x80000000u ? after : before) << 32 | low;
}

static inline ulong profile_since(const ulong before)
{
    /* Of fewer than 2^32 cycles. The halves of a reading may not belong together when the lower one
     * starts again. */
    return (uint)(profile_clock() - before);
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
        out[1] = out[0] + profile_since(out[0]);
        out[2] = profile_unit();
    }
}
