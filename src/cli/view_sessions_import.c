/*
 * view_sessions_import.c: which conversations came in.
 *
 * One line per transcript, those of the same kind together; what stayed as it was is only counted,
 * and so is what was changed on the way, when something came in.
 */
#include <string.h>

#include "base/str.h"
#include "cli/view_internal.h"

#define SHOWN 20 /* lines of one kind; conflicts are all shown */

/* "created    a.jsonl: 12 messages of codex, 3f2a9c1d"; one line, whatever a file is called. */
static void print_imported_session(const struct cli *self, const json_t *row)
{
    struct str line;
    long long messages = view_integer(row, "messages");
    const char *why = view_member(row, "why");
    str_init(&line, 65536);
    str_printf(&line, "%-10s %s: ", view_member(row, "effect"), view_member(row, "file"));
    if (*why)
        str_adds(&line, why);
    else
        str_printf(&line, "%lld message%s of %s, %.8s", messages, plural_suffix(messages),
                   view_member(row, "format"),
                   *view_member(row, "id") ? view_member(row, "id") : "new");
    for (char *at = line.data; line.size > 0 && (at = strchr(at, '\n'));)
        *at = '?';
    view_say(self, "%s", line.data);
    str_release(&line);
}

static void say_rows(const struct cli *self, const json_t *rows, const char *effect, size_t limit)
{
    size_t index, count = 0;
    json_t *row;
    json_array_foreach ((json_t *)rows, index, row)
        if (strcmp(view_member(row, "effect"), effect) == 0 && count++ < limit)
            print_imported_session(self, row);
    if (count > limit)
        view_say(self, "%-10s %zu more", effect, count - limit);
}

static long long sum_messages(const json_t *rows)
{
    long long sum = 0;
    size_t index;
    json_t *row;
    json_array_foreach ((json_t *)rows, index, row)
        sum += view_integer(row, "messages");
    return sum;
}

void view_sessions_imported(struct cli *self, const json_t *json)
{
    static const char *const kinds[] = {"created",   "appended", "conflict",
                                        "unchanged", "skipped",  NULL};
    const json_t *rows = json_object_get(json, "rows");
    long long messages = sum_messages(rows);
    struct str counts;
    size_t index;
    json_t *note;
    for (size_t i = 0; kinds[i]; i++)
        if (strcmp(kinds[i], "unchanged") != 0)
            say_rows(self, rows, kinds[i], strcmp(kinds[i], "conflict") == 0 ? SIZE_MAX : SHOWN);
    json_array_foreach (json_object_get(json, "notes"), index, note)
        if (messages > 0)
            view_say(self, "%6lld x   %s", view_integer(note, "count"), view_member(note, "what"));
    str_init(&counts, 1024);
    view_counts(json_object_get(json, "counts"), kinds, &counts);
    if (messages > 0)
        str_printf(&counts, ": %lld message%s", messages, plural_suffix(messages));
    view_say(self, "%s%s",
             json_is_true(json_object_get(json, "dryRun")) ? "Without --dry-run: " : "",
             counts.data);
    str_release(&counts);
}
