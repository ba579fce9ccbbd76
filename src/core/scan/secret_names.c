/*
 * secret_names.c: values that are given to a name: password: ..., API_SECRET=..., "token" => "..."
 */
#include <string.h>

#include "base/view.h"
#include "core/scan/bytes.h"
#include "core/scan/secret_rules.h"
#include "core/scan/value_shape.h"

#define MAX_NAME 64 /* bytes */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct named_value {
    struct ethos_view name, value;
    bool quoted, in_table; /* of the value; a cell of a table behind the one of its name */
};

/* Skips what stands between a name and its value: = : := => "is", </name>, quotes and ** around the name. */
static const char *skip_separator(const char *p, const char *end, bool prose)
{
    p = value_skip_quote(p, end);
    while (p < end && strchr("*]) ", *p) && *p)
        p++;
    p = byte_run(p, end, BYTE_BLANK);
    if (p < end && *p == '>') // <name>value</name>
        return p + 1;
    if (prose && end - p > 3 && memcmp(p, "is ", 3) == 0) {
        p = byte_run(p + 3, end, BYTE_BLANK);
        return p < end && *p == ':' ? byte_run(p + 1, end, BYTE_BLANK) : p;
    }
    if (p < end && *p == '|') // a cell of a table
        return byte_run(p + 1, end, BYTE_BLANK);
    if (p == end || (*p != '=' && *p != ':'))
        return NULL;
    for (unsigned i = 0; i < 3 && p < end && strchr("=:>", *p) && *p; i++)
        p++;
    while (p < end && *p == '*')
        p++;
    return byte_run(p, end, BYTE_BLANK);
}

/* Whether a mark of Chinese or Japanese text stands at p: a comma, a full stop, a bracket. */
static bool is_wide_mark(const char *p, const char *end)
{
    return end - p >= 3 && (memcmp(p, "\xE3\x80", 2) == 0 || memcmp(p, "\xEF\xBC", 2) == 0);
}

static bool is_of_value(const char *p, const char *end, unsigned none)
{
    (void)none;
    return !value_ends_at(*p) && !is_wide_mark(p, end) &&
           !(*p == '\\' && p + 1 < end && strchr("\"nrt", p[1]));
}

/* Where a value without quotes ends, at `stop` at the latest. A mark of several bytes ends it if it stands before. */
static const char *value_end(struct secret_search *search, const char *value, const char *stop)
{
    const char *end = secret_span_end(search, &search->value, value, is_of_value, 0);

    if (end >= stop || (!value_ends_at(*end) && stop - end < (*end == '\\' ? 2 : 3)))
        return stop;
    return end;
}

/* The name that the anchor stands in, and what is given to it. */
static bool read_named_value(struct secret_search *search, const char *anchor, bool prose,
                             struct named_value *out)
{
    const char *start = search->text.data, *end = start + search->text.size;
    const char *from = anchor - start > MAX_NAME ? anchor - MAX_NAME : start;
    const char *stop = end - anchor > SECRET_REACH ? anchor + SECRET_REACH : end;
    const char *name = byte_run_back(anchor, from, BYTE_TOKEN | BYTE_DOT);
    const char *name_end = byte_run(anchor, stop - anchor > MAX_NAME ? anchor + MAX_NAME : stop,
                                    BYTE_TOKEN);

    out->name = view_of(name, (size_t)(name_end - name));
    const char *bar = byte_run(name_end, stop, BYTE_BLANK);
    out->in_table = bar < stop && *bar == '|';
    const char *p = skip_separator(name_end, stop, prose);
    if (!p || p == stop)
        return false;
    const char *value = value_skip_quote(p, stop);
    out->quoted = value > p;
    char quote = out->quoted ? value[-1] : '\0';
    stop = end - value > MAX_VALUE ? value + MAX_VALUE : end;
    const char *after = value;
    if (quote) {
        after = memchr(value, quote, (size_t)(stop - value));
        if (!after || memchr(value, '\n', (size_t)(after - value)))
            return false;
        if (after > value && after[-1] == '\\')
            after--;
    } else {
        after = value_end(search, value, stop);
        while (after > value && strchr(".:!?*_", after[-1]))
            after--;
    }
    out->value = view_of(value, (size_t)(after - value));
    return out->value.size > 0;
}

