/*
 * view_notes.c: notes, for a person: one line each, what needs a look below it.
 */
#include <string.h>

#include "base/str.h"
#include "base/view.h"
#include "cli/view_internal.h"

#define NAME_WIDTH 32 /* columns of the names at most; a longer name has a line of its own */

/* ---- list ------------------------------------------------------------------------------------- */

/* Whether a title says more than the name: other letters than case and blanks. */
static bool says_more(const char *title, const char *name)
{
    for (; *title && *name; title++, name++) {
        bool blank = *title == ' ' && (*name == '-' || *name == '_');
        if (!blank && (*title | 0x20) != (*name | 0x20))
            return true;
    }
    return *title || *name;
}

static void print_reason(struct cli *self, const char *text, long long line)
{
    term_printf(&self->term, "    ");
    term_styled(&self->term, TERM_WARN, "! ");
    if (line > 0)
        term_printf(&self->term, "line %lld: ", line);
    term_printf(&self->term, "%s\n", text);
}

/* What a note is called on the command line: its file without ".md". */
static void name_without_suffix(const json_t *note, char out[static ETHOS_MAX_KEY + 1])
{
    const char *key = view_member(note, "key");
    snprintf(out, ETHOS_MAX_KEY + 1, "%.*s", (int)strlen(key) - 3, key);
}

/* The title where it says more than the name, and the hook, in what is left of the line. */
static void print_about(struct cli *self, const char *title, const char *hook, int left)
{
    if (*title) {
        left -= term_fitting(&self->term, TERM_PLAIN, view_str(title), left);
        if (*hook && (left > 8 || !self->term.tty))
            term_styled(&self->term, TERM_DIM, " — ");
        left -= 3;
    }
    if (left > 4 || !self->term.tty)
        term_fitting(&self->term, TERM_DIM, view_str(hook), left);
}

/* That it has no line is told as it is now, not as the last check found it. */
static void print_reasons(struct cli *self, const json_t *note)
{
    size_t index;
    json_t *row;
    if (!json_is_true(json_object_get(note, "listed")))
        print_reason(self, "not in the index; ethos notes reindex adds it", 0);
    if (*view_member(note, "stale"))
        print_reason(self, view_member(note, "stale"), 0);
    json_array_foreach (json_object_get(note, "findings"), index, row)
        if (strcmp(view_member(row, "kind"), "unlisted") != 0)
            print_reason(self, view_member(row, "text"), view_integer(row, "line"));
}

static void print_note(struct cli *self, const json_t *note, int column)
{
    char name[ETHOS_MAX_KEY + 1];
    const char *title = view_member(note, "title"), *hook = view_member(note, "hook");
    name_without_suffix(note, name);
    title = says_more(title, name) ? title : "";
    hook = strcmp(hook, title) != 0 ? hook : "";
    term_printf(&self->term, "  ");
    int used = term_fitting(&self->term, TERM_BOLD, view_str(name), self->term.width - 2);
    bool about = *title || *hook;
    if (about && used > column && self->term.tty)
        term_printf(&self->term, "\n%*s", column + 4, "");
    else if (about)
        term_printf(&self->term, "%*s", used < column ? column - used + 2 : 2, "");
    print_about(self, title, hook, self->term.width - column - 4);
    term_printf(&self->term, "\n");
    print_reasons(self, note);
}

/* The columns of the names: as many as the longest needs, those apart that are too long. */
static int name_column(const struct term *term, const json_t *notes)
{
    size_t index;
    json_t *row;
    int column = 0, most = term->width / 2 < NAME_WIDTH ? term->width / 2 : NAME_WIDTH;
    json_array_foreach ((json_t *)notes, index, row) {
        char name[ETHOS_MAX_KEY + 1];
        name_without_suffix(row, name);
        int width = term_width(view_str(name));
        if (width > column && width <= most)
            column = width;
    }
    return column;
}

