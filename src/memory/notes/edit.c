/*
 * edit.c: changes the text, hook or title of a note, and its line in the index.
 *
 * The note and MEMORY.md are changed in one update. A file that was named after the old title is
 * renamed in a second one: if killed between, or if the name is taken, the note has the new text
 * under its old file name.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "base/text/single_line.h"
#include "base/view.h"
#include "core/memory/update.h"
#include "core/notes/index.h"
#include "core/notes/remember.h"
#include "memory/handle_internal.h"
#include "memory/notes/list.h"

struct writing {
    struct remember what;
    const char *key, *if_match;
    struct str note, index, title;
    enum remember_effect effect;
};

static struct ethos_view text_being_edited(const struct ethos_edit *edit)
{
    return view_of(edit->old.data, edit->old.size);
}

/* Checks that no other note has the title. */
static int check_free(const struct writing *writing, struct ethos_view index,
                      struct ethos_error *error)
{
    struct index_entry entry;
    struct ethos_view title = writing->what.title;
    if (line_blank(title) || !index_find_title(index, title, &entry) ||
        view_eq_str(entry.file, writing->key))
        return ETHOS_OK;
    int code = err_set(error, ETHOS_EXISTS, "%.*s has this title", VIEW_ARG(entry.file));
    return err_hint(error, code, "choose another title, or change that note");
}

static int edit_write(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    struct writing *writing = arg;
    struct ethos_edit *note = &edits[0], *index = &edits[1];
    (void)count;
    if (!note->old.data)
        return err_set(error, ETHOS_NOTFOUND, "no such note: %s", writing->key);
    if (writing->if_match && strcmp(writing->if_match, note->old.revision) != 0)
        return update_moved(writing->key, note->old.revision, error);
    TRY(check_free(writing, text_being_edited(index), error));
    int code = remember_rewrite(&writing->what, writing->key, text_being_edited(note),
                                text_being_edited(index), &writing->note, &writing->index,
                                &writing->title, &writing->effect);
    if (code != ETHOS_OK)
        return code == ETHOS_NOMEM
                   ? err_nomem(error)
                   : err_set(error, code, "%s: the note or the index is too large", writing->key);
    note->verdict = index->verdict = ETHOS_EDIT_PUT;
    note->text = str_view(&writing->note);
    index->text = str_view(&writing->index);
    note->actions = index->actions = "replace";
    return ETHOS_OK;
}

static int check_change(const struct notes_change *change, struct ethos_error *error)
{
    const struct ethos_view parts[] = {change->text, change->hook, change->title};
    bool any = false;
    for (size_t i = 0; i < 3; i++) {
        if (parts[i].data && line_blank(parts[i]))
            return err_hint(error,
                            err_set(error, ETHOS_INVALID, "one of the parts to write is blank"),
                            "omit it to leave it unchanged");
        if (parts[i].size > 0 && memchr(parts[i].data, 0, parts[i].size))
            return err_set(error, ETHOS_INVALID, "the text contains a NUL byte");
        any |= parts[i].data != NULL;
    }
    if (!any)
        return err_hint(error, err_set(error, ETHOS_INVALID, "nothing to change"),
                        "give a text, a hook or a title");
    return notes_check_title(change->title, error);
}

/*
 * Renames the file if it was named after the old title; if the new name is taken, it keeps its own.
 */
static int rename_file(struct ethos_turn *turn, const struct writing *writing,
                       const struct ethos_sync_how *how, struct ethos_kept *out,
                       struct ethos_error *error)
{
    struct ethos_sync_how later = *how;
    char key[ETHOS_MAX_KEY + 1];
    if (writing->title.size == 0 || (how->flags & ETHOS_SYNC_DRY_RUN))
        return ETHOS_OK;
    later.if_match = NULL; // the previous update checked that it exists
    int code = ethos_note_move(turn, out->scope, out->key, writing->title.data, &later, key, error);
    if (code == ETHOS_OK)
        snprintf(out->key, sizeof out->key, "%s", key);
    return code == ETHOS_EXISTS ? ETHOS_OK : code;
}

int notes_write(struct ethos_turn *turn, const char *scope, const char *name,
                const struct notes_change *change, const struct ethos_sync_how *how,
                struct ethos_kept *out, struct ethos_error *error)
{
    char date[CLOCK_ISO_SIZE];
    CLEANUP_STR struct str source = {0};
    struct writing writing = {.what = {.text = change->text,
                                       .hook = change->hook,
                                       .hook_by_hand = notes_by_person(how->origin),
                                       .title = change->title,
                                       .date = date},
                              .key = out->key,
                              .if_match = how->if_match};
    struct ethos_edit edits[2] = {{.key = out->key}, {.key = NOTES_INDEX}};
    TRY(check_change(change, error));
    TRY(notes_scope(turn, scope, out->scope, error));
    TRY(ethos_note_find(turn, out->scope, name, out->key, error));
    clock_date(service_now_ms(turn->ethos), date);
    str_init(&source, ETHOS_MAX_INPUT_BYTES);
    str_init(&writing.note, ETHOS_MAX_STORE_BYTES);
    str_init(&writing.index, ETHOS_MAX_STORE_BYTES);
    str_init(&writing.title, ETHOS_MAX_INPUT_BYTES);
    int code = notes_source(turn, how->origin, &source) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
    if (source.size > 0)
        writing.what.source = str_view(&source);
    if (code == ETHOS_OK)
        code = handle_update(turn, out->scope, edits, 2, edit_write, &writing, how, error);
    out->effect = remember_effect_name(writing.effect);
    if (code == ETHOS_OK)
        code = rename_file(turn, &writing, how, out, error);
    str_release(&writing.title);
    str_release(&writing.index);
    str_release(&writing.note);
    return code;
}
