/*
 * mistyped_names.c: detects mistyped names on the command line.
 */
#include "ops/admin/mistyped_names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/text/suggest.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "memory/handle.h"
#include "ops/admin/personalities.h"

#define USERS "users"
#define EDITS 2 /* at most, between an id and a similar one */
#define PREFIX "personality:"

/* The value of the option, else of the environment variable. */
static const char *named_or_environment(const char *option, const char *variable)
{
    const char *value = option ? option : getenv(variable);
    return value && *value ? value : NULL;
}

static const char *text_argument(const struct op_call *call, const char *name)
{
    return json_string_value(json_object_get(call->args, name));
}

/* ---- personalities --------------------------------------------------------------------------- */

/* The personality that a call names, in its scope or by option or environment. */
static const char *named_personality(const struct op_call *call)
{
    const char *scope = text_argument(call, "scope");
    if (scope && strncmp(scope, PREFIX, strlen(PREFIX)) == 0)
        return scope + strlen(PREFIX);
    return named_or_environment(call->request->personality, "ETHOS_PERSONALITY");
}

/* Whether the call writes to the personality's own memory. */
static bool writes_own_memory(struct op_call *call, const struct op *op, const char *id)
{
    const char *scope = text_argument(call, "scope"), *store = text_argument(call, "store");
    const struct config *home, *own;
    if (!(op->effect & OP_WRITES) || op->right != OP_MEMORY_WRITE)
        return false;
    if (scope)
        return strncmp(scope, "personality", strlen("personality")) == 0;
    if ((store && strcmp(store, "user") == 0) || strncmp(op->name, "notes.", 6) == 0)
        return false; // the person's, the workspace's
    return service_config(call->ethos, id, &home, &own, NULL) != ETHOS_OK ||
           strcmp(config_get(home, own, "memoryScope"), "global") != 0;
}

static int refuse_mistyped(const char *id, const char *meant, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_NOTFOUND, "no such personality: %s (did you mean %s?)", id,
                       meant);
    return err_hint(error, code, "ethos personality create %s makes a new one", id);
}

int check_mistyped_personality(struct op_call *call, const char *id, struct ethos_error *error)
{
    char meant[ETHOS_MAX_ID + 1];
    personalities_find_similar(call, id, meant);
    return *meant ? refuse_mistyped(id, meant, error) : ETHOS_OK;
}

/* Appends to the hint, or leaves it as it is if there is no room. */
static void append_hint(char *out_hint, const char *what, const char *id, const char *next)
{
    size_t size = strlen(out_hint);
    int more = snprintf(out_hint + size, MEANT_HINT_SIZE - size,
                        "%sthere is no %s %s yet; ethos %s", size ? "; " : "", what, id, next);
    if (more < 0 || (size_t)more >= MEANT_HINT_SIZE - size)
        out_hint[size] = 0;
}

/* Hints that a personality does not exist yet. It may be intended, so this is not an error. */
static void append_missing_hint(struct op_call *call, const char *id, char *out_hint)
{
    char next[ETHOS_MAX_ID + 64];
    snprintf(next, sizeof next, "personality create %s makes it", id);
    if (personalities_require(call, id, true, NULL) == ETHOS_NOTFOUND)
        append_hint(out_hint, "personality", id, next);
}

/* ---- limits of an API key -------------------------------------------------------------------- */

/* How to list the existing ids of a kind. If they cannot be listed, there is no hint. */
static const struct known_ids {
    const char *prefix, *op, *list, *id, *what, *next;
} lists[] = {
    {"user:", "users.list", "users", "userId", "user", "users list shows those that there are"},
    {"workspace:", "workspaces.list", "workspaces", "id", "workspace",
     "workspaces list shows those that there are"},
};

static bool is_unknown_id(struct op_call *call, const struct known_ids *known, const char *id)
{
    struct ethos_error why;
    struct op_result result;
    struct op_call asking = *call;
    json_t *row, *args = json_object();
    asking.args = args;
    asking.whole_lists = true;
    op_result_init(&result);
    size_t index;
    bool found = !args || op_run(op_find(known->op), &asking, &result, &why) != ETHOS_OK;
    json_array_foreach (json_object_get(result.json, known->list), index, row)
        found = found || view_eq_str(json_view(row, known->id), id);
    op_result_release(&result);
    json_decref(args);
    return !found;
}

