/*
 * embed.c: asking a server for vectors, and judging what it answers.
 */
#include "agent/models/embed.h"

#include <stdlib.h>
#include <string.h>

#include "agent/models/server.h"
#include "base/err.h"
#include "base/json.h"
#include "base/utf8.h"
#include "base/view.h"
#include "recall/numbers.h"

#define MAX_ANSWER (16u << 20)
#define MAX_NUMBER 1e6 /* a vector with a larger one is none */

struct embedder {
    struct server server;
    size_t dimension;
    bool is_ollama;
    char model[256];
};

/* ---- opening --------------------------------------------------------------------------------- */

int embedder_open(const struct model_settings *settings, size_t dimension, struct embedder **out,
                  struct ethos_error *error)
{
    if (!settings->model || !*settings->model || strlen(settings->model) >= 256)
        return err_hint(error, err_set(error, ETHOS_INVALID, "embedModel: not given"),
                        "the name of the model of embeddings, such as nomic-embed-text");
    struct embedder *self = calloc(1, sizeof *self);
    if (!self)
        return err_nomem(error);
    memcpy(self->model, settings->model, strlen(settings->model));
    self->dimension = dimension;
    self->is_ollama = strcmp(settings->provider, "ollama") == 0;
    int code = server_open(&self->server, settings, error);
    if (code == ETHOS_OK) {
        *out = self;
        return ETHOS_OK;
    }
    embedder_close(self);
    return code;
}

void embedder_close(struct embedder *self)
{
    if (!self)
        return;
    server_close(&self->server);
    free(self);
}

/* ---- request --------------------------------------------------------------------------------- */

static int write_embed_request(const struct embedder *self, const struct ethos_view *texts,
                               size_t count, struct str *out)
{
    str_adds(out, "{\"model\":");
    json_quote(view_str(self->model), out);
    str_adds(out, ",\"input\":[");
    for (size_t i = 0; i < count; i++) {
        str_adds(out, i > 0 ? "," : "");
        json_quote(view_of(texts[i].data, utf8_head(texts[i], EMBED_MAX_CHARS)), out);
    }
    str_adds(out, "]}");
    return str_code(out);
}

int embedder_embed(struct embedder *self, const struct ethos_view *texts, size_t count,
                   struct embeddings *out, struct ethos_error *error)
{
    struct str body, answer;
    struct transport_result result = {0};
    const struct transport_request request = {.path = self->is_ollama ? "/api/embed"
                                                                      : "/v1/embeddings",
                                              .abort_fd = -1,
                                              .read = transport_append,
                                              .arg = &answer};
    *out = (struct embeddings){0};
    if (count == 0 || count > EMBED_MAX_TEXTS)
        return err_set(error, ETHOS_INVALID, "from 1 to %d texts at once", EMBED_MAX_TEXTS);
    str_init(&body, WIRE_MAX_REQUEST);
    str_init(&answer, MAX_ANSWER);
    int code = write_embed_request(self, texts, count, &body) ? err_nomem(error) : ETHOS_OK;
    if (code == ETHOS_OK) {
        struct transport_request sent = request;
        sent.body = str_view(&body);
        transport_send(self->server.transport, &sent, &result);
    }
    if (code == ETHOS_OK && result.has_failed)
        code = err_set(error, ETHOS_MODEL, "%s", result.failure.text);
    else if (code == ETHOS_OK)
        code = embed_read(str_view(&answer), count, self->dimension, out, error);
    if (code == ETHOS_OK)
        self->dimension = out->dimension; // which no later answer may change
    str_release(&body);
    str_release(&answer);
    return code;
}

void embeddings_release(struct embeddings *self)
{
    free(self->values);
    *self = (struct embeddings){0};
}

/* ---- the answer ------------------------------------------------------------------------------ */

static int report_bad_vectors(struct ethos_error *error, const char *what)
{
    return err_set(error, ETHOS_MODEL, "embeddings: %s", what);
}

/* The row of a vector, its place among the texts; false: nothing that is one. */
static bool find_vector_row(const json_t *rows, size_t index, const json_t **out_vector,
                            size_t *out_place)
{
    const json_t *row = json_array_get(rows, index);
    *out_place = index;
    *out_vector = row;
    if (json_is_object(row)) {
        const json_t *place = json_object_get(row, "index");
        *out_vector = json_object_get(row, "embedding");
        if (place && (!json_is_integer(place) || json_integer_value(place) < 0))
            return false;
        *out_place = place ? (size_t)json_integer_value(place) : index;
    }
    return json_is_array(*out_vector) && *out_place < json_array_size(rows);
}

/* Of length 1; false: no direction can be told. */
static bool read_vector(const json_t *vector, size_t dimension, float *out)
{
    double sum = 0;
    for (size_t i = 0; i < dimension; i++) {
        const json_t *value = json_array_get(vector, i);
        double number = json_number_value(value);
        if (!json_is_number(value) || !(number <= MAX_NUMBER && number >= -MAX_NUMBER))
            return false;
        out[i] = (float)number;
        sum += number * number;
    }
    double length = number_sqrt(sum);
    for (size_t i = 0; length > 1e-6 && i < dimension; i++)
        out[i] = (float)(out[i] / length);
    return length > 1e-6;
}

static int read_vectors(const json_t *rows, struct embeddings *out, bool *seen,
                        struct ethos_error *error)
{
    for (size_t i = 0; i < out->count; i++) {
        const json_t *vector;
        size_t place;
        if (!find_vector_row(rows, i, &vector, &place) || seen[place])
            return report_bad_vectors(error, "the answer is not one vector for each text");
        if (json_array_size(vector) != out->dimension)
            return report_bad_vectors(error, "vectors have another dimension than those before");
        if (!read_vector(vector, out->dimension, out->values + place * out->dimension))
            return report_bad_vectors(error, "a vector is not of numbers, or has no direction");
        seen[place] = true;
    }
    return ETHOS_OK;
}

/* The dimension of the first vector, which all must have. */
static size_t find_dimension(const json_t *rows)
{
    const json_t *vector;
    size_t place;
    return find_vector_row(rows, 0, &vector, &place) ? json_array_size(vector) : 0;
}

int embed_read(struct ethos_view body, size_t count, size_t dimension, struct embeddings *out,
               struct ethos_error *error)
{
    struct ethos_error why = {0};
    json_t *answer = NULL;
    *out = (struct embeddings){0};
    if (json_parse_most(body, MAX_ANSWER, "embeddings", &answer, &why) != ETHOS_OK)
        return report_bad_vectors(error, "the answer is not JSON");
    const json_t *data = json_object_get(answer, "data");
    const json_t *rows = data ? data : json_object_get(answer, "embeddings");
    size_t found = find_dimension(rows);
    int code = ETHOS_OK;
    if (json_array_size(rows) != count || found == 0 || found > EMBED_MAX_DIMENSION)
        code = report_bad_vectors(error, "the answer is not one vector for each text");
    else if (dimension > 0 && found != dimension)
        code = report_bad_vectors(error, "vectors have another dimension than those before");
    bool *seen = calloc(count, sizeof *seen);
    *out = (struct embeddings){count, found,
                               code == ETHOS_OK ? malloc(count * found * sizeof(float)) : NULL};
    if (code == ETHOS_OK)
        code = seen && out->values ? read_vectors(rows, out, seen, error) : err_nomem(error);
    if (code != ETHOS_OK)
        embeddings_release(out);
    free(seen);
    json_decref(answer);
    return code;
}
