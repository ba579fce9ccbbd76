/*
 * secret_tokens.c: tokens with a published form that no shape of the table can say.
 */
#include <string.h>

#include "base/view.h"
#include "core/scan/bytes.h"
#include "core/scan/secret_rules.h"
#include "core/scan/value_shape.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* 8 to 10 digits, :AA and 33 more. */
bool find_telegram_token(struct secret_search *search, const char *anchor, struct secret *out)
{
    const char *start = search->text.data, *end = start + search->text.size;
    const char *from = anchor - start > 11 ? anchor - 11 : start;
    const char *digits = byte_run_back(anchor, from, BYTE_DIGIT);

    if (anchor - digits < 8 || anchor - digits > 10 || memcmp(anchor, ":AA", 3) != 0)
        return false;
    const char *after = byte_run(anchor + 3, end - anchor > 60 ? anchor + 60 : end, BYTE_TOKEN);
    if (after - anchor != 36)
        return false;
    return secret_report(search, view_of(anchor + 1, 35), out);
}

/* Base64 of a number, six bytes of a time, and the rest. */
bool find_discord_token(struct secret_search *search, const char *anchor, struct secret *out)
{
    const char *after = secret_shape_end(search, "L24-28'.L6'.L27-38", anchor);

    if (!after || !strchr("MNO", anchor[0]) || !strchr("DTjz", anchor[1]) ||
        !strchr("AEIMQUYcgk", anchor[2]) ||
        !(byte_is(anchor[3], BYTE_DIGIT) || strchr("wxyz", anchor[3])))
        return false;
    return secret_report(search, view_of(anchor, (size_t)(after - anchor)), out);
}

bool find_json_web_token(struct secret_search *search, const char *anchor, struct secret *out)
{
    const char *start = search->text.data;
    const char *after = secret_shape_end(search, "L13+'.L4+'.L10+'.L10+'.L10+",
                                         anchor); // encrypted

    if (memcmp(anchor, "eyJ", 3) != 0 || (anchor > start && byte_is(anchor[-1], BYTE_ALNUM)))
        return false;
    if (!after)
        after = secret_shape_end(search, "L13+'.'e'yL11+'.L16+", anchor);
    return after && secret_report(search, view_of(anchor, (size_t)(after - anchor)), out);
}

/* Keys that have their mark in the middle; what stands behind AccountKey=, SharedAccessKey= and &sig=. */
bool find_azure_key(struct secret_search *search, const char *anchor, struct secret *out)
{
    static const size_t lengths[] = {44, 52, 56, 84, 88};
    const char *start = search->text.data, *end = start + search->text.size;
    const char *stop = end - anchor > 200 ? anchor + 200 : end,
               *from = anchor - start > 100 ? anchor - 100 : start;

    if (memcmp(anchor, "Q~", 2) == 0) { // a secret of the directory: L3, a digit, Q~, 31 to 34
        const char *after = byte_run(anchor + 2, stop, BYTE_TOKEN | BYTE_DOT | BYTE_TILDE);

        if (anchor - start < 4 || !byte_is(anchor[-1], BYTE_DIGIT) || after - anchor < 33 ||
            after - anchor > 36)
            return false;
        const char *first = byte_run_back(anchor - 1, from, BYTE_TOKEN | BYTE_DOT | BYTE_TILDE);
        return anchor - 1 - first == 3 &&
               secret_report(search, view_of(first, (size_t)(after - first)), out);
    }
    const char *equals = memchr(anchor, '=',
                                (size_t)(stop - anchor) < 17 ? (size_t)(stop - anchor) : 17);
    if (equals &&
        (memcmp(anchor, "Ac", 2) == 0 || memcmp(anchor, "Sh", 2) == 0 || anchor[0] == '&')) {
        const char *value = equals + 1;
        const char *after = byte_run(value, end - value > 200 ? value + 200 : end,
                                     BYTE_ALNUM | BYTE_BASE64 | BYTE_PERCENT);

        if (after < end && *after == '=')
            after = byte_run(after, end - after > 2 ? after + 2 : end, BYTE_EQUALS);
        struct ethos_view key = view_of(value, (size_t)(after - value));
        return key.size >= 40 && !value_is_placeholder(key) && value_is_varied(key, 30) &&
               secret_report(search, key, out);
    }
    const char *first = byte_run_back(anchor, from, BYTE_ALNUM | BYTE_BASE64);
    const char *after = byte_run(anchor, stop, BYTE_ALNUM | BYTE_BASE64);
    after = byte_run(after, stop - after > 2 ? after + 2 : stop, BYTE_EQUALS);
    if (view_ends(view_of(start, (size_t)(first - start)), VIEW("data:")))
        return false;
    for (size_t i = 0; i < COUNT(lengths); i++) {
        struct ethos_view key = view_of(first, (size_t)(after - first));

        if (key.size == lengths[i])
            return !value_is_placeholder(key) && value_is_varied(key, 40) &&
                   secret_report(search, key, out);
    }
    return false;
}
