/*
 * api_keys.c: the operations apiKeys.* and browsers.*: API keys, and browsers that are signed in.
 *
 * A key is shown once, when it is created; only its hash is stored. Its prefix is public and identifies the key. The
 * limits of a key are stored among its scopes (op.h), so that a store or program that does not know limits cannot take
 * a limited key for an unlimited one.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/system/os.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "memory/provider/missing_slots.h"
#include "ops/admin/api_keys.h"
#include "ops/admin/login.h"
#include "ops/key_limits.h"
#include "ops/paging.h"
#include "ops/tables.h"
#include "ops/write_report.h"

#define KEY_START "sk-ethos-"
#define KEY_RANDOM 32                                /* bytes */
#define KEY_SIZE (sizeof KEY_START + 2 * KEY_RANDOM) /* with terminator */
#define KEY_PREFIX (sizeof KEY_START - 1 + 8)        /* characters that are public */
#define MAX_NAME 100                                 /* bytes */
#define MAX_LIST 500                                 /* bytes: all scopes, all origins */

/* Rights, and names that are reserved for later. */
#define SCOPES                                                                                     \
    "memory:read|memory:write|sessions:read|sessions:write|personalities:read|chat:send|store|"    \
    "personalities:write|tools:approve|events:subscribe|metrics:read"

static int open_key_store(struct op_call *call, struct ethos_sessions **out,
                          struct ethos_error *error)
{
    TRY(ethos_sessions(call->ethos, out, error));
    return SLOT_SESSIONS((*out), keys)
               ? ETHOS_OK
               : err_set(error, ETHOS_UNSUPPORTED, "this session store does not support keys");
}

bool op_store_has_keys(const struct ethos_sessions *store)
{
    return SLOT_SESSIONS(store, keys) && SLOT_SESSIONS(store, key_add) &&
           SLOT_SESSIONS(store, key_revoke) && SLOT_SESSIONS(store, key_used) &&
           SLOT_SESSIONS(store, keys_version);
}

/* ---- lists ---------------------------------------------------------------------------------- */

/* Joins an array argument with commas. */
static int join_words(const struct op_call *call, const char *name, struct str *out,
                      struct ethos_error *error)
{
    size_t index;
    json_t *item;
    json_array_foreach (json_object_get(call->args, name), index, item) {
        const char *word = json_string_value(item);
        if (strpbrk(word, ", ") || !*word)
            return err_set(error, ETHOS_INVALID, "%s: bad name '%s'", name, word);
        str_printf(out, "%s%s", index ? "," : "", word);
    }
    return str_code(out) == ETHOS_OK      ? ETHOS_OK
           : str_code(out) == ETHOS_LIMIT ? err_set(error, ETHOS_LIMIT, "%s: too many", name)
                                          : err_nomem(error);
}

/* The words of a list that start with a prefix, without the prefix. */
static json_t *split_words(const char *list, const char *start)
{
    json_t *array = json_array();
    while (array && *list) {
        size_t size = strcspn(list, ",");
        struct ethos_view word = view_of(list, size);
        if (view_starts(word, view_str(start)))
            op_json_push(&array, json_text(view_from(word, strlen(start))));
        list += size + (list[size] == ',');
    }
    return array;
}

static json_t *split_all(const char *list)
{
    return split_words(list, "");
}

static bool has_limits(const char *scopes)
{
    return strncmp(scopes, LIMITS_SCOPE, strlen(LIMITS_SCOPE)) == 0;
}

static json_t *split_scopes(const char *scopes)
{
    return split_words(scopes, has_limits(scopes) ? LIMITS_SCOPE : "");
}

/* "https://host[:port]" */
static int check_origins(const struct op_call *call, struct ethos_error *error)
{
    size_t index;
    json_t *item;
    json_array_foreach (json_object_get(call->args, "origin"), index, item) {
        struct ethos_view origin = view_str(json_string_value(item));
        size_t scheme = view_starts(origin, VIEW("https://"))  ? 8
                        : view_starts(origin, VIEW("http://")) ? 7
                                                               : 0;
        if (!scheme || origin.size == scheme || strpbrk(origin.data + scheme, "/?#@"))
            return err_hint(
                error, err_set(error, ETHOS_INVALID, "origin: '%s' is not an origin", origin.data),
                "write it as https://example.org, with a port if needed");
    }
    return ETHOS_OK;
}

