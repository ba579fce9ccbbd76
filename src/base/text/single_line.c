/*
 * single_line.c: a text as one line.
 */
#include "base/text/single_line.h"

#include "base/str.h"
#include "base/text/unicode.h"
#include "base/utf8.h"
#include "base/view.h"

/* White space, and control characters, which have no place in a line. */
static size_t blank_at_start(struct ethos_view v)
{
    uint32_t cp;
    size_t size = v.size > 0 ? utf8_decode(v.data, v.size, &cp, NULL) : 0;

    return size > 0 && (utf8_space(cp) || cp < 0x20 || (cp >= 0x7F && cp < 0xA0)) ? size : 0;
}

struct ethos_view line_begin(struct ethos_view v)
{
    for (size_t blank; (blank = blank_at_start(v)) > 0;)
        v = view_from(v, blank);
    return v;
}

bool line_blank(struct ethos_view text)
{
    return line_begin(text).size == 0;
}

int line_next(struct ethos_view *rest)
{
    struct ethos_view after = line_begin(*rest);

    if (after.size < rest->size) {
        *rest = after;
        return after.size > 0 ? ' ' : -1;
    }
    if (rest->size == 0)
        return -1;
    *rest = view_from(*rest, 1);
    return (unsigned char)after.data[0];
}

int line_collapse(struct ethos_view text, struct str *out)
{
    int byte;

    text = line_begin(text);
    str_reserve(out, text.size < out->ceiling - out->size ? text.size : 0);
    while ((byte = line_next(&text)) >= 0)
        str_addc(out, (char)byte);
    return str_code(out);
}

size_t line_fitting(struct ethos_view v, uint64_t units)
{
    size_t fits = 0;
    uint64_t used = 0;

    while (fits < v.size) {
        size_t next = unicode_boundary(v, fits + 1);

        used += utf8_units(view_of(v.data + fits, next - fits));
        if (used > units)
            break;
        fits = next;
    }
    return fits;
}

int line_cut(struct ethos_view text, uint64_t units, struct str *out)
{
    size_t start = out->size;

    if (line_collapse(text, out))
        return str_code(out);
    struct ethos_view added = view_from(str_view(out), start);
    size_t kept = line_fitting(added, units);
    if (kept == added.size)
        return ETHOS_OK;
    str_truncate(out, start + kept);
    return str_adds(out, LINE_ELLIPSIS);
}

bool line_same(struct ethos_view a, struct ethos_view b)
{
    int x, y;

    a = line_begin(a);
    b = line_begin(b);
    do {
        x = line_next(&a);
        y = line_next(&b);
    } while (x == y && x >= 0);
    return x == y;
}

/* Reads the next character in lower case, a run of blanks as one ' '. False at the end. */
static bool next_lower(struct ethos_view *rest, uint32_t *out)
{
    struct ethos_view after = line_begin(*rest);
    uint32_t cp = ' ';

    if (after.size == rest->size && after.size > 0)
        after = view_from(after, utf8_decode(after.data, after.size, &cp, NULL));
    else if (after.size == 0)
        return false;
    *rest = after;
    *out = unicode_lower(cp);
    return true;
}

bool line_same_nocase(struct ethos_view a, struct ethos_view b)
{
    uint32_t x = 0, y = 0;
    bool more, both;

    a = line_begin(a);
    b = line_begin(b);
    do {
        more = next_lower(&a, &x);
        both = next_lower(&b, &y) == more;
    } while (more && both && x == y);
    return both && !more;
}

struct ethos_view line_first(struct ethos_view text)
{
    struct ethos_view line;

    while (view_line(&text, &line)) {
        if (!line_blank(line))
            return view_trim(line);
    }
    return view_of("", 0);
}

struct ethos_view line_end(struct ethos_view text, size_t at)
{
    const char *lf = at > 0 ? memrchr(text.data, '\n', at) : NULL;

    return lf && lf > text.data && lf[-1] == '\r' ? VIEW("\r\n") : VIEW("\n");
}
