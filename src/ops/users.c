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

/* The members of an entry that every reader may rely on; bad entries give NULL. */
static json_t *identity_row(const json_t *entry, const char *local)
{
    struct ethos_view user = json_view(entry, "userId");
    if (!scope_id_ok(user))
        return NULL;
    static const char *const members[] = {"userId", "platform", "platformUserId", "displayLabel",
                                          "firstSeenAt"};
    json_t *row = json_object();
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        json_t *value = json_object_get(entry, members[i]);
        json_object_set(row, members[i], value ? value : json_null());
    }
    json_object_set_new(row, "local", json_boolean(view_eq_str(user, local)));
    return row;
}

static json_t *identity_rows(const struct identity_map *map, const char *local, const char *only)
{
    json_t *rows = json_array();
    size_t index;
    json_t *entry;
    json_array_foreach(map->entries, index, entry)
    {
        json_t *row = identity_row(entry, local);
        bool wanted = row && (!only || view_eq_str(json_view(row, "userId"), only));
        if (wanted)
            json_array_append(rows, row);
        json_decref(row);
    }
    return rows;
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
    json_t *rows = identity_rows(&map, local, NULL);
    identity_release(&map);
    return op_return(result, json_pack("{s:s, s:o}", "localUserId", local, "users", rows), error);
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
        code = op_return(result,
                         json_pack("{s:s, s:b, s:o, s:o, s:I}", "userId", user, "local",
                                   strcmp(user, local) == 0, "identities",
                                   identity_rows(&map, local, user), "profile",
                                   op_json_string(file->path), "bytes", (json_int_t)file->size),
                         error);
        identity_release(&map);
    }
    ethos_file_free(file);
    ethos_turn_free(turn);
    return code;
}

/* Writes the map (or previews the change) and answers with the pair. */
static int record(struct op_call *call, const char *user, bool relink, struct op_result *result,
                  struct ethos_error *error)
{
    const char *platform = op_string(call, "platform");
    const char *platform_user = op_string(call, "platformUserId");
    int dir;
    int code = service_open_root(call->ethos, !call->dry_run, &dir, error);
    if (code != ETHOS_OK)
        return code;
    code = identity_record(dir, platform, platform_user, user, relink, service_now_ms(call->ethos),
                           call->dry_run ? &result->text : NULL, error);
    if (dir >= 0)
        os_close(dir);
    result->has_text = call->dry_run && !call->want_json;
    if (code != ETHOS_OK)
        return code;
    return op_return(result,
                     json_pack("{s:o, s:o, s:s}", "platform", op_json_string(platform),
                               "platformUserId", op_json_string(platform_user), "userId", user),
                     error);
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
     OP_MEMORY_READ, OP_IDEMPOTENT, run_list},
    {"users.show", "users show", "Show one person: identities and profile", "ethos users show",
     show_args, OP_MEMORY_READ, OP_IDEMPOTENT, run_show},
    {"users.resolve", "users resolve", "Print the user id of a platform identity, noting a new one",
     "ethos users resolve telegram 4711", resolve_args, OP_OWNER, OP_WRITES | OP_IDEMPOTENT,
     run_resolve},
    {"users.link", "users link", "Make a platform identity another name of a user",
     "ethos users link telegram 4711 8d1f0c2ab3e4", link_args, OP_OWNER, OP_WRITES | OP_IDEMPOTENT,
     run_link},
    {0}};
