/*
 * note_names.c: renames notes whose names contain the purged text in the index and in links.
 *
 * This runs before the purge, which renames the files and removes lines: a note keeps its line of
 * the index, under the new name, without the purged text.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "core/memory/forget_text.h"
#include "core/notes/index.h"
#include "core/notes/links.h"
#include "core/notes/note.h"
#include "memory/handle_internal.h"
#include "memory/provider/missing_slots.h"
#include "memory/purge/purge.h"

#define INDEX "MEMORY.md"
#define SUFFIX ".md"

struct renaming {
    struct ethos *ethos;
    struct ethos_provider *provider;
    const char *scope;
    const struct forget *forget;
    const struct ethos_origin *origin;
    struct arena arena;
    const char **keys; /* all keys */
    size_t count, capacity;
    const char **named; /* keys that contain the text */
    size_t named_count, named_capacity;
};

static bool push_key(struct arena *arena, const char ***list, size_t *count, size_t *capacity,
                     const char *key)
{
    const char **grown = arena_grow(arena, *list, *count, capacity, sizeof *grown);
    if (!grown)
        return false;
    *list = grown;
    grown[(*count)++] = key;
    return true;
}

static int add_named_key(void *arg, const struct ethos_entry *entry)
{
    struct renaming *self = arg;
    const char *key = arena_str(&self->arena, entry->key);
    if (!key || !push_key(&self->arena, &self->keys, &self->count, &self->capacity, key))
        return ETHOS_NOMEM;
    if (forget_names(self->forget, view_str(key)) && view_ends(view_str(key), VIEW(SUFFIX)) &&
        !push_key(&self->arena, &self->named, &self->named_count, &self->named_capacity, key))
        return ETHOS_NOMEM;
    return ETHOS_OK;
}

static struct ethos_view note_stem(const char *key)
{
    return view_of(key, strlen(key) - (sizeof SUFFIX - 1));
}

/* The name of a file after the purge, in renamed or unchanged. */
static const char *name_after(const struct renaming *self, const char *key,
                              char renamed[ETHOS_MAX_KEY + 1])
{
    if (!forget_names(self->forget, view_str(key)))
        return key;
    forget_rename(self->forget, view_str(key), renamed);
    return renamed;
}

/*
 * A line that would be removed: with another title if that contains the text, without a hook that
 * contains it.
 */
static int move_entry(const struct renaming *self, const struct index_entry *entry, struct str *out)
{
    char key[ETHOS_MAX_KEY + 1], renamed[ETHOS_MAX_KEY + 1];
    CLEANUP_STR struct str title = {0};
    if (entry->file.size > ETHOS_MAX_KEY || !view_ends(entry->file, VIEW(SUFFIX)))
        return str_add(out, entry->line);
    memcpy(key, entry->file.data, entry->file.size);
    key[entry->file.size] = 0;
    const char *name = name_after(self, key, renamed);
    str_init(&title, SIZE_MAX);
    int code = index_title(entry, &title);
    bool titled = code == ETHOS_OK && !forget_holds(self->forget, str_view(&title));
    bool hooked = !forget_holds(self->forget, entry->hook);
    if (code == ETHOS_OK)
        code = index_format(titled ? str_view(&title) : note_stem(name), view_str(name),
                            hooked ? entry->hook : VIEW(""), out);
    if (view_ends(entry->line, VIEW("\r")))
        str_addc(out, '\r');
    return code;
}

/* Copies all other bytes. */
static int move_index(const struct renaming *self, struct ethos_view text, struct str *out)
{
    struct index_entry entry;
    size_t offset = 0, copied = 0;
    int code = ETHOS_OK;
    while (code == ETHOS_OK && index_next(text, &offset, &entry)) {
        if (!forget_holds(self->forget, entry.line) && !forget_names(self->forget, entry.file))
            continue;
        str_add(out, view_of(text.data + copied, entry.offset - copied));
        code = move_entry(self, &entry, out);
        copied = entry.offset + entry.line.size;
    }
    return code == ETHOS_OK ? str_add(out, view_from(text, copied)) : code;
}

