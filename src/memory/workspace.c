/*
 * workspace.c: which project folder this is, and the scope of its memory.
 */
#include "memory/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/os.h"
#include "base/str.h"
#include "base/view.h"
#include "core/scope.h"
#include "core/slug.h"
#include "memory/home.h"

#define PATH_LIMIT 4096 /* bytes */
#define HASH_SIZE 12    /* hex digits in a workspace id */
#define LINK_LIMIT 4096 /* bytes of a .git file or commondir file */
#define FOLDER "workspaces"

/* ---- the root ------------------------------------------------------------------------------ */

static void cut_to_parent(char *path)
{
    char *slash = strrchr(path, '/');
    slash[slash == path ? 1 : 0] = 0;
}

enum git { GIT_NONE, GIT_DIRECTORY, GIT_FILE, GIT_UNKNOWN /* errno says why */ };

/* What may not be looked at counts as not there, as git sees it. */
static enum git look_for_git(const char *path)
{
    char probe[PATH_LIMIT + 8];
    struct stat info;
    snprintf(probe, sizeof probe, "%s/.git", strcmp(path, "/") == 0 ? "" : path);
    if (os_fstatat(AT_FDCWD, probe, &info, 0) == 0)
        return S_ISREG(info.st_mode) ? GIT_FILE : GIT_DIRECTORY;
    return errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP ? GIT_NONE
                                                                                    : GIT_UNKNOWN;
}

/* Moves path up to the nearest directory that holds .git, if one does. */
static enum git find_git(char path[PATH_LIMIT])
{
    char top[PATH_LIMIT];
    memcpy(top, path, PATH_LIMIT);
    for (;;) {
        enum git git = look_for_git(top);
        if (git != GIT_NONE)
            memcpy(path, top, PATH_LIMIT);
        if (git != GIT_NONE || strcmp(top, "/") == 0)
            return git;
        cut_to_parent(top);
    }
}

/* First line of a small file, trimmed, without needing memory. 0, or -1 and errno. */
static int read_line(const char *path, char out[LINK_LIMIT])
{
    size_t size = 0;
    ssize_t got = 1;
    int fd = os_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return -1;
    while (got > 0 && size + 1 < LINK_LIMIT) {
        got = os_read(fd, out + size, LINK_LIMIT - 1 - size);
        if (got > 0)
            size += (size_t)got;
    }
    int saved = errno;
    os_close(fd);
    errno = saved;
    if (got < 0)
        return -1;
    struct ethos_view rest = view_of(out, size), line = {out, 0};
    view_line(&rest, &line);
    line = view_trim(line);
    memmove(out, line.data, line.size);
    out[line.size] = 0;
    return 0;
}

/* base/relative, or relative itself when absolute, resolved. 0, or -1 and errno. */
static int resolve_from(const char *base, const char *relative, char out[PATH_LIMIT])
{
    char joined[2 * PATH_LIMIT];
    if (*relative == '/')
        snprintf(joined, sizeof joined, "%s", relative);
    else
        snprintf(joined, sizeof joined, "%s/%s", base, relative);
    return os_realpath(joined, out);
}

/* For what follow_worktree could not follow: what is not there leads nowhere, the rest is an error. */
static int unless_absent(void)
{
    return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
}

/*
 * Whether the repository knows this work tree: its git directory lies in the common one and points
 * back here. A folder that merely claims to belong to another project gets none of its memory. -1
 * when that cannot be told.
 */
static int belongs(const char *git, const char *common, const char *path)
{
    char name[PATH_LIMIT + 16], line[LINK_LIMIT], back[PATH_LIMIT], own[PATH_LIMIT];
    snprintf(name, sizeof name, "%s/worktrees/", common);
    if (strncmp(git, name, strlen(name)) != 0)
        return 0;
    snprintf(name, sizeof name, "%s/gitdir", git);
    if (read_line(name, line) != 0 || resolve_from(git, line, back) != 0)
        return unless_absent();
    snprintf(name, sizeof name, "%s/.git", path);
    return os_realpath(name, own) != 0 ? -1 : strcmp(back, own) == 0;
}

/*
 * A linked worktree has a .git file naming its git directory, and that has a commondir file; the
 * memory is that of the main work tree. A submodule has no commondir and keeps its own. -1 and errno
 * when the files that tell cannot be read. Its paths are not on the stack of those who have none.
 */
__attribute__((noinline)) static int follow_worktree(char path[PATH_LIMIT])
{
    char name[PATH_LIMIT + 16], line[LINK_LIMIT], git[PATH_LIMIT], common[PATH_LIMIT];
    snprintf(name, sizeof name, "%s/.git", path);
    if (read_line(name, line) != 0)
        return -1;
    if (strncmp(line, "gitdir:", 7) != 0)
        return 0;
    if (resolve_from(path, line + 7 + strspn(line + 7, " \t"), git) != 0)
        return unless_absent();
    snprintf(name, sizeof name, "%s/commondir", git);
    if (read_line(name, line) != 0 || resolve_from(git, line, common) != 0)
        return unless_absent();
    int ours = belongs(git, common, path);
    if (ours <= 0)
        return ours;
    const char *slash = strrchr(common, '/');
    if (slash && strcmp(slash, "/.git") == 0)
        cut_to_parent(common);
    snprintf(path, PATH_LIMIT, "%s", common);
    return 0;
}

