/*
 * fuzz_near_duplicates.c: pairs come in order, and the same ones for the texts turned round.
 *
 * Input: texts, separated by NUL; at most 16 are taken.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/view.h"
#include "core/search/near_duplicates.h"

#define MAX_TEXTS 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct table {
    size_t count;
    int reversed;
    size_t pairs, last_a, last_b;
    unsigned char percent[MAX_TEXTS][MAX_TEXTS];
};

static void take_pair(void *arg, size_t a, size_t b, unsigned percent)
{
    struct table *table = arg;
    assert(a < b && b < table->count && percent >= ALIKE_NEAR && percent <= 100);
    assert(table->pairs == 0 || a > table->last_a || (a == table->last_a && b > table->last_b));
    table->pairs++;
    table->last_a = a;
    table->last_b = b;
    size_t x = table->reversed ? table->count - 1 - b : a;
    size_t y = table->reversed ? table->count - 1 - a : b;
    table->percent[x][y] = (unsigned char)percent;
}

/* Equal texts stand for each other, so only the others keep their places. */
static int has_equal(const struct table *table)
{
    for (size_t a = 0; a < table->count; a++)
        for (size_t b = 0; b < table->count; b++)
            if (table->percent[a][b] == 100)
                return 1;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethos_view texts[MAX_TEXTS], turned[MAX_TEXTS];
    struct table one = {0}, two = {.reversed = 1};
    size_t count = 0;
    for (size_t at = 0; at < size && count < MAX_TEXTS; count++) {
        const uint8_t *end = memchr(data + at, 0, size - at);
        size_t length = end ? (size_t)(end - data) - at : size - at;
        texts[count] = view_of((const char *)data + at, length);
        at += length + 1;
    }
    for (size_t i = 0; i < count; i++)
        turned[i] = texts[count - 1 - i];
    one.count = two.count = count;
    assert(similar_pairs(texts, count, take_pair, &one) == ETHOS_OK);
    assert(similar_pairs(turned, count, take_pair, &two) == ETHOS_OK);
    assert(one.pairs == two.pairs);
    if (!has_equal(&one))
        assert(memcmp(one.percent, two.percent, sizeof one.percent) == 0);
    return 0;
}
