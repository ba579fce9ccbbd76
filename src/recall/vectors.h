/*
 * vectors.h: what the passages of an image mean, as the encoder sees it.
 *
 * Each passage has a whole vector, and one for each of its first words. Vectors are signed bytes, 127 for 1.
 */
#ifndef ETHOS_RECALL_VECTORS_H
#define ETHOS_RECALL_VECTORS_H

#include "base/str.h"
#include "recall/model.h"

/* Of passages of an image that follow each other. */
struct vectors {
    uint32_t first, count;  /* passages */
    const uint64_t *hashes; /* of their texts */
    const int8_t *wholes;   /* ENCODER_WHOLE for each */
    const uint32_t *starts; /* in tokens, and one behind the last: the words of each */
    const int8_t *tokens;   /* ENCODER_TOKEN for each word */
    const float *cosines; /* of each with the question, where others have compared them; or NULL */
    uint32_t words;       /* of all of them: starts beyond count as none */
};

/* Of an image: pieces in order, none of which overlap. What no piece has is not known yet. */
struct image_vectors {
    const struct vectors *pieces;
    size_t count;
};

/* What is known of a passage; false: nothing. */
struct passage_vectors {
    const int8_t *whole, *tokens;
    uint32_t words;
};
bool image_vectors_find(const struct image_vectors *vectors, uint32_t passage,
                        struct passage_vectors *out);

/* ---- making them ----------------------------------------------------------------------------- */

/* The vectors of a text by its hash; false: they are not known. */
typedef bool vector_known_fn(void *arg, uint64_t hash, struct passage_vectors *out);

struct vector_builder {
    struct recall_model *model;
    vector_known_fn *known; /* NULL: every passage is encoded */
    void *arg;
    struct encoding *encoding;
    uint32_t count;   /* passages */
    uint64_t encoded; /* of all that were ever added: whose vectors were not known */
    struct str hashes, wholes, starts, tokens;
};

/* Release always. */
int vector_builder_init(struct vector_builder *self, struct recall_model *model,
                        struct ethos_error *error);
void vector_builder_release(struct vector_builder *self);

/* Adds the passages of a unit (core/search/passages.h). */
int vector_builder_add(struct vector_builder *self, struct ethos_view unit,
                       struct ethos_error *error);

/* Adds passages without words, whose text is not to be had any more. */
int vector_builder_skip(struct vector_builder *self, uint32_t count, struct ethos_error *error);

/* Begins anew. */
void vector_builder_clear(struct vector_builder *self);

/* What was added, borrowed until more is: passages from `first` on. */
struct vectors vector_builder_view(const struct vector_builder *self, uint32_t first);

#endif
