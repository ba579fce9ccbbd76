/*
 * check.c: finds problems in the files themselves: permissions, texts that cannot be read or
 * written.
 *
 * Walks the directory of every scope. Modes are fixed on request, texts never are. check_history.c
 * then checks the history, temporaries and conflict copies of each scope.
 */
#include "store/files/check_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/text/quote.h"
#include "base/utf8.h"
#include "base/view.h"
#include "store/update_steps.h"

/* ---- findings ------------------------------------------------------------------------------- */

void files_check_report(struct store_check *check, enum ethos_severity severity, const char *path,
                        const char *problem, const char *remedy)
{
    char subject_line[QUOTE_SIZE], problem_line[QUOTE_SIZE], remedy_line[QUOTE_SIZE];
    const char *subject = strcmp(path, ".") == 0 ? check->self->root_path : path;
    struct ethos_finding finding = {
        .severity = severity,
        .subject = quote_line(view_str(subject), subject_line),
        .problem = quote_line(view_str(problem), problem_line),
        .remedy = quote_line(view_str(remedy), remedy_line),
    };
    check->each(check->arg, &finding);
}

/* Appends a path for a shell: in single quotes unless it is plain. */
static void add_shell_quoted(struct str *out, const char *path)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
    const char *quote = path[strspn(path, plain)] ? "'" : "";
    str_adds(out, quote);
    for (; *path; path++)
        *path == '\'' ? str_adds(out, "'\\''") : str_addc(out, *path);
    str_adds(out, quote);
}

void files_check_command(struct store_check *check, enum ethos_severity severity, const char *path,
                         const char *problem, const char *command)
{
    char shown[PATH_MAX];
    struct str remedy;
    str_init(&remedy, 8 * PATH_MAX);
    for (; *command; command++) {
        if (*command == '@')
            add_shell_quoted(&remedy, files_full_path(check->self, path, shown));
        else
            str_addc(&remedy, *command);
    }
    if (str_code(&remedy) == ETHOS_OK)
        files_check_report(check, severity, path, problem, remedy.data);
    else
        check->nomem = true;
    str_release(&remedy);
}

/* ---- directories ---------------------------------------------------------------------------- */

bool files_check_join(char out[FILES_PATH_SIZE], const char *path, const char *name)
{
    bool top = strcmp(path, ".") == 0;
    int size = snprintf(out, FILES_PATH_SIZE, "%s%s%s", top ? "" : path, top ? "" : "/", name);
    return size < FILES_PATH_SIZE;
}

