/*
 * restore.c: restores a home from a backup.
 *
 * The backup is unpacked into a folder beside the home (inside it if the parent folder is not
 * writable), compared with its list, and its databases are checked. An empty home is then replaced
 * by that folder with one rename: a restore that is killed before has changed nothing. A home with
 * memory gets what it lacks (restore_merge.c), and so does an empty one that cannot be replaced.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/system/dir.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/formats/backup_manifest.h"
#include "memory/backup/internal.h"
#include "memory/handle_internal.h"
#include "memory/home/identity.h"

#define BARE_NAMES 2 /* that a new home has */
/*
 * Suffix of the home's name while it is incomplete. Folders with this name are ours to remove:
 * nobody else uses it.
 */
#define UNPACKED ".ethos-restoring"

struct restore {
    struct ethos *ethos;
    const struct restore_how *how;
    char home[PATH_MAX];   /* without symbolic links */
    char folder[PATH_MAX]; /* where the backup is unpacked */
    struct backup_target target;
    struct backup_found found;
    bool empty;  /* the home */
    bool serves; /* a server uses the home, or did: its records stay */
    json_t *rows;
    char login[ETHOS_MAX_ID + 1]; /* whose user does not see all profiles; "": it does */
    json_t *people;               /* the owner of those profiles */
};

/* ---- the home -------------------------------------------------------------------------------- */

/* Whether the home has only what every new home has: a .gitignore, locks. */
static bool is_bare(int dir, const struct dir_names *names)
{
    struct stat st;
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->list[i], DIR_IGNORE) != 0 && strcmp(names->list[i], HOME_RECORDS) != 0)
            return false;
    return os_fstatat(dir, HOME_RECORDS "/conflicts", &st, 0) != 0;
}

static int inspect_home(struct restore *self, struct ethos_error *error)
{
    struct arena arena;
    struct dir_names names = {0};
    struct stat st;
    const char *home = service_home(self->ethos);
    if (os_realpath(home, self->home) != 0)
        snprintf(self->home, sizeof self->home, "%s", home);
    int dir = os_openat(AT_FDCWD, home, O_RDONLY | O_DIRECTORY, 0);
    self->empty = dir < 0 && errno == ENOENT;
    if (dir < 0)
        return self->empty ? ETHOS_OK : err_errno(error, errno, home);
    arena_init(&arena);
    int failed = dir_names(dir, &arena, BARE_NAMES, &names);
    self->empty = failed == 0 && is_bare(dir, &names);
    int code = failed != 0 && errno != E2BIG ? err_errno(error, errno, home) : ETHOS_OK;
    self->serves = os_fstatat(dir, HOME_RECORDS "/server", &st, 0) == 0;
    arena_release(&arena);
    os_close(dir);
    return code;
}

/* ---- unpacking ------------------------------------------------------------------------------- */

static int make_parent(const char *path, struct ethos_error *error)
{
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - path) : 0, path);
    return !*parent || dir_make(parent) == 0 ? ETHOS_OK : err_errno(error, errno, parent);
}

/* Inside the home, if its parent folder belongs to somebody else. */
static int open_inside(struct restore *self, struct ethos_error *error)
{
    char records[PATH_MAX];
    if ((size_t)snprintf(records, sizeof records, "%s/" HOME_RECORDS, self->home) >=
            sizeof records ||
        (size_t)snprintf(self->folder, sizeof self->folder, "%s/restoring", records) >=
            sizeof self->folder)
        return err_set(error, ETHOS_LIMIT, "%s: the path is too long", self->home);
    if (dir_make(records) != 0)
        return err_errno(error, errno, records);
    self->serves = true;
    return backup_make_folder(self->folder, &self->target.dir, error);
}

static int open_unpack_folder(struct restore *self, struct ethos_error *error)
{
    if ((size_t)snprintf(self->folder, sizeof self->folder, "%s" UNPACKED, self->home) >=
        sizeof self->folder)
        return err_set(error, ETHOS_LIMIT, "%s: the path is too long", self->home);
    int code = make_parent(self->folder, error);
    if (code == ETHOS_OK)
        code = backup_make_folder(self->folder, &self->target.dir, error);
    if (code != ETHOS_OK && self->target.dir < 0 &&
        (errno == EACCES || errno == EPERM || errno == EROFS))
        code = open_inside(self, error);
    return code == ETHOS_BUSY
               ? err_set(error, code, "%s: another restore is running", service_home(self->ethos))
               : code;
}

static int unpack_backup(struct restore *self, struct ethos_error *error)
{
    int code = open_unpack_folder(self, error);
    self->target.fleeting = !self->empty || self->serves || self->how->dry_run;
    if (code == ETHOS_OK)
        code = backup_read(self->how->path, &self->target, &self->found, error);
    if (code == ETHOS_OK)
        code = backup_check_databases(self->folder, self->target.files, error);
    if (code == ETHOS_OK && !self->target.fleeting && backup_sync_tree(self->target.dir) != 0)
        code = err_errno(error, errno, self->folder);
    return code;
}

static void discard_unpacked(struct restore *self)
{
    if (self->target.dir >= 0) {
        dir_remove(AT_FDCWD, self->folder);
        os_close(self->target.dir);
    }
    self->target.dir = -1;
}

/* ---- people ---------------------------------------------------------------------------------- */

static bool has_login(const json_t *entries, const char *login)
{
    size_t index;
    json_t *entry;
    json_array_foreach ((json_t *)entries, index, entry)
        if (view_eq_str(json_view(entry, "platform"), "cli") &&
            view_eq_str(json_view(entry, "platformUserId"), login))
            return true;
    return false;
}

