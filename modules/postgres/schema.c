/*
 * schema.c: the tables, and what is asked when a connection is new.
 *
 * Everything lives in a schema of its own. A number in it says which steps it has seen; steps that are
 * missing are done in one transaction under an advisory lock, so that of many who come at once one does
 * them. Where the number is right nothing but a SELECT is needed: a role that may not create works.
 *
 * Names and keys sort by their bytes. Texts are bytes, for a memory may hold any; `plain` says that they
 * are UTF-8 without NUL, for the views in which people read them. Texts are not compressed: the end of a
 * long one can be had without the rest, and nobody waits for it.
 */
#include <stdio.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/view.h"
#include "postgres.h"

static const char *const steps[] = {
    "CREATE TABLE @.scope ("
    " name text COLLATE \"C\" PRIMARY KEY,"
    " version bigint NOT NULL CHECK (version > 0),"
    " token text NOT NULL,"
    " time_ms bigint NOT NULL) WITH (fillfactor = 50);"

    "CREATE TABLE @.text ("
    " scope text COLLATE \"C\" NOT NULL,"
    " key text COLLATE \"C\" NOT NULL,"
    " content bytea NOT NULL,"
    " plain boolean NOT NULL,"
    " revision text NOT NULL,"
    " time_ms bigint NOT NULL,"
    " PRIMARY KEY (scope, key));"
    "ALTER TABLE @.text ALTER content SET STORAGE EXTERNAL;"

    "CREATE TABLE @.history ("
    " scope text COLLATE \"C\" NOT NULL,"
    " number bigint NOT NULL,"
    " token text NOT NULL,"
    " time_ms bigint NOT NULL,"
    " key text COLLATE \"C\" NOT NULL,"
    " actions text, source text, via text, actor text, session text, session_key text,"
    " \"user\" text, op_id text, event text, undoes text, before text, after text,"
    " bytes_before bigint NOT NULL,"
    " bytes_after bigint NOT NULL,"
    " diff bytea,"
    " diff_whole boolean NOT NULL,"
    " plain boolean NOT NULL,"
    " whole bytea,"
    " PRIMARY KEY (scope, number));"
    "ALTER TABLE @.history ALTER whole SET STORAGE EXTERNAL;"
    "CREATE INDEX history_of_key ON @.history (scope, key, number);"

    "CREATE TABLE @.operation ("
    " scope text COLLATE \"C\" NOT NULL,"
    " id text COLLATE \"C\" NOT NULL,"
    " record bytea NOT NULL,"
    " time_ms bigint NOT NULL,"
    " PRIMARY KEY (scope, id));"

    "CREATE TABLE @.copy ("
    " scope text COLLATE \"C\" NOT NULL,"
    " id text COLLATE \"C\" NOT NULL,"
    " key text COLLATE \"C\" NOT NULL,"
    " time_ms bigint NOT NULL,"
    " content bytea NOT NULL,"
    " plain boolean NOT NULL,"
    " PRIMARY KEY (scope, id));"
    "ALTER TABLE @.copy ALTER content SET STORAGE EXTERNAL;"

    "CREATE VIEW @.memory AS SELECT scope, key,"
    " CASE WHEN plain THEN convert_from(content, 'UTF8') ELSE encode(content, 'escape') END AS "
    "text,"
    " length(content) AS bytes, revision, to_timestamp(time_ms / 1000.0) AS changed FROM @.text;"

    "CREATE VIEW @.change AS SELECT scope, number, to_timestamp(time_ms / 1000.0) AS time, key,"
    " actions, source, via, actor, session, \"user\", before, after,"
    " CASE WHEN plain THEN convert_from(diff, 'UTF8') ELSE encode(diff, 'escape') END AS diff"
    " FROM @.history;"

    "COMMENT ON VIEW @.memory IS 'What ethos remembers, to be read; it is changed by the program.';"
    "COMMENT ON VIEW @.change IS 'Every change of what ethos remembers.';",
};

#define VERSION ((int64_t)(sizeof steps / sizeof *steps))

/* ---- introduction ---------------------------------------------------------------------------- */

