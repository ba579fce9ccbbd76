/*
 * updates.c: the memory updates of a turn: queued while the model works, applied together at its end.
 */
#include "agent/tools/updates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "ops/op.h"

#define BASE "base" /* of a queued row: the text that is replaced */

static const char *text_member(const json_t *row, const char *name)
{
    return json_string_value(json_object_get(row, name));
}

int updates_init(struct updates *self, struct ethos_turn *turn, struct ethos_error *error)
{
    *self = (struct updates){.turn = turn, .rows = json_array(), .changes = json_array()};
    str_init(&self->problems, UPDATES_MAX_PROBLEMS);
    return self->rows && self->changes ? ETHOS_OK : err_nomem(error);
}

void updates_release(struct updates *self)
{
    json_decref(self->rows);
    json_decref(self->changes);
    str_release(&self->problems);
    *self = (struct updates){0};
}

/* The text that is replaced, if it still has the revision that the model knows. */
static int add_base(const struct updates *self, json_t **row, struct ethos_error *error)
{
    struct ethos_file *file;
    const char *revision = text_member(*row, "ifMatch");
    const struct ethos_target target = {text_member(*row, "store"), text_member(*row, "scope"),
                                        text_member(*row, "key")};
    int code = revision ? ethos_read(self->turn, &target, &file, error) : ETHOS_OK;
    if (!revision || code != ETHOS_OK)
        return code;
    if (strcmp(file->revision, revision) == 0)
        op_json_put(row, BASE, json_text(view_of(file->text ? file->text : "", file->size)));
    ethos_file_free(file);
    return ETHOS_OK;
}

int updates_add(struct updates *self, const char *action, const json_t *args,
                struct ethos_error *error)
{
    json_t *row = json_deep_copy(args);
    op_json_put(&row, "action", json_string(action));
    int code = row ? add_base(self, &row, error) : ETHOS_OK;
    if (code != ETHOS_OK) {
        json_decref(row);
        return code;
    }
    op_json_push(&self->rows, row);
    return self->rows ? ETHOS_OK : err_nomem(error);
}

/* ---- what changed ------------------------------------------------------------------------------ */

static const char *store_of(const struct updates *self, const char *scope, const char *key)
{
    const struct ethos_context *context = ethos_turn_context(self->turn);
    bool profile = strcmp(key, "USER.md") == 0 && strcmp(scope, context->user_scope) == 0;
    return profile ? "user" : strcmp(scope, context->memory_scope) == 0 ? "memory" : "notes";
}

static json_t *find_change(const json_t *changes, const char *scope, const char *key)
{
    size_t index;
    json_t *row;
    json_array_foreach ((json_t *)changes, index, row)
        if (view_eq_str(json_view(row, "scope"), scope) && view_eq_str(json_view(row, "key"), key))
            return row;
    return NULL;
}

static json_t *find_or_add_change(struct updates *self, const char *scope, const char *key)
{
    json_t *row = find_change(self->changes, scope, key);
    if (row)
        return row;
    row = json_pack("{s:s, s:s, s:s, s:[], s:[]}", "store", store_of(self, scope, key), "scope",
                    scope, "key", key, "added", "removed");
    op_json_push(&self->changes, row);
    return self->changes ? row : NULL;
}

int updates_note_change(struct updates *self, const char *scope, const char *key)
{
    return find_or_add_change(self, scope, key) ? ETHOS_OK : ETHOS_NOMEM;
}

/* The lines that a unified diff adds and removes; blank ones say nothing. */
static void add_diff_lines(json_t *row, struct ethos_view diff)
{
    struct ethos_view line;
    bool hunk = false;
    while (view_line(&diff, &line)) {
        hunk = hunk || view_starts(line, VIEW("@@"));
        bool added = view_starts(line, VIEW("+")), removed = view_starts(line, VIEW("-"));
        if (!hunk || (!added && !removed) || view_blank(view_from(line, 1)))
            continue;
        json_array_append_new(json_object_get(row, added ? "added" : "removed"),
                              json_text(view_from(line, 1)));
    }
}

static void add_problem(struct updates *self, const struct ethos_outcome *outcome)
{
    const char *why = outcome->error ? outcome->error->text : "it could not be written";
    str_printf(&self->problems, "%s%s was not changed: %s.", self->problems.size ? " " : "",
               outcome->key, why);
}

/* ---- applying ---------------------------------------------------------------------------------- */

struct apply_state {
    struct updates *self;
    bool conflict[2];       /* of the scope of memory, and of the user's */
    bool reports_conflicts; /* there is no other way any more */
};

static void collect_outcome(void *arg, const struct ethos_outcome *outcome)
{
    struct apply_state *applying = arg;
    struct updates *self = applying->self;
    const struct ethos_context *context = ethos_turn_context(self->turn);
    if (outcome->kind == ETHOS_OUTCOME_WRITTEN || outcome->kind == ETHOS_OUTCOME_QUEUED) {
        json_t *row = find_or_add_change(self, outcome->scope, outcome->key);
        if (row && outcome->diff)
            add_diff_lines(row, view_str(outcome->diff));
    } else if (outcome->kind == ETHOS_OUTCOME_CONFLICT && !applying->reports_conflicts) {
        applying->conflict[strcmp(outcome->scope, context->memory_scope) != 0] = true;
    } else if (outcome->kind != ETHOS_OUTCOME_UNCHANGED) {
        add_problem(self, outcome);
    }
}

