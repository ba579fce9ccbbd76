/*
 * scan.c: the cosines of a question with 100,000 vectors of 128 bytes, beside a plain read of the same bytes; and texts
 * that are nothing but what the scanner for secrets and instructions stops at.
 *
 *     scan [ROUNDS]
 *     scan --anchors [BYTES]
 *
 * Every anchor of a rule and every word of the guard's filter, with something between that makes it a name, a value or
 * a line, is repeated to BYTES. Told are the slowest, in MB/s of processor time, the better of two runs.
 *
 * The read adds up the bytes in words of eight, as wide as the compiler makes it. Rounds of both alternate, so that what
 * else runs meets both; told are the medians.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/str.h"
#include "base/view.h"
#include "core/memory/sanitize.h"
#include "core/scan/concepts.h"
#include "core/scan/filter.h"
#include "core/scan/secret_rules.h"
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

/* ---- anchors ----------------------------------------------------------------------------------- */

#define ANCHOR_BYTES 2000000
#define WORST 5
#define MAX_ANCHOR 256 /* bytes, with what stands behind it */

struct anchors_run {
    const char *name;
    double bar; /* MB/s */
    bool guard; /* or secrets */
    size_t count, below;
    struct anchor_speed {
        double speed;
        const char *anchor, *behind;
    } worst[WORST];
};

static double processor_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double scan_speed(struct ethos_view text, bool guard)
{
    double start = processor_seconds();

    if (guard) {
        struct str out;
        str_init(&out, SIZE_MAX);
        scan_text(text, SCAN_GUARD, &out, NULL);
        str_release(&out);
    } else {
        struct secret_search search = {.text = text};
        struct secret secret;
        while (secret_next(&search, &secret))
            ;
    }
    return (double)text.size / (processor_seconds() - start) / 1e6;
}

static void measure_anchor(struct anchors_run *run, const char *anchor, char *text, size_t size)
{
    static const char *const behind[] = {"",   " ",    "\n",    "=",        ": ",          "-",
                                         "\"", "1",    "x",     "|",        "@",           ".",
                                         "='", " is ", "a1B2 ", "\xC3\xA9", "\xE2\x80\x8B"};

    for (size_t i = 0; i < sizeof behind / sizeof behind[0]; i++) {
        char one[MAX_ANCHOR];
        size_t length = (size_t)snprintf(one, sizeof one, "%s%s", anchor, behind[i]);
        for (size_t at = 0; at < size; at += length)
            memcpy(text + at, one, length < size - at ? length : size - at);
        double first = scan_speed(view_of(text, size), run->guard);
        double again = first < run->bar * 2 ? scan_speed(view_of(text, size), run->guard) : first;
        struct anchor_speed found = {again > first ? again : first, anchor, behind[i]};
        run->count++;
        run->below += found.speed < run->bar;
        for (size_t j = 0; j < WORST; j++) {
            struct anchor_speed other = run->worst[j];
            if (other.anchor && other.speed <= found.speed)
                continue;
            run->worst[j] = found;
            found = other;
            if (!found.anchor)
                break;
        }
    }
}

static void print_anchors(const struct anchors_run *run)
{
    printf("%s: %zu of %zu texts below %.0f MB/s; the slowest:\n", run->name, run->below,
           run->count, run->bar);
    for (size_t i = 0; i < WORST && run->worst[i].anchor; i++)
        printf("  %6.1f MB/s  '%s' and '%s'\n", run->worst[i].speed, run->worst[i].anchor,
               strcmp(run->worst[i].behind, "\n") == 0 ? "\\n" : run->worst[i].behind);
}

static int measure_anchors(size_t size)
{
    struct anchors_run secrets = {.name = "secrets", .bar = 20},
                       guard = {.name = "guard", .bar = 20, .guard = true};
    char *text = malloc(size ? size : 1);

    if (!text)
        return 1;
    for (size_t i = 0; i < secret_rule_count; i++) {
        if (secret_rules[i].anchor)
            measure_anchor(&secrets, secret_rules[i].anchor, text, size);
    }
    print_anchors(&secrets);
    for (size_t i = 0; i < filter_word_count; i++)
        measure_anchor(&guard, concept_words[filter_words[i].rule].text, text, size);
    print_anchors(&guard);
    free(text);
    return 0;
}

/* ---- vectors ----------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--anchors") == 0)
        return measure_anchors(argc > 2 ? strtoul(argv[2], NULL, 10) : ANCHOR_BYTES);
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
