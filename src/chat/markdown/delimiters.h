/*
 * delimiters.h: which delimiters of markdown are open at the end of a text that is still growing.
 *
 * An approximation of CommonMark's rules, good enough to guess: what it gets wrong is shown with or without a
 * delimiter until the block ends.
 */
#ifndef ETHOS_CHAT_DELIMITERS_H
#define ETHOS_CHAT_DELIMITERS_H

#include <stdbool.h>

#include <ethos/types.h>

struct str;

#define DELIMITERS_MAX_OPEN 64 /* further ones are text */

/* Size without blanks and delimiters at the end, of which nobody knows yet what they will be. */
size_t delimiters_trim(struct ethos_view text);

/*
 * Appends what closes the delimiters that are open, those before `settled` left out, to out, which ends with the
 * text. Returns the offset of the earliest one; SIZE_MAX: none is open.
 */
size_t delimiters_close(struct ethos_view text, size_t settled, struct str *out);

/* Behind the last blank that is in no span; 0: there is none. */
size_t delimiters_last_gap(struct ethos_view text);

/* The destination and title of a link, from its parenthesis on. */
struct delimiters_link {
    size_t end;      /* behind the closing parenthesis; 0: there is none */
    bool grows;      /* there is none because the text ends */
    char closers[4]; /* what would close it then */
};
struct delimiters_link delimiters_link(struct ethos_view text, size_t parenthesis);

#endif
