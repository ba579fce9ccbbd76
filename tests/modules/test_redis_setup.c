/*
 * test_redis_setup.c: the Redis store and how a server is found, let in to, and set up: what is
 * promised, and what doctor says.
 */
#include "redis_calls.h"

/* ---- where the server is -------------------------------------------------------------------- */

static int open_code(const char *url, struct ethos_error *error)
{
    const struct ethos_setting settings[] = {{"url", url}, {NULL, NULL}};
    struct ethos_store *store = NULL;
    int code = redis_open(&log_default_host, settings, 200, &store, error);
    if (store)
        store->ops->close(store);
    return code;
}

static void test_a_server_is_reached_by_port_name_and_socket(void **state)
{
    char url[128];
    struct ethos_error error = {0};
    (void)state;
    static const struct {
        const char *host, *database;
    } forms[] = {{"127.0.0.1", ""}, {"127.0.0.1", "/0"}, {"localhost", "/3"}};
    for (size_t i = 0; i < 3; i++) {
        snprintf(url, sizeof url, "redis://%s:%u%s", forms[i].host, server.port, forms[i].database);
        assert_int_equal(open_code(url, &error), ETHOS_OK);
    }
    snprintf(url, sizeof url, "%s?db=15", server.url);
    assert_int_equal(open_code(url, &error), ETHOS_OK);
    snprintf(url, sizeof url, "%s?db=16", server.url);
    assert_int_equal(open_code(url, &error), ETHOS_INVALID);
    assert_non_null(strstr(error.text, "has no database of this number"));
}

static void test_databases_are_separate(void **state)
{
    char url[128];
    struct ethos_store *first = open_whole(), *second = NULL;
    (void)state;
    snprintf(url, sizeof url, "%s?db=1", server.url);
    assert_int_equal(redis_open_rows(&log_default_host, url, DEADLINE_MS, &second, NULL), ETHOS_OK);
    put(first, "a.md", "first");
    assert_int_equal(read_code(second, "a.md"), ETHOS_NOTFOUND);
    first->ops->close(first);
    second->ops->close(second);
}

