/* fw-minplus with the instructions of NVIDIA GPUs for pairs of 16-bit values.
 *
 * Purpose   OpenCL C has no function for the packed 16-bit addition and minimum of these GPUs
 *           (compute capability 9.0 and later), which do two updates in the time of one. Everything
 *           else is in the portable file, cl/all_pairs/dense/fw_minplus.cl.
 *
 * Layout    As there, with PYAPSP_PACKED 1: a word holds the values of two neighbouring columns.
 *
 * Parameters  those of cl/all_pairs/dense/fw_minplus.cl, with PYAPSP_PACKED 1, PYAPSP_VALUE ushort or short, and
 *             PYAPSP_HAS_PACKED16     0  1: the device has the instructions; 0: the portable code
 *             PYAPSP_VALUE_IS_SIGNED  0  1 when PYAPSP_VALUE is short
 *
 * Cost      Half the instructions of two 16-bit updates, one addition and one minimum for a word; the
 *           assembler fuses them.
 *
 * Source    Parallel Thread Execution ISA 8.0, integer arithmetic instructions: add and min with
 *           .u16x2 and .s16x2.
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
#define PYAPSP_UPDATE(c, a, b)                                                                     \
    {                                                                                              \
        uint candidate;                                                                            \
        asm("add." PACKED_TYPE " %0, %1, %2;" : "=r"(candidate) : "r"(a), "r"(b));                 \
        asm("min." PACKED_TYPE " %0, %1, %2;" : "=r"(c) : "r"(candidate), "r"(c));                 \
    }
#endif

#include "all_pairs/dense/fw_minplus.cl"
