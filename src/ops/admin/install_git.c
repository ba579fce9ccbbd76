/*
 * install_git.c: installs and removes the merge driver of a git repository.
 *
 * Two settings of the repository name the driver, and a block between two marks in the .gitattributes at the top of the
 * work tree lists its files. The first mark records whether the file was new or got a newline, so that removing the
 * block restores the original bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/system/file.h"
#include "base/system/os.h"
#include "base/system/process.h"
#include "base/text/quote.h"
#include "base/view.h"
#include "core/formats/managed_block.h"
#include "core/history/diff.h"
#include "ops/admin/install.h"

#define ATTRIBUTES ".gitattributes"

/* ---- the driver's command ------------------------------------------------------------------ */

/* Quotes for the shell that git runs; percent signs are doubled for git itself. */
static void append_quoted(struct ethos_view program, struct str *out)
{
    struct str word;
    str_init(&word, (size_t)PATH_MAX * 4);
    quote_shell(program, &word);
    for (size_t i = 0; i < word.size; i++)
        str_adds(out, word.data[i] == '%' ? "%%" : (char[]){word.data[i], 0});
    if (str_code(&word) != ETHOS_OK)
        str_fail(out, str_code(&word));
    str_release(&word);
}

static int build_driver_command(struct str *out, struct ethos_error *error)
{
    CLEANUP_STR struct str program;
    str_init(&program, PATH_MAX);
    TRY(install_program(&program, error));
    append_quoted(str_view(&program), out);
    str_adds(out, " merge-driver -- %O %A %B %P");
    return str_code(out) ? err_nomem(error) : ETHOS_OK;
}

/* ---- git ----------------------------------------------------------------------------------- */

/* Runs git; *out_status is its exit status. */
static int run_git(const char *const argv[], struct str *out, int *out_status,
                   struct ethos_error *error)
{
    *out_status = process_run(argv, out);
    if (*out_status >= 0)
        return ETHOS_OK;
    if (errno != ENOENT)
        return err_errno(error, errno, "git");
    err_set(error, ETHOS_NOTFOUND, "git: not found");
    return err_hint(error, ETHOS_NOTFOUND, "install git, then try again");
}

static int find_git_top(struct str *out, struct ethos_error *error)
{
    const char *const argv[] = {"git", "rev-parse", "--show-toplevel", NULL};
    int status, code = run_git(argv, out, &status, error);
    if (code != ETHOS_OK)
        return code;
    if (status == 0 && out->size > 1) {
        str_truncate(out, out->size - 1); // the newline
        return ETHOS_OK;
    }
    err_set(error, ETHOS_NOTFOUND, "not inside a git work tree");
    return err_hint(error, ETHOS_NOTFOUND, "change into one first, or create one with git init");
}

struct git_setting {
    const char *name;
    const char *value; /* NULL: unset */
};

static int is_setting_applied(const struct git_setting *setting, bool *out_is,
                              struct ethos_error *error)
{
    const char *const argv[] = {"git", "config", "--local", "--get-all", setting->name, NULL};
    struct str now;
    int status;
    str_init(&now, ETHOS_MAX_YAML_BYTES);
    int code = run_git(argv, &now, &status, error);
    size_t size = setting->value ? strlen(setting->value) : 0;
    *out_is = setting->value ? now.size == size + 1 && memcmp(now.data, setting->value, size) == 0
                             : now.size == 0;
    str_release(&now);
    return code;
}

static int write_git_setting(const struct git_setting *setting, struct ethos_error *error)
{
    const char *const set[] = {"git",         "config",       "--local", "--replace-all",
                               setting->name, setting->value, NULL};
    const char *const unset[] = {"git", "config", "--local", "--unset-all", setting->name, NULL};
    struct str out;
    int status;
    str_init(&out, ETHOS_MAX_YAML_BYTES);
    int code = run_git(setting->value ? set : unset, &out, &status, error);
    str_release(&out);
    if (code != ETHOS_OK || status == 0)
        return code;
    err_set(error, ETHOS_IO, "git config: cannot change %s (exit status %d)", setting->name,
            status);
    return err_hint(error, ETHOS_IO, "check the repository's config file and its permissions");
}

/* ---- .gitattributes ------------------------------------------------------------------------ */

#define FIRST_MARK "# >>> ethos install git"
#define LAST_MARK "# <<< ethos install git"
#define NEW_FILE ", new file"
#define NEW_LINE ", newline added"

static const char rules[] = "MEMORY.md merge=ethos\n"
                            "USER.md merge=ethos\n"
                            "memory-archive.md merge=ethos\n"
                            "memory-history*.jsonl merge=union\n";

static const struct block_marks marks = {FIRST_MARK, LAST_MARK, false};

static void append_attributes_block(struct ethos_view text, bool exists, struct str *out)
{
    bool open_line = text.size > 0 && text.data[text.size - 1] != '\n';
    str_add(out, text);
    str_printf(out, "%s" FIRST_MARK "%s\n%s" LAST_MARK "\n", open_line ? "\n" : "",
               !exists     ? NEW_FILE
               : open_line ? NEW_LINE
                           : "",
               rules);
}

static void renew_attributes_block(const struct block *block, struct str *out)
{
    str_add(out, block->before);
    str_add(out, block->begin);
    str_printf(out, "%s" LAST_MARK "\n", rules);
    str_add(out, block->after);
}

static void remove_attributes_block(const struct block *block, struct str *out)
{
    bool added = view_contains(block->begin, VIEW(NEW_LINE)) && block->after.size == 0;
    str_add(out, view_of(block->before.data, block->before.size - (added && block->before.size)));
    str_add(out, block->after);
}

