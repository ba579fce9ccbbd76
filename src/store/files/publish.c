/*
 * publish.c: from drafts to the acknowledgement, or back.
 *
 *     draft_all      new texts to drafts, with mode and owner of the old, synced
 *     sync_names     the names of the drafts, if no file was there before
 *     recheck_all    still the files that were read? else begin again
 *     journal_all    the lines, synced; the drafts may be swapped now
 *     recheck_all
 *     swap_all       exchange in order, directory synced
 *     inspect_all    what was displaced must be what was read
 *     sync_last      the directory of the last one
 *     finish_all     what was displaced goes
 *
 * Whatever goes wrong after journal_all, files_recover takes it back before the lock is freed.
 */
#include "store/files/write_job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"

static int fail(const struct job *job, const struct change *change, struct ethos_error *error)
{
    return files_fail(job->self, errno, change->spot->path, error);
}

/* ---- drafts --------------------------------------------------------------------------------- */

int files_draft_create(int dir, const char *name)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    int fd = os_openat(dir, name, flags, 0600);
    if (fd < 0 && errno == EEXIST && os_unlinkat(dir, name, 0) == 0)
        fd = os_openat(dir, name, flags, 0600);
    return fd;
}

static int temp_of(const struct job *job, const struct change *change, const char *suffix,
                   char name[FILES_TEMP_SIZE])
{
    return files_spot_temp(&job->hold, change->spot, job->txn, suffix, name);
}

/* Gives the draft mode, owner and attributes of the file it is to replace. */
static int adopt(const struct job *job, const struct change *change, int fd,
                 struct ethos_error *error)
{
    if (!change->exists)
        return ETHOS_OK;
    if (os_adopt(fd, &change->seen) != 0)
        return errno != EPERM ? fail(job, change, error)
                              : job_refuse(job, change, "belongs to another user or group",
                                           "write as its owner, or chown it to yourself", error);
    int old = os_openat(change->spot->dir, change->spot->name, FILES_READ_FLAGS | O_NOFOLLOW, 0);
    if (old < 0)
        return errno == ENOENT ? FILES_MOVED : fail(job, change, error);
    int code = os_copy_xattrs(old, fd) == 0 ? ETHOS_OK : fail(job, change, error);
    os_close(old);
    return code;
}

static int draft(struct job *job, struct change *change, struct ethos_error *error)
{
    char name[FILES_TEMP_SIZE];
    int dir = temp_of(job, change, change->drops ? FILES_GONE : FILES_DRAFT, name);
    int fd = files_draft_create(dir, name);
    if (fd < 0)
        return fail(job, change, error);
    change->drafted = true;
    int code = change->puts ? adopt(job, change, fd, error) : ETHOS_OK;
    if (code == ETHOS_OK && change->puts && !change->exists)
        code = files_tree_make(job->self, &job->hold, change->spot, error);
    if (code == ETHOS_OK && change->puts &&
        (os_write_all(fd, change->text.data, change->text.size) != 0 || os_fdatasync(fd) != 0))
        code = fail(job, change, error);
    if (os_close(fd) != 0 && code == ETHOS_OK)
        code = fail(job, change, error);
    return code;
}

static int draft_all(struct job *job, struct ethos_error *error)
{
    int code = files_hold_tmp(job->self, &job->hold, error);
    for (size_t i = 0; code == ETHOS_OK && i < job->count; i++) {
        if (job_changes(&job->changes[i]))
            code = draft(job, &job->changes[i], error);
    }
    return code;
}

/*
 * Where all files are new, only the names of the drafts tell that they were not there yet: those must
 * survive a power cut that the lines survive.
 */
static int sync_names(struct job *job, struct ethos_error *error)
{
    for (size_t i = 0; i < job->count; i++) {
        if (job_changes(&job->changes[i]) && job->changes[i].exists)
            return ETHOS_OK;
    }
    if (!job->self->durable || os_fsync(job->hold.tmp) == 0)
        return ETHOS_OK;
    return files_fail(job->self, errno, job->hold.path, error);
}

/* For a round whose lines do not stand in the history. */
static void discard_all(struct job *job)
{
    char name[FILES_TEMP_SIZE];
    for (size_t i = 0; i < job->count; i++) {
        struct change *change = &job->changes[i];
        int dir = temp_of(job, change, change->drops ? FILES_GONE : FILES_DRAFT, name);
        if (!change->drafted)
            continue;
        if (change->puts)
            files_tree_prune(job->self, &job->hold, change->spot->key);
        os_unlinkat(dir, name, 0);
        change->drafted = false;
    }
}

