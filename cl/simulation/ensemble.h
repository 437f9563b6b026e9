/* The types and macros that the text of a model uses in an ensemble; see simulation/ensemble.cl. */
#ifndef SIMULATION_ENSEMBLE_H
#define SIMULATION_ENSEMBLE_H

#ifndef PYAPSP_REAL
#define PYAPSP_REAL float
#endif
#ifndef PYAPSP_SINGLE
#define PYAPSP_SINGLE 1
#endif
#ifndef PYAPSP_ARRAYS
#define PYAPSP_ARRAYS                                                                              \
    READ(PYAPSP_REAL, start), READ(PYAPSP_REAL, varied), READ(PYAPSP_REAL, clock),                  \
        READ(int, counts), READ(PYAPSP_REAL, tableau), WRITE(PYAPSP_REAL, results)
#endif
#include "sweep/task.h"
#pragma OPENCL FP_CONTRACT OFF

typedef LANE(PYAPSP_REAL) real;
typedef real numbers;
#define NUMBERS LANES
#include "simulation/power.h"

#if PYAPSP_SINGLE
#define REAL(number) number##f
#else
#define REAL(number) number
#endif
#define POWER(a, b) power(a, b)
#define ASSIGN_STATE(j, value) k[j] = (value)
#define ASSIGN_FUNCTION(j, value) f[j] = (value)

#endif /* SIMULATION_ENSEMBLE_H */
