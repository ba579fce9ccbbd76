/*
 * purge.c: removes every line that contains a text, from the files and from their history.
 *
 *     count_matches             counts without writing; a dry run ends here
 *     purge_texts               an ordinary update of every key: the lines leave the files
 *     purge_past                under the lock, after recovery:
 *         files_purge_history   rewrites the history, with blobs of the texts that it names now
 *         purge_folder          removes blobs with the text; conflict copies and temporaries
 *                               lose the lines
 *
 * Every step leaves a history that leads to all its versions, so running an interrupted purge
 * again finishes it. Copies that sync programs left beside the files are no versions; they lose
 * the lines as well.
 */
#include "store/files/purge_internal.h"

#include <errno.h>
#include <fcntl.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/memory/conflict_name.h"
#include "core/memory/scope.h"
#include "store/update_steps.h"

#define ROUNDS 100
#define LEAST_TABLE 64 /* slots; a power of two */
#define ARCHIVE "memory-archive.md"

/*
 * ---- keys -------------------------------------------------------------------------------------
 */

/* The slot of a key in the table, or the one it belongs in. */
static struct purge_key **find_key_slot(struct purge_key **table, size_t size,
                                        struct ethos_view key)
{
    size_t at = (size_t)hash_mix(0, key) & (size - 1);
    while (table[at] && !view_eq(table[at]->key, key))
        at = (at + 1) & (size - 1);
    return &table[at];
}

/* Keeps at least half of the table empty. */
static bool grow_key_table(struct purge_job *purge)
{
    size_t size = purge->table_size ? purge->table_size * 2 : LEAST_TABLE;
    if (purge->key_count * 2 < purge->table_size)
        return true;
    struct purge_key **table = arena_array(&purge->arena, size, sizeof *table);
    if (!table)
        return false;
    for (struct purge_key *key = purge->keys; key; key = key->next)
        *find_key_slot(table, size, key->key) = key;
    purge->table = table;
    purge->table_size = size;
    return true;
}

static const char *purged_name(struct purge_job *purge, struct ethos_view key)
{
    char renamed[ETHOS_MAX_KEY + 1];
    forget_rename(&purge->forget, key, renamed);
    return arena_str(&purge->arena, renamed);
}

struct purge_key *files_purge_find_key(struct purge_job *purge, struct ethos_view key)
{
    if (!grow_key_table(purge))
        return NULL;
    struct purge_key **slot = find_key_slot(purge->table, purge->table_size, key);
    if (*slot)
        return *slot;
    struct purge_key *made = arena_alloc(&purge->arena, sizeof *made);
    const char *name = made ? arena_copy(&purge->arena, key) : NULL;
    if (!name)
        return NULL;
    made->key = view_of(name, key.size);
    if (key.size <= ETHOS_MAX_KEY && forget_names(&purge->forget, key) &&
        !(made->renamed = purged_name(purge, key)))
        return NULL;
    str_init(&made->text, ETHOS_MAX_STORE_BYTES);
    made->next = purge->keys;
    purge->key_count++;
    *slot = made;
    return purge->keys = made;
}

int files_purge_replace(struct purge_job *purge, int folder, const char *name,
                        const struct stat *like, struct ethos_view text, struct ethos_error *error)
{
    return files_write_by_draft(purge->lock->tmp, ".purge" FILES_DRAFT, folder, name, like, text,
                                true) == 0
               ? ETHOS_OK
               : files_step_error(purge->self, errno, purge->path, error);
}

/*
 * ---- folders ----------------------------------------------------------------------------------
 */

/* Called for each file of a folder that contains the text. */
typedef int holder_fn(struct purge_job *purge, int folder, const char *name,
                      const struct stat *seen, struct ethos_view text, struct ethos_error *error);

static int remove_holder(struct purge_job *purge, int folder, const char *name,
                         const struct stat *seen, struct ethos_view text, struct ethos_error *error)
{
    (void)seen, (void)text;
    return os_unlinkat(folder, name, 0) == 0 || errno == ENOENT
               ? ETHOS_OK
               : files_step_error(purge->self, errno, purge->path, error);
}

static int rewrite_holder(struct purge_job *purge, int folder, const char *name,
                          const struct stat *seen, struct ethos_view text,
                          struct ethos_error *error)
{
    struct str out;
    struct ethos_view left;
    str_init(&out, ETHOS_MAX_STORE_BYTES);
    int code = forget_lines(&purge->forget, text, &out, &left, NULL);
    code = code == ETHOS_OK ? files_purge_replace(purge, folder, name, seen, left, error)
                            : err_nomem(error);
    str_release(&out);
    return code;
}

