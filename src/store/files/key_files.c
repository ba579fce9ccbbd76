/*
 * key_files.c: where the file of a key and its temporaries are, and how such a file is read.
 *
 * A key that is a symbolic link stays one: its target is replaced, by temporaries beside that
 * target so that every rename stays on one file system, and the target's directory is locked too.
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
#include "core/memory/scope.h"
#include "store/store.h"

#define SETTLE_MS 50 /* between two looks at a text whose writers cannot be seen */
#define SETTLE_TRIES 40

static bool same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* Whether a directory is locked already: by the scope, or for an earlier location. */
static bool is_locked_dir(const struct files_lock *lock, const struct files_location *others,
                          size_t count, const struct stat *dir)
{
    if (lock->fd < 0)
        return true; // callbacks run once without any lock first
    for (size_t i = 0; i < count; i++) {
        if (others[i].lock >= 0 && same_inode(&others[i].dir_seen, dir))
            return true;
    }
    return false;
}

static int follow_link(struct files *self, const struct files_lock *lock,
                       const struct files_location *others, size_t count,
                       struct files_location *location, struct ethos_error *error)
{
    struct stat own;
    int dir = files_open_target(self, lock->dir, location->key, location->path, location->name,
                                &location->dir_seen, error);
    if (dir < 0)
        return dir;
    location->dir = dir;
    location->linked = true;
    if (os_fstat(lock->dir, &own) != 0)
        return files_errno(self, errno, lock->path, error);
    if (same_inode(&own, &location->dir_seen)) {
        os_close(dir);
        location->dir = lock->dir;
        return ETHOS_OK;
    }
    if (is_locked_dir(lock, others, count, &location->dir_seen))
        return ETHOS_OK;
    int fd = files_lock_link_target(self, dir, location->path, error);
    if (fd < 0)
        return fd;
    location->lock = fd;
    return ETHOS_OK;
}

