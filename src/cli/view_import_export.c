/*
 * view_import_export.c: what came in and what went out.
 *
 * One line per thing that happened, those of the same kind together; what stayed as it was is only
 * counted. In a dry run the diffs are the data; the lines tell what they would do.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/system/os.h"
#include "cli/view_internal.h"

#define SHOWN 20        /* lines of what went well */
#define TICK_MS 100     /* between two looks at the progress */
#define MANY 500        /* items from which progress is worth showing, */
#define MUCH 1048576    /* and bytes */
#define BAR_CELLS 30    /* at most */
#define AMOUNT_SIZE 64  /* "1234.5 of 5678.9 MB" */
#define NARROW_CELLS 10 /* below which a bar shows nothing */

/* ---- progress ------------------------------------------------------------------------------- */

static int stderr_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static void amount(bool bytes, uint64_t done, uint64_t total, char out[AMOUNT_SIZE])
{
    if (bytes)
        snprintf(out, AMOUNT_SIZE, "%.1f of %.1f MB", (double)done / 1e6, (double)total / 1e6);
    else
        snprintf(out, AMOUNT_SIZE, "%llu of %llu", (unsigned long long)done,
                 (unsigned long long)total);
}

/* "██████░░░░  60%  6.0 of 10.0 MB", as much of it as there is room for. */
static void draw(bool bytes, uint64_t done, uint64_t total)
{
    char text[AMOUNT_SIZE], tail[AMOUNT_SIZE + 16];
    int width = stderr_width();
    amount(bytes, done, total, text);
    int used = snprintf(tail, sizeof tail, " %3d%%  %s", (int)((double)done * 100 / (double)total),
                        text);
    int cells = width - used - 1 < BAR_CELLS ? width - used - 1 : BAR_CELLS;
    fputs("\r\033[K", stderr);
    for (int i = 0; cells >= NARROW_CELLS && i < cells; i++)
        fputs((double)i * (double)total < (double)cells * (double)done ? "█" : "░", stderr);
    fprintf(stderr, "%.*s", width > 1 ? width - 1 : 0, tail);
    fflush(stderr);
}

void view_progress(void *arg, uint64_t done, uint64_t total)
{
    const struct cli *self = arg;
    static int64_t last; // a surface may: there is one terminal
    static bool shown;
    bool bytes = self->op && strcmp(self->op->name, "sessions.import") == 0;
    if (done >= total && shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        shown = false;
    }
    if (done >= total || self->quiet || self->json || total < (bytes ? MUCH : MANY) ||
        !isatty(STDERR_FILENO))
        return;
    int64_t now = os_monotonic_ms();
    if (now - last < TICK_MS)
        return;
    last = now;
    shown = true;
    draw(bytes, done, total);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static bool is_what(const json_t *row, const char *what)
{
    return strcmp(view_member(row, "what"), what) == 0;
}

static void print_diffs(struct cli *self, const json_t *rows)
{
    size_t index;
    json_t *row;
    json_array_foreach ((json_t *)rows, index, row)
        term_text(&self->term, json_view(row, "diff"));
}

/*
 * "taken      plan.md"; a name that differs here is told. A row is one line, whatever a file is
 * called.
 */
static void print_imported_row(const struct cli *self, const json_t *row)
{
    struct str line;
    const char *file = view_member(row, "file"), *key = view_member(row, "key"),
               *why = view_member(row, "why");
    bool renamed = *key && strcmp(key, file) != 0;
    str_init(&line, 65536);
    str_printf(&line, "%-10s %s%s%s%s%s", view_member(row, "what"), file, renamed ? " -> " : "",
               renamed ? key : "", *why ? ": " : "", why);
    for (char *at = line.data; line.size > 0 && (at = strchr(at, '\n'));)
        *at = '?';
    view_say(self, "%s", line.data);
    str_release(&line);
}

static void say_rows(const struct cli *self, const json_t *rows, const char *what, size_t limit)
{
    size_t index, count = 0;
    json_t *row;
    json_array_foreach ((json_t *)rows, index, row)
        if (is_what(row, what) && count++ < limit)
            print_imported_row(self, row);
    if (count > limit)
        view_say(self, "%-10s %zu more", what, count - limit);
}

void view_counts(const json_t *counts, const char *const *kinds, struct str *out)
{
    for (size_t i = 0; kinds[i]; i++) {
        long long count = view_integer(counts, kinds[i]);
        bool conflict = strcmp(kinds[i], "conflict") == 0,
             warning = strcmp(kinds[i], "warning") == 0;
        if (count > 0)
            str_printf(out, "%s%lld %s%s%s", out->size ? ", " : "", count, conflict ? "in " : "",
                       kinds[i], warning ? plural_suffix(count) : "");
    }
    if (out->size == 0)
        str_adds(out, "nothing to do");
}

/* "3 taken, 1 skipped: ~/notes -> workspace:x-0123456789ab" */
static void say_sum(struct cli *self, const json_t *json, const char *const *kinds, bool import)
{
    struct str counts;
    const char *home = getenv("HOME"), *path = view_member(json, "path");
    size_t size = home ? strlen(home) : 0;
    bool near = size > 1 && strncmp(path, home, size) == 0 && path[size] == '/';
    const char *scope = view_member(json, "scope"), *start = near ? "~" : "";
    bool dry = json_is_true(json_object_get(json, "dryRun"));
    path += near ? size : 0;
    str_init(&counts, 1024);
    view_counts(json_object_get(json, "counts"), kinds, &counts);
    view_say(self, "%s%s: %s%s -> %s%s", dry ? "Without --dry-run: " : "", counts.data,
             import ? start : "", import ? path : scope, import ? "" : start,
             import ? scope : path);
    str_release(&counts);
}

/* fine: how many of the kinds, which come first, went well and may be cut short. */
static void view_rows(struct cli *self, const json_t *json, const char *const *kinds, size_t fine,
                      bool import)
{
    const json_t *rows = json_object_get(json, "rows");
    print_diffs(self, rows);
    for (size_t i = 0; kinds[i]; i++)
        if (strcmp(kinds[i], "unchanged") != 0)
            say_rows(self, rows, kinds[i], i < fine ? SHOWN : SIZE_MAX);
    say_sum(self, json, kinds, import);
}

void view_imported(struct cli *self, const json_t *json)
{
    static const char *const kinds[] = {"taken",     "waiting", "updated", "merged", "conflict",
                                        "unchanged", "skipped", "warning", NULL};
    view_rows(self, json, kinds, 3, true);
    if (view_integer(json_object_get(json, "counts"), "waiting") > 0)
        view_say(self, "What waits is for you to decide: ethos pending; with --yes an import is "
                       "written at once");
}

static const char *const exported[] = {"written", "unchanged", "skipped", "warning", NULL};

void view_exported(struct cli *self, const json_t *json)
{
    view_rows(self, json, exported, 1, false);
}

void view_printed(struct cli *self, const json_t *json)
{
    for (size_t i = 2; exported[i]; i++)
        say_rows(self, json_object_get(json, "rows"), exported[i], SIZE_MAX);
}
