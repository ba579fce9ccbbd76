/*
 * sessions_terms.c: the words of a text and of a query as the server takes them.
 *
 * What a word is, and its stem, is decided by core/search/words alone: the server only compares. A stem
 * stands behind a sign that no word has. Places are for the order of hits; the server counts no
 * further than PG_MAX_PLACE, so nothing is found by them.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "base/view.h"
#include "core/search/query.h"
#include "core/search/words.h"
#include "sessions.h"

#define STEM "="
#define NO_PLACE 0
#define WORD_BYTES 12 /* that the server takes for a word, besides its letters */
#define PLACE_BYTES 2 /* and for a place */

/* ---- texts ----------------------------------------------------------------------------------- */

struct term {
    struct ethos_view word;
    bool stem;
    uint32_t place; /* from 1; NO_PLACE */
};

struct terms {
    struct arena arena;
    struct term *all;
    size_t count, capacity;
    uint32_t places;
};

static int add_term(struct terms *self, struct ethos_view word, bool stem, uint32_t place)
{
    struct term *all = arena_grow(&self->arena, self->all, self->count, &self->capacity,
                                  sizeof *all);
    const char *copy = arena_copy(&self->arena, word);
    if (!all || !copy)
        return ETHOS_NOMEM;
    self->all = all;
    all[self->count++] = (struct term){view_of(copy, word.size), stem, place};
    return ETHOS_OK;
}

/* The end of a run takes no place: it has that of the next word. A sign has none. */
static int take_word(void *arg, const struct word *word)
{
    struct terms *self = arg;
    char stem[WORDS_MAX + 1];
    uint32_t place = self->places < PG_MAX_PLACE ? self->places + 1 : NO_PLACE;
    if (word->folded.size == 0)
        return ETHOS_OK;
    int code = add_term(self, word->folded, false, word->aside ? NO_PLACE : place);
    if (code != ETHOS_OK || word->aside || word->tail)
        return code;
    self->places++;
    struct ethos_view other = view_of(stem, words_stem(word->folded, stem));
    return view_eq(other, word->folded) ? ETHOS_OK : add_term(self, other, true, place);
}

static int by_word(const void *a, const void *b)
{
    const struct term *left = a, *right = b;
    size_t size = left->word.size < right->word.size ? left->word.size : right->word.size;
    int order = memcmp(left->word.data, right->word.data, size);
    if (order == 0)
        order = (left->word.size > right->word.size) - (left->word.size < right->word.size);
    if (order == 0)
        order = left->stem - right->stem;
    return order ? order : (left->place > right->place) - (left->place < right->place);
}

static void put_word(struct str *out, bool stem, struct ethos_view word)
{
    str_adds(out, stem ? "'" STEM : "'");
    for (size_t i = 0; i < word.size; i++) {
        if (word.data[i] == '\'' || word.data[i] == '\\')
            str_addc(out, word.data[i]);
        str_addc(out, word.data[i]);
    }
    str_addc(out, '\'');
}

/* 'word':1,5 'other':2 */
static int put_terms(const struct terms *self, struct str *out, bool *out_whole)
{
    size_t size = 0;
    const struct term *last = NULL;
    for (size_t i = 0; i < self->count; i++) {
        const struct term *term = &self->all[i];
        bool same = last && last->stem == term->stem && view_eq(last->word, term->word);
        if (same && (term->place == NO_PLACE || term->place == last->place))
            continue;
        if (!same) {
            str_addc(out, ' ');
            put_word(out, term->stem, term->word);
            size += term->word.size + WORD_BYTES;
        }
        if (term->place != NO_PLACE)
            str_printf(out, "%c%u", same && last->place != NO_PLACE ? ',' : ':', term->place);
        size += PLACE_BYTES;
        last = term;
    }
    *out_whole = size <= PG_MAX_TERMS;
    return str_code(out);
}

int pg_terms(struct ethos_view text, struct str *out, bool *out_whole)
{
    struct terms self = {.count = 0};
    arena_init(&self.arena);
    int code = words_each(text, take_word, &self);
    if (self.count > 0)
        qsort(self.all, self.count, sizeof *self.all, by_word);
    if (code == ETHOS_OK)
        code = put_terms(&self, out, out_whole);
    arena_release(&self.arena);
    return code;
}

/* ---- queries --------------------------------------------------------------------------------- */

static bool is_own_stem(struct ethos_view stem)
{
    char again[WORDS_MAX + 1];
    return view_eq(view_of(again, words_stem(stem, again)), stem);
}

static void put_start(struct str *out, struct ethos_view word)
{
    put_word(out, false, word);
    str_adds(out, ":*");
}

/* Words that have the stem; own: and the stem itself, where it is its own. */
static void put_stem(struct str *out, struct ethos_view stem, bool own)
{
    put_word(out, true, stem);
    if (own && is_own_stem(stem)) {
        str_addc(out, '|');
        put_word(out, false, stem);
    }
}

/* The word as it was typed, or by its stem, and never as a start; exact: not by its stem. */
static void write_word_or_stem(struct str *out, const struct query_word *word, bool exact)
{
    str_addc(out, '(');
    if (word->one) // begins pairs, or ends a run
        put_start(out, word->folded);
    else if (exact || word->pair || word->aside)
        put_word(out, false, word->folded);
    else
        put_stem(out, word->stem, true);
    str_addc(out, ')');
}

/* The word by itself, by its stem, or as a start. */
static void put_loosely(struct str *out, const struct query_word *word)
{
    str_addc(out, '(');
    if (word->pair || word->aside) {
        put_word(out, false, word->folded);
    } else {
        put_start(out, word->folded);
        str_addc(out, '|');
        put_stem(out, word->stem, !view_starts(word->stem, word->folded));
    }
    str_addc(out, ')');
}

static void put_term(struct str *out, const struct query_term *term)
{
    bool single = term->count == 1 && (!term->phrase || term->words[0].pair);
    for (size_t i = 0; i < term->count && out->size < PG_MAX_QUERY; i++) {
        str_adds(out, out->size ? "&" : "");
        if (single)
            put_loosely(out, &term->words[i]);
        else
            write_word_or_stem(out, &term->words[i], false);
    }
}

/* Conditions that are left out find more, and all is asked by core/search/query in the end. */
int pg_terms_query(const struct query *query, struct str *out)
{
    for (size_t i = 0; i < query->count && out->size < PG_MAX_QUERY; i++)
        put_term(out, &query->terms[i]);
    return str_code(out);
}

int pg_terms_whole(const struct query *query, struct str *out)
{
    size_t listed = 0;
    for (size_t i = 0; i < query->count; i++) {
        for (size_t j = 0; j < query->terms[i].count && listed < QUERY_MAX_WORDS; j++) {
            str_adds(out, listed++ ? "<->" : "");
            write_word_or_stem(out, &query->terms[i].words[j], false);
        }
    }
    return str_code(out);
}

int pg_terms_exact(const struct query *query, struct str *out)
{
    for (size_t i = 0; i < query->count && out->size < PG_MAX_QUERY; i++) {
        const struct query_term *term = &query->terms[i];
        for (size_t j = 0; term->phrase && j < term->count; j++) {
            str_adds(out, j ? "<->" : out->size ? "&" : "");
            write_word_or_stem(out, &term->words[j], true);
        }
    }
    return str_code(out);
}
