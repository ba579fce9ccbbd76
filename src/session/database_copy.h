/*
 * database_copy.h: consistent copies of SQLite databases during writes.
 */
#ifndef ETHOS_SESSION_DATABASE_COPY_H
#define ETHOS_SESSION_DATABASE_COPY_H

#include <ethos/types.h>

/*
 * A text of a vector database: borrowed during the call. A value other than 0 ends the iteration.
 */
struct vector_entry {
    struct ethos_view scope, key, content, created; /* created: ISO 8601 */
};
typedef int vector_entry_fn(void *arg, const struct vector_entry *entry);

/* Operations on database files of a program with SQLite; paths are absolute. */
struct session_copier {
    /*
     * Creates `to`, a new file of mode 0600, as a copy of the database `from` at one moment,
     * including its log. Writers are not blocked. The copy is durable and has passed check.
     */
    int (*copy)(const char *from, const char *to, uint32_t deadline_ms, struct ethos_error *error);

    /* ETHOS_CORRUPT if the database, which no process has open, is damaged. */
    int (*check)(const char *path, struct ethos_error *error);

    /*
     * The texts of a database with a table memory_entries, oldest first; the database is not
     * changed. Returns what each returned; ETHOS_INVALID if there is no such table.
     */
    int (*entries)(const char *path, uint32_t deadline_ms, vector_entry_fn *each, void *arg,
                   struct ethos_error *error);
};

extern const struct session_copier session_sqlite_copier;

/* NULL in a program linked without SQLite. */
extern const struct session_copier *const session_copier_builtin;

#endif
