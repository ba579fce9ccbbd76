/*
 * naive_postgres.c: a provider as one writes it first: select the text, change it, upsert it.
 *
 * Two that do so at the same time lose what one of them wrote. It is the control of spread.c: the checker
 * must find that. What it leaves out on purpose: replace, remove, history, operation ids (it takes
 * them and does not look), everything that would make it right.
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

#include <ethos/provider.h>

struct naive {
    struct ethos_provider base;
    const struct ethos_host *host;
    PGconn *connection;
};

static int fail(struct ethos_error *error, const char *text)
{
    if (error) {
        error->code = ETHOS_IO;
        snprintf(error->text, sizeof error->text, "naive: %.400s", text);
    }
    return ETHOS_IO;
}

static int run(struct naive *self, const char *sql, const char *key, const char *text,
               PGresult **out_result, struct ethos_error *error)
{
    const char *const values[] = {key, text};
    PGresult *result = PQexecParams(self->connection, sql, key ? (text ? 2 : 1) : 0, NULL, values,
                                    NULL, NULL, 0);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        PQclear(result);
        return fail(error, PQerrorMessage(self->connection));
    }
    if (out_result)
        *out_result = result;
    else
        PQclear(result);
    return ETHOS_OK;
}

static void naive_close(struct ethos_provider *provider)
{
    struct naive *self = (struct naive *)provider;
    PQfinish(self->connection);
    self->host->resize(self->host->arg, self, 0);
}

static int naive_open(const struct ethos_setup *setup, struct ethos_provider **out_provider,
                      struct ethos_error *error)
{
    const char *url = "";
    for (size_t i = 0; i < setup->setting_count; i++)
        if (strcmp(setup->settings[i].name, "url") == 0)
            url = setup->settings[i].value;
    struct naive *self = setup->host->resize(setup->host->arg, NULL, sizeof *self);
    if (!self)
        return fail(error, "no memory");
    *self = (struct naive){
        .base = {.ops = ethos_module.provider, .capabilities = ETHOS_PROVIDER_ONCE},
        .host = setup->host,
        .connection = PQconnectdb(url)};
    int code = run(self,
                   "CREATE TABLE IF NOT EXISTS naive (key text PRIMARY KEY, memory text NOT NULL)",
                   NULL, NULL, NULL, NULL); // two that make it at once: one of them is told so
    *out_provider = &self->base;
    return PQstatus(self->connection) == CONNECTION_OK ? ETHOS_OK
           : code ? fail(error, PQerrorMessage(self->connection))
                  : ETHOS_OK;
}

static int give(const struct naive *self, const PGresult *result, struct ethos_text *out)
{
    size_t size = (size_t)PQgetlength(result, 0, 0);
    char *data = self->host->resize(self->host->arg, out->data, size + 1);
    if (!data)
        return ETHOS_NOMEM;
    memcpy(data, PQgetvalue(result, 0, 0), size + 1);
    *out = (struct ethos_text){
        .data = data, .size = size, .capacity = size + 1, .total = size, .mtime_ms = -1};
    return ETHOS_OK;
}

static int naive_read(struct ethos_provider *provider, const char *scope, const char *key,
                      const struct ethos_read_how *how, struct ethos_text *out_text,
                      struct ethos_error *error)
{
    struct naive *self = (struct naive *)provider;
    PGresult *result;
    (void)key, (void)how;
    int code = run(self, "SELECT memory FROM naive WHERE key = $1", scope, NULL, &result, error);
    if (code != ETHOS_OK)
        return code;
    code = PQntuples(result) == 1 ? give(self, result, out_text) : ETHOS_NOTFOUND;
    PQclear(result);
    return code;
}

static int naive_prefetch(struct ethos_provider *provider, const struct ethos_context *context,
                          const struct ethos_read_how *how, struct ethos_section *sections,
                          size_t count, struct ethos_error *error)
{
    (void)count;
    struct ethos_section *memory = &sections[ETHOS_SECTION_MEMORY];
    memory->code = naive_read(provider, context->memory_scope, "MEMORY.md", how, &memory->text,
                              error);
    return ETHOS_OK;
}

/* The text is read, changed here, and written back, whatever it is by then. */
static int add(struct naive *self, const struct ethos_update *update, struct ethos_error *error)
{
    static const struct ethos_read_how whole;
    const struct ethos_host *host = self->host;
    struct ethos_text old = {0};
    int code = naive_read(&self->base, update->scope, update->key, &whole, &old, error);
    if (code != ETHOS_OK && code != ETHOS_NOTFOUND)
        return code;
    size_t size = old.size + update->text.size + 2;
    char *text = host->resize(host->arg, NULL, size);
    if (text) {
        snprintf(text, size, "%.*s%.*s\n", (int)old.size, old.data ? old.data : "",
                 (int)update->text.size, update->text.data);
        code = run(self,
                   "INSERT INTO naive VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET memory = $2",
                   update->scope, text, NULL, error);
    }
    host->resize(host->arg, text, 0);
    host->resize(host->arg, old.data, 0);
    return code;
}

static int naive_sync(struct ethos_provider *provider, const struct ethos_context *context,
                      const struct ethos_update *updates, size_t count,
                      const struct ethos_sync_how *how, struct ethos_error *error)
{
    int code = ETHOS_OK;
    (void)context;
    for (size_t i = 0; i < count && code == ETHOS_OK; i++) {
        code = updates[i].action == ETHOS_ACTION_ADD
                   ? add((struct naive *)provider, &updates[i], error)
                   : ETHOS_UNSUPPORTED;
        const struct ethos_outcome outcome = {.kind = code ? ETHOS_OUTCOME_FAILED
                                                           : ETHOS_OUTCOME_WRITTEN,
                                              .scope = updates[i].scope,
                                              .key = updates[i].key,
                                              .revision = "absent",
                                              .applied = 1,
                                              .error = code ? error : NULL};
        if (how->each)
            how->each(how->arg, &outcome);
    }
    return code;
}

static const struct ethos_option options[] = {
    {"url", ETHOS_OPTION_STRING, NULL, "of the database"},
    {NULL, ETHOS_OPTION_STRING, NULL, NULL},
};

static const struct ethos_provider_ops provider_ops = {
    .abi = ETHOS_ABI,
    .name = "naive",
    .options = options,
    .open = naive_open,
    .close = naive_close,
    .prefetch = naive_prefetch,
    .sync = naive_sync,
    .read = naive_read,
};

const struct ethos_module ethos_module = {
    .abi = ETHOS_ABI,
    .name = "naive",
    .provider = &provider_ops,
};
