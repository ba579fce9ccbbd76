/*
 * image.h: the format of an index in memory and in a file.
 *
 * An image contains documents (a file, a session), their units (a paragraph, a message), the
 * passages of those, and for each stem the passages that contain it. It is made by recall/builder.h
 * and never changed. Numbers have the byte order of the machine; an image of another machine cannot
 * be opened.
 *
 * Opening checks the checksum and every number that is used as an index, so that reading needs no
 * further checks except in the variable-length parts, which end early if they are malformed.
 */
#ifndef ETHOS_RECALL_IMAGE_H
#define ETHOS_RECALL_IMAGE_H

#include <stdbool.h>

#include <ethos/types.h>

#include "base/hash.h"
#include "recall/word_table.h"

#define IMAGE_MAX UINT32_MAX /* bytes */
#define IMAGE_BLOCK 16 /* stems per block of the dictionary; the first one of each is searched */

/* Flags of a unit. */
enum {
    UNIT_TIME = 1,
    UNIT_ASKS = 2,
    UNIT_EXCLAIMS = 4,
    UNIT_NUMBER = 8,
    UNIT_USER = 16,         /* its speaker is the user */
    UNIT_HAS_PREV = 32,     /* the previous unit is in the same document */
    UNIT_HAS_PREV2 = 64,    /* and the one before that */
    UNIT_HAS_NEXT = 128,    /* the next unit */
    UNIT_HAS_NEXT2 = 256,   /* and the one after that */
    UNIT_CAPITALISED = 512, /* times how many such words, up to 3 */
    UNIT_TITLE = 4096,      /* a title in quotation marks */
    UNIT_HEADING = 2048     /* headings of the following units: never an answer itself */
};

#define UNIT_CAPITALISED_WORDS(flags) ((flags) / UNIT_CAPITALISED & 3)

/* A date as a comparable number: 0 if there is none. */
#define IMAGE_DATE(year, month, day)                                                               \
    ((uint32_t)(year) << 9 | (uint32_t)(month) << 5 | (uint32_t)(day))
#define IMAGE_YEAR(date) ((date) >> 9)
#define IMAGE_MONTH(date) ((date) >> 5 & 15)
#define IMAGE_DAY(date) ((date)&31)

struct image_document {
    uint64_t version; /* stamp of the text, set by the caller */
    int64_t time_ms;  /* mtime of that text, or -1 */
    uint32_t first_unit;
    uint32_t group;           /* documents with the same group are one session */
    uint32_t words;           /* of all its units */
    uint32_t name, name_size; /* offset in the strings */
    uint32_t mark;            /* set by the caller */
};

struct image_unit {
    uint32_t offset, size; /* offset of its text in the document */
    uint32_t date;         /* IMAGE_DATE */
    uint32_t first_passage;
    uint32_t speaker; /* index in the speakers */
    uint32_t content; /* offset in the content: its stems without stop words, in order */
    uint32_t check;   /* IMAGE_CHECK of its text */
    uint16_t chars;   /* code points, 65,535 for more */
    uint16_t head_words;
    uint16_t flags;
    uint8_t first_person, second_person; /* counts, 255 for more */
};

/* A checksum to find out whether a text is still the indexed one. */
#define IMAGE_CHECK(text) ((uint32_t)hash_mix(0, (text)))

struct image_passage {
    uint32_t unit;
    uint16_t words, reserved;
};

struct image_string {
    uint32_t offset, size;
};

struct image_block {
    uint32_t stems, postings; /* offsets */
};

struct image_counts {
    uint32_t documents, groups, units, passages, stems, speakers;
};

/* Sums that ranking needs. */
struct image_sums {
    uint64_t words;           /* of all passages */
    uint64_t window_quarters; /* of all windows: four times their words */
    double log_chars;         /* of all units: ln(1 + characters) */
};

