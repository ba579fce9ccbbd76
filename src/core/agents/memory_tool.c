/*
 * memory_tool.c: reading a command of the memory tool, and what each says.
 */
#include "core/agents/memory_tool.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/quote.h"
#include "base/view.h"
#include "core/memory/scope.h"

#define ROOT "/memories"

/* ---- replies --------------------------------------------------------------------------------- */

void tool_reply_init(struct tool_reply *reply)
{
    reply->is_error = false;
    str_init(&reply->text, ETHOS_MAX_STORE_BYTES);
}

void tool_reply_release(struct tool_reply *reply)
{
    str_release(&reply->text);
}

bool tool_refuse(struct tool_reply *reply, const char *format, ...)
{
    char text[2 * QUOTE_SIZE]; /* a path that was refused, and words about it */
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    reply->is_error = true;
    str_clear(&reply->text);
    str_adds(&reply->text, text);
    return false;
}

/* Begins the reply of a success. */
static struct str *begin_reply(struct tool_reply *reply)
{
    reply->is_error = false;
    str_clear(&reply->text);
    return &reply->text;
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* Whether it tries to leave, in any spelling. */
static bool leaves(struct ethos_view path)
{
    for (size_t i = 0; i < path.size; i++) {
        struct ethos_view rest = view_from(path, i);
        bool starts = i == 0 || path.data[i - 1] == '/' || path.data[i - 1] == '\\';
        bool dots = starts && view_starts(rest, VIEW("..")) &&
                    (rest.size == 2 || rest.data[2] == '/' || rest.data[2] == '\\');
        if (dots || (rest.size >= 6 && view_eq_nocase(view_of(rest.data, 6), VIEW("%2e%2e"))))
            return true;
    }
    return false;
}

static bool parse_path(struct ethos_view path, struct tool_path *out, struct tool_reply *reply)
{
    char shown[QUOTE_SIZE];
    struct ethos_view root = VIEW(ROOT), key = {"", 0};

    if (!view_starts(path, root) || (path.size > root.size && path.data[root.size] != '/'))
        return tool_refuse(reply, "Error: Path must start with " ROOT ", got: %s",
                           quote_line(path, shown));
    if (path.size > root.size)
        key = view_from(path, root.size + 1);
    if (key.size > 0 && key.data[key.size - 1] == '/')
        key.size--;
    if (leaves(key))
        return tool_refuse(reply, "Error: Path %s would escape " ROOT " directory",
                           quote_line(path, shown));
    bool fits = key.size < sizeof out->key && (key.size == 0 || !memchr(key.data, 0, key.size));
    snprintf(out->key, sizeof out->key, "%.*s", fits ? (int)key.size : 0, key.data);
    if (!fits || (key.size > 0 && scope_key_check("memories:global", out->key, NULL) != ETHOS_OK))
        return tool_refuse(
            reply,
            "Error: Path %s is not allowed. Use at most %d bytes of UTF-8 below " ROOT
            ", without empty or hidden names, quotes, backslashes and control "
            "characters",
            quote_line(path, shown), ETHOS_MAX_KEY);
    out->shown = view_of(path.data, key.size > 0 ? root.size + 1 + key.size : root.size);
    return true;
}

/* ---- parameters ------------------------------------------------------------------------------ */

struct parser {
    const json_t *object;
    const char *command;
    struct tool_reply *reply;
};

static bool take_argument(const struct parser *p, const char *name, const json_t **out)
{
    *out = json_object_get(p->object, name);
    if (*out && !json_is_null(*out))
        return true;
    return tool_refuse(p->reply, "Error: Parameter `%s` is required for command: %s", name,
                       p->command);
}

static bool take_text_argument(const struct parser *p, const char *name, struct ethos_view *out)
{
    const json_t *value;

    if (!take_argument(p, name, &value))
        return false;
    if (!json_is_string(value))
        return tool_refuse(p->reply, "Error: Parameter `%s` must be a string", name);
    *out = view_of(json_string_value(value), json_string_length(value));
    return true;
}

/* A text that becomes part of a file. */
static bool take_content(const struct parser *p, const char *name, struct ethos_view *out)
{
    if (!take_text_argument(p, name, out))
        return false;
    return !memchr(out->data, 0, out->size) ||
           tool_refuse(p->reply, "Error: Parameter `%s` contains NUL", name);
}

static bool take_path(const struct parser *p, const char *name, struct tool_path *out)
{
    struct ethos_view path;

    return take_text_argument(p, name, &path) && parse_path(path, out, p->reply);
}

static bool read_tool_number(const json_t *value, struct tool_number *out)
{
    double real = json_real_value(value);

    if (!json_whole(value, &out->value))
        return false;
    if (json_is_real(value) && fabs(real) >= (double)INT64_MAX)
        snprintf(out->shown, sizeof out->shown, "%.15g", real);
    else
        snprintf(out->shown, sizeof out->shown, "%lld", (long long)out->value);
    return true;
}

static bool take_line_argument(const struct parser *p, const char *name, struct tool_number *out)
{
    const json_t *value;

    if (!take_argument(p, name, &value))
        return false;
    return read_tool_number(value, out) ||
           tool_refuse(p->reply, "Error: Parameter `%s` must be an integer", name);
}

static bool take_range(const struct parser *p, struct tool_call *out)
{
    const json_t *range = json_object_get(p->object, "view_range");

    out->ranged = range && !json_is_null(range);
    if (!out->ranged)
        return true;
    return (json_array_size(range) == 2 &&
            read_tool_number(json_array_get(range, 0), &out->first) &&
            read_tool_number(json_array_get(range, 1), &out->last)) ||
           tool_refuse(p->reply, "Error: Parameter `view_range` must be two integers");
}

static bool take_parameters(const struct parser *p, struct tool_call *out)
{
    switch (out->command) {
    case TOOL_VIEW:
        return take_path(p, "path", &out->path) && take_range(p, out);
    case TOOL_CREATE:
        return take_path(p, "path", &out->path) && take_content(p, "file_text", &out->text);
    case TOOL_STR_REPLACE:
        return take_path(p, "path", &out->path) && take_content(p, "old_str", &out->old_str) &&
               take_content(p, "new_str", &out->text);
    case TOOL_INSERT:
        return take_path(p, "path", &out->path) &&
               take_line_argument(p, "insert_line", &out->line) &&
               take_content(p, "insert_text", &out->text);
    case TOOL_DELETE:
        return take_path(p, "path", &out->path);
    default:
        return take_path(p, "old_path", &out->path) && take_path(p, "new_path", &out->new_path);
    }
}

bool tool_parse(const json_t *object, struct tool_call *out, struct tool_reply *reply)
{
    static const char *const names[] = {"view",   "create", "str_replace",
                                        "insert", "delete", "rename"};
    char shown[QUOTE_SIZE];
    struct parser p = {object, "memory", reply};
    struct ethos_view word;

    *out = (struct tool_call){0};
    if (!take_text_argument(&p, "command", &word))
        return false;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (!view_eq_str(word, names[i]))
            continue;
        p.command = names[i];
        out->command = (enum tool_command)i;
        return take_parameters(&p, out);
    }
    return tool_refuse(reply,
                       "Error: Unknown command: %s. Use view, create, str_replace, insert, delete "
                       "or rename",
                       quote_line(word, shown));
}

