/*
 * pending.c: a write that waits for a person: one line of memory-pending.jsonl.
 */
#include "core/approval/pending.h"

#include <string.h>

#include "base/str.h"
#include "base/text/unicode.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/notes/note.h"

static const char *const action_names[] = {[ETHOS_ACTION_ADD] = "add",
                                           [ETHOS_ACTION_REPLACE] = "replace",
                                           [ETHOS_ACTION_REMOVE] = "remove",
                                           [ETHOS_ACTION_DELETE] = "delete"};

const char *pending_action_name(enum ethos_action action)
{
    return action_names[action];
}

/* ---- reading ----------------------------------------------------------------------------------- */

static const char *pending_text(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

static bool read_update(const json_t *update, struct pending *out)
{
    const char *action = pending_text(update, "action");
    out->key = pending_text(update, "key");
    out->action = 0;
    for (enum ethos_action i = ETHOS_ACTION_ADD; action && i <= ETHOS_ACTION_DELETE; i++)
        if (strcmp(action, action_names[i]) == 0)
            out->action = i;
    if (out->action == ETHOS_ACTION_REMOVE)
        out->text = json_view(update, "substringMatch");
    else if (out->action != ETHOS_ACTION_DELETE)
        out->text = json_view(update, "content");
    return out->action && out->key && (out->text.data || out->action == ETHOS_ACTION_DELETE);
}

/* Milliseconds; others may have written a fraction. */
static bool is_time(const json_t *value)
{
    double ms = json_number_value(value);
    return json_is_number(value) && ms > -1e15 && ms < 1e15;
}

bool pending_read(const json_t *row, struct pending *out)
{
    const json_t *proposed = json_object_get(row, "proposedAt"),
                 *note = json_object_get(row, "note");
    *out = (struct pending){
        .id = pending_text(row, "id"),
        .scope = pending_text(row, "scopeId"),
        .source = pending_text(row, "source"),
        .proposed_ms = is_time(proposed) ? (int64_t)json_number_value(proposed) : 0,
        .fact_hash = pending_text(row, "factHash"),
        .session = pending_text(row, "sessionId"),
        .session_key = pending_text(row, "sessionKey"),
        .actor = pending_text(row, "actor"),
        .via = pending_text(row, "via"),
        .trust = pending_text(row, "trust"),
        .why = json_object_get(row, "why"),
        .base = pending_text(row, "base"),
        .hash = pending_text(row, "hash"),
        .op_id = pending_text(row, "opId"),
        .user = pending_text(row, "userId"),
        .edited_from = pending_text(row, "editedFrom"),
        .has_note = json_is_object(note),
        .title = pending_text(note, "title"),
        .hook = pending_text(note, "hook"),
    };
    return out->id && out->scope && out->source && is_time(proposed) &&
           read_update(json_object_get(row, "update"), out);
}

/* ---- making ------------------------------------------------------------------------------------ */

/* Sets a member; on failure the object is let go of. */
static void put_pending_member(json_t **object, const char *name, json_t *value)
{
    if (json_object_set_new(*object, name, value) != 0) {
        json_decref(*object);
        *object = NULL;
    }
}

static void put_text_member(json_t **object, const char *name, const char *text)
{
    if (text)
        put_pending_member(object, name, json_text(view_str(text)));
}

static json_t *make_pending_update(const struct pending *pending)
{
    json_t *update = json_object();
    put_text_member(&update, "action", action_names[pending->action]);
    put_text_member(&update, "key", pending->key);
    if (pending->action != ETHOS_ACTION_DELETE)
        put_pending_member(&update,
                           pending->action == ETHOS_ACTION_REMOVE ? "substringMatch" : "content",
                           json_text(pending->text));
    return update;
}

static json_t *make_note(const struct pending *pending)
{
    json_t *note = json_object();
    put_text_member(&note, "title", pending->title);
    put_text_member(&note, "hook", pending->hook);
    return note;
}

json_t *pending_make(const struct pending *proposal)
{
    char hash[HASH_HEX_SIZE];
    json_t *row = json_object();
    put_text_member(&row, "id", proposal->id);
    put_text_member(&row, "scopeId", proposal->scope);
    put_pending_member(&row, "update", make_pending_update(proposal));
    put_text_member(&row, "source", proposal->source);
    put_pending_member(&row, "proposedAt", json_integer((json_int_t)proposal->proposed_ms));
    put_text_member(&row, "factHash", proposal->fact_hash);
    put_text_member(&row, "sessionId", proposal->session);
    put_text_member(&row, "sessionKey", proposal->session_key);
    put_text_member(&row, "actor", proposal->actor);
    put_text_member(&row, "via", proposal->via);
    put_text_member(&row, "trust", proposal->trust);
    put_pending_member(&row, "why", proposal->why ? json_deep_copy(proposal->why) : json_array());
    put_text_member(&row, "base", proposal->base);
    if (pending_hash(proposal, NULL, hash) != ETHOS_OK)
        put_pending_member(&row, "hash", NULL); // no memory
    else
        put_text_member(&row, "hash", hash);
    put_text_member(&row, "opId", proposal->op_id);
    put_text_member(&row, "userId", proposal->user);
    if (proposal->has_note)
        put_pending_member(&row, "note", make_note(proposal));
    put_text_member(&row, "editedFrom", proposal->edited_from);
    return row;
}

/* ---- hashes ------------------------------------------------------------------------------------ */

int pending_hash(const struct pending *pending, const char *revision, char out[HASH_HEX_SIZE])
{
    struct str text;
    json_t *shown = json_object();
    const char *base = revision ? revision : pending->base;
    put_text_member(&shown, "scopeId", pending->scope);
    put_pending_member(&shown, "update", make_pending_update(pending));
    if (pending->has_note)
        put_pending_member(&shown, "note", make_note(pending));
    if (pending->action != ETHOS_ACTION_ADD)
        put_text_member(&shown, "base", base);
    str_init(&text, SIZE_MAX);
    int code = shown ? json_print(shown, JSON_STYLE_LINE, &text) : ETHOS_NOMEM;
    if (code == ETHOS_OK)
        hash_hex(str_view(&text), out);
    json_decref(shown);
    str_release(&text);
    return code;
}

int fact_hash(struct ethos_view text, char out[HASH_HEX_SIZE])
{
    struct str folded;
    char bytes[4];
    bool blank = false;
    str_init(&folded, SIZE_MAX);
    text = view_trim(text);
    for (size_t i = 0; i < text.size;) {
        uint32_t cp;
        size_t step = utf8_decode(text.data + i, text.size - i, &cp, NULL);
        struct ethos_view one = view_of(text.data + i, step);
        i += step;
        if (view_blank(one)) {
            blank = true;
            continue;
        }
        if (blank)
            str_addc(&folded, ' ');
        blank = false;
        str_add(&folded, view_of(bytes, utf8_put(unicode_lower(cp), bytes)));
    }
    int code = str_code(&folded);
    if (code == ETHOS_OK)
        hash_hex(str_view(&folded), out);
    str_release(&folded);
    return code;
}

int pending_fact_hash(const struct pending *pending, char out[HASH_HEX_SIZE])
{
    struct note note;
    struct str text;
    bool removes = pending->action == ETHOS_ACTION_REMOVE || pending->action == ETHOS_ACTION_DELETE;
    if (!removes) {
        note_parse(pending->text, &note);
        return fact_hash(pending->has_note ? note.body : pending->text, out);
    }
    str_init(&text, SIZE_MAX);
    str_printf(&text, "%s %s ", action_names[pending->action], pending->key);
    str_add(&text, pending->text);
    int code = str_code(&text) == ETHOS_OK ? fact_hash(str_view(&text), out) : ETHOS_NOMEM;
    str_release(&text);
    return code;
}

/* ---- editing ----------------------------------------------------------------------------------- */

int pending_edit(json_t *row, struct ethos_view text)
{
    struct pending pending;
    char hash[HASH_HEX_SIZE], fact[HASH_HEX_SIZE];
    if (!pending_read(row, &pending))
        return ETHOS_INVALID;
    bool edited = pending.edited_from != NULL || !pending.hash;
    json_t *first = edited ? NULL : json_string(pending.hash);
    bool captured = pending.fact_hash != NULL;
    pending.text = text;
    json_t *update = make_pending_update(&pending);
    int code = update ? pending_hash(&pending, NULL, hash) : ETHOS_NOMEM;
    if (code == ETHOS_OK)
        code = pending_fact_hash(&pending, fact);
    bool kept = code == ETHOS_OK && json_object_set(row, "update", update) == 0 &&
                json_object_set_new(row, "hash", json_string(hash)) == 0 &&
                (!captured || json_object_set_new(row, "factHash", json_string(fact)) == 0) &&
                (!first || json_object_set(row, "editedFrom", first) == 0);
    json_decref(first);
    json_decref(update);
    return code != ETHOS_OK ? code : kept ? ETHOS_OK : ETHOS_NOMEM;
}
