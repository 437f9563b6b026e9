/* joint_histogram: how often each pair of intensities occurs in two volumes, for each task.
 *
 * Purpose   The body of a sweep that registers images: every task has its own volume and compares
 *           it with the same reference. A thread counts the voxels of a column in z.
 *
 * Layout    moving and reference [z][y][x], histogram [moving][reference]:
 *
 *               moving      . 3 .          histogram    . . . .
 *               reference   . 2 .    ->             3   . . + .      indices in the volumes are
 *                                                           2        fixed, here data-dependent
 *
 * Parameters  PYAPSP_ARRAYS  the arrays of a task, where the file is compiled alone
 *             PYAPSP_WIDTH  512, PYAPSP_HEIGHT 512, PYAPSP_SLICES 16  voxels in x, y and z
 *             PYAPSP_BINS   256  intensities; values beyond are counted with the last one
 *
 * Cost      Two reads and an atomic addition for each voxel.
 *
 * Source    F. Ino et al., a parallel scheme for parameter sweep applications on a GPU, 2013,
 *           section 5, figures 5 and 6, after K. Ikeda, F. Ino and K. Hagihara, CARS 2012.
 */
#ifndef PYAPSP_WIDTH
#define PYAPSP_WIDTH 512
#endif
#ifndef PYAPSP_HEIGHT
#define PYAPSP_HEIGHT 512
#endif
#ifndef PYAPSP_SLICES
#define PYAPSP_SLICES 16
#endif
#ifndef PYAPSP_BINS
#define PYAPSP_BINS 256
#endif
#ifndef PYAPSP_ARRAYS
#define PYAPSP_ARRAYS READ(ushort, moving), READ(ushort, reference), WRITE(int, histogram)
#endif
#include "sweep/task.h"

STEP(count)
{
    const int voxel = THREAD_Y * PYAPSP_WIDTH + THREAD_X;
    for (int z = 0; z < PYAPSP_SLICES; z++) {
        const int place = z * PYAPSP_WIDTH * PYAPSP_HEIGHT + voxel;
        const int moving = min((int)IN(moving, place), PYAPSP_BINS - 1);
        const int reference = min((int)COMMON(reference, place), PYAPSP_BINS - 1);
        atomic_inc(&OUT(histogram, moving * PYAPSP_BINS + reference));
    }
}
