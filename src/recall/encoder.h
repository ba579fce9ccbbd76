/*
 * encoder.h: encodes the meaning of texts as vectors, by a small trained network over a table of
 * word vectors.
 *
 * A text becomes a vector of 64 numbers for each word, a weight for each word of a question, and
 * one vector of 128 for the whole. Two texts are compared by late interaction (each word of the
 * question is matched with the nearest word of the passage) and by the cosine of their whole
 * vectors. Words are lower-case ASCII letters and digits; a word that is not in the table is hashed
 * to one of 4,096 others. data/recall/NOTICE says where the numbers come from.
 *
 * An encoder belongs to one thread at a time.
 */
#ifndef ETHOS_RECALL_ENCODER_H
#define ETHOS_RECALL_ENCODER_H

#include <stdbool.h>
#include <stdint.h>

#include "recall/word_table.h"

#define ENCODER_MAX_WORDS 128
#define ENCODER_TOKEN 64  /* numbers of a word's vector */
#define ENCODER_WHOLE 128 /* and of the text's */

struct encoding {
    size_t count; /* words */
    float token[ENCODER_MAX_WORDS][ENCODER_TOKEN];
    float weight[ENCODER_MAX_WORDS]; /* weight of each word in a question */
    float whole[ENCODER_WHOLE];
};

struct encoder;

/*
 * The weights are the mapped file encoder.bin, which must outlive the encoder, like the table.
 * ETHOS_CORRUPT if the sizes of the files do not match.
 */
int encoder_open(const struct word_table *table, struct ethos_view weights, struct encoder **out,
                 struct ethos_error *error);
void encoder_close(struct encoder *self); /* self may be NULL */

/*
 * The rows of the first ENCODER_MAX_WORDS words of a text; returns their number. Words that are
 * names (NULL: none are) are replaced by "someone".
 */
typedef bool encoder_name_fn(void *arg, struct ethos_view word);
size_t encoder_words(const struct encoder *self, struct ethos_view text, encoder_name_fn *is_name,
                     void *arg, uint32_t out[ENCODER_MAX_WORDS]);

/* Encodes a passage, or a question. */
void encoder_encode(struct encoder *self, const uint32_t *rows, size_t count, bool is_passage,
                    struct encoding *out);

/* Vectors as stored in an index: signed bytes, 127 for 1. */
void encoder_pack(const float *vector, size_t count, int8_t *out);

/* A question prepared for comparison with packed vectors. */
struct packed_question {
    size_t count; /* words */
    int16_t token[ENCODER_MAX_WORDS][ENCODER_TOKEN];
    float weight[ENCODER_MAX_WORDS]; /* their sum is 1 */
    int16_t whole[ENCODER_WHOLE];
};
void encoder_pack_question(const struct encoding *question, struct packed_question *out);

/* Late interaction of a question with the packed words of a passage. */
float encoder_match(const struct encoder *self, const struct packed_question *question,
                    const int8_t *tokens, size_t count);

/* The cosines of a question with consecutive packed whole vectors. */
void encoder_cosines(const struct packed_question *question, const int8_t *wholes, size_t count,
                     float *cosines);

#endif
