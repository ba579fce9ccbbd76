/*
 * vectors.c: the vectors of passages, found and made.
 */
#include "recall/vectors.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/view.h"
#include "core/search/passages.h"

#define MAX_BYTES ((size_t)1 << 32) /* of the vectors of an image */

bool image_vectors_find(const struct image_vectors *vectors, uint32_t passage,
                        struct passage_vectors *out)
{
    size_t low = 0, high = vectors->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct vectors *piece = &vectors->pieces[middle];
        if (passage < piece->first) {
            high = middle;
        } else if (passage - piece->first >= piece->count) {
            low = middle + 1;
        } else {
            uint32_t at = passage - piece->first;
            out->whole = piece->wholes + (size_t)at * ENCODER_WHOLE;
            uint32_t start = piece->starts[at], end = piece->starts[at + 1];
            bool inside = start <= end && end <= piece->words;
            out->tokens = piece->tokens + (inside ? (size_t)start * ENCODER_TOKEN : 0);
            out->words = inside ? end - start : 0;
            return true;
        }
    }
    return false;
}

int vector_builder_init(struct vector_builder *self, struct recall_model *model,
                        struct ethos_error *error)
{
    *self = (struct vector_builder){.model = model};
    str_init(&self->hashes, MAX_BYTES);
    str_init(&self->wholes, MAX_BYTES);
    str_init(&self->starts, MAX_BYTES);
    str_init(&self->tokens, MAX_BYTES);
    self->encoding = malloc(sizeof *self->encoding);
    return self->encoding ? ETHOS_OK : err_nomem(error);
}

void vector_builder_release(struct vector_builder *self)
{
    free(self->encoding);
    str_release(&self->hashes);
    str_release(&self->wholes);
    str_release(&self->starts);
    str_release(&self->tokens);
}

void vector_builder_clear(struct vector_builder *self)
{
    self->count = 0;
    str_clear(&self->hashes);
    str_clear(&self->wholes);
    str_clear(&self->starts);
    str_clear(&self->tokens);
}

static int append_number(struct str *out, const void *number, size_t size)
{
    return str_add(out, view_of(number, size));
}

static uint32_t word_count(const struct vector_builder *self)
{
    return (uint32_t)(self->tokens.size / ENCODER_TOKEN);
}

static void add_bytes(struct str *out, const int8_t *bytes, size_t size)
{
    str_add(out, view_of((const char *)bytes, size));
}

/* Encodes a text; its vectors are added. */
static void encode_text(struct vector_builder *self, struct ethos_view text)
{
    struct encoding *encoding = self->encoding;
    uint32_t rows[ENCODER_MAX_WORDS];
    int8_t packed[ENCODER_WHOLE];
    size_t count = encoder_words(self->model->encoder, text, NULL, NULL, rows);
    encoder_encode(self->model->encoder, rows, count, true, encoding);
    encoder_pack(encoding->whole, ENCODER_WHOLE, packed);
    add_bytes(&self->wholes, packed, ENCODER_WHOLE);
    for (size_t i = 0; i < count; i++) {
        encoder_pack(encoding->token[i], ENCODER_TOKEN, packed);
        add_bytes(&self->tokens, packed, ENCODER_TOKEN);
    }
}

/* Where the words of the next passage start; behind the last one that is where they end. */
static int begin_passage(struct vector_builder *self, uint64_t hash)
{
    uint32_t words = word_count(self);
    if (self->starts.size == 0)
        append_number(&self->starts, &words, sizeof words);
    return append_number(&self->hashes, &hash, sizeof hash);
}

static int end_passage(struct vector_builder *self)
{
    uint32_t words = word_count(self);
    self->count++;
    int code = append_number(&self->starts, &words, sizeof words);
    code = code ? code : str_code(&self->wholes);
    return code ? code : str_code(&self->tokens);
}

static int add_passage_vectors(struct vector_builder *self, struct ethos_view text)
{
    struct passage_vectors known;
    uint64_t hash = hash_mix(0, text);
    int code = begin_passage(self, hash);
    if (code == ETHOS_OK && self->known && self->known(self->arg, hash, &known)) {
        add_bytes(&self->wholes, known.whole, ENCODER_WHOLE);
        add_bytes(&self->tokens, known.tokens, (size_t)known.words * ENCODER_TOKEN);
    } else if (code == ETHOS_OK) {
        self->encoded++;
        encode_text(self, text);
    }
    return code ? code : end_passage(self);
}

struct unit_walk {
    struct vector_builder *builder;
    struct ethos_view text;
};

static int add_passage_part(void *arg, size_t start, size_t end)
{
    struct unit_walk *walk = arg;
    return add_passage_vectors(walk->builder, view_of(walk->text.data + start, end - start));
}

int vector_builder_add(struct vector_builder *self, struct ethos_view unit,
                       struct ethos_error *error)
{
    struct unit_walk walk = {self, unit};
    return passages_each(unit, add_passage_part, &walk) ? err_nomem(error) : ETHOS_OK;
}

int vector_builder_skip(struct vector_builder *self, uint32_t count, struct ethos_error *error)
{
    static const int8_t none[ENCODER_WHOLE];
    int code = ETHOS_OK;
    for (uint32_t i = 0; code == ETHOS_OK && i < count; i++) {
        code = begin_passage(self, 0);
        add_bytes(&self->wholes, none, sizeof none);
        code = code ? code : end_passage(self);
    }
    return code ? err_nomem(error) : ETHOS_OK;
}

struct vectors vector_builder_view(const struct vector_builder *self, uint32_t first)
{
    return (struct vectors){.first = first,
                            .count = self->count,
                            .hashes = (const uint64_t *)(const void *)self->hashes.data,
                            .wholes = (const int8_t *)self->wholes.data,
                            .starts = (const uint32_t *)(const void *)self->starts.data,
                            .tokens = (const int8_t *)self->tokens.data,
                            .words = word_count(self)};
}
