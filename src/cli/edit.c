/*
 * edit.c: ethos memory edit, ethos notes edit.
 *
 * The editor works on a private copy in a folder of its own, which goes with all that the editor left
 * there. Unchanged: nothing is written. The file moved meanwhile: the two are merged unless --if-match
 * forbids it, and where they cannot be, the text is listed as a conflict. The save failed: the copy is
 * kept and its path printed. The editor failed: so is what it left to recover from. No keystroke is lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "base/system/dir.h"
#include "base/system/os.h"
#include "base/utf8.h"
#include "base/view.h"
#include "cli/cli.h"

#define PATH_LIMIT 4096                             /* bytes */
#define COPY_LIMIT (PATH_LIMIT + ETHOS_MAX_KEY + 2) /* with a slash and the terminator */

/* ---- the copy ------------------------------------------------------------------------------ */

struct edited_copy {
    char folder[PATH_LIMIT]; /* private, for the editor alone; "": not made */
    char path[COPY_LIMIT];
};

/* A file that only its owner reads, in a folder of its own. */
static int fill_copy(struct ethos_view text, const char *path, struct ethos_error *error)
{
    int fd = os_openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return err_errno(error, errno, path);
    int code = os_write_all(fd, text.data, text.size) == 0 ? ETHOS_OK
                                                           : err_errno(error, errno, path);
    os_close(fd);
    return code;
}

/* The copy has the file's own name, which the editor shows and chooses colours by. */
static int make_copy(struct ethos_view text, const char *key, struct edited_copy *out,
                     struct ethos_error *error)
{
    const char *base = getenv("TMPDIR"), *slash = strrchr(key, '/');
    bool usable = base && *base == '/' && access(base, W_OK | X_OK) == 0;
    snprintf(out->folder, sizeof out->folder, "%s/ethos-edit-XXXXXX", usable ? base : "/tmp");
    if (!mkdtemp(out->folder)) {
        int code = err_errno(error, errno, out->folder);
        *out->folder = 0;
        return code;
    }
    snprintf(out->path, sizeof out->path, "%s/%s", out->folder, slash ? slash + 1 : key);
    return fill_copy(text, out->path, error);
}

/* With what the editor left beside it: its backup holds the text, too. */
static void remove_copy(const struct edited_copy *copy)
{
    if (*copy->folder)
        dir_remove(AT_FDCWD, copy->folder);
}

/* Stops at what is not the copy. */
static int meet_other(void *arg, const char *name)
{
    const struct edited_copy *copy = arg;
    return strcmp(name, copy->path + strlen(copy->folder) + 1) != 0;
}

