/*
 * files.c: the default store: one markdown file per key below a root directory.
 *
 * A read takes no lock: open, fstat, read, fstat, close, unless the file may be half saved
 * (stable_read.c); of a cached text (read_cache.c) only open, fstat, close. Reads use the root's
 * descriptor of an earlier call; every write, list and check, and a read that finds nothing,
 * checks that the path still names that directory.
 *
 * Nothing is created before the first write. A root that others can write to is refused when it is
 * opened and whenever it is checked again.
 */
#include "store/files/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "store/store.h"
#include "store/update_steps.h"

#define READ_TRIES 4
#define LIST_BYTES 16777216 /* all names of one directory together */

/* ---- open and close ------------------------------------------------------------------------- */

static int open_files_store(const struct ethos_setup *setup, struct ethos_store **out_store,
                            struct ethos_error *error)
{
    const struct ethos_host *host = setup->host;
    const char *root = setup->root;
    const char *allow = setup->allow;
    bool durable = !(setup->flags & ETHOS_SETUP_FAST);
    if (!root || root[0] != '/')
        return err_set(error, ETHOS_INVALID, "root: not an absolute path: %s", root ? root : "");

    size_t root_size = strlen(root), allow_size = allow ? strlen(allow) : 0;
    while (root_size > 1 && root[root_size - 1] == '/')
        root_size--;
    struct files *self = host->resize(host->arg, NULL,
                                      sizeof *self + root_size + 1 + allow_size + 1);
    if (!self)
        return err_nomem(error);
    *self = (struct files){.store.ops = &store_files,
                           .store.capabilities = ETHOS_STORE_PATHS | ETHOS_STORE_ONCE |
                                                 ETHOS_STORE_HISTORY |
                                                 (durable ? (uint32_t)ETHOS_STORE_DURABLE : 0u),
                           .host = host,
                           .durable = durable,
                           .in_place = setup->flags & ETHOS_SETUP_IN_PLACE,
                           .walks = setup->flags & ETHOS_SETUP_WALKS,
                           .lock_ms = setup->deadline_ms,
                           .root = -1,
                           .cache.stirs = -1};
    str_init(&self->version_cache.noted, SIZE_MAX);
    self->root_path = memcpy(self->strings, root, root_size);
    self->strings[root_size] = 0;
    self->allow = memcpy(self->strings + root_size + 1, allow ? allow : "", allow_size + 1);
    *out_store = &self->store;
    return ETHOS_OK;
}

static void close_files_store(struct ethos_store *store)
{
    struct files *self = (struct files *)store;
    if (!self)
        return;
    files_root_close(self);
    files_cache_free(self);
    files_version_source_free(self);
    files_version_cache_free(self);
    self->host->resize(self->host->arg, self, 0);
}

/* ---- read ----------------------------------------------------------------------------------- */

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool files_is_same_state(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           is_same_time(&a->st_mtim, &b->st_mtim) && is_same_time(&a->st_ctim, &b->st_ctim);
}

static int64_t mtime_ms(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}

/* Reads up to size bytes at offset; fewer only at the end of the file. -1 and errno. */
static ssize_t read_at(int fd, char *data, size_t size, uint64_t offset)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = os_pread(fd, data + done, size - done, offset + done);
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

/* A function of its own, so that a read that succeeds does not touch another page of the stack. */
static int refuse_file(const struct files *self, const struct stat *st, const char *path,
                       struct ethos_error *error)
{
    char room[PATH_MAX];
    const char *shown = files_full_path(self, path, room);
    return S_ISREG(st->st_mode)
               ? err_set(error, ETHOS_LIMIT, "%s: more than %d bytes", shown, ETHOS_MAX_STORE_BYTES)
               : err_set(error, ETHOS_IO, "%s is not a regular file", shown);
}

/* Selects the bytes to read: the whole text when its revision is wanted. */
static int choose_span(const struct files *self, const struct stat *st, const char *path,
                       const struct ethos_read_how *how, uint64_t *out_offset, size_t *out_size,
                       struct ethos_error *error)
{
    uint64_t total = (uint64_t)st->st_size, wanted = how->tail_bytes;
    if (wanted == 0 || wanted > total || (how->flags & ETHOS_READ_REVISION))
        wanted = total;
    if (!S_ISREG(st->st_mode) || wanted > ETHOS_MAX_STORE_BYTES)
        return refuse_file(self, st, path, error);
    *out_offset = total - wanted;
    *out_size = (size_t)wanted;
    return ETHOS_OK;
}