/* "personality:ID", "user:ID", "workspace:ID" */
static int check_limits_argument(const struct op_call *call, struct ethos_error *error)
{
    size_t index;
    json_t *item;
    enum scope_kind kind;
    json_array_foreach (json_object_get(call->args, "only"), index, item) {
        const char *limit = json_string_value(item);
        if (scope_parse(limit, &kind, NULL, NULL) == ETHOS_OK && !scope_is_tree(limit) &&
            (kind == SCOPE_PERSONALITY || kind == SCOPE_USER || kind == SCOPE_WORKSPACE))
            continue;
        int code = err_set(error, ETHOS_INVALID, "only: '%s' is not a valid limit", limit);
        return err_hint(error, code, "use personality:ID, user:ID or workspace:ID");
    }
    return ETHOS_OK;
}

/* The scopes to store. In a limited key each is marked as limited, and the limits follow. */
static int join_scopes(const struct op_call *call, struct str *out, struct ethos_error *error)
{
    size_t index;
    json_t *item;
    const json_t *only = json_object_get(call->args, "only");
    bool limited = json_array_size(only) > 0;
    json_array_foreach (json_object_get(call->args, "scope"), index, item) {
        if (limited && strcmp(json_string_value(item), op_right_name(OP_STORE)) == 0)
            return err_set(error, ETHOS_INVALID, "scope: store cannot be limited with only");
        str_printf(out, "%s%s%s", index ? "," : "", limited ? LIMITS_SCOPE : "",
                   json_string_value(item));
    }
    json_array_foreach (only, index, item)
        str_printf(out, "," LIMITS_ONLY "%s", json_string_value(item));
    return str_code(out) == ETHOS_OK      ? ETHOS_OK
           : str_code(out) == ETHOS_LIMIT ? err_set(error, ETHOS_LIMIT, "scope, only: too many")
                                          : err_nomem(error);
}

/* A key of an agent cannot have rights for machines. */
static int check_agent_rights(const struct op_call *call, struct ethos_error *error)
{
    size_t index;
    json_t *item;
    enum op_right right;
    json_array_foreach (json_object_get(call->args, "scope"), index, item) {
        struct ethos_view name = view_str(json_string_value(item));
        if (op_flag(call, "agent") && op_right_parse(name, &right) &&
            (OP_RIGHT(right) & OP_RIGHTS_NEVER_AGENT))
            return err_set(error, ETHOS_INVALID, "scope: %s is not for the key of an agent",
                           name.data);
    }
    return ETHOS_OK;
}

/* ---- create --------------------------------------------------------------------------------- */

static int make_secret(char out[KEY_SIZE], struct ethos_error *error)
{
    unsigned char random[KEY_RANDOM];
    size_t size = sizeof KEY_START - 1;
    if (os_random(random, sizeof random) != 0)
        return err_set(error, ETHOS_IO, "cannot get random bytes from the system");
    memcpy(out, KEY_START, size);
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(out + size + 2 * i, 3, "%02x", random[i]);
    explicit_bzero(random, sizeof random);
    return ETHOS_OK;
}

static int check_key_name(const char *name, struct ethos_error *error)
{
    for (const char *at = name; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7F)
            return err_set(error, ETHOS_INVALID, "name: must not have control characters");
    if (!*name || strlen(name) > MAX_NAME)
        return err_set(error, ETHOS_INVALID, "name: must have 1 to %d bytes", MAX_NAME);
    return ETHOS_OK;
}

static int store_key(struct op_call *call, struct ethos_key *key, const char *secret,
                     struct ethos_error *error)
{
    struct ethos_sessions *store;
    char hash[HASH_HEX_SIZE];
    TRY(open_key_store(call, &store, error));
    hash_hex(view_str(secret), hash);
    key->hash = hash;
    return call->dry_run ? ETHOS_OK : store->ops->key_add(store, key, error);
}

static int create_key(struct op_call *call, const struct str *scopes, const struct str *origins,
                      struct op_result *result, struct ethos_error *error)
{
    char secret[KEY_SIZE], prefix[KEY_PREFIX + 1];
    const char *name = op_string(call, "name");
    int code = make_secret(secret, error);
    snprintf(prefix, sizeof prefix, "%.*s", (int)KEY_PREFIX, secret);
    struct ethos_key key = {.prefix = prefix,
                            .name = name,
                            .scopes = scopes->data,
                            .origins = origins->data,
                            .agent = op_flag(call, "agent")};
    if (code == ETHOS_OK)
        code = store_key(call, &key, secret, error);
    if (code == ETHOS_OK)
        code = op_return_change(call, result,
                                json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:b}", "key", secret,
                                          "prefix", prefix, "name", name, "scopes",
                                          split_scopes(scopes->data), "only",
                                          split_words(scopes->data, LIMITS_ONLY), "allowedOrigins",
                                          split_all(origins->data), "agent", key.agent),
                                error);
    explicit_bzero(secret, sizeof secret);
    return code;
}

