/*
 * index.c: index lines, read as borrowed slices and written in one form.
 *
 * A line is an entry only when all of it is: bullet, title, file, and nothing or a separator and a
 * hook after that. The file must be able to name a note; templates and links to other places fail
 * there. Up to three blanks may stand before the bullet, as in markdown.
 */
#include "core/index.h"

#include <string.h>

#include <ethos/limits.h>

#include "base/str.h"
#include "base/unicode.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/scope.h"

#define MAX_INDENT 3
#define MAX_HOOK_CH 100
#define DASH "\xE2\x80\x94"
#define ELLIPSIS "\xE2\x80\xA6"

/* ---- reading --------------------------------------------------------------------------------- */

static bool skip(struct ethos_view *rest, struct ethos_view prefix)
{
    if (!view_starts(*rest, prefix))
        return false;
    *rest = view_from(*rest, prefix.size);
    return true;
}

/* Takes "- " or "* " off, with the blanks around it. */
static bool skip_bullet(struct ethos_view *rest)
{
    struct ethos_view line = view_trim_start(*rest);

    if (rest->size - line.size > MAX_INDENT || (!skip(&line, VIEW("-")) && !skip(&line, VIEW("*"))))
        return false;
    *rest = view_trim_start(line);
    return rest->size < line.size;
}

/* Takes the separator before a hook off, with the blanks around it. */
static bool skip_separator(struct ethos_view *rest)
{
    struct ethos_view line = view_trim_start(*rest);

    if (!skip(&line, VIEW(DASH)) && !skip(&line, VIEW("\xE2\x80\x93")) && !skip(&line, VIEW("-")) &&
        !skip(&line, VIEW(":")))
        return false;
    *rest = view_trim(line);
    return true;
}

/* Whether a file can name a note. */
static bool is_note_file(struct ethos_view file)
{
    char key[ETHOS_MAX_KEY + 1] = "";

    if (file.size > ETHOS_MAX_KEY || memchr(file.data, '\0', file.size))
        return false;
    memcpy(key, file.data, file.size);
    return scope_key_writable(key, NULL) == ETHOS_OK;
}

static bool is_title(struct ethos_view title)
{
    return !view_blank(title) && !view_eq_nocase(title, VIEW("<title>"));
}

/* [Title](file.md), from its bracket on; what follows is left in *rest. */
static bool read_link(struct ethos_view *rest, struct index_entry *out)
{
    size_t end = 1;

    while (end < rest->size && !view_starts(view_from(*rest, end), VIEW("](")))
        end += rest->data[end] == '\\' ? 2 : 1;
    if (end >= rest->size)
        return false;
    out->title = view_of(rest->data + 1, end - 1);
    *rest = view_from(*rest, end + 2);
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

    if (!skip(&line, VIEW("`")) || !view_ends(line, VIEW("`)")))
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
    if (view_starts(rest, VIEW("["))) {
        if (!read_link(&rest, &entry) || (!view_blank(rest) && !skip_separator(&rest)))
            return false;
    } else if (!read_ticks(&rest, &entry)) {
        return false;
    }
    if (!is_title(entry.title) || !is_note_file(entry.file))
        return false;
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

/* ---- writing --------------------------------------------------------------------------------- */

static size_t space_at(struct ethos_view v, size_t at)
{
    uint32_t cp;
    size_t size = utf8_decode(v.data + at, v.size - at, &cp, NULL);

    return utf8_space(cp) ? size : 0;
}

/* Appends v trimmed, each run of white space as one blank, `escaped` behind backslashes. */
static void add_collapsed(struct ethos_view v, const char *escaped, struct str *out)
{
    v = view_trim(v);
    for (size_t at = 0; at < v.size;) {
        size_t space = space_at(v, at);

        if (space > 0) {
            if (!space_at(v, at + space))
                str_addc(out, ' ');
            at += space;
            continue;
        }
        if (v.data[at] && strchr(escaped, v.data[at]))
            str_addc(out, '\\');
        str_addc(out, v.data[at++]);
    }
}

/* Bytes of the longest start of at most `units` CH that ends on a grapheme boundary. */
static size_t fitting_start(struct ethos_view v, uint64_t units)
{
    size_t fits = 0, next;

    while (fits < v.size) {
        next = unicode_boundary(v, fits + 1);
        if (utf8_units(view_of(v.data, next)) > units)
            break;
        fits = next;
    }
    return fits;
}

int index_format(struct ethos_view title, struct ethos_view file, struct ethos_view hook,
                 struct str *out)
{
    str_adds(out, "- [");
    add_collapsed(title, "[]\\", out);
    str_adds(out, "](");
    str_add(out, file);
    str_adds(out, ")");
    if (view_blank(hook))
        return str_code(out);
    str_adds(out, " " DASH " ");
    size_t start = out->size;
    add_collapsed(hook, "", out);
    struct ethos_view added = view_from(str_view(out), start);
    size_t kept = fitting_start(added, MAX_HOOK_CH);
    if (!str_code(out) && kept < added.size) {
        str_truncate(out, start + kept);
        str_adds(out, ELLIPSIS);
    }
    return str_code(out);
}
