/*
 * fuzz_words.c: any bytes are words that are whole, in order and folded for good, and have stems.
 *
 * Input: the text.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#include "base/utf8.h"
#include "base/view.h"
#include "core/search/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct check {
    size_t size, start;
    bool pair; /* the word before was one */
};

struct again {
    const struct word *word;
    size_t count;
};

static int is_same(void *arg, const struct word *word)
{
    struct again *again = arg;
    assert(again->count > 0 ? word->tail : view_eq(word->folded, again->word->folded));
    again->count++;
    return 0;
}

static void check_stem(struct ethos_view folded)
{
    char stem[WORDS_MAX + 1];
    size_t size = words_stem(folded, stem);
    assert(size > 0 && size <= folded.size && stem[size] == '\0');
    assert(stem[0] == folded.data[0]);
}

static int check_word(void *arg, const struct word *word)
{
    struct check *check = arg;
    struct again again = {.word = word};
    assert(word->folded.size > 0 && word->folded.size <= WORDS_MAX && utf8_valid(word->folded));
    assert(word->start >= check->start && word->start < word->end && word->end <= check->size);
    assert(!(word->joined || word->tail) || check->pair);
    assert(!word->joined || word->pair);
    check->start = word->start;
    check->pair = word->pair;
    words_each(word->folded, is_same, &again);
    assert(again.count == (word->pair ? 2u : 1u));
    check_stem(word->folded);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct check check = {.size = size};
    assert(words_each(view_of((const char *)data, size), check_word, &check) == 0);
    return 0;
}