/* Changes the name in the note's head. */
static int set_name(const struct renaming *self, const char *key, struct str *text)
{
    char renamed[ETHOS_MAX_KEY + 1];
    struct note note;
    CLEANUP_STR struct str out = {0};
    note_parse(str_view(text), &note);
    if (!forget_names(self->forget, view_str(key)) || !view_eq(note.name, note_stem(key)))
        return ETHOS_OK;
    forget_rename(self->forget, view_str(key), renamed);
    str_init(&out, SIZE_MAX);
    int code = note_set(str_view(text), "name", note_stem(renamed), &out);
    if (code == ETHOS_OK) {
        str_clear(text);
        code = str_add(text, str_view(&out));
    }
    return code == ETHOS_UNSUPPORTED ? ETHOS_OK : code;
}

/* Rewrites the text with links to the renamed notes. */
static int move_links(const struct renaming *self, struct ethos_view text, struct str *out)
{
    CLEANUP_STR struct str spare;
    int code = str_add(out, text);
    str_init(&spare, SIZE_MAX);
    for (size_t i = 0; code == ETHOS_OK && i < self->named_count; i++) {
        char renamed[ETHOS_MAX_KEY + 1];
        const char *key = self->named[i];
        forget_rename(self->forget, view_str(key), renamed);
        if (!link_to(str_view(out), note_stem(key)))
            continue;
        str_clear(&spare);
        code = link_move(str_view(out), note_stem(key), note_stem(renamed), &spare);
        struct str swap = *out;
        *out = spare;
        spare = swap;
    }
    return code;
}

struct note_renaming {
    const struct renaming *self;
    struct str index, out;
};

static int move_text(void *arg, struct ethos_edit *edit, size_t count, struct ethos_error *error)
{
    struct note_renaming *moving = arg;
    struct ethos_view old = view_of(edit->old.data, edit->old.size);
    bool index = strcmp(edit->key, INDEX) == 0;
    (void)count;
    if (!old.data)
        return ETHOS_OK;
    str_clear(&moving->out);
    str_clear(&moving->index);
    if ((index && move_index(moving->self, old, &moving->index) != ETHOS_OK) ||
        move_links(moving->self, index ? str_view(&moving->index) : old, &moving->out) !=
            ETHOS_OK ||
        set_name(moving->self, edit->key, &moving->out) != ETHOS_OK)
        return err_nomem(error);
    if (view_eq(old, str_view(&moving->out)))
        return ETHOS_OK;
    edit->verdict = ETHOS_EDIT_PUT;
    edit->text = str_view(&moving->out);
    edit->actions = "replace";
    return ETHOS_OK;
}

static bool mentions_renamed(const struct renaming *self, const char *key, struct ethos_view text)
{
    if (strcmp(key, INDEX) == 0 || forget_names(self->forget, view_str(key)))
        return true;
    for (size_t i = 0; i < self->named_count; i++)
        if (link_to(text, note_stem(self->named[i])))
            return true;
    return false;
}

static int rewrite_key(const struct renaming *self, const char *key, struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, 0};
    struct ethos_provider *provider = self->provider;
    const struct ethos_host *host = self->ethos->host;
    struct ethos_origin origin = self->origin ? *self->origin : (struct ethos_origin){0};
    struct ethos_edit edit = {.key = key};
    struct note_renaming moving = {.self = self};
    struct ethos_text text = {0};
    int code = provider->ops->read(provider, self->scope, key, &whole, &text, error);
    bool any = code == ETHOS_OK && mentions_renamed(self, key, view_of(text.data, text.size));
    if (text.data)
        host->resize(host->arg, text.data, 0);
    if (!any)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    origin.via = "purge";
    origin.op_id = origin.op_digest = NULL;
    str_init(&moving.out, ETHOS_MAX_STORE_BYTES);
    str_init(&moving.index, ETHOS_MAX_STORE_BYTES);
    code = provider->ops->update(provider, self->scope, &edit, 1, move_text, &moving, &origin,
                                 error);
    if (edit.old.data)
        host->resize(host->arg, edit.old.data, 0);
    str_release(&moving.out);
    str_release(&moving.index);
    return code;
}

