/* Many steps of a translated model by one work-group, for models that are small.
 *
 * The text of the model is before this file: MODEL_FUNCTIONS, MODEL_SLOPES and MODEL_RESETS call its
 * phases. The arrays are those of simulation/stages.h; y, a and b take turns, and y0 has the states
 * in the end, unless keep is 0.
 *
 *     times [steps][stages + 1]  the time of each stage, and of the end of the step
 *     rows  [rows][count]        outputs before each step whose number is a multiple of every
 *
 * Source  F. Okuyama's thesis, 2013, section 5.6.1: with small models, launches take most of the
 *         time.
 */
#ifndef MODEL_HAS_RESETS
#define MODEL_HAS_RESETS 0
#endif

__kernel __attribute__((reqd_work_group_size(PYAPSP_STEPS, 1, 1))) void
steps(__global real *y0, __global real *a, __global real *b, __global real *f, __global real *k,
      __global const real *weights, const real h, const int states, TABLE_ARGUMENTS,
      __global const real *times, const int first, const int count_of_steps, const int every,
      __global const int *outputs, const int count, __global real *rows, const int first_row,
      const int stages, const int keep)
{
    const int item = get_local_id(0), items = get_local_size(0);
    __global real *y = y0;
    int row = first_row;
    for (int step = 0; step < count_of_steps; step++) {
        __global real *x = y, *out = a;
        for (int stage = 0; stage < stages; stage++) {
            const real t = times[step * (stages + 1) + stage];
            MODEL_FUNCTIONS
            if (stage == 0 && (first + step) % every == 0) {
                for (int i = item; i < count; i += items)
                    rows[row * count + i] = VARIABLE_AT(outputs[i]);
                row++;
            }
            MODEL_SLOPES
            __global real *const next = out == a ? b : a;
            x = out;
            out = next;
        }
        __global real *const old = y;
        y = x;
        a = out;
        b = old;
#if MODEL_HAS_RESETS
        {
            const int stage = 0;
            const real t = times[step * (stages + 1) + stages];
            x = y;
            out = a;
            MODEL_FUNCTIONS
            for (int j = item; j < states; j += items)
                a[j] = y[j];
            MEET;
            MODEL_RESETS
            a = y;
            y = out;
        }
#endif
    }
    if (keep && y != y0)
        for (int j = item; j < states; j += items)
            y0[j] = y[j];
}
