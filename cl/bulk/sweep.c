/* Changes every element of an array, again and again. The memory of a device is measured with it.
 *
 *   A   in and out: numbers
 *
 * N is the number of elements, STEPS the number of changes in all. 2 STEPS accesses with almost no
 * computation.
 */
#ifndef N
#define N 32
#endif
#ifndef STEPS
#define STEPS 256
#endif

float A[N];

#pragma kernel
void sweep(void)
{
    int i = 0; /* one loop, not two: a compiler could keep a short array in registers */
    for (int step = 0; step < STEPS; step++) {
        A[i] = A[i] + 1.0f;
        i = i + 1 == N ? 0 : i + 1;
    }
}
