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
#include "base/json.h"
#include "base/os.h"
#include "base/str.h"
#include "base/view.h"
#include "core/scope.h"
#include "core/slug.h"
#include "memory/home.h"

#define PATH_LIMIT 4096 /* bytes */
#define HASH_SIZE 12    /* hex digits in a workspace id */
#define LINK_LIMIT 4096 /* bytes of a .git file or commondir file */

/* ---- the root ------------------------------------------------------------------------------ */

static void cut_to_parent(char *path)
{
    char *slash = strrchr(path, '/');
    slash[slash == path ? 1 : 0] = 0;
}

enum git { GIT_NONE, GIT_DIRECTORY, GIT_FILE };

static enum git look_for_git(const char *path)
{
    char probe[PATH_LIMIT + 8];
    struct stat info;
    snprintf(probe, sizeof probe, "%s/.git", strcmp(path, "/") == 0 ? "" : path);
    if (os_fstatat(AT_FDCWD, probe, &info, 0) != 0)
        return GIT_NONE;
    return S_ISREG(info.st_mode) ? GIT_FILE : GIT_DIRECTORY;
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

/* First line of a small file, trimmed; false when it cannot be read. */
static bool read_line(const char *path, char *out, size_t size)
{
    struct str text;
    str_init(&text, LINK_LIMIT + 1);
    int fd = os_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    bool ok = fd >= 0 && os_read_all(fd, &text, LINK_LIMIT) == 0;
    if (fd >= 0)
        os_close(fd);
    struct ethos_view rest = str_view(&text), line = {"", 0};
    if (ok)
        view_line(&rest, &line);
    line = view_trim(line);
    ok = ok && line.size > 0 && line.size < size;
    if (ok) {
        memcpy(out, line.data, line.size);
        out[line.size] = 0;
    }
    str_release(&text);
    return ok;
}

/* base/relative, or relative itself when absolute, resolved. */
static bool resolve_from(const char *base, const char *relative, char out[PATH_LIMIT])
{
    char joined[2 * PATH_LIMIT];
    if (*relative == '/')
        snprintf(joined, sizeof joined, "%s", relative);
    else
        snprintf(joined, sizeof joined, "%s/%s", base, relative);
    return realpath(joined, out) != NULL;
}

/*
 * A linked worktree has a .git file naming its git directory, and that has a commondir file; the
 * memory is that of the main work tree. A submodule has no commondir and keeps its own.
 */
static void follow_worktree(char path[PATH_LIMIT])
{
    char name[PATH_LIMIT + 16], line[LINK_LIMIT], git[PATH_LIMIT], common[PATH_LIMIT];
    snprintf(name, sizeof name, "%s/.git", path);
    if (!read_line(name, line, sizeof line) || strncmp(line, "gitdir:", 7) != 0)
        return;
    if (!resolve_from(path, line + 7 + strspn(line + 7, " \t"), git))
        return;
    snprintf(name, sizeof name, "%s/commondir", git);
    if (!read_line(name, line, sizeof line) || !resolve_from(git, line, common))
        return;
    const char *slash = strrchr(common, '/');
    if (slash && strcmp(slash, "/.git") == 0)
        cut_to_parent(common);
    snprintf(path, PATH_LIMIT, "%s", common);
}

static int given_root(const char *given, char path[PATH_LIMIT], struct ethos_error *error)
{
    struct stat info;
    if (!realpath(given, path) || os_fstatat(AT_FDCWD, path, &info, 0) != 0)
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
    if (git == GIT_FILE)
        follow_worktree(path);
    return str_adds(out_path, path) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

/* ---- the scope ----------------------------------------------------------------------------- */

/* The id an alias of this hash points to, appended; false when there is none. */
static bool find_alias(int folder, const char *hash, struct str *out)
{
    struct str text;
    json_t *aliases = NULL;
    str_init(&text, ETHOS_MAX_MAP_BYTES + 1);
    int code = home_read(folder, "aliases.json", ETHOS_MAX_MAP_BYTES, &text, NULL, NULL);
    if (code == ETHOS_OK)
        code = json_parse(str_view(&text), "aliases.json", &aliases, NULL);
    struct ethos_view id = code == ETHOS_OK ? json_view(aliases, hash) : (struct ethos_view){0};
    bool found = scope_id_ok(id);
    if (found)
        str_add(out, id);
    json_decref(aliases);
    str_release(&text);
    return found;
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

static bool find_directory(int folder, const char *hash, struct str *out)
{
    struct suffix_search search = {hash, out};
    return os_list(folder, match_suffix, &search) == 1;
}

/* The name a new workspace gets, and nearly always the one it has. */
static void default_id(const char *root, const char *hash, struct str *out)
{
    const char *slash = strrchr(root, '/');
    slug_note(view_str(slash ? slash + 1 : root), WORKSPACE_SLUG_MAX, out);
    str_printf(out, "-%s", hash);
}

/* Another name under which this path is known: an alias, or a directory somebody renamed. */
static bool known_name(int dir, const char *hash, const char *usual, struct str *out)
{
    struct stat info;
    int folder = dir < 0 ? -1 : os_open_beneath(dir, "workspaces", O_RDONLY | O_DIRECTORY, 0);
    if (folder < 0)
        return false;
    bool found = find_alias(folder, hash, out);
    if (!found && os_fstatat(folder, usual, &info, 0) != 0)
        found = find_directory(folder, hash, out);
    os_close(folder);
    return found;
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
    const struct str *id = known_name(dir, hash, usual.data, &known) ? &known : &usual;
    int code = str_code(id) == ETHOS_OK ? scope_make(SCOPE_WORKSPACE, id->data, out_scope, error)
                                        : err_nomem(error);
    str_release(&usual);
    str_release(&known);
    return code;
}
