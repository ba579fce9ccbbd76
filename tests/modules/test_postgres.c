/*
 * test_postgres.c: the PostgreSQL store against a real server: the suite of all stores, directly and behind
 * pgbouncer in transaction mode.
 */
#include <stdio.h>

#include "conformance/conformance.h"
#include "postgres.h"
#include "store/store.h"

#define DEADLINE_MS 20000

static struct pg_server server;
static char pooled_url[128];

static int open_direct(const struct ethos_host *host, struct ethos_store **out_store,
                       struct ethos_error *error)
{
    return pg_open_rows(host, server.url, DEADLINE_MS, out_store, error);
}

/* As intended: changes are watched without the pooler. */
static int open_pooled(const struct ethos_host *host, struct ethos_store **out_store,
                       struct ethos_error *error)
{
    const struct ethos_setting settings[] = {
        {"url", pooled_url}, {"directUrl", server.url}, {NULL, NULL}};
    struct ethos_store *inner;
    int code = pg_open_with(host, settings, DEADLINE_MS, &inner, error);
    return code ? code : store_rows_new(host, inner, DEADLINE_MS, out_store, error);
}

int main(void)
{
    static const struct conformance_subject subjects[] = {
        {.name = "postgres", .open = open_direct},
        {.name = "postgres behind pgbouncer", .open = open_pooled},
    };
    const char *missing = pg_server_missing();
    if (missing) {
        printf("1..0 # SKIP %s\n", missing);
        return 0;
    }
    pg_server_start(&server);
    int failed = conformance_run(&subjects[0]);
    missing = pg_pooler_missing();
    if (missing) {
        printf("ok # SKIP %s\n", missing);
    } else {
        pg_server_say(&server, "DROP SCHEMA ethos CASCADE", NULL, 0);
        pg_pooler_start(&server);
        snprintf(pooled_url, sizeof pooled_url,
                 "postgresql://owner@127.0.0.1:%u/postgres?sslmode=disable", server.pooler_port);
        failed += conformance_run(&subjects[1]);
    }
    pg_server_stop(&server);
    return failed;
}