/*
 * Settings stay with the session only where it is ours: behind a pooler the next one who gets it is somebody
 * else. It is found out by the number of the process, which a pooler makes up.
 */
static const char hello[] =
    "SELECT version, current_setting('server_version_num')::int8,"
    " current_setting('fsync') <> 'off', current_setting('full_page_writes') <> 'off',"
    " current_setting('synchronous_commit') <> 'off',"
    " pg_is_in_recovery(), current_setting('transaction_read_only') <> 'off',"
    " pg_backend_pid() <> $1,"
    " CASE WHEN setting.name IS NOT NULL THEN set_config(setting.name, setting.value, false) END,"
    " '@.text'::regtype::oid::int8, '@.text[]'::regtype::oid::int8,"
    " '@.history'::regtype::oid::int8, '@.history[]'::regtype::oid::int8,"
    " '@.operation'::regtype::oid::int8, '@.operation[]'::regtype::oid::int8,"
    " '@.copy'::regtype::oid::int8, '@.copy[]'::regtype::oid::int8"
    " FROM @.schema_version LEFT JOIN (VALUES ('statement_timeout', $2),"
    " ('plan_cache_mode', 'force_generic_plan')) AS setting (name, value)"
    " ON pg_backend_pid() = $1 AND NOT $3";

enum { HELLO_TYPES = 9 }; /* the column of the first */

static void read_facts(struct pg_link *self, const PGresult *result)
{
    self->facts = (struct pg_facts){
        .server = pg_number(result, 0, 1),
        .fsync = pg_bool(result, 0, 2),
        .full_page_writes = pg_bool(result, 0, 3),
        .sync_commit = pg_bool(result, 0, 4),
        .standby = pg_bool(result, 0, 5),
        .read_only = pg_bool(result, 0, 6),
        .pooled = pg_bool(result, 0, 7) || self->settings->pooled,
    };
    for (int i = 0; i < PG_TABLES; i++) {
        self->facts.rows[i] = (Oid)pg_number(result, 0, HELLO_TYPES + 2 * i);
        self->facts.arrays[i] = (Oid)pg_number(result, 0, HELLO_TYPES + 2 * i + 1);
    }
}

