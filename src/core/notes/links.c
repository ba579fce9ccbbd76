/*
 * links.c: links between notes.
 *
 * Both forms are an opening, the name, and one of a few bytes that may follow it. The name is all that
 * is ever replaced.
 */
#include "core/notes/links.h"

#include <string.h>

#include "base/str.h"
#include "base/view.h"

static const struct form {
    struct ethos_view open, suffix;
    const char *after;
} forms[] = {
    {VIEW("[["), VIEW(""), "]|#"},
    {VIEW("]("), VIEW(".md"), ")#"},
    {VIEW("](./"), VIEW(".md"), ")#"},
};

/* Whether a link to the name opens here; *out_at is where the name stands. */
static bool opens(struct ethos_view text, size_t at, struct ethos_view name, size_t *out_at)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct form *form = &forms[i];
        size_t start = at + form->open.size, end = start + name.size + form->suffix.size;
        if (end >= text.size || !view_starts(view_from(text, at), form->open) ||
            !view_starts(view_from(text, start), name) ||
            !view_starts(view_from(text, start + name.size), form->suffix))
            continue;
        if (text.data[end] && strchr(form->after, text.data[end])) {
            *out_at = start;
            return true;
        }
    }
    return false;
}

/* Where the name of the next link stands, from offset on; false when there is none. */
static bool next_link(struct ethos_view text, size_t offset, struct ethos_view name, size_t *out_at)
{
    while (offset < text.size) {
        const char *bracket = memchr(text.data + offset, '[', text.size - offset);
        const char *close = memchr(text.data + offset, ']', text.size - offset);
        const char *first = bracket && (!close || bracket < close) ? bracket : close;
        if (!first)
            return false;
        size_t at = (size_t)(first - text.data);
        if (opens(text, at, name, out_at))
            return true;
        offset = at + 1;
    }
    return false;
}

/* The name that a link of this form has here, absent when it is none. */
static struct ethos_view name_at(struct ethos_view text, const struct form *form)
{
    struct ethos_view none = {0}, rest = view_from(text, form->open.size);
    if (!view_starts(text, form->open))
        return none;
    size_t size = 0;
    while (size < rest.size && !memchr("[]()|#/\n", rest.data[size], 8))
        size++;
    struct ethos_view name = view_of(rest.data, size);
    if (size == rest.size || !rest.data[size] || !strchr(form->after, rest.data[size]) ||
        !view_ends(name, form->suffix) || size == form->suffix.size)
        return none;
    name.size -= form->suffix.size;
    return name;
}

bool link_next(struct ethos_view *text, struct ethos_view *out_name)
{
    while (text->size > 0) {
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
            struct ethos_view name = name_at(*text, &forms[i]);
            if (!name.data)
                continue;
            *out_name = name;
            *text = view_from(*text, (size_t)(name.data - text->data) + name.size);
            return true;
        }
        *text = view_from(*text, 1);
    }
    return false;
}

bool link_to(struct ethos_view text, struct ethos_view name)
{
    size_t at;
    return name.size > 0 && next_link(text, 0, name, &at);
}

int link_move(struct ethos_view text, struct ethos_view name, struct ethos_view new_name,
              struct str *out)
{
    size_t at, done = 0;
    str_clear(out);
    while (name.size > 0 && next_link(text, done, name, &at)) {
        str_add(out, view_of(text.data + done, at - done));
        str_add(out, new_name);
        done = at + name.size;
    }
    return str_add(out, view_from(text, done));
}
