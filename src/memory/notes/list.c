/*
 * list.c: lists the notes of a scope, and finds the note that a name means.
 */
#include "memory/notes/list.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/text/single_line.h"
#include "base/text/slug.h"
#include "base/text/suggest.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "core/notes/index.h"
#include "core/notes/note.h"
#include "memory/handle_internal.h"
#include "memory/notes/check.h"
#include "memory/provider/missing_slots.h"

/* ---- scope and texts -------------------------------------------------------------------------- */

/* The default scope of notes. Global notes need no workspace. */
static const char *usual_scope(const struct ethos_turn *turn)
{
    const struct ethos_context *context = &turn->context;
    bool nowhere = !context->workspace_scope && !context->workspace_error;
    return nowhere && !turn->no_global ? "global" : "workspace";
}

int notes_scope(const struct ethos_turn *turn, const char *scope, char out[ETHOS_MAX_SCOPE],
                struct ethos_error *error)
{
    struct scope_target target;
    int code = scope_target(&turn->context, NULL, scope ? scope : usual_scope(turn), NOTES_INDEX,
                            true, &target, error);
    if (code == ETHOS_OK && scope_is_tree(target.scope))
        code = scope_refuse(view_str(target.scope), error); // its files are not notes
    if (code == ETHOS_OK)
        memcpy(out, target.scope, sizeof target.scope);
    return code == ETHOS_DENIED ? err_hint(error, code, "one of workspace, personality, global")
                                : code;
}

int notes_new_scope(const struct ethos_turn *turn, const char *scope, char out[ETHOS_MAX_SCOPE],
                    struct ethos_error *error)
{
    char found[ETHOS_MAX_SCOPE], own[ETHOS_MAX_SCOPE];
    const struct ethos_context *context = &turn->context;
    int code = notes_scope(turn, scope ? scope : "workspace", found, error);
    if (code == ETHOS_INVALID && !scope && !context->workspace_error)
        return err_hint(error, code,
                        "name one, or use the scope global for a fact about everything");
    if (code == ETHOS_OK && strcmp(context->memory_scope, "global") == 0 &&
        scope_make(SCOPE_PERSONALITY, context->personality, own, NULL) == ETHOS_OK &&
        strcmp(found, own) == 0) {
        code = err_set(error, ETHOS_DENIED,
                       "%s: this personality has no memory of its own (memoryScope: global)",
                       found);
        return err_hint(error, code, "its prompts show the notes of global: --scope global");
    }
    if (code == ETHOS_OK)
        memcpy(out, found, sizeof found);
    return code;
}

int notes_read(struct ethos_turn *turn, const char *scope, const char *key, struct ethos_text *text,
               struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, 0};
    struct ethos_provider *provider = turn->provider;
    return provider->ops->read(provider, scope, key, &whole, text, error);
}

void notes_free(const struct ethos_turn *turn, struct ethos_text *text)
{
    const struct ethos_host *host = turn->ethos->host;
    host->resize(host->arg, text->data, 0);
    *text = (struct ethos_text){0};
}

/* ---- listing ---------------------------------------------------------------------------------- */

static bool is_note_key(const char *key)
{
    return scope_key_visible(key) && strcmp(key, NOTES_INDEX) != 0 && strcmp(key, "USER.md") != 0;
}

struct note_listing {
    struct notes *notes;
    size_t capacity;
};

static int add_note_row(void *arg, const struct ethos_entry *entry)
{
    struct note_listing *listing = arg;
    struct notes *notes = listing->notes;
    if (!is_note_key(entry->key))
        return ETHOS_OK;
    struct notes_row *rows = arena_grow(&notes->arena, notes->rows, notes->count,
                                        &listing->capacity, sizeof *rows);
    if (!rows)
        return ETHOS_NOMEM;
    notes->rows = rows;
    notes->rows[notes->count++] = (struct notes_row){
        arena_str(&notes->arena, entry->key), entry->bytes, entry->mtime_ms, SIZE_MAX, NULL, NULL};
    return notes->rows[notes->count - 1].key ? ETHOS_OK : ETHOS_NOMEM;
}

static int compare_row_keys(const void *a, const void *b)
{
    return strcmp(((const struct notes_row *)a)->key, ((const struct notes_row *)b)->key);
}

