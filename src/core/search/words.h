/*
 * words.h: the words of a text, as searching compares them.
 *
 * Folded: compatibility forms resolved, accents taken away, lower case ("Café" is cafe, "ﬁle" is
 * file, "Straße" is strasse). A word is a run of letters, digits and marks. Where a script has no
 * blanks between words (Han, Kana, Hangul, Thai, Lao, Khmer, Burmese), every pair of neighbouring
 * characters is one, and so is the last character of the run: what begins with a character then
 * finds it wherever it stands. A symbol that is not ASCII (an emoji, an arrow, a currency) is a
 * word by itself. Everything else separates; what of it is no blank and not ASCII (a dash, a
 * quotation mark) is given as well, aside. Stems by Porter's rules for words of a-z and digits.
 */
#ifndef ETHOS_CORE_SEARCH_WORDS_H
#define ETHOS_CORE_SEARCH_WORDS_H

#include <stdbool.h>

#include <ethos/types.h>

#define WORDS_MAX 64 /* bytes of a folded word; a longer one is cut between characters */

struct word {
    struct ethos_view folded; /* borrowed until the next word */
    size_t start, end;        /* bytes of the text it came from */
    bool pair;                /* two characters of a script without spaces */
    bool joined; /* a pair that begins with the second character of the previous pair */
    bool one;    /* one character of such a script, alone or as the last of a run */
    bool aside;  /* a sign that separates words: adjacent to nothing */
    bool tail;   /* the last character of a run whose pairs were reported: adjacent to nothing */
};

/* Return 0 to continue; any other value ends the iteration and is returned by it. */
typedef int word_fn(void *arg, const struct word *word);

/* In order. ETHOS_OK, or what each returned. Allocates nothing; accepts any bytes. */
int words_each(struct ethos_view text, word_fn *each, void *arg);

/*
 * Writes the stem of a folded word to out (terminated) and returns its size. The word itself if no
 * rule applies.
 */
size_t words_stem(struct ethos_view folded, char out[WORDS_MAX + 1]);

/* Whether a folded word is a common function word (the, is, what, how): English only. */
bool words_is_common(struct ethos_view folded);

#endif
