/*
 * confirm.c: what is asked or checked before a command runs.
 *
 * What cannot be undone, and what changes the settings of other programs (OP_FINAL), is confirmed by whoever
 * sits at a terminal, who is shown the extent first. Without a terminal, or with --no-input, it needs
 * --yes.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/system/os.h"
#include "base/view.h"
#include "cli/view_internal.h"

/* Reads one line; true for one that begins with y. */
static bool confirmed(void)
{
    char answer[16] = "";
    fputs("Go on? [y/N] ", stderr);
    fflush(stderr);
    return fgets(answer, sizeof answer, stdin) && (*answer == 'y' || *answer == 'Y');
}

static int refuse_without_answer(const struct cli *self, const char *text, const char *hint)
{
    struct ethos_error error = {ETHOS_DENIED, "", ""};
    snprintf(error.text, sizeof error.text, "%s", text);
    snprintf(error.hint, sizeof error.hint, "%s", hint);
    return cli_fail(self, &error);
}

/* Whether something would go, which out (may be NULL) is told. */
typedef bool extent_fn(FILE *out, const json_t *json);

struct extent {
    const char *name;
    extent_fn *tell;
    const char *nothing; /* when it does not go */
    const char *hint;
};

/* A dry run tells what would go. final: without a terminal it needs --yes, if anything would. */
static int ask_extent(struct cli *self, const struct extent *extent, bool final)
{
    struct op_result result;
    struct ethos_error error = {0};
    bool person = isatty(STDIN_FILENO) && isatty(STDERR_FILENO) && !self->no_input;
    if (self->yes || self->dry_run || (!person && !final))
        return CLI_DONE;
    op_result_init(&result);
    self->dry_run = true;
    int code = cli_call(self, self->op, self->args, &result, &error);
    self->dry_run = false;
    bool some = code == ETHOS_OK && extent->tell(person ? stderr : NULL, result.json);
    op_result_release(&result);
    if (code != ETHOS_OK)
        return cli_fail(self, &error);
    if (!some)
        return CLI_DONE;
    if (!person)
        return refuse_without_answer(self, extent->nothing, extent->hint);
    return confirmed() ? CLI_DONE : refuse_without_answer(self, extent->nothing, "");
}

static bool tell_purge(FILE *out, const json_t *json)
{
    if (!out)
        return true;
    view_taken(out, json);
    fputs("It cannot be undone.\n", out);
    return true;
}

static bool tell_workspace(FILE *out, const json_t *json)
{
    long long folders = (long long)json_array_size(json_object_get(json, "paths"));
    long long notes = view_integer(json, "notes");
    if (!out)
        return true;
    if (json_is_true(json_object_get(json, "deleted")))
        fprintf(out,
                "This deletes %lld note%s with index and history, and unties %lld folder%s. It "
                "cannot be undone.\n",
                notes, plural_suffix(notes), folders, plural_suffix(folders));
    else
        fprintf(out, "This unties %lld folder%s; the memory stays (%lld note%s).\n", folders,
                plural_suffix(folders), notes, plural_suffix(notes));
    return true;
}

static bool tell_install(FILE *out, const json_t *json)
{
    const char *diff = view_member(json, "diff");
    if (out)
        term_safe(out, view_str(diff));
    return *diff != 0;
}

static bool print_session_extent(FILE *out, const json_t *json)
{
    char name[VIEW_SESSION_SIZE];
    long long messages = view_integer(json, "messages");
    if (!out)
        return true;
    view_session_name(json_object_get(json, "session"), name);
    fputs("This deletes ", out);
    term_safe(out, view_str(name));
    fprintf(out, " with %lld message%s. It cannot be undone.\n", messages, plural_suffix(messages));
    return true;
}

static bool tell_prune(FILE *out, const json_t *json)
{
    long long sessions = view_integer(json, "sessions");
    if (out && sessions > 0)
        fprintf(out, "This deletes %lld session%s. It cannot be undone.\n", sessions,
                plural_suffix(sessions));
    return sessions > 0;
}

