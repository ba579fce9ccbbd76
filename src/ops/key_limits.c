/*
 * key_limits.c: which operations a limited API key may run, and for whom.
 */
#include "ops/key_limits.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "core/sessions/normalize.h"
#include "memory/handle.h"

static const char personality_kind[] = "personality", user_kind[] = "user",
                  workspace_kind[] = "workspace";

/* ---- the operations -------------------------------------------------------------------------- */

enum {
    OF_TURN = 0,         /* uses the scopes of its turn, and those that arguments name */
    OF_PERSONALITY = 1,  /* the argument "id" is a personality */
    OF_USER = 2,         /* the argument "id" is a user */
    OF_SESSION_LIST = 4, /* lists conversations of one personality */
    OF_SESSION = 8,      /* returns one conversation */
};

static const struct limited_op {
    const char *op;
    unsigned how;
} rows[] = {
    {"memory.prefetch", OF_TURN},
    {"memory.sync", OF_TURN},
    {"memory.list", OF_TURN},
    {"memory.get", OF_TURN},
    {"memory.write", OF_TURN},
    {"memory.save", OF_TURN},
    {"memory.add", OF_TURN},
    {"memory.replace", OF_TURN},
    {"memory.remove", OF_TURN},
    {"memory.tool", OF_TURN},
    {"memory.search", OF_TURN},
    {"memory.recall", OF_TURN},
    {"memory.history", OF_TURN},
    {"memory.timeline", OF_TURN},
    {"memory.diff", OF_TURN},
    {"memory.historyBlob", OF_TURN},
    {"memory.restore", OF_TURN},
    {"memory.undo", OF_TURN},
    {"memory.blame", OF_TURN},
    {"memory.pendingList", OF_TURN},
    {"memory.pendingApprove", OF_TURN},
    {"memory.pendingEdit", OF_TURN},
    {"memory.pendingReject", OF_TURN},
    {"memory.pendingNever", OF_TURN},
    {"memory.hidden", OF_TURN},
    {"memory.showLine", OF_TURN},
    {"memory.hideLine", OF_TURN},
    {"notes.remember", OF_TURN},
    {"notes.list", OF_TURN},
    {"notes.show", OF_TURN},
    {"notes.get", OF_TURN},
    {"notes.write", OF_TURN},
    {"notes.remove", OF_TURN},
    {"notes.reindex", OF_TURN},
    {"notes.graph", OF_TURN},
    {"conflicts.list", OF_TURN},
    {"conflicts.show", OF_TURN},
    {"conflicts.resolve", OF_TURN},
    {"personalities.list", OF_TURN},
    {"personalities.get", OF_PERSONALITY},
    {"personalities.characterSheet", OF_PERSONALITY},
    {"users.list", OF_TURN},
    {"users.show", OF_USER},
    {"workspaces.list", OF_TURN},
    {"sessions.list", OF_SESSION_LIST},
    {"sessions.get", OF_SESSION},
    {"chat.send", OF_TURN}, // checks the session itself
    {"chat.abort", OF_TURN},
    {"meta.capabilities", OF_TURN},
};

static const struct limited_op *find_limited_op(const struct op *op)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].op, op->name) == 0)
            return &rows[i];
    return NULL;
}

bool limits_is_op_known(const struct op *op)
{
    return find_limited_op(op) != NULL;
}

/* ---- the list -------------------------------------------------------------------------------- */

/* Reads the next limit and moves *list behind it. */
static bool next_limit(const char **list, struct ethos_view *kind, struct ethos_view *id)
{
    size_t size = strcspn(*list, ",");
    const char *colon = memchr(*list, ':', size);
    if (!colon)
        return false;
    *kind = view_of(*list, (size_t)(colon - *list));
    *id = view_of(colon + 1, size - kind->size - 1);
    *list += size + ((*list)[size] == ',');
    return true;
}

bool limits_allow(const char *only, const char *kind, const char *id)
{
    struct ethos_view its_kind, its_id;
    bool named = false;
    while (only && next_limit(&only, &its_kind, &its_id)) {
        bool same = view_eq_str(its_kind, kind);
        named |= same;
        if (same && id && view_eq_str(its_id, id))
            return true;
    }
    return !named;
}

/* The first id of a kind in the list; "" if there is none. */
static void first_allowed_id(const char *only, const char *kind, char *out, size_t size)
{
    struct ethos_view its_kind, its_id;
    *out = 0;
    while (!*out && next_limit(&only, &its_kind, &its_id))
        if (view_eq_str(its_kind, kind) && its_id.size < size)
            snprintf(out, size, "%.*s", VIEW_ARG(its_id));
}

void limits_filter(const struct op_call *call, const char *kind, const char *name, json_t *list)
{
    for (size_t i = json_array_size(list); call->only && i > 0; i--)
        if (!limits_allow(call->only, kind, json_view(json_array_get(list, i - 1), name).data))
            json_array_remove(list, i - 1);
}

