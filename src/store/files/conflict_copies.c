/*
 * conflict_copies.c: conflict copies: texts that could not be merged into their file.
 *
 * Copies of the store lie in .mem/conflicts as <key>.<UTC>.<sha8>.md; that name is their id.
 * Copies that sync programs leave in the directory ("*.sync-conflict-*", "*conflicted copy*") are
 * listed too, with their file name as id. Before a copy is removed, its text becomes a blob that a
 * history line names.
 */
#include "store/files/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/memory/conflict_name.h"
#include "core/memory/scope.h"
#include "store/update_steps.h"

static int folder_error(const struct files *self, const struct files_lock *lock,
                        struct ethos_error *error)
{
    int errnum = errno;
    char path[FILES_PATH_SIZE + sizeof "/" CONFLICT_FOLDER];
    snprintf(path, sizeof path, "%s/" CONFLICT_FOLDER, lock->path);
    return files_step_error(self, errnum, path, error);
}

/*
 * ---- names ------------------------------------------------------------------------------------
 */

/* Parses the name of a copy of the store; false for any other name. */
static bool parse_copy_name(const char *name, char key[ETHOS_MAX_KEY + 1])
{
    static const char form[] = ".00000000T000000Z.xxxxxxxx.md";
    size_t size = strlen(name), tail = sizeof form - 1;
    if (size <= tail || size - tail > ETHOS_MAX_KEY)
        return false;
    const char *rest = name + size - tail;
    for (size_t i = 0; i < tail; i++) {
        bool digit = rest[i] >= '0' && rest[i] <= '9';
        if (form[i] == '0' ? !digit : form[i] != 'x' && rest[i] != form[i])
            return false;
    }
    memcpy(key, name, size - tail);
    key[size - tail] = 0;
    files_name_to_key(key);
    return true;
}

/*
 * ---- keeping ----------------------------------------------------------------------------------
 */

static int open_conflict_folder(struct files *self, const struct files_lock *lock,
                                struct ethos_error *error)
{
    if (os_mkdirs(lock->dir, CONFLICT_FOLDER) != 0)
        return folder_error(self, lock, error);
    int dir = os_open_beneath(lock->dir, CONFLICT_FOLDER, O_RDONLY | O_DIRECTORY, 0);
    return dir < 0 ? folder_error(self, lock, error) : dir;
}

/* Whether a file of the folder has exactly this text; false when it cannot be read. */
static bool has_text(const struct files *self, int dir, const char *name, struct ethos_view text)
{
    static const struct ethos_read_how whole = {0};
    struct ethos_text copy = {0};
    int fd = os_open_beneath(dir, name, FILES_READ_FLAGS | O_NOFOLLOW, 0);
    bool same = fd >= 0 && files_read_fd(self, fd, name, &whole, &copy, NULL, NULL) == ETHOS_OK &&
                view_eq(view_of(copy.data, copy.size), text);
    if (fd >= 0)
        os_close(fd);
    edit_free_text(self->host, &copy);
    return same;
}

/* Sets *out_kept when a copy of any time has this text; name is the name it would get now. */
static int find_same_copy(const struct files *self, const struct files_lock *lock, int dir,
                          const char *key, const char *name, struct ethos_view text, bool *out_kept,
                          struct ethos_error *error)
{
    struct files_names names;
    struct ethos_view hash = view_from(view_str(name), strlen(name) - strlen(".xxxxxxxx.md"));
    char other[ETHOS_MAX_KEY + 1];
    int code = files_names_read(self, dir, lock->path, &names, error);
    *out_kept = false;
    if (code != ETHOS_OK)
        return code;
    for (size_t i = 0; !*out_kept && i < names.count; i++)
        *out_kept = view_ends(view_str(names.sorted[i]), hash) &&
                    parse_copy_name(names.sorted[i], other) && strcmp(other, key) == 0 &&
                    has_text(self, dir, names.sorted[i], text);
    files_names_release(&names);
    return ETHOS_OK;
}

int files_conflict_write(struct files *self, struct files_lock *lock, const char *key,
                         struct ethos_view text, struct ethos_error *error)
{
    char name[CONFLICT_NAME_SIZE];
    bool kept;
    int code = files_lock_open_drafts(self, lock, error);
    CLEANUP_FD int dir = code == ETHOS_OK ? open_conflict_folder(self, lock, error) : code;
    if (dir < 0)
        return dir;
    conflict_name(key, self->host->now_ms(self->host->arg), text, name);
    TRY(find_same_copy(self, lock, dir, key, name, text, &kept, error));
    if (!kept &&
        files_write_by_draft(lock->tmp, ".conflict" FILES_DRAFT, dir, name, NULL, text, true) != 0)
        return folder_error(self, lock, error);
    if (os_fsync(dir) != 0)
        return folder_error(self, lock, error);
    return ETHOS_OK;
}

