/*
 * files_purge.c: purge: lines that hold a text go, from now and from the past.
 *
 *     survey            counts, writing nothing; ends here with dry_run or when nothing was found
 *     cleanse_texts     an ordinary update of every key: the lines leave the files
 *     cleanse_past      under the lock, after recovery:
 *         files_purge_history   the history is written again, with blobs of the texts it names now
 *         cleanse_folder        blobs that hold the text go; conflict copies, and what somebody has
 *                               open in .mem/tmp, lose the lines
 *
 * Every step leaves a history that leads to all its versions, so a purge that was interrupted is
 * finished by asking for it again. What sync programs left beside the files is nobody's version and
 * stays.
 */
#include "store/files_purge.h"

#include <errno.h>
#include <fcntl.h>

#include "base/err.h"
#include "base/os.h"
#include "base/view.h"
#include "core/conflict.h"
#include "core/scope.h"
#include "store/cleanse.h"

#define ROUNDS 100
#define ARCHIVE "memory-archive.md"

struct purge_key *files_purge_key(struct purge *purge, struct ethos_view key)
{
    for (struct purge_key *known = purge->keys; known; known = known->next) {
        if (view_eq(known->key, key))
            return known;
    }
    struct purge_key *made = arena_alloc(&purge->arena, sizeof *made);
    const char *name = made ? arena_copy(&purge->arena, key) : NULL;
    if (!name)
        return NULL;
    made->key = view_of(name, key.size);
    str_init(&made->text, ETHOS_MAX_STORE_BYTES);
    made->next = purge->keys;
    return purge->keys = made;
}

int files_purge_replace(struct purge *purge, int folder, const char *name, const struct stat *like,
                        struct ethos_view text, struct ethos_error *error)
{
    static const char draft[] = ".purge" FILES_DRAFT;
    int tmp = purge->hold->tmp, fd = files_draft_create(tmp, draft);
    bool done = fd >= 0 && os_adopt(fd, like) == 0 && os_write_all(fd, text.data, text.size) == 0 &&
                os_fdatasync(fd) == 0 && os_renameat(tmp, draft, folder, name, 0) == 0;
    int code = done ? ETHOS_OK : files_fail(purge->self, errno, purge->path, error);
    if (fd >= 0)
        os_close(fd);
    if (!done)
        os_unlinkat(tmp, draft, 0);
    return code;
}

/* ---- folders ---------------------------------------------------------------------------------- */

/* What happens to a file of a folder that holds the needle. */
typedef int holder_fn(struct purge *purge, int folder, const char *name, const struct stat *seen,
                      struct ethos_view text, struct ethos_error *error);

static int take_away(struct purge *purge, int folder, const char *name, const struct stat *seen,
                     struct ethos_view text, struct ethos_error *error)
{
    (void)seen, (void)text;
    return os_unlinkat(folder, name, 0) == 0 || errno == ENOENT
               ? ETHOS_OK
               : files_fail(purge->self, errno, purge->path, error);
}

static int rewrite(struct purge *purge, int folder, const char *name, const struct stat *seen,
                   struct ethos_view text, struct ethos_error *error)
{
    struct str out;
    struct ethos_view left;
    str_init(&out, ETHOS_MAX_STORE_BYTES);
    int code = cleanse_text(purge->needle, text, &out, &left, NULL);
    code = code == ETHOS_OK ? files_purge_replace(purge, folder, name, seen, left, error)
                            : err_nomem(error);
    str_release(&out);
    return code;
}

