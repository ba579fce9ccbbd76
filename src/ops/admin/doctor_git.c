/*
 * doctor_git.c: finds private files of a home that git tracks or would add.
 *
 * Does not run git: the tracked names are read from .git/index. Of .gitignore only plain rules are understood, a name or
 * an asterisk.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/system/dir.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/formats/backup_manifest.h"
#include "core/formats/git_index.h"
#include "ops/admin/doctor.h"

#define INDEX_BYTES 268435456 /* read of an index at most */
#define IGNORE_BYTES 1048576  /* read of a .gitignore at most */
#define NAMED 3               /* files listed in a finding */

struct git_search {
    char home[PATH_MAX];
    char top[PATH_MAX]; /* of the work tree */
    const char *below;  /* path of the home below the top; "" if they are the same */
    size_t tracked;
    struct str names;
};

/* Appends the content of a file, or nothing if it cannot be read. */
static void read_file_if_any(const char *folder, const char *name, size_t limit, struct str *out)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
        return;
    int fd = os_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return;
    os_read_all(fd, out, limit);
    os_close(fd);
}

/* ---- the repository --------------------------------------------------------------------------- */

/* Finds the nearest folder above the home that has a .git. */
static bool find_work_tree(struct git_search *look)
{
    struct stat st;
    char path[PATH_MAX + 8];
    memcpy(look->top, look->home, sizeof look->top);
    for (;;) {
        snprintf(path, sizeof path, "%s/.git", look->top);
        if (os_fstatat(AT_FDCWD, path, &st, 0) == 0)
            break;
        char *slash = strrchr(look->top, '/');
        if (!slash || slash == look->top)
            return false;
        *slash = 0;
    }
    look->below = look->home + strlen(look->top);
    look->below += *look->below == '/';
    return true;
}

/* Finds the folder of the index: .git is a folder, or a file that names one. */
static void find_git_folder(const struct git_search *look, char out[PATH_MAX])
{
    struct str text;
    struct stat st;
    snprintf(out, PATH_MAX, "%.*s/.git", PATH_MAX - 8, look->top);
    if (os_fstatat(AT_FDCWD, out, &st, 0) != 0 || S_ISDIR(st.st_mode))
        return;
    str_init(&text, IGNORE_BYTES);
    read_file_if_any(look->top, ".git", IGNORE_BYTES, &text);
    struct ethos_view line = view_trim(str_view(&text));
    if (view_starts(line, VIEW("gitdir: "))) {
        line = view_trim(view_from(line, strlen("gitdir: ")));
        bool absolute = view_starts(line, VIEW("/"));
        const char *above = absolute ? "" : look->top;
        if ((size_t)snprintf(out, PATH_MAX, "%s%s%.*s", above, absolute ? "" : "/",
                             VIEW_ARG(line)) >= PATH_MAX)
            out[0] = 0; // too long: no index is read
    }
    str_release(&text);
}

/* ---- tracked files ----------------------------------------------------------------------------- */

/* Whether a file of the home must not be in a repository. */
static bool is_private(const char *path)
{
    enum backup_class class = backup_class(path);
    const char *name = strrchr(path, '/');
    bool ignore = strcmp(name ? name + 1 : path, DIR_IGNORE) == 0;
    bool settings = strncmp(path, "installed/", 10) == 0; // of agents, with their keys
    return (settings || class != BACKUP_FILE) && !ignore && strcmp(path, BACKUP_MANIFEST) != 0;
}

static int count_tracked(void *arg, const char *name)
{
    struct git_search *look = arg;
    size_t size = strlen(look->below);
    if (strncmp(name, look->below, size) != 0 || (size > 0 && name[size] != '/'))
        return 0;
    name += size + (size > 0 ? 1 : 0);
    if (!is_private(name))
        return 0;
    if (look->tracked++ < NAMED)
        str_printf(&look->names, "%s%s", look->names.size > 0 ? ", " : "", name);
    return 0;
}

static void find_tracked(struct git_search *look)
{
    struct str index;
    char git[PATH_MAX];
    find_git_folder(look, git);
    str_init(&index, INDEX_BYTES);
    read_file_if_any(git, "index", INDEX_BYTES, &index);
    git_index_names(str_view(&index), count_tracked, look);
    str_release(&index);
}