struct image {
    uint64_t checksum; /* of its bytes */
    struct image_counts counts;
    struct image_sums sums;
    const struct image_document *documents;
    const struct image_unit *units;
    const struct image_passage *passages;
    const struct image_string *speakers;
    const struct image_block *blocks;
    const struct word_row *rows; /* by stem: row in the table of words; NULL: unknown */
    struct ethos_view strings, stems, postings, content;
    /* By document, set by the caller: excluded from search. NULL: none are. */
    const bool *gone;
};

/*
 * Opens an image, which must stay in memory while it is used, aligned to 8 bytes. ETHOS_OK or
 * ETHOS_INVALID ("index: ...: damaged").
 */
int image_open(struct ethos_view bytes, struct image *out, struct ethos_error *error);

/* Likewise without the checksum: damage may affect ranking, but reads stay in bounds. */
int image_open_quick(struct ethos_view bytes, struct image *out, struct ethos_error *error);

/* Likewise for an unchanged image that was opened before: nothing is checked again. */
int image_open_again(struct ethos_view bytes, struct image *out, struct ethos_error *error);

/* A stem found in an image. */
struct image_stem {
    uint32_t number;
    struct ethos_view postings;
};

bool image_find_stem(const struct image *image, struct ethos_view stem, struct image_stem *out);

/*
 * Likewise by its number; the stem is written to `text`, which has room for WORDS_MAX bytes and a
 * NUL.
 */
bool image_stem_at(const struct image *image, uint32_t number, struct image_stem *out, char *text);

/*
 * Calls each with every stem in order, and the size of its postings; a value other than 0 ends the
 * walk and is returned.
 */
typedef int image_stem_fn(void *arg, struct ethos_view stem, size_t bytes);
int image_each_stem(const struct image *image, image_stem_fn *each, void *arg);

/* Those with this prefix. */
int image_each_stem_from(const struct image *image, struct ethos_view start, image_stem_fn *each,
                         void *arg);

/* A walk over the passages that contain a stem. */
struct image_postings {
    const uint8_t *at, *end;
    uint32_t passage, count;
    uint32_t next;     /* the lowest passage that may follow */
    uint32_t passages; /* number of passages in the image: a higher one ends the walk */
};

struct image_postings image_postings_of(const struct image *image, struct ethos_view postings);
bool image_next_posting(struct image_postings *walk);

/* A walk over the content of a unit: the stems of each passage. */
struct image_content {
    const uint8_t *at, *end;
};

struct image_content image_content_of(const struct image *image, uint32_t unit);
uint32_t image_content_number(struct image_content *walk); /* stems left in the passage */

struct ethos_view image_speaker(const struct image *image, uint32_t speaker);
struct ethos_view image_document_name(const struct image *image, uint32_t document);

/*
 * How often, in quarters, a unit counts in windows: fully in its own, less in those of its
 * neighbours.
 */
static inline unsigned image_window_share(unsigned flags)
{
    return 4u + (flags & UNIT_HAS_PREV ? 2u : 0) + (flags & UNIT_HAS_NEXT ? 2u : 0) +
           (flags & UNIT_HAS_PREV2 ? 1u : 0) + (flags & UNIT_HAS_NEXT2 ? 1u : 0);
}

static inline bool image_is_gone(const struct image *image, uint32_t document)
{
    return image->gone && image->gone[document];
}

static inline uint32_t image_passages_end(const struct image *image, uint32_t unit)
{
    return unit + 1 < image->counts.units ? image->units[unit + 1].first_passage
                                          : image->counts.passages;
}

/* The number of words in all passages of a unit. */
static inline uint32_t image_unit_words(const struct image *image, uint32_t unit)
{
    uint32_t words = 0, end = image_passages_end(image, unit);
    for (uint32_t p = image->units[unit].first_passage; p < end; p++)
        words += image->passages[p].words;
    return words;
}

static inline uint32_t image_units_end(const struct image *image, uint32_t document)
{
    return document + 1 < image->counts.documents ? image->documents[document + 1].first_unit
                                                  : image->counts.units;
}

#endif
