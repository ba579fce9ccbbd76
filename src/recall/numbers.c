/*
 * numbers.c: logarithm and square root; the latter uses the processor's instruction if available.
 */
#include "recall/numbers.h"

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define LN_2 0.69314718055994530942
#define SQRT_2 1.41421356237309504880

#define EXPONENT_BIAS 1023
#define MANTISSA_BITS 52

/* Splits x into a mantissa from 1 to below 2, and a power of two. */
static double split_exponent(double x, int *out_exponent)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    *out_exponent = (int)(bits >> MANTISSA_BITS & 0x7FF) - EXPONENT_BIAS;
    bits = (bits & ((UINT64_C(1) << MANTISSA_BITS) - 1)) | (uint64_t)EXPONENT_BIAS << MANTISSA_BITS;
    memcpy(&x, &bits, sizeof x);
    return x;
}

double number_log(double x)
{
    int exponent;
    double m = split_exponent(x, &exponent);
    if (m > SQRT_2) {
        m /= 2;
        exponent++;
    }
    // ln m = 2 (z + z^3 / 3 + z^5 / 5 + ...), |z| below 0.172
    double z = (m - 1) / (m + 1), square = z * z, sum = 0;
    for (int i = 21; i > 0; i -= 2)
        sum = sum * square + 1.0 / i;
    return exponent * LN_2 + 2 * z * sum;
}

#ifdef __SSE2__
double number_sqrt(double x)
{
    if (!(x > 0))
        return 0;
    return _mm_cvtsd_f64(_mm_sqrt_sd(_mm_setzero_pd(), _mm_set_sd(x)));
}
#else
double number_sqrt(double x)
{
    int exponent;
    if (!(x > 0))
        return 0;
    double m = split_exponent(x, &exponent), guess = (1 + m) / 2;
    if (exponent & 1) {
        m *= 2;
        exponent--;
        guess = m / 2;
    }
    for (int i = 0; i < 6; i++) // Newton: each step doubles the digits
        guess = (guess + m / guess) / 2;
    uint64_t bits = (uint64_t)(exponent / 2 + EXPONENT_BIAS) << MANTISSA_BITS;
    double scale;
    memcpy(&scale, &bits, sizeof scale);
    return guess * scale;
}
#endif
