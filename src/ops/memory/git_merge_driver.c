/*
 * git_merge_driver.c: merges memory files for git (merge.ethos.driver; see gitattributes).
 *
 * The merged text replaces our file. Where both sides changed the same lines, our side is used, and the whole of their
 * side is first saved as a conflict copy beside the file in the work tree. An error leaves our file unchanged. Needs no
 * home.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/system/file.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/history/merge.h"
#include "core/memory/conflict_name.h"
#include "memory/home/directory.h"
#include "ops/tables.h"

#define MEM ".mem"
#define IGNORE ".gitignore"

/* ---- files --------------------------------------------------------------------------------- */

static int read_side(const char *path, struct str *out, struct ethos_error *error)
{
    CLEANUP_FD int fd = os_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return err_errno(error, errno, path);
    return file_read(fd, path, ETHOS_MAX_INPUT_BYTES, out, NULL, error);
}

/* Cuts path at its last slash: the folder, "." for none, and the name in it. */
static const char *cut_path(char *path, const char **out_folder)
{
    char *slash = strrchr(path, '/');
    *out_folder = !slash ? "." : slash == path ? "/" : path;
    if (slash)
        *slash = 0;
    return slash ? slash + 1 : path;
}

static int write_ours(const char *path, struct ethos_view text, struct ethos_error *error)
{
    char real[PATH_MAX];
    const char *folder;
    if (os_realpath(path, real) != 0)
        return err_errno(error, errno, path);
    const char *name = cut_path(real, &folder);
    CLEANUP_FD int dir = os_openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0)
        return err_errno(error, errno, folder);
    return file_replace(dir, name, text, 0600, error);
}

/* ---- the conflict copy --------------------------------------------------------------------- */

/* Opens a folder of the work tree without following links out of it: a descriptor, or a negative code. */
static int open_work_tree_folder(const char *folder, struct ethos_error *error)
{
    CLEANUP_FD int tree = os_openat(AT_FDCWD, ".", O_RDONLY | O_DIRECTORY, 0);
    int dir = tree < 0 ? -1 : os_open_beneath(tree, folder, O_RDONLY | O_DIRECTORY, 0);
    return dir < 0 ? err_errno(error, errno, folder) : dir;
}