static int ask_resolve(const struct cli *self)
{
    static const char *const ways[] = {"keep", "take", "both"};
    int given = 0;
    for (size_t i = 0; i < 3; i++)
        given += json_is_true(json_object_get(self->args, ways[i]));
    return given == 1 ? CLI_DONE
                      : cli_usage(self, "say one of --keep, --take and --both",
                                  given ? "more than one way to resolve it" : "how to resolve it");
}

#define FOR_GOOD "say --yes, since it cannot be undone; --dry-run shows it"
#define OTHERS "say --yes to change files of another program; --dry-run shows it"

/* What is final is here, with what it would do. */
static const struct extent extents[] = {
    {"memory.forget", tell_purge, "nothing was purged", FOR_GOOD},
    {"workspaces.forget", tell_workspace, "nothing was changed", FOR_GOOD},
    {"sessions.delete", print_session_extent, "nothing was deleted", FOR_GOOD},
    {"sessions.prune", tell_prune, "nothing was deleted", FOR_GOOD},
    {"admin.install", tell_install, "nothing was changed", OTHERS},
    {"admin.uninstall", tell_install, "nothing was changed", OTHERS},
};

/* Of some, only a part is final: a list of agents changes nothing, a folder can be tied again. */
static bool cannot_be_undone(const struct cli *self)
{
    if (strcmp(self->op->name, "workspaces.forget") == 0)
        return json_is_true(json_object_get(self->args, "memory"));
    return true;
}

/* Without a name, agents are listed. */
static bool asks(const struct cli *self)
{
    bool installs = strcmp(self->op->name, "admin.install") == 0 ||
                    strcmp(self->op->name, "admin.uninstall") == 0;
    return (self->op->effect & OP_FINAL) && (!installs || *view_member(self->args, "agent"));
}

/* An archive that is there is replaced by whoever says so. */
static int ask_backup(struct cli *self)
{
    const char *path = view_member(self->args, "path");
    struct stat st;
    bool there = os_fstatat(AT_FDCWD, path, &st, 0) == 0 && S_ISREG(st.st_mode);
    bool person = isatty(STDIN_FILENO) && isatty(STDERR_FILENO) && !self->no_input;
    if (there && !self->yes && person && !self->dry_run) {
        fputs("This replaces ", stderr);
        term_safe(stderr, view_str(path));
        fputs(".\n", stderr);
        if (!confirmed())
            return refuse_without_answer(self, "nothing was written", "");
    } else if (!there || !self->yes) {
        return CLI_DONE; // the operation refuses
    }
    op_json_put(&self->args, "replace", json_true());
    return CLI_DONE;
}

/* Into an empty home there is nothing to ask. */
static int ask_restore(struct cli *self)
{
    struct op_result result;
    struct ethos_error error = {0};
    bool person = isatty(STDIN_FILENO) && isatty(STDERR_FILENO) && !self->no_input;
    if (self->yes || self->dry_run)
        return CLI_DONE;
    op_result_init(&result);
    self->dry_run = true;
    int code = cli_call(self, self->op, self->args, &result, &error);
    self->dry_run = false;
    size_t rows = json_array_size(json_object_get(result.json, "rows"));
    bool merge = code == ETHOS_OK && json_is_true(json_object_get(result.json, "merge")) &&
                 rows > 0;
    if (merge && person)
        fprintf(stderr,
                "This changes a home that has memory: %zu item%s of the backup (--dry-run "
                "lists them).\n",
                rows, plural_suffix((long long)rows));
    op_result_release(&result);
    if (code != ETHOS_OK)
        return cli_fail(self, &error);
    if (!merge || (person && confirmed()))
        return CLI_DONE;
    return refuse_without_answer(
        self, "nothing was restored: this home has memory",
        person ? "" : "--dry-run shows what would change; --yes merges the backup into it");
}