/* ---- the tree -------------------------------------------------------------------------------- */

bool tool_below(const char *key, const char *directory)
{
    size_t size = strlen(directory);

    return size == 0 ||
           (strncmp(key, directory, size) == 0 && (key[size] == '/' || key[size] == 0));
}

enum tool_kind tool_kind_of(const struct tool_row *rows, size_t count, const char *key)
{
    for (size_t i = 0; *key && i < count; i++) {
        if (tool_below(rows[i].key, key))
            return strlen(rows[i].key) == strlen(key) ? TOOL_FILE : TOOL_DIRECTORY;
    }
    return *key ? TOOL_NOTHING : TOOL_DIRECTORY;
}

bool tool_reachable(const struct tool_row *rows, size_t count, const struct tool_path *path,
                    struct tool_reply *reply)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(path->key, rows[i].key) != 0 && tool_below(path->key, rows[i].key))
            return tool_refuse(reply, "Error: The path " ROOT "/%s is a file, not a directory",
                               rows[i].key);
    }
    return true;
}

/* ---- view of a directory --------------------------------------------------------------------- */

static void add_size(struct str *out, uint64_t bytes)
{
    static const char units[] = "KMGTPE";
    double size = (double)bytes;
    int unit = -1;

    while (size >= 1024 && unit < 5) {
        size /= 1024;
        unit++;
    }
    if (unit < 0)
        str_printf(out, "%lluB", (unsigned long long)bytes);
    else
        str_printf(out, "%.1f%c", size, units[unit]);
}

