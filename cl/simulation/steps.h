/* Many steps in one launch: by one work-group, or by a crew of groups that wait for each other.
 *
 * Before this file are the text of a model or an interpreter, TABLE_ARGUMENTS, and
 *
 *     MODEL_STAGE   the phases of a stage, with MEET after each; SAMPLE is before the slopes. If
 *                   `resets` is 1 the phase of the resets takes the place of the slopes.
 *
 * Work-item `item` of `items`, or group `mine` of `groups`, takes its part of each phase. The
 * arrays are those of simulation/stages.h; y, a and b take turns, and y0 has the states in the end,
 * unless keep is 0.
 *
 *     times [steps][stages + 1]  the time of each stage, and of the end of the step
 *     rows  [rows][count]        outputs before each step whose number is a multiple of every
 *     crew  [3]                  the counters of common/meeting.h; all 0 before the launch
 *
 *     PYAPSP_STEPS  work-items of a group       PYAPSP_CREW  1: several groups; 0: one
 *
 * If a group of the crew waits for too long, crew[STALLED] is 1, and the host discards what the
 * launch wrote.
 *
 * Source  F. Okuyama's thesis, 2013, section 5.6.1: with small models, launches take most of the
 *         time.
 */
#ifndef MODEL_HAS_RESETS
#define MODEL_HAS_RESETS 0
#endif
#ifndef PYAPSP_STEPS
#define PYAPSP_STEPS 32
#endif
#ifndef PYAPSP_CREW
#define PYAPSP_CREW 0
#endif
#if PYAPSP_CREW
#include "common/meeting.h"
#endif

enum { ENTERED, ARRIVED, STALLED };

/* What the work-items of all groups wrote is there for all of them. */
#if PYAPSP_CREW
#define MEET together = meet(crew + ARRIVED, crew + STALLED, groups, ++turn, mine, pair) & together
#elif PYAPSP_STEPS == 1
#define MEET (void)0
#else
#define MEET barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#endif
#define SAMPLE                                                                                     \
    if (wanted)                                                                                    \
        for (int i = item; i < count; i += items)                                                  \
            rows[row * count + i] = VARIABLE_AT(outputs[i]);

__kernel __attribute__((reqd_work_group_size(PYAPSP_STEPS, 1, 1))) void
steps(__global real *y0, __global real *a, __global real *b, __global real *f, __global real *k,
      __global const real *weights, const real h, const int states, TABLE_ARGUMENTS,
      __global const real *times, const int first, const int count_of_steps, const int every,
      __global const int *outputs, const int count, __global real *rows, const int first_row,
      const int stages, const int keep, __global int *crew)
{
    SUM_MEMORY
    int mine = 0, groups = 1, together = 1;
#if PYAPSP_CREW
    __local int pair[2];
    int turn = 0;
    mine = enter(crew + ENTERED, get_num_groups(0), &groups, pair);
    together = mine >= 0;
#endif
    const int item = mine * PYAPSP_STEPS + get_local_id(0), items = groups * PYAPSP_STEPS;
    __global real *y = y0;
    int row = first_row;
    for (int step = 0; step < count_of_steps && together; step++) {
        __global real *x = y, *out = a;
        for (int pass = 0; pass < stages + MODEL_HAS_RESETS; pass++) {
            const int resets = pass == stages, stage = resets ? -1 : pass;
            const int wanted = pass == 0 && (first + step) % every == 0;
            const real t = times[step * (stages + 1) + pass];
#if MODEL_HAS_RESETS
            for (int j = item; j < (resets ? states : 0); j += items)
                out[j] = x[j];
            MEET;
#endif
            MODEL_STAGE
            row += wanted;
            __global real *const next = out == a ? b : a;
            x = out;
            out = next;
        }
        /* the array of the old states is free */
        a = out;
        b = y;
        y = x;
    }
    if (keep && together && y != y0)
        for (int j = item; j < states; j += items)
            y0[j] = y[j];
}
