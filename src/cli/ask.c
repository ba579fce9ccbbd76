/*
 * ask.c: what is asked or checked before a command runs.
 *
 * What cannot be undone, and what changes the settings of other programs, is confirmed by whoever sits
 * at a terminal, who is shown the extent first. A script is not asked: it meant what it says, or must
 * say --yes where a whole memory goes.
 */
#include <string.h>
#include <unistd.h>

#include "base/view.h"
#include "cli/rows.h"

/* Reads one line; true for one that begins with y. */
static bool confirmed(void)
{
    char answer[16] = "";
    fputs("Go on? [y/N] ", stderr);
    fflush(stderr);
    return fgets(answer, sizeof answer, stdin) && (*answer == 'y' || *answer == 'Y');
}

static int refuse(const struct cli *self, const char *text, const char *hint)
{
    struct ethos_error error = {ETHOS_DENIED, "", ""};
    snprintf(error.text, sizeof error.text, "%s", text);
    snprintf(error.hint, sizeof error.hint, "%s", hint);
    return cli_fail(self, &error);
}

/* Says what would go; false when nothing would. */
typedef bool extent_fn(const json_t *json);

/*
 * A dry run tells what would go, or that nothing would, which is said before anybody is asked; `nothing`
 * is said when it does not go. always: a script must say --yes.
 */
static int ask_extent(struct cli *self, extent_fn *tell, bool always, const char *nothing)
{
    struct op_result result;
    struct ethos_error error = {0};
    bool person = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
    if (self->yes || self->dry_run || (!person && !always))
        return CLI_DONE;
    bool mute = self->no_input || !person;
    op_result_init(&result);
    self->dry_run = true;
    int code = cli_call(self, self->op, self->args, &result, &error);
    self->dry_run = false;
    bool some = code == ETHOS_OK && (mute || tell(result.json));
    op_result_release(&result);
    if (code != ETHOS_OK)
        return cli_fail(self, &error);
    if (mute)
        return refuse(self, nothing, "say --yes, since it cannot be undone; --dry-run shows it");
    return !some || confirmed() ? CLI_DONE : refuse(self, nothing, "");
}

static bool tell_purge(const json_t *json)
{
    long long lines = number_of(json, "lines"), versions = number_of(json, "versions");
    fprintf(stderr,
            "This takes %lld line%s out of the files and cleans %lld recorded version%s. It cannot "
            "be undone.\n",
            lines, plural(lines), versions, plural(versions));
    return true;
}

static bool tell_workspace(const json_t *json)
{
    long long folders = (long long)json_array_size(json_object_get(json, "paths"));
    long long notes = number_of(json, "notes");
    if (json_is_true(json_object_get(json, "deleted")))
        fprintf(stderr,
                "This deletes %lld note%s with index and history, and unties %lld folder%s. It "
                "cannot be undone.\n",
                notes, plural(notes), folders, plural(folders));
    else
        fprintf(stderr, "This unties %lld folder%s; the memory stays (%lld note%s).\n", folders,
                plural(folders), notes, plural(notes));
    return true;
}

static bool tell_install(const json_t *json)
{
    const char *diff = text_of(json, "diff");
    term_safe(stderr, view_str(diff));
    return *diff != 0;
}

static bool tell_session(const json_t *json)
{
    char name[VIEW_SESSION_SIZE];
    long long messages = number_of(json, "messages");
    view_session_name(json_object_get(json, "session"), name);
    fputs("This deletes ", stderr);
    term_safe(stderr, view_str(name));
    fprintf(stderr, " with %lld message%s. It cannot be undone.\n", messages, plural(messages));
    return true;
}

static bool tell_prune(const json_t *json)
{
    long long sessions = number_of(json, "sessions");
    if (sessions > 0)
        fprintf(stderr, "This deletes %lld session%s. It cannot be undone.\n", sessions,
                plural(sessions));
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

static bool changes_agent(const struct cli *self)
{
    const char *agent = text_of(self->args, "agent");
    bool is = strcmp(self->op->name, "admin.install") == 0 ||
              strcmp(self->op->name, "admin.uninstall") == 0;
    return is && *agent && strcmp(agent, "git") != 0 && !self->no_input;
}

int ask_before(struct cli *self)
{
    if (strcmp(self->op->name, "memory.forget") == 0)
        return ask_extent(self, tell_purge, false, "nothing was purged");
    if (strcmp(self->op->name, "workspaces.forget") == 0)
        return ask_extent(self, tell_workspace, json_is_true(json_object_get(self->args, "memory")),
                          "nothing was changed");
    if (changes_agent(self))
        return ask_extent(self, tell_install, false, "nothing was changed");
    if (strcmp(self->op->name, "sessions.delete") == 0)
        return ask_extent(self, tell_session, false, "nothing was deleted");
    if (strcmp(self->op->name, "sessions.prune") == 0)
        return ask_extent(self, tell_prune, false, "nothing was deleted");
    if (strcmp(self->op->name, "conflicts.resolve") == 0)
        return ask_resolve(self);
    return CLI_DONE;
}
