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

static bool is_white_space(char c)
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
    return backslashes % 2 == 1 && size < text.size && !is_white_space(text.data[size]) ? size + 1
                                                                                        : size;
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

static size_t skip_white_space(struct ethos_view text, size_t at)
{
    while (at < text.size && is_white_space(text.data[at]))
        at++;
    return at;
}

static size_t skip_bare_destination(struct ethos_view text, size_t at)
{
    size_t depth = 0;
    for (; at < text.size && !is_white_space(text.data[at]); at++) {
        if (text.data[at] == '\\' && at + 1 < text.size && is_punctuation(text.data[at + 1]))
            at++;
        else if (text.data[at] == '(')
            depth++;
        else if (text.data[at] == ')' && depth-- == 0)
            break;
    }
    return at;
}

static struct delimiters_link make_open_link(const char *closers)
{
    struct delimiters_link link = {.grows = true};
    memcpy(link.closers, closers, strlen(closers) + 1);
    return link;
}

struct delimiters_link delimiters_link(struct ethos_view text, size_t parenthesis)
{
    size_t at = skip_white_space(text, parenthesis + 1);
    if (at < text.size && text.data[at] == '<') {
        at = skip_to(text, at + 1, '>');
        if (at > text.size)
            return make_open_link(">)");
    } else {
        at = skip_bare_destination(text, at);
    }
    if (at >= text.size)
        return make_open_link(")");
    size_t next = skip_white_space(text, at);
    if (next > at && next < text.size && strchr("\"'(", text.data[next])) {
        char quote = text.data[next] == '(' ? ')' : text.data[next];
        char closers[3] = {quote, ')', '\0'};
        next = skip_to(text, next + 1, quote);
        if (next > text.size)
            return make_open_link(closers);
        next = skip_white_space(text, next);
    }
    if (next >= text.size)
        return make_open_link(")");
    return (struct delimiters_link){.end = text.data[next] == ')' ? next + 1 : 0};
}

/* ---- open delimiters --------------------------------------------------------------------------- */

struct opener {
    char mark;    /* * _ ~ ` [ */
    size_t at;    /* where its run began */
    size_t count; /* of it that is open */
};

struct delimiter_scan {
    struct ethos_view text;
    size_t settled; /* openers before are text */
    struct opener open[DELIMITERS_MAX_OPEN];
    size_t depth;
    size_t gap;      /* behind the last blank with nothing open */
    char closers[4]; /* of the link whose destination is open */
    bool in_link;    /* the last bracket's destination is open */
    bool after_text; /* the last bracket is closed, its destination may come */
};

static void push_opener(struct delimiter_scan *self, char mark, size_t at, size_t count)
{
    if (at >= self->settled && self->depth < DELIMITERS_MAX_OPEN)
        self->open[self->depth++] = (struct opener){mark, at, count};
}

static size_t count_run(struct ethos_view text, size_t at)
{
    size_t end = at;
    while (end < text.size && text.data[end] == text.data[at])
        end++;
    return end - at;
}

/* Behind the run that closes a code span; 0: it is open. */
static size_t find_code_end(struct ethos_view text, size_t at, size_t count)
{
    while (at < text.size) {
        const char *tick = memchr(text.data + at, '`', text.size - at);
        if (!tick)
            return 0;
        at = (size_t)(tick - text.data);
        size_t length = count_run(text, at);
        at += length;
        if (length == count)
            return at;
    }
    return 0;
}

enum flanking { FLANK_BLANK, FLANK_PUNCTUATION, FLANK_WORD };

static enum flanking classify_flank(struct ethos_view text, size_t at, size_t size)
{
    uint32_t cp;
    if (size == 0)
        return FLANK_BLANK;
    utf8_decode(text.data + at, size, &cp, NULL);
    if (cp < 0x80)
        return is_white_space((char)cp)   ? FLANK_BLANK
               : is_punctuation((char)cp) ? FLANK_PUNCTUATION
                                          : FLANK_WORD;
    return utf8_space(cp)                      ? FLANK_BLANK
           : unicode_kind(cp) == UNICODE_OTHER ? FLANK_PUNCTUATION
                                               : FLANK_WORD;
}

/* Closes what the run can close; what is left of it. */
static size_t close_openers(struct delimiter_scan *self, char mark, size_t count)
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

static size_t scan_run(struct delimiter_scan *self, size_t at)
{
    struct ethos_view text = self->text;
    char mark = text.data[at];
    size_t count = count_run(text, at), left = count;
    size_t before = at > 0 ? utf8_before(text, at) : 0;
    enum flanking prior = classify_flank(text, before, at - before);
    enum flanking next = classify_flank(text, at + count, text.size - at - count);
    bool opens = next == FLANK_WORD || (next == FLANK_PUNCTUATION && prior != FLANK_WORD);
    bool closes = prior == FLANK_WORD || (prior == FLANK_PUNCTUATION && next != FLANK_WORD);
    if (mark == '_' && opens && closes) {
        opens = prior == FLANK_PUNCTUATION;
        closes = next == FLANK_PUNCTUATION;
    }
    if (next == FLANK_BLANK)
        opens = false;
    if (prior == FLANK_BLANK)
        closes = false;
    if (closes)
        left = close_openers(self, mark, count);
    if (opens && left > 0 && (mark != '~' || count <= 2))
        push_opener(self, mark, at, left);
    return at + count;
}

static size_t scan_code(struct delimiter_scan *self, size_t at)
{
    size_t count = count_run(self->text, at), end = find_code_end(self->text, at + count, count);
    if (end)
        return end;
    if (at < self->settled)
        return at + count;
    push_opener(self, '`', at, count);
    return self->text.size;
}

/* A closing bracket: what stood in it is done with, if a destination follows. */
static size_t scan_bracket(struct delimiter_scan *self, size_t at)
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

static void scan_text(struct delimiter_scan *self)
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
            push_opener(self, '[', at - image, 1);
            at++;
        } else if (c == ']') {
            at = scan_bracket(self, at);
        } else {
            at++;
            if (is_white_space(c) && self->depth == 0)
                self->gap = at;
        }
    }
}

size_t delimiters_close(struct ethos_view text, size_t settled, struct str *out)
{
    struct delimiter_scan self = {.text = text, .settled = settled};
    size_t earliest = SIZE_MAX;
    scan_text(&self);
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
    struct delimiter_scan self = {.text = text};
    scan_text(&self);
    return self.gap;
}
