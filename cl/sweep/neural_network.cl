/* neural_network: recognition of handwritten digits, one image for each task.
 *
 * Purpose   The body of a sweep: a convolutional network of four layers on an image of 29 x 29. All
 *           tasks share its weights. There is a thread for each neuron, and a step for each layer.
 *
 * Layout    image 29 x 29 -> maps 6 x 13 x 13 -> small 50 x 5 x 5 -> hidden 100 -> scores 10, [map]
 *           [y][x] in C order. The first two layers are convolutions of 5 x 5 that move on by two:
 *
 *               image  . a b c d e . .      neuron x sees columns 2 x .. 2 x + 4 of each map of the
 *               maps     .   x   .          layer before; its first weight is the bias
 *
 *           weights1 [6][1 + 25], weights2 [50][6][1 + 25], weights3 [100][1 + 1250], weights4
 *           [10][1 + 100].
 *
 * Parameters  PYAPSP_ARRAYS  the arrays of a task, where the file is compiled alone; see sweep/task.h
 *
 * Cost      350 thousand multiplications for an image. The neurons of a layer read the same neurons
 *           of the layer before, and weights that are 26, 156, 1251 and 101 entries apart.
 *
 * Source    F. Ino et al., a parallel scheme for parameter sweep applications on a GPU, 2013,
 *           section 5, tables I and II. The network is one of P. Simard, D. Steinkraus and J. Platt,
 *           best practices for convolutional neural networks, ICDAR 2003.
 */
#ifndef PYAPSP_ARRAYS
#define PYAPSP_ARRAYS                                                                              \
    READ(float, image), READ(float, weights1), READ(float, weights2), READ(float, weights3),      \
        READ(float, weights4), WRITE(float, maps), WRITE(float, small), WRITE(float, hidden),     \
        WRITE(float, scores)
#endif
#include "sweep/task.h"

static float activation(const float x)
{
    return 1.7159f * tanh(0.66666667f * x);
}

STEP(first_layer)
{
    const int x = THREAD_X, y = THREAD_Y, map = THREAD_Z;
    float sum = COMMON(weights1, map * 26);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++)
            sum += COMMON(weights1, map * 26 + 1 + i * 5 + j) *
                   IN(image, (2 * y + i) * 29 + 2 * x + j);
    SCRATCH(maps, (map * 13 + y) * 13 + x) = activation(sum);
}

STEP(second_layer)
{
    const int x = THREAD_X, y = THREAD_Y, map = THREAD_Z;
    float sum = 0;
    for (int before = 0; before < 6; before++) {
        const int weight = (map * 6 + before) * 26;
        sum += COMMON(weights2, weight);
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 5; j++)
                sum += COMMON(weights2, weight + 1 + i * 5 + j) *
                       SCRATCH(maps, (before * 13 + 2 * y + i) * 13 + 2 * x + j);
    }
    SCRATCH(small, (map * 5 + y) * 5 + x) = activation(sum);
}

STEP(third_layer)
{
    const int weight = THREAD_X * 1251;
    float sum = COMMON(weights3, weight);
    for (int i = 0; i < 1250; i++)
        sum += COMMON(weights3, weight + 1 + i) * SCRATCH(small, i);
    SCRATCH(hidden, THREAD_X) = activation(sum);
}

STEP(fourth_layer)
{
    const int weight = THREAD_X * 101;
    float sum = COMMON(weights4, weight);
    for (int i = 0; i < 100; i++)
        sum += COMMON(weights4, weight + 1 + i) * SCRATCH(hidden, i);
    OUT(scores, THREAD_X) = activation(sum);
}
