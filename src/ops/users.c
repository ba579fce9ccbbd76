/*
 * users.c: the operations users.*: who is known, and which identities are one person.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/os.h"
#include "base/view.h"
#include "core/scope.h"
#include "memory/backends.h"
#include "memory/service.h"
#include "ops/tables.h"

static int load_map(struct op_call *call, struct identity_map *out, struct ethos_error *error)
{
    int dir;
    int code = service_open_root(call->ethos, false, &dir, error);
    if (code != ETHOS_OK)
        return code;
    code = identity_load(dir, out, error);
    if (dir >= 0)
        os_close(dir);
    return code;
}

/* The members of an entry that every reader may rely on. */
static json_t *identity_row(const json_t *entry, bool local)
{
    static const char *const members[] = {"userId", "platform", "platformUserId", "displayLabel",
                                          "firstSeenAt"};
    json_t *row = json_object();
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        json_t *value = json_object_get(entry, members[i]);
        op_json_put(&row, members[i], value ? json_incref(value) : json_null());
    }
    op_json_put(&row, "local", json_boolean(local));
    return row;
}

/* Every entry with a usable id, or those of one user. */
static json_t *identity_rows(const struct identity_map *map, const char *local, const char *only)
{
    json_t *rows = json_array();
    size_t index;
    json_t *entry;
    json_array_foreach (map->entries, index, entry) {
        struct ethos_view user = json_view(entry, "userId");
        if (scope_id_ok(user) && (!only || view_eq_str(user, only)))
            op_json_push(&rows, identity_row(entry, view_eq_str(user, local)));
    }
    return rows;
}

struct remembered {
    json_t *rows;
    const char *local;
};

static bool has_user(const json_t *rows, const char *user)
{
    size_t index;
    json_t *row;
    json_array_foreach ((json_t *)rows, index, row) {
        if (view_eq_str(json_view(row, "userId"), user))
            return true;
    }
    return false;
}

/* Somebody whom another machine has met: who that is elsewhere is written down there. */
static int add_remembered(void *arg, struct ethos_provider *provider, const char *scope)
{
    struct remembered *remembered = arg;
    enum scope_kind kind;
    const char *id;
    (void)provider;
    if (scope_parse(scope, &kind, &id, NULL) != ETHOS_OK || kind != SCOPE_USER ||
        has_user(remembered->rows, id))
        return ETHOS_OK;
    json_t *entry = json_pack("{s:s}", "userId", id);
    op_json_push(&remembered->rows, identity_row(entry, strcmp(id, remembered->local) == 0));
    json_decref(entry);
    return ETHOS_OK;
}

static int run_list(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    char local[ETHOS_MAX_ID + 1];
    struct identity_map map;
    int code = service_local_user(call->ethos, local, error);
    if (code == ETHOS_OK)
        code = load_map(call, &map, error);
    if (code != ETHOS_OK)
        return code;
    struct remembered remembered = {identity_rows(&map, local, NULL), local};
    identity_release(&map);
    if (backends_scopes(call->ethos, add_remembered, &remembered, NULL) == ETHOS_NOMEM) {
        json_decref(remembered.rows);
        return err_nomem(error);
    }
    return op_return(
        result, json_pack("{s:s, s:o}", "localUserId", local, "users", remembered.rows), error);
}

static int show_user(const char *user, bool local, json_t *identities,
                     const struct ethos_file *profile, struct op_result *result,
                     struct ethos_error *error)
{
    if (identities && !local && !profile->text && json_array_size(identities) == 0) {
        json_decref(identities);
        int code = err_set(error, ETHOS_NOTFOUND, "no such user: %s", user);
        return err_hint(error, code, "ethos users list shows who is known");
    }
    return op_return(result,
                     json_pack("{s:s, s:b, s:o, s:o, s:I}", "userId", user, "local", local,
                               "identities", identities, "profile", op_json_string(profile->path),
                               "bytes", (json_int_t)profile->size),
                     error);
}

