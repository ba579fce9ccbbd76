/*
 * encoder.c: encodes the meaning of texts as vectors.
 *
 * One transformer layer: a convolution of width 3 instead of positions, four attention heads, a
 * hidden layer. The matrices are used as stored in the mapped file: signed bytes with a scale for
 * each row. So encoding one text reads no more of the file than that text needs.
 */
#include "recall/encoder.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "recall/numbers.h"

#define TABLE WORD_VECTOR
#define ROOM 104  /* padded with 0 to a multiple of LANES */
#define WIDTH 128 /* of the layer */
#define HEADS 4
#define HEAD 32
#define HIDDEN 256
#define OTHERS 4096 /* rows for words that are not in the table */
#define WORDS ENCODER_MAX_WORDS
#define MAX_WORD 4096 /* significant bytes of a word */

/* Offsets of the parts of encoder.bin after the word weights, whose number depends on the table. */
struct weight_parts {
    const float *tau, *word_scale, *whole_scale;
    const int8_t *word, *whole, *others;
};

/* A matrix of signed bytes with a scale for each row. */
struct matrix {
    const int8_t *bytes;
    const float *scales;
    size_t rows, columns;
};

struct encoder {
    struct word_table table;
    size_t known; /* words of the table */
    struct weight_parts parts;
    struct matrix input, kind, convolution, attend, mix, grow, shrink;
    struct matrix token_table, token, whole_table, whole, extra;
    const float *input_bias, *convolution_bias, *attend_bias, *mix_bias, *grow_bias, *shrink_bias;
    const float *token_bias, *whole_bias, *extra_bias;
    const float *norm1[2], *norm2[2], *norm3[2]; /* weight, bias */
    /* buffers of the current text: */
    float words[WORDS][ROOM], state[WORDS][WIDTH], before[WORDS][WIDTH];
    float queries[WORDS][3 * WIDTH], mixed[WORDS][WIDTH];
    float normal[WORDS][WIDTH], hidden[WORDS][HIDDEN];
};

/* ---- numbers ------------------------------------------------------------------------------------ */

/* e to the x, within 1e-7 of its value, for x from -87 to 88. */
static inline __attribute__((always_inline)) float fast_exp(float x)
{
    union {
        uint32_t bits;
        float value;
    } power;
    x = x < -87 ? -87 : x;
    x = x > 88 ? 88 : x;
    float scaled = x * 1.44269504f;
    int whole = (int)(scaled + (scaled < 0 ? -0.5f : 0.5f));
    float rest = x - (float)whole * 0.693359375f + (float)whole * 2.12194440e-4f;
    float sum = 1 + rest * (1 + rest * (0.5f + rest * (0.16666666f +
                                                       rest * (0.041666638f +
                                                               rest * (0.008333452f +
                                                                       rest * 0.0013888397f)))));
    power.bits = (uint32_t)(whole + 127) << 23;
    return sum * power.value;
}

