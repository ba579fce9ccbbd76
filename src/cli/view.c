/*
 * view.c: results for a person, where raw bytes or JSON would not do.
 *
 * Data goes to stdout. What only confirms a write goes to stderr, and -q silences it.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/system/os.h"
#include "base/view.h"
#include "cli/view_internal.h"

typedef void view_fn(struct cli *self, const json_t *json);

const char *view_below_home(const char *path)
{
    const char *home = getenv("HOME");
    size_t size = home ? strlen(home) : 0;
    bool below = size > 1 && strncmp(path, home, size) == 0 && (path[size] == '/' || !path[size]);
    return below ? path + size : NULL;
}

void view_path(struct cli *self, enum term_style style, const char *path)
{
    const char *below = view_below_home(path);
    term_styled(&self->term, style, "%s", below ? "~" : "");
    term_fitting(&self->term, style, view_str(below ? below : path), INT_MAX);
}

void view_when(const json_t *row, const char *name, char out[TERM_WHEN_SIZE])
{
    int64_t ms;
    struct ethos_view time = json_view(row, name);
    if (time.data && clock_parse(time, 0, false, &ms, NULL))
        term_when(ms, os_now_ms(), out);
    else
        snprintf(out, TERM_WHEN_SIZE, "-");
}

/* ---- writes -------------------------------------------------------------------------------- */

/* Whether a shell reads a word as it stands. */
static bool is_plain_word(const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_-./:@%+=,";
    return *word && word[strspn(word, plain)] == 0;
}

void view_option(struct str *out, const char *option, const char *value)
{
    if (!value || !*value)
        return;
    if (is_plain_word(value)) {
        str_printf(out, " %s %s", option, value);
        return;
    }
    str_printf(out, " %s '", option);
    for (; *value; value++)
        if (*value == '\'')
            str_add(out, VIEW("'\\''"));
        else
            str_addc(out, *value);
    str_addc(out, '\'');
}

void view_program(const struct cli *self, struct str *out)
{
    str_add(out, VIEW("ethos"));
    view_option(out, "--home", self->home);
    view_option(out, "-p", self->personality);
    view_option(out, "-u", self->user);
    view_option(out, "-w", self->workspace);
}

void view_say(const struct cli *self, const char *format, ...)
{
    char *line = NULL;
    va_list args;
    if (self->quiet)
        return;
    va_start(args, format);
    int size = vasprintf(&line, format, args);
    va_end(args);
    fflush(stdout); // what was shown before stands before
    if (size >= 0)
        term_safe(stderr, view_of(line, (size_t)size));
    free(line);
    fputc('\n', stderr);
}

/* What is gone has no size to tell. */
static void print_written_file(const struct cli *self, const json_t *row, const char *what,
                               bool gone)
{
    const json_t *matched = json_object_get(row, "matched");
    long long lines = (long long)json_integer_value(matched), chars = view_integer(row, "chars");
    char removed[64] = "", size[64] = "";
    if (matched)
        snprintf(removed, sizeof removed, ": %lld line%s matched", lines, plural_suffix(lines));
    if (!gone)
        snprintf(size, sizeof size, "%s %lld character%s", matched ? "," : ":", chars,
                 plural_suffix(chars));
    view_say(self, "%s %s (%s)%s%s", view_member(row, "key"), what, view_member(row, "scope"),
             removed, size);
}

void view_report(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row;
    json_array_foreach (json_object_get(json, "written"), index, row) {
        bool gone = json_is_null(json_object_get(row, "revision"));
        print_written_file(self, row, gone ? "deleted" : "written", gone);
    }
    json_array_foreach (json_object_get(json, "unchanged"), index, row)
        print_written_file(self, row, "unchanged", false);
    const json_t *failed = json_object_get(json, "failed");
    json_array_foreach (json_array_size(failed) > 1 ? (json_t *)failed : NULL, index, row) {
        const json_t *why = json_object_get(row, "error");
        view_say(self, "not changed: %s%s%s", view_member(why, "message"),
                 *view_member(why, "hint") ? "; " : "", view_member(why, "hint"));
    }
    json_array_foreach (json_object_get(json, "waiting"), index, row)
        view_say(self, "queued: %s (%s); it will be changed when the backend is reachable again",
                 view_member(row, "key"), view_member(row, "scope"));
    json_array_foreach (json_object_get(json, "warnings"), index, row)
        view_say(self, "warning: %s", json_string_value(row));
}

