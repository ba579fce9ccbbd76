/*
 * invisible.h: characters that show nothing, or reorder what stands around them: what they do must be seen.
 *
 * Where a script needs one it hides nothing: a direction mark beside a letter that is written from right to
 * left, the tags of the flags of England, Scotland and Wales, the variation selector of an emoji or of an
 * ideograph. Joiners are letters' matter and never hidden.
 */
#ifndef ETHOS_BASE_TEXT_INVISIBLE_H
#define ETHOS_BASE_TEXT_INVISIBLE_H

#include <stdbool.h>

#include <ethos/types.h>

struct str;

/* Whether the character cp, which begins at text.data + at, is one. */
bool hidden_at(struct ethos_view text, size_t at, uint32_t cp);

/* Where the next one at or after `from` begins; text.size: there is none. Fast where there are few. */
size_t hidden_find(struct ethos_view text, size_t from);

/* As something to read: "\u{202E}". Returns str_code. */
int hidden_show(uint32_t cp, struct str *out);

/* Appends the text with every one shown. Returns str_code. */
int hidden_show_all(struct ethos_view text, struct str *out);

/* The other way: what stands for one is that again. */
int hidden_restore(struct ethos_view text, struct str *out);

#endif