static void print_index(struct cli *self, const json_t *index)
{
    if (!json_is_object(index))
        return;
    term_styled(&self->term, TERM_BOLD, "Index in the prompt");
    term_printf(&self->term, ": ");
    view_gauge(self, view_integer(index, "chars"), view_integer(index, "budget"));
    long long lost = view_integer(index, "omittedChars");
    if (lost > 0) {
        term_styled(&self->term, TERM_WARN, "Left out");
        term_printf(&self->term,
                    ": the first %lld character%s; raise prefetch.maxChars, or shorten the index\n",
                    lost, plural_suffix(lost));
    }
    const json_t *hooks = json_object_get(index, "hooks");
    long long notes = view_integer(hooks, "notes"), all = view_integer(hooks, "of");
    if (notes < all) {
        term_styled(&self->term, TERM_WARN, "To agents with hooks");
        term_printf(&self->term, ": the last %lld of %lld lines; prompts recall the others\n",
                    notes, all);
    }
}

/* None at all, or none of those that were asked for. */
static void say_none(const struct cli *self, const char *scope)
{
    bool workspace = strncmp(scope, "workspace:", 10) == 0;
    if (json_object_get(self->args, "type"))
        view_say(self, "No such notes in %s; ethos notes list shows all", scope);
    else if (json_is_true(json_object_get(self->args, "stale")))
        view_say(self, "No note in %s needs a look", scope);
    else
        view_say(self,
                 "No notes in %s. Keep a fact: ethos remember 'Tests need a running Redis'%s%s",
                 scope, workspace ? "" : " --scope ", workspace ? "" : scope);
}

void view_notes(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row, *notes = json_object_get(json, "notes");
    bool part = !json_object_get(json, "scope"); // of a list that goes on
    if (json_array_size(notes) == 0 && !self->paged) {
        say_none(self, view_member(json, "scope"));
        return;
    }
    int column = name_column(&self->term, notes);
    if (!self->no_pager)
        term_page(&self->term);
    json_array_foreach (notes, index, row)
        print_note(self, row, column);
    if (part)
        return;
    term_printf(&self->term, "\n");
    print_index(self, json_object_get(json, "index"));
    term_finish(&self->term);
    if (view_integer(json, "stale") > 0)
        view_say(self, "%lld note%s to look at; ethos notes check looks again",
                 view_integer(json, "stale"), plural_suffix(view_integer(json, "stale")));
    if (*view_member(json, "nextCursor"))
        view_say(self, "There is more: --cursor %s", view_member(json, "nextCursor"));
}

/* "running-the-tests.md -> redis.md" */
void view_graph(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *link, *links = json_object_get(json, "links");
    long long notes = (long long)json_array_size(json_object_get(json, "nodes"));
    if (notes == 0) {
        say_none(self, view_member(json, "scope"));
        return;
    }
    if (!self->no_pager)
        term_page(&self->term);
    json_array_foreach (links, index, link) {
        bool broken = json_is_true(json_object_get(link, "broken"));
        term_printf(&self->term, "%s -> ", view_member(link, "from"));
        term_styled(&self->term, broken ? TERM_WARN : TERM_PLAIN, "%s%s", view_member(link, "to"),
                    broken ? " (no such note)" : "");
        term_printf(&self->term, "\n");
    }
    term_finish(&self->term);
    view_say(self, "%lld note%s, %lld link%s between them", notes, plural_suffix(notes),
             (long long)json_array_size(links), plural_suffix((long long)json_array_size(links)));
}

/* Above the text of a note, on a terminal. */
void view_note_head(struct cli *self, const json_t *note)
{
    size_t index;
    json_t *row;
    term_styled(&self->term, TERM_BOLD, "%s", view_member(note, "title"));
    term_printf(&self->term, "  ");
    view_path(self, TERM_DIM, view_member(note, "path"));
    term_printf(&self->term, "\n");
    if (*view_member(note, "stale"))
        print_reason(self, view_member(note, "stale"), 0);
    json_array_foreach (json_object_get(note, "findings"), index, row)
        print_reason(self, view_member(row, "text"), view_integer(row, "line"));
    term_printf(&self->term, "\n");
}

/* ---- changes ---------------------------------------------------------------------------------- */

