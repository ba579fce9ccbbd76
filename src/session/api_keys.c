/*
 * api_keys.c: who may ask over the network: programs by a key (table api_keys), browsers by a cookie (browsers).
 *
 * Neither table is part of the schema that others know, so each is made with its first row and not
 * before. They have the same columns; ETHOS_BROWSER_PREFIX tells a browser from a key.
 */
#include <stdio.h>

#include "base/err.h"
#include "base/view.h"
#include "session/operations.h"

#define MAKE_TABLE(name)                                                                           \
    "CREATE TABLE IF NOT EXISTS " name "(prefix TEXT PRIMARY KEY,hash TEXT NOT NULL UNIQUE,"       \
    "name TEXT NOT NULL,scopes TEXT NOT NULL,allowed_origins TEXT NOT NULL,"                       \
    "agent INTEGER NOT NULL DEFAULT 0,created_at TEXT NOT NULL,last_used_at TEXT,"                 \
    "revoked_at TEXT) STRICT"

/* A table of credentials and its statements. */
struct credential_table {
    const char *name, *make;
    enum db_statement each, insert, revoke, use;
};

static const struct credential_table tables[] = {
    {"api_keys", MAKE_TABLE("api_keys"), DB_KEYS, DB_INSERT_KEY, DB_REVOKE_KEY, DB_USE_KEY},
    {"browsers", MAKE_TABLE("browsers"), DB_BROWSERS, DB_INSERT_BROWSER, DB_REVOKE_BROWSER,
     DB_USE_BROWSER},
};
#define TABLES (sizeof tables / sizeof *tables)

static const struct credential_table *table_of(const char *prefix)
{
    return &tables[view_starts(view_str(prefix), VIEW(ETHOS_BROWSER_PREFIX))];
}

int keys_present(struct db *self, const char *table, struct ethos_error *error)
{
    char sql[96];
    int64_t count = 0;
    int code = db_ready(self, false, error);
    if (code == ETHOS_NOTFOUND)
        return 0;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM main.sqlite_master WHERE name='%s'", table);
    if (code == ETHOS_OK)
        code = db_number(self, sql, &count, error);
    return code == ETHOS_OK ? count > 0 : code;
}

/* ---- reading --------------------------------------------------------------------------------- */

static const char *column_text(sqlite3_stmt *statement, int at)
{
    return (const char *)sqlite3_column_text(statement, at);
}

static struct ethos_key key_row(sqlite3_stmt *statement)
{
    return (struct ethos_key){.prefix = column_text(statement, 0),
                              .hash = column_text(statement, 1),
                              .name = column_text(statement, 2),
                              .scopes = column_text(statement, 3),
                              .origins = column_text(statement, 4),
                              .agent = sqlite3_column_int(statement, 5),
                              .created_at = column_text(statement, 6),
                              .last_used_at = column_text(statement, 7),
                              .revoked_at = column_text(statement, 8)};
}

static int table_each(struct db *self, const struct credential_table *table, ethos_key_fn *each,
                      void *arg, struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = keys_present(self, table->name, error);
    if (code <= 0)
        return code;
    code = db_prepare(self, table->each, &statement, error);
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

int keys_each(struct ethos_sessions *sessions, ethos_key_fn *each, void *arg,
              struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < TABLES; i++)
        code = table_each(db_of(sessions), &tables[i], each, arg, error);
    return code;
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

static int insert_api_key(struct db *self, const struct ethos_key *key, struct ethos_error *error)
{
    sqlite3_stmt *statement;
    const char *texts[] = {key->prefix,  key->hash,       key->name,         key->scopes,
                           key->origins, key->created_at, key->last_used_at, key->revoked_at};
    const int count = sizeof texts / sizeof *texts;
    const struct credential_table *table = table_of(key->prefix);
    int code = db_exec(self, table->make, "make the table of keys", error);
    if (code == ETHOS_OK)
        code = db_prepare(self, table->insert, &statement, error);
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
    return code == ETHOS_OK ? db_end(self, insert_api_key(self, &form.key, error), error) : code;
}

/* Runs a statement about one row: its name, and the time of now. */
static int change_row(struct db *self, enum db_statement which, const char *name, int64_t *changed,
                      struct ethos_error *error)
{
    sqlite3_stmt *statement;
    char now[CLOCK_ISO_SIZE];
    int code = session_time(self, NULL, now, error);
    if (code == ETHOS_OK)
        code = db_begin(self, error);
    if (code != ETHOS_OK)
        return code;
    code = db_prepare(self, which, &statement, error);
    if (code == ETHOS_OK) {
        db_bind(statement, 1, name);
        db_bind(statement, 2, now);
        code = db_run(self, statement, "change a key", changed, error);
    }
    return db_end(self, code, error);
}

int keys_revoke(struct ethos_sessions *sessions, const char *prefix, struct ethos_error *error)
{
    struct db *self = db_of(sessions);
    const struct credential_table *table = table_of(prefix);
    int64_t changed = 0;
    int code = keys_present(self, table->name, error);
    if (code > 0)
        code = change_row(self, table->revoke, prefix, &changed, error);
    return code == ETHOS_OK && changed == 0 ? form_no_key(prefix, error) : code;
}

int keys_used(struct ethos_sessions *sessions, const char *hash, struct ethos_error *error)
{
    struct db *self = db_of(sessions);
    int64_t changed = 0;
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && changed == 0 && i < TABLES; i++) {
        code = keys_present(self, tables[i].name, error);
        if (code > 0)
            code = change_row(self, tables[i].use, hash, &changed, error);
    }
    return code == ETHOS_OK && changed == 0 ? form_no_key(hash, error) : code;
}
