/*
 * database_copy.h: consistent copies of SQLite databases, whoever writes them meanwhile.
 */
#ifndef ETHOS_SESSION_DATABASE_COPY_H
#define ETHOS_SESSION_DATABASE_COPY_H

#include <ethos/types.h>

/* A text of a vector database: borrowed for the length of the call. Another value than 0 ends the walk. */
struct vector_entry {
    struct ethos_view scope, key, content, created; /* created: ISO 8601 */
};
typedef int vector_entry_fn(void *arg, const struct vector_entry *entry);

/* What a program with SQLite can do with database files; paths are absolute. */
struct session_copier {
    /*
     * Makes `to`, a new file of mode 0600, a copy of the database `from` as it is at one moment, what
     * stands in its log included. Writers are not blocked. The copy is durable and has passed check.
     */
    int (*copy)(const char *from, const char *to, uint32_t deadline_ms, struct ethos_error *error);

    /* ETHOS_CORRUPT when the database, which nobody has open, is damaged. */
    int (*check)(const char *path, struct ethos_error *error);

    /*
     * The texts of a database with a table memory_entries, the oldest first; nothing is written to it. What each
     * returned; ETHOS_INVALID when it has no such table.
     */
    int (*entries)(const char *path, uint32_t deadline_ms, vector_entry_fn *each, void *arg,
                   struct ethos_error *error);
};

extern const struct session_copier session_sqlite_copier;

/* That of this program, or NULL: it was linked without SQLite. */
extern const struct session_copier *const session_copier_builtin;

#endif
