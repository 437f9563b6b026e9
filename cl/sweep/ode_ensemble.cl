/* ode_ensemble: one trajectory of a system of ordinary differential equations for each task.
 *
 * Purpose   The body of a sweep over initial states and parameters. Each task has one thread, which
 *           integrates from sample to sample. runge_kutta is the classical method of order 4 with
 *           steps of equal size. dormand_prince is the pair of orders 5 and 4 of Dormand and
 *           Prince, with steps that keep an estimate of the error within tolerances.
 *
 * Layout    start [D], parameters [P], times [samples + 1] from the first on, states [samples][D]:
 *
 *               times   t0 . . . t1 . . . t2       runge_kutta: as many steps between two samples
 *               states           s0       s1       as the common array steps says
 *
 *           evaluations counts how often the right-hand side was evaluated; -1 means that max_steps
 *           were not enough; the samples after that are NaN.
 *
 *           A real_t may be a vector of several tasks. Lanes that are done are not changed.
 *
 * Parameters  PYAPSP_ARRAYS   the arrays of a task, where the file is compiled alone
 *             PYAPSP_REAL     float or double
 *             PYAPSP_MASK     int or long: what comparisons of vectors of these give
 *             PYAPSP_SYSTEM   0: Lorenz 1963, parameters sigma, rho, beta; 1: van der Pol, mu
 *             PYAPSP_SAMPLES  1
 *
 * Cost      4 evaluations for a step; 6 for a step of the pair, accepted or not.
 *
 * Source    E. Hairer, S. P. Norsett and G. Wanner, Solving ordinary differential equations I, 1993,
 *           sections II.1, II.4 and II.5: the methods, the coefficients and the step control.
 */
#ifndef PYAPSP_REAL
#define PYAPSP_REAL float
#endif
#ifndef PYAPSP_MASK
#define PYAPSP_MASK int
#endif
#ifndef PYAPSP_SYSTEM
#define PYAPSP_SYSTEM 0
#endif
#ifndef PYAPSP_SAMPLES
#define PYAPSP_SAMPLES 1
#endif
#ifndef PYAPSP_ARRAYS
#define PYAPSP_ARRAYS                                                                              \
    READ(PYAPSP_REAL, start), READ(PYAPSP_REAL, parameters), READ(PYAPSP_REAL, times),            \
        READ(int, steps), READ(PYAPSP_REAL, tolerances), WRITE(PYAPSP_REAL, states),              \
        WRITE(int, evaluations)
#endif
#include "sweep/task.h"

#define EACH for (int d = 0; d < D; d++)
#define RATIO(a, b) ((PYAPSP_REAL)(a) / (PYAPSP_REAL)(b))

typedef LANE(PYAPSP_REAL) real_t;
typedef LANE(PYAPSP_MASK) mask_t;

#if PYAPSP_SYSTEM == 0
#define D 3
#define P 3
static void slope(real_t *k, const real_t *y, const real_t *p)
{
    k[0] = p[0] * (y[1] - y[0]);
    k[1] = y[0] * (p[1] - y[2]) - y[1];
    k[2] = y[0] * y[1] - p[2] * y[2];
}
#else
#define D 2
#define P 1
static void slope(real_t *k, const real_t *y, const real_t *p)
{
    k[0] = y[1];
    k[1] = p[0] * (1 - y[0] * y[0]) * y[1] - y[0];
}
#endif

#define LOAD                                                                                       \
    real_t y[D], p[P];                                                                             \
    EACH y[d] = IN(start, d);                                                                      \
    for (int i = 0; i < P; i++)                                                                    \
        p[i] = IN(parameters, i);

STEP(runge_kutta)
{
    LOAD
    const int steps = COMMON(steps, 0);
    for (int sample = 0; sample < PYAPSP_SAMPLES; sample++) {
        const PYAPSP_REAL h = (COMMON(times, sample + 1) - COMMON(times, sample)) / steps;
        const PYAPSP_REAL half_h = h / 2, sixth = h / 6;
        for (int i = 0; i < steps; i++) {
            real_t k1[D], k2[D], k3[D], k4[D], at[D];
            slope(k1, y, p);
            EACH at[d] = y[d] + half_h * k1[d];
            slope(k2, at, p);
            EACH at[d] = y[d] + half_h * k2[d];
            slope(k3, at, p);
            EACH at[d] = y[d] + h * k3[d];
            slope(k4, at, p);
            EACH y[d] += sixth * (k1[d] + 2 * (k2[d] + k3[d]) + k4[d]);
        }
        EACH OUT(states, sample * D + d) = y[d];
    }
    OUT(evaluations, 0) = 4 * steps * PYAPSP_SAMPLES;
}

