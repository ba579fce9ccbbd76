/*
 * sync_scope.c: syncs one scope: for each text, edits of the file go to the backend, and changes of
 * the backend into the file.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/history/merge.h"
#include "memory/mirror/internal.h"
#include "memory/provider/missing_slots.h"
#include "memory/served_store.h"
#include "store/store.h"

enum { LEFT_ALONE = -1 /* a file that is nobody's */, FOUND = -2 /* ends a walk */ };

struct scope_sync {
    struct mirror *self;
    struct mirror_scope *scope;
    struct ethos_provider *backend;
    struct mirror_state state;
    size_t texts; /* texts in step */
    bool away;    /* the backend failed */
    bool again;   /* some texts must be synced again */
    int code;     /* first failure of a single text */
    struct ethos_error error;
};

/* A text as one side has it. */
struct sync_side {
    struct ethos_text text;
    bool there;
    char revision[ETHOS_REVISION_SIZE]; /* MIRROR_ABSENT: it does not exist */
};

/* The file of a text, and what it is compared with. */
struct item {
    const char *key;
    char path[PATH_MAX]; /* below the folder */
    struct sync_side file, backend;
    char agreed[ETHOS_REVISION_SIZE];
};

static struct ethos_view view_side(const struct sync_side *side)
{
    return !side->there      ? (struct ethos_view){0}
           : side->text.data ? view_of(side->text.data, side->text.size)
                             : VIEW("");
}

/* Revisions by our own rule: a backend may compute its own differently. */
static void name_side(struct sync_side *side, bool there)
{
    side->there = there;
    if (there)
        hash_revision(view_side(side), side->revision);
    else
        snprintf(side->revision, sizeof side->revision, MIRROR_ABSENT);
}

static void free_text(const struct scope_sync *look, struct ethos_text *text)
{
    const struct ethos_host *host = look->self->ethos->host;
    host->resize(host->arg, text->data, 0);
    *text = (struct ethos_text){0};
}

