/*
 * view_history.c: history, differences, blame and conflicts for a person.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/text/unicode.h"
#include "base/utf8.h"
#include "base/view.h"
#include "cli/view_internal.h"

/* ---- words ---------------------------------------------------------------------------------- */

/* " (agent, approved by you)"; of the owner's own changes nothing. */
static void add_trust(const json_t *row, char *out, size_t size)
{
    const char *trust = view_member(row, "trust"), *approver = view_member(row, "approvedBy");
    size_t used = strlen(out);
    bool says = *trust && strcmp(trust, "owner") != 0;
    if (strcmp(approver, "owner") == 0)
        approver = "you";
    if (says || *approver)
        snprintf(out + used, size - used, " (%s%s%s%s)", says ? trust : "",
                 says && *approver ? ", " : "", *approver ? "approved by " : "", approver);
}

/* "owner/cli", "codex/mcp (agent)"; what is unknown is left out. */
static void who_of(const json_t *row, char *out, size_t size)
{
    const char *actor = view_member(row, "actor"), *via = view_member(row, "via");
    bool both = *actor && *via && strcmp(actor, via) != 0;
    snprintf(out, size, "%s%s%s",
             *actor ? actor
             : both ? ""
                    : via,
             both ? "/" : "", both ? via : "");
    if (!*out)
        snprintf(out, size, "%s", view_member(row, "source"));
    add_trust(row, out, size);
}

/* "add, remove x3": the actions, repeated ones counted. */
static void actions_of(const json_t *row, char *out, size_t size)
{
    const json_t *actions = json_object_get(row, "actions");
    size_t count = json_array_size(actions), used = 0;
    *out = 0;
    for (size_t i = 0, same; i < count && used < size; i += same) {
        const char *name = json_string_value(json_array_get(actions, i));
        for (same = 1; i + same < count; same++)
            if (strcmp(name, json_string_value(json_array_get(actions, i + same))) != 0)
                break;
        int got = snprintf(out + used, size - used, same > 1 ? "%s%s x%zu" : "%s%s", i ? ", " : "",
                           name, same);
        used += got > 0 ? (size_t)got : 0;
    }
}

/* "+2 -1", or the bytes where the lines are not known. */
static void amount_of(const json_t *row, char *out, size_t size)
{
    long long bytes = view_integer(row, "bytesAfter") - view_integer(row, "bytesBefore");
    if (json_is_null(json_object_get(row, "added")))
        snprintf(out, size, "%+lld B", bytes);
    else
        snprintf(out, size, "+%lld -%lld", view_integer(row, "added"),
                 view_integer(row, "removed"));
}

/* The number of a change; a dash where others wrote the history. */
static void print_number(struct cli *self, const json_t *change)
{
    if (view_integer(change, "number") > 0)
        term_styled(&self->term, TERM_BOLD, "%5lld", view_integer(change, "number"));
    else
        term_styled(&self->term, TERM_BOLD, "%5s", "-");
}

/* At most `room` columns of a line, "..." at the end when it is cut. A pipe gets all of it. */
static void print_line(struct cli *self, struct ethos_view line, int room)
{
    size_t cut = 0;
    int shown = 0;
    for (size_t i = 0; i < line.size && shown <= room;) {
        uint32_t cp;
        if (shown <= room - 3)
            cut = i;
        i += utf8_decode(line.data + i, line.size - i, &cp, NULL);
        shown += cp < 0x20 ? 2 : unicode_width(cp); // a control character shows as ^X
    }
    if (!self->term.tty || shown <= room || room < 8) {
        term_text(&self->term, line);
    } else {
        term_text(&self->term, view_of(line.data, cut));
        term_printf(&self->term, "...");
    }
    term_printf(&self->term, "\n");
}

void view_lines_of_diff(struct cli *self, struct ethos_view diff)
{
    struct ethos_view line;
    while (view_line(&diff, &line)) {
        char first = line.size > 0 ? line.data[0] : ' ';
        bool header = view_starts(line, VIEW("--- ")) || view_starts(line, VIEW("+++ "));
        enum term_style style = header         ? TERM_BOLD
                                : first == '+' ? TERM_GOOD
                                : first == '-' ? TERM_BAD
                                : first == '@' ? TERM_DIM
                                               : TERM_PLAIN;
        term_styled(&self->term, style, "%.*s", VIEW_ARG(line));
        term_printf(&self->term, "\n");
    }
}

/* ---- history -------------------------------------------------------------------------------- */