/* ---- changing the repository --------------------------------------------------------------- */

struct git_change {
    struct op_call *call;
    bool install;
    struct str top, driver;
    int dir;                  /* the top of the work tree */
    struct str before, after; /* .gitattributes */
    bool exists, remains;     /* whether that file exists before and after */
    json_t *done;             /* names of the changed settings and files */
};

static int read_attributes(struct git_change *c, struct ethos_error *error)
{
    int fd = os_openat(c->dir, ATTRIBUTES, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0 && errno == ENOENT)
        return ETHOS_OK;
    if (fd < 0 && errno == ELOOP)
        return err_set(error, ETHOS_DENIED, ATTRIBUTES ": is a symbolic link, which git ignores");
    if (fd < 0)
        return err_errno(error, errno, ATTRIBUTES);
    int code = file_read(fd, ATTRIBUTES, ETHOS_MAX_INPUT_BYTES, &c->before, NULL, error);
    os_close(fd);
    c->exists = true;
    return code;
}

static int edit_attributes(struct git_change *c, struct ethos_error *error)
{
    struct block block;
    struct ethos_view text = str_view(&c->before);
    if (block_find(text, &marks, &block) != ETHOS_OK) {
        err_set(error, ETHOS_CORRUPT,
                block.end.data ? ATTRIBUTES ": the marks of ethos are unbalanced"
                               : ATTRIBUTES ": the line \"" LAST_MARK "\" is missing");
        return err_hint(error, ETHOS_CORRUPT, "restore it, or remove the lines of ethos by hand");
    }
    bool found = block.found;
    c->remains = c->exists || c->install;
    if (c->install && found)
        renew_attributes_block(&block, &c->after);
    else if (c->install)
        append_attributes_block(text, c->exists, &c->after);
    else if (found)
        remove_attributes_block(&block, &c->after);
    else
        str_add(&c->after, text);
    if (!c->install && found && c->after.size == 0 && view_contains(block.begin, VIEW(NEW_FILE)))
        c->remains = false;
    return str_code(&c->after) ? err_nomem(error) : ETHOS_OK;
}

static int write_attributes(struct git_change *c, struct op_result *result,
                            struct ethos_error *error)
{
    if (c->exists == c->remains && view_eq(str_view(&c->before), str_view(&c->after)))
        return ETHOS_OK;
    op_json_push(&c->done, json_string(ATTRIBUTES));
    if (c->call->dry_run)
        return diff_unified(str_view(&c->before), str_view(&c->after), ATTRIBUTES, &result->text)
                   ? err_nomem(error)
                   : ETHOS_OK;
    if (c->remains)
        return file_replace(c->dir, ATTRIBUTES, str_view(&c->after), 0644, error);
    return os_unlinkat(c->dir, ATTRIBUTES, 0) == 0 && os_fsync(c->dir) == 0
               ? ETHOS_OK
               : err_errno(error, errno, ATTRIBUTES);
}

static int change_git_setting(struct git_change *c, const struct git_setting *setting,
                              struct op_result *result, struct ethos_error *error)
{
    bool done;
    int code = is_setting_applied(setting, &done, error);
    if (code != ETHOS_OK || done)
        return code;
    op_json_push(&c->done, json_string(setting->name));
    if (!c->call->dry_run)
        return write_git_setting(setting, error);
    if (setting->value)
        str_printf(&result->text, "git config %s \"%s\"\n", setting->name, setting->value);
    else
        str_printf(&result->text, "git config --unset-all %s\n", setting->name);
    return str_code(&result->text) ? err_nomem(error) : ETHOS_OK;
}

static int change_git_settings(struct git_change *c, struct op_result *result,
                               struct ethos_error *error)
{
    const struct git_setting name = {"merge.ethos.name",
                                     c->install ? "memory, merged entry by entry" : NULL};
    struct git_setting driver = {"merge.ethos.driver", NULL};
    if (c->install)
        TRY(build_driver_command(&c->driver, error));
    TRY(change_git_setting(c, &name, result, error));
    if (c->install)
        driver.value = c->driver.data;
    return change_git_setting(c, &driver, result, error);
}

static int change_repository(struct git_change *c, struct op_result *result,
                             struct ethos_error *error)
{
    TRY(find_git_top(&c->top, error));
    c->dir = os_openat(AT_FDCWD, c->top.data, O_RDONLY | O_DIRECTORY, 0);
    if (c->dir < 0)
        return err_errno(error, errno, c->top.data);
    TRY(read_attributes(c, error));
    TRY(edit_attributes(c, error));
    TRY(change_git_settings(c, result, error));
    return write_attributes(c, result, error);
}

int install_git(struct op_call *call, bool install, struct op_result *result,
                struct ethos_error *error)
{
    struct git_change c = {.call = call, .install = install, .dir = -1, .done = json_array()};
    str_init(&c.top, PATH_MAX);
    str_init(&c.driver, (size_t)PATH_MAX * 4);
    str_init(&c.before, ETHOS_MAX_INPUT_BYTES + 1);
    str_init(&c.after, ETHOS_MAX_INPUT_BYTES + 1024);
    int code = change_repository(&c, result, error);
    if (c.dir >= 0)
        os_close(c.dir);
    if (code == ETHOS_OK) {
        json_t *json = json_pack("{s:s, s:s, s:o}", "agent", op_string(call, "agent"), "path",
                                 c.top.data, "changed", json_incref(c.done));
        code = op_return_change(call, result, json, error);
    }
    json_decref(c.done);
    str_release(&c.top);
    str_release(&c.driver);
    str_release(&c.before);
    str_release(&c.after);
    return code;
}
