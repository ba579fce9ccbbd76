/*
 * fuzz_references.c: claims are slices of the note, on the lines they say, of the form they promise.
 *
 * Input: a note. Its first line is also a date and a word to look for in the rest.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>

#include "base/view.h"
#include "core/notes/references.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct walk {
    struct ethos_view text;
    size_t line;  /* of the claim before */
    size_t count; /* up to here */
    size_t stop;  /* at this one; 0: never */
};

static void check_slice(const struct walk *walk, struct ethos_view part)
{
    assert(part.data >= walk->text.data);
    assert(part.data + part.size <= walk->text.data + walk->text.size);
    assert(!memchr(part.data, '\n', part.size));
}

static size_t line_of(struct ethos_view text, const char *at)
{
    size_t line = 1;
    for (const char *c = text.data; c < at; c++)
        line += *c == '\n';
    return line;
}

static int check_claim(void *arg, const struct claim *claim)
{
    struct walk *walk = arg;
    check_slice(walk, claim->what);
    assert(claim->line == line_of(walk->text, claim->what.data));
    assert(claim->head || claim->line >= walk->line);
    assert(claim->kind == CLAIM_PATH || claim->number == 0);
    if (claim->kind == CLAIM_SYMBOL)
        check_slice(walk, claim->where);
    else
        assert(!claim->where.data);
    if (claim->kind == CLAIM_DATE)
        assert(claim->what.size == 10 && claims_age_days(claim->what, "9999-12-31") >= 0);
    if (!claim->head) {
        assert(claim->what.size > 0);
        assert(claim->kind != CLAIM_PATH || !memchr(claim->what.data, ' ', claim->what.size));
        walk->line = claim->line;
    }
    return ++walk->count == walk->stop ? 7 : 0;
}

static void check_words(struct ethos_view text)
{
    struct ethos_view word, rest = text;
    if (!view_line(&rest, &word))
        return;
    if (claims_has_word(rest, word))
        assert(word.size > 0 && view_contains(rest, word));
    if (word.size > 0)
        assert(claims_has_word(word, word));
    assert(!claims_passed(word, "2026-11-15") || claims_age_days(word, "2026-11-15") > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethos_view text = view_of((const char *)data, size);
    struct walk walk = {.text = text};

    assert(claims_each(text, check_claim, &walk) == 0);
    if (walk.count > 1) {
        struct walk shorter = {.text = text, .stop = walk.count / 2};
        assert(claims_each(text, check_claim, &shorter) == 7);
        assert(shorter.count == walk.count / 2);
    }
    if (size > 0)
        check_words(text);
    return 0;
}