/* Names in order, and what is in a directory right after it: a slash comes before any other byte. */
static int compare_rows(const void *a, const void *b)
{
    const unsigned char *x = (const void *)((const struct tool_row *)a)->key;
    const unsigned char *y = (const void *)((const struct tool_row *)b)->key;

    while (*x && *x == *y) {
        x++;
        y++;
    }
    int left = *x == '/' ? 1 : *x, right = *y == '/' ? 1 : *y;
    return left - right;
}

/* Bytes of the rows from one on whose keys begin as its key does. */
static uint64_t sum_row_bytes(const struct tool_row *row, const struct tool_row *end, size_t prefix)
{
    uint64_t bytes = 0;

    for (const struct tool_row *at = row; at < end && strncmp(at->key, row->key, prefix) == 0; at++)
        bytes += at->bytes;
    return bytes;
}

struct tool_listing {
    struct str *out;
    struct ethos_view path; /* as it was asked for */
    size_t skip;            /* bytes of a key up to what is shown of it */
};

static void add_listing_row(const struct tool_listing *list, const struct tool_row *row,
                            size_t size, uint64_t bytes)
{
    add_size(list->out, bytes);
    str_printf(list->out, "\t%.*s/%.*s\n", VIEW_ARG(list->path), (int)size, row->key + list->skip);
}

/* The row's file, and directories on the way to it that the row before was not in. */
static void list_row(const struct tool_listing *list, const struct tool_row *row,
                     const struct tool_row *before, const struct tool_row *end)
{
    const char *name = row->key + list->skip;
    size_t size = 0;

    for (int depth = 1; depth <= 2; depth++) {
        size_t part = strcspn(name + size, "/");
        if (strncmp(name + size, "node_modules", part) == 0 && part == strlen("node_modules"))
            return;
        size += part;
        if (!name[size]) {
            add_listing_row(list, row, size, row->bytes);
            return;
        }
        size++; // the slash
        if (!before || strncmp(before->key + list->skip, name, size) != 0)
            add_listing_row(list, row, size, sum_row_bytes(row, end, list->skip + size));
    }
}

void tool_view_directory(const struct tool_call *call, struct tool_row *rows, size_t count,
                         struct tool_reply *reply)
{
    size_t size = strlen(call->path.key), kept = 0;
    struct tool_listing list = {begin_reply(reply), call->path.shown, size > 0 ? size + 1 : 0};