int files_add_conflict_copy(struct ethos_store *store, const char *scope, const char *key,
                            struct ethos_view text, struct ethos_error *error)
{
    struct files *self = (struct files *)store;
    struct files_lock lock = {0};
    TRY(files_scope_path(scope, lock.path, error));
    int code = files_lock_scope(self, &lock, error);
    if (code == ETHOS_OK && lock.fd < 0)
        code = files_lock_create(self, &lock, error);
    if (code == ETHOS_OK)
        code = files_conflict_write(self, &lock, key, text, error);
    files_unlock_scope(self, &lock, code != ETHOS_OK);
    return code == FILES_RETRY ? files_errno(self, EAGAIN, lock.path, error) : code;
}

/*
 * ---- listing ----------------------------------------------------------------------------------
 */

/* Parses the name of a sync program's copy: the key is what precedes the mark, with .md. */
static bool parse_sync_copy_name(const char *name, char key[ETHOS_MAX_KEY + 1])
{
    static const char *const marks[] = {".sync-conflict-", " (conflicted copy",
                                        "'s conflicted copy"};
    const char *mark = NULL;
    for (size_t i = 0; !mark && i < sizeof marks / sizeof *marks; i++)
        mark = strstr(name, marks[i]);
    size_t size = mark ? (size_t)(mark - name) : 0;
    if (size == 0 || size + 3 > ETHOS_MAX_KEY)
        return false;
    const char *person = memchr(name, '(', size); // "MEMORY (Ann's conflicted copy 2026-11-15).md"
    if (person && person > name + 1)
        size = (size_t)(person - name) - 1;
    snprintf(key, ETHOS_MAX_KEY + 1, "%.*s.md", (int)size, name);
    return true;
}

bool files_is_sync_conflict_copy(const char *name)
{
    char key[ETHOS_MAX_KEY + 1];
    return name[0] != '.' && parse_sync_copy_name(name, key);
}

struct copy_listing {
    const struct files *self;
    const char *scope_path;
    int dir;
    bool foreign;
    ethos_conflict_fn *each;
    void *arg;
};

