/*
 * store.c: the operations store.*: serve the store of this home to other machines.
 */
#include "ops/memory/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "core/memory/update.h"
#include "core/memory/wire.h"
#include "ops/paging.h"
#include "ops/tables.h"
#include "ops/write_report.h"
#include "store/store.h"

/* ---- calls ----------------------------------------------------------------------------------- */

int store_call_begin(const struct op_call *call, struct store_call *out)
{
    struct lent lent;
    *out = (struct store_call){.scope = op_string(call, "scope"), .key = op_string(call, "key")};
    int code = served_store_open(call->ethos, &lent, &out->error);
    if (code != ETHOS_OK)
        return code;
    out->store = lent.store;
    out->host = lent.host;
    if (out->key)
        return served_store_check_key(out->scope, out->key, &out->error);
    return out->scope ? scope_parse(out->scope, NULL, NULL, &out->error) : ETHOS_OK;
}

int store_call_require(struct store_call *self, bool slot)
{
    return slot ? ETHOS_OK
                : err_set(&self->error, ETHOS_UNSUPPORTED, "%s: this store cannot do that",
                          self->store->ops->name);
}

/* Replaces details of the damage, such as local paths, which other machines must not see. */
static void hide_damage(struct store_call *self)
{
    err_set(&self->error, ETHOS_CORRUPT, "the data on the server is damaged");
    err_hint(&self->error, ETHOS_CORRUPT, "run ethos doctor on the server");
}

int store_call_end(struct store_call *self, int code, json_t *json, struct op_result *result,
                   struct ethos_error *error)
{
    if (code == ETHOS_OK)
        return op_return(result, json, error);
    if (code == ETHOS_NOMEM)
        err_nomem(&self->error);
    if (code == ETHOS_CORRUPT)
        hide_damage(self);
    json_decref(json);
    if (code == ETHOS_NOMEM || code == ETHOS_IO || code == ETHOS_INTERNAL) {
        if (error)
            *error = self->error;
        return code;
    }
    result->code = code;
    result->error = self->error;
    return op_return(result, json_pack("{s:o}", "error", wire_error(&self->error)), error);
}

void store_call_free_text(const struct store_call *self, struct ethos_text *text)
{
    self->host->resize(self->host->arg, text->data, 0);
    *text = (struct ethos_text){0};
}

int store_call_bytes(struct store_call *self, const struct op_call *call, const char *name,
                     struct str *scratch, struct ethos_view *out)
{
    int code = wire_take_bytes(json_object_get(call->args, name), scratch, out);
    return code == ETHOS_INVALID
               ? err_set(&self->error, code, "%s: must be a string or {\"base64\": ...}", name)
               : code;
}

int store_call_origin(struct store_call *self, const struct op_call *call, struct ethos_origin *out)
{
    const json_t *value = json_object_get(call->args, "origin");
    *out = (struct ethos_origin){0};
    if (!value || json_is_null(value))
        return ETHOS_OK;
    if (wire_take_origin(value, out) != ETHOS_OK)
        return err_set(&self->error, ETHOS_INVALID, "origin: must be an object of strings");
    return out->op_id ? update_check_opid(view_str(out->op_id), &self->error) : ETHOS_OK;
}

/* ---- info ------------------------------------------------------------------------------------ */

/* The optional features that this store has. */
static json_t *offers_json(const struct ethos_store *store)
{
    const struct ethos_store_ops *ops = store->ops;
    const struct {
        const char *name;
        bool has;
    } rows[] = {
        {"once", ops->update && (store->capabilities & ETHOS_STORE_ONCE)},
        {"durable", store->capabilities & ETHOS_STORE_DURABLE},
        {"history", (store->capabilities & ETHOS_STORE_HISTORY) && ops->history && ops->version},
        {"scopes", ops->scopes},
        {"setAside", ops->set_aside},
        {"conflicts", ops->conflicts && ops->conflict_read && ops->conflict_drop},
        {"keep", ops->keep},
        {"graft", ops->graft},
    };
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].has)
            op_json_push(&list, json_string(rows[i].name));
    return list;
}

