/*
 * remember.c: adds, removes and renames a note together with its line in the index.
 *
 * Each is one update of the scope whose callback sees the files under the lock:
 *
 *     ethos_remember       note, MEMORY.md
 *     ethos_note_remove    note, MEMORY.md
 *     ethos_note_move      old, new, MEMORY.md, every note that links to it
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/text/single_line.h"
#include "base/text/slug.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/approval/trust.h"
#include "core/memory/scope.h"
#include "core/memory/update.h"
#include "core/notes/index.h"
#include "core/notes/links.h"
#include "core/notes/note.h"
#include "core/notes/remember.h"
#include "memory/handle_internal.h"
#include "memory/notes/list.h"
#include "memory/provider/missing_slots.h"

static const struct ethos_sync_how plain_how;

static struct ethos_view edit_old_text(const struct ethos_edit *edit)
{
    return view_of(edit->old.data, edit->old.size);
}

static void set_edit_text(struct ethos_edit *edit, const struct str *text, const char *actions)
{
    edit->verdict = ETHOS_EDIT_PUT;
    edit->text = str_view(text);
    edit->actions = actions;
}

/* ---- remember --------------------------------------------------------------------------------- */

/* One attempt to store a fact under one name; the callback's argument. */
struct keeping {
    struct remember what;
    const char *key, *if_match;
    struct str note, index;
    enum remember_effect effect;
};

static int write_note_and_index(void *arg, struct ethos_edit *edits, size_t count,
                                struct ethos_error *error)
{
    struct keeping *keeping = arg;
    struct ethos_edit *note = &edits[0], *index = &edits[1];
    (void)count;
    int code = remember_apply(&keeping->what, keeping->key, edit_old_text(note),
                              edit_old_text(index), &keeping->note, &keeping->index,
                              &keeping->effect);
    if (code != ETHOS_OK)
        return code == ETHOS_NOMEM
                   ? err_nomem(error)
                   : err_set(error, code, "%s: the note or the index is too large", keeping->key);
    if (keeping->effect == REMEMBER_TAKEN)
        return ETHOS_EXISTS;
    const char *revision = note->old.data ? note->old.revision : "absent";
    if (keeping->if_match && strcmp(keeping->if_match, revision) != 0)
        return update_moved(keeping->key, revision, error);
    note->verdict = index->verdict = ETHOS_EDIT_KEEP;
    if (keeping->effect == REMEMBER_EXISTS)
        return ETHOS_OK;
    set_edit_text(note, &keeping->note, keeping->effect == REMEMBER_REPLACED ? "replace" : "add");
    set_edit_text(index, &keeping->index, "add");
    snprintf(note->receipt, sizeof note->receipt, "%s", remember_effect_name(keeping->effect));
    return ETHOS_OK;
}

/* The result of the first call, from the last word of its receipt. */
static const char *effect_then(const char *receipt)
{
    const char *word = strrchr(receipt, ' ');
    for (enum remember_effect effect = REMEMBER_CREATED; word && effect < REMEMBER_TAKEN; effect++)
        if (strcmp(word + 1, remember_effect_name(effect)) == 0)
            return remember_effect_name(effect);
    return remember_effect_name(REMEMBER_UNCHANGED);
}

/* ETHOS_EXISTS: this name belongs to another note. */
static int remember_as(struct ethos_turn *turn, struct keeping *keeping, const char *key,
                       const struct ethos_sync_how *how, struct ethos_kept *kept,
                       struct ethos_error *error)
{
    struct ethos_edit edits[2] = {{.key = key}, {.key = NOTES_INDEX}};
    keeping->key = key;
    TRY(handle_update(turn, kept->scope, edits, 2, write_note_and_index, keeping, how, error));
    bool elsewhere = edits[0].verdict != ETHOS_EDIT_REPEATED;
    if (elsewhere && edits[1].verdict == ETHOS_EDIT_REPEATED)
        return ETHOS_EXISTS;
    memcpy(kept->key, key, strlen(key) + 1);
    kept->effect = elsewhere ? remember_effect_name(keeping->effect)
                             : effect_then(edits[0].receipt);
    return ETHOS_OK;
}

