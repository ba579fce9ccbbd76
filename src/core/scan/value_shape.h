/*
 * value_shape.h: whether a value looks like a secret. Private to src/core/scan.
 *
 * A name alone is not enough: most passwords in text are like "password: see vault". So the value
 * has to look like a secret, judged by its bytes and how they vary. Only the first bytes of a long
 * value are examined.
 */
#ifndef ETHOS_CORE_SCAN_VALUE_SHAPE_H
#define ETHOS_CORE_SCAN_VALUE_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include <ethos/types.h>

#define MAX_VALUE 256 /* bytes of a value after a name */

struct secret_search;

/* Roles of a byte in values and prose. */
enum {
    VALUE_END = 1,
    VALUE_WORD_END = 2,
    VALUE_BETWEEN = 4,      /* between a name and its value, or two words */
    VALUE_BRACKET = 8,      /* of a call, an index, a type */
    VALUE_PATH = 16,        /* not in a password within prose */
    VALUE_BLANKED = 32,     /* a mask: xxxx, **** */
    VALUE_FILLER = 64,      /* first byte of a placeholder, in any case */
    VALUE_EXPRESSION = 128, /* first byte of an expression */
};
extern const uint8_t value_marks[256];

static inline bool value_has_mark(char c, unsigned mark)
{
    return value_marks[(unsigned char)c] & mark;
}

/* Whether an unquoted value ends before this byte. */
bool value_ends_at(char c);

/* Skips a quote, also one escaped as in JSON within JSON: \" */
const char *value_skip_quote(const char *p, const char *end);

/* Entropy in bits per byte, times 10; whether it is at least that much. */
unsigned value_entropy(struct ethos_view value);
bool value_is_varied(struct ethos_view value, unsigned tenths);

/*
 * Whether more than half of a value are words: five or more letters of one case, except the first.
 */
bool value_is_wordy(struct ethos_view value);

/*
 * Whether a value is one of the words, or has one of them at a word start in its examined bytes; in
 * any case.
 */
bool value_is_one_of(struct ethos_view value, const char *const *words, size_t count);
bool value_has_word(struct ethos_view value, const char *const *words, size_t count);

/* Whether a value only stands for a secret: xxxx, ****, a published example. */
bool value_is_placeholder(struct ethos_view value);

/* The same, and <key>, ${KEY}, your-key: values to be filled in or computed. */
bool value_is_filled_in_later(struct secret_search *search, struct ethos_view value);

/* Whether it is a call, an index, a variable, or a chain of names. */
bool value_is_expression(struct secret_search *search, struct ethos_view value);

bool value_is_uuid(struct ethos_view value);

/* Whether it is base64 of printable text with a colon. */
bool value_is_encoded_login(struct ethos_view value);

/* Whether it has six bytes or more with a digit and another class, or three classes. */
bool value_is_password(struct secret_search *search, struct ethos_view value, bool quoted);

/* Whether it is sixteen or more random bytes. */
bool value_is_random_key(struct secret_search *search, struct ethos_view value);

/*
 * Whether it is a word that only a password would be: three kinds of bytes, or several words with a
 * number.
 */
bool value_is_unlike_words(struct secret_search *search, struct ethos_view word);

/* Whether it is letters and a digit as people choose passwords, unlike the name of a thing. */
bool value_is_chosen(struct secret_search *search, struct ethos_view word);

#endif
