/*
 * files_write.c: update: the write protocol of one scope's directory.
 *
 *     for each round:
 *         files_hold_open     open the directory, take its lock
 *         files_ops_recall    was this operation done before? then that is the answer
 *         load_all, edit_ask  read the texts, ask the callback
 *         allow_all           refuse what must not be replaced
 *         draft_all           new texts to drafts, with mode and owner of the old, synced
 *         files_ops_prepare   all about its operation id that can fail
 *         recheck_all         still the files that were read? else the next round
 *         publish_all         rename in the order given, directory synced after each
 *         files_ops_append    the operation id, synced
 *     and whatever happens, nothing is left behind but the old texts or the new ones.
 *
 * The steps are functions of their own so that others can come between them: a journal after
 * draft_all, an exchange in place of the rename, recovery before load_all.
 *
 * A key that is a symbolic link stays one: its target is replaced, by a draft beside that target so
 * that the rename stays on one file system. Dropping such a key is refused, because it is not clear
 * whether the link or the text is meant.
 */
#include "store/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/os.h"
#include "base/view.h"
#include "store/edit.h"

#define ROUNDS 100
#define DRAFT_SIZE (NAME_MAX + sizeof "." FILES_LINK_DRAFT)

/* One key on its way. */
struct change {
    struct ethos_edit *edit;
    char path[FILES_PATH_SIZE];
    int dir; /* that holds the file: the scope's, or that of a link's target */
    char name[NAME_MAX + 1];
    bool linked;
    struct stat dir_seen; /* of dir, when linked */
    int lock;             /* on dir, when it is not the scope's own; else -1 */
    bool exists;
    struct stat seen;
    bool drafted, published;
};

struct job {
    struct files *self;
    struct ethos_edit *edits;
    const struct ethos_origin *origin;
    struct files_hold hold;
    struct files_ops ops;
    struct change *changes;
    size_t count;
};

/* ---- reading -------------------------------------------------------------------------------- */

static bool same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* Whether the directory of change is locked already: by the scope, or by a key before it. */
static bool is_locked(const struct job *job, const struct change *change)
{
    if (job->hold.lock < 0)
        return true; // the first question is asked without any lock
    for (const struct change *other = job->changes; other < change; other++) {
        if (other->lock >= 0 && same_inode(&other->dir_seen, &change->dir_seen))
            return true;
    }
    return false;
}

/* Forgets where a link led. */
static void leave_link(const struct job *job, struct change *change)
{
    if (change->dir >= 0 && change->dir != job->hold.dir)
        os_close(change->dir);
    if (change->lock >= 0)
        os_close(change->lock);
    change->dir = change->lock = -1;
    change->linked = false;
}

/* Points change at the file its link leads to, in a directory that is locked as well. */
static int follow_link(struct job *job, struct change *change, struct ethos_error *error)
{
    struct files *self = job->self;
    struct stat own;
    int dir = files_open_target(self, job->hold.dir, change->edit->key, change->path, change->name,
                                &change->dir_seen, error);
    if (dir < 0)
        return dir;
    change->dir = dir;
    change->linked = true;
    if (os_fstat(job->hold.dir, &own) != 0)
        return files_errno(self, errno, job->hold.path, error);
    if (same_inode(&own, &change->dir_seen)) {
        os_close(dir);
        change->dir = job->hold.dir;
        return ETHOS_OK;
    }
    if (is_locked(job, change))
        return ETHOS_OK;
    int lock = files_lock_other(self, dir, change->path, error);
    if (lock < 0)
        return lock;
    change->lock = lock;
    return ETHOS_OK;
}

/* Opens the text of a key and notes where it is. ETHOS_NOTFOUND when there is none. */
static int open_change(struct job *job, struct change *change, struct ethos_error *error)
{
    const int flags = FILES_READ_FLAGS | O_NOFOLLOW;
    const char *key = change->edit->key;
    leave_link(job, change);
    change->dir = job->hold.dir;
    memcpy(change->name, key, strlen(key) + 1);
    if (job->hold.dir < 0)
        return ETHOS_NOTFOUND;
    int fd = os_openat(change->dir, change->name, flags, 0);
    if (fd < 0 && errno == ELOOP) {
        int code = follow_link(job, change, error);
        if (code != ETHOS_OK)
            return code;
        fd = os_openat(change->dir, change->name, flags, 0);
    }
    if (fd < 0)
        return errno == ENOENT ? ETHOS_NOTFOUND
                               : files_errno(job->self, errno, change->path, error);
    return fd;
}

