/*
 * versions.c: reads everything recorded about a key, and rebuilds a version of it.
 *
 * Reading takes no lock. A rotation meanwhile is noticed by the inode of the live file, and
 * everything is read again. Blobs are named by their hash and verified by whoever reads them.
 */
#include "store/files/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/system/os.h"
#include "base/view.h"
#include "store/update_steps.h"

#define TRIES 8
#define BLOB_SIZE (sizeof FILES_BLOBS "/.md" + 64)

/*
 * ---- the lines --------------------------------------------------------------------------------
 */

/* memory-history-2026-11.jsonl */
static bool is_rotated_history(const char *name)
{
    static const char form[] = "memory-history-0000-00.jsonl";
    if (strlen(name) != sizeof form - 1)
        return false;
    for (size_t i = 0; form[i]; i++) {
        bool digit = name[i] >= '0' && name[i] <= '9';
        if (form[i] == '0' ? !digit : name[i] != form[i])
            return false;
    }
    return true;
}

bool files_is_history(const char *name)
{
    return strcmp(name, FILES_HISTORY) == 0 || is_rotated_history(name);
}

/* Appends a file; ETHOS_NOTFOUND when it does not exist. */
static int append_history_file(const struct files *self, int dir, const char *path,
                               const char *name, struct stat *out_seen, struct str *out,
                               struct ethos_error *error)
{
    int fd = os_openat(dir, name, FILES_READ_FLAGS | O_NOFOLLOW, 0);
    if (fd < 0)
        return errno == ENOENT ? ETHOS_NOTFOUND : files_errno(self, errno, path, error);
    int failed = os_fstat(fd, out_seen) != 0 ||
                 os_read_all(fd, out, ETHOS_MAX_HISTORY_BYTES - out->size) != 0;
    int saved = errno;
    os_close(fd);
    if (failed)
        return files_errno(self, saved, path, error);
    return ETHOS_OK;
}

static int append_rotated_files(const struct files *self, int dir, const char *path,
                                struct str *out, struct ethos_error *error)
{
    struct files_names names;
    struct stat seen;
    int code = files_names_read(self, dir, path, &names, error);
    if (code != ETHOS_OK)
        return code;
    for (size_t i = 0; code == ETHOS_OK && i < names.count; i++) {
        if (is_rotated_history(names.sorted[i]))
            code = append_history_file(self, dir, path, names.sorted[i], &seen, out, error);
        if (code == ETHOS_NOTFOUND)
            code = ETHOS_OK;
    }
    files_names_release(&names);
    return code;
}

int files_history_read_all(const struct files *self, int dir, const char *path, struct str *out,
                           struct ethos_error *error)
{
    size_t start = out->size;
    for (int i = 0; i < TRIES; i++) {
        struct stat seen, now;
        str_truncate(out, start);
        bool before = os_fstatat(dir, FILES_HISTORY, &now, AT_SYMLINK_NOFOLLOW) == 0;
        int code = append_rotated_files(self, dir, path, out, error);
        if (code == ETHOS_OK)
            code = append_history_file(self, dir, path, FILES_HISTORY, &seen, out, error);
        if (code != ETHOS_OK && code != ETHOS_NOTFOUND)
            return code;
        bool after = code == ETHOS_OK;
        if (before == after && (!after || now.st_ino == seen.st_ino))
            return ETHOS_OK;
    }
    return files_errno(self, EAGAIN, path, error);
}

int files_key_history_load(const struct files *self, int dir, const char *path, const char *key,
                           struct files_key_history *past, struct ethos_error *error)
{
    past->dir = dir;
    past->path = path;
    arena_init(&past->arena);
    str_init(&past->text, ETHOS_MAX_HISTORY_BYTES);
    history_init(&past->history, &past->arena);
    TRY(files_history_read_all(self, dir, path, &past->text, error));
    if (history_collect(&past->history, str_view(&past->text), key))
        return err_nomem(error);
    return ETHOS_OK;
}

void files_key_history_free(struct files_key_history *past)
{
    str_release(&past->text);
    arena_release(&past->arena);
}

/*
 * ---- blobs ------------------------------------------------------------------------------------
 */

static void blob_path(const char *hex, char out[BLOB_SIZE])
{
    snprintf(out, BLOB_SIZE, FILES_BLOBS "/%.64s.md", hex);
}

int files_blob_read(void *arg, const char *hex, struct str *out)
{
    struct files_blobs *blobs = arg;
    char path[BLOB_SIZE];
    blob_path(hex, path);
    str_clear(out);
    int fd = os_open_beneath(blobs->dir, path, FILES_READ_FLAGS | O_NOFOLLOW, 0);
    int failed = fd < 0 || os_read_all(fd, out, ETHOS_MAX_STORE_BYTES), saved = errno;
    if (fd >= 0)
        os_close(fd);
    if (failed && saved == ENOMEM)
        return ETHOS_NOMEM;
    if (failed && saved != ENOENT && blobs->errnum == 0) {
        blobs->errnum = saved;
        snprintf(blobs->hex, sizeof blobs->hex, "%.64s", hex);
    }
    return failed ? ETHOS_NOTFOUND : ETHOS_OK;
}

