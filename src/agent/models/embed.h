/*
 * embed.h: texts as vectors, from a server of models.
 *
 *     openai    POST /v1/embeddings  {"model", "input": [...]}  ->  data[].index, data[].embedding
 *     ollama    POST /api/embed      {"model", "input": [...]}  ->  embeddings[]
 *
 * An answer counts as a whole or not at all: a vector for each text, each once and in its place, all of one dimension, of
 * numbers that are finite and not all zero. Vectors have length 1 then. What asks keeps to what a server may see: it sends
 * redacted text, and only where the person agreed.
 */
#ifndef ETHOS_AGENT_MODELS_EMBED_H
#define ETHOS_AGENT_MODELS_EMBED_H

#include "agent/models/providers.h"

#define EMBED_MAX_TEXTS 32 /* of one request */
#define EMBED_MAX_CHARS                                                                            \
    2000 /* of one text: what is longer is cut, below the limit of every usual model */
#define EMBED_MAX_DIMENSION 4096

struct embedder;

/* Vectors one behind the other; to be released. */
struct embeddings {
    size_t count, dimension;
    float *values; /* count times dimension */
};

/*
 * settings: provider "ollama", or any other one for the API of OpenAI; model must be given. dimension: that of the
 * vectors that are known already, 0 for any. The server is not asked.
 */
int embedder_open(const struct model_settings *settings, size_t dimension, struct embedder **out,
                  struct ethos_error *error);
void embedder_close(struct embedder *self); /* NULL is fine */

/*
 * ETHOS_MODEL when the server cannot be reached, refuses, is too slow (settings->first_byte_ms) or answers something else
 * than vectors of these texts; out is empty then. ETHOS_INVALID for no text, or too many.
 */
int embedder_embed(struct embedder *self, const struct ethos_view *texts, size_t count,
                   struct embeddings *out, struct ethos_error *error);
void embeddings_release(struct embeddings *self);

/* The answer alone. ETHOS_MODEL with what is wrong with it. */
int embed_read(struct ethos_view body, size_t count, size_t dimension, struct embeddings *out,
               struct ethos_error *error);

#endif
