/*
 * users.c: the operations users.*: the people this memory knows, and their identities on platforms.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/json.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/memory/profile_merge.h"
#include "core/memory/scope.h"
#include "memory/backends.h"
#include "memory/handle.h"
#include "ops/key_limits.h"
#include "ops/paging.h"
#include "ops/tables.h"

static int load_map(struct op_call *call, struct identity_map *out, struct ethos_error *error)
{
    CLEANUP_FD int dir = -1;
    TRY(service_open_root(call->ethos, false, &dir, error));
    return identity_load(dir, out, error);
}

/* An entry as a row; members that it lacks are null. */
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

/* The rows of all entries with a valid id, or only those of one user. */
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

struct user_rows {
    json_t *rows;
    json_t *users; /* of the rows: a set */
    const char *local;
    size_t first; /* the first row without an identity; from there on they are in order */
};

#define USERS "users"
#define PROFILE_PATH "%s/USER.md"

struct profile_rows {
    struct user_rows *remembered;
    int dir; /* users/ */
};

/* The user ids of rows; NULL: out of memory. */
static json_t *user_id_set(const json_t *rows)
{
    size_t index;
    json_t *row, *users = json_object();
    json_array_foreach ((json_t *)rows, index, row)
        op_json_put(&users, json_string_value(json_object_get(row, "userId")), json_true());
    return users;
}

