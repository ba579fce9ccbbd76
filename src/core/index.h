/*
 * index.h: the lines of an index MEMORY.md that point at notes.
 *
 * Written form:  - [Title](file.md) — hook
 * Read as well:  * bullets; the separators "–", "-", ":"; and the form of jutul-agent,
 *                - `title` — hook (file: `slug.md`)
 * Everything else (prose, headings, templates like <file.md>) is not an entry and is left alone.
 */
#ifndef ETHOS_CORE_INDEX_H
#define ETHOS_CORE_INDEX_H

#include <stdbool.h>

#include <ethos/types.h>

struct str;

struct index_entry {
    struct ethos_view line;  /* whole line without LF */
    size_t offset;           /* of the line in the text */
    struct ethos_view title; /* still escaped, as in the file */
    struct ethos_view file;
    struct ethos_view hook; /* may be empty */
};

/* Finds the next entry at or after *offset and moves *offset behind its line. False at the end. */
bool index_next(struct ethos_view text, size_t *offset, struct index_entry *out);

/* Whether one line is an entry (offset is set to 0). */
bool index_line(struct ethos_view line, struct index_entry *out);

/* Appends "- [Title](file) — hook" without LF, title escaped, hook collapsed and cut to 100 CH. */
int index_format(struct ethos_view title, struct ethos_view file, struct ethos_view hook,
                 struct str *out);

#endif