/* x times the share of a normal distribution below it (GELU); the error function within 2e-7. */
static inline __attribute__((always_inline)) float gelu(float x)
{
    float z = (x < 0 ? -x : x) * 0.70710678f;
    float t = 1 / (1 + 0.3275911f * z);
    float tail = t *
                 (0.254829592f + t * (-0.284496736f +
                                      t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
    float error = 1 - tail * fast_exp(-z * z);
    return 0.5f * x * (1 + (x < 0 ? -error : error));
}

/* The logarithm of 1 + e to the x (softplus). */
static float soft_plus(float x)
{
    return x > 30 ? x : (float)number_log(1 + (double)fast_exp(x));
}

static float inverse_length(const float *vector, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)vector[i] * (double)vector[i];
    return (float)(1 / (number_sqrt(sum) + 1e-12));
}

static void scale_vector(float *vector, size_t count, float factor)
{
    for (size_t i = 0; i < count; i++)
        vector[i] *= factor;
}

#define LANES 8
#define BLOCK 4 /* rows of x processed at once */

typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

/* Rows of numbers with a constant stride. */
struct row_block {
    float *first;
    size_t step;
};

/* Two rows of a matrix, padded with 0 to whole lanes. */
struct row_pair {
    float first[HIDDEN], second[HIDDEN];
    size_t size;
};

static inline __attribute__((always_inline)) void unpack_rows(const struct matrix *matrix,
                                                              size_t row, struct row_pair *out)
{
    const int8_t *first = matrix->bytes + row * matrix->columns, *second = first + matrix->columns;
    for (size_t i = 0; i < matrix->columns; i++)
        out->first[i] = (float)first[i];
    for (size_t i = 0; i < matrix->columns; i++)
        out->second[i] = (float)second[i];
    for (out->size = matrix->columns; out->size % LANES != 0; out->size++)
        out->first[out->size] = out->second[out->size] = 0;
}

static inline __attribute__((always_inline)) float sum_of(lanes sums)
{
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) +
           ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

/*
 * Adds the products of `count` rows of x, at most BLOCK, with both rows of the matrix, each times
 * its scale.
 */
static inline __attribute__((always_inline)) void
multiply_block(const float *x, size_t x_step, size_t count, const struct row_pair *pair,
               const float *scales, float *out, size_t out_step)
{
    lanes sums[BLOCK][2] = {{{0}}};
    for (size_t i = 0; i < pair->size; i += LANES) {
        lanes first = *(const lanes *)(const void *)(pair->first + i);
        lanes second = *(const lanes *)(const void *)(pair->second + i);
#pragma GCC unroll 4
        for (size_t t = 0; t < count; t++) {
            lanes at = *(const lanes *)(const void *)(x + t * x_step + i);
            sums[t][0] += at * first;
            sums[t][1] += at * second;
        }
    }
#pragma GCC unroll 4
    for (size_t t = 0; t < count; t++) {
        out[t * out_step] += sum_of(sums[t][0]) * scales[0];
        out[t * out_step + 1] += sum_of(sums[t][1]) * scales[1];
    }
}

/*
 * Adds the product of the matrix, which has an even number of rows, and each of `count` rows of
 * padded x to out.
 */
VECTORS static void add_products(struct row_block x, size_t count, const struct matrix *matrix,
                                 struct row_block out)
{
    struct row_pair pair;
    for (size_t row = 0; row < matrix->rows; row += 2) {
        const float *scales = matrix->scales + row;
        size_t t = 0;
        unpack_rows(matrix, row, &pair);
        for (; t + BLOCK <= count; t += BLOCK)
            multiply_block(x.first + t * x.step, x.step, BLOCK, &pair, scales,
                           out.first + t * out.step + row, out.step);
        for (; t < count; t++)
            multiply_block(x.first + t * x.step, x.step, 1, &pair, scales,
                           out.first + t * out.step + row, out.step);
    }
}

/* Likewise for one row. */
static void add_product(float *x, const struct matrix *matrix, float *out)
{
    add_products((struct row_block){x, 0}, 1, matrix, (struct row_block){out, 0});
}

static void normalise_layer(const float *x, const float *const norm[2], float *out)
{
    double mean = 0, spread = 0;
    for (size_t i = 0; i < WIDTH; i++)
        mean += (double)x[i];
    mean /= WIDTH;
    for (size_t i = 0; i < WIDTH; i++)
        spread += ((double)x[i] - mean) * ((double)x[i] - mean);
    float factor = (float)(1 / number_sqrt(spread / WIDTH + 1e-5));
    for (size_t i = 0; i < WIDTH; i++)
        out[i] = (x[i] - (float)mean) * factor * norm[0][i] + norm[1][i];
}

/* ---- the files ----------------------------------------------------------------------------------- */

/* Parts follow each other, each aligned to 64 bytes. */
struct weight_reading {
    struct ethos_view rest;
    size_t at;
    bool ended;
};

static const void *read_part(struct weight_reading *reading, size_t size)
{
    size_t begin = (reading->at + 63) / 64 * 64;
    if (reading->ended || size > reading->rest.size || begin > reading->rest.size - size) {
        reading->ended = true;
        return NULL;
    }
    reading->at = begin + size;
    return reading->rest.data + begin;
}

static struct matrix read_matrix(struct weight_reading *reading, size_t rows, size_t columns)
{
    struct matrix matrix = {.rows = rows, .columns = columns};
    matrix.bytes = read_part(reading, rows * columns);
    matrix.scales = read_part(reading, rows * sizeof *matrix.scales);
    return matrix;
}

static const float *read_floats(struct weight_reading *reading, size_t count)
{
    return read_part(reading, count * sizeof(float));
}

/* Reads the parts between the weights of table words and those of other words. */
static void read_layer(struct weight_reading *reading, struct encoder *self)
{
    self->token_table = read_matrix(reading, ENCODER_TOKEN, TABLE);
    self->whole_table = read_matrix(reading, WIDTH, TABLE);
    self->input = read_matrix(reading, WIDTH, TABLE);
    self->input_bias = read_floats(reading, WIDTH);
    self->kind = read_matrix(reading, 2, WIDTH);
    self->norm1[0] = read_floats(reading, WIDTH);
    self->norm1[1] = read_floats(reading, WIDTH);
    self->attend = read_matrix(reading, 3 * WIDTH, WIDTH);
    self->attend_bias = read_floats(reading, 3 * WIDTH);
    self->mix = read_matrix(reading, WIDTH, WIDTH);
    self->mix_bias = read_floats(reading, WIDTH);
    self->norm2[0] = read_floats(reading, WIDTH);
    self->norm2[1] = read_floats(reading, WIDTH);
    self->grow = read_matrix(reading, HIDDEN, WIDTH);
    self->grow_bias = read_floats(reading, HIDDEN);
    self->shrink = read_matrix(reading, WIDTH, HIDDEN);
    self->shrink_bias = read_floats(reading, WIDTH);
    self->convolution = read_matrix(reading, WIDTH, 3);
    self->convolution_bias = read_floats(reading, WIDTH);
    self->norm3[0] = read_floats(reading, WIDTH);
    self->norm3[1] = read_floats(reading, WIDTH);
    self->token = read_matrix(reading, ENCODER_TOKEN, WIDTH);
    self->token_bias = read_floats(reading, ENCODER_TOKEN);
    self->whole = read_matrix(reading, WIDTH, WIDTH);
    self->whole_bias = read_floats(reading, WIDTH);
    self->extra = read_matrix(reading, 2, WIDTH);
    self->extra_bias = read_floats(reading, 2);
}

/* Whether the file has all parts and ends after the last one. */
static bool read_weights(const struct word_table *table, struct ethos_view weights,
                         struct encoder *self)
{
    struct weight_reading reading = {.rest = weights};
    struct weight_parts *parts = &self->parts;
    size_t words = 1 + word_table_count(table) + OTHERS;
    parts->tau = read_floats(&reading, 1);
    read_floats(&reading, 1); // temperatures of the training
    read_floats(&reading, 1);
    parts->word = read_part(&reading, words);
    parts->word_scale = read_floats(&reading, 1);
    parts->whole = read_part(&reading, words);
    parts->whole_scale = read_floats(&reading, 1);
    read_layer(&reading, self);
    parts->others = read_part(&reading, OTHERS * TABLE);
    return !reading.ended && reading.at == weights.size && table->rows.size % TABLE == 0;
}

int encoder_open(const struct word_table *table, struct ethos_view weights, struct encoder **out,
                 struct ethos_error *error)
{
    struct encoder *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    self->table = *table;
    self->known = word_table_count(table);
    if (!read_weights(table, weights, self)) {
        free(self);
        return err_set(error, ETHOS_CORRUPT, "the files of the encoder do not fit each other");
    }
    *out = self;
    return ETHOS_OK;
}

void encoder_close(struct encoder *self)
{
    free(self);
}

/* ---- words --------------------------------------------------------------------------------------- */

/* CRC-32 as in zip and Ethernet. */
static uint32_t crc32_of(const char *data, size_t size)
{
    uint32_t sum = 0xFFFFFFFF;
    for (size_t i = 0; i < size; i++) {
        sum ^= (unsigned char)data[i];
        for (int bit = 0; bit < 8; bit++)
            sum = (sum >> 1) ^ (sum & 1 ? 0xEDB88320 : 0);
    }
    return ~sum;
}

static char lower_letter(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool is_word_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* The size of 's with either apostrophe; 0: something else. */
static size_t possessive_size(struct ethos_view text, size_t at)
{
    bool straight = at + 1 < text.size && text.data[at] == '\'' &&
                    lower_letter(text.data[at + 1]) == 's';
    bool curly = at + 3 < text.size && memcmp(text.data + at, "\xE2\x80\x99", 3) == 0 &&
                 lower_letter(text.data[at + 3]) == 's';
    return straight ? 2 : curly ? 4 : 0;
}

static uint32_t row_of(const struct encoder *self, struct ethos_view word)
{
    uint32_t row = word_table_find(&self->table, word);
    return row ? row : (uint32_t)(1 + self->known + crc32_of(word.data, word.size) % OTHERS);
}

size_t encoder_words(const struct encoder *self, struct ethos_view text, encoder_name_fn *is_name,
                     void *arg, uint32_t out[ENCODER_MAX_WORDS])
{
    char word[MAX_WORD];
    size_t count = 0, size = 0;
    for (size_t i = 0; i <= text.size && count < ENCODER_MAX_WORDS;) {
        size_t skipped = possessive_size(text, i);
        char c = i < text.size && !skipped ? lower_letter(text.data[i]) : '\0';
        i += skipped ? skipped : 1;
        if (is_word_character(c) && size < sizeof word)
            word[size++] = c;
        if (is_word_character(c) || skipped || size == 0)
            continue;
        bool named = is_name && is_name(arg, view_of(word, size));
        out[count++] = row_of(self, named ? VIEW("someone") : view_of(word, size));
        size = 0;
    }
    return count;
}

/* ---- encoding ------------------------------------------------------------------------------------ */

static void read_word(const struct encoder *self, uint32_t row, float out[TABLE])
{
    if (row <= self->known) {
        word_table_vector(&self->table, row, out);
        return;
    }
    const int8_t *bytes = self->parts.others + (row - 1 - self->known) * TABLE;
    for (size_t i = 0; i < TABLE; i++)
        out[i] = (float)bytes[i];
    scale_vector(out, TABLE, inverse_length(out, TABLE));
}

static void read_input(struct encoder *self, const uint32_t *rows, size_t count, bool is_passage)
{
    for (size_t t = 0; t < count; t++) {
        read_word(self, rows[t], self->words[t]);
        memcpy(self->before[t], self->input_bias, sizeof self->before[t]);
    }
    add_products((struct row_block){self->words[0], ROOM}, count, &self->input,
                 (struct row_block){self->before[0], WIDTH});
    const int8_t *kind = self->kind.bytes + is_passage * WIDTH;
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; i < WIDTH; i++)
            self->before[t][i] = 3 * self->before[t][i] +
                                 (float)kind[i] * self->kind.scales[is_passage];
}

static void apply_convolution(struct encoder *self, size_t count)
{
    float kernel[3][WIDTH];
    for (size_t i = 0; i < WIDTH; i++)
        for (size_t k = 0; k < 3; k++)
            kernel[k][i] = (float)self->convolution.bytes[3 * i + k] * self->convolution.scales[i];
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; i < WIDTH; i++) {
            float sum = self->before[t][i] * (1 + kernel[1][i]) + self->convolution_bias[i];
            if (t > 0)
                sum += self->before[t - 1][i] * kernel[0][i];
            if (t + 1 < count)
                sum += self->before[t + 1][i] * kernel[2][i];
            self->state[t][i] = sum;
        }
}

