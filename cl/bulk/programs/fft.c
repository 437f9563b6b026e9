/* Fast Fourier transform of complex numbers, in place.
 *
 *   re, im   in: real and imaginary parts; out: those of the transform
 *
 * N is their number, a power of two. About 4 N log2(N) accesses.
 *
 * Compiled as a program, it reads re and im of one transform after the other from standard input,
 * as floats in the machine's format, and writes both to standard output: gcc -O2 fft.c -lm
 */
#include <math.h>
#include <stdio.h>

#ifndef N
#define N 64
#endif
#define PI 3.14159265358979f

float re[N], im[N];

void swap(float *x, int i, int k)
{
    float held = x[i];
    x[i] = x[k];
    x[k] = held;
}

/* Element i is moved to the index with the bits of i in reverse order. */
void reverse_bits(void)
{
    for (int i = 0, k = 0; i < N; i++) {
        if (i < k) {
            swap(re, i, k);
            swap(im, i, k);
        }
        int bit = N / 2;
        for (; bit > 0 && (k & bit); bit /= 2)
            k -= bit;
        k += bit;
    }
}

void fft(void)
{
    reverse_bits();
    for (int half = 1; half < N; half *= 2)
        for (int j = 0; j < half; j++) {
            float c = cosf(PI * j / half), s = -sinf(PI * j / half);
            for (int i = j; i < N; i += 2 * half) {
                float x = re[i + half] * c - im[i + half] * s;
                float y = re[i + half] * s + im[i + half] * c;
                re[i + half] = re[i] - x;
                im[i + half] = im[i] - y;
                re[i] += x;
                im[i] += y;
            }
        }
}

int main(void)
{
    while (fread(re, sizeof re, 1, stdin) == 1 && fread(im, sizeof im, 1, stdin) == 1) {
#pragma kernel
        fft();
        fwrite(re, sizeof re, 1, stdout);
        fwrite(im, sizeof im, 1, stdout);
    }
    return 0;
}
