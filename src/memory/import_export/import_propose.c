/*
 * import_propose.c: an import without approval: each note, and the entries of a memory, are queued.
 *
 * Nothing is written or recorded as imported, so that the same import may be run again, and
 * approved. What is already here, or would have to be merged, is left alone and reported.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "core/notes/index.h"
#include "core/notes/note.h"
#include "memory/import_export/import_internal.h"

#define MERGES "exists here with other content; import with --yes to merge it"

/* A note, and its line in the index. */
struct proposing {
    const struct source_item *item;
    struct str title, hook, index;
};

static int describe_item(const struct source_item *item, struct proposing *out)
{
    struct note note;
    *out = (struct proposing){.item = item};
    str_init(&out->title, ETHOS_MAX_STORE_BYTES);
    str_init(&out->hook, ETHOS_MAX_STORE_BYTES);
    str_init(&out->index, ETHOS_MAX_STORE_BYTES);
    note_parse(item->note, &note);
    TRY(note_title(&note, item->key, &out->title));
    return note_value(note.description, &out->hook);
}

static void release_proposal(struct proposing *self)
{
    str_release(&self->title);
    str_release(&self->hook);
    str_release(&self->index);
}

/* Returns the edit of the import; admission queues it. */
static int propose_edit(void *arg, struct ethos_edit *edits, size_t count,
                        struct ethos_error *error)
{
    struct proposing *self = arg;
    (void)count;
    if (edits[0].old.data)
        return ETHOS_OK; // created meanwhile
    edits[0].verdict = edits[1].verdict = ETHOS_EDIT_PUT;
    edits[0].text = self->item->note;
    if (index_put(view_of(edits[1].old.data, edits[1].old.size), str_view(&self->title),
                  view_str(self->item->key), str_view(&self->hook), &self->index) != ETHOS_OK)
        return err_nomem(error);
    edits[1].text = str_view(&self->index);
    return ETHOS_OK;
}

static int propose_note(struct import *import, const struct source_item *item,
                        struct ethos_error *error)
{
    struct proposing proposing;
    struct ethos_edit edits[2] = {{.key = item->key}, {.key = TRANSFER_INDEX}};
    const struct ethos_sync_how how = {.origin = &import->origin};
    int code = describe_item(item, &proposing) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
    if (code == ETHOS_OK)
        code = handle_update(import->turn, import->note_scope, edits, 2, propose_edit, &proposing,
                             &how, error);
    release_proposal(&proposing);
    if (code == ETHOS_PENDING || code == ETHOS_OK)
        import_report(import, item, import->note_scope, item->key, "waiting", NULL, NULL);
    return code == ETHOS_PENDING ? ETHOS_OK : code;
}

static int propose_item(struct import *import, const struct source_item *item,
                        struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    const struct ethos_host *host = import->turn->ethos->host;
    struct ethos_provider *provider = import->turn->provider;
    struct ethos_text here = {0};
    import_step(import);
    int code = provider->ops->read(provider, import->note_scope, item->key, &whole, &here, error);
    bool same = here.data && view_eq(view_of(here.data, here.size), item->note);
    if (code == ETHOS_NOTFOUND)
        code = propose_note(import, item, error);
    else if (code == ETHOS_OK)
        import_report(import, item, import->note_scope, item->key, same ? "unchanged" : "skipped",
                      same ? NULL : MERGES, NULL);
    host->resize(host->arg, here.data, 0);
    return code;
}

int import_propose_notes(struct import *import, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < import->source.count; i++) {
        const struct source_item *item = &import->source.items[i];
        if (item->item.kind == FOREIGN_NOTE || item->item.kind == FOREIGN_FACT)
            code = propose_item(import, item, error);
    }
    return code;
}
