/*
 * check_history.c: finds problems in the history, temporaries and conflict copies of a scope.
 *
 * Reports folders that cannot be used, history lines that cannot be read, temporaries of an
 * interrupted writer, edits that are not recorded yet, conflict copies, and missing features of
 * the file system. Checks that need a quiet scope are skipped while somebody writes. On request,
 * recovery removes temporaries and edits are recorded; history lines are never changed.
 */
#include "store/files/check_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/file.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/system/os.h"
#include "base/view.h"
#include "store/update_steps.h"

#define PROBE ".probe-" /* scratch files of check_device, which makes and removes them */

struct scope_check {
    struct store_check *check;
    const char *scope;
    char path[FILES_PATH_SIZE];
    int dir;
    bool unfinished; /* a leftover tells of a change that may or may not stand */
    bool blocked;    /* something of ours cannot be opened, and that was reported */
};

static void report_warning(const struct scope_check *site, const char *path, const char *problem,
                           const char *remedy)
{
    files_check_report(site->check, ETHOS_FINDING_WARNING, path, problem, remedy);
}

/* Reports a failure as a finding, unless memory ran out. */
static int report_failure(const struct scope_check *site, const char *path, int code,
                          const struct ethos_error *error)
{
    if (code == ETHOS_OK || code == ETHOS_NOTFOUND || code == FILES_RETRY)
        return ETHOS_OK;
    if (code == ETHOS_NOMEM)
        return err_nomem(site->check->error);
    files_check_report(site->check, ETHOS_FINDING_ERROR, path, error->text, error->hint);
    return ETHOS_OK;
}

/*
 * ---- nobody writes ----------------------------------------------------------------------------
 */

