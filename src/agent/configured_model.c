/*
 * configured_model.c: the model that the settings name, and where its key comes from.
 */
#include "agent/configured_model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "base/system/file.h"
#include "base/system/os.h"
#include "base/view.h"
#include "base/yaml.h"
#include "memory/handle.h"

#define SECRETS "${secrets:"

static const char *get_environment(const char *name)
{
    const char *value = name ? getenv(name) : NULL;
    return value && *value ? value : NULL;
}

/* False: it does not fit. */
static bool copy_if_fits(char *out, size_t size, const char *text)
{
    int length = snprintf(out, size, "%s", text);
    return length >= 0 && (size_t)length < size;
}

/* ---- keys -------------------------------------------------------------------------------------- */

static void set_key(struct configured_model *out, struct ethos_view key, const char *source)
{
    key = view_trim(key);
    if (key.size == 0 || key.size > KEYS_MAX_KEY || memchr(key.data, 0, key.size))
        return;
    memcpy(out->key, key.data, key.size);
    out->key[key.size] = '\0';
    snprintf(out->key_source_text, sizeof out->key_source_text, "%s", source);
    out->key_source = out->key_source_text;
}

/* config.yaml of other programs of the family: the key itself, or where it is below secrets/. */
static int find_config_key(struct ethos *ethos, const struct config *home,
                           struct configured_model *out, struct ethos_error *error)
{
    char path[1024];
    struct str text;
    const char *value = config_own(home, "apiKey");
    size_t prefix = strlen(SECRETS);
    if (!value || !*value)
        return ETHOS_OK;
    if (strncmp(value, SECRETS, prefix) != 0) {
        set_key(out, view_str(value), "apiKey in config.yaml");
        return ETHOS_OK;
    }
    snprintf(path, sizeof path, "secrets/%.*s", (int)strcspn(value + prefix, "}"), value + prefix);
    str_init(&text, KEYS_MAX_FILE + 1);
    int code = agent_read_private(ethos, path, &text, error);
    if (code == ETHOS_OK)
        set_key(out, str_view(&text), path);
    str_release(&text);
    return code;
}

/* keys.json: [{"apiKey", "priority"}]: the one of the highest priority. */
static int find_rotation_key(struct ethos *ethos, struct configured_model *out,
                             struct ethos_error *error)
{
    struct str text;
    json_t *rows = NULL, *row;
    size_t index;
    json_int_t best = 0;
    str_init(&text, KEYS_MAX_FILE + 1);
    int code = agent_read_private(ethos, "keys.json", &text, error);
    if (code == ETHOS_OK && text.size > 0)
        code = json_parse(str_view(&text), "keys.json", &rows, error);
    json_array_foreach (rows, index, row) {
        json_int_t priority = json_integer_value(json_object_get(row, "priority"));
        struct ethos_view key = json_view(row, "apiKey");
        if (key.size > 0 && !view_starts(key, VIEW(SECRETS)) && (!*out->key || priority > best)) {
            set_key(out, key, "keys.json");
            best = priority;
        }
    }
    json_decref(rows);
    str_release(&text);
    return code;
}

static int find_stored_key(struct ethos *ethos, const struct provider *provider,
                           struct configured_model *out, struct ethos_error *error)
{
    struct str text;
    struct arena arena;
    struct yaml_table table = {0};
    char name[80];
    arena_init(&arena);
    str_init(&text, KEYS_MAX_FILE + 1);
    int code = agent_read_private(ethos, KEYS_FILE, &text, error);
    if (code == ETHOS_OK)
        code = yaml_parse(str_view(&text), KEYS_FILE, &arena, &table, error);
    snprintf(name, sizeof name, "%s", provider->name); // a provider without a variable of its own
    const char *value = code == ETHOS_OK ? yaml_get(&table, name) : NULL;
    for (size_t i = 0;
         code == ETHOS_OK && !value && i < PROVIDER_MAX_VARIABLES && provider->key_variables[i];
         i++)
        value = yaml_get(&table, provider->key_variables[i]);
    if (value)
        set_key(out, view_str(value), KEYS_FILE);
    arena_release(&arena);
    explicit_bzero(text.data, text.capacity);
    str_release(&text);
    return code;
}