/* Reads a regular file. ETHOS_NOTFOUND when it is none, or gone by now. */
static int read_file(const struct purge *purge, int folder, const char *name, struct str *out,
                     struct stat *out_seen, struct ethos_error *error)
{
    str_clear(out);
    if (os_fstatat(folder, name, out_seen, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? ETHOS_NOTFOUND
                               : files_errno(purge->self, errno, purge->path, error);
    if (!S_ISREG(out_seen->st_mode))
        return ETHOS_NOTFOUND;
    int fd = os_openat(folder, name, FILES_READ_FLAGS | O_NOFOLLOW, 0);
    if (fd < 0)
        return errno == ENOENT ? ETHOS_NOTFOUND
                               : files_errno(purge->self, errno, purge->path, error);
    int code = os_read_all(fd, out, ETHOS_MAX_STORE_BYTES) == 0
                   ? ETHOS_OK
                   : files_errno(purge->self, errno, purge->path, error);
    os_close(fd);
    return code;
}

/* Counts the files that hold the needle; with a hold, does to each what has to be done. */
static int each_holder(struct purge *purge, int folder, const struct files_names *names,
                       holder_fn *each, uint64_t *count, struct ethos_error *error)
{
    struct str text;
    struct stat seen;
    int code = ETHOS_OK;
    str_init(&text, ETHOS_MAX_STORE_BYTES);
    for (size_t i = 0; code == ETHOS_OK && i < names->count; i++) {
        code = read_file(purge, folder, names->sorted[i], &text, &seen, error);
        if (code == ETHOS_OK && view_contains(str_view(&text), purge->needle)) {
            ++*count;
            if (purge->hold)
                code = each(purge, folder, names->sorted[i], &seen, str_view(&text), error);
        }
        if (code == ETHOS_NOTFOUND)
            code = ETHOS_OK;
    }
    str_release(&text);
    return code;
}

static int cleanse_folder(struct purge *purge, const char *below, holder_fn *each, uint64_t *count,
                          struct ethos_error *error)
{
    struct files_names names;
    uint64_t before = *count;
    int folder = os_open_beneath(purge->dir, below, O_RDONLY | O_DIRECTORY, 0);
    if (folder < 0)
        return errno == ENOENT ? ETHOS_OK : files_errno(purge->self, errno, purge->path, error);
    int code = files_names_read(purge->self, folder, purge->path, &names, error);
    if (code == ETHOS_OK) {
        code = each_holder(purge, folder, &names, each, count, error);
        files_names_release(&names);
    }
    if (code == ETHOS_OK && purge->hold && *count > before && purge->self->durable &&
        os_fsync(folder) != 0)
        code = files_fail(purge->self, errno, purge->path, error);
    os_close(folder);
    return code;
}

/* What sync programs left beside the files. */
static int cleanse_foreign(struct purge *purge, struct ethos_error *error)
{
    struct files_names names;
    int code = files_names_read(purge->self, purge->dir, purge->path, &names, error);
    if (code != ETHOS_OK)
        return code;
    for (size_t i = 0; code == ETHOS_OK && i < names.count; i++) {
        const struct files_names one = {.sorted = names.sorted + i, .count = 1};
        if (files_is_foreign_copy(names.sorted[i]))
            code = each_holder(purge, purge->dir, &one, rewrite, &purge->found.conflicts, error);
    }
    files_names_release(&names);
    return code;
}

/* All that is not a file of a key. */
static int cleanse_past(struct purge *purge, struct ethos_error *error)
{
    int code = files_purge_history(purge, error);
    if (code == ETHOS_OK)
        code = cleanse_folder(purge, FILES_BLOBS, take_away, &purge->found.blobs, error);
    if (code == ETHOS_OK)
        code = cleanse_folder(purge, CONFLICT_FOLDER, rewrite, &purge->found.conflicts, error);
    if (code == ETHOS_OK && !scope_is_tree(purge->scope)) // there, such a name is a key
        code = cleanse_foreign(purge, error);
    return code == ETHOS_OK ? cleanse_folder(purge, FILES_TMP, rewrite, &purge->temps, error)
                            : code;
}

/* ---- the texts of now ------------------------------------------------------------------------- */

static int note_key(void *arg, const struct ethos_entry *entry)
{
    struct purge *purge = arg;
    if (!scope_key_shown(purge->scope, entry->key) && strcmp(entry->key, ARCHIVE) != 0)
        return ETHOS_OK;
    return files_purge_key(purge, view_str(entry->key)) ? ETHOS_OK : ETHOS_NOMEM;
}

/* Counts the lines of the texts there are, and notes their keys. */
static int survey_texts(struct purge *purge, struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, 0};
    struct ethos_store *store = &purge->self->store;
    const struct ethos_host *host = purge->self->host;
    struct ethos_text text = {0};
    struct ethos_view left;
    struct str out;
    int code = store->ops->list(store, purge->scope, note_key, purge, error);
    if (code == ETHOS_NOMEM)
        err_nomem(error);
    str_init(&out, ETHOS_MAX_STORE_BYTES);
    for (struct purge_key *key = purge->keys; code == ETHOS_OK && key; key = key->next) {
        code = store->ops->read(store, purge->scope, key->key.data, &whole, &text, error);
        if (code == ETHOS_OK && cleanse_text(purge->needle, view_of(text.data, text.size), &out,
                                             &left, &purge->found.lines) != ETHOS_OK)
            code = err_nomem(error);
        if (code == ETHOS_NOTFOUND)
            code = ETHOS_OK;
    }
    str_release(&out);
    if (text.data)
        host->resize(host->arg, text.data, 0);
    return code;
}

struct cleansing {
    const struct purge *purge;
    struct str out;
};

static int drop_lines(void *arg, struct ethos_edit *edit, size_t count, struct ethos_error *error)
{
    struct cleansing *cleansing = arg;
    struct ethos_view old = view_of(edit->old.data, edit->old.size);
    (void)count;
    if (!view_contains(old, cleansing->purge->needle))
        return ETHOS_OK;
    if (cleanse_text(cleansing->purge->needle, old, &cleansing->out, &edit->text, NULL) != ETHOS_OK)
        return err_nomem(error);
    edit->verdict = ETHOS_EDIT_PUT;
    edit->actions = "remove";
    return ETHOS_OK;
}

/*
 * The files lose the lines as by any other change. Keys without them are asked for as well: an edit
 * made outside is recorded before the history is written again.
 */
static int cleanse_texts(struct purge *purge, const struct ethos_origin *origin,
                         struct ethos_error *error)
{
    struct ethos_store *store = &purge->self->store;
    const struct ethos_host *host = purge->self->host;
    struct ethos_origin plain = origin ? *origin : (struct ethos_origin){0};
    struct cleansing cleansing = {.purge = purge};
    int code = ETHOS_OK;
    plain.op_id = plain.op_digest =
        NULL; // there is more than one update, and a repeat does no harm
    str_init(&cleansing.out, ETHOS_MAX_STORE_BYTES);
    for (struct purge_key *key = purge->keys; code == ETHOS_OK && key; key = key->next) {
        struct ethos_edit edit = {.key = key->key.data};
        if (strlen(edit.key) != key->key.size ||
            scope_key_check(purge->scope, edit.key, NULL) != ETHOS_OK)
            continue; // no file can have this name
        code = files_update(store, purge->scope, &edit, 1, drop_lines, &cleansing, &plain, error);
        if (edit.old.data)
            host->resize(host->arg, edit.old.data, 0);
    }
    str_release(&cleansing.out);
    return code;
}

/* ---- the whole -------------------------------------------------------------------------------- */

static int survey(struct purge *purge, struct ethos_error *error)
{
    files_root_moved(purge->self);
    int code = files_root(purge->self, error);
    if (code == ETHOS_OK)
        code = survey_texts(purge, error);
    if (code == ETHOS_OK)
        purge->dir = files_open(purge->self, purge->path, O_RDONLY | O_DIRECTORY, error);
    if (code != ETHOS_OK || purge->dir < 0) {
        code = code != ETHOS_OK ? code : purge->dir;
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    }
    code = cleanse_past(purge, error);
    os_close(purge->dir);
    return code;
}

static int cleanse_locked(struct purge *purge, struct ethos_error *error)
{
    struct files_hold hold = {0};
    int code = files_scope_path(purge->scope, hold.path, error);
    if (code != ETHOS_OK)
        return code;
    code = files_hold_open(purge->self, &hold, error);
    if (code == ETHOS_OK && hold.dir >= 0 && hold.lock < 0)
        code = files_hold_make(purge->self, &hold, error);
    if (code == ETHOS_OK && hold.dir >= 0) {
        code = files_recover_hold(purge->self, &hold, purge->scope, error);
        if (code == ETHOS_OK)
            code = files_hold_tmp(purge->self, &hold, error);
        purge->hold = &hold;
        purge->dir = hold.dir;
        if (code == ETHOS_OK)
            code = cleanse_past(purge, error);
        purge->hold = NULL;
    }
    files_hold_close(purge->self, &hold, code != ETHOS_OK && !purge->replaced);
    return code;
}

static int cleanse(struct purge *purge, const struct ethos_origin *origin,
                   struct ethos_error *error)
{
    int code = cleanse_texts(purge, origin, error);
    if (code != ETHOS_OK)
        return code;
    code = FILES_MOVED;
    for (int i = 0; code == FILES_MOVED && i < ROUNDS; i++)
        code = cleanse_locked(purge, error);
    return code == FILES_MOVED ? files_errno(purge->self, EAGAIN, purge->path, error) : code;
}

int files_purge(struct ethos_store *store, const char *scope, struct ethos_view needle, int dry_run,
                const struct ethos_origin *origin, struct ethos_purge *out_purge,
                struct ethos_error *error)
{
    char path[FILES_PATH_SIZE];
    struct purge purge = {
        .self = (struct files *)store, .scope = scope, .path = path, .needle = needle, .dir = -1};
    int code = cleanse_check(needle, error);
    if (code == ETHOS_OK)
        code = files_scope_path(scope, path, error);
    if (code != ETHOS_OK)
        return code;
    arena_init(&purge.arena);
    code = survey(&purge, error);
    const struct ethos_purge found = purge.found;
    bool any = found.lines + found.versions + found.blobs + found.conflicts + purge.temps > 0;
    if (code == ETHOS_OK && any && !dry_run)
        code = cleanse(&purge, origin, error);
    if (code == ETHOS_OK)
        *out_purge = found;
    arena_release(&purge.arena);
    return code;
}