/* Takes the lock if there is one. False while somebody else has it. */
static bool try_lock_scope(const struct scope_check *site, int *out_lock)
{
    *out_lock = os_open_beneath(site->dir, FILES_LOCK, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
    if (*out_lock < 0)
        return errno == ENOENT;
    if (os_flock(*out_lock, LOCK_EX | LOCK_NB) == 0)
        return true;
    os_close(*out_lock);
    return false;
}

static void unlock_if_held(int lock)
{
    if (lock >= 0)
        os_close(lock);
}

/*
 * ---- what stands in the way -------------------------------------------------------------------
 */

/* Opens a file as a writer would. 0 when that works or it does not exist, else an errno. */
static int try_open_as_writer(int dir, const char *name, int flags)
{
    struct stat st;
    if (os_fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : errno;
    if (!(flags & O_DIRECTORY) && !S_ISREG(st.st_mode))
        return EINVAL; // not opened: opening a device can have side effects
    int fd = os_open_beneath(dir, name, flags, 0);
    if (fd >= 0)
        os_close(fd);
    bool vanished = fd < 0 && errno == ENOENT && !S_ISLNK(st.st_mode);
    return fd >= 0 || vanished || errno == EROFS ? 0 : errno;
}

/* Whether a file or folder of the store can be used; reports one that cannot. */
static bool check_usable(struct scope_check *site, const char *name, int flags)
{
    struct ethos_error error = {0};
    char path[FILES_PATH_SIZE];
    int errnum = try_open_as_writer(site->dir, name, flags);
    if (errnum == 0 || !files_check_join(path, site->path, name))
        return true;
    site->blocked = true;
    if (errnum == EINVAL || errnum == ENOTDIR || errnum == ENOENT || errnum == ELOOP ||
        errnum == EXDEV)
        files_check_command(site->check, ETHOS_FINDING_ERROR, path,
                            flags & O_DIRECTORY ? "is not a directory" : "is not a regular file",
                            "move it away: mv @ @.old");
    else if (files_errno(site->check->self, errnum, path, &error) == ETHOS_NOMEM)
        site->check->nomem = true;
    else
        files_check_report(site->check, ETHOS_FINDING_ERROR, path, error.text, error.hint);
    return false;
}

/*
 * ---- lines of the history ---------------------------------------------------------------------
 */

struct bad_lines {
    size_t first, count;     /* numbers from 1 */
    bool damaged;            /* the first: it was a line of ours */
    int64_t now_ms, last_ms; /* the time of now, and of the line before */
    size_t odd,
        odd_count;  /* lines whose time lies in the future or before the last: the clock jumped */
    int64_t odd_ms; /* the time of the first of them */
};

#define CLOCK_SLACK_MS 60000 /* that a clock may be set back or be ahead without being told of */

/* A clock that jumped shows in the times of lines only: their order is that of their numbers. */
static void check_line_time(const struct history_record *record, size_t number,
                            struct bad_lines *out)
{
    bool odd = !record->graft.data && (record->ts_ms > out->now_ms + CLOCK_SLACK_MS ||
                                       record->ts_ms + CLOCK_SLACK_MS < out->last_ms);
    if (odd && out->odd_count++ == 0) {
        out->odd = number;
        out->odd_ms = record->ts_ms;
    }
    if (!record->graft.data)
        out->last_ms = record->ts_ms;
}

static int count_bad_lines(struct ethos_view text, struct bad_lines *out)
{
    struct ethos_view line;
    struct history_record record;
    struct arena arena;
    int code = ETHOS_OK;
    const char *end = text.size ? memrchr(text.data, '\n', text.size) : NULL;
    text.size = end ? (size_t)(end - text.data) : 0; // an unfinished line may be being written
    for (size_t number = 1; code != ETHOS_NOMEM && view_line(&text, &line); number++) {
        arena_init(&arena);
        code = view_blank(line) ? ETHOS_OK : history_parse(line, &arena, &record);
        if (code == ETHOS_OK && !view_blank(line))
            check_line_time(&record, number, out);
        arena_release(&arena);
        if (code == ETHOS_OK || code == ETHOS_NOMEM || out->count++ > 0)
            continue;
        out->first = number;
        out->damaged = code == ETHOS_CORRUPT;
    }
    return code == ETHOS_NOMEM ? code : ETHOS_OK;
}

static void report_bad_lines(const struct scope_check *site, const char *path,
                             const struct bad_lines *bad)
{
    char problem[160], more[48] = "";
    if (bad->count > 1)
        snprintf(more, sizeof more, ", nor %zu other line%s", bad->count - 1,
                 bad->count > 2 ? "s" : "");
    snprintf(problem, sizeof problem, "line %zu is not a record of a change%s%s", bad->first,
             bad->damaged ? " any more: its checksum does not match" : "", more);
    report_warning(
        site, path, problem,
        "restore the line from a backup if you have one; without it, the change is not shown");
}

/* For information: lines are ordered by their numbers, so nothing has to be fixed. */
static void report_clock_jump(const struct scope_check *site, const char *path,
                              const struct bad_lines *bad)
{
    char problem[200], iso[CLOCK_ISO_SIZE], more[48] = "";
    clock_iso(bad->odd_ms, iso);
    if (bad->odd_count > 1)
        snprintf(more, sizeof more, ", and %zu other line%s", bad->odd_count - 1,
                 bad->odd_count > 2 ? "s" : "");
    snprintf(problem, sizeof problem, "the clock was wrong: line %zu has the time %s, %s%s",
             bad->odd, iso,
             bad->odd_ms > bad->now_ms ? "which lies in the future"
                                       : "before that of the line above",
             more);
    files_check_report(site->check, ETHOS_FINDING_WARNING, path, problem,
                       "nothing to do: changes are ordered by number; --since and --until go by "
                       "these times");
}

static int check_lines(struct scope_check *site, const char *name)
{
    struct files *self = site->check->self;
    struct bad_lines bad = {.now_ms = self->host->now_ms(self->host->arg)};
    char path[FILES_PATH_SIZE];
    struct str text;
    bool live = strcmp(name, FILES_HISTORY) == 0;
    if (!files_is_history(name) || !files_check_join(path, site->path, name) ||
        !check_usable(site, name, live ? FILES_LIVE_FLAGS : FILES_READ_FLAGS | O_NOFOLLOW))
        return ETHOS_OK;
    int fd = os_openat(site->dir, name, FILES_READ_FLAGS | O_NOFOLLOW, 0);
    if (fd < 0)
        return ETHOS_OK;
    struct ethos_error error = {0};
    str_init(&text, ETHOS_MAX_HISTORY_BYTES);
    int code = os_read_all(fd, &text, ETHOS_MAX_HISTORY_BYTES) == 0
                   ? count_bad_lines(str_view(&text), &bad)
                   : files_errno(site->check->self, errno, path, &error);
    str_release(&text);
    os_close(fd);
    if (code == ETHOS_OK && bad.count > 0)
        report_bad_lines(site, path, &bad);
    if (code == ETHOS_OK && bad.odd_count > 0)
        report_clock_jump(site, path, &bad);
    return report_failure(site, path, code, &error);
}

static int check_all_lines(struct scope_check *site)
{
    CLEANUP_NAMES struct files_names names;
    TRY(files_names_read(site->check->self, site->dir, site->path, &names, site->check->error));
    for (size_t i = 0; i < names.count; i++)
        TRY(check_lines(site, names.sorted[i]));
    return ETHOS_OK;
}

/*
 * ---- leftovers --------------------------------------------------------------------------------
 */

static int recover_scope(const struct scope_check *site)
{
    struct files *self = site->check->self;
    struct files_lock lock = {0};
    struct ethos_error error = {0};
    memcpy(lock.path, site->path, sizeof lock.path);
    int code = files_lock_scope(self, &lock, &error);
    if (code == ETHOS_OK && lock.fd >= 0)
        code = files_recover_locked(self, &lock, site->scope, &error);
    files_unlock_scope(self, &lock, false);
    return report_failure(site, site->path, code, &error);
}

/* A displaced file (.old) waits to be inspected again and is no leftover. */
static bool is_leftover(const char *name)
{
    struct ethos_view text = view_str(name);
    return !view_ends(text, VIEW(FILES_OLD)) && !view_starts(text, VIEW(PROBE));
}

static void report_leftover(struct scope_check *site, int tmp, const char *name)
{
    struct stat st;
    char path[FILES_PATH_SIZE], below[FILES_PATH_SIZE];
    bool gone = os_fstatat(tmp, name, &st, AT_SYMLINK_NOFOLLOW) != 0;
    site->unfinished = site->unfinished || !gone;
    if (files_check_join(below, site->path, FILES_TMP) && files_check_join(path, below, name))
        files_check_report(site->check, gone ? ETHOS_FINDING_FIXED : ETHOS_FINDING_WARNING, path,
                           "left by an interrupted writer",
                           gone ? "finished or taken back what it was doing"
                                : "the next write here clears it up, or: ethos doctor --fix");
}

static int check_leftovers(struct scope_check *site)
{
    CLEANUP_FD int tmp = os_open_beneath(site->dir, FILES_TMP, O_RDONLY | O_DIRECTORY, 0);
    if (tmp < 0)
        return ETHOS_OK;
    CLEANUP_NAMES struct files_names names = {0};
    int lock;
    if (!try_lock_scope(site, &lock))
        return ETHOS_OK;
    int code = files_names_read(site->check->self, tmp, site->path, &names, site->check->error);
    unlock_if_held(lock); // a writer that comes now would remove them as well
    if (code != ETHOS_OK)
        return code;
    bool any = false;
    for (size_t i = 0; i < names.count; i++)
        any = any || is_leftover(names.sorted[i]);
    code = any && site->check->fix ? recover_scope(site) : ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < names.count; i++) {
        if (is_leftover(names.sorted[i]))
            report_leftover(site, tmp, names.sorted[i]);
    }
    return code;
}

/* Temporaries beside the target of a link belong to the scope of the link. */
static void check_link_temp(const struct scope_check *site, const char *name)
{
    char path[FILES_PATH_SIZE];
    struct ethos_view text = view_str(name);
    if (name[0] == '.' && view_contains(text, VIEW(".ethos-")) &&
        (view_ends(text, VIEW(FILES_DRAFT)) || view_ends(text, VIEW(FILES_NEW)) ||
         view_ends(text, VIEW(FILES_GONE))) &&
        files_check_join(path, site->path, name))
        report_warning(site, path, "left by an interrupted writer",
                       "the next write through the link to this file removes it");
}

static int check_link_temps(const struct scope_check *site)
{
    struct files_names names;
    int lock;
    if (!try_lock_scope(site, &lock))
        return ETHOS_OK;
    int code = files_names_read(site->check->self, site->dir, site->path, &names,
                                site->check->error);
    for (size_t i = 0; code == ETHOS_OK && i < names.count; i++)
        check_link_temp(site, names.sorted[i]);
    if (code == ETHOS_OK)
        files_names_release(&names);
    unlock_if_held(lock);
    return code;
}

/*
 * ---- edits that are not recorded --------------------------------------------------------------
 */

/* The keys met by a walk of the history, newest first, and those whose files differ from it. */
struct unrecorded_keys {
    const struct scope_check *site;
    json_t *met;
    struct str *keys; /* each terminated */
};

/* Whether the file of a key has the text of its newest change; true when it cannot be read. */
static int is_recorded(const struct scope_check *site, const char *key, const char *revision,
                       bool *out)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    struct store_check *check = site->check;
    char path[FILES_PATH_SIZE];
    bool absent = strcmp(revision, "absent") == 0;
    *out = true;
    if (files_key_path(site->scope, key, path, NULL) != ETHOS_OK)
        return ETHOS_OK;
    int fd = files_open_text(check->self, site->scope, key, path, FILES_READ_FLAGS, NULL);
    if (fd < 0) {
        *out = fd != ETHOS_NOTFOUND || absent;
        return ETHOS_OK;
    }
    int code = files_read_fd(check->self, fd, path, &whole, &check->text, NULL, NULL);
    os_close(fd);
    if (code == ETHOS_OK)
        *out = strcmp(revision, check->text.revision) == 0;
    return code == ETHOS_NOMEM ? code : ETHOS_OK;
}