static struct ethos_update make_update(const json_t *row)
{
    const char *action = text_member(row, "action");
    bool remove = strcmp(action, "remove") == 0;
    return (struct ethos_update){.action = remove                           ? ETHOS_ACTION_REMOVE
                                           : strcmp(action, "replace") == 0 ? ETHOS_ACTION_REPLACE
                                                                            : ETHOS_ACTION_ADD,
                                 .store = text_member(row, "store"),
                                 .scope = text_member(row, "scope"),
                                 .key = text_member(row, "key"),
                                 .text = json_view(row, remove ? "substringMatch" : "content"),
                                 .if_match = text_member(row, "ifMatch")};
}

/* Whether an update is for the user's scope and not for that of memory. */
static bool is_for_user(const struct updates *self, const struct ethos_update *update)
{
    const struct ethos_context *context = ethos_turn_context(self->turn);
    bool user = (update->store && strcmp(update->store, "user") == 0) ||
                (update->key && strcmp(update->key, "USER.md") == 0);
    return user && strcmp(context->user_scope, context->memory_scope) != 0;
}

static int run_sync(struct apply_state *applying, const struct ethos_update *updates, size_t count,
                    struct ethos_origin origin, const char *suffix, struct ethos_error *error)
{
    char op_id[ETHOS_MAX_OPID + 1];
    if (origin.op_id)
        snprintf(op_id, sizeof op_id, "%s%s", origin.op_id, suffix);
    if (origin.op_id)
        origin.op_id = op_id;
    const struct ethos_sync_how how = {
        .origin = &origin, .flags = ETHOS_SYNC_DIFF, .each = collect_outcome, .arg = applying};
    int code = count > 0 ? ethos_sync(applying->self->turn, updates, count, &how, error) : ETHOS_OK;
    return code == ETHOS_PENDING ? ETHOS_OK : code; // the owner changed the mode meanwhile
}

/* The new text over the one that the model was shown. */
static int merge_replace(struct apply_state *applying, const struct ethos_update *update,
                         const json_t *row, const struct ethos_origin *origin)
{
    struct updates *self = applying->self;
    struct ethos_view base = json_view(row, BASE);
    struct ethos_error error = {0};
    unsigned conflicts = 0;
    struct str text;
    const struct ethos_target target = {update->store, update->scope, update->key};
    struct ethos_origin plain = *origin;
    const struct ethos_sync_how how = {
        .origin = &plain, .flags = ETHOS_SYNC_DIFF, .each = collect_outcome, .arg = applying};
    plain.op_id = NULL; // a save has none
    str_init(&text, ETHOS_MAX_STORE_BYTES);
    str_add(&text, view_trim(update->text));
    str_addc(&text, '\n');
    int code = str_code(&text);
    if (code == ETHOS_OK && !base.data)
        code = err_set(&error, ETHOS_CONFLICT, "it was changed by somebody else meanwhile");
    if (code == ETHOS_OK)
        code = ethos_save(self->turn, &target, base, str_view(&text), &how, &conflicts, &error);
    bool user = update->store && strcmp(update->store, "user") == 0;
    const char *key = update->key ? update->key : user ? "USER.md" : "MEMORY.md";
    if (code != ETHOS_OK)
        str_printf(&self->problems, "%s%s was not changed: %s.", self->problems.size ? " " : "",
                   key, error.text);
    else if (conflicts > 0)
        str_printf(&self->problems,
                   "%s%s was changed by somebody else meanwhile; what overlaps is kept in a "
                   "conflict copy.",
                   self->problems.size ? " " : "", key);
    str_release(&text);
    return ETHOS_OK;
}

/* A scope in which a replaced file had moved, so that nothing of it was written. */
static int apply_apart(struct apply_state *applying, const struct ethos_update *updates,
                       size_t count, bool user, const struct ethos_origin *origin,
                       struct ethos_error *error)
{
    struct ethos_update *others = calloc(count, sizeof *others);
    size_t other_count = 0;
    if (!others)
        return err_nomem(error);
    for (size_t i = 0; i < count; i++)
        if (is_for_user(applying->self, &updates[i]) == user && !updates[i].if_match)
            others[other_count++] = updates[i];
    int code = run_sync(applying, others, other_count, *origin, user ? ".user" : ".memory", error);
    for (size_t i = 0; code == ETHOS_OK && i < count; i++)
        if (is_for_user(applying->self, &updates[i]) == user && updates[i].if_match)
            code = merge_replace(applying, &updates[i], json_array_get(applying->self->rows, i),
                                 origin);
    free(others);
    return code;
}

int updates_apply(struct updates *self, const struct ethos_origin *origin,
                  struct ethos_error *error)
{
    size_t count = json_array_size(self->rows), index;
    struct apply_state applying = {.self = self};
    struct ethos_update *updates = count > 0 ? calloc(count, sizeof *updates) : NULL;
    json_t *row;
    if (count == 0)
        return ETHOS_OK;
    if (!updates)
        return err_nomem(error);
    json_array_foreach (self->rows, index, row)
        updates[index] = make_update(row);
    int code = run_sync(&applying, updates, count, *origin, "", error);
    bool apart = applying.conflict[0] || applying.conflict[1];
    if (code == ETHOS_CONFLICT && apart)
        code = ETHOS_OK;
    applying.reports_conflicts = true;
    for (int user = 0; code == ETHOS_OK && user < 2; user++)
        if (applying.conflict[user])
            code = apply_apart(&applying, updates, count, user, origin, error);
    free(updates);
    if (code == ETHOS_OK)
        json_array_clear(self->rows);
    return code;
}
