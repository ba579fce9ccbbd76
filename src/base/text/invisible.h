/*
 * invisible.h: finds invisible characters and those that reorder text, and makes them visible.
 *
 * They are allowed where a script needs them: a direction mark next to a letter of a right-to-left
 * script, the tags of the flags of England, Scotland and Wales, the variation selector of an emoji
 * or an ideograph. Joiners are always allowed.
 */
#ifndef ETHOS_BASE_TEXT_INVISIBLE_H
#define ETHOS_BASE_TEXT_INVISIBLE_H

#include <stdbool.h>

#include <ethos/types.h>

struct str;

/* Whether the character cp, which begins at text.data + at, is such a character. */
bool hidden_at(struct ethos_view text, size_t at, uint32_t cp);

/* The start of the next one at or after `from`; text.size: none. Fast if there are few. */
size_t hidden_find(struct ethos_view text, size_t from);

/* In visible form: "\u{202E}". Returns str_code. */
int hidden_show(uint32_t cp, struct str *out);

/* Appends the text with all of them visible. Returns str_code. */
int hidden_show_all(struct ethos_view text, struct str *out);

/* The reverse: replaces visible forms by the characters. */
int hidden_restore(struct ethos_view text, struct str *out);

#endif
