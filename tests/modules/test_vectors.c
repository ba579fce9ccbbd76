/*
 * test_vectors.c: the golden vectors over PostgreSQL, Redis and another server: the same bytes everywhere.
 */
#include "../api/vectors.h"
#include "postgres.h"
#include "redis.h"
#include "remote.h"

#define DEADLINE_MS 20000

static struct pg_server database;
static struct redis_server redis;
static struct remote_server remote;

static int open_postgres(const struct ethos_host *host, struct ethos_store **out_store,
                         struct ethos_error *error)
{
    return pg_open_rows(host, database.url, DEADLINE_MS, out_store, error);
}

static int open_redis(const struct ethos_host *host, struct ethos_store **out_store,
                      struct ethos_error *error)
{
    return redis_open_rows(host, redis.url, DEADLINE_MS, out_store, error);
}

static int open_remote(const struct ethos_host *host, struct ethos_store **out_store,
                       struct ethos_error *error)
{
    return remote_open_at(host, remote.port, remote.key, DEADLINE_MS, out_store, error);
}

static void run(void **state, const struct vectors_subject *subject)
{
    vectors_updates(*state, subject);
    vectors_scopes(*state, subject);
}

static void test_postgres_gives_the_golden_bytes(void **state)
{
    if (!database.pid)
        skip();
    run(state, &(struct vectors_subject){"postgres", open_postgres});
}

static void test_redis_gives_the_golden_bytes(void **state)
{
    if (!redis.pid)
        skip();
    run(state, &(struct vectors_subject){"redis", open_redis});
}

static void test_another_server_gives_the_golden_bytes(void **state)
{
    run(state, &(struct vectors_subject){"remote", open_remote});
}

/* Before a world makes its private place the one for temporary files: servers are somebody else. */
static int start(void **state)
{
    (void)state;
    if (!pg_server_missing())
        pg_server_start(&database);
    if (!redis_server_missing())
        redis_server_start(&redis);
    remote_server_start(&remote);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    if (database.pid)
        pg_server_stop(&database);
    if (redis.pid)
        redis_server_stop(&redis);
    remote_server_stop(&remote);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_postgres_gives_the_golden_bytes),
        WORLD_TEST(test_redis_gives_the_golden_bytes),
        WORLD_TEST(test_another_server_gives_the_golden_bytes),
    };
    return cmocka_run_group_tests_name("modules/vectors", tests, start, stop);
}
