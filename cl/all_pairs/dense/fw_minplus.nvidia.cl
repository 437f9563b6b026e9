/* fw-minplus with the instructions of NVIDIA GPUs for integers (compute capability 9.0 and later).
 *
 * Purpose   OpenCL C has no function for the packed 16-bit addition and minimum of these GPUs, which
 *           do two updates in the time of one. Everything else is in the portable file,
 *           cl/all_pairs/dense/fw_minplus.cl.
 *
 * Layout    As there.
 *
 *           A sum and a minimum are one instruction, of the units for integers. The units for
 *           multiply-adds would have nothing to do. So half of the words get their sums there,
 *           c * 1 + r, and then the minimum of three, which is one instruction for two steps:
 *
 *               step      0        1         units for integers   for multiply-adds
 *               half      add-min  add-min   2                    0
 *               others    mad      mad min3  1                    2
 *
 * Parameters  those of cl/all_pairs/dense/fw_minplus.cl, with PYAPSP_PACKED 1 and PYAPSP_VALUE ushort
 *             or short, or PYAPSP_PACKED 0 and a PYAPSP_VALUE of 32 bits, and
 *             PYAPSP_HAS_PACKED16     0  1: the device has the instructions; 0: the portable code
 *             PYAPSP_VALUE_IS_SIGNED  0  1 when PYAPSP_VALUE is short
 *
 * Cost      5 instructions for 4 updates of words.
 *
 * Source    Parallel Thread Execution ISA 8.0, integer arithmetic instructions: add and min with
 *           .u16x2 and .s16x2, mad.
 */
#ifndef PYAPSP_VALUE
#define PYAPSP_VALUE ushort
#define PYAPSP_INTEGER 1
#define PYAPSP_INFINITY 32767
#endif
#ifndef PYAPSP_PACKED
#define PYAPSP_PACKED 1
#endif
#ifndef PYAPSP_GUARD
#define PYAPSP_GUARD 0
#endif
#ifndef PYAPSP_HAS_PACKED16
#define PYAPSP_HAS_PACKED16 0
#endif
#ifndef PYAPSP_VALUE_IS_SIGNED
#define PYAPSP_VALUE_IS_SIGNED 0
#endif

#if PYAPSP_VALUE_IS_SIGNED
#define PACKED_TYPE "s16x2"
#else
#define PACKED_TYPE "u16x2"
#endif
#if PYAPSP_HAS_PACKED16 && !PYAPSP_GUARD
/* The sums of two halves of a word cannot overflow. The factor is 1, because depths are even. The
 * assembler does not know this, or it would add with the units for integers. */
#define PYAPSP_SUM(sum, a, b)                                                                      \
    asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(~depth & 1), "r"(b))
/* Which half of the words is fastest was measured. */
#if PYAPSP_PACKED
#define PYAPSP_IN_TURNS(r, w) (!MANY_WORDS || (w) % 2 == 0)
#define PYAPSP_SHORTEN(word, sum)                                                                  \
    asm("min." PACKED_TYPE " %0, %1, %2;" : "=r"(word) : "r"(sum), "r"(word))
#define PYAPSP_UPDATE(word, a, b)                                                                  \
    {                                                                                              \
        uint candidate;                                                                            \
        asm("add." PACKED_TYPE " %0, %1, %2;" : "=r"(candidate) : "r"(a), "r"(b));                 \
        PYAPSP_SHORTEN(word, candidate);                                                           \
    }
#else
#define PYAPSP_IN_TURNS(r, w) (!MANY_WORDS || ((r) + (w)) % 2 == 0)
#define PYAPSP_SHORTEN(word, sum) word = min(word, sum)
#define PYAPSP_UPDATE(word, a, b) PYAPSP_SHORTEN(word, (a) + (b))
#endif
#endif

#include "all_pairs/dense/fw_minplus.cl"
