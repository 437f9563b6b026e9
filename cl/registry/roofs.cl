/* roofs: how many updates a second the device can do, and how many bytes it can copy.
 *
 * Purpose   The speed of a method is compared with an upper bound for its device. These loops do
 *           only the update d = min(d, a + b) on values in registers, or only a copy. No method can
 *           be faster on this device.
 *
 * Layout    values: one strip for all work-items (b), then one strip per work-item. The latter has
 *           its first value, and gets its result. Without a result the compiler would remove the
 *           loop.
 *
 *           Each work-item keeps N strips. Each is lowered to its neighbour plus b:
 *
 *               c0 <- min(c0, c1 + b)   c1 <- min(c1, c2 + b)   ...   c(N-1) <- min(c(N-1), c0 + b)
 *
 *           The compiler does not know b, so it cannot move a sum out of the loop. An update
 *           depends on the one N - 1 updates before, so that the arithmetic units are always busy.
 *           There are kernels for N = 8, 13 and 28: which is fastest depends on the latency and the
 *           number of registers. Without PYAPSP_THREE those of 8 and 28 compute two sums, then the
 *           two minima. Processors that assign instructions to units in a fixed rotation (Zen 4)
 *           then have one instruction for each unit. The updates are the same.
 *
 *           With PYAPSP_THREE, two updates are one step, c0 <- min(c0, c1 + b, c2 + 2 b): some
 *           devices have a minimum of three. The second sum differs from the first sum of the next
 *           step, so that the compiler cannot use one sum twice.
 *
 * Parameters  those of common/types.h and common/semiring.h, and
 *             PYAPSP_THREE  0   1: two updates with one minimum of three
 *
 * Cost      updates: 4 N WIDTH rounds for each work-item, twice as many with PYAPSP_THREE.
 *           copy: reads and writes 16 bytes a step.
 *
 * Source    S. Williams, A. Waterman, D. Patterson, Roofline, CACM 52(4), 2009,
 *           doi:10.1145/1498765.1498785; J. D. McCalpin, STREAM (the copy).
 */
#ifndef PYAPSP_THREE
#define PYAPSP_THREE 0
#endif

#include "common/types.h"
#include "common/semiring.h"

#if PYAPSP_THREE
#define UPDATE(c, near, far)                                                                       \
    {                                                                                              \
        const strip_t one = near + step, two = far + twice;                                        \
        const strip_t both = SHORTER(one, two);                                                    \
        c = SHORTER(both, c);                                                                      \
    }
#else
#define UPDATE(c, near, far)                                                                       \
    {                                                                                              \
        const strip_t sum = near + step;                                                           \
        c = SHORTER(sum, c);                                                                       \
    }
#endif
#if PYAPSP_THREE
#define PAIR(c, near, far, farther) UPDATE(c, near, far) UPDATE(near, far, farther)
#else
#define PAIR(c, near, far, farther)                                                                \
    {                                                                                              \
        const strip_t one = near + step, two = far + step;                                         \
        c = SHORTER(one, c);                                                                       \
        near = SHORTER(two, near);                                                                 \
    }
#endif

#define ROUND_8                                                                                    \
    PAIR(c0, c1, c2, c3) PAIR(c2, c3, c4, c5) PAIR(c4, c5, c6, c7) PAIR(c6, c7, c0, c1)
#define ROUND_13                                                                                   \
    UPDATE(c0, c1, c2) UPDATE(c1, c2, c3) UPDATE(c2, c3, c4)                                       \
    UPDATE(c3, c4, c5) UPDATE(c4, c5, c6) UPDATE(c5, c6, c7)                                       \
    UPDATE(c6, c7, c8) UPDATE(c7, c8, c9) UPDATE(c8, c9, c10)                                      \
    UPDATE(c9, c10, c11) UPDATE(c10, c11, c12) UPDATE(c11, c12, c0)                                \
    UPDATE(c12, c0, c1)