static int load(struct job *job, struct change *change, struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    int fd = open_change(job, change, error);
    change->exists = fd >= 0;
    if (fd == ETHOS_NOTFOUND) {
        edit_absent(job->self->host, change->edit);
        return ETHOS_OK;
    }
    if (fd < 0)
        return fd;
    int code = files_load(job->self, fd, change->path, &whole, &change->edit->old, &change->seen,
                          error);
    os_close(fd);
    return code;
}

static int load_all(struct job *job, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < job->count; i++)
        code = load(job, &job->changes[i], error);
    return code;
}

/* ---- refusing ------------------------------------------------------------------------------- */

static int refuse(const struct job *job, const struct change *change, const char *why,
                  const char *hint, struct ethos_error *error)
{
    char shown[PATH_MAX];
    int code = err_set(error, ETHOS_DENIED, "%s %s", files_show(job->self, change->path, shown),
                       why);
    return err_hint(error, code, "%s", hint);
}

/* Two keys of this update that are one file: the later would undo the earlier. */
static bool is_twin(const struct job *job, const struct change *change)
{
    for (const struct change *other = job->changes; other < change; other++) {
        if (other->exists && edit_changes(other->edit) && same_inode(&other->seen, &change->seen))
            return true;
    }
    return false;
}

static int allow(const struct job *job, const struct change *change, struct ethos_error *error)
{
    if (!change->exists)
        return ETHOS_OK;
    if (is_twin(job, change))
        return refuse(job, change, "is the same file as another key of this update",
                      "make it a file of its own", error);
    if (change->edit->verdict == ETHOS_EDIT_DROP)
        return change->linked ? refuse(job, change, "is a symbolic link and is not removed",
                                       "remove the link or its target by hand", error)
                              : ETHOS_OK;
    if (change->seen.st_nlink > 1)
        return refuse(job, change, "has another hard link, which would keep the old text",
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

static int allow_all(const struct job *job, struct ethos_error *error)
{
    int code = check_all_private(job, error);
    for (size_t i = 0; code == ETHOS_OK && i < job->count; i++) {
        if (edit_changes(job->changes[i].edit))
            code = allow(job, &job->changes[i], error);
    }
    return code;
}

/* ---- drafts --------------------------------------------------------------------------------- */

/* The directory of a key's draft, and its name there. */
static int draft_place(const struct job *job, const struct change *change, char name[DRAFT_SIZE])
{
    bool own = change->dir == job->hold.dir;
    snprintf(name, DRAFT_SIZE, own ? "%s" FILES_DRAFT : ".%s" FILES_LINK_DRAFT, change->name);
    return own ? job->hold.tmp : change->dir;
}

int files_draft_create(int dir, const char *name)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    int fd = os_openat(dir, name, flags, 0600);
    if (fd < 0 && errno == EEXIST && os_unlinkat(dir, name, 0) == 0)
        fd = os_openat(dir, name, flags, 0600);
    return fd;
}

/* Gives the draft mode and owner of the file it is to replace. */
static int adopt(const struct job *job, const struct change *change, int fd,
                 struct ethos_error *error)
{
    if (!change->exists || os_adopt(fd, &change->seen) == 0)
        return ETHOS_OK;
    return errno != EPERM ? files_fail(job->self, errno, change->path, error)
                          : refuse(job, change, "belongs to another user or group",
                                   "write as its owner, or chown it to yourself", error);
}

static int draft(struct job *job, struct change *change, struct ethos_view text,
                 struct ethos_error *error)
{
    char name[DRAFT_SIZE];
    int code = files_hold_tmp(job->self, &job->hold, error);
    if (code != ETHOS_OK)
        return code;
    int fd = files_draft_create(draft_place(job, change, name), name);
    if (fd < 0)
        return files_fail(job->self, errno, change->path, error);
    change->drafted = true;
    code = adopt(job, change, fd, error);
    if (code == ETHOS_OK && (os_write_all(fd, text.data, text.size) != 0 || os_fdatasync(fd) != 0))
        code = files_fail(job->self, errno, change->path, error);
    if (os_close(fd) != 0 && code == ETHOS_OK)
        code = files_fail(job->self, errno, change->path, error);
    return code;
}

static void discard(struct job *job, struct change *change)
{
    char name[DRAFT_SIZE];
    if (change->drafted)
        os_unlinkat(draft_place(job, change, name), name, 0);
    change->drafted = false;
}

static int draft_all(struct job *job, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < job->count; i++) {
        struct change *change = &job->changes[i];
        if (change->edit->verdict == ETHOS_EDIT_PUT && edit_changes(change->edit))
            code = draft(job, change, change->edit->text, error);
    }
    return code;
}