static void test_a_bad_address_is_refused_by_name(void **state)
{
    static const struct {
        const char *url;
        int code;
        const char *text;
    } bad[] = {
        {"", ETHOS_INVALID, "not the address of a Redis server"},
        {"http://x", ETHOS_INVALID, "not the address of a Redis server"},
        {"redis://", ETHOS_INVALID, "the host is missing"},
        {"redis://:6379", ETHOS_INVALID, "the host is missing"},
        {"redis://x:0", ETHOS_INVALID, "a port is a number"},
        {"redis://x:65536", ETHOS_INVALID, "a port is a number"},
        {"redis://x:6379/mine", ETHOS_INVALID, "the number of a database"},
        {"unix:relative", ETHOS_INVALID, "the path of a socket must be absolute"},
        {"unix:", ETHOS_INVALID, "the path of a socket must be absolute"},
        {"unix:/x?timeout=1", ETHOS_INVALID, "only db= and a number"},
        {"rediss://x:6379", ETHOS_UNSUPPORTED, "TLS"},
        {"redis://me:Hu5h@x", ETHOS_INVALID, "must not contain user and password"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ethos_error error = {0};
        assert_int_equal(open_code(bad[i].url, &error), bad[i].code);
        assert_non_null(strstr(error.text, bad[i].text));
        assert_true(error.hint[0]);
        assert_null(strstr(error.text, "Hu5h"));
    }
}

static void test_other_options_are_checked(void **state)
{
    static const struct ethos_setting bad[][2] = {
        {{"prefix", ""}, {NULL, NULL}},      {{"prefix", "a{b}"}, {NULL, NULL}},
        {{"prefix", "a b"}, {NULL, NULL}},   {{"timeoutMs", "0"}, {NULL, NULL}},
        {{"timeoutMs", "-5"}, {NULL, NULL}}, {{"connectTimeoutMs", "soon"}, {NULL, NULL}},
        {{"user", "without"}, {NULL, NULL}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ethos_store *store = NULL;
        struct ethos_error error = {0};
        assert_int_equal(redis_open(&log_default_host, bad[i], 200, &store, &error), ETHOS_INVALID);
        assert_non_null(strstr(error.text, bad[i][0].name));
    }
}

static void test_nobody_there_is_busy_and_says_where(void **state)
{
    struct ethos_error error = {0};
    (void)state;
    assert_int_equal(open_code("unix:/nowhere/socket", &error), ETHOS_BUSY);
    assert_non_null(strstr(error.text, "/nowhere/socket"));
    assert_non_null(strstr(error.hint, "memory.options.url"));
}

/* ---- passwords and rights ------------------------------------------------------------------- */

static void test_a_password_lets_in_and_is_never_shown(void **state)
{
    struct ethos_store *store = NULL;
    struct ethos_error error = {0};
    (void)state;
    tell("ACL SETUSER limited on >Hu5h ~* &* +@all");
    const struct ethos_setting right[] = {
        {"url", server.url}, {"user", "limited"}, {"password", "Hu5h"}, {NULL, NULL}};
    store = open_store(right);
    store->ops->close(store);
    const struct ethos_setting wrong[] = {
        {"url", server.url}, {"user", "limited"}, {"password", "S3same"}, {NULL, NULL}};
    assert_int_equal(redis_open(&log_default_host, wrong, 200, &store, &error), ETHOS_DENIED);
    assert_null(strstr(error.text, "S3same"));
    assert_non_null(strstr(error.text, "does not know this user"));
    const struct ethos_setting needless[] = {
        {"url", server.url}, {"password", "S3same"}, {NULL, NULL}};
    assert_int_equal(redis_open(&log_default_host, needless, 200, &store, &error), ETHOS_DENIED);
    assert_null(strstr(error.text, "S3same"));
}

static void test_a_server_that_wants_a_password_says_so(void **state)
{
    struct ethos_error error = {0};
    (void)state;
    tell("CONFIG SET requirepass Hu5h");
    assert_int_equal(open_code(server.url, &error), ETHOS_DENIED);
    assert_non_null(strstr(error.text, "requires a password"));
    const struct ethos_setting settings[] = {
        {"url", server.url}, {"password", "Hu5h"}, {NULL, NULL}};
    struct ethos_store *store = open_store(settings);
    store->ops->close(store);
    char reply[64];
    redis_server_say(&server, "AUTH Hu5h\r\nCONFIG SET requirepass \"\"", reply, sizeof reply);
    assert_string_equal(reply, "+OK\r\n+OK\r\n");
}

/* Rights for a part of what a commit does: all of it is refused, and nothing is left half done. */
static void test_a_missing_right_leaves_nothing_half_done(void **state)
{
    static const char *const taken[] = {"-hset", "-zadd", "-xadd",   "-sadd", "-set",
                                        "-hdel", "-zrem", "-rename", "-del"};
    const struct ethos_setting settings[] = {
        {"url", server.url}, {"user", "limited"}, {"password", "Hu5h"}, {NULL, NULL}};
    struct ethos_store *watcher = open_whole();
    (void)state;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        char line[128];
        struct ethos_store *inner, *store = NULL;
        struct ethos_error error = {0};
        struct findings findings;
        snprintf(line, sizeof line, "ACL SETUSER limited reset on >Hu5h ~ethos:* +@all %s",
                 taken[i]);
        tell(line);
        inner = open_store(settings);
        assert_int_equal(store_rows_new(&log_default_host, inner, 1000, &store, &error), ETHOS_OK);
        assert_int_equal(write_text(store, SCOPE, "a.md", VIEW("text"), &error), ETHOS_DENIED);
        assert_int_equal(read_code(watcher, "a.md"), ETHOS_NOTFOUND);
        char reply[64];
        redis_server_say(&server, "DBSIZE", reply, sizeof reply);
        assert_string_equal(reply, ":0\r\n");
        look(store, &findings);
        store->ops->close(store);
    }
    watcher->ops->close(watcher);
}

static void test_doctor_names_missing_rights(void **state)
{
    const struct ethos_setting settings[] = {
        {"url", server.url}, {"user", "limited"}, {"password", "Hu5h"}, {NULL, NULL}};
    struct findings findings;
    (void)state;
    tell("ACL SETUSER limited reset on >Hu5h ~ethos:* +@read +@connection +@transaction +info");
    struct ethos_store *store = open_store(settings);
    assert_false(store->capabilities & ETHOS_STORE_DURABLE);
    look(store, &findings);
    assert_non_null(strstr(findings.text,
                           "this user may not use EVAL, EVALSHA, XADD, SET, DEL, HDEL, "
                           "ZREM on keys of ethos:"));
    assert_non_null(strstr(findings.text, "ACL SETUSER limited ~ethos:* "));
    assert_null(strstr(findings.text, "STRLEN"));
    assert_non_null(strstr(findings.text, "+config|get"));
    assert_null(strstr(findings.text, "Hu5h"));
    store->ops->close(store);
}

static void test_keys_of_others_are_denied_in_a_script_as_well(void **state)
{
    const struct ethos_setting settings[] = {
        {"url", server.url}, {"user", "limited"}, {"password", "Hu5h"}, {NULL, NULL}};
    struct ethos_error error = {0};
    struct ethos_text text = {0};
    (void)state;
    tell("ACL SETUSER limited reset on >Hu5h ~other:* +@all");
    struct ethos_store *store = open_store(settings);
    assert_int_equal(
        store->ops->read(store, SCOPE, "a.md", &(struct ethos_read_how){0}, &text, &error),
        ETHOS_DENIED);
    assert_non_null(strstr(error.hint, "ACL SETUSER limited ~ethos:* "));
    store->ops->close(store);
}

static void test_a_command_that_was_renamed_is_named(void **state)
{
    struct redis_server renamed = {.options = {"--rename-command", "EVALSHA", "mine", NULL}};
    struct findings findings;
    struct ethos_error error = {0};
    struct ethos_text text = {0};
    (void)state;
    redis_server_start(&renamed);
    const struct ethos_setting settings[] = {{"url", renamed.url}, {NULL, NULL}};
    struct ethos_store *store = open_store(settings);
    assert_int_equal(
        store->ops->read(store, SCOPE, "a.md", &(struct ethos_read_how){0}, &text, &error),
        ETHOS_UNSUPPORTED);
    assert_non_null(strstr(error.hint, "rename-command"));
    look(store, &findings);
    assert_non_null(strstr(findings.text, "it has no EVALSHA, which a store needs"));
    store->ops->close(store);
    redis_server_stop(&renamed);
}

/* What doctor tells to do is enough for everything. */
static void test_the_rights_that_doctor_names_are_enough(void **state)
{
    const struct ethos_setting settings[] = {
        {"url", server.url}, {"user", "limited"}, {"password", "Hu5h"}, {NULL, NULL}};
    struct findings findings;
    struct ethos_error error = {0};
    struct ethos_purge purge;
    char line[512];
    int fd;
    unsigned wait_ms;
    (void)state;
    tell("ACL SETUSER limited reset on >Hu5h +@connection +info");
    struct ethos_store *store = open_store(settings);
    look(store, &findings);
    store->ops->close(store);
    const char *start = strstr(findings.text, "ACL SETUSER limited");
    assert_non_null(start);
    snprintf(line, sizeof line, "%.*s", (int)strcspn(start, "\n"), start);
    tell(line);
    store = open_store(settings);
    assert_true(store->capabilities & ETHOS_STORE_DURABLE);
    assert_int_equal(store->ops->watch(store, NULL, NULL, &fd, &wait_ms, &error), ETHOS_OK);
    assert_int_equal(store_rows_new(&log_default_host, store, 1000, &store, &error), ETHOS_OK);
    put(store, "a.md", "text\n");
    assert_text(store, "a.md", VIEW("text\n"));
    assert_int_equal(store->ops->purge(store, SCOPE,
                                       &(struct ethos_match){.text = VIEW("text"),
                                                             .flags = ETHOS_MATCH_SUBSTRING},
                                       0, NULL, &purge, &error),
                     ETHOS_OK);
    look(store, &findings);
    assert_string_equal(findings.text, "");
    store->ops->close(store);
}

/* ---- promises ------------------------------------------------------------------------------- */

static void test_durable_is_announced_only_when_the_server_is_set_up_so(void **state)
{
    static const struct {
        const char *setting;
        const char *remedy;
    } others[] = {
        {"CONFIG SET appendonly no", "appendonly yes"},
        {"CONFIG SET appendfsync everysec", "appendfsync always"},
        {"CONFIG SET no-appendfsync-on-rewrite yes", "no-appendfsync-on-rewrite no"},
        {"CONFIG SET maxmemory 1gb maxmemory-policy allkeys-lru", "maxmemory-policy noeviction"},
    };
    struct findings findings;
    struct ethos_store *store = open_plain();
    assert_true(store->capabilities & ETHOS_STORE_DURABLE);
    look(store, &findings);
    assert_string_equal(findings.text, "");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        tell(others[i].setting);
        struct ethos_store *other = open_plain();
        assert_false(other->capabilities & ETHOS_STORE_DURABLE);
        look(other, &findings);
        assert_int_equal(findings.count, 1);
        assert_non_null(strstr(findings.text, others[i].remedy));
        look(store, &findings); // and by who was there before
        assert_int_equal(findings.count, 1);
        other->ops->close(other);
        empty_server(state);
    }
    store->ops->close(store);
    tell("CONFIG SET maxmemory 1gb");
    store = open_plain();
    assert_true(store->capabilities & ETHOS_STORE_DURABLE);
    store->ops->close(store);
}