/* Where to insert the row of a user, so that rows without identity are sorted. */
static size_t find_row_position(const struct user_rows *remembered, const char *user)
{
    size_t low = remembered->first, high = json_array_size(remembered->rows);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const json_t *row = json_array_get(remembered->rows, middle);
        if (strcmp(json_string_value(json_object_get(row, "userId")), user) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Adds a user with memory but no identity in this home, such as one added by another machine. */
static int add_remembered_user(void *arg, struct ethos_provider *provider, const char *scope)
{
    struct user_rows *remembered = arg;
    enum scope_kind kind;
    const char *id;
    (void)provider;
    if (scope_parse(scope, &kind, &id, NULL) != ETHOS_OK || kind != SCOPE_USER ||
        json_object_get(remembered->users, id))
        return ETHOS_OK;
    json_t *entry = json_pack("{s:s}", "userId", id);
    json_t *row = entry ? identity_row(entry, strcmp(id, remembered->local) == 0) : NULL;
    json_decref(entry);
    if (json_array_insert_new(remembered->rows, find_row_position(remembered, id), row) != 0)
        return ETHOS_NOMEM;
    op_json_put(&remembered->users, id, json_true());
    return remembered->users ? ETHOS_OK : ETHOS_NOMEM;
}

/* Adds a user with a profile in this home, written with --user or by another machine. */
static int add_profile(void *arg, const char *name)
{
    struct profile_rows *profiles = arg;
    char path[ETHOS_MAX_ID + sizeof PROFILE_PATH];
    char scope[ETHOS_MAX_SCOPE];
    struct stat info;
    if (scope_make(SCOPE_USER, name, scope, NULL) != ETHOS_OK)
        return 0;
    snprintf(path, sizeof path, PROFILE_PATH, name);
    if (os_fstatat(profiles->dir, path, &info, 0) != 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -1;
    errno = ENOMEM;
    return add_remembered_user(profiles->remembered, NULL, scope) == ETHOS_OK ? 0 : -1;
}

static int add_profiles(struct op_call *call, struct user_rows *remembered,
                        struct ethos_error *error)
{
    struct profile_rows profiles = {.remembered = remembered};
    CLEANUP_FD int root = -1;
    TRY(service_open_root(call->ethos, false, &root, error));
    if (root < 0)
        return ETHOS_OK;
    CLEANUP_FD int dir = os_open_beneath(root, USERS, O_RDONLY | O_DIRECTORY, 0);
    profiles.dir = dir;
    if (dir >= 0 ? os_list(dir, add_profile, &profiles) != 0 : errno != ENOENT)
        return err_errno(error, errno, USERS);
    return ETHOS_OK;
}

/* Leaves one page of identities. */
static int cut_identities(const struct op_call *call, json_t **json, const char *name,
                          struct ethos_error *error)
{
    return pages_cut(call, json, name, "userId platform platformUserId", PAGES_ROWS, error);
}

static int run_list_users(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    char local[ETHOS_MAX_ID + 1];
    struct identity_map map;
    int code = service_local_user(call->ethos, local, error);
    if (code == ETHOS_OK)
        code = load_map(call, &map, error);
    if (code != ETHOS_OK)
        return code;
    json_t *rows = identity_rows(&map, local, NULL);
    struct user_rows remembered = {rows, user_id_set(rows), local, json_array_size(rows)};
    identity_release(&map);
    code = remembered.users ? add_profiles(call, &remembered, error) : err_nomem(error);
    if (code == ETHOS_OK &&
        backends_scopes(call->ethos, add_remembered_user, &remembered, NULL) == ETHOS_NOMEM)
        code = err_nomem(error);
    json_decref(remembered.users);
    limits_filter(call, "user", "userId", remembered.rows);
    bool shown = !call->only || limits_allow(call->only, "user", local);
    json_t *json = json_pack("{s:s, s:o}", "localUserId", shown ? local : "", "users",
                             remembered.rows);
    if (code == ETHOS_OK)
        code = cut_identities(call, &json, "users", error);
    if (code == ETHOS_OK)
        return op_return(result, json, error);
    json_decref(json);
    return code;
}

static int show_user(const struct op_call *call, const char *user, bool local, json_t *identities,
                     const struct ethos_file *profile, struct op_result *result,
                     struct ethos_error *error)
{
    if (identities && !local && !profile->text && json_array_size(identities) == 0) {
        json_decref(identities);
        int code = err_set(error, ETHOS_NOTFOUND, "no such user: %s", user);
        return err_hint(error, code, "ethos users list shows who is known");
    }
    json_t *json = json_pack("{s:s, s:b, s:o, s:o, s:I}", "userId", user, "local", local,
                             "identities", identities, "profile", op_json_string(profile->path),
                             "bytes", (json_int_t)profile->size);
    int code = cut_identities(call, &json, "identities", error);
    if (code == ETHOS_OK)
        return op_return(result, json, error);
    json_decref(json);
    return code;
}

static int run_show_user(struct op_call *call, struct op_result *result, struct ethos_error *error)
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
        code = show_user(call, user, strcmp(user, local) == 0, identity_rows(&map, local, user),
                         file, result, error);
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

/* Records an identity in the map; with a preview, only appends the diff to it. */
static int write_pair(struct op_call *call, const char *user, bool relink, struct str *preview,
                      struct ethos_error *error)
{
    CLEANUP_FD int dir = -1;
    TRY(service_open_root(call->ethos, !preview, &dir, error));
    return identity_record(dir, op_string(call, "platform"), op_string(call, "platformUserId"),
                           user, relink, service_now_ms(call->ethos), preview, error);
}

/* Previews first, so that a call that is refused or changes nothing creates no directory. */
static int record_pair(struct op_call *call, const char *user, bool relink,
                       struct op_result *result, struct ethos_error *error)
{
    TRY(write_pair(call, user, relink, &result->text, error));
    if (result->text.size > 0 && !call->dry_run)
        TRY(write_pair(call, user, relink, NULL, error));
    return op_return_change(call, result, pair_json(call, user), error);
}

static int run_resolve_user(struct op_call *call, struct op_result *result,
                            struct ethos_error *error)
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
    if (code == ETHOS_OK && known) // works even if the map is damaged
        return op_return_change(call, result, pair_json(call, user), error);
    return code == ETHOS_OK ? record_pair(call, user, false, result, error) : code;
}

/* ---- link ------------------------------------------------------------------------------------ */

/* The former user of an identity, and the lines of its profile that the new user's lacks. */
struct profile_merge {
    char from[ETHOS_MAX_ID + 1]; /* "": there is no profile to merge */
    struct str missing;
    size_t lines;
    struct str diff; /* of a dry run */
};

/*
 * Finds the user of the identity now or, if it is linked already, the user that it would have by itself. A user with
 * other identities keeps the profile.
 */
static int find_former_user(struct op_call *call, struct profile_merge *merging,
                            struct ethos_error *error)
{
    struct identity_map map;
    bool known;
    const char *platform = op_string(call, "platform");
    const char *platform_user = op_string(call, "platformUserId");
    int code = load_map(call, &map, error);
    if (code != ETHOS_OK)
        return code;
    code = identity_resolve(&map, platform, platform_user, merging->from, &known, error);
    if (code == ETHOS_OK && strcmp(merging->from, op_string(call, "userId")) == 0)
        code = identity_derive(&map, platform, platform_user, merging->from, error);
    if (code == ETHOS_OK && (strcmp(merging->from, op_string(call, "userId")) == 0 ||
                             !identity_alone(&map, merging->from, platform, platform_user)))
        *merging->from = '\0';
    identity_release(&map);
    return code;
}

static int open_turn_of_user(struct op_call *call, const char *user, struct ethos_turn **out,
                             struct ethos_error *error)
{
    struct ethos_request request = *call->request;
    request.user = user;
    request.platform_user = NULL;
    return ethos_turn_new(call->ethos, &request, out, error);
}

static int read_profile(struct op_call *call, const char *user, struct ethos_file **out,
                        struct ethos_error *error)
{
    static const struct ethos_target profile = {"user", NULL, NULL};
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    TRY(open_turn_of_user(call, user, &turn, error));
    return ethos_read(turn, &profile, out, error);
}

/* Finds the lines of the former profile that the new user's lacks. */
static int find_missing_lines(struct op_call *call, struct profile_merge *merging,
                              struct ethos_error *error)
{
    CLEANUP_FILE struct ethos_file *from = NULL;
    CLEANUP_FILE struct ethos_file *into = NULL;
    str_clear(&merging->missing);
    merging->lines = 0;
    if (!*merging->from)
        return ETHOS_OK;
    TRY(read_profile(call, merging->from, &from, error));
    if (!from->text)
        return ETHOS_OK;
    TRY(read_profile(call, op_string(call, "userId"), &into, error));
    if (strcmp(from->scope, into->scope) != 0 &&
        profile_missing(view_of(from->text, from->size), view_of(into->text, into->size),
                        &merging->missing, &merging->lines) != ETHOS_OK)
        return err_nomem(error);
    return ETHOS_OK;
}

static void append_merge_diff(void *arg, const struct ethos_outcome *outcome)
{
    struct profile_merge *merging = arg;
    if (outcome->diff)
        str_adds(&merging->diff, outcome->diff);
}

/* Adds the missing lines as an ordinary update, with history and undo. */
static int merge_profile(struct op_call *call, struct profile_merge *merging,
                         struct ethos_error *error)
{
    const struct ethos_update update = {
        .action = ETHOS_ACTION_ADD, .store = "user", .text = str_view(&merging->missing)};
    const struct ethos_origin origin = op_origin(call);
    const struct ethos_sync_how how = {.origin = &origin,
                                       .flags = call->dry_run ? ETHOS_SYNC_DRY_RUN | ETHOS_SYNC_DIFF
                                                              : 0,
                                       .each = append_merge_diff,
                                       .arg = merging};
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    TRY(open_turn_of_user(call, op_string(call, "userId"), &turn, error));
    return ethos_sync(turn, &update, 1, &how, error);
}

/* Merges lines that were added to the former profile before the link was recorded. */
static int merge_late_lines(struct op_call *call, struct profile_merge *merging,
                            struct ethos_error *error)
{
    size_t lines = merging->lines;
    int code = find_missing_lines(call, merging, error);
    if (code == ETHOS_OK && merging->lines > 0)
        code = merge_profile(call, merging, error);
    merging->lines += lines;
    return code;
}

/*
 * Merges, then links. If the process dies in between, repeating the command finds nothing missing and links, so nothing
 * is added twice.
 */
static int link_pair(struct op_call *call, struct profile_merge *merging, struct op_result *result,
                     struct ethos_error *error)
{
    bool merge = merging->lines > 0 && op_flag(call, "merge");
    int code = merge ? merge_profile(call, merging, error) : ETHOS_OK;
    if (code == ETHOS_OK && str_add(&result->text, str_view(&merging->diff)) != ETHOS_OK)
        code = err_nomem(error);
    if (code == ETHOS_OK)
        code = record_pair(call, op_string(call, "userId"), true, result, error);
    if (code == ETHOS_OK && op_flag(call, "merge") && !call->dry_run)
        code = merge_late_lines(call, merging, error);
    if (code != ETHOS_OK || merging->lines == 0)
        return code;
    op_json_put(&result->json, "formerUserId", json_string(merging->from));
    op_json_put(&result->json, "profileLines", json_integer((json_int_t)merging->lines));
    op_json_put(&result->json, "merged", json_boolean(op_flag(call, "merge")));
    return result->json ? ETHOS_OK : err_nomem(error);
}

static int run_link(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct profile_merge merging = {.lines = 0};
    str_init(&merging.missing, ETHOS_MAX_STORE_BYTES);
    str_init(&merging.diff, ETHOS_MAX_STORE_BYTES);
    // a call that is refused must not change a profile
    int code = write_pair(call, op_string(call, "userId"), true, &merging.diff, error);
    str_clear(&merging.diff);
    if (code == ETHOS_OK)
        code = find_former_user(call, &merging, error);
    if (code == ETHOS_OK)
        code = find_missing_lines(call, &merging, error);
    if (code == ETHOS_OK)
        code = link_pair(call, &merging, result, error);
    str_release(&merging.missing);
    str_release(&merging.diff);
    return code;
}

/* ---- unlink ---------------------------------------------------------------------------------- */

/* Reports what is left of a user who has no identity any more. */
static int add_left_profile(struct op_call *call, const char *user, struct op_result *result,
                            struct ethos_error *error)
{
    CLEANUP_FILE struct ethos_file *profile = NULL;
    TRY(read_profile(call, user, &profile, error));
    op_json_put(&result->json, "leftUserId", json_string(user));
    op_json_put(&result->json, "profile", op_json_string(profile->text ? profile->path : NULL));
    op_json_put(&result->json, "bytes", json_integer((json_int_t)profile->size));
    return result->json ? ETHOS_OK : err_nomem(error);
}

/*
 * The user keeps the profile; the identity gets its own user id again.
 */
static int run_unlink(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    char user[ETHOS_MAX_ID + 1], own[ETHOS_MAX_ID + 1];
    const char *platform = op_string(call, "platform");
    const char *platform_user = op_string(call, "platformUserId");
    struct identity_map map;
    bool known = false, last = false;
    int code = load_map(call, &map, error);
    if (code != ETHOS_OK)
        return code;
    code = identity_resolve(&map, platform, platform_user, user, &known, error);
    if (code == ETHOS_OK)
        code = identity_derive(&map, platform, platform_user, own, error);
    if (code == ETHOS_OK)
        last = strcmp(user, own) != 0 && identity_alone(&map, user, platform, platform_user);
    identity_release(&map);
    if (code != ETHOS_OK)
        return code;
    if (!known)
        return err_hint(error,
                        err_set(error, ETHOS_NOTFOUND, "%s %s is not linked to anybody", platform,
                                platform_user),
                        "ethos users list shows who is known");
    code = record_pair(call, own, true, result, error);
    return code == ETHOS_OK && last ? add_left_profile(call, user, result, error) : code;
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

static const struct op_arg list_args[] = {ARG_PAGE, ARG_END};
static const struct op_arg show_args[] = {
    {"id", OP_TEXT, OP_POSITIONAL, NULL, "ID", "a user id (default: yours)"},
    ARG_LIMIT("1|5000", "at most this many identities (default: all; other surfaces: 1000)"),
    ARG_CURSOR,
    ARG_END};
static const struct op_arg resolve_args[] = {ARG_PAIR, ARG_END};
static const struct op_arg link_args[] = {
    ARG_PAIR,
    {"userId", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "USER_ID",
     "the user that it belongs to"},
    {"merge", OP_FLAG, 0, NULL, NULL, "merge the identity's own profile into the user's"},
    ARG_END};

const struct op ops_users[] = {
    {"users.list", "users list", "List the people this memory knows", "ethos users list", list_args,
     OP_MEMORY_READ, OP_IDEMPOTENT | OP_QUICK, run_list_users},
    {"users.show", "users show", "Show one person: identities and profile", "ethos users show",
     show_args, OP_MEMORY_READ, OP_IDEMPOTENT | OP_QUICK, run_show_user},
    {"users.resolve", "users resolve", "Print the user id of an identity, adding it if it is new",
     "ethos users resolve telegram 4711", resolve_args, OP_OWNER, OP_WRITES | OP_IDEMPOTENT,
     run_resolve_user},
    {"users.link", "users link", "Link an identity to a user",
     "ethos users link telegram 4711 8d1f0c2ab3e4", link_args, OP_OWNER, OP_WRITES | OP_IDEMPOTENT,
     run_link},
    {"users.unlink", "users unlink", "Unlink an identity, giving it its own user id again",
     "ethos users unlink telegram 4711", resolve_args, OP_OWNER, OP_WRITES, run_unlink},
    {0}};