static int run_info(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct store_call served;
    json_t *json = NULL;
    int code = store_call_begin(call, &served);
    if (code == ETHOS_OK)
        json = json_pack("{s:i, s:s, s:o, s:I}", "wire", WIRE_VERSION, "version", ETHOS_VERSION,
                         "offers", offers_json(served.store), "timeMs",
                         (json_int_t)served.host->now_ms(served.host->arg));
    return store_call_end(&served, code, json, result, error);
}

/* ---- gather: reading many texts ---------------------------------------------------------------- */

struct read_many {
    struct store_call served;
    struct ethos_section *sections;
    size_t count;
    struct ethos_read_how how;
};

/* "personality:x/MEMORY.md": a scope has no slash. */
static int parse_text_location(struct read_many *self, const char *spot, struct ethos_section *out)
{
    struct ethos_error *error = &self->served.error;
    const char *slash = strchr(spot, '/');
    size_t size = slash ? (size_t)(slash - spot) : 0;
    if (!slash || size >= sizeof out->scope || strlen(slash + 1) >= sizeof out->key)
        return err_set(error, ETHOS_INVALID, "at: must be SCOPE/KEY, not %s", spot);
    memcpy(out->scope, spot, size);
    memcpy(out->key, slash + 1, strlen(slash));
    return served_store_check_key(out->scope, out->key, error);
}

static int parse_text_locations(struct read_many *self, const json_t *spots)
{
    size_t index;
    json_t *spot;
    if (json_array_size(spots) > WIRE_MAX_SPOTS)
        return err_set(&self->served.error, ETHOS_LIMIT, "at: more than %d locations",
                       WIRE_MAX_SPOTS);
    self->sections = calloc(json_array_size(spots) + 1, sizeof *self->sections);
    if (!self->sections)
        return ETHOS_NOMEM;
    self->count = json_array_size(spots);
    json_array_foreach (spots, index, spot)
        TRY(parse_text_location(self, json_string_value(spot), &self->sections[index]));
    return ETHOS_OK;
}

/* One text, or why it cannot be read. A missing text is not an error. */
static json_t *section_json(struct ethos_section *section)
{
    json_t *json = section->code == ETHOS_OK ? wire_text(&section->text) : json_object();
    if (section->code != ETHOS_OK && section->code != ETHOS_NOTFOUND)
        op_json_put(&json, "error", wire_error(&section->error));
    op_json_put(&json, "scope", json_string(section->scope));
    op_json_put(&json, "key", json_text(view_str(section->key)));
    return json;
}

/* Refuses a text that does not fit into the response, and hides details of errors of this machine. */
static void limit_section(struct ethos_section *section, uint64_t *room)
{
    if (section->code == ETHOS_OK && section->text.size > *room)
        section->code = err_set(&section->error, ETHOS_LIMIT,
                                "%s: more than %d bytes in one answer", section->key,
                                WIRE_MAX_BYTES);
    else if (section->code == ETHOS_OK)
        *room -= section->text.size;
    else if (section->code == ETHOS_IO || section->code == ETHOS_CORRUPT)
        err_set(&section->error, section->code, "%s: the server cannot read it", section->key);
}

static json_t *sections_json(struct read_many *self)
{
    struct str tag;
    char revision[ETHOS_REVISION_SIZE];
    uint64_t room = WIRE_MAX_BYTES;
    json_t *texts = json_array();
    str_init(&tag, SIZE_MAX);
    for (size_t i = 0; i < self->count; i++) {
        struct ethos_section *section = &self->sections[i];
        limit_section(section, &room);
        bool there = section->code == ETHOS_OK;
        wire_tag(&tag, section->scope, section->key, self->how.tail_bytes,
                 there ? section->text.revision : err_name(section->code),
                 there ? section->text.mtime_ms : -1);
        op_json_push(&texts, section_json(section));
    }
    hash_revision(str_view(&tag), revision);
    bool whole = str_code(&tag) == ETHOS_OK;
    str_release(&tag);
    json_t *json = json_pack("{s:s, s:o}", "revision", revision, "texts", texts);
    if (whole)
        return json;
    json_decref(json);
    return NULL;
}