static const char *print_blob_path(const char *scope_path, const char *hex,
                                   char out[FILES_PATH_SIZE + BLOB_SIZE])
{
    bool top = strcmp(scope_path, ".") == 0;
    snprintf(out, FILES_PATH_SIZE + BLOB_SIZE, "%s%s" FILES_BLOBS "/%.64s.md",
             top ? "" : scope_path, top ? "" : "/", hex);
    return out;
}

int files_blobs_error(const struct files *self, const struct files_blobs *blobs,
                      struct ethos_error *error)
{
    char shown[FILES_PATH_SIZE + BLOB_SIZE];
    return blobs->errnum ? files_errno(self, blobs->errnum,
                                       print_blob_path(blobs->path, blobs->hex, shown), error)
                         : ETHOS_OK;
}

/* Whether a blob exists and is complete: one that was not synced may have lost bytes. */
static bool has_blob(const struct files_lock *lock, const char *hex, struct ethos_view text)
{
    struct str found;
    str_init(&found, ETHOS_MAX_STORE_BYTES);
    struct files_blobs blobs = {.dir = lock->dir, .path = lock->path};
    bool same = files_blob_read(&blobs, hex, &found) == ETHOS_OK && view_eq(str_view(&found), text);
    str_release(&found);
    return same;
}

static int sync_blobs(const struct files_lock *lock)
{
    int dir = os_open_beneath(lock->dir, FILES_BLOBS, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0)
        return -1;
    int failed = os_fsync(dir), saved = errno;
    os_close(dir);
    errno = saved;
    return failed;
}

/* Names the folder: the blob does not exist yet, and its name helps nobody. */
static int blob_error(const struct files *self, const struct files_lock *lock,
                      struct ethos_error *error)
{
    bool top = strcmp(lock->path, ".") == 0;
    char shown[FILES_PATH_SIZE + sizeof "/" FILES_BLOBS];
    snprintf(shown, sizeof shown, "%s%s" FILES_BLOBS, top ? "" : lock->path, top ? "" : "/");
    return files_step_error(self, errno, shown, error);
}

int files_blob_write(struct files *self, struct files_lock *lock, const char *hex,
                     struct ethos_view text, bool sync, struct ethos_error *error)
{
    char path[BLOB_SIZE];
    sync = sync && self->durable;
    TRY(files_lock_open_drafts(self, lock, error));
    blob_path(hex, path);
    if (has_blob(lock, hex, text)) // it may not be durable yet
        return !sync || sync_blobs(lock) == 0 ? ETHOS_OK : blob_error(self, lock, error);
    if (str_add(&lock->blobs, view_of(hex, 64)) != ETHOS_OK)
        return err_nomem(error);
    if (os_mkdirs(lock->dir, FILES_BLOBS) != 0)
        return files_step_error(self, errno, lock->path, error);
    if (files_write_by_draft(lock->tmp, ".blob" FILES_DRAFT, lock->dir, path, NULL, text, sync) !=
            0 ||
        (sync && sync_blobs(lock) != 0))
        return blob_error(self, lock, error);
    return ETHOS_OK;
}

int files_key_history_text(const struct files *self, const struct files_key_history *past,
                           size_t index, bool before, struct str *out, struct ethos_error *error)
{
    char shown[PATH_MAX];
    const struct history_record *record = &past->history.records[index];
    struct files_blobs blobs = {.dir = past->dir, .path = past->path};
    int code = history_rebuild(&past->history, index, before, files_blob_read, &blobs, out);
    if (code == ETHOS_OK)
        return code;
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    code = files_blobs_error(self, &blobs, error);
    if (code != ETHOS_OK)
        return code;
    return err_set(error, ETHOS_CORRUPT,
                   "%s/" FILES_HISTORY ": change %llu of %.*s leads to no text",
                   files_full_path(self, past->path, shown), (unsigned long long)record->seq,
                   VIEW_ARG(record->key));
}

/*
 * ---- version ----------------------------------------------------------------------------------
 */

/* Finds a revision: ETHOS_OK with index and side, or ETHOS_NOTFOUND. */
static int find_revision(const struct history *history, const char *key, struct ethos_view revision,
                         size_t *out_index, bool *out_before)
{
    for (size_t i = history->count; i-- > 0;) {
        const struct history_record *record = &history->records[i];
        bool after = view_eq(record->after_hash, revision) && !record->absent_after;
        bool before = view_eq(record->before_hash, revision) && !record->absent_before;
        if ((!after && !before) || !view_eq_str(record->key, key))
            continue;
        *out_index = i;
        *out_before = !after;
        return ETHOS_OK;
    }
    return ETHOS_NOTFOUND;
}