/* One head for one word: the weighted sum of values, by how well their keys match. */
VECTORS static void attend_one(struct encoder *self, size_t t, size_t head, size_t count)
{
    float share[WORDS], most = -1e30f, sum = 0, mixed[HEAD] = {0};
    const float *query = self->queries[t] + head * HEAD;
    for (size_t u = 0; u < count; u++) {
        const float *key = self->queries[u] + WIDTH + head * HEAD;
        float fits[8] = {0}, fit = 0;
        for (size_t i = 0; i < HEAD; i += 8)
            for (size_t j = 0; j < 8; j++)
                fits[j] += query[i + j] * key[i + j];
        for (size_t j = 0; j < 8; j++)
            fit += fits[j];
        share[u] = fit * 0.176776695f; // 1 / sqrt(HEAD)
        most = share[u] > most ? share[u] : most;
    }
    for (size_t u = 0; u < count; u++)
        share[u] = fast_exp(share[u] - most);
    for (size_t u = 0; u < count; u++)
        sum += share[u];
    for (size_t u = 0; u < count; u++) {
        const float *value = self->queries[u] + 2 * WIDTH + head * HEAD;
        float factor = share[u] / sum;
        for (size_t i = 0; i < HEAD; i++)
            mixed[i] += factor * value[i];
    }
    memcpy(self->mixed[t] + head * HEAD, mixed, sizeof mixed);
}