/* Whether there is more in the folder: an editor that was ended leaves there what nobody saved yet. */
static bool has_more(struct edited_copy *copy)
{
    int dir = os_openat(AT_FDCWD, copy->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    bool more = dir >= 0 && os_list(dir, meet_other, copy) != 0;
    if (dir >= 0)
        os_close(dir);
    return more;
}

static int read_copy(const char *path, struct str *out, struct ethos_error *error)
{
    struct stat info;
    int fd = os_openat(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return err_errno(error, errno, path);
    if (os_fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        os_close(fd);
        return err_set(error, ETHOS_IO, "%s: the editor did not leave a regular file", path);
    }
    int code = os_read_all(fd, out, ETHOS_MAX_INPUT_BYTES) == 0 ? ETHOS_OK
                                                                : err_errno(error, errno, path);
    os_close(fd);
    return code;
}

/* ---- the editor ---------------------------------------------------------------------------- */

static bool in_path(const char *program)
{
    const char *path = getenv("PATH");
    char name[PATH_LIMIT];
    while (path && *path) {
        size_t size = strcspn(path, ":");
        snprintf(name, sizeof name, "%.*s/%s", (int)size, path, program);
        if (access(name, X_OK) == 0)
            return true;
        path += size + (path[size] == ':');
    }
    return false;
}

static const char *choose_editor(void)
{
    static const char *const usual[] = {"nano", "vim", "vi"};
    static const char *const variables[] = {"VISUAL", "EDITOR"};
    for (size_t i = 0; i < 2; i++) {
        const char *value = getenv(variables[i]);
        if (value && *value)
            return value;
    }
    for (size_t i = 0; i < 3 && isatty(STDIN_FILENO); i++) // these need somebody who types
        if (in_path(usual[i]))
            return usual[i];
    return NULL;
}

/* Keys that interrupt are for the editor; whoever waits for it must not die of them. */
static void heed_keys(bool heed)
{
    signal(SIGINT, heed ? SIG_DFL : SIG_IGN);
    signal(SIGQUIT, heed ? SIG_DFL : SIG_IGN);
}

/* The value may hold arguments, so the shell takes it apart. */
static pid_t start_editor(const char *editor, const char *path)
{
    char script[PATH_LIMIT];
    if (snprintf(script, sizeof script, "%s \"$@\"", editor) >= PATH_LIMIT) {
        errno = ENAMETOOLONG;
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        heed_keys(true);
        signal(SIGPIPE, SIG_DFL);
        signal(SIGXFSZ, SIG_DFL);
        if (!isatty(STDOUT_FILENO)) // standard output is for data
            dup2(STDERR_FILENO, STDOUT_FILENO);
        execl("/bin/sh", "sh", "-c", script, editor, path, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static int run_editor(const char *editor, const char *path, struct ethos_error *error)
{
    int status = 0;
    heed_keys(false);
    pid_t pid = start_editor(editor, path);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    heed_keys(true);
    if (pid < 0)
        return err_errno(error, errno, editor);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return ETHOS_OK;
    return err_hint(error, err_set(error, ETHOS_INVALID, "%s: the editor failed", editor),
                    "set $VISUAL or $EDITOR to an editor that works here");
}

/* ---- the command --------------------------------------------------------------------------- */

/* What is being edited. The bytes are what the editor starts from, and the base of a merge. */
struct original {
    json_t *entry; /* as memory.get gives it */
    struct str text;
};

static int get_original(struct cli *self, bool json, struct op_result *result,
                        struct ethos_error *error)
{
    bool asked = self->json;
    json_t *args = json_copy(self->args);
    if (!args)
        return err_nomem(error);
    json_object_del(args, "ifMatch"); // of the write, not of the file's name
    self->json = json;
    int code = cli_call(self, op_find("memory.get"), args, result, error);
    self->json = asked;
    json_decref(args);
    return code;
}

static int fetch_original(struct cli *self, struct original *out, struct ethos_error *error)
{
    struct op_result entry, bytes;
    op_result_init(&entry);
    op_result_init(&bytes);
    int code = get_original(self, true, &entry, error);
    if (code == ETHOS_OK)
        code = get_original(self, false, &bytes, error);
    if (code == ETHOS_OK) {
        out->entry = json_incref(entry.json);
        code = str_add(&out->text, str_view(&bytes.text));
    }
    op_result_release(&entry);
    op_result_release(&bytes);
    return code;
}

/* The text may hold any bytes the file held before, so it is not checked as JSON text. */
static int call_save(struct cli *self, const struct original *before, struct ethos_view text,
                     struct op_result *result, struct ethos_error *error)
{
    json_t *args = json_deep_copy(self->args);
    op_json_put(&args, "content", json_stringn_nocheck(text.data, text.size));
    op_json_put(&args, "base", json_stringn_nocheck(before->text.data, before->text.size));
    int code = cli_call(self, op_find("memory.save"), args, result, error);
    json_decref(args);
    return code;
}

/* Whether it has the revision that was asked for: nobody should type what cannot be saved. */
static int check_match(struct cli *self, const struct original *before, struct ethos_error *error)
{
    struct op_result result;
    bool asked = self->dry_run;
    if (!json_object_get(self->args, "ifMatch"))
        return ETHOS_OK;
    op_result_init(&result);
    self->dry_run = true;
    int code = call_save(self, before, str_view(&before->text), &result, error);
    self->dry_run = asked;
    op_result_release(&result);
    return code;
}

/* ETHOS_OK: it is in the file or listed as a conflict, and *out_status says which. */
static int save_edited(struct cli *self, const struct original *before, struct ethos_view text,
                       int *out_status, struct ethos_error *error)
{
    struct op_result result;
    op_result_init(&result);
    int code = call_save(self, before, text, &result, error);
    if (code == ETHOS_OK && result.code != ETHOS_OK && result.code != ETHOS_CONFLICT) {
        code = result.code;
        *error = result.error;
    }
    if (code == ETHOS_OK)
        *out_status = cli_show(self, op_find("memory.save"), &result);
    op_result_release(&result);
    return code;
}

/* The report of a sync that had nothing to do. */
static void show_unchanged(struct cli *self, const struct original *before)
{
    const json_t *entry = before->entry;
    struct op_result result;
    op_result_init(&result);
    result.json = json_pack("{s:i, s:[], s:[{s:O, s:O, s:O, s:I}], s:[]}", "applied", 0, "written",
                            "unchanged", "scope", json_object_get(entry, "scope"), "key",
                            json_object_get(entry, "key"), "revision",
                            json_object_get(entry, "revision"), "chars",
                            (json_int_t)utf8_units(str_view(&before->text)), "conflicts");
    cli_show(self, op_find("memory.save"), &result);
    op_result_release(&result);
}

/* Runs the editor on the copy and saves. *out_keep: a path of what is nowhere else, or NULL. */
static int edit_copy(struct cli *self, const struct original *before, struct edited_copy *copy,
                     const char **out_keep, int *out_status, struct ethos_error *error)
{
    struct str text;
    const char *path = copy->path;
    const char *editor = choose_editor();
    if (!editor)
        return err_hint(error, err_set(error, ETHOS_INVALID, "no editor found"), "set $EDITOR");
    int code = run_editor(editor, path, error);
    str_init(&text, ETHOS_MAX_INPUT_BYTES + 1);
    int read_code = read_copy(path, &text, code == ETHOS_OK ? error : NULL);
    bool same = read_code == ETHOS_OK && view_eq(str_view(&text), str_view(&before->text));
    if (code == ETHOS_OK && read_code == ETHOS_NOTFOUND)
        code = err_set(error, ETHOS_INVALID,
                       "%s: the editor deleted its copy of the text; nothing was changed", editor);
    else if (code == ETHOS_OK)
        code = read_code;
    if (code == ETHOS_OK && same)
        show_unchanged(self, before);
    else if (code == ETHOS_OK)
        code = save_edited(self, before, str_view(&text), out_status, error);
    if (code != ETHOS_OK && !same && read_code != ETHOS_NOTFOUND)
        *out_keep = path;
    else if (code != ETHOS_OK && has_more(copy))
        *out_keep = copy->folder;
    str_release(&text);
    return code;
}

int edit_in_editor(const char *name, struct ethos_view text, struct str *out,
                   struct ethos_error *error)
{
    struct edited_copy copy = {0};
    const char *editor = choose_editor();
    if (!editor)
        return err_hint(error, err_set(error, ETHOS_INVALID, "no editor found"), "set $EDITOR");
    int code = make_copy(text, name, &copy, error);
    if (code == ETHOS_OK)
        code = run_editor(editor, copy.path, error);
    if (code == ETHOS_OK)
        code = read_copy(copy.path, out, error);
    remove_copy(&copy);
    return code;
}

/* Replaces the name of a note by the file it means, so that the rest is the same for both. */
static int aim_at_note(struct cli *self, struct ethos_error *error)
{
    struct op_result note;
    bool asked = self->json;
    json_t *args = json_deep_copy(self->args);
    if (!json_object_get(args, "name")) {
        json_decref(args);
        return ETHOS_OK;
    }
    json_object_del(args, "ifMatch"); // of the write, not of the name
    op_result_init(&note);
    self->json = true;
    int code = cli_call(self, op_find("notes.show"), args, &note, error);
    self->json = asked;
    json_decref(args);
    if (code == ETHOS_OK) {
        json_object_del(self->args, "name");
        json_object_set(self->args, "key", json_object_get(note.json, "key"));
        json_object_set(self->args, "scope", json_object_get(note.json, "scope"));
    }
    op_result_release(&note);
    return code;
}

int edit_run(struct cli *self)
{
    struct edited_copy copy = {0};
    const char *keep = NULL;
    int status = CLI_DONE;
    struct original before = {0};
    struct ethos_error error = {0};
    str_init(&before.text, ETHOS_MAX_STORE_BYTES);
    int code = aim_at_note(self, &error);
    if (code == ETHOS_OK)
        code = fetch_original(self, &before, &error);
    if (code == ETHOS_OK)
        code = check_match(self, &before, &error);
    if (code == ETHOS_OK)
        code = make_copy(str_view(&before.text),
                         json_string_value(json_object_get(before.entry, "key")), &copy, &error);
    if (code == ETHOS_OK)
        code = edit_copy(self, &before, &copy, &keep, &status, &error);
    if (keep)
        err_hint(&error, code, "your text is saved in %s", keep);
    else
        remove_copy(&copy);
    json_decref(before.entry);
    str_release(&before.text);
    return code == ETHOS_OK ? status : cli_fail(self, &error);
}
