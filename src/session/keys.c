/*
 * keys.c: the keys of programs that ask over the network: the table api_keys.
 *
 * It is no part of the schema that others know, so it is made with the first key and not before.
 */
#include "base/err.h"
#include "session/sessions.h"

#define MAKE_TABLE                                                                                 \
    "CREATE TABLE IF NOT EXISTS api_keys(prefix TEXT PRIMARY KEY,hash TEXT NOT NULL UNIQUE,"       \
    "name TEXT NOT NULL,scopes TEXT NOT NULL,allowed_origins TEXT NOT NULL,"                       \
    "agent INTEGER NOT NULL DEFAULT 0,created_at TEXT NOT NULL,last_used_at TEXT,"                 \
    "revoked_at TEXT) STRICT"

int keys_present(struct db *self, struct ethos_error *error)
{
    int64_t count = 0;
    int code = db_ready(self, false, error);
    if (code == ETHOS_NOTFOUND)
        return 0;
    if (code == ETHOS_OK)
        code = db_number(self, "SELECT count(*) FROM main.sqlite_master WHERE name='api_keys'",
                         &count, error);
    return code == ETHOS_OK ? count > 0 : code;
}

/* ---- reading --------------------------------------------------------------------------------- */

static const char *column(sqlite3_stmt *statement, int at)
{
    return (const char *)sqlite3_column_text(statement, at);
}

static struct ethos_key key_row(sqlite3_stmt *statement)
{
    return (struct ethos_key){.prefix = column(statement, 0),
                              .hash = column(statement, 1),
                              .name = column(statement, 2),
                              .scopes = column(statement, 3),
                              .origins = column(statement, 4),
                              .agent = sqlite3_column_int(statement, 5),
                              .created_at = column(statement, 6),
                              .last_used_at = column(statement, 7),
                              .revoked_at = column(statement, 8)};
}

int keys_each(struct ethos_sessions *sessions, ethos_key_fn *each, void *arg,
              struct ethos_error *error)
{
    struct db *self = db_of(sessions);
    sqlite3_stmt *statement;
    int code = keys_present(self, error);
    if (code <= 0)
        return code;
    code = db_prepare(self, DB_KEYS, &statement, error);
    if (code != ETHOS_OK)
        return code;
    while ((code = db_step(self, statement, "read the keys", error)) == SQLITE_ROW) {
        const struct ethos_key key = key_row(statement);
        code = each(arg, &key);
        if (code != ETHOS_OK) {
            sqlite3_reset(statement);
            return code;
        }
    }
    return code < 0 ? code : ETHOS_OK;
}

/* What the connection itself commits does not count for SQLite; keys are made by others. */
int keys_version(struct ethos_sessions *sessions, uint64_t *out_version, struct ethos_error *error)
{
    struct db *self = db_of(sessions);
    sqlite3_stmt *statement;
    if (self->connection && db_moved(self))
        db_shut(self);
    int code = db_ready(self, false, error);
    *out_version = self->opened << 32;
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    code = db_prepare(self, DB_FOLLOW_VERSION, &statement, error);
    if (code == ETHOS_OK)
        code = db_step(self, statement, "read it", error);
    if (code < 0)
        return code;
    *out_version |= (uint32_t)sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return ETHOS_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int insert(struct db *self, const struct ethos_key *key, struct ethos_error *error)
{
    sqlite3_stmt *statement;
    const char *texts[] = {key->prefix,  key->hash,       key->name,         key->scopes,
                           key->origins, key->created_at, key->last_used_at, key->revoked_at};
    const int count = sizeof texts / sizeof *texts;
    int code = db_exec(self, MAKE_TABLE, "make the table of keys", error);
    if (code == ETHOS_OK)
        code = db_prepare(self, DB_INSERT_KEY, &statement, error);
    if (code != ETHOS_OK)
        return code;
    for (int i = 0; i < count; i++)
        db_bind(statement, i + 1, texts[i]);
    sqlite3_bind_int(statement, count + 1, key->agent != 0);
    code = db_run(self, statement, "keep a key", NULL, error);
    return code == ETHOS_EXISTS ? form_key_exists(key->prefix, error) : code;
}

int keys_add(struct ethos_sessions *sessions, const struct ethos_key *key,
             struct ethos_error *error)
{
    struct db *self = db_of(sessions);
    struct form_key form;
    int code = form_key(key, self->host->now_ms(self->host->arg), &form, error);
    if (code == ETHOS_OK)
        code = db_begin(self, error);
    return code == ETHOS_OK ? db_end(self, insert(self, &form.key, error), error) : code;
}

/* Runs a statement about one key: its name, and the time of now. */
static int change_key(struct db *self, enum db_statement which, const char *name,
                      struct ethos_error *error)
{
    sqlite3_stmt *statement;
    char now[CLOCK_ISO_SIZE];
    int64_t changed = 0;
    int code = keys_present(self, error);
    if (code <= 0)
        return code < 0 ? code : form_no_key(name, error);
    code = session_time(self, NULL, now, error);
    if (code == ETHOS_OK)
        code = db_begin(self, error);
    if (code != ETHOS_OK)
        return code;
    code = db_prepare(self, which, &statement, error);
    if (code == ETHOS_OK) {
        db_bind(statement, 1, name);
        db_bind(statement, 2, now);
        code = db_run(self, statement, "change a key", &changed, error);
    }
    if (code == ETHOS_OK && changed == 0)
        code = form_no_key(name, error);
    return db_end(self, code, error);
}

int keys_revoke(struct ethos_sessions *sessions, const char *prefix, struct ethos_error *error)
{
    return change_key(db_of(sessions), DB_REVOKE_KEY, prefix, error);
}

int keys_used(struct ethos_sessions *sessions, const char *hash, struct ethos_error *error)
{
    return change_key(db_of(sessions), DB_USE_KEY, hash, error);
}
