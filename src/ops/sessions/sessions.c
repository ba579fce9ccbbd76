/*
 * sessions.c: the operations sessions.* that change sessions, and sessions and messages as JSON.
 *
 * An id may be abbreviated, or be a session's key. Dry runs describe what they would do.
 */
#include "ops/sessions/sessions.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "core/sessions/attachment.h"
#include "core/sessions/normalize.h"
#include "memory/handle.h"
#include "memory/recall/recall.h"
#include "memory/sessions/lookup.h"
#include "memory/workspace/workspace.h"
#include "ops/tables.h"

#define TITLE_UNITS 200        /* characters of a title */
#define TITLE_BYTES 65536      /* of a title that another program may have written */
#define ROLES_BYTES 1073741824 /* one for each message of a session */
#define OLD_PAGE 200           /* sessions listed at once to prune them */

/* ---- rows ------------------------------------------------------------------------------------- */

static json_t *usage_json(const struct ethos_usage *usage)
{
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:f, s:I, s:I}", "inputTokens", (json_int_t)usage->input_tokens,
        "outputTokens", (json_int_t)usage->output_tokens, "cacheReadTokens",
        (json_int_t)usage->cache_read_tokens, "cacheCreationTokens",
        (json_int_t)usage->cache_creation_tokens, "estimatedCostUsd",
        isfinite(usage->cost_usd) ? usage->cost_usd : 0.0, "apiCallCount",
        (json_int_t)usage->api_calls, "compactionCount", (json_int_t)usage->compactions);
}

json_t *sessions_row(const struct ethos_session *session)
{
    json_t *row = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:i, s:I}", "id",
        op_json_string(session->id), "key", op_json_string(session->key), "platform",
        op_json_string(session->platform), "model", op_json_string(session->model), "provider",
        op_json_string(session->provider), "personalityId", op_json_string(session->personality),
        "parentSessionId", op_json_string(session->parent), "workingDir",
        op_json_string(session->working_dir), "title", op_json_string(session->title), "pinned",
        session->pinned, "usage", usage_json(&session->usage), "createdAt",
        op_json_string(session->created_at), "updatedAt", op_json_string(session->updated_at),
        "version", 1, "turnCount", (json_int_t)session->turns);
    if (session->user)
        op_json_put(&row, "userId", op_json_string(session->user));
    return row;
}

/* One call in the form of the wire, {"id", "name", "input"}; missing members are empty. */
static json_t *call_json(const json_t *call)
{
    json_t *input = json_object_get(call, "input");
    return json_pack("{s:o, s:o, s:o}", "id", json_text(json_view(call, "id")), "name",
                     json_text(json_view(call, "name")), "input",
                     input ? json_incref(input) : json_object());
}

/* The calls of a message; JSON null if another program stored something else. */
static json_t *calls_json(const char *text)
{
    json_t *calls = NULL, *row, *out = json_null();
    size_t index;
    int code = text ? json_parse(view_str(text), "tool calls", &calls, NULL) : ETHOS_OK;
    if (code == ETHOS_OK && json_is_array(calls))
        out = json_array();
    json_array_foreach (calls, index, row)
        if (json_is_object(row))
            op_json_push(&out, call_json(row));
    json_decref(calls);
    return code == ETHOS_NOMEM ? NULL : out;
}

json_t *sessions_message(const struct ethos_message *message)
{
    json_t *row = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "id", op_json_string(message->id), "sessionId",
        op_json_string(message->session), "role", op_json_string(message->role), "content",
        json_text(message->content), "toolCallId", op_json_string(message->tool_call_id),
        "toolName", op_json_string(message->tool_name), "toolCalls",
        calls_json(message->tool_calls), "timestamp", op_json_string(message->timestamp));
    if (message_is_untrusted(message->role, message->content_blocks, message->content))
        op_json_put(&row, "untrusted", json_true());
    return row;
}