static int write_copy_in(int dir, const char *name, struct ethos_view text,
                         struct ethos_error *error)
{
    struct stat info;
    bool made = os_fstatat(dir, MEM, &info, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
    int code = home_replace(dir, CONFLICT_FOLDER, name, text, error);
    if (code == ETHOS_OK && made) // conflict copies must not be committed
        code = home_replace(dir, MEM, IGNORE, VIEW("*\n"), error);
    return code;
}

/* Saves their side as a conflict copy beside path; *out_copy is its path. */
static int save_theirs(const char *path, struct ethos_view text, struct str *out_copy,
                       struct ethos_error *error)
{
    char copy[PATH_MAX], name[CONFLICT_NAME_SIZE];
    const char *folder;
    if (strlen(path) >= sizeof copy)
        return err_errno(error, ENAMETOOLONG, path);
    memcpy(copy, path, strlen(path) + 1);
    const char *key = cut_path(copy, &folder);
    if (*key == 0 || strlen(key) > ETHOS_MAX_NAME)
        return err_set(error, ETHOS_DENIED, "%s: not the name of a memory file", path);
    CLEANUP_FD int dir = open_work_tree_folder(folder, error);
    if (dir < 0)
        return dir;
    conflict_name(key, os_now_ms(), text, name);
    TRY(write_copy_in(dir, name, text, error));
    if (strcmp(folder, ".") != 0)
        str_printf(out_copy, "%s/", folder);
    return str_printf(out_copy, CONFLICT_FOLDER "/%s", name) ? err_nomem(error) : ETHOS_OK;
}

/* ---- the operation ------------------------------------------------------------------------- */

struct sides {
    struct str base, ours, theirs, merged, copy;
};

static void init_sides(struct sides *s)
{
    str_init(&s->base, ETHOS_MAX_INPUT_BYTES + 1);
    str_init(&s->ours, ETHOS_MAX_INPUT_BYTES + 1);
    str_init(&s->theirs, ETHOS_MAX_INPUT_BYTES + 1);
    str_init(&s->merged, (size_t)ETHOS_MAX_INPUT_BYTES * 4);
    str_init(&s->copy, PATH_MAX);
}

static void release_sides(struct sides *s)
{
    str_release(&s->base);
    str_release(&s->ours);
    str_release(&s->theirs);
    str_release(&s->merged);
    str_release(&s->copy);
}

static int read_sides(const struct op_call *call, struct sides *s, struct ethos_error *error)
{
    TRY(read_side(op_string(call, "base"), &s->base, error));
    TRY(read_side(op_string(call, "ours"), &s->ours, error));
    return read_side(op_string(call, "theirs"), &s->theirs, error);
}

/* Their side is saved before our file changes. */
static int write_merge_result(const struct op_call *call, struct sides *s, unsigned conflicts,
                              struct ethos_error *error)
{
    if (call->dry_run)
        return ETHOS_OK;
    if (conflicts > 0)
        TRY(save_theirs(op_string(call, "path"), str_view(&s->theirs), &s->copy, error));
    if (view_eq(str_view(&s->merged), str_view(&s->ours)))
        return ETHOS_OK;
    return write_ours(op_string(call, "ours"), str_view(&s->merged), error);
}

static void report_conflicts(const struct op_call *call, const struct sides *s, unsigned conflicts,
                             struct op_result *result)
{
    const char *path = op_string(call, "path");
    if (conflicts == 0)
        return;
    result->code = err_set(&result->error, ETHOS_CONFLICT,
                           "%s: %u place%s changed on both sides; ours is used, theirs is in %s",
                           path, conflicts, conflicts == 1 ? "" : "s",
                           s->copy.size > 0 ? s->copy.data : "no copy yet (dry run)");
    err_hint(&result->error, result->code, "copy over what is missing, then git add %s", path);
}

static json_t *report_json(const struct sides *s, const struct merge_report *report)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:o}", "conflicts", (int)report->conflicts, "fromOurs",
                     (int)report->from_ours, "fromTheirs", (int)report->from_theirs, "fromBoth",
                     (int)report->from_both, "copy",
                     op_json_string(s->copy.size > 0 ? s->copy.data : NULL));
}

static int run_merge_driver(struct op_call *call, struct op_result *result,
                            struct ethos_error *error)
{
    struct sides s;
    struct merge_report report = {0};
    init_sides(&s);
    int code = read_sides(call, &s, error);
    if (code == ETHOS_OK &&
        merge_texts(str_view(&s.base), str_view(&s.ours), str_view(&s.theirs), &s.merged, &report))
        code = err_nomem(error);
    if (code == ETHOS_OK)
        code = write_merge_result(call, &s, report.conflicts, error);
    if (code == ETHOS_OK) {
        report_conflicts(call, &s, report.conflicts, result);
        code = op_return(result, report_json(&s, &report), error);
    }
    release_sides(&s);
    return code;
}

#define PLACE(name, placeholder, help)                                                             \
    {                                                                                              \
        name, OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, placeholder, help                        \
    }

static const struct op_arg merge_args[] = {
    PLACE("base", "BASE", "file with the common ancestor (%O)"),
    PLACE("ours", "OURS", "file with our side; gets the result (%A)"),
    PLACE("theirs", "THEIRS", "file with their side (%B)"),
    PLACE("path", "PATH", "the file's name in the work tree (%P)"),
    {NULL, OP_TEXT, 0, NULL, NULL, NULL}};

const struct op ops_merge[] = {
    {"admin.mergeDriver", "merge-driver", "Merge memory for git, as its merge driver",
     "ethos merge-driver %O %A %B %P", merge_args, OP_OWNER,
     OP_WRITES | OP_DESTRUCTIVE | OP_LOCAL | OP_NO_HOME, run_merge_driver},
    {0}};