/* ---- publishing ----------------------------------------------------------------------------- */

/* Every key, also those that stay: the verdicts rest on all texts that were read. */
static int recheck_all(const struct job *job, struct ethos_error *error)
{
    for (size_t i = 0; i < job->count; i++) {
        const struct change *change = &job->changes[i];
        struct stat now;
        bool exists = os_fstatat(change->dir, change->name, &now, AT_SYMLINK_NOFOLLOW) == 0;
        if (!exists && errno != ENOENT)
            return files_errno(job->self, errno, change->path, error);
        if (exists != change->exists || (exists && !files_same(&now, &change->seen)))
            return FILES_MOVED;
    }
    return ETHOS_OK;
}

/* Renames the draft over the file. Where there was none, one that appeared meanwhile stays. */
static int rename_draft(const struct job *job, struct change *change, bool replace)
{
    char name[DRAFT_SIZE];
    int dir = draft_place(job, change, name);
    int failed = os_renameat(dir, name, change->dir, change->name, replace ? 0 : RENAME_NOREPLACE);
    if (failed && errno == EINVAL && !replace) // a file system that knows no flags
        failed = os_renameat(dir, name, change->dir, change->name, 0);
    if (!failed)
        change->drafted = false;
    return failed;
}

static int publish(const struct job *job, struct change *change, struct ethos_error *error)
{
    int failed = change->edit->verdict == ETHOS_EDIT_DROP
                     ? os_unlinkat(change->dir, change->name, 0)
                     : rename_draft(job, change, change->exists);
    if (failed)
        return errno == EEXIST ? FILES_MOVED : files_fail(job->self, errno, change->path, error);
    change->published = true;
    return ETHOS_OK;
}

static bool sync_dir(const struct job *job, const struct change *change)
{
    return !job->self->durable || os_fsync(change->dir) == 0;
}

static int indeterminate(const struct job *job, const struct change *change,
                         struct ethos_error *error)
{
    char shown[PATH_MAX];
    const char *why = strerrordesc_np(errno);
    int code = err_set(error, ETHOS_IO, "%s: written, but may or may not survive a power cut: %s",
                       files_show(job->self, change->path, shown), why ? why : "sync failed");
    return err_hint(error, code, "check the disk, then read the text before writing it again");
}

/* Puts the old text of a published key back. */
static int take_back(struct job *job, struct change *change)
{
    const struct ethos_text *old = &change->edit->old;
    if (!change->exists)
        return os_unlinkat(change->dir, change->name, 0);
    if (draft(job, change, view_of(old->data, old->size), NULL) != ETHOS_OK)
        return -1;
    return rename_draft(job, change, true);
}

static int take_back_all(struct job *job, int code, struct ethos_error *error)
{
    for (size_t i = job->count; i-- > 0;) {
        struct change *change = &job->changes[i];
        char shown[PATH_MAX];
        if (!change->published)
            continue;
        if (take_back(job, change) == 0)
            change->published = false;
        else
            code = err_set(error, ETHOS_IO, "%s: changed, and could not be put back",
                           files_show(job->self, change->path, shown));
    }
    return code;
}

/* The last key that changes: once it is published, there is no way back. */
static const struct change *last_change(const struct job *job)
{
    const struct change *last = NULL;
    for (size_t i = 0; i < job->count; i++) {
        if (edit_changes(job->changes[i].edit))
            last = &job->changes[i];
    }
    return last;
}

