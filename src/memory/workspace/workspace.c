/*
 * workspace.c: finds the project folder of a directory. Its memory is found in find.c.
 */
#include "memory/workspace/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/system/dir.h"
#include "base/system/os.h"
#include "memory/workspace/files.h"

#define PATH_LIMIT 4096 /* bytes */
#define LINK_LIMIT 4096 /* bytes of a .git file or commondir file */
#define WORKTREES_MAX 1000

/* ---- the root ------------------------------------------------------------------------------ */

static void cut_to_parent(char *path)
{
    char *slash = strrchr(path, '/');
    slash[slash == path ? 1 : 0] = 0;
}

enum git {
    GIT_NONE,
    GIT_DIRECTORY,
    GIT_LINKED, /* a directory elsewhere whose repository is unknown */
    GIT_FILE,
    GIT_UNKNOWN /* errno says why */
};

/* What cannot be read counts as missing, as in git. */
static enum git detect_git(const char *path, struct looks *looks)
{
    char probe[PATH_LIMIT + 8];
    struct stat info;
    snprintf(probe, sizeof probe, "%s/.git", strcmp(path, "/") == 0 ? "" : path);
    looks_add(looks, "%s", probe);
    int failed = os_fstatat(AT_FDCWD, probe, &info, AT_SYMLINK_NOFOLLOW);
    bool linked = !failed && S_ISLNK(info.st_mode);
    if (linked)
        failed = os_fstatat(AT_FDCWD, probe, &info, 0);
    if (!failed)
        return S_ISREG(info.st_mode) ? GIT_FILE : linked ? GIT_LINKED : GIT_DIRECTORY;
    return errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP ? GIT_NONE
                                                                                    : GIT_UNKNOWN;
}

/* Moves path up to the nearest directory with .git, if there is one. */
static enum git find_git(char path[PATH_LIMIT], struct looks *looks)
{
    char top[PATH_LIMIT];
    memcpy(top, path, PATH_LIMIT);
    for (;;) {
        enum git git = detect_git(top, looks);
        if (git != GIT_NONE)
            memcpy(path, top, PATH_LIMIT);
        if (git != GIT_NONE || strcmp(top, "/") == 0)
            return git;
        cut_to_parent(top);
    }
}

/* base/relative, or relative itself when absolute, resolved. 0, or -1 and errno. */
static int resolve_from(const char *base, const char *relative, char out[PATH_LIMIT],
                        struct looks *looks)
{
    char joined[2 * PATH_LIMIT];
    if (*relative == '/')
        snprintf(joined, sizeof joined, "%s", relative);
    else
        snprintf(joined, sizeof joined, "%s/%s", base, relative);
    looks_add(looks, "%s", joined);
    return os_realpath(joined, out);
}

/* Reads a line of a git file. 0, or -1 and errno. */
static int read_git_line(const char *name, char line[LINK_LIMIT], struct looks *looks)
{
    looks_add(looks, "%s", name);
    return workspace_line(name, 0, line, LINK_LIMIT);
}

/* When follow_worktree failed: a missing target leads nowhere, anything else is an error. */
static int unless_absent(void)
{
    return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
}

/*
 * Whether the repository knows this work tree: its git directory is in the common one and points
 * back here, or to a path that no longer exists: the work tree was moved without telling git. A
 * folder that merely claims to belong to another project gets none of its memory. -1 if that is
 * unknown.
 */
static int worktree_belongs(const char *git, const char *common, const char *path,
                            struct looks *looks)
{
    char name[PATH_LIMIT + 16], line[LINK_LIMIT], back[PATH_LIMIT], own[PATH_LIMIT];
    snprintf(name, sizeof name, "%s/worktrees/", common);
    if (strncmp(git, name, strlen(name)) != 0)
        return 0;
    snprintf(name, sizeof name, "%s/gitdir", git);
    if (read_git_line(name, line, looks) != 0)
        return unless_absent();
    if (resolve_from(git, line, back, looks) != 0)
        return errno == ENOENT ? 1 : unless_absent();
    snprintf(name, sizeof name, "%s/.git", path);
    return os_realpath(name, own) != 0 ? -1 : strcmp(back, own) == 0;
}

