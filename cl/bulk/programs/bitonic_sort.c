/* Bitonic sort: numbers in ascending order.
 *
 *   A   in: numbers; out: the same, sorted
 *
 * N is their number, a power of two. About N log2(N)^2 accesses.
 *
 * Compiled as a program, it reads arrays from standard input, as floats in the machine's format,
 * and writes them to standard output: gcc -O2 bitonic_sort.c
 */
#include <stdio.h>

#ifndef N
#define N 32
#endif

float A[N];

void compare_exchange(int i, int k, int ascending)
{
    float a = A[i], b = A[k];
    if ((a > b) == ascending) {
        A[i] = b;
        A[k] = a;
    }
}

void bitonic_sort(void)
{
    for (int length = 2; length <= N; length *= 2)
        for (int j = length / 2; j > 0; j /= 2)
            for (int m = 0; m < N / 2; m++) {
                int i = 2 * m - (m & (j - 1));
                compare_exchange(i, i + j, (i & length) == 0);
            }
}

int main(void)
{
    while (fread(A, sizeof A, 1, stdin) == 1) {
#pragma kernel
        bitonic_sort();
        fwrite(A, sizeof A, 1, stdout);
    }
    return 0;
}