#define ROUND_28                                                                                   \
    PAIR(c0, c1, c2, c3) PAIR(c2, c3, c4, c5) PAIR(c4, c5, c6, c7)                                 \
    PAIR(c6, c7, c8, c9) PAIR(c8, c9, c10, c11) PAIR(c10, c11, c12, c13)                           \
    PAIR(c12, c13, c14, c15) PAIR(c14, c15, c16, c17) PAIR(c16, c17, c18, c19)                     \
    PAIR(c18, c19, c20, c21) PAIR(c20, c21, c22, c23) PAIR(c22, c23, c24, c25)                     \
    PAIR(c24, c25, c26, c27) PAIR(c26, c27, c0, c1)
#define FOUR_TIMES(round) round round round round

/* The result depends on every strip, and equals the value at the start, so that launches can be
 * repeated. */
#define KEEP(c) c0 = SHORTER(c, c0);

#define START                                                                                      \
    __global value_t *own = values + PYAPSP_WIDTH * (1 + get_global_id(0));                        \
    const strip_t step = STRIP(__global const, values), twice = step + step;                       \
    strip_t c0 = STRIP(__global const, own), c1 = c0 + step, c2 = c1 + step, c3 = c2 + step,       \
            c4 = c3 + step, c5 = c4 + step, c6 = c5 + step, c7 = c6 + step;                        \
    (void)twice;

__kernel void roofs_updates_8(__global value_t *values, const int rounds)
{
    START
    for (int i = 0; i < rounds; i++) {
        FOUR_TIMES(ROUND_8)
    }
    KEEP(c1) KEEP(c2) KEEP(c3) KEEP(c4) KEEP(c5) KEEP(c6) KEEP(c7)
    STRIP(__global, own) = c0;
}

__kernel void roofs_updates_13(__global value_t *values, const int rounds)
{
    START
    strip_t c8 = c7 + step, c9 = c8 + step, c10 = c9 + step, c11 = c10 + step, c12 = c11 + step;
    for (int i = 0; i < rounds; i++) {
        FOUR_TIMES(ROUND_13)
    }
    KEEP(c1) KEEP(c2) KEEP(c3) KEEP(c4) KEEP(c5) KEEP(c6) KEEP(c7) KEEP(c8) KEEP(c9) KEEP(c10)
    KEEP(c11) KEEP(c12)
    STRIP(__global, own) = c0;
}

__kernel void roofs_updates_28(__global value_t *values, const int rounds)
{
    START
    strip_t c8 = c7 + step, c9 = c8 + step, c10 = c9 + step, c11 = c10 + step, c12 = c11 + step,
            c13 = c12 + step, c14 = c13 + step, c15 = c14 + step, c16 = c15 + step,
            c17 = c16 + step, c18 = c17 + step, c19 = c18 + step, c20 = c19 + step,
            c21 = c20 + step, c22 = c21 + step, c23 = c22 + step, c24 = c23 + step,
            c25 = c24 + step, c26 = c25 + step, c27 = c26 + step;
    for (int i = 0; i < rounds; i++) {
        FOUR_TIMES(ROUND_28)
    }
    KEEP(c1) KEEP(c2) KEEP(c3) KEEP(c4) KEEP(c5) KEEP(c6) KEEP(c7) KEEP(c8) KEEP(c9) KEEP(c10)
    KEEP(c11) KEEP(c12) KEEP(c13) KEEP(c14) KEEP(c15) KEEP(c16) KEEP(c17) KEEP(c18) KEEP(c19)
    KEEP(c20) KEEP(c21) KEEP(c22) KEEP(c23) KEEP(c24) KEEP(c25) KEEP(c26) KEEP(c27)
    STRIP(__global, own) = c0;
}

/* `each` steps of a work-item, `stride` apart. On a CPU a work-item copies its own block; on a GPU
 * neighbouring work-items copy neighbouring values. */
__kernel void roofs_copy(__global uint4 *to, __global const uint4 *from, const int each,
                         const int stride)
{
    const size_t first = (stride == 1) ? get_global_id(0) * (size_t)each : get_global_id(0);
    for (int i = 0; i < each; i++)
        to[first + (size_t)i * stride] = from[first + (size_t)i * stride];
}