/* ---- ignored files ----------------------------------------------------------------------------- */

/* Whether a line is the name, with or without slashes around it, or a single asterisk. */
static bool is_covered_by_rule(struct ethos_view rule, struct ethos_view name)
{
    rule = view_trim(rule);
    if (view_starts(rule, VIEW("/")))
        rule = view_from(rule, 1);
    if (view_ends(rule, VIEW("/")))
        rule.size--;
    return view_eq_str(rule, "*") || (name.size > 0 && view_eq(rule, name));
}

static bool is_covered_by_file(const char *folder, const char *file, struct ethos_view name)
{
    struct str text;
    bool covers = false;
    str_init(&text, IGNORE_BYTES);
    read_file_if_any(folder, file, IGNORE_BYTES, &text);
    struct ethos_view line, rest = str_view(&text);
    while (!covers && view_line(&rest, &line))
        covers = is_covered_by_rule(line, name);
    str_release(&text);
    return covers;
}

/* Whether the home or a folder above it is ignored as a whole. */
static bool is_ignored(const struct git_search *look)
{
    char folder[PATH_MAX];
    struct ethos_view rest = view_str(look->below);
    snprintf(folder, sizeof folder, "%s", look->top);
    const char *slash = memchr(rest.data, '/', rest.size);
    if (is_covered_by_file(look->top, ".git/info/exclude",
                           view_of(rest.data, slash ? (size_t)(slash - rest.data) : rest.size)))
        return true;
    for (;;) {
        slash = memchr(rest.data, '/', rest.size);
        struct ethos_view name = view_of(rest.data,
                                         slash ? (size_t)(slash - rest.data) : rest.size);
        if (is_covered_by_file(folder, DIR_IGNORE, name))
            return true;
        if (name.size == 0)
            return false;
        size_t size = strlen(folder);
        snprintf(folder + size, sizeof folder - size, "/%.*s", VIEW_ARG(name));
        rest = view_from(rest, name.size + (slash ? 1 : 0));
    }
}

static bool ignores_private_files(const struct git_search *look)
{
    return is_ignored(look) || ((is_covered_by_file(look->home, DIR_IGNORE, VIEW("web-token")) ||
                                 is_covered_by_file(look->home, DIR_IGNORE, VIEW("web-token*"))) &&
                                (is_covered_by_file(look->home, DIR_IGNORE, VIEW("*.db")) ||
                                 is_covered_by_file(look->home, DIR_IGNORE, VIEW("*.db*"))));
}

static bool write_ignore_file(const struct git_search *look)
{
    int dir = os_openat(AT_FDCWD, look->home, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0)
        return false;
    dir_ignore(dir);
    os_close(dir);
    return ignores_private_files(look);
}

/* ---- the check ---------------------------------------------------------------------------------- */

void doctor_git(const char *home, bool fix, ethos_finding_fn *each, void *arg)
{
    static const char problem[] =
        "is in a git repository that does not ignore its login token, keys and databases";
    struct git_search look = {.tracked = 0};
    char tracked[512];
    if (os_realpath(home, look.home) != 0 || !find_work_tree(&look))
        return;
    str_init(&look.names, IGNORE_BYTES);
    find_tracked(&look);
    if (look.tracked > 0) {
        snprintf(tracked, sizeof tracked, "git tracks %zu file%s that must not be shared: %s%s",
                 look.tracked, look.tracked == 1 ? "" : "s", look.names.data,
                 look.tracked > NAMED ? ", ..." : "");
        each(
            arg,
            &(struct ethos_finding){
                ETHOS_FINDING_WARNING, home, tracked,
                "git rm --cached them, and change the keys: they are in the repository's history"});
    }
    if (!ignores_private_files(&look)) {
        bool fixed = fix && write_ignore_file(&look);
        each(arg, &(struct ethos_finding){
                      fixed ? ETHOS_FINDING_FIXED : ETHOS_FINDING_WARNING, home, problem,
                      fixed ? "wrote a .gitignore"
                            : "add web-token*, keys.yaml, *.db and *.db-* to its "
                              ".gitignore; ethos doctor --fix writes a missing one"});
    }
    str_release(&look.names);
}
