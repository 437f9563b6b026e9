/* What the kernels of a phase share: the number type, the arrays of a step, and assignment.
 *
 *     x [states]         states of the stage            f [functions]   functions, at any time
 *     y [states]         states before the step         out [states]    states of the next stage
 *     k [stages][states] slopes                         weights         row i has i + 1 weights
 *
 * Slots number the states first, then the functions. Each work-item assigns its own slots. The
 * derivative of a state is stored as a slope, and the state of the next stage is computed at once:
 * y + h (w0 k0 + ... + wi ki), added in this order. In the phase of resets, stage is -1, and the
 * value goes to out.
 *
 * Fused multiply-adds are switched off, so that every form of a program gives the same numbers.
 */
#ifndef SIMULATION_STAGES_H
#define SIMULATION_STAGES_H

#ifndef PYAPSP_REAL
#define PYAPSP_REAL float
#endif
#ifndef PYAPSP_HAS_FP64
#define PYAPSP_HAS_FP64 0
#endif
#ifndef PYAPSP_LANES
#define PYAPSP_LANES 1
#endif
#if PYAPSP_HAS_FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF

typedef PYAPSP_REAL real;

#define STAGE_ARGUMENTS                                                                            \
    const real t, __global const real *restrict x, __global const real *restrict y,                \
        __global real *restrict out, const int stage, __global real *restrict f,                   \
        __global real *restrict k, __global const real *restrict weights, const real h,            \
        const int states
#define STAGE_PASSED t, x, y, out, stage, f, k, weights, h, states

/* The variable of a slot: in the arrays of states and functions. */
#define VARIABLE_AT(slot) (*((slot) < states ? x + (slot) : f + ((slot)-states)))

static inline void advance_state(const int j, const real value, __global const real *y,
                          __global real *out, const int stage, __global real *k,
                          __global const real *weights, const real h, const int states)
{
    if (stage < 0) {
        out[j] = value;
        return;
    }
    __global const real *row = weights + stage * (stage + 1) / 2;
    real sum = 0;
    for (int i = 0; i < stage; i++) {
        const real term = row[i] * k[i * states + j];
        sum = i ? sum + term : term;
    }
    const real last = row[stage] * value;
    k[stage * states + j] = value;
    out[j] = y[j] + h * (stage ? sum + last : last);
}

#if PYAPSP_LANES > 1
#define PYAPSP_JOINED(a, b) a##b
#define PYAPSP_JOIN(a, b) PYAPSP_JOINED(a, b)
#define LOAD(place) PYAPSP_JOIN(vload, PYAPSP_LANES)(0, place)
#define STORE(value, place) PYAPSP_JOIN(vstore, PYAPSP_LANES)(value, 0, place)
typedef PYAPSP_JOIN(PYAPSP_REAL, PYAPSP_LANES) reals;
typedef reals numbers;
#define NUMBERS PYAPSP_LANES
#include "simulation/power.h"

/* advance_state for neighbouring states, from j on. */
static inline void advance_states(const int j, const reals value, __global const real *y,
                           __global real *out, const int stage, __global real *k,
                           __global const real *weights, const real h, const int states)
{
    if (stage < 0) {
        STORE(value, out + j);
        return;
    }
    __global const real *row = weights + stage * (stage + 1) / 2;
    reals sum = 0;
    for (int i = 0; i < stage; i++) {
        const reals term = row[i] * LOAD(k + i * states + j);
        sum = i ? sum + term : term;
    }
    const reals last = row[stage] * value;
    STORE(value, k + stage * states + j);
    STORE(LOAD(y + j) + h * (stage ? sum + last : last), out + j);
}

#define ASSIGN_STATES(j, value) advance_states(j, value, y, out, stage, k, weights, h, states)
#define ASSIGN_FUNCTIONS(j, value) STORE(value, f + (j))
#endif

#define POWER(a, b) pow(a, b)
#define ASSIGN_STATE(j, value) advance_state(j, value, y, out, stage, k, weights, h, states)
#define ASSIGN_FUNCTION(j, value) f[j] = (value)

#endif /* SIMULATION_STAGES_H */
