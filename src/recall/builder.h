/*
 * builder.h: builds an image (recall/image.h) of texts.
 *
 *     recall_builder_new(table, &builder, error);
 *     recall_builder_document(builder, &document, error);      once for each
 *     recall_builder_unit(builder, &unit, error);              its units in order
 *     recall_builder_finish(builder, &image, error);
 *     recall_builder_free(builder);
 *
 * The same texts in the same order give the same bytes. After a failure the builder can only be
 * freed.
 */
#ifndef ETHOS_RECALL_BUILDER_H
#define ETHOS_RECALL_BUILDER_H

#include <stdbool.h>

#include <ethos/types.h>

struct recall_builder;
struct str;
struct word_table;

struct recall_unit {
    struct ethos_view text;
    struct ethos_view speaker; /* a person, a role or the owner of the text; may be empty */
    uint32_t date;             /* IMAGE_DATE, or 0 */
    uint32_t offset;           /* offset of the text in its document */
    bool heading;              /* UNIT_HEADING */
};

struct recall_document {
    struct ethos_view name;
    uint32_t group; /* numbered from 0, each used by at least one document */
    uint64_t version;
    uint32_t mark;   /* stored with it */
    int64_t time_ms; /* or -1 */
    bool
        continues; /* its units directly follow those of the previous document, in the same group */
};

/* The table (NULL: none; it must outlive the builder) maps stems to its words. */
int recall_builder_new(const struct word_table *table, struct recall_builder **out,
                       struct ethos_error *error);
void recall_builder_free(struct recall_builder *builder);

/* The following units belong to it. */
int recall_builder_document(struct recall_builder *builder, const struct recall_document *document,
                            struct ethos_error *error);
int recall_builder_unit(struct recall_builder *builder, const struct recall_unit *unit,
                        struct ethos_error *error);

/* Appends the image to `image`, which is empty. ETHOS_LIMIT if it exceeds IMAGE_MAX. */
int recall_builder_finish(struct recall_builder *builder, struct str *image,
                          struct ethos_error *error);

#endif
