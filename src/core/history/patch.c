/*
 * patch.c: reading and applying the unified diffs that diff.h makes.
 *
 * A hunk is taken off only when all its lines are there; so whoever gets one need not check it
 * again, and a diff that was cut is noticed at the cut.
 */
#include "core/history/patch.h"

#include "base/str.h"
#include "base/view.h"

#define NO_NEWLINE VIEW("\\ No newline at end of file\n")

/* ---- reading --------------------------------------------------------------------------------- */

/* Takes a line off with its LF. False when it has none: every line of a whole diff has. */
static bool cut_patch_line(struct ethos_view *rest, struct ethos_view *out)
{
    const char *end = rest->size ? memchr(rest->data, '\n', rest->size) : NULL;

    if (!end)
        return false;
    *out = view_of(rest->data, (size_t)(end + 1 - rest->data));
    *rest = view_from(*rest, out->size);
    return true;
}

/* Takes text off *rest if it comes next. */
static bool cut_start(struct ethos_view *rest, struct ethos_view text)
{
    if (!view_starts(*rest, text))
        return false;
    *rest = view_from(*rest, text.size);
    return true;
}

static bool cut_patch_number(struct ethos_view *rest, size_t *out)
{
    size_t value = 0, at = 0;

    for (; at < rest->size && rest->data[at] >= '0' && rest->data[at] <= '9'; at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (size_t)(rest->data[at] - '0'), &value))
            return false;
    }
    *rest = view_from(*rest, at);
    *out = value;
    return at > 0;
}

/* The four lines that name the key, if they come next. */
static bool take_header(struct ethos_view *rest)
{
    static const struct ethos_view starts[] = {{"Index: ", 7}, {"=", 1}, {"--- ", 4}, {"+++ ", 4}};
    struct ethos_view line;

    if (!view_starts(*rest, starts[0]))
        return true;
    for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
        if (!view_starts(*rest, starts[i]) || !cut_patch_line(rest, &line))
            return false;
    }
    return true;
}

/* @@ -1,2 +1,4 @@ */
static bool take_ranges(struct ethos_view *rest, struct patch_hunk *out)
{
    return cut_start(rest, VIEW("@@ -")) && cut_patch_number(rest, &out->old_start) &&
           cut_start(rest, VIEW(",")) && cut_patch_number(rest, &out->old_count) &&
           cut_start(rest, VIEW(" +")) && cut_patch_number(rest, &out->new_start) &&
           cut_start(rest, VIEW(",")) && cut_patch_number(rest, &out->new_count) &&
           cut_start(rest, VIEW(" @@\n")) && (out->old_start > 0 || out->old_count == 0) &&
           (out->new_start > 0 || out->new_count == 0);
}

/* Takes one line of a hunk off and counts it. */
static bool count_hunk_line(struct ethos_view *rest, size_t *old_left, size_t *new_left)
{
    struct ethos_view line;

    if (!cut_patch_line(rest, &line))
        return false;
    bool in_old = line.data[0] == ' ' || line.data[0] == '-';
    bool in_new = line.data[0] == ' ' || line.data[0] == '+';
    if ((!in_old && !in_new) || (in_old && *old_left == 0) || (in_new && *new_left == 0))
        return false;
    *old_left -= in_old;
    *new_left -= in_new;
    return !cut_start(rest, NO_NEWLINE) || line.size > 2; // without its LF, an empty line is none
}

int patch_next(struct ethos_view *rest, struct patch_hunk *out)
{
    struct ethos_view at = *rest;

    if (!take_header(&at))
        return ETHOS_INVALID;
    if (at.size == 0)
        return ETHOS_NOTFOUND;
    if (!take_ranges(&at, out))
        return ETHOS_INVALID;
    size_t old_left = out->old_count, new_left = out->new_count;
    out->lines = at;
    while (old_left > 0 || new_left > 0) {
        if (!count_hunk_line(&at, &old_left, &new_left))
            return ETHOS_INVALID;
    }
    out->lines.size -= at.size;
    *rest = at;
    return ETHOS_OK;
}

bool patch_line(struct ethos_view *lines, struct patch_line *out)
{
    struct ethos_view line;

    if (!cut_patch_line(lines, &line))
        return false;
    out->marker = line.data[0];
    out->text = view_from(line, 1);
    if (cut_start(lines, NO_NEWLINE))
        out->text.size--;
    return true;
}

/* ---- applying -------------------------------------------------------------------------------- */

struct patch_state {
    struct ethos_view text;     /* what is left of it */
    size_t lines_in, lines_out; /* lines taken from it, and given */
    char taken, given;          /* markers of the lines that one side has */
    struct str *out;
};

/* A line without LF can only be the last. */
static bool may_add(const struct patch_state *w)
{
    return w->out->size == 0 || w->out->data[w->out->size - 1] == '\n';
}

/* Copies lines until `count` have been taken. */
static bool copy_until(struct patch_state *w, size_t count)
{
    struct ethos_view from = w->text;
    size_t lines = count - w->lines_in;

    if (count < w->lines_in || !view_skip_lines(&w->text, lines) || (lines > 0 && !may_add(w)))
        return false;
    w->lines_in += lines;
    w->lines_out += lines;
    str_add(w->out, view_of(from.data, from.size - w->text.size));
    return true;
}

static bool apply_text_line(struct patch_state *w, struct ethos_view line)
{
    bool whole = line.size > 0 && line.data[line.size - 1] == '\n';

    if (!cut_start(&w->text, line) || (!whole && w->text.size > 0))
        return false;
    w->lines_in++;
    return true;
}

static bool apply_hunk(struct patch_state *w, const struct patch_hunk *hunk, bool reverse)
{
    size_t start = reverse ? hunk->new_start : hunk->old_start;
    size_t count = reverse ? hunk->new_count : hunk->old_count;
    size_t new_start = reverse ? hunk->old_start : hunk->new_start;
    size_t new_count = reverse ? hunk->old_count : hunk->new_count;
    struct ethos_view lines = hunk->lines;
    struct patch_line line;

    if (!copy_until(w, start - (count > 0)) || w->lines_out + (new_count > 0) != new_start)
        return false;
    while (patch_line(&lines, &line)) {
        if (line.marker != w->given && !apply_text_line(w, line.text))
            return false;
        if (line.marker == w->taken)
            continue;
        if (!may_add(w))
            return false;
        str_add(w->out, line.text);
        w->lines_out++;
    }
    return true;
}

int patch_apply(struct ethos_view diff, struct ethos_view text, bool reverse, struct str *out)
{
    struct patch_state w = {
        .text = text, .taken = reverse ? '+' : '-', .given = reverse ? '-' : '+'};
    struct patch_hunk hunk;
    int code;

    w.out = out;
    str_clear(out);
    while ((code = patch_next(&diff, &hunk)) == ETHOS_OK) {
        if (!apply_hunk(&w, &hunk, reverse)) {
            code = ETHOS_CONFLICT;
            break;
        }
    }
    if (code == ETHOS_NOTFOUND && w.text.size > 0 && !may_add(&w))
        code = ETHOS_CONFLICT;
    if (code == ETHOS_NOTFOUND)
        return str_add(out, w.text);
    int failed = str_code(out);
    str_clear(out);
    return failed ? failed : code;
}
