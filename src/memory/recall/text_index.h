/*
 * text_index.h: turns texts of memory into an image of an index.
 *
 * A section of a text is a document: its headings (in a note, below its title and description),
 * then its units. So the words of a heading count for the text below it.
 */
#ifndef ETHOS_MEMORY_RECALL_TEXT_INDEX_H
#define ETHOS_MEMORY_RECALL_TEXT_INDEX_H

#include "base/str.h"
#include "recall/builder.h"
#include "recall/model.h"

struct text_index {
    struct recall_builder *builder;
    struct str stamps; /* uint64_t, by document */
    uint32_t documents;
};

struct text_source {
    const char *key;
    uint64_t version, stamp;
    uint32_t mark; /* of its documents */
    int64_t time_ms;
};

/* The model (NULL: none) maps stems to words of its table. */
int text_index_begin(struct text_index *self, const struct recall_model *model,
                     struct ethos_error *error);
int text_index_add(struct text_index *self, const struct text_source *source,
                   struct ethos_view text, struct ethos_error *error);
int text_index_finish(struct text_index *self, struct str *image, struct ethos_error *error);
void text_index_release(struct text_index *self);

uint32_t text_index_documents(const struct text_index *self);
const uint64_t *text_index_stamps(const struct text_index *self);

#endif
