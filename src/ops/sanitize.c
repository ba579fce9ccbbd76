/*
 * sanitize.c: removes secrets and instruction-like lines from a result, and makes invisible characters visible.
 *
 * This is applied to all texts of every result for a model, so that no operation can forget it.
 */
#include "ops/sanitize.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text/invisible.h"
#include "base/view.h"
#include "core/memory/sanitize.h"
#include "memory/shown_file.h"
#include "ops/cache_validator.h"

/* An invisible character of two bytes takes six when it is shown; longer ones grow less. */
#define SHOWN_ROOM (3 * (size_t)ETHOS_MAX_STORE_BYTES)

struct guard {
    struct ethos *ethos;
    struct op_validator *again; /* of the result, or NULL */
    struct arena arena;
    struct str safe; /* the current text without what is withheld, */
    struct str text; /* and with invisible characters shown */
    enum op_texts texts_of;
    const char *scope;           /* of the current text, or NULL */
    char known[ETHOS_MAX_SCOPE]; /* the scope of `shown`, the lines that the owner allows */
    struct shown_lines shown;
    bool read;
    bool found; /* the guard found something, even if the owner allows it */
    bool withheld, failed;
};

static bool guard_value(struct guard *guard, json_t *value);

/* Stands for all scopes: in a memory block, lines of scopes that do not allow them are gone already. */
static const char any_scope[] = "";

/* The lines that the owner allows in the current scope. They are read only when something was found. */
static const struct shown_lines *read_allowed_lines(struct guard *guard)
{
    if (!guard->scope)
        return NULL;
    if (!guard->read || strcmp(guard->known, guard->scope) != 0)
        guard->failed |= shown_file_lines(guard->ethos,
                                          guard->scope == any_scope ? NULL : guard->scope,
                                          &guard->arena, &guard->shown) != ETHOS_OK;
    guard->read = true;
    snprintf(guard->known, sizeof guard->known, "%s", guard->scope);
    return &guard->shown;
}

static struct ethos_view find_visible(struct guard *guard, struct ethos_view text)
{
    struct ethos_view safe = scan_visible(text, &guard->safe);
    if (safe.data == text.data)
        return text;
    if (!guard->found && guard->ethos)
        validator_depends_on_shown_lines(guard->again, guard->ethos);
    guard->found = true;
    const struct shown_lines *shown = read_allowed_lines(guard);
    return shown && shown->count > 0 ? scan_visible_with(text, shown, &guard->safe) : safe;
}

/* Puts what may be shown of a text into guard->text; false if all of it may. */
static bool scan_visible_text(struct guard *guard, struct ethos_view text)
{
    struct ethos_view safe = find_visible(guard, text);
    bool same = safe.data == text.data;
    size_t mark = safe.size - view_unmarked(safe).size; // a byte order mark hides nothing
    guard->withheld |= !same;
    if (same && hidden_find(safe, mark) == safe.size)
        return false;
    str_clear(&guard->text);
    str_add(&guard->text, view_of(safe.data, mark));
    hidden_show_all(view_from(safe, mark), &guard->text);
    return true;
}

/* Whether guard->text is complete, that is, memory sufficed. */
static bool is_output_whole(const struct guard *guard)
{
    return !guard->failed && str_code(&guard->safe) == ETHOS_OK &&
           str_code(&guard->text) == ETHOS_OK;
}

static bool guard_string(struct guard *guard, json_t *string)
{
    if (!scan_visible_text(guard, view_of(json_string_value(string), json_string_length(string))))
        return true;
    return is_output_whole(guard) &&
           json_string_setn(string, guard->text.data, guard->text.size) == 0;
}

static bool guard_members(struct guard *guard, json_t *object)
{
    const char *name, *outer = guard->scope;
    char scope[ETHOS_MAX_SCOPE]; // a copy: the member itself is sanitized, too
    struct ethos_view own = json_view(object, "scope");
    json_t *value;
    bool ok = true, block = guard->texts_of == OP_TEXTS_BLOCK;
    snprintf(scope, sizeof scope, "%.*s", VIEW_ARG(own));
    if (guard->texts_of == OP_TEXTS_SCOPED && own.data)
        guard->scope = scope;
    json_object_foreach (object, name, value) {
        guard->scope = block && !json_is_string(value) ? NULL : guard->scope;
        ok = ok && guard_value(guard, value);
        guard->scope = block ? outer : guard->scope;
    }
    guard->scope = outer;
    return ok;
}

/* Recursion is safe: operations build the nesting, not callers. */
static bool guard_value(struct guard *guard, json_t *value)
{
    size_t index;
    json_t *item;
    if (json_is_string(value))
        return guard_string(guard, value);
    if (json_is_object(value))
        return guard_members(guard, value);
    json_array_foreach (value, index, item) {
        if (!guard_value(guard, item))
            return false;
    }
    return true;
}

/* The member "scope" of a result of texts by name; NULL if there is none, or when out of memory. */
static const char *member_scope(struct guard *guard, const struct op_result *result)
{
    for (size_t i = 0; i < result->member_count; i++)
        if (strcmp(result->members[i].name, "scope") == 0)
            return arena_copy(&guard->arena, op_member_view(result, &result->members[i]));
    return NULL;
}

/* Appends the sanitized text of a member to the buffer and points the member to it. */
static bool guard_member(struct guard *guard, struct op_result *result, struct op_member *member)
{
    if (!scan_visible_text(guard, op_member_view(result, member)))
        return true;
    member->at = result->texts.size;
    member->size = guard->text.size;
    return is_output_whole(guard) && str_add(&result->texts, str_view(&guard->text)) == ETHOS_OK;
}

static bool guard_text(struct guard *guard, struct str *text)
{
    if (!scan_visible_text(guard, str_view(text)))
        return true;
    str_clear(text);
    return is_output_whole(guard) && str_add(text, str_view(&guard->text)) == ETHOS_OK;
}

int sanitize_result(struct ethos *ethos, struct op_result *result, struct ethos_error *error)
{
    struct guard guard = {.ethos = ethos,
                          .again = result->again,
                          .texts_of = ethos ? result->texts_of : OP_TEXTS_ANY};
    bool ok = true;
    arena_init(&guard.arena);
    str_init(&guard.safe, ETHOS_MAX_STORE_BYTES);
    str_init(&guard.text, SHOWN_ROOM);
    if (guard.texts_of == OP_TEXTS_SCOPED && result->member_count > 0)
        guard.scope = member_scope(&guard, result);
    for (size_t i = 0; ok && i < result->member_count; i++)
        ok = guard_member(&guard, result, &result->members[i]);
    guard.scope = guard.texts_of == OP_TEXTS_BLOCK ? any_scope : NULL;
    ok = ok && guard_value(&guard, result->json) &&
         (!result->has_text || guard_text(&guard, &result->text)) && !guard.failed;
    result->withheld |= guard.withheld;
    arena_release(&guard.arena);
    str_release(&guard.safe);
    str_release(&guard.text);
    return ok ? ETHOS_OK : err_nomem(error);
}