/* Reads a regular file. ETHOS_NOTFOUND when it is not one, or gone by now. */
static int read_folder_file(const struct purge_job *purge, int folder, const char *name,
                            struct str *out, struct stat *out_seen, struct ethos_error *error)
{
    str_clear(out);
    if (os_fstatat(folder, name, out_seen, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? ETHOS_NOTFOUND
                               : files_errno(purge->self, errno, purge->path, error);
    if (!S_ISREG(out_seen->st_mode))
        return ETHOS_NOTFOUND;
    CLEANUP_FD int fd = os_openat(folder, name, FILES_READ_FLAGS | O_NOFOLLOW, 0);
    if (fd < 0)
        return errno == ENOENT ? ETHOS_NOTFOUND
                               : files_errno(purge->self, errno, purge->path, error);
    return os_read_all(fd, out, ETHOS_MAX_STORE_BYTES) == 0
               ? ETHOS_OK
               : files_errno(purge->self, errno, purge->path, error);
}

/* Counts the files that contain the text; with a lock, calls each for them. */
static int for_each_holder(struct purge_job *purge, int folder, const struct files_names *names,
                           holder_fn *each, uint64_t *count, struct ethos_error *error)
{
    struct str text;
    struct stat seen;
    int code = ETHOS_OK;
    str_init(&text, ETHOS_MAX_STORE_BYTES);
    for (size_t i = 0; code == ETHOS_OK && i < names->count; i++) {
        code = read_folder_file(purge, folder, names->sorted[i], &text, &seen, error);
        if (code == ETHOS_OK && forget_holds(&purge->forget, str_view(&text))) {
            ++*count;
            if (purge->lock)
                code = each(purge, folder, names->sorted[i], &seen, str_view(&text), error);
        }
        if (code == ETHOS_NOTFOUND)
            code = ETHOS_OK;
    }
    str_release(&text);
    return code;
}

static int purge_folder(struct purge_job *purge, const char *below, holder_fn *each,
                        uint64_t *count, struct ethos_error *error)
{
    struct files_names names;
    uint64_t before = *count;
    int folder = os_open_beneath(purge->dir, below, O_RDONLY | O_DIRECTORY, 0);
    if (folder < 0)
        return errno == ENOENT ? ETHOS_OK : files_errno(purge->self, errno, purge->path, error);
    int code = files_names_read(purge->self, folder, purge->path, &names, error);
    if (code == ETHOS_OK) {
        code = for_each_holder(purge, folder, &names, each, count, error);
        files_names_release(&names);
    }
    if (code == ETHOS_OK && purge->lock && *count > before && purge->self->durable &&
        os_fsync(folder) != 0)
        code = files_step_error(purge->self, errno, purge->path, error);
    os_close(folder);
    return code;
}

/* Purges the copies that sync programs left beside the files. */
static int purge_sync_copies(struct purge_job *purge, struct ethos_error *error)
{
    CLEANUP_NAMES struct files_names names;
    TRY(files_names_read(purge->self, purge->dir, purge->path, &names, error));
    for (size_t i = 0; i < names.count; i++) {
        const struct files_names one = {.sorted = names.sorted + i, .count = 1};
        if (files_is_sync_conflict_copy(names.sorted[i]))
            TRY(for_each_holder(purge, purge->dir, &one, rewrite_holder, &purge->found.conflicts,
                                error));
    }
    return ETHOS_OK;
}

/*
 * ---- names ------------------------------------------------------------------------------------
 */

static int rename_purged_file(struct purge_job *purge, int folder, const char *name,
                              const char *renamed, struct ethos_error *error)
{
    char above[ETHOS_MAX_KEY + 1];
    const char *slash = strrchr(renamed, '/');
    snprintf(above, sizeof above, "%.*s", slash ? (int)(slash - renamed) : 0, renamed);
    if ((slash && os_mkdirs(folder, above) != 0) ||
        (os_renameat(folder, name, folder, renamed, RENAME_NOREPLACE) != 0 && errno != ENOENT))
        return files_step_error(purge->self, errno, purge->path, error);
    snprintf(above, sizeof above, "%s", name);
    for (char *end; (end = strrchr(above, '/'));) { // folders that have become empty
        *end = 0;
        if (os_unlinkat(folder, above, AT_REMOVEDIR) != 0)
            break;
    }
    return ETHOS_OK;
}

/*
 * Renames the files of keys whose names contain the text. Their history has the new names already.
 */
static int rename_key_files(struct purge_job *purge, struct ethos_error *error)
{
    int code = ETHOS_OK;
    bool any = false;
    struct stat seen;
    for (struct purge_key *key = purge->keys; code == ETHOS_OK && key; key = key->next) {
        if (!key->renamed || os_fstatat(purge->dir, key->key.data, &seen, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        any = true;
        code = rename_purged_file(purge, purge->dir, key->key.data, key->renamed, error);
    }
    if (code == ETHOS_OK && any && purge->self->durable && os_fsync(purge->dir) != 0)
        code = files_step_error(purge->self, errno, purge->path, error);
    return code;
}

/* Conflict copies are named after their keys. */
static int rename_conflict_copies(struct purge_job *purge, struct ethos_error *error)
{
    struct files_names names;
    int folder = os_open_beneath(purge->dir, CONFLICT_FOLDER, O_RDONLY | O_DIRECTORY, 0);
    if (folder < 0)
        return errno == ENOENT ? ETHOS_OK : files_errno(purge->self, errno, purge->path, error);
    int code = files_names_read(purge->self, folder, purge->path, &names, error);
    for (size_t i = 0; code == ETHOS_OK && i < names.count; i++) {
        char renamed[ETHOS_MAX_KEY + 1];
        struct ethos_view name = view_str(names.sorted[i]);
        const char *end = memmem(name.data, name.size, ".md.", 4);
        struct ethos_view key = end ? view_of(name.data, (size_t)(end - name.data) + 3) : name;
        if (!forget_names(&purge->forget, key))
            continue;
        forget_rename(&purge->forget, key, renamed);
        size_t size = strlen(renamed);
        snprintf(renamed + size, sizeof renamed - size, "%s", name.data + key.size);
        code = rename_purged_file(purge, folder, name.data, renamed, error);
    }
    if (code == ETHOS_OK || names.sorted)
        files_names_release(&names);
    os_close(folder);
    return code;
}

/* Purges everything but the files of keys. */
static int purge_past(struct purge_job *purge, struct ethos_error *error)
{
    int code = files_purge_history(purge, error);
    if (code == ETHOS_OK && purge->lock)
        code = rename_key_files(purge, error);
    if (code == ETHOS_OK && purge->lock)
        code = rename_conflict_copies(purge, error);
    if (code == ETHOS_OK)
        code = purge_folder(purge, FILES_BLOBS, remove_holder, &purge->found.blobs, error);
    if (code == ETHOS_OK)
        code = purge_folder(purge, CONFLICT_FOLDER, rewrite_holder, &purge->found.conflicts, error);
    if (code == ETHOS_OK && !scope_is_tree(purge->scope)) // in a tree, such a name is a key
        code = purge_sync_copies(purge, error);
    return code == ETHOS_OK ? purge_folder(purge, FILES_TMP, rewrite_holder, &purge->temps, error)
                            : code;
}

/*
 * ---- the texts of now -------------------------------------------------------------------------
 */

static int add_listed_key(void *arg, const struct ethos_entry *entry)
{
    struct purge_job *purge = arg;
    if (!scope_key_shown(purge->scope, entry->key) && strcmp(entry->key, ARCHIVE) != 0)
        return ETHOS_OK;
    return files_purge_find_key(purge, view_str(entry->key)) ? ETHOS_OK : ETHOS_NOMEM;
}

/* Counts the lines of the current texts, and lists their keys. */
static int count_text_lines(struct purge_job *purge, struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, 0};
    struct ethos_store *store = &purge->self->store;
    const struct ethos_host *host = purge->self->host;
    struct ethos_text text = {0};
    struct ethos_view left;
    struct str out;
    int code = store->ops->list(store, purge->scope, add_listed_key, purge, error);
    if (code == ETHOS_NOMEM)
        err_nomem(error);
    str_init(&out, ETHOS_MAX_STORE_BYTES);
    for (struct purge_key *key = purge->keys; code == ETHOS_OK && key; key = key->next) {
        code = store->ops->read(store, purge->scope, key->key.data, &whole, &text, error);
        uint64_t lines = 0;
        if (code == ETHOS_OK)
            code = forget_lines(&purge->forget, view_of(text.data, text.size), &out, &left, &lines);
        if (code == ETHOS_OK && key->renamed)
            purge->found.names++;
        purge->found.lines += lines;
        key->held = key->held || lines > 0;
        if (code == ETHOS_OK && purge->tell)
            code = forget_tell(&purge->forget, key->key.data, view_of(text.data, text.size));
        if (code == ETHOS_NOMEM)
            err_nomem(error);
        if (code == ETHOS_NOTFOUND)
            code = ETHOS_OK;
    }
    str_release(&out);
    edit_free_text(host, &text);
    return code;
}

struct line_removal {
    const struct purge_job *purge;
    struct str out;
};

static int remove_held_lines(void *arg, struct ethos_edit *edit, size_t count,
                             struct ethos_error *error)
{
    struct line_removal *cleansing = arg;
    struct ethos_view old = view_of(edit->old.data, edit->old.size);
    (void)count;
    uint64_t lines = 0;
    if (forget_lines(&cleansing->purge->forget, old, &cleansing->out, &edit->text, &lines) !=
        ETHOS_OK)
        return err_nomem(error);
    if (lines == 0)
        return ETHOS_OK;
    edit->verdict = ETHOS_EDIT_PUT;
    edit->actions = "remove";
    return ETHOS_OK;
}

/*
 * Removes the lines from the files as any other change does. Keys that had them only in the past
 * are updated as well: an edit made outside must be recorded before the history is rewritten.
 */
static int purge_texts(struct purge_job *purge, const struct ethos_origin *origin,
                       struct ethos_error *error)
{
    struct ethos_store *store = &purge->self->store;
    const struct ethos_host *host = purge->self->host;
    struct ethos_origin plain = origin ? *origin : (struct ethos_origin){0};
    struct line_removal cleansing = {.purge = purge};
    int code = ETHOS_OK;
    plain.via = "purge";
    plain.op_id = plain.op_digest =
        NULL; // there is more than one update, and a repeat does no harm
    str_init(&cleansing.out, ETHOS_MAX_STORE_BYTES);
    for (struct purge_key *key = purge->keys; code == ETHOS_OK && key; key = key->next) {
        struct ethos_edit edit = {.key = key->key.data};
        if (!key->held || strlen(edit.key) != key->key.size ||
            scope_key_check(purge->scope, edit.key, NULL) != ETHOS_OK)
            continue; // no file can have this name
        code = files_update_scope(store, purge->scope, &edit, 1, remove_held_lines, &cleansing,
                                  &plain, error);
        edit_free_text(host, &edit.old);
    }
    str_release(&cleansing.out);
    return code;
}

/*
 * ---- the whole --------------------------------------------------------------------------------
 */

static int count_matches(struct purge_job *purge, struct ethos_error *error)
{
    files_root_refresh(purge->self);
    int code = files_root_open(purge->self, error);
    if (code == ETHOS_OK)
        code = count_text_lines(purge, error);
    if (code == ETHOS_OK)
        purge->dir = files_open(purge->self, purge->path, O_RDONLY | O_DIRECTORY, error);
    if (code != ETHOS_OK || purge->dir < 0) {
        code = code != ETHOS_OK ? code : purge->dir;
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    }
    code = purge_past(purge, error);
    os_close(purge->dir);
    return code;
}

static int purge_locked(struct purge_job *purge, struct ethos_error *error)
{
    struct files_lock lock = {0};
    TRY(files_scope_path(purge->scope, lock.path, error));
    int code = files_lock_scope(purge->self, &lock, error);
    if (code == ETHOS_OK && lock.dir >= 0 && lock.fd < 0)
        code = files_lock_create(purge->self, &lock, error);
    if (code == ETHOS_OK && lock.dir >= 0) {
        code = files_recover_locked(purge->self, &lock, purge->scope, error);
        if (code == ETHOS_OK)
            code = files_lock_open_drafts(purge->self, &lock, error);
        purge->lock = &lock;
        purge->dir = lock.dir;
        if (code == ETHOS_OK)
            code = purge_past(purge, error);
        purge->lock = NULL;
    }
    files_unlock_scope(purge->self, &lock, code != ETHOS_OK && !purge->replaced);
    return code;
}

static int purge_scope(struct purge_job *purge, const struct ethos_origin *origin,
                       struct ethos_error *error)
{
    TRY(purge_texts(purge, origin, error));
    int code = FILES_RETRY;
    for (int i = 0; code == FILES_RETRY && i < ROUNDS; i++)
        code = purge_locked(purge, error);
    return code == FILES_RETRY ? files_errno(purge->self, EAGAIN, purge->path, error) : code;
}

int files_purge(struct ethos_store *store, const char *scope, const struct ethos_match *match,
                int dry_run, const struct ethos_origin *origin, struct ethos_purge *out_purge,
                struct ethos_error *error)
{
    char path[FILES_PATH_SIZE];
    struct purge_job purge = {
        .self = (struct files *)store, .scope = scope, .path = path, .dir = -1};
    int code = forget_init(&purge.forget, match, error);
    purge.tell = dry_run && match->each;
    if (code == ETHOS_OK)
        code = files_scope_path(scope, path, error);
    if (code != ETHOS_OK)
        return code;
    arena_init(&purge.arena);
    code = count_matches(&purge, error);
    const struct ethos_purge found = purge.found;
    bool any = found.lines + found.versions + found.blobs + found.conflicts + found.names +
                   purge.temps >
               0;
    if (code == ETHOS_OK && any && !dry_run)
        code = purge_scope(&purge, origin, error);
    if (code == ETHOS_OK)
        *out_purge = found;
    arena_release(&purge.arena);
    return code;
}
