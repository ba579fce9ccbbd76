/*
 * word_table.c: finding words, and how near two of them are.
 */
#include "recall/word_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/view.h"
#include "recall/numbers.h"

#define MAX_WORD 64 /* bytes of a word of the table */

/* The line that holds a place, without its end. */
static struct ethos_view line_around(struct ethos_view text, size_t at)
{
    size_t begin = at, end = at;
    while (begin > 0 && text.data[begin - 1] != '\n')
        begin--;
    while (end < text.size && text.data[end] != '\n')
        end++;
    return view_of(text.data + begin, end - begin);
}

/* The row that a line names, if the table has so many. */
static uint32_t parse_row_number(const struct word_table *table, struct ethos_view digits)
{
    uint32_t row = 0;
    for (size_t i = 0; i < digits.size && i < 9; i++)
        row = row * 10 + (uint32_t)(digits.data[i] - '0');
    return row <= word_table_count(table) ? row : 0;
}

static uint32_t find_table_line(const struct word_table *table, struct ethos_view lines,
                                struct ethos_view word)
{
    size_t low = 0, high = word.size <= MAX_WORD ? lines.size : 0;
    while (low < high) {
        struct ethos_view line = line_around(lines, low + (high - low) / 2);
        const char *blank = memrchr(line.data, ' ', line.size);
        size_t length = blank ? (size_t)(blank - line.data) : line.size;
        int order = memcmp(word.data, line.data, word.size < length ? word.size : length);
        if (order == 0 && word.size == length)
            return blank ? parse_row_number(table, view_from(line, length + 1)) : 0;
        if (order < 0 || (order == 0 && word.size < length))
            high = (size_t)(line.data - lines.data);
        else
            low = (size_t)(line.data - lines.data) + line.size + 1;
    }
    return 0;
}

uint32_t word_table_find(const struct word_table *table, struct ethos_view word)
{
    return find_table_line(table, table->words, word);
}

uint32_t word_table_find_stem(const struct word_table *table, struct ethos_view stem)
{
    return find_table_line(table, table->stems, stem);
}

const int8_t *word_table_row(const struct word_table *table, uint32_t row)
{
    if (row == 0 || row > word_table_count(table))
        return NULL;
    return (const int8_t *)table->rows.data + (size_t)(row - 1) * WORD_VECTOR;
}

static double length_of(const int8_t *row)
{
    int sum = 0;
    for (size_t i = 0; i < WORD_VECTOR; i++)
        sum += row[i] * row[i];
    return number_sqrt(sum);
}

float word_table_length(const struct word_table *table, uint32_t row)
{
    const int8_t *bytes = word_table_row(table, row);
    return bytes ? (float)length_of(bytes) : 0;
}

void word_table_vector(const struct word_table *table, uint32_t row, float out[WORD_VECTOR])
{
    const int8_t *bytes = word_table_row(table, row);
    double length = bytes ? length_of(bytes) : 0;
    for (size_t i = 0; i < WORD_VECTOR; i++)
        out[i] = length > 0 ? (float)(bytes[i] / length) : 0;
}

VECTORS static void add_scaled(const int8_t *row, float factor, float sum[WORD_VECTOR])
{
    for (size_t i = 0; i < WORD_VECTOR; i++)
        sum[i] += factor * (float)row[i];
}

void word_table_add(const struct word_table *table, const struct word_row *word, float factor,
                    float sum[WORD_VECTOR])
{
    const int8_t *row = word_table_row(table, word->row);
    if (row && word->length > 0)
        add_scaled(row, factor / word->length, sum);
}

void word_block_add(struct word_block *block, uint32_t row)
{
    const int8_t *bytes = word_table_row(block->table, row);
    int16_t *out = block->rows[block->count];
    memset(out, 0, sizeof block->rows[0]);
    for (size_t i = 0; bytes && i < WORD_VECTOR; i++)
        out[i] = bytes[i];
    block->lengths[block->count++] = word_table_length(block->table, row);
}

#define AHEAD 8 /* rows that are fetched before they are needed */

/* The products of a row with all words of a block; what follows the row is read, too, and multiplied with 0. */
static inline __attribute__((always_inline)) void
multiply_rows(const struct word_block *block, const int8_t *row, int products[WORD_BLOCK])
{
    int16_t wide[WORD_ROOM];
    for (size_t i = 0; i < WORD_ROOM; i++)
        wide[i] = row[i];
    for (size_t w = 0; w < block->count; w++) {
        int sum = 0;
        for (size_t i = 0; i < WORD_ROOM; i++)
            sum += block->rows[w][i] * wide[i];
        products[w] = sum;
    }
}

VECTORS static void compare_rows(const struct word_block *block, const struct word_row *rows,
                                 uint32_t count, float least, word_near_fn *near, void *arg)
{
    uint32_t known = word_table_count(block->table);
    const int8_t *first = (const int8_t *)block->table->rows.data;
    int8_t last[WORD_ROOM] = {0};
    if (known > 0)
        memcpy(last, first + (size_t)(known - 1) * WORD_VECTOR, WORD_VECTOR);
    for (uint32_t i = 0; i < count; i++) {
        int products[WORD_BLOCK];
        uint32_t row = rows[i].row;
        if (i + AHEAD < count && rows[i + AHEAD].row - 1 < known)
            __builtin_prefetch(first + (size_t)(rows[i + AHEAD].row - 1) * WORD_VECTOR);
        if (row - 1 >= known || rows[i].length <= 0)
            continue;
        multiply_rows(block, row == known ? last : first + (size_t)(row - 1) * WORD_VECTOR,
                      products);
        for (size_t w = 0; w < block->count; w++) {
            float lengths = rows[i].length * block->lengths[w];
            if ((float)products[w] >= least * lengths && lengths > 0)
                near(arg, w, i, (float)products[w] / lengths);
        }
    }
}

void word_block_compare(const struct word_block *block, const struct word_row *rows, uint32_t count,
                        float least, word_near_fn *near, void *arg)
{
    compare_rows(block, rows, count, least, near, arg);
}

float word_table_cosine(const struct word_table *table, uint32_t a, uint32_t b)
{
    const int8_t *x = word_table_row(table, a), *y = word_table_row(table, b);
    int sum = 0;
    for (size_t i = 0; x && y && i < WORD_VECTOR; i++)
        sum += x[i] * y[i];
    float lengths = word_table_length(table, a) * word_table_length(table, b);
    return lengths > 0 ? (float)sum / lengths : 0;
}
