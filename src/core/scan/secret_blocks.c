/*
 * secret_blocks.c: private keys, which go over many lines.
 */
#include <string.h>

#include "base/view.h"
#include "core/scan/bytes.h"
#include "core/scan/secret_rules.h"

#define MIN_BODY 60    /* base64 digits */
#define MAX_HEADERS 16 /* lines of a block that are none of its base64 */

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
        const char *run = byte_run(p, end, BYTE_ALNUM | BYTE_BASE64 | BYTE_EQUALS);

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
    const char *from = anchor - start > 40 ? anchor - 40 : start;

    for (const char *p = anchor; p - 11 >= from; p--) {
        if (memcmp(p - 11, "-----BEGIN ", 11) == 0)
            return true;
        if (p[-1] == '\n')
            return false;
    }
    return false;
}

/* What stands before a footer that has no header here: the lines of base64 above it. */
static bool find_above(struct secret_search *search, const char *anchor, struct secret *out)
{
    const char *start = search->text.data + search->at;
    const char *from = anchor - start > 40 ? anchor - 40 : start, *footer = anchor;

    while (footer - 9 >= from && memcmp(footer - 9, "-----END ", 9) != 0)
        footer--;
    if (footer - 9 < from)
        return false;
    footer -= 9;
    if (footer - start > SECRET_BLOCK)
        start = footer - SECRET_BLOCK;
    const char *first = footer;
    while (first > start && (byte_is(first[-1], BYTE_ALNUM | BYTE_BASE64 | BYTE_EQUALS) ||
                             strchr("\r\n", first[-1])))
        first--;
    while (first < footer && strchr("\r\n", *first))
        first++;
    const char *last = footer;
    while (last > first && strchr("\r\n", last[-1]))
        last--;
    if (last - first < MIN_BODY || !secret_is_varied(view_of(first, (size_t)(last - first)), 40))
        return false;
    out->start = (size_t)(first - search->text.data);
    out->end = (size_t)(last - search->text.data);
    return true;
}

bool find_private_key(struct secret_search *search, const char *anchor, struct secret *out)
{
    const char *start = search->text.data, *end = start + search->text.size;
    const char *body = header_end(anchor + 11, end);
    size_t digits;

    if (!body || memcmp(anchor, "PRIVATE KEY", 11) != 0)
        return false;
    if (!begins_with_anchor(start, anchor))
        return find_above(search, anchor, out);
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

bool secret_find_block(struct ethos_view text, size_t from, struct ethos_view line,
                       struct secret *out)
{
    static const struct {
        const char *anchor;
        bool (*find)(struct secret_search *search, const char *anchor, struct secret *out);
    } kinds[] = {{"PRIVATE KEY", find_private_key}, {"Private-Lines:", find_putty_key}};
    struct secret_search search = {.text = text, .at = from};

    out->tag = "private-key";
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const char *p = line.data, *end = line.data + line.size;
        size_t size = strlen(kinds[i].anchor);

        for (; (p = memmem(p, (size_t)(end - p), kinds[i].anchor, size)); p++) {
            if (kinds[i].find(&search, p, out))
                return true;
        }
    }
    return false;
}
