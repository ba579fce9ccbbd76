/*
 * dir.c: making, listing and removing directories, and refusing those that are not private.
 */
#include "base/system/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/system/os.h"

/* Opens the deepest directory of path that exists; *out_rest is what follows it. */
static int open_existing(const char *path, const char **out_rest)
{
    char parent[PATH_MAX];
    size_t size = strlen(path);
    if (size == 0 || size >= sizeof parent) {
        errno = size ? ENAMETOOLONG : ENOENT;
        return -1;
    }
    int dir = -1;
    errno = ENOENT;
    while (dir < 0 && errno == ENOENT && size > 1) {
        while (size > 1 && path[size - 1] != '/')
            size--;
        while (size > 1 && path[size - 1] == '/')
            size--;
        memcpy(parent, path, size);
        parent[size] = 0;
        dir = os_openat(AT_FDCWD, parent, O_RDONLY | O_DIRECTORY, 0);
    }
    *out_rest = path + size + strspn(path + size, "/");
    return dir;
}

int dir_make(const char *path)
{
    const char *rest;
    int dir = open_existing(path, &rest);
    if (dir < 0)
        return -1;
    int result = *rest ? os_mkdirs(dir, rest) : 0;
    int saved = errno;
    os_close(dir);
    errno = saved;
    return result;
}

int dir_ignore(int dir)
{
    static const char text[] =
        "# The login token, keys, databases, queues and locks belong to one machine.\n"
        "web-token*\nkeys.yaml\nkeys.json\nsecrets/\n*.db\n*.db-*\n*.lock\n*.sock\n.mem/\n"
        "spool/\nhooks/\noffline/\ninstalled/\ninstalled.json\n";
    int fd = os_openat(dir, DIR_IGNORE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0)
        return errno == EEXIST ? 0 : -1;
    int failed = os_write_all(fd, text, sizeof text - 1), saved = errno;
    if (failed)
        os_unlinkat(dir, DIR_IGNORE, 0);
    os_close(fd);
    errno = saved;
    return failed;
}

int dir_make_home(const char *path)
{
    struct stat st;
    if (os_fstatat(AT_FDCWD, path, &st, 0) == 0)
        return 0;
    if (errno != ENOENT || dir_make(path) != 0)
        return -1;
    int dir = os_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0)
        return -1;
    int failed = dir_ignore(dir), saved = errno;
    os_close(dir);
    errno = saved;
    return failed;
}

static int remove_entry(void *arg, const char *name)
{
    int dir = *(int *)arg;
    if (os_unlinkat(dir, name, 0) != 0)
        dir_remove(dir, name);
    return 0; // what stays makes removing the directory fail
}

int dir_remove(int dir, const char *name)
{
    int inner = os_openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (inner < 0)
        return -1;
    os_list(inner, remove_entry, &inner);
    os_close(inner);
    return os_unlinkat(dir, name, AT_REMOVEDIR);
}

int dir_private(const struct stat *info, const char *path, struct ethos_error *error)
{
    if ((info->st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return ETHOS_OK;
    int code = err_set(error, ETHOS_DENIED, "%s: others may write to this directory (mode %03o)",
                       path, (unsigned)info->st_mode & 0777);
    return err_hint(error, code, "chmod go-w %s", path);
}

/* ---- listing --------------------------------------------------------------------------------- */

struct dir_listing {
    struct arena *arena;
    const char **list;
    size_t count, capacity, limit;
};

static int add_listed_name(void *arg, const char *name)
{
    struct dir_listing *listing = arg;
    if (listing->count == listing->limit)
        return E2BIG;
    const char **list = arena_grow(listing->arena, listing->list, listing->count,
                                   &listing->capacity, sizeof *list);
    if (!list)
        return ENOMEM;
    listing->list = list;
    list[listing->count] = arena_str(listing->arena, name);
    return list[listing->count++] ? 0 : ENOMEM;
}

static int compare_listed_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int dir_names(int dir, struct arena *arena, size_t limit, struct dir_names *out)
{
    struct dir_listing listing = {.arena = arena, .limit = limit};
    int code = os_list(dir, add_listed_name, &listing);
    if (code > 0)
        errno = code;
    if (code != 0)
        return -1;
    if (listing.count > 0)
        qsort(listing.list, listing.count, sizeof *listing.list, compare_listed_names);
    *out = (struct dir_names){listing.list, listing.count};
    return 0;
}
