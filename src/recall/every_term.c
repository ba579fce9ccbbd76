/*
 * every_term.c: finds units that may contain every term of a query.
 */
#include "recall/every_term.h"

#include <string.h>

#include "base/arena.h"
#include "base/view.h"
#include "core/search/query.h"
#include "core/search/ranked_words.h"

#define SHORT_STEM 2 /* minimum letters of a stem that differs from its word */

struct word_search {
    const struct image *image;
    const struct query_word *word;
    uint64_t *units; /* stems that may belong to the word */
};

/* ---- stems ----------------------------------------------------------------------------------- */

static size_t common_start(struct ethos_view a, struct ethos_view b)
{
    size_t same = 0;
    while (same < a.size && same < b.size && a.data[same] == b.data[same])
        same++;
    return same;
}

/*
 * How much of a stem is the start of its words: of happi for happy, hope for hoping, sensibl for
 * sensibility.
 */
static size_t sure_start(struct ethos_view stem)
{
    bool other = stem.size > SHORT_STEM && memchr("iely", stem.data[stem.size - 1], 4);
    return stem.size - other;
}

/* The same of the older stem of a query's word, where y is i even in the shortest: oi is of oys, whose stem is oy. */
static size_t sure_start_of_query(struct ethos_view stem)
{
    bool other = stem.size == SHORT_STEM && stem.data[1] == 'i';
    return other ? 1 : sure_start(stem);
}

static size_t smaller_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool is_ascii(struct ethos_view text)
{
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] >= 0x80)
            return false;
    return true;
}

/* Whether a stem may belong to a word that starts with the wanted one, or has the same stem. */
static bool may_stand_for(const struct query_word *wanted, struct ethos_view stem)
{
    struct ethos_view folded = wanted->folded;
    if (wanted->one)
        return view_starts(stem, folded) || view_ends(stem, folded);
    if (!is_ascii(folded))
        return wanted->pair ? view_eq(stem, folded) : view_starts(stem, folded);
    if (stem.size == 3 && view_ends(stem, VIEW("ie"))) // of dying, lying, tying
        return stem.data[0] == folded.data[0];
    return common_start(stem, folded) >= smaller_of(folded.size, sure_start(stem)) ||
           common_start(stem, wanted->stem) >=
               smaller_of(sure_start_of_query(wanted->stem), sure_start(stem));
}

static int add_stem(void *arg, struct ethos_view stem, size_t bytes)
{
    const struct word_search *search = arg;
    struct image_stem found;
    (void)bytes;
    if (!may_stand_for(search->word, stem) || !image_find_stem(search->image, stem, &found))
        return 0;
    struct image_postings walk = image_postings_of(search->image, found.postings);
    while (image_next_posting(&walk)) {
        uint32_t unit = search->image->passages[walk.passage].unit;
        search->units[unit / 64] |= UINT64_C(1) << unit % 64;
    }
    return 0;
}

/* ---- words ----------------------------------------------------------------------------------- */

static int set_word_found(void *arg, const struct word *word)
{
    (void)word;
    *(bool *)arg = true;
    return 1;
}

/* Signs, symbols and a possessive s are not indexed. */
static bool is_indexed(const struct query_word *word)
{
    bool any = false;
    if (word->aside || view_eq(word->folded, VIEW("s")))
        return false;
    ranked_words_each(word->folded, set_word_found, &any);
    return any;
}

/*
 * A character of a script without spaces may be the second of a pair, which can be part of any
 * stem.
 */
static void find_matching_stems(const struct word_search *search)
{
    struct ethos_view start = view_of(search->word->folded.data, 1);
    if (search->word->one)
        image_each_stem(search->image, add_stem, (void *)search);
    else
        image_each_stem_from(search->image, start, add_stem, (void *)search);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void drop_gone(const struct image *image, uint64_t *units)
{
    for (uint32_t d = 0; d < image->counts.documents; d++) {
        if (!image_is_gone(image, d))
            continue;
        for (uint32_t u = image->documents[d].first_unit; u < image_units_end(image, d); u++)
            units[u / 64] &= ~(UINT64_C(1) << u % 64);
    }
}

static void set_all(uint64_t *units, uint32_t count)
{
    for (uint32_t u = 0; u < count; u++)
        units[u / 64] |= UINT64_C(1) << u % 64;
}

int every_term_find(const struct image *image, const struct query *query, struct arena *arena,
                    uint64_t **out)
{
    size_t numbers = (size_t)image->counts.units / 64 + 1;
    uint64_t *units = arena_array(arena, numbers, sizeof *units);
    uint64_t *with_word = arena_array(arena, numbers, sizeof *with_word);
    if (!units || !with_word)
        return ETHOS_NOMEM;
    if (query->count > 0)
        set_all(units, image->counts.units);
    for (size_t t = 0; t < query->count; t++)
        for (size_t w = 0; w < query->terms[t].count; w++) {
            const struct word_search search = {image, &query->terms[t].words[w], with_word};
            if (!is_indexed(search.word))
                continue;
            memset(with_word, 0, numbers * sizeof *with_word);
            find_matching_stems(&search);
            for (size_t i = 0; i < numbers; i++)
                units[i] &= with_word[i];
        }
    drop_gone(image, units);
    *out = units;
    return ETHOS_OK;
}