static bool is_same_text(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static void report_item(struct scope_sync *look, const struct item *item, struct mirror_event event)
{
    event.backend = look->scope->source->name;
    event.scope = look->scope->scope;
    event.key = item->key;
    event.path = item->path;
    mirror_report(look->self, &event);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int leave_unchanged(void *arg, struct ethos_edit *edits, size_t count,
                           struct ethos_error *error)
{
    (void)arg, (void)edits, (void)count, (void)error;
    return ETHOS_OK;
}

/*
 * Reads through an update that changes nothing: it records an external edit and waits for one in
 * progress.
 */
static int read_settled_file(const struct scope_sync *look, struct item *item,
                             struct ethos_error *error)
{
    struct ethos_edit edit = {.key = item->key};
    free_text(look, &item->file.text);
    int code = store_update(look->self->files, look->scope->scope, &edit, 1, leave_unchanged, NULL,
                            NULL, error);
    item->file.text = edit.old;
    name_side(&item->file, edit.old.data != NULL);
    return code;
}

/*
 * Reads the file without its lock. True if it is the agreed text: it is already recorded, and an
 * update, whose cost grows with the scope, would record nothing.
 */
static bool read_agreed(const struct scope_sync *look, struct item *item)
{
    static const struct ethos_read_how whole = {0};
    struct ethos_store *files = look->self->files;
    struct ethos_error unread;
    free_text(look, &item->file.text);
    int code = files->ops->read(files, look->scope->scope, item->key, &whole, &item->file.text,
                                &unread);
    name_side(&item->file, code == ETHOS_OK);
    return code == ETHOS_OK && !item->file.text.unsettled &&
           is_same_text(item->file.revision, item->agreed);
}

static int read_backend(struct scope_sync *look, struct item *item, struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0};
    struct ethos_provider *backend = look->backend;
    int code = backend->ops->read(backend, look->scope->scope, item->key, &whole,
                                  &item->backend.text, error);
    name_side(&item->backend, code == ETHOS_OK);
    look->away = code != ETHOS_OK && code != ETHOS_NOTFOUND;
    return look->away ? code : ETHOS_OK;
}

struct own_write_search {
    const char *revision; /* that it must have led to */
    bool own;
};

static int check_newest_own(void *arg, const struct ethos_change *change)
{
    struct own_write_search *newest = arg;
    if (change->via && is_same_text(change->via, "seen"))
        return 0; // the change only recorded a text
    newest->own = change->via && is_same_text(change->via, MIRROR_VIA) && change->after &&
                  is_same_text(change->after, newest->revision);
    return FOUND;
}

/* Whether the file is what the mirror last wrote, although that was not recorded. */
static int find_own(const struct scope_sync *look, const struct item *item, bool *out,
                    struct ethos_error *error)
{
    struct own_write_search newest = {item->file.revision, false};
    struct ethos_store *files = look->self->files;
    int code = files->ops->history(files, look->scope->scope, item->key, check_newest_own, &newest,
                                   error);
    *out = newest.own;
    return code == FOUND ? ETHOS_OK : code;
}

/* ---- the file moved: to the backend ---------------------------------------------------------- */

struct absorbing {
    const struct item *item;
    struct ethos_text base; /* base of the edit, as far as known */
    bool stale;             /* base is older than the agreed text */
    struct str merged;
    bool kept;    /* the file's text becomes a conflict copy */
    bool clashes; /* before anything else */
    bool both;
};

static int merge_in(struct absorbing *job, struct ethos_view old, struct ethos_edit *edit,
                    struct ethos_error *error)
{
    struct merge_report report;
    str_clear(&job->merged);
    int code = merge_texts(view_of(job->base.data, job->base.size), old,
                           view_side(&job->item->file), &job->merged, &report);
    if (code != ETHOS_OK)
        return code == ETHOS_NOMEM
                   ? err_nomem(error)
                   : err_set(error, code, "%s: the merged text is too large", edit->key);
    if (report.conflicts > 0 && !job->kept) {
        job->clashes = true;
        return err_set(error, ETHOS_CONFLICT, "%s: conflicts with the backend's text", edit->key);
    }
    job->both = true;
    edit->text = str_view(&job->merged);
    edit->verdict = view_eq(edit->text, old) ? ETHOS_EDIT_KEEP : ETHOS_EDIT_PUT;
    return ETHOS_OK;
}

static int absorb_edit(void *arg, struct ethos_edit *edit, size_t count, struct ethos_error *error)
{
    struct absorbing *job = arg;
    const struct item *item = job->item;
    const struct ethos_view old = view_of(edit->old.data, edit->old.size);
    char now[ETHOS_REVISION_SIZE] = MIRROR_ABSENT;
    (void)count;
    job->both = false;
    if (old.data)
        hash_revision(old, now);
    bool unmoved = is_same_text(now, item->agreed);
    edit->verdict = ETHOS_EDIT_KEEP;
    if (is_same_text(now, item->file.revision) || (!item->file.there && !unmoved))
        return ETHOS_OK;
    if (!item->file.there) {
        edit->verdict = ETHOS_EDIT_DROP;
        return ETHOS_OK;
    }
    if (old.data && (!unmoved || job->stale))
        return merge_in(job, old, edit, error);
    edit->verdict = ETHOS_EDIT_PUT;
    edit->text = view_side(&item->file);
    return ETHOS_OK;
}

static bool has_idempotent_update(const struct scope_sync *look)
{
    const struct ethos_store *store = provider_store(look->backend);
    return store && store->ops->update && (store->capabilities & ETHOS_STORE_ONCE);
}

/* The operation id, the same until the sync is recorded as done. */
static void make_operation_id(const struct scope_sync *look, const struct item *item, char id[80],
                              char digest[HASH_HEX_SIZE])
{
    struct str text;
    str_init(&text, SIZE_MAX);
    str_printf(&text, "%s\n%s\n%s\n%s\n%s\n%lld", look->self->id, look->scope->scope, item->key,
               item->agreed, item->file.revision, (long long)look->state.step);
    hash_hex(str_view(&text), digest);
    if (str_code(&text) != ETHOS_OK)
        digest[0] = 0;
    str_release(&text);
    snprintf(id, 80, MIRROR_VIA ".%s", digest);
}

static int update_backend(struct scope_sync *look, struct absorbing *job, struct ethos_edit *edit,
                          struct ethos_error *error)
{
    char id[80], digest[HASH_HEX_SIZE];
    struct ethos_provider *backend = look->backend;
    struct ethos_origin origin = {.actor = "owner", .via = MIRROR_VIA, .source = "web-editor"};
    make_operation_id(look, job->item, id, digest);
    if (*digest && has_idempotent_update(look)) {
        origin.op_id = id;
        origin.op_digest = digest;
    }
    *edit = (struct ethos_edit){.key = job->item->key};
    int code = backend->ops->update(backend, look->scope->scope, edit, 1, absorb_edit, job, &origin,
                                    error);
    free_text(look, &edit->old);
    look->away = code == ETHOS_BUSY || code == ETHOS_IO || code == ETHOS_NOMEM;
    return code;
}

/* If the backend keeps no conflict copies, or must not have this one, the folder does. */
static int store_conflict(struct scope_sync *look, const struct item *item, bool at_backend,
                          bool forgotten, struct ethos_error *error)
{
    struct ethos_provider *backend = look->backend;
    struct ethos_store *files = look->self->files;
    const char *scope = look->scope->scope;
    at_backend = at_backend && !forgotten && SLOT_PROVIDER(backend, set_aside);
    int code = at_backend
                   ? backend->ops->set_aside(backend, scope, item->key, view_side(&item->file),
                                             error)
                   : files->ops->set_aside(files, scope, item->key, view_side(&item->file), error);
    look->away = at_backend && (code == ETHOS_BUSY || code == ETHOS_IO);
    if (code != ETHOS_OK)
        return code;
    look->self->count.kept++;
    if (!at_backend)
        json_object_set_new(look->self->kept_here, item->path,
                            json_true()); // out of memory: reported again
    report_item(
        look, item,
        (struct mirror_event){.kind = MIRROR_KEPT, .merged = at_backend, .forgotten = forgotten});
    return ETHOS_OK;
}

/*
 * Whether the backend has purged anything since the base of the edit: a purge leaves no version
 * that contains the text. A copy of the file would bring it back there.
 */
static int find_forgotten(struct scope_sync *look, const struct absorbing *job, bool *out,
                          struct ethos_error *error)
{
    struct ethos_provider *backend = look->backend;
    const struct item *item = job->item;
    const char *revision = item->agreed;
    char base[ETHOS_REVISION_SIZE];
    struct ethos_text text = {0};
    *out = false;
    if (is_same_text(item->agreed, MIRROR_ABSENT) || !SLOT_PROVIDER(backend, version))
        return ETHOS_OK;
    if (job->stale) {
        hash_revision(view_of(job->base.data, job->base.size), base);
        revision = base;
    }
    int code = backend->ops->version(backend, look->scope->scope, item->key, revision, &text,
                                     error);
    free_text(look, &text);
    *out = code == ETHOS_NOTFOUND || code == ETHOS_CORRUPT;
    look->away = code != ETHOS_OK && !*out;
    return look->away ? code : ETHOS_OK;
}

/* Stores the file's text first, then applies what does not conflict. */
static int absorb_clash(struct scope_sync *look, struct absorbing *job, struct ethos_edit *edit,
                        struct ethos_error *error)
{
    bool forgotten;
    int code = find_forgotten(look, job, &forgotten, error);
    if (code == ETHOS_OK)
        code = store_conflict(look, job->item, true, forgotten, error);
    job->kept = code == ETHOS_OK;
    return job->kept ? update_backend(look, job, edit, error) : code;
}

static int absorb_two_way(struct scope_sync *look, const struct item *item,
                          struct ethos_error *error)
{
    struct absorbing job = {.item = item};
    struct ethos_edit edit;
    if (!item->file.there && !guard_allows(look->self)) {
        look->again = true;
        return LEFT_ALONE;
    }
    if (guard_is_unmerged(view_side(&item->file)) && !guard_is_unmerged(view_side(&item->backend)))
        return err_hint(error, err_set(error, ETHOS_INVALID, "contains conflict markers of git"),
                        "resolve the conflict first; then the file is synced");
    str_init(&job.merged, ETHOS_MAX_STORE_BYTES);
    int code = base_find(look->self, look->scope, item->key, item->agreed, view_side(&item->file),
                         &job.base, &job.stale, error);
    if (code == ETHOS_OK)
        code = update_backend(look, &job, &edit, error);
    if (job.clashes)
        code = absorb_clash(look, &job, &edit, error);
    if (code == ETHOS_OK && (edit.verdict == ETHOS_EDIT_PUT || edit.verdict == ETHOS_EDIT_DROP)) {
        bool removed = edit.verdict == ETHOS_EDIT_DROP;
        look->self->count.to_backend++;
        if (removed)
            guard_note(look->self);
        report_item(
            look, item,
            (struct mirror_event){.kind = MIRROR_BACKEND, .removed = removed, .merged = job.both});
    }
    free_text(look, &job.base);
    str_release(&job.merged);
    return code;
}

static int absorb_new(struct scope_sync *look, const struct item *item, struct ethos_error *error)
{
    bool fresh = guard_is_fresh(look->self, item->path);
    look->again = look->again || fresh;
    if (fresh || guard_is_litter(item->key))
        return LEFT_ALONE;
    return absorb_two_way(look, item, error);
}

static int absorb_one_way(struct scope_sync *look, const struct item *item,
                          struct ethos_error *error)
{
    bool known = !is_same_text(item->agreed, MIRROR_ABSENT) || item->backend.there;
    if (!item->file.there)
        return ETHOS_OK;
    return known ? store_conflict(look, item, false, false, error) : LEFT_ALONE;
}

static int apply_file_edit(struct scope_sync *look, struct item *item, struct ethos_error *error)
{
    bool own, unknown = !item->backend.there && is_same_text(item->agreed, MIRROR_ABSENT);
    TRY(find_own(look, item, &own, error));
    if (!own)
        TRY(!look->self->how.two_way ? absorb_one_way(look, item, error)
            : unknown                ? absorb_new(look, item, error)
                                     : absorb_two_way(look, item, error));
    return state_set(&look->state, item->key, item->file.revision, error);
}

/* ---- the backend moved: into the file -------------------------------------------------------- */

static int write_backend_text(void *arg, struct ethos_edit *edit, size_t count,
                              struct ethos_error *error)
{
    const struct item *item = arg;
    char now[ETHOS_REVISION_SIZE] = MIRROR_ABSENT;
    (void)count;
    if (edit->old.data)
        hash_revision(view_of(edit->old.data, edit->old.size), now);
    if (!is_same_text(now, item->file.revision))
        return err_set(error, ETHOS_CONFLICT, "%s: changed meanwhile", item->path);
    edit->verdict = item->backend.there ? ETHOS_EDIT_PUT : ETHOS_EDIT_DROP;
    edit->text = view_side(&item->backend);
    return ETHOS_OK;
}

static int update_file(struct scope_sync *look, struct item *item, struct ethos_error *error)
{
    static const struct ethos_origin origin = {.actor = "ethos", .via = MIRROR_VIA};
    struct ethos_edit edit = {.key = item->key};
    int code = store_update(look->self->files, look->scope->scope, &edit, 1, write_backend_text,
                            item, &origin, error);
    free_text(look, &edit.old);
    if (code != ETHOS_OK)
        return code;
    look->self->count.to_file++;
    report_item(look, item,
                (struct mirror_event){.kind = MIRROR_FILE, .removed = !item->backend.there});
    return state_set(&look->state, item->key, item->backend.revision, error);
}

static int set_found(void *arg, const struct ethos_change *change)
{
    (void)change;
    *(bool *)arg = true;
    return FOUND;
}

/* Whether the backend knows the text: a removed text has a history, a lost one has none. */
static int find_trace(struct scope_sync *look, const struct item *item, bool *out,
                      struct ethos_error *error)
{
    struct ethos_provider *backend = look->backend;
    *out = item->backend.there || !SLOT_PROVIDER(backend, history);
    if (*out)
        return ETHOS_OK;
    int code = backend->ops->history(backend, look->scope->scope, item->key, set_found, out, error);
    look->away = code != ETHOS_OK && code != FOUND && code != ETHOS_NOTFOUND;
    return look->away ? code : ETHOS_OK;
}

/*
 * Whether the backend can drop a scope with its history, as when files are deleted or another home
 * runs workspaces forget --memory or personality delete. That looks like a loss, and such a scope
 * must not come back.
 */
static bool drops_scopes(const struct scope_sync *look)
{
    const struct ethos_store *store = provider_store(look->backend);
    return store &&
           ((store->capabilities & ETHOS_STORE_PATHS) || is_same_text(store->ops->name, "remote"));
}

/*
 * A database that was created anew has not removed anything: it gets the text back, or the file is
 * the only copy.
 */
static int restore_to_backend(struct scope_sync *look, struct item *item, struct ethos_error *error)
{
    bool drops = drops_scopes(look);
    if (!look->self->how.two_way || drops) {
        int code = err_set(error, ETHOS_CORRUPT, "%s has lost this text and its history",
                           look->scope->source->name);
        return err_hint(error, code, "the file is kept; delete it, or %s with --two-way",
                        drops ? "change it" : "restore it");
    }
    snprintf(item->agreed, sizeof item->agreed, MIRROR_ABSENT);
    TRY(absorb_two_way(look, item, error));
    return ETHOS_CONFLICT;
}

/* ---- one text -------------------------------------------------------------------------------- */

/*
 * One round: ETHOS_OK if both sides are equal now, ETHOS_CONFLICT if the text must be synced again.
 */
static int sync_item_once(struct scope_sync *look, struct item *item, struct ethos_error *error)
{
    bool known;
    snprintf(item->agreed, sizeof item->agreed, "%s", state_get(&look->state, item->key));
    int code = read_agreed(look, item) ? ETHOS_OK : read_settled_file(look, item, error);
    if (code == ETHOS_OK)
        code = read_backend(look, item, error);
    if (code != ETHOS_OK)
        return code;
    if (is_same_text(item->file.revision, item->backend.revision))
        return state_set(&look->state, item->key, item->file.revision, error);
    if (is_same_text(item->file.revision, item->agreed)) {
        code = find_trace(look, item, &known, error);
        return code != ETHOS_OK ? code
               : known          ? update_file(look, item, error)
                                : restore_to_backend(look, item, error);
    }
    TRY(apply_file_edit(look, item, error));
    return ETHOS_CONFLICT;
}

/* Reports a full disk once, not for every text. */
static void report_more_failures(struct scope_sync *look, int code)
{
    struct ethos_error more;
    err_set(&more, code, "other texts are not in step either");
    mirror_report(
        look->self,
        &(struct mirror_event){.kind = MIRROR_FAILED, .path = look->self->folder, .error = &more});
}

/* Reports a text that cannot be synced once, until it changes. */
static void report_item_failure(struct scope_sync *look, const struct item *item,
                                const struct ethos_error *error)
{
    char about[2 * ETHOS_REVISION_SIZE + 16];
    snprintf(about, sizeof about, "%d %s %s", error->code, item->file.revision,
             item->backend.revision);
    if (mirror_knows(look->self, item->path, about))
        return;
    size_t before = look->self->count.failed++;
    if (before < MIRROR_FAILURES)
        report_item(look, item, (struct mirror_event){.kind = MIRROR_FAILED, .error = error});
    else if (before == MIRROR_FAILURES)
        report_more_failures(look, error->code);
}

static void record_item_failure(struct scope_sync *look, const struct item *item, int code,
                                const struct ethos_error *error)
{
    if (code == ETHOS_CONFLICT || code == ETHOS_BUSY) // somebody is writing it
        look->again = true;
    else
        report_item_failure(look, item, error);
    if (look->code != ETHOS_OK)
        return;
    look->code = code;
    look->error = *error;
}

/* Returns failures of the backend; those of a single text are recorded. */
static int sync_item(struct scope_sync *look, const char *key, struct ethos_error *error)
{
    struct item item = {.key = key};
    struct ethos_error why = {0};
    int code = folder_path(look->self, look->scope->scope, key, item.path, &why);
    for (int round = 0; code == ETHOS_OK || (code == ETHOS_CONFLICT && round < MIRROR_ROUNDS);
         round++) {
        code = sync_item_once(look, &item, &why);
        if (code == ETHOS_OK)
            break;
    }
    if (code == ETHOS_OK) {
        look->texts += item.backend.there;
        json_object_del(look->self->told, item.path);
    } else if (!look->away && code != LEFT_ALONE) {
        record_item_failure(look, &item, code, &why);
    }
    if (code == ETHOS_OK && item.backend.there)
        folder_mode(look->self, item.path);
    free_text(look, &item.file.text);
    free_text(look, &item.backend.text);
    if (look->away && error)
        *error = why;
    return look->away ? code : ETHOS_OK;
}

/* ---- all texts ------------------------------------------------------------------------------- */

struct key_listing {
    const char *scope;
    json_t *keys;
};

static int add_key(struct key_listing *listing, const char *key)
{
    if (served_store_check_key(listing->scope, key, NULL) != ETHOS_OK)
        return 0;
    return json_object_set_new(listing->keys, key, json_true()) == 0 ? 0 : ETHOS_NOMEM;
}

static int list_entry(void *arg, const struct ethos_entry *entry)
{
    return add_key(arg, entry->key);
}

static int list_keys(struct scope_sync *look, struct key_listing *listing,
                     struct ethos_error *error)
{
    struct ethos_provider *backend = look->backend;
    struct ethos_store *files = look->self->files;
    const char *key;
    json_t *revision;
    int code = backend->ops->list(backend, listing->scope, list_entry, listing, error);
    look->away = code != ETHOS_OK;
    if (code == ETHOS_OK)
        code = files->ops->list(files, listing->scope, list_entry, listing, error);
    json_object_foreach (look->state.keys, key, revision)
        if (code == ETHOS_OK)
            code = add_key(listing, key);
    return code;
}

static int sync_all_items(struct scope_sync *look, struct ethos_error *error)
{
    struct key_listing listing = {look->scope->scope, json_object()};
    const char *key;
    json_t *value;
    int code = listing.keys ? list_keys(look, &listing, error) : err_nomem(error);
    json_object_foreach (listing.keys, key, value) {
        if (code != ETHOS_OK)
            break;
        if (mirror_stopped(look->self)) {
            look->again = true;
            break;
        }
        code = sync_item(look, key, error);
    }
    json_decref(listing.keys);
    return code;
}

int scope_sync_run(struct mirror *self, struct mirror_scope *scope, bool *out_backend,
                   bool *out_again, struct ethos_error *error)
{
    struct ethos_error unsaved;
    struct item whole = {0}; // not a single text
    struct scope_sync look = {.self = self, .scope = scope, .backend = scope->source->behind};
    snprintf(whole.path, sizeof whole.path, "%s", scope->scope);
    int code = state_load(self, scope, &look.state, error);
    if (code == ETHOS_OK)
        code = guard_deletions(self, scope, &look.state, error);
    if (code == ETHOS_OK)
        code = sync_all_items(&look, error);
    if (look.state.keys) { // agreed revisions are saved after a failure, too
        int saved = state_save(self, scope, &look.state, code == ETHOS_OK ? error : &unsaved);
        code = code == ETHOS_OK ? saved : code;
    }
    if (code != ETHOS_OK && !look.away && error)
        report_item_failure(&look, &whole, error);
    else if (code == ETHOS_OK)
        json_object_del(self->told, whole.path);
    state_release(&look.state);
    if (code == ETHOS_OK && look.code != ETHOS_OK && error)
        *error = look.error;
    scope->texts = look.texts;
    *out_backend = look.away;
    *out_again = look.again;
    return code == ETHOS_OK ? look.code : code;
}
