/*
 * match.c: comparing what a command printed with what its golden file says. Contract in match.h.
 */
#include "match.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NO_NEWLINE "\\ No newline at end"
#define DIFF_CONTEXT 3    /* lines */
#define DIFF_MAX_LINES 60 /* of one side */

static void text_append(struct text *self, const char *data, size_t size)
{
    self->data = realloc(self->data, self->size + size + 1);
    if (!self->data)
        abort();
    memcpy(self->data + self->size, data, size);
    self->size += size;
    self->data[self->size] = '\0';
}

void text_line(struct text *self, const char *line)
{
    if (strncmp(line, NO_NEWLINE, strlen(NO_NEWLINE)) != 0)
        text_append(self, line, strlen(line));
    else if (self->size > 0)
        self->size--;
}

bool text_unescape(struct text *self, const char *line)
{
    static const char names[] = "nrt0abfv\\\"", values[] = "\n\r\t\0\a\b\f\v\\\"";

    for (; *line && *line != '\n'; line++) {
        const char *known;
        unsigned value;
        char byte = *line;

        if (byte == '\\' && line[1] == 'x') {
            if (!isxdigit((unsigned char)line[2]) || sscanf(line + 2, "%2x", &value) != 1)
                return false;
            byte = (char)value;
            line += isxdigit((unsigned char)line[3]) ? 3 : 2;
        } else if (byte == '\\') {
            known = line[1] ? strchr(names, line[1]) : NULL;
            if (!known)
                return false;
            byte = values[known - names];
            line++;
        }
        text_append(self, &byte, 1);
    }
    return true;
}

bool text_read(struct text *self, const char *path)
{
    FILE *in = fopen(path, "rb");
    char block[4096];
    size_t size;
    bool whole;

    if (!in)
        return false;
    text_append(self, "", 0);
    while ((size = fread(block, 1, sizeof(block), in)) > 0)
        text_append(self, block, size);
    whole = !ferror(in);
    fclose(in);
    return whole;
}

bool text_write(struct text self, char *path)
{
    FILE *out;

    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    out = fopen(path, "wb");
    return out && chmod(path, 0600) == 0 &&
           (self.size == 0 || fwrite(self.data, self.size, 1, out) == 1) && fclose(out) == 0;
}

struct text text_expand(struct text self, const char *home)
{
    static const char mark[] = "@HOME@";
    struct text out = {0};
    const char *at = self.data, *end = at + self.size, *found;

    text_append(&out, "", 0);
    while (self.size && (found = memmem(at, (size_t)(end - at), mark, strlen(mark)))) {
        text_append(&out, at, (size_t)(found - at));
        text_append(&out, home, strlen(home));
        at = found + strlen(mark);
    }
    if (self.size)
        text_append(&out, at, (size_t)(end - at));
    return out;
}

/* ---- placeholders -------------------------------------------------------------------------- */

/*
 * The shape of each placeholder: 'x' is a lower-case hexadecimal digit, 'd' a decimal digit, '+' any
 * number of further decimal digits, everything else itself.
 */
static const struct placeholder {
    const char *name, *shape;
} placeholders[] = {
    {"@HEX12@", "xxxxxxxxxxxx"},
    {"@REV@", "sha256:xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"},
    {"@ISO@", "dddd-dd-ddTdd:dd:ddZ"},
    {"@ISO@", "dddd-dd-ddTdd:dd:dd.dddZ"},
    {"@N@", "d+"},
};

static bool starts(const char *at, const char *end, const char *word)
{
    return (size_t)(end - at) >= strlen(word) && memcmp(at, word, strlen(word)) == 0;
}

/* The end of what has this shape at `at`, or NULL. */
static const char *shape_end(const char *shape, const char *at, const char *end)
{
    for (; *shape; shape++) {
        if (*shape == '+') {
            while (at < end && isdigit((unsigned char)*at))
                at++;
            continue;
        }
        if (at == end)
            return NULL;
        if (*shape == 'x'   ? !strchr("0123456789abcdef", *at) || !*at
            : *shape == 'd' ? !isdigit((unsigned char)*at)
                            : *at != *shape)
            return NULL;
        at++;
    }
    return at;
}

static bool match(const char *p, const char *p_end, const char *t, const char *t_end);

