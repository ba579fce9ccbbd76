/*
 * index.c: index lines, read as borrowed slices and written in one form.
 *
 * A line is an entry only when all of it is: bullet, title, file, and nothing or a separator and a
 * hook after that. The file must be able to name a note; templates and links to other places fail
 * there. Up to three blanks may stand before the bullet, as in markdown.
 */
#include "core/notes/index.h"

#include <string.h>

#include <ethos/limits.h>

#include "base/str.h"
#include "base/text/single_line.h"
#include "base/view.h"
#include "core/memory/scope.h"

#define MAX_INDENT 3
#define DASH "\xE2\x80\x94"

/* ---- reading --------------------------------------------------------------------------------- */

static bool skip_prefix(struct ethos_view *rest, struct ethos_view prefix)
{
    if (!view_starts(*rest, prefix))
        return false;
    *rest = view_from(*rest, prefix.size);
    return true;
}

/* Takes "- " or "* " off, with the blanks around it, and the box of a task. */
static bool skip_bullet(struct ethos_view *rest)
{
    struct ethos_view line = view_trim_start(*rest);

    if (rest->size - line.size > MAX_INDENT ||
        (!skip_prefix(&line, VIEW("-")) && !skip_prefix(&line, VIEW("*"))))
        return false;
    *rest = view_trim_start(line);
    if (rest->size == line.size)
        return false;
    if (skip_prefix(rest, VIEW("[ ] ")) || skip_prefix(rest, VIEW("[x] ")) ||
        skip_prefix(rest, VIEW("[X] ")))
        *rest = view_trim_start(*rest);
    return true;
}

/* Takes the separator before a hook off, with the blanks around it. */
static bool skip_separator(struct ethos_view *rest)
{
    struct ethos_view line = view_trim_start(*rest);

    if (!skip_prefix(&line, VIEW(DASH)) && !skip_prefix(&line, VIEW("\xE2\x80\x93")) &&
        !skip_prefix(&line, VIEW("-")) && !skip_prefix(&line, VIEW(":")))
        return false;
    *rest = view_trim(line);
    return true;
}

/* Whether a file can name a note; the index and the profile are none. */
static bool is_note_file(struct ethos_view file)
{
    char key[ETHOS_MAX_KEY + 1] = "";

    if (view_eq(file, VIEW("MEMORY.md")) || view_eq(file, VIEW("USER.md")))
        return false;
    if (file.size > ETHOS_MAX_KEY || memchr(file.data, '\0', file.size))
        return false;
    memcpy(key, file.data, file.size);
    return scope_key_writable(key, NULL) == ETHOS_OK;
}

/* Whether a title reads as the word of the template. */
static bool is_template(struct ethos_view title)
{
    struct ethos_view word = VIEW("<title>");
    int byte;

    title = line_begin(title);
    while ((byte = line_next(&title)) >= 0) {
        char c = (char)(byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte);
        if (!skip_prefix(&word, view_of(&c, 1)))
            return false;
    }
    return word.size == 0;
}

/* Control characters are blanks in a title, as where it is read and written. */
static bool is_title(struct ethos_view title)
{
    return !line_blank(title) && !is_template(title);
}

/* [Title](file.md), from its bracket on; what follows is left in *rest. */
static bool read_link(struct ethos_view *rest, struct index_entry *out)
{
    size_t end = 1;

    while (end + 1 < rest->size && !(rest->data[end] == ']' && rest->data[end + 1] == '('))
        end += rest->data[end] == '\\' ? 2 : 1;
    if (end + 1 >= rest->size)
        return false;
    out->title = view_of(rest->data + 1, end - 1);
    *rest = view_from(*rest, end + 2);
    skip_prefix(rest, VIEW("./"));
    const char *close = memchr(rest->data, ')', rest->size);
    if (!close)
        return false;
    out->file = view_of(rest->data, (size_t)(close - rest->data));
    *rest = view_from(*rest, out->file.size + 1);
    return true;
}

/* `title` — hook (file: `slug.md`); leaves the hook in *rest. A title may hold backticks. */
static bool read_ticks(struct ethos_view *rest, struct index_entry *out)
{
    struct ethos_view line = view_trim_end(*rest), mark = VIEW("(file: `");

    if (!skip_prefix(&line, VIEW("`")) || !view_ends(line, VIEW("`)")))
        return false;
    line.size -= 2;
    size_t file = line.size;
    while (file > 0 && line.data[file - 1] != '`')
        file--;
    out->file = view_from(line, file);
    line.size = file;
    if (!view_ends(line, mark))
        return false;
    line = view_trim_end(view_of(line.data, line.size - mark.size));
    for (size_t end = 0; end < line.size; end++) {
        *rest = view_from(line, end + 1);
        out->title = view_of(line.data, end);
        if (line.data[end] == '`' && (view_blank(*rest) || skip_separator(rest)))
            return true;
    }
    return false;
}

bool index_line(struct ethos_view line, struct index_entry *out)
{
    struct index_entry entry = {.line = line};
    struct ethos_view rest = line;

    if (!skip_bullet(&rest))
        return false;
    struct ethos_view link = rest;
    if (view_starts(link, VIEW("["))) {
        if (!read_link(&rest, &entry) || (!view_blank(rest) && !skip_separator(&rest)))
            return false;
    } else if (!read_ticks(&rest, &entry)) {
        return false;
    }
    if (!is_title(entry.title) || !is_note_file(entry.file))
        return false;
    entry.ticked = !view_starts(link, VIEW("["));
    entry.hook = view_trim(rest);
    *out = entry;
    return true;
}

