/* roofs, packed: updates of 32-bit words, of two 16-bit values or of one integer.
 *
 * Purpose   As roofs.cl, for GPUs that add and compare pairs of 16-bit values in one instruction, and
 *           that have a minimum of three integers. Their compiler does not generate the former from
 *           OpenCL C, so they are written here in PTX.
 *
 * Layout    As roofs.cl, with words instead of strips.
 *
 *           With PYAPSP_MULTIPLY_ADD two updates are one step, as those with a minimum of three
 *           there. Every second word gets its sums from the units for multiply-adds, as in
 *           all_pairs/dense/fw_minplus.nvidia.cl, where the reason is.
 *
 * Parameters  PYAPSP_HAS_PACKED16   0   1: the device has the instructions; 0: ordinary code that
 *                                       gives the same answer
 *             PYAPSP_PACKED         0   the type of a value: 0 ushort, 1 short, 2 half, 3 int
 *             PYAPSP_MULTIPLY_ADD   0   1: half of the sums are multiply-adds; not for half
 *
 * Cost      8 N rounds updates of 16-bit values for each work-item, half as many of integers; twice
 *           as many with PYAPSP_MULTIPLY_ADD.
 *
 * Source    NVIDIA, PTX ISA 8.0: add and min of .u16x2, .s16x2 (from sm_90 on) and .f16x2; mad.
 */
#ifndef PYAPSP_HAS_PACKED16
#define PYAPSP_HAS_PACKED16 0
#endif
#ifndef PYAPSP_PACKED
#define PYAPSP_PACKED 0
#endif
#ifndef PYAPSP_MULTIPLY_ADD
#define PYAPSP_MULTIPLY_ADD 0
#endif

#if PYAPSP_PACKED == 0
#define SUFFIX "u16x2"
#define PAIR ushort2
#elif PYAPSP_PACKED == 1
#define SUFFIX "s16x2"
#define PAIR short2
#elif PYAPSP_PACKED == 2
#define SUFFIX "f16x2"
#define PAIR half2
#if !PYAPSP_HAS_PACKED16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
#else
#define PAIR int
#endif
#define HAS_PACKED16 (PYAPSP_HAS_PACKED16 && PYAPSP_PACKED < 3)

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

static inline uint plus(const uint a, const uint b)
{
#if HAS_PACKED16
    uint sum;
    asm("add." SUFFIX " %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
    return sum;
#else
    return as_uint(JOIN(as_, PAIR)(a) + JOIN(as_, PAIR)(b));
#endif
}

static inline uint shorter(const uint a, const uint b)
{
#if HAS_PACKED16
    uint less;
    asm("min." SUFFIX " %0, %1, %2;" : "=r"(less) : "r"(a), "r"(b));
    return less;
#elif PYAPSP_PACKED == 2
    return as_uint(fmin(as_half2(a), as_half2(b)));
#else
    return as_uint(min(JOIN(as_, PAIR)(a), JOIN(as_, PAIR)(b)));
#endif
}

#if PYAPSP_MULTIPLY_ADD
#if PYAPSP_HAS_PACKED16
static inline uint multiply_add(const uint a, const uint factor, const uint b)
{
    uint sum;
    asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(factor), "r"(b));
    return sum;
}
#else
#define multiply_add(a, factor, b) ((a) * (factor) + (b))
#endif
/* `one` is 1, which the compiler does not know */
#define PAIR_OF(c, near, far, farther)                                                             \
    {                                                                                              \
        c = shorter(plus(near, step), c);                                                          \
        c = shorter(plus(far, twice), c);                                                          \
        const uint first = multiply_add(far, one, step), second = multiply_add(farther, one, twice); \
        near = shorter(first, near);                                                               \
        near = shorter(second, near);                                                              \
    }
#else
#define PAIR_OF(c, near, far, farther)                                                             \
    c = shorter(plus(near, step), c);                                                              \
    near = shorter(plus(far, step), near);
#endif
#define ROUND_8                                                                                    \
    PAIR_OF(c0, c1, c2, c3) PAIR_OF(c2, c3, c4, c5) PAIR_OF(c4, c5, c6, c7) PAIR_OF(c6, c7, c0, c1)
#define ROUND_12                                                                                   \
    PAIR_OF(c0, c1, c2, c3) PAIR_OF(c2, c3, c4, c5) PAIR_OF(c4, c5, c6, c7)                        \
    PAIR_OF(c6, c7, c8, c9) PAIR_OF(c8, c9, c10, c11) PAIR_OF(c10, c11, c0, c1)
#define FOUR_TIMES(round) round round round round

#define KEEP(c) c0 = shorter(c, c0);

#define START                                                                                      \
    __global uint *own = values + 1 + get_global_id(0);                                            \
    const uint step = values[0], twice = plus(step, step), one = get_num_groups(1);                \
    uint c0 = own[0], c1 = plus(c0, step), c2 = plus(c1, step), c3 = plus(c2, step),               \
         c4 = plus(c3, step), c5 = plus(c4, step), c6 = plus(c5, step), c7 = plus(c6, step);       \
    (void)twice, (void)one;

__kernel void roofs_updates_8(__global uint *values, const int rounds)
{
    START
    for (int i = 0; i < rounds; i++) {
        FOUR_TIMES(ROUND_8)
    }
    KEEP(c1) KEEP(c2) KEEP(c3) KEEP(c4) KEEP(c5) KEEP(c6) KEEP(c7)
    own[0] = c0;
}

__kernel void roofs_updates_12(__global uint *values, const int rounds)
{
    START
    uint c8 = plus(c7, step), c9 = plus(c8, step), c10 = plus(c9, step), c11 = plus(c10, step);
    for (int i = 0; i < rounds; i++) {
        FOUR_TIMES(ROUND_12)
    }
    KEEP(c1) KEEP(c2) KEEP(c3) KEEP(c4) KEEP(c5) KEEP(c6) KEEP(c7)
    KEEP(c8) KEEP(c9) KEEP(c10) KEEP(c11)
    own[0] = c0;
}
