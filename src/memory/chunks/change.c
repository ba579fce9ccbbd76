/*
 * change.c: adds, changes and deletes one entry of memory, under the lock of its scope.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "core/memory/update.h"
#include "memory/chunks/chunks_internal.h"
#include "memory/handle_internal.h"
#include "memory/history/changes.h"
#include "memory/provider/missing_slots.h"
#include "memory/recall/scope_index.h"

#define FORMER_VERSIONS 16 /* in which a missing entry is searched */

static const struct ethos_sync_how plain_how;

struct changing {
    struct ethos_turn *turn;
    const struct memory_chunk_change *change;
    struct chunk_place place;
    struct chunk_id id;
    struct ethos_view shown; /* of a file shown in place of an absent one; or absent */
    struct memory_chunks *out;
    struct str text, archive;
    bool with_archive; /* the second edit is the archive */
    bool overflows;    /* the archive is needed */
    bool missing;      /* the entry was not found */
};

/* ---- under the lock -------------------------------------------------------------------------- */

static struct ethos_view text_before_edit(const struct changing *self,
                                          const struct ethos_edit *edit)
{
    return edit->old.data ? view_of(edit->old.data, edit->old.size) : self->shown;
}

static int fail_revision(const struct changing *self, struct ethos_error *error)
{
    return err_set(error, ETHOS_CONFLICT, "the entry %s has changed since you read it",
                   self->change->id);
}

static int fail_missing(struct changing *self, struct ethos_error *error)
{
    self->missing = true;
    if (!*self->id.hash)
        return err_set(error, ETHOS_NOTFOUND, "no such entry: %s", self->change->id);
    return err_hint(error,
                    err_set(error, ETHOS_CONFLICT,
                            "the entry %s no longer exists: it was changed, moved or deleted",
                            self->change->id),
                    "read the entries again, then decide");
}

/* Finds the requested entry and checks its revision. */
static int find_matching_chunk(struct changing *self, struct ethos_view text, struct chunk *out,
                               struct ethos_error *error)
{
    const char *wanted = self->change->if_revision;
    bool found = false;
    self->out->count = 0;
    if (chunks_find_text(self->out, &self->place, text, &self->id, out, &found) != ETHOS_OK)
        return err_nomem(error);
    if (!found)
        return fail_missing(self, error);
    if (wanted && strcmp(wanted, self->out->rows[0].revision) != 0)
        return fail_revision(self, error);
    return ETHOS_OK;
}

/* Moves what does not fit into the file to the archive, as with every addition. */
static int archive_overflow(struct changing *self, struct ethos_edit *edits, size_t *offset,
                            struct ethos_error *error)
{
    char iso[CLOCK_ISO_SIZE];
    struct ethos_view text = str_view(&self->text);
    size_t keep = update_ceiling(text);
    if (keep == 0)
        return ETHOS_OK;
    self->overflows = true;
    if (keep > *offset)
        return err_set(error, ETHOS_LIMIT, "%s: more than %d characters", self->place.key,
                       ETHOS_MAX_FILE_CH);
    if (!self->with_archive)
        return ETHOS_BUSY; // retry with both files
    clock_iso(service_now_ms(self->turn->ethos), iso);
    str_clear(&self->archive);
    str_add(&self->archive, view_of(edits[1].old.data, edits[1].old.size));
    update_archive(view_of(text.data, keep), self->place.key, iso, &self->archive);
    edits[0].text = view_from(text, keep);
    *offset -= keep;
    edits[1].verdict = ETHOS_EDIT_PUT;
    edits[1].text = str_view(&self->archive);
    edits[1].actions = "add";
    return str_code(&self->archive) ? err_nomem(error) : ETHOS_OK;
}

static int make_changed_text(struct changing *self, struct ethos_view old, size_t *offset,
                             struct ethos_error *error)
{
    const struct memory_chunk_change *change = self->change;
    const struct chunk_new added = {change->content, change->under, change->block};
    struct chunk chunk;
    if (!change->id)
        return chunk_add(old, &added, &self->text, offset, error);
    int code = find_matching_chunk(self, old, &chunk, error);
    if (code == ETHOS_OK && change->content.data)
        return chunk_update(old, &chunk, change->content, &self->text, offset, error);
    return code ? code : chunk_delete(old, &chunk, &self->text, error);
}

static int edit_chunk(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    struct changing *self = arg;
    const struct memory_chunk_change *change = self->change;
    size_t offset = 0;
    (void)count;
    int code = make_changed_text(self, text_before_edit(self, &edits[0]), &offset, error);
    if (code != ETHOS_OK)
        return code;
    edits[0].verdict = ETHOS_EDIT_PUT;
    edits[0].text = str_view(&self->text);
    edits[0].actions = !change->id ? "add" : change->content.data ? "replace" : "remove";
    if (!change->id)
        code = archive_overflow(self, edits, &offset, error);
    self->out->count = 0;
    if (code == ETHOS_OK && change->content.data &&
        chunks_add_at(self->out, &self->place, edits[0].text, offset) != ETHOS_OK)
        code = err_nomem(error);
    return code;
}

/* ---- the nearest ----------------------------------------------------------------------------- */

