/* Prefix sums: B[i] becomes B[0] + B[1] + ... + B[i].
 *
 *   B   in: numbers; out: their prefix sums
 *
 * N is their number. 2 N accesses.
 *
 * Compiled as a program, it reads arrays from standard input, as floats in the machine's format,
 * and writes the sums to standard output: gcc -O2 prefix_sums.c
 */
#include <stdio.h>

#ifndef N
#define N 32
#endif

float B[N];

void prefix_sums(void)
{
    float sum = 0;
    for (int i = 0; i < N; i++) {
        sum += B[i];
        B[i] = sum;
    }
}

int main(void)
{
    while (fread(B, sizeof B, 1, stdin) == 1) {
#pragma kernel
        prefix_sums();
        fwrite(B, sizeof B, 1, stdout);
    }
    return 0;
}
