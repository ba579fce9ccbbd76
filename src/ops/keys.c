/*
 * keys.c: the operations apiKeys.*: keys for programs that ask over the network.
 *
 * The secret is shown once, when the key is made; what is kept is its hash. Its beginning is public, and
 * what people tell keys apart by.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/os.h"
#include "base/utf8.h"
#include "base/view.h"
#include "ops/report.h"
#include "ops/tables.h"

#define KEY_START "sk-ethos-"
#define KEY_RANDOM 32                                /* bytes */
#define KEY_SIZE (sizeof KEY_START + 2 * KEY_RANDOM) /* with terminator */
#define KEY_PREFIX (sizeof KEY_START - 1 + 8)        /* characters that are public */
#define MAX_NAME 100                                 /* bytes */
#define MAX_LIST 500                                 /* bytes: all scopes, all origins */

/* Rights, and names that are reserved for what is to come. */
#define SCOPES                                                                                     \
    "memory:read|memory:write|sessions:read|sessions:write|personalities:read|chat:send|store|"    \
    "personalities:write|tools:approve|events:subscribe|metrics:read"

static int open_store(struct op_call *call, struct ethos_sessions **out, struct ethos_error *error)
{
    int code = ethos_sessions(call->ethos, out, error);
    if (code == ETHOS_OK && !(*out)->ops->keys)
        code = err_set(error, ETHOS_UNSUPPORTED, "this session store keeps no keys");
    return code;
}

/* ---- lists ---------------------------------------------------------------------------------- */

/* An array of words, joined by commas. */
static int join(const struct op_call *call, const char *name, struct str *out,
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

static json_t *split(const char *list)
{
    json_t *array = json_array();
    while (array && *list) {
        size_t size = strcspn(list, ",");
        op_json_push(&array, json_text(view_of(list, size)));
        list += size + (list[size] == ',');
    }
    return array;
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
            return err_hint(error,
                            err_set(error, ETHOS_INVALID, "origin: '%s' is no origin", origin.data),
                            "write it as https://example.org, with a port if need be");
    }
    return ETHOS_OK;
}

/* An agent's key never has what is for machines. */
static int check_agent(const struct op_call *call, struct ethos_error *error)
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
        return err_set(error, ETHOS_IO, "the system gives no random numbers");
    memcpy(out, KEY_START, size);
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(out + size + 2 * i, 3, "%02x", random[i]);
    explicit_bzero(random, sizeof random);
    return ETHOS_OK;
}

static int check_name(const char *name, struct ethos_error *error)
{
    for (const char *at = name; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7F)
            return err_set(error, ETHOS_INVALID, "name: must not have control characters");
    if (!*name || strlen(name) > MAX_NAME)
        return err_set(error, ETHOS_INVALID, "name: must have 1 to %d bytes", MAX_NAME);
    return ETHOS_OK;
}

static int keep(struct op_call *call, struct ethos_key *key, const char *secret,
                struct ethos_error *error)
{
    struct ethos_sessions *store;
    char hash[HASH_HEX_SIZE];
    int code = open_store(call, &store, error);
    hash_hex(view_str(secret), hash);
    key->hash = hash;
    if (code == ETHOS_OK && !call->dry_run)
        code = store->ops->key_add(store, key, error);
    return code;
}

static int create(struct op_call *call, const struct str *scopes, const struct str *origins,
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
        code = keep(call, &key, secret, error);
    if (code == ETHOS_OK)
        code = op_return_change(call, result,
                                json_pack("{s:s, s:s, s:s, s:o, s:o, s:b}", "key", secret, "prefix",
                                          prefix, "name", name, "scopes", split(scopes->data),
                                          "allowedOrigins", split(origins->data), "agent",
                                          key.agent),
                                error);
    explicit_bzero(secret, sizeof secret);
    return code;
}

static int run_create(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct str scopes, origins;
    str_init(&scopes, MAX_LIST);
    str_init(&origins, MAX_LIST);
    int code = check_name(op_string(call, "name"), error);
    if (code == ETHOS_OK)
        code = check_agent(call, error);
    if (code == ETHOS_OK)
        code = check_origins(call, error);
    if (code == ETHOS_OK)
        code = join(call, "scope", &scopes, error);
    if (code == ETHOS_OK)
        code = join(call, "origin", &origins, error);
    if (code == ETHOS_OK)
        code = create(call, &scopes, &origins, result, error);
    str_release(&scopes);
    str_release(&origins);
    return code;
}

/* ---- list, revoke ---------------------------------------------------------------------------- */

static int add_row(void *arg, const struct ethos_key *key)
{
    json_t **rows = arg;
    op_json_push(rows,
                 json_pack("{s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o}", "prefix",
                           op_json_string(key->prefix), "name", op_json_string(key->name), "scopes",
                           split(key->scopes), "allowedOrigins", split(key->origins), "agent",
                           key->agent, "createdAt", op_json_string(key->created_at), "lastUsedAt",
                           op_json_string(key->last_used_at), "revokedAt",
                           op_json_string(key->revoked_at)));
    return *rows ? ETHOS_OK : ETHOS_NOMEM;
}

static int run_list(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct ethos_sessions *store;
    json_t *rows = json_array();
    int code = open_store(call, &store, error);
    if (code == ETHOS_OK)
        code = store->ops->keys(store, add_row, &rows, error);
    if (code == ETHOS_OK)
        return op_return(result, json_pack("{s:o}", "items", rows), error);
    json_decref(rows);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

static int run_revoke(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct ethos_sessions *store;
    const char *prefix = op_string(call, "prefix");
    int code = open_store(call, &store, error);
    if (code == ETHOS_OK && !call->dry_run)
        code = store->ops->key_revoke(store, prefix, error);
    if (code == ETHOS_NOTFOUND)
        err_hint(error, code, "ethos api-key list shows them");
    if (code != ETHOS_OK)
        return code;
    return op_return_change(call, result, json_pack("{s:b, s:s}", "ok", 1, "prefix", prefix),
                            error);
}

static const struct op_arg create_args[] = {
    {"name", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "NAME", "what it is for"},
    {"scope", OP_CHOICE, OP_MANY | OP_REQUIRED, SCOPES, "SCOPE",
     "a right that it has, such as memory:read"},
    {"origin", OP_TEXT, OP_MANY, NULL, "ORIGIN",
     "only for web pages of this origin (default: any caller)"},
    {"agent", OP_FLAG, 0, NULL, NULL, "it is an agent's: never approves what waits for a person"},
    ARG_END};
static const struct op_arg revoke_args[] = {{"prefix", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL,
                                             "PREFIX", "how the key begins, as the list shows it"},
                                            ARG_END};
static const struct op_arg no_args[] = {ARG_END};

const struct op ops_keys[] = {
    {"apiKeys.create", "api-key create", "Make a key for a program; it is shown once",
     "ethos api-key create laptop --scope memory:read", create_args, OP_OWNER,
     OP_WRITES | OP_DATABASE, run_create},
    {"apiKeys.list", "api-key list", "List the keys of programs", "ethos api-key list", no_args,
     OP_OWNER, OP_IDEMPOTENT | OP_DATABASE, run_list},
    {"apiKeys.revoke", "api-key revoke", "Revoke a key, for good",
     "ethos api-key revoke sk-ethos-8d1f0c2a", revoke_args, OP_OWNER,
     OP_WRITES | OP_IDEMPOTENT | OP_DATABASE, run_revoke},
    {0}};
