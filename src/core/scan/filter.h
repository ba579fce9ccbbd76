/*
 * filter.h: finds places with three adjacent bytes that some rule requires. Private to
 * src/core/scan.
 *
 * Most texts contain nothing to find, which one pass with one lookup per byte decides first: bytes
 * are folded to 5 bits (letters without case, digits as the letters they resemble), and three of
 * them form a number of 15 bits. filter_table.inc, made from the rules by `make scan-filter`, lists
 * the numbers that count: for every anchor its rarest three bytes.
 */
#ifndef ETHOS_CORE_SCAN_FILTER_H
#define ETHOS_CORE_SCAN_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FILTER_SECRETS, FILTER_INJECTIONS, FILTER_KINDS };

#define FILTER_TRIGRAMS 32768

struct filter_anchor {
    uint16_t trigram;
    uint8_t offset; /* position in the anchor */
    uint16_t rule;  /* of secret_rules, or of concept_words */
};

extern const uint8_t filter_fold[256];
extern const uint32_t filter_bits[FILTER_KINDS][FILTER_TRIGRAMS / 32];
extern const struct filter_anchor filter_anchors[]; /* of secrets, sorted by trigram */
extern const size_t filter_anchor_count;
extern const struct filter_anchor filter_words[]; /* of concepts, likewise */
extern const size_t filter_word_count;

static inline unsigned filter_trigram(const char *p)
{
    return (unsigned)(filter_fold[(unsigned char)p[0]] << 10 |
                      filter_fold[(unsigned char)p[1]] << 5 | filter_fold[(unsigned char)p[2]]);
}

/* The next place at or after p with three such bytes, or NULL. */
const char *filter_next(const char *p, const char *end, unsigned kind);

/* The anchors of a trigram, of secrets or of concepts; *out_count is their number. */
const struct filter_anchor *filter_find(unsigned kind, unsigned trigram, size_t *out_count);

/* Whether a text begins with a word, both folded; runs of spaces may differ in length. */
bool filter_starts(const char *text, const char *end, const char *word);

#endif