static int check_newest_change(void *arg, const struct ethos_change *change)
{
    struct unrecorded_keys *self = arg;
    bool recorded = true, seen = change->via && strcmp(change->via, "seen") == 0;
    if (json_object_get(self->met, change->key) || strlen(change->key) > ETHOS_MAX_KEY)
        return ETHOS_OK;
    if (json_object_set_new(self->met, change->key, json_true()) != 0)
        return ETHOS_NOMEM;
    int code = is_recorded(self->site, change->key, seen ? change->before : change->after,
                           &recorded);
    if (code != ETHOS_OK || recorded)
        return code;
    return str_add(self->keys, view_of(change->key, strlen(change->key) + 1));
}

/* Lists the keys whose files differ from the history. */
static int find_unrecorded(const struct scope_check *site, struct str *out,
                           struct ethos_error *error)
{
    struct unrecorded_keys self = {site, json_object(), out};
    int code = self.met ? files_history(&site->check->self->store, site->scope, NULL,
                                        check_newest_change, &self, error)
                        : ETHOS_NOMEM;
    json_decref(self.met);
    return code;
}

static int keep_old_text(void *arg, struct ethos_edit *edits, size_t count,
                         struct ethos_error *error)
{
    (void)arg, (void)edits, (void)count, (void)error;
    return ETHOS_OK;
}

