/*
 * move_scope.c: moves a note from one scope to another.
 *
 * Two scopes commit separately. The note and its line are first written to the target durably; then
 * both are removed from the source, if unchanged since they were copied. A crash between leaves the
 * note in both.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "core/notes/index.h"
#include "core/notes/note.h"
#include "memory/handle_internal.h"
#include "memory/notes/list.h"
#include "memory/provider/missing_slots.h"

struct transfer_note {
    struct ethos_turn *turn;
    char source[ETHOS_MAX_SCOPE], target[ETHOS_MAX_SCOPE], key[ETHOS_MAX_KEY + 1];
    struct ethos_text text; /* of the note */
    struct str title, hook; /* of its line, else its own */
    struct str index;       /* of the target */
};

/*
 * The first scope other than the target that has the note; the target if no other has. Recovers
 * first: a killed writer may have removed the note without finishing.
 */
static int find_source(struct transfer_note *move, const char *name, bool dry,
                       struct ethos_error *error)
{
    const char *tiers[NOTES_TIERS + 1];
    char own[ETHOS_MAX_SCOPE];
    struct ethos_error why = {0};
    const struct ethos_context *context = &move->turn->context;
    size_t count = notes_tiers(move->turn, tiers);
    if (scope_make(SCOPE_PERSONALITY, context->personality, own, NULL) == ETHOS_OK &&
        strcmp(context->memory_scope, own) != 0)
        tiers[count++] = own; // from before its memory was the global one
    int code = ETHOS_NOTFOUND;
    for (size_t i = 0; code == ETHOS_NOTFOUND && i < count; i++) {
        if (strcmp(tiers[i], move->target) == 0)
            continue;
        if (!dry)
            handle_recover(move->turn, tiers[i], NULL);
        code = ethos_note_find(move->turn, tiers[i], name, move->key, why.text[0] ? NULL : &why);
        snprintf(move->source, sizeof move->source, "%s", tiers[i]);
    }
    if (code == ETHOS_NOTFOUND) {
        snprintf(move->source, sizeof move->source, "%s", move->target);
        code = ethos_note_find(move->turn, move->target, name, move->key, NULL);
    }
    if (code != ETHOS_OK && error)
        *error = why;
    return code;
}

/* Reads the note's line in the index of the source. */
static int read_index_line(struct transfer_note *move, struct ethos_error *error)
{
    struct ethos_text index = {0};
    struct index_entry entry;
    struct note note;
    size_t offset = 0;
    bool found = false;
    int code = notes_read(move->turn, move->source, NOTES_INDEX, &index, error);
    struct ethos_view text = view_of(index.data, index.size);
    while (code == ETHOS_OK && !found && index_next(text, &offset, &entry))
        found = view_eq_str(entry.file, move->key);
    if (found) {
        index_title(&entry, &move->title);
        str_add(&move->hook, entry.hook);
    } else if (code == ETHOS_OK || code == ETHOS_NOTFOUND) {
        note_parse(view_of(move->text.data, move->text.size), &note);
        note_title(&note, move->key, &move->title);
        note_value(note.description, &move->hook);
    }
    notes_free(move->turn, &index);
    if (code != ETHOS_OK && code != ETHOS_NOTFOUND)
        return code;
    return str_code(&move->title) == ETHOS_OK && str_code(&move->hook) == ETHOS_OK
               ? ETHOS_OK
               : err_nomem(error);
}

static int edit_target(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    struct transfer_note *move = arg;
    struct ethos_view text = view_of(move->text.data, move->text.size);
    const struct ethos_text *there = &edits[0].old, *index = &edits[1].old;
    (void)count;
    if (there->data && !view_eq(view_of(there->data, there->size), text)) {
        int code = err_set(error, ETHOS_EXISTS, "%s: another note has this name in %s", move->key,
                           move->target);
        return err_hint(error, code, "rename one of them first: ethos notes mv NAME NEW");
    }
    if (index_put(view_of(index->data, index->size), str_view(&move->title), view_str(move->key),
                  str_view(&move->hook), &move->index) != ETHOS_OK)
        return err_nomem(error);
    edits[0].verdict = edits[1].verdict = ETHOS_EDIT_PUT;
    edits[0].text = text;
    edits[1].text = str_view(&move->index);
    edits[0].actions = edits[1].actions = "add";
    return ETHOS_OK;
}

static int write_to_target(struct transfer_note *move, const struct ethos_sync_how *how,
                           struct ethos_error *error)
{
    struct ethos_edit edits[2] = {{.key = move->key}, {.key = NOTES_INDEX}};
    return handle_update(move->turn, move->target, edits, 2, edit_target, move, how, error);
}

static int transfer_note(struct transfer_note *move, const struct ethos_sync_how *how,
                         struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    struct ethos_provider *provider = move->turn->provider;
    struct ethos_sync_how own = *how;
    struct ethos_origin origin = how->origin ? *how->origin : (struct ethos_origin){0};
    char revision[ETHOS_REVISION_SIZE];
    origin.via = NOTES_MOVE; // undoing one half alone would duplicate or lose the note
    own.origin = &origin;
    TRY(provider->ops->read(provider, move->source, move->key, &whole, &move->text, error));
    if (how->if_match && strcmp(how->if_match, move->text.revision) != 0)
        return err_set(error, ETHOS_CONFLICT, "%s: has changed meanwhile", move->key);
    TRY(read_index_line(move, error));
    TRY(write_to_target(move, &own, error));
    memcpy(revision, move->text.revision, sizeof revision);
    own.if_match = revision;
    return ethos_note_remove(move->turn, move->source, move->key, &own, error);
}

int notes_transfer(struct ethos_turn *turn, const char *name, const char *target,
                   const struct ethos_sync_how *how, char out_scope[ETHOS_MAX_SCOPE],
                   char out_key[ETHOS_MAX_KEY + 1], struct ethos_error *error)
{
    struct transfer_note move = {.turn = turn};
    str_init(&move.title, ETHOS_MAX_STORE_BYTES);
    str_init(&move.hook, ETHOS_MAX_STORE_BYTES);
    str_init(&move.index, ETHOS_MAX_STORE_BYTES);
    int code = notes_new_scope(turn, target, move.target, error);
    if (code == ETHOS_OK)
        code = find_source(&move, name, how->flags & ETHOS_SYNC_DRY_RUN, error);
    if (code == ETHOS_OK && strcmp(move.source, move.target) != 0)
        code = transfer_note(&move, how, error);
    if (code == ETHOS_OK) {
        memcpy(out_scope, move.source, sizeof move.source);
        memcpy(out_key, move.key, sizeof move.key);
    }
    notes_free(turn, &move.text);
    str_release(&move.title);
    str_release(&move.hook);
    str_release(&move.index);
    return code;
}