/*
 * A linked work tree has a .git file naming its git directory, which has a commondir file; the
 * memory is that of the main work tree. A submodule has no commondir and has its own memory. -1 and
 * errno if these files cannot be read. A separate function, to keep its buffers off the stack of
 * other folders.
 */
__attribute__((noinline)) static int follow_worktree(char path[PATH_LIMIT],
                                                     struct workspace_place *out)
{
    char name[PATH_LIMIT + 16], line[LINK_LIMIT], git[PATH_LIMIT], common[PATH_LIMIT];
    snprintf(name, sizeof name, "%s/.git", path);
    if (read_git_line(name, line, out->looks) != 0)
        return -1;
    if (strncmp(line, "gitdir:", 7) != 0)
        return 0;
    if (resolve_from(path, line + 7 + strspn(line + 7, " \t"), git, out->looks) != 0)
        return unless_absent();
    snprintf(name, sizeof name, "%s/commondir", git);
    if (read_git_line(name, line, out->looks) != 0 ||
        resolve_from(git, line, common, out->looks) != 0)
        return unless_absent();
    int ours = worktree_belongs(git, common, path, out->looks);
    if (ours <= 0)
        return ours;
    str_adds(&out->common, common);
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

/* ---- the place ------------------------------------------------------------------------------ */

void workspace_place_init(struct workspace_place *place)
{
    str_init(&place->root, PATH_LIMIT);
    str_init(&place->common, PATH_LIMIT + 8);
    place->looks = NULL;
}

void workspace_place_release(struct workspace_place *place)
{
    str_release(&place->root);
    str_release(&place->common);
}

static int finish_place(char path[PATH_LIMIT], enum git git, struct workspace_place *out,
                        struct ethos_error *error)
{
    if (git == GIT_DIRECTORY)
        str_printf(&out->common, "%s/.git", strcmp(path, "/") == 0 ? "" : path);
    if (git == GIT_UNKNOWN || (git == GIT_FILE && follow_worktree(path, out) != 0))
        return err_errno(error, errno, path);
    str_adds(&out->root, path);
    return str_code(&out->root) == ETHOS_OK && str_code(&out->common) == ETHOS_OK
               ? ETHOS_OK
               : err_nomem(error);
}

int workspace_locate(const char *given, struct workspace_place *out, struct ethos_error *error)
{
    char path[PATH_LIMIT];
    looks_add(out->looks, "%s", given);
    if (*given != '/')
        looks_beyond(out->looks); // the current directory may change
    TRY(given_root(given, path, error));
    return finish_place(path, detect_git(path, out->looks), out, error);
}

/* ---- a place inside -------------------------------------------------------------------------- */

/* An unreadable memory counts: its users should know. */
static int has_memory(int dir, const char *path, struct looks *looks, bool *out)
{
    struct workspace_place place;
    struct workspace_found found;
    workspace_place_init(&place);
    place.looks = looks;
    str_adds(&place.root, path);
    int code = str_code(&place.root);
    if (code == ETHOS_OK)
        code = workspace_find(dir, &place, &found, NULL);
    *out = code != ETHOS_OK || found.how != WORKSPACE_NEW;
    workspace_place_release(&place);
    return code;
}

/* The home directory of the person, whose memory does not extend to folders below it. */
static bool own_home(char out[PATH_LIMIT])
{
    const char *home = getenv("HOME");
    return home && *home == '/' && os_realpath(home, out) == 0;
}

static bool is_folder(const char *path)
{
    struct stat info;
    return os_fstatat(AT_FDCWD, path, &info, 0) == 0 && S_ISDIR(info.st_mode);
}

bool workspace_nearest(const char *folder, char out[PATH_MAX])
{
    char own[PATH_LIMIT], real[PATH_LIMIT];
    if (*folder != '/' || snprintf(out, PATH_MAX, "%s", folder) >= PATH_MAX)
        return false;
    if (is_folder(out))
        return true;
    do
        cut_to_parent(out);
    while (!is_folder(out) && strcmp(out, "/") != 0);
    bool home = own_home(own) && os_realpath(out, real) == 0 && strcmp(real, own) == 0;
    return strcmp(out, "/") != 0 && !home;
}

/* Moves path up to the nearest directory with a memory, if there is one. */
__attribute__((noinline)) static int find_memory(int dir, char path[PATH_LIMIT],
                                                 struct looks *looks)
{
    char top[PATH_LIMIT], own[PATH_LIMIT];
    bool found;
    if (!own_home(own))
        *own = 0;
    memcpy(top, path, PATH_LIMIT);
    for (;;) {
        if (has_memory(dir, top, looks, &found) == ETHOS_NOMEM)
            return ETHOS_NOMEM;
        if (found)
            memcpy(path, top, PATH_LIMIT);
        if (found || strcmp(top, own) == 0)
            return ETHOS_OK;
        cut_to_parent(top);
        if (strcmp(top, own) == 0 || strcmp(top, "/") == 0)
            return ETHOS_OK;
    }
}

int workspace_around(int dir, const char *folder, struct workspace_place *out,
                     struct ethos_error *error)
{
    char path[PATH_LIMIT];
    if (folder)
        TRY(given_root(folder, path, error));
    if (!folder && !getcwd(path, PATH_LIMIT))
        return err_errno(error, errno, "current directory");
    looks_add(out->looks, "%s", path);
    enum git git = find_git(path, out->looks);
    if (git == GIT_NONE && dir >= 0 && find_memory(dir, path, out->looks) != ETHOS_OK)
        return err_nomem(error);
    return finish_place(path, git, out, error);
}

/* ---- all of a project ------------------------------------------------------------------------ */

/* A name with a newline is left out. */
static void add_folder(const char *path, bool below, struct str *out)
{
    if (strchr(path, '\n'))
        return;
    if (out->size > 0)
        str_addc(out, '\n');
    str_adds(out, path);
    if (below)
        str_addc(out, '/');
}

/* The linked work trees of the repository, wherever they are. */
static void add_worktrees(const char *common, struct str *out)
{
    char name[PATH_LIMIT + 512], line[LINK_LIMIT];
    CLEANUP_ARENA struct arena arena = {0};
    struct dir_names names = {0};
    snprintf(name, sizeof name, "%s/worktrees", common);
    CLEANUP_FD int dir = os_openat(AT_FDCWD, name, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0)
        return;
    arena_init(&arena);
    if (dir_names(dir, &arena, WORKTREES_MAX, &names) != 0)
        names.count = 0;
    for (size_t i = 0; i < names.count; i++) {
        snprintf(name, sizeof name, "%s/worktrees/%.255s/gitdir", common, names.list[i]);
        size_t size = workspace_line(name, 0, line, sizeof line) == 0 ? strlen(line) : 0;
        if (size <= 5 || *line != '/' || strcmp(line + size - 5, "/.git") != 0)
            continue;
        line[size - 5] = 0;
        add_folder(line, true, out);
    }
}

int workspace_folders(const struct workspace_place *place, const struct workspace_found *found,
                      struct str *out)
{
    char own[PATH_LIMIT];
    const char *root = place->root.data;
    bool wide = strcmp(root, "/") == 0 || (own_home(own) && strcmp(root, own) == 0);
    add_folder(root, !wide && (place->common.size > 0 || found->how != WORKSPACE_NEW), out);
    if (place->common.size > 0)
        add_worktrees(place->common.data, out);
    return str_code(out);
}