static int record_external_edit(const struct scope_check *site, const char *key)
{
    struct files *self = site->check->self;
    struct ethos_edit edit = {.key = key};
    int code = files_update_scope(&self->store, site->scope, &edit, 1, keep_old_text, NULL, NULL,
                                  NULL);
    edit_free_text(self->host, &edit.old);
    return code;
}

static int check_recorded(const struct scope_check *site)
{
    struct ethos_error error = {0};
    struct str keys;
    int lock, code = ETHOS_OK;
    str_init(&keys, ETHOS_MAX_STORE_BYTES);
    if (try_lock_scope(site, &lock)) {
        code = find_unrecorded(site, &keys, &error);
        unlock_if_held(lock);
    }
    for (const char *key = keys.data; code == ETHOS_OK && key < keys.data + keys.size;
         key += strlen(key) + 1) {
        char path[FILES_PATH_SIZE];
        bool fixed = site->check->fix && record_external_edit(site, key) == ETHOS_OK;
        if (files_check_join(path, site->path, key))
            files_check_report(site->check, fixed ? ETHOS_FINDING_FIXED : ETHOS_FINDING_WARNING,
                               path, "was changed outside, which is not recorded yet",
                               "ethos memory history");
    }
    str_release(&keys);
    return report_failure(site, site->path, code, &error);
}

/*
 * ---- conflict copies --------------------------------------------------------------------------
 */

static int count_copy(void *arg, const struct ethos_conflict *conflict)
{
    (void)conflict;
    ++*(size_t *)arg;
    return 0;
}

static int check_conflicts(const struct scope_check *site)
{
    struct ethos_error error = {0};
    size_t count = 0;
    char problem[80], remedy[ETHOS_MAX_SCOPE + 40];
    const char *owner = scope_owner(site->scope), *id = strchr(owner, ':');
    bool person = strncmp(owner, "user:", 5) == 0;
    bool named = id && (person || strncmp(owner, "personality:", 12) == 0);
    snprintf(remedy, sizeof remedy, "ethos %s%s%sconflicts list",
             !named   ? ""
             : person ? "-u "
                      : "-p ",
             named ? id + 1 : "", named ? " " : "");
    int code = files_list_conflicts(&site->check->self->store, site->scope, count_copy, &count,
                                    &error);
    snprintf(problem, sizeof problem, "%zu conflict %s to be looked at", count,
             count == 1 ? "copy waits" : "copies wait");
    if (code == ETHOS_OK && count > 0)
        report_warning(site, site->path, problem, remedy);
    return report_failure(site, site->path, code, &error);
}

