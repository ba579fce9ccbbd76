/*
 * files_write.c: update: the write protocol of one scope's directory.
 *
 *     for each round:
 *         files_hold_open         open the directory, take its lock
 *         files_journal_open      the end of its history
 *         files_recover           what a dead writer left is finished or taken back
 *         load_all                read the texts
 *         judge_all               what was changed outside is recorded; where that asks for another
 *                                 text, this round writes it and the next one goes on
 *         files_journal_recall    was this operation done before? then that is the answer
 *         edit_ask                the callback
 *         carry_out:
 *             allow_all           refuse what must not be replaced
 *             draft_all           new texts to drafts, with mode and owner of the old, synced
 *             recheck_all         still the files that were read? else the next round
 *             journal_all         one line for each key, synced; the drafts may be swapped now
 *             recheck_all
 *             swap_all            exchange in the order given, directory synced
 *             inspect_all         what was displaced must be what was read
 *             finish_all          what was displaced goes
 *     and whatever goes wrong after journal_all, files_recover takes it back before the lock is freed.
 *
 * Dropping a key that is a symbolic link is refused, because it is not clear whether the link or the
 * text is meant.
 */
#include "store/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/os.h"
#include "base/view.h"
#include "store/edit.h"
#include "store/opid.h"

#define ROUNDS 100
#define ABSENT_MS 150    /* how long a known file may be missing while an editor saves it */
#define ABSENT_STEP_MS 2 /* between two looks */
#define RECENT_MS 30000  /* a file changed since may not be durable yet */

/* One key on its way. */
struct change {
    struct ethos_edit *edit;
    struct files_spot *spot;
    struct history_last last; /* what is recorded of it */
    bool exists;
    struct stat seen;
    bool puts, drops; /* what is to become of the file */
    struct ethos_view text;
    bool drafted;
    bool in_place; /* it was overwritten, nothing was displaced */
    bool watched;  /* somebody may still write to what was displaced */
};

struct job {
    struct files *self;
    const char *scope;
    const struct ethos_origin *origin;
    struct ethos_edit *edits;
    struct files_spot *spots;
    struct change *changes;
    size_t count;

    /* of one round */
    struct files_hold hold;
    struct files_journal journal;
    struct arena arena;
    char txn[FILES_TXN_SIZE];
    bool journaled; /* the lines of this round's change stand in the history */
    bool inspected; /* and its texts in the files, what they displaced being what was read */
    bool written;   /* something stays: no making is undone */
};

static bool changes_file(const struct change *change)
{
    return change->puts || change->drops;
}

static int fail(const struct job *job, const struct change *change, struct ethos_error *error)
{
    return files_fail(job->self, errno, change->spot->path, error);
}

static bool same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* ---- reading -------------------------------------------------------------------------------- */

static int read_once(struct job *job, struct change *change, struct ethos_error *error)
{
    bool busy;
    if (job->hold.dir < 0)
        return ETHOS_NOTFOUND;
    return files_spot_read(job->self, change->spot->path, change->spot->dir, change->spot->name,
                           change->last.hash, &change->edit->old, &change->seen, &busy, error);
}

/* Some editors take a file away for a moment while they save it. */
static int load(struct job *job, struct change *change, struct ethos_error *error)
{
    int code = files_journal_last(&job->journal, change->edit->key, &change->last, error);
    if (code != ETHOS_OK)
        return code;
    code = read_once(job, change, error);
    bool expected = change->last.any && !change->last.absent;
    for (int i = 0; code == ETHOS_NOTFOUND && expected && i < ABSENT_MS / ABSENT_STEP_MS; i++) {
        os_sleep_ms(ABSENT_STEP_MS);
        code = read_once(job, change, error);
    }
    change->exists = code == ETHOS_OK;
    if (code != ETHOS_NOTFOUND)
        return code;
    edit_absent(job->self->host, change->edit);
    return ETHOS_OK;
}

static int open_spots(struct job *job, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < job->count; i++) {
        files_spot_close(&job->hold, &job->spots[i]);
        code = files_spot_open(job->self, &job->hold, job->scope, job->edits[i].key, job->spots, i,
                               &job->spots[i], error);
    }
    return code;
}

static int load_all(struct job *job, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < job->count; i++) {
        struct change *change = &job->changes[i];
        change->puts = change->drops = change->in_place = change->watched = false;
        code = load(job, change, error);
    }
    return code;
}

/* ---- refusing ------------------------------------------------------------------------------- */

