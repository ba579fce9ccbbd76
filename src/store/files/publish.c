/*
 * publish.c: makes the files what the changes say: from drafts to the acknowledgement, or back.
 *
 *     write_drafts            new texts to drafts, with mode and owner of the old files, synced
 *     sync_draft_names        the names of the drafts, if all files are new
 *     recheck_files           still the files that were read? else retry
 *     append_journal          the lines, synced; from here on the drafts may be swapped
 *     recheck_files
 *     swap_files              exchange in order, directories synced
 *     inspect_all_displaced   what was displaced must be what was read
 *     sync_last_dir           the directory of the last file
 *     remove_displaced        unlink what was displaced
 *
 * Whatever fails after append_journal is taken back by files_recover before the lock is released.
 */
#include "store/files/write_job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "store/update_steps.h"

static int change_error(const struct write_job *job, const struct key_change *change,
                        struct ethos_error *error)
{
    return files_step_error(job->self, errno, change->location->path, error);
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

int files_write_by_draft(int tmp, const char *draft, int folder, const char *name,
                         const struct stat *like, struct ethos_view text, bool sync)
{
    int fd = files_draft_create(tmp, draft);
    if (fd < 0)
        return -1;
    bool done = (!like || os_adopt(fd, like) == 0) && os_write_all(fd, text.data, text.size) == 0 &&
                (!sync || os_fdatasync(fd) == 0) && os_renameat(tmp, draft, folder, name, 0) == 0;
    int saved = errno;
    os_close(fd);
    if (!done)
        os_unlinkat(tmp, draft, 0);
    errno = saved;
    return done ? 0 : -1;
}

static int temp_name(const struct write_job *job, const struct key_change *change,
                     const char *suffix, char name[FILES_TEMP_SIZE])
{
    return files_location_temp(&job->lock, change->location, job->txn, suffix, name);
}

/* Gives the draft the mode, owner and attributes of the file it replaces. */
static int copy_file_attributes(const struct write_job *job, const struct key_change *change,
                                int fd, struct ethos_error *error)
{
    if (!change->exists)
        return ETHOS_OK;
    if (os_adopt(fd, &change->seen) != 0)
        return errno != EPERM ? change_error(job, change, error)
                              : write_refuse(job, change, "belongs to another user or group",
                                             "write as its owner, or chown it to yourself", error);
    CLEANUP_FD int old = os_openat(change->location->dir, change->location->name,
                                   FILES_READ_FLAGS | O_NOFOLLOW, 0);
    if (old < 0)
        return errno == ENOENT ? FILES_RETRY : change_error(job, change, error);
    return os_copy_xattrs(old, fd) == 0 ? ETHOS_OK : change_error(job, change, error);
}

static int write_draft(struct write_job *job, struct key_change *change, struct ethos_error *error)
{
    char name[FILES_TEMP_SIZE];
    int dir = temp_name(job, change, change->drops ? FILES_GONE : FILES_DRAFT, name);
    int fd = files_draft_create(dir, name);
    if (fd < 0)
        return change_error(job, change, error);
    change->drafted = true;
    int code = change->puts ? copy_file_attributes(job, change, fd, error) : ETHOS_OK;
    if (code == ETHOS_OK && change->puts && !change->exists)
        code = files_key_dirs_create(job->self, &job->lock, change->location, error);
    if (code == ETHOS_OK && change->puts &&
        (os_write_all(fd, change->text.data, change->text.size) != 0 || os_fdatasync(fd) != 0))
        code = change_error(job, change, error);
    if (os_close(fd) != 0 && code == ETHOS_OK)
        code = change_error(job, change, error);
    return code;
}

static int write_drafts(struct write_job *job, struct ethos_error *error)
{
    TRY(files_lock_open_drafts(job->self, &job->lock, error));
    for (size_t i = 0; i < job->count; i++) {
        if (has_file_change(&job->changes[i]))
            TRY(write_draft(job, &job->changes[i], error));
    }
    return ETHOS_OK;
}

/*
 * Where all files are new, only the names of the drafts show that they did not exist yet: so the
 * names must survive every power cut that the lines survive.
 */
static int sync_draft_names(struct write_job *job, struct ethos_error *error)
{
    for (size_t i = 0; i < job->count; i++) {
        if (has_file_change(&job->changes[i]) && job->changes[i].exists)
            return ETHOS_OK;
    }
    if (!job->self->durable || os_fsync(job->lock.tmp) == 0)
        return ETHOS_OK;
    return files_step_error(job->self, errno, job->lock.path, error);
}

/* ---- checking ------------------------------------------------------------------------------- */

static int recheck_file(const struct write_job *job, const struct key_change *change,
                        struct ethos_error *error)
{
    struct stat now;
    bool exists = os_fstatat(change->location->dir, change->location->name, &now,
                             AT_SYMLINK_NOFOLLOW) == 0;
    if (!exists && errno != ENOENT)
        return change_error(job, change, error);
    return exists == change->exists && (!exists || files_is_same_state(&now, &change->seen))
               ? ETHOS_OK
               : FILES_RETRY;
}

/*
 * Checks all keys, since the verdicts rest on all texts that were read, then that the directories
 * have not moved and that the lock file still has its name: removing .mem lets others in.
 */
static int recheck_files(const struct write_job *job, struct ethos_error *error)
{
    struct stat st;
    if (os_fstat(job->lock.fd, &st) != 0)
        return files_errno(job->self, errno, job->lock.path, error);
    TRY(st.st_nlink > 0 && files_key_dirs_in_place(&job->lock) ? ETHOS_OK : FILES_RETRY);
    for (size_t i = 0; i < job->count; i++)
        TRY(recheck_file(job, &job->changes[i], error));
    return ETHOS_OK;
}

/* ---- the history ---------------------------------------------------------------------------- */

/* The first line of a key that is not an external edit. */
static struct history_record *first_own_line(struct history_record *records, size_t count,
                                             const char *key)
{
    for (size_t i = 0; i < count; i++) {
        bool ours = records[i].graft.data || !view_eq(records[i].actions, VIEW("external"));
        if (ours && view_eq_str(records[i].key, key))
            return &records[i];
    }
    return NULL;
}

/* Records which file the lines of a key replace, so that recovery can tell whether they did. */
static int record_file_states(struct write_job *job, struct history_record *records, size_t count,
                              struct ethos_error *error)
{
    char was[FILES_WAS_SIZE];
    for (size_t i = 0; i < job->count; i++) {
        const struct key_change *change = &job->changes[i];
        struct history_record *line = has_file_change(change) && change->exists
                                          ? first_own_line(records, count, change->key)
                                          : NULL;
        if (!line)
            continue;
        files_print_state(&change->seen, was);
        line->was = view_str(arena_str(&job->arena, was));
        if (!line->was.data)
            return err_nomem(error);
    }
    return ETHOS_OK;
}

static int append_journal(struct write_job *job, struct history_record *records, size_t count,
                          struct ethos_error *error)
{
    TRY(record_file_states(job, records, count, error));
    TRY(files_journal_append(job->self, &job->lock, &job->journal, job->txn, records, count, true,
                             error));
    job->journaled = job->written = true;
    char draft_name[FILES_TEMP_SIZE], name[FILES_TEMP_SIZE];
    for (size_t i = 0; i < job->count; i++) {
        struct key_change *change = &job->changes[i];
        if (!change->puts)
            continue;
        int dir = temp_name(job, change, FILES_DRAFT, draft_name);
        temp_name(job, change, FILES_NEW, name);
        if (os_renameat(dir, draft_name, dir, name, 0) != 0)
            return change_error(job, change, error);
    }
    return ETHOS_OK;
}

/* ---- swapping ------------------------------------------------------------------------------- */

/*
 * Publishes a new file by a second name for .new, which cannot replace a file that appeared
 * meanwhile.
 */
static int link_new_file(const struct write_job *job, const struct key_change *change, int dir,
                         const char *name)
{
    const struct files_location *location = change->location;
    if (os_linkat(dir, name, location->dir, location->name) == 0)
        return 0;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK)
        return -1;
    (void)job;
    int failed = os_renameat(dir, name, location->dir, location->name, RENAME_NOREPLACE);
    if (failed && errno == EINVAL) // a file system that knows no flags
        failed = os_renameat(dir, name, location->dir, location->name, 0);
    return failed;
}

