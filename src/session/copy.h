/*
 * copy.h: consistent copies of SQLite databases, whoever writes them meanwhile.
 */
#ifndef ETHOS_SESSION_COPY_H
#define ETHOS_SESSION_COPY_H

#include <ethos/types.h>

/* What a program with SQLite can do with database files; paths are absolute. */
struct session_copier {
    /*
     * Makes `to`, a new file of mode 0600, a copy of the database `from` as it is at one moment, what
     * stands in its log included. Writers are not blocked. The copy is durable and has passed check.
     */
    int (*copy)(const char *from, const char *to, uint32_t deadline_ms, struct ethos_error *error);

    /* ETHOS_CORRUPT when the database, which nobody has open, is damaged. */
    int (*check)(const char *path, struct ethos_error *error);
};

extern const struct session_copier session_sqlite_copier;

/* That of this program, or NULL: it was linked without SQLite. */
extern const struct session_copier *const session_copier_builtin;

#endif
