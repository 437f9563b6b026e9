/* What the text of a translated model is put behind: its tables, and sums.
 *
 *     slots  [.]  slots of states or functions, where they are no affine function of the bytecode
 *     values [.]  constants that differ between the bytecodes of a bundle
 *     sums        terms of the sum of each warp, and their place in slots
 *
 * pyapsp/simulation/program.py writes the kernels.
 *
 * Source  F. Okuyama's thesis, 2013, section 5.5.2.
 */
#ifndef SIMULATION_TRANSLATED_H
#define SIMULATION_TRANSLATED_H
#include "simulation/sums.h"

#ifndef PYAPSP_GROUP
#define PYAPSP_GROUP 32
#endif
#ifndef PYAPSP_SINGLE
#define PYAPSP_SINGLE 1
#endif

/* A literal of the number type. */
#if PYAPSP_SINGLE
#define REAL(number) number##f
#else
#define REAL(number) number
#endif

#define TABLE_ARGUMENTS                                                                            \
    __global const int *restrict slots, __global const real *restrict values,                      \
        __global const int *restrict sums
#define TABLES slots, values, sums
#define SLOT(i) slots[i]
#define VALUE(i) values[i]

#define ITEM_SUM(id) item_sum(sums[2 * (id)], slots + sums[2 * (id) + 1], x, f, states)
/* The sum of the warp of `id`, of the first `ids` work-items. */
#define WARP_SUM(sums, id, ids, rounds)                                                            \
    warp_sum((id) < (ids) ? (sums)[2 * ((id) / PYAPSP_WARP)] : 0,                                  \
             slots + ((id) < (ids) ? (sums)[2 * ((id) / PYAPSP_WARP) + 1] : 0), rounds, x, f,      \
             states, part, error)

#endif /* SIMULATION_TRANSLATED_H */