static int list_copy(const struct copy_listing *listing, const char *name,
                     struct ethos_error *error)
{
    struct stat st;
    char key[ETHOS_MAX_KEY + 1], path[FILES_PATH_SIZE + NAME_MAX + 32], shown[PATH_MAX];
    if (!(listing->foreign ? parse_sync_copy_name(name, key) : parse_copy_name(name, key)))
        return ETHOS_OK;
    if (os_fstatat(listing->dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? ETHOS_OK : files_errno(listing->self, errno, name, error);
    if (!S_ISREG(st.st_mode))
        return ETHOS_OK;
    snprintf(path, sizeof path, "%s%s/%s", listing->scope_path,
             listing->foreign ? "" : "/" CONFLICT_FOLDER, name);
    struct ethos_conflict conflict = {
        .id = name,
        .key = key,
        .time_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000,
        .bytes = (uint64_t)st.st_size,
        .path = files_full_path(listing->self, path, shown),
        .kind = listing->foreign ? "foreign" : "copy",
    };
    return listing->each(listing->arg, &conflict);
}

static int list_folder(const struct copy_listing *listing, struct ethos_error *error)
{
    CLEANUP_NAMES struct files_names names;
    TRY(files_names_read(listing->self, listing->dir, listing->scope_path, &names, error));
    for (size_t i = 0; i < names.count; i++)
        TRY(list_copy(listing, names.sorted[i], error));
    return ETHOS_OK;
}

int files_list_conflicts(struct ethos_store *store, const char *scope, ethos_conflict_fn *each,
                         void *arg, struct ethos_error *error)
{
    struct files *self = (struct files *)store;
    char path[FILES_PATH_SIZE];
    int dir = files_scope_open(self, scope, path, error);
    if (dir < 0)
        return dir == ETHOS_NOTFOUND ? ETHOS_OK : dir;
    struct copy_listing listing = {self, path, dir, true, each, arg};
    int code = scope_is_tree(scope) ? ETHOS_OK : list_folder(&listing, error);
    int folder = os_open_beneath(dir, CONFLICT_FOLDER, O_RDONLY | O_DIRECTORY, 0);
    if (code == ETHOS_OK && folder < 0 && errno != ENOENT)
        code = files_errno(self, errno, path, error);
    if (code == ETHOS_OK && folder >= 0) {
        listing.dir = folder;
        listing.foreign = false;
        code = list_folder(&listing, error);
    }
    if (folder >= 0)
        os_close(folder);
    os_close(dir);
    return code;
}

/*
 * ---- reading and dropping ---------------------------------------------------------------------
 */

static int read_conflict_copy(struct files *self, int dir, const char *id,
                              char key[ETHOS_MAX_KEY + 1], char path[FILES_PATH_SIZE],
                              struct ethos_text *out_text, struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    if (!strchr(id, '/') && parse_copy_name(id, key))
        snprintf(path, FILES_PATH_SIZE, CONFLICT_FOLDER "/%s", id);
    else if (!strchr(id, '/') && id[0] != '.' && parse_sync_copy_name(id, key))
        snprintf(path, FILES_PATH_SIZE, "%s", id);
    else
        return err_set(error, ETHOS_NOTFOUND, "no such conflict: %s", id);
    CLEANUP_FD int fd = os_open_beneath(dir, path, FILES_READ_FLAGS | O_NOFOLLOW, 0);
    if (fd < 0)
        return errno == ENOENT ? err_set(error, ETHOS_NOTFOUND, "no such conflict: %s", id)
                               : files_errno(self, errno, path, error);
    return files_read_fd(self, fd, path, &whole, out_text, NULL, error);
}

int files_conflict_read(struct ethos_store *store, const char *scope, const char *id,
                        struct ethos_text *out_text, struct ethos_error *error)
{
    struct files *self = (struct files *)store;
    char scope_path[FILES_PATH_SIZE], path[FILES_PATH_SIZE], key[ETHOS_MAX_KEY + 1];
    CLEANUP_FD int dir = files_scope_open(self, scope, scope_path, error);
    if (dir < 0)
        return dir == ETHOS_NOTFOUND ? err_set(error, ETHOS_NOTFOUND, "no such conflict: %s", id)
                                     : dir;
    return read_conflict_copy(self, dir, id, key, path, out_text, error);
}

/* Records a text as a version of its key. */
static int record_version(struct files *self, struct files_lock *lock, const char *scope,
                          const char *key, struct ethos_view text, struct ethos_error *error)
{
    struct files_journal journal;
    int code = files_journal_open(self, lock, &journal, error);
    if (code == ETHOS_OK)
        code = files_record_seen_text(self, lock, &journal, scope, key, text, error);
    files_journal_close(lock, &journal);
    return code;
}

int files_conflict_remove(struct ethos_store *store, const char *scope, const char *id,
                          struct ethos_error *error)
{
    struct files *self = (struct files *)store;
    struct files_lock lock = {0};
    struct ethos_text text = {0};
    char path[FILES_PATH_SIZE], key[ETHOS_MAX_KEY + 1];
    TRY(files_scope_path(scope, lock.path, error));
    int code = files_lock_scope(self, &lock, error);
    if (code == ETHOS_OK && lock.dir < 0)
        code = err_set(error, ETHOS_NOTFOUND, "no such conflict: %s", id);
    if (code == ETHOS_OK)
        code = read_conflict_copy(self, lock.dir, id, key, path, &text, error);
    if (code == ETHOS_OK && lock.fd < 0)
        code = files_lock_create(self, &lock, error);
    if (code == ETHOS_OK)
        code = record_version(self, &lock, scope, key, view_of(text.data, text.size), error);
    if (code == ETHOS_OK && os_unlinkat(lock.dir, path, 0) != 0 && errno != ENOENT)
        code = files_step_error(self, errno, lock.path, error);
    edit_free_text(self->host, &text);
    files_unlock_scope(self, &lock, false);
    return code == FILES_RETRY ? files_errno(self, EAGAIN, lock.path, error) : code;
}

/* Whether the history of a key has a text. */
static bool is_known_version(struct files *self, const char *scope, const char *key,
                             struct ethos_view text)
{
    struct ethos_text found = {0};
    char revision[ETHOS_REVISION_SIZE];
    hash_revision(text, revision);
    int code = files_version(&self->store, scope, key, revision, &found, NULL);
    edit_free_text(self->host, &found);
    return code == ETHOS_OK;
}

int files_add_version(struct ethos_store *store, const char *scope, const char *key,
                      struct ethos_view text, struct ethos_error *error)
{
    struct files *self = (struct files *)store;
    struct files_lock lock = {0};
    int code = files_scope_path(scope, lock.path, error);
    if (code != ETHOS_OK || is_known_version(self, scope, key, text))
        return code;
    code = files_lock_scope(self, &lock, error);
    if (code == ETHOS_OK && lock.fd < 0)
        code = files_lock_create(self, &lock, error);
    if (code == ETHOS_OK)
        code = record_version(self, &lock, scope, key, text, error);
    files_unlock_scope(self, &lock, code != ETHOS_OK);
    return code == FILES_RETRY ? files_errno(self, EAGAIN, lock.path, error) : code;
}
