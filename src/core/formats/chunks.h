/*
 * chunks.h: the entries of a text, one by one: each a list item with what is indented below it, or a paragraph.
 *
 * What an entry says is its content: without bullet or number, without the indentation that belongs to that, and without
 * a block id ("^name" at its end). Changing one leaves every other byte of the text as it is; what would not be one
 * entry where it stands, or make others of its neighbours, is refused.
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
    struct ethos_view text;  /* as it stands, without blanks at its end */
    size_t offset, line;     /* line from 1 */
    size_t marker;           /* bytes of bullet or number and the blanks behind; 0: a paragraph */
    struct ethos_view block; /* the name of its block id, or absent */
    size_t section;          /* counts the headings above it */
    struct ethos_view path[MARKDOWN_LEVELS]; /* headings from the top */
    size_t depth;                            /* of them */
};

/* Borrowed for the length of the call but for what points into the text. Another value than 0 ends the walk. */
typedef int chunk_fn(void *arg, const struct chunk *chunk);
int chunks_each(struct ethos_view text, chunk_fn *each, void *arg);

/* Appends what the entry says. Returns str_code. */
int chunk_content(const struct chunk *chunk, struct str *out);

/* Which text this is, in which file: 16 hex digits. */
void chunk_hash(const char *scope, const char *key, struct ethos_view text,
                char out[CHUNK_ID_SIZE]);

/* Whether this is the name of a block id: letters, digits and hyphens. */
bool chunk_is_block(struct ethos_view name);

/* ETHOS_INVALID when it is not what one entry can say, with the reason. */
int chunk_check(struct ethos_view content, struct ethos_error *error);

/*
 * The changes make a new text the content of out. ETHOS_INVALID as above, or when the entry would not be one; ETHOS_NOMEM.
 * `chunk` is of this text. What was added or changed begins at *out_offset.
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