static int run_read_many(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct read_many self = {
        .how = {(uint64_t)op_integer(call, "tailBytes", 0), ETHOS_READ_REVISION}};
    json_t *json = NULL;
    int code = store_call_begin(call, &self.served);
    if (code == ETHOS_OK)
        code = parse_text_locations(&self, json_object_get(call->args, "at"));
    if (code == ETHOS_OK)
        code = store_gather(self.served.store, &self.how, self.sections, self.count,
                            &self.served.error);
    for (size_t i = 0; code == ETHOS_OK && i < self.count; i++)
        if (self.sections[i].code == ETHOS_NOMEM)
            code = ETHOS_NOMEM;
    if (code == ETHOS_OK)
        json = sections_json(&self);
    for (size_t i = 0; i < self.count; i++) {
        const struct ethos_section *section = &self.sections[i];
        if (code == ETHOS_OK && section->code != ETHOS_OK && section->code != ETHOS_NOTFOUND) {
            result->code = section->code; // the other texts are returned all the same
            result->error = section->error;
        }
        store_call_free_text(&self.served, &self.sections[i].text);
    }
    free(self.sections);
    return store_call_end(&self.served, code, json, result, error);
}

/* ---- list and scopes --------------------------------------------------------------------------- */

struct key_listing {
    const char *scope;
    json_t *list;
    uint64_t seed; /* hash of the keys of a tree: pages of different states are not mixed */
};

static int add_key_entry(void *arg, const struct ethos_entry *entry)
{
    struct key_listing *listing = arg;
    if (served_store_check_key(listing->scope, entry->key, NULL) != ETHOS_OK)
        return 0;
    op_json_push(&listing->list,
                 json_pack("{s:o, s:I, s:I}", "key", json_text(view_str(entry->key)), "bytes",
                           (json_int_t)entry->bytes, "mtimeMs", (json_int_t)entry->mtime_ms));
    if (scope_is_tree(listing->scope))
        listing->seed = hash_mix(listing->seed, view_str(entry->key));
    return listing->list ? 0 : ETHOS_NOMEM;
}

static int run_list_keys(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct store_call served;
    struct key_listing listing = {op_string(call, "scope"), json_array(), 0};
    int code = store_call_begin(call, &served);
    if (code == ETHOS_OK)
        code = served.store->ops->list(served.store, served.scope, add_key_entry, &listing,
                                       &served.error);
    json_t *json = json_pack("{s:o}", "entries", listing.list);
    if (code == ETHOS_OK)
        code = pages_cut_same(call, &json, "entries", "key", listing.seed, STORE_PAGE,
                              &served.error);
    return store_call_end(&served, code, json, result, error);
}

static int add_scope_name(void *arg, const char *scope)
{
    json_t **list = arg;
    op_json_push(list, json_text(view_str(scope)));
    return *list ? 0 : ETHOS_NOMEM;
}

static int run_scopes(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct store_call served;
    json_t *list = json_array();
    int code = store_call_begin(call, &served);
    if (code == ETHOS_OK)
        code = store_call_require(&served, served.store->ops->scopes);
    if (code == ETHOS_OK)
        code = served.store->ops->scopes(served.store, add_scope_name, &list, &served.error);
    json_t *json = json_pack("{s:o}", "scopes", list);
    if (code == ETHOS_OK)
        code = pages_cut(call, &json, "scopes", "", STORE_PAGE, &served.error);
    return store_call_end(&served, code, json, result, error);
}

/* ---- the table --------------------------------------------------------------------------------- */

#define SCOPE                                                                                      \
    {                                                                                              \
        "scope", OP_TEXT, OP_REQUIRED, NULL, "SCOPE", "a scope id, such as personality:ethos"      \
    }
#define KEY                                                                                        \
    {                                                                                              \
        "key", OP_TEXT, OP_REQUIRED, NULL, "KEY", "a key of the scope"                             \
    }
#define ID                                                                                         \
    {                                                                                              \
        "id", OP_TEXT, OP_REQUIRED, NULL, "ID", "the conflict copy, as store.conflicts names it"   \
    }
#define TEXT                                                                                       \
    {                                                                                              \
        "text", OP_VALUE, OP_REQUIRED, NULL, "TEXT", "a string, or {base64} for other bytes"       \
    }