/* ---- checking ------------------------------------------------------------------------------- */

static int recheck(const struct job *job, const struct change *change, struct ethos_error *error)
{
    struct stat now;
    bool exists = os_fstatat(change->spot->dir, change->spot->name, &now, AT_SYMLINK_NOFOLLOW) == 0;
    if (!exists && errno != ENOENT)
        return fail(job, change, error);
    return exists == change->exists && (!exists || files_same(&now, &change->seen)) ? ETHOS_OK
                                                                                    : FILES_MOVED;
}

/*
 * Every key, also those that stay: the verdicts rest on all texts that were read. The directories must
 * be where they were, else a text would go along with one that was moved. And the lock must still
 * have its name: whoever takes .mem away lets others in.
 */
static int recheck_all(const struct job *job, struct ethos_error *error)
{
    struct stat st;
    if (os_fstat(job->hold.lock, &st) != 0)
        return files_errno(job->self, errno, job->hold.path, error);
    int code = st.st_nlink > 0 && files_tree_stands(&job->hold) ? ETHOS_OK : FILES_MOVED;
    for (size_t i = 0; code == ETHOS_OK && i < job->count; i++)
        code = recheck(job, &job->changes[i], error);
    return code;
}

/* ---- the history ---------------------------------------------------------------------------- */

/* The first line of ours about a key. */
static struct history_record *first_line(struct history_record *records, size_t count,
                                         const char *key)
{
    for (size_t i = 0; i < count; i++) {
        bool ours = records[i].graft.data || !view_eq(records[i].actions, VIEW("external"));
        if (ours && view_eq_str(records[i].key, key))
            return &records[i];
    }
    return NULL;
}

/* Which file the lines of a key replace, so that recovery can tell whether they did. */
static int mark_files(struct job *job, struct history_record *records, size_t count,
                      struct ethos_error *error)
{
    char was[FILES_WAS_SIZE];
    for (size_t i = 0; i < job->count; i++) {
        const struct change *change = &job->changes[i];
        struct history_record *line = job_changes(change) && change->exists
                                          ? first_line(records, count, change->key)
                                          : NULL;
        if (!line)
            continue;
        files_was(&change->seen, was);
        line->was = view_str(arena_str(&job->arena, was));
        if (!line->was.data)
            return err_nomem(error);
    }
    return ETHOS_OK;
}

/* From here on the drafts may be swapped, and only files_recover removes them. */
static int name_new(struct job *job, struct ethos_error *error)
{
    char draft_name[FILES_TEMP_SIZE], name[FILES_TEMP_SIZE];
    for (size_t i = 0; i < job->count; i++) {
        struct change *change = &job->changes[i];
        if (!change->puts)
            continue;
        int dir = temp_of(job, change, FILES_DRAFT, draft_name);
        temp_of(job, change, FILES_NEW, name);
        if (os_renameat(dir, draft_name, dir, name, 0) != 0)
            return fail(job, change, error);
    }
    return ETHOS_OK;
}

static int journal_all(struct job *job, struct history_record *records, size_t count,
                       struct ethos_error *error)
{
    int code = mark_files(job, records, count, error);
    if (code == ETHOS_OK)
        code = files_journal_append(job->self, &job->hold, &job->journal, job->txn, records, count,
                                    true, error);
    if (code != ETHOS_OK)
        return code;
    job->journaled = job->written = true;
    return name_new(job, error);
}

/* ---- swapping ------------------------------------------------------------------------------- */

/* A new file: a second name for .new, which does not replace what appeared meanwhile. */
static int swap_in(const struct job *job, const struct change *change, int dir, const char *name)
{
    const struct files_spot *spot = change->spot;
    if (os_linkat(dir, name, spot->dir, spot->name) == 0)
        return 0;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK)
        return -1;
    (void)job;
    int failed = os_renameat(dir, name, spot->dir, spot->name, RENAME_NOREPLACE);
    if (failed && errno == EINVAL) // a file system that knows no flags
        failed = os_renameat(dir, name, spot->dir, spot->name, 0);
    return failed;
}