/* Whether a line of the index would change. */
static int index_changes(const struct renaming *self, bool *out_any, struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, 0};
    const struct ethos_host *host = self->ethos->host;
    struct index_entry entry;
    struct ethos_text text = {0};
    size_t offset = 0;
    int code = self->provider->ops->read(self->provider, self->scope, INDEX, &whole, &text, error);
    while (code == ETHOS_OK && !*out_any &&
           index_next(view_of(text.data, text.size), &offset, &entry))
        *out_any = forget_holds(self->forget, entry.line);
    if (text.data)
        host->resize(host->arg, text.data, 0);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

int purge_notes(struct ethos *self, struct ethos_provider *provider, const char *scope,
                const struct forget *forget, const struct ethos_origin *origin, bool *out_any,
                struct ethos_error *error)
{
    const struct ethos_provider_ops *ops = provider->ops;
    struct renaming renaming = {
        .ethos = self, .provider = provider, .scope = scope, .forget = forget, .origin = origin};
    if (!SLOT_PROVIDER(provider, list) || !SLOT_PROVIDER(provider, read) ||
        !SLOT_PROVIDER(provider, update) || !SLOT_PROVIDER(provider, purge))
        return ETHOS_OK;
    arena_init(&renaming.arena);
    int code = ops->list(provider, scope, add_named_key, &renaming, error);
    if (code == ETHOS_NOMEM)
        err_nomem(error);
    if (out_any && code == ETHOS_OK) {
        *out_any = renaming.named_count > 0;
        code = index_changes(&renaming, out_any, error);
    }
    for (size_t i = 0; !out_any && code == ETHOS_OK && i < renaming.count; i++)
        if (renaming.named_count > 0 || strcmp(renaming.keys[i], INDEX) == 0)
            code = rewrite_key(&renaming, renaming.keys[i], error);
    arena_release(&renaming.arena);
    return code;
}

/* ---- notes that are left empty -------------------------------------------------------------- */

#define NAMELESS "note-"

struct empty_notes {
    struct arena arena;
    const char **keys; /* keys that begin with "note-" */
    size_t count, capacity;
};

static int add_nameless(void *arg, const struct ethos_entry *entry)
{
    struct empty_notes *self = arg;
    struct ethos_view key = view_str(entry->key);
    if (!view_starts(key, VIEW(NAMELESS)) || !view_ends(key, VIEW(SUFFIX)))
        return ETHOS_OK;
    const char *copy = arena_str(&self->arena, entry->key);
    return copy && push_key(&self->arena, &self->keys, &self->count, &self->capacity, copy)
               ? ETHOS_OK
               : ETHOS_NOMEM;
}

static int report_if_empty(struct ethos *self, struct ethos_provider *provider, const char *scope,
                           const char *key, const struct purge_how *how, struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, 0};
    struct ethos_text text = {0};
    struct note note;
    int code = provider->ops->read(provider, scope, key, &whole, &text, error);
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    note_parse(view_of(text.data, text.size), &note);
    if (view_blank(note.body))
        how->emptied(how->arg, scope, key);
    if (text.data)
        self->host->resize(self->host->arg, text.data, 0);
    return ETHOS_OK;
}

int purge_report_empty_notes(struct ethos *self, struct ethos_provider *provider, const char *scope,
                             const struct purge_how *how, struct ethos_error *error)
{
    struct empty_notes notes = {0};
    if (!how->emptied || !SLOT_PROVIDER(provider, list) || !SLOT_PROVIDER(provider, read))
        return ETHOS_OK;
    arena_init(&notes.arena);
    int code = provider->ops->list(provider, scope, add_nameless, &notes, error);
    if (code == ETHOS_NOMEM)
        err_nomem(error);
    for (size_t i = 0; code == ETHOS_OK && i < notes.count; i++)
        code = report_if_empty(self, provider, scope, notes.keys[i], how, error);
    arena_release(&notes.arena);
    return code;
}