static const char *event_words(const char *event)
{
    static const char *const words[][2] = {
        {"dropped", "an edit outside took changes away"},
        {"merged", "a stale save had lost changes; they were merged with it"},
        {"partial", "a stale save had lost changes; not all of them could be merged with it"},
        {"reapplied", "a stale save had lost entries; they were added again"},
        {"returned", "an edit outside may have brought a forgotten text back; ethos memory forget "
                     "TEXT purges it again"},
        {"restored", "crash damage was mended from history"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(event, words[i][0]) == 0)
            return words[i][1];
    return event;
}

/* What stands before the changed line, and how wide the widest of it is. */
struct columns {
    char when[TERM_WHEN_SIZE], where[64], who[128], what[64], amount[32];
};

struct widths {
    int when, where, who, what, amount;
    bool anywhere; /* the changes are of many files: which one is told instead of the number */
};

static struct columns columns_of(const json_t *row)
{
    struct columns c;
    snprintf(c.where, sizeof c.where, "%s %s", view_member(row, "scope"), view_member(row, "key"));
    view_when(row, "time", c.when);
    who_of(row, c.who, sizeof c.who);
    actions_of(row, c.what, sizeof c.what);
    amount_of(row, c.amount, sizeof c.amount);
    if (json_array_size(json_object_get(row, "undoes")) > 0)
        snprintf(c.what, sizeof c.what, "undo");
    return c;
}

static int wider(int width, const char *text)
{
    int size = (int)strlen(text);
    return size > width ? size : width;
}

static struct widths widths_of(const json_t *rows, bool anywhere)
{
    struct widths w = {.anywhere = anywhere};
    for (size_t i = 0; i < json_array_size(rows); i++) {
        struct columns c = columns_of(json_array_get(rows, i));
        w.when = wider(w.when, c.when);
        w.where = wider(w.where, c.where);
        w.who = wider(w.who, c.who);
        w.what = wider(w.what, c.what);
        w.amount = wider(w.amount, c.amount);
    }
    return w;
}

#define LEAST_ROOM 20 /* columns for the line itself; with less, it stands below */

/* "  12  5 min ago  owner/cli  add  +2 -0  +We deploy on Fridays" */
static void print_change(struct cli *self, const json_t *row, const struct widths *w)
{
    struct columns c = columns_of(row);
    int first = w->anywhere ? w->where : 5;
    int room = self->term.width - (first + w->when + w->who + w->what + w->amount + 10);
    if (w->anywhere)
        term_styled(&self->term, TERM_BOLD, "%-*s", w->where, c.where);
    else
        print_number(self, row);
    term_styled(&self->term, TERM_DIM, "  %-*s  %-*s", w->when, c.when, w->who, c.who);
    term_printf(&self->term, "  %-*s  %*s  ", w->what, c.what, w->amount, c.amount);
    if (self->term.tty && room < LEAST_ROOM) {
        term_printf(&self->term, "\n       ");
        room = self->term.width - 7;
    }
    print_line(self, json_view(row, "line"), room);
    if (*view_member(row, "event")) {
        term_styled(&self->term, TERM_WARN, "       %s", event_words(view_member(row, "event")));
        term_printf(&self->term, "\n");
    }
    if (json_is_true(json_object_get(row, "large"))) {
        term_styled(&self->term, TERM_WARN, "       it removed over a quarter of the file");
        term_printf(&self->term, "\n");
    }
}

static void view_changes(struct cli *self, const json_t *json, bool anywhere)
{
    size_t index;
    json_t *row;
    if (json_array_size(json) == 0 && self->paged)
        return;
    if (json_array_size(json) == 0) {
        view_say(self, "No changes are recorded");
        return;
    }
    if (!self->no_pager)
        term_page(&self->term);
    const struct widths widths = widths_of(json, anywhere);
    json_array_foreach ((json_t *)json, index, row) {
        struct ethos_view diff = json_view(row, "diff");
        print_change(self, row, &widths);
        if (diff.data)
            view_lines_of_diff(self, diff);
    }
}

void view_history(struct cli *self, const json_t *json)
{
    const char *cursor = view_member(json, "nextCursor");
    view_changes(self, json_object_get(json, "items"), false);
    if (*cursor) {
        term_finish(&self->term);
        view_say(self, "There is more: --cursor %s", cursor);
    }
}

void view_timeline(struct cli *self, const json_t *json)
{
    const char *cursor = view_member(json, "nextCursor");
    view_changes(self, json_object_get(json, "items"), true);
    term_finish(&self->term); // what a pager shows stands before
    if (*cursor)
        view_say(self, "There is more: --cursor %s", cursor);
}

void view_diff(struct cli *self, const json_t *json)
{
    struct ethos_view diff = json_view(json, "diff");
    if (json_is_null(json)) {
        view_say(self, "No changes are recorded");
    } else if (diff.size == 0) {
        view_say(self, "No difference");
    } else {
        if (!self->no_pager)
            term_page(&self->term);
        view_lines_of_diff(self, diff);
    }
}

/* The options that named the file, so that the next command means the same one. */
static void append_file_options(const struct cli *self, struct str *out)
{
    view_option(out, "--store", view_member(self->args, "store"));
    view_option(out, "--scope", view_member(self->args, "scope"));
    view_option(out, "--key", view_member(self->args, "key"));
}

void view_undo(struct cli *self, const json_t *json)
{
    struct str program, file;
    const json_t *undone = json_object_get(json, "undone");
    size_t count = json_array_size(undone);
    long long last = (long long)json_integer_value(json_array_get(undone, 0));
    long long change = view_integer(json, "change");
    bool together = json_array_size(json_object_get(json, "written")) > 1;
    const char *group = strcmp(self->op->name, "notes.undo") == 0 ? "notes" : "memory";
    str_init(&program, VIEW_COMMAND_BYTES);
    str_init(&file, VIEW_COMMAND_BYTES);
    view_program(self, &program);
    append_file_options(self, &file);
    view_report(self, json);
    if (json_is_true(json_object_get(self->args, "all")) && count > 0)
        view_say(self, "Undid %zu change%s; %s memory restore NUMBER%s --key FILE brings one back",
                 count, plural_suffix((long long)count), program.data, file.data);
    else if (change > 0 && count == 1 && !together)
        view_say(self, "Undid change %lld; %s %s undo --change %lld%s brings it back", last,
                 program.data, group, change, file.data);
    else if (change > 0 && count > 0)
        view_say(self, "Undid %zu change%s%s; %s %s undo --change %lld%s brings %s back", count,
                 plural_suffix((long long)count), together && count > 1 ? ", made together" : "",
                 program.data, group, change, file.data, count > 1 ? "them" : "it");
    str_release(&program);
    str_release(&file);
}

/* ---- blame ---------------------------------------------------------------------------------- */

static void print_blamed(struct cli *self, const json_t *row)
{
    char when[TERM_WHEN_SIZE], who[128] = "before history";
    const json_t *change = json_object_get(row, "change");
    snprintf(when, sizeof when, "%s", "");
    if (json_is_object(change)) {
        view_when(change, "time", when);
        who_of(change, who, sizeof who);
    }
    print_number(self, change);
    term_styled(&self->term, TERM_DIM, "  %-16s  %-16s %4lld", when, who,
                view_integer(row, "line"));
    term_printf(&self->term, "  ");
    print_line(self, json_view(row, "text"), self->term.width - 48);
}

static void print_member(struct cli *self, const json_t *row, const char *label, const char *name)
{
    if (*view_member(row, name))
        term_printf(&self->term, "%-12s%s\n", label, view_member(row, name));
}

/* All that is known of one line. */
static void print_blame_of(struct cli *self, const json_t *row)
{
    char when[TERM_WHEN_SIZE], who[128], actions[64];
    const json_t *change = json_object_get(row, "change");
    struct ethos_view replaced = json_view(row, "replaced"), line;
    term_styled(&self->term, TERM_BOLD, "%-12lld", view_integer(row, "line"));
    print_line(self, json_view(row, "text"), self->term.width - 12);
    if (!json_is_object(change)) {
        term_printf(&self->term, "It was there before the history begins\n");
        return;
    }
    view_when(change, "time", when);
    who_of(change, who, sizeof who);
    actions_of(change, actions, sizeof actions);
    term_printf(&self->term, "%-12s%lld (%s)\n", "Change", view_integer(change, "number"), actions);
    term_printf(&self->term, "%-12s%s\n", "By", who);
    term_printf(&self->term, "%-12s%s (%s)\n", "When", when, view_member(change, "time"));
    print_member(self, change, "Session", "session");
    print_member(self, change, "Session key", "sessionKey");
    print_member(self, change, "User", "user");
    print_member(self, change, "Operation", "opId");
    while (view_line(&replaced, &line)) {
        term_printf(&self->term, "%-12s", "Replaced");
        print_line(self, line, self->term.width - 12);
    }
}

void view_blame(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row;
    const json_t *lines = json_object_get(json, "lines");
    bool one = json_object_get(self->args, "line") != NULL;
    if (json_array_size(lines) == 0 && !self->paged)
        view_say(self, "%s is empty", view_member(json, "key"));
    else if (!one && !self->no_pager)
        term_page(&self->term);
    json_array_foreach ((json_t *)lines, index, row) {
        if (one)
            print_blame_of(self, row);
        else
            print_blamed(self, row);
    }
}

/* ---- forget --------------------------------------------------------------------------------- */

/* "1 line", ", 2 names": what there is of each; whether there was something before it. */
static bool print_count(FILE *out, bool before, long long count, const char *one, const char *many)
{
    if (count > 0)
        fprintf(out, "%s%lld %s", before ? ", " : "", count, count == 1 ? one : many);
    return before || count > 0;
}

static void print_counts(FILE *out, const json_t *json)
{
    const json_t *sessions = json_object_get(json, "sessions");
    long long files = (long long)json_array_size(json_object_get(json, "files"));
    bool any = print_count(out, false, view_integer(json, "lines"), "line", "lines");
    any = print_count(out, any, view_integer(json, "versions"), "recorded change",
                      "recorded changes");
    any = print_count(out, any, view_integer(json, "blobs"), "whole version", "whole versions");
    any = print_count(out, any, view_integer(json, "conflicts"), "conflict copy",
                      "conflict copies");
    any = print_count(out, any, view_integer(json, "names"), "file name", "file names");
    any = print_count(out, any, view_integer(json, "calls"), "queued or refused change",
                      "queued or refused changes");
    any = print_count(out, any, view_integer(sessions, "messages"), "message", "messages");
    any = print_count(out, any, view_integer(sessions, "sessions"), "session title",
                      "session titles");
    any = print_count(out, any, view_integer(sessions, "summaries"), "summary", "summaries");
    any = print_count(out, any, view_integer(sessions, "keys"), "name of a key", "names of keys");
    print_count(out, any, files, "other file", "other files");
    fputc('\n', out);
}

static void print_elsewhere(FILE *out, const json_t *json)
{
    const json_t *elsewhere = json_object_get(json, "elsewhere");
    if (!elsewhere)
        return;
    fputs("Elsewhere it is in ", out);
    bool any = print_count(out, false, view_integer(elsewhere, "files"), "file", "files");
    print_count(out, any, view_integer(elsewhere, "messages"), "message", "messages");
    fputs("; --everywhere purges those, too\n", out);
}

void view_taken(FILE *out, const json_t *json)
{
    const json_t *taken = json_object_get(json, "taken");
    size_t index;
    json_t *row;
    const char *scope = "";
    json_array_foreach ((json_t *)taken, index, row) {
        if (strcmp(scope, view_member(row, "scope")) != 0) {
            scope = view_member(row, "scope");
            term_safe(out, view_str(view_member(row, "name")));
            fputs(":\n", out);
        }
        fputs("  ", out);
        term_safe(out, view_str(view_member(row, "key")));
        fprintf(out, ":%lld: ", view_integer(row, "line"));
        term_safe(out, json_view(row, "text"));
        fputc('\n', out);
    }
    if (view_integer(json, "more") > 0)
        fprintf(out, "  and %lld more lines\n", view_integer(json, "more"));
    json_array_foreach (json_object_get(json, "kept"), index, row) {
        fputs("Not changed: ", out);
        term_safe(out, view_str(view_member(row, "path")));
        fprintf(out, ": %s\n", view_member(row, "reason"));
    }
    fputs("This purges ", out);
    print_counts(out, json);
    print_elsewhere(out, json);
}

static void print_conflict_copies(struct cli *self, const json_t *rows)
{
    size_t index;
    json_t *row;
    json_array_foreach ((json_t *)rows, index, row)
        view_say(self, "Not changed: %s: %s", view_member(row, "path"), view_member(row, "reason"));
}

static void say_emptied(struct cli *self, const json_t *rows)
{
    size_t index;
    json_t *row;
    json_array_foreach ((json_t *)rows, index, row) {
        const char *key = view_member(row, "key");
        view_say(self, "%s (%s) has no text any more; ethos notes rm %.*s removes it", key,
                 view_member(row, "scope"), (int)(strlen(key) - strlen(".md")), key);
    }
}

static void say_unreachable(struct cli *self, const json_t *rows)
{
    struct str text;
    size_t index;
    json_t *row;
    str_init(&text, SIZE_MAX);
    json_array_foreach ((json_t *)rows, index, row)
        str_printf(&text, "%s%s", index ? ", " : "", json_string_value(row));
    if (text.size > 0)
        view_say(self, "Out of reach: %s", text.data);
    str_release(&text);
}

void view_forget(struct cli *self, const json_t *json)
{
    if (json_is_true(json_object_get(json, "dryRun"))) {
        view_taken(stdout, json);
        return;
    }
    fputs("Purged ", stdout);
    print_counts(stdout, json);
    fflush(stdout);
    if (json_object_get(json, "elsewhere") && !self->quiet)
        print_elsewhere(stderr, json);
    print_conflict_copies(self, json_object_get(json, "kept"));
    say_emptied(self, json_object_get(json, "emptied"));
    say_unreachable(self, json_object_get(json, "unreachable"));
}

/* ---- conflicts ------------------------------------------------------------------------------ */

static void print_copy(struct cli *self, const json_t *row)
{
    char when[TERM_WHEN_SIZE];
    view_when(row, "time", when);
    term_styled(&self->term, TERM_BOLD, "%s", view_member(row, "id"));
    term_printf(&self->term, "\n    %s (%s), %s, %lld byte%s\n", view_member(row, "key"),
                view_member(row, "scope"), when, view_integer(row, "bytes"),
                plural_suffix(view_integer(row, "bytes")));
}

#define EVENT_LINES 8 /* changed lines of an event that are shown */

/* The lines that a diff took out and put in, below a title. */
static void print_changed(struct cli *self, const char *title, struct ethos_view diff)
{
    struct ethos_view line;
    size_t count = 0;
    bool begun = false;
    while (view_line(&diff, &line)) {
        char marker = line.data[0];
        begun = begun || view_starts(line, VIEW("@@"));
        if (!begun || (marker != '+' && marker != '-') || view_blank(view_from(line, 1)))
            continue;
        if (count++ == 0)
            term_printf(&self->term, "    %s:\n", title);
        if (count > EVENT_LINES)
            continue;
        term_styled(&self->term, marker == '+' ? TERM_GOOD : TERM_BAD, "        %c", marker);
        print_line(self, view_trim_end(view_from(line, 1)), self->term.width - 9);
    }
    if (count > EVENT_LINES)
        term_printf(&self->term, "        (%zu more)\n", count - EVENT_LINES);
}

static void print_event(struct cli *self, const json_t *row)
{
    const char *event = view_member(row, "event");
    char when[TERM_WHEN_SIZE], amount[32];
    view_when(row, "time", when);
    amount_of(row, amount, sizeof amount);
    term_styled(&self->term, TERM_WARN, "%s", event_words(event));
    term_printf(&self->term, "\n    %s (%s), %s, change %lld, %s\n", view_member(row, "key"),
                view_member(row, "scope"), when, view_integer(row, "number"), amount);
    if (strcmp(event, "dropped") == 0 || strcmp(event, "partial") == 0 ||
        strcmp(event, "returned") == 0)
        print_changed(self, "the edit", json_view(row, "diff"));
    print_changed(self, "merged with it", json_view(row, "merged"));
    if (*view_member(row, "undo"))
        term_printf(&self->term, "    undo: %s\n", view_member(row, "undo"));
}

void view_conflicts(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row;
    const json_t *copies = json_object_get(json, "conflicts");
    const json_t *events = json_object_get(json, "events");
    json_array_foreach ((json_t *)copies, index, row)
        print_copy(self, row);
    json_array_foreach ((json_t *)events, index, row)
        print_event(self, row);
    if (json_array_size(copies) > 0)
        view_say(self, "ethos conflicts show ID, then ethos conflicts resolve ID "
                       "--keep, --take or --both");
    else if (json_array_size(events) == 0)
        view_say(self, "No conflicts");
}

void view_conflict(struct cli *self, const json_t *json)
{
    struct ethos_view content = json_view(json, "content"), diff = json_view(json, "diff");
    if (!self->no_pager)
        term_page(&self->term);
    print_copy(self, json);
    if (*view_member(json, "path")) {
        term_printf(&self->term, "    ");
        view_path(self, TERM_PLAIN, view_member(json, "path"));
        term_printf(&self->term, "\n");
    }
    term_printf(&self->term, "\n");
    term_text(&self->term, content);
    if (content.size > 0 && content.data[content.size - 1] != '\n')
        term_printf(&self->term, "\n");
    term_styled(&self->term, TERM_BOLD,
                diff.size > 0 ? "\nFrom the file to the copy:\n" : "\nThe file is the same now.\n");
    view_lines_of_diff(self, diff);
}

void view_resolved(struct cli *self, const json_t *json)
{
    view_report(self, json);
    if (json_object_get(json, "resolved"))
        view_say(self, "Resolved %s; its text is in the history", view_member(json, "resolved"));
}
