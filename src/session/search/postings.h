/*
 * postings.h: the messages of a shard that contain a word, and its positions, as bytes. Private to
 * src/session.
 *
 * Per message: the difference of its number to the previous one, then the positions of the word,
 * each as the difference to the previous one plus one, then 0; all as variable-length integers,
 * seven bits per byte, low ones first. A message without positions: the word applies to the whole
 * message.
 *
 * Input is not trusted: truncated or malformed bytes end the iteration.
 */
#ifndef ETHOS_SESSION_SEARCH_POSTINGS_H
#define ETHOS_SESSION_SEARCH_POSTINGS_H

#include <stdbool.h>

#include <ethos/types.h>

struct postings {
    const uint8_t *at, *end;
    uint32_t doc;   /* number of the message in its shard */
    uint32_t count; /* places */
    const uint8_t *places;
};

#define POSTINGS_MAX_VARINT 5 /* bytes of a 32-bit number */

/* Bytes written. */
size_t postings_put(uint8_t out[POSTINGS_MAX_VARINT], uint32_t number);

/* An iterator over bytes whose differences begin at `first`. */
struct postings postings_of(const void *data, size_t size, uint32_t first);

/* The next message; false at the end. */
bool postings_next(struct postings *self);

/* Reads the next of the message's `count` positions and advances. */
uint32_t postings_place(struct postings *self, uint32_t before);

#endif