static int run_create_key(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    CLEANUP_STR struct str scopes;
    CLEANUP_STR struct str origins;
    str_init(&scopes, MAX_LIST);
    str_init(&origins, MAX_LIST);
    TRY(check_key_name(op_string(call, "name"), error));
    TRY(check_agent_rights(call, error));
    TRY(check_origins(call, error));
    TRY(check_limits_argument(call, error));
    TRY(join_scopes(call, &scopes, error));
    TRY(join_words(call, "origin", &origins, error));
    return create_key(call, &scopes, &origins, result, error);
}

/* ---- list, revoke ---------------------------------------------------------------------------- */

static bool is_browser(const struct ethos_key *key)
{
    return view_starts(view_str(key->prefix), VIEW(ETHOS_BROWSER_PREFIX));
}

static int add_key_row(void *arg, const struct ethos_key *key)
{
    json_t **rows = arg;
    if (is_browser(key))
        return ETHOS_OK;
    op_json_push(rows,
                 json_pack("{s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o}", "prefix",
                           op_json_string(key->prefix), "name", op_json_string(key->name), "scopes",
                           split_scopes(key->scopes), "only", split_words(key->scopes, LIMITS_ONLY),
                           "allowedOrigins", split_all(key->origins), "agent", key->agent,
                           "createdAt", op_json_string(key->created_at), "lastUsedAt",
                           op_json_string(key->last_used_at), "revokedAt",
                           op_json_string(key->revoked_at)));
    return *rows ? ETHOS_OK : ETHOS_NOMEM;
}

/* Whether the key is that of a browser whose session has not ended. */
static bool is_signed_in(const struct ethos_key *key)
{
    int64_t made_ms = 0;
    return is_browser(key) && !key->revoked_at &&
           clock_parse(view_str(key->created_at), 0, false, &made_ms, NULL) &&
           os_now_ms() - made_ms < LOGIN_DAYS_MS;
}

static int add_browser(void *arg, const struct ethos_key *key)
{
    json_t **rows = arg;
    if (!is_signed_in(key))
        return ETHOS_OK;
    op_json_push(rows,
                 json_pack("{s:o, s:o, s:o, s:o}", "prefix", op_json_string(key->prefix), "name",
                           op_json_string(key->name), "createdAt", op_json_string(key->created_at),
                           "lastUsedAt", op_json_string(key->last_used_at)));
    return *rows ? ETHOS_OK : ETHOS_NOMEM;
}

static int list_key_rows(struct op_call *call, ethos_key_fn *each, struct op_result *result,
                         struct ethos_error *error)
{
    struct ethos_sessions *store;
    json_auto_t *rows = json_array();
    TRY(open_key_store(call, &store, error));
    int code = store->ops->keys(store, each, &rows, error);
    if (code == ETHOS_NOMEM)
        err_nomem(error);
    TRY(code);
    json_auto_t *json = json_pack("{s:O}", "items", rows);
    TRY(pages_cut(call, &json, "items", "prefix", PAGES_ROWS, error));
    return op_return(result, json_incref(json), error);
}

static int run_list_keys(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return list_key_rows(call, add_key_row, result, error);
}

static int run_list_browsers(struct op_call *call, struct op_result *result,
                             struct ethos_error *error)
{
    return list_key_rows(call, add_browser, result, error);
}

/* The keys, or browsers, that an argument names. */
struct named_keys {
    const char *given; /* a prefix or a name */
    bool browsers;
    bool exact;            /* one has this prefix */
    size_t valid, revoked; /* by name */
    char valid_prefix[80], revoked_prefix[80];
    struct str prefixes; /* of the valid ones */
};

static int match_key(void *arg, const struct ethos_key *key)
{
    struct named_keys *named = arg;
    if (is_browser(key) != named->browsers)
        return ETHOS_OK;
    named->exact |= strcmp(key->prefix, named->given) == 0;
    if (strcmp(key->name, named->given) != 0)
        return ETHOS_OK;
    size_t *count = key->revoked_at ? &named->revoked : &named->valid;
    char *prefix = key->revoked_at ? named->revoked_prefix : named->valid_prefix;
    snprintf(prefix, sizeof named->valid_prefix, "%s", key->prefix);
    if (!key->revoked_at)
        str_printf(&named->prefixes, "%s%s", *count ? ", " : "", key->prefix);
    (*count)++;
    return ETHOS_OK;
}

