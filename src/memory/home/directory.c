/*
 * directory.c: the home directory and its small files: configuration, maps, records and locks.
 */
#include "memory/home/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "base/system/dir.h"
#include "base/system/file.h"
#include "base/system/lock.h"
#include "base/system/os.h"
#include "base/view.h"

#include <ethos/limits.h>

#define PATH_LIMIT 4096 /* bytes */
#define LOCK_FOLDER ".mem"
#define FOLDER_ATTEMPTS 16 /* retries while somebody removes the folder */

static const char *env_value(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

const char *home_of_user(void)
{
    const char *home = env_value("HOME");
    if (home)
        return home;
    const struct passwd *entry = getpwuid(geteuid());
    return entry ? entry->pw_dir : NULL;
}

static int make_absolute(struct str *path, const char *given)
{
    if (given[0] != '/') {
        char here[PATH_LIMIT];
        if (!getcwd(here, sizeof here))
            return -1;
        str_printf(path, "%s/", here);
    }
    str_adds(path, given);
    while (path->size > 1 && path->data[path->size - 1] == '/')
        str_truncate(path, path->size - 1);
    return 0;
}

int home_path(const char *given, char **out_path, struct ethos_error *error)
{
    CLEANUP_STR struct str path;
    str_init(&path, PATH_LIMIT);
    const char *chosen = given ? given : env_value("ETHOS_HOME");
    if (!chosen)
        chosen = env_value("ETHOS_STATE_DIR");

    int code = ETHOS_OK;
    if (chosen && !*chosen) {
        code = err_set(error, ETHOS_INVALID, "home: the path is empty");
    } else if (chosen) {
        if (make_absolute(&path, chosen) != 0)
            code = err_errno(error, errno, chosen);
    } else {
        const char *base = home_of_user();
        if (base && *base == '/')
            str_printf(&path, "%s/.ethos", base);
        else
            code = err_set(error, ETHOS_INVALID,
                           "home: neither $ETHOS_HOME nor $HOME is an absolute path");
    }
    if (code == ETHOS_OK && str_code(&path) != ETHOS_OK)
        code = err_set(error, str_code(&path), "home: the path is too long");
    if (code == ETHOS_OK && !(*out_path = str_steal(&path, NULL)))
        code = err_nomem(error);
    return code;
}

/* Whoever can write to a directory of the home decides what the agent believes. */
static int check_private(int dir, const char *path, struct ethos_error *error)
{
    struct stat info;
    return os_fstat(dir, &info) == 0 ? dir_private(&info, path, error)
                                     : err_errno(error, errno, path);
}

int home_open(const char *path, bool create, int *out_dir, struct ethos_error *error)
{
    int flags = O_RDONLY | O_DIRECTORY;
    int dir = os_openat(AT_FDCWD, path, flags, 0);
    if (dir < 0 && errno == ENOENT && create && dir_make_home(path) == 0)
        dir = os_openat(AT_FDCWD, path, flags, 0);
    if (dir < 0 && errno == ENOENT)
        return err_set(error, ETHOS_NOTFOUND, "%s: there is no memory here yet", path);
    if (dir < 0)
        return err_errno(error, errno, path);
    int code = check_private(dir, path, error);
    if (code != ETHOS_OK) {
        os_close(dir);
        return code;
    }
    *out_dir = dir;
    return ETHOS_OK;
}

static void stamp_from(const struct stat *info, struct home_stamp *out)
{
    out->device = (uint64_t)info->st_dev;
    out->inode = (uint64_t)info->st_ino;
    out->size = (uint64_t)info->st_size;
    out->mtime_ns = (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;
    out->ctime_ns = (int64_t)info->st_ctim.tv_sec * 1000000000 + info->st_ctim.tv_nsec;
    out->exposed = (info->st_mode & 077) != 0 || info->st_uid != geteuid();
}

int home_read(int dir, const char *name, size_t limit, struct str *out,
              struct home_stamp *out_stamp, struct ethos_error *error)
{
    if (dir < 0)
        return err_set(error, ETHOS_NOTFOUND, "%s: not found", name);
    int fd = os_open_beneath(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return err_errno(error, errno, name);
    struct stat info;
    int code = file_read(fd, name, limit, out, &info, error);
    os_close(fd);
    if (code == ETHOS_OK && out_stamp)
        stamp_from(&info, out_stamp);
    return code;
}

int home_read_json(int dir, const char *name, json_t **out, struct ethos_error *error)
{
    return home_read_json_most(dir, name, ETHOS_MAX_MAP_BYTES, out, error);
}

int home_read_json_most(int dir, const char *name, size_t most, json_t **out,
                        struct ethos_error *error)
{
    struct str text;
    str_init(&text, most + 1);
    int code = home_read(dir, name, most, &text, NULL, error);
    if (code == ETHOS_OK)
        code = json_parse_most(str_view(&text), most, name, out, error);
    str_release(&text);
    if (code != ETHOS_INVALID)
        return code;
    if (error)
        error->code = ETHOS_CORRUPT;
    return ETHOS_CORRUPT;
}

void home_stamp(int dir, const char *name, struct home_stamp *out)
{
    struct stat info;
    *out = (struct home_stamp){0};
    if (dir >= 0 && os_fstatat(dir, name, &info, 0) == 0)
        stamp_from(&info, out);
}

void home_record_name(const char *kind, const char *scope, char out[HOME_RECORD_SIZE])
{
    snprintf(out, HOME_RECORD_SIZE, "%s-%s.json", kind, scope);
    char *colon = strchr(out, ':');
    if (colon)
        *colon = '-';
}

/* Opens dir/folder ("" is dir itself), creating it if missing. -1 and errno on failure. */
static int open_or_make_folder(int dir, const char *folder, bool *out_made)
{
    const int flags = O_RDONLY | O_DIRECTORY;
    int fd = os_open_beneath(dir, *folder ? folder : ".", flags, 0);
    *out_made = fd < 0 && errno == ENOENT;
    if (!*out_made)
        return fd;
    // another process may remove the folder it created after a failed write, between the two
    for (int i = 0; fd < 0 && errno == ENOENT && i < FOLDER_ATTEMPTS; i++)
        fd = os_mkdirs(dir, folder) == 0 ? os_open_beneath(dir, folder, flags, 0) : -1;
    return fd;
}

int home_replace(int dir, const char *folder_name, const char *name, struct ethos_view text,
                 struct ethos_error *error)
{
    bool made;
    int folder = open_or_make_folder(dir, folder_name, &made);
    const char *shown = *folder_name ? folder_name : name;
    int code = folder >= 0 ? check_private(folder, shown, error) : err_errno(error, errno, shown);
    if (code == ETHOS_OK)
        code = file_replace(folder, name, text, 0600, error);
    if (folder >= 0)
        os_close(folder);
    if (code != ETHOS_OK && made)
        os_unlinkat(dir, folder_name, AT_REMOVEDIR); // unless it contains something by now
    return code;
}

int home_lock(int dir, const char *name, int *out_lock, struct ethos_error *error)
{
    return home_lock_within(dir, name, ETHOS_LOCK_DEADLINE_MS, out_lock, error);
}

int home_lock_within(int dir, const char *name, uint32_t wait_ms, int *out_lock,
                     struct ethos_error *error)
{
    char path[ETHOS_MAX_KEY + 16];
    snprintf(path, sizeof path, LOCK_FOLDER "/%s.lock", name);
    bool made;
    int folder = open_or_make_folder(dir, LOCK_FOLDER, &made);
    int code = folder >= 0 ? check_private(folder, LOCK_FOLDER, error)
                           : err_errno(error, errno, LOCK_FOLDER);
    if (folder >= 0)
        os_close(folder);
    if (code != ETHOS_OK)
        return code;
    int fd = os_open_beneath(dir, path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_errno(error, errno, path);
    if (lock_wait(fd, wait_ms, LOCK_CROWD_MS) != 0) {
        code = err_errno(error, errno, path);
        os_close(fd);
        return code;
    }
    *out_lock = fd;
    return ETHOS_OK;
}
