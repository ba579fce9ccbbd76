/*
 * update_json.c: the JSON forms of an update, and what makes an update acceptable in any form.
 *
 * Strict about what it knows, silent about what it does not: a known member of the wrong type, or
 * given twice under two names with different values, refuses the whole call, since half a batch
 * would be worse; an unknown member is ignored.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <ethos/limits.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/text/quote.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "core/memory/update.h"

enum update_field { ACTION, STORE, SCOPE, KEY, CONTENT, MATCH, IF_MATCH, FIELDS };

/* A member and its other name. */
struct spelling {
    const char *name;
    const char *alias;
};

static const struct spelling spellings[FIELDS] = {
    [ACTION] = {"action", NULL},
    [STORE] = {"store", NULL},
    [SCOPE] = {"scope", NULL},
    [KEY] = {"key", NULL},
    [CONTENT] = {"content", NULL},
    [MATCH] = {"substringMatch", "substring_match"},
    [IF_MATCH] = {"if_match", "ifMatch"},
};

static const struct spelling op_id_spelling = {"opId", "op_id"};

static const struct {
    const char *word;
    enum ethos_action action;
} actions[] = {{"add", ETHOS_ACTION_ADD},
               {"replace", ETHOS_ACTION_REPLACE},
               {"remove", ETHOS_ACTION_REMOVE},
               {"delete", ETHOS_ACTION_DELETE}};

static const char use_actions[] = "use add, replace, remove or delete";

/* Where we are, for messages: the update counted from 1, or 0 where it needs no naming. */
struct parser {
    struct arena *arena;
    size_t index;
    struct ethos_error *error;
};

static size_t index_of(size_t i, size_t count)
{
    return count > 1 ? i + 1 : 0;
}

__attribute__((format(printf, 2, 3))) static int refuse_update(const struct parser *p,
                                                               const char *format, ...)
{
    char what[2 * QUOTE_SIZE]; /* longer than the message, which then marks its end as cut */
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    if (p->index == 0)
        return err_set(p->error, ETHOS_INVALID, "%s", what);
    return err_set(p->error, ETHOS_INVALID, "updates[%zu]: %s", p->index, what);
}

static int refuse_word(const struct parser *p, const char *what, struct ethos_view word,
                       const char *hint)
{
    char shown[QUOTE_SIZE];

    refuse_update(p, "unknown %s '%s'", what, quote_line(word, shown));
    return err_hint(p->error, ETHOS_INVALID, "%s", hint);
}

/* ---- members ------------------------------------------------------------------------------- */

/* One member under one name; missing and null give the absent view. */
static int read_member_named(const struct parser *p, const json_t *object, const char *name,
                             struct ethos_view *out)
{
    const json_t *value = name ? json_object_get(object, name) : NULL;

    *out = view_str(NULL);
    if (!value || json_is_null(value))
        return ETHOS_OK;
    if (!json_is_string(value))
        return refuse_update(p, "'%s' must be a string", name);
    *out = view_of(json_string_value(value), json_string_length(value));
    return ETHOS_OK;
}

static int read_update_member(const struct parser *p, const json_t *object,
                              const struct spelling *spelling, struct ethos_view *out)
{
    struct ethos_view alias;
    int code = read_member_named(p, object, spelling->name, out);

    if (!code)
        code = read_member_named(p, object, spelling->alias, &alias);
    if (code || !alias.data)
        return code;
    if (out->data && !view_eq(*out, alias))
        return refuse_update(p, "'%s' and '%s' differ", spelling->name, spelling->alias);
    *out = alias;
    return ETHOS_OK;
}

static bool has_nul(struct ethos_view text)
{
    return text.size > 0 && memchr(text.data, 0, text.size);
}

/* Every text that leaves here is a C string too: NUL ends the call before it can end a name. */
static int check_nul(const struct parser *p, enum update_field field, struct ethos_view value)
{
    if (!has_nul(value))
        return ETHOS_OK;
    if (field == SCOPE)
        return scope_refuse(value, p->error);
    if (field == KEY)
        return scope_key_refuse(value, p->error);
    return refuse_update(p, "'%s' contains NUL", spellings[field].name);
}

static int read_fields(const struct parser *p, const json_t *object,
                       struct ethos_view fields[FIELDS])
{
    for (int i = 0; i < FIELDS; i++) {
        int code = read_update_member(p, object, &spellings[i], &fields[i]);
        if (!code)
            code = check_nul(p, (enum update_field)i, fields[i]);
        if (code)
            return code;
    }
    return ETHOS_OK;
}

/* ---- one update ---------------------------------------------------------------------------- */

static int find_action(const struct parser *p, struct ethos_view word, enum ethos_action *out)
{
    if (!word.data)
        return refuse_update(p, "'action' is missing");
    for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++) {
        if (view_eq_str(word, actions[i].word)) {
            *out = actions[i].action;
            return ETHOS_OK;
        }
    }
    return refuse_word(p, "action", word, use_actions);
}

static int check_update_text(const struct parser *p, const struct ethos_update *update)
{
    const char *name = spellings[update->action == ETHOS_ACTION_REMOVE ? MATCH : CONTENT].name;

    if (update->action == ETHOS_ACTION_DELETE)
        return ETHOS_OK;
    if (!update->text.data)
        return refuse_update(p, "'%s' is missing", name);
    return has_nul(update->text) ? refuse_update(p, "'%s' contains NUL", name) : ETHOS_OK;
}