/* What to know besides what was done. */
static void say_advice(struct cli *self, const json_t *json)
{
    const json_t *index = json_object_get(json, "index"),
                 *similar = json_object_get(json, "similar");
    struct str names;
    str_init(&names, VIEW_COMMAND_BYTES);
    for (size_t i = 0; i < json_array_size(similar); i++)
        str_printf(&names, "%s%s", i > 0 ? ", " : "",
                   view_member(json_array_get(similar, i), "key"));
    if (names.size > 0)
        view_say(self, "similar: %s", names.data);
    str_release(&names);
    if (*view_member(json, "warning"))
        view_say(self, "warning: %s", view_member(json, "warning"));
    if (json_is_null(index) && strcmp(view_member(json, "scope"), "global") == 0)
        view_say(self, "warning: prompts do not show it: globalMemory is off");
    long long lost = view_integer(index, "omittedChars");
    if (lost > 0)
        view_say(self,
                 "warning: the index has outgrown its share of the prompt by %lld character%s; its "
                 "first lines are left out there",
                 lost, plural_suffix(lost));
}

void view_remembered(struct cli *self, const json_t *json)
{
    static const char *const words[][2] = {{"created", "Remembered in"},
                                           {"appended", "Added to"},
                                           {"replaced", "Replaced the text of"},
                                           {"unchanged", "Already in"}};
    const char *effect = view_member(json, "effect");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(effect, words[i][0]) == 0)
            view_say(self, "%s %s (%s)", words[i][1], view_member(json, "key"),
                     view_member(json, "scope"));
    bool more = json_object_get(self->args, "hook") || json_object_get(self->args, "type");
    if (more && strcmp(effect, "unchanged") == 0)
        view_say(self, "Its hook and type are as they were; --replace sets them");
    say_advice(self, json);
}

void view_written_note(struct cli *self, const json_t *json)
{
    bool changed = strcmp(view_member(json, "effect"), "unchanged") != 0;
    view_say(self, "%s %s (%s)", changed ? "Corrected" : "Unchanged:", view_member(json, "key"),
             view_member(json, "scope"));
    say_advice(self, json);
}

/* What is gone from the folder stays in history, where there is one. */
void view_removed(struct cli *self, const json_t *json)
{
    const json_t *row = json_array_get(json_object_get(json, "written"), 0);
    const char *key = view_member(row, "key"), *scope = view_member(row, "scope");
    bool elsewhere = strncmp(scope, "workspace:", 10) != 0;
    int stem = (int)strlen(key) - 3; // .md
    struct str program, file;
    if (json_is_true(json_object_get(json, "final"))) {
        view_say(self, "Removed %s and its line; this backend has no history to restore it from",
                 key);
        return;
    }
    str_init(&program, VIEW_COMMAND_BYTES);
    str_init(&file, VIEW_COMMAND_BYTES);
    view_program(self, &program);
    view_option(&file, "--scope", elsewhere ? scope : view_member(self->args, "scope"));
    view_say(self, "Removed %s and its line; %s notes undo %.*s%s brings both back", key,
             program.data, stem, key, file.data);
    str_release(&program);
    str_release(&file);
}

/* How a command names a scope. */
static const char *short_scope(const char *scope)
{
    return strncmp(scope, "workspace:", 10) == 0 ? "workspace" : scope;
}

static void say_transferred(struct cli *self, const json_t *json)
{
    const char *key = view_member(json, "key"), *from = view_member(json, "from");
    int stem = (int)strlen(key) - 3; // .md
    struct str program;
    if (json_array_size(json_object_get(json, "written")) == 0) {
        view_say(self, "%s is in %s already", key, from);
        return;
    }
    str_init(&program, VIEW_COMMAND_BYTES);
    view_program(self, &program);
    view_say(self, "Moved %s from %s to %s; %s notes mv %.*s --scope %s moves it back", key, from,
             view_member(json, "to"), program.data, stem, key, short_scope(from));
    str_release(&program);
}