static int find_provider_key(struct ethos *ethos, const struct provider *provider, bool own_address,
                             struct configured_model *out, struct ethos_error *error)
{
    const struct config *home, *personality;
    *out->key = '\0';
    out->key_source = NULL;
    for (size_t i = 0; own_address && i < PROVIDER_MAX_VARIABLES && provider->key_variables[i]; i++)
        if (!*out->key && get_environment(provider->key_variables[i]))
            set_key(out, view_str(get_environment(provider->key_variables[i])),
                    provider->key_variables[i]);
    int code = *out->key ? ETHOS_OK : service_config(ethos, NULL, &home, &personality, error);
    if (code != ETHOS_OK || *out->key)
        return code;
    const char *configured = config_get(home, NULL, "provider");
    bool its_config = configured && strcmp(configured, provider->name) == 0;
    if (its_config)
        code = find_config_key(ethos, home, out, error);
    if (code == ETHOS_OK && its_config && !*out->key)
        code = find_rotation_key(ethos, out, error);
    if (code == ETHOS_OK && !*out->key)
        code = find_stored_key(ethos, provider, out, error);
    return code;
}

/* The name under which keys.yaml has it: its first variable, else its own name. */
static const char *stored_key_name(const struct provider *provider)
{
    return provider->key_variables[0] ? provider->key_variables[0] : provider->name;
}

int configured_key_store(struct ethos *ethos, const struct provider *provider,
                         struct ethos_view key, struct ethos_error *error)
{
    struct str text, next;
    char value[KEYS_MAX_KEY + 1];
    int home = -1;
    if (key.size == 0 || key.size > KEYS_MAX_KEY || memchr(key.data, 0, key.size))
        return err_set(error, ETHOS_INVALID, "the key must have 1 to %d characters", KEYS_MAX_KEY);
    snprintf(value, sizeof value, "%.*s", VIEW_ARG(key));
    str_init(&text, KEYS_MAX_FILE + 1);
    str_init(&next, KEYS_MAX_FILE + 1);
    int code = agent_read_private(ethos, KEYS_FILE, &text, error);
    if (code == ETHOS_OK)
        code = config_edit(str_view(&text), KEYS_FILE, stored_key_name(provider), value, &next,
                           error);
    if (code == ETHOS_OK)
        code = service_open_home(ethos, true, &home, error);
    if (code == ETHOS_OK)
        code = file_replace(home, KEYS_FILE, str_view(&next), 0600, error);
    if (home >= 0)
        os_close(home);
    explicit_bzero(value, sizeof value);
    explicit_bzero(text.data, text.capacity);
    explicit_bzero(next.data, next.capacity);
    str_release(&text);
    str_release(&next);
    return code;
}

/* ---- settings ---------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static int report_bad_settings(struct ethos_error *error,
                                                                     const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    int code = err_set(error, ETHOS_MODEL, "%s", text);
    return err_hint(error, code, "ethos setup chooses a model and stores its key");
}

static int64_t parse_price(const char *text)
{
    char *end;
    double usd = text ? strtod(text, &end) : -1;
    return text && end != text && !*end && usd >= 0 && usd < 1e6 ? (int64_t)(usd * 1e9)
                                                                 : COST_UNKNOWN;
}

/* A name that begins with a provider says which; any other is a model of the configured one. */
static bool split_override(const char *override, struct configured_model *out)
{
    const char *slash = strchr(override, '/');
    char name[64];
    if (slash && (size_t)(slash - override) < sizeof name && slash[1]) {
        snprintf(name, sizeof name, "%.*s", (int)(slash - override), override);
        if (provider_find(name))
            return copy_if_fits(out->provider, sizeof out->provider, name) &&
                   copy_if_fits(out->model, sizeof out->model, slash + 1);
    }
    return copy_if_fits(out->model, sizeof out->model, override);
}

static bool read_model_names(const struct config *home, const struct config *own,
                             const char *override, struct configured_model *out)
{
    const char *provider = config_get(home, own, "provider");
    const char *model = config_own(own, "model") ? config_own(own, "model")
                                                 : config_own(own, "model.default");
    if (!model)
        model = config_get(home, NULL, "model");
    if (provider && !copy_if_fits(out->provider, sizeof out->provider, provider))
        return false;
    if (override)
        return split_override(override, out);
    return !model || copy_if_fits(out->model, sizeof out->model, model);
}

/* The address, and whether it is one that a key of the environment is for. */
static bool read_address(const struct config *home, const struct config *own,
                         const struct provider *provider, struct configured_model *out,
                         bool *own_address)
{
    const char *configured = config_get(home, own, "provider");
    const char *url = configured && strcmp(configured, provider->name) == 0
                          ? config_get(home, own, "baseUrl")
                          : NULL;
    *own_address = !url || !*url;
    if (*own_address)
        url = get_environment(provider->url_variable);
    return !url || copy_if_fits(out->base_url, sizeof out->base_url, url);
}

