/*
 * secret_rules.h: the rules of secrets as a table. Private to src/core/scan.
 */
#ifndef ETHOS_CORE_SCAN_SECRET_RULES_H
#define ETHOS_CORE_SCAN_SECRET_RULES_H

#include "core/scan/bytes.h"
#include "core/scan/secrets.h"

enum {
    RULE_ANY_CASE = 1, /* of the anchor */
    RULE_VARIED = 2,   /* ignore a body of few different bytes: the anchor is short */
    RULE_INSIDE = 4,   /* the anchor may be in the middle of a word */
    RULE_BODY = 8,     /* the anchor is not part of the secret */
};

/*
 * A rule is tried wherever its anchor stands; without an anchor, at the start of every long run of token bytes. Those
 * are the first in the table.
 *
 * A shape is a sequence of parts: a class, and how many of it ("A36", "L20-300", "B40+"), or ' and a byte that
 * stands for itself. Classes: A letters and digits, W also _, L also -, B letters, digits, + and /, U upper case
 * and digits, c lower case and digits, h and H lower case and any hexadecimal digits, D digits, N L with . and =,
 * / what a path has, @ what an address has, % what a percent-encoded token has. A part takes all it can; a byte of
 * the last class must not follow.
 */
struct secret_rule {
    const char *tag, *anchor, *shape;
    unsigned flags;
    const char
        *near; /* a word that must occur within SECRET_REACH before it, in any case, or NULL */
    /* For secrets that are not shapes. *out has the tag. */
    bool (*find)(struct secret_search *search, const char *anchor, struct secret *out);
};

#define SECRET_RULES 400 /* at most */
extern const struct secret_rule secret_rules[];
extern const size_t secret_rule_count;

/*
 * The end of the bytes from p on that continue something. The last such span is cached, because a
 * text may consist only of anchors and must be walked once. A span further ahead is kept, because
 * it may be longer.
 */
static inline const char *
secret_span_end(const struct secret_search *search, struct secret_span *span, const char *p,
                bool goes_on(const char *p, const char *end, unsigned bytes), unsigned bytes)
{
    const char *text = search->text.data, *end = text + search->text.size;
    size_t from = (size_t)(p - text), to;

    if (from >= span->from && from < span->to)
        return text + span->to;
    bool before = from < span->from;
    const char *stop = before ? text + span->from : end;
    while (p < stop && goes_on(p, end, bytes))
        p++;
    to = (size_t)(p - text);
    if (before && to < span->from)
        return p;
    *span = (struct secret_span){from, before ? span->to : to};
    return text + span->to;
}

/* Of classes of byte_is, as secret_span_end asks. */
static inline bool secret_is_of_bytes(const char *p, const char *end, unsigned bytes)
{
    (void)end;
    return byte_is(*p, bytes);
}

/* Reports the value as a secret. */
static inline bool secret_report(const struct secret_search *search, struct ethos_view value,
                                 struct secret *out)
{
    out->start = (size_t)(value.data - search->text.data);
    out->end = out->start + value.size;
    return true;
}

/* The end of the run of bytes of a shape class that begins at p. */
const char *secret_run_end(struct secret_search *search, char name, const char *p);

/* The end of a shape that begins at p, or NULL. */
const char *secret_shape_end(struct secret_search *search, const char *shape, const char *p);

/*
 * Names of a password with characters that the filter cannot see, because it only knows ASCII. A
 * name is found at its first such character; the text before that is compared backwards.
 */
struct foreign_name {
    const char *before, *rest;
};
extern const struct foreign_name secret_foreign_names[];
extern const size_t secret_foreign_name_count;

/* The first such character of the next name at or after p, or NULL. */
const char *secret_next_foreign_name(struct ethos_view text, const char *p);

/* Functions for secret_rule.find; the anchor is that of their rule. */
bool find_named_password(struct secret_search *search, const char *anchor, struct secret *out);
bool find_named_value(struct secret_search *search, const char *anchor, struct secret *out);
bool find_url_password(struct secret_search *search, const char *anchor, struct secret *out);
bool find_private_key(struct secret_search *search, const char *anchor, struct secret *out);
bool find_putty_key(struct secret_search *search, const char *anchor, struct secret *out);
bool find_bearer(struct secret_search *search, const char *anchor, struct secret *out);
bool find_basic(struct secret_search *search, const char *anchor, struct secret *out);
bool find_docker_auth(struct secret_search *search, const char *anchor, struct secret *out);
bool find_command_password(struct secret_search *search, const char *anchor, struct secret *out);
bool find_option_password(struct secret_search *search, const char *anchor, struct secret *out);
bool find_word_phrase(struct secret_search *search, const char *anchor, struct secret *out);
bool find_telegram_token(struct secret_search *search, const char *anchor, struct secret *out);
bool find_azure_key(struct secret_search *search, const char *anchor, struct secret *out);
bool find_discord_token(struct secret_search *search, const char *anchor, struct secret *out);
bool find_password_in_prose(struct secret_search *search, const char *anchor, struct secret *out);
bool find_key_in_prose(struct secret_search *search, const char *anchor, struct secret *out);
bool find_cookie(struct secret_search *search, const char *anchor, struct secret *out);
bool find_json_web_token(struct secret_search *search, const char *anchor, struct secret *out);

#endif