int files_location_open(struct files *self, struct files_lock *lock, const char *scope,
                        const char *key, const struct files_location *others, size_t other_count,
                        struct files_location *location, struct ethos_error *error)
{
    struct stat st;
    *location = (struct files_location){.dir = lock->dir, .lock = -1};
    int code = files_key_path(scope, key, location->path, error);
    if (code != ETHOS_OK)
        return code;
    memcpy(location->key, key, strlen(key) + 1);
    const char *name = key;
    if (lock->dir >= 0)
        code = files_key_dir_find(self, lock, key, &location->dir, &name, error);
    memcpy(location->name, name, strlen(name) + 1);
    if (code != ETHOS_OK || lock->dir < 0)
        return code;
    if (os_fstatat(location->dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? ETHOS_OK : files_errno(self, errno, location->path, error);
    if (!S_ISLNK(st.st_mode))
        return ETHOS_OK;
    return scope_is_tree(scope) ? files_refuse_link(self, location->path, error)
                                : follow_link(self, lock, others, other_count, location, error);
}

void files_location_close(const struct files_lock *lock, struct files_location *location)
{
    if (location->linked && location->dir >= 0 && location->dir != lock->dir)
        os_close(location->dir);
    if (location->lock >= 0)
        os_close(location->lock);
    location->dir = location->lock = -1;
}

void files_link_draft_prefix(const struct files_location *location, char out[FILES_TEMP_SIZE - 32])
{
    snprintf(out, FILES_TEMP_SIZE - 32, ".%s.ethos-%08x-", location->name,
             (unsigned)hash_crc32c(view_str(location->path)));
}

int files_location_temp(const struct files_lock *lock, const struct files_location *location,
                        const char *txn, const char *suffix, char out_name[FILES_TEMP_SIZE])
{
    char mark[FILES_TEMP_SIZE - 32], flat[ETHOS_MAX_KEY + 1];
    if (!location->linked || location->dir == lock->dir) {
        files_key_to_name(location->linked ? location->name : location->key, flat);
        snprintf(out_name, FILES_TEMP_SIZE, "%s.%s%s", flat, txn, suffix);
        return lock->tmp;
    }
    files_link_draft_prefix(location, mark);
    snprintf(out_name, FILES_TEMP_SIZE, "%s%s%s", mark, txn, suffix);
    return location->dir;
}

void files_print_state(const struct stat *seen, char out[FILES_WAS_SIZE])
{
    snprintf(out, FILES_WAS_SIZE, "%llu:%llu:%llu.%09ld:%llu.%09ld",
             (unsigned long long)seen->st_ino, (unsigned long long)seen->st_size,
             (unsigned long long)seen->st_mtim.tv_sec, seen->st_mtim.tv_nsec,
             (unsigned long long)seen->st_ctim.tv_sec, seen->st_ctim.tv_nsec);
}

bool files_has_state(const struct stat *now, struct ethos_view was)
{
    char text[FILES_WAS_SIZE], same[FILES_WAS_SIZE];
    long long seconds;
    long nanoseconds;
    files_print_state(now, same);
    size_t state = (size_t)(strrchr(same, ':') - same); // inode, size and time of the text
    if (was.size >= sizeof text || was.size <= state || memcmp(was.data, same, state + 1) != 0)
        return false;
    memcpy(text, was.data, was.size);
    text[was.size] = 0;
    if (sscanf(text + state + 1, "%lld.%ld", &seconds, &nanoseconds) != 2)
        return false;
    return now->st_ctim.tv_sec < seconds ||
           (now->st_ctim.tv_sec == seconds && now->st_ctim.tv_nsec <= nanoseconds);
}

bool store_files_is_pending(int dir, const struct history_record *record)
{
    struct stat st;
    char key[ETHOS_MAX_KEY + 1];
    if (record->voids_first || view_eq(record->actions, VIEW("external")) ||
        record->key.size >= sizeof key)
        return false; // describes what was there
    memcpy(key, record->key.data, record->key.size);
    key[record->key.size] = 0;
    if (os_fstatat(dir, key, &st, 0) != 0)
        return errno == ENOENT && record->absent_before && !record->absent_after;
    return record->was.size > 0 && files_has_state(&st, record->was);
}

/*
 * ---- reading ----------------------------------------------------------------------------------
 */

/* Waits for processes that have the file open for writing. The last answer of os_has_writer. */
static int wait_for_writers(const struct files *self, int fd)
{
    int64_t limit = self->lock_ms < FILES_WRITER_MS ? self->lock_ms : FILES_WRITER_MS;
    int64_t end = os_monotonic_ms() + limit;
    int writer = os_has_writer(fd);
    for (unsigned pause = 1; writer == 1 && os_monotonic_ms() < end; pause += pause < 16) {
        os_sleep_ms(pause);
        writer = os_has_writer(fd);
    }
    return writer;
}

static int read_until_stable(const struct files *self, const char *path, int fd,
                             const char *expected, struct ethos_text *text, struct stat *seen,
                             struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    char before[ETHOS_REVISION_SIZE] = "";
    int code = files_read_fd(self, fd, path, &whole, text, seen, error);
    for (int i = 0; code == ETHOS_OK && i < SETTLE_TRIES; i++) {
        if (strcmp(text->revision, expected) == 0 || strcmp(text->revision, before) == 0 ||
            !(text->size == 0 || os_now_ms() - text->mtime_ms < FILES_WRITER_MS))
            break;
        memcpy(before, text->revision, sizeof before);
        os_sleep_ms(SETTLE_MS);
        code = files_read_fd(self, fd, path, &whole, text, seen, error);
    }
    return code;
}

int files_location_read(const struct files *self, const char *path, int dir, const char *name,
                        const char *expected, unsigned flags, struct ethos_text *out_text,
                        struct stat *out_seen, bool *out_busy, struct ethos_error *error)
{
    const struct ethos_read_how whole = {0, flags};
    if (strchr(name, '/'))
        return ETHOS_NOTFOUND; // its directory does not exist
    int fd = os_openat(dir, name, FILES_READ_FLAGS | O_NOFOLLOW, 0);
    if (fd < 0)
        return errno == ENOENT ? ETHOS_NOTFOUND : files_errno(self, errno, path, error);
    int writer = expected ? wait_for_writers(self, fd) : os_has_writer(fd);
    int code = writer < 0 && expected
                   ? read_until_stable(self, path, fd, expected, out_text, out_seen, error)
                   : files_read_fd(self, fd, path, &whole, out_text, out_seen, error);
    *out_busy = expected ? writer != 0 : writer == 1;
    os_close(fd);
    return code;
}
