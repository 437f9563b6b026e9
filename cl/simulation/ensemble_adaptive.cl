/* ensemble_adaptive: one trajectory of a model for each set of parameters, with steps of its own.
 *
 * Purpose     The body of a sweep, as simulation/ensemble.cl. Each task chooses its steps by an
 *             embedded Runge-Kutta pair whose last stage is at the new states. Steps end at the
 *             times of output. A step is accepted if its error is within the tolerances.
 *
 * Layout      That of simulation/ensemble.cl, and
 *
 *             clock [4]       time at the start, longest first step, tolerances: absolute, relative
 *             tableau [.]     nodes, rows of weights, weights of the error
 *             results [RESULTS]  behind the outputs: 1 if steps became too short
 *
 *             A real may be a vector of several tasks. Lanes that have reached the time of output
 *             wait for the others.
 *
 * Parameters  Those of simulation/ensemble.cl; PYAPSP_STAGES is 7.
 *
 * Cost        All expressions of the model, PYAPSP_STAGES - 1 times for each step that is tried.
 *
 * Source      J. R. Dormand, P. J. Prince, Journal of Computational and Applied Mathematics 6,
 *             1980, doi:10.1016/0771-050X(80)90013-3; E. Hairer, S. P. Norsett and G. Wanner,
 *             Solving ordinary differential equations I, 1993, sections II.4 and II.5.
 */
#include "simulation/ensemble.h"
#include "simulation/one_state.h"

#ifndef PYAPSP_STAGES
#define PYAPSP_STAGES 7
#endif
#define NODE(stage) COMMON(tableau, stage)
#define WEIGHT(stage, i) COMMON(tableau, PYAPSP_STAGES + (stage) * ((stage) + 1) / 2 + (i))
#define ERROR_WEIGHT(i) COMMON(tableau, PYAPSP_STAGES * (PYAPSP_STAGES + 3) / 2 + (i))
/* How much a step may grow or shrink, and the safety factor: as pyapsp/simulation/integrate.py. */
#define GROWTH 5
#define SHRINKAGE ((PYAPSP_REAL)1 / 5)
#define SAFETY ((PYAPSP_REAL)9 / 10)

STEP(integrate)
{
    real y[STATES], x[STATES], k[PYAPSP_STAGES * STATES], f[FUNCTIONS], reduced[REDUCED];
    const PYAPSP_REAL begin = COMMON(clock, 0), h = COMMON(clock, 1);
    const PYAPSP_REAL absolute = COMMON(clock, 2), relative = COMMON(clock, 3);
    const int steps = COMMON(counts, 0), every = COMMON(counts, 1);
    for (int j = 0; j < STATES; j++)
        y[j] = x[j] = IN(start, j);
    for (int j = 0; j < FUNCTIONS; j++)
        f[j] = j < FUNCTIONS - VARIED ? (real)0 : IN(varied, j - (FUNCTIONS - VARIED));
    MODEL_FIRST
    real now = begin, length = h, fault = 0;
    model_functions(now, x, f);
    model_slopes(now, x, f, k);
    for (int row = 0; row <= steps / every; row++) {
        const PYAPSP_REAL t = begin + row * every * h;
        while (ANY((now < (real)t) & (fault == 0))) {
            const real left = t - now;
            const real step = left <= length * (1 + (PYAPSP_REAL)1e-9) ? left : length;
            for (int stage = 1; stage < PYAPSP_STAGES; stage++) {
                for (int j = 0; j < STATES; j++) {
                    real sum = WEIGHT(stage - 1, 0) * k[j];
                    for (int i = 1; i < stage; i++)
                        sum += WEIGHT(stage - 1, i) * k[i * STATES + j];
                    x[j] = y[j] + step * sum;
                }
                const real inside = now + NODE(stage) * step;
                model_functions(inside, x, f);
                model_slopes(inside, x, f, k + stage * STATES);
            }
            real squares = 0;
            for (int j = 0; j < STATES; j++) {
                real sum = ERROR_WEIGHT(0) * k[j];
                for (int i = 1; i < PYAPSP_STAGES; i++)
                    sum += ERROR_WEIGHT(i) * k[i * STATES + j];
                const real size = fmax(fabs(y[j]), fabs(x[j]));
                const real scaled = step * sum / (absolute + relative * size);
                squares += scaled * scaled;
            }
            const real error = sqrt(squares / STATES), none = 0;
            const real best = error > none ? SAFETY * power(error, (real)-1 / 5) : (real)GROWTH;
            const real kept_in = fmin(fmax(best, (real)SHRINKAGE), (real)GROWTH);
            const real factor = error == error ? kept_in : (real)SHRINKAGE;
            /* a step that was shortened to end at an output is no estimate for the next one */
            const real grown = ((step == left) & (factor >= 1)) ? length : step * factor;
            const real next = error <= 1 ? grown : step * fmin(factor, (real)1);
            const real then = step == left ? (real)t : now + step;
            /* lanes that are there wait */
            const real going = ((now < (real)t) & (fault == 0)) ? (real)1 : none;
            const real taken = ((going == 1) & (error <= 1)) ? (real)1 : none;
            for (int j = 0; j < STATES; j++) {
                y[j] = taken == 1 ? x[j] : y[j];
                k[j] = taken == 1 ? k[(PYAPSP_STAGES - 1) * STATES + j] : k[j];
            }
            now = taken == 1 ? then : now;
            length = going == 1 ? next : length;
            fault = ((going > taken) & (now + length / 16 == now)) ? (real)1 : fault;
        }
        for (int j = 0; j < STATES; j++)
            x[j] = y[j];
        model_functions((real)t, x, f);
        MODEL_SAMPLE
    }
    MODEL_LAST
    OUT(results, RESULTS - 1) = fault;
}