static int refuse_id(const char *kind, const char *id, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_DENIED, "this key does not give access to the %s %s", kind, id);
    return err_hint(error, code, "use a key that is not limited, or limited to it");
}

static int check_id(const char *only, const char *kind, const char *id, struct ethos_error *error)
{
    return limits_allow(only, kind, id) ? ETHOS_OK : refuse_id(kind, id, error);
}

/* ---- the request ------------------------------------------------------------------------------ */

/* If the call does not name an id, uses the first one in the list. */
static void default_to_first_id(const char *only, const char *kind, const char **given, char *room,
                                size_t size)
{
    if (*given && **given)
        return;
    first_allowed_id(only, kind, room, size);
    if (*room)
        *given = room;
}

static const char *workspace_id_of(const char *scope)
{
    const char *colon = scope ? strchr(scope, ':') : NULL;
    return colon ? colon + 1 : NULL;
}

static int check_context(const char *only, const struct ethos_context *context,
                         struct ethos_error *error)
{
    TRY(check_id(only, personality_kind, context->personality, error));
    TRY(check_id(only, user_kind, context->user, error));
    if (!context->workspace_scope)
        return ETHOS_OK;
    return check_id(only, workspace_kind, workspace_id_of(context->workspace_scope), error);
}

/* Names personality, user and workspace in the request, so that a later change of settings cannot change them. */
static void pin_request(const struct ethos_context *context, struct limits *out)
{
    snprintf(out->personality, sizeof out->personality, "%s", context->personality);
    snprintf(out->user, sizeof out->user, "%s", context->user);
    snprintf(out->workspace, sizeof out->workspace, "%s",
             context->workspace_scope ? context->workspace_scope : "");
    out->request.personality = out->personality;
    out->request.user = out->user;
    out->request.workspace = out->workspace;
    out->request.platform_user = NULL;
}

/* ---- arguments -------------------------------------------------------------------------------- */

static bool is_scope_of_context(const struct ethos_context *context, const char *scope)
{
    return strcmp(scope, context->memory_scope) == 0 || strcmp(scope, context->user_scope) == 0 ||
           (context->workspace_scope && strcmp(scope, context->workspace_scope) == 0);
}

/* Allows scopes of the turn, and scopes of a limitable kind with an allowed id; not scopes that all share. */
static int check_scope(const char *only, const struct ethos_context *context, const char *given,
                       struct ethos_error *error)
{
    struct scope_target target;
    enum scope_kind kind;
    const char *id;
    int code = scope_target(context, NULL, given, "MEMORY.md", false, &target, error);
    if (code != ETHOS_OK)
        return code;
    const char *scope = scope_owner(target.scope);
    code = scope_parse(scope, &kind, &id, error);
    if (code != ETHOS_OK || is_scope_of_context(context, scope))
        return code;
    switch (kind) {
    case SCOPE_PERSONALITY:
        return check_id(only, personality_kind, id, error);
    case SCOPE_USER:
        return check_id(only, user_kind, id, error);
    case SCOPE_WORKSPACE:
        return check_id(only, workspace_kind, id, error);
    default:
        return refuse_id("scope", scope, error);
    }
}

/* Checks every member "scope" in an argument, such as those of the updates of a sync. */
static int check_scopes(const char *only, const struct ethos_context *context, const json_t *value,
                        struct ethos_error *error)
{
    const char *name;
    json_t *member;
    size_t index;
    json_array_foreach ((json_t *)value, index, member)
        TRY(check_scopes(only, context, member, error));
    json_object_foreach ((json_t *)value, name, member)
        TRY(strcmp(name, "scope") == 0 && json_is_string(member)
                ? check_scope(only, context, json_string_value(member), error)
                : check_scopes(only, context, member, error));
    return ETHOS_OK;
}

/* Checks a text that is JSON. Invalid JSON is refused. */
static int check_json(const char *only, const struct ethos_context *context, const json_t *text,
                      struct ethos_error *error)
{
    json_auto_t *value = NULL;
    if (!json_is_string(text))
        return ETHOS_OK;
    TRY(json_parse(view_of(json_string_value(text), json_string_length(text)), "updates", &value,
                   error));
    return check_scopes(only, context, value, error);
}

static int check_argument_ids(const struct limited_op *row, const struct op_call *call,
                              const struct ethos_context *context, struct ethos_error *error)
{
    static const char *const ids[][2] = {{"personality", personality_kind},
                                         {"personalityId", personality_kind},
                                         {"user", user_kind},
                                         {"userId", user_kind}};
    const char *only = call->only, *about = op_string(call, "about");
    TRY(check_scopes(only, context, call->args, error));
    if (about && strcmp(about, "everywhere") == 0)
        TRY(check_scope(only, context, "global", error));
    TRY(check_json(only, context, json_object_get(call->args, "updates"), error));
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (op_string(call, ids[i][0]))
            TRY(check_id(only, ids[i][1], op_string(call, ids[i][0]), error));
    if (!(row->how & (OF_PERSONALITY | OF_USER)) || !op_string(call, "id"))
        return ETHOS_OK;
    return check_id(only, row->how & OF_USER ? user_kind : personality_kind, op_string(call, "id"),
                    error);
}

