/*
 * view_install.c: what install and uninstall did, where the copies are, and what to do next.
 */
#include <string.h>

#include "base/view.h"
#include "cli/view_internal.h"

/* ---- the list ------------------------------------------------------------------------------- */

static void append_install_part(const json_t *row, const char *name, char *out, size_t size)
{
    size_t used = strlen(out);
    if (json_is_true(json_object_get(row, name)))
        snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "", name);
}

static void view_agents(struct cli *self, const json_t *list)
{
    size_t index;
    json_t *row;
    json_array_foreach (list, index, row) {
        char parts[64] = "";
        append_install_part(row, "mcp", parts, sizeof parts);
        append_install_part(row, "hooks", parts, sizeof parts);
        append_install_part(row, "instructions", parts, sizeof parts);
        term_styled(&self->term, TERM_BOLD, "%-12s", view_member(row, "agent"));
        term_printf(&self->term, " %-12s ",
                    json_is_true(json_object_get(row, "found")) ? "found" : "not found");
        term_printf(&self->term, "%s%s\n", *parts ? "uses ethos: " : "does not use ethos", parts);
    }
    view_say(self, "To teach one: ethos install AGENT; ethos install AGENT --dry-run shows the "
                   "changes first");
}

/* ---- agents --------------------------------------------------------------------------------- */

static void say_file(struct cli *self, const json_t *file)
{
    const char *backup = view_member(file, "backup"), *state = view_member(file, "state");
    const char *path = view_member(file, "path");
    if (strcmp(state, "kept") == 0)
        view_say(self, "%s: had ethos in it before it was installed; left so", path);
    else if (strcmp(state, "shared") == 0)
        view_say(self, "%s: another agent uses it, too; left so", path);
    else if (strcmp(state, "unchanged") != 0 && strcmp(state, "refused") != 0)
        view_say(self, "%s: %s%s%s", path, state, *backup ? ", backup " : "", backup);
}

/* Raw, to be pasted. */
static void print_snippet(struct cli *self, const json_t *snippet)
{
    view_say(self, "This belongs into %s:", view_member(snippet, "path"));
    fflush(stderr);
    term_text(&self->term, view_str(view_member(snippet, "text")));
}

static void view_agent(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row;
    bool refused = false;
    json_array_foreach (json_object_get(json, "files"), index, row) {
        refused = refused || strcmp(view_member(row, "state"), "refused") == 0;
        say_file(self, row);
    }
    json_array_foreach (json_object_get(json, "snippets"), index, row)
        print_snippet(self, row);
    if (!refused && json_array_size(json_object_get(json, "changed")) == 0)
        view_say(self, "%s: nothing to do", view_member(json, "agent"));
    json_array_foreach (json_object_get(json, "next"), index, row)
        view_say(self, "%s", json_string_value(row));
}

/* ---- git ------------------------------------------------------------------------------------ */

static void view_git(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *name;
    json_t *changed = json_object_get(json, "changed");
    json_array_foreach (changed, index, name)
        view_say(self, "%s: %s changed", view_member(json, "path"), json_string_value(name));
    if (json_array_size(changed) == 0)
        view_say(self, "%s: nothing to do", view_member(json, "path"));
}

void view_uninstall(struct cli *self, const json_t *json)
{
    if (json_object_get(json, "files"))
        view_agent(self, json);
    else
        view_git(self, json);
}

void view_install(struct cli *self, const json_t *json)
{
    if (json_is_array(json)) {
        view_agents(self, json);
        return;
    }
    view_uninstall(self, json);
    if (!json_object_get(json, "files"))
        view_say(self, "Commit .gitattributes; every clone needs its own ethos install git");
}

/* ---- status -------------------------------------------------------------------------------- */

#define STATUS_LABEL "%-13s"

static void print_status_prompt(struct cli *self, const json_t *json)
{
    const json_t *hooks = json_object_get(json, "hooks"), *folder = json_object_get(json, "folder");
    long long notes = view_integer(folder, "notes");
    term_printf(&self->term,
                STATUS_LABEL "%lld of %lld characters; to agents with hooks %lld of %lld bytes\n",
                "In prompts", view_integer(json, "chars"), view_integer(json, "budget"),
                view_integer(hooks, "bytes"), view_integer(hooks, "budget"));
    if (!json_is_object(folder))
        return;
    term_printf(&self->term, STATUS_LABEL, "This folder");
    view_path(self, TERM_PLAIN, view_member(folder, "path"));
    term_printf(&self->term, ", %lld note%s\n", notes, plural_suffix(notes));
}

static void print_status_agent(struct cli *self, const json_t *row, const char *label)
{
    char parts[64] = "", time[TERM_WHEN_SIZE];
    append_install_part(row, "mcp", parts, sizeof parts);
    append_install_part(row, "hooks", parts, sizeof parts);
    append_install_part(row, "instructions", parts, sizeof parts);
    term_printf(&self->term, STATUS_LABEL "%s (%s)", label, view_member(row, "title"), parts);
    view_when(row, "lastRead", time);
    if (*view_member(row, "lastRead"))
        term_printf(&self->term, ", read %s", time);
    view_when(row, "lastWrite", time);
    if (*view_member(row, "lastWrite"))
        term_printf(&self->term, ", wrote %s", time);
    term_printf(&self->term, "\n");
}

static void print_status_agents(struct cli *self, const json_t *json)
{
    size_t index, count = 0;
    json_t *row;
    json_array_foreach (json_object_get(json, "agents"), index, row)
        if (json_is_true(json_object_get(row, "mcp")) ||
            json_is_true(json_object_get(row, "hooks")))
            print_status_agent(self, row, count++ == 0 ? "Agents" : "");
    if (count == 0)
        term_printf(&self->term, STATUS_LABEL "none uses ethos; ethos install lists them\n",
                    "Agents");
}

static void print_status_change(struct cli *self, const json_t *change)
{
    char time[TERM_WHEN_SIZE];
    if (!json_is_object(change))
        return;
    view_when(change, "time", time);
    term_printf(&self->term, STATUS_LABEL "%s: %s by %s\n", "Last change", time,
                view_member(change, "key"), view_member(change, "actor"));
}

static void print_needs(struct cli *self, const json_t *needs)
{
    size_t index;
    json_t *row;
    if (json_array_size(needs) == 0)
        term_styled(&self->term, TERM_GOOD, "\nNothing needs you\n");
    else
        term_styled(&self->term, TERM_BOLD, "\nNeeds you\n");
    json_array_foreach ((json_t *)needs, index, row) {
        const char *subject = view_member(row, "subject"), *remedy = view_member(row, "remedy");
        term_printf(&self->term, "  %s%s%s\n", subject, *subject ? ": " : "",
                    view_member(row, "problem"));
        if (*remedy)
            term_printf(&self->term, "      -> %s\n", remedy);
    }
}

void view_status(struct cli *self, const json_t *json)
{
    const char *backend = view_member(json, "backend"), *server = view_member(json, "server");
    term_printf(&self->term, "ethos %s, home ", view_member(json, "version"));
    view_path(self, TERM_PLAIN, view_member(json, "home"));
    term_printf(&self->term, "%s%s\n\n", *backend ? ", memory in " : "", backend);
    print_status_prompt(self, json);
    print_status_agents(self, json);
    print_status_change(self, json_object_get(json, "lastChange"));
    term_printf(&self->term, STATUS_LABEL "%s\n", "Server",
                *server ? server : "not running; ethos serve starts it");
    print_needs(self, json_object_get(json, "needs"));
}
