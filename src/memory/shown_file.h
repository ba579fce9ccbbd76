/*
 * shown_file.h: <root>/shown-lines.jsonl, the lines that the owner shows although the scanner hides
 * them.
 *
 * One JSON object per line: scope, hash (of the line: core/memory/shown_lines.h), why (what is
 * allowed: "instruction", "secret"), file, at, by. It never contains text of a memory. A line of
 * the file that cannot be parsed is ignored and preserved; without the file every line is hidden
 * again.
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
    const char *file;    /* the file that contained the line */
    const char *at, *by; /* when (ISO) and who; NULL: not recorded */
};

struct shown_decisions {
    const struct shown_decision *rows; /* oldest first */
    size_t count;
    size_t damaged; /* lines of the file that cannot be parsed */
};

/* Reads the decisions about a scope (NULL: all). A missing file has none. */
int shown_file_read(struct ethos *ethos, const char *scope, struct arena *arena,
                    struct shown_decisions *out, struct ethos_error *error);

/* The shown lines of a scope; none if the file cannot be read. ETHOS_OK or ETHOS_NOMEM. */
int shown_file_lines(struct ethos *ethos, const char *scope, struct arena *arena,
                     struct shown_lines *out);

/* The validator of the decisions that were read; all zero: there is no file. */
struct home_stamp;
void shown_file_stamp(struct ethos *ethos, struct home_stamp *out);

/*
 * Records a decision durably, replacing an earlier one. ETHOS_LIMIT if there are SHOWN_MAX_LINES.
 */
int shown_file_add(struct ethos *ethos, const struct shown_decision *decision,
                   struct ethos_error *error);

/* Removes a decision. ETHOS_NOTFOUND if it does not exist. */
int shown_file_remove(struct ethos *ethos, const char *scope, const char *hash,
                      struct ethos_error *error);

#endif
