/*
 * view_sessions.c: conversations for a person: a line for each, what was said, what was found.
 *
 * On a terminal ids are as long as it takes to tell the shown ones apart, and what tools said is
 * shortened; into a pipe everything goes whole.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "base/view.h"
#include "cli/view_internal.h"

#define ID_DIGITS 8 /* of an id at least */
#define NAME_COLUMNS 60
#define RESULT_LINES 6   /* of what a tool said */
#define LINE_BYTES 65536 /* of a snippet as it is shown */

/* ---- ids and names ---------------------------------------------------------------------------- */

static int common_start(const char *a, const char *b)
{
    int size = 0;
    while (a[size] && a[size] == b[size])
        size++;
    return size;
}

/* How much of an id is shown: enough for a terminal, all of it elsewhere. member: where rows have it. */
static int id_digits(const struct cli *self, const json_t *rows, const char *member)
{
    int digits = ID_DIGITS;
    size_t count = self->term.tty ? json_array_size(rows) : 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            const json_t *a = json_array_get(rows, i), *b = json_array_get(rows, j);
            const char *left = view_member(member ? json_object_get(a, member) : a, "id");
            const char *right = view_member(member ? json_object_get(b, member) : b, "id");
            int same = common_start(left, right) + 1;
            if (same > digits && strcmp(left, right) != 0)
                digits = same;
        }
    }
    return self->term.tty ? digits : INT_MAX;
}

void view_session_name(const json_t *row, char out[VIEW_SESSION_SIZE])
{
    int used;
    struct ethos_view title = json_view(row, "displayTitle");
    size_t size = term_fit(title, NAME_COLUMNS, &used);
    if (view_blank(title))
        snprintf(out, VIEW_SESSION_SIZE, "%.*s", ID_DIGITS, view_member(row, "id"));
    else
        snprintf(out, VIEW_SESSION_SIZE, "%.*s%s", (int)size, title.data,
                 size < title.size ? "…" : "");
    for (char *at = out; *at; at++)
        if (*at == '\n' || *at == '\r' || *at == '\t')
            *at = ' ';
}

/* ---- list ------------------------------------------------------------------------------------- */

struct columns {
    int digits, when;
    bool folders;
};

static struct columns columns_of(const struct cli *self, const json_t *rows)
{
    size_t index;
    json_t *row;
    struct columns columns = {.digits = id_digits(self, rows, NULL),
                              .folders = json_is_true(json_object_get(self->args, "all"))};
    json_array_foreach ((json_t *)rows, index, row) {
        char when[TERM_WHEN_SIZE];
        view_when(row, "updatedAt", when);
        int width = (int)strlen(when);
        columns.when = width > columns.when ? width : columns.when;
    }
    return columns;
}

/* "~/work/app, 12 turns" */
static void about_of(const json_t *row, bool folder, char *out, size_t size)
{
    long long turns = view_integer(row, "turnCount");
    const char *path = folder ? view_member(row, "workingDir") : "", *below = view_below_home(path);
    char count[32] = "";
    if (turns > 0)
        snprintf(count, sizeof count, "%s%lld turn%s", *path ? ", " : "", turns,
                 plural_suffix(turns));
    snprintf(out, size, "%s%s%s", below ? "~" : "", below ? below : path, count);
}

/* Returns the columns used. */
static int print_title(struct cli *self, enum term_style style, const json_t *row, int columns)
{
    struct ethos_view title = json_view(row, "displayTitle");
    return view_blank(title) ? term_fitting(&self->term, TERM_DIM, VIEW("(no title)"), columns)
                             : term_fitting(&self->term, style, title, columns);
}

static void print_session(struct cli *self, const json_t *row, const struct columns *columns)
{
    struct term *term = &self->term;
    char when[TERM_WHEN_SIZE], about[PATH_MAX + 64];
    view_when(row, "updatedAt", when);
    about_of(row, columns->folders, about, sizeof about);
    term_printf(term, "%s ", json_is_true(json_object_get(row, "pinned")) ? "*" : " ");
    term_styled(term, TERM_BOLD, "%.*s", columns->digits, view_member(row, "id"));
    term_styled(term, TERM_DIM, "  %-*s  ", columns->when, when);
    int left = term->tty ? term->width - 6 - columns->digits - columns->when : INT_MAX;
    int aside = *about ? term_width(view_str(about)) + 2 : 0;
    aside = aside > left / 2 ? left / 2 : aside;
    int used = print_title(self, TERM_PLAIN, row, left - aside);
    if (*about)
        term_printf(term, "  ");
    if (*about && left - used > 4)
        term_fitting(term, TERM_DIM, view_str(about), left - used - 2);
    term_printf(term, "\n");
}

