/*
 * split.c: splitting a text into parts that fit a platform's limit.
 */
#include "gateway/split.h"

#include <stdio.h>

#include "base/text/cluster.h"
#include "base/utf8.h"
#include "base/view.h"

#define FILL_PERCENT 90     /* of the limit that a part may have */
#define FENCE_CLOSE "\n```" /* behind a block of code that is cut */
#define FENCE_MIN_REST 64   /* units that a part must have left beside its fence */
#define ELLIPSIS "\xE2\x80\xA6"

void splitter_init(struct splitter *self, struct ethos_view text, unsigned limit)
{
    *self = (struct splitter){.rest = view_trim_end(text), .limit = limit};
}

/* ---- where to cut ------------------------------------------------------------------------------ */

static bool is_blank_at(struct ethos_view text, size_t at)
{
    return text.data[at] == ' ' || text.data[at] == '\n' || text.data[at] == '\t';
}

/* The last cut of a kind in [least, most]; 0: none. */
static size_t last_blank_line(struct ethos_view text, size_t least, size_t most)
{
    for (size_t at = most; at > least && at > 1; at--)
        if (text.data[at - 1] == '\n' && text.data[at - 2] == '\n')
            return at;
    return 0;
}

static size_t last_line(struct ethos_view text, size_t least, size_t most)
{
    for (size_t at = most; at > least; at--)
        if (text.data[at - 1] == '\n')
            return at;
    return 0;
}

static size_t last_sentence(struct ethos_view text, size_t least, size_t most)
{
    for (size_t at = most; at > least && at > 1; at--)
        if (text.data[at - 1] == ' ' && memchr(".!?", text.data[at - 2], 3))
            return at;
    return 0;
}

static size_t last_blank(struct ethos_view text, size_t least, size_t most)
{
    for (size_t at = most; at > least; at--)
        if (is_blank_at(text, at - 1))
            return at;
    return 0;
}

/* Where the last character that people see as one, and that begins before most, begins. */
static size_t last_character(struct ethos_view text, size_t most)
{
    size_t at = most > 256 ? most - 256 : 0;
    while (at > 0 && ((unsigned char)text.data[at] & 0xC0) == 0x80)
        at--;
    size_t end = at;
    while (at < most) {
        size_t next = cluster_end(text, at);
        if (next > most)
            break;
        at = end = next;
    }
    return end > 0 ? end : most;
}

static size_t find_cut(struct ethos_view text, size_t most)
{
    size_t (*const kinds[])(struct ethos_view, size_t, size_t) = {last_blank_line, last_line,
                                                                  last_sentence, last_blank};
    if (most == text.size || is_blank_at(text, most))
        most = most == text.size ? most : last_blank(text, 0, most + 1);
    if (most == text.size)
        return most;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        // a paragraph may leave half of the part empty, a sentence a quarter, a word any amount
        size_t least = i < 2 ? most / 2 : i == 2 ? most / 4 * 3 : 0;
        size_t at = kinds[i](text, least, most);
        if (at > 0)
            return at;
    }
    return last_character(text, most);
}

/* ---- blocks of code ---------------------------------------------------------------------------- */

/* Updates fence to the code block that is open at the end of a part. */
static void follow_fences(char fence[128], struct ethos_view part)
{
    struct ethos_view line;
    while (view_line(&part, &line)) {
        struct ethos_view text = view_trim(line);
        if (!view_starts(text, VIEW("```")))
            continue;
        if (*fence)
            *fence = '\0';
        else
            snprintf(fence, 128, "%.*s", (int)(text.size < 127 ? text.size : 3), text.data);
    }
}

/* ---- parts ------------------------------------------------------------------------------------- */

static size_t units_of(const char *text)
{
    return (size_t)utf8_units(view_str(text));
}

bool splitter_next(struct splitter *self, struct str *out)
{
    size_t room = self->limit, first = self->rest.size;
    char fence[sizeof self->fence];
    str_clear(out);
    if (view_blank(self->rest))
        return false;
    size_t opening = *self->fence ? units_of(self->fence) + 1 : 0;
    if (opening + FENCE_MIN_REST > room / 2) { // a fence that leaves no room is dropped
        opening = 0;
        *self->fence = '\0';
    }
    if (utf8_units(self->rest) + opening > room) {
        room = room * FILL_PERCENT / 100 - opening;
        room -= room > 2 * sizeof FENCE_CLOSE ? sizeof FENCE_CLOSE : 0;
        first = utf8_head(self->rest, room > 0 ? room : 1);
        first = find_cut(self->rest, first > 0 ? first : cluster_end(self->rest, 0));
    }
    struct ethos_view part = view_of(self->rest.data, first);
    snprintf(fence, sizeof fence, "%s", self->fence);
    follow_fences(fence, part);
    bool cuts_code = *fence && first < self->rest.size;
    if (*self->fence)
        str_printf(out, "%s\n", self->fence);
    str_add(out, cuts_code || *self->fence ? view_trim_end(part) : view_trim(part));
    if (cuts_code)
        str_adds(out, FENCE_CLOSE);
    snprintf(self->fence, sizeof self->fence, "%s", fence);
    self->rest = view_from(self->rest, first);
    while (!*self->fence && self->rest.size > 0 && is_blank_at(self->rest, 0))
        self->rest = view_from(self->rest, 1);
    return true;
}

int split_preview(struct ethos_view text, unsigned limit, struct str *out)
{
    struct splitter splitter;
    splitter_init(&splitter, text, limit - 2);
    splitter_next(&splitter, out);
    return str_adds(out, " " ELLIPSIS);
}