static void test_a_replica_takes_no_writes_and_a_primary_with_one_is_reported(void **state)
{
    char port[16];
    struct redis_server replica = {.options = {"--replicaof", "127.0.0.1", port}};
    struct findings findings;
    struct ethos_error error = {0};
    struct ethos_store *store = open_whole(), *other = NULL;
    (void)state;
    snprintf(port, sizeof port, "%u", server.port);
    put(store, "a.md", "text");
    redis_server_start(&replica);
    assert_int_equal(redis_open_rows(&log_default_host, replica.url, DEADLINE_MS, &other, &error),
                     ETHOS_OK);
    assert_false(other->capabilities & ETHOS_STORE_DURABLE);
    for (int i = 0; i < 1000 && read_code(other, "a.md") != ETHOS_OK; i++)
        os_sleep_ms(10);
    assert_text(other, "a.md", VIEW("text"));
    assert_int_equal(write_text(other, SCOPE, "a.md", VIEW("other"), &error), ETHOS_BUSY);
    assert_non_null(strstr(error.text, "is a replica"));
    look(other, &findings);
    assert_non_null(strstr(findings.text, "names the primary"));
    look(store, &findings);
    assert_non_null(strstr(findings.text, "a failover may lose"));
    other->ops->close(other);
    redis_server_stop(&replica);
    store->ops->close(store);
}