/* ---- memory -------------------------------------------------------------------------------- */

static void view_prefetch(struct cli *self, const json_t *json)
{
    (void)self;
    (void)json; // no memory: print nothing
}

void view_gauge(struct cli *self, long long chars, long long budget)
{
    int cells = 20;
    int full = budget > 0 ? (int)(chars * cells / budget) : 0;
    full = full > cells ? cells : full;
    for (int i = 0; i < cells; i++)
        term_printf(&self->term, "%s", i < full || (i == 0 && chars > 0) ? "█" : "░");
    term_printf(&self->term, " %lld of %lld characters\n", chars, budget);
}

/* The path of a text or, where it is no file, who has it and under which name. */
static void print_place(struct cli *self, const json_t *json, const json_t *file,
                        enum term_style style)
{
    if (json_is_null(json_object_get(file, "path")))
        term_styled(&self->term, style, "%s, %s/%s", view_member(json, "backend"),
                    view_member(file, "scope"), view_member(file, "key"));
    else
        view_path(self, style, view_member(file, "path"));
}

/* "Memory: 21 characters in ~/.ethos/...", then the text. */
static void print_memory_file(struct cli *self, const json_t *json, const json_t *file)
{
    struct ethos_view shown = json_view(file, "shown");
    bool absent = json_is_null(json_object_get(file, "revision"));
    term_styled(&self->term, TERM_BOLD, "%s", view_member(file, "label"));
    if (json_object_get(file, "error"))
        term_printf(&self->term, ": cannot be read, ");
    else if (absent)
        term_printf(&self->term, ": nothing yet in ");
    else
        term_printf(&self->term, ": %lld character%s%s in ", view_integer(file, "chars"),
                    plural_suffix(view_integer(file, "chars")),
                    json_is_true(json_object_get(file, "unsettled"))
                        ? ", as last recorded while somebody saves it,"
                    : json_is_true(json_object_get(file, "stale")) ? ", as last known,"
                                                                   : "");
    print_place(self, json, file, TERM_DIM);
    term_printf(&self->term, "\n\n");
    if (shown.size == 0)
        return;
    term_text(&self->term, shown);
    term_printf(&self->term, "\n\n");
}

static void print_omission(struct cli *self, const json_t *row)
{
    term_styled(&self->term, TERM_WARN, "Left out");
    term_printf(&self->term, ": %lld character%s of %s (%s)\n", view_integer(row, "chars"),
                plural_suffix(view_integer(row, "chars")), view_member(row, "key"),
                view_member(row, "reason"));
}

/* Where agents get less than what a prompt has room for. */
static void print_hooks(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row;
    const json_t *hooks = json_object_get(json, "hooks"),
                 *omitted = json_object_get(hooks, "omitted");
    if (json_array_size(omitted) <= json_array_size(json_object_get(json, "omitted")))
        return;
    term_styled(&self->term, TERM_BOLD, "To agents with hooks");
    term_printf(&self->term, ": %lld of %lld bytes\n", view_integer(hooks, "bytes"),
                view_integer(hooks, "budget"));
    json_array_foreach ((json_t *)omitted, index, row)
        print_omission(self, row);
}

/* What was changed while the backend was away, and is not to be seen yet. */
static void print_waiting(struct cli *self, const json_t *json, const char *label)
{
    const json_t *waiting = json_object_get(json, "waiting");
    long long count = view_integer(waiting, "changes");
    if (count > 0)
        term_printf(&self->term, "%s%lld change%s since %s, to be made when %s is back\n", label,
                    count, plural_suffix(count), view_member(waiting, "since"),
                    view_member(json, "backend"));
}