STEP(dormand_prince)
{
    LOAD
    const PYAPSP_REAL relative = COMMON(tolerances, 0), absolute = COMMON(tolerances, 1);
    const PYAPSP_REAL limit = COMMON(steps, 0);
    real_t k1[D], t = COMMON(times, 0), taken = 0;
    slope(k1, y, p);

    /* a first step for which both the state and its slope change little */
    real_t size = 0, rate = 0;
    EACH {
        const real_t scale = absolute + relative * fabs(y[d]);
        size += (y[d] / scale) * (y[d] / scale);
        rate += (k1[d] / scale) * (k1[d] / scale);
    }
    const mask_t still = (size < RATIO(1, 1e10)) | (rate < RATIO(1, 1e10));
    real_t h = still ? (real_t)RATIO(1, 1e6) : RATIO(1, 100) * sqrt(size / rate);

    for (int sample = 0; sample < PYAPSP_SAMPLES; sample++) {
        const PYAPSP_REAL end = COMMON(times, sample + 1);
        mask_t going = (t < end) & (taken < limit);
        while (ANY(going)) {
            real_t k2[D], k3[D], k4[D], k5[D], k6[D], k7[D], at[D], mean = 0;
            const real_t left = end - t;
            const mask_t last = left <= h;
            const real_t step = last ? left : h;
            EACH at[d] = y[d] + step * (RATIO(1, 5) * k1[d]);
            slope(k2, at, p);
            EACH at[d] = y[d] + step * (RATIO(3, 40) * k1[d] + RATIO(9, 40) * k2[d]);
            slope(k3, at, p);
            EACH at[d] = y[d] + step * (RATIO(44, 45) * k1[d] - RATIO(56, 15) * k2[d] +
                                        RATIO(32, 9) * k3[d]);
            slope(k4, at, p);
            EACH at[d] = y[d] + step * (RATIO(19372, 6561) * k1[d] - RATIO(25360, 2187) * k2[d] +
                                        RATIO(64448, 6561) * k3[d] - RATIO(212, 729) * k4[d]);
            slope(k5, at, p);
            EACH at[d] = y[d] + step * (RATIO(9017, 3168) * k1[d] - RATIO(355, 33) * k2[d] +
                                        RATIO(46732, 5247) * k3[d] + RATIO(49, 176) * k4[d] -
                                        RATIO(5103, 18656) * k5[d]);
            slope(k6, at, p);
            EACH at[d] = y[d] + step * (RATIO(35, 384) * k1[d] + RATIO(500, 1113) * k3[d] +
                                        RATIO(125, 192) * k4[d] - RATIO(2187, 6784) * k5[d] +
                                        RATIO(11, 84) * k6[d]);
            slope(k7, at, p);
            EACH {
                const real_t error =
                    step * (RATIO(71, 57600) * k1[d] - RATIO(71, 16695) * k3[d] +
                            RATIO(71, 1920) * k4[d] - RATIO(17253, 339200) * k5[d] +
                            RATIO(22, 525) * k6[d] - RATIO(1, 40) * k7[d]);
                const real_t before = fabs(y[d]), after = fabs(at[d]);
                const real_t allowed = absolute + relative * (before < after ? after : before);
                mean += (error / allowed) * (error / allowed);
            }
            mean /= D;
            /* the root of the mean square to the power -1/5, within what a step may change by */
            real_t factor = RATIO(9, 10) * exp2(RATIO(-1, 10) * log2(mean));
            factor = factor > RATIO(1, 5) ? factor : (real_t)RATIO(1, 5); /* also if it is NaN */
            factor = factor < 5 ? factor : (real_t)5;
            const mask_t accepted = going & (mean <= 1);
            /* a step that was shortened to end at a sample is no estimate for the next one */
            const mask_t kept = accepted & last & (factor >= 1);
            factor = (accepted | (factor < 1)) ? factor : (real_t)1;
            h = (going & !kept) ? step * factor : h;
            const real_t reached = last ? (real_t)end : t + step;
            t = accepted ? reached : t;
            EACH {
                y[d] = accepted ? at[d] : y[d];
                k1[d] = accepted ? k7[d] : k1[d];
            }
            taken += going ? (real_t)1 : (real_t)0;
            going = (t < end) & (taken < limit);
        }
        EACH y[d] = t < end ? (real_t)NAN : y[d];
        EACH OUT(states, sample * D + d) = y[d];
    }
    const real_t evaluations = isnan(y[0]) ? (real_t)-1 : 1 + 6 * taken;
    OUT(evaluations, 0) = CONVERT(int, evaluations);
}
