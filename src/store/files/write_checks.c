/*
 * write_checks.c: refuses files that must not be replaced, and directories that others can write
 * to.
 */
#include "store/files/write_job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/system/dir.h"
#include "base/system/os.h"

int write_refuse(const struct write_job *job, const struct key_change *change, const char *why,
                 const char *hint, struct ethos_error *error)
{
    char shown[PATH_MAX];
    int code = err_set(error, ETHOS_DENIED, "%s %s",
                       files_full_path(job->self, change->location->path, shown), why);
    return err_hint(error, code, "%s", hint);
}

/* Whether two keys of this update are one file: the later would undo the earlier. */
static bool is_same_file_twice(const struct write_job *job, const struct key_change *change)
{
    for (const struct key_change *other = job->changes; other < change; other++) {
        if (other->exists && has_file_change(other) &&
            files_is_same_inode(&other->seen, &change->seen))
            return true;
    }
    return false;
}

int write_check_change(const struct write_job *job, const struct key_change *change,
                       struct ethos_error *error)
{
    if (!change->exists)
        return ETHOS_OK;
    if (is_same_file_twice(job, change))
        return write_refuse(job, change, "is the same file as another key of this update",
                            "replace it by a regular file", error);
    if (change->drops)
        return change->location->linked
                   ? write_refuse(job, change, "is a symbolic link and is not removed",
                                  "remove the link or its target by hand", error)
                   : ETHOS_OK;
    if (change->seen.st_nlink > 1 && !job->self->in_place)
        return write_refuse(
            job, change, "has another hard link, which would keep the old text",
            "replace it by a regular file: cp it to a new name, then mv that over it", error);
    return ETHOS_OK;
}

/* Whoever can write to one of these directories could replace our text. */
static int check_private_dir(const struct write_job *job, int dir, const char *name,
                             const char *path, struct ethos_error *error)
{
    struct stat st;
    char shown[PATH_MAX];
    if (os_fstatat(dir, name, &st, 0) != 0)
        return errno == ENOENT ? ETHOS_OK : files_step_error(job->self, errno, path, error);
    return dir_private(&st, files_full_path(job->self, path, shown), error);
}

/*
 * A text is published by a new name in its folder. Where that is not allowed, nothing must be
 * recorded first. What the system cannot tell here, the write will find out.
 */
static int check_folder_writable(const struct write_job *job, const struct key_change *change,
                                 struct ethos_error *error)
{
    char path[FILES_PATH_SIZE], shown[PATH_MAX];
    int dir = change->location->dir >= 0 ? change->location->dir : job->lock.dir;
    int errnum = os_faccessat(dir, ".", W_OK | X_OK) == 0 ? 0 : errno;
    if (errnum == 0 || errnum == EPERM || errnum == ENOSYS || errnum == EINVAL)
        return ETHOS_OK;
    const char *key_path = change->location->path, *end = strrchr(key_path, '/');
    if (change->location->linked) // a key that is a link is named itself, else its folder is
        snprintf(path, sizeof path, "%s", key_path);
    else
        snprintf(path, sizeof path, "%.*s", end ? (int)(end - key_path) : 1, end ? key_path : ".");
    int code = files_errno(job->self, errnum, path, error);
    return errnum != EACCES ? code
                            : err_hint(error, code,
                                       "nothing was changed; the folder cannot be written: chmod "
                                       "u+w '%s', or give it to whoever runs ethos",
                                       files_full_path(job->self, path, shown));
}

int write_check_folders(const struct write_job *job, struct ethos_error *error)
{
    for (size_t i = 0; i < job->count; i++) {
        if (has_file_change(&job->changes[i]))
            TRY(check_folder_writable(job, &job->changes[i], error));
    }
    return ETHOS_OK;
}

int write_check_all(const struct write_job *job, struct ethos_error *error)
{
    static const char *const below[] = {".", FILES_MEM, FILES_TMP};
    char path[FILES_PATH_SIZE + sizeof "/" FILES_TMP];
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && job->lock.path[i]; i++) {
        if (job->lock.path[i] != '/')
            continue;
        snprintf(path, sizeof path, "%.*s", (int)i, job->lock.path);
        code = check_private_dir(job, job->self->root, path, path, error);
    }
    for (size_t i = 0; code == ETHOS_OK && i < sizeof below / sizeof *below; i++) {
        snprintf(path, sizeof path, "%s%s%s", job->lock.path, i ? "/" : "", i ? below[i] : "");
        code = check_private_dir(job, job->lock.dir, below[i], path, error);
    }
    TRY(code);
    for (size_t i = 0; i < job->count; i++) {
        if (has_file_change(&job->changes[i]))
            TRY(write_check_change(job, &job->changes[i], error));
    }
    return write_check_folders(job, error);
}