static void view_show(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row;
    if (!self->no_pager)
        term_page(&self->term);
    json_array_foreach (json_object_get(json, "files"), index, row)
        print_memory_file(self, json, row);
    term_styled(&self->term, TERM_BOLD, "In the prompt");
    term_printf(&self->term, ": ");
    view_gauge(self, view_integer(json, "chars"), view_integer(json, "budget"));
    json_array_foreach (json_object_get(json, "omitted"), index, row)
        print_omission(self, row);
    print_hooks(self, json);
    print_waiting(self, json, "Waiting: ");
    if (view_integer(json, "chars") > 0)
        return;
    term_finish(&self->term); // what a pager shows stands before
    view_say(self, "Add something: ethos memory add 'We deploy on Fridays'");
}

static void view_paths(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row;
    term_printf(&self->term, "%-12s%s\n", "Home", view_member(json, "home"));
    json_array_foreach (json_object_get(json, "files"), index, row) {
        term_printf(&self->term, "%-12s", view_member(row, "label"));
        if (json_is_null(json_object_get(json, "backend")))
            term_printf(&self->term, "%s\n", view_member(row, "path"));
        else
            term_printf(&self->term, "%s, %s/%s\n", view_member(json, "backend"),
                        view_member(row, "scope"), view_member(row, "key"));
    }
    print_waiting(self, json, "Waiting     ");
}

/* ---- people, personalities, settings ------------------------------------------------------- */

static void view_users(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row;
    json_t *users = json_object_get(json, "users");
    json_array_foreach (users, index, row) {
        bool local = json_is_true(json_object_get(row, "local"));
        term_styled(&self->term, local ? TERM_BOLD : TERM_PLAIN, "%s %-14s", local ? "*" : " ",
                    view_member(row, "userId"));
        term_printf(&self->term, " %-10s %s\n", view_member(row, "platform"),
                    view_member(row, "platformUserId"));
    }
    if (json_array_size(users) == 0)
        view_say(self, "Nobody yet. You are %s; the first write to your profile records it.",
                 view_member(json, "localUserId"));
}

static void view_user(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row;
    term_printf(&self->term, "%-12s%s%s\n", "User", view_member(json, "userId"),
                json_is_true(json_object_get(json, "local")) ? " (you)" : "");
    term_printf(&self->term, "%-12s%s (%lld byte%s)\n", "Profile", view_member(json, "profile"),
                view_integer(json, "bytes"), plural_suffix(view_integer(json, "bytes")));
    json_array_foreach (json_object_get(json, "identities"), index, row)
        term_printf(&self->term, "%-12s%s %s\n", "Identity", view_member(row, "platform"),
                    view_member(row, "platformUserId"));
}

static void view_user_id(struct cli *self, const json_t *json)
{
    term_printf(&self->term, "%s\n", view_member(json, "userId"));
}

static void view_linked(struct cli *self, const json_t *json)
{
    long long lines = view_integer(json, "profileLines");
    const char *former = view_member(json, "formerUserId");
    view_user_id(self, json);
    if (lines > 0 && json_is_true(json_object_get(json, "merged")))
        fprintf(stderr,
                "%lld line%s of the profile of %s added; ethos -u %s memory undo --store user "
                "undoes that\n",
                lines, plural_suffix(lines), former, view_member(json, "userId"));
    else if (lines > 0)
        fprintf(stderr,
                "The profile of %s has %lld line%s that this one lacks; the same command with "
                "--merge adds %s\n",
                former, lines, plural_suffix(lines), lines == 1 ? "it" : "them");
}