/* A save met during a write is stored as a blob without being a version of the chain. */
static int read_seen_text(const struct files *self, const struct files_key_history *past,
                          const char *key, struct ethos_view revision, struct str *out,
                          struct ethos_error *error)
{
    struct files_blobs blobs = {.dir = past->dir, .path = past->path};
    const struct history *history = &past->history;
    for (size_t i = history->count; i-- > 0;) {
        struct ethos_view blob = history->records[i].after_blob;
        if (blob.size != 64 || revision.size != 71 || !view_ends(revision, blob) ||
            !view_eq_str(history->records[i].key, key))
            continue;
        char hex[HASH_HEX_SIZE], found[ETHOS_REVISION_SIZE];
        snprintf(hex, sizeof hex, "%.64s", blob.data);
        int code = files_blob_read(&blobs, hex, out);
        if (code == ETHOS_NOTFOUND && blobs.errnum)
            return files_blobs_error(self, &blobs, error);
        hash_revision(str_view(out), found);
        if (code != ETHOS_OK || !view_eq_str(revision, found))
            return code == ETHOS_NOMEM ? err_nomem(error) : ETHOS_NOTFOUND;
        return ETHOS_OK;
    }
    return ETHOS_NOTFOUND;
}

int files_fill_text(const struct files *self, struct ethos_view text,
                    const struct ethos_read_how *how, struct ethos_text *out_text,
                    struct ethos_error *error)
{
    const char *revision = how->flags & ETHOS_READ_REVISION ? NULL : "";
    return edit_fill_text(self->host, text, revision, -1, out_text, error);
}

/*
 * The records that versions were made from last, with directory and live file as they were before.
 */
struct files_version_source {
    struct files_key_history past;
    char scope[ETHOS_MAX_SCOPE], path[FILES_PATH_SIZE];
    char key[ETHOS_MAX_KEY + 1]; /* "": all of them */
    struct stat dir, live;
};

void files_version_source_free(struct files *self)
{
    if (self->version_source)
        files_key_history_free(&self->version_source->past);
    self->host->resize(self->host->arg, self->version_source, 0);
    self->version_source = NULL;
}

static void stat_history(int dir, struct files_version_source *out)
{
    if (os_fstat(dir, &out->dir) != 0 ||
        os_fstatat(dir, FILES_HISTORY, &out->live, AT_SYMLINK_NOFOLLOW) != 0)
        out->live = (struct stat){0};
}

/*
 * Loads the records of a key. When another key of the same scope follows, those of all keys: more
 * may follow.
 */
static int load_version_source(struct files *self, int dir, const char *scope, const char *key,
                               struct ethos_error *error)
{
    struct files_version_source now = {0}, *last = self->version_source;
    stat_history(dir, &now);
    bool same = last && strcmp(last->scope, scope) == 0 &&
                files_is_same_state(&last->dir, &now.dir) &&
                files_is_same_state(&last->live, &now.live);
    if (same && (!*last->key || strcmp(last->key, key) == 0)) {
        last->past.dir = dir;
        return ETHOS_OK;
    }
    files_version_source_free(self);
    struct files_version_source *asked = self->host->resize(self->host->arg, NULL, sizeof *asked);
    if (!asked)
        return err_nomem(error);
    *asked = now;
    self->version_source = asked;
    snprintf(asked->scope, sizeof asked->scope, "%s", scope);
    snprintf(asked->key, sizeof asked->key, "%s", same ? "" : key);
    TRY(files_scope_path(scope, asked->path, error));
    return files_key_history_load(self, dir, asked->path, same ? NULL : key, &asked->past, error);
}

static int rebuild_version(struct files *self, int dir, const char *scope, const char *key,
                           const char *revision, struct str *out, struct ethos_error *error)
{
    size_t index;
    bool before;
    int code = load_version_source(self, dir, scope, key, error);
    bool failed = code != ETHOS_OK;
    const struct files_key_history *past = failed ? NULL : &self->version_source->past;
    if (!failed &&
        find_revision(&past->history, key, view_str(revision), &index, &before) == ETHOS_OK) {
        code = files_key_history_text(self, past, index, before, out, error);
    } else if (!failed) {
        code = read_seen_text(self, past, key, view_str(revision), out, error);
        if (code == ETHOS_NOTFOUND)
            err_set(error, code, "%s: no version %s", key, revision);
    }
    if (failed || !self->walks)
        files_version_source_free(self);
    return code;
}

int files_version(struct ethos_store *store, const char *scope, const char *key,
                  const char *revision, struct ethos_text *out_text, struct ethos_error *error)
{
    struct files *self = (struct files *)store;
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    struct str text;
    char path[FILES_PATH_SIZE];
    int dir = files_scope_open(self, scope, path, error);
    if (dir < 0)
        return dir == ETHOS_NOTFOUND
                   ? err_set(error, ETHOS_NOTFOUND, "%s: no version %s", key, revision)
                   : dir;
    str_init(&text, ETHOS_MAX_STORE_BYTES);
    int code = files_version_cache_read(self, dir, scope, key, revision, &text);
    if (code == ETHOS_NOTFOUND)
        code = rebuild_version(self, dir, scope, key, revision, &text, error);
    else if (code != ETHOS_OK)
        err_nomem(error);
    if (code == ETHOS_OK)
        code = files_fill_text(self, str_view(&text), &whole, out_text, error);
    str_release(&text);
    os_close(dir);
    return code;
}
