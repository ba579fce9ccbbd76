/*
 * delimiters.c: which delimiters of markdown are open.
 */
#include "chat/markdown/delimiters.h"

#include <stdint.h>
#include <string.h>

#include "base/str.h"
#include "base/text/unicode.h"
#include "base/utf8.h"
#include "base/view.h"

static bool is_punctuation(char c)
{
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

size_t delimiters_trim(struct ethos_view text)
{
    size_t size = text.size;
    while (size > 0 && strchr("*_~`[ \t", text.data[size - 1]) && text.data[size - 1])
        size--;
    // What an odd backslash escapes is a character.
    size_t backslashes = 0;
    while (backslashes < size && text.data[size - 1 - backslashes] == '\\')
        backslashes++;
    return backslashes % 2 == 1 && size < text.size && !is_blank(text.data[size]) ? size + 1 : size;
}

/* ---- links ------------------------------------------------------------------------------------- */

/* Behind the character that ends what began at `at`, or the size. */
static size_t skip_to(struct ethos_view text, size_t at, char end)
{
    for (; at < text.size; at++) {
        if (text.data[at] == '\\' && at + 1 < text.size)
            at++;
        else if (text.data[at] == end)
            return at + 1;
    }
    return text.size + 1;
}

static size_t skip_blanks(struct ethos_view text, size_t at)
{
    while (at < text.size && is_blank(text.data[at]))
        at++;
    return at;
}

static size_t skip_bare(struct ethos_view text, size_t at)
{
    size_t depth = 0;
    for (; at < text.size && !is_blank(text.data[at]); at++) {
        if (text.data[at] == '\\' && at + 1 < text.size && is_punctuation(text.data[at + 1]))
            at++;
        else if (text.data[at] == '(')
            depth++;
        else if (text.data[at] == ')' && depth-- == 0)
            break;
    }
    return at;
}

static struct delimiters_link open_link(const char *closers)
{
    struct delimiters_link link = {.grows = true};
    memcpy(link.closers, closers, strlen(closers) + 1);
    return link;
}

struct delimiters_link delimiters_link(struct ethos_view text, size_t parenthesis)
{
    size_t at = skip_blanks(text, parenthesis + 1);
    if (at < text.size && text.data[at] == '<') {
        at = skip_to(text, at + 1, '>');
        if (at > text.size)
            return open_link(">)");
    } else {
        at = skip_bare(text, at);
    }
    if (at >= text.size)
        return open_link(")");
    size_t next = skip_blanks(text, at);
    if (next > at && next < text.size && strchr("\"'(", text.data[next])) {
        char quote = text.data[next] == '(' ? ')' : text.data[next];
        char closers[3] = {quote, ')', '\0'};
        next = skip_to(text, next + 1, quote);
        if (next > text.size)
            return open_link(closers);
        next = skip_blanks(text, next);
    }
    if (next >= text.size)
        return open_link(")");
    return (struct delimiters_link){.end = text.data[next] == ')' ? next + 1 : 0};
}

/* ---- open delimiters --------------------------------------------------------------------------- */

struct opener {
    char mark;    /* * _ ~ ` [ */
    size_t at;    /* where its run began */
    size_t count; /* of it that is open */
};

struct scan {
    struct ethos_view text;
    size_t settled; /* openers before are text */
    struct opener open[DELIMITERS_MAX_OPEN];
    size_t depth;
    size_t gap;      /* behind the last blank with nothing open */
    char closers[4]; /* of the link whose destination is open */
    bool in_link;    /* the last bracket's destination is open */
    bool after_text; /* the last bracket is closed, its destination may come */
};

static void push(struct scan *self, char mark, size_t at, size_t count)
{
    if (at >= self->settled && self->depth < DELIMITERS_MAX_OPEN)
        self->open[self->depth++] = (struct opener){mark, at, count};
}

static size_t run_length(struct ethos_view text, size_t at)
{
    size_t end = at;
    while (end < text.size && text.data[end] == text.data[at])
        end++;
    return end - at;
}

/* Behind the run that closes a code span; 0: it is open. */
static size_t code_end(struct ethos_view text, size_t at, size_t count)
{
    while (at < text.size) {
        const char *tick = memchr(text.data + at, '`', text.size - at);
        if (!tick)
            return 0;
        at = (size_t)(tick - text.data);
        size_t length = run_length(text, at);
        at += length;
        if (length == count)
            return at;
    }
    return 0;
}

enum side { SIDE_BLANK, SIDE_PUNCTUATION, SIDE_WORD };

static enum side side_of(struct ethos_view text, size_t at, size_t size)
{
    uint32_t cp;
    if (size == 0)
        return SIDE_BLANK;
    utf8_decode(text.data + at, size, &cp, NULL);
    if (cp < 0x80)
        return is_blank((char)cp)         ? SIDE_BLANK
               : is_punctuation((char)cp) ? SIDE_PUNCTUATION
                                          : SIDE_WORD;
    return utf8_space(cp)                      ? SIDE_BLANK
           : unicode_kind(cp) == UNICODE_OTHER ? SIDE_PUNCTUATION
                                               : SIDE_WORD;
}

/* Closes what the run can close; what is left of it. */
static size_t close_run(struct scan *self, char mark, size_t count)
{
    for (size_t i = self->depth; i-- > 0 && count > 0;) {
        struct opener *opener = &self->open[i];
        if (opener->mark == '[')
            break;
        if (opener->mark != mark || (mark == '~' && opener->count != count))
            continue;
        size_t both = opener->count < count ? opener->count : count;
        opener->count -= both;
        count -= both;
        self->depth = opener->count > 0 ? i + 1 : i;
    }
    return count;
}

static size_t scan_run(struct scan *self, size_t at)
{
    struct ethos_view text = self->text;
    char mark = text.data[at];
    size_t count = run_length(text, at), left = count;
    size_t before = at > 0 ? utf8_before(text, at) : 0;
    enum side prior = side_of(text, before, at - before);
    enum side next = side_of(text, at + count, text.size - at - count);
    bool opens = next == SIDE_WORD || (next == SIDE_PUNCTUATION && prior != SIDE_WORD);
    bool closes = prior == SIDE_WORD || (prior == SIDE_PUNCTUATION && next != SIDE_WORD);
    if (mark == '_' && opens && closes) {
        opens = prior == SIDE_PUNCTUATION;
        closes = next == SIDE_PUNCTUATION;
    }
    if (next == SIDE_BLANK)
        opens = false;
    if (prior == SIDE_BLANK)
        closes = false;
    if (closes)
        left = close_run(self, mark, count);
    if (opens && left > 0 && (mark != '~' || count <= 2))
        push(self, mark, at, left);
    return at + count;
}

static size_t scan_code(struct scan *self, size_t at)
{
    size_t count = run_length(self->text, at), end = code_end(self->text, at + count, count);
    if (end)
        return end;
    if (at < self->settled)
        return at + count;
    push(self, '`', at, count);
    return self->text.size;
}

/* A closing bracket: what stood in it is done with, if a destination follows. */
static size_t scan_bracket(struct scan *self, size_t at)
{
    size_t i = self->depth;
    while (i > 0 && self->open[i - 1].mark != '[')
        i--;
    if (i == 0)
        return at + 1;
    if (at + 1 == self->text.size) {
        self->depth = i;
        self->after_text = true;
        return at + 1;
    }
    if (self->text.data[at + 1] != '(') { // no link: what is open in it stays so
        memmove(&self->open[i - 1], &self->open[i], (self->depth - i) * sizeof *self->open);
        self->depth--;
        return at + 1;
    }
    struct delimiters_link link = delimiters_link(self->text, at + 1);
    if (link.grows) {
        self->depth = i;
        self->in_link = true;
        memcpy(self->closers, link.closers, sizeof self->closers);
        return self->text.size;
    }
    self->depth = i - 1;
    return link.end ? link.end : at + 1;
}

static void scan(struct scan *self)
{
    struct ethos_view text = self->text;
    for (size_t at = 0; at < text.size;) {
        char c = text.data[at];
        if (c == '\\' && at + 1 < text.size && is_punctuation(text.data[at + 1])) {
            at += 2;
        } else if (c == '`') {
            at = scan_code(self, at);
        } else if (c == '*' || c == '_' || c == '~') {
            at = scan_run(self, at);
        } else if (c == '[') {
            bool image = at > 0 && text.data[at - 1] == '!';
            push(self, '[', at - image, 1);
            at++;
        } else if (c == ']') {
            at = scan_bracket(self, at);
        } else {
            at++;
            if (is_blank(c) && self->depth == 0)
                self->gap = at;
        }
    }
}

size_t delimiters_close(struct ethos_view text, size_t settled, struct str *out)
{
    struct scan self = {.text = text, .settled = settled};
    size_t earliest = SIZE_MAX;
    scan(&self);
    for (size_t i = self.depth; i-- > 0;) {
        const struct opener *opener = &self.open[i];
        bool last = i + 1 == self.depth;
        earliest = opener->at < earliest ? opener->at : earliest;
        if (opener->mark != '[')
            for (size_t n = 0; n < opener->count; n++)
                str_addc(out, opener->mark);
        else if (last && self.in_link)
            str_adds(out, self.closers);
        else
            str_adds(out, last && self.after_text ? "(#)" : "](#)");
    }
    return earliest;
}

size_t delimiters_last_gap(struct ethos_view text)
{
    struct scan self = {.text = text};
    scan(&self);
    return self.gap;
}
