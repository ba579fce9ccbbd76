/*
 * notes.c: the operations notes.*: remember, list, show, edit, write, rm, mv, check, reindex, promote.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/memory/sanitize.h"
#include "core/memory/scope.h"
#include "core/notes/index.h"
#include "core/notes/note.h"
#include "core/notes/similar_entries.h"
#include "memory/handle.h"
#include "memory/hooks/hooks.h"
#include "memory/notes/check.h"
#include "memory/notes/list.h"
#include "memory/notes/promote.h"
#include "memory/provider/missing_slots.h"
#include "ops/cache_validator.h"
#include "ops/paging.h"
#include "ops/tables.h"
#include "ops/write_report.h"

#define INDEX NOTES_INDEX
#define USUAL_NOTE 512 /* bytes of a result besides the note's text, usually */

#define EXISTS_WARNING                                                                             \
    "nothing was written: a note has this title; repeat with mode append, or with mode replace "   \
    "and if_match to correct it"
#define SECRET_WARNING                                                                             \
    "the text contains what looks like a secret: prompts leave it out, but the file has it; "      \
    "ethos memory forget removes it"

/* ---- the index in the prompt ------------------------------------------------------------------ */

static const struct ethos_omission *find_omission(const struct ethos_block *block,
                                                  const char *scope)
{
    for (size_t i = 0; block && i < block->omitted_count; i++) {
        const struct ethos_omission *row = &block->omitted[i];
        if (strcmp(row->scope, scope) == 0 && strcmp(row->key, INDEX) == 0 &&
            strcmp(row->reason, "budget") == 0)
            return row;
    }
    return NULL;
}

/* The section of a scope in the memory block; absent when the block does not show it. */
static struct ethos_view shown_index_part(const struct ethos_turn *turn,
                                          const struct ethos_block *block, const char *scope)
{
    const struct ethos_context *context = ethos_turn_context(turn);
    struct ethos_view part = {0};
    if (block && context->workspace_scope && strcmp(scope, context->workspace_scope) == 0)
        part = block->workspace_memory;
    else if (block && context->global_scope && strcmp(scope, context->global_scope) == 0)
        part = block->global_memory;
    else if (block && strcmp(scope, context->memory_scope) == 0)
        part = block->project_memory;
    return part;
}

static json_int_t count_lines(struct ethos_view index)
{
    struct index_entry entry;
    size_t offset = 0;
    json_int_t count = 0;
    while (index_next(index, &offset, &entry))
        count++;
    return count;
}

/* How many lines of the index a hook shows, whose budget is smaller. */
static int hooks_gauge(struct ethos_turn *turn, const char *scope, struct op_result *result,
                       json_t **out, struct ethos_error *error)
{
    CLEANUP_BLOCK struct ethos_block *block = NULL;
    CLEANUP_FILE struct ethos_file *file = NULL;
    const struct ethos_target target = {NULL, scope, INDEX};
    int code = hooks_block(turn, &block, error);
    if (block && result && result->code == ETHOS_OK) {
        result->code = block->code;
        result->error = block->error;
    }
    TRY(code);
    TRY(ethos_read(turn, &target, &file, error));
    *out = json_pack("{s:I, s:I}", "notes", count_lines(shown_index_part(turn, block, scope)), "of",
                     count_lines(view_of(file->text, file->size)));
    return *out ? ETHOS_OK : err_nomem(error);
}

/*
 * How the index fits into the prompt: its size, its budget, and what is omitted; JSON null if prompts do not show it.
 * If a file of the prompt cannot be read, the result carries that error; without a result, *out is JSON null.
 */
static int index_gauge(struct ethos_turn *turn, const char *scope, bool with_hooks,
                       struct op_result *result, json_t **out, struct ethos_error *error)
{
    const struct ethos_prefetch_options options = {.receipt = 1};
    struct ethos_block *block = NULL;
    int code = ethos_prefetch(turn, &options, &block, error);
    if (code != ETHOS_OK)
        return code;
    const struct ethos_omission *omitted = find_omission(block, scope);
    struct ethos_view part = shown_index_part(turn, block, scope);
    json_int_t shown = part.data ? (json_int_t)utf8_units(part) : -1,
               lost = omitted ? (json_int_t)omitted->chars : 0;
    json_int_t room = block ? (json_int_t)(service_settings(turn)->max_chars - block->chars) : 0;
    bool broken = block && block->code != ETHOS_OK;
    if (broken && result) {
        result->code = block->code;
        result->error = block->error;
    }
    *out = shown < 0 || (broken && !result)
               ? json_null()
               : json_pack("{s:I, s:I, s:I, s:I}", "chars", shown + lost, "budget",
                           omitted ? shown : shown + room, "omittedChars", lost, "omittedBytes",
                           omitted ? (json_int_t)omitted->bytes : 0);
    ethos_block_free(block);
    json_t *hooks = NULL;
    code = *out ? ETHOS_OK : err_nomem(error);
    if (json_is_object(*out) && with_hooks)
        code = hooks_gauge(turn, scope, result, &hooks, error);
    if (hooks)
        op_json_put(out, "hooks", hooks);
    if (code == ETHOS_OK && *out)
        return ETHOS_OK;
    json_decref(*out);
    *out = NULL;
    return code == ETHOS_OK ? err_nomem(error) : code;
}

