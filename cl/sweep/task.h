/* Default macros for the body of a sweep, if no engine has defined them.
 *
 * A file with the body of a task lists the arrays of a task in PYAPSP_ARRAYS, with READ and WRITE,
 * and includes this file. Compiled alone, its steps are kernels for one task, with a work-item for
 * each thread in up to three dimensions. pyapsp/sweep/source.py makes kernels for many tasks from
 * the same text, with its own macros instead of these.
 *
 *     macro            meaning
 *     STEP(name)       head of a step, which every thread of a task takes
 *     IN(name, j)      entry j of an input of this task       OUT(name, j)  of an output
 *     SCRATCH(name, j) of an array that no one else sees      COMMON(name, j)  of one of all tasks
 *     THREAD_X, _Y, _Z which thread of the task this is
 *     TASK             which task of the sweep this is
 *     AGAIN()          asks for another round of repeated steps
 *     LANE(type)       type, or a vector of it where a work-item is several tasks
 *     LANES            how many
 *     CONVERT(type, x) x as a LANE(type)
 *     ANY(mask)        whether a comparison holds in any lane
 */
#ifndef SWEEP_TASK_H
#define SWEEP_TASK_H
#ifndef PYAPSP_ARRAYS
#define PYAPSP_ARRAYS __global int *array_nothing
#endif

#define READ(type, name) __global const type *restrict array_##name
#define WRITE(type, name) __global type *restrict array_##name

#ifndef STEP
#define STEP(name) __kernel void name(PYAPSP_ARRAYS)
#define IN(name, j) array_##name[j]
#define OUT(name, j) array_##name[j]
#define SCRATCH(name, j) array_##name[j]
#define COMMON(name, j) array_##name[j]
#define THREAD_X ((int)get_global_id(0))
#define THREAD_Y ((int)get_global_id(1))
#define THREAD_Z ((int)get_global_id(2))
#define TASK 0
#define AGAIN() (void)0
#define LANE(type) type
#define LANES 1
#define CONVERT(type, x) ((type)(x))
#define ANY(mask) (mask)
#endif

#endif /* SWEEP_TASK_H */
