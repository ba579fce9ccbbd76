/*
 * secret_blocks.c: private keys, which go over many lines.
 */
#include <string.h>

#include "base/view.h"
#include "core/scan/bytes.h"
#include "core/scan/secret_rules.h"
#include "core/scan/value_shape.h"

#define MIN_BODY 60     /* base64 digits */
#define MAX_HEADERS 16  /* lines of a block that are none of its base64 */
#define MAX_TITLE 40    /* bytes from the dashes of a header or footer to its "PRIVATE KEY" */
#define BODY_ENTROPY 40 /* tenths of a bit a byte, at least */

#define BASE64 (BYTE_ALNUM | BYTE_BASE64 | BYTE_EQUALS)

/* Whether what stands between two lines of a key may be there: line ends, also escaped, indentation, > and joins. */
static bool is_between(char c)
{
    return byte_is(c, BYTE_BLANK | BYTE_QUOTE) || strchr("\r\n\\>+,", c);
}

/* The end of the last line of base64 from p on; *out_digits of them. */
static const char *body_end(const char *p, const char *end, size_t *out_digits)
{
    const char *last = p;
    unsigned headers = 0; /* one after the other */

    *out_digits = 0;
    while (p < end && *p != '-' && headers < MAX_HEADERS) {
        const char *run = byte_run(p, end, BASE64);

        if (run > p) {
            /* A line of a key is long; only the last is short. A header of the block ("Proc-Type: ...") is none. */
            if (run < end && (*run == ':' || *run == '-') && run - p < 40) {
                const char *newline = memchr(p, '\n', (size_t)(end - p)),
                           *stop = newline ? newline : end;
                const char *escaped = memmem(p, (size_t)(stop - p), "\\n", 2);

                p = escaped ? escaped : stop;
                headers++;
                continue;
            }
            headers = 0;
            *out_digits += (size_t)(run - p);
            last = run;
            p = run;
        } else if (is_between(*p)) {
            p += *p == '\\' && p + 1 < end && strchr("nrt", p[1]) ? 2 : 1;
        } else {
            break;
        }
    }
    return last;
}

/* The header's dashes, within the few words that may stand between. */
static const char *header_end(const char *p, const char *end)
{
    if (end - p >= 6 && memcmp(p, " BLOCK", 6) == 0)
        p += 6;
    return end - p >= 5 && memcmp(p, "-----", 5) == 0 ? p + 5 : NULL;
}

static bool begins_with_anchor(const char *start, const char *anchor)
{
    const char *from = anchor - start > MAX_TITLE ? anchor - MAX_TITLE : start;

    for (const char *p = anchor; p - 11 >= from; p--) {
        if (memcmp(p - 11, "-----BEGIN ", 11) == 0)
            return true;
        if (p[-1] == '\n')
            return false;
    }
    return false;
}

/* What stands between the header whose "PRIVATE KEY" is at the anchor and the footer, if that is a key. */
static bool find_below(struct secret_search *search, const char *anchor, struct secret *out)
{
    const char *start = search->text.data, *end = start + search->text.size;
    const char *body = header_end(anchor + 11, end);
    size_t digits;

    if (!body || !begins_with_anchor(start, anchor))
        return false;
    const char *stop = end - body > SECRET_BLOCK ? body + SECRET_BLOCK : end;
    const char *last = body_end(body, stop, &digits);
    if (digits < MIN_BODY)
        return false;
    while (body < last && is_between(*body)) {
        if (*body == '\\' && body + 1 < last && strchr("nrt", body[1]))
            body++;
        body++;
    }
    out->start = (size_t)(body - start);
    out->end = (size_t)(last - start);
    return true;
}

/*
 * Whether the bytes before a footer are a key. Only their end is looked at: so a text in which lines above were
 * redacted gives the same answer.
 */
static bool is_body(const char *first, const char *last)
{
    return last - first >= MIN_BODY &&
           value_is_varied(view_of(last - MIN_BODY, MIN_BODY), BODY_ENTROPY);
}