static void say_none(const struct cli *self)
{
    bool all = json_is_true(json_object_get(self->args, "all"));
    bool spanned = json_object_get(self->args, "since") || json_object_get(self->args, "until");
    if (json_object_get(self->args, "query"))
        view_say(self, all ? "No session has all these words"
                           : "No session of this folder has all these words; --all looks in those "
                             "of others");
    else if (json_object_get(self->args, "cursor"))
        view_say(self, "No more sessions");
    else if (spanned)
        view_say(self, all ? "No session of that time"
                           : "No session of this folder of that time; --all shows those of others");
    else
        view_say(self, all ? "No sessions yet"
                           : "No sessions in this folder; --all shows those of others");
}

#define MORE_BYTES 8192 /* of a command that is proposed */

/* An option as it was given, if it was. */
static void append_given_option(const struct cli *self, const char *name, const char *option,
                                struct str *out)
{
    const json_t *value = json_object_get(self->args, name);
    if (json_is_string(value))
        str_printf(out, " --%s %s", option, json_string_value(value));
    else if (json_is_integer(value))
        str_printf(out, " --%s %lld", option, (long long)json_integer_value(value));
    else if (json_is_true(value))
        str_printf(out, " --%s", option);
}

/* The same command, from where this page ended. */
static void say_more(const struct cli *self, const char *cursor)
{
    struct str options;
    str_init(&options, MORE_BYTES);
    append_given_option(self, "all", "all", &options);
    append_given_option(self, "limit", "limit", &options);
    append_given_option(self, "personalityId", "personality-id", &options);
    append_given_option(self, "since", "since", &options);
    append_given_option(self, "until", "until", &options);
    view_say(self, "more: ethos sessions list%s --cursor %s", options.data, cursor);
    str_release(&options);
}

void view_sessions(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row, *rows = json_object_get(json, "items");
    const char *cursor = view_member(json, "nextCursor");
    if (json_array_size(rows) == 0) {
        say_none(self);
        return;
    }
    struct columns columns = columns_of(self, rows);
    if (!self->no_pager)
        term_page(&self->term);
    json_array_foreach (rows, index, row)
        print_session(self, row, &columns);
    term_finish(&self->term);
    if (*cursor)
        say_more(self, cursor);
}

/* ---- show ------------------------------------------------------------------------------------- */

static void print_head(struct cli *self, const json_t *session)
{
    char when[TERM_WHEN_SIZE];
    view_when(session, "createdAt", when);
    print_title(self, TERM_BOLD, session, self->term.width);
    term_printf(&self->term, "\n");
    term_styled(&self->term, TERM_DIM, "%s  begun %s  ", view_member(session, "id"), when);
    view_path(self, TERM_DIM, view_member(session, "workingDir"));
    term_printf(&self->term, "\n");
}

/* The first lines, and how many more there are. */
static void print_short(struct cli *self, struct ethos_view text)
{
    struct ethos_view line;
    long long shown = 0, more = 0;
    while (view_line(&text, &line)) {
        if (shown < RESULT_LINES) {
            term_printf(&self->term, "  ");
            term_fitting(&self->term, TERM_DIM, line, self->term.width - 2);
            term_printf(&self->term, "\n");
            shown++;
        } else {
            more++;
        }
    }
    if (more > 0)
        term_styled(&self->term, TERM_DIM, "  … %lld more line%s", more, plural_suffix(more));
    if (more > 0)
        term_printf(&self->term, "\n");
}

static void print_whole(struct cli *self, struct ethos_view text)
{
    term_text(&self->term, text);
    if (text.size > 0 && text.data[text.size - 1] != '\n')
        term_printf(&self->term, "\n");
}

