/*
 * claims.h: what a note says that can be looked up: files, names in files, dates, links.
 *
 * A claim is found in the text alone; whether it holds is for those who can look. Guessing is kept
 * narrow, because a false alarm costs more trust than a missed one:
 *
 *     path    `src/a.c`, `src/a.c:42`, [text](../docs/x.md): in backticks or a markdown link, one word,
 *             with a directory or a usual extension; no URL, glob, placeholder, option or command
 *     symbol  `name` or `name()` in backticks, on a line that names exactly one file in backticks
 *     date    until, by, before, expires, valid until, deadline + YYYY-MM-DD; and `expires` of the head
 *     link    [[name]]: another note
 *     check   the member `check`: "path FILE" or "grep WORD FILE", separated by ";"
 *
 * Lines inside code fences and HTML comments claim nothing, except in `check`.
 */
#ifndef ETHOS_CORE_CLAIMS_H
#define ETHOS_CORE_CLAIMS_H

#include <stdbool.h>

#include <ethos/types.h>

enum claim_kind { CLAIM_PATH, CLAIM_SYMBOL, CLAIM_DATE, CLAIM_LINK };

struct claim {
    enum claim_kind kind;
    size_t line;             /* from 1 in the whole text of the note */
    struct ethos_view what;  /* path without :line, name without (), date, name of a note */
    struct ethos_view where; /* for a symbol: the file */
    size_t number;           /* for a path with :line, that line; else 0 */
};

/* Return 0 to go on; any other value stops the walk and is returned by it. */
typedef int claim_fn(void *arg, const struct claim *claim);

int claims_each(struct ethos_view text, claim_fn *each, void *arg);

/* Whether a word stands in a text, not as part of a longer one. */
bool claims_has_word(struct ethos_view text, struct ethos_view word);

/* Whether YYYY-MM-DD is before another such date; false for what is no date. */
bool claims_passed(struct ethos_view date, const char *today);

/* Days from a date to another; -1 when one of them is no date. */
long claims_age_days(struct ethos_view date, const char *today);

#endif
