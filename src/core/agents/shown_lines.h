/*
 * shown_lines.h: which lines of memory a conversation was shown, and what to add when memory
 * changes.
 *
 * Lines are recorded as hashes, so that a forgotten text does not survive here. White space at the
 * end of a line, blank lines and repetitions do not count. Pure.
 */
#ifndef ETHOS_CORE_AGENTS_SHOWN_LINES_H
#define ETHOS_CORE_AGENTS_SHOWN_LINES_H

#include <stdbool.h>

#include <ethos/types.h>

struct arena;
struct str;

#define SHOWN_MAX_CHANGES 4000 /* bytes of a report of changes */

/* Hashes of lines, sorted. */
struct shown_lines {
    uint64_t *list;
    size_t count, capacity;
};

/* What is known about a conversation. */
struct shown {
    uint64_t size;    /* bytes of the transcript when `sent` was sent */
    uint64_t seen;    /* bytes of it when `lines` were compared last */
    bool asked;       /* there was a prompt since: what was sent should be in the transcript */
    uint64_t problem; /* hash of the error that memory could not be read, as reported; or 0 */
    struct shown_lines lines; /* lines in the conversation */
    struct shown_lines
        sent; /* those in the last texts, of which none were seen in the transcript yet */
};

uint64_t shown_hash(struct ethos_view line);

/* Adds the lines of a text. ETHOS_OK or ETHOS_NOMEM, like those below. */
int shown_add(struct shown_lines *self, struct arena *arena, struct ethos_view text);
int shown_join(struct shown_lines *self, struct arena *arena, const struct shown_lines *other);
bool shown_has(const struct shown_lines *self, struct ethos_view line);
bool shown_same(const struct shown_lines *a, const struct shown_lines *b);

/*
 * Prints it for a file and reads it back; false if the file has another form. Printing returns
 * str_code.
 */
int shown_print(const struct shown *self, struct str *out);
bool shown_parse(struct ethos_view text, struct arena *arena, struct shown *out);

/* What happened to the files of a block: lines of their history, collected change by change. */
struct shown_past {
    struct shown_lines added, removed; /* by the conversation itself */
    struct str *gone;                  /* lines that others removed, as they were */
    bool known;                        /* there is a history */
};

/* Adds the diff of a change. */
int shown_past_add(struct shown_past *self, struct arena *arena, struct ethos_view diff, bool own);

/*
 * Appends what a conversation that has `before` should be told about a block; nothing if only its
 * own changes are new. At most SHOWN_MAX_CHANGES bytes.
 */
int shown_changes(const struct shown_lines *before, const struct shown_lines *after,
                  struct ethos_view block, const struct shown_past *past, struct str *out);

#endif
