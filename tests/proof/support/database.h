/*
 * database.h: sessions.db as another program sees it: SQLite alone, no code of src/.
 */
#ifndef TESTS_PROOF_SUPPORT_DATABASE_H
#define TESTS_PROOF_SUPPORT_DATABASE_H

#include <sqlite3.h>

#include "proof.h"

/* A connection that waits for others and leaves checkpoints to them. */
sqlite3 *database_open(const struct home *home);

/* Makes what another program of the family makes, from tests/golden/sessions-schema.json. */
void database_make(const struct home *home);

/* These end the proof when the SQL is refused. */
void database_run(sqlite3 *database, const char *sql);
int64_t database_number(sqlite3 *database, const char *sql);

/* All values, each ended by LF; free() it. */
char *database_text(sqlite3 *database, const char *sql);

/* Whether SQLite finds everything sound: pages, references, the full-text index. Notes what is not. */
bool database_sound(sqlite3 *database);

#endif