static int run_show(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    char local[ETHOS_MAX_ID + 1];
    struct identity_map map;
    struct ethos_turn *turn;
    struct ethos_request request = *call->request;
    const char *wanted = op_string(call, "id");
    if (wanted)
        request.user = wanted;
    int code = service_local_user(call->ethos, local, error);
    if (code == ETHOS_OK)
        code = ethos_turn_new(call->ethos, &request, &turn, error);
    if (code != ETHOS_OK)
        return code;
    const struct ethos_target profile = {"user", NULL, NULL};
    const char *user = ethos_turn_context(turn)->user;
    struct ethos_file *file = NULL;
    code = ethos_read(turn, &profile, &file, error);
    if (code == ETHOS_OK)
        code = load_map(call, &map, error);
    if (code == ETHOS_OK) {
        code = show_user(user, strcmp(user, local) == 0, identity_rows(&map, local, user), file,
                         result, error);
        identity_release(&map);
    }
    ethos_file_free(file);
    ethos_turn_free(turn);
    return code;
}

static json_t *pair_json(const struct op_call *call, const char *user)
{
    return json_pack("{s:o, s:o, s:s}", "platform", op_json_string(op_string(call, "platform")),
                     "platformUserId", op_json_string(op_string(call, "platformUserId")), "userId",
                     user);
}

/* Writes the map; with preview, only what would change in it. */
static int write_pair(struct op_call *call, const char *user, bool relink, struct str *preview,
                      struct ethos_error *error)
{
    int dir;
    int code = service_open_root(call->ethos, !preview, &dir, error);
    if (code != ETHOS_OK)
        return code;
    code = identity_record(dir, op_string(call, "platform"), op_string(call, "platformUserId"),
                           user, relink, service_now_ms(call->ethos), preview, error);
    if (dir >= 0)
        os_close(dir);
    return code;
}

/* Rehearses first, so that what is refused or changes nothing makes no directory either. */
static int record(struct op_call *call, const char *user, bool relink, struct op_result *result,
                  struct ethos_error *error)
{
    int code = write_pair(call, user, relink, &result->text, error);
    if (code == ETHOS_OK && result->text.size > 0 && !call->dry_run)
        code = write_pair(call, user, relink, NULL, error);
    if (code != ETHOS_OK)
        return code;
    return op_return_change(call, result, pair_json(call, user), error);
}

static int run_resolve(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    char user[ETHOS_MAX_ID + 1];
    bool known;
    struct identity_map map;
    int code = load_map(call, &map, error);
    if (code != ETHOS_OK)
        return code;
    code = identity_resolve(&map, op_string(call, "platform"), op_string(call, "platformUserId"),
                            user, &known, error);
    identity_release(&map);
    if (code == ETHOS_OK && known) // answered even by the copy of a damaged map
        return op_return_change(call, result, pair_json(call, user), error);
    return code == ETHOS_OK ? record(call, user, false, result, error) : code;
}

static int run_link(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return record(call, op_string(call, "userId"), true, result, error);
}

#define ARG_PAIR                                                                                   \
    {"platform", OP_TEXT,    OP_REQUIRED | OP_POSITIONAL,                                          \
     NULL,       "PLATFORM", "cli, telegram, slack, ..."},                                         \
    {                                                                                              \
        "platformUserId", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "PLATFORM_ID",               \
            "the person's id there"                                                                \
    }
#define ARG_END                                                                                    \
    {                                                                                              \
        NULL, OP_TEXT, 0, NULL, NULL, NULL                                                         \
    }

static const struct op_arg list_args[] = {ARG_END};
static const struct op_arg show_args[] = {
    {"id", OP_TEXT, OP_POSITIONAL, NULL, "ID", "a user id; yours when left out"}, ARG_END};
static const struct op_arg resolve_args[] = {ARG_PAIR, ARG_END};
static const struct op_arg link_args[] = {
    ARG_PAIR,
    {"userId", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "USER_ID", "the user both are"},
    ARG_END};

const struct op ops_users[] = {
    {"users.list", "users list", "List the people this memory knows", "ethos users list", list_args,
     OP_MEMORY_READ, OP_IDEMPOTENT | OP_QUICK, run_list},
    {"users.show", "users show", "Show one person: identities and profile", "ethos users show",
     show_args, OP_MEMORY_READ, OP_IDEMPOTENT | OP_QUICK, run_show},
    {"users.resolve", "users resolve", "Print the user id of an identity, noting a new one",
     "ethos users resolve telegram 4711", resolve_args, OP_OWNER, OP_WRITES | OP_IDEMPOTENT,
     run_resolve},
    {"users.link", "users link", "Make an identity another name of a user",
     "ethos users link telegram 4711 8d1f0c2ab3e4", link_args, OP_OWNER, OP_WRITES | OP_IDEMPOTENT,
     run_link},
    {0}};
