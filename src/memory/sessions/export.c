/*
 * export.c: exports a conversation as Markdown.
 */
#include "memory/sessions/export.h"

#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "base/view.h"
#include "memory/sessions/lookup.h"

/* ---- text in markdown ------------------------------------------------------------------------ */

/* Appends one line of untrusted text: nothing in it can end the line or its code span. */
static void add_escaped_line(const char *text, struct str *out)
{
    for (; text && *text; text++) {
        unsigned char c = (unsigned char)*text;
        str_addc(out, c < ' ' || c == 0x7F ? ' ' : c == '`' ? '\'' : (char)c);
    }
}

/* "2026-01-02 03:04 UTC"; as it is where it is no such time. */
static void add_time(const char *time, struct str *out)
{
    if (strlen(time) >= 16 && time[10] == 'T')
        str_printf(out, "%.10s %.5s UTC", time, time + 11);
    else
        add_escaped_line(time, out);
}

/* The longest run of a character. */
static size_t longest_run(struct ethos_view text, char c)
{
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < text.size; i++) {
        run = text.data[i] == c ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

static void add_repeated(char c, size_t count, struct str *out)
{
    for (size_t i = 0; i < count; i++)
        str_addc(out, c);
}

/* As a code block, with fences longer than any in the text. */
static void add_code(const char *language, struct ethos_view text, struct str *out)
{
    size_t run = longest_run(text, '`');
    size_t size = run < 3 ? 3 : run + 1;
    add_repeated('`', size, out);
    str_printf(out, "%s\n", language);
    str_add(out, text);
    str_adds(out, view_ends(text, VIEW("\n")) || text.size == 0 ? "" : "\n");
    add_repeated('`', size, out);
    str_adds(out, "\n\n");
}

/* Strips the next line off *rest, by the rules of Markdown: a CR alone ends a line, too. */
static bool next_markdown_line(struct ethos_view *rest, struct ethos_view *out)
{
    size_t size = 0;
    if (rest->size == 0)
        return false;
    while (size < rest->size && rest->data[size] != '\n' && rest->data[size] != '\r')
        size++;
    *out = view_of(rest->data, size);
    bool two = view_starts(view_from(*rest, size), VIEW("\r\n"));
    *rest = view_from(*rest, size + (size < rest->size) + two);
    return true;
}

/* The number of leading characters of a text that are in a set. */
static size_t count_of(struct ethos_view text, const char *among)
{
    size_t count = 0;
    while (count < text.size && text.data[count] && strchr(among, text.data[count]))
        count++;
    return count;
}

/* A fence: how many of which character; the text after them decides whether it opens or closes. */
static size_t fence_of(struct ethos_view line, struct ethos_view *out_rest)
{
    const char among[] = {line.size > 0 ? line.data[0] : '\0', '\0'};
    size_t size = *among == '`' || *among == '~' ? count_of(line, among) : 0;
    *out_rest = view_from(line, size);
    return size >= 3 ? size : 0;
}

static bool is_closing_fence(struct ethos_view line, char kind, size_t open)
{
    struct ethos_view rest;
    size_t blanks = count_of(line, " ");
    line = view_from(line, blanks);
    return blanks < 4 && fence_of(line, &rest) >= open && *line.data == kind &&
           count_of(rest, " \t") == rest.size;
}

/*
 * Whether nothing that a text begins can extend beyond it. HTML, and indented or nested code, may
 * end elsewhere than it seems, which only a whole parser could tell.
 */
static bool is_closed(struct ethos_view text)
{
    struct ethos_view line, rest;
    size_t open = 0, size;
    char kind = 0;
    while (next_markdown_line(&text, &line)) {
        struct ethos_view body = view_from(line, count_of(line, " \t>-+*0123456789.)"));
        if (open > 0) {
            open = is_closing_fence(line, kind, open) ? 0 : open;
            continue;
        }
        if (view_starts(body, VIEW("<")))
            return false;
        if ((size = fence_of(body, &rest)) == 0 || (*body.data == '`' && longest_run(rest, '`')))
            continue;
        if (body.data != line.data)
            return false;
        open = size;
        kind = *body.data;
    }
    return open == 0;
}

/*
 * A message is Markdown already, and stays unchanged if it is self-contained. Otherwise it is
 * quoted: the end of a quotation ends everything in it.
 */
static void add_said(struct ethos_view text, struct str *out)
{
    struct ethos_view line;
    text = view_trim_end(text);
    if (text.size == 0)
        return;
    if (is_closed(text)) {
        str_add(out, text);
        str_adds(out, "\n\n");
        return;
    }
    while (next_markdown_line(&text, &line)) {
        str_adds(out, line.size > 0 ? "> " : ">");
        str_add(out, line);
        str_addc(out, '\n');
    }
    str_addc(out, '\n');
}

/* ---- messages -------------------------------------------------------------------------------- */

static const char *speaker_name(const char *role)
{
    static const char *const names[][2] = {{"user", "User"},
                                           {"assistant", "Assistant"},
                                           {"tool_result", "Result"},
                                           {"system", "System"},
                                           {"user_steer", "User, meanwhile"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(role, names[i][0]) == 0)
            return names[i][1];
    return "Somebody";
}

static int add_call(const json_t *call, struct str *out)
{
    CLEANUP_STR struct str input;
    const json_t *value = json_object_get(call, "input");
    str_adds(out, "Calls `");
    add_escaped_line(json_string_value(json_object_get(call, "name")), out);
    str_adds(out, "`:\n\n");
    str_init(&input, SESSIONS_EXPORT_BYTES);
    int code = json_is_string(value) ? str_add(&input, json_view(call, "input"))
               : value               ? json_print(value, JSON_STYLE_PRETTY, &input)
                                     : ETHOS_OK;
    if (code == ETHOS_OK)
        add_code(json_is_string(value) ? "" : "json", str_view(&input), out);
    return code == ETHOS_OK ? str_code(out) : str_fail(out, code);
}

/* Shows nothing unless it is an array of calls. */
static int add_calls(const char *calls, struct str *out)
{
    size_t index;
    json_t *call, *array = NULL;
    int code = calls ? json_parse(view_str(calls), "tool calls", &array, NULL) : ETHOS_OK;
    if (code == ETHOS_NOMEM)
        return str_fail(out, code);
    json_array_foreach (array, index, call)
        add_call(call, out);
    json_decref(array);
    return str_code(out);
}

static int export_message(void *arg, const struct ethos_message *message)
{
    struct str *out = arg;
    bool result = strcmp(message->role, "tool_result") == 0;
    str_printf(out, "## %s", speaker_name(message->role));
    if (result && message->tool_name) {
        str_adds(out, " of `");
        add_escaped_line(message->tool_name, out);
        str_addc(out, '`');
    }
    str_adds(out, " · ");
    add_time(message->timestamp, out);
    str_adds(out, "\n\n");
    if (result)
        add_code("", message->content, out);
    else
        add_said(message->content, out);
    return result ? str_code(out) : add_calls(message->tool_calls, out);
}

/* ---- the session ----------------------------------------------------------------------------- */

static void add_fact(const char *name, const char *value, struct str *out)
{
    if (!value || !*value)
        return;
    str_printf(out, "- %s: `", name);
    add_escaped_line(value, out);
    str_adds(out, "`\n");
}

static int export_session(void *arg, const struct ethos_session *session)
{
    struct str *out = arg;
    add_fact("Session", session->id, out);
    add_fact("Key", session->key, out);
    add_fact("Program", session->platform, out);
    add_fact("Model", session->model, out);
    add_fact("Folder", session->working_dir, out);
    str_adds(out, "- From ");
    add_time(session->created_at, out);
    str_adds(out, " to ");
    add_time(session->updated_at, out);
    return str_adds(out, "\n\n");
}

static int add_title(void *arg, const struct ethos_session *session)
{
    add_escaped_line(session->title, arg);
    return str_code(arg);
}

/* The session's title, else one made from its first message. */
static int export_heading(struct ethos *self, struct ethos_sessions *store, const char *id,
                          struct str *out, struct ethos_error *error)
{
    struct str made;
    str_adds(out, "# ");
    size_t size = out->size;
    int code = store->ops->get(store, id, add_title, out, error);
    str_init(&made, SESSIONS_EXPORT_BYTES);
    if (code == ETHOS_OK && out->size == size)
        code = sessions_title(self, id, false, &made, error);
    add_escaped_line(made.data, out);
    str_release(&made);
    str_adds(out, out->size == size ? "Conversation\n\n" : "\n\n");
    return code;
}

int sessions_export_large(size_t most, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_LIMIT, "the conversation is larger than %zu bytes", most);
    return most < SESSIONS_EXPORT_BYTES
               ? err_hint(error, code, "run ethos sessions export on the machine that stores it")
               : code;
}

int sessions_export_markdown(struct ethos *self, const char *id, struct str *out,
                             struct ethos_error *error)
{
    struct ethos_sessions *store;
    int code = ethos_sessions(self, &store, error);
    if (code == ETHOS_OK)
        code = export_heading(self, store, id, out, error);
    if (code == ETHOS_OK)
        code = store->ops->get(store, id, export_session, out, error);
    if (code == ETHOS_OK)
        code = store->ops->messages(store, id, 0, export_message, out, error);
    if (str_code(out) == ETHOS_NOMEM)
        return err_nomem(error);
    if (str_code(out) != ETHOS_OK)
        return sessions_export_large(out->ceiling, error);
    if (code == ETHOS_OK && view_ends(str_view(out), VIEW("\n\n")))
        str_truncate(out, out->size - 1);
    return code;
}
