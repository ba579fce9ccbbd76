/*
 * queue.c: the queue of hook events to be recorded.
 */
#include "memory/hooks/queue.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/system/dir.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/handle_internal.h"
#include "memory/home/directory.h"

#define FOLDER "spool"
#define REFUSED "hooks/refused"
#define LEFT_MS 60000 /* unfinished files of this age were left behind */
#define ATTEMPTS 64   /* retries while somebody removes the folder */

/*
 * Opens the folder; ETHOS_NOTFOUND if it does not exist and create is false. We never remove it,
 * but others may, even between our mkdir and our open.
 */
static int open_spool_folder(struct ethos *self, bool create, int *out, struct ethos_error *error)
{
    int root;
    TRY(service_open_root(self, create, &root, error));
    if (root < 0)
        return err_set(error, ETHOS_NOTFOUND, FOLDER ": nothing is there");
    *out = os_open_beneath(root, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    for (int i = 0; *out < 0 && errno == ENOENT && create && i < ATTEMPTS; i++) {
        if (os_mkdirat(root, FOLDER, 0700) != 0 && errno != EEXIST)
            break;
        *out = os_open_beneath(root, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    }
    int code = *out >= 0 ? ETHOS_OK : err_errno(error, errno, FOLDER);
    os_close(root);
    return code;
}

int spool_name(struct ethos *self, char out[SPOOL_NAME_SIZE])
{
    uint64_t random;
    if (os_random(&random, sizeof random) != 0)
        return -1;
    snprintf(out, SPOOL_NAME_SIZE, "%015lld-%016llx.json", (long long)service_now_ms(self),
             (unsigned long long)random);
    return 0;
}

int spool_lock(struct ethos *self, int *out_lock, struct ethos_error *error)
{
    int root;
    TRY(service_open_root(self, false, &root, error));
    if (root < 0)
        return err_set(error, ETHOS_NOTFOUND, FOLDER ": nothing is there");
    int code = home_lock_within(root, FOLDER, self->wait_ms, out_lock, error);
    os_close(root);
    return code;
}

/* Written under a temporary name, so that nobody reads half of it. */
static int write_spool_file(int folder, const char *name, struct ethos_view text)
{
    char beside[SPOOL_NAME_SIZE + 8];
    snprintf(beside, sizeof beside, ".%s", name);
    int fd = os_openat(folder, beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    bool whole = os_write_all(fd, text.data, text.size) == 0;
    int failed = whole ? 0 : errno;
    if (os_close(fd) != 0 && !failed)
        failed = errno;
    if (!failed && os_renameat(folder, beside, folder, name, 0) != 0)
        failed = errno;
    if (failed)
        os_unlinkat(folder, beside, 0);
    errno = failed;
    return failed ? -1 : 0;
}

int spool_write(struct ethos *self, const char *name, struct ethos_view text,
                struct ethos_error *error)
{
    for (int attempt = 1;; attempt++) {
        int folder;
        int code = open_spool_folder(self, true, &folder, error);
        if (code != ETHOS_OK)
            return code;
        int failed = write_spool_file(folder, name, text) == 0 ? 0 : errno;
        os_close(folder);
        if (!failed)
            return ETHOS_OK;
        if (failed != ENOENT || attempt == ATTEMPTS)
            return err_errno(error, failed, FOLDER);
    }
}

int spool_sync(struct ethos *self, const char *name, struct ethos_error *error)
{
    int folder;
    TRY(open_spool_folder(self, false, &folder, error));
    int fd = os_open_beneath(folder, name, O_RDONLY | O_NOFOLLOW, 0);
    bool kept = fd >= 0 && os_fsync(fd) == 0 && os_fsync(folder) == 0;
    int code = kept ? ETHOS_OK : err_errno(error, errno, FOLDER);
    if (fd >= 0)
        os_close(fd);
    os_close(folder);
    return code;
}

int spool_drop(struct ethos *self, const char *name, struct ethos_error *error)
{
    int folder;
    int code = open_spool_folder(self, false, &folder, error);
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    bool gone = os_unlinkat(folder, name, 0) == 0 || errno == ENOENT;
    code = gone ? ETHOS_OK : err_errno(error, errno, name);
    os_close(folder);
    return code;
}

int spool_refuse(struct ethos *self, const char *name, const char *about, struct ethos_error *error)
{
    char from[SPOOL_NAME_SIZE + sizeof FOLDER], to[32 + sizeof REFUSED], hash[HASH_HEX_SIZE];
    int root;
    TRY(service_open_root(self, true, &root, error));
    snprintf(from, sizeof from, FOLDER "/%s", name);
    hash_hex(view_str(about ? about : name), hash);
    snprintf(to, sizeof to, REFUSED "/%.16s.json", hash);
    bool moved = os_mkdirs(root, REFUSED) == 0 &&
                 (os_renameat(root, from, root, to, 0) == 0 || errno == ENOENT);
    int code = moved ? ETHOS_OK : err_errno(error, errno, name);
    os_close(root);
    return code;
}

/* A half-written file of a process that died. */
static void clear_left(struct ethos *self, int folder, const char *name)
{
    struct stat info;
    if (os_fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        service_now_ms(self) - (int64_t)info.st_mtim.tv_sec * 1000 > LEFT_MS)
        os_unlinkat(folder, name, 0);
}

static bool is_spool_name(struct ethos_view name)
{
    return *name.data != '.' && name.size < SPOOL_NAME_SIZE && view_ends(name, VIEW(".json"));
}

int spool_list(struct ethos *self, struct arena *arena, struct dir_names *out,
               struct ethos_error *error)
{
    int folder;
    size_t count = 0;
    *out = (struct dir_names){0};
    int code = open_spool_folder(self, false, &folder, error);
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    if (dir_names(folder, arena, SPOOL_MAX_NOTES, out) != 0)
        code = err_errno(error, errno, FOLDER);
    for (size_t i = 0; i < out->count; i++) {
        struct ethos_view name = view_str(out->list[i]);
        if (*name.data == '.')
            clear_left(self, folder, name.data);
        else if (is_spool_name(name))
            out->list[count++] = out->list[i];
    }
    out->count = count;
    os_close(folder);
    return code;
}

int spool_read(struct ethos *self, const char *name, struct str *out, struct ethos_error *error)
{
    int folder;
    TRY(open_spool_folder(self, false, &folder, error));
    int code = home_read(folder, name, SPOOL_MAX_NOTE, out, NULL, error);
    os_close(folder);
    return code;
}

void spool_count(struct ethos *self, size_t *out_waiting, size_t *out_refused)
{
    CLEANUP_ARENA struct arena arena;
    struct dir_names names = {0};
    int root = -1, folder = -1;
    arena_init(&arena);
    *out_waiting = spool_list(self, &arena, &names, NULL) == ETHOS_OK ? names.count : 0;
    *out_refused = 0;
    if (service_open_root(self, false, &root, NULL) == ETHOS_OK && root >= 0)
        folder = os_open_beneath(root, REFUSED, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (folder >= 0 && dir_names(folder, &arena, SPOOL_MAX_NOTES, &names) == 0)
        *out_refused = names.count;
    if (folder >= 0)
        os_close(folder);
    if (root >= 0)
        os_close(root);
}

static int stop_at_note(void *arg, const char *name)
{
    (void)arg;
    return is_spool_name(view_str(name)) ? 1 : 0;
}

bool spool_waiting(const char *home)
{
    char *path, folder[PATH_MAX];
    if (home_path(home, &path, NULL) != ETHOS_OK)
        return false;
    int size = snprintf(folder, sizeof folder, "%s/" FOLDER, path);
    free(path);
    int fd = size < PATH_MAX ? os_openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)
                             : -1;
    bool waiting = fd >= 0 && os_list(fd, stop_at_note, NULL) == 1;
    if (fd >= 0)
        os_close(fd);
    return waiting;
}