const struct notes_row *notes_find(const struct notes *notes, const char *key)
{
    const struct notes_row wanted = {.key = key};
    return notes->count
               ? bsearch(&wanted, notes->rows, notes->count, sizeof *notes->rows, compare_row_keys)
               : NULL;
}

/* Names a row by its first entry in the index. */
static int name_row_by_entry(struct notes *notes, const struct index_entry *entry, size_t order,
                             struct str *scratch)
{
    char key[ETHOS_MAX_KEY + 1] = "";
    memcpy(key, entry->file.data, entry->file.size);
    struct notes_row *row = (struct notes_row *)notes_find(notes, key);
    if (!row || row->order != SIZE_MAX)
        return ETHOS_OK;
    row->order = order;
    str_clear(scratch);
    if (index_title(entry, scratch) != ETHOS_OK)
        return ETHOS_NOMEM;
    row->title = arena_copy(&notes->arena, str_view(scratch));
    row->hook = arena_copy(&notes->arena, entry->hook);
    return row->title && row->hook ? ETHOS_OK : ETHOS_NOMEM;
}

static int place_all(struct notes *notes)
{
    struct index_entry entry;
    CLEANUP_STR struct str scratch;
    size_t offset = 0, order = 0;
    int code = ETHOS_OK;
    struct ethos_view text = view_of(notes->index.data, notes->index.size);
    str_init(&scratch, ETHOS_MAX_READ_BYTES);
    while (code == ETHOS_OK && index_next(text, &offset, &entry))
        code = name_row_by_entry(notes, &entry, order++, &scratch);
    return code;
}

