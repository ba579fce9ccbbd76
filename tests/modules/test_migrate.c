/*
 * test_migrate.c: moving memory by the command, between files and servers that run: killed on the way as often
 * as it likes, it goes on, and both sides are the same in the end.
 */
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../support/temp.h"
#include "base/log.h"
#include "base/view.h"
#include "memory/migrate.h"
#include "postgres.h"
#include "redis.h"
#include "store/store.h"

#define SCOPE "personality:p"
#define TREE "memories:personality:p"
#define KILLS 12 /* before it is left alone */

static struct temp temp;
static char program[PATH_MAX];

/* <build>/tests/modules/test_migrate -> <build>/bin/ethos */
static int find_program(void **state)
{
    (void)state;
    char here[PATH_MAX - 64];
    ssize_t size = readlink("/proc/self/exe", here, sizeof here - 1);
    if (size <= 0)
        return -1;
    here[size] = 0;
    for (int i = 0; i < 3; i++)
        *strrchr(here, '/') = 0;
    snprintf(program, sizeof program, "%s/bin/ethos", here);
    return access(program, X_OK);
}

static int make_temp(void **state)
{
    (void)state;
    temp_make(&temp);
    return 0;
}

static int remove_temp(void **state)
{
    (void)state;
    temp_remove(&temp);
    return 0;
}

static struct ethos_store *open_files(const char *root)
{
    const struct ethos_setup setup = {
        .host = &log_default_host, .root = root, .flags = ETHOS_SETUP_FAST, .deadline_ms = 5000};
    struct ethos_store *store = NULL;
    struct ethos_error error = {0};
    assert_int_equal(store_files.open(&setup, &store, &error), ETHOS_OK);
    return store;
}

static void put(struct ethos_store *store, const char *scope, const char *key,
                struct ethos_view text)
{
    const struct ethos_origin origin = {.actor = "owner", .via = "cli", .user = "u"};
    char revision[ETHOS_REVISION_SIZE];
    struct ethos_error error = {0};
    assert_int_equal(store->ops->write(store, scope, key, NULL, text, &origin, revision, &error),
                     ETHOS_OK);
}

static void fill(const char *root)
{
    struct ethos_store *store = open_files(root);
    char text[64], *large = malloc(60000), *at = large;
    for (unsigned i = 0; i < 300; i++) {
        snprintf(text, sizeof text, "entry %u\nof many\n", i);
        put(store, SCOPE, i % 3 ? "MEMORY.md" : "topic.md", view_str(text));
    }
    for (unsigned i = 0; i < 1500; i++)
        at += snprintf(at, 40, "line %u: %u\n", i, i * 7919);
    put(store, SCOPE, "large.md", view_of(large, (size_t)(at - large)));
    put(store, SCOPE, "large.md", view_of(large + 100, (size_t)(at - large) - 100));
    put(store, SCOPE, "binary.md", view_of("a\0\xff\n", 4));
    put(store, SCOPE, "binary.md", view_of("b\0\xfe\n", 4));
    put(store, TREE, "a/b.txt", VIEW("in a tree\n"));
    put(store, "user:u", "USER.md", VIEW("likes tea\n"));
    store->ops->close(store);
    free(large);
}

/* ---- the command ----------------------------------------------------------------------------- */

static pid_t start(const char *home, const char *const *words)
{
    const char *argv[24] = {program, "--home", home, "memory", "migrate", "--quiet"};
    size_t count = 6;
    while (*words)
        argv[count++] = *words++;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (!freopen("/dev/null", "w", stdout))
            _exit(1);
        execv(program, (char *const *)(void *)argv);
        _exit(127);
    }
    return child;
}

/* -1: it was killed. */
static int end(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void move_with_kills(const char *home, const char *const *words)
{
    int code = -1;
    for (unsigned i = 1; code != 0 && i <= KILLS; i++) {
        pid_t child = start(home, words);
        usleep(i * 25000);
        kill(child, SIGKILL);
        code = end(child);
        assert_true(code == 0 || code == -1);
    }
    assert_int_equal(end(start(home, words)), 0);
}

static void expect_same(struct ethos_store *a, struct ethos_store *b)
{
    static const char *const scopes[] = {SCOPE, TREE, "user:u"};
    const struct migrate how = {.host = &log_default_host};
    struct ethos_error error = {0};
    for (size_t i = 0; i < 3; i++) {
        char hash[2][HASH_HEX_SIZE];
        assert_int_equal(migrate_digest(&how, a, scopes[i], hash[0], &error), ETHOS_OK);
        assert_int_equal(migrate_digest(&how, b, scopes[i], hash[1], &error), ETHOS_OK);
        assert_string_equal(hash[0], hash[1]);
    }
}

static void there_and_back(const char *backend, const char *url,
                           int (*open)(const struct ethos_host *, const char *, uint32_t,
                                       struct ethos_store **, struct ethos_error *))
{
    char home[128], back[128], option[256];
    struct ethos_store *server, *files;
    struct ethos_error error = {0};
    snprintf(home, sizeof home, "%s/home", temp.path);
    snprintf(back, sizeof back, "%s/back", temp.path);
    snprintf(option, sizeof option, "url=%s", url);
    const char *const there[] = {"--from",      "markdown", "--to", backend,
                                 "--to-option", option,     NULL};
    const char *const again[] = {"--from",        backend, "--to", "markdown",
                                 "--from-option", option,  NULL};
    fill(home);
    move_with_kills(home, there);
    files = open_files(home);
    assert_int_equal(open(&log_default_host, url, 5000, &server, &error), ETHOS_OK);
    expect_same(files, server);
    files->ops->close(files);
    move_with_kills(back, again);
    files = open_files(back);
    expect_same(server, files);
    files->ops->close(files);
    server->ops->close(server);
}

static void test_files_go_to_postgres_and_back_though_killed(void **state)
{
    (void)state;
    struct pg_server server = {0};
    if (pg_server_missing())
        skip();
    pg_server_start(&server);
    there_and_back("postgres", server.url, pg_open_rows);
    pg_server_stop(&server);
}

static void test_files_go_to_redis_and_back_though_killed(void **state)
{
    (void)state;
    struct redis_server server = {0};
    if (redis_server_missing())
        skip();
    redis_server_start(&server);
    there_and_back("redis", server.url, redis_open_rows);
    redis_server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_files_go_to_redis_and_back_though_killed, make_temp,
                                        remove_temp),
        cmocka_unit_test_setup_teardown(test_files_go_to_postgres_and_back_though_killed, make_temp,
                                        remove_temp),
    };
    return cmocka_run_group_tests(tests, find_program, NULL);
}