static int refuse(const struct job *job, const struct change *change, const char *why,
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
        if (other->exists && changes_file(other) && same_inode(&other->seen, &change->seen))
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
    if (change->drops)
        return change->spot->linked ? refuse(job, change, "is a symbolic link and is not removed",
                                             "remove the link or its target by hand", error)
                                    : ETHOS_OK;
    if (change->seen.st_nlink > 1 && !job->self->in_place)
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
        if (changes_file(&job->changes[i]))
            code = allow(job, &job->changes[i], error);
    }
    return code;
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
                              : refuse(job, change, "belongs to another user or group",
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
        if (changes_file(&job->changes[i]))
            code = draft(job, &job->changes[i], error);
    }
    return code;
}

/* For a round whose lines do not stand in the history. */
static void discard_all(struct job *job)
{
    char name[FILES_TEMP_SIZE];
    for (size_t i = 0; i < job->count; i++) {
        struct change *change = &job->changes[i];
        int dir = temp_of(job, change, change->drops ? FILES_GONE : FILES_DRAFT, name);
        if (change->drafted)
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
 * Every key, also those that stay: the verdicts rest on all texts that were read. And the lock must
 * still have its name: whoever takes .mem away lets others in.
 */
static int recheck_all(const struct job *job, struct ethos_error *error)
{
    struct stat st;
    if (os_fstat(job->hold.lock, &st) != 0)
        return files_errno(job->self, errno, job->hold.path, error);
    int code = st.st_nlink > 0 ? ETHOS_OK : FILES_MOVED;
    for (size_t i = 0; code == ETHOS_OK && i < job->count; i++)
        code = recheck(job, &job->changes[i], error);
    return code;
}

/* ---- the history ---------------------------------------------------------------------------- */

/* Which file each line replaces, so that recovery can tell whether it did. */
static int mark_files(struct job *job, struct history_record *records, size_t count,
                      struct ethos_error *error)
{
    for (size_t i = 0; i < count; i++) {
        char was[FILES_WAS_SIZE];
        for (size_t k = 0; k < job->count; k++) {
            const struct change *change = &job->changes[k];
            if (!changes_file(change) || !change->exists ||
                !view_eq_str(records[i].key, change->edit->key) ||
                view_eq(records[i].actions, VIEW("external")))
                continue;
            files_was(&change->seen, was);
            records[i].was = view_str(arena_str(&job->arena, was));
            if (!records[i].was.data)
                return err_nomem(error);
        }
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

static const char *actions_of(const struct change *change)
{
    return change->edit->actions ? change->edit->actions : change->drops ? "delete" : "replace";
}

static int make_record(struct job *job, const struct change *change, struct history_record *out,
                       struct ethos_error *error)
{
    static const struct ethos_origin nobody;
    const struct ethos_origin *origin = job->origin ? job->origin : &nobody;
    const struct ethos_text *old = &change->edit->old;
    *out = (struct history_record){
        .scope = view_str(job->scope),
        .key = view_str(change->edit->key),
        .actions = view_str(actions_of(change)),
        .source = view_str(origin->source ? origin->source : "tool"),
        .session = view_str(origin->session),
        .session_key = view_str(origin->session_key),
        .op_id = view_str(origin->op_digest ? origin->op_id : NULL),
        .user = view_str(origin->user),
        .via = view_str(origin->via),
        .undoes = view_str(origin->undoes),
        .actor = view_str(origin->actor),
    };
    struct ethos_view before = view_of(old->data, old->size);
    return files_describe(job->self, &job->hold, &change->last, before,
                          change->drops ? (struct ethos_view){0} : change->text, &job->arena, out,
                          error);
}

/* The last line carries the record by which a repeat is known and answered. */
static int add_op(struct job *job, struct history_record *last, struct ethos_error *error)
{
    struct str op;
    if (!opid_given(job->origin))
        return ETHOS_OK;
    str_init(&op, ETHOS_MAX_STORE_BYTES);
    int64_t now_ms = job->self->host->now_ms(job->self->host->arg);
    int code = opid_record(job->origin, now_ms, job->edits, job->count, &op, error);
    if (code == ETHOS_OK) {
        last->op = view_str(arena_copy(&job->arena, str_view(&op)));
        if (!last->op.data)
            code = err_nomem(error);
    }
    str_release(&op);
    return code;
}

static int make_records(struct job *job, struct history_record **out, size_t *out_count,
                        struct ethos_error *error)
{
    size_t count = 0;
    struct history_record *records = arena_array(&job->arena, job->count, sizeof *records);
    if (!records)
        return err_nomem(error);
    for (size_t i = 0; i < job->count; i++) {
        if (!changes_file(&job->changes[i]))
            continue;
        int code = make_record(job, &job->changes[i], &records[count++], error);
        if (code != ETHOS_OK)
            return code;
    }
    *out = records;
    *out_count = count;
    return add_op(job, &records[count - 1], error);
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
static int swap_by_link(const struct job *job, const struct change *change, int dir,
                        const char *name)
{
    const struct files_spot *spot = change->spot;
    struct stat now;
    char old[FILES_TEMP_SIZE];
    temp_of(job, change, FILES_OLD, old);
    if (os_linkat(spot->dir, spot->name, dir, old) != 0)
        return -1;
    if (os_fstatat(dir, old, &now, AT_SYMLINK_NOFOLLOW) != 0 || !same_inode(&now, &change->seen) ||
        os_fstatat(spot->dir, spot->name, &now, AT_SYMLINK_NOFOLLOW) != 0 ||
        !same_inode(&now, &change->seen)) {
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
    return errno == EBUSY ? refuse(job, change, "is mounted and cannot be replaced",
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
            if (changes_file(&job->changes[at]) && job->changes[at].exists == exists)
                return &job->changes[at];
        }
    }
    return NULL;
}

/* Where all files are new, only the names of .new tell: those must survive a power cut then. */
static int sync_names(struct job *job, struct ethos_error *error)
{
    size_t count = 0;
    bool all_new = true;
    for (struct change *at = next_swap(job, NULL); at; at = next_swap(job, at), count++)
        all_new = all_new && !at->exists;
    if (count < 2 || !all_new || !job->self->durable || os_fsync(job->hold.tmp) == 0)
        return ETHOS_OK;
    return files_fail(job->self, errno, job->hold.path, error);
}

/* Several keys: an earlier one is durable before a later one changes. */
static int swap_all(struct job *job, struct ethos_error *error)
{
    int code = sync_names(job, error);
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
    const struct ethos_text *old = &change->edit->old;
    if (!change->exists || change->in_place)
        return ETHOS_OK;
    int dir = temp_of(job, change, FILES_OLD, name);
    if (change->drops || os_fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        temp_of(job, change, FILES_NEW, name);
    int code = files_spot_read(job->self, change->spot->path, dir, name, old->revision, &found, &st,
                               &change->watched, error);
    bool same = code == ETHOS_OK &&
                view_eq(view_of(found.data, found.size), view_of(old->data, old->size));
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
        if (changes_file(&job->changes[i]))
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
        if (!changes_file(change))
            continue;
        int dir = temp_of(job, change, FILES_NEW, name);
        temp_of(job, change, FILES_OLD, old);
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
    struct ethos_error second;
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

static int carry_out(struct job *job, struct history_record *records, size_t count,
                     struct ethos_error *error)
{
    int code = publish(job, records, count, error);
    if (code != ETHOS_OK)
        return retreat(job, code, error);
    finish_all(job);
    return ETHOS_OK;
}

static int start_txn(struct job *job, struct ethos_error *error)
{
    job->journaled = job->inspected = false;
    return files_txn_name(job->txn) == 0 ? ETHOS_OK
                                         : files_fail(job->self, errno, job->hold.path, error);
}

/* ---- what was changed outside --------------------------------------------------------------- */

static bool is_outside(const struct change *change)
{
    const struct history_last *last = &change->last;
    if (!last->any)
        return false;
    return change->exists ? last->absent || strcmp(change->edit->old.revision, last->hash) != 0
                          : !last->absent;
}

/* All that the verdicts ask for, in order. */
struct sentence {
    struct history_record *records;
    size_t count;
    bool rewrites;
};

static int add_verdict(struct job *job, struct sentence *all, const struct files_verdict *verdict,
                       struct ethos_error *error)
{
    struct history_record *records = arena_array(&job->arena, all->count + verdict->count,
                                                 sizeof *records);
    if (!records)
        return err_nomem(error);
    if (all->count > 0)
        memcpy(records, all->records, all->count * sizeof *records);
    if (verdict->count > 0)
        memcpy(records + all->count, verdict->records, verdict->count * sizeof *records);
    all->records = records;
    all->count += verdict->count;
    all->rewrites = all->rewrites || verdict->rewrites;
    return ETHOS_OK;
}

/* The file is to get a text that entries come back with; where it must not be replaced, they do not. */
static int plan_rewrite(struct job *job, struct change *change, struct files_verdict *verdict,
                        struct ethos_error *error)
{
    change->puts = true;
    change->text = view_of(arena_copy(&job->arena, str_view(&verdict->text)), verdict->text.size);
    if (!change->text.data)
        return err_nomem(error);
    if (allow(job, change, NULL) == ETHOS_OK)
        return ETHOS_OK;
    change->puts = verdict->rewrites = false;
    verdict->count = 1;
    verdict->records[0].event = VIEW("dropped");
    return ETHOS_OK;
}

static int judge(struct job *job, struct change *change, struct sentence *all,
                 struct ethos_error *error)
{
    struct files_verdict verdict = {0};
    const struct ethos_text *old = &change->edit->old;
    str_init(&verdict.text, ETHOS_MAX_STORE_BYTES);
    int code = files_judge(job->self, &job->hold, &job->journal, job->scope, change->edit->key,
                           view_of(old->data, old->size), &change->seen, &job->arena, &verdict,
                           error);
    if (code == ETHOS_OK && verdict.rewrites)
        code = plan_rewrite(job, change, &verdict, error);
    if (code == ETHOS_OK)
        code = add_verdict(job, all, &verdict, error);
    str_release(&verdict.text);
    return code;
}

/* Records what was changed outside. FILES_MOVED when that changed a text: begin again. */
static int judge_all(struct job *job, struct ethos_error *error)
{
    struct sentence all = {0};
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < job->count; i++) {
        if (is_outside(&job->changes[i]))
            code = judge(job, &job->changes[i], &all, error);
    }
    if (code != ETHOS_OK || all.count == 0)
        return code;
    code = start_txn(job, error);
    if (code == ETHOS_OK && all.rewrites) {
        code = carry_out(job, all.records, all.count, error);
        return code == ETHOS_OK ? FILES_MOVED : code;
    }
    if (code == ETHOS_OK)
        code = files_journal_append(job->self, &job->hold, &job->journal, job->txn, all.records,
                                    all.count, false, error);
    if (code != ETHOS_OK)
        return code;
    job->written = true;
    for (size_t i = 0; code == ETHOS_OK && i < job->count; i++)
        code = files_journal_last(&job->journal, job->edits[i].key, &job->changes[i].last, error);
    return code;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void begin_round(struct job *job)
{
    files_journal_init(&job->journal);
    arena_init(&job->arena);
    job->journaled = job->written = false;
}

static void end_round(struct job *job)
{
    for (size_t i = 0; i < job->count; i++)
        files_spot_close(&job->hold, &job->spots[i]);
    files_journal_close(&job->hold, &job->journal);
    files_hold_close(job->self, &job->hold, !job->written);
    arena_release(&job->arena);
}

/* Under the lock: everything that comes before the question. */
static int settle(struct job *job, struct ethos_error *error)
{
    int code = files_journal_open(job->self, &job->hold, &job->journal, error);
    if (code == ETHOS_OK)
        code = open_spots(job, error);
    if (code == ETHOS_OK)
        code = files_recover(job->self, &job->hold, &job->journal, job->scope, job->spots,
                             job->count, "", error);
    if (code == ETHOS_OK)
        code = load_all(job, error);
    return code == ETHOS_OK ? judge_all(job, error) : code;
}

/* Where nothing was ever written, the question is asked without a lock first: "nothing to do" must not make a directory. */
static int ask_lightly(struct job *job, ethos_edit_fn *edit, void *arg, struct ethos_error *error)
{
    int code = open_spots(job, error);
    if (code == ETHOS_OK)
        code = load_all(job, error);
    if (code == ETHOS_OK)
        code = edit_ask(job->edits, job->count, edit, arg, error);
    for (size_t i = 0; i < job->count; i++)
        files_spot_close(&job->hold, &job->spots[i]);
    return code;
}

static bool has_history(const struct job *job)
{
    struct stat st;
    return job->hold.dir >= 0 && os_fstatat(job->hold.dir, FILES_HISTORY, &st, 0) == 0;
}

static int lock(struct job *job, ethos_edit_fn *edit, void *arg, bool *out_asked,
                struct ethos_error *error)
{
    int code = files_hold_open(job->self, &job->hold, error);
    *out_asked = false;
    if (code != ETHOS_OK || job->hold.lock >= 0)
        return code;
    if (!has_history(job)) {
        code = ask_lightly(job, edit, arg, error);
        *out_asked = code != ETHOS_OK || !edit_any_changes(job->edits, job->count);
        if (*out_asked)
            return code;
    }
    return files_hold_make(job->self, &job->hold, error);
}

/* What is answered must be durable, also where this call had nothing left to do. */
static int sync_answer(struct job *job, struct ethos_error *error)
{
    int64_t now_ms = job->self->host->now_ms(job->self->host->arg);
    int code = files_journal_sync(job->self, &job->hold, &job->journal, error);
    for (size_t i = 0; code == ETHOS_OK && job->self->durable && i < job->count; i++) {
        const struct change *change = &job->changes[i];
        bool recent = change->exists &&
                      now_ms - (int64_t)change->seen.st_ctim.tv_sec * 1000 < RECENT_MS;
        bool repeated = change->edit->verdict == ETHOS_EDIT_REPEATED;
        if ((recent || repeated) && change->last.any && os_fsync(change->spot->dir) != 0)
            code = fail(job, change, error);
    }
    return code;
}

static int do_verdicts(struct job *job, struct ethos_error *error)
{
    struct history_record *records = NULL;
    size_t count = 0;
    for (size_t i = 0; i < job->count; i++) {
        struct change *change = &job->changes[i];
        bool changes = edit_changes(change->edit);
        change->puts = changes && change->edit->verdict == ETHOS_EDIT_PUT;
        change->drops = changes && change->edit->verdict == ETHOS_EDIT_DROP;
        change->text = change->edit->text;
    }
    int code = allow_all(job, error);
    if (code == ETHOS_OK)
        code = start_txn(job, error);
    if (code == ETHOS_OK)
        code = make_records(job, &records, &count, error);
    return code == ETHOS_OK ? carry_out(job, records, count, error) : code;
}

static int answer(struct job *job, ethos_edit_fn *edit, void *arg, struct ethos_error *error)
{
    int code = settle(job, error);
    if (code == ETHOS_OK)
        code = files_journal_recall(job->self, &job->hold, &job->journal, job->origin, job->edits,
                                    job->count, error);
    if (code == ETHOS_NOTFOUND)
        code = edit_ask(job->edits, job->count, edit, arg, error);
    if (code != ETHOS_OK)
        return code;
    edit_finish(job->edits, job->count);
    return edit_any_changes(job->edits, job->count) ? do_verdicts(job, error)
                                                    : sync_answer(job, error);
}

static int round_trip(struct job *job, ethos_edit_fn *edit, void *arg, struct ethos_error *error)
{
    bool asked;
    begin_round(job);
    int code = lock(job, edit, arg, &asked, error);
    if (code == ETHOS_OK && asked)
        edit_finish(job->edits, job->count);
    else if (code == ETHOS_OK)
        code = answer(job, edit, arg, error);
    end_round(job);
    return code;
}

static int make_changes(struct job *job, struct ethos_error *error)
{
    job->changes = calloc(job->count, sizeof *job->changes);
    job->spots = calloc(job->count, sizeof *job->spots);
    if (!job->changes || !job->spots)
        return err_nomem(error);
    for (size_t i = 0; i < job->count; i++) {
        const char *key = job->edits[i].key;
        if (files_is_history(key))
            return err_set(error, ETHOS_DENIED, "reserved memory key: %s", key);
        job->spots[i].dir = job->spots[i].lock = -1;
        job->changes[i].edit = &job->edits[i];
        job->changes[i].spot = &job->spots[i];
    }
    return ETHOS_OK;
}

int files_update(struct ethos_store *store, const char *scope, struct ethos_edit *edits,
                 size_t count, ethos_edit_fn *edit, void *arg, const struct ethos_origin *origin,
                 struct ethos_error *error)
{
    struct job job = {.self = (struct files *)store,
                      .scope = scope,
                      .edits = edits,
                      .count = count,
                      .origin = origin};
    int code = files_scope_path(scope, job.hold.path, error);
    if (code == ETHOS_OK)
        code = edit_check(edits, count, error);
    if (code != ETHOS_OK || count == 0)
        return code;
    code = make_changes(&job, error);
    if (code == ETHOS_OK)
        code = FILES_MOVED;
    for (int i = 0; code == FILES_MOVED && i < ROUNDS; i++)
        code = round_trip(&job, edit, arg, error);
    if (code == FILES_MOVED)
        code = files_errno(job.self, EAGAIN, job.hold.path, error);
    free(job.changes);
    free(job.spots);
    return code;
}
