/* steps: what a step needs besides its phases.
 *
 * Purpose     sample copies the outputs into a row of a table on the device, which is read back
 *             after many rows. combine computes the state of the next stage from slopes that are
 *             known. error adds up the squares of the scaled error of a step.
 *
 * Layout      slots [count]: states first, then functions     rows [rows][count]
 *             partial [work-items]: one sum for each; the host adds them
 *
 * Parameters  PYAPSP_REAL  double or float
 *
 * Cost        One work-item for each output or state; error strides over the states.
 *
 * Source      E. Hairer, S. P. Norsett and G. Wanner, Solving ordinary differential equations I,
 *             1993, section II.4: the norm of the error.
 */
#include "simulation/stages.h"

__kernel void sample(__global const real *x, __global const real *f, __global const int *slots,
                     __global real *rows, const int count, const int row, const int states)
{
    const int i = get_global_id(0);
    if (i < count)
        rows[row * count + i] = VARIABLE_AT(slots[i]);
}

__kernel void combine(__global const real *y, __global const real *k, __global real *out,
                      __global const real *weights, const int stage, const real h,
                      const int states)
{
    const int j = get_global_id(0);
    if (j >= states)
        return;
    __global const real *row = weights + stage * (stage + 1) / 2;
    real sum = row[0] * k[j];
    for (int i = 1; i <= stage; i++)
        sum += row[i] * k[i * states + j];
    out[j] = y[j] + h * sum;
}

__kernel void error(__global const real *y, __global const real *next, __global const real *k,
                    __global const real *weights, __global real *partial, const int stages,
                    const real h, const real absolute, const real relative, const int states)
{
    real squares = 0;
    for (int j = get_global_id(0); j < states; j += get_global_size(0)) {
        real sum = weights[0] * k[j];
        for (int i = 1; i < stages; i++)
            sum += weights[i] * k[i * states + j];
        const real scaled = h * sum / (absolute + relative * fmax(fabs(y[j]), fabs(next[j])));
        squares += scaled * scaled;
    }
    partial[get_global_id(0)] = squares;
}
