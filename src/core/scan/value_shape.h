/*
 * value_shape.h: whether a value looks like a secret. Private to src/core/scan.
 *
 * A name alone makes no secret: most passwords in text are "password: see vault". So a value has to look like one,
 * by what its bytes are and how they change. At most the first bytes of a long one are looked at.
 */
#ifndef ETHOS_CORE_SCAN_VALUE_SHAPE_H
#define ETHOS_CORE_SCAN_VALUE_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include <ethos/types.h>

#define MAX_VALUE 256 /* bytes of a value that stands behind a name */

struct secret_search;

/* What a byte is where values and words of prose stand. */
enum {
    VALUE_END = 1,
    VALUE_WORD_END = 2,
    VALUE_BETWEEN = 4,      /* a name and its value, two words */
    VALUE_BRACKET = 8,      /* of a call, an index, a type */
    VALUE_PATH = 16,        /* in no password that stands in prose */
    VALUE_BLANKED = 32,     /* what stands for something else: xxxx, **** */
    VALUE_FILLER = 64,      /* the first of a filler, in any case */
    VALUE_EXPRESSION = 128, /* the first of one */
};
extern const uint8_t value_marks[256];

static inline bool value_has_mark(char c, unsigned mark)
{
    return value_marks[(unsigned char)c] & mark;
}

/* Whether a value without quotes ends before this byte. */
bool value_ends_at(char c);

/* Behind a quote, also one that JSON in JSON has: \" */
const char *value_skip_quote(const char *p, const char *end);

/* Entropy in bits a byte, times 10; whether it is so much at least. */
unsigned value_entropy(struct ethos_view value);
bool value_is_varied(struct ethos_view value, unsigned tenths);

/* Whether more than half of a value are words: five and more letters of one case, but for the first. */
bool value_is_wordy(struct ethos_view value);

/* Whether a value is one of the words, or has one that begins in the bytes that are looked at; in any case. */
bool value_is_one_of(struct ethos_view value, const char *const *words, size_t count);
bool value_has_word(struct ethos_view value, const char *const *words, size_t count);

/* Whether a value only stands for a secret: xxxx, ****, a published example. */
bool value_is_placeholder(struct ethos_view value);

/* The same, and <key>, ${KEY}, your-key: what is written for somebody to fill in, or computed. */
bool value_is_filled_in_later(struct secret_search *search, struct ethos_view value);

/* A call, an index, a variable, or a chain of names. */
bool value_is_expression(struct secret_search *search, struct ethos_view value);

bool value_is_uuid(struct ethos_view value);

/* Base64 of printable text with a colon. */
bool value_is_encoded_login(struct ethos_view value);

/* Six bytes or more with a digit and another class, or three classes. */
bool value_is_password(struct secret_search *search, struct ethos_view value, bool quoted);

/* Sixteen bytes or more that no person thought of. */
bool value_is_random_key(struct secret_search *search, struct ethos_view value);

/* A word that nobody would write but as a password: of three kinds of bytes, or several words with a number. */
bool value_is_unlike_words(struct secret_search *search, struct ethos_view word);

/* Letters and a digit, as people choose them: what no name of a thing looks like where a password is told. */
bool value_is_chosen(struct secret_search *search, struct ethos_view word);

#endif
