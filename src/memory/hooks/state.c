/*
 * state.c: the small state files of conversations; losing one only causes some repetition.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/system/dir.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/handle_internal.h"
#include "memory/home/directory.h"
#include "memory/hooks/internal.h"
#include "memory/hooks/queue.h"

#define FOLDER "hooks"
#define NAME_SIZE 64              /* bytes */
#define STATE_MAX SPOOL_MAX_NOTE  /* bytes */
#define FILES_MAX 100000          /* looked at */
#define LEFT_MS (30 * 86400000LL) /* of a conversation that never ended */

static void make_state_name(const struct hook *hook, const char *what, char out[NAME_SIZE])
{
    char hash[HASH_HEX_SIZE];
    hash_hex(view_str(hook->session), hash);
    snprintf(out, NAME_SIZE, "%s-%.16s.%s", hook->agent->name, hash, what);
}

static int open_state_folder(struct ethos *self, bool create)
{
    int root;
    if (service_open_root(self, create, &root, NULL) != ETHOS_OK || root < 0)
        return -1;
    int folder = os_open_beneath(root, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (folder < 0 && errno == ENOENT && create &&
        (os_mkdirat(root, FOLDER, 0700) == 0 || errno == EEXIST))
        folder = os_open_beneath(root, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    os_close(root);
    return folder;
}

int hooks_state_read(struct ethos *self, const struct hook *hook, const char *what, struct str *out)
{
    char name[NAME_SIZE];
    int folder = open_state_folder(self, false);
    if (folder < 0)
        return ETHOS_NOTFOUND;
    make_state_name(hook, what, name);
    int code = home_read(folder, name, STATE_MAX, out, NULL, NULL);
    os_close(folder);
    return code;
}

/* Written in place: replacing a file would make file systems write it to the disk at once. */
bool hooks_state_write(struct ethos *self, const struct hook *hook, const char *what,
                       struct ethos_view text)
{
    char name[NAME_SIZE];
    bool whole = false;
    int folder = open_state_folder(self, true);
    if (folder < 0)
        return false;
    make_state_name(hook, what, name);
    int fd = os_openat(folder, name, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);
    if (fd >= 0) {
        whole = os_write_all(fd, text.data, text.size) == 0;
        os_ftruncate(fd, whole ? text.size : 0);
        os_close(fd);
    }
    os_close(folder);
    return whole;
}

bool hooks_state_append(struct ethos *self, const struct hook *hook, const char *what,
                        struct ethos_view line)
{
    char name[NAME_SIZE];
    struct stat info;
    int folder = open_state_folder(self, true);
    if (folder < 0)
        return false;
    make_state_name(hook, what, name);
    int fd = os_openat(folder, name, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
    bool known = fd >= 0 && os_fstat(fd, &info) == 0;
    bool whole = known && os_write_all(fd, line.data, line.size) == 0;
    if (known && !whole)
        os_ftruncate(fd, (uint64_t)info.st_size);
    if (fd >= 0)
        os_close(fd);
    os_close(folder);
    return whole;
}

void hooks_state_drop(struct ethos *self, const struct hook *hook, const char *what)
{
    char name[NAME_SIZE];
    int folder = open_state_folder(self, false);
    if (folder < 0)
        return;
    make_state_name(hook, what, name);
    os_unlinkat(folder, name, 0);
    os_close(folder);
}

/* The mtime of this file is what counts. */
static void make_read_marker(const char *agent, char out[NAME_SIZE])
{
    snprintf(out, NAME_SIZE, "%s.read", agent);
}

void hooks_note_read(struct ethos *self, const char *agent)
{
    char name[NAME_SIZE];
    int folder = open_state_folder(self, false);
    if (folder < 0)
        return;
    make_read_marker(agent, name);
    int fd = os_openat(folder, name, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);
    if (fd >= 0) {
        os_write_all(fd, "\n", 1);
        os_close(fd);
    }
    os_close(folder);
}

int64_t hooks_last_read(struct ethos *self, const char *agent)
{
    char name[NAME_SIZE];
    struct stat info;
    int folder = open_state_folder(self, false);
    if (folder < 0)
        return -1;
    make_read_marker(agent, name);
    bool known = os_fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0;
    os_close(folder);
    return known ? (int64_t)info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / 1000000 : -1;
}

static void visit_state_file(int folder, const char *name, hooks_state_fn *each, void *arg)
{
    CLEANUP_STR struct str text;
    str_init(&text, SIZE_MAX);
    if (home_read(folder, name, STATE_MAX, &text, NULL, NULL) == ETHOS_OK &&
        each(arg, str_view(&text)))
        os_unlinkat(folder, name, 0);
}

void hooks_state_each(struct ethos *self, const char *what, hooks_state_fn *each, void *arg)
{
    struct arena arena;
    struct dir_names names;
    int folder = open_state_folder(self, false);
    if (folder < 0)
        return;
    arena_init(&arena);
    if (dir_names(folder, &arena, FILES_MAX, &names) == 0)
        for (size_t i = 0; i < names.count; i++) {
            const char *dot = strrchr(names.list[i], '.');
            if (dot && strcmp(dot + 1, what) == 0)
                visit_state_file(folder, names.list[i], each, arg);
        }
    arena_release(&arena);
    os_close(folder);
}

static bool is_left(struct ethos *self, int folder, const char *name)
{
    struct stat info;
    return os_fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode) &&
           service_now_ms(self) - (int64_t)info.st_mtim.tv_sec * 1000 > LEFT_MS;
}

void hooks_state_clear(struct ethos *self)
{
    struct arena arena;
    struct dir_names names;
    int folder = open_state_folder(self, false);
    if (folder < 0)
        return;
    arena_init(&arena);
    if (dir_names(folder, &arena, FILES_MAX, &names) == 0)
        for (size_t i = 0; i < names.count; i++)
            if (is_left(self, folder, names.list[i]))
                os_unlinkat(folder, names.list[i], 0);
    arena_release(&arena);
    os_close(folder);
}
