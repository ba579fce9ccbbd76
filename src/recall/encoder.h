/*
 * encoder.h: what words mean, as numbers: a small trained network over a table of word vectors.
 *
 * A text becomes a vector of 64 for each word, a weight of each word in a question, and one vector of 128 for the
 * whole. Two texts are compared by late interaction (each word of the question meets the word of the passage that is
 * nearest) and by the cosine of their whole vectors. Words are lower-case ASCII letters and digits; a word that the
 * table does not have is one of 4,096 others by its checksum. data/recall/NOTICE says where the numbers come from.
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
    float weight[ENCODER_MAX_WORDS]; /* of each word, in a question */
    float whole[ENCODER_WHOLE];
};

struct encoder;

/*
 * The weights are the file encoder.bin, mapped; it and the table outlive the encoder. ETHOS_CORRUPT when a file has not
 * the size that the others ask for.
 */
int encoder_open(const struct word_table *table, struct ethos_view weights, struct encoder **out,
                 struct ethos_error *error);
void encoder_close(struct encoder *self); /* NULL is fine */

/*
 * The rows of the words of a text, the first ENCODER_MAX_WORDS. Returns how many. A word that is a name (NULL: none is)
 * is replaced by "someone".
 */
typedef bool encoder_name_fn(void *arg, struct ethos_view word);
size_t encoder_words(const struct encoder *self, struct ethos_view text, encoder_name_fn *is_name,
                     void *arg, uint32_t out[ENCODER_MAX_WORDS]);

/* A passage, or a question about one. */
void encoder_encode(struct encoder *self, const uint32_t *rows, size_t count, bool is_passage,
                    struct encoding *out);

/* Vectors as an index keeps them: signed bytes, 127 for 1. */
void encoder_pack(const float *vector, size_t count, int8_t *out);

/* A question as it is compared with packed vectors. */
struct packed_question {
    size_t count; /* words */
    int16_t token[ENCODER_MAX_WORDS][ENCODER_TOKEN];
    float weight[ENCODER_MAX_WORDS]; /* they add up to 1 */
    int16_t whole[ENCODER_WHOLE];
};
void encoder_pack_question(const struct encoding *question, struct packed_question *out);

/* Late interaction of a question with the packed words of a passage. */
float encoder_match(const struct encoder *self, const struct packed_question *question,
                    const int8_t *tokens, size_t count);

/* The cosines of a question with packed wholes that follow each other. */
void encoder_cosines(const struct packed_question *question, const int8_t *wholes, size_t count,
                     float *cosines);

#endif
