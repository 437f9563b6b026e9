/* arithmetic: chains of one operation, for its latency and its throughput.
 *
 * Purpose   Each work-item has PYAPSP_CHAINS chains. A step of a chain computes a value from the
 *           two before it, so that it cannot begin before they are there. One chain of one
 *           work-item shows the latency of an operation; several chains of many work-items show
 *           how many operations the device does in a second.
 *
 * Layout    values: three values for all work-items, b, c and d, each as often as a strip is wide;
 *           then two strips for each chain of each work-item, with which the chain begins:
 *
 *               b | c | d | x y, x y, ... of work-item 0 | x y, x y, ... of work-item 1 | ...
 *
 *           out: one strip for each chain of each work-item, its last value. Without it the
 *           compiler would remove the loop.
 *
 * Parameters  those of common/types.h, and
 *             PYAPSP_OPERATION(x, y)  y + b   the next value of a chain, from the last one, y, and
 *                                             the one before it, x. The compiler does not know b and
 *                                             c, which are the same in all chains.
 *             PYAPSP_CHAINS   8               1, 2, 4, 8 or 16 chains of a work-item
 *             PYAPSP_STEPS    63              steps of each chain in a round, up to 1023. It is odd
 *                                             where an even number of steps restores the value.
 *             PYAPSP_MIN_BUILTIN  0           1: LEAST and MOST are functions; 0: comparisons
 *
 * Cost      PYAPSP_STEPS PYAPSP_CHAINS PYAPSP_WIDTH operations of a work-item in a round; and one
 *           addition (b changes by d), so that the result depends on the number of rounds where the
 *           operation alone would find a fixed point, and the control of the loop.
 *
 * Source    N. Bombieri, F. Busato, F. Fummi, M. Scala, MIPP, SIES 2016,
 *           doi:10.1109/SIES.2016.7509423.
 */
#ifndef PYAPSP_OPERATION
#define PYAPSP_OPERATION(x, y) y + b
#endif
#ifndef PYAPSP_CHAINS
#define PYAPSP_CHAINS 8
#endif
#ifndef PYAPSP_STEPS
#define PYAPSP_STEPS 63
#endif
#ifndef PYAPSP_MIN_BUILTIN
#define PYAPSP_MIN_BUILTIN 0
#endif

#include "common/types.h"

#if PYAPSP_MIN_BUILTIN && PYAPSP_INTEGER
#define LEAST(p, q) min((strip_t)(p), (strip_t)(q))
#define MOST(p, q) max((strip_t)(p), (strip_t)(q))
#elif PYAPSP_MIN_BUILTIN
#define LEAST(p, q) fmin(p, q)
#define MOST(p, q) fmax(p, q)
#else
#define LEAST(p, q) (((strip_t)(p) < (strip_t)(q)) ? (strip_t)(p) : (strip_t)(q))
#define MOST(p, q) (((strip_t)(p) < (strip_t)(q)) ? (strip_t)(q) : (strip_t)(p))
#endif

#define CHAINS_1(each) each(0)
#define CHAINS_2(each) CHAINS_1(each) each(1)
#define CHAINS_4(each) CHAINS_2(each) each(2) each(3)
#define CHAINS_8(each) CHAINS_4(each) each(4) each(5) each(6) each(7)
#define CHAINS_16(each)                                                                            \
    CHAINS_8(each) each(8) each(9) each(10) each(11) each(12) each(13) each(14) each(15)
#define EACH_CHAIN(each) PYAPSP_JOIN(CHAINS_, PYAPSP_CHAINS)(each)

#define BEGIN(i)                                                                                   \
    strip_t x##i = STRIP(__global const, own + 2 * i * PYAPSP_WIDTH),                              \
            y##i = STRIP(__global const, own + (2 * i + 1) * PYAPSP_WIDTH);
#define STEP(i)                                                                                    \
    {                                                                                              \
        const strip_t next = PYAPSP_OPERATION(x##i, y##i);                                         \
        x##i = y##i;                                                                               \
        y##i = next;                                                                               \
    }
#define END(i)                                                                                     \
    STRIP(__global, to + i * PYAPSP_WIDTH) = y##i;                                                 \
    (void)x##i;

#define STEPS_1 EACH_CHAIN(STEP)
#define STEPS_2 STEPS_1 STEPS_1
#define STEPS_4 STEPS_2 STEPS_2
#define STEPS_8 STEPS_4 STEPS_4
#define STEPS_16 STEPS_8 STEPS_8
#define STEPS_32 STEPS_16 STEPS_16
#define STEPS_64 STEPS_32 STEPS_32
#define STEPS_128 STEPS_64 STEPS_64
#define STEPS_256 STEPS_128 STEPS_128
#define STEPS_512 STEPS_256 STEPS_256

__kernel void profiling_chains(__global const value_t *values, __global value_t *out,
                               const int rounds)
{
    const size_t item = get_global_id(0);
    __global const value_t *own = values + (3 + 2 * PYAPSP_CHAINS * item) * PYAPSP_WIDTH;
    __global value_t *to = out + PYAPSP_CHAINS * item * PYAPSP_WIDTH;
    strip_t b = STRIP(__global const, values);
    const strip_t c = STRIP(__global const, values + PYAPSP_WIDTH),
                  d = STRIP(__global const, values + 2 * PYAPSP_WIDTH);
    (void)c;
    EACH_CHAIN(BEGIN)
#pragma unroll 1
    for (int round = 0; round < rounds; round++) {
#if PYAPSP_STEPS & 1
        STEPS_1
#endif
#if PYAPSP_STEPS & 2
        STEPS_2
#endif
#if PYAPSP_STEPS & 4
        STEPS_4
#endif
#if PYAPSP_STEPS & 8
        STEPS_8
#endif
#if PYAPSP_STEPS & 16
        STEPS_16
#endif
#if PYAPSP_STEPS & 32
        STEPS_32
#endif
#if PYAPSP_STEPS & 64
        STEPS_64
#endif
#if PYAPSP_STEPS & 128
        STEPS_128
#endif
#if PYAPSP_STEPS & 256
        STEPS_256
#endif
#if PYAPSP_STEPS & 512
        STEPS_512
#endif
        b = b + d;
    }
    EACH_CHAIN(END)
}
