/*
 * check.c: what doctor is told of the server.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "postgres.h"

struct pg_report {
    ethos_finding_fn *each;
    void *arg;
};

static void report_pg_finding(const struct pg_report *report, enum ethos_severity severity,
                              const char *subject, const char *problem, const char *remedy)
{
    const struct ethos_finding finding = {severity, subject, problem, remedy};
    report->each(report->arg, &finding);
}

/* ---- one by one ------------------------------------------------------------------------------ */

static void check_server(const struct pg_store *self, const struct pg_report *report)
{
    const struct pg_facts *facts = &self->link.facts;
    char problem[96];
    if (facts->server < PG_LEAST_SERVER) {
        snprintf(problem, sizeof problem, "PostgreSQL %" PRId64 " is older than %d",
                 facts->server / 10000, PG_LEAST_SERVER / 10000);
        report_pg_finding(report, ETHOS_FINDING_WARNING, "postgres server", problem,
                          "upgrade the server: pg_upgrade");
    }
    if (facts->standby || facts->read_only)
        report_pg_finding(report, ETHOS_FINDING_ERROR, "postgres server",
                          facts->standby ? "it is a standby: nothing can be written"
                                         : "its transactions are read-only: nothing can be written",
                          facts->standby
                              ? "add target_session_attrs=read-write to memory.options.url"
                              : "ALTER DATABASE name SET default_transaction_read_only = off");
}

static void check_durability(const struct pg_store *self, const struct pg_report *report)
{
    const struct pg_facts *facts = &self->link.facts;
    if (!facts->fsync)
        report_pg_finding(report, ETHOS_FINDING_ERROR, "postgres durability",
                          "fsync is off: a power cut may lose everything",
                          "ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf();");
    if (!facts->full_page_writes)
        report_pg_finding(report, ETHOS_FINDING_ERROR, "postgres durability",
                          "full_page_writes is off: a power cut may tear pages",
                          "ALTER SYSTEM SET full_page_writes = on; SELECT pg_reload_conf();");
}

static void check_pooler(const struct pg_store *self, const struct pg_report *report)
{
    if (self->link.facts.pooled && self->settings.direct.count == 0)
        report_pg_finding(report, ETHOS_FINDING_WARNING, "postgres connection",
                          "the connection goes through a pooler: changes by others are seen late",
                          "set memory.options.directUrl to the server's own address");
}

static bool is_near(const char *host)
{
    return !host || !*host || *host == '/' || *host == '@' || strcmp(host, "localhost") == 0 ||
           strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
}

static void check_encryption(const struct pg_store *self, const struct pg_report *report)
{
    PGconn *conn = self->link.conn;
    if (!PQsslInUse(conn) && !PQgssEncInUse(conn) && !is_near(PQhost(conn)))
        report_pg_finding(report, ETHOS_FINDING_WARNING, "postgres connection",
                          "the connection to another machine is not encrypted",
                          "set memory.options.sslmode: verify-full and sslrootcert");
}

/* ---- what has to be asked -------------------------------------------------------------------- */

static const char rights[] =
    "SELECT has_schema_privilege('@', 'USAGE') AND bool_and(has_table_privilege("
    "table_name::regclass, 'SELECT') AND has_table_privilege(table_name::regclass, 'INSERT')"
    " AND has_table_privilege(table_name::regclass, 'UPDATE')"
    " AND has_table_privilege(table_name::regclass, 'DELETE')), current_user::text,"
    " (extract(epoch FROM clock_timestamp()) * 1000)::int8"
    " FROM unnest(ARRAY['@.scope', '@.text', '@.history', '@.operation', '@.copy'])"
    " AS table_name";

static void check_rights(const struct pg_store *self, const PGresult *result,
                         const struct pg_report *report)
{
    const char *role = pg_text(result, 0, 1), *schema = self->settings.schema;
    char remedy[512];
    if (pg_bool(result, 0, 0))
        return;
    snprintf(remedy, sizeof remedy,
             "GRANT USAGE ON SCHEMA %s TO \"%s\"; GRANT SELECT, INSERT, UPDATE, DELETE"
             " ON ALL TABLES IN SCHEMA %s TO \"%s\";",
             schema, role, schema, role);
    report_pg_finding(report, ETHOS_FINDING_ERROR, "postgres rights",
                      "the role cannot read and write every table", remedy);
}

static void check_clock(const struct pg_store *self, const PGresult *result, int64_t before_ms,
                        const struct pg_report *report)
{
    int64_t after_ms = self->host->now_ms(self->host->arg);
    int64_t apart = pg_number(result, 0, 2) - (before_ms + after_ms) / 2;
    char problem[96];
    if (llabs(apart) <= PG_CLOCK_MS + (after_ms - before_ms) / 2)
        return;
    snprintf(problem, sizeof problem, "its clock is %lld.%lld s %s of this machine's",
             llabs(apart) / 1000, llabs(apart) % 1000 / 100, apart > 0 ? "ahead" : "behind");
    report_pg_finding(report, ETHOS_FINDING_WARNING, "postgres clock", problem,
                      "timedatectl set-ntp true, on both machines");
}

static int check_by_asking(struct pg_store *self, int64_t until, const struct pg_report *report,
                           struct ethos_error *error)
{
    char sql[PG_MAX_STATEMENT];
    PGresult *result;
    int64_t before_ms = self->host->now_ms(self->host->arg);
    pg_sql(&self->settings, rights, sql);
    if (pg_exchange(&self->link, &(struct pg_query){.sql = sql}, until, &result) != PG_ANSWERED)
        return pg_error(&self->link, error);
    check_rights(self, result, report);
    check_clock(self, result, before_ms, report);
    PQclear(result);
    return ETHOS_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

int pg_check(struct ethos_store *store, int fix, ethos_finding_fn *each, void *arg,
             struct ethos_error *error)
{
    struct pg_store *self = (struct pg_store *)store;
    const struct pg_report report = {each, arg};
    int64_t until = pg_until(self->settings.deadline_ms);
    (void)fix; /* nothing here is for a client to mend */
    int code = pg_link_ready(&self->link, until, error);
    if (code == ETHOS_OK)
        code = check_by_asking(self, until, &report, error);
    if (code != ETHOS_OK)
        return code;
    check_server(self, &report);
    check_durability(self, &report);
    check_pooler(self, &report);
    check_encryption(self, &report);
    return ETHOS_OK;
}