/* Reads the index and names the rows by it. */
static int load_index(struct ethos_turn *turn, struct notes *notes, struct ethos_error *error)
{
    int code = notes_read(turn, notes->scope, NOTES_INDEX, &notes->index, error);
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    return place_all(notes) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

int notes_recover(struct ethos_turn *turn, const char *scope, struct ethos_error *error)
{
    char real[ETHOS_MAX_SCOPE];
    TRY(notes_scope(turn, scope, real, error));
    return handle_recover(turn, real, error);
}

int notes_load(struct ethos_turn *turn, const char *scope, struct notes *out,
               struct ethos_error *error)
{
    struct note_listing listing = {out, 0};
    struct ethos_provider *provider = turn->provider;
    arena_init(&out->arena);
    int code = notes_scope(turn, scope, out->scope, error);
    if (code == ETHOS_OK)
        code = provider->ops->list(provider, out->scope, add_note_row, &listing, error);
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    return code == ETHOS_OK ? load_index(turn, out, error) : code;
}

void notes_release(struct ethos_turn *turn, struct notes *notes)
{
    notes_free(turn, &notes->index);
    arena_release(&notes->arena);
}

/* ---- telling ---------------------------------------------------------------------------------- */

/* The metadata of a note, as strings. */
struct telling {
    struct ethos_turn *turn;
    const struct notes *notes;
    struct ethos_text text;
    struct str words;
};

/* Appends a member, terminated; returns its offset, or SIZE_MAX if it is missing. */
static size_t add_terminated(struct telling *telling, struct ethos_view member)
{
    size_t at = telling->words.size;
    if (!member.data)
        return SIZE_MAX;
    note_value(member, &telling->words);
    str_addc(&telling->words, 0);
    return at;
}

static const char *word_at(const struct telling *telling, size_t at)
{
    return at == SIZE_MAX ? NULL : telling->words.data + at;
}

static int pass_note(struct telling *telling, const struct notes_row *row, ethos_note_fn *each,
                     void *arg, struct ethos_error *error)
{
    struct note note;
    char stale[NOTES_STALE_SIZE];
    struct ethos_turn *turn = telling->turn;
    note_parse(view_of(telling->text.data, telling->text.size), &note);
    str_clear(&telling->words);
    size_t hook = add_terminated(telling, note.description),
           type = add_terminated(telling, note.type);
    size_t created = add_terminated(telling, note.created),
           verified = add_terminated(telling, note.verified);
    size_t expires = add_terminated(telling, note.expires), title = telling->words.size;
    note_title(&note, row->key, &telling->words);
    if (str_code(&telling->words) != ETHOS_OK)
        return err_nomem(error);
    notes_stale(note.expires, note.verified, note.created, row->mtime_ms,
                service_now_ms(turn->ethos), turn->settings.stale_days, stale);
    const struct ethos_note told = {
        .key = row->key,
        .title = row->title && !note.title.data ? row->title : telling->words.data + title,
        .hook = row->hook && *row->hook ? row->hook : word_at(telling, hook),
        .type = word_at(telling, type),
        .created = word_at(telling, created),
        .verified = word_at(telling, verified),
        .expires = word_at(telling, expires),
        .stale = *stale ? stale : NULL,
        .listed = row->order != SIZE_MAX,
        .bytes = telling->text.total,
        .mtime_ms = row->mtime_ms,
        .text = view_of(telling->text.data, telling->text.size),
    };
    return each(arg, &told);
}

static int by_order(const void *a, const void *b)
{
    const struct notes_row *x = *(const struct notes_row *const *)a;
    const struct notes_row *y = *(const struct notes_row *const *)b;
    return x->order != y->order ? (x->order < y->order ? -1 : 1) : compare_row_keys(x, y);
}

bool notes_cursor_last(const char *cursor, const char *key)
{
    size_t size = strcspn(cursor, "/");
    return strlen(key) == size && memcmp(cursor, key, size) == 0;
}

bool notes_cursor_next(const char *cursor, const char *key)
{
    const char *slash = strchr(cursor, '/');
    return slash && strcmp(slash + 1, key) == 0;
}

/* The index where the next page starts; SIZE_MAX: neither note of the cursor exists. */
static size_t find_page_start(const struct notes_row *const *rows, size_t count, const char *cursor)
{
    size_t next = SIZE_MAX;
    for (size_t i = 0; cursor && i < count; i++) {
        if (notes_cursor_last(cursor, rows[i]->key))
            return i + 1;
        if (notes_cursor_next(cursor, rows[i]->key))
            next = i;
    }
    return cursor ? next : 0;
}

static int pass_notes(struct ethos_turn *turn, struct notes *notes, const char *after,
                      ethos_note_fn *each, void *arg, struct ethos_error *error)
{
    struct telling telling = {.turn = turn, .notes = notes};
    const struct notes_row **rows = arena_array(&notes->arena, notes->count + 1, sizeof *rows);
    int code = rows ? ETHOS_OK : err_nomem(error);
    str_init(&telling.words, ETHOS_MAX_STORE_BYTES);
    for (size_t i = 0; rows && i < notes->count; i++)
        rows[i] = &notes->rows[i];
    if (rows)
        qsort(rows, notes->count, sizeof *rows, by_order);
    size_t start = rows ? find_page_start(rows, notes->count, after) : 0;
    if (start == SIZE_MAX)
        code = err_set(error, ETHOS_INVALID, "cursor: there is no note %s", after);
    for (size_t i = start; code == ETHOS_OK && i < notes->count; i++) {
        code = notes_read(turn, notes->scope, rows[i]->key, &telling.text, error);
        if (code == ETHOS_OK)
            code = pass_note(&telling, rows[i], each, arg, error);
        else if (code == ETHOS_NOTFOUND) // it was removed meanwhile
            code = ETHOS_OK;
    }
    str_release(&telling.words);
    notes_free(turn, &telling.text);
    return code;
}

int notes_walk(struct ethos_turn *turn, const char *scope, const char *after, ethos_note_fn *each,
               void *arg, struct ethos_error *error)
{
    struct notes notes = {0};
    int code = notes_load(turn, scope, &notes, error);
    if (code == ETHOS_OK)
        code = pass_notes(turn, &notes, after, each, arg, error);
    notes_release(turn, &notes);
    return code;
}

int ethos_notes(struct ethos_turn *turn, const char *scope, ethos_note_fn *each, void *arg,
                struct ethos_error *error)
{
    return notes_walk(turn, scope, NULL, each, arg, error);
}

int notes_pass_one(struct ethos_turn *turn, const char *scope, const char *key, ethos_note_fn *each,
                   void *arg, struct ethos_error *error)
{
    struct notes_row row = {.key = key, .order = SIZE_MAX};
    struct notes notes = {.rows = &row, .count = 1};
    struct telling telling = {.turn = turn, .notes = &notes};
    arena_init(&notes.arena);
    str_init(&telling.words, ETHOS_MAX_STORE_BYTES);
    int code = notes_scope(turn, scope, notes.scope, error);
    if (code == ETHOS_OK)
        code = notes_read(turn, notes.scope, key, &telling.text, error);
    row.mtime_ms = telling.text.mtime_ms;
    if (code == ETHOS_OK)
        code = load_index(turn, &notes, error);
    if (code == ETHOS_OK)
        code = pass_note(&telling, &row, each, arg, error);
    str_release(&telling.words);
    notes_free(turn, &telling.text);
    notes_release(turn, &notes);
    return code;
}

/* ---- finding ---------------------------------------------------------------------------------- */

int notes_has(struct ethos_turn *turn, const char *scope, const char *key,
              struct ethos_error *error)
{
    static const struct ethos_read_how glance = {1, 0};
    struct ethos_provider *provider = turn->provider;
    struct ethos_text text = {0};
    if (!is_note_key(key) || !SLOT_PROVIDER(provider, read))
        return ETHOS_NOTFOUND;
    int code = provider->ops->read(provider, scope, key, &glance, &text, error);
    notes_free(turn, &text);
    return code;
}

/* The file names that a name may mean: itself, with .md, its slug; "" for none. */
struct forms {
    char keys[3][ETHOS_MAX_KEY + 8];
};

static void make_forms(const char *name, struct forms *out)
{
    struct str slug;
    *out = (struct forms){0};
    if (strlen(name) <= ETHOS_MAX_NAME) {
        snprintf(out->keys[0], sizeof out->keys[0], "%s", name);
        snprintf(out->keys[1], sizeof out->keys[1], "%s.md", name);
    }
    str_init(&slug, ETHOS_MAX_KEY);
    if (slug_note(view_str(name), SLUG_NOTE_MAX, &slug) == ETHOS_OK)
        snprintf(out->keys[2], sizeof out->keys[2], "%s.md", slug.data);
    str_release(&slug);
    for (size_t i = 0; i < 3; i++)
        if (strlen(out->keys[i]) > ETHOS_MAX_NAME)
            *out->keys[i] = 0;
}

/* Tries file names without listing the others. */
static int find_key_by_name(struct ethos_turn *turn, const char *scope, const char *name,
                            char out_key[ETHOS_MAX_KEY + 1], struct ethos_error *error)
{
    struct forms forms;
    int code = ETHOS_NOTFOUND;
    make_forms(name, &forms);
    for (size_t i = 0; code == ETHOS_NOTFOUND && i < 3; i++) {
        if (*forms.keys[i])
            code = notes_has(turn, scope, forms.keys[i], error);
        if (code == ETHOS_OK)
            snprintf(out_key, ETHOS_MAX_KEY + 1, "%s", forms.keys[i]);
    }
    return code;
}

/* Notes with the name as title; titles in the index are known, others are read from the notes. */
struct title_search {
    const char *name;
    char key[ETHOS_MAX_KEY + 1], other[ETHOS_MAX_KEY + 1];
    struct arena *arena;
    const char **names; /* keys without .md, and titles, for suggestions */
    size_t count, capacity;
};

static int compare_title(void *arg, const struct ethos_note *note)
{
    struct title_search *search = arg;
    size_t stem = strlen(note->key) - 3;
    if (search->count + 3 < search->capacity) {
        search->names[search->count++] = arena_copy(search->arena, view_of(note->key, stem));
        search->names[search->count++] = arena_str(search->arena, note->title);
    }
    if (!line_same_nocase(view_str(note->title), view_str(search->name)))
        return ETHOS_OK;
    if (*search->key)
        snprintf(search->other, sizeof search->other, "%s", note->key);
    else
        snprintf(search->key, sizeof search->key, "%s", note->key);
    return ETHOS_OK;
}

static int fail_no_note(const struct notes *notes, const struct title_search *search,
                        struct ethos_error *error)
{
    const char *near = NULL;
    if (search->count > 0)
        near = nearest_name(search->name, search->names);
    int code = err_set(error, ETHOS_NOTFOUND, "no such note: %s", search->name);
    if (near)
        return err_hint(error, code, "did you mean '%s'?", near);
    return notes->count ? err_hint(error, code, "ethos notes list shows the existing notes")
                        : err_hint(error, code, "there are no notes in %s yet", notes->scope);
}

static int find_title(struct ethos_turn *turn, struct notes *notes, const char *name,
                      char out_key[ETHOS_MAX_KEY + 1], struct ethos_error *error)
{
    struct title_search search = {.name = name, .arena = &notes->arena};
    search.capacity = 2 * notes->count + 4;
    search.names = arena_array(&notes->arena, search.capacity, sizeof *search.names);
    if (!search.names)
        return err_nomem(error);
    int code = pass_notes(turn, notes, NULL, compare_title, &search, error);
    if (code != ETHOS_OK)
        return code;
    if (*search.other) {
        code = err_set(error, ETHOS_INVALID, "%s: more than one note has this title", name);
        return err_hint(error, code, "say %s or %s", search.key, search.other);
    }
    if (!*search.key)
        return fail_no_note(notes, &search, error);
    memcpy(out_key, search.key, sizeof search.key);
    return ETHOS_OK;
}

int ethos_note_find(struct ethos_turn *turn, const char *scope, const char *name,
                    char out_key[ETHOS_MAX_KEY + 1], struct ethos_error *error)
{
    struct notes notes = {0};
    char real[ETHOS_MAX_SCOPE];
    int code = notes_scope(turn, scope, real, error);
    if (code == ETHOS_OK)
        code = find_key_by_name(turn, real, name, out_key, error);
    if (code != ETHOS_NOTFOUND)
        return code;
    code = notes_load(turn, real, &notes, error);
    if (code == ETHOS_OK)
        code = find_title(turn, &notes, name, out_key, error);
    notes_release(turn, &notes);
    return code;
}

static int stop_at_first(void *arg, const struct ethos_change *change)
{
    (void)arg, (void)change;
    return 1;
}

int notes_find_past(struct ethos_turn *turn, const char *scope, const char *name,
                    char out_key[ETHOS_MAX_KEY + 1], struct ethos_error *error)
{
    struct forms forms;
    struct ethos_provider *provider = turn->provider;
    int code = ethos_note_find(turn, scope, name, out_key, error), past = ETHOS_OK;
    if (code != ETHOS_NOTFOUND || !SLOT_PROVIDER(provider, history))
        return code;
    make_forms(name, &forms);
    for (size_t i = 0; past == ETHOS_OK && i < 3; i++) {
        if (!*forms.keys[i] || !is_note_key(forms.keys[i]))
            continue;
        past = provider->ops->history(provider, scope, forms.keys[i], stop_at_first, NULL, error);
        if (past == 1)
            snprintf(out_key, ETHOS_MAX_KEY + 1, "%s", forms.keys[i]);
    }
    return past == 1 ? ETHOS_OK : past == ETHOS_OK ? code : past;
}

/* ---- tiers ------------------------------------------------------------------------------------ */

size_t notes_tiers(const struct ethos_turn *turn, const char *out[NOTES_TIERS])
{
    const struct ethos_context *context = &turn->context;
    size_t count = 0;
    if (context->workspace_scope)
        out[count++] = context->workspace_scope;
    out[count++] = context->memory_scope;
    if (!turn->no_global && strcmp(context->memory_scope, "global") != 0)
        out[count++] = "global";
    return count;
}

int notes_locate(struct ethos_turn *turn, const char *scope, const char *name,
                 char out_scope[ETHOS_MAX_SCOPE], char out_key[ETHOS_MAX_KEY + 1],
                 struct ethos_error *error)
{
    const char *tiers[NOTES_TIERS];
    struct ethos_error why = {0};
    int code = notes_scope(turn, scope, out_scope, error);
    if (code == ETHOS_OK)
        code = ethos_note_find(turn, out_scope, name, out_key, error);
    if (code != ETHOS_NOTFOUND || scope)
        return code;
    size_t count = notes_tiers(turn, tiers);
    for (size_t i = 0; i < count; i++) {
        int found = ethos_note_find(turn, tiers[i], name, out_key, &why);
        if (found == ETHOS_OK)
            snprintf(out_scope, ETHOS_MAX_SCOPE, "%s", tiers[i]);
        if (found != ETHOS_NOTFOUND)
            return found;
    }
    return code;
}
