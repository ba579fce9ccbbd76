/*
 * sanitize.h: hides injected instructions and redacts secrets.
 *
 * Guard: a line that contains an instruction to the model becomes "[line removed by injection
 * guard]". Redaction: a secret becomes "[REDACTED:<tag>]". Hidden lines are not redacted again. The
 * nth line of the result is the nth line of the input. Redacting a result again changes nothing.
 * Works on bytes, in linear time, without backtracking beyond the length of a pattern. It does not
 * find everything. Patterns: memory format, section 3.
 */
#ifndef ETHOS_CORE_MEMORY_SANITIZE_H
#define ETHOS_CORE_MEMORY_SANITIZE_H

#include <stdbool.h>

#include <ethos/types.h>

struct shown_lines;
struct str;

enum { SCAN_GUARD = 1, SCAN_REDACT = 2 };

/* What was removed, in bytes and CH of the input. */
struct scan_tally {
    uint64_t guard_chars, guard_bytes;
    uint64_t secret_chars, secret_bytes;
};

/*
 * Returns whether anything matched; only then is the scanned text appended to out (check str_code).
 * tally is added to and may be NULL. A text without matches costs one filtered pass and no copy.
 */
bool scan_text(struct ethos_view text, unsigned what, struct str *out, struct scan_tally *tally);

/* A line with a match, whether it is shown or not. */
struct scan_finding {
    struct ethos_view line; /* without "\n" */
    unsigned what;          /* SCAN_GUARD or SCAN_REDACT */
    const char *tag;        /* kind of its first secret; NULL for a line that is shown */
    bool block;             /* the first line of a private key */
};

struct scan_how {
    unsigned what; /* SCAN_GUARD, SCAN_REDACT */
    const struct shown_lines
        *shown; /* lines to leave unchanged, or NULL; only hashed when a line matches */
    struct scan_tally *tally;                                     /* or NULL */
    void (*found)(void *arg, const struct scan_finding *finding); /* or NULL */
    void *arg;
};

/*
 * Like scan_text, except that lines which the owner allows are left as they are. A private key over
 * several lines is never allowed.
 */
bool scan_text_with(struct ethos_view text, const struct scan_how *how, struct str *out);

/*
 * What a model may read of a text: the text itself or, if something was found, the contents of
 * `safe` (check str_code), which is emptied first. Call this before cutting a text: half a secret
 * is not recognized.
 */
struct ethos_view scan_visible(struct ethos_view text, struct str *safe);
struct ethos_view scan_visible_with(struct ethos_view text, const struct shown_lines *shown,
                                    struct str *safe);

/*
 * A number for the words, rules and version of the scan, never 0. A text in which nothing was found
 * need not be scanned again while the number stays the same.
 */
uint32_t scan_edition(void);

#endif
