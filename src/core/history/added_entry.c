/*
 * added_entry.c: what an add put into a text, and how often a text has it.
 */
#include "core/history/added_entry.h"

#include <stdbool.h>
#include <string.h>

#include "base/str.h"
#include "base/text/line_index.h"
#include "base/view.h"
#include "core/history/patch.h"

#define FEW_PLACES 16 /* that are compared one by one */

/* ---- reading --------------------------------------------------------------------------------- */

/* The last hunk of a diff; an add puts its text at the end. False for a diff that is not whole. */
static bool last_hunk(struct ethos_view diff, struct patch_hunk *out)
{
    struct patch_hunk hunk;
    bool any = false;
    int code;

    for (; (code = patch_next(&diff, &hunk)) == ETHOS_OK; any = true)
        *out = hunk;
    return any && code == ETHOS_NOTFOUND;
}

/* An add ends the line before it cleanly, which shows as that line taken out and put in. */
static bool was_there(struct ethos_view line, struct ethos_view removed)
{
    return removed.data && view_eq(view_trim_end(line), view_trim_end(removed));
}

int entry_read(struct ethos_view diff, struct str *out)
{
    struct ethos_view removed = {0};
    struct patch_hunk hunk;
    struct patch_line line;
    bool begun = false;
    size_t kept = 0;

    str_clear(out);
    if (!last_hunk(diff, &hunk))
        return ETHOS_OK;
    while (patch_line(&hunk.lines, &line)) {
        bool blank = view_blank(line.text), added = line.marker == '+';

        if (line.marker == '-' && !blank)
            removed = line.text;
        if (line.marker == '-' || (!begun && (!added || blank || was_there(line.text, removed))))
            continue;
        if (begun)
            str_addc(out, '\n');
        str_add(out, line_index_plain(line.text));
        begun = true;
        if (added && !blank)
            kept = out->size;
    }
    return str_truncate(out, kept);
}

/* ---- counting -------------------------------------------------------------------------------- */

/* Whether the entry is what a text begins with; *rest is what follows it. */
static bool begins_with(struct ethos_view *rest, struct ethos_view entry)
{
    struct ethos_view line, wanted;

    while (view_line(&entry, &wanted)) {
        if (!line_index_next(rest, &line) || !view_eq(line, wanted))
            return false;
    }
    return true;
}

/* Tries the places [at, end) of the index, which are in the order of the text. */
static size_t try_places(const struct line_index *text, size_t at, size_t end,
                         struct ethos_view entry)
{
    size_t passed = 0, count = 0;

    for (; at < end; at++) {
        struct ethos_view rest = view_from(text->text, text->sorted[at]);

        if (text->sorted[at] < passed || !begins_with(&rest, entry))
            continue;
        passed = text->text.size - rest.size;
        count++;
    }
    return count;
}

/* Lines without their ends, with LF before, between and after them. */
static void print_lines(struct ethos_view text, struct str *out)
{
    struct ethos_view line;

    str_init(out, SIZE_MAX);
    str_reserve(out, text.size + 2);
    str_addc(out, '\n');
    while (line_index_next(&text, &line)) {
        str_add(out, line);
        str_addc(out, '\n');
    }
}

/* Many lines are like the first: a search for the bytes passes over the text once. */
static int search_text(struct ethos_view text, struct ethos_view entry, size_t *out)
{
    struct str lines, wanted;

    print_lines(text, &lines);
    str_init(&wanted, SIZE_MAX);
    str_addc(&wanted, '\n');
    str_add(&wanted, entry);
    str_addc(&wanted, '\n');
    int code = str_code(&lines) ? str_code(&lines) : str_code(&wanted);
    *out = 0;
    for (struct ethos_view rest = str_view(&lines); code == ETHOS_OK; ++*out) {
        const char *at = memmem(rest.data, rest.size, wanted.data, wanted.size);

        if (!at)
            break;
        rest = view_from(rest, (size_t)(at - rest.data) + wanted.size - 1);
    }
    str_release(&lines);
    str_release(&wanted);
    return code;
}

int entry_count(const struct line_index *text, struct ethos_view entry, size_t *out)
{
    struct ethos_view first, rest = entry;
    size_t at, end;

    *out = 0;
    if (!view_line(&rest, &first))
        return ETHOS_OK;
    line_index_find(text, first, &at, &end);
    if (rest.size > 0 && end - at > FEW_PLACES)
        return search_text(text->text, entry, out);
    *out = rest.size > 0 ? try_places(text, at, end, entry) : end - at;
    return ETHOS_OK;
}
