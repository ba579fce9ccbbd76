/*
 * ledger_diff.c: applying a unified diff, strictly, in either direction.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger.h"
#include "proof.h"

void text_free(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}

void text_set(struct text *text, const char *data, size_t size)
{
    char *copy = malloc(size + 1);
    if (!copy)
        proof_die("text");
    if (size)
        memcpy(copy, data, size);
    copy[size] = 0;
    free(text->data);
    text->data = copy;
    text->size = size;
    text_hash(copy, size, text->hash);
}

struct cursor {
    const char *at, *end;
};

/* The next line with its LF, if it has one; false at the end. */
static bool next_line(struct cursor *cursor, struct cursor *out)
{
    if (cursor->at == cursor->end)
        return false;
    const char *stop = memchr(cursor->at, '\n', (size_t)(cursor->end - cursor->at));
    *out = (struct cursor){cursor->at, stop ? stop + 1 : cursor->end};
    cursor->at = out->end;
    return true;
}

static void put(struct text *out, struct cursor line)
{
    size_t size = (size_t)(line.end - line.at);
    memcpy(out->data + out->size, line.at, size);
    out->size += size;
}

/* Copies source lines up to the one with this number (from 0). */
static bool copy_until(struct cursor *source, size_t *position, size_t until, struct text *out)
{
    struct cursor line;
    for (; *position < until; ++*position) {
        if (!next_line(source, &line))
            return false;
        put(out, line);
    }
    return true;
}

/* The text of a line of a hunk: without its marker, and without LF when the next line says so. */
static struct cursor hunk_text(struct cursor line, struct cursor *diff)
{
    struct cursor text = {line.at + 1, line.end};
    if (diff->at < diff->end && *diff->at == '\\') {
        struct cursor note;
        next_line(diff, &note);
        text.end--;
    }
    return text;
}

static bool same(struct cursor a, struct cursor b)
{
    return a.end - a.at == b.end - b.at && memcmp(a.at, b.at, (size_t)(a.end - a.at)) == 0;
}

static bool apply_hunk(struct cursor *diff, size_t gone, size_t added, bool reverse,
                       struct cursor *source, size_t *position, struct text *out)
{
    char take = reverse ? '+' : '-';
    while (gone + added > 0) {
        struct cursor line, there;
        if (!next_line(diff, &line))
            return false;
        char marker = *line.at;
        struct cursor text = hunk_text(line, diff);
        bool is_old = marker == ' ' || marker == take;
        bool is_new = marker == ' ' || (marker != take && strchr("+-", marker));
        if ((!is_old && !is_new) || (is_old && gone-- == 0) || (is_new && added-- == 0))
            return false;
        if (is_old && (!next_line(source, &there) || !same(there, text)))
            return false;
        *position += is_old;
        if (is_new)
            put(out, text);
    }
    return true;
}

bool ledger_apply(const char *diff, size_t size, const struct text *from, bool reverse,
                  struct text *out)
{
    struct cursor rest = {diff, diff + size}, source = {from->data, from->data + from->size}, line;
    size_t position = 0;
    struct text made = {.data = malloc(from->size + size + 1)};
    bool fits = made.data && from->data;
    while (fits && next_line(&rest, &line)) {
        size_t start[2], count[2];
        if (strncmp(line.at, "@@", 2) != 0) // the head, or what was cut
            continue;
        fits = sscanf(line.at, "@@ -%zu,%zu +%zu,%zu @@", &start[0], &count[0], &start[1],
                      &count[1]) == 4;
        size_t first = start[reverse] - (count[reverse] > 0);
        fits = fits && copy_until(&source, &position, first, &made) &&
               apply_hunk(&rest, count[reverse], count[!reverse], reverse, &source, &position,
                          &made);
    }
    if (fits) {
        put(&made, source);
        text_set(out, made.data, made.size);
    }
    free(made.data);
    return fits;
}