static void apply_attention(struct encoder *self, size_t count)
{
    struct row_block state = {self->state[0], WIDTH}, normal = {self->normal[0], WIDTH};
    for (size_t t = 0; t < count; t++) {
        normalise_layer(self->state[t], self->norm1, self->normal[t]);
        memcpy(self->queries[t], self->attend_bias, sizeof self->queries[t]);
    }
    add_products(normal, count, &self->attend, (struct row_block){self->queries[0], 3 * WIDTH});
    for (size_t t = 0; t < count; t++) {
        for (size_t head = 0; head < HEADS; head++)
            attend_one(self, t, head, count);
        for (size_t i = 0; i < WIDTH; i++)
            self->state[t][i] += self->mix_bias[i];
    }
    add_products((struct row_block){self->mixed[0], WIDTH}, count, &self->mix, state);
}

VECTORS static void gate_all(float hidden[HIDDEN])
{
    for (size_t i = 0; i < HIDDEN; i++)
        hidden[i] = gelu(hidden[i]);
}

static void apply_feed_forward(struct encoder *self, size_t count)
{
    struct row_block state = {self->state[0], WIDTH}, normal = {self->normal[0], WIDTH};
    struct row_block hidden = {self->hidden[0], HIDDEN};
    for (size_t t = 0; t < count; t++) {
        normalise_layer(self->state[t], self->norm2, self->normal[t]);
        memcpy(self->hidden[t], self->grow_bias, sizeof self->hidden[t]);
    }
    add_products(normal, count, &self->grow, hidden);
    for (size_t t = 0; t < count; t++)
        gate_all(self->hidden[t]);
    add_products(hidden, count, &self->shrink, state);
    for (size_t t = 0; t < count; t++) {
        for (size_t i = 0; i < WIDTH; i++)
            self->normal[t][i] = self->state[t][i] + self->shrink_bias[i];
        normalise_layer(self->normal[t], self->norm3, self->state[t]);
    }
}

