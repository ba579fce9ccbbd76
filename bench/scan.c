/*
 * scan.c: the cosines of a question with 100,000 vectors of 128 bytes, beside a plain read of the same bytes.
 *
 *     scan [ROUNDS]
 *
 * The read adds up the bytes in words of eight, as wide as the compiler makes it. Rounds of both alternate, so that what
 * else runs meets both; told are the medians.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "recall/encoder.h"
#include "recall/numbers.h"

#define COUNT 100000
#define MOST_ROUNDS 10001

static VECTORS uint64_t read_all(const int8_t *bytes, size_t size)
{
    uint64_t sum = 0;
    for (size_t i = 0; i + 8 <= size; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, 8);
        sum += word;
    }
    return sum;
}

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

int main(int argc, char **argv)
{
    static double reads[MOST_ROUNDS], scans[MOST_ROUNDS];
    static struct packed_question question;
    size_t size = (size_t)COUNT * ENCODER_WHOLE,
           rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 201;
    int8_t *wholes = malloc(size);
    float *cosines = malloc(COUNT * sizeof *cosines);
    uint64_t seed = 88172645463325252u, sum = 0;
    if (!wholes || !cosines || rounds == 0 || rounds > MOST_ROUNDS)
        return 1;
    for (size_t i = 0; i < size; i++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        wholes[i] = (int8_t)(seed % 25) - 12;
    }
    for (size_t i = 0; i < ENCODER_WHOLE; i++)
        question.whole[i] = (int16_t)wholes[i * 131];
    for (size_t i = 0; i < rounds; i++) {
        double start = now_us();
        sum += read_all(wholes, size);
        double middle = now_us();
        encoder_cosines(&question, wholes, COUNT, cosines);
        reads[i] = middle - start;
        scans[i] = now_us() - middle;
        sum += cosines[i % COUNT] > 0;
    }
    double read = median(reads, rounds), scan = median(scans, rounds);
    printf("%d vectors of %d bytes: read %.0f us, %.1f GB/s; scan %.0f us, %.1f GB/s: %.2f times "
           "(%llu)\n",
           COUNT, ENCODER_WHOLE, read, (double)size / read / 1e3, scan, (double)size / scan / 1e3,
           scan / read, (unsigned long long)sum);
    free(wholes);
    free(cosines);
    return 0;
}
