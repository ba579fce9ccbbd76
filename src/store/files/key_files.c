/*
 * key_files.c: where one key's file and its temporaries are.
 *
 * A key that is a symbolic link stays one: its target is replaced, by temporaries beside that target so
 * that a rename stays on one file system; the target's directory is locked too.
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

/* Whether the directory is locked already: by the scope, or by a spot before. */
static bool is_locked(const struct files_hold *hold, const struct files_spot *others, size_t count,
                      const struct stat *dir)
{
    if (hold->lock < 0)
        return true; // the first question is asked without any lock
    for (size_t i = 0; i < count; i++) {
        if (others[i].lock >= 0 && same_inode(&others[i].dir_seen, dir))
            return true;
    }
    return false;
}

static int follow(struct files *self, const struct files_hold *hold,
                  const struct files_spot *others, size_t count, struct files_spot *spot,
                  struct ethos_error *error)
{
    struct stat own;
    int dir = files_open_target(self, hold->dir, spot->key, spot->path, spot->name, &spot->dir_seen,
                                error);
    if (dir < 0)
        return dir;
    spot->dir = dir;
    spot->linked = true;
    if (os_fstat(hold->dir, &own) != 0)
        return files_errno(self, errno, hold->path, error);
    if (same_inode(&own, &spot->dir_seen)) {
        os_close(dir);
        spot->dir = hold->dir;
        return ETHOS_OK;
    }
    if (is_locked(hold, others, count, &spot->dir_seen))
        return ETHOS_OK;
    int lock = files_lock_other(self, dir, spot->path, error);
    if (lock < 0)
        return lock;
    spot->lock = lock;
    return ETHOS_OK;
}

int files_spot_open(struct files *self, struct files_hold *hold, const char *scope, const char *key,
                    const struct files_spot *others, size_t other_count, struct files_spot *spot,
                    struct ethos_error *error)
{
    struct stat st;
    *spot = (struct files_spot){.dir = hold->dir, .lock = -1};
    int code = files_key_path(scope, key, spot->path, error);
    if (code != ETHOS_OK)
        return code;
    memcpy(spot->key, key, strlen(key) + 1);
    const char *name = key;
    if (hold->dir >= 0)
        code = files_tree_find(self, hold, key, &spot->dir, &name, error);
    memcpy(spot->name, name, strlen(name) + 1);
    if (code != ETHOS_OK || hold->dir < 0)
        return code;
    if (os_fstatat(spot->dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? ETHOS_OK : files_errno(self, errno, spot->path, error);
    if (!S_ISLNK(st.st_mode))
        return ETHOS_OK;
    return scope_is_tree(scope) ? files_linked(self, spot->path, error)
                                : follow(self, hold, others, other_count, spot, error);
}

void files_spot_close(const struct files_hold *hold, struct files_spot *spot)
{
    if (spot->linked && spot->dir >= 0 && spot->dir != hold->dir)
        os_close(spot->dir);
    if (spot->lock >= 0)
        os_close(spot->lock);
    spot->dir = spot->lock = -1;
}

void files_spot_mark(const struct files_spot *spot, char out[FILES_TEMP_SIZE - 32])
{
    snprintf(out, FILES_TEMP_SIZE - 32, ".%s.ethos-%08x-", spot->name,
             (unsigned)hash_crc32c(view_str(spot->path)));
}

int files_spot_temp(const struct files_hold *hold, const struct files_spot *spot, const char *txn,
                    const char *suffix, char out_name[FILES_TEMP_SIZE])
{
    char mark[FILES_TEMP_SIZE - 32], flat[ETHOS_MAX_KEY + 1];
    if (!spot->linked || spot->dir == hold->dir) {
        files_flat(spot->linked ? spot->name : spot->key, flat);
        snprintf(out_name, FILES_TEMP_SIZE, "%s.%s%s", flat, txn, suffix);
        return hold->tmp;
    }
    files_spot_mark(spot, mark);
    snprintf(out_name, FILES_TEMP_SIZE, "%s%s%s", mark, txn, suffix);
    return spot->dir;
}

void files_was(const struct stat *seen, char out[FILES_WAS_SIZE])
{
    snprintf(out, FILES_WAS_SIZE, "%llu:%llu:%llu.%09ld:%llu.%09ld",
             (unsigned long long)seen->st_ino, (unsigned long long)seen->st_size,
             (unsigned long long)seen->st_mtim.tv_sec, seen->st_mtim.tv_nsec,
             (unsigned long long)seen->st_ctim.tv_sec, seen->st_ctim.tv_nsec);
}

bool files_is_as(const struct stat *now, struct ethos_view was)
{
    char text[FILES_WAS_SIZE], same[FILES_WAS_SIZE];
    long long seconds;
    long nanoseconds;
    files_was(now, same);
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

bool store_files_pending(int dir, const struct history_record *record)
{
    struct stat st;
    char key[ETHOS_MAX_KEY + 1];
    if (record->voids_first || view_eq(record->actions, VIEW("external")) ||
        record->key.size >= sizeof key)
        return false; // tells of what was there
    memcpy(key, record->key.data, record->key.size);
    key[record->key.size] = 0;
    if (os_fstatat(dir, key, &st, 0) != 0)
        return errno == ENOENT && record->absent_before && !record->absent_after;
    return record->was.size > 0 && files_is_as(&st, record->was);
}

/* ---- reading ---------------------------------------------------------------------------------- */

/* Waits for those who have the file open for writing. What os_has_writer said last. */
static int await_writers(const struct files *self, int fd)
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

/* Whether a text that nobody can vouch for might be half a save. */
static bool is_young(const struct ethos_text *text)
{
    return text->size == 0 || os_now_ms() - text->mtime_ms < FILES_WRITER_MS;
}

static int read_settled(const struct files *self, const char *path, int fd, const char *expected,
                        struct ethos_text *text, struct stat *seen, struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    char before[ETHOS_REVISION_SIZE] = "";
    int code = files_load(self, fd, path, &whole, text, seen, error);
    for (int i = 0; code == ETHOS_OK && i < SETTLE_TRIES; i++) {
        if (strcmp(text->revision, expected) == 0 || strcmp(text->revision, before) == 0 ||
            !is_young(text))
            break;
        memcpy(before, text->revision, sizeof before);
        os_sleep_ms(SETTLE_MS);
        code = files_load(self, fd, path, &whole, text, seen, error);
    }
    return code;
}

int files_spot_read(const struct files *self, const char *path, int dir, const char *name,
                    const char *expected, unsigned flags, struct ethos_text *out_text,
                    struct stat *out_seen, bool *out_busy, struct ethos_error *error)
{
    const struct ethos_read_how whole = {0, flags};
    if (strchr(name, '/'))
        return ETHOS_NOTFOUND; // its directory was missing
    int fd = os_openat(dir, name, FILES_READ_FLAGS | O_NOFOLLOW, 0);
    if (fd < 0)
        return errno == ENOENT ? ETHOS_NOTFOUND : files_errno(self, errno, path, error);
    int writer = expected ? await_writers(self, fd) : os_has_writer(fd);
    int code = writer < 0 && expected
                   ? read_settled(self, path, fd, expected, out_text, out_seen, error)
                   : files_load(self, fd, path, &whole, out_text, out_seen, error);
    *out_busy = expected ? writer != 0 : writer == 1;
    os_close(fd);
    return code;
}