/* The file of the line with this title; "" if there is none. */
static int listed_key(struct ethos_turn *turn, const struct remember *what, const char *scope,
                      char out_key[ETHOS_MAX_KEY + 1], struct ethos_error *error)
{
    struct ethos_text index = {0};
    struct index_entry entry;
    *out_key = 0;
    int code = what->how == REMEMBER_NEW ? ETHOS_NOTFOUND
                                         : notes_read(turn, scope, NOTES_INDEX, &index, error);
    if (code == ETHOS_OK &&
        index_find_title(view_of(index.data, index.size), what->title, &entry)) {
        memcpy(out_key, entry.file.data, entry.file.size);
        out_key[entry.file.size] = 0;
    }
    notes_free(turn, &index);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

/* Whether a note has this text and no other. */
static int has_text(struct ethos_turn *turn, const char *scope, const char *key,
                    struct ethos_view text, bool *out_has, struct ethos_error *error)
{
    struct ethos_text file = {0};
    struct note note;
    int code = notes_read(turn, scope, key, &file, error);
    if (code == ETHOS_OK) {
        note_parse(view_of(file.data, file.size), &note);
        *out_has = view_eq(view_trim(note.body), view_trim(text));
    }
    notes_free(turn, &file);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

/*
 * The note with another title that has this text; "" if there is none. Only notes whose lines match
 * a line made from the text are read.
 */
static int same_text_key(struct ethos_turn *turn, const struct remember *what, const char *scope,
                         char out_key[ETHOS_MAX_KEY + 1], struct ethos_error *error)
{
    struct ethos_text index = {0};
    struct index_entry entry;
    CLEANUP_STR struct str title, hook;
    size_t offset = 0;
    bool has = false;
    str_init(&title, ETHOS_MAX_INPUT_BYTES);
    str_init(&hook, ETHOS_MAX_INPUT_BYTES);
    int code = notes_read(turn, scope, NOTES_INDEX, &index, error);
    if (code == ETHOS_OK && remember_line(what->text, &title, &hook) != ETHOS_OK)
        code = err_nomem(error);
    while (code == ETHOS_OK && !has &&
           index_next(view_of(index.data, index.size), &offset, &entry)) {
        if (!line_same(entry.hook, str_view(&hook)) && !index_has_title(&entry, str_view(&title)))
            continue;
        snprintf(out_key, ETHOS_MAX_KEY + 1, "%.*s", VIEW_ARG(entry.file));
        code = has_text(turn, scope, out_key, what->text, &has, error);
    }
    if (!has)
        *out_key = 0;
    notes_free(turn, &index);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

/* Tries one name. For a second note, a free name is searched before the lock is taken. */
static int remember_numbered(struct ethos_turn *turn, struct keeping *keeping, unsigned n,
                             const struct ethos_sync_how *how, struct ethos_kept *kept,
                             struct ethos_error *error)
{
    char key[ETHOS_MAX_KEY + 1];
    if (!remember_key(&keeping->what, n, key))
        return err_nomem(error);
    bool taken = keeping->what.how == REMEMBER_NEW && !how->origin->op_id &&
                 notes_has(turn, kept->scope, key, NULL) == ETHOS_OK;
    return taken ? ETHOS_EXISTS : remember_as(turn, keeping, key, how, kept, error);
}

/* Tries names until one is free or the note's own. */
static int remember_under_free_name(struct ethos_turn *turn, struct keeping *keeping,
                                    const struct ethos_sync_how *how, struct ethos_kept *kept,
                                    struct ethos_error *error)
{
    char key[ETHOS_MAX_KEY + 1];
    int code = listed_key(turn, &keeping->what, kept->scope, key, error);
    bool anew = code == ETHOS_OK && !*key && keeping->what.how != REMEMBER_NEW;
    if (anew)
        code = same_text_key(turn, &keeping->what, kept->scope, key, error);
    if (code == ETHOS_OK && anew && *key) {
        memcpy(kept->key, key, sizeof key);
        kept->effect = remember_effect_name(REMEMBER_UNCHANGED);
        return ETHOS_OK;
    }
    if (code == ETHOS_OK)
        code = *key ? remember_as(turn, keeping, key, how, kept, error) : ETHOS_EXISTS;
    for (unsigned n = 0; code == ETHOS_EXISTS && n < REMEMBER_NAMES; n++)
        code = remember_numbered(turn, keeping, n, how, kept, error);
    if (code != ETHOS_EXISTS)
        return code;
    code = err_set(error, ETHOS_LIMIT, "there are %d notes with this title", REMEMBER_NAMES);
    return err_hint(error, code, "choose another title");
}

/* The title becomes a line of the index, which is in every prompt. */
int notes_check_title(struct ethos_view title, struct ethos_error *error)
{
    uint64_t size = title.data ? utf8_units(title) : 0;
    if (size <= ETHOS_MAX_TITLE_CH)
        return ETHOS_OK;
    int code = err_set(error, ETHOS_LIMIT, "a title of %llu characters is too long",
                       (unsigned long long)size);
    return err_hint(error, code, "use at most %d, and put the rest into the text",
                    ETHOS_MAX_TITLE_CH);
}

static int check_fact(const struct ethos_fact *fact, struct ethos_error *error)
{
    static const char *const types[] = {"user", "feedback", "project", "reference"};
    const struct ethos_view parts[] = {fact->text, fact->title, fact->hook};
    if (line_blank(fact->text))
        return err_hint(error,
                        err_set(error, ETHOS_INVALID, "nothing to remember: the text is blank"),
                        "give the fact as an argument, or pipe it in with -");
    if (fact->title.data && line_blank(fact->title))
        return err_hint(error, err_set(error, ETHOS_INVALID, "the title is blank"),
                        "omit it to have one made from the text");
    if (notes_check_title(fact->title, error) != ETHOS_OK)
        return ETHOS_LIMIT;
    for (size_t i = 0; i < 3; i++)
        if (parts[i].size > 0 && memchr(parts[i].data, 0, parts[i].size))
            return err_set(error, ETHOS_INVALID, "the text contains a NUL byte");
    for (size_t i = 0; i < 4; i++)
        if (!fact->type || strcmp(fact->type, types[i]) == 0)
            return ETHOS_OK;
    int code = err_set(error, ETHOS_INVALID, "unknown type of note: %s", fact->type);
    return err_hint(error, code, "one of user, feedback, project, reference");
}

static void add_digest_part(struct str *text, struct ethos_view part)
{
    str_printf(text, part.data ? "%zu:" : "-:", part.size);
    str_add(text, part);
}

/* Identifies an operation: everything the caller passed. */
static int remember_digest(const struct ethos_fact *fact, char out[HASH_HEX_SIZE])
{
    CLEANUP_STR struct str text;
    str_init(&text, SIZE_MAX);
    str_printf(&text, "remember %d:", (int)fact->again);
    add_digest_part(&text, fact->text);
    add_digest_part(&text, fact->title);
    add_digest_part(&text, fact->hook);
    add_digest_part(&text, view_str(fact->type));
    int code = str_code(&text);
    if (code == ETHOS_OK)
        hash_hex(str_view(&text), out);
    return code;
}

static enum remember_how how_of(enum ethos_again again)
{
    return again == ETHOS_AGAIN_REPLACE ? REMEMBER_REPLACE
           : again == ETHOS_AGAIN_NEW   ? REMEMBER_NEW
           : again == ETHOS_AGAIN_ASK   ? REMEMBER_ASK
                                        : REMEMBER_ADD;
}

/* "session:<id>", or the surface; where a fact comes from. */
int notes_source(const struct ethos_turn *turn, const struct ethos_origin *origin, struct str *out)
{
    const char *session = origin && origin->session ? origin->session : turn->context.session;
    return session ? str_printf(out, "session:%s", session)
                   : str_adds(out, origin && origin->via ? origin->via : "");
}

bool notes_by_person(const struct ethos_origin *origin)
{
    return origin && trust_of(origin) == TRUST_OWNER;
}

static int remember_fact(struct ethos_turn *turn, const struct ethos_fact *fact,
                         const struct ethos_sync_how *how, struct ethos_kept *kept,
                         struct ethos_error *error)
{
    char date[CLOCK_ISO_SIZE];
    CLEANUP_STR struct str title, source;
    struct keeping keeping = {.what = {.text = fact->text,
                                       .hook = fact->hook,
                                       .hook_by_hand = notes_by_person(how->origin),
                                       .type = view_str(fact->type),
                                       .date = date,
                                       .how = how_of(fact->again)},
                              .if_match = how->if_match};
    clock_date(service_now_ms(turn->ethos), date);
    str_init(&title, ETHOS_MAX_INPUT_BYTES);
    str_init(&source, ETHOS_MAX_INPUT_BYTES);
    str_init(&keeping.note, ETHOS_MAX_STORE_BYTES);
    str_init(&keeping.index, ETHOS_MAX_STORE_BYTES);
    int code = fact->title.data ? str_add(&title, fact->title)
                                : remember_note_title(fact->text, &title);
    if (code == ETHOS_OK)
        code = notes_source(turn, how->origin, &source);
    keeping.what.title = str_view(&title);
    if (source.size > 0)
        keeping.what.source = str_view(&source);
    code = code == ETHOS_OK ? remember_under_free_name(turn, &keeping, how, kept, error)
                            : err_nomem(error);
    str_release(&keeping.index);
    str_release(&keeping.note);
    return code;
}

int ethos_remember(struct ethos_turn *turn, const struct ethos_fact *fact,
                   const struct ethos_sync_how *how, struct ethos_kept *out_kept,
                   struct ethos_error *error)
{
    char hash[HASH_HEX_SIZE];
    struct ethos_kept kept = {0};
    struct ethos_sync_how own = how ? *how : plain_how;
    struct ethos_origin origin = own.origin ? *own.origin : (struct ethos_origin){0};
    own.origin = &origin;
    int code = check_fact(fact, error);
    if (code == ETHOS_OK)
        code = notes_new_scope(turn, fact->scope, kept.scope, error);
    if (code == ETHOS_OK && !SLOT_PROVIDER(turn->provider, update)) // its error says most
        code = turn->provider->ops->update(turn->provider, kept.scope, NULL, 0, NULL, NULL, NULL,
                                           error);
    if (code == ETHOS_OK && remember_digest(fact, hash) != ETHOS_OK)
        code = err_nomem(error);
    origin.op_digest = origin.op_id ? hash : NULL;
    if (code == ETHOS_OK)
        code = remember_fact(turn, fact, &own, &kept, error);
    if (code == ETHOS_OK && out_kept)
        *out_kept = kept;
    return code;
}

/* ---- remove ----------------------------------------------------------------------------------- */

struct removal {
    const char *key;
    bool
        gone; /* it existed before the lock was taken: a crashed writer's, or somebody was faster */
    const char *if_match;
    struct str index;
};

static int no_longer(const char *key, bool *out_gone, struct ethos_error *error)
{
    *out_gone = true;
    return err_set(error, ETHOS_NOTFOUND, "no such note: %s", key);
}

static int edit_remove(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    struct removal *removal = arg;
    (void)count;
    if (!edits[0].old.data)
        return no_longer(removal->key, &removal->gone, error);
    if (removal->if_match && strcmp(removal->if_match, edits[0].old.revision) != 0)
        return update_moved(removal->key, edits[0].old.revision, error);
    edits[0].verdict = ETHOS_EDIT_DROP;
    if (!edits[1].old.data)
        return ETHOS_OK;
    if (index_drop(edit_old_text(&edits[1]), view_str(removal->key), &removal->index) != ETHOS_OK)
        return err_nomem(error);
    set_edit_text(&edits[1], &removal->index, "remove");
    return ETHOS_OK;
}

/* *out_gone: a note with this name was removed before the lock was taken. */
static int remove_once(struct ethos_turn *turn, const char *scope, const char *name,
                       const struct ethos_sync_how *how, bool *out_gone, struct ethos_error *error)
{
    char key[ETHOS_MAX_KEY + 1];
    struct removal removal = {.key = key, .if_match = how->if_match};
    struct ethos_edit edits[2] = {{.key = key}, {.key = NOTES_INDEX}};
    TRY(ethos_note_find(turn, scope, name, key, error));
    str_init(&removal.index, ETHOS_MAX_STORE_BYTES);
    int code = handle_update(turn, scope, edits, 2, edit_remove, &removal, how, error);
    str_release(&removal.index);
    *out_gone = removal.gone;
    return code;
}

int ethos_note_remove(struct ethos_turn *turn, const char *scope, const char *name,
                      const struct ethos_sync_how *how, struct ethos_error *error)
{
    char real[ETHOS_MAX_SCOPE];
    bool gone = false;
    how = how ? how : &plain_how;
    int code = notes_scope(turn, scope, real, error);
    if (code == ETHOS_OK)
        code = remove_once(turn, real, name, how, &gone, error);
    return gone ? remove_once(turn, real, name, how, &gone, error) : code;
}

/* ---- move ------------------------------------------------------------------------------------- */

struct note_rename {
    bool gone; /* as in a removal */
    struct notes notes;
    char key[ETHOS_MAX_KEY + 1], new_key[ETHOS_MAX_KEY + 1];
    struct ethos_view title; /* absent: unchanged */
    const char *if_match;
    struct ethos_edit *edits; /* old, new, index, then the notes that link to it */
    size_t count;
    struct str *texts; /* of each edit */
    struct str spare;
};

static struct ethos_view key_without_suffix(const char *key)
{
    return view_of(key, strlen(key) - 3);
}

/* Whether a name looks like a file name: the characters of slugs, or .md at its end. */
static bool is_file_name(struct ethos_view name)
{
    if (view_ends(name, VIEW(".md")))
        return true;
    for (size_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!letter && (i == 0 || (c != '-' && c != '_' && c != '.')))
            return false;
    }
    return name.size > 0 && name.size <= ETHOS_MAX_NAME - 3;
}

/* The new file name: the name itself, or the slug of a title. */
static int name_target(struct note_rename *moving, const char *name, struct ethos_error *error)
{
    struct str slug;
    struct ethos_view given = view_trim(view_str(name)), base = given;
    if (view_blank(given))
        return err_hint(error, err_set(error, ETHOS_INVALID, "the new name is blank"),
                        "give a file name or a title");
    if (view_ends(given, VIEW(".md")))
        base.size -= 3;
    if (notes_check_title(base, error) != ETHOS_OK)
        return ETHOS_LIMIT;
    str_init(&slug, ETHOS_MAX_INPUT_BYTES);
    int code = slug_note(base, SLUG_NOTE_MAX, &slug);
    bool reserved = view_starts(str_view(&slug), VIEW("note-")) &&
                    !view_starts(base, VIEW("note-"));
    if (code == ETHOS_OK && is_file_name(given) && !reserved)
        code = (str_clear(&slug), str_add(&slug, base));
    else
        moving->title = base;
    size_t size = slug.size;
    snprintf(moving->new_key, sizeof moving->new_key, "%.*s.md", ETHOS_MAX_NAME - 3, slug.data);
    str_release(&slug);
    if (code != ETHOS_OK)
        return err_nomem(error);
    return size <= ETHOS_MAX_NAME - 3 ? scope_key_writable(moving->new_key, error)
                                      : scope_key_refuse(given, error);
}

/* The note under its new name: its name, and its title if one was given, are changed. */
static int rename_head(struct note_rename *moving, struct ethos_view text, struct str *out)
{
    struct note note;
    note_parse(text, &note);
    int code = note.name.data ? note_set(text, "name", key_without_suffix(moving->new_key), out)
                              : (str_clear(out), str_add(out, text));
    if (code == ETHOS_UNSUPPORTED)
        code = (str_clear(out), str_add(out, text));
    if (code != ETHOS_OK || !moving->title.data || !note.has_frontmatter)
        return code;
    code = note_set(str_view(out), "title", moving->title, &moving->spare);
    if (code != ETHOS_OK)
        return code == ETHOS_UNSUPPORTED ? ETHOS_OK : code;
    str_clear(out);
    return str_add(out, str_view(&moving->spare));
}

static int move_texts(struct note_rename *moving, struct ethos_edit *edits, size_t count)
{
    bool same = strcmp(moving->key, moving->new_key) == 0;
    struct ethos_view from = key_without_suffix(moving->key),
                      to = key_without_suffix(moving->new_key);
    int code = rename_head(moving, edit_old_text(&edits[0]), &moving->texts[0]);
    set_edit_text(&edits[same ? 0 : 1], &moving->texts[0], "add");
    if (!same)
        edits[0].verdict = ETHOS_EDIT_DROP;
    struct ethos_edit *index = &edits[same ? 1 : 2];
    if (code == ETHOS_OK && index->old.data) {
        code = index_move(edit_old_text(index), view_str(moving->key), view_str(moving->new_key),
                          moving->title, &moving->spare);
        if (code == ETHOS_OK) // and links in the hooks of other notes
            code = link_move(str_view(&moving->spare), from, to, &moving->texts[1]);
        set_edit_text(index, &moving->texts[1], "replace");
    }
    for (size_t i = same ? 2 : 3; code == ETHOS_OK && i < count; i++) {
        code = link_move(edit_old_text(&edits[i]), from, to, &moving->texts[i]);
        if (edits[i].old.data)
            set_edit_text(&edits[i], &moving->texts[i], "replace");
    }
    return code;
}

static int edit_move(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    struct note_rename *moving = arg;
    if (!edits[0].old.data)
        return no_longer(moving->key, &moving->gone, error);
    if (moving->if_match && strcmp(moving->if_match, edits[0].old.revision) != 0)
        return update_moved(moving->key, edits[0].old.revision, error);
    if (strcmp(moving->key, moving->new_key) != 0 && edits[1].old.data) {
        int code = err_set(error, ETHOS_EXISTS, "%s: a note with this name exists",
                           moving->new_key);
        return err_hint(error, code, "choose another name, or remove it first");
    }
    return move_texts(moving, edits, count) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

static int name_edits(struct ethos_turn *turn, struct note_rename *moving,
                      struct ethos_error *error)
{
    struct ethos_text text = {0};
    const struct notes *notes = &moving->notes;
    size_t n = 0;
    int code = ETHOS_OK;
    moving->edits[n++].key = moving->key;
    if (strcmp(moving->key, moving->new_key) != 0)
        moving->edits[n++].key = moving->new_key;
    moving->edits[n++].key = NOTES_INDEX;
    for (size_t i = 0; code == ETHOS_OK && i < notes->count; i++) {
        const char *key = notes->rows[i].key;
        if (strcmp(key, moving->key) == 0 || strcmp(key, moving->new_key) == 0)
            continue;
        code = notes_read(turn, notes->scope, key, &text, error);
        if (code == ETHOS_OK &&
            link_to(view_of(text.data, text.size), key_without_suffix(moving->key)))
            moving->edits[n++].key = key;
        else if (code == ETHOS_NOTFOUND)
            code = ETHOS_OK;
    }
    moving->count = n;
    notes_free(turn, &text);
    return code;
}

static int prepare_move(struct ethos_turn *turn, struct note_rename *moving, const char *scope,
                        const char *name, const char *new_name, bool dry, struct ethos_error *error)
{
    if (!dry)
        TRY(notes_recover(turn, scope, error));
    TRY(ethos_note_find(turn, scope, name, moving->key, error));
    TRY(name_target(moving, new_name, error));
    TRY(notes_load(turn, scope, &moving->notes, error));
    size_t most = moving->notes.count + 3;
    moving->edits = arena_array(&moving->notes.arena, most, sizeof *moving->edits);
    moving->texts = arena_array(&moving->notes.arena, most, sizeof *moving->texts);
    if (!moving->edits || !moving->texts)
        return err_nomem(error);
    for (size_t i = 0; i < most; i++)
        str_init(&moving->texts[i], ETHOS_MAX_STORE_BYTES);
    return name_edits(turn, moving, error);
}

static int move_once(struct ethos_turn *turn, const char *scope, const char *name,
                     const char *new_name, const struct ethos_sync_how *how,
                     char out_key[ETHOS_MAX_KEY + 1], bool *out_gone, struct ethos_error *error)
{
    struct note_rename moving = {.if_match = how->if_match};
    str_init(&moving.spare, ETHOS_MAX_STORE_BYTES);
    int code = prepare_move(turn, &moving, scope, name, new_name, how->flags & ETHOS_SYNC_DRY_RUN,
                            error);
    if (code == ETHOS_OK)
        code = handle_update(turn, moving.notes.scope, moving.edits, moving.count, edit_move,
                             &moving, how, error);
    if (code == ETHOS_OK)
        memcpy(out_key, moving.new_key, sizeof moving.new_key);
    *out_gone = moving.gone;
    for (size_t i = 0; moving.texts && i < moving.notes.count + 3; i++)
        str_release(&moving.texts[i]);
    str_release(&moving.spare);
    notes_release(turn, &moving.notes);
    return code;
}

int ethos_note_move(struct ethos_turn *turn, const char *scope, const char *name,
                    const char *new_name, const struct ethos_sync_how *how,
                    char out_key[ETHOS_MAX_KEY + 1], struct ethos_error *error)
{
    bool gone = false;
    how = how ? how : &plain_how;
    int code = move_once(turn, scope, name, new_name, how, out_key, &gone, error);
    return gone ? move_once(turn, scope, name, new_name, how, out_key, &gone, error) : code;
}
