/*
 * state.c: the record of what imports last read and exports last wrote.
 *
 * It contains only hashes, so that it does not preserve a text that must be forgotten.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/text/slug.h"
#include "base/utf8.h"
#include "base/view.h"
#include "memory/handle.h"
#include "memory/handle_internal.h"
#include "memory/home/directory.h"
#include "memory/import_export/internal.h"
#include "memory/provider/missing_slots.h"

#define VERSION 1
#define RECORD_BYTES 67108864

static int make_empty_record(struct imports *imports, struct ethos_error *error)
{
    imports->json = json_pack("{s:i, s:{}, s:{}}", "version", VERSION, "sources", "exports");
    return imports->json ? ETHOS_OK : err_nomem(error);
}

static int check_record(const struct imports *imports, const char *name, struct ethos_error *error)
{
    bool ok = json_integer_value(json_object_get(imports->json, "version")) == VERSION &&
              json_is_object(json_object_get(imports->json, "sources")) &&
              json_is_object(json_object_get(imports->json, "exports"));
    return ok ? ETHOS_OK
              : err_set(error, ETHOS_CORRUPT, HOME_RECORDS "/%s: not a record of imports", name);
}

/* Stops a walk at the first. */
static int stop_at_entry(void *arg, const struct ethos_entry *entry)
{
    (void)entry;
    *(bool *)arg = true;
    return 1;
}

static int stop_at_change(void *arg, const struct ethos_change *change)
{
    (void)change;
    *(bool *)arg = true;
    return 1;
}

/* Whether a scope was never written, or purged completely. */
static int is_new(struct ethos_turn *turn, const char *scope, bool *out, struct ethos_error *error)
{
    struct ethos_provider *provider = turn->provider;
    const struct ethos_provider_ops *ops = provider->ops;
    bool any = !SLOT_PROVIDER(provider, list) || !SLOT_PROVIDER(provider, history);
    int code = any ? ETHOS_OK : ops->list(provider, scope, stop_at_entry, &any, error);
    if (code == ETHOS_OK && !any)
        code = ops->history(provider, scope, NULL, stop_at_change, &any, error);
    *out = !any;
    return any ? ETHOS_OK : code;
}

static int forget_if_new(struct ethos_turn *turn, struct imports *imports,
                         struct ethos_error *error)
{
    bool new;
    imports->loaded = json_deep_copy(imports->json);
    if (!imports->loaded)
        return err_nomem(error);
    TRY(is_new(turn, imports->scope, &new, error));
    return new &&json_object_set_new(imports->json, "sources", json_object()) != 0
               ? err_nomem(error)
               : ETHOS_OK;
}

int imports_load(struct ethos_turn *turn, const char *scope, struct imports *out,
                 struct ethos_error *error)
{
    int dir;
    char name[HOME_RECORD_SIZE], path[HOME_RECORD_SIZE + sizeof HOME_RECORDS];
    *out = (struct imports){0};
    snprintf(out->scope, sizeof out->scope, "%s", scope);
    home_record_name("imports", scope, name);
    snprintf(path, sizeof path, HOME_RECORDS "/%s", name);
    TRY(service_open_root(turn->ethos, false, &dir, error));
    int code = home_read_json_most(dir, path, RECORD_BYTES, &out->json, error);
    if (dir >= 0)
        os_close(dir);
    if (code == ETHOS_OK)
        code = check_record(out, name, error);
    if (code == ETHOS_NOTFOUND)
        return make_empty_record(out, error);
    if (code == ETHOS_CORRUPT)
        return err_hint(error, code, "move it away to import as if for the first time");
    return code == ETHOS_OK ? forget_if_new(turn, out, error) : code;
}

/* The number of values in a value, including itself, as the parser counts them. */
static size_t count_values(const json_t *value)
{
    const char *name;
    json_t *member;
    size_t index, count = 1;
    json_object_foreach ((json_t *)value, name, member)
        count += count_values(member);
    json_array_foreach ((json_t *)value, index, member)
        count += count_values(member);
    return count;
}

int imports_check_room(const struct imports *imports, size_t files, struct ethos_error *error)
{
    size_t values = count_values(imports->json);
    if (values + files < ETHOS_MAX_JSON_VALUES)
        return ETHOS_OK;
    int code = err_set(error, ETHOS_LIMIT,
                       "the record of exports has %zu values and cannot hold %zu files more",
                       values, files);
    return err_hint(error, code, "nothing was exported; %d are the most", ETHOS_MAX_JSON_VALUES);
}

int imports_save(struct ethos_turn *turn, const struct imports *imports, struct ethos_error *error)
{
    int dir;
    CLEANUP_STR struct str text = {0};
    char name[HOME_RECORD_SIZE];
    if (json_equal(imports->json, imports->loaded))
        return ETHOS_OK;
    home_record_name("imports", imports->scope, name);
    str_init(&text, RECORD_BYTES);
    json_print(imports->json, JSON_STYLE_LINE, &text);
    str_addc(&text, '\n');
    int code = str_code(&text);
    if (code != ETHOS_OK)
        err_set(error, code, HOME_RECORDS "/%s: cannot hold more", name);
    else
        code = service_open_root(turn->ethos, true, &dir, error);
    if (code == ETHOS_OK) {
        code = home_replace(dir, HOME_RECORDS, name, str_view(&text), error);
        os_close(dir);
    }
    return code;
}

void imports_release(struct imports *imports)
{
    json_decref(imports->json);
    json_decref(imports->loaded);
    imports->json = imports->loaded = NULL;
}

int imports_lock(struct ethos_turn *turn, int *out_lock, struct ethos_error *error)
{
    int dir;
    TRY(service_open_root(turn->ethos, true, &dir, error));
    int code = home_lock(dir, "imports", out_lock, error);
    os_close(dir);
    return code;
}

/* The member of an object, created if missing and wanted; only objects count. */
static json_t *get_member(json_t *at, const char *name, bool make)
{
    json_t *next = json_object_get(at, name);
    if (json_is_object(next) || !make)
        return json_is_object(next) ? next : NULL;
    json_t *made = json_object();
    return json_object_set_new(at, name, made) == 0 ? made : NULL;
}

/*
 * Names are paths and keys: bytes that are not UTF-8 are dropped, and the rest still identifies
 * them.
 */
static json_t *get_nested_member(json_t *at, const char *const *names, bool make)
{
    CLEANUP_STR struct str name;
    str_init(&name, TRANSFER_PATH * 3);
    for (; at && *names; names++) {
        str_clear(&name);
        utf8_sanitize(view_str(*names), &name);
        at = str_code(&name) == ETHOS_OK ? get_member(at, name.data, make) : NULL;
    }
    return at;
}

json_t *imports_part(struct imports *imports, const char *const *names)
{
    return get_nested_member(imports->json, names, true);
}

const json_t *imports_find(const struct imports *imports, const char *const *names)
{
    return get_nested_member(imports->json, names, false);
}

int imports_hash(struct ethos_view text, char out[ENTRY_HASH + 1])
{
    char hash[65];
    int code = slug_fact_hash(text, hash);
    if (code == ETHOS_OK)
        snprintf(out, ENTRY_HASH + 1, "%.*s", ENTRY_HASH, hash);
    return code;
}
