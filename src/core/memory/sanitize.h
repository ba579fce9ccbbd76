/*
 * sanitize.h: the guard against injected instructions and the redaction of secrets.
 *
 * Guard: a line with an instruction-like phrase becomes "[line removed by injection guard]".
 * Redaction: a secret becomes "[REDACTED:<tag>]". Guarded lines are not redacted again. Lines stay
 * lines, so the nth line of the result is the nth line of the input. Redacting the result finds
 * nothing more. Works on bytes, linear, no backtracking beyond a pattern's own length. A floor, not
 * a boundary. Patterns: memory format, section 3.
 */
#ifndef ETHOS_CORE_MEMORY_SANITIZE_H
#define ETHOS_CORE_MEMORY_SANITIZE_H

#include <stdbool.h>

#include <ethos/types.h>

struct shown_lines;
struct str;

enum { SCAN_GUARD = 1, SCAN_REDACT = 2 };

/* What was taken out, in bytes and CH of the input. */
struct scan_tally {
    uint64_t guard_chars, guard_bytes;
    uint64_t secret_chars, secret_bytes;
};

/*
 * Returns whether anything matched; only then is the scanned text appended to out (check str_code).
 * tally is added to and may be NULL. A clean text costs one filtered walk and no copy.
 */
bool scan_text(struct ethos_view text, unsigned what, struct str *out, struct scan_tally *tally);

/* A line in which something was found, whether it is shown or not. */
struct scan_finding {
    struct ethos_view line; /* without "\n" */
    unsigned what;          /* SCAN_GUARD or SCAN_REDACT */
    const char *tag;        /* of its first secret; NULL of a line that is shown */
    bool block;             /* a private key over several lines, of which this is the first */
};

struct scan_how {
    unsigned what;                   /* SCAN_GUARD, SCAN_REDACT */
    const struct shown_lines *shown; /* lines to leave as they are, or NULL; hashed only on a hit */
    struct scan_tally *tally;        /* or NULL */
    void (*found)(void *arg, const struct scan_finding *finding); /* or NULL */
    void *arg;
};

/* The same as scan_text, with lines that are shown all the same. A private key over several lines never is. */
bool scan_text_with(struct ethos_view text, const struct scan_how *how, struct str *out);

/*
 * What a model may read of a text: the text itself, or else what is then in `safe` (check str_code),
 * which is emptied first. To be asked before anything is cut off: half a secret is not found.
 */
struct ethos_view scan_visible(struct ethos_view text, struct str *safe);
struct ethos_view scan_visible_with(struct ethos_view text, const struct shown_lines *shown,
                                    struct str *safe);

/*
 * A number of the words, the rules and the version by which texts are scanned, never 0: where it is the same, a text in
 * which nothing was found has nothing.
 */
uint32_t scan_edition(void);

#endif
