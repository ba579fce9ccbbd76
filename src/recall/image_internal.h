/*
 * image_internal.h: the layout of an image, for those who write and read it.
 *
 * A header, then sections in this order, each aligned to 8 bytes. Variable-length numbers have seven bits to a
 * byte, low ones first.
 *
 * - documents, units, passages, speakers, blocks: arrays of the structs of image.h.
 * - rows: for each stem struct word_row; without a table none at all.
 * - strings: names of documents and speakers.
 * - stems: by block; for each stem the bytes that it shares with the one before (0 for the first of a block),
 *   the number of further bytes, those bytes, and the size of its postings.
 * - postings: for each passage twice the distance from the one before, less one, plus 1 if the stem occurs more
 *   than once; then how often.
 * - content: for each passage of a unit the number of its stems, then those.
 */
#ifndef ETHOS_RECALL_IMAGE_INTERNAL_H
#define ETHOS_RECALL_IMAGE_INTERNAL_H

#include "recall/image.h"

#define IMAGE_MAGIC "ethosidx"
#define IMAGE_VERSION 5u
#define IMAGE_ALIGN 8u

enum image_section {
    SECTION_DOCUMENTS,
    SECTION_UNITS,
    SECTION_PASSAGES,
    SECTION_SPEAKERS,
    SECTION_BLOCKS,
    SECTION_ROWS,
    SECTION_STRINGS,
    SECTION_STEMS,
    SECTION_POSTINGS,
    SECTION_CONTENT,
    SECTION_COUNT
};

struct image_header {
    char magic[8];
    uint64_t checksum; /* hash_mix of everything after this member */
    uint32_t version, size;
    struct image_counts counts;
    struct image_sums sums;
    struct {
        uint32_t offset, size;
    } sections[SECTION_COUNT];
};

#define IMAGE_CHECKED offsetof(struct image_header, version)

#define VARINT_MAX 5 /* bytes of a number of 32 bits */

/* Returns the number of bytes written. */
static inline size_t varint_encode(uint8_t out[VARINT_MAX], uint32_t number)
{
    size_t size = 0;
    for (; number >= 0x80; number >>= 7)
        out[size++] = (uint8_t)(number | 0x80);
    out[size++] = (uint8_t)number;
    return size;
}

/* Reads the number at *at and advances it; false if it is truncated or too large. */
static inline bool varint_get(const uint8_t **at, const uint8_t *end, uint32_t *out)
{
    uint32_t number = 0;
    for (unsigned shift = 0; *at < end && shift < 35; shift += 7) {
        uint8_t byte = *(*at)++;
        number |= (uint32_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *out = number;
            return true;
        }
    }
    return false;
}

#endif
