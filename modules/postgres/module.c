/*
 * module.c: the tables of functions and options, open and close.
 *
 * open has a connection before it returns, for what the server promises decides what this store does; but
 * one that is not to be had now is no reason to fail: the store opens, and the first call that has one
 * finds out.
 */
#include "base/err.h"
#include "base/system/os.h"
#include "sessions.h"

/* ---- what the parts share -------------------------------------------------------------------- */

/* The server may have been set up otherwise since the last connection. */
static void take_capabilities(struct pg_store *self)
{
    const struct pg_facts *facts = &self->link.facts;
    bool durable = facts->fsync && facts->full_page_writes && !self->settings.fast;
    if (self->link.state == PG_READY)
        self->store.capabilities = durable ? ETHOS_STORE_DURABLE : 0;
}

/* Texts are read in a moment; what walks a history, or comes before a write, may take longer. */
static uint32_t statement_ms(const struct pg_store *self, enum pg_statement which)
{
    const struct backend_reach *reach = &self->link.reach;
    return which <= PG_SCOPES ? reach_read_ms(reach) : reach_call_ms(reach);
}

int pg_store_ask(struct pg_store *self, enum pg_statement which, const struct pg_params *params,
                 PGresult **out_result, struct ethos_error *error)
{
    int code = pg_ask(&self->link, which, params, statement_ms(self, which), out_result, error);
    take_capabilities(self);
    return code;
}

/* ---- open and close -------------------------------------------------------------------------- */

static void pg_close(struct ethos_store *store)
{
    struct pg_store *self = (struct pg_store *)store;
    if (!self)
        return;
    pg_watch_release(&self->watch);
    pg_link_drop(&self->link);
    pg_settings_release(&self->settings);
    self->host->resize(self->host->arg, self, 0);
}

static void log_doubt(const struct pg_store *self)
{
    const struct ethos_host *host = self->host;
    if (self->link.state == PG_READY && !self->settings.fast &&
        !(self->store.capabilities & ETHOS_STORE_DURABLE))
        host->log(host->arg, ETHOS_LOG_WARN,
                  "postgres: the server does not make changes durable; see ethos doctor");
}

static int pg_open(const struct ethos_setup *setup, struct ethos_store **out_store,
                   struct ethos_error *error)
{
    const struct ethos_host *host = setup->host;
    struct ethos_error why = {0};
    struct pg_store *self = host->resize(host->arg, NULL, sizeof *self);
    if (!self)
        return err_nomem(error);
    *self = (struct pg_store){.store.ops = &pg_store_ops, .host = host};
    int code = pg_settings_read(&self->settings, setup, error);
    const struct pg_settings *settings = &self->settings;
    pg_link_init(&self->link, host, settings, &settings->target);
    pg_link_init(&self->watch.link, host, settings,
                 settings->direct.count > 0 ? &settings->direct : &settings->target);
    self->watch.link.reach.shared = NULL; // maybe another server, and nobody waits for it
    if (code == ETHOS_OK)
        code = pg_link_ready(&self->link, pg_until(reach_call_ms(&settings->reach)), &why);
    if (code != ETHOS_OK && (settings->reach.once || code != ETHOS_BUSY)) {
        if (error && why.code != ETHOS_OK)
            *error = why;
        pg_close(&self->store);
        return code;
    }
    take_capabilities(self);
    log_doubt(self);
    *out_store = &self->store;
    return ETHOS_OK;
}

/* ---- tables ---------------------------------------------------------------------------------- */

const struct ethos_option pg_options[] = {
    {"url", ETHOS_OPTION_STRING, NULL,
     "where the database is: postgresql://user@host:5432/database, or key=value words"},
    {"password", ETHOS_OPTION_SECRET, NULL, "of the user; never in the url"},
    {"schema", ETHOS_OPTION_STRING, "ethos", "what the tables are in; made when it is missing"},
    {"sslmode", ETHOS_OPTION_STRING, NULL,
     "disable, allow, prefer, require, verify-ca or verify-full"},
    {"sslrootcert", ETHOS_OPTION_STRING, NULL, "file with the certificates that are trusted"},
    {"sslcert", ETHOS_OPTION_STRING, NULL, "file with the certificate of the client"},
    {"sslkey", ETHOS_OPTION_STRING, NULL, "file with its key"},
    {"statementTimeoutMs", ETHOS_OPTION_INTEGER, "10000", "what one statement may take, in ms"},
    {"connectTimeoutMs", ETHOS_OPTION_INTEGER, "10000", "what one connection may take, in ms"},
    {"pooled", ETHOS_OPTION_BOOLEAN, NULL,
     "whether a pooler such as pgbouncer stands before the server; found out by default"},
    {"directUrl", ETHOS_OPTION_STRING, NULL, "the server itself behind the pooler, for watching"},
    {"applicationName", ETHOS_OPTION_STRING, NULL, "name of the connection on the server: ethos"},
    {0},
};

const struct ethos_store_ops pg_store_ops = {
    .abi = ETHOS_ABI,
    .name = "postgres",
    .options = pg_options,
    .open = pg_open,
    .close = pg_close,
    .read = pg_read,
    .list = pg_list,
    .check = pg_check,
    .gather = pg_gather,
    .scopes = pg_scopes,
    .watch = pg_store_watch,
    .fetch = pg_fetch,
    .commit = pg_commit,
    .rows = pg_rows,
    .copies = pg_copies,
};

const struct ethos_module ethos_module = {
    .abi = ETHOS_ABI,
    .name = "postgres",
    .store = &pg_store_ops,
    .sessions = &pg_sessions_ops,
};
