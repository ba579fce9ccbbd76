/*
 * chunks.h: the entries of a text: list items with the lines indented below them, and paragraphs.
 *
 * The content of an entry is its text without bullet or number, without the indentation of those, and without a block id
 * ("^name" at its end). Changing an entry leaves every other byte of the text as it is. A change is refused if the result
 * would not be one entry, or would change other entries.
 */
#ifndef ETHOS_CORE_FORMATS_CHUNKS_H
#define ETHOS_CORE_FORMATS_CHUNKS_H

#include <stdbool.h>

#include <ethos/types.h>

#include "core/formats/line_kinds.h"

#define CHUNK_ID_SIZE 17 /* 16 hex digits and a NUL */
#define CHUNK_MAX_BLOCK 64

struct str;

struct chunk {
    struct ethos_view text;  /* as in the file, without trailing blanks */
    size_t offset, line;     /* line from 1 */
    size_t marker;           /* bytes of bullet or number with the blanks after; 0: a paragraph */
    struct ethos_view block; /* the name of its block id, or absent */
    size_t section;          /* counts the headings above it */
    struct ethos_view path[MARKDOWN_LEVELS]; /* headings from the top */
    size_t depth;                            /* of them */
};

/* The chunk is valid during the call only, its views as long as the text. A value other than 0 ends the walk. */
typedef int chunk_fn(void *arg, const struct chunk *chunk);
int chunks_each(struct ethos_view text, chunk_fn *each, void *arg);

/* Appends the content of the entry. Returns str_code. */
int chunk_content(const struct chunk *chunk, struct str *out);

/* An id of a text in a file: 16 hex digits. */
void chunk_hash(const char *scope, const char *key, struct ethos_view text,
                char out[CHUNK_ID_SIZE]);

/* Whether a name may be a block id: letters, digits and hyphens. */
bool chunk_is_block(struct ethos_view name);

/* ETHOS_INVALID, with the reason, if it cannot be the content of one entry. */
int chunk_check(struct ethos_view content, struct ethos_error *error);

/*
 * Add, change or delete an entry; the new text becomes the content of out. ETHOS_INVALID as above, or if the result would
 * not be one entry; ETHOS_NOMEM. `chunk` must be of this text. *out_offset is where the new entry begins.
 */
struct chunk_new {
    struct ethos_view content;
    struct ethos_view
        under; /* the text of a heading, the first that has it; absent: at the end of the text */
    struct ethos_view block; /* the name of a block id to write; absent: none */
};
int chunk_add(struct ethos_view text, const struct chunk_new *what, struct str *out,
              size_t *out_offset, struct ethos_error *error);
int chunk_update(struct ethos_view text, const struct chunk *chunk, struct ethos_view content,
                 struct str *out, size_t *out_offset, struct ethos_error *error);
int chunk_delete(struct ethos_view text, const struct chunk *chunk, struct str *out,
                 struct ethos_error *error);

#endif