/* @ANY@: anything up to the end of the line. @LINES@: any number of whole lines. */
static bool match_span(bool lines, const char *p, const char *p_end, const char *t,
                       const char *t_end)
{
    for (;;) {
        if (match(p, p_end, t, t_end))
            return true;
        if (t == t_end || (!lines && *t == '\n'))
            return false;
        if (lines) {
            const char *newline = memchr(t, '\n', (size_t)(t_end - t));

            t = newline ? newline : t_end - 1;
        }
        t++;
    }
}

static bool match_placeholder(const char *p, const char *p_end, const char *t, const char *t_end,
                              bool *out_found)
{
    *out_found = false;
    for (size_t i = 0; i < sizeof(placeholders) / sizeof(placeholders[0]); i++) {
        const char *name = placeholders[i].name, *after;

        if (!starts(p, p_end, name))
            continue;
        *out_found = true;
        after = shape_end(placeholders[i].shape, t, t_end);
        if (after && match(p + strlen(name), p_end, after, t_end))
            return true;
    }
    return false;
}

static bool match(const char *p, const char *p_end, const char *t, const char *t_end)
{
    for (; p < p_end; p++, t++) {
        bool found, matched;

        if (*p == '@') {
            if (starts(p, p_end, "@LINES@\n"))
                return match_span(true, p + strlen("@LINES@\n"), p_end, t, t_end);
            if (starts(p, p_end, "@ANY@"))
                return match_span(false, p + strlen("@ANY@"), p_end, t, t_end);
            matched = match_placeholder(p, p_end, t, t_end, &found);
            if (found)
                return matched;
        }
        if (t == t_end || *p != *t)
            return false;
    }
    return t == t_end;
}

bool text_match(struct text expected, struct text got, const char *home)
{
    struct text pattern;
    bool same;

    if (!home)
        return expected.size == got.size &&
               (got.size == 0 || memcmp(expected.data, got.data, got.size) == 0);
    pattern = text_expand(expected, home);
    same = match(pattern.data, pattern.data + pattern.size, got.data, got.data + got.size);
    free(pattern.data);
    return same;
}

/* ---- showing a difference ------------------------------------------------------------------ */

struct lines {
    struct text *line; /* borrowed pieces, each with its newline */
    size_t count;
};

static struct lines lines_split(struct text self)
{
    struct lines out = {0};
    size_t at = 0;

    while (at < self.size) {
        char *newline = memchr(self.data + at, '\n', self.size - at);
        size_t size = newline ? (size_t)(newline - self.data) + 1 - at : self.size - at;

        out.line = realloc(out.line, (out.count + 1) * sizeof(*out.line));
        if (!out.line)
            abort();
        out.line[out.count++] = (struct text){self.data + at, size};
        at += size;
    }
    return out;
}

static void line_print(char sign, struct text line)
{
    bool ends = line.size > 0 && line.data[line.size - 1] == '\n';

    printf("#   %c", sign);
    for (size_t i = 0; i < line.size - ends; i++) {
        unsigned char byte = (unsigned char)line.data[i];

        if (byte < 0x20 || byte == 0x7f)
            printf("\\x%02x", byte);
        else
            putchar(byte);
    }
    puts(ends ? "" : "\n#    " NO_NEWLINE);
}

static void lines_print(char sign, struct lines lines, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (i - from == DIFF_MAX_LINES) {
            printf("#   %c ... and %zu more lines\n", sign, to - i);
            return;
        }
        line_print(sign, lines.line[i]);
    }
}

void text_diff(struct text expected, struct text got, const char *home)
{
    struct lines old = lines_split(expected), new = lines_split(got);
    size_t shared = old.count < new.count ? old.count : new.count;
    size_t head = 0, tail = 0, after;

    while (head < shared && text_match(old.line[head], new.line[head], home))
        head++;
    while (tail < shared - head &&
           text_match(old.line[old.count - 1 - tail], new.line[new.count - 1 - tail], home))
        tail++;
    after = tail < DIFF_CONTEXT ? tail : DIFF_CONTEXT;
    lines_print(' ', new, head > DIFF_CONTEXT ? head - DIFF_CONTEXT : 0, head);
    lines_print('-', old, head, old.count - tail);
    lines_print('+', new, head, new.count - tail);
    lines_print(' ', new, new.count - tail, new.count - tail + after);
    free(old.line);
    free(new.line);
}