/* Whether the profiles become one is asked where somebody can answer; --yes is an answer. */
static int ask_merge(struct cli *self)
{
    struct op_result result;
    struct ethos_error error = {0};
    bool person = isatty(STDIN_FILENO) && isatty(STDERR_FILENO) && !self->no_input;
    bool merge = self->yes;
    if (json_is_true(json_object_get(self->args, "merge")))
        return CLI_DONE;
    if (!merge && person && !self->dry_run) {
        op_result_init(&result);
        self->dry_run = true;
        int code = cli_call(self, self->op, self->args, &result, &error);
        self->dry_run = false;
        long long lines = code == ETHOS_OK ? view_integer(result.json, "profileLines") : 0;
        if (lines > 0)
            fprintf(stderr, "The profile of %s has %lld line%s that this one lacks. Add %s?\n",
                    view_member(result.json, "formerUserId"), lines, plural_suffix(lines),
                    lines == 1 ? "it" : "them");
        merge = lines > 0 && confirmed();
        op_result_release(&result);
        if (code != ETHOS_OK)
            return cli_fail(self, &error);
    }
    if (merge)
        json_object_set_new(self->args, "merge", json_true());
    return CLI_DONE;
}

/* What another program wrote is shown to whoever sits there, and written when they agree. */
static int ask_import(struct cli *self)
{
    struct op_result result;
    struct ethos_error error = {0};
    bool person = isatty(STDIN_FILENO) && isatty(STDERR_FILENO) && !self->no_input;
    bool approved = self->yes;
    if (json_is_true(json_object_get(self->args, "approve")) || self->dry_run)
        return CLI_DONE;
    if (!approved && person) {
        op_result_init(&result);
        self->dry_run = true;
        int code = cli_call(self, self->op, self->args, &result, &error);
        self->dry_run = false;
        const json_t *counts = json_object_get(result.json, "counts");
        long long news = view_integer(counts, "taken") + view_integer(counts, "updated") +
                         view_integer(counts, "merged");
        if (code == ETHOS_OK && news > 0) {
            json_object_del(result.json, "dryRun"); // it is a question here
            view_result(self, self->op, &result);
            term_finish(&self->term);
            fputs("This is text of another program, which agents will read as yours. ", stderr);
        }
        op_result_release(&result);
        if (code != ETHOS_OK)
            return cli_fail(self, &error);
        approved = news > 0 && confirmed();
        if (news > 0 && !approved)
            return refuse_without_answer(self, "nothing was imported", "");
    }
    if (approved)
        op_json_put(&self->args, "approve", json_true());
    return CLI_DONE;
}

/* The line is shown to whoever sits there, and only that line is allowed. */
static int ask_show_line(struct cli *self)
{
    struct op_result result;
    struct ethos_error error = {0};
    bool person = isatty(STDIN_FILENO) && isatty(STDERR_FILENO) && !self->no_input;
    if (self->yes || self->dry_run)
        return CLI_DONE;
    if (!person)
        return refuse_without_answer(self, "showing a line needs confirmation",
                                     "use --yes; ethos memory hidden prints the line and its hash");
    op_result_init(&result);
    self->dry_run = true;
    int code = cli_call(self, self->op, self->args, &result, &error);
    self->dry_run = false;
    if (code == ETHOS_OK) {
        view_describe_line(stderr, result.json);
        op_json_put(&self->args, "hash", json_incref(json_object_get(result.json, "hash")));
    }
    op_result_release(&result);
    if (code != ETHOS_OK)
        return cli_fail(self, &error);
    return confirmed() ? CLI_DONE : refuse_without_answer(self, "the line stays hidden", "");
}

int ask_before(struct cli *self)
{
    if (strcmp(self->op->name, "memory.showLine") == 0)
        return ask_show_line(self);
    if (strcmp(self->op->name, "transfer.import") == 0)
        return ask_import(self);
    if (strcmp(self->op->name, "users.link") == 0)
        return ask_merge(self);
    if (strcmp(self->op->name, "pending.approve") == 0)
        return review_ask(self);
    if (strcmp(self->op->name, "admin.backup") == 0)
        return ask_backup(self);
    if (strcmp(self->op->name, "admin.restore") == 0)
        return ask_restore(self);
    for (size_t i = 0; asks(self) && i < sizeof extents / sizeof *extents; i++)
        if (strcmp(self->op->name, extents[i].name) == 0)
            return ask_extent(self, &extents[i], cannot_be_undone(self));
    return strcmp(self->op->name, "conflicts.resolve") == 0 ? ask_resolve(self) : CLI_DONE;
}
