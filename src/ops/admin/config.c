/*
 * config.c: the operations config.*: list, get, set and unset settings of the home, or of the personality of the call.
 */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/history/diff.h"
#include "core/memory/scope.h"
#include "memory/backends.h"
#include "memory/handle.h"
#include "memory/offline/offline.h"
#include "memory/provider/missing_slots.h"
#include "memory/provider/registry.h"
#include "ops/admin/config_edit.h"
#include "ops/admin/mistyped_names.h"
#include "ops/admin/personalities.h"
#include "ops/tables.h"

#define FILE_NAME "config.yaml"

/* ---- secrets ------------------------------------------------------------------------------- */

/* Finds a backend for its table of options; zero if it has no name or cannot be loaded. */
static struct backend find_backend(const char *name)
{
    struct backend backend = {0};
    if (name)
        registry_find(name, &backend, NULL);
    return backend;
}

static const struct ethos_option *backend_options(const struct backend *backend)
{
    return backend->provider || backend->store ? registry_options(backend) : NULL;
}

/* The backend that a config file configures: its own, else that of the home. */
static const char *backend_name(struct op_call *call, const struct yaml_table *table)
{
    const struct config *home;
    const char *name = yaml_get(table, "memory.provider");
    if (!name)
        name = yaml_get(table, "memory");
    if (name && strcmp(name, VECTOR_NAME) == 0)
        name = yaml_get(table, VECTOR_STORE);
    if (!name && service_config(call->ethos, NULL, &home, NULL, NULL) == ETHOS_OK)
        name = config_backend(home, NULL);
    return name;
}

/* ---- writing ------------------------------------------------------------------------------- */

static int edit_settings(struct ethos_view old, const char *path,
                         const struct settings_change *changes, size_t count, struct str *text,
                         struct ethos_error *error)
{
    struct str next;
    int code = str_add(text, old) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
    for (size_t i = 0; i < count && code == ETHOS_OK; i++) {
        str_init(&next, ETHOS_MAX_YAML_BYTES);
        code = config_edit(str_view(text), path, changes[i].key, changes[i].value, &next, error);
        str_release(text);
        *text = next;
    }
    return code;
}

