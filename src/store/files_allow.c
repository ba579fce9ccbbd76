/*
 * files_allow.c: what a write must not replace, and directories it must not trust.
 */
#include "store/files_job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/os.h"

int job_refuse(const struct job *job, const struct change *change, const char *why,
               const char *hint, struct ethos_error *error)
{
    char shown[PATH_MAX];
    int code = err_set(error, ETHOS_DENIED, "%s %s",
                       files_show(job->self, change->spot->path, shown), why);
    return err_hint(error, code, "%s", hint);
}

/* Two keys of this update that are one file: the later would undo the earlier. */
static bool is_twin(const struct job *job, const struct change *change)
{
    for (const struct change *other = job->changes; other < change; other++) {
        if (other->exists && job_changes(other) && job_same_inode(&other->seen, &change->seen))
            return true;
    }
    return false;
}

int job_allow(const struct job *job, const struct change *change, struct ethos_error *error)
{
    if (!change->exists)
        return ETHOS_OK;
    if (is_twin(job, change))
        return job_refuse(job, change, "is the same file as another key of this update",
                          "make it a file of its own", error);
    if (change->drops)
        return change->spot->linked
                   ? job_refuse(job, change, "is a symbolic link and is not removed",
                                "remove the link or its target by hand", error)
                   : ETHOS_OK;
    if (change->seen.st_nlink > 1 && !job->self->in_place)
        return job_refuse(job, change, "has another hard link, which would keep the old text",
                          "make it a file of its own: cp it to a new name, then mv that over it",
                          error);
    return ETHOS_OK;
}

/* Whoever can write one of these directories could put another text in the place of ours. */
static int check_private(const struct job *job, int dir, const char *name, const char *path,
                         struct ethos_error *error)
{
    struct stat st;
    char shown[PATH_MAX];
    if (os_fstatat(dir, name, &st, 0) != 0)
        return errno == ENOENT ? ETHOS_OK : files_fail(job->self, errno, path, error);
    return dir_private(&st, files_show(job->self, path, shown), error);
}

/* From the root down to the folder of drafts; what is not there yet will be made private. */
static int check_all_private(const struct job *job, struct ethos_error *error)
{
    static const char *const below[] = {".", FILES_MEM, FILES_TMP};
    char path[FILES_PATH_SIZE + sizeof "/" FILES_TMP];
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && job->hold.path[i]; i++) {
        if (job->hold.path[i] != '/')
            continue;
        snprintf(path, sizeof path, "%.*s", (int)i, job->hold.path);
        code = check_private(job, job->self->root, path, path, error);
    }
    for (size_t i = 0; code == ETHOS_OK && i < sizeof below / sizeof *below; i++) {
        snprintf(path, sizeof path, "%s%s%s", job->hold.path, i ? "/" : "", i ? below[i] : "");
        code = check_private(job, job->hold.dir, below[i], path, error);
    }
    return code;
}

int job_allow_all(const struct job *job, struct ethos_error *error)
{
    int code = check_all_private(job, error);
    for (size_t i = 0; code == ETHOS_OK && i < job->count; i++) {
        if (job_changes(&job->changes[i]))
            code = job_allow(job, &job->changes[i], error);
    }
    return code;
}
