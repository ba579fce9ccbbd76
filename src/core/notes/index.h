/*
 * index.h: the lines of an index MEMORY.md that point at notes.
 *
 * Written form:  - [Title](file.md) — hook
 * Read as well:  * bullets; the box of a task before the link; ./ before the file; the separators "–",
 *                "-", ":"; and the form of jutul-agent, - `title` — hook (file: `slug.md`)
 * Everything else (prose, headings, templates like <file.md>, links to MEMORY.md or USER.md) is not an
 * entry and is left alone.
 */
#ifndef ETHOS_CORE_NOTES_INDEX_H
#define ETHOS_CORE_NOTES_INDEX_H

#include <stdbool.h>

#include <ethos/types.h>

struct str;

#define INDEX_MAX_HOOK 100 /* CH, before the ellipsis */

struct index_entry {
    struct ethos_view line;  /* whole line without LF */
    size_t offset;           /* of the line in the text */
    struct ethos_view title; /* still escaped, as in the file: index_title */
    struct ethos_view file;
    struct ethos_view hook; /* may be empty */
    bool ticked;            /* the form of jutul-agent, where nothing is escaped */
};

/* Finds the next entry at or after *offset and moves *offset behind its line. False at the end. */
bool index_next(struct ethos_view text, size_t *offset, struct index_entry *out);

/* Whether one line is an entry (offset is set to 0). */
bool index_line(struct ethos_view line, struct index_entry *out);

/* Appends "- [Title](file) — hook" without LF, title escaped, hook collapsed and cut to 100 CH. */
int index_format(struct ethos_view title, struct ethos_view file, struct ethos_view hook,
                 struct str *out);

/* Appends a title as a line holds it: collapsed and escaped. Returns str_code. */
int index_add_title(struct ethos_view title, struct str *out);

/* ---- editing: only the lines of entries change, all else stays byte for byte ------------------ */

/*
 * The first entry that points at the file; the first with this title (unescaped, runs of blanks as one), or
 * else the first that has it in another letter case.
 */
bool index_find(struct ethos_view text, struct ethos_view file, struct index_entry *out);
bool index_find_title(struct ethos_view text, struct ethos_view title, struct index_entry *out);

/* Whether an entry has this title, in any letter case; index_find_title for one line. */
bool index_has_title(const struct index_entry *entry, struct ethos_view title);

/* Appends a title of an entry as it reads, escapes resolved. Returns str_code. */
int index_title(const struct index_entry *entry, struct str *out);

/*
 * Makes out the text with an entry for the file. One that is there keeps its place, its form and its
 * title, and gets the hook (blank: keeps its own); else a new line goes right after the last entry, or is
 * added as `add` does when there is none. A blank title is the file without .md. Line ends follow the
 * line before. Returns str_code.
 */
int index_put(struct ethos_view text, struct ethos_view title, struct ethos_view file,
              struct ethos_view hook, struct str *out);

/* Makes out the text without the lines of a file. Returns str_code. */
int index_drop(struct ethos_view text, struct ethos_view file, struct str *out);

/*
 * Makes out the text with entries of a file pointing at another, under another title (blank: as is).
 * A title that the form of jutul-agent cannot hold makes the line one of ours. Returns str_code.
 */
int index_move(struct ethos_view text, struct ethos_view file, struct ethos_view new_file,
               struct ethos_view new_title, struct str *out);

/* A note as the index would name it. */
struct index_note {
    struct ethos_view file, title, hook;
};

enum index_problem {
    INDEX_UNLISTED, /* a note without line: the line is added */
    INDEX_MISSING,  /* a line without note: it goes */
    INDEX_DOUBLE    /* a further line for the same note: it goes */
};

/* line: from 1 in the old text, 0 for INDEX_UNLISTED. */
typedef void index_problem_fn(void *arg, enum index_problem problem, struct ethos_view file,
                              size_t line);

/*
 * Makes out the text with exactly one entry per note: the first it has, else a new one behind the last
 * that stays, or where the last one stood, or as `add` does. notes are sorted by file (bytes) and are
 * all there are. out or each may be NULL. Problems are told in the order of lines, then of notes.
 * Near linear: 10,000 notes are milliseconds. ETHOS_NOMEM, else str_code.
 */
int index_reconcile(struct ethos_view text, const struct index_note *notes, size_t count,
                    struct str *out, index_problem_fn *each, void *arg);

#endif
