/*
 * server.c: the server of a provider as the settings describe it.
 */
#include "agent/models/server.h"

#include <string.h>

#include "base/err.h"

#define CONNECT_MS 10000
#define FIRST_BYTE_MS 120000
#define FIRST_BYTE_LOOPBACK_MS 600000 /* this machine may have to load the model first */
#define IDLE_MS 120000

static int find_rows(struct server *self, const struct model_settings *settings,
                     struct ethos_error *error)
{
    self->provider = provider_find(settings->provider);
    if (!self->provider)
        return err_hint(
            error,
            err_set(error, ETHOS_NOTFOUND, "provider: '%.100s' is unknown", settings->provider),
            "for any other server with an API like OpenAI's: provider: openai-compat");
    const char *wire = settings->wire ? settings->wire : self->provider->wire;
    self->wire = wire_find(wire);
    if (!self->wire)
        return err_set(error, ETHOS_NOTFOUND, "model.wire: '%.100s' is unknown", wire);
    return ETHOS_OK;
}

static int set_endpoint(struct server *self, const struct model_settings *settings,
                        struct ethos_error *error)
{
    const struct provider *provider = self->provider;
    const char *url = settings->base_url ? settings->base_url : provider->base_url;
    if (!url)
        return err_hint(
            error,
            err_set(error, ETHOS_INVALID, "baseUrl: provider %s needs an address", provider->name),
            "such as baseUrl: http://127.0.0.1:8000/v1");
    int code = endpoint_parse(url, provider->port, settings->allow_http, &self->endpoint, error);
    self->is_local = self->endpoint.is_loopback && !provider->needs_key;
    return code;
}

static int check_key(const struct model_settings *settings, struct ethos_error *error)
{
    const char *key = settings->key ? settings->key : "";
    for (; *key; key++)
        if ((unsigned char)*key <= ' ' || (unsigned char)*key > '~')
            return err_set(error, ETHOS_INVALID, "%s: the key has a character that no key has",
                           settings->provider);
    return ETHOS_OK;
}

static int64_t or_default(int64_t value, int64_t fallback)
{
    return value > 0 ? value : fallback;
}

static int open_transport(struct server *self, const struct model_settings *settings,
                          struct ethos_error *error)
{
    bool is_loopback = self->endpoint.is_loopback, has_key = settings->key && *settings->key;
    self->key = has_key ? arena_str(&self->arena, settings->key) : NULL;
    const struct transport_settings transport = {
        .endpoint = &self->endpoint,
        .context = server_context(self),
        .key_header = self->wire->key_header,
        .headers = self->wire->headers,
        .ca_file = arena_str(&self->arena, settings->ca_file),
        .connect_ms = or_default(settings->connect_ms, CONNECT_MS),
        .first_byte_ms = or_default(settings->first_byte_ms,
                                    is_loopback ? FIRST_BYTE_LOOPBACK_MS : FIRST_BYTE_MS),
        .idle_ms = or_default(settings->idle_ms, IDLE_MS)};
    if ((has_key && !self->key) || (settings->ca_file && !transport.ca_file))
        return err_nomem(error);
    return transport_open(&transport, &self->transport, error);
}

int server_open(struct server *self, const struct model_settings *settings,
                struct ethos_error *error)
{
    *self = (struct server){0};
    arena_init(&self->arena);
    int code = find_rows(self, settings, error);
    if (code == ETHOS_OK)
        code = check_key(settings, error);
    if (code == ETHOS_OK)
        code = set_endpoint(self, settings, error);
    return code == ETHOS_OK ? open_transport(self, settings, error) : code;
}

void server_close(struct server *self)
{
    transport_close(self->transport);
    arena_release(&self->arena);
}

struct failure_context server_context(const struct server *self)
{
    return (struct failure_context){self->provider->name, self->key};
}