/* Who has no identity any more is nobody's, but what that person had is there. */
static void view_unlinked(struct cli *self, const json_t *json)
{
    const char *left = view_member(json, "leftUserId");
    view_user_id(self, json);
    if (!*left)
        return;
    if (view_integer(json, "bytes") > 0)
        view_say(self,
                 "Nobody is %s now; the profile stays (%lld byte%s, ethos users show %s). ethos "
                 "users link %s %s %s undoes this",
                 left, view_integer(json, "bytes"), plural_suffix(view_integer(json, "bytes")),
                 left, view_member(json, "platform"), view_member(json, "platformUserId"), left);
    else
        view_say(self, "Nobody is %s now. ethos users link %s %s %s undoes this", left,
                 view_member(json, "platform"), view_member(json, "platformUserId"), left);
}

static void view_personalities(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row;
    json_array_foreach (json_object_get(json, "items"), index, row) {
        bool active = json_is_true(json_object_get(row, "active"));
        term_styled(&self->term, active ? TERM_BOLD : TERM_PLAIN, "%s %-16s", active ? "*" : " ",
                    view_member(row, "id"));
        term_printf(&self->term, " %s",
                    strcmp(view_member(row, "memoryScope"), "global") == 0 ? "the shared MEMORY.md"
                                                                           : "its own MEMORY.md");
        if (strcmp(view_member(row, "memoryProvider"), "markdown") != 0)
            term_printf(&self->term, " in %s", view_member(row, "memoryProvider"));
        term_printf(&self->term, "\n");
    }
    json_array_foreach (json_object_get(json, "builtIn"), index, row)
        term_printf(&self->term, "  %-16s built in: %s\n", view_member(row, "id"),
                    view_member(row, "description"));
}

/* "memory_read, memory_write" */
static void print_names(struct cli *self, const char *label, const json_t *names)
{
    size_t index;
    json_t *name;
    json_array_foreach ((json_t *)names, index, name)
        term_printf(&self->term, "%s%s", index == 0 ? label : ", ", json_string_value(name));
    if (json_array_size(names) > 0)
        term_printf(&self->term, "\n");
}

/* Its page: who it is, where it remembers, what it may do, how it speaks. */
static void view_personality(struct cli *self, const json_t *json)
{
    static const char *const names[][2] = {{"Id", "id"},
                                           {"Name", "name"},
                                           {"About", "description"},
                                           {"Memory", "memory"},
                                           {"Scope", "memoryScope"},
                                           {"Profile", "userScope"},
                                           {"Provider", "memoryProvider"},
                                           {"Model", "model"}};
    const json_t *row = json_object_get(json, "personality");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = view_member(i == 3 ? json : row, names[i][1]);
        if (*text)
            term_printf(&self->term, "%-12s%s\n", names[i][0], text);
    }
    print_names(self, "Tools       ", json_object_get(row, "toolset"));
    if (json_is_true(json_object_get(row, "builtin")))
        term_printf(&self->term, "Made        when it is used first\n");
    if (*view_member(json, "soulMd"))
        term_printf(&self->term, "\n%s", view_member(json, "soulMd"));
    if (*view_member(json, "soulMd") && !view_ends(json_view(json, "soulMd"), VIEW("\n")))
        term_printf(&self->term, "\n");
}

static void view_created(struct cli *self, const json_t *json)
{
    view_say(self, "Created the personality %s; ethos personality use %s makes it active",
             view_member(json, "id"), view_member(json, "id"));
}

static void view_updated(struct cli *self, const json_t *json)
{
    view_say(self, "Changed the personality %s", view_member(json, "id"));
}

static void view_put_aside(struct cli *self, const json_t *json)
{
    view_say(self, "Deleted the personality %s; its files are kept in %s", view_member(json, "id"),
             view_member(json, "kept"));
}

static void view_used(struct cli *self, const json_t *json)
{
    view_say(self, "The active personality is now %s", view_member(json, "active"));
}

