/* ensemble: one trajectory of a model for each set of parameters.
 *
 * Purpose     The body of a sweep. Each task integrates the whole model with steps of equal length,
 *             by Euler's method or the classical Runge-Kutta method. It stores values at the
 *             times of output, or updates one value for each reduction.
 *
 * Layout      start [STATES]  the states at the start         varied [VARIED]  values of this set
 *             clock [4]       time at the start, step         counts [2]     steps, output interval
 *             results [.]     rows of outputs, or one value for each reduction
 *
 *             f [FUNCTIONS] has the functions and, behind them, the values of the set. A real may
 *             be a vector of several tasks.
 *
 * Parameters  PYAPSP_REAL    double or float; PYAPSP_SINGLE 1 for float
 *             PYAPSP_STAGES  1: Euler; 4: Runge and Kutta
 *             PYAPSP_ARRAYS  the arrays of a task, where the file is compiled alone
 *
 *             The text of a model is put between simulation/ensemble.h and this file: the sizes
 *             above, model_functions, model_slopes, model_resets and model_sample.
 *
 * Cost        All expressions of the model, PYAPSP_STAGES times for each step.
 *
 * Source      F. Okuyama's thesis, 2013, section 5.6.3 (one program for many initial values);
 *             E. Hairer, S. P. Norsett and G. Wanner, Solving ordinary differential equations I,
 *             1993, section II.1.
 */
#include "simulation/ensemble.h"
#include "simulation/one_state.h"

#ifndef PYAPSP_STAGES
#define PYAPSP_STAGES 4
#endif

STEP(integrate)
{
    real y[STATES], x[STATES], k[STATES], sum[STATES], f[FUNCTIONS], reduced[REDUCED];
    const PYAPSP_REAL begin = COMMON(clock, 0), h = COMMON(clock, 1);
    const int steps = COMMON(counts, 0), every = COMMON(counts, 1);
    for (int j = 0; j < STATES; j++)
        y[j] = IN(start, j);
    for (int j = 0; j < FUNCTIONS; j++)
        f[j] = j < FUNCTIONS - VARIED ? (real)0 : IN(varied, j - (FUNCTIONS - VARIED));
    MODEL_FIRST
    int row = 0;
    for (int step = 0; step <= steps; step++) {
        for (int j = 0; j < STATES; j++) {
            x[j] = y[j];
            sum[j] = 0;
        }
        for (int stage = 0; stage < PYAPSP_STAGES; stage++) {
            const PYAPSP_REAL node = stage == 0 ? 0 : stage == 3 ? 1 : (PYAPSP_REAL)1 / 2;
            const PYAPSP_REAL t = begin + (step + node) * h;
            model_functions((real)t, x, f);
            if (stage == 0 && step % every == 0) {
                MODEL_SAMPLE
                row++;
            }
            model_slopes((real)t, x, f, k);
            const PYAPSP_REAL next = stage == 2 ? 1 : (PYAPSP_REAL)1 / 2;
            const PYAPSP_REAL weight = PYAPSP_STAGES == 1         ? 1
                                       : stage == 0 || stage == 3 ? (PYAPSP_REAL)1 / 6
                                                                  : (PYAPSP_REAL)1 / 3;
            for (int j = 0; j < STATES; j++) {
                sum[j] = stage ? sum[j] + weight * k[j] : weight * k[j];
                x[j] = y[j] + h * (next * k[j]);
            }
        }
        for (int j = 0; j < STATES; j++)
            y[j] = y[j] + h * sum[j];
#if RESETS
        for (int j = 0; j < STATES; j++)
            k[j] = y[j];
        model_functions((real)(begin + (step + 1) * h), y, f);
        model_resets((real)(begin + (step + 1) * h), y, f, k);
        for (int j = 0; j < STATES; j++)
            y[j] = k[j];
#endif
    }
    MODEL_LAST
}
