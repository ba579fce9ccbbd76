/*
 * visible.c: a text without its invisible characters.
 */
#include "core/scan/visible.h"

#include "base/utf8.h"
#include "base/view.h"
#include "core/scan/normalize.h"

#define FIRST_TAG 0xE0020
#define LAST_TAG 0xE007E
#define TAG_SIZE 4 /* bytes */

/* From `at` of the copy on, up to the next gap, bytes stand at `from` of the text and behind it. */
struct visible_gap {
    size_t at, from;
    bool tag; /* the byte is one of those */
};

void visible_init(struct visible_text *self)
{
    str_init(&self->text, SIZE_MAX);
    str_init(&self->gaps, SIZE_MAX);
    self->source_size = 0;
}

void visible_release(struct visible_text *self)
{
    str_release(&self->text);
    str_release(&self->gaps);
}

/* Whether an invisible character may begin with a byte. */
static bool may_begin(unsigned char c)
{
    return c == 0xC2 || c == 0xCD || c == 0xD8 || (c >= 0xE1 && c <= 0xE3) || c == 0xEF ||
           c == 0xF0 || c == 0xF3;
}

/* The next character at or after `at` that shows nothing; its bytes in *out_size. text.size: there is none. */
static size_t next_invisible(struct ethos_view text, size_t at, uint32_t *out, size_t *out_size)
{
    for (; at < text.size; at += *out_size) {
        unsigned char c = (unsigned char)text.data[at];

        *out_size = 1;
        if (!may_begin(c))
            continue;
        *out_size = utf8_decode(text.data + at, text.size - at, out, NULL);
        if (normal_is_invisible(*out))
            return at;
    }
    return text.size;
}

bool visible_differs(struct ethos_view text)
{
    uint32_t cp;
    size_t size;

    return !utf8_ascii(text) && next_invisible(text, 0, &cp, &size) < text.size;
}

static void add_gap(struct visible_text *self, size_t from, bool tag)
{
    struct visible_gap gap = {self->text.size, from, tag};

    str_add(&self->gaps, view_of((const char *)&gap, sizeof gap));
}

bool visible_read(struct visible_text *self, struct ethos_view text, enum visible_tags tags)
{
    size_t size = 0, done = 0;
    uint32_t cp = 0;
    bool changed = false;

    if (utf8_ascii(text))
        return false;
    str_clear(&self->text);
    str_clear(&self->gaps);
    self->source_size = text.size;
    for (size_t at = 0; (at = next_invisible(text, at, &cp, &size)) < text.size; at += size) {
        bool tag = tags == VISIBLE_READ_TAGS && cp >= FIRST_TAG && cp <= LAST_TAG;

        changed = changed || tag || tags == VISIBLE_DROP_TAGS;
        str_add(&self->text, view_of(text.data + done, at - done));
        done = at + size;
        if (tag) {
            add_gap(self, at, true);
            str_addc(&self->text, (char)(cp - 0xE0000));
        }
        add_gap(self, done, false);
    }
    str_add(&self->text, view_from(text, done));
    return changed;
}

/* The last gap at or before `at`, NULL when there is none. */
static const struct visible_gap *gap_before(const struct visible_text *self, size_t at,
                                            bool in_source)
{
    const struct visible_gap *gaps = (const struct visible_gap *)(const void *)self->gaps.data;
    size_t low = 0, high = self->gaps.size / sizeof *gaps;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if ((in_source ? gaps[middle].from : gaps[middle].at) <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &gaps[low - 1] : NULL;
}

size_t visible_start(const struct visible_text *self, size_t at)
{
    const struct visible_gap *gap = gap_before(self, at, false);

    if (at >= self->text.size)
        return self->source_size;
    return gap ? gap->from + (at - gap->at) : at;
}

size_t visible_end(const struct visible_text *self, size_t at)
{
    const struct visible_gap *gap = at > 0 ? gap_before(self, at - 1, false) : NULL;

    if (!gap)
        return at;
    return gap->from + (gap->tag ? TAG_SIZE : at - gap->at);
}

size_t visible_find(const struct visible_text *self, size_t at)
{
    const struct visible_gap *gap = gap_before(self, at, true);
    const struct visible_gap *gaps = (const struct visible_gap *)(const void *)self->gaps.data;
    size_t found = !gap ? at : gap->at + (gap->tag ? at > gap->from : at - gap->from);
    size_t next = gap ? (size_t)(gap - gaps) + 1 : 0;

    if (next < self->gaps.size / sizeof *gaps && found > gaps[next].at)
        found = gaps[next].at; // in what was left out
    return found < self->text.size ? found : self->text.size;
}