    for (size_t i = 0; i < count; i++) {
        if (tool_below(rows[i].key, call->path.key) && strlen(rows[i].key) > size)
            rows[kept++] = rows[i];
    }
    if (kept > 0)
        qsort(rows, kept, sizeof(*rows), compare_rows);
    str_printf(list.out,
               "Here're the files and directories up to 2 levels deep in %.*s, excluding hidden "
               "items and node_modules:\n",
               VIEW_ARG(list.path));
    add_size(list.out, kept > 0 ? sum_row_bytes(rows, rows + kept, list.skip) : 0);
    str_printf(list.out, "\t%.*s\n", VIEW_ARG(list.path));
    for (size_t i = 0; i < kept; i++)
        list_row(&list, &rows[i], i > 0 ? &rows[i - 1] : NULL, rows + kept);
    if (list.out->size > 0)
        str_truncate(list.out, list.out->size - 1);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Lines are what is between LFs: one more than there are. */
static size_t count_file_lines(struct ethos_view text)
{
    return view_newlines(text) + 1;
}

/* Where a line begins, counted from 1; the end of the text past the last. */
static size_t offset_of_line(struct ethos_view text, size_t line)
{
    size_t at = 0;

    for (; line > 1 && at < text.size; line--) {
        const char *end = memchr(text.data + at, '\n', text.size - at);
        at = end ? (size_t)(end - text.data) + 1 : text.size;
    }
    return at;
}

/* Appends lines with their numbers, an LF before each. */
static void add_numbered_lines(struct str *out, struct ethos_view text, size_t first, size_t last)
{
    struct ethos_view rest = view_from(text, offset_of_line(text, first));

    for (size_t line = first; line <= last; line++) {
        const char *end = rest.size > 0 ? memchr(rest.data, '\n', rest.size) : NULL;
        size_t size = end ? (size_t)(end - rest.data) : rest.size;
        str_printf(out, "\n%6zu\t", line);
        str_add(out, view_of(rest.data, size));
        rest = view_from(rest, end ? size + 1 : size);
    }
}

void tool_view_file(const struct tool_call *call, struct ethos_view text, struct tool_reply *reply)
{
    int64_t lines = (int64_t)count_file_lines(text), first = 1, last = lines;

    if (lines > TOOL_MAX_LINES) {
        tool_refuse(reply, "File %.*s exceeds maximum line limit of 999,999 lines.",
                    VIEW_ARG(call->path.shown));
        return;
    }
    if (call->ranged) {
        first = call->first.value < 1 ? 1 : call->first.value;
        last = call->last.value == -1 || call->last.value > lines ? lines : call->last.value;
        if (first > last) {
            tool_refuse(reply,
                        "Error: Invalid `view_range` parameter: [%s, %s]. It should be within "
                        "the range of lines of the file: [1, %lld]",
                        call->first.shown, call->last.shown, (long long)lines);
            return;
        }
    }
    str_printf(begin_reply(reply),
               "Here's the content of %.*s with line numbers:", VIEW_ARG(call->path.shown));
    add_numbered_lines(&reply->text, text, (size_t)first, (size_t)last);
}

/* ---- edits ----------------------------------------------------------------------------------- */

static const char *find_needle(struct ethos_view text, size_t from, struct ethos_view needle)
{
    return memmem(text.data + from, text.size - from, needle.data, needle.size);
}

/*
 * For every start of a text, how much of its end is a start of the text again; owned. With it all
 * places of the text are found in one pass, where searching again behind each would take hours in a
 * file that repeats itself, under the lock that everybody else waits for.
 */
static uint32_t *make_borders(struct ethos_view needle)
{
    uint32_t *borders = calloc(needle.size, sizeof *borders);

    for (uint32_t i = 1, same = 0; borders && i < needle.size; i++) {
        while (same > 0 && needle.data[i] != needle.data[same])
            same = borders[same - 1];
        same += needle.data[i] == needle.data[same];
        borders[i] = same;
    }
    return borders;
}

/* The lines in which the needle begins, overlapping ones included. */
static void add_hit_lines(struct ethos_view text, struct ethos_view needle, const uint32_t *borders,
                          struct str *out)
{
    size_t line = 1, told = 0, counted = 0, same = 0;

    for (size_t i = 0; i < text.size; i++) {
        while (same > 0 && text.data[i] != needle.data[same])
            same = borders[same - 1];
        same += text.data[i] == needle.data[same];
        if (same < needle.size)
            continue;
        size_t from = i + 1 - needle.size;
        line += view_newlines(view_of(text.data + counted, from - counted));
        if (line != told)
            str_printf(out, "%s%zu", told > 0 ? ", " : "", line);
        counted = from;
        told = line;
        same = borders[same - 1];
    }
}

static void refuse_several(const struct tool_call *call, struct ethos_view text,
                           struct tool_reply *reply)
{
    uint32_t *borders = make_borders(call->old_str);

