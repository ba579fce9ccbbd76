/*
 * near_words.c: finds stems in the indexes that are similar to unknown words of a question.
 */
#include "memory/recall/near_words.h"

#include <string.h>

#include "base/str.h"
#include "base/view.h"
#include "core/search/ranked_words.h"
#include "core/search/stem_english.h"
#include "core/search/words.h"

#define MOST_WORDS 8 /* words of a question that are searched */

/* The best so far, in order. */
struct near {
    struct ethos_view word;
    struct {
        char text[WORDS_MAX + 1];
        size_t size, frequency;
    } rows[NEAR_WORDS];
    size_t count;
};

struct question_walk {
    const struct image *images;
    size_t image_count;
    struct str *out;
    unsigned looked_for;
};

/* Whether the words differ by one letter more, less or replaced, or two that are swapped. */
static bool is_one_off(struct ethos_view a, struct ethos_view b)
{
    size_t same = 0, end = 0;
    if (a.size + 1 < b.size || b.size + 1 < a.size)
        return false;
    while (same < a.size && same < b.size && a.data[same] == b.data[same])
        same++;
    size_t left_a = a.size - same, left_b = b.size - same;
    while (end < left_a && end < left_b && a.data[a.size - 1 - end] == b.data[b.size - 1 - end])
        end++;
    if (left_a - end <= 1 && left_b - end <= 1)
        return true;
    return left_a - end == 2 && left_b - end == 2 && a.data[same] == b.data[same + 1] &&
           a.data[same + 1] == b.data[same];
}

static void add_near(struct near *near, struct ethos_view stem, size_t frequency)
{
    size_t at = near->count;
    for (size_t i = 0; i < near->count; i++)
        if (view_eq(stem, view_of(near->rows[i].text, near->rows[i].size))) {
            near->rows[i].frequency += frequency;
            return;
        }
    if (at == NEAR_WORDS) {
        if (near->rows[--at].frequency >= frequency)
            return;
    } else {
        near->count++;
    }
    for (; at > 0 && near->rows[at - 1].frequency < frequency; at--)
        near->rows[at] = near->rows[at - 1];
    memcpy(near->rows[at].text, stem.data, stem.size);
    near->rows[at].size = stem.size;
    near->rows[at].frequency = frequency;
}

static int compare_stem(void *arg, struct ethos_view stem, size_t frequency)
{
    struct near *near = arg;
    bool begins = view_starts(stem, near->word);
    bool similar = near->word.size >= NEAR_LETTERS && stem.size >= NEAR_LETTERS &&
                   is_one_off(near->word, stem);
    if (begins || similar)
        add_near(near, stem, frequency);
    return 0;
}

static bool is_known(const struct question_walk *walk, struct ethos_view stem)
{
    struct image_stem found;
    for (size_t i = 0; i < walk->image_count; i++)
        if (image_find_stem(&walk->images[i], stem, &found))
            return true;
    return false;
}

/* A word is searched as it is, as the prefix of longer ones, and as its stem. */
static int add_question_word(void *arg, const struct word *word)
{
    struct question_walk *walk = arg;
    char text[WORDS_MAX + 1];
    struct near near = {.word = word->folded};
    struct ethos_view stem = view_of(text, stem_english(word->folded, text));
    if (ranked_words_is_stop(word->folded) || is_known(walk, stem) ||
        walk->looked_for++ == MOST_WORDS)
        return 0;
    for (size_t i = 0; i < walk->image_count; i++)
        image_each_stem(&walk->images[i], compare_stem, &near);
    near.word = stem;
    for (size_t i = 0; i < walk->image_count && near.count == 0; i++)
        image_each_stem(&walk->images[i], compare_stem, &near);
    for (size_t i = 0; i < near.count; i++)
        str_printf(walk->out, " %.*s", (int)near.rows[i].size, near.rows[i].text);
    return str_code(walk->out);
}

int near_words_add(const struct image *images, size_t count, struct ethos_view question,
                   struct str *out)
{
    struct question_walk walk = {.images = images, .image_count = count, .out = out};
    return ranked_words_each(question, add_question_word, &walk);
}