static void test_a_cluster_is_refused(void **state)
{
    char port[16];
    struct redis_server cluster = {.options = {"--cluster-enabled", "yes", "--cluster-port", port}};
    struct ethos_error error = {0};
    (void)state;
    snprintf(port, sizeof port, "%u", redis_free_port());
    redis_server_start(&cluster);
    assert_int_equal(open_code(cluster.url, &error), ETHOS_UNSUPPORTED);
    assert_non_null(strstr(error.text, "cluster mode"));
    redis_server_stop(&cluster);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(test_a_server_is_reached_by_port_name_and_socket, empty_server),
    cmocka_unit_test_setup(test_databases_are_separate, empty_server),
    cmocka_unit_test_setup(test_a_bad_address_is_refused_by_name, empty_server),
    cmocka_unit_test_setup(test_other_options_are_checked, empty_server),
    cmocka_unit_test_setup(test_nobody_there_is_busy_and_says_where, empty_server),
    cmocka_unit_test_setup(test_a_password_lets_in_and_is_never_shown, empty_server),
    cmocka_unit_test_setup(test_a_server_that_wants_a_password_says_so, empty_server),
    cmocka_unit_test_setup(test_a_missing_right_leaves_nothing_half_done, empty_server),
    cmocka_unit_test_setup(test_doctor_names_missing_rights, empty_server),
    cmocka_unit_test_setup(test_keys_of_others_are_denied_in_a_script_as_well, empty_server),
    cmocka_unit_test_setup(test_a_command_that_was_renamed_is_named, empty_server),
    cmocka_unit_test_setup(test_the_rights_that_doctor_names_are_enough, empty_server),
    cmocka_unit_test_setup(test_durable_is_announced_only_when_the_server_is_set_up_so,
                           empty_server),
    cmocka_unit_test_setup(test_a_replica_takes_no_writes_and_a_primary_with_one_is_reported,
                           empty_server),
    cmocka_unit_test_setup(test_a_cluster_is_refused, empty_server),
};

int main(void)
{
    const char *missing = redis_server_missing();
    if (missing) {
        printf("ok 1 - redis # SKIP %s\n1..1\n", missing);
        return 0;
    }
    redis_server_start(&server);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    redis_server_stop(&server);
    return failed;
}