#define ORIGIN                                                                                     \
    {                                                                                              \
        "origin", OP_VALUE, 0, NULL, "ORIGIN", "who writes, and the operation id, as in history"   \
    }

static const struct op_arg no_args[] = {ARG_END};
#define PAGE ARG_LIMIT("1|10000", "at most this many (default: 10000)"), ARG_CURSOR
static const struct op_arg page_args[] = {PAGE, ARG_END};
static const struct op_arg list_args[] = {SCOPE, PAGE, ARG_END};
static const struct op_arg gather_args[] = {
    {"at", OP_TEXT, OP_MANY | OP_REQUIRED, NULL, "SCOPE/KEY", "which texts"},
    {"tailBytes", OP_INTEGER, 0, "0|67108864", "N", "only so much of the end of each (0: all)"},
    ARG_END};
static const struct op_arg swap_args[] = {
    SCOPE,
    {"edits", OP_VALUE, OP_REQUIRED, NULL, "EDITS",
     "an array of {key, expect?, text? or drop?, actions?, receipt?}"},
    ORIGIN,
    ARG_END};
static const struct op_arg history_args[] = {
    SCOPE,
    {"key", OP_TEXT, 0, NULL, "KEY", "only of this key"},
    {"after", OP_INTEGER, 0, "0|9007199254740991", "N", "start after the change with this number"},
    {"skip", OP_INTEGER, 0, "0|9007199254740991", "N", "skip so many unnumbered changes"},
    ARG_END};
static const struct op_arg version_args[] = {
    SCOPE,
    KEY,
    {"revision", OP_TEXT, OP_REQUIRED, NULL, "REV", "a revision that the history names"},
    ARG_END};
static const struct op_arg text_args[] = {SCOPE, KEY, TEXT, ARG_END};
static const struct op_arg copy_args[] = {SCOPE, ID, ARG_END};
static const struct op_arg graft_args[] = {
    SCOPE,
    {"commit", OP_VALUE, OP_REQUIRED, NULL, "COMMIT", "{version, rows, edits, copies, texts}"},
    ARG_END};

#define READS OP_IDEMPOTENT
#define WRITES (OP_WRITES | OP_IDEMPOTENT | OP_LARGE)

const struct op ops_store[] = {
    {"store.info", NULL, "Describe the store of this home", NULL, no_args, OP_STORE, READS,
     run_info},
    {"store.gather", NULL, "Read texts byte for byte, by scope and key", NULL, gather_args,
     OP_STORE, READS, run_read_many},
    {"store.swap", NULL, "Replace texts of a scope atomically if none has changed", NULL, swap_args,
     OP_STORE, WRITES | OP_DESTRUCTIVE, store_run_swap},
    {"store.list", NULL, "List the texts of a scope", NULL, list_args, OP_STORE, READS,
     run_list_keys},
    {"store.scopes", NULL, "List the scopes that were ever written", NULL, page_args, OP_STORE,
     READS, run_scopes},
    {"store.history", NULL, "List recorded changes, newest first", NULL, history_args, OP_STORE,
     READS, store_run_history},
    {"store.version", NULL, "Read an older version of a text", NULL, version_args, OP_STORE, READS,
     store_run_version},
    {"store.setAside", NULL, "Save a text as a conflict copy", NULL, text_args, OP_STORE, WRITES,
     store_run_set_aside},
    {"store.conflicts", NULL, "List conflict copies", NULL, list_args, OP_STORE, READS,
     store_run_conflicts},
    {"store.conflictRead", NULL, "Read a conflict copy", NULL, copy_args, OP_STORE, READS,
     store_run_conflict_read},
    {"store.conflictDrop", NULL, "Delete a conflict copy", NULL, copy_args, OP_STORE, WRITES,
     store_run_conflict_drop},
    {"store.keep", NULL, "Add a text to a key's history without changing the key", NULL, text_args,
     OP_STORE, WRITES, store_run_keep},
    {"store.graft", NULL, "Import changes of another store, with their texts", NULL, graft_args,
     OP_STORE, WRITES | OP_DESTRUCTIVE, store_run_import_commit},
    {0}};
