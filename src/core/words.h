/*
 * words.h: the words of a text, as searching compares them.
 *
 * Folded: compatibility forms and marks resolved, lower case ("Café" is cafe, "ﬁle" is file). A word is
 * a run of letters, digits and marks; where a script has no blanks between words (Han, Kana, Hangul,
 * Thai, Lao, Khmer, Burmese), every pair of neighbouring characters is one, and a character that stands
 * alone. Stems by Porter's rules for words of a-z. Everything else separates.
 */
#ifndef ETHOS_CORE_WORDS_H
#define ETHOS_CORE_WORDS_H

#include <stdbool.h>

#include <ethos/types.h>

struct str;

#define WORDS_MAX 64 /* bytes of a folded word; a longer one is cut on a character */

struct word {
    struct ethos_view folded; /* borrowed from the walk, until its next word */
    size_t start, end;        /* bytes of the text it came from */
    bool pair;                /* two characters of a script without blanks */
    bool after_gap;           /* something separates it from the word before; false within a run of pairs */
};

/* Return 0 to go on; any other value stops the walk and is returned by it. */
typedef int word_fn(void *arg, const struct word *word);

/* ETHOS_OK, or what each returned. Needs no memory. */
int words_each(struct ethos_view text, word_fn *each, void *arg);

/* The stem of a folded word, into out (WORDS_MAX + 1 bytes); its size. Equal to the word where no rule fits. */
size_t words_stem(struct ethos_view folded, char out[WORDS_MAX + 1]);

/* Appends the folded form of a text, separators as single blanks. Returns str_code. */
int words_fold(struct ethos_view text, struct str *out);

#endif
