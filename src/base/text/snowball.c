/*
 * snowball.c: stems of libstemmer.
 */
#include "base/text/snowball.h"

#include <libstemmer.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"

#define NAME_SIZE 32
#define WORD_MAX 256 /* bytes */

struct snowball {
    struct sb_stemmer *stemmers[SNOWBALL_MAX];
    size_t count;
};

static bool is_separator(char c)
{
    return c == ',' || c == ' ' || c == '\t';
}

static int add_language(struct snowball *self, struct ethos_view name, struct ethos_error *error)
{
    char text[NAME_SIZE];
    if (self->count == SNOWBALL_MAX)
        return ETHOS_OK;
    if (name.size < sizeof text) {
        memcpy(text, name.data, name.size);
        text[name.size] = '\0';
        self->stemmers[self->count] = sb_stemmer_new(text, "UTF_8");
    }
    if (!self->stemmers[self->count])
        return err_hint(error,
                        err_set(error, ETHOS_INVALID, "%.*s: unknown language", VIEW_ARG(name)),
                        "for example german, french, spanish, italian, dutch, swedish, russian");
    self->count++;
    return ETHOS_OK;
}

int snowball_open(struct ethos_view languages, struct snowball **out, struct ethos_error *error)
{
    int code = ETHOS_OK;
    *out = NULL;
    struct snowball *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    for (size_t at = 0; code == ETHOS_OK && at < languages.size;) {
        size_t end = at;
        while (end < languages.size && !is_separator(languages.data[end]))
            end++;
        if (end > at)
            code = add_language(self, view_of(languages.data + at, end - at), error);
        at = end + 1;
    }
    if (code == ETHOS_OK && self->count > 0)
        *out = self;
    else
        snowball_close(self);
    return code;
}

void snowball_close(struct snowball *self)
{
    for (size_t i = 0; self && i < self->count; i++)
        sb_stemmer_delete(self->stemmers[i]);
    free(self);
}

/* The stem, copied: the stemmer has one at a time. 0: it has none, or is too long. */
static size_t find_snowball_stem(struct sb_stemmer *stemmer, struct ethos_view word,
                                 char out[WORD_MAX])
{
    const sb_symbol *stem = sb_stemmer_stem(stemmer, (const sb_symbol *)word.data, (int)word.size);
    int size = stem ? sb_stemmer_length(stemmer) : 0;
    if (size <= 0 || size > WORD_MAX)
        return 0;
    memcpy(out, stem, (size_t)size);
    return (size_t)size;
}

bool snowball_same(struct snowball *self, struct ethos_view a, struct ethos_view b)
{
    char stem[WORD_MAX], other[WORD_MAX];
    if (a.size > WORD_MAX || b.size > WORD_MAX)
        return false;
    for (size_t i = 0; i < self->count; i++) {
        size_t size = find_snowball_stem(self->stemmers[i], a, stem);
        if (size > 0 && size == find_snowball_stem(self->stemmers[i], b, other) &&
            memcmp(stem, other, size) == 0)
            return true;
    }
    return false;
}