bool index_next(struct ethos_view text, size_t *offset, struct index_entry *out)
{
    struct ethos_view line, rest = view_from(text, *offset);

    while (view_line(&rest, &line)) {
        *offset = text.size - rest.size;
        if (index_line(line, out)) {
            out->offset = (size_t)(line.data - text.data);
            return true;
        }
    }
    return false;
}

/* ---- titles ---------------------------------------------------------------------------------- */

/* Marks that markdown lets a backslash stand before. */
static bool is_mark(char c)
{
    return (c > ' ' && c < '0') || (c > '9' && c < 'A') || (c > 'Z' && c < 'a') ||
           (c > 'z' && c < 0x7F);
}

/* The next byte of a title as it reads; -1 at its end. */
static int next_byte(struct ethos_view *rest, bool escaped)
{
    bool escape = escaped && rest->size > 1 && rest->data[0] == '\\' && is_mark(rest->data[1]);

    if (escape)
        *rest = view_from(*rest, 1);
    return line_next(rest);
}

static bool has_exact_title(const struct index_entry *entry, struct ethos_view title)
{
    struct ethos_view own = line_begin(entry->title);
    int x, y;

    title = line_begin(title);
    do {
        x = next_byte(&own, !entry->ticked);
        y = line_next(&title);
    } while (x == y && x >= 0);
    return x == y;
}

bool index_has_title(const struct index_entry *entry, struct ethos_view title)
{
    struct str own;

    if (has_exact_title(entry, title))
        return true;
    str_init(&own, SIZE_MAX);
    bool same = index_title(entry, &own) == ETHOS_OK && line_same_nocase(str_view(&own), title);
    str_release(&own);
    return same;
}

int index_title(const struct index_entry *entry, struct str *out)
{
    struct ethos_view rest = line_begin(entry->title);
    int byte;

    while ((byte = next_byte(&rest, !entry->ticked)) >= 0)
        str_addc(out, (char)byte);
    return str_code(out);
}

/* The line around a place of the text. */
static struct ethos_view line_around(struct ethos_view text, size_t at)
{
    const char *before = at > 0 ? memrchr(text.data, '\n', at) : NULL;
    size_t start = before ? (size_t)(before + 1 - text.data) : 0;
    const char *after = memchr(text.data + at, '\n', text.size - at);

    return view_of(text.data + start, (after ? (size_t)(after - text.data) : text.size) - start);
}

/* The next line from a place on that holds a word; the empty one is in every line. */
static bool line_with(struct ethos_view text, struct ethos_view word, size_t *from,
                      struct ethos_view *out_line)
{
    const char *hit = *from < text.size
                          ? memmem(text.data + *from, text.size - *from, word.data, word.size)
                          : NULL;

    if (!hit)
        return false;
    *out_line = line_around(text, (size_t)(hit - text.data));
    *from = (size_t)(out_line->data - text.data) + out_line->size + 1;
    return true;
}

/* Only lines that hold the file at all are read: an index of 10,000 entries is searched like bytes. */
bool index_find(struct ethos_view text, struct ethos_view file, struct index_entry *out)
{
    struct ethos_view line;
    size_t from = 0;

    while (file.size > 0 && line_with(text, file, &from, &line)) {
        if (index_line(line, out) && view_eq(out->file, file)) {
            out->offset = (size_t)(line.data - text.data);
            return true;
        }
    }
    return false;
}

/* The longest run of ASCII letters and digits: no escape and no blank can stand inside it. */
static struct ethos_view longest_word(struct ethos_view title)
{
    struct ethos_view word = VIEW("");
    size_t start = 0;

    for (size_t at = 0; at <= title.size; at++) {
        unsigned char c = at < title.size ? (unsigned char)title.data[at] : ' ';

        if (c > ' ' && c < 0x7F && !is_mark((char)c))
            continue;
        if (at - start > word.size)
            word = view_of(title.data + start, at - start);
        start = at + 1;
    }
    return word;
}

/* Likewise only lines that hold a word of the title; all of them when it is there in no such case. */
bool index_find_title(struct ethos_view text, struct ethos_view title, struct index_entry *out)
{
    struct ethos_view line, word = longest_word(title);
    size_t from = 0;

    while (line_with(text, word, &from, &line)) {
        if (index_line(line, out) && has_exact_title(out, title)) {
            out->offset = (size_t)(line.data - text.data);
            return true;
        }
    }
    for (from = 0; !line_blank(title) && index_next(text, &from, out);) {
        if (index_has_title(out, title))
            return true;
    }
    return false;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* A title that is the template's word is escaped as a whole: it shall be an entry. */
int index_add_title(struct ethos_view title, struct str *out)
{
    bool template = is_template(title);
    int byte;

    title = line_begin(title);
    while ((byte = line_next(&title)) >= 0) {
        if (byte == '[' || byte == ']' || byte == '\\' || (template && byte == '<'))
            str_addc(out, '\\');
        str_addc(out, (char)byte);
    }
    return str_code(out);
}

int index_format(struct ethos_view title, struct ethos_view file, struct ethos_view hook,
                 struct str *out)
{
    str_adds(out, "- [");
    index_add_title(title, out);
    str_adds(out, "](");
    str_add(out, file);
    str_adds(out, ")");
    if (line_blank(hook))
        return str_code(out);
    str_adds(out, " " DASH " ");
    return line_cut(hook, INDEX_MAX_HOOK, out);
}
