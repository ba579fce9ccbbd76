/*
 * sanitize.c: secrets and instruction-like lines taken out of an answer, wherever in it they stand, and
 * characters that nobody would see made visible.
 *
 * Operations need not know who asks: the texts of any answer are scanned on its way out, so that no
 * operation can forget it.
 */
#include "ops/sanitize.h"

#include "base/err.h"
#include "base/text/invisible.h"
#include "base/view.h"
#include "core/memory/sanitize.h"

/* A character of two bytes takes six when it is shown, longer ones grow less. */
#define SHOWN_ROOM (3 * (size_t)ETHOS_MAX_STORE_BYTES)

struct guard {
    struct str safe; /* of the string at hand: without what is withheld */
    struct str text; /* and with everything to be seen */
    bool withheld;
};

static bool guard_value(struct guard *guard, json_t *value);

/* What may be shown of a text, in guard->text; false: all of it. */
static bool scan(struct guard *guard, struct ethos_view text)
{
    struct ethos_view safe = scan_visible(text, &guard->safe);
    bool same = safe.data == text.data;
    size_t mark = safe.size - view_unmarked(safe).size; // at the start of a file it hides nothing
    guard->withheld |= !same;
    if (same && hidden_find(safe, mark) == safe.size)
        return false;
    str_clear(&guard->text);
    str_add(&guard->text, view_of(safe.data, mark));
    hidden_show_all(view_from(safe, mark), &guard->text);
    return true;
}

/* Whether what is now in guard->text is all of it. */
static bool is_whole(const struct guard *guard)
{
    return str_code(&guard->safe) == ETHOS_OK && str_code(&guard->text) == ETHOS_OK;
}

static bool guard_string(struct guard *guard, json_t *string)
{
    if (!scan(guard, view_of(json_string_value(string), json_string_length(string))))
        return true;
    return is_whole(guard) && json_string_setn(string, guard->text.data, guard->text.size) == 0;
}

static bool guard_members(struct guard *guard, json_t *object)
{
    const char *name;
    json_t *value;
    json_object_foreach (object, name, value) {
        if (!guard_value(guard, value))
            return false;
    }
    return true;
}

/* Depth is what operations build, never what somebody sent. */
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

/* What is left of a member takes another place among the texts. */
static bool guard_member(struct guard *guard, struct op_result *result, struct op_member *member)
{
    if (!scan(guard, op_member_view(result, member)))
        return true;
    member->at = result->texts.size;
    member->size = guard->text.size;
    return is_whole(guard) && str_add(&result->texts, str_view(&guard->text)) == ETHOS_OK;
}

static bool guard_text(struct guard *guard, struct str *text)
{
    if (!scan(guard, str_view(text)))
        return true;
    str_clear(text);
    return is_whole(guard) && str_add(text, str_view(&guard->text)) == ETHOS_OK;
}

int guard_result(struct op_result *result, struct ethos_error *error)
{
    struct guard guard = {0};
    str_init(&guard.safe, ETHOS_MAX_STORE_BYTES);
    str_init(&guard.text, SHOWN_ROOM);
    bool ok = true;
    for (size_t i = 0; ok && i < result->member_count; i++)
        ok = guard_member(&guard, result, &result->members[i]);
    ok = ok && guard_value(&guard, result->json) &&
         (!result->has_text || guard_text(&guard, &result->text));
    result->withheld |= guard.withheld;
    str_release(&guard.safe);
    str_release(&guard.text);
    return ok ? ETHOS_OK : err_nomem(error);
}