static int publish_all(struct job *job, struct ethos_error *error)
{
    const struct change *last = last_change(job);
    for (struct change *change = job->changes; change <= last; change++) {
        if (!edit_changes(change->edit))
            continue;
        int code = publish(job, change, error);
        if (code == ETHOS_OK && !sync_dir(job, change)) {
            if (change == last)
                return indeterminate(job, change, error);
            code = files_errno(job->self, errno, change->path, error);
        }
        if (code != ETHOS_OK)
            return take_back_all(job, code, error);
    }
    return ETHOS_OK;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* Closes and removes what a round leaves, and what was made for it if that holds no text. */
static void end_round(struct job *job)
{
    bool written = false; // by this round, or by another process for the same operation
    for (size_t i = 0; i < job->count; i++) {
        struct change *change = &job->changes[i];
        written |= change->published || change->edit->verdict == ETHOS_EDIT_REPEATED;
        change->published = false;
        discard(job, change);
    }
    for (size_t i = 0; i < job->count; i++)
        leave_link(job, &job->changes[i]);
    files_ops_close(job->self, &job->ops, !written);
    files_hold_close(job->self, &job->hold, !written);
}

static int ask(struct job *job, ethos_edit_fn *edit, void *arg, struct ethos_error *error)
{
    int code = files_ops_recall(job->self, &job->hold, &job->ops, job->origin, job->edits,
                                job->count, error);
    if (code != ETHOS_NOTFOUND)
        return code;
    code = load_all(job, error);
    return code == ETHOS_OK ? edit_ask(job->edits, job->count, edit, arg, error) : code;
}

/*
 * Asks under the lock. Where nobody has written before there is no lock: then the question is asked
 * without one first, since "nothing to do" must not make a directory.
 */
static int ask_locked(struct job *job, ethos_edit_fn *edit, void *arg, struct ethos_error *error)
{
    int code = files_hold_open(job->self, &job->hold, error);
    if (code == ETHOS_OK && job->hold.lock < 0) {
        code = ask(job, edit, arg, error);
        if (code != ETHOS_OK || !edit_any_changes(job->edits, job->count))
            return code;
        code = files_hold_make(job->self, &job->hold, error);
    }
    return code == ETHOS_OK ? ask(job, edit, arg, error) : code;
}

/* Does what the verdicts say. */
static int carry_out(struct job *job, struct ethos_error *error)
{
    int code = allow_all(job, error);
    if (code == ETHOS_OK)
        code = draft_all(job, error);
    if (code == ETHOS_OK)
        code = files_ops_prepare(job->self, &job->hold, &job->ops, job->origin, job->edits,
                                 job->count, error);
    if (code == ETHOS_OK)
        code = recheck_all(job, error);
    if (code == ETHOS_OK)
        code = publish_all(job, error);
    return code == ETHOS_OK ? files_ops_append(job->self, &job->hold, &job->ops, error) : code;
}

static int round_trip(struct job *job, ethos_edit_fn *edit, void *arg, struct ethos_error *error)
{
    files_ops_init(&job->ops);
    int code = ask_locked(job, edit, arg, error);
    if (code == ETHOS_OK)
        edit_finish(job->edits, job->count);
    if (code == ETHOS_OK && edit_any_changes(job->edits, job->count))
        code = carry_out(job, error);
    end_round(job);
    return code;
}

static int make_changes(struct job *job, const char *scope, struct ethos_error *error)
{
    const struct ethos_host *host = job->self->host;
    job->changes = host->resize(host->arg, NULL, job->count * sizeof *job->changes);
    if (!job->changes)
        return err_nomem(error);
    memset(job->changes, 0, job->count * sizeof *job->changes);
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < job->count; i++) {
        struct change *change = &job->changes[i];
        change->edit = &job->edits[i];
        change->dir = change->lock = -1;
        code = files_key_path(scope, change->edit->key, change->path, error);
    }
    return code;
}

int files_update(struct ethos_store *store, const char *scope, struct ethos_edit *edits,
                 size_t count, ethos_edit_fn *edit, void *arg, const struct ethos_origin *origin,
                 struct ethos_error *error)
{
    struct job job = {
        .self = (struct files *)store, .edits = edits, .count = count, .origin = origin};
    int code = files_scope_path(scope, job.hold.path, error);
    if (code == ETHOS_OK)
        code = edit_check(edits, count, error);
    if (code != ETHOS_OK || count == 0)
        return code;
    code = make_changes(&job, scope, error);
    if (code == ETHOS_OK)
        code = FILES_MOVED;
    for (int i = 0; code == FILES_MOVED && i < ROUNDS; i++)
        code = round_trip(&job, edit, arg, error);
    if (code == FILES_MOVED)
        code = files_errno(job.self, EAGAIN, job.hold.path, error);
    if (job.changes)
        job.self->host->resize(job.self->host->arg, job.changes, 0);
    return code;
}