/* Finds the entry in a former version of the file. */
static int find_former(struct changing *self, struct memory_chunks *out, struct ethos_error *error)
{
    const struct ethos_target name = {NULL, self->place.scope, self->place.key};
    struct scope_target target;
    struct changes changes;
    size_t tried = 0;
    TRY(handle_aim(self->turn, &name, false, &target, error));
    int code = changes_load(self->turn, &target, CHANGES_STILL, &changes, error);
    for (size_t i = 0; code == ETHOS_OK && out->count == 0 && i < changes.count; i++) {
        struct ethos_text text = {0};
        struct chunk chunk;
        bool found;
        if (!changes_real(&changes.items[i]) || tried++ == FORMER_VERSIONS)
            continue;
        code = changes_text(self->turn, &target, changes.items[i].before, &text, error);
        if (code == ETHOS_OK && text.data)
            code = chunks_find_text(out, &self->place, view_of(text.data, text.size), &self->id,
                                    &chunk, &found);
        changes_free(self->turn, &text);
    }
    changes_release(self->turn, &changes);
    return code;
}

/*
 * Returns the entry that took the place of the missing one, or is most similar. Only a help:
 * failures are ignored.
 */
static void add_nearest(struct changing *self)
{
    struct memory_chunks former;
    struct ethos_view text;
    memory_chunks_init(&former);
    find_former(self, &former, NULL);
    struct ethos_view content = former.count > 0 ? former.rows[0].content : self->change->content;
    size_t line = former.count > 0 ? former.rows[0].line : 1;
    self->out->count = 0;
    if (content.data &&
        chunks_read(self->turn, &self->place, &self->out->arena, &text, NULL) == ETHOS_OK)
        chunks_add_nearest(self->out, &self->place, text, content, line);
    memory_chunks_release(&former);
}

/* ---- which file ------------------------------------------------------------------------------ */

/* The file that has the entry; if none has, the store's own, where it is reported missing. */
static int find_chunk_file(struct changing *self, struct ethos_error *error)
{
    const struct memory_chunk_change *change = self->change;
    struct memory_chunks found;
    self->place = chunk_place_of(self->turn, change->store, false);
    if (!change->id)
        return ETHOS_OK;
    TRY(chunk_id_parse(change->id, &self->id, error));
    memory_chunks_init(&found);
    int code = memory_chunks_get(self->turn, change->id, &found, error);
    if (code == ETHOS_OK && found.rows[0].archived)
        code = err_hint(error,
                        err_set(error, ETHOS_INVALID, "the entry %s is archived", change->id),
                        "add it again, or remove it permanently: ethos memory forget");
    else if (code == ETHOS_OK)
        self->place = chunk_place_of(self->turn, found.rows[0].store, false);
    memory_chunks_release(&found);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

/* An entry of an older profile that is shown in place of an absent one is changed there. */
static int find_shown(struct changing *self, struct ethos_error *error)
{
    const struct ethos_target target = {NULL, self->place.scope, self->place.key};
    struct ethos_file *file;
    int code = ethos_read(self->turn, &target, &file, error);
    if (code != ETHOS_OK)
        return code;
    if (file->text && strcmp(file->scope, self->place.scope) != 0) {
        self->shown = view_of(arena_copy(&self->out->arena, view_of(file->text, file->size)),
                              file->size);
        code = self->shown.data ? ETHOS_OK : err_nomem(error);
    }
    ethos_file_free(file);
    return code;
}

static int write_change(struct changing *self, const struct ethos_sync_how *how,
                        struct ethos_error *error)
{
    struct ethos_turn *turn = self->turn;
    int code = ETHOS_BUSY;
    if (!SLOT_PROVIDER(turn->provider, update)) // its error says most
        return turn->provider->ops->update(turn->provider, self->place.scope, NULL, 0, NULL, NULL,
                                           NULL, error);
    for (int round = 0; round < 2 && code == ETHOS_BUSY; round++) {
        struct ethos_edit edits[2] = {{.key = self->place.key}, {.key = RECALL_ARCHIVE}};
        self->with_archive = round > 0;
        self->overflows = false;
        code = handle_update_files(turn, self->place.scope, edits, self->with_archive ? 2 : 1,
                                   edit_chunk, self, how, error);
        if (!self->overflows)
            break;
    }
    return code;
}

int memory_chunk_apply(struct ethos_turn *turn, const struct memory_chunk_change *change,
                       const struct ethos_sync_how *how, struct memory_chunks *out,
                       struct ethos_error *error)
{
    struct changing self = {.turn = turn, .change = change, .out = out};
    TRY(find_chunk_file(&self, error));
    if (change->id && !*self.id.hash && !change->if_revision)
        return err_hint(error,
                        err_set(error, ETHOS_INVALID, "ifRevision: required with a block id"),
                        "pass the revision that you read: a block id stays when its text changes");
    TRY(find_shown(&self, error));
    str_init(&self.text, ETHOS_MAX_STORE_BYTES);
    str_init(&self.archive, ETHOS_MAX_STORE_BYTES);
    int code = write_change(&self, how ? how : &plain_how, error);
    if (code == ETHOS_CONFLICT && self.missing)
        add_nearest(&self);
    else if (code != ETHOS_OK && code != ETHOS_CONFLICT)
        out->count = 0;
    str_release(&self.text);
    str_release(&self.archive);
    return code;
}