/* The weight of a word: the table's plus one computed by the layer. */
static float weight_of(const struct encoder *self, size_t t, size_t which, int8_t word, float scale)
{
    const int8_t *row = self->extra.bytes + which * WIDTH;
    float sum = 0;
    for (size_t i = 0; i < WIDTH; i++)
        sum += self->state[t][i] * (float)row[i];
    return soft_plus(sum * self->extra.scales[which] + self->extra_bias[which] +
                     (float)word * scale);
}

static void write_tokens(struct encoder *self, size_t count, struct encoding *out)
{
    struct row_block tokens = {out->token[0], ENCODER_TOKEN};
    for (size_t t = 0; t < count; t++)
        memcpy(out->token[t], self->token_bias, sizeof out->token[t]);
    add_products((struct row_block){self->words[0], ROOM}, count, &self->token_table, tokens);
    add_products((struct row_block){self->state[0], WIDTH}, count, &self->token, tokens);
    for (size_t t = 0; t < count; t++)
        scale_vector(out->token[t], ENCODER_TOKEN, inverse_length(out->token[t], ENCODER_TOKEN));
}

static void write_whole(struct encoder *self, const uint32_t *rows, size_t count,
                        struct encoding *out)
{
    float table[ROOM] = {0}, state[WIDTH] = {0}, total = 0;
    for (size_t t = 0; t < count; t++) {
        float share = weight_of(self, t, 1, self->parts.whole[rows[t]], *self->parts.whole_scale);
        out->weight[t] = weight_of(self, t, 0, self->parts.word[rows[t]], *self->parts.word_scale);
        total += share;
        for (size_t i = 0; i < TABLE; i++)
            table[i] += share * self->words[t][i];
        for (size_t i = 0; i < WIDTH; i++)
            state[i] += share * self->state[t][i];
    }
    for (size_t i = 0; i < WIDTH; i++)
        out->whole[i] = self->whole_bias[i] * total;
    add_product(table, &self->whole_table, out->whole);
    add_product(state, &self->whole, out->whole);
    scale_vector(out->whole, WIDTH, inverse_length(out->whole, WIDTH));
}