/* Without exchange: a second name keeps what rename destroys. The last moment is not covered. */
static int swap_by_link(const struct job *job, struct change *change, int dir, const char *name)
{
    const struct files_spot *spot = change->spot;
    struct stat now;
    char old[FILES_TEMP_SIZE];
    temp_of(job, change, FILES_OLD, old);
    if (os_linkat(spot->dir, spot->name, dir, old) != 0) {
        if (errno != EPERM && errno != EOPNOTSUPP)
            return -1;
        change->in_place = true; // no second names either: nothing is displaced
        return os_renameat(dir, name, spot->dir, spot->name, 0);
    }
    if (os_fstatat(dir, old, &now, AT_SYMLINK_NOFOLLOW) != 0 ||
        !job_same_inode(&now, &change->seen) ||
        os_fstatat(spot->dir, spot->name, &now, AT_SYMLINK_NOFOLLOW) != 0 ||
        !job_same_inode(&now, &change->seen)) {
        errno = ENOENT;
        return -1;
    }
    return os_renameat(dir, name, spot->dir, spot->name, 0);
}

/* Overwrites a file that cannot be replaced. A reader may see half of it; .new has the whole. */
static int overwrite(const struct change *change)
{
    int fd = os_openat(change->spot->dir, change->spot->name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK,
                       0);
    if (fd < 0)
        return -1;
    int failed = os_write_all(fd, change->text.data, change->text.size) != 0 ||
                 os_ftruncate(fd, change->text.size) != 0 || os_fdatasync(fd) != 0;
    int saved = errno;
    os_close(fd);
    errno = saved;
    return failed ? -1 : 0;
}

static int swap_over(const struct job *job, struct change *change, int dir, const char *name)
{
    const struct files_spot *spot = change->spot;
    change->in_place = change->seen.st_nlink > 1;
    if (change->in_place)
        return overwrite(change);
    if (os_exchange(dir, name, spot->dir, spot->name) == 0)
        return 0;
    if (errno == EINVAL || errno == ENOSYS)
        return swap_by_link(job, change, dir, name);
    change->in_place = errno == EBUSY && job->self->in_place;
    return change->in_place ? overwrite(change) : -1;
}

static int swap(const struct job *job, struct change *change, struct ethos_error *error)
{
    char name[FILES_TEMP_SIZE];
    const struct files_spot *spot = change->spot;
    int dir = temp_of(job, change, FILES_NEW, name);
    int failed;
    if (change->drops)
        failed = os_renameat(spot->dir, spot->name, dir, name, RENAME_NOREPLACE);
    else
        failed = change->exists ? swap_over(job, change, dir, name)
                                : swap_in(job, change, dir, name);
    if (failed && change->drops && errno == EINVAL)
        failed = os_renameat(spot->dir, spot->name, dir, name, 0);
    if (!failed)
        return ETHOS_OK;
    if (errno == ENOENT || errno == EEXIST)
        return FILES_MOVED;
    return errno == EBUSY ? job_refuse(job, change, "is mounted and cannot be replaced",
                                       "set write_in_place: on to have it overwritten", error)
                          : fail(job, change, error);
}

static int indeterminate(const struct job *job, const struct change *change,
                         struct ethos_error *error)
{
    char shown[PATH_MAX];
    const char *why = strerrordesc_np(errno);
    int code = err_set(error, ETHOS_IO, "%s: written, but may or may not survive a power cut: %s",
                       files_show(job->self, change->spot->path, shown), why ? why : "sync failed");
    return err_hint(error, code, "check the disk, then read the text before writing it again");
}

/*
 * The next key to be swapped after one, NULL to begin with: new files first. Then the last one is a
 * file that was there before, if any is, and recovery can tell by it whether all were swapped.
 */
static struct change *next_swap(struct job *job, const struct change *change)
{
    size_t at = change ? (size_t)(change - job->changes) + 1 : 0;
    for (int exists = change && change->exists; exists <= 1; exists++, at = 0) {
        for (; at < job->count; at++) {
            if (job_changes(&job->changes[at]) && job->changes[at].exists == exists)
                return &job->changes[at];
        }
    }
    return NULL;
}

/* Several keys: an earlier one is durable before a later one changes. */
static int swap_all(struct job *job, struct ethos_error *error)
{
    int code = ETHOS_OK;
    struct change *change = next_swap(job, NULL);
    while (code == ETHOS_OK && change) {
        struct change *next = next_swap(job, change);
        code = swap(job, change, error);
        if (code == ETHOS_OK && next && job->self->durable && os_fsync(change->spot->dir) != 0)
            code = fail(job, change, error);
        change = next;
    }
    return code;
}