static void check_mode(struct store_check *check, int dir, const char *path)
{
    struct stat st;
    char problem[80];
    if (os_fstat(dir, &st) != 0 || (st.st_mode & (S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH)) == 0)
        return;
    bool writable = (st.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    snprintf(problem, sizeof problem, "others may %s this directory (mode %03o)",
             writable ? "write to" : "read", (unsigned)st.st_mode & 0777);
    enum ethos_severity severity = writable ? ETHOS_FINDING_ERROR : ETHOS_FINDING_WARNING;
    if (check->fix && os_fchmod(dir, st.st_mode & 07700) == 0)
        severity = ETHOS_FINDING_FIXED;
    files_check_command(check, severity, path, problem, "chmod go-rwx @");
}

/* Called once for each name of a directory. */
typedef int name_fn(struct store_check *check, int dir, const char *path, const char *name);

static int for_each_name(struct store_check *check, int dir, const char *path, name_fn *each)
{
    CLEANUP_NAMES struct files_names names;
    TRY(files_names_read(check->self, dir, path, &names, check->error));
    for (size_t i = 0; i < names.count; i++) {
        char below[FILES_PATH_SIZE];
        if (files_check_join(below, path, names.sorted[i]))
            TRY(each(check, dir, below, names.sorted[i]));
    }
    return ETHOS_OK;
}

/*
 * Opens a directory of the walk; -1 when it does not exist, or after reporting why it cannot be
 * opened.
 */
static int open_checked_dir(struct store_check *check, const char *path)
{
    struct ethos_error error = {0};
    int dir = files_open(check->self, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK, &error);
    if (dir < 0 && dir != ETHOS_NOTFOUND)
        files_check_report(check, ETHOS_FINDING_ERROR, path, error.text, error.hint);
    return dir < 0 ? -1 : dir;
}

/* ---- texts ---------------------------------------------------------------------------------- */

static int check_text_file(struct store_check *check, int fd, const char *path)
{
    struct stat st;
    char problem[120];
    if (os_fstat(fd, &st) != 0)
        return files_errno(check->self, errno, path, check->error);
    if (!S_ISREG(st.st_mode)) {
        files_check_command(check, ETHOS_FINDING_ERROR, path, "is not a regular file",
                            "move it away: mv @ @.old");
        return ETHOS_OK;
    }
    if (st.st_nlink > 1) {
        snprintf(problem, sizeof problem, "has %ju hard links, so writing to it is refused",
                 (uintmax_t)st.st_nlink);
        files_check_command(check, ETHOS_FINDING_WARNING, path, problem,
                            "cp -p @ @.new && mv @.new @");
    }
    if (st.st_size <= ETHOS_MAX_READ_BYTES) {
        static const struct ethos_read_how whole = {0, 0};
        struct ethos_error error = {0};
        int code = files_read_fd(check->self, fd, path, &whole, &check->text, NULL, &error);
        if (code == ETHOS_NOMEM)
            return err_nomem(check->error);
        if (code != ETHOS_OK)
            files_check_report(check, ETHOS_FINDING_ERROR, path, error.text, error.hint);
        else if (!utf8_valid(view_of(check->text.data, check->text.size)))
            files_check_command(
                check, ETHOS_FINDING_WARNING, path, "is not valid UTF-8",
                "iconv -f WINDOWS-1252 -t UTF-8 @ shows it as it may have been meant");
        return ETHOS_OK;
    }
    snprintf(problem, sizeof problem,
             "has %jd bytes, more than %d: only its end is shown, writing to it is refused",
             (intmax_t)st.st_size, ETHOS_MAX_READ_BYTES);
    files_check_command(check, ETHOS_FINDING_WARNING, path, problem,
                        "move the older part of @ to a file of its own");
    return ETHOS_OK;
}

/* Checks the type first: opening a device can have side effects. */
static int check_key(struct store_check *check, int dir, const char *path, const char *name)
{
    struct stat st;
    struct ethos_error error = {0};
    if (!scope_key_visible(name) || os_fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return ETHOS_OK;
    bool text = S_ISREG(st.st_mode) || S_ISLNK(st.st_mode);
    CLEANUP_FD int fd = files_open(check->self, path, text ? FILES_READ_FLAGS : O_PATH, &error);
    if (fd < 0) {
        files_check_report(check, ETHOS_FINDING_ERROR, path, error.text, error.hint);
        return ETHOS_OK;
    }
    return check_text_file(check, fd, path);
}

static void check_subdir_mode(struct store_check *check, int dir, const char *path,
                              const char *name)
{
    char below[FILES_PATH_SIZE];
    int fd = os_open_beneath(dir, name, O_RDONLY | O_DIRECTORY, 0);
    if (fd >= 0 && files_check_join(below, path, name))
        check_mode(check, fd, below);
    if (fd >= 0)
        os_close(fd);
}

/* ---- trees ---------------------------------------------------------------------------------- */

static int check_tree_name(struct store_check *check, int dir, const char *path, const char *name);

/* Checks a file of a tree, or a directory and everything below it. */
static int check_tree_entry(struct store_check *check, int dir, const char *path, const char *name,
                            bool text)
{
    int flags = text ? FILES_READ_FLAGS : O_RDONLY | O_DIRECTORY;
    int code = ETHOS_OK, fd = os_open_beneath(dir, name, flags | O_NOFOLLOW, 0);
    if (fd < 0) {
        files_check_command(check, ETHOS_FINDING_ERROR, path, "cannot be opened",
                            "make it readable: chmod u+rwX @");
        return ETHOS_OK;
    }
    if (text) {
        code = check_text_file(check, fd, path);
    } else {
        check_mode(check, fd, path);
        code = for_each_name(check, fd, path, check_tree_name);
    }
    os_close(fd);
    return code;
}

static int check_tree_name(struct store_check *check, int dir, const char *path, const char *name)
{
    struct stat st;
    const char *key = path + check->tree + 1;
    if (name[0] == '.' || scope_key_reserved(key) ||
        os_fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return ETHOS_OK;
    if (!scope_key_shown("memories:global", key)) {
        files_check_command(check, ETHOS_FINDING_WARNING, path,
                            "its name cannot be used in a tree of memories, so it is never read",
                            "rename @: UTF-8 without quotes, backslashes and control characters");
        return ETHOS_OK;
    }
    if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
        return check_tree_entry(check, dir, path, name, S_ISREG(st.st_mode));
    if (S_ISLNK(st.st_mode))
        files_check_command(
            check, ETHOS_FINDING_WARNING, path,
            "is a symbolic link, and symbolic links in a memories tree are not followed",
            "put the file itself there, or remove the link: rm @");
    else
        files_check_command(check, ETHOS_FINDING_ERROR, path, "is not a regular file",
                            "move it away: mv @ @.old");
    return ETHOS_OK;
}

/* ---- the walk ------------------------------------------------------------------------------- */

/* Checks a directory of texts. ETHOS_NOTFOUND when it cannot be opened. */
static int check_texts(struct store_check *check, const char *scope, const char *path,
                       name_fn *each)
{
    CLEANUP_FD int dir = open_checked_dir(check, path);
    if (dir < 0)
        return ETHOS_NOTFOUND;
    check_mode(check, dir, path);
    check_subdir_mode(check, dir, path, FILES_MEM);
    check_subdir_mode(check, dir, path, FILES_TMP);
    TRY(for_each_name(check, dir, path, each));
    if (str_add(&check->scopes, view_of(scope, strlen(scope) + 1)) != ETHOS_OK)
        return err_nomem(check->error);
    return ETHOS_OK;
}

/* Checks the directory of a scope and that of its tree. */
static int check_scope_texts(struct store_check *check, const char *id, const char *path)
{
    char scope[ETHOS_MAX_SCOPE], tree[ETHOS_MAX_SCOPE], below[FILES_PATH_SIZE];
    int code = scope_make(check->kind, id, scope, check->error);
    if (code == ETHOS_OK)
        code = check_texts(check, scope, path, check_key);
    scope_tree(scope, tree);
    if (code == ETHOS_OK)
        code = files_scope_path(tree, below, check->error);
    if (code == ETHOS_OK)
        check->tree = strlen(below);
    if (code == ETHOS_OK)
        code = check_texts(check, tree, below, check_tree_name);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

/* Whether a name is an id and that of a directory; reports a directory whose name is no id. */
static bool is_id_directory(struct store_check *check, int dir, const char *path, const char *name)
{
    struct stat st;
    if (name[0] == '.' || os_fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !(S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode)))
        return false;
    if (scope_id_ok(view_str(name)))
        return true;
    files_check_command(check, ETHOS_FINDING_WARNING, path,
                        "its name is not an id, so nothing in it is ever read",
                        "rename @ to letters, digits, '_' and '-'");
    return false;
}

/* personalities/<id>, users/<id>: the texts stand in the directory itself. */
static int check_flat_scope(struct store_check *check, int dir, const char *path, const char *name)
{
    return is_id_directory(check, dir, path, name) ? check_scope_texts(check, name, path)
                                                   : ETHOS_OK;
}

/* teams/<id>/memory, workspaces/<id>/memory. */
static int check_nested_scope(struct store_check *check, int dir, const char *path,
                              const char *name)
{
    char below[FILES_PATH_SIZE];
    if (!is_id_directory(check, dir, path, name) || !files_check_join(below, path, "memory"))
        return ETHOS_OK;
    int own = open_checked_dir(check, path);
    if (own < 0)
        return ETHOS_OK;
    check_mode(check, own, path);
    os_close(own);
    return check_scope_texts(check, name, below);
}

static int check_folder(struct store_check *check, const char *path, name_fn *each)
{
    CLEANUP_FD int dir = open_checked_dir(check, path);
    if (dir < 0)
        return ETHOS_OK;
    check_mode(check, dir, path);
    return for_each_name(check, dir, path, each);
}

static int check_all_scopes(struct store_check *check)
{
    static const struct {
        const char *path;
        enum scope_kind kind;
        name_fn *each;
    } folders[] = {{"personalities", SCOPE_PERSONALITY, check_flat_scope},
                   {"users", SCOPE_USER, check_flat_scope},
                   {"teams", SCOPE_TEAM, check_nested_scope},
                   {"workspaces", SCOPE_WORKSPACE, check_nested_scope}};
    check->kind = SCOPE_GLOBAL;
    TRY(check_scope_texts(check, "", "."));
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        check->kind = folders[i].kind;
        TRY(check_folder(check, folders[i].path, folders[i].each));
    }
    return ETHOS_OK;
}

/* Skipped when others can write to the root: nothing is read or written there then. */
static int check_histories(struct store_check *check)
{
    int code = ETHOS_OK;
    const char *end = check->scopes.data + check->scopes.size;
    for (const char *scope = check->scopes.data; scope < end; scope += strlen(scope) + 1) {
        if (code == ETHOS_OK && files_root_open(check->self, NULL) == ETHOS_OK)
            code = files_check_history(check, scope);
    }
    return code;
}

int files_check(struct ethos_store *store, int fix, ethos_finding_fn *each, void *arg,
                struct ethos_error *error)
{
    struct files *self = (struct files *)store;
    struct store_check check = {.self = self, .fix = fix, .each = each, .arg = arg, .error = error};
    files_root_close(self); // closed, since its mode may be the problem: other calls check it again
    int code = files_root_open_any_mode(self, error);
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    str_init(&check.scopes, ETHOS_MAX_STORE_BYTES);
    str_init(&check.devices, ETHOS_MAX_STORE_BYTES);
    code = check_all_scopes(&check);
    files_root_close(self);
    if (code == ETHOS_OK)
        code = check_histories(&check);
    files_root_close(self);
    str_release(&check.scopes);
    str_release(&check.devices);
    edit_free_text(self->host, &check.text);
    return code == ETHOS_OK && check.nomem ? err_nomem(error) : code;
}