int sessions_walk_code(int code, struct ethos_error *error)
{
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

int sessions_add_title(const struct op_call *call, json_t *row, struct ethos_error *error)
{
    struct str made;
    json_t *title = json_incref(json_object_get(row, "title"));
    int code = ETHOS_OK;
    if (view_blank(json_view(row, "title"))) {
        json_decref(title);
        str_init(&made, TITLE_BYTES);
        code = sessions_title(call->ethos, json_view(row, "id").data, call->guarded, &made, error);
        title = made.size > 0 ? json_text(str_view(&made)) : json_null();
        str_release(&made);
    }
    if (json_object_set_new(row, "displayTitle", title) != 0 && code == ETHOS_OK)
        code = err_nomem(error);
    return code;
}

static int store_session_row(void *arg, const struct ethos_session *session)
{
    json_t **row = arg;
    *row = sessions_row(session);
    return *row ? ETHOS_OK : ETHOS_NOMEM;
}

int sessions_read_row(const struct op_call *call, const char *id, json_t **out_row,
                      struct ethos_error *error)
{
    struct ethos_sessions *store;
    *out_row = NULL;
    int code = ethos_sessions(call->ethos, &store, error);
    if (code == ETHOS_OK)
        code = sessions_walk_code(store->ops->get(store, id, store_session_row, out_row, error),
                                  error);
    if (code == ETHOS_OK)
        code = sessions_add_title(call, *out_row, error);
    if (code != ETHOS_OK) {
        json_decref(*out_row);
        *out_row = NULL;
    }
    return code;
}

/* Finds the folder of a workspace that the call names by its id. */
static int find_workspace_folder(const struct op_call *call, char out_path[PATH_MAX],
                                 struct ethos_error *error)
{
    struct ethos_turn *turn;
    int code = ethos_turn_new(call->ethos, call->request, &turn, error);
    if (code != ETHOS_OK)
        return code;
    const char *folder = ethos_turn_context(turn)->workspace;
    if (folder)
        snprintf(out_path, PATH_MAX, "%s", folder);
    else
        code = err_set(error, ETHOS_NOTFOUND, "%s: its folder is gone", call->request->workspace);
    ethos_turn_free(turn);
    return code;
}

bool sessions_has_folder(const struct op_call *call)
{
    const char *given = call->request->workspace;
    return !given || *given;
}

int sessions_folder_of_call(const struct op_call *call, char out_path[PATH_MAX],
                            struct ethos_error *error)
{
    const char *given = call->request->workspace;
    if (!sessions_has_folder(call))
        return err_set(error, ETHOS_INVALID, "no folder is named for the session");
    return workspace_named(given) ? find_workspace_folder(call, out_path, error)
                                  : sessions_folder(given, out_path, error);
}

/* ---- visibility ------------------------------------------------------------------------------- */

int sessions_limit(const struct op_call *call, struct sessions_viewer *self,
                   struct ethos_error *error)
{
    char path[PATH_MAX];
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    TRY(sessions_folder_of_call(call, path, error));
    TRY(ethos_turn_new(call->ethos, call->request, &turn, error));
    TRY(sessions_project(turn, path, &self->folders, error));
    self->folder = self->folders.data;
    return ETHOS_OK;
}

/* A model sees the sessions of its project, unless the owner allows more. */
static int limit_folder(const struct op_call *call, struct sessions_viewer *out,
                        struct ethos_error *error)
{
    const struct config *home;
    if (!call->guarded)
        return ETHOS_OK;
    int code = service_config(call->ethos, NULL, &home, NULL, error);
    if (code != ETHOS_OK || config_switch(home, NULL, "sessions.across"))
        return code;
    if (!sessions_has_folder(call))
        return err_hint(
            error, err_set(error, ETHOS_DENIED, "no project is named"),
            "start the server with --workspace DIR, or allow conversations of all projects: "
            "ethos config set sessions.across on");
    return sessions_limit(call, out, error);
}

int sessions_view(const struct op_call *call, struct sessions_viewer *out,
                  struct ethos_error *error)
{
    out->folder = NULL;
    str_init(&out->folders, SIZE_MAX);
    int code = sessions_person(call->ethos, call->request, &out->person, error);
    out->people = &out->person.people;
    if (code == ETHOS_OK && op_flag(call, "allUsers")) {
        if (call->request->user || call->guarded || !out->person.people.owner)
            return err_set(error, ETHOS_DENIED, "allUsers: only for the owner, without a user");
        out->people = NULL;
    }
    return code == ETHOS_OK ? limit_folder(call, out, error) : code;
}

void sessions_view_release(struct sessions_viewer *self)
{
    sessions_person_release(&self->person);
    str_release(&self->folders);
}

static int check_folder(void *arg, const struct ethos_session *session)
{
    const struct sessions_viewer *viewer = arg;
    return form_within(viewer->folder, session->working_dir) ? ETHOS_OK : ETHOS_DENIED;
}

int sessions_find_named(const struct op_call *call, const char *name, char out_id[ETHOS_UUID_SIZE],
                        struct ethos_error *error)
{
    struct sessions_viewer viewer;
    struct ethos_sessions *store;
    int code = sessions_view(call, &viewer, error);
    if (code == ETHOS_OK)
        code = sessions_find(call->ethos, viewer.people, name, out_id, error);
    if (code == ETHOS_OK && viewer.folder) {
        code = ethos_sessions(call->ethos, &store, error);
        if (code == ETHOS_OK)
            code = store->ops->get(store, out_id, check_folder, &viewer, error);
        if (code == ETHOS_DENIED)
            code = err_hint(error,
                            err_set(error, code, "%s: a conversation of another project", name),
                            "the owner can allow that: ethos config set sessions.across on");
    }
    sessions_view_release(&viewer);
    return code;
}

/* ---- one session ------------------------------------------------------------------------------ */

/* The session that a call names, and its row before any change. */
struct named_session {
    struct ethos_sessions *store;
    char id[ETHOS_UUID_SIZE];
    json_t *row;
};

static int open_named_session(const struct op_call *call, struct named_session *out,
                              struct ethos_error *error)
{
    TRY(sessions_find_named(call, op_string(call, "id"), out->id, error));
    TRY(ethos_sessions(call->ethos, &out->store, error));
    return sessions_read_row(call, out->id, &out->row, error);
}

static void close_named_session(const struct named_session *named)
{
    json_decref(named->row);
}
#define CLEANUP_NAMED_SESSION __attribute__((cleanup(close_named_session)))

/* Returns the session as it is now. */
static int return_session(const struct op_call *call, struct op_result *result, const char *id,
                          struct ethos_error *error)
{
    json_t *row;
    TRY(sessions_read_row(call, id, &row, error));
    return op_return_change(call, result, json_pack("{s:o}", "session", row), error);
}

/* ---- fork ------------------------------------------------------------------------------------- */

static int count_message(void *arg, const struct ethos_message *message)
{
    json_int_t *count = arg;
    (void)message;
    ++*count;
    return ETHOS_OK;
}

static int count_messages(const struct named_session *named, json_int_t *out_count,
                          struct ethos_error *error)
{
    *out_count = 0;
    return named->store->ops->messages(named->store, named->id, 0, count_message, out_count, error);
}

static const char *plural_s(json_int_t count)
{
    return count == 1 ? "" : "s";
}

/* A dry run has no copy to return. */
static int preview_fork(const struct op_call *call, const struct named_session *named,
                        struct op_result *result, struct ethos_error *error)
{
    json_int_t count;
    TRY(count_messages(named, &count, error));
    str_printf(&result->text, "would copy %s with %" JSON_INTEGER_FORMAT " message%s\n", named->id,
               count, plural_s(count));
    return op_return_change(call, result, json_pack("{s:n}", "session"), error);
}

/* Copies the session, with another personality if one is given. */
static int fork_session(const struct op_call *call, const struct named_session *named,
                        struct op_result *result, struct ethos_error *error)
{
    char id[ETHOS_UUID_SIZE];
    const struct ethos_session_patch patch = {.personality = op_string(call, "personalityId")};
    if (patch.personality && !scope_id_ok(view_str(patch.personality)))
        return err_set(error, ETHOS_INVALID, "personalityId: not the id of a personality");
    int code = named->store->ops->fork(named->store, named->id, id, error);
    if (code == ETHOS_OK && patch.personality)
        code = named->store->ops->update(named->store, id, &patch, error);
    return code == ETHOS_OK ? return_session(call, result, id, error) : code;
}

static int run_fork(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    CLEANUP_NAMED_SESSION struct named_session named = {0};
    TRY(open_named_session(call, &named, error));
    return call->dry_run ? preview_fork(call, &named, result, error)
                         : fork_session(call, &named, result, error);
}

/* ---- update, pin ------------------------------------------------------------------------------ */

static int patch_session(const struct op_call *call, const struct named_session *named,
                         const struct ethos_session_patch *patch, struct op_result *result,
                         struct ethos_error *error)
{
    if (!call->dry_run)
        TRY(named->store->ops->update(named->store, named->id, patch, error));
    return return_session(call, result, named->id, error);
}

static int check_title(struct ethos_view title, struct ethos_error *error)
{
    uint64_t units = utf8_units(title);
    if (units <= TITLE_UNITS)
        return ETHOS_OK;
    int code = err_set(error, ETHOS_LIMIT, "a title of %" PRIu64 " characters is too long", units);
    return err_hint(error, code, "use at most %d", TITLE_UNITS);
}

static int run_update(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    CLEANUP_NAMED_SESSION struct named_session named = {0};
    struct ethos_view title = op_text(call, "title");
    bool none = view_blank(title);
    const struct ethos_session_patch patch = {.title = none ? "" : title.data};
    TRY(check_title(title, error));
    TRY(open_named_session(call, &named, error));
    if (call->dry_run && none)
        str_printf(&result->text, "would remove the title of %s\n", named.id);
    else if (call->dry_run)
        str_printf(&result->text, "would rename %s to %s\n", named.id, patch.title);
    return patch_session(call, &named, &patch, result, error);
}

static int set_pin(struct op_call *call, int pinned, struct op_result *result,
                   struct ethos_error *error)
{
    CLEANUP_NAMED_SESSION struct named_session named = {0};
    const struct ethos_session_patch patch = {.pinned = &pinned};
    TRY(open_named_session(call, &named, error));
    if (call->dry_run)
        str_printf(&result->text, "would %s %s\n", pinned ? "pin" : "unpin", named.id);
    return patch_session(call, &named, &patch, result, error);
}

static int run_pin(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return set_pin(call, 1, result, error);
}

static int run_unpin(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return set_pin(call, 0, result, error);
}

/* ---- delete, prune ---------------------------------------------------------------------------- */

/* Removes the index of conversations, which contains deleted words. The next question rebuilds it. */
static void remove_conversation_index(const struct op_call *call, struct op_result *result)
{
    if (!call->dry_run && result->code == ETHOS_OK)
        result->code = recall_remove_conversations(call->ethos, &result->error);
}

/* Returns the session as it was before. */
static int run_delete_session(struct op_call *call, struct op_result *result,
                              struct ethos_error *error)
{
    CLEANUP_NAMED_SESSION struct named_session named = {0};
    json_int_t count = 0;
    TRY(open_named_session(call, &named, error));
    TRY(count_messages(&named, &count, error));
    if (call->dry_run)
        str_printf(&result->text, "would delete %s with %" JSON_INTEGER_FORMAT " message%s\n",
                   named.id, count, plural_s(count));
    else
        TRY(named.store->ops->remove(named.store, named.id, error));
    remove_conversation_index(call, result);
    return op_return_change(
        call, result,
        json_pack("{s:b, s:O, s:I}", "ok", !call->dry_run, "session", named.row, "messages", count),
        error);
}

/* The sessions of a person that were last used before a time and are not pinned. */
struct old_sessions {
    const char *before;
    json_t *ids;
};

static bool is_old(const struct old_sessions *old, const struct ethos_session *session)
{
    return !session->pinned && strcmp(session->updated_at, old->before) < 0;
}

static int add_old_session(void *arg, const struct ethos_session *session)
{
    struct old_sessions *old = arg;
    if (is_old(old, session))
        op_json_push(&old->ids, json_string(session->id));
    return old->ids ? ETHOS_OK : ETHOS_NOMEM;
}

static int check_still_old(void *arg, const struct ethos_session *session)
{
    return is_old(arg, session) ? ETHOS_OK : ETHOS_NOTFOUND;
}

static int list_old_sessions(struct ethos_sessions *store, const struct sessions_viewer *viewer,
                             struct old_sessions *old, struct ethos_error *error)
{
    char from[ETHOS_CURSOR_SIZE], next[ETHOS_CURSOR_SIZE] = "";
    int code;
    old->ids = json_array();
    do {
        memcpy(from, next, sizeof from);
        *next = '\0';
        const struct ethos_session_query query = {.working_dir = viewer->folder,
                                                  .people = viewer->people,
                                                  .until = old->before,
                                                  .cursor = *from ? from : NULL,
                                                  .limit = OLD_PAGE};
        code = sessions_walk_code(
            store->ops->list(store, &query, add_old_session, old, next, error), error);
    } while (code == ETHOS_OK && *next);
    return code;
}

/* Deletes the listed sessions, except those that were used, pinned or deleted meanwhile. */
static int remove_old_sessions(struct ethos_sessions *store, struct old_sessions *old,
                               uint64_t *out_count, struct ethos_error *error)
{
    size_t index;
    json_t *row;
    int code = ETHOS_OK;
    *out_count = 0;
    json_array_foreach (old->ids, index, row) {
        const char *id = json_string_value(row);
        code = store->ops->get(store, id, check_still_old, old, error);
        if (code == ETHOS_OK)
            code = store->ops->remove(store, id, error);
        if (code == ETHOS_OK)
            ++*out_count;
        else if (code != ETHOS_NOTFOUND)
            return code;
    }
    return ETHOS_OK;
}

/*
 * Prunes the sessions that the person may see. If those are all old sessions, the store prunes them at once; otherwise
 * they are deleted one by one, which is slower.
 */
static int prune_visible(const struct op_call *call, const struct sessions_viewer *viewer,
                         struct old_sessions *old, uint64_t *out_count, struct ethos_error *error)
{
    struct ethos_sessions *store;
    uint64_t all = 0, own = 0;
    int code = ethos_sessions(call->ethos, &store, error);
    if (code == ETHOS_OK)
        code = store->ops->prune(store, old->before, true, &all, error);
    bool everybody = !viewer->people && !viewer->folder;
    if (code == ETHOS_OK && !everybody && all > 0) {
        code = list_old_sessions(store, viewer, old, error);
        own = json_array_size(old->ids);
        everybody = own == all;
    }
    *out_count = everybody ? all : own;
    if (code != ETHOS_OK || call->dry_run)
        return code;
    return everybody ? store->ops->prune(store, old->before, false, out_count, error)
                     : remove_old_sessions(store, old, out_count, error);
}

static int run_prune(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct sessions_viewer viewer;
    char before[CLOCK_ISO_SIZE];
    struct old_sessions old = {.before = before};
    uint64_t count = 0;
    clock_iso(op_time(call, "olderThan"), before);
    int code = sessions_view(call, &viewer, error);
    if (code == ETHOS_OK)
        code = prune_visible(call, &viewer, &old, &count, error);
    sessions_view_release(&viewer);
    json_decref(old.ids);
    if (code != ETHOS_OK)
        return code;
    if (count > 0)
        remove_conversation_index(call, result);
    if (call->dry_run)
        str_printf(&result->text, "would delete %" PRIu64 " session%s last used before %s\n", count,
                   plural_s((json_int_t)count), before);
    return op_return_change(
        call, result, json_pack("{s:I, s:s}", "sessions", (json_int_t)count, "before", before),
        error);
}

/* ---- undo ------------------------------------------------------------------------------------- */

static int append_role(void *arg, const struct ethos_message *message)
{
    return str_addc(arg, strcmp(message->role, "user") == 0 ? 'u' : '-');
}

/* Counts the messages of the last turns. A turn begins with a message of the user. */
static int count_turns(const struct named_session *named, unsigned turns, uint64_t *out_count,
                       struct ethos_error *error)
{
    struct str roles;
    size_t first = 0;
    str_init(&roles, ROLES_BYTES);
    int code = sessions_walk_code(
        named->store->ops->messages(named->store, named->id, 0, append_role, &roles, error), error);
    first = roles.size;
    for (size_t at = roles.size; at > 0 && turns > 0; at--) {
        if (roles.data[at - 1] != 'u')
            continue;
        first = at - 1;
        turns--;
    }
    *out_count = roles.size - first;
    str_release(&roles);
    return code;
}

static int run_undo(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    CLEANUP_NAMED_SESSION struct named_session named = {0};
    json_t *row = NULL;
    uint64_t count = 0;
    unsigned turns = (unsigned)op_integer(call, "turns", 1);
    TRY(open_named_session(call, &named, error));
    TRY(call->dry_run ? count_turns(&named, turns, &count, error)
                      : named.store->ops->undo(named.store, named.id, turns, &count, error));
    TRY(sessions_read_row(call, named.id, &row, error));
    if (call->dry_run)
        str_printf(&result->text, "would remove %" PRIu64 " message%s from %s\n", count,
                   plural_s((json_int_t)count), named.id);
    return op_return_change(call, result,
                            json_pack("{s:o, s:I}", "session", row, "messages", (json_int_t)count),
                            error);
}

/* ---- the rows --------------------------------------------------------------------------------- */

#define ARG_ID                                                                                     \
    {                                                                                              \
        "id", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "ID",                                    \
            "a session: its id, the start of it, or its key"                                       \
    }
#define ARG_ALL_USERS                                                                              \
    {                                                                                              \
        "allUsers", OP_FLAG, 0, NULL, NULL, "include the sessions of all people"                   \
    }
#define ARG_END                                                                                    \
    {                                                                                              \
        NULL, OP_TEXT, 0, NULL, NULL, NULL                                                         \
    }

static const struct op_arg list_args[] = {
    {"query", OP_TEXT, 0, NULL, "TEXT", "only sessions in which all these words occur, best first"},
    {"limit", OP_INTEGER, 0, "1|200", "N", "at most this many (default: 50)"},
    {"cursor", OP_TEXT, 0, NULL, "CURSOR", "nextCursor of the previous page"},
    {"personalityId", OP_TEXT, 0, NULL, "ID", "only sessions of this personality"},
    {"all", OP_FLAG, 0, NULL, NULL, "include all projects"},
    ARG_ALL_USERS,
    {"since", OP_TIME, 0, NULL, "TIME", "last used at or after: 7d, 2026-11-15"},
    {"until", OP_TIME, 0, NULL, "TIME", "last used at or before"},
    ARG_END};
static const struct op_arg get_args[] = {
    ARG_ID,
    {"last", OP_INTEGER, 0, "1|1000000000", "N", "only the newest messages"},
    {"from", OP_TEXT, 0, NULL, "MESSAGE", "start at the message with this id"},
    {"limit", OP_INTEGER, 0, "1|1000", "N",
     "at most this many, without --from the newest (default: all; other surfaces: 1000)"},
    {"maxChars", OP_INTEGER, 0, "1|100000", "N", "at most this many characters of each message"},
    ARG_END};
static const struct op_arg search_args[] = {
    {"query", OP_TEXT, OP_REQUIRED | OP_POSITIONAL | OP_REST, NULL, "TEXT",
     "words in any order; \"a phrase\" in quotes"},
    {"limit", OP_INTEGER, 0, "1|200", "N", "at most this many (default: 20)"},
    {"since", OP_TIME, 0, NULL, "TIME", "said at or after: 7d, 2026-11-15"},
    {"until", OP_TIME, 0, NULL, "TIME", "said at or before"},
    {"role", OP_CHOICE, 0, SESSIONS_ROLES, "ROLE",
     "only messages of this role: user, assistant, tool_result, ..."},
    {"session", OP_TEXT, 0, NULL, "ID", "only in this session"},
    {"here", OP_FLAG, 0, NULL, NULL, "only in sessions of this project"},
    {"newest", OP_FLAG, 0, NULL, NULL, "newest first instead of best first"},
    ARG_ALL_USERS,
    ARG_END};
static const struct op_arg id_args[] = {ARG_ID, ARG_END};
static const struct op_arg fork_args[] = {
    ARG_ID, {"personalityId", OP_TEXT, 0, NULL, "ID", "the personality of the copy"}, ARG_END};
static const struct op_arg update_args[] = {ARG_ID,
                                            {"title", OP_TEXT,
                                             OP_REQUIRED | OP_POSITIONAL | OP_NULL | OP_REST, NULL,
                                             "TITLE", "at most 200 characters; '' removes it"},
                                            ARG_END};
static const struct op_arg prune_args[] = {
    {"olderThan", OP_TIME, OP_REQUIRED, NULL, "TIME", "last used before: 90d, 2026-01-31"},
    ARG_ALL_USERS,
    ARG_END};
static const struct op_arg undo_args[] = {
    ARG_ID, {"turns", OP_INTEGER, 0, "1|1000000000", "N", "how many turns (default: 1)"}, ARG_END};
static const struct op_arg current_args[] = {
    {"new", OP_FLAG, 0, NULL, NULL, "start a new session; the others stay"}, ARG_END};
static const struct op_arg append_args[] = {
    {"content", OP_TEXT, OP_REQUIRED | OP_POSITIONAL | OP_STDIN, NULL, "TEXT",
     "the message; - reads standard input"},
    {"role", OP_CHOICE, 0, SESSIONS_ROLES, "ROLE", "its role (default: user)"},
    {"session", OP_TEXT, 0, NULL, "ID", "the session (default: that of this folder)"},
    {"aborted", OP_FLAG, 0, NULL, NULL,
     "for a user message: the previous turn ended without a reply"},
    {"toolCallId", OP_TEXT, 0, NULL, "ID", "for a tool result: the id of the call that it answers"},
    {"toolName", OP_TEXT, 0, NULL, "NAME", "for a tool result: the name of the tool"},
    {"toolCalls", OP_TEXT, OP_JSON, NULL, "JSON",
     "for an assistant message: [{\"id\", \"name\", \"input\"}]"},
    ARG_END};

#define READS OP_SESSIONS_READ, OP_IDEMPOTENT | OP_DATABASE
#define WRITES OP_SESSIONS_WRITE, OP_WRITES | OP_DATABASE

const struct op ops_sessions[] = {
    {"sessions.list", "sessions list", "List the conversations of this project, or of all",
     "ethos sessions list --query 'deploy redis'", list_args, READS, sessions_run_list},
    {"sessions.get", "sessions show", "Show what was said in a session",
     "ethos sessions show 3f2a9c1d --last 20", get_args, READS, sessions_run_get},
    {"sessions.search", "sessions search", "Search the messages of all sessions",
     "ethos sessions search deploy redis --since 30d", search_args, READS, sessions_run_search},
    {"sessions.current", "sessions current", "Print the id of the session of this folder",
     "ethos sessions current --new", current_args, WRITES, sessions_run_current},
    {"sessions.new", "sessions new", "Start a new session in this folder", "ethos sessions new",
     NULL, WRITES, sessions_run_new},
    {"sessions.append", "sessions append", "Add a message to the session of this folder",
     "ethos sessions append 'Done.' --role assistant", append_args, WRITES, sessions_run_append},
    {"sessions.undo", "sessions undo", "Undo the last turns of a session",
     "ethos sessions undo 3f2a9c1d --turns 2", undo_args, WRITES | OP_DESTRUCTIVE, run_undo},
    {"sessions.fork", "sessions fork", "Copy a session, to continue it in another direction",
     "ethos sessions fork 3f2a9c1d", fork_args, WRITES, run_fork},
    {"sessions.update", "sessions rename", "Set the title of a session",
     "ethos sessions rename 3f2a9c1d 'The night deployment'", update_args, WRITES | OP_IDEMPOTENT,
     run_update},
    {"sessions.pin", "sessions pin", "Pin a session: listed first, never pruned",
     "ethos sessions pin 3f2a9c1d", id_args, WRITES | OP_IDEMPOTENT, run_pin},
    {"sessions.unpin", "sessions unpin", "Unpin a session", "ethos sessions unpin 3f2a9c1d",
     id_args, WRITES | OP_IDEMPOTENT, run_unpin},
    {"sessions.delete", "sessions delete", "Delete a session and its messages",
     "ethos sessions delete 3f2a9c1d", id_args, WRITES | OP_DESTRUCTIVE | OP_FINAL,
     run_delete_session},
    {"sessions.prune", "sessions prune", "Delete sessions that have not been used for a long time",
     "ethos sessions prune --older-than 90d", prune_args, OP_OWNER,
     OP_WRITES | OP_DATABASE | OP_DESTRUCTIVE | OP_FINAL, run_prune},
    {0}};
