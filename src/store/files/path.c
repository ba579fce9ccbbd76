/*
 * path.c: from a scope and key to an open file.
 *
 * Every open is relative to the root's descriptor and cannot leave it (os_open_beneath). Where the
 * kernel refuses a symbolic link, the link is resolved to its real path, which is opened again
 * beneath the root or the directory of `allow` that contains it; so a link that is swapped
 * meanwhile can make the call fail but never lead it elsewhere.
 */
#include "store/files/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/err.h"
#include "base/system/dir.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/memory/scope.h"

#define TREE "memories"

_Static_assert(sizeof "personalities//memory/" TREE "/" + ETHOS_MAX_ID + ETHOS_MAX_KEY <
                   FILES_PATH_SIZE,
               "every checked scope and key fits");

static char *append_part(char *at, struct ethos_view part)
{
    memcpy(at, part.data, part.size);
    return at + part.size;
}

/* Writes the directory of a scope; returns its end, or NULL and *out_code. */
static char *append_scope_dir(char *at, const char *scope, int *out_code, struct ethos_error *error)
{
    enum scope_kind kind;
    const char *id;
    struct ethos_view before, after;
    *out_code = scope_parse(scope, &kind, &id, error);
    if (*out_code != ETHOS_OK)
        return NULL;
    scope_place(kind, &before, &after);
    at = append_part(at, before);
    at = append_part(at, view_str(id));
    at = append_part(at, after);
    if (scope_is_tree(scope))
        at = append_part(at, kind == SCOPE_GLOBAL ? VIEW(TREE) : VIEW("/" TREE));
    return at;
}

int files_scope_path(const char *scope, char out[FILES_PATH_SIZE], struct ethos_error *error)
{
    int code;
    char *end = append_scope_dir(out, scope, &code, error);
    if (!end)
        return code;
    if (end == out)
        *end++ = '.';
    *end = 0;
    return ETHOS_OK;
}

int files_key_path(const char *scope, const char *key, char out[FILES_PATH_SIZE],
                   struct ethos_error *error)
{
    int code = scope_key_check(scope, key, error);
    if (code != ETHOS_OK)
        return code;
    char *end = append_scope_dir(out, scope, &code, error);
    if (!end)
        return code;
    if (end != out)
        *end++ = '/';
    end = append_part(end, view_str(key));
    *end = 0;
    return ETHOS_OK;
}

const char *files_full_path(const struct files *self, const char *path, char out[PATH_MAX])
{
    if (strcmp(path, ".") == 0)
        return self->root_path;
    snprintf(out, PATH_MAX, "%s/%s", self->root_path, path);
    return out;
}

int files_errno(const struct files *self, int errnum, const char *path, struct ethos_error *error)
{
    char shown[PATH_MAX];
    return err_errno(error, errnum, files_full_path(self, path, shown));
}

int files_step_error(const struct files *self, int errnum, const char *path,
                     struct ethos_error *error)
{
    return errnum == ENOENT ? FILES_RETRY : files_errno(self, errnum, path, error);
}

/* ---- the root ------------------------------------------------------------------------------- */