/* ---- remember --------------------------------------------------------------------------------- */

/* The scope to save to: the argument "scope", or what a model chose with "about". */
static const char *named_scope(const struct op_call *call)
{
    const char *about = op_string(call, "about");
    bool everywhere = about && strcmp(about, "everywhere") == 0;
    return everywhere ? "global" : op_string(call, "scope");
}

/*
 * What to do if a note with this title exists. A model must choose, and may replace only a note that it has read;
 * otherwise it gets the existing note.
 */
static enum ethos_again named_duplicate_rule(const struct op_call *call)
{
    const char *mode = op_string(call, "mode");
    bool replace = op_flag(call, "replace") || (mode && strcmp(mode, "replace") == 0);
    if (op_flag(call, "new"))
        return ETHOS_AGAIN_NEW;
    if (call->blind) // the caller must not see the existing note
        return ETHOS_AGAIN_ADD;
    if (call->guarded && (!mode || (replace && !op_string(call, "ifMatch"))))
        return ETHOS_AGAIN_ASK;
    return replace ? ETHOS_AGAIN_REPLACE : ETHOS_AGAIN_ADD;
}

static struct ethos_fact named_fact(const struct op_call *call)
{
    return (struct ethos_fact){
        .text = op_text(call, "content"),
        .title = op_text(call, "title"),
        .hook = op_text(call, "hook"),
        .type = op_string(call, "type"),
        .scope = named_scope(call),
        .again = named_duplicate_rule(call),
    };
}

static int set_new_member(json_t *object, const char *name, json_t *value,
                          struct ethos_error *error)
{
    return json_object_set_new(object, name, value) == 0 ? ETHOS_OK : err_nomem(error);
}

/* Notes about the same subject, by the index; none if the index cannot be read. */
static json_t *similar_json(struct ethos_turn *turn, const struct ethos_kept *kept)
{
    struct ethos_text index = {0};
    struct ethos_view files[SIMILAR_MOST];
    json_t *rows = json_array();
    size_t count = 0;
    if (notes_read(turn, kept->scope, INDEX, &index, NULL) == ETHOS_OK)
        count = similar_entries(view_of(index.data, index.size), view_str(kept->key), files);
    for (size_t i = 0; i < count; i++)
        op_json_push(&rows, json_pack("{s:o}", "key", json_text(files[i])));
    notes_free(turn, &index);
    return rows;
}

static bool has_secret(const struct op_call *call)
{
    struct str safe;
    bool found = false;
    str_init(&safe, SIZE_MAX);
    for (size_t i = 0; !found && i < 3; i++) {
        const char *name = (const char *const[]){"content", "title", "hook"}[i];
        found = scan_text(op_text(call, name), SCAN_REDACT, &safe, NULL);
    }
    str_release(&safe);
    return found;
}

/* Adds the existing note if nothing was written; else similar notes, and a warning about secrets. */
static int add_advice(struct ethos_turn *turn, const struct op_call *call,
                      const struct ethos_kept *kept, json_t *more, struct ethos_error *error)
{
    if (strcmp(kept->effect, "exists") == 0) {
        CLEANUP_FILE struct ethos_file *file = NULL;
        const struct ethos_target target = {NULL, kept->scope, kept->key};
        TRY(ethos_read(turn, &target, &file, error));
        TRY(set_new_member(more, "content", json_text(view_of(file->text, file->size)), error));
        TRY(set_new_member(more, "revision", op_json_revision(file->revision), error));
        return set_new_member(more, "warning", json_string(EXISTS_WARNING), error);
    }
    if (strcmp(kept->effect, "unchanged") == 0)
        return ETHOS_OK;
    TRY(set_new_member(more, "similar", similar_json(turn, kept), error));
    return has_secret(call) ? set_new_member(more, "warning", json_string(SECRET_WARNING), error)
                            : ETHOS_OK;
}