int files_read_fd(const struct files *self, int fd, const char *path,
                  const struct ethos_read_how *how, struct ethos_text *out_text,
                  struct stat *out_stat, struct ethos_error *error)
{
    struct stat before, after;
    uint64_t offset = 0;
    size_t size = 0;
    if (os_fstat(fd, &before) != 0)
        return files_errno(self, errno, path, error);
    for (int i = 0; i < READ_TRIES; i++, before = after) {
        TRY(choose_span(self, &before, path, how, &offset, &size, error));
        TRY(edit_reserve_text(self->host, out_text, size, error));
        ssize_t got = read_at(fd, out_text->data, size, offset);
        if (got < 0 || os_fstat(fd, &after) != 0)
            return files_errno(self, errno, path, error);
        if ((size_t)got == size && files_is_same_state(&before, &after)) {
            out_text->data[size] = 0;
            out_text->size = size;
            out_text->offset = offset;
            out_text->total = (uint64_t)after.st_size;
            out_text->mtime_ms = mtime_ms(&after);
            out_text->unsettled = 0;
            if (how->flags & ETHOS_READ_REVISION)
                hash_revision(view_of(out_text->data, size), out_text->revision);
            else
                out_text->revision[0] = 0;
            if (out_stat)
                *out_stat = after;
            return ETHOS_OK;
        }
    }
    return files_errno(self, EAGAIN, path, error);
}

static int read_path(struct files *self, const char *scope, const char *key,
                     const struct ethos_read_how *how, struct ethos_text *out_text,
                     struct ethos_error *error)
{
    struct stat seen;
    char path[FILES_PATH_SIZE];
    out_text->stamp = 0;
    int fd, code = files_key_path(scope, key, path, error);
    if (code != ETHOS_OK)
        return code;
    uint32_t mark = files_cache_hash(path);
    if (files_cache_read(self, path, mark, how, out_text))
        return ETHOS_OK;
    do {
        code = files_root_open(self, error);
        if (code != ETHOS_OK)
            return code;
        fd = files_open_text(self, scope, key, path, FILES_READ_FLAGS, error);
    } while (fd == ETHOS_NOTFOUND && files_root_refresh(self));
    if (fd == ETHOS_NOTFOUND)
        fd = files_wait_for_file(self, scope, key, path, error);
    if (fd < 0)
        return fd;
    bool wanted = files_cache_wants(self, mark, fd);
    code = files_read_fd(self, fd, path, how, out_text, &seen, error);
    os_close(fd);
    if (code == ETHOS_BUSY || (code == ETHOS_OK && files_is_recent(out_text)))
        return files_read_stable(self, scope, key, path, how, out_text, error);
    if (code == ETHOS_OK)
        files_cache_store(self, path, mark, &seen, out_text, wanted);
    return code;
}

static int read_store_text(struct ethos_store *store, const char *scope, const char *key,
                           const struct ethos_read_how *how, struct ethos_text *out_text,
                           struct ethos_error *error)
{
    struct files *self = (struct files *)store;
    if ((how->flags & ETHOS_READ_AGAIN) && files_cache_is_current(self, out_text->stamp))
        return ETHOS_OK;
    return read_path(self, scope, key, how, out_text, error);
}

/* ---- write and remove ----------------------------------------------------------------------- */

static int write_store_text(struct ethos_store *store, const char *scope, const char *key,
                            const char *expect, struct ethos_view text,
                            const struct ethos_origin *origin,
                            char out_revision[ETHOS_REVISION_SIZE], struct ethos_error *error)
{
    return edit_compare_and_swap(((struct files *)store)->host, files_update_scope, store, scope,
                                 key, expect, &text, origin, out_revision, error);
}

static int remove_store_text(struct ethos_store *store, const char *scope, const char *key,
                             const char *expect, const struct ethos_origin *origin,
                             struct ethos_error *error)
{
    return edit_compare_and_swap(((struct files *)store)->host, files_update_scope, store, scope,
                                 key, expect, NULL, origin, NULL, error);
}

/* ---- list ----------------------------------------------------------------------------------- */