/*
 * Replaces a file where the file system cannot exchange: a second name keeps what rename destroys,
 * except for a save in the very last moment.
 */
static int replace_by_link(const struct write_job *job, struct key_change *change, int dir,
                           const char *name)
{
    const struct files_location *location = change->location;
    struct stat now;
    char old[FILES_TEMP_SIZE];
    temp_name(job, change, FILES_OLD, old);
    if (os_linkat(location->dir, location->name, dir, old) != 0) {
        if (errno != EPERM && errno != EOPNOTSUPP)
            return -1;
        change->in_place = true; // no hard links either: nothing is displaced
        return os_renameat(dir, name, location->dir, location->name, 0);
    }
    if (os_fstatat(dir, old, &now, AT_SYMLINK_NOFOLLOW) != 0 ||
        !files_is_same_inode(&now, &change->seen) ||
        os_fstatat(location->dir, location->name, &now, AT_SYMLINK_NOFOLLOW) != 0 ||
        !files_is_same_inode(&now, &change->seen)) {
        errno = ENOENT;
        return -1;
    }
    return os_renameat(dir, name, location->dir, location->name, 0);
}

/* Overwrites a file that cannot be replaced. A reader may see half of it; .new has all of it. */
static int overwrite_file(const struct key_change *change)
{
    int fd = os_openat(change->location->dir, change->location->name,
                       O_WRONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    int failed = os_write_all(fd, change->text.data, change->text.size) != 0 ||
                 os_ftruncate(fd, change->text.size) != 0 || os_fdatasync(fd) != 0;
    int saved = errno;
    os_close(fd);
    errno = saved;
    return failed ? -1 : 0;
}

static int replace_file(const struct write_job *job, struct key_change *change, int dir,
                        const char *name)
{
    const struct files_location *location = change->location;
    change->in_place = change->seen.st_nlink > 1;
    if (change->in_place)
        return overwrite_file(change);
    if (os_exchange(dir, name, location->dir, location->name) == 0)
        return 0;
    if (errno == EINVAL || errno == ENOSYS)
        return replace_by_link(job, change, dir, name);
    change->in_place = errno == EBUSY && job->self->in_place;
    return change->in_place ? overwrite_file(change) : -1;
}

static int swap_file(const struct write_job *job, struct key_change *change,
                     struct ethos_error *error)
{
    char name[FILES_TEMP_SIZE];
    const struct files_location *location = change->location;
    int dir = temp_name(job, change, FILES_NEW, name);
    int failed;
    if (change->drops)
        failed = os_renameat(location->dir, location->name, dir, name, RENAME_NOREPLACE);
    else
        failed = change->exists ? replace_file(job, change, dir, name)
                                : link_new_file(job, change, dir, name);
    if (failed && change->drops && errno == EINVAL)
        failed = os_renameat(location->dir, location->name, dir, name, 0);
    if (!failed)
        return ETHOS_OK;
    if (errno == ENOENT || errno == EEXIST)
        return FILES_RETRY;
    return errno == EBUSY ? write_refuse(job, change, "is mounted and cannot be replaced",
                                         "set write_in_place: on to have it overwritten", error)
                          : change_error(job, change, error);
}

/*
 * The next key to swap, NULL to begin with. New files come first: so the last key is a file that
 * existed before, if there is one, and its state tells recovery whether all keys were swapped.
 */
static struct key_change *next_to_swap(struct write_job *job, const struct key_change *change)
{
    size_t at = change ? (size_t)(change - job->changes) + 1 : 0;
    for (int exists = change && change->exists; exists <= 1; exists++, at = 0) {
        for (; at < job->count; at++) {
            if (has_file_change(&job->changes[at]) && job->changes[at].exists == exists)
                return &job->changes[at];
        }
    }
    return NULL;
}

/* Swaps all files; each is durable before the next one changes. */
static int swap_files(struct write_job *job, struct ethos_error *error)
{
    int code = ETHOS_OK;
    struct key_change *change = next_to_swap(job, NULL);
    while (code == ETHOS_OK && change) {
        struct key_change *next = next_to_swap(job, change);
        code = swap_file(job, change, error);
        if (code == ETHOS_OK && next && job->self->durable && os_fsync(change->location->dir) != 0)
            code = change_error(job, change, error);
        change = next;
    }
    return code;
}

/* ---- after the swap ------------------------------------------------------------------------- */

/*
 * Checks that what was displaced is what was read. It is now .new, or .old where there is no
 * exchange.
 */
static int inspect_displaced(struct write_job *job, struct key_change *change,
                             struct ethos_error *error)
{
    struct ethos_text found = {0};
    struct stat st;
    char name[FILES_TEMP_SIZE];
    if (!change->exists || change->in_place)
        return ETHOS_OK;
    int dir = temp_name(job, change, FILES_OLD, name);
    if (change->drops || os_fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        temp_name(job, change, FILES_NEW, name);
    int code = files_location_read(job->self, change->location->path, dir, name,
                                   change->file->revision, 0, &found, &st, &change->watched, error);
    bool same = code == ETHOS_OK &&
                view_eq(view_of(found.data, found.size), change_file_text(change));
    edit_free_text(job->self->host, &found);
    if (code == ETHOS_NOTFOUND || (code == ETHOS_OK && !same))
        return FILES_RETRY;
    return code;
}

static int inspect_all_displaced(struct write_job *job, struct ethos_error *error)
{
    for (size_t i = 0; i < job->count; i++) {
        if (has_file_change(&job->changes[i]))
            TRY(inspect_displaced(job, &job->changes[i], error));
    }
    return ETHOS_OK;
}

static int sync_last_dir(struct write_job *job, struct ethos_error *error)
{
    struct key_change *last = next_to_swap(job, NULL);
    for (struct key_change *next = last; next; next = next_to_swap(job, next))
        last = next;
    if (!last || !job->self->durable || os_fsync(last->location->dir) == 0)
        return ETHOS_OK;
    char shown[PATH_MAX];
    const char *why = strerrordesc_np(errno);
    int code = err_set(error, ETHOS_IO, "%s: written, but may or may not survive a power cut: %s",
                       files_full_path(job->self, last->location->path, shown),
                       why ? why : "sync failed");
    return err_hint(error, code, "check the disk, then read the text before writing it again");
}

/*
 * Removes what was displaced; while somebody may write to it, it stays as .old to be inspected
 * again.
 */
static void remove_displaced(struct write_job *job)
{
    char name[FILES_TEMP_SIZE], old[FILES_TEMP_SIZE];
    for (size_t i = 0; i < job->count; i++) {
        struct key_change *change = &job->changes[i];
        if (!has_file_change(change))
            continue;
        int dir = temp_name(job, change, FILES_NEW, name);
        temp_name(job, change, FILES_OLD, old);
        if (change->drops)
            files_key_dirs_prune(job->self, &job->lock, change->location->key);
        if (change->watched)
            os_renameat(dir, name, dir, old, RENAME_NOREPLACE);
        else if (os_unlinkat(dir, name, 0) != 0 && errno == ENOENT)
            os_unlinkat(dir, old, 0);
        temp_name(job, change, FILES_GONE, name);
        if (change->drops)
            os_unlinkat(dir, name, 0);
    }
    files_journal_index(job->self, &job->lock, &job->journal);
}

/* ---- one change ----------------------------------------------------------------------------- */

static int publish_files(struct write_job *job, struct history_record *records, size_t count,
                         struct ethos_error *error)
{
    TRY(write_drafts(job, error));
    TRY(sync_draft_names(job, error));
    TRY(recheck_files(job, error));
    TRY(append_journal(job, records, count, error));
    TRY(recheck_files(job, error));
    TRY(swap_files(job, error));
    TRY(inspect_all_displaced(job, error));
    job->inspected = true;
    return sync_last_dir(job, error);
}

/* Removes the drafts of a round whose lines are not in the history. */
static void discard_drafts(struct write_job *job)
{
    char name[FILES_TEMP_SIZE];
    for (size_t i = 0; i < job->count; i++) {
        struct key_change *change = &job->changes[i];
        if (!change->drafted)
            continue;
        int dir = temp_name(job, change, change->drops ? FILES_GONE : FILES_DRAFT, name);
        if (change->puts)
            files_key_dirs_prune(job->self, &job->lock, change->location->key);
        os_unlinkat(dir, name, 0);
        change->drafted = false;
    }
}

/*
 * Once every file is swapped and inspected, only the last sync can have failed: then the texts
 * stay, though nobody can say for how long. Before that, recovery takes the lines and files back.
 */
int write_publish(struct write_job *job, struct history_record *records, size_t count,
                  struct ethos_error *error)
{
    struct ethos_error second = {.text = "it was moved away"};
    char shown[PATH_MAX];
    int code = publish_files(job, records, count, error);
    if (code == ETHOS_OK) {
        remove_displaced(job);
        return ETHOS_OK;
    }
    if (!job->journaled) {
        discard_drafts(job);
        return code;
    }
    if (files_recover(job->self, &job->lock, &job->journal, job->scope, job->locations, job->count,
                      job->inspected ? "" : job->txn, &second) == ETHOS_OK)
        return code;
    code = err_set(error, ETHOS_IO, "%s: may or may not have changed: %s",
                   files_full_path(job->self, job->lock.path, shown), second.text);
    return err_hint(error, code, "read the text before writing it again");
}