/* ---- after the swap ------------------------------------------------------------------------- */

/* What was displaced must be what was read. By now it is .new, or .old where there is no exchange. */
static int inspect(struct job *job, struct change *change, struct ethos_error *error)
{
    struct ethos_text found = {0};
    struct stat st;
    char name[FILES_TEMP_SIZE];
    if (!change->exists || change->in_place)
        return ETHOS_OK;
    int dir = temp_of(job, change, FILES_OLD, name);
    if (change->drops || os_fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        temp_of(job, change, FILES_NEW, name);
    int code = files_spot_read(job->self, change->spot->path, dir, name, change->file->revision, 0,
                               &found, &st, &change->watched, error);
    bool same = code == ETHOS_OK && view_eq(view_of(found.data, found.size), job_file_text(change));
    if (found.data)
        job->self->host->resize(job->self->host->arg, found.data, 0);
    if (code == ETHOS_NOTFOUND || (code == ETHOS_OK && !same))
        return FILES_MOVED;
    return code;
}

static int inspect_all(struct job *job, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < job->count; i++) {
        if (job_changes(&job->changes[i]))
            code = inspect(job, &job->changes[i], error);
    }
    return code;
}

static int sync_last(struct job *job, struct ethos_error *error)
{
    struct change *last = next_swap(job, NULL);
    for (struct change *next = last; next; next = next_swap(job, next))
        last = next;
    if (!last || !job->self->durable || os_fsync(last->spot->dir) == 0)
        return ETHOS_OK;
    return indeterminate(job, last, error);
}

/* What was displaced goes; while somebody may write to it, it stays for a second look. */
static void finish_all(struct job *job)
{
    char name[FILES_TEMP_SIZE], old[FILES_TEMP_SIZE];
    for (size_t i = 0; i < job->count; i++) {
        struct change *change = &job->changes[i];
        if (!job_changes(change))
            continue;
        int dir = temp_of(job, change, FILES_NEW, name);
        temp_of(job, change, FILES_OLD, old);
        if (change->drops)
            files_tree_prune(job->self, &job->hold, change->spot->key);
        if (change->watched)
            os_renameat(dir, name, dir, old, RENAME_NOREPLACE);
        else if (os_unlinkat(dir, name, 0) != 0 && errno == ENOENT)
            os_unlinkat(dir, old, 0);
        temp_of(job, change, FILES_GONE, name);
        if (change->drops)
            os_unlinkat(dir, name, 0);
    }
    files_journal_index(job->self, &job->hold, &job->journal);
}

/* ---- one change ----------------------------------------------------------------------------- */

static int publish(struct job *job, struct history_record *records, size_t count,
                   struct ethos_error *error)
{
    int code = draft_all(job, error);
    if (code == ETHOS_OK)
        code = sync_names(job, error);
    if (code == ETHOS_OK)
        code = recheck_all(job, error);
    if (code == ETHOS_OK)
        code = journal_all(job, records, count, error);
    if (code == ETHOS_OK)
        code = recheck_all(job, error);
    if (code == ETHOS_OK)
        code = swap_all(job, error);
    if (code == ETHOS_OK)
        code = inspect_all(job, error);
    job->inspected = code == ETHOS_OK;
    return code == ETHOS_OK ? sync_last(job, error) : code;
}

/*
 * Takes back what could not be finished, while the lock is held. Once all is swapped and inspected,
 * only a failed sync is left: then the text stays, and nobody can tell for how long.
 */
static int retreat(struct job *job, int code, struct ethos_error *error)
{
    struct ethos_error second = {.text = "it was moved away"};
    char shown[PATH_MAX];
    if (!job->journaled) {
        discard_all(job);
        return code;
    }
    if (files_recover(job->self, &job->hold, &job->journal, job->scope, job->spots, job->count,
                      job->inspected ? "" : job->txn, &second) == ETHOS_OK)
        return code;
    code = err_set(error, ETHOS_IO, "%s: may or may not have changed: %s",
                   files_show(job->self, job->hold.path, shown), second.text);
    return err_hint(error, code, "read the text before writing it again");
}

int job_carry_out(struct job *job, struct history_record *records, size_t count,
                  struct ethos_error *error)
{
    int code = publish(job, records, count, error);
    if (code != ETHOS_OK)
        return retreat(job, code, error);
    finish_all(job);
    return ETHOS_OK;
}