void encoder_encode(struct encoder *self, const uint32_t *rows, size_t count, bool is_passage,
                    struct encoding *out)
{
    out->count = count;
    memset(out->whole, 0, sizeof out->whole);
    if (count == 0)
        return;
    read_input(self, rows, count, is_passage);
    apply_convolution(self, count);
    apply_attention(self, count);
    apply_feed_forward(self, count);
    write_tokens(self, count, out);
    write_whole(self, rows, count, out);
}

/* ---- comparing ----------------------------------------------------------------------------------- */

void encoder_pack(const float *vector, size_t count, int8_t *out)
{
    for (size_t i = 0; i < count; i++) {
        float scaled = vector[i] * 127;
        int whole = (int)(scaled + (scaled < 0 ? -0.5f : 0.5f));
        out[i] = (int8_t)(whole < -127 ? -127 : whole > 127 ? 127 : whole);
    }
}

#define PACKED 127         /* value of 1 in the vectors of passages */
#define WIDE (64 * PACKED) /* in those of questions, which are more precise */

static void pack_wide(const float *vector, size_t count, int16_t *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (int16_t)(vector[i] * WIDE + (vector[i] < 0 ? -0.5f : 0.5f));
}

void encoder_pack_question(const struct encoding *question, struct packed_question *out)
{
    float sum = 1e-6f;
    out->count = question->count;
    for (size_t i = 0; i < question->count; i++) {
        pack_wide(question->token[i], ENCODER_TOKEN, out->token[i]);
        sum += question->weight[i];
    }
    for (size_t i = 0; i < question->count; i++)
        out->weight[i] = question->weight[i] / sum;
    pack_wide(question->whole, ENCODER_WHOLE, out->whole);
}

/* For each word of the question the largest product with a word of the passage, at least 0. */
VECTORS static void find_best(const struct packed_question *question, const int8_t *tokens,
                              size_t count, int best[ENCODER_MAX_WORDS])
{
    for (size_t t = 0; t < count; t++) {
        int16_t token[ENCODER_TOKEN];
        for (size_t i = 0; i < ENCODER_TOKEN; i++)
            token[i] = tokens[t * ENCODER_TOKEN + i];
        for (size_t q = 0; q < question->count; q++) {
            int sum = 0;
            for (size_t i = 0; i < ENCODER_TOKEN; i++)
                sum += question->token[q][i] * token[i];
            best[q] = sum > best[q] ? sum : best[q];
        }
    }
}

float encoder_match(const struct encoder *self, const struct packed_question *question,
                    const int8_t *tokens, size_t count)
{
    int products[ENCODER_MAX_WORDS] = {0};
    float sum = 0, tau = *self->parts.tau;
    find_best(question, tokens, count, products);
    for (size_t q = 0; q < question->count; q++) {
        float best = (float)products[q] / (WIDE * PACKED) - tau;
        best = (best > 0 ? best : 0.1f * best) / (1 - tau);
        sum += question->weight[q] * best;
    }
    return sum;
}

VECTORS static void find_cosines(const struct packed_question *question, const int8_t *wholes,
                                 size_t count, float *cosines)
{
    size_t c = 0;
    for (; c + 4 <= count; c += 4) { // four at a time, so that the question is read once
        const int8_t *rows = wholes + c * ENCODER_WHOLE;
        int sums[4] = {0};
        for (size_t i = 0; i < ENCODER_WHOLE; i++) {
            sums[0] += question->whole[i] * rows[i];
            sums[1] += question->whole[i] * rows[ENCODER_WHOLE + i];
            sums[2] += question->whole[i] * rows[2 * ENCODER_WHOLE + i];
            sums[3] += question->whole[i] * rows[3 * ENCODER_WHOLE + i];
        }
        for (size_t k = 0; k < 4; k++)
            cosines[c + k] = (float)sums[k] / (WIDE * PACKED);
    }
    for (; c < count; c++) {
        int sum = 0;
        for (size_t i = 0; i < ENCODER_WHOLE; i++)
            sum += question->whole[i] * wholes[c * ENCODER_WHOLE + i];
        cosines[c] = (float)sum / (WIDE * PACKED);
    }
}

void encoder_cosines(const struct packed_question *question, const int8_t *wholes, size_t count,
                     float *cosines)
{
    find_cosines(question, wholes, count, cosines);
}