/* Adds what was done with the fact, and how the index fits into the prompt. */
static int report_saved_note(struct ethos_turn *turn, const struct op_call *call,
                             const struct ethos_kept *kept, json_t *more, struct ethos_error *error)
{
    json_auto_t *gauge = NULL;
    if (index_gauge(turn, kept->scope, false, NULL, &gauge, NULL) != ETHOS_OK)
        gauge = json_null(); // the note is saved all the same
    TRY(set_new_member(more, "effect", json_string(kept->effect), error));
    TRY(set_new_member(more, "scope", json_string(kept->scope), error));
    TRY(set_new_member(more, "key", json_string(kept->key), error));
    TRY(set_new_member(more, "path", op_json_path(turn, kept->scope, kept->key), error));
    TRY(add_advice(turn, call, kept, more, error));
    return set_new_member(more, "index", json_incref(gauge), error);
}

/* The error for two arguments that cannot be combined. */
static int refuse_both_arguments(const char *one, const char *other, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_INVALID, "'%s' and '%s' are mutually exclusive", one, other);
    return err_hint(error, code, "leave one of them out");
}

static int remember_note(struct ethos_turn *turn, const struct op_call *call,
                         const struct ethos_sync_how *how, json_t *more, struct ethos_error *error)
{
    struct ethos_kept kept;
    const struct ethos_fact fact = named_fact(call);
    if (op_flag(call, "replace") && op_flag(call, "new"))
        return refuse_both_arguments("replace", "new", error);
    if (op_string(call, "mode") && (op_flag(call, "replace") || op_flag(call, "new")))
        return refuse_both_arguments("mode", op_flag(call, "new") ? "new" : "replace", error);
    if (op_string(call, "about") && op_string(call, "scope"))
        return refuse_both_arguments("about", "scope", error);
    TRY(ethos_remember(turn, &fact, how, &kept, error));
    return report_saved_note(turn, call, &kept, more, error);
}

static int run_remember(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return report_run(remember_note, call, result, error);
}

/* ---- list ------------------------------------------------------------------------------------- */

/* The metadata of a note. */
static json_t *note_json(const struct ethos_note *note)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:b, s:o}", "key", note->key,
                     "title", json_text(view_str(note->title)), "hook", op_json_string(note->hook),
                     "type", op_json_string(note->type), "created", op_json_string(note->created),
                     "verified", op_json_string(note->verified), "expires",
                     op_json_string(note->expires), "modifiedAt", op_json_time(note->mtime_ms),
                     "bytes", (json_int_t)note->bytes, "listed", note->listed, "stale",
                     op_json_string(note->stale));
}

#define LIST_PAGE 200 /* notes, unless a limit is given */

struct note_listing {
    struct row_pages pages;
    json_t *findings; /* of the last check, by key: {"key": [finding]} */
    const char *type;
    bool stale;
    json_int_t stale_count;
    size_t limit;
    char last[ETHOS_MAX_KEY + 1]; /* the last note that was read */
    char cursor[NOTES_CURSOR_SIZE];
    bool more;
};

/* Findings of the last check by key. Those about the index are left out: the listing itself shows them. */
static json_t *findings_by_key(const json_t *findings)
{
    json_t *by_key = json_object(), *row;
    size_t i;
    json_array_foreach ((json_t *)findings, i, row) {
        const char *about = json_string_value(json_object_get(row, "key"));
        const char *kind = json_string_value(json_object_get(row, "kind"));
        bool listing = kind && (strcmp(kind, "unlisted") == 0 || strcmp(kind, "double") == 0);
        if (!about || listing)
            continue;
        json_t *own = json_incref(json_object_get(by_key, about));
        if (!own)
            own = json_array();
        op_json_push(&own, json_incref(row));
        op_json_put(&by_key, about, own);
    }
    return by_key;
}

static int add_note_row(void *arg, const struct ethos_note *note)
{
    struct note_listing *listing = arg;
    json_t *findings = json_object_get(listing->findings, note->key);
    bool stale = note->stale || json_array_size(findings) > 0;
    bool wanted = (stale || !listing->stale) &&
                  (!listing->type ||
                   (note->type && note_is_type(view_str(note->type), listing->type)));
    listing->more = wanted && json_array_size(listing->pages.rows) >= listing->limit &&
                    !listing->pages.streams;
    if (listing->more) {
        snprintf(listing->cursor, sizeof listing->cursor, "%s/%s", listing->last, note->key);
        return 1;
    }
    snprintf(listing->last, sizeof listing->last, "%s", note->key);
    if (!wanted)
        return ETHOS_OK;
    json_t *row = note_json(note);
    op_json_put(&row, "findings", findings ? json_incref(findings) : json_array());
    listing->stale_count += stale;
    return pages_add(&listing->pages, row);
}

