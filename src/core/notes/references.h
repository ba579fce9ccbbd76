/*
 * references.h: what a note says that can be looked up: files, names in files, dates, links.
 *
 * A claim is found in the text alone; whether it holds is for those who can look. Guessing is kept
 * narrow, because a false alarm costs more trust than a missed one:
 *
 *     path    `src/a.c`, `src/a.c:42`, `docs/api/`, [text](docs/x.md): in backticks or a markdown
 *             link, one word, with a usual extension (without directory: of a source) or a slash at
 *             its end; no URL, glob, placeholder, option, command, build product, branch, hidden
 *             folder, header of a library, nothing with ".."; not in a sentence about what is gone
 *             or only made later (removed, renamed, generated, will, no, ...)
 *     symbol  `name()`, `some_name`, `someName` in backticks, said to be in the one file that the
 *             sentence names so: `f()` in `a.c`, `a.c`: `f()`, `a.c` defines `f()` and `g()`; not
 *             in one that denies or orders (never, not, add, ...)
 *     date    until, by, expires, due, deadline + YYYY-MM-DD; before + date after must or the like;
 *             no history (was, had, ...); and `expires` of the head
 *     link    [[name]], [[name|text]], [[name#part]]: another note
 *     check   the member `check`: "path FILE" or "grep WORD FILE", separated by ";"
 *
 * A sentence ends with its line. Lines inside code fences and HTML comments claim nothing.
 */
#ifndef ETHOS_CORE_NOTES_REFERENCES_H
#define ETHOS_CORE_NOTES_REFERENCES_H

#include <stdbool.h>

#include <ethos/types.h>

enum claim_kind { CLAIM_PATH, CLAIM_SYMBOL, CLAIM_DATE, CLAIM_LINK };

struct claim {
    enum claim_kind kind;
    bool head;               /* from the frontmatter: `expires`, or a command of `check` */
    size_t line;             /* line in the whole note, from 1 */
    struct ethos_view what;  /* path without :line, name without (), date, name of a note */
    struct ethos_view where; /* for a symbol: the file */
    size_t number;           /* for a path with :line, that line; otherwise 0 */
};

/* Return 0 to continue; any other value ends the iteration and is returned by it. */
typedef int claim_fn(void *arg, const struct claim *claim);

/* Calls each for the references of a note, in the order of lines. Linear, allocates nothing. */
int claims_each(struct ethos_view text, claim_fn *each, void *arg);

/* Whether a text contains a word that is not part of a longer one. */
bool claims_has_word(struct ethos_view text, struct ethos_view word);

/* Whether a date YYYY-MM-DD is before another; false for an invalid date. */
bool claims_passed(struct ethos_view date, const char *today);

/* Days from a date to another, 0 if it is later; -1 if one of them is not a date. */
long claims_age_days(struct ethos_view date, const char *today);

#endif