static int open_root_dir(struct files *self, bool any, struct ethos_error *error)
{
    struct stat st;
    int code = ETHOS_OK;
    if (self->root >= 0)
        return ETHOS_OK;
    int fd = os_openat(AT_FDCWD, self->root_path, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return err_errno(error, errno, self->root_path);
    if (os_fstat(fd, &st) != 0)
        code = err_errno(error, errno, self->root_path);
    else if (!any)
        code = dir_private(&st, self->root_path, error);
    if (code != ETHOS_OK) {
        os_close(fd);
        return code;
    }
    self->root = fd;
    self->root_dev = st.st_dev;
    self->root_ino = st.st_ino;
    return ETHOS_OK;
}

int files_root_open(struct files *self, struct ethos_error *error)
{
    return open_root_dir(self, false, error);
}

int files_root_open_any_mode(struct files *self, struct ethos_error *error)
{
    return open_root_dir(self, true, error);
}

void files_root_close(struct files *self)
{
    if (self->root >= 0)
        os_close(self->root);
    self->root = -1;
}

bool files_root_refresh(struct files *self)
{
    struct stat st;
    if (self->root < 0)
        return false;
    if (os_fstatat(AT_FDCWD, self->root_path, &st, 0) == 0 && st.st_dev == self->root_dev &&
        st.st_ino == self->root_ino && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return false;
    files_root_close(self);
    return true;
}

/* ---- links ---------------------------------------------------------------------------------- */

/* The real path of an open descriptor, from the kernel. */
static int read_real_path(int fd, char out[PATH_MAX])
{
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = os_readlinkat(AT_FDCWD, link, out, PATH_MAX - 1);
    if (size < 0)
        return -1;
    out[size] = 0;
    return 0;
}

/*
 * The part of a real path below a directory, "" for the directory itself; NULL and errno, EXDEV
 * when it is elsewhere.
 */
static char *path_below(int dir, char *real)
{
    char base[PATH_MAX];
    if (read_real_path(dir, base) != 0)
        return NULL;
    errno = EXDEV;
    size_t size = strlen(base);
    if (size == 1)
        size = 0;
    if (strncmp(real, base, size) != 0 || (real[size] != '/' && real[size] != 0))
        return NULL;
    return real + size + (real[size] == '/');
}

/* Opens the directory at path if real lies below it; else -1 and errno. */
static int open_base_of(int at, const char *path, char *real, char **out_rest)
{
    int dir = os_openat(at, path, O_PATH | O_DIRECTORY, 0);
    if (dir < 0)
        return -1;
    *out_rest = path_below(dir, real);
    if (*out_rest)
        return dir;
    int saved = errno;
    os_close(dir);
    errno = saved;
    return -1;
}

/* Opens the root or the directory of `allow` that contains real; else -1 and errno. */
static int find_allowed_base(const struct files *self, char *real, char **out_rest)
{
    int dir = open_base_of(self->root, ".", real, out_rest);
    if (dir < 0 && errno != EXDEV)
        return -1;
    for (const char *at = self->allow; dir < 0 && *at;) {
        char path[PATH_MAX];
        size_t size = strcspn(at, ",");
        if (size > 0 && size < sizeof path) {
            memcpy(path, at, size);
            path[size] = 0;
            dir = open_base_of(AT_FDCWD, path, real, out_rest);
            if (dir < 0 && errno != EXDEV && errno != ENOENT && errno != ENOTDIR)
                return -1;
        }
        at += size + (at[size] == ',');
    }
    if (dir < 0)
        errno = EXDEV;
    return dir;
}

/* The target of a link. */
struct link_target {
    int base;
    char *rest; /* below base, points into real; "" for base itself */
    char real[PATH_MAX];
};

/* Distinguishes a missing file from a dangling link. */
static int not_found_error(const struct files *self, int dir, const char *name, const char *path,
                           struct ethos_error *error)
{
    struct stat st;
    if (os_fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode)) {
        char shown[PATH_MAX];
        int code = err_set(error, ETHOS_IO, "%s is a dangling symbolic link",
                           files_full_path(self, path, shown));
        return err_hint(error, code, "restore its target, or remove the link");
    }
    return err_set(error, ETHOS_NOTFOUND, "%s: not found", path);
}

#define RESOLVE_TRIES 8

/*
 * The real path of an open descriptor, if it leads to the same file: for a file that was replaced
 * since it was opened, the kernel makes up a name. 0, 1 when it does not, or -1 and errno.
 */
static int find_real_name(int fd, char out[PATH_MAX])
{
    struct stat opened, named;
    if (read_real_path(fd, out) != 0 || os_fstat(fd, &opened) != 0)
        return -1;
    bool same = os_fstatat(AT_FDCWD, out, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
                named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
    return same ? 0 : 1;
}

/* Resolves dir/name; path is the same for messages. The caller closes base. */
static int resolve_link(const struct files *self, int dir, const char *name, const char *path,
                        struct link_target *out, struct ethos_error *error)
{
    int failed = 1, saved = EAGAIN;
    for (int i = 0; failed == 1 && i < RESOLVE_TRIES; i++) {
        int fd = os_openat(dir, name, O_PATH, 0);
        if (fd < 0)
            return errno == ENOENT ? not_found_error(self, dir, name, path, error)
                                   : files_errno(self, errno, path, error);
        failed = find_real_name(fd, out->real);
        saved = failed < 0 ? errno : EAGAIN;
        os_close(fd);
    }
    if (failed)
        return files_errno(self, saved, path, error);
    out->base = find_allowed_base(self, out->real, &out->rest);
    if (out->base >= 0)
        return ETHOS_OK;
    if (errno != EXDEV)
        return files_errno(self, errno, path, error);
    char shown[PATH_MAX];
    int code = err_set(error, ETHOS_DENIED, "%s is a symbolic link that leads to %s",
                       files_full_path(self, path, shown), out->real);
    return err_hint(error, code, "list the directory of its target in paths.allow");
}

int files_open(const struct files *self, const char *path, int flags, struct ethos_error *error)
{
    // try without links first: a missing file is then known not to be a dangling link
    bool plain = !(flags & (O_PATH | O_DIRECTORY));
    int fd = os_open_beneath(self->root, path, plain ? flags | O_NOFOLLOW : flags, 0);
    if (plain && fd < 0 && errno == ENOENT)
        return err_set(error, ETHOS_NOTFOUND, "%s: not found", path);
    if (plain && fd < 0 && errno == ELOOP)
        fd = os_open_beneath(self->root, path, flags, 0);
    if (fd >= 0)
        return fd;
    if (errno == ENOENT)
        return not_found_error(self, self->root, path, path, error);
    if (errno != EXDEV)
        return files_errno(self, errno, path, error);

    struct link_target target;
    TRY(resolve_link(self, self->root, path, path, &target, error));
    fd = os_open_beneath(target.base, *target.rest ? target.rest : ".", flags, 0);
    if (fd < 0)
        fd = files_errno(self, errno, path, error);
    os_close(target.base);
    return fd;
}

int files_open_text(struct files *self, const char *scope, const char *key, const char *path,
                    int flags, struct ethos_error *error)
{
    char below[FILES_PATH_SIZE];
    if (!scope_is_tree(scope))
        return files_open(self, path, flags, error);
    int fd = os_open_beneath(self->root, path, flags | O_NOFOLLOW, 0);
    if (fd < 0 &&
        (errno == ELOOP || errno == EXDEV)) { // perhaps only the scope's directory is a link
        int code = files_scope_path(scope, below, error);
        int dir = code == ETHOS_OK ? files_open(self, below, O_RDONLY | O_DIRECTORY, error) : code;
        if (dir < 0)
            return dir;
        fd = os_open_beneath(dir, key, flags | O_NOFOLLOW, 0);
        int saved = errno;
        os_close(dir);
        errno = saved;
    }
    if (fd >= 0)
        return fd;
    if (errno == ENOENT || errno == ENOTDIR)
        return err_set(error, ETHOS_NOTFOUND, "%s: not found", path);
    return errno == ELOOP || errno == EXDEV ? files_refuse_link(self, path, error)
                                            : files_errno(self, errno, path, error);
}

int files_refuse_link(const struct files *self, const char *path, struct ethos_error *error)
{
    char shown[PATH_MAX];
    int code = err_set(error, ETHOS_DENIED, "%s: a symbolic link is on the way",
                       files_full_path(self, path, shown));
    return err_hint(error, code, "symbolic links in a memories tree are not followed");
}

int files_open_target(const struct files *self, int dir, const char *key, const char *path,
                      char out_name[NAME_MAX + 1], struct stat *out_dir, struct ethos_error *error)
{
    struct link_target target;
    TRY(resolve_link(self, dir, key, path, &target, error));
    char *slash = strrchr(target.rest, '/');
    char *name = slash ? slash + 1 : target.rest;
    snprintf(out_name, NAME_MAX + 1, "%s", *name ? name : ".");
    if (slash)
        *slash = 0;
    int fd = os_open_beneath(target.base, slash ? target.rest : ".", O_RDONLY | O_DIRECTORY, 0);
    int code = fd >= 0 && os_fstat(fd, out_dir) == 0 ? ETHOS_OK
                                                     : files_errno(self, errno, path, error);
    if (code == ETHOS_OK) {
        name[-1] = 0; // what remains of the real path is the directory's
        code = dir_private(out_dir, target.real, error);
    }
    if (code != ETHOS_OK && fd >= 0)
        os_close(fd);
    os_close(target.base);
    return code == ETHOS_OK ? fd : code;
}

int files_scope_open(struct files *self, const char *scope, char out_path[FILES_PATH_SIZE],
                     struct ethos_error *error)
{
    TRY(files_scope_path(scope, out_path, error));
    files_root_refresh(self);
    TRY(files_root_open(self, error));
    return files_open(self, out_path, O_RDONLY | O_DIRECTORY, error);
}