    tool_refuse(reply, "%s", "");
    str_adds(&reply->text, "No replacement was performed. Multiple occurrences of old_str `");
    str_add(&reply->text, call->old_str);
    str_adds(&reply->text, "` in lines: ");
    if (borders)
        add_hit_lines(text, call->old_str, borders, &reply->text);
    else
        str_fail(&reply->text, ETHOS_NOMEM);
    str_adds(&reply->text, ". Please ensure it is unique");
    free(borders);
}

static bool refuse_absent(const struct tool_call *call, struct tool_reply *reply)
{
    tool_refuse(reply, "%s", "");
    str_adds(&reply->text, "No replacement was performed, old_str `");
    str_add(&reply->text, call->old_str);
    str_printf(&reply->text, "` did not appear verbatim in %.*s.", VIEW_ARG(call->path.shown));
    return false;
}

static bool replace_in_file(const struct tool_call *call, struct ethos_view text, struct str *out,
                            struct tool_reply *reply)
{
    if (call->old_str.size == 0)
        return tool_refuse(reply, "No replacement was performed, old_str is empty.");
    const char *hit = find_needle(text, 0, call->old_str);
    if (!hit)
        return refuse_absent(call, reply);
    size_t at = (size_t)(hit - text.data);
    if (find_needle(text, at + 1, call->old_str)) {
        refuse_several(call, text, reply);
        return false;
    }
    str_add(out, view_of(text.data, at));
    str_add(out, call->text);
    str_add(out, view_from(text, at + call->old_str.size));

    size_t line = count_file_lines(view_of(text.data, at)),
           last = line + count_file_lines(call->text) + 1;
    size_t lines = count_file_lines(str_view(out));
    str_adds(begin_reply(reply),
             "The memory file has been edited. Here is the snippet showing the change "
             "(with line numbers):");
    add_numbered_lines(&reply->text, str_view(out), line > 2 ? line - 2 : 1,
                       last < lines ? last : lines);
    return true;
}

static bool insert_in_file(const struct tool_call *call, struct ethos_view text, struct str *out,
                           struct tool_reply *reply)
{
    size_t lines = count_file_lines(text), line = (size_t)call->line.value;
    struct ethos_view more = call->text;

    if (call->line.value < 0 || line > lines)
        return tool_refuse(reply,
                           "Error: Invalid `insert_line` parameter: %s. It should be within the "
                           "range of lines of the file: [0, %zu]",
                           call->line.shown, lines);
    if (view_ends(more, VIEW("\n")))
        more.size--;
    size_t at = line < lines ? offset_of_line(text, line + 1) : text.size;
    str_add(out, view_of(text.data, at));
    str_adds(out, line < lines ? "" : "\n");
    str_add(out, more);
    str_adds(out, line < lines ? "\n" : "");
    str_add(out, view_from(text, at));
    str_printf(begin_reply(reply), "The file %.*s has been edited.", VIEW_ARG(call->path.shown));
    return true;
}

bool tool_edit(const struct tool_call *call, struct ethos_view text, struct str *out,
               struct tool_reply *reply)
{
    str_clear(out);
    if (call->command == TOOL_CREATE) {
        if (text.data)
            return tool_refuse(reply, "Error: File %.*s already exists",
                               VIEW_ARG(call->path.shown));
        str_add(out, call->text);
        tool_done(call, reply);
        return true;
    }
    if (!text.data)
        return tool_missing(call, reply);
    return call->command == TOOL_INSERT ? insert_in_file(call, text, out, reply)
                                        : replace_in_file(call, text, out, reply);
}

/* ---- the rest -------------------------------------------------------------------------------- */

bool tool_missing(const struct tool_call *call, struct tool_reply *reply)
{
    bool error = call->command != TOOL_VIEW;
    bool advice = call->command == TOOL_VIEW || call->command == TOOL_STR_REPLACE;

    return tool_refuse(reply, "%sThe path %.*s does not exist%s", error ? "Error: " : "",
                       VIEW_ARG(call->path.shown), advice ? ". Please provide a valid path." : "");
}

void tool_done(const struct tool_call *call, struct tool_reply *reply)
{
    struct str *out = begin_reply(reply);

    if (call->command == TOOL_CREATE)
        str_printf(out, "File created successfully at: %.*s", VIEW_ARG(call->path.shown));
    else if (call->command == TOOL_DELETE)
        str_printf(out, "Successfully deleted %.*s", VIEW_ARG(call->path.shown));
    else
        str_printf(out, "Successfully renamed %.*s to %.*s", VIEW_ARG(call->path.shown),
                   VIEW_ARG(call->new_path.shown));
}
