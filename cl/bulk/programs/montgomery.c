/* Montgomery modular multiplication: Z = X Y 2^-BITS mod M.
 *
 *   X, Y   in: numbers below M
 *   M      in: an odd number
 *   Z      out: the product, below M
 *
 * Numbers have BITS bits, a multiple of 32, in limbs of 32, the lowest first. About 2 LIMBS^2
 * accesses, without those of the sum t, which is a local variable.
 *
 * Compiled as a program, it reads X, Y and M of one product after the other from standard input,
 * and writes Z to standard output: gcc -O2 montgomery.c
 *
 * Multiplication and reduction alternate, limb by limb: C. K. Koc, T. Acar, B. S. Kaliski,
 * Analyzing and comparing Montgomery multiplication algorithms, IEEE Micro 16(3), 1996,
 * doi:10.1109/40.502403 (CIOS).
 */
#include <stdint.h>
#include <stdio.h>

#ifndef BITS
#define BITS 512
#endif
#define LIMBS (BITS / 32)

uint32_t X[LIMBS], Y[LIMBS], M[LIMBS], Z[LIMBS];

#if LIMBS > 512
uint32_t t[LIMBS + 2]; /* too long for a local variable */
#endif

/* -1 / m modulo 2^32; each step of Newton's method doubles the number of correct bits. */
uint32_t negative_inverse(uint32_t m)
{
    uint32_t x = m;
    for (int i = 0; i < 4; i++)
        x *= 2 - m * x;
    return -x;
}

void montgomery(void)
{
#if LIMBS <= 512
    uint32_t t[LIMBS + 2];
#endif
    uint32_t inverse = negative_inverse(M[0]);
    uint64_t sum, carry;

    for (int j = 0; j < LIMBS + 2; j++)
        t[j] = 0;
    for (int i = 0; i < LIMBS; i++) {
        uint32_t y = Y[i];
        carry = 0;
        for (int j = 0; j < LIMBS; j++) {
            sum = (uint64_t)X[j] * y + t[j] + carry;
            t[j] = (uint32_t)sum;
            carry = sum >> 32;
        }
        sum = t[LIMBS] + carry;
        t[LIMBS] = (uint32_t)sum;
        t[LIMBS + 1] = (uint32_t)(sum >> 32);

        uint32_t q = t[0] * inverse;
        carry = ((uint64_t)M[0] * q + t[0]) >> 32;
        for (int j = 1; j < LIMBS; j++) {
            sum = (uint64_t)M[j] * q + t[j] + carry;
            t[j - 1] = (uint32_t)sum;
            carry = sum >> 32;
        }
        sum = t[LIMBS] + carry;
        t[LIMBS - 1] = (uint32_t)sum;
        t[LIMBS] = t[LIMBS + 1] + (uint32_t)(sum >> 32);
    }

    uint64_t borrow = 0;
    for (int j = 0; j < LIMBS; j++) {
        sum = (uint64_t)t[j] - M[j] - borrow;
        Z[j] = (uint32_t)sum;
        borrow = (sum >> 32) & 1;
    }
    if (t[LIMBS] < borrow) /* it was below M before the subtraction */
        for (int j = 0; j < LIMBS; j++)
            Z[j] = t[j];
}

int main(void)
{
    while (fread(X, sizeof X, 1, stdin) == 1 && fread(Y, sizeof Y, 1, stdin) == 1 &&
           fread(M, sizeof M, 1, stdin) == 1) {
#pragma kernel
        montgomery();
        fwrite(Z, sizeof Z, 1, stdout);
    }
    return 0;
}
