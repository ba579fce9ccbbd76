/*
 * unicode.h: functions that need Unicode tables (utf8proc): graphemes, normal forms, width.
 */
#ifndef ETHOS_BASE_TEXT_UNICODE_H
#define ETHOS_BASE_TEXT_UNICODE_H

#include <stdbool.h>

#include <ethos/types.h>

struct str;

/*
 * First grapheme boundary at or after `at`; 0 and size are boundaries, invalid bytes stand alone.
 */
size_t unicode_boundary(struct ethos_view v, size_t at);

/* Appends the normal form of v; invalid sequences become U+FFFD. Returns str_code. */
int unicode_nfc(struct ethos_view v, struct str *out);
int unicode_nfkd(struct ethos_view v, struct str *out);

/* Lower case, character by character, without special casing. */
uint32_t unicode_lower(uint32_t cp);

bool unicode_is_mark(uint32_t cp); /* Mn, Mc, Me */
bool unicode_is_letter_or_digit(uint32_t cp);

/* The role of a character in words. */
enum unicode_kind {
    UNICODE_OTHER,  /* spaces, punctuation, controls */
    UNICODE_LETTER, /* and digits */
    UNICODE_MARK,   /* part of the script: a vowel sign, a voicing mark */
    UNICODE_ACCENT, /* may be missing in the same word */
    UNICODE_SYMBOL  /* emoji, arrows, currencies */
};

enum unicode_kind unicode_kind(uint32_t cp);

/*
 * The characters of cp, decomposed, ignoring case and compatibility forms; none for invisible ones
 * (joiners, variation selectors). Returns their number.
 */
#define UNICODE_FOLD_MAX 24
size_t unicode_fold(uint32_t cp, uint32_t out[UNICODE_FOLD_MAX]);

/* The canonical decomposition of cp, cp itself if it has none. Returns the number of characters. */
size_t unicode_decompose(uint32_t cp, uint32_t out[UNICODE_FOLD_MAX]);

/* The character that two compose (Hangul, voiced Kana, accented letters), or 0. */
uint32_t unicode_compose(uint32_t first, uint32_t second);

/* Columns on a terminal: 0, 1 or 2. */
int unicode_width(uint32_t cp);

#endif