static int check_update(const struct parser *p, const struct ethos_update *update)
{
    if (update->action < ETHOS_ACTION_ADD || update->action > ETHOS_ACTION_DELETE) {
        refuse_update(p, "unknown action %d", (int)update->action);
        return err_hint(p->error, ETHOS_INVALID, "%s", use_actions);
    }
    if (update->store && !scope_store_key(update->store))
        return refuse_word(p, "store", view_str(update->store), "use memory or user");
    if (update->scope && !update->key)
        return refuse_update(p, "'scope' needs 'key'");
    return check_update_text(p, update);
}

/* Puts a copy of an optional text into the arena; absent stays absent. */
static int copy_to_arena(const struct parser *p, size_t size, const char **text)
{
    if (!*text)
        return ETHOS_OK;
    *text = arena_copy(p->arena, view_of(*text, size));
    return *text ? ETHOS_OK : err_nomem(p->error);
}

static int keep_name(const struct parser *p, const char **name)
{
    return copy_to_arena(p, view_str(*name).size, name);
}

static int keep_update(const struct parser *p, struct ethos_update *update)
{
    int code = copy_to_arena(p, update->text.size, &update->text.data);

    if (!code)
        code = keep_name(p, &update->store);
    if (!code)
        code = keep_name(p, &update->scope);
    if (!code)
        code = keep_name(p, &update->key);
    if (!code)
        code = keep_name(p, &update->if_match);
    return code;
}

/* First as views of the document, then, when all is well, as copies. */
static int parse_update(const struct parser *p, const json_t *object, struct ethos_update *out)
{
    struct ethos_view fields[FIELDS];
    int code;

    if (!json_is_object(object))
        return refuse_update(p, "an update must be an object");
    code = read_fields(p, object, fields);
    if (!code)
        code = find_action(p, fields[ACTION], &out->action);
    if (code)
        return code;
    out->store = fields[STORE].data;
    out->scope = fields[SCOPE].data;
    out->key = fields[KEY].data;
    out->if_match = fields[IF_MATCH].data;
    if (out->action == ETHOS_ACTION_REMOVE && fields[MATCH].data)
        out->text = fields[MATCH];
    else if (out->action != ETHOS_ACTION_DELETE)
        out->text = fields[CONTENT];
    code = check_update(p, out);
    return code ? code : keep_update(p, out);
}

/* ---- the call ------------------------------------------------------------------------------ */

static int check_count(size_t count, struct ethos_error *error)
{
    if (count <= ETHOS_MAX_BATCH)
        return ETHOS_OK;
    return err_set(error, ETHOS_LIMIT, "%zu updates in one call; at most %d", count,
                   ETHOS_MAX_BATCH);
}

int update_check(const struct ethos_update *updates, size_t count, struct ethos_error *error)
{
    struct parser p = {.error = error};
    int code = check_count(count, error);

    for (size_t i = 0; i < count && !code; i++) {
        p.index = index_of(i, count);
        code = check_update(&p, &updates[i]);
    }
    return code;
}

static int parse_list(struct parser *p, const json_t *list, struct update_batch *batch)
{
    int code;

    batch->count = json_array_size(list);
    code = check_count(batch->count, p->error);
    if (code)
        return code;
    batch->updates = arena_array(p->arena, batch->count, sizeof(*batch->updates));
    if (batch->count > 0 && !batch->updates)
        return err_nomem(p->error);
    for (size_t i = 0; i < batch->count && !code; i++) {
        p->index = index_of(i, batch->count);
        code = parse_update(p, json_array_get(list, i), &batch->updates[i]);
    }
    return code;
}

static int parse_single(struct parser *p, const json_t *object, struct update_batch *batch)
{
    batch->count = 1;
    batch->updates = arena_alloc(p->arena, sizeof(*batch->updates));
    return batch->updates ? parse_update(p, object, batch->updates) : err_nomem(p->error);
}

static bool op_id_ok(struct ethos_view id)
{
    if (id.size < 1 || id.size > ETHOS_MAX_OPID)
        return false;
    for (size_t i = 0; i < id.size; i++) {
        char c = id.data[i];
        if (!scope_id_ok(view_of(&c, 1)) && c != '.' && c != ':')
            return false;
    }
    return true;
}

int update_check_opid(struct ethos_view id, struct ethos_error *error)
{
    if (op_id_ok(id))
        return ETHOS_OK;
    int code = err_set(error, ETHOS_INVALID, "'opId' is not valid");
    return err_hint(error, code, "use 1 to %d of A-Z a-z 0-9 _ . : -", ETHOS_MAX_OPID);
}

static int parse_op_id(struct parser *p, const json_t *object, const char **out)
{
    struct ethos_view id;
    int code = read_update_member(p, object, &op_id_spelling, &id);

    if (!code && id.data)
        code = update_check_opid(id, p->error);
    if (!code)
        code = copy_to_arena(p, id.size, &id.data);
    if (!code)
        *out = id.data;
    return code;
}

static int parse_root(struct parser *p, const json_t *root, struct update_batch *batch)
{
    const json_t *list = json_object_get(root, "updates");
    int code;

    if (json_is_array(root))
        return parse_list(p, root, batch);
    if (!json_is_object(root))
        return refuse_update(p, "updates: neither an object nor an array");
    code = parse_op_id(p, root, &batch->op_id);
    if (code)
        return code;
    if (!list)
        return parse_single(p, root, batch);
    return json_is_array(list) ? parse_list(p, list, batch)
                               : refuse_update(p, "'updates' must be an array");
}

int update_parse(struct ethos_view json, struct arena *arena, struct update_batch *out,
                 struct ethos_error *error)
{
    struct parser parser = {.arena = arena, .error = error};
    struct update_batch batch = {0};
    json_t *root = NULL;
    int code = json_parse(json, "updates", &root, error);

    if (code)
        return code;
    code = parse_root(&parser, root, &batch);
    json_decref(root);
    if (!code)
        *out = batch;
    return code;
}
