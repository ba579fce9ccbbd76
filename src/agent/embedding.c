/*
 * embedding.c: the server of memory.options.embedder. Its key is found as that of a model is.
 */
#include <string.h>

#include "agent/configured_model.h"
#include "agent/models/embed.h"
#include "memory/recall/remote_meaning.h"

/* OpenAI's own address has OpenAI's key; another one that of openai-compat. */
static const char *embedder_provider(const struct service_embedder *embedder)
{
    return embedder->is_ollama ? "ollama" : *embedder->url ? "openai-compat" : "openai";
}

static int embed_texts(struct ethos *ethos, const struct service_embedder *given,
                       const struct ethos_view *texts, size_t count, uint32_t wait_ms,
                       struct service_vectors *out, struct ethos_error *error)
{
    struct configured_model configured;
    struct embedder *embedder = NULL;
    struct embeddings made = {0};
    int code = configured_provider_read(ethos, NULL, embedder_provider(given), &configured, error);
    if (code == ETHOS_OK) {
        struct model_settings settings = configured.settings;
        settings.model = given->model;
        if (*given->url && (!settings.base_url || strcmp(given->url, settings.base_url) != 0)) {
            settings.base_url = given->url;
            settings.key = NULL; // which is for another host
        }
        settings.connect_ms = settings.first_byte_ms = settings.idle_ms = wait_ms;
        code = embedder_open(&settings, 0, &embedder, error);
    }
    if (code == ETHOS_OK)
        code = embedder_embed(embedder, texts, count, &made, error);
    embedder_close(embedder);
    configured_model_release(&configured);
    *out = (struct service_vectors){made.dimension, made.values};
    return code;
}

static const struct remote_client client = {embed_texts};
const struct remote_client *const remote_client_builtin = &client;
