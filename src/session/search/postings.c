/*
 * postings.c: which messages of a shard have a word, and where, as bytes.
 */
#include "session/search/postings.h"

size_t postings_put(uint8_t out[POSTINGS_MAX_VARINT], uint32_t number)
{
    size_t size = 0;
    for (; number >= 0x80; number >>= 7)
        out[size++] = (uint8_t)(number | 0x80);
    out[size++] = (uint8_t)number;
    return size;
}

/* NULL when it does not end, or is longer than any of ours. */
static const uint8_t *get(const uint8_t *at, const uint8_t *end, uint32_t *out)
{
    uint32_t number = 0;
    for (unsigned shift = 0; at < end && shift < 7 * POSTINGS_MAX_VARINT; shift += 7) {
        number |= (uint32_t)(*at & 0x7F) << shift;
        if (*at++ < 0x80) {
            *out = number;
            return at;
        }
    }
    return NULL;
}

struct postings postings_of(const void *data, size_t size, uint32_t first)
{
    const uint8_t *at = data;
    return (struct postings){.at = at, .end = at ? at + size : at, .doc = first};
}

bool postings_next(struct postings *self)
{
    uint32_t step;
    const uint8_t *at = get(self->at, self->end, &step);
    if (!at)
        return false;
    self->doc += step;
    self->places = at;
    self->count = 0;
    for (; at < self->end && *at; at++)
        self->count += *at < 0x80; // the last byte of a number
    self->at = at + 1;
    return at < self->end;
}

uint32_t postings_place(struct postings *self, uint32_t before)
{
    uint32_t step = 1;
    const uint8_t *at = get(self->places, self->end, &step);
    if (at)
        self->places = at;
    return before + step - 1;
}
