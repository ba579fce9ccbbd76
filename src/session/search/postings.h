/*
 * postings.h: which messages of a shard have a word, and where, as bytes. Private to src/session.
 *
 * Per message: how far its number is from the one before, then the places of the word in it, each
 * as the distance from the one before plus one, then 0; all of it variable-length, seven bits to a
 * byte, low ones first. A message may have no places: then the word stands beside all others.
 *
 * Reading trusts nothing: what is cut short or malformed ends the walk.
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

#define POSTINGS_MAX_VARINT 5 /* bytes of a number of 32 bits */

/* Bytes written. */
size_t postings_put(uint8_t out[POSTINGS_MAX_VARINT], uint32_t number);

/* A walk over bytes whose distances begin at `first`. */
struct postings postings_of(const void *data, size_t size, uint32_t first);

/* The next message; false at the end. */
bool postings_next(struct postings *self);

/* Takes the next place of the message off, of which there are count. */
uint32_t postings_place(struct postings *self, uint32_t before);

#endif