static void add_person(void *arg, const char *user, const char *login)
{
    json_array_append_new(arg, json_pack("{s:s, s:s?}", "userId", user, "login", login));
}

/* Finds out whether the current login sees the profiles of the home; if not, it must be linked. */
static void check_login_linked(struct restore *self, int dir)
{
    struct identity_map map;
    char login[ETHOS_MAX_ID + 1], user[ETHOS_MAX_ID + 1];
    bool known;
    if (identity_load(dir, &map, NULL) != ETHOS_OK)
        return;
    identity_login(login, sizeof login);
    json_array_clear(self->people);
    if (identity_resolve(&map, "cli", login, user, &known, NULL) == ETHOS_OK)
        identity_unreached(&map, dir, user, add_person, self->people);
    if (json_array_size(self->people) > 0 ||
        (json_array_size(map.entries) > 0 && !has_login(map.entries, login)))
        snprintf(self->login, sizeof self->login, "%s", login);
    identity_release(&map);
}

/* ---- both ways -------------------------------------------------------------------------------- */

/* Removes what a new home has; the restored one has its own. */
static void remove_bare(const char *home)
{
    int dir = os_openat(AT_FDCWD, home, O_RDONLY | O_DIRECTORY, 0);
    if (dir >= 0) {
        os_unlinkat(dir, DIR_IGNORE, 0);
        dir_remove(dir, HOME_RECORDS);
        os_close(dir);
    }
}

static int merge_into_home(struct restore *self, struct ethos_error *error)
{
    int dir;
    int code = restore_merge(self->ethos, self->folder, self->target.files, self->how, &self->rows,
                             error);
    if (code == ETHOS_OK && service_open_root(self->ethos, false, &dir, NULL) == ETHOS_OK &&
        dir >= 0) {
        check_login_linked(self, dir);
        os_close(dir);
    }
    discard_unpacked(self);
    return code;
}

/* An empty home that is not replaced. Everything is added, so the rows are not needed. */
static int fill_home(struct restore *self, struct ethos_error *error)
{
    int dir;
    int code = service_open_root(self->ethos, true, &dir, error);
    if (code != ETHOS_OK)
        return code;
    if (dir_ignore(dir) != 0)
        code = err_errno(error, errno, self->home);
    os_close(dir);
    if (code == ETHOS_OK)
        code = merge_into_home(self, error);
    json_array_clear(self->rows);
    return code;
}

static int sync_parent(const char *path, struct ethos_error *error)
{
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - path) : 0, path);
    CLEANUP_FD int fd = os_openat(AT_FDCWD, *parent ? parent : "/", O_RDONLY | O_DIRECTORY, 0);
    return fd >= 0 && os_fsync(fd) == 0 ? ETHOS_OK : err_errno(error, errno, parent);
}

static int become_home(struct restore *self, struct ethos_error *error)
{
    check_login_linked(self, self->target.dir);
    if (self->how->dry_run) {
        discard_unpacked(self);
        return ETHOS_OK;
    }
    if (self->serves)
        return fill_home(self, error);
    if (dir_ignore(self->target.dir) != 0) // of a home that had none
        return err_errno(error, errno, self->folder);
    remove_bare(self->home);
    if (os_renameat(AT_FDCWD, self->folder, AT_FDCWD, self->home, 0) != 0)
        return errno == EBUSY || errno == EXDEV ? fill_home(self, error) // a mount point
                                                : err_errno(error, errno, self->home);
    int code = sync_parent(self->home, error);
    os_close(self->target.dir);
    self->target.dir = -1;
    return code;
}

static int make_report(const struct restore *self, json_t **out, struct ethos_error *error)
{
    *out = json_pack("{s:o, s:o, s:s, s:I, s:I, s:b, s:s?, s:O, s:O}", "path",
                     json_text(view_str(self->how->path)), "home",
                     json_text(view_str(service_home(self->ethos))), "created", self->found.created,
                     "files", (json_int_t)self->found.files, "bytes", (json_int_t)self->found.bytes,
                     "merge", !self->empty, "login", *self->login ? self->login : NULL, "people",
                     self->people, "rows", self->rows);
    if (*out && self->how->dry_run)
        json_object_set_new(*out, "dryRun", json_true());
    return *out ? ETHOS_OK : err_nomem(error);
}

int backup_restore(struct ethos *ethos, const struct restore_how *how, json_t **out_report,
                   struct ethos_error *error)
{
    struct restore self = {.ethos = ethos, .how = how};
    self.target = (struct backup_target){
        .stop = &how->stop, .fd = -1, .dir = -1, .file = -1, .files = json_object()};
    self.rows = json_array();
    self.people = json_array();
    int code = self.rows && self.people && self.target.files ? ETHOS_OK : err_nomem(error);
    if (code == ETHOS_OK && service_ephemeral(ethos))
        code = err_set(error, ETHOS_INVALID, "a backup is not restored into ephemeral memory");
    if (code == ETHOS_OK)
        code = inspect_home(&self, error);
    if (code == ETHOS_OK)
        code = unpack_backup(&self, error);
    if (code == ETHOS_OK)
        code = self.empty ? become_home(&self, error) : merge_into_home(&self, error);
    discard_unpacked(&self);
    if (code == ETHOS_OK)
        code = make_report(&self, out_report, error);
    json_decref(self.rows);
    json_decref(self.people);
    json_decref(self.target.files);
    return code;
}
