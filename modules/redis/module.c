/*
 * module.c: the Redis store: its options, its life, its table.
 *
 * What it leaves out: several primaries (a cluster is refused), TLS of its own, conversations.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <nettle/base16.h>
#include <nettle/sha1.h>

#include "base/err.h"
#include "redis.h"

static const struct ethos_option options[] = {
    {"url", ETHOS_OPTION_STRING, "redis://127.0.0.1:6379/0",
     "where the server is: redis://host:port/db or unix:/path"},
    {"user", ETHOS_OPTION_STRING, NULL, "user to log in as; not set: the server's default user"},
    {"password", ETHOS_OPTION_SECRET, NULL, "password of that user"},
    {"prefix", ETHOS_OPTION_STRING, "ethos", "what the names of all keys begin with"},
    {"connectTimeoutMs", ETHOS_OPTION_INTEGER, "2000", "how long one attempt to connect may take"},
    {"timeoutMs", ETHOS_OPTION_INTEGER, "10000", "how long one answer may take"},
    {0},
};

static const char *redis_setup_value(const struct ethos_setup *setup, const char *name)
{
    const char *value = NULL;
    for (const struct ethos_option *option = options; option->name; option++)
        if (strcmp(option->name, name) == 0)
            value = option->fallback;
    for (size_t i = 0; i < setup->setting_count; i++)
        if (strcmp(setup->settings[i].name, name) == 0)
            value = setup->settings[i].value;
    return value;
}

static int take_ms(const struct ethos_setup *setup, const char *name, uint32_t *out,
                   struct ethos_error *error)
{
    char *end;
    const char *value = redis_setup_value(setup, name);
    unsigned long ms = strtoul(value, &end, 10);
    if (*end || end == value || value[0] == '-' || ms < 1 || ms > 3600000)
        return err_set(error, ETHOS_INVALID,
                       "memory.options.%s: a number of milliseconds from 1 to 3600000, not \"%s\"",
                       name, value);
    *out = (uint32_t)ms;
    return ETHOS_OK;
}

static int take_prefix(struct redis *self, const char *prefix, struct ethos_error *error)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                  "_.:-";
    size_t size = strlen(prefix);
    if (size == 0 || size > REDIS_MAX_PREFIX || strspn(prefix, allowed) != size)
        return err_set(error, ETHOS_INVALID,
                       "memory.options.prefix: 1 to %d letters, digits, _ . : -, not \"%s\"",
                       REDIS_MAX_PREFIX, prefix);
    memcpy(self->prefix, prefix, size + 1);
    return ETHOS_OK;
}

/* NULL stays NULL; an empty one is none. */
static int take_string(struct redis *self, const char *value, char **out, struct ethos_error *error)
{
    if (!value || !*value)
        return ETHOS_OK;
    size_t size = strlen(value) + 1;
    *out = self->host->resize(self->host->arg, NULL, size);
    if (!*out)
        return err_nomem(error);
    memcpy(*out, value, size);
    return ETHOS_OK;
}

static int configure(struct redis *self, const struct ethos_setup *setup, struct ethos_error *error)
{
    int code = place_parse(redis_setup_value(setup, "url"), &self->place, error);
    if (code == ETHOS_OK)
        code = take_prefix(self, redis_setup_value(setup, "prefix"), error);
    if (code == ETHOS_OK)
        code = take_ms(setup, "connectTimeoutMs", &self->connect_ms, error);
    if (code == ETHOS_OK)
        code = take_ms(setup, "timeoutMs", &self->timeout_ms, error);
    if (code == ETHOS_OK)
        code = take_string(self, redis_setup_value(setup, "user"), &self->user, error);
    if (code == ETHOS_OK)
        code = take_string(self, redis_setup_value(setup, "password"), &self->password, error);
    if (code == ETHOS_OK && self->user && !self->password)
        code = err_set(error, ETHOS_INVALID, "memory.options.user: a user needs a password");
    return code;
}

/* The server names a script by the SHA-1 of its text. */
static void name_scripts(struct redis *self)
{
    for (size_t i = 0; i < SCRIPTS; i++) {
        struct sha1_ctx context;
        uint8_t digest[SHA1_DIGEST_SIZE];
        sha1_init(&context);
        sha1_update(&context, strlen(script_texts[i]), (const uint8_t *)script_texts[i]);
        sha1_digest(&context, sizeof digest, digest);
        base16_encode_update(self->shas[i], sizeof digest, digest);
    }
}

static void redis_close(struct ethos_store *store)
{
    struct redis *self = (struct redis *)store;
    if (!self)
        return;
    const struct ethos_host *host = self->host;
    link_close(&self->link);
    link_close(&self->watch.link);
    if (self->password)
        explicit_bzero(self->password, strlen(self->password));
    char *const strings[] = {self->user, self->password};
    for (size_t i = 0; i < 2; i++)
        if (strings[i])
            host->resize(host->arg, strings[i], 0);
    host->resize(host->arg, self, 0);
}

static const struct ethos_store_ops ops;

/* What is promised depends on the server, so opening asks it. */
static int redis_open(const struct ethos_setup *setup, struct ethos_store **out_store,
                      struct ethos_error *error)
{
    const struct ethos_host *host = setup->host;
    struct redis *self = host->resize(host->arg, NULL, sizeof *self);
    if (!self)
        return err_nomem(error);
    *self = (struct redis){
        .store.ops = &ops,
        .host = host,
        .reach = reach_make(setup),
        .link.fd = -1,
        .watch.link.fd = -1,
    };
    name_scripts(self);
    redis_begin(self);
    int code = configure(self, setup, error);
    if (code == ETHOS_OK)
        code = ask_nothing(self, error);
    if (code != ETHOS_OK) {
        redis_close(&self->store);
        return code;
    }
    *out_store = &self->store;
    return ETHOS_OK;
}

static const struct ethos_store_ops ops = {
    .abi = ETHOS_ABI,
    .name = "redis",
    .options = options,
    .open = redis_open,
    .close = redis_close,
    .read = texts_read,
    .list = texts_list,
    .check = check_look,
    .gather = texts_gather,
    .scopes = texts_scopes,
    .watch = watch_look,
    .fetch = texts_fetch,
    .commit = commit_do,
    .rows = rows_walk,
    .copies = rows_copies,
};

const struct ethos_module ethos_module = {.abi = ETHOS_ABI, .name = "redis", .store = &ops};