static int given_root(const char *given, char path[PATH_LIMIT], struct ethos_error *error)
{
    struct stat info;
    if (os_realpath(given, path) != 0 || os_fstatat(AT_FDCWD, path, &info, 0) != 0)
        return err_errno(error, errno, given);
    return S_ISDIR(info.st_mode) ? ETHOS_OK
                                 : err_set(error, ETHOS_INVALID, "%s: not a directory", given);
}

int workspace_root(const char *given, struct str *out_path, struct ethos_error *error)
{
    char path[PATH_LIMIT];
    enum git git;
    if (given) {
        int code = given_root(given, path, error);
        if (code != ETHOS_OK)
            return code;
        git = look_for_git(path);
    } else {
        if (!getcwd(path, sizeof path))
            return err_errno(error, errno, "current directory");
        git = find_git(path);
    }
    if (git == GIT_UNKNOWN || (git == GIT_FILE && follow_worktree(path) != 0))
        return err_errno(error, errno, path);
    return str_adds(out_path, path) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

/* ---- the scope ----------------------------------------------------------------------------- */

/* Appends the id an alias of this hash points to, if there is one. */
static int find_alias(int dir, const char *hash, struct str *out, struct ethos_error *error)
{
    json_t *aliases;
    int code = home_read_json(dir, FOLDER "/aliases.json", &aliases, error);
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : err_hint(error, code, "repair or remove it");
    if (!json_is_object(aliases)) {
        json_decref(aliases);
        code = err_set(error, ETHOS_CORRUPT, FOLDER "/aliases.json: not a JSON object");
        return err_hint(error, code, "repair or remove it");
    }
    struct ethos_view id = json_view(aliases, hash);
    if (scope_id_ok(id))
        str_add(out, id);
    json_decref(aliases);
    return ETHOS_OK;
}

struct suffix_search {
    const char *hash;
    struct str *out;
};

static int match_suffix(void *arg, const char *name)
{
    struct suffix_search *search = arg;
    size_t size = strlen(name);
    if (size <= HASH_SIZE || name[size - HASH_SIZE - 1] != '-' ||
        strcmp(name + size - HASH_SIZE, search->hash) != 0 || !scope_id_ok(view_str(name)))
        return 0;
    str_adds(search->out, name);
    return 1;
}

static int find_directory(int folder, const char *hash, struct str *out, struct ethos_error *error)
{
    struct suffix_search search = {hash, out};
    return os_list(folder, match_suffix, &search) >= 0 ? ETHOS_OK : err_errno(error, errno, FOLDER);
}

/* The name a new workspace gets, and nearly always the one it has. */
static void default_id(const char *root, const char *hash, struct str *out)
{
    const char *slash = strrchr(root, '/');
    slug_note(view_str(slash ? slash + 1 : root), WORKSPACE_SLUG_MAX, out);
    str_printf(out, "-%s", hash);
}

/*
 * Another name under which this path is known, appended: an alias, or a directory somebody renamed.
 * What cannot be read is an error; another memory instead of this one would be worse.
 */
static int known_name(int dir, const char *hash, const char *usual, struct str *out,
                      struct ethos_error *error)
{
    struct stat info;
    int folder = dir < 0 ? -1 : os_open_beneath(dir, FOLDER, O_RDONLY | O_DIRECTORY, 0);
    if (folder < 0)
        return dir < 0 || errno == ENOENT ? ETHOS_OK : err_errno(error, errno, FOLDER);
    int code = find_alias(dir, hash, out, error);
    if (code == ETHOS_OK && out->size == 0 && os_fstatat(folder, usual, &info, 0) != 0)
        code = find_directory(folder, hash, out, error);
    os_close(folder);
    return code;
}

int workspace_scope(int dir, const char *root, char out_scope[ETHOS_MAX_SCOPE],
                    struct ethos_error *error)
{
    char hash[HASH_HEX_SIZE];
    hash_hex(view_str(root), hash);
    hash[HASH_SIZE] = 0;
    struct str usual, known;
    str_init(&usual, ETHOS_MAX_ID + 1);
    str_init(&known, ETHOS_MAX_ID + 1);
    default_id(root, hash, &usual);
    int code = known_name(dir, hash, usual.data, &known, error);
    if (code == ETHOS_OK && (str_code(&usual) != ETHOS_OK || str_code(&known) != ETHOS_OK))
        code = err_nomem(error);
    if (code == ETHOS_OK)
        code = scope_make(SCOPE_WORKSPACE, known.size > 0 ? known.data : usual.data, out_scope,
                          error);
    str_release(&usual);
    str_release(&known);
    return code;
}