/* Written are the note, which has a new name, the index, and the notes that link to it. */
void view_moved(struct cli *self, const json_t *json)
{
    if (json_object_get(json, "from")) {
        say_transferred(self, json);
        return;
    }
    size_t index;
    json_t *row;
    const json_t *written = json_object_get(json, "written");
    const char *key = view_member(json, "key");
    long long links = 0;
    json_array_foreach ((json_t *)written, index, row)
        links += !json_is_null(json_object_get(row, "revision")) &&
                 strcmp(view_member(row, "key"), key) != 0 &&
                 strcmp(view_member(row, "key"), "MEMORY.md") != 0;
    view_say(self, json_array_size(written) > 0 ? "The note is now %s" : "The note is %s already",
             key);
    if (links > 0)
        view_say(self, "Links in %lld other note%s follow", links, plural_suffix(links));
}

void view_reindexed(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row, *mended = json_object_get(json, "mended");
    json_array_foreach (mended, index, row) {
        const char *problem = view_member(row, "problem"), *key = view_member(row, "key");
        if (*problem == 'u')
            term_printf(&self->term, "added    %s: had no line\n", key);
        else
            term_printf(&self->term, "removed  line %lld, %s: %s\n", view_integer(row, "line"), key,
                        *problem == 'm' ? "there is no such note" : "had a line already");
    }
    if (json_array_size(mended) == 0)
        view_say(self, "Index and notes agree");
}

/* ---- check ------------------------------------------------------------------------------------ */

static void say_checked(const struct cli *self, const json_t *checked)
{
    long long notes = view_integer(checked, "notes"), claims = view_integer(checked, "claims"),
              findings = view_integer(checked, "findings"),
              verified = view_integer(checked, "verified");
    char found[64] = "nothing to mend";
    if (findings > 0)
        snprintf(found, sizeof found, "%lld finding%s", findings, plural_suffix(findings));
    view_say(self, "%lld note%s, %lld claim%s looked up, %s", notes, plural_suffix(notes), claims,
             plural_suffix(claims), found);
    if (verified > 0)
        view_say(self, "%lld note%s verified today", verified, plural_suffix(verified));
    else if (json_is_true(json_object_get(self->args, "confirm")))
        view_say(self, "The note was verified today already");
}

/* What to do about the kinds of findings that are still there. */
static void say_remedies(const struct cli *self, const json_t *findings)
{
    size_t index;
    json_t *row;
    bool lines = false, old = false, texts = false;
    json_array_foreach ((json_t *)findings, index, row) {
        const char *kind = view_member(row, "kind");
        if (json_is_true(json_object_get(row, "fixed")) || strcmp(kind, "unchecked") == 0)
            continue;
        bool line = strcmp(kind, "unlisted") == 0 || strcmp(kind, "missing") == 0 ||
                    strcmp(kind, "double") == 0;
        bool aged = strcmp(kind, "old") == 0;
        lines = lines || line;
        old = old || aged;
        texts = texts || (!line && !aged);
    }
    if (lines)
        view_say(self, "ethos notes check --fix mends the index");
    if (texts)
        view_say(self, "ethos notes edit NAME mends a note");
    if (old)
        view_say(self, "ethos notes check NAME --confirm says that an old note still holds");
}

void view_checked(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row;
    const json_t *checked = json_object_get(json, "checked");
    json_array_foreach (json_object_get(json, "findings"), index, row) {
        bool fixed = json_is_true(json_object_get(row, "fixed"));
        term_styled(&self->term, TERM_BOLD, "%s", view_member(row, "key"));
        if (view_integer(row, "line") > 0)
            term_styled(&self->term, TERM_BOLD, ":%lld", view_integer(row, "line"));
        term_printf(&self->term, ": %s", view_member(row, "text"));
        term_styled(&self->term, TERM_GOOD, "%s", fixed ? " (mended)" : "");
        term_printf(&self->term, "\n");
    }
    say_checked(self, checked);
    say_remedies(self, json_object_get(json, "findings"));
}

void view_promoted(struct cli *self, const json_t *json)
{
    view_say(self, "Wrote %s; the note points there now", view_member(json, "skill"));
}
