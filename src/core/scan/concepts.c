/*
 * concepts.c: words and phrases, by what they are about.
 *
 * A word of letters stands for all words that begin so; a blank for one or two. Scripts without blanks between
 * words are matched anywhere.
 */
#include "core/scan/concepts.h"

#include <stdbool.h>

const struct concept_word concept_words[] = {
#include "core/scan/concept_words.inc"
};

const size_t concept_word_count = sizeof(concept_words) / sizeof(concept_words[0]);

#include "core/scan/concept_table.inc"

const uint32_t concept_edition = CONCEPT_EDITION;

static bool is_concept_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_cyrillic(char lead)
{
    return lead == '\xD0' || lead == '\xD1' || lead == '\xD2';
}

/* Whether a word may begin at `at`, a character boundary. */
static bool is_word_start(struct ethos_view text, size_t at)
{
    char c = text.data[at];

    if (at == 0)
        return true;
    if (is_concept_letter(c))
        return !is_concept_letter(text.data[at - 1]);
    return !is_cyrillic(c) || !((unsigned char)text.data[at - 1] & 0x80);
}

/* Where a word of the table that begins at `at` ends, or 0. Its capital letters are small ones here. */
static size_t concept_word_end(struct ethos_view text, size_t at, const char *word)
{
    bool is_short = is_concept_letter(word[0] | 0x20) && (!word[1] || !word[2] || !word[3]);

    for (; *word; word++, at++) {
        char c = *word >= 'A' && *word <= 'Z' ? (char)(*word | 0x20) : *word;

        if (at >= text.size || text.data[at] != c)
            return 0;
        if (c == ' ' && at + 1 < text.size && text.data[at + 1] == ' ')
            at++;
    }
    return is_short && at < text.size && is_concept_letter(text.data[at]) ? 0 : at;
}

struct finder {
    struct ethos_view text;
    struct concept_hit *hits;
    size_t count;
};

/* The words of one bucket that begin at `at`. */
static void find_in_bucket(struct finder *self, size_t at, unsigned bucket)
{
    for (size_t i = concept_first[bucket]; i < concept_first[bucket + 1]; i++) {
        const struct concept_word *word = &concept_words[concept_order[i]];
        size_t end = concept_word_end(self->text, at, word->text);

        if (end > 0 && self->count < CONCEPT_HITS && is_word_start(self->text, at))
            self->hits[self->count++] = (struct concept_hit){(uint16_t)at, (uint16_t)end,
                                                             (uint8_t)word->concept};
    }
}

size_t concepts_find(struct ethos_view text, struct concept_hit *hits)
{
    struct finder self = {.text = text, .hits = hits};
    bool after_letter = false;

    for (size_t at = 0; at < text.size && self.count < CONCEPT_HITS; at++) {
        unsigned char c = (unsigned char)text.data[at];
        bool starts = c != ' ' && (c & 0xC0) != 0x80 &&
                      !(after_letter && is_concept_letter((char)c));

        after_letter = is_concept_letter((char)c);
        uint32_t hash = concept_hash(CONCEPT_SEED, c);
        for (size_t size = 2; starts && size <= CONCEPT_KEY && at + size <= text.size; size++) {
            hash = concept_hash(hash, (unsigned char)text.data[at + size - 1]);
            unsigned bit = concept_bit(hash);
            if ((CONCEPT_KEYS >> size & 1) && concept_bits[bit / 32] >> bit % 32 & 1)
                find_in_bucket(&self, at, concept_bucket(hash));
        }
    }
    return self.count;
}