static bool read_remaining_settings(const struct config *home, const struct config *own,
                                    struct configured_model *out)
{
    struct model_settings *settings = &out->settings;
    const char *text = config_get(home, own, "model.wire");
    if (text && !copy_if_fits(out->wire, sizeof out->wire, text))
        return false;
    if ((text = config_get(home, NULL, "model.caFile")) &&
        !copy_if_fits(out->ca_file, sizeof out->ca_file, text))
        return false;
    if ((text = config_get(home, NULL, "model.allowHttp")) &&
        !copy_if_fits(out->http_text, sizeof out->http_text, text))
        return false;
    size_t count = 0;
    char *rest = NULL;
    for (char *host = strtok_r(out->http_text, ", ", &rest); host && count < CONFIGURED_MAX_HTTP;
         host = strtok_r(NULL, ", ", &rest))
        out->http[count++] = host;
    const char *const numbers[] = {"model.window",           "model.maxTokens",
                                   "model.numCtx",           "model.connectSeconds",
                                   "model.firstByteSeconds", "model.idleSeconds"};
    int64_t *const members[] = {&settings->window,        &settings->max_output,
                                &settings->num_ctx,       &settings->connect_ms,
                                &settings->first_byte_ms, &settings->idle_ms};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (config_get(home, own, numbers[i]))
            *members[i] = config_integer(home, own, numbers[i]) * (i < 3 ? 1 : 1000);
    out->prices = (struct model_prices){parse_price(config_get(home, own, "model.priceInput")),
                                        parse_price(config_get(home, own, "model.priceOutput")),
                                        COST_UNKNOWN, COST_UNKNOWN};
    return true;
}

static void fill_settings(struct configured_model *out)
{
    struct model_settings *settings = &out->settings;
    settings->provider = out->provider;
    settings->model = out->model;
    settings->base_url = *out->base_url ? out->base_url : NULL;
    settings->key = *out->key ? out->key : NULL;
    settings->wire = *out->wire ? out->wire : NULL;
    settings->ca_file = *out->ca_file ? out->ca_file : NULL;
    settings->allow_http = out->http;
    settings->prices = out->prices.input != COST_UNKNOWN && out->prices.output != COST_UNKNOWN
                           ? &out->prices
                           : NULL;
}

/* The address and key of the provider that is named in out. */
static int read_provider_settings(struct ethos *ethos, const struct config *home,
                                  const struct config *own, struct configured_model *out,
                                  struct ethos_error *error)
{
    bool own_address;
    if (!*out->provider)
        return report_bad_settings(error, "no model is configured");
    const struct provider *provider = provider_find(out->provider);
    if (!provider)
        return report_bad_settings(error, "provider '%.60s' is unknown", out->provider);
    if (!read_remaining_settings(home, own, out) ||
        !read_address(home, own, provider, out, &own_address))
        return err_set(error, ETHOS_LIMIT, "a setting of the model is too long");
    int code = find_provider_key(ethos, provider, own_address, out, error);
    if (code == ETHOS_OK && provider->needs_key && !*out->key)
        code = report_bad_settings(error, "there is no key for %s%s", out->provider,
                                   own_address ? "" : " at the baseUrl of config.yaml");
    fill_settings(out);
    return code;
}

int configured_provider_read(struct ethos *ethos, const char *personality, const char *provider,
                             struct configured_model *out, struct ethos_error *error)
{
    const struct config *home, *own;
    *out = (struct configured_model){0};
    int code = service_config(ethos, personality, &home, &own, error);
    if (code != ETHOS_OK)
        return code;
    const char *name = provider ? provider : config_get(home, own, "provider");
    if (name && !copy_if_fits(out->provider, sizeof out->provider, name))
        return report_bad_settings(error, "provider '%.60s' is unknown", name);
    return read_provider_settings(ethos, home, own, out, error);
}

int configured_model_read(struct ethos *ethos, const char *personality, const char *override,
                          struct configured_model *out, struct ethos_error *error)
{
    const struct config *home, *own;
    *out = (struct configured_model){0};
    int code = service_config(ethos, personality, &home, &own, error);
    if (code != ETHOS_OK)
        return code;
    if (!read_model_names(home, own, override, out))
        return err_set(error, ETHOS_LIMIT, "the name of the model is too long");
    if (*out->provider && provider_find(out->provider) && !*out->model)
        return report_bad_settings(error, "no model of %s is configured", out->provider);
    return read_provider_settings(ethos, home, own, out, error);
}

void configured_model_release(struct configured_model *self)
{
    explicit_bzero(self->key, sizeof self->key);
}

int configured_model_open(struct ethos *ethos, const char *personality, const char *override,
                          struct model **out, struct ethos_error *error)
{
    struct configured_model *configured = calloc(1, sizeof *configured);
    if (!configured)
        return err_nomem(error);
    int code = configured_model_read(ethos, personality, override, configured, error);
    if (code == ETHOS_OK)
        code = model_open(&configured->settings, out, error);
    configured_model_release(configured);
    free(configured);
    return code;
}