/* Whether a name says what a value is that is about a secret and none: key_id, tokenCount, password_hint. */
static bool is_about(struct ethos_view name)
{
    static const char *const words[] = {
        "id",     "name",    "file",  "path",   "url",      "type",    "len",      "count",
        "size",   "max",     "expir", "hash",   "sha",      "digest",  "checksum", "integrity",
        "public", "version", "hint",  "policy", "field",    "pattern", "prefix",   "tokeniz",
        "tokens", "keyword", "salt",  "author", "keyboard",
    };
    /* Each word at the start of a part of the name: id in key_id and keyId, not in "provided". */
    for (size_t at = 0; at < name.size && at < 2 * MAX_NAME; at++) {
        bool starts = at == 0 || !byte_is(name.data[at - 1], BYTE_LETTER) ||
                      (byte_is(name.data[at], BYTE_UPPER) &&
                       byte_is(name.data[at - 1], BYTE_LOWER));

        for (size_t i = 0; starts && i < COUNT(words); i++) {
            size_t size = byte_lower(name.data[at]) == *words[i] ? strlen(words[i]) : SIZE_MAX;

            if (name.size - at < size ||
                !view_eq_nocase(view_of(name.data + at, size), view_str(words[i])))
                continue;
            if (size > 2 || name.size - at == size || !byte_is(name.data[at + size], BYTE_LOWER))
                return true;
        }
    }
    return false;
}

bool find_named_password(struct secret_search *search, const char *anchor, struct secret *out)
{
    struct named_value named;

    if (!read_named_value(search, anchor, true, &named) || is_about(named.name))
        return false;
    if (named.in_table && !value_is_unlike_words(search, named.value))
        return false;
    return value_is_password(search, named.value, named.quoted) &&
           secret_report(search, named.value, out);
}

bool find_named_value(struct secret_search *search, const char *anchor, struct secret *out)
{
    static const char *const uuid_names[] = {"token", "secret", "api_key", "apikey", "api-key"};
    struct named_value named;

    if (!read_named_value(search, anchor, false, &named))
        return false;
    static const char *const schemes[] = {"Bearer", "Basic", "Token", "Bot", "Digest"};
    if (value_is_one_of(named.value, schemes, COUNT(schemes)) &&
        named.value.data + named.value.size < search->text.data + search->text.size) {
        const char *end = search->text.data + search->text.size;
        const char *p = byte_run(named.value.data + named.value.size, end, BYTE_BLANK);
        named.value = view_of(
            p, (size_t)(byte_run(p, end - p > MAX_VALUE ? p + MAX_VALUE : end, BYTE_RUN) - p));
        if (named.value.size == 0)
            return false;
    }
    bool random = named.quoted && named.value.size >= 30 && named.value.size <= 128 &&
                  value_entropy(named.value) >= 42 &&
                  !memchr(named.value.data, ' ', named.value.size) &&
                  !value_is_expression(search, view_of(named.value.data + 1, 1));
    bool uuid = value_is_uuid(named.value) &&
                value_has_word(named.name, uuid_names, COUNT(uuid_names)) &&
                !value_is_filled_in_later(search, named.value);
    if (!random && !uuid && !value_is_random_key(search, named.value))
        return false;
    static const char *const own[] = {"token", "secret", "key"};
    return !value_has_word(named.value, own, COUNT(own)) && !is_about(named.name) &&
           secret_report(search, named.value, out);
}

bool find_docker_auth(struct secret_search *search, const char *anchor, struct secret *out)
{
    struct named_value named;

    if (!read_named_value(search, anchor + 1, false, &named) || !view_eq_str(named.name, "auth"))
        return false;
    return named.value.size >= 8 && value_is_encoded_login(named.value) &&
           secret_report(search, named.value, out);
}