/* Words up to the width of the terminal, the following lines indented; one line into a pipe. */
static void print_wrapped(struct cli *self, int indent, const char *text)
{
    int column = indent;
    while (*text) {
        int size = (int)strcspn(text, " ");
        if (column > indent && self->term.tty && column + 1 + size > self->term.width) {
            term_printf(&self->term, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            term_printf(&self->term, " ");
            column++;
        }
        term_styled(&self->term, TERM_DIM, "%.*s", size, text);
        column += size;
        text += size + (text[size] == ' ');
    }
    term_printf(&self->term, "\n");
}

/* What a setting is for stands beside it, or below where there is no room. */
static void print_setting(struct cli *self, bool own, const char *key, const char *value,
                          const char *help)
{
    enum { KEY = 24, WIDTH = 15, INDENT = 43 };
    bool long_key = strlen(key) > KEY;
    bool below = self->term.tty && self->term.width < INDENT + TERM_BESIDE;
    int indent = below ? TERM_BELOW : INDENT;
    term_styled(&self->term, own ? TERM_BOLD : TERM_PLAIN, below ? "%s %s" : "%s %-24s",
                own ? "*" : " ", key);
    term_printf(&self->term, below ? " %s" : " %-15s ", value);
    if (below || (self->term.tty && (long_key || strlen(value) > WIDTH)))
        term_printf(&self->term, "\n%*s", indent, "");
    print_wrapped(self, indent, help);
}

static void view_settings(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row;
    bool any = false;
    json_array_foreach ((json_t *)json, index, row) {
        const char *from = view_member(row, "from");
        bool own = self->personality ? strchr(from, '/') != NULL : strcmp(from, "default") != 0;
        any = any || own;
        const char *value = json_is_null(json_object_get(row, "value")) ? "-"
                                                                        : view_member(row, "value");
        print_setting(self, own, view_member(row, "key"), value, view_member(row, "help"));
    }
    if (self->personality)
        view_say(self, "%s personalities/%s/config.yaml; all others are those of the home",
                 any ? "* set in" : "None is set in", self->personality);
    else
        view_say(self, any ? "* set in config.yaml; ethos config set KEY VALUE changes one, "
                             "ethos config unset KEY removes it"
                           : "All are defaults; ethos config set KEY VALUE changes one");
}

static void view_setting(struct cli *self, const json_t *json)
{
    if (!json_is_null(json_object_get(json, "value")))
        term_printf(&self->term, "%s\n", view_member(json, "value"));
}

static void view_set(struct cli *self, const json_t *json)
{
    const char *whose = view_member(json, "personality");
    view_say(self, "%s is now %s%s%s", view_member(json, "key"), view_member(json, "value"),
             *whose ? " for " : "", whose);
    if (*view_member(json, "warning"))
        view_say(self, "warning: %s", view_member(json, "warning"));
    if (*view_member(json, "hint"))
        view_say(self, "%s", view_member(json, "hint"));
}

static void view_unset(struct cli *self, const json_t *json)
{
    const char *key = view_member(json, "key"), *value = view_member(json, "value");
    if (!json_is_true(json_object_get(json, "changed")))
        view_say(self, "%s is not set%s%s", key, *value ? ", so it is " : "", value);
    else
        view_say(self, "%s is no longer set%s%s", key, *value ? ", so it is " : "", value);
    if (*view_member(json, "warning"))
        view_say(self, "warning: %s", view_member(json, "warning"));
    if (*view_member(json, "hint"))
        view_say(self, "%s", view_member(json, "hint"));
}

/* ---- doctor -------------------------------------------------------------------------------- */

static void print_finding(struct cli *self, const json_t *row)
{
    const char *severity = view_member(row, "severity");
    bool fixed = *severity == 'f';
    enum term_style style = *severity == 'e' ? TERM_BAD : fixed ? TERM_GOOD : TERM_WARN;
    term_styled(&self->term, style, "%-8s", severity);
    term_printf(&self->term, "%s: %s\n", view_member(row, "subject"), view_member(row, "problem"));
    if (*view_member(row, "remedy"))
        term_printf(&self->term, "        %s %s\n", fixed ? "done:" : "->",
                    view_member(row, "remedy"));
}

static void view_doctor(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row;
    json_t *findings = json_object_get(json, "findings");
    term_printf(&self->term, "ethos %s, home ", view_member(json, "version"));
    view_path(self, TERM_PLAIN, view_member(json, "home"));
    if (strcmp(view_member(json, "backend"), "markdown") != 0) {
        term_printf(&self->term, ", memory in ");
        view_path(self, TERM_PLAIN, view_member(json, "backend"));
    }
    term_printf(&self->term, "%s\n",
                json_is_true(json_object_get(json, "exists"))
                    ? ""
                    : " (does not exist yet; the first write creates it)");
    json_array_foreach (findings, index, row)
        print_finding(self, row);
    if (json_array_size(findings) == 0)
        term_styled(&self->term, TERM_GOOD, "No problems found");
    if (json_array_size(findings) == 0)
        term_printf(&self->term, "\n");
}

/* ---- search -------------------------------------------------------------------------------- */

/* "personality:default MEMORY.md:12: We deploy on Fridays" */
static void view_found(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row;
    const json_t *hits = json_object_get(json, "hits");
    json_array_foreach (hits, index, row) {
        if (json_object_get(row, "session")) {
            term_styled(&self->term, TERM_DIM, "session ");
            term_styled(&self->term, TERM_BOLD, "%.8s: ", view_member(row, "session"));
        } else {
            term_styled(&self->term, TERM_DIM, "%s ", view_member(row, "scope"));
            term_styled(&self->term, TERM_BOLD, "%s:%lld: ", view_member(row, "key"),
                        view_integer(row, "line"));
        }
        term_text(&self->term, view_str(view_member(row, "snippet")));
        term_printf(&self->term, "\n");
    }
    if (json_array_size(hits) == 0)
        view_say(self, "Nothing found in %lld file%s", view_integer(json, "files"),
                 plural_suffix(view_integer(json, "files")));
    if (view_integer(json, "unreadable") > 0)
        view_say(self, "%lld file%s could not be read", view_integer(json, "unreadable"),
                 plural_suffix(view_integer(json, "unreadable")));
    if (json_is_true(json_object_get(json, "partial")))
        view_say(self, "The search stopped at its limit; there may be more matches");
}

/* "deploys", "deploys (deployed)", "medicine ~ pills 0.56". */
static void view_matched_word(struct cli *self, const json_t *row)
{
    term_printf(&self->term, "    %s", view_member(row, "word"));
    if (json_object_get(row, "as"))
        term_printf(&self->term, " (%s)", view_member(row, "as"));
    if (json_object_get(row, "near"))
        term_printf(&self->term, " ~ %s %.2f", view_member(row, "near"),
                    json_number_value(json_object_get(row, "cosine")));
    term_printf(&self->term, "\n");
}

/* What the score of a hit is made of: "  1.42  time_cue_x_when: 1 x 1.42". */
static void view_why(struct cli *self, const json_t *hit)
{
    size_t index;
    json_t *row;
    json_array_foreach (json_object_get(hit, "why"), index, row)
        term_printf(&self->term, "    %6.2f  %s: %.2f x %.2f\n",
                    json_number_value(json_object_get(row, "score")), view_member(row, "part"),
                    json_number_value(json_object_get(row, "value")),
                    json_number_value(json_object_get(row, "weight")));
    if (json_object_get(hit, "why"))
        term_printf(&self->term, "    %6.2f  in all\n",
                    json_number_value(json_object_get(hit, "score")));
    json_array_foreach (json_object_get(hit, "words"), index, row)
        view_matched_word(self, row);
}

static void view_passage(struct cli *self, struct ethos_view text)
{
    struct ethos_view line;
    while (view_line(&text, &line)) {
        term_printf(&self->term, "  ");
        term_text(&self->term, line);
        term_printf(&self->term, "\n");
    }
}

/* "workspace:x-1 plan.md:12", or "session 3f2a9c1d user". */
static void view_source(struct cli *self, const json_t *row)
{
    if (json_object_get(row, "message")) {
        term_styled(&self->term, TERM_DIM, "session ");
        term_styled(&self->term, TERM_BOLD, "%.8s %s", view_member(row, "key"),
                    view_member(row, "role"));
        return;
    }
    term_styled(&self->term, TERM_DIM, "%s ", view_member(row, "scope"));
    term_styled(&self->term, TERM_BOLD, "%s:%lld", view_member(row, "key"),
                view_integer(row, "line"));
}

/* The source and the date, then the text. */
static void view_recalled(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row;
    const json_t *hits = json_object_get(json, "hits");
    json_array_foreach (hits, index, row) {
        view_source(self, row);
        term_styled(&self->term, TERM_DIM, " %s\n", view_member(row, "date"));
        view_passage(self, view_str(view_member(row, "text")));
        view_why(self, row);
    }
    if (json_array_size(hits) == 0)
        view_say(self, "Nothing found in %lld scope%s", view_integer(json, "scopes"),
                 plural_suffix(view_integer(json, "scopes")));
    if (json_is_true(json_object_get(json, "partial")))
        view_say(self, "The search stopped at its limit; there may be more matches");
}

static void view_indexed(struct cli *self, const json_t *json)
{
    size_t index;
    json_t *row;
    json_array_foreach (json_object_get(json, "scopes"), index, row)
        term_printf(&self->term, "%s: %lld text%s, %lld unit%s%s%s\n", view_member(row, "scope"),
                    view_integer(row, "texts"), plural_suffix(view_integer(row, "texts")),
                    view_integer(row, "units"), plural_suffix(view_integer(row, "units")),
                    json_is_true(json_object_get(row, "rebuilt")) ? ", was damaged and was rebuilt"
                                                                  : "",
                    json_is_true(json_object_get(row, "saved")) ? "" : ", could not be written");
    if (json_array_size(json_object_get(json, "scopes")) == 0)
        view_say(self, "Nothing to index yet");
}

static void view_bench(struct cli *self, const json_t *json)
{
    static const char *const names[][2] = {{"recall@1", "recall1"},
                                           {"recall@5", "recall5"},
                                           {"recall@10", "recall10"},
                                           {"nDCG@10", "ndcg10"},
                                           {"MRR", "mrr"}};
    term_printf(&self->term, "%-10s %lld of %lld texts\n", "questions",
                view_integer(json, "questions"), view_integer(json, "texts"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        term_printf(&self->term, "%-10s %.2f %%\n", names[i][0],
                    json_number_value(json_object_get(json, names[i][1])));
    term_printf(&self->term, "%-10s %.2f ms\n", "a question",
                json_number_value(json_object_get(json, "msEach")));
}

/* ---- which view for which operation -------------------------------------------------------- */

static const struct {
    const char *name;
    view_fn *view;
} views[] = {
    {"memory.prefetch", view_prefetch},
    {"memory.sync", view_report},
    {"memory.add", view_report},
    {"memory.replace", view_report},
    {"memory.remove", view_report},
    {"memory.write", view_report},
    {"memory.save", view_report},
    {"memory.restore", view_report},
    {"memory.undo", view_undo},
    {"memory.history", view_history},
    {"memory.timeline", view_timeline},
    {"memory.diff", view_diff},
    {"memory.blame", view_blame},
    {"memory.forget", view_forget},
    {"memory.chunks.list", view_chunks},
    {"memory.chunks.get", view_chunk},
    {"memory.chunks.search", view_chunks},
    {"memory.chunks.add", view_changed_chunk},
    {"memory.chunks.update", view_changed_chunk},
    {"memory.chunks.delete", view_changed_chunk},
    {"memory.search", view_found},
    {"search.all", view_found},
    {"memory.recall", view_recalled},
    {"recall.index", view_indexed},
    {"recall.bench", view_bench},
    {"pending.list", view_pending},
    {"memory.hidden", view_hidden},
    {"memory.showLine", view_shown_line},
    {"memory.hideLine", view_hidden_line},
    {"pending.show", view_pending_one},
    {"pending.approve", view_approved},
    {"pending.edit", view_pending_one},
    {"pending.reject", view_decided},
    {"pending.never", view_decided},
    {"conflicts.list", view_conflicts},
    {"conflicts.show", view_conflict},
    {"conflicts.resolve", view_resolved},
    {"notes.remember", view_remembered},
    {"notes.write", view_written_note},
    {"notes.list", view_notes},
    {"notes.graph", view_graph},
    {"notes.remove", view_removed},
    {"notes.history", view_history},
    {"notes.undo", view_undo},
    {"notes.blame", view_blame},
    {"notes.move", view_moved},
    {"notes.reindex", view_reindexed},
    {"notes.check", view_checked},
    {"notes.promote", view_promoted},
    {"transfer.import", view_imported},
    {"transfer.export", view_exported},
    {"memory.migrate", view_migrated},
    {"memory.mirror", view_mirrored},
    {"admin.backup", view_backed_up},
    {"admin.restore", view_restored},
    {"sessions.list", view_sessions},
    {"sessions.get", view_session},
    {"sessions.search", view_hits},
    {"sessions.current", view_session_id},
    {"sessions.new", view_session_id},
    {"sessions.append", view_appended},
    {"sessions.undo", view_taken_back},
    {"sessions.fork", view_session_id},
    {"sessions.update", view_renamed},
    {"sessions.pin", view_pinned},
    {"sessions.unpin", view_pinned},
    {"sessions.delete", view_deleted},
    {"sessions.prune", view_pruned},
    {"sessions.import", view_sessions_imported},
    {"memory.list", view_show},
    {"memory.paths", view_paths},
    {"workspaces.list", view_workspaces},
    {"workspaces.where", view_workspace},
    {"workspaces.adopt", view_adopted},
    {"workspaces.accept", view_accepted},
    {"workspaces.forget", view_forgotten},
    {"users.list", view_users},
    {"users.show", view_user},
    {"users.resolve", view_user_id},
    {"users.link", view_linked},
    {"users.unlink", view_unlinked},
    {"personalities.list", view_personalities},
    {"personalities.get", view_personality},
    {"personalities.create", view_created},
    {"personalities.update", view_updated},
    {"personalities.duplicate", view_created},
    {"personalities.delete", view_put_aside},
    {"personalities.use", view_used},
    {"apiKeys.create", view_key},
    {"apiKeys.list", view_keys},
    {"apiKeys.revoke", view_revoked},
    {"browsers.list", view_browsers},
    {"browsers.revoke", view_signed_out},
    {"channel.owner", view_channel_owner},
    {"channel.allow", view_channel_allowed},
    {"channel.remove", view_channel_removed},
    {"channel.people", view_channel_people},
    {"channel.status", view_channel_status},
    {"channel.messages", view_channel_messages},
    {"channel.resend", view_channel_resent},
    {"config.list", view_settings},
    {"config.get", view_setting},
    {"config.set", view_set},
    {"config.unset", view_unset},
    {"admin.status", view_status},
    {"admin.doctor", view_doctor},
    {"admin.install", view_install},
    {"admin.uninstall", view_uninstall},
};

static void view_json(struct cli *self, const struct op *op, const json_t *json)
{
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (strcmp(views[i].name, op->name) == 0)
            views[i].view(self, json);
}

void view_page(struct cli *self, const json_t *page)
{
    view_json(self, self->op, page);
    self->paged = true;
}

void view_result(struct cli *self, const struct op *op, const struct op_result *result)
{
    if (result->has_text) {
        const struct str *text = &result->text;
        if (self->term.tty && strcmp(op->name, "notes.show") == 0)
            view_note_head(self, result->json);
        term_text(&self->term, str_view(text));
        if (self->term.tty && text->size > 0 && text->data[text->size - 1] != '\n')
            term_printf(&self->term, "\n");
        if (strcmp(op->name, "transfer.export") == 0)
            view_printed(self, result->json);
        return;
    }
    view_json(self, op, result->json);
}