/* Appends the text with its secrets masked. Pairs are in file order and do not overlap. */
static int mask_text(struct op_call *call, struct ethos_view text, const char *path,
                     struct str *out, struct ethos_error *error)
{
    CLEANUP_ARENA struct arena arena;
    struct yaml_table table;
    size_t at = 0;
    arena_init(&arena);
    TRY(yaml_parse(text, path, &arena, &table, error));
    struct backend backend = find_backend(backend_name(call, &table));
    for (size_t i = 0; i < table.count; i++) {
        const struct yaml_pair *pair = &table.pairs[i];
        str_add(out, view_of(text.data + at, pair->start - at));
        size_t size = out->size;
        secrets_mask(backend_options(&backend), pair->key, pair->value, out);
        if (view_eq_str(view_from(str_view(out), size), pair->value)) {
            str_truncate(out, size); // not a secret: keep its quotes
            str_add(out, view_of(text.data + pair->start, pair->end - pair->start));
        }
        at = pair->end;
    }
    str_add(out, view_from(text, at));
    registry_release(&backend);
    return str_code(out) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

static int print_masked_change(struct op_call *call, struct ethos_view old, struct ethos_view text,
                               const char *path, struct str *out, struct ethos_error *error)
{
    CLEANUP_STR struct str before;
    CLEANUP_STR struct str after;
    str_init(&before, SIZE_MAX);
    str_init(&after, SIZE_MAX);
    TRY(mask_text(call, old, path, &before, error));
    TRY(mask_text(call, text, path, &after, error));
    return diff_unified(str_view(&before), str_view(&after), path, out) ? err_nomem(error)
                                                                        : ETHOS_OK;
}

static int write_under_lock(struct op_call *call, int dir, const char *folder, const char *path,
                            const struct settings_change *changes, size_t count,
                            struct op_result *result, struct ethos_error *error)
{
    CLEANUP_STR struct str old;
    CLEANUP_STR struct str text;
    str_init(&old, ETHOS_MAX_YAML_BYTES + 1);
    str_init(&text, ETHOS_MAX_YAML_BYTES);
    int code = home_read(dir, path, ETHOS_MAX_YAML_BYTES, &old, NULL, error);
    if (code != ETHOS_NOTFOUND)
        TRY(code);
    TRY(edit_settings(str_view(&old), path, changes, count, &text, error));
    if (view_eq(str_view(&old), str_view(&text)))
        return ETHOS_OK;
    if (!call->dry_run)
        return home_replace(dir, folder, FILE_NAME, str_view(&text), error);
    return print_masked_change(call, str_view(&old), str_view(&text), path, &result->text, error);
}

int settings_write(struct op_call *call, const char *folder, const struct settings_change *changes,
                   size_t count, struct op_result *result, struct ethos_error *error)
{
    char path[ETHOS_MAX_ID + 64];
    CLEANUP_FD int dir = -1;
    CLEANUP_FD int lock = -1;
    snprintf(path, sizeof path, "%s%s%s", folder, *folder ? "/" : "", FILE_NAME);
    if (service_ephemeral(call->ethos)) {
        int refused = err_set(error, ETHOS_DENIED,
                              "%s: settings cannot be changed in ephemeral memory", path);
        return err_hint(error, refused, "leave out --ephemeral-memory to change them");
    }
    TRY(service_open_home(call->ethos, !call->dry_run, &dir, error));
    if (!call->dry_run)
        TRY(home_lock(dir, FILE_NAME, &lock, error));
    return write_under_lock(call, dir, folder, path, changes, count, result, error);
}

/* ---- the settings file ----------------------------------------------------------------------- */

/* The config.yaml that a call reads or changes. */
struct settings_file {
    const char *personality; /* NULL: the home */
    const struct config *home, *own;
    char folder[ETHOS_MAX_ID + 32], path[ETHOS_MAX_ID + 64];
};

static void name_settings_file(struct op_call *call, struct settings_file *out)
{
    *out = (struct settings_file){.personality = call->request ? call->request->personality : NULL};
    if (out->personality)
        snprintf(out->folder, sizeof out->folder, "personalities/%s", out->personality);
    snprintf(out->path, sizeof out->path, "%s%s" FILE_NAME, out->folder, *out->folder ? "/" : "");
}

static int load_settings_file(struct op_call *call, struct settings_file *out,
                              struct ethos_error *error)
{
    name_settings_file(call, out);
    return service_config(call->ethos, out->personality, &out->home, &out->own, error);
}

static const char *configured_backend(const struct settings_file *place)
{
    return config_backend(place->home, place->own);
}

/* A mistyped personality must not be created by setting one of its settings. */
static int require_personality(struct op_call *call, const struct settings_file *place,
                               struct ethos_error *error)
{
    return place->personality ? personalities_require(call, place->personality, true, error)
                              : ETHOS_OK;
}

/* The error for a setting that only the home has; lists those that a personality may have. */
static int refuse_personality_key(const struct settings_file *place, const char *key,
                                  struct ethos_error *error)
{
    struct str names;
    str_init(&names, SIZE_MAX);
    for (const struct config_option *option = config_options; option->key; option++) {
        bool listed = (option->where & CONFIG_PERSONALITY) && !(option->where & CONFIG_VECTOR) &&
                      strcmp(option->key, "memory") != 0;
        if (listed)
            str_printf(&names, "%s%s", names.size ? ", " : "", option->key);
    }
    int code = err_set(error, ETHOS_INVALID, "%s: not a setting of a personality (%s)", key,
                       place->personality);
    if (str_code(&names) == ETHOS_OK)
        code = err_hint(error, code, "choose from %s; without -p it is set for all", names.data);
    str_release(&names);
    return code;
}

/* ---- list, get, set, unset ----------------------------------------------------------------- */

/* A value with secrets masked, or JSON null. */
static json_t *option_value(const struct ethos_option *options, const char *key, const char *value)
{
    struct str text;
    if (!value)
        return json_null();
    str_init(&text, SIZE_MAX);
    json_t *json = secrets_mask(options, key, value, &text) == ETHOS_OK ? op_json_string(text.data)
                                                                        : NULL;
    str_release(&text);
    return json;
}

/* The same, with the secrets of the named backend (or NULL). */
static json_t *backend_option_value(const char *name, const char *key, const char *value)
{
    struct backend backend = find_backend(name);
    json_t *json = option_value(backend_options(&backend), key, value);
    registry_release(&backend);
    return json;
}

static json_t *option_row(const struct settings_file *place, const struct config_option *option)
{
    const char *own = config_own(place->own, option->key);
    const char *value = own ? own : config_own(place->home, option->key);
    return json_pack("{s:s, s:o, s:s, s:s}", "key", option->key, "value",
                     backend_option_value(NULL, option->key, value ? value : option->fallback),
                     "from",
                     own     ? place->path
                     : value ? FILE_NAME
                             : "default",
                     "help", option->help);
}

static bool is_key_family(const struct config_option *option)
{
    return option->key[strlen(option->key) - 1] == '*';
}

/* Lists the options that have an effect, then other settings in the file. */
static int run_list_settings(struct op_call *call, struct op_result *result,
                             struct ethos_error *error)
{
    struct settings_file place;
    TRY(load_settings_file(call, &place, error));
    TRY(require_personality(call, &place, error));
    json_t *rows = json_array();
    const unsigned where = place.personality ? CONFIG_PERSONALITY : CONFIG_HOME;
    const unsigned idle = config_is_vector(place.home, place.own) ? 0 : CONFIG_VECTOR;
    for (const struct config_option *option = config_options; option->key; option++) {
        bool listed = (option->where & where) && !(option->where & (CONFIG_KEPT | idle)) &&
                      !is_key_family(option) && strcmp(option->key, "memory") != 0;
        if (listed)
            op_json_push(&rows, option_row(&place, option));
    }
    const struct config *file = place.own ? place.own : place.home;
    struct backend backend = find_backend(configured_backend(&place));
    for (size_t i = 0; i < file->table.count; i++) {
        const struct yaml_pair *pair = &file->table.pairs[i];
        const struct config_option *option = config_find(pair->key);
        bool known = option && !(option->where & CONFIG_KEPT) && !is_key_family(option);
        if (!known)
            op_json_push(
                &rows, json_pack("{s:o, s:o, s:s, s:s}", "key", op_json_string(pair->key), "value",
                                 option_value(backend_options(&backend), pair->key, pair->value),
                                 "from", place.path, "help",
                                 option ? option->help : "unknown to this version; ignored"));
    }
    registry_release(&backend);
    return op_return(result, rows, error);
}

static int refuse_unknown_key(const char *key, struct ethos_error *error)
{
    const char *nearest = config_nearest(key);
    int code = err_set(error, ETHOS_NOTFOUND, "no such setting: %s", key);
    return nearest ? err_hint(error, code, "did you mean %s?", nearest)
                   : err_hint(error, code, "ethos config list shows them all");
}

static int run_get_setting(struct op_call *call, struct op_result *result,
                           struct ethos_error *error)
{
    struct settings_file place;
    const char *key = op_string(call, "key");
    TRY(load_settings_file(call, &place, error));
    TRY(require_personality(call, &place, error));
    const char *own = config_own(place.own,
                                 key); // also settings of other programs, such as a model
    const char *value = own ? own : config_get(place.home, place.own, key);
    if (!value && !config_find(key))
        return refuse_unknown_key(key, error);
    return op_return(result,
                     json_pack("{s:s, s:o}", "key", key, "value",
                               backend_option_value(configured_backend(&place), key, value)),
                     error);
}

static bool is_provider_key(const char *key)
{
    return strcmp(key, "memory.provider") == 0 || strcmp(key, "memory") == 0;
}

/* Whether a key selects the backend. */
static bool is_backend_key(const char *key)
{
    return is_provider_key(key) || strcmp(key, VECTOR_STORE) == 0;
}

/* Refuses a value that would make every later command fail. */
static int check_setting_value(const char *key, const char *value, struct ethos_error *error)
{
    char scope[ETHOS_MAX_SCOPE];
    struct backend backend = {0};
    if (strcmp(key, "personality") == 0)
        return scope_make(SCOPE_PERSONALITY, value, scope, error);
    if (strcmp(key, "user.id") == 0)
        return scope_make(SCOPE_USER, value, scope, error);
    if (!is_backend_key(key) || *value == '/') // a shared object is checked when it is used
        return ETHOS_OK;
    if (is_provider_key(key) && strcmp(value, VECTOR_NAME) == 0)
        return ETHOS_OK;
    int code = registry_find(value, &backend, error);
    registry_release(&backend);
    return code;
}

/* Whether this is memory.options.user (the personality's backend also stores profiles), which no backend lists. */
static bool is_profile_option(const struct settings_change *change)
{
    return strcmp(change->key, SECRETS_PREFIX "user") == 0 &&
           (strcmp(change->value, "true") == 0 || strcmp(change->value, "false") == 0);
}

/* Checks an option against those of the backend. A shared object that does not exist yet cannot be checked. */
static int check_option(const struct settings_file *place, const struct settings_change *change,
                        struct ethos_error *error)
{
    struct backend backend = {0};
    const size_t prefix = strlen(SECRETS_PREFIX);
    const char *name = configured_backend(place);
    if (strncmp(change->key, SECRETS_PREFIX, prefix) != 0 || !name)
        return ETHOS_OK;
    if ((is_profile_option(change) && place->personality) ||
        config_is_vector_option(name, change->key))
        return ETHOS_OK;
    int code = registry_find(name, &backend, error);
    if (code != ETHOS_OK)
        return *name == '/' ? ETHOS_OK : code;
    const struct ethos_setting setting = {change->key + prefix, change->value};
    code = secrets_check(registry_options(&backend), offline_options(&backend), &setting, error);
    registry_release(&backend);
    if (code == ETHOS_OK || strcmp(name, config_find("memory.provider")->fallback) != 0)
        return code;
    code = err_set(error, ETHOS_INVALID,
                   "%s: memory.provider is not set, and the file backend has no options",
                   change->key);
    return err_hint(error, code, "first: ethos config set memory.provider NAME");
}

static int stop_at_first_scope(void *arg, const char *scope)
{
    (void)arg;
    (void)scope;
    return 1;
}

/* Whether the change selects another backend while there is memory in files. */
static bool leaves_memory_in_files(struct op_call *call, const struct settings_change *change)
{
    const char *name;
    struct ethos_provider *provider;
    struct ethos_error why;
    if (!is_backend_key(change->key) ||
        strcmp(change->value, config_find("memory.provider")->fallback) == 0 ||
        service_provider_for(call->ethos, NULL, &name, &provider, &why) != ETHOS_OK)
        return false;
    return backends_here(call->ethos, provider) && SLOT_PROVIDER(provider, scopes) &&
           provider->ops->scopes(provider, stop_at_first_scope, NULL, &why) == 1;
}

static void keep_queue_finding(void *arg, const struct ethos_finding *finding)
{
    json_t **note = arg;
    if (!*note && view_ends(view_str(finding->subject), VIEW("/queue")))
        *note = json_sprintf("%s; these are not moved to the new backend, see ethos doctor",
                             finding->problem);
}

/* Describes queued changes if the change selects another backend; NULL if there are none. */
static json_t *describe_waiting_changes(struct op_call *call, const struct settings_change *change)
{
    const char *option = change->key + strlen(SECRETS_PREFIX);
    bool placed = strncmp(change->key, SECRETS_PREFIX, strlen(SECRETS_PREFIX)) == 0 &&
                  strcmp(option, "offline") != 0 && strcmp(option, "onOffline") != 0 &&
                  !config_is_vector_option(VECTOR_NAME, change->key);
    json_t *note = NULL;
    if (placed || is_backend_key(change->key))
        offline_check(service_root(call->ethos), keep_queue_finding, &note, NULL);
    return note;
}

/* Describes a set option that the newly selected backend does not have; NULL if there is none. */
static json_t *describe_foreign_option(struct op_call *call, const struct settings_change *change)
{
    const struct config *home;
    struct ethos_error why;
    struct backend backend = {0};
    const size_t prefix = strlen(SECRETS_PREFIX);
    json_t *note = NULL;
    if (is_backend_key(change->key) &&
        service_config(call->ethos, NULL, &home, NULL, &why) == ETHOS_OK)
        backend = find_backend(change->value && strcmp(change->value, VECTOR_NAME) != 0
                                   ? change->value
                                   : config_backend(home, NULL));
    bool there = backend.provider || backend.store;
    for (size_t i = 0; there && !note && i < home->table.count; i++) {
        const struct yaml_pair *pair = &home->table.pairs[i];
        const struct ethos_setting setting = {pair->key + prefix, pair->value};
        if (strncmp(pair->key, SECRETS_PREFIX, prefix) == 0 &&
            !config_is_vector_option(VECTOR_NAME, pair->key) &&
            secrets_check(registry_options(&backend), offline_options(&backend), &setting, &why) !=
                ETHOS_OK)
            note = json_sprintf("%s; to remove it: ethos config unset %s", why.text, pair->key);
    }
    registry_release(&backend);
    return note;
}

/* Warns about what a change of the backend leaves behind. */
static void add_backend_warning(struct op_call *call, const struct settings_change *change,
                                json_t **json)
{
    json_t *note = describe_waiting_changes(call, change);
    if (!note)
        note = describe_foreign_option(call, change);
    if (note)
        op_json_put(json, "warning", note);
}

/* A config file that cannot be read is not an error here: the change may fix it. */
static int check_option_change(struct op_call *call, struct settings_file *place,
                               const struct settings_change *change, struct ethos_error *error)
{
    struct ethos_error why;
    if (strncmp(change->key, SECRETS_PREFIX, strlen(SECRETS_PREFIX)) != 0 ||
        service_config(call->ethos, place->personality, &place->home, &place->own, &why) !=
            ETHOS_OK)
        return ETHOS_OK;
    return check_option(place, change, error);
}

/* ---- the mode vector ------------------------------------------------------------------------- */

/* Changes that are written together, so that switching the mode "vector" keeps the backend. */
struct mode_switch {
    struct settings_change changes[2];
    size_t count;
    bool was, is; /* that mode */
    char store[PATH_MAX];
};

static bool is_vector_name(const char *value)
{
    return value && strcmp(value, VECTOR_NAME) == 0;
}

/* Plans a change of memory.provider. The value NULL ends the mode "vector" and restores the previous backend. */
static void plan_switch(const struct settings_file *place, const struct settings_change *change,
                        struct mode_switch *out)
{
    const struct config *file = place->own ? place->own : place->home;
    const char *named = config_own(file, "memory.provider"),
               *store = config_own(file, VECTOR_STORE);
    out->changes[out->count++] = *change;
    if (!file || !is_provider_key(change->key))
        return;
    if (strcmp(change->key, "memory") == 0 && yaml_get(&file->table, "memory.provider"))
        out->changes[0].key = "memory.provider"; // it takes precedence over its older name
    out->was = is_vector_name(named);
    out->is = is_vector_name(change->value);
    snprintf(out->store, sizeof out->store, "%s", config_backend(place->home, place->own));
    if (out->is && !out->was && (named || !place->personality))
        out->changes[out->count++] = (struct settings_change){VECTOR_STORE, out->store};
    if (!out->was || out->is || !store)
        return;
    out->changes[out->count++] = (struct settings_change){VECTOR_STORE, NULL};
    bool usual = strcmp(store, config_find("memory.provider")->fallback) == 0;
    if (!change->value && (place->personality || !usual))
        out->changes[0].value = out->store;
}

/* Whether memory is in another backend afterwards. */
static bool moves_memory(const struct mode_switch *switching)
{
    const char *value = switching->changes[0].value;
    return value && strcmp(value, switching->store) != 0;
}

/* Adds a hint about what the switch changes in prompts. */
static void add_switch_hint(const struct mode_switch *switching, const struct settings_file *place,
                            json_t **json)
{
    if (switching->is && !switching->was)
        op_json_put(
            json, "hint",
            json_sprintf(
                "prompts show the newest %lld characters of MEMORY.md and, with a question, up to "
                "%lld older entries that fit it; the text stays in %s, unchanged",
                (long long)config_integer(place->home, place->own, VECTOR_OPTION "tailChars"),
                (long long)config_integer(place->home, place->own, VECTOR_OPTION "topK"),
                switching->store));
    else if (switching->was && !switching->is && moves_memory(switching))
        op_json_put(json, "hint",
                    json_sprintf("memory is now in %s; the text in %s stays there; to go back: "
                                 "ethos config set memory %s",
                                 switching->changes[0].value, switching->store, switching->store));
    else if (switching->was && !switching->is)
        op_json_put(json, "hint", json_string("prompts show as much of MEMORY.md as fits again"));
}

static int run_set_setting(struct op_call *call, struct op_result *result,
                           struct ethos_error *error)
{
    const struct settings_change change = {op_string(call, "key"), op_string(call, "value")};
    const struct config_option *option = config_find(change.key);
    struct settings_file place;
    name_settings_file(call, &place);
    if (!option || (!place.personality && !(option->where & CONFIG_HOME)))
        return refuse_unknown_key(change.key, error);
    if (place.personality && !(option->where & CONFIG_PERSONALITY))
        return refuse_personality_key(&place, change.key, error);
    TRY(require_personality(call, &place, error));
    TRY(config_check(option, change.key, change.value, error));
    TRY(check_setting_value(change.key, change.value, error));
    TRY(check_option_change(call, &place, &change, error));
    if (strcmp(change.key, "personality") == 0)
        TRY(check_mistyped_personality(call, change.value, error));
    struct mode_switch switching = {.count = 0};
    load_settings_file(call, &place, NULL); // if it fails, the change may fix the file
    plan_switch(&place, &change, &switching);
    bool left = !place.personality && !switching.is && !switching.was &&
                leaves_memory_in_files(call, &change);
    TRY(settings_write(call, place.folder, switching.changes, switching.count, result, error));
    const char *provider = service_config(call->ethos, place.personality, &place.home, &place.own,
                                          NULL) == ETHOS_OK
                               ? configured_backend(&place)
                               : NULL;
    json_t *json = json_pack("{s:s, s:o, s:s*}", "key", change.key, "value",
                             backend_option_value(provider, change.key, change.value),
                             "personality", place.personality);
    if (option->where & CONFIG_KEPT)
        op_json_put(&json, "warning", json_string("without effect in this version"));
    if (!switching.is || !switching.was)
        add_backend_warning(call, &change, &json);
    if (place.home)
        add_switch_hint(&switching, &place, &json);
    if (left)
        op_json_put(&json, "hint",
                    json_sprintf("memory in files stays there; to move it: "
                                 "ethos memory migrate --from %s --to %s",
                                 config_find("memory.provider")->fallback, change.value));
    return op_return_change(call, result, json, error);
}

/* The name of a key in the file: memory.provider has an older name. NULL if the file does not set it. */
static int find_key_in_file(struct op_call *call, const char *path, const char *key,
                            const char **name, struct ethos_error *error)
{
    CLEANUP_FD int dir = -1;
    struct yaml_table table = {0};
    *name = NULL;
    TRY(service_open_home(call->ethos, false, &dir, error));
    if (dir < 0)
        return ETHOS_OK;
    CLEANUP_ARENA struct arena arena;
    arena_init(&arena);
    CLEANUP_STR struct str text;
    str_init(&text, ETHOS_MAX_YAML_BYTES + 1);
    int code = home_read(dir, path, ETHOS_MAX_YAML_BYTES, &text, NULL, error);
    if (code == ETHOS_NOTFOUND)
        return ETHOS_OK;
    TRY(code);
    code = yaml_parse(str_view(&text), path, &arena, &table, error);
    if (code == ETHOS_INVALID)
        err_hint(error, code, "edit the file by hand");
    TRY(code);
    if (yaml_find(&table, key))
        *name = key;
    else if (is_provider_key(key) && yaml_find(&table, "memory.provider"))
        *name = "memory.provider";
    else if (is_provider_key(key) && yaml_find(&table, "memory"))
        *name = "memory";
    return ETHOS_OK;
}

/* Reads the file as plain YAML, because the line to remove may be one that every command rejects. */
static int run_unset_setting(struct op_call *call, struct op_result *result,
                             struct ethos_error *error)
{
    const char *key = op_string(call, "key"), *name;
    const struct config_option *option = config_find(key);
    struct settings_file place;
    name_settings_file(call, &place);
    TRY(require_personality(call, &place, error));
    TRY(find_key_in_file(call, place.path, key, &name, error));
    const struct settings_change change = {name, NULL};
    struct mode_switch switching = {.count = 0};
    if (!name && !option)
        return refuse_unknown_key(key, error);
    load_settings_file(call, &place, NULL); // if it fails, the change may fix the file
    if (name) {
        plan_switch(&place, &change, &switching);
        TRY(settings_write(call, place.folder, switching.changes, switching.count, result, error));
    }
    const char *value = option ? option->fallback : NULL; // the value now
    if ((place.personality || switching.was) && option &&
        load_settings_file(call, &place, NULL) == ETHOS_OK)
        value = config_get(place.home, place.own, key);
    json_t *json = json_pack("{s:s, s:b, s:s?, s:s*}", "key", key, "changed", name != NULL, "value",
                             value, "personality", place.personality);
    if (name)
        add_backend_warning(call, &change, &json);
    if (place.home)
        add_switch_hint(&switching, &place, &json);
    return op_return_change(call, result, json, error);
}

#define ARG_END                                                                                    \
    {                                                                                              \
        NULL, OP_TEXT, 0, NULL, NULL, NULL                                                         \
    }
#define ARG_NAME                                                                                   \
    {                                                                                              \
        "key", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "KEY",                                  \
            "a setting, such as prefetch.maxChars"                                                 \
    }

static const struct op_arg no_args[] = {ARG_END};
static const struct op_arg get_args[] = {ARG_NAME, ARG_END};
static const struct op_arg set_args[] = {
    ARG_NAME,
    {"value", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "VALUE", "its new value"},
    ARG_END};

const struct op ops_config[] = {
    {"config.list", "config list", "List the settings and where they come from",
     "ethos config list", no_args, OP_OWNER, OP_IDEMPOTENT | OP_LOCAL, run_list_settings},
    {"config.get", "config get", "Print one setting", "ethos config get prefetch.maxChars",
     get_args, OP_OWNER, OP_IDEMPOTENT | OP_LOCAL, run_get_setting},
    {"config.set", "config set", "Change one setting", "ethos config set memoryScope global",
     set_args, OP_OWNER, OP_WRITES | OP_IDEMPOTENT | OP_LOCAL, run_set_setting},
    {"config.unset", "config unset", "Reset one setting to its default",
     "ethos config unset memoryScope", get_args, OP_OWNER, OP_WRITES | OP_IDEMPOTENT | OP_LOCAL,
     run_unset_setting},
    {0}};