static int check_key_limit(struct op_call *call, const char *limit, char *out_hint,
                           struct ethos_error *error)
{
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct known_ids *known = &lists[i];
        const char *id = limit + strlen(known->prefix);
        if (strncmp(limit, known->prefix, strlen(known->prefix)) != 0)
            continue;
        if (scope_id_ok(view_str(id)) && is_unknown_id(call, known, id))
            append_hint(out_hint, known->what, id, known->next);
    }
    if (strncmp(limit, PREFIX, strlen(PREFIX)) != 0)
        return ETHOS_OK;
    int code = check_mistyped_personality(call, limit + strlen(PREFIX), error);
    if (code == ETHOS_OK)
        append_missing_hint(call, limit + strlen(PREFIX), out_hint);
    return code;
}

static int check_key_limits(struct op_call *call, char *out_hint, struct ethos_error *error)
{
    size_t index;
    json_t *item;
    json_array_foreach (json_object_get(call->args, "only"), index, item)
        TRY(check_key_limit(call, json_string_value(item), out_hint, error));
    return ETHOS_OK;
}

/* ---- conversations --------------------------------------------------------------------------- */

/* A conversation belongs to a personality. */
static int check_conversation(struct op_call *call, char *out_hint, struct ethos_error *error)
{
    const char *id = named_personality(call);
    if (!id)
        return ETHOS_OK;
    TRY(check_mistyped_personality(call, id, error));
    append_missing_hint(call, id, out_hint);
    return ETHOS_OK;
}

static int check_personality(struct op_call *call, const struct op *op, char *out_hint,
                             struct ethos_error *error)
{
    char meant[ETHOS_MAX_ID + 1];
    const char *id = named_personality(call);
    if (!id)
        return ETHOS_OK;
    personalities_find_similar(call, id, meant);
    if (!*meant)
        return ETHOS_OK;
    if (writes_own_memory(call, op, id))
        return refuse_mistyped(id, meant, error);
    snprintf(out_hint, MEANT_HINT_SIZE, "personality %s has no memory; did you mean %s?", id,
             meant);
    return ETHOS_OK;
}

/* ---- users ----------------------------------------------------------------------------------- */

struct similar_user {
    const char *id;
    bool known;
    size_t best;
    char meant[ETHOS_MAX_ID + 1];
};

static int compare_user(void *arg, const char *name)
{
    struct similar_user *people = arg;
    if (!scope_id_ok(view_str(name)))
        return 0;
    people->known = people->known || strcmp(name, people->id) == 0;
    size_t edits = nearest_edits(view_str(people->id), view_str(name));
    if (edits < people->best && edits < strlen(people->id)) {
        people->best = edits;
        snprintf(people->meant, sizeof people->meant, "%s", name);
    }
    return 0;
}

/* Users are created by writing to them, so this only hints. */
static void check_user(struct op_call *call, char *out_hint)
{
    struct similar_user people = {.id = named_or_environment(call->request->user, "ETHOS_USER"),
                                  .best = EDITS + 1};
    CLEANUP_FD int root = -1;
    if (!people.id || !scope_id_ok(view_str(people.id)) ||
        service_open_root(call->ethos, false, &root, NULL) != ETHOS_OK || root < 0)
        return;
    CLEANUP_FD int dir = os_open_beneath(root, USERS, O_RDONLY | O_DIRECTORY, 0);
    if (dir >= 0 && os_list(dir, compare_user, &people) == 0 && !people.known && *people.meant)
        snprintf(out_hint, MEANT_HINT_SIZE, "user %s has no profile; did you mean %s?", people.id,
                 people.meant);
}

int check_mistyped_names(struct op_call *call, const struct op *op, char out_hint[MEANT_HINT_SIZE],
                         struct ethos_error *error)
{
    *out_hint = 0;
    bool memory = op->right == OP_MEMORY_READ || op->right == OP_MEMORY_WRITE;
    if (!call->ethos || service_ephemeral(call->ethos))
        return ETHOS_OK;
    if (op->right == OP_SESSIONS_WRITE)
        return check_conversation(call, out_hint, error);
    if (!memory)
        return check_key_limits(call, out_hint, error);
    int code = check_personality(call, op, out_hint, error);
    if (code == ETHOS_OK && !*out_hint)
        check_user(call, out_hint);
    return code;
}