/* What stands before a footer in its line. */
static bool find_before_footer(struct secret_search *search, const char *anchor, struct secret *out)
{
    const char *start = search->text.data + search->at;
    const char *from = anchor - start > MAX_TITLE ? anchor - MAX_TITLE : start, *footer = anchor;

    while (footer - 9 >= from && memcmp(footer - 9, "-----END ", 9) != 0)
        footer--;
    if (footer - 9 < from)
        return false;
    footer -= 9;
    if (footer - start > SECRET_BLOCK)
        start = footer - SECRET_BLOCK;
    const char *first = byte_run_back(footer, start, BASE64);
    out->start = (size_t)(first - search->text.data);
    out->end = (size_t)(footer - search->text.data);
    return is_body(first, footer);
}

bool find_private_key(struct secret_search *search, const char *anchor, struct secret *out)
{
    const char *end = search->text.data + search->text.size;

    return memcmp(anchor, "PRIVATE KEY", 11) == 0 && header_end(anchor + 11, end) &&
           (find_below(search, anchor, out) || find_before_footer(search, anchor, out));
}

bool find_putty_key(struct secret_search *search, const char *anchor, struct secret *out)
{
    const char *start = search->text.data, *end = start + search->text.size;
    const char *stop = end - anchor > SECRET_BLOCK ? anchor + SECRET_BLOCK : end;
    const char *body = memchr(anchor, '\n', (size_t)(stop - anchor));
    size_t digits;

    if (!body)
        return false;
    body++;
    const char *last = body_end(body, stop, &digits);
    if (digits < 40)
        return false;
    out->start = (size_t)(body - start);
    out->end = (size_t)(last - start);
    return true;
}

/* Whether p is the footer of a private key. */
static bool is_footer(const char *p, const char *end)
{
    if (end - p < 9 || memcmp(p, "-----END ", 9) != 0)
        return false;
    const char *stop = end - p > MAX_TITLE ? p + MAX_TITLE : end;
    const char *anchor = memmem(p, (size_t)(stop - p), "PRIVATE KEY", 11);

    return anchor && header_end(anchor + 11, end);
}

/*
 * Whether the lines of a key go on at p. Tokens of other kinds may stand in them: so a line with a dash or a dot is
 * one, too.
 */
static bool is_of_key_lines(const char *p, const char *end, unsigned none)
{
    (void)none;
    return byte_is(*p, BYTE_RUN) ? *p != '-' || end - p < 9 || memcmp(p, "-----END ", 9) != 0
                                 : *p == '\n' || *p == '\r';
}

static const char *skip_line_ends_back(const char *p, const char *start)
{
    while (p > start && (p[-1] == '\n' || p[-1] == '\r'))
        p--;
    return p;
}

bool secret_find_headless_block(struct secret_search *search, struct ethos_view line,
                                struct secret *out)
{
    const char *end = search->text.data + search->text.size;
    const char *first = line.data, *line_end = line.data + line.size;
    const char *footer = secret_span_end(search, &search->key_lines, first, is_of_key_lines, 0);
    bool is_whole = footer > line_end;

    line_end = skip_line_ends_back(line_end, first);
    if (!is_whole)
        footer = secret_span_end(search, &search->key_lines, line_end, is_of_key_lines, 0);
    if (footer - line_end > SECRET_BLOCK || !is_footer(footer, end))
        return false;
    if (!is_whole)
        first = byte_run_back(line_end, first, BASE64);
    if (footer - first > SECRET_BLOCK)
        first = footer - SECRET_BLOCK;
    const char *last = skip_line_ends_back(footer, first);
    out->tag = "private-key";
    out->start = (size_t)(first - search->text.data);
    out->end = (size_t)(last - search->text.data);
    return first < line_end && last > line_end && is_body(first, last);
}

bool secret_find_block(struct secret_search *search, struct ethos_view line, struct secret *out)
{
    static const struct {
        const char *anchor;
        bool (*find)(struct secret_search *search, const char *anchor, struct secret *out);
    } kinds[] = {{"PRIVATE KEY", find_below}, {"Private-Lines:", find_putty_key}};

    out->tag = "private-key";
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const char *p = line.data, *end = line.data + line.size;
        size_t size = strlen(kinds[i].anchor);

        for (; (p = memmem(p, (size_t)(end - p), kinds[i].anchor, size)); p++) {
            search->has_title = true;
            if (kinds[i].find(search, p, out) && search->text.data + out->end > end)
                return true;
        }
    }
    return false;
}