/*
 * ---- the file system --------------------------------------------------------------------------
 */

static const char local[] = "keep it on a local file system such as ext4, xfs or btrfs";

static void check_file_system(const struct scope_check *site)
{
    static const struct {
        uint64_t type;
        const char *problem;
    } kinds[] = {
        {NFS_SUPER_MAGIC, "is on NFS: whole versions are promised, updates of other machines only "
                          "where the server's locks work"},
        {SMB_SUPER_MAGIC, "is on SMB: only whole versions are promised, not every update"},
        {SMB2_SUPER_MAGIC, "is on SMB: only whole versions are promised, not every update"},
        {CIFS_SUPER_MAGIC, "is on SMB: only whole versions are promised, not every update"},
        {FUSE_SUPER_MAGIC, "is on FUSE: only whole versions are promised, not every update"},
    };
    uint64_t type;
    if (os_fstatfs(site->dir, &type) != 0)
        return;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].type == type)
            report_warning(site, site->path, kinds[i].problem, local);
    }
}

static bool create_empty_file(int dir, const char *name)
{
    int fd = files_draft_create(dir, name);
    return fd >= 0 && os_close(fd) == 0;
}

static void try_lease(const struct scope_check *site, int tmp, const char *name)
{
    int fd = os_openat(tmp, name, FILES_READ_FLAGS | O_NOFOLLOW, 0);
    if (fd < 0)
        return;
    if (os_has_writer(fd) < 0)
        report_warning(
            site, site->path,
            "its file system does not tell who writes to a file: an editor's slow save may be "
            "taken up only by the next access",
            local);
    os_close(fd);
}

/* Whether the device of a folder has not been checked yet. */
static bool is_new_device(struct store_check *check, int folder)
{
    struct stat st;
    if (os_fstat(folder, &st) != 0)
        return false;
    for (size_t i = 0; i + sizeof st.st_dev <= check->devices.size; i += sizeof st.st_dev) {
        if (memcmp(check->devices.data + i, &st.st_dev, sizeof st.st_dev) == 0)
            return false;
    }
    return str_add(&check->devices, view_of((const char *)&st.st_dev, sizeof st.st_dev)) ==
           ETHOS_OK;
}

/* The folder for drafts exists once something was written. */
static void check_device(const struct scope_check *site)
{
    int lock, tmp = os_open_beneath(site->dir, FILES_TMP, O_RDONLY | O_DIRECTORY, 0);
    if (tmp < 0)
        return;
    if (try_lock_scope(site, &lock)) {
        if (is_new_device(site->check, tmp)) {
            static const char a[] = PROBE "a" FILES_DRAFT, b[] = PROBE "b" FILES_DRAFT;
            check_file_system(site);
            if (create_empty_file(tmp, a) && create_empty_file(tmp, b)) {
                if (os_exchange(tmp, a, tmp, b) != 0 && (errno == EINVAL || errno == ENOSYS))
                    report_warning(site, site->path,
                                   "its file system cannot exchange files: an editor's save in the "
                                   "very moment of a write "
                                   "may be lost",
                                   local);
                try_lease(site, tmp, a);
            }
            os_unlinkat(tmp, a, 0);
            os_unlinkat(tmp, b, 0);
        }
        unlock_if_held(lock);
    }
    os_close(tmp);
}

/*
 * ---- the whole --------------------------------------------------------------------------------
 */

/* The checks that need a scope that can be written to. */
static int check_writable_scope(struct scope_check *site)
{
    TRY(check_leftovers(site));
    TRY(check_link_temps(site));
    if (!site->unfinished)
        TRY(check_recorded(site));
    TRY(check_conflicts(site));
    check_device(site);
    return ETHOS_OK;
}

int files_check_history(struct store_check *check, const char *scope)
{
    struct scope_check site = {.check = check, .scope = scope};
    TRY(files_scope_path(scope, site.path, check->error));
    site.dir = files_open(check->self, site.path, O_RDONLY | O_DIRECTORY, NULL);
    if (site.dir < 0)
        return ETHOS_OK;
    if (check_usable(&site, FILES_MEM, O_RDONLY | O_DIRECTORY | O_NOFOLLOW))
        check_usable(&site, FILES_TMP, O_RDONLY | O_DIRECTORY);
    int code = check_all_lines(&site);
    if (code == ETHOS_OK && !site.blocked)
        code = check_writable_scope(&site);
    os_close(site.dir);
    return code;
}
