/* gaussian_filter: a separable convolution of an image, for each task.
 *
 * Purpose   The body of a sweep: it filters along the rows, then along the columns. There is a
 *           thread for each pixel. All tasks share the coefficients. Pixels outside the image are
 *           zero.
 *
 * Layout    image, rows and result [y][x]. A pixel reads 2 R + 1 pixels in a line:
 *
 *               image   . a b c d e .      rows      .        result   .
 *               rows    . . . x . . .                a                 .
 *                       R = 2                        b  ->             x
 *                                                    c                 .
 *
 * Parameters  PYAPSP_ARRAYS  the arrays of a task, where the file is compiled alone
 *             PYAPSP_WIDTH  1024, PYAPSP_HEIGHT 1024  pixels
 *             PYAPSP_RADIUS    8  R
 *
 * Cost      4 R + 2 multiplications for a pixel.
 *
 * Source    F. Ino et al., a parallel scheme for parameter sweep applications on a GPU, 2013,
 *           section 5: 17 coefficients on 1024 x 1024. There a group keeps a tile of the image in
 *           local memory; here the caches are used instead.
 */
#ifndef PYAPSP_WIDTH
#define PYAPSP_WIDTH 1024
#endif
#ifndef PYAPSP_HEIGHT
#define PYAPSP_HEIGHT 1024
#endif
#ifndef PYAPSP_RADIUS
#define PYAPSP_RADIUS 8
#endif
#ifndef PYAPSP_ARRAYS
#define PYAPSP_ARRAYS                                                                              \
    READ(float, image), READ(float, coefficients), WRITE(float, rows), WRITE(float, result)
#endif
#include "sweep/task.h"

STEP(along_rows)
{
    const int x = THREAD_X, line = THREAD_Y * PYAPSP_WIDTH;
    float sum = 0;
    for (int i = -PYAPSP_RADIUS; i <= PYAPSP_RADIUS; i++)
        if (x + i >= 0 && x + i < PYAPSP_WIDTH)
            sum += COMMON(coefficients, i + PYAPSP_RADIUS) * IN(image, line + x + i);
    SCRATCH(rows, line + x) = sum;
}

STEP(along_columns)
{
    const int x = THREAD_X, y = THREAD_Y;
    float sum = 0;
    for (int i = -PYAPSP_RADIUS; i <= PYAPSP_RADIUS; i++)
        if (y + i >= 0 && y + i < PYAPSP_HEIGHT)
            sum += COMMON(coefficients, i + PYAPSP_RADIUS) *
                   SCRATCH(rows, (y + i) * PYAPSP_WIDTH + x);
    OUT(result, y * PYAPSP_WIDTH + x) = sum;
}
