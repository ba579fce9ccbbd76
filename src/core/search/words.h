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

#define WORDS_MAX 64 /* bytes of a folded word; of a longer one this much, cut on a character */

struct word {
    struct ethos_view folded; /* borrowed from the walk, until its next word */
    size_t start, end;        /* bytes of the text it came from */
    bool pair;                /* two characters of a script without blanks */
    bool joined;              /* a pair that begins with the second character of the pair before */
    bool one;                 /* one character of such a script, alone or as a tail */
    bool aside;               /* a sign that separates: no neighbour of anything */
    bool tail; /* the last character of a run whose pairs were given: no neighbour of anything */
};

/* Return 0 to go on; any other value stops the walk and is returned by it. */
typedef int word_fn(void *arg, const struct word *word);

/* In order. ETHOS_OK, or what each returned. Needs no memory; any bytes will do. */
int words_each(struct ethos_view text, word_fn *each, void *arg);

/*
 * The stem of a folded word, into out (terminated); its size. The word itself where no rule fits.
 */
size_t words_stem(struct ethos_view folded, char out[WORDS_MAX + 1]);

/* Whether a folded word only joins others (the, is, what, how): English alone. */
bool words_is_common(struct ethos_view folded);

#endif
