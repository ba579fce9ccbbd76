/*
 * utf8.h: UTF-8 as the memory format counts it.
 *
 * Lengths are in CH: UTF-16 code units of the text read as UTF-8, where an invalid sequence (its
 * maximal subpart, as in the WHATWG decoder) counts and shows as one U+FFFD. LF is always a
 * boundary, so counts of lines add up. Nothing here depends on the locale.
 */
#ifndef ETHOS_BASE_UTF8_H
#define ETHOS_BASE_UTF8_H

#include <stdbool.h>

#include <ethos/types.h>

struct str;

#define UTF8_REPLACEMENT 0xFFFDu

/*
 * Decodes one character at data[0..size), size at least 1. Returns its size in bytes; *out_cp is
 * U+FFFD for an invalid sequence, and *out_ok (may be NULL) distinguishes it from a real U+FFFD.
 */
size_t utf8_decode(const char *data, size_t size, uint32_t *out_cp, bool *out_ok);

/* Start of the character that ends at `end` (a character boundary, at least 1). */
size_t utf8_before(struct ethos_view v, size_t end);

/* Encodes cp (a scalar value), returns the bytes written. (jansson.a owns the name utf8_encode.) */
size_t utf8_put(uint32_t cp, char out[4]);

bool utf8_ascii(struct ethos_view v); /* fast */
bool utf8_valid(struct ethos_view v);

/*
 * utf8_valid and, if valid, the length in CH, in one fast pass; also whether it may contain
 * invisible characters (text/invisible.h): false is certain, true must be checked.
 */
bool utf8_measure(struct ethos_view v, uint64_t *out_units, bool *out_unseen);

/* Length in CH. */
uint64_t utf8_units(struct ethos_view v);

/* Size of the longest head of at most `units` CH that ends after a character. */
size_t utf8_head(struct ethos_view v, uint64_t units);

/* Offset of the longest tail of at most `units` CH that starts on a character. */
size_t utf8_tail(struct ethos_view v, uint64_t units);

/* Appends v with every invalid sequence replaced by U+FFFD; returns str_code. */
int utf8_sanitize(struct ethos_view v, struct str *out);

/* Trim set of the format: U+0009-000D 0020 00A0 1680 2000-200A 2028 2029 202F 205F 3000 FEFF. */
bool utf8_space(uint32_t cp);

#endif