/* Lists one note, or those after the cursor `after` (NULL: all). */
static int list_notes(struct ethos_turn *turn, const char *scope, const char *key,
                      const char *after, struct note_listing *listing, struct ethos_error *error)
{
    json_t *findings = NULL;
    int code = notes_check_last(turn, scope, &findings, error);
    listing->findings = findings_by_key(findings);
    json_decref(findings);
    if (code == ETHOS_OK && !listing->findings)
        code = ETHOS_NOMEM;
    if (code == ETHOS_OK)
        code = key ? notes_pass_one(turn, scope, key, add_note_row, listing, error)
                   : notes_walk(turn, scope, after, add_note_row, listing, error);
    json_decref(listing->findings);
    if (code == 1 && listing->more)
        return ETHOS_OK;
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

static int run_list_notes(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    char scope[ETHOS_MAX_SCOPE];
    json_t *gauge = NULL;
    struct note_listing listing = {.type = op_string(call, "type"),
                                   .stale = op_flag(call, "stale")};
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    TRY(ethos_turn_new(call->ethos, call->request, &turn, error));
    TRY(notes_scope(turn, op_string(call, "scope"), scope, error));
    if (!op_string(call, "cursor"))
        notes_record_external_edits(turn, scope);
    pages_init(&listing.pages, call, "notes");
    listing.limit = pages_limit(&listing.pages, LIST_PAGE);
    int code = list_notes(turn, scope, NULL, op_string(call, "cursor"), &listing, error);
    if (code == ETHOS_OK)
        code = index_gauge(turn, scope, true, result, &gauge, error);
    if (code == ETHOS_OK)
        code = op_return(result,
                         json_pack("{s:s, s:o, s:o, s:I, s:O, s:o}", "scope", scope, "path",
                                   op_json_path(turn, scope, INDEX), "index", gauge, "stale",
                                   listing.stale_count, "notes", listing.pages.rows, "nextCursor",
                                   op_json_string(listing.more ? listing.cursor : NULL)),
                         error);
    json_decref(listing.pages.rows);
    return code;
}

/* ---- show ------------------------------------------------------------------------------------- */

static int show_note(struct ethos_turn *turn, const struct op_call *call, const char *scope,
                     const char *key, struct op_result *result, struct ethos_error *error)
{
    struct note_listing listing = {.limit = 1};
    struct ethos_file *file = NULL;
    const struct ethos_target target = {NULL, scope, key};
    int code = ethos_read(turn, &target, &file, error);
    listing.pages.rows = json_array();
    if (code == ETHOS_OK)
        code = list_notes(turn, scope, key, NULL, &listing, error);
    json_t *row = code == ETHOS_OK ? json_incref(json_array_get(listing.pages.rows, 0)) : NULL;
    if (code == ETHOS_OK && !row)
        code = err_set(error, ETHOS_NOTFOUND, "no such note: %s", key);
    if (code == ETHOS_OK) {
        op_json_put(&row, "scope", json_string(scope));
        op_json_put(&row, "content", json_text(view_of(file->text, file->size)));
        op_json_put(&row, "path", op_json_string(file->path));
        op_json_put(&row, "revision", op_json_revision(file->revision));
        result->has_text = !call->want_json;
        str_add(&result->text, view_of(file->text, call->want_json ? 0 : file->size));
        if (str_code(&result->text) != ETHOS_OK) {
            json_decref(row);
            row = NULL;
        }
        code = op_return(result, row, error);
    }
    ethos_file_free(file);
    json_decref(listing.pages.rows);
    return code;
}

/* Records an external edit of the note before it is shown. */
static void settle_note(struct ethos_turn *turn, const char *scope, const char *key)
{
    struct ethos_provider *provider = service_provider(turn, scope, key);
    if (SLOT_PROVIDER(provider, settle))
        provider->ops->settle(provider, scope, key, NULL);
}

static int run_show_note(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    char scope[ETHOS_MAX_SCOPE], key[ETHOS_MAX_KEY + 1];
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    TRY(ethos_turn_new(call->ethos, call->request, &turn, error));
    TRY(notes_locate(turn, op_string(call, "scope"), op_string(call, "name"), scope, key, error));
    settle_note(turn, scope, key);
    return show_note(turn, call, scope, key, result, error);
}

/* ---- get -------------------------------------------------------------------------------------- */

/* The key of a file with this name; false if the name is too long. */
static bool file_key_of_name(const char *name, char out[ETHOS_MAX_KEY + 1])
{
    struct ethos_view text = view_str(name);
    size_t more = view_ends(text, VIEW(".md")) ? 0 : 3;
    if (text.size + more > ETHOS_MAX_KEY)
        return false;
    memcpy(out, name, text.size);
    memcpy(out + text.size, ".md", more);
    out[text.size + more] = 0;
    return true;
}

/* Reads a note by name. Usually the name is that of its file, and then no other file is read: see *seen. */
static int read_named_note(struct ethos_turn *turn, const char *given, const char *name,
                           struct ethos_file **out, struct service_seen *seen,
                           struct ethos_error *error)
{
    char scope[ETHOS_MAX_SCOPE], key[ETHOS_MAX_KEY + 1];
    struct ethos_target target = {NULL, scope, key};
    int found = notes_scope(turn, given, scope, error);
    if (found != ETHOS_OK)
        return found;
    int code = ETHOS_NOTFOUND;
    if (file_key_of_name(name, key) && scope_key_visible(key) && strcmp(key, INDEX) != 0)
        code = service_read(turn, &target, out, seen, error);
    if (code == ETHOS_OK && (*out)->text)
        return ETHOS_OK;
    ethos_file_free(*out);
    *out = NULL;
    *seen = (struct service_seen){0};
    code = notes_locate(turn, given, name, scope, key, error);
    return code == ETHOS_OK ? ethos_read(turn, &target, out, error) : code;
}

/* Returns the note itself, without what the index and other notes say about it. */
static int return_note(const struct op_call *call, struct ethos_turn *turn,
                       const struct ethos_file *file, struct op_result *result,
                       struct ethos_error *error)
{
    struct note note;
    struct str title, type;
    char stale[NOTES_STALE_SIZE], changed[CLOCK_ISO_SIZE];
    note_parse(view_of(file->text, file->size), &note);
    notes_stale(note.expires, note.verified, note.created, file->mtime_ms,
                service_now_ms(call->ethos), service_settings(turn)->stale_days, stale);
    str_init(&title, ETHOS_MAX_READ_BYTES);
    str_init(&type, ETHOS_MAX_READ_BYTES);
    bool whole = note_title(&note, file->key, &title) == ETHOS_OK &&
                 note_value(note.type, &type) == ETHOS_OK;
    if (file->mtime_ms >= 0)
        clock_iso(file->mtime_ms, changed);
    str_reserve(&result->texts, file->size + USUAL_NOTE);
    op_member(result, "scope", view_str(file->scope));
    op_member(result, "key", view_str(file->key));
    op_member(result, "title", str_view(&title));
    op_member(result, "type", note.type.data ? str_view(&type) : note.type);
    op_member(result, "stale", view_str(*stale ? stale : NULL));
    op_member(result, "content", view_of(file->text, file->size));
    if (!call->members)
        op_member(result, "path", view_str(file->path));
    op_member(result, "modifiedAt", view_str(file->mtime_ms >= 0 ? changed : NULL));
    op_member(result, "revision", view_str(file->revision));
    str_release(&title);
    str_release(&type);
    return whole ? op_return_members(call, result, error) : err_nomem(error);
}

static int run_get_note(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    CLEANUP_FILE struct ethos_file *file = NULL;
    struct service_seen seen = {0};
    const char *name = op_string(call, "name");
    int64_t day = validator_day(service_now_ms(call->ethos));
    TRY(ethos_turn_new(call->ethos, call->request, &turn, error));
    result->texts_of = OP_TEXTS_SCOPED;
    TRY(read_named_note(turn, op_string(call, "scope"), name, &file, &seen, error));
    if (!file->text)
        return err_set(error, ETHOS_NOTFOUND, "no such note: %s", name);
    if (!call->members)
        TRY(service_locate(turn, file, error));
    TRY(return_note(call, turn, file, result, error));
    if (call->again)
        result->again = validator_new(&seen, day); // the result depends on the date
    return ETHOS_OK;
}

/* ---- remove, move, reindex -------------------------------------------------------------------- */

/* Removing and renaming need the scope. If a note of another scope has the name, the hint says so. */
static int hint_other_scope(struct ethos_turn *turn, const struct op_call *call, int code,
                            struct ethos_error *error)
{
    char scope[ETHOS_MAX_SCOPE], key[ETHOS_MAX_KEY + 1];
    bool lost = code == ETHOS_NOTFOUND && !op_string(call, "scope");
    if (lost && notes_locate(turn, NULL, op_string(call, "name"), scope, key, NULL) == ETHOS_OK)
        return err_hint(error, code, "there is one in %s: --scope %s", scope, scope);
    return code;
}

/* The scope of the note to change. For a model it is the one that note_read finds. */
static int choose_changed_scope(struct ethos_turn *turn, const struct op_call *call,
                                char room[ETHOS_MAX_SCOPE], const char **out,
                                struct ethos_error *error)
{
    char key[ETHOS_MAX_KEY + 1];
    *out = op_string(call, "scope");
    if (*out || !call->guarded)
        return ETHOS_OK;
    *out = room;
    return notes_locate(turn, NULL, op_string(call, "name"), room, key, error);
}

/* Whether notes removed from this scope cannot be restored. */
static bool is_removal_final(const struct ethos_turn *turn, const char *scope)
{
    char whole[ETHOS_MAX_SCOPE];
    return notes_scope(turn, scope, whole, NULL) == ETHOS_OK &&
           !SLOT_PROVIDER(service_provider(turn, whole, NULL), history);
}

static int remove_note(struct ethos_turn *turn, const struct op_call *call,
                       const struct ethos_sync_how *how, json_t *more, struct ethos_error *error)
{
    char room[ETHOS_MAX_SCOPE];
    const char *scope;
    int code = choose_changed_scope(turn, call, room, &scope, error);
    if (code == ETHOS_OK)
        code = ethos_note_remove(turn, scope, op_string(call, "name"), how, error);
    if (code == ETHOS_OK && is_removal_final(turn, scope))
        op_json_put(&more, "final", json_true());
    return hint_other_scope(turn, call, code, error);
}

static int change_note(struct ethos_turn *turn, const struct op_call *call,
                       const struct ethos_sync_how *how, json_t *more, struct ethos_error *error)
{
    char room[ETHOS_MAX_SCOPE];
    const char *scope;
    struct ethos_kept kept = {0};
    const struct notes_change change = {op_text(call, "content"), op_text(call, "hook"),
                                        op_text(call, "title")};
    int code = choose_changed_scope(turn, call, room, &scope, error);
    if (code == ETHOS_OK)
        code = notes_write(turn, scope, op_string(call, "name"), &change, how, &kept, error);
    return code == ETHOS_OK ? report_saved_note(turn, call, &kept, more, error)
                            : hint_other_scope(turn, call, code, error);
}

static int run_write_note(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return report_run(change_note, call, result, error);
}

static int run_remove_note(struct op_call *call, struct op_result *result,
                           struct ethos_error *error)
{
    return report_run(remove_note, call, result, error);
}

static int move_note(struct ethos_turn *turn, const struct op_call *call,
                     const struct ethos_sync_how *how, json_t *more, struct ethos_error *error)
{
    char key[ETHOS_MAX_KEY + 1], from[ETHOS_MAX_SCOPE], to[ETHOS_MAX_SCOPE];
    const char *name = op_string(call, "name"), *new_name = op_string(call, "newName");
    const char *scope = op_string(call, "scope");
    if (new_name) {
        int code = ethos_note_move(turn, scope, name, new_name, how, key, error);
        if (code != ETHOS_OK)
            return hint_other_scope(turn, call, code, error);
        return set_new_member(more, "key", json_string(key), error);
    }
    if (!scope)
        return err_hint(error, err_set(error, ETHOS_INVALID, "give a new name or a scope"),
                        "ethos notes mv NAME NEW, or ethos notes mv NAME --scope global");
    TRY(notes_transfer(turn, name, scope, how, from, key, error));
    TRY(set_new_member(more, "from", json_string(from), error));
    TRY(notes_scope(turn, scope, to, error));
    TRY(set_new_member(more, "to", json_string(to), error));
    return set_new_member(more, "key", json_string(key), error);
}

static int run_move_note(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return report_run(move_note, call, result, error);
}

struct index_fixes {
    json_t **rows;
    size_t count, most;
};

static void add_index_fix(void *arg, const char *problem, const char *key, uint64_t line)
{
    struct index_fixes *fixes = arg;
    if (fixes->count++ < fixes->most)
        op_json_push(fixes->rows, json_pack("{s:s, s:s, s:I}", "problem", problem, "key", key,
                                            "line", (json_int_t)line));
}

static int reindex_notes(struct ethos_turn *turn, const struct op_call *call,
                         const struct ethos_sync_how *how, json_t *more, struct ethos_error *error)
{
    json_auto_t *rows = json_array();
    struct index_fixes fixes = {&rows, 0, call->whole_lists ? SIZE_MAX : PAGES_ROWS};
    TRY(ethos_notes_reindex(turn, op_string(call, "scope"), how, add_index_fix, &fixes, error));
    if (fixes.count > fixes.most)
        TRY(set_new_member(more, "moreMended", json_integer((json_int_t)(fixes.count - fixes.most)),
                           error));
    return set_new_member(more, "mended", json_incref(rows), error);
}

static int run_reindex(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return report_run(reindex_notes, call, result, error);
}

/* ---- check ------------------------------------------------------------------------------------ */

static void add_finding(void *arg, const struct note_finding *finding)
{
    op_json_push(arg, json_pack("{s:s, s:s, s:I, s:o, s:b}", "key", finding->key, "kind",
                                finding->kind, "line", (json_int_t)finding->line, "text",
                                json_text(view_str(finding->text)), "fixed", finding->fixed));
}

static int check_notes(struct ethos_turn *turn, const struct op_call *call,
                       const struct ethos_sync_how *how, json_t *more, struct ethos_error *error)
{
    const struct notes_check what = {op_string(call, "scope"), op_string(call, "name"),
                                     op_flag(call, "fix"), op_flag(call, "confirm")};
    struct notes_checked checked = {0};
    json_t *findings = json_array();
    int code = what.confirm && !what.name
                   ? err_hint(error,
                              err_set(error, ETHOS_INVALID, "'confirm' needs the name of a note"),
                              "for example: ethos notes check running-the-tests --confirm")
                   : notes_check(turn, &what, how, add_finding, &findings, &checked, error);
    json_t *counts = json_pack("{s:I, s:I, s:I, s:I, s:I}", "notes", (json_int_t)checked.notes,
                               "claims", (json_int_t)checked.claims, "findings",
                               (json_int_t)checked.findings, "fixed", (json_int_t)checked.fixed,
                               "verified", (json_int_t)checked.verified);
    json_t *json = json_pack("{s:o, s:o}", "findings", findings, "checked", counts);
    if (code == ETHOS_OK)
        code = pages_cut(call, &json, "findings", "key kind line text", PAGES_ROWS, error);
    if (code == ETHOS_OK && json_object_update(more, json) != 0)
        code = err_nomem(error);
    json_decref(json);
    return code;
}

static int run_check_notes(struct op_call *call, struct op_result *result,
                           struct ethos_error *error)
{
    return report_run(check_notes, call, result, error);
}

/* ---- promote ---------------------------------------------------------------------------------- */

static int promote_note(struct ethos_turn *turn, const struct op_call *call,
                        const struct ethos_sync_how *how, json_t *more, struct ethos_error *error)
{
    char *path = NULL;
    const struct notes_promote what = {op_string(call, "scope"), op_string(call, "name"),
                                       op_string(call, "to"), op_string(call, "skill"),
                                       op_flag(call, "replace")};
    TRY(notes_promote(turn, &what, how, &path, error));
    int code = set_new_member(more, "skill", op_json_string(path), error);
    free(path);
    return code;
}

static int run_promote(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return report_run(promote_note, call, result, error);
}

/* ---- the rows --------------------------------------------------------------------------------- */

#define NOTE_TYPES "user|feedback|project|reference"
#define ARG_NAME                                                                                   \
    {                                                                                              \
        "name", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "NAME",                                \
            "a note, by file name or title"                                                        \
    }

static const struct op_arg remember_args[] = {
    {"content", OP_TEXT, OP_REQUIRED | OP_POSITIONAL | OP_STDIN, NULL, "TEXT",
     "the fact; - reads standard input"},
    {"title", OP_TEXT, 0, NULL, "TITLE", "the note's title (default: from the text)"},
    {"type", OP_CHOICE, 0, NOTE_TYPES, "TYPE", "user, feedback, project (default) or reference"},
    {"hook", OP_TEXT, 0, NULL, "TEXT", "when the note matters, for the index"},
    ARG_NOTE_SCOPE,
    {"about", OP_CHOICE, 0, "project|everywhere", "WHAT",
     "project (default), or everywhere (the same as --scope global)"},
    {"mode", OP_CHOICE, 0, "append|replace", "MODE",
     "if a note with this title exists: append (default) or replace"},
    {"replace", OP_FLAG, 0, NULL, NULL, "the same as --mode replace"},
    {"new", OP_FLAG, 0, NULL, NULL, "create a new note even if one with this title exists"},
    ARG_IF_MATCH,
    {"opId", OP_TEXT, 0, NULL, "ID", "idempotency key: repeating a call returns the first result"},
    ARG_END};
static const struct op_arg list_args[] = {
    {"type", OP_CHOICE, 0, NOTE_TYPES, "TYPE",
     "only this type: user, feedback, project or reference"},
    {"stale", OP_FLAG, 0, NULL, NULL, "only notes that need review"},
    ARG_NOTE_SCOPE,
    ARG_LIMIT("1|5000", "at most this many (default: all; other surfaces: 200)"),
    ARG_CURSOR,
    ARG_END};
static const struct op_arg name_args[] = {ARG_NAME, ARG_NOTE_SCOPE, ARG_END};
static const struct op_arg remove_args[] = {ARG_NAME, ARG_NOTE_SCOPE, ARG_IF_MATCH, ARG_END};
static const struct op_arg write_args[] = {
    ARG_NAME,
    {"content", OP_TEXT, OP_POSITIONAL | OP_STDIN, NULL, "TEXT",
     "the new text of the note; - reads standard input"},
    {"hook", OP_TEXT, 0, NULL, "TEXT", "its new hook (default: from a new text)"},
    {"title", OP_TEXT, 0, NULL, "TITLE", "its new title"},
    ARG_NOTE_SCOPE,
    ARG_IF_MATCH,
    ARG_END};
static const struct op_arg move_args[] = {
    ARG_NAME,
    {"newName", OP_TEXT, OP_POSITIONAL, NULL, "NEW", "a file name or a title"},
    {"scope", OP_TEXT, 0, NULL, "SCOPE",
     "with NEW, the note's scope; without, the target: workspace, personality, global"},
    ARG_IF_MATCH,
    ARG_END};
static const struct op_arg check_args[] = {
    {"name", OP_TEXT, OP_POSITIONAL, NULL, "NAME", "one note (default: all)"},
    {"fix", OP_FLAG, 0, NULL, NULL, "fix the index where it disagrees with the files"},
    {"confirm", OP_FLAG, 0, NULL, NULL, "mark the note as verified today"},
    ARG_NOTE_SCOPE,
    ARG_LIMIT("1|5000", "at most this many findings (default: all; other surfaces: 1000)"),
    ARG_CURSOR,
    ARG_END};
static const struct op_arg scope_args[] = {ARG_NOTE_SCOPE, ARG_END};
static const struct op_arg promote_args[] = {
    ARG_NAME,
    {"to", OP_TEXT, 0, NULL, "DIR", "folder of skills (default: .claude/skills of the workspace)"},
    {"skill", OP_TEXT, 0, NULL, "NAME", "the skill's name (default: from the note)"},
    {"replace", OP_FLAG, 0, NULL, NULL, "overwrite an existing skill with this name"},
    ARG_NOTE_SCOPE,
    ARG_END};

const struct op ops_notes[] = {
    {"notes.remember", "remember", "Save a fact as a note of the workspace",
     "ethos remember 'Tests need a running Redis' --title 'Running the tests'", remember_args,
     OP_MEMORY_WRITE, OP_WRITES, run_remember},
    {"notes.list", "notes list", "List the notes, and how the index fits into the prompt",
     "ethos notes list --stale", list_args, OP_MEMORY_READ, OP_IDEMPOTENT, run_list_notes},
    {"notes.show", "notes show", "Show one note", "ethos notes show running-the-tests", name_args,
     OP_MEMORY_READ, OP_IDEMPOTENT, run_show_note},
    {"notes.get", NULL, "Read one note without reading the others", NULL, name_args, OP_MEMORY_READ,
     OP_IDEMPOTENT | OP_QUICK, run_get_note},
    {"notes.edit", "notes edit", "Edit one note in your editor",
     "ethos notes edit running-the-tests", remove_args, OP_MEMORY_WRITE,
     OP_WRITES | OP_DESTRUCTIVE | OP_LOCAL, NULL},
    {"notes.write", "notes write", "Change the text, hook or title of a note",
     "ethos notes write staging-host 'Staging runs on host-b'", write_args, OP_MEMORY_WRITE,
     OP_WRITES | OP_DESTRUCTIVE, run_write_note},
    {"notes.remove", "notes rm", "Remove a note and its index line",
     "ethos notes rm running-the-tests", remove_args, OP_MEMORY_WRITE, OP_WRITES | OP_DESTRUCTIVE,
     run_remove_note},
    {"notes.move", "notes mv", "Rename a note, or move it to another scope",
     "ethos notes mv running-the-tests 'How to test'", move_args, OP_MEMORY_WRITE, OP_WRITES,
     run_move_note},
    {"notes.check", "notes check", "Check the files, symbols, dates and links that notes mention",
     "ethos notes check", check_args, OP_MEMORY_WRITE, OP_WRITES | OP_IDEMPOTENT, run_check_notes},
    {"notes.reindex", "notes reindex", "Make the index agree with the files", "ethos notes reindex",
     scope_args, OP_MEMORY_WRITE, OP_WRITES | OP_IDEMPOTENT, run_reindex},
    {"notes.promote", "notes promote", "Turn a note into a skill and leave a link to it",
     "ethos notes promote running-the-tests", promote_args, OP_MEMORY_WRITE, OP_WRITES | OP_LOCAL,
     run_promote},
    {0}};