/* "  -> read_file {"path":"a.c"}" */
static void print_call(struct cli *self, const json_t *call)
{
    struct str line;
    const json_t *input = json_object_get(call, "input");
    str_init(&line, SIZE_MAX);
    str_printf(&line, "-> %s ", view_member(call, "name"));
    if (input)
        json_print(input, JSON_STYLE_LINE, &line);
    term_printf(&self->term, "  ");
    term_fitting(&self->term, TERM_DIM, str_view(&line), self->term.width - 2);
    term_printf(&self->term, "\n");
    str_release(&line);
}

static void print_said_message(struct cli *self, const json_t *message)
{
    size_t index;
    json_t *call;
    char when[TERM_WHEN_SIZE];
    const char *role = view_member(message, "role"), *tool = view_member(message, "toolName");
    view_when(message, "timestamp", when);
    term_printf(&self->term, "\n");
    term_styled(&self->term, TERM_BOLD, "%s", role);
    term_styled(&self->term, TERM_DIM, "%s%s  %s", *tool ? " " : "", tool, when);
    term_printf(&self->term, "\n");
    if (self->term.tty && strcmp(role, "tool_result") == 0)
        print_short(self, json_view(message, "content"));
    else
        print_whole(self, json_view(message, "content"));
    json_array_foreach (json_object_get(message, "toolCalls"), index, call)
        print_call(self, call);
}

static void say_next(const struct cli *self, const json_t *json)
{
    struct str options;
    str_init(&options, MORE_BYTES);
    append_given_option(self, "limit", "limit", &options);
    append_given_option(self, "maxChars", "max-chars", &options);
    view_say(self, "more: ethos sessions show %.*s%s --from %s", ID_DIGITS,
             view_member(json_object_get(json, "session"), "id"), options.data,
             view_member(json, "next"));
    str_release(&options);
}

void view_session(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row, *messages = json_object_get(json, "messages");
    if (!self->no_pager)
        term_page(&self->term);
    print_head(self, json_object_get(json, "session"));
    json_array_foreach (messages, index, row)
        print_said_message(self, row);
    term_finish(&self->term);
    if (json_array_size(messages) == 0)
        view_say(self, "Nothing was said in it yet");
    if (*view_member(json, "next"))
        say_next(self, json);
}

/* ---- search ----------------------------------------------------------------------------------- */

/* A line, and what of it is bold. */
struct marked {
    struct str line;
    size_t start, end;
};

static void append_snippet_part(struct cli *self, struct marked *marked, const json_t *snippet,
                                const char *name)
{
    char *line = term_line(&self->term, json_view(snippet, name));
    str_adds(&marked->line, line ? line : "");
    free(line);
}

static void print_marked(struct cli *self, const struct marked *marked, size_t from, size_t to)
{
    while (from < to) {
        bool inside = from >= marked->start && from < marked->end;
        size_t end = from < marked->start ? marked->start : inside ? marked->end : to;
        end = end < to ? end : to;
        term_styled(&self->term, inside ? TERM_BOLD : TERM_PLAIN, "%.*s", (int)(end - from),
                    marked->line.data + from);
        from = end;
    }
}

/* Where the word that begins at a place ends; the blanks before it belong to it. */
static size_t find_word_end(struct ethos_view line, size_t at)
{
    while (at < line.size && line.data[at] == ' ')
        at++;
    while (at < line.size && line.data[at] != ' ')
        at++;
    return at;
}

/* From a column on, as many lines as it takes on a terminal, one elsewhere. */
static void print_wrapped(struct cli *self, const struct marked *marked, int column, int indent)
{
    struct ethos_view line = str_view(&marked->line);
    for (size_t at = 0, end; at < line.size;) {
        end = find_word_end(line, at);
        int width = term_width(view_of(line.data + at, end - at));
        if (self->term.tty && column + width > self->term.width && column > indent) {
            term_printf(&self->term, "\n%*s", indent, "");
            column = indent;
            at += strspn(line.data + at, " ");
            continue;
        }
        if (self->term.tty && column + width > self->term.width) // a word longer than a line
            end = at + term_fit(view_from(line, at), self->term.width - column, &width);
        end = end > at ? end : line.size;
        print_marked(self, marked, at, end);
        column += width;
        at = end;
    }
    term_printf(&self->term, "\n");
}

