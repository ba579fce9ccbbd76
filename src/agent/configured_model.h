/*
 * configured_model.h: the model that the settings name, and where its key comes from.
 *
 * Provider and model come from the call, else the personality, else the home. A key comes from the environment,
 * else from what the home has of other programs of the family (apiKey in config.yaml, also as ${secrets:PATH},
 * and keys.json), else from keys.yaml. It goes to the host it was given for: a key of the environment goes to the
 * provider's own address or to the one that the environment names, not to a baseUrl of config.yaml.
 */
#ifndef ETHOS_AGENT_CONFIGURED_MODEL_H
#define ETHOS_AGENT_CONFIGURED_MODEL_H

#include <ethos/ethos.h>

#include "agent/home.h"
#include "agent/models/providers.h"

#define CONFIGURED_MAX_NAME 256
#define CONFIGURED_MAX_HTTP 16 /* hosts of model.allowHttp */

/* Settings with the texts that they point to. */
struct configured_model {
    struct model_settings settings;
    struct model_prices prices;
    char provider[64], model[CONFIGURED_MAX_NAME], base_url[1024], wire[32], ca_file[4096];
    char key[KEYS_MAX_KEY + 1];
    const char *key_source; /* "ANTHROPIC_API_KEY", "config.yaml", ...; NULL: no key */
    char key_source_text[64];
    char http_text[1024];
    const char *http[CONFIGURED_MAX_HTTP + 1];
};

/*
 * What the settings say; personality may be NULL. override is "PROVIDER/NAME", or the name of a model of the
 * configured provider, or NULL. ETHOS_MODEL when no model is configured, or its key is not to be found.
 */
int configured_model_read(struct ethos *ethos, const char *personality, const char *override,
                          struct configured_model *out, struct ethos_error *error);

/* The same without a model: its provider, address and key. provider NULL: the configured one. */
int configured_provider_read(struct ethos *ethos, const char *personality, const char *provider,
                             struct configured_model *out, struct ethos_error *error);

/* Overwrites the key. */
void configured_model_release(struct configured_model *self);

/* Reads the settings and opens the model. */
int configured_model_open(struct ethos *ethos, const char *personality, const char *override,
                          struct model **out, struct ethos_error *error);

/* Stores a key in keys.yaml, for a provider of the table; the file is made if there is none. */
int configured_key_store(struct ethos *ethos, const struct provider *provider,
                         struct ethos_view key, struct ethos_error *error);

#endif