static int add_directory_name(void *arg, const char *name)
{
    struct files_names *names = arg;
    names->count++;
    return str_add(&names->bytes, view_of(name, strlen(name) + 1));
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int files_names_sort(struct files_names *names, struct ethos_error *error)
{
    names->sorted = malloc((names->count + 1) * sizeof *names->sorted);
    if (!names->sorted)
        return err_nomem(error);
    const char *at = names->bytes.data;
    for (size_t i = 0; i < names->count; i++, at += strlen(at) + 1)
        names->sorted[i] = at;
    qsort(names->sorted, names->count, sizeof *names->sorted, compare_names);
    return ETHOS_OK;
}

int files_names_read(const struct files *self, int dir, const char *path,
                     struct files_names *out_names, struct ethos_error *error)
{
    struct files_names *names = out_names;
    *names = (struct files_names){0};
    str_init(&names->bytes, LIST_BYTES);
    int failed = os_list(dir, add_directory_name, names), saved = errno;
    int code = str_code(&names->bytes);
    if (code == ETHOS_LIMIT)
        err_set(error, code, "%s/%s: too many names", self->root_path, path);
    else if (code != ETHOS_OK)
        code = err_nomem(error);
    else
        code = failed ? files_errno(self, saved, path, error) : files_names_sort(names, error);
    if (code != ETHOS_OK)
        files_names_release(names);
    return code;
}

void files_names_release(struct files_names *names)
{
    free(names->sorted);
    str_release(&names->bytes);
}

/* Stats a name of a directory, following links that are allowed. ETHOS_NOTFOUND: not a text. */
static int stat_text(struct files *self, const char *scope, int dir, const char *name,
                     const char *path, struct stat *out, struct ethos_error *error)
{
    if (os_fstatat(dir, name, out, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT || errno == ENOTDIR ? ETHOS_NOTFOUND
                                                   : files_errno(self, errno, path, error);
    if (!S_ISLNK(out->st_mode))
        return S_ISREG(out->st_mode) ? ETHOS_OK : ETHOS_NOTFOUND;
    int fd = files_open_text(self, scope, name, path, O_PATH, NULL);
    if (fd < 0)
        return ETHOS_NOTFOUND;
    bool regular = os_fstat(fd, out) == 0 && S_ISREG(out->st_mode);
    os_close(fd);
    return regular ? ETHOS_OK : ETHOS_NOTFOUND;
}

static int list_texts(struct files *self, int dir, const char *scope,
                      const struct files_names *names, ethos_entry_fn *each, void *arg,
                      struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < names->count; i++) {
        struct stat st;
        char path[FILES_PATH_SIZE];
        const char *name = names->sorted[i];
        if (files_is_history(name) || files_key_path(scope, name, path, NULL) != ETHOS_OK)
            continue;
        code = stat_text(self, scope, dir, name, path, &st, error);
        if (code == ETHOS_OK) {
            struct ethos_entry entry = {name, (uint64_t)st.st_size, mtime_ms(&st)};
            code = each(arg, &entry);
        } else if (code == ETHOS_NOTFOUND) {
            code = ETHOS_OK;
        }
    }
    return code;
}

static int list_directory(struct files *self, int dir, const char *path, const char *scope,
                          ethos_entry_fn *each, void *arg, struct ethos_error *error)
{
    CLEANUP_NAMES struct files_names names;
    TRY(scope_is_tree(scope) ? files_tree_list_keys(self, dir, scope, &names, error)
                             : files_names_read(self, dir, path, &names, error));
    return list_texts(self, dir, scope, &names, each, arg, error);
}

static int list_store_scope(struct ethos_store *store, const char *scope, ethos_entry_fn *each,
                            void *arg, struct ethos_error *error)
{
    struct files *self = (struct files *)store;
    struct files_lock lock = {.dir = -1};
    int code = FILES_RETRY;
    if (scope_is_tree(scope)) // a list must not show half of a transaction
        code = files_tree_lock(self, scope, &lock, error);
    if (code == ETHOS_OK) {
        if (lock.dir >= 0)
            code = list_directory(self, lock.dir, lock.path, scope, each, arg, error);
        files_unlock_scope(self, &lock, false);
        return code;
    }
    if (code == ETHOS_BUSY || code == ETHOS_NOMEM)
        return code;
    CLEANUP_FD int dir = files_scope_open(
        self, scope, lock.path,
        error); // no lock could be taken, so nobody can write there either
    if (dir < 0)
        return dir == ETHOS_NOTFOUND ? ETHOS_OK : dir;
    return list_directory(self, dir, lock.path, scope, each, arg, error);
}

/* ---- locate --------------------------------------------------------------------------------- */

static int locate_store_text(struct ethos_store *store, const char *scope, const char *key,
                             char *path, size_t size, struct ethos_error *error)
{
    const struct files *self = (struct files *)store;
    char below[FILES_PATH_SIZE];
    TRY(files_key_path(scope, key, below, error));
    size_t root_size = strlen(self->root_path), below_size = strlen(below);
    if (root_size + 1 + below_size >= size)
        return err_set(error, ETHOS_LIMIT, "%s: the path is longer than %zu bytes", key, size);
    memcpy(path, self->root_path, root_size);
    path[root_size] = '/';
    memcpy(path + root_size + 1, below, below_size + 1);
    return ETHOS_OK;
}

const struct ethos_store_ops store_files = {
    .abi = ETHOS_ABI,
    .name = "files",
    .open = open_files_store,
    .close = close_files_store,
    .read = read_store_text,
    .write = write_store_text,
    .remove = remove_store_text,
    .list = list_store_scope,
    .update = files_update_scope,
    .batch = files_update_batch,
    .locate = locate_store_text,
    .check = files_check,
    .history = files_history,
    .version = files_version,
    .purge = files_purge,
    .set_aside = files_add_conflict_copy,
    .conflicts = files_list_conflicts,
    .conflict_read = files_conflict_read,
    .conflict_drop = files_conflict_remove,
    .keep = files_add_version,
    .scopes = files_list_scopes,
    .graft = files_import_commits,
};