static void print_snippet(struct cli *self, const json_t *snippet, int column)
{
    struct marked marked;
    str_init(&marked.line, LINE_BYTES);
    if (json_is_true(json_object_get(snippet, "cutBefore")))
        str_adds(&marked.line, "…");
    append_snippet_part(self, &marked, snippet, "before");
    marked.start = marked.line.size;
    append_snippet_part(self, &marked, snippet, "match");
    marked.end = marked.line.size;
    append_snippet_part(self, &marked, snippet, "after");
    if (json_is_true(json_object_get(snippet, "cutAfter")))
        str_adds(&marked.line, "…");
    print_wrapped(self, &marked, column, 4);
    str_release(&marked.line);
}

static void print_hit(struct cli *self, const json_t *hit)
{
    const json_t *message = json_object_get(hit, "message");
    char when[TERM_WHEN_SIZE], head[128];
    view_when(message, "timestamp", when);
    snprintf(head, sizeof head, "  %s, %s: ", when, view_member(message, "role"));
    term_styled(&self->term, TERM_DIM, "%s", head);
    print_snippet(self, json_object_get(hit, "snippet"), term_width(view_str(head)));
}

void view_hits(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *hit, *hits = json_object_get(json, "hits");
    const char *last = "";
    int digits = id_digits(self, hits, "session");
    if (json_array_size(hits) == 0) {
        view_say(self, json_is_true(json_object_get(self->args, "here"))
                           ? "Nothing found in this folder; without --here all are searched"
                           : "Nothing found");
        return;
    }
    if (!self->no_pager)
        term_page(&self->term);
    json_array_foreach (hits, index, hit) {
        const json_t *session = json_object_get(hit, "session");
        const char *id = view_member(session, "id");
        if (strcmp(id, last) != 0) {
            term_styled(&self->term, TERM_DIM, "%.*s  ", digits, id);
            print_title(self, TERM_BOLD, session, self->term.width - 2 - digits);
            term_printf(&self->term, "\n");
        }
        print_hit(self, hit);
        last = id;
    }
}

/* ---- changes ---------------------------------------------------------------------------------- */

void view_session_id(struct cli *self, const json_t *json)
{
    term_printf(&self->term, "%s\n", view_member(json_object_get(json, "session"), "id"));
}

void view_appended(struct cli *self, const json_t *json)
{
    char name[VIEW_SESSION_SIZE];
    view_session_name(json_object_get(json, "session"), name);
    view_say(self, "Added to %s", name);
}

void view_taken_back(struct cli *self, const json_t *json)
{
    long long messages = view_integer(json, "messages");
    if (messages == 0)
        view_say(self, "Nothing to take back");
    else
        view_say(self, "Took back %lld message%s", messages, plural_suffix(messages));
}

void view_renamed(struct cli *self, const json_t *json)
{
    char name[VIEW_SESSION_SIZE];
    const json_t *session = json_object_get(json, "session");
    view_session_name(session, name);
    if (json_is_null(json_object_get(session, "title")))
        view_say(self, "It has no title any more; it is shown as %s", name);
    else
        view_say(self, "It is called %s now", name);
}

void view_pinned(struct cli *self, const json_t *json)
{
    char name[VIEW_SESSION_SIZE];
    const json_t *session = json_object_get(json, "session");
    view_session_name(session, name);
    view_say(self, json_is_true(json_object_get(session, "pinned")) ? "Pinned %s" : "Unpinned %s",
             name);
}

void view_deleted(struct cli *self, const json_t *json)
{
    char name[VIEW_SESSION_SIZE];
    long long messages = view_integer(json, "messages");
    view_session_name(json_object_get(json, "session"), name);
    view_say(self, "Deleted %s with %lld message%s", name, messages, plural_suffix(messages));
}

void view_pruned(struct cli *self, const json_t *json)
{
    long long sessions = view_integer(json, "sessions");
    if (sessions == 0)
        view_say(self, "No session is that old");
    else
        view_say(self, "Deleted %lld session%s", sessions, plural_suffix(sessions));
}