/* Not every conversation records its user and workspace, so those limits exclude conversations. */
static int check_sessions(const char *only, struct limits *out, struct ethos_error *error)
{
    if (!limits_allow(only, user_kind, NULL) || !limits_allow(only, workspace_kind, NULL))
        return err_set(error, ETHOS_DENIED,
                       "conversations are not for a key that is limited to a user or a workspace");
    if (!json_object_get(out->args, "personalityId"))
        op_json_put(&out->args, "personalityId", json_string(out->personality));
    return out->args ? ETHOS_OK : err_nomem(error);
}

/* ---- before and after a call -------------------------------------------------------------------- */

static int check_request(const struct limited_op *row, const struct op_call *call,
                         const struct ethos_turn *turn, struct limits *out,
                         struct ethos_error *error)
{
    const struct ethos_context *context = ethos_turn_context(turn);
    TRY(check_context(call->only, context, error));
    TRY(check_argument_ids(row, call, context, error));
    pin_request(context, out);
    if (row->how & (OF_SESSION_LIST | OF_SESSION))
        TRY(check_sessions(call->only, out, error));
    if (row->how & OF_SESSION)
        json_object_del(out->args, "personalityId");
    return ETHOS_OK;
}

int limits_enter(const struct op *op, const struct op_call *call, struct limits *out,
                 struct ethos_error *error)
{
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    const struct limited_op *row = find_limited_op(op);
    const char *only = call->only;
    *out = (struct limits){.call = *call, .request = *call->request};
    out->args = json_copy((json_t *)call->args);
    out->call.request = &out->request;
    out->call.args = out->args;
    out->call.again = false; // the next caller may have other limits
    if (!out->args)
        return err_nomem(error);
    if (!row)
        return err_set(error, ETHOS_DENIED, "%s: not for a limited key", op->name);
    struct ethos_request *request = &out->request;
    request->no_global = true; // the global scope belongs to everybody
    default_to_first_id(only, personality_kind, &request->personality, out->personality,
                        sizeof out->personality);
    if (!request->platform_user)
        default_to_first_id(only, user_kind, &request->user, out->user, sizeof out->user);
    if ((!request->workspace || !*request->workspace) &&
        !limits_allow(only, workspace_kind, NULL)) {
        char id[ETHOS_MAX_ID + 1];
        first_allowed_id(only, workspace_kind, id, sizeof id);
        snprintf(out->workspace, sizeof out->workspace, "workspace:%s", id);
        request->workspace = out->workspace;
    }
    if (request->personality)
        TRY(check_id(only, personality_kind, request->personality, error));
    if (request->user)
        TRY(check_id(only, user_kind, request->user, error));
    if (request->workspace && strncmp(request->workspace, "workspace:", 10) == 0)
        TRY(check_id(only, workspace_kind, request->workspace + 10, error));
    TRY(ethos_turn_new(call->ethos, request, &turn, error));
    return check_request(row, call, turn, out, error);
}

/* Removes the names of users that the key is not for. */
static void hide_users(const char *only, json_t *value)
{
    const char *name;
    json_t *member;
    size_t index;
    json_array_foreach (value, index, member)
        hide_users(only, member);
    json_object_foreach (value, name, member) {
        bool user = strcmp(name, "user") == 0 || strcmp(name, "userId") == 0;
        if (user && json_is_string(member) &&
            !limits_allow(only, user_kind, json_string_value(member)))
            json_object_set_new(value, name, json_null());
        else
            hide_users(only, member);
    }
}

/* A conversation of another personality is reported as not found, as is an ambiguous name. */
static int check_session(const struct limits *limits, int code, const json_t *found,
                         struct ethos_error *error)
{
    const char *id = json_view(json_object_get(found, "session"), "personalityId").data;
    if (code == ETHOS_OK && limits_allow(limits->call.only, personality_kind, id ? id : ""))
        return ETHOS_OK;
    if (code != ETHOS_OK && code != ETHOS_NOTFOUND && code != ETHOS_INVALID)
        return code;
    return form_no_session(op_string(&limits->call, "id"), error);
}

int limits_leave(const struct op *op, const struct limits *limits, int code,
                 const struct op_result *result, struct ethos_error *error)
{
    const struct limited_op *row = find_limited_op(op);
    if (row && (row->how & OF_SESSION))
        code = check_session(limits, code, result->json, error);
    if (code == ETHOS_OK && !limits_allow(limits->call.only, user_kind, NULL))
        hide_users(limits->call.only, result->json);
    return code;
}

void limits_release(struct limits *limits)
{
    json_decref(limits->args);
    limits->args = NULL;
}
