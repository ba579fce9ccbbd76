/*
 * slug.h: names made from text: section slugs, note slugs, fact hashes.
 */
#ifndef ETHOS_BASE_TEXT_SLUG_H
#define ETHOS_BASE_TEXT_SLUG_H

#include <ethos/types.h>

struct str;

#define SLUG_NOTE_MAX 48 /* bytes before a hash suffix */

/*
 * Appends: lower case, runs outside a-z0-9 to '-', edges stripped; empty: "u-" + 8 hex of
 * SHA-256(NFC heading). Returns str_code.
 */
int slug_section(struct ethos_view heading, struct str *out);

/*
 * Appends: NFKD, marks dropped, lower case, runs outside a-z0-9 to '-', edges stripped, at most
 * `max` bytes. If a letter or digit was lost or it was cut: "-" + 8 hex of SHA-256(NFC title);
 * nothing left: "note-" + those 8. memory, user, soul, memory-archive get the prefix "note-".
 * Returns str_code.
 */
int slug_note(struct ethos_view title, size_t max, struct str *out);

/*
 * Appends a suffix that distinguishes titles with the same slug: 8 hex of SHA-256(NFC text).
 * Returns str_code.
 */
int slug_hash(struct ethos_view text, struct str *out);

/* SHA-256 hex of the lower-cased, white-space-collapsed, trimmed text. */
int slug_fact_hash(struct ethos_view text, char out[65]);

#endif
