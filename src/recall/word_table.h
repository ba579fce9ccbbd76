/*
 * word_table.h: a vector for each of many words: words that mean nearly the same have vectors that point nearly the
 * same way.
 *
 * Rows are numbered from 1, frequent words first; 0 stands for a word that the table does not have. A row has
 * WORD_VECTOR signed bytes, scaled so that the largest is 127: only its direction means something.
 */
#ifndef ETHOS_RECALL_WORD_TABLE_H
#define ETHOS_RECALL_WORD_TABLE_H

#include <stdint.h>

#include <ethos/types.h>

#define WORD_VECTOR 100 /* numbers of a word */

/* Files as they are installed, mapped; they outlive the table. */
struct word_table {
    struct ethos_view rows;  /* table.i8 */
    struct ethos_view words; /* words.txt: "word row" in byte order */
    struct ethos_view
        stems; /* stems.txt: "stem row" in byte order: the most frequent word with that stem */
};

static inline uint32_t word_table_count(const struct word_table *table)
{
    return (uint32_t)(table->rows.size / WORD_VECTOR);
}

/* The row of a word in lower case; 0: the table does not have it. */
uint32_t word_table_find(const struct word_table *table, struct ethos_view word);

/* The row that stands for the words with a stem (core/search/stem_english.h), or 0. */
uint32_t word_table_find_stem(const struct word_table *table, struct ethos_view stem);

/* The row as it stands, borrowed; NULL for one that there is not. Its length: 0 for that. */
const int8_t *word_table_row(const struct word_table *table, uint32_t row);
float word_table_length(const struct word_table *table, uint32_t row);

/* The row with length 1; all 0 for one that there is not. */
void word_table_vector(const struct word_table *table, uint32_t row, float out[WORD_VECTOR]);

/* A row whose length is known. */
struct word_row {
    uint32_t row;
    float length; /* 0: there is none */
};

/* Adds the row, brought to length 1, times a factor. */
void word_table_add(const struct word_table *table, const struct word_row *word, float factor,
                    float sum[WORD_VECTOR]);

/* Words that many others are compared with. */
#define WORD_BLOCK 8
#define WORD_ROOM 112 /* a multiple of what a processor adds at once */
struct word_block {
    const struct word_table *table;
    size_t count;
    float lengths[WORD_BLOCK];
    int16_t rows[WORD_BLOCK][WORD_ROOM]; /* filled up with 0 */
};
void word_block_add(struct word_block *block, uint32_t row);

/* The cosine of two rows; 0 where either is not there. */
float word_table_cosine(const struct word_table *table, uint32_t a, uint32_t b);

/* Tells of each of `count` rows which words of the block have a cosine of at least `least` with it, above 0. */
typedef void word_near_fn(void *arg, size_t word, uint32_t row, float cosine);
void word_block_compare(const struct word_block *block, const struct word_row *rows, uint32_t count,
                        float least, word_near_fn *near, void *arg);

#endif