static int refuse_named_key(const struct named_keys *meant, struct ethos_error *error)
{
    const char *what = meant->browsers ? "browser" : "key",
               *command = meant->browsers ? "browsers" : "api-key";
    bool several = meant->valid > 1;
    int code = several ? err_set(error, ETHOS_INVALID, "%zu %ss are called %s", meant->valid, what,
                                 meant->given)
                       : err_set(error, ETHOS_NOTFOUND, "no such %s: %s", what, meant->given);
    return several ? err_hint(error, code, "name one of: %s", meant->prefixes.data)
                   : err_hint(error, code, "ethos %s list shows them", command);
}

static int revoke_key(struct op_call *call, bool browsers, struct op_result *result,
                      struct ethos_error *error)
{
    struct ethos_sessions *store;
    struct named_keys named = {.given = op_string(call, "prefix"), .browsers = browsers};
    TRY(open_key_store(call, &store, error));
    str_init(&named.prefixes, MAX_LIST);
    int code = store->ops->keys(store, match_key, &named, error);
    const char *prefix = named.exact                              ? named.given
                         : named.valid == 1                       ? named.valid_prefix
                         : named.valid == 0 && named.revoked == 1 ? named.revoked_prefix
                                                                  : NULL;
    if (code == ETHOS_OK && !prefix)
        code = refuse_named_key(&named, error);
    str_release(&named.prefixes);
    TRY(code);
    if (!call->dry_run)
        TRY(store->ops->key_revoke(store, prefix, error));
    return op_return_change(call, result, json_pack("{s:b, s:s}", "ok", 1, "prefix", prefix),
                            error);
}

static int run_revoke_key(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return revoke_key(call, false, result, error);
}

static int run_revoke_browser(struct op_call *call, struct op_result *result,
                              struct ethos_error *error)
{
    return revoke_key(call, true, result, error);
}

static const struct op_arg create_args[] = {
    {"name", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "NAME", "what it is for"},
    {"scope", OP_CHOICE, OP_MANY | OP_REQUIRED, SCOPES, "SCOPE",
     "a right to grant, such as memory:read"},
    {"origin", OP_TEXT, OP_MANY, NULL, "ORIGIN",
     "only for web pages of this origin (default: any caller)"},
    {"only", OP_TEXT, OP_MANY, NULL, "KIND:ID",
     "limit it to this personality:ID, user:ID or workspace:ID; other kinds stay unlimited"},
    {"agent", OP_FLAG, 0, NULL, NULL, "an agent's key: it can never approve pending changes"},
    ARG_END};
static const struct op_arg revoke_args[] = {{"prefix", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL,
                                             "KEY",
                                             "the key's name or beginning, as the list shows it"},
                                            ARG_END};
static const struct op_arg sign_out_args[] = {{"prefix", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL,
                                               "BROWSER",
                                               "the browser's name or id, as the list shows it"},
                                              ARG_END};
static const struct op_arg list_args[] = {ARG_PAGE, ARG_END};

const struct op ops_keys[] = {
    {"apiKeys.create", "api-key create", "Create a key for a program; it is shown once",
     "ethos api-key create laptop --scope memory:read", create_args, OP_OWNER,
     OP_WRITES | OP_DATABASE, run_create_key},
    {"apiKeys.list", "api-key list", "List the keys of programs", "ethos api-key list", list_args,
     OP_OWNER, OP_IDEMPOTENT | OP_DATABASE, run_list_keys},
    {"apiKeys.revoke", "api-key revoke", "Revoke a key", "ethos api-key revoke laptop", revoke_args,
     OP_OWNER, OP_WRITES | OP_IDEMPOTENT | OP_DATABASE, run_revoke_key},
    {"browsers.list", "browsers list", "List the browsers that are signed in",
     "ethos browsers list", list_args, OP_OWNER, OP_IDEMPOTENT | OP_DATABASE, run_list_browsers},
    {"browsers.revoke", "browsers revoke", "Sign a browser out",
     "ethos browsers revoke browser-8d1f0c2a", sign_out_args, OP_OWNER,
     OP_WRITES | OP_IDEMPOTENT | OP_DATABASE, run_revoke_browser},
    {0}};