static enum pg_answer introduce(struct pg_link *self, int64_t until, int64_t *out_version)
{
    char sql[PG_MAX_STATEMENT], timeout[24];
    struct pg_params params = {0};
    PGresult *result;
    pg_sql(self->settings, hello, sql);
    snprintf(timeout, sizeof timeout, "%ums", self->settings->statement_ms);
    pg_add_number(&params, PQbackendPID(self->conn));
    pg_add_text(&params, timeout);
    pg_add_bool(&params, self->settings->pooled);
    enum pg_answer answer = pg_exchange(self, &(struct pg_query){.sql = sql, .params = &params},
                                        until, &result);
    if (answer != PG_ANSWERED)
        return answer;
    *out_version = PQntuples(result) > 0 ? pg_number(result, 0, 0) : 0;
    if (*out_version > 0)
        read_facts(self, result);
    PQclear(result);
    return answer;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static enum pg_answer run(struct pg_link *self, const char *template, int64_t until)
{
    char sql[PG_MAX_STATEMENT];
    PGresult *result;
    pg_sql(self->settings, template, sql);
    enum pg_answer answer = pg_exchange(self, &(struct pg_query){.sql = sql, .script = true}, until,
                                        &result);
    if (answer == PG_ANSWERED)
        PQclear(result);
    return answer;
}

/* Asks for one number. */
static enum pg_answer look(struct pg_link *self, const char *template, int64_t until, int64_t *out)
{
    char sql[PG_MAX_STATEMENT];
    PGresult *result;
    pg_sql(self->settings, template, sql);
    enum pg_answer answer = pg_exchange(self, &(struct pg_query){.sql = sql}, until, &result);
    if (answer != PG_ANSWERED)
        return answer;
    *out = PQntuples(result) > 0 ? pg_number(result, 0, 0) : 0;
    PQclear(result);
    return answer;
}

/* Somebody may have made it meanwhile, or an owner has made an empty one for us. */
static enum pg_answer find_version(struct pg_link *self, int64_t until, int64_t *out_version)
{
    int64_t there = 0;
    enum pg_answer answer = look(self, "SELECT (to_regnamespace('@') IS NOT NULL)::int4", until,
                                 &there);
    if (answer == PG_ANSWERED && !there)
        answer = run(self, "CREATE SCHEMA @", until);
    if (answer == PG_ANSWERED)
        answer = look(self, "SELECT (to_regclass('@.schema_version') IS NOT NULL)::int4", until,
                      &there);
    if (answer == PG_ANSWERED && !there)
        answer = run(self, "CREATE TABLE @.schema_version (version bigint NOT NULL)", until);
    if (answer == PG_ANSWERED)
        answer = look(self, "SELECT max(version) FROM @.schema_version", until, out_version);
    return answer;
}

static enum pg_answer lock(struct pg_link *self, int64_t until)
{
    char sql[96];
    snprintf(sql, sizeof sql, "BEGIN; SELECT pg_advisory_xact_lock(%d, %d)", 0x6574686f,
             (int)hash_crc32c(view_str(self->settings->schema)));
    return run(self, sql, until);
}

static enum pg_answer migrate(struct pg_link *self, int64_t until, int64_t *out_version)
{
    char sql[128];
    enum pg_answer answer = lock(self, until);
    if (answer == PG_ANSWERED)
        answer = find_version(self, until, out_version);
    for (int64_t at = *out_version; answer == PG_ANSWERED && at < VERSION; at++)
        answer = run(self, steps[at], until);
    snprintf(sql, sizeof sql,
             "DELETE FROM @.schema_version; INSERT INTO @.schema_version VALUES (%lld); COMMIT",
             (long long)VERSION);
    if (answer == PG_ANSWERED)
        answer = run(self, *out_version < VERSION ? sql : "COMMIT", until);
    return answer;
}

static bool is_missing(const struct pg_link *self)
{
    return strcmp(self->sqlstate, "42P01") == 0 || strcmp(self->sqlstate, "3F000") == 0 ||
           strcmp(self->sqlstate, "42704") == 0;
}

/* ---- hello ----------------------------------------------------------------------------------- */

static int too_new(const struct pg_link *self, int64_t version, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_UNSUPPORTED,
                       "postgres: schema %s has version %lld, this program knows %lld",
                       self->settings->schema, (long long)version, (long long)VERSION);
    return err_hint(error, code, "install the newer ethos that made it");
}

/* The right to create is the one that is missing, if any. */
static int cannot_make(const struct pg_link *self, struct ethos_error *error)
{
    const char *role = self->conn ? PQuser(self->conn) : "ROLE",
               *database = self->conn ? PQdb(self->conn) : "DATABASE";
    if (strcmp(self->sqlstate, "42501") != 0)
        return pg_error(self, error);
    int code = err_set(error, ETHOS_DENIED, "postgres: there is no schema %s, and role %s: %s",
                       self->settings->schema, role, self->message);
    return err_hint(error, code,
                    "GRANT CREATE ON DATABASE %s TO %s, or CREATE SCHEMA %s "
                    "AUTHORIZATION %s",
                    database, role, self->settings->schema, role);
}

int pg_hello(struct pg_link *self, int64_t until, struct ethos_error *error)
{
    int64_t version = 0;
    self->facts = (struct pg_facts){.pooled = self->settings->pooled};
    enum pg_answer answer = introduce(self, until, &version);
    bool make = answer == PG_REFUSED ? is_missing(self)
                                     : answer == PG_ANSWERED && version < VERSION;
    if (!make && answer != PG_ANSWERED)
        return pg_error(self, error);
    if (make && migrate(self, until, &version) != PG_ANSWERED)
        return cannot_make(self, error);
    if (make && version <= VERSION && introduce(self, until, &version) != PG_ANSWERED)
        return pg_error(self, error);
    return version > VERSION ? too_new(self, version, error) : ETHOS_OK;
}
