/*
 * shown_file.h: <root>/shown-lines.jsonl, the lines that the owner allows to be shown although the guard hides them.
 *
 * One JSON object per line: scope, hash (of the line: core/memory/shown_lines.h), why (what is allowed:
 * "instruction", "secret"), file, at, by. It never holds text of a memory. A line of the file that
 * cannot be read counts for nothing and stays as it is; without the file every line is hidden again.
 */
#ifndef ETHOS_MEMORY_SHOWN_FILE_H
#define ETHOS_MEMORY_SHOWN_FILE_H

#include <stdbool.h>

#include <ethos/ethos.h>

#include "core/memory/shown_lines.h"

struct arena;

#define SHOWN_FILE "shown-lines.jsonl"
#define SHOWN_MAX_LINES 1000    /* decisions of a home */
#define SHOWN_MAX_BYTES 1048576 /* of the file */

struct shown_decision {
    const char *scope;
    struct shown_line line;
    const char *file;    /* in which the line stood then */
    const char *at, *by; /* when (ISO) and who; NULL: not recorded */
};

struct shown_decisions {
    const struct shown_decision *rows; /* in the order in which they were made */
    size_t count;
    size_t damaged; /* lines of the file that cannot be read */
};

/* Reads the decisions about a scope (NULL: all). An absent file has none. */
int shown_file_read(struct ethos *ethos, const char *scope, struct arena *arena,
                    struct shown_decisions *out, struct ethos_error *error);

/* The lines of a scope that are shown; none when the file cannot be read. ETHOS_OK or ETHOS_NOMEM. */
int shown_file_lines(struct ethos *ethos, const char *scope, struct arena *arena,
                     struct shown_lines *out);

/* Tells whether the decisions are still those that were read; all zero: there are none. */
struct home_stamp;
void shown_file_stamp(struct ethos *ethos, struct home_stamp *out);

/* Records a decision durably, in place of an earlier one. ETHOS_LIMIT when there are SHOWN_MAX_LINES. */
int shown_file_add(struct ethos *ethos, const struct shown_decision *decision,
                   struct ethos_error *error);

/* Takes a decision back. ETHOS_NOTFOUND when there is none. */
int shown_file_remove(struct ethos *ethos, const char *scope, const char *hash,
                      struct ethos_error *error);

#endif
