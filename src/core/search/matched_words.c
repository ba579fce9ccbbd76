/*
 * matched_words.c: the words of a question beside those of a text.
 */
#include "core/search/matched_words.h"

#include "base/view.h"
#include "core/search/ranked_words.h"
#include "core/search/stem_english.h"

struct matched_reading {
    struct matched_words *words;
    bool stop; /* nothing but stop words so far */
};

static bool has_word(const struct matched_words *words, struct ethos_view folded)
{
    for (size_t i = 0; i < words->count; i++)
        if (view_eq_str(folded, words->rows[i].word))
            return true;
    return false;
}

static void copy_word(char out[WORDS_MAX + 1], struct ethos_view folded)
{
    memcpy(out, folded.data, folded.size);
    out[folded.size] = '\0';
}

static int add_matched_word(void *arg, const struct word *word)
{
    struct matched_reading *reading = arg;
    struct matched_words *words = reading->words;
    bool stop = ranked_words_is_stop(word->folded);
    if (stop && !reading->stop)
        return 0;
    if (!stop && reading->stop) { // the first one that is none
        reading->stop = false;
        words->count = 0;
    }
    if (words->count < MATCHED_WORDS_MAX && !has_word(words, word->folded)) {
        struct matched_word *row = &words->rows[words->count++];
        row->as[0] = row->near[0] = '\0';
        copy_word(row->word, word->folded);
        row->stem[stem_english(word->folded, row->stem)] = '\0';
    }
    return 0;
}

void matched_words_read(struct ethos_view question, struct matched_words *out)
{
    struct matched_reading reading = {.words = out, .stop = true};
    out->count = 0;
    ranked_words_each(question, add_matched_word, &reading);
}

/* A stem begins with the letter of its word: most words need none. */
static int match_word(void *arg, const struct word *word)
{
    struct matched_words *words = arg;
    char text[WORDS_MAX + 1];
    struct ethos_view stem = {0};
    for (size_t i = 0; i < words->count; i++) {
        struct matched_word *row = &words->rows[i];
        bool same = view_eq_str(word->folded, row->word);
        if (row->stem[0] != word->folded.data[0] || (*row->as && !same))
            continue;
        if (!stem.data)
            stem = view_of(text, stem_english(word->folded, text));
        if (same || view_eq_str(stem, row->stem))
            copy_word(row->as, word->folded);
    }
    return 0;
}

size_t matched_words_find(struct ethos_view text, struct matched_words *words)
{
    size_t count = 0;
    for (size_t i = 0; i < words->count; i++)
        words->rows[i].as[0] = '\0';
    ranked_words_each(text, match_word, words);
    for (size_t i = 0; i < words->count; i++)
        count += *words->rows[i].as != '\0';
    return count;
}
