/*
 * test_postgres_open.c: how the PostgreSQL store is opened: options, secrets, rights, its schema, and what
 * it tells doctor.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "../store/forgetting.h"
#include "base/hash.h"
#include "base/system/os.h"
#include "postgres_calls.h"

#define BRIEF_MS 300   /* for what is not to be had */
#define ANSWER_MS 5000 /* for what a server refuses, which a busy one does late */
#define WRONG "wrong-battery-9"

static struct pg_server server;
static char guarded_url[128];

static int begin(void **state)
{
    (void)state;
    return pg_server_say(&server,
                         "DROP SCHEMA IF EXISTS ethos CASCADE; DROP SCHEMA IF EXISTS other CASCADE;"
                         " REVOKE ALL ON DATABASE postgres FROM guarded",
                         NULL, 0)
               ? 0
               : -1;
}

static void say(const char *sql)
{
    if (!pg_server_say(&server, sql, NULL, 0))
        fail_msg("%s", sql);
}

/* Opens with these; the error's text and hint hold no password, whatever comes of it. */
static int try_open_within(uint32_t ms, const struct ethos_setting *settings,
                           struct ethos_store **out, struct ethos_error *error)
{
    *error = (struct ethos_error){0};
    int code = pg_open_with(&log_default_host, settings, ms, out, error);
    for (int i = 0; i < 2; i++) {
        const char *secret = i ? WRONG : PG_SERVER_PASSWORD;
        assert_null(strstr(error->text, secret));
        assert_null(strstr(error->hint, secret));
    }
    return code;
}

static int try_open(const struct ethos_setting *settings, struct ethos_store **out,
                    struct ethos_error *error)
{
    return try_open_within(DEADLINE_MS, settings, out, error);
}

static void refuses(int code, const char *says, const char *name, const char *value)
{
    const struct ethos_setting settings[] = {
        {"url", server.url}, {"password", WRONG}, {name, value}, {NULL, NULL}};
    struct ethos_store *store = NULL;
    struct ethos_error error;
    int got = try_open(settings, &store, &error);
    if (got != code || !strstr(error.text, says))
        fail_msg("%s=%s: %d, %s", name, value, got, error.text);
    assert_null(store);
}

/* ---- options --------------------------------------------------------------------------------- */

static void test_a_bad_option_is_named(void **state)
{
    static const char *const schemas[] = {
        "",          "pg_ethos",
        "9lives",    "Ethos",
        "a-b",       "a\"b",
        "a; DROP x", "a.b",
        "\xc3\xa4",  "a_name_of_more_than_forty_eight_letters_is_too_long"};
    (void)state;
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++)
        refuses(ETHOS_INVALID, "memory.options.schema", "schema", schemas[i]);
    refuses(ETHOS_INVALID, "memory.options.sslmode", "sslmode", "maybe");
    refuses(ETHOS_INVALID, "memory.options.statementTimeoutMs", "statementTimeoutMs", "0");
    refuses(ETHOS_INVALID, "memory.options.connectTimeoutMs", "connectTimeoutMs", "99999999");
    refuses(ETHOS_INVALID, "memory.options.url: not set", "url", "");
    refuses(ETHOS_INVALID, "memory.options.directUrl", "directUrl", "not a string");
}

static void test_a_password_in_the_url_is_refused_and_not_shown(void **state)
{
    static const char *const urls[] = {
        "postgresql://owner:" WRONG "@127.0.0.1/postgres",
        "host=127.0.0.1 password=" WRONG,
        "host=127.0.0.1 password='" WRONG,
        "postgresql://owner:" WRONG "%zz@127.0.0.1/postgres",
        "postgresql://owner:" WRONG "@127.0.0.1/postgres?nonsense=" WRONG,
        "password " WRONG " host=127.0.0.1",
        "host=127.0.0.1 sslpassword=" WRONG,
        "postgresql://owner@[" WRONG "/postgres",
    };
    (void)state;
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        refuses(ETHOS_INVALID, "memory.options.url", "url", urls[i]);
}

static void test_a_password_lets_in_and_is_never_shown(void **state)
{
    const struct ethos_setting right[] = {
        {"url", guarded_url}, {"password", PG_SERVER_PASSWORD}, {"schema", "other"}, {NULL, NULL}};
    const struct ethos_setting wrong[] = {{"url", guarded_url}, {"password", WRONG}, {NULL, NULL}};
    const struct ethos_setting none[] = {{"url", guarded_url}, {NULL, NULL}};
    struct ethos_store *store;
    struct ethos_error error;
    (void)state;
    assert_int_equal(try_open(wrong, &store, &error), ETHOS_DENIED);
    assert_non_null(strstr(error.text, "password authentication failed"));
    assert_int_equal(try_open(none, &store, &error), ETHOS_DENIED);
    assert_non_null(strstr(error.hint, "passwordFile"));
    say("CREATE SCHEMA other AUTHORIZATION guarded");
    assert_int_equal(try_open(right, &store, &error), ETHOS_OK);
    close_store(store);
}

/* A server may be told anything, and says it again. */
static void test_a_password_that_an_error_quotes_is_not_shown(void **state)
{
    char url[192];
    (void)state;
    snprintf(url, sizeof url, "host=%s port=%u user=owner dbname=" WRONG, server.temp.path,
             server.port);
    refuses(ETHOS_INVALID, "postgres: ", "url", url);
    snprintf(url, sizeof url, "host=%s port=%u dbname=postgres user=" WRONG, server.temp.path,
             server.port);
    refuses(ETHOS_DENIED, "postgres: ", "url", url);
}

/* ---- reaching the server --------------------------------------------------------------------- */

static void test_a_database_that_is_missing_is_named(void **state)
{
    char url[192];
    (void)state;
    snprintf(url, sizeof url, "host=%s port=%u user=owner dbname=nowhere", server.temp.path,
             server.port);
    refuses(ETHOS_INVALID, "nowhere", "url", url);
}

static void test_a_server_that_needs_tls_or_has_none_is_told(void **state)
{
    char url[192];
    (void)state;
    snprintf(url, sizeof url, "host=127.0.0.1 port=%u user=owner dbname=postgres sslmode=require",
             server.port);
    refuses(ETHOS_DENIED, "SSL", "url", url);
}

struct findings {
    unsigned count;
    char all[2048];
};

static void collect(void *arg, const struct ethos_finding *finding)
{
    struct findings *found = arg;
    size_t used = strlen(found->all);
    assert_true(finding->remedy && *finding->remedy);
    snprintf(found->all + used, sizeof found->all - used, "%s: %s (%s)\n", finding->subject,
             finding->problem, finding->remedy);
    found->count++;
}

static struct findings check(struct ethos_store *store)
{
    struct findings found = {0};
    struct ethos_error error = {0};
    assert_int_equal(store->ops->check(store, 0, collect, &found, &error), ETHOS_OK);
    return found;
}

static void test_a_server_that_is_away_lets_open_but_nothing_else(void **state)
{
    static const struct ethos_setting settings[] = {
        {"url", "host=127.0.0.1 port=1 user=owner dbname=postgres"}, {NULL, NULL}};
    static const struct ethos_read_how whole = {0};
    struct ethos_store *store;
    struct ethos_error error;
    struct ethos_text text = {0};
    (void)state;
    assert_int_equal(try_open_within(BRIEF_MS, settings, &store, &error), ETHOS_OK);
    assert_int_equal(store->capabilities & ETHOS_STORE_DURABLE, 0);
    for (int i = 0; i < 2; i++) { // the second time it is tried again
        assert_int_equal(store->ops->read(store, SCOPE, "a.md", &whole, &text, &error), ETHOS_BUSY);
        assert_non_null(strstr(error.text, "refused"));
    }
    struct findings found = {0};
    assert_int_equal(store->ops->check(store, 0, collect, &found, &error), ETHOS_BUSY);
    assert_non_null(strstr(error.text, "refused"));
    close_store(store);
}

static void test_the_port_of_a_service_file_is_that_of_every_host(void **state)
{
    static const struct ethos_setting settings[] = {
        {"url", "host=127.0.0.1,127.0.0.1 service=here user=owner dbname=postgres"}, {NULL, NULL}};
    static const struct ethos_read_how whole = {0};
    char path[] = "/tmp/ethos-service-XXXXXX";
    struct ethos_store *store;
    struct ethos_error error;
    struct ethos_text text = {0};
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, "[here]\nport=1\n", 14) == 14 && close(fd) == 0);
    assert_int_equal(setenv("PGSERVICEFILE", path, 1), 0);
    assert_int_equal(try_open_within(BRIEF_MS, settings, &store, &error), ETHOS_OK);
    assert_int_equal(store->ops->read(store, SCOPE, "a.md", &whole, &text, &error), ETHOS_BUSY);
    assert_non_null(strstr(error.text, "port 1 "));
    close_store(store);
    assert_int_equal(unsetenv("PGSERVICEFILE"), 0);
    assert_int_equal(unlink(path), 0);
}

static void test_a_role_that_has_too_many_connections_is_busy(void **state)
{
    char url[192];
    struct ethos_store *store;
    struct ethos_error error;
    static const struct ethos_read_how whole = {0};
    struct ethos_text text = {0};
    (void)state;
    say("CREATE ROLE crowded LOGIN CONNECTION LIMIT 0");
    snprintf(url, sizeof url, "host=%s port=%u user=crowded dbname=postgres", server.temp.path,
             server.port);
    const struct ethos_setting settings[] = {{"url", url}, {NULL, NULL}};
    assert_int_equal(try_open_within(ANSWER_MS, settings, &store, &error), ETHOS_OK);
    assert_int_equal(store->ops->read(store, SCOPE, "a.md", &whole, &text, &error), ETHOS_BUSY);
    assert_non_null(strstr(error.text, "too many connections"));
    assert_non_null(strstr(error.hint, "max_connections"));
    close_store(store);
    say("DROP ROLE crowded");
}

/* ---- rights ---------------------------------------------------------------------------------- */

static void test_a_role_without_rights_is_told_which(void **state)
{
    const struct ethos_setting settings[] = {
        {"url", guarded_url}, {"password", PG_SERVER_PASSWORD}, {NULL, NULL}};
    struct ethos_store *store;
    struct ethos_error error;
    (void)state;
    assert_int_equal(try_open(settings, &store, &error), ETHOS_DENIED); // no schema
    assert_non_null(strstr(error.text, "guarded"));
    assert_non_null(strstr(error.hint, "GRANT CREATE ON DATABASE"));
    close_store(open_inner(server.url, DEADLINE_MS));
    assert_int_equal(try_open(settings, &store, &error), ETHOS_DENIED); // the owner's
    assert_non_null(strstr(error.text, "guarded"));
    assert_non_null(strstr(error.hint, "GRANT USAGE ON SCHEMA ethos TO guarded"));
    say("GRANT USAGE ON SCHEMA ethos TO guarded; GRANT SELECT ON ALL TABLES IN SCHEMA ethos TO"
        " guarded");
    assert_int_equal(try_open(settings, &store, &error), ETHOS_OK); // may read
    assert_int_equal(version_of(store, SCOPE), 0);
    assert_int_equal(
        commit_small(store, &(struct small_commit){"a.md", "x", "t", 0, false}, &error),
        ETHOS_DENIED);
    assert_non_null(strstr(error.hint, "INSERT"));
    assert_non_null(strstr(check(store).all, "postgres rights: "));
    say("GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ethos TO guarded");
    assert_int_equal(
        commit_small(store, &(struct small_commit){"a.md", "x", "t", 0, false}, &error), ETHOS_OK);
    assert_null(strstr(check(store).all, "postgres rights: "));
    close_store(store);
}

static void test_a_server_that_is_read_only_is_told(void **state)
{
    struct ethos_error error = {0};
    (void)state;
    close_store(open_inner(server.url, DEADLINE_MS));
    say("ALTER ROLE owner SET default_transaction_read_only = on");
    struct ethos_store *store = open_inner(server.url, DEADLINE_MS);
    assert_int_equal(version_of(store, SCOPE), 0);
    assert_int_equal(
        commit_small(store, &(struct small_commit){"a.md", "x", "t", 0, false}, &error),
        ETHOS_BUSY);
    assert_non_null(strstr(error.hint, "primary"));
    assert_non_null(strstr(check(store).all, "read-only"));
    close_store(store);
    say("BEGIN READ WRITE; ALTER ROLE owner RESET ALL; COMMIT");
}

/* It is there, and says so: nobody waits for it until a deadline, which no test would live to see. */
static void test_a_read_only_server_without_the_schema_is_told_at_once(void **state)
{
    const struct ethos_setting settings[] = {
        {"url", server.url}, {"schema", "never_made"}, {NULL, NULL}};
    struct ethos_store *store = NULL;
    struct ethos_error error = {0};
    struct ethos_text text = {0};
    (void)state;
    say("ALTER ROLE owner SET default_transaction_read_only = on");
    int code = pg_open_with(&log_default_host, settings, 3600000, &store, &error);
    if (code == ETHOS_OK) {
        code = store->ops->read(store, SCOPE, "a.md", &(struct ethos_read_how){0}, &text, &error);
        close_store(store);
    }
    say("BEGIN READ WRITE; ALTER ROLE owner RESET ALL; COMMIT");
    assert_int_equal(code, ETHOS_BUSY);
    assert_non_null(strstr(error.hint, "primary"));
}

/* ---- the schema ------------------------------------------------------------------------------ */

static void test_eight_processes_make_one_schema(void **state)
{
    pid_t pids[8];
    (void)state;
    for (size_t i = 0; i < 8; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            struct ethos_error error = {0};
            struct ethos_store *store = open_whole(server.url, DEADLINE_MS);
            char key[16];
            snprintf(key, sizeof key, "k%zu.md", i);
            int code = write_text(store, key, "x", &error);
            close_store(store);
            _exit(code == ETHOS_OK ? 0 : 1);
        }
    }
    for (size_t i = 0; i < 8; i++) {
        int status;
        waitpid(pids[i], &status, 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(pg_server_ask(&server, "SELECT count(*) FROM ethos.schema_version"), 1);
    assert_int_equal(pg_server_ask(&server, "SELECT count(*) FROM ethos.text"), 8);
}

/* A connection that a pooler kept knows by heart what there was; one that waited had seen no schema. */
static void test_a_schema_that_was_made_while_one_waited_is_found(void **state)
{
    struct ethos_error error = {0};
    char sql[200], url[128];
    (void)state;
    if (pg_pooler_missing())
        skip();
    pg_pooler_start(&server);
    snprintf(url, sizeof url, "postgresql://owner@127.0.0.1:%u/postgres?sslmode=disable",
             server.pooler_port);
    close_store(open_whole(url, DEADLINE_MS));
    say("DROP SCHEMA ethos CASCADE");
    snprintf(sql, sizeof sql,
             "BEGIN; SELECT pg_advisory_xact_lock(%d, %d); SELECT pg_sleep(0.5);"
             "CREATE SCHEMA ethos; COMMIT",
             0x6574686f, (int)hash_crc32c(VIEW("ethos")));
    pid_t first = fork();
    if (first == 0)
        _exit(!pg_server_say(&server, sql, NULL, 0));
    while (pg_server_ask(&server, "SELECT count(*) FROM pg_stat_activity"
                                  " WHERE wait_event = 'PgSleep'") == 0)
        os_sleep_ms(10);
    struct ethos_store *store = open_whole(url, DEADLINE_MS);
    assert_int_equal(write_text(store, "a.md", "x", &error), ETHOS_OK);
    close_store(store);
    waitpid(first, NULL, 0);
}

static void test_a_schema_of_a_newer_version_is_refused(void **state)
{
    (void)state;
    close_store(open_inner(server.url, DEADLINE_MS));
    say("UPDATE ethos.schema_version SET version = 1000");
    refuses(ETHOS_UNSUPPORTED, "schema ethos has version 1000", "schema", "ethos");
    say("DROP VIEW ethos.memory; DROP TABLE ethos.text"); // of which nothing may be left
    refuses(ETHOS_UNSUPPORTED, "schema ethos has version 1000", "schema", "ethos");
}

static void test_a_database_of_another_encoding_is_refused(void **state)
{
    char url[192];
    (void)state;
    say("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0");
    snprintf(url, sizeof url, "host=%s port=%u user=owner dbname=latin", server.temp.path,
             server.port);
    refuses(ETHOS_UNSUPPORTED, "LATIN1", "url", url);
    say("DROP DATABASE latin");
}

static void test_schemas_are_separate(void **state)
{
    const struct ethos_setting settings[] = {
        {"url", server.url}, {"schema", "other"}, {NULL, NULL}};
    struct ethos_store *one = open_inner(server.url, DEADLINE_MS), *two;
    struct ethos_error error;
    (void)state;
    assert_int_equal(try_open(settings, &two, &error), ETHOS_OK);
    assert_int_equal(commit_small(one, &(struct small_commit){"a.md", "x", "t", 0, false}, &error),
                     ETHOS_OK);
    assert_int_equal(version_of(two, SCOPE), 0);
    close_store(one);
    close_store(two);
}

static int note_key(void *arg, const struct ethos_entry *entry)
{
    size_t used = strlen(arg);
    snprintf((char *)arg + used, 64 - used, "%s ", entry->key);
    return 0;
}

static void drop_schema(const char *name)
{
    char sql[128];
    snprintf(sql, sizeof sql, "DROP SCHEMA IF EXISTS \"%s\" CASCADE", name);
    say(sql);
}

/* Words of SQL are names like others. */
static void test_any_name_of_a_schema_will_do(void **state)
{
    static const char *const names[] = {"user", "select", "_",
                                        "a23456789_123456789_123456789_123456789_12345678"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct ethos_setting settings[] = {
            {"url", server.url}, {"schema", names[i]}, {NULL, NULL}};
        struct ethos_store *store;
        struct ethos_error error = {0};
        drop_schema(names[i]);
        if (try_open(settings, &store, &error) != ETHOS_OK)
            fail_msg("%s: %s", names[i], error.text);
        assert_int_equal(
            commit_small(store, &(struct small_commit){"a.md", "x", "t", 0, false}, &error),
            ETHOS_OK);
        assert_holds(store, "a.md", "x");
        assert_int_equal(check(store).count, 0);
        close_store(store);
        drop_schema(names[i]);
    }
    refuses(ETHOS_INVALID, "is not a valid schema name", "schema", "information_schema");
}

/* Whatever is set for a database, its texts are the same bytes. */
static void test_settings_of_a_database_do_not_matter(void **state)
{
    static const char *const settings[] = {"search_path = 'nowhere'",
                                           "bytea_output = 'escape'",
                                           "standard_conforming_strings = off",
                                           "backslash_quote = on",
                                           "datestyle = 'German'",
                                           "timezone = 'Asia/Kolkata'",
                                           "extra_float_digits = -15",
                                           "default_transaction_isolation = 'serializable'",
                                           "default_toast_compression = 'pglz'",
                                           "client_encoding = 'LATIN1'",
                                           "quote_all_identifiers = on",
                                           "plan_cache_mode = 'force_custom_plan'",
                                           "enable_indexscan = off",
                                           "jit_above_cost = 0"};
    static const struct ethos_view text = VIEW("gr\xc3\xbc\xc3\x9f \\x00 '' \0 \xff");
    struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    struct ethos_text read = {0};
    struct ethos_error error = {0};
    char sql[192], url[192], revision[ETHOS_REVISION_SIZE];
    (void)state;
    say("CREATE DATABASE odd TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'de-DE'");
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        snprintf(sql, sizeof sql, "ALTER DATABASE odd SET %s", settings[i]);
        say(sql);
    }
    snprintf(url, sizeof url, "host=%s port=%u user=owner dbname=odd", server.temp.path,
             server.port);
    struct ethos_store *store = open_whole(url, DEADLINE_MS);
    static const char *const keys[] = {"Z.md", "a.md", "\xc3\xa4.md", "_.md"};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(
            store->ops->write(store, SCOPE, keys[i], NULL, text, NULL, revision, &error), ETHOS_OK);
    assert_int_equal(store->ops->read(store, SCOPE, keys[2], &whole, &read, &error), ETHOS_OK);
    assert_int_equal(read.size, text.size);
    assert_memory_equal(read.data, text.data, text.size);
    assert_string_equal(read.revision, revision);
    char listed[64] = "";
    assert_int_equal(store->ops->list(store, SCOPE, note_key, listed, &error), ETHOS_OK);
    assert_string_equal(listed, "Z.md _.md a.md \xc3\xa4.md ");
    free(read.data);
    close_store(store);
    say("DROP DATABASE odd");
}

/* ---- durability ------------------------------------------------------------------------------ */

static void reload(const char *sql)
{
    say(sql);
    say("SELECT pg_reload_conf()");
    say("SELECT pg_sleep(0.2)");
}

static void test_a_server_without_fsync_is_not_durable_and_doctor_says_so(void **state)
{
    struct ethos_store *store = open_inner(server.url, DEADLINE_MS);
    (void)state;
    assert_true(store->capabilities & ETHOS_STORE_DURABLE);
    assert_int_equal(check(store).count, 0);
    close_store(store);
    reload("ALTER SYSTEM SET fsync = off");
    say("ALTER SYSTEM SET full_page_writes = off");
    reload("SELECT 1");
    store = open_inner(server.url, DEADLINE_MS);
    assert_false(store->capabilities & ETHOS_STORE_DURABLE);
    struct findings found = check(store);
    assert_non_null(strstr(found.all, "fsync is off"));
    assert_non_null(strstr(found.all, "full_page_writes is off"));
    close_store(store);
    reload("ALTER SYSTEM RESET ALL");
}

static void test_a_commit_waits_for_the_disk_whatever_is_set(void **state)
{
    struct ethos_error error = {0};
    char seen[32];
    (void)state;
    close_store(open_inner(server.url, DEADLINE_MS));
    say("CREATE TABLE ethos.seen (value text);"
        "CREATE FUNCTION ethos.look() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO"
        " ethos.seen VALUES (current_setting(''synchronous_commit'')); RETURN NULL; END';"
        "CREATE CONSTRAINT TRIGGER look AFTER INSERT ON ethos.text INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION ethos.look();"
        "ALTER ROLE owner SET synchronous_commit = off");
    struct ethos_store *store = open_inner(server.url, DEADLINE_MS);
    assert_true(store->capabilities & ETHOS_STORE_DURABLE);
    assert_int_equal(
        commit_small(store, &(struct small_commit){"a.md", "x", "t", 0, false}, &error), ETHOS_OK);
    assert_true(pg_server_say(&server, "SELECT value FROM ethos.seen", seen, sizeof seen));
    assert_string_equal(seen, "on\n");
    close_store(store);
    say("ALTER ROLE owner RESET ALL");
}

static int64_t late(void *arg)
{
    return log_default_host.now_ms(arg) - 5000;
}

static void test_clocks_that_differ_are_told(void **state)
{
    const struct ethos_setting settings[] = {{"url", server.url}, {NULL, NULL}};
    struct ethos_host host = log_default_host;
    struct ethos_store *store;
    struct ethos_error error = {0};
    (void)state;
    host.now_ms = late;
    assert_int_equal(pg_open_with(&host, settings, DEADLINE_MS, &store, &error), ETHOS_OK);
    assert_non_null(strstr(check(store).all, "s ahead of this machine's"));
    close_store(store);
}

/* ---- what is kept ---------------------------------------------------------------------------- */

static void test_hostile_names_are_names(void **state)
{
    static const char *const keys[] = {"a'; DROP TABLE ethos.text; --.md",
                                       "\"quoted\".md",
                                       "$1 %s \\x00 \\.md",
                                       "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80.md",
                                       "a,b}{NULL.md",
                                       "(a,\"b\").md",
                                       " .md"};
    struct ethos_store *store = open_inner(server.url, DEADLINE_MS);
    struct ethos_error error = {0};
    uint64_t version = 0;
    char longest[ETHOS_MAX_KEY + 1], bad[] = "\xff\xfe.md";
    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        assert_int_equal(
            commit_small(store, &(struct small_commit){keys[i], keys[i], "'$1\"", version++, false},
                         &error),
            ETHOS_OK);
    }
    memset(longest, 'x', ETHOS_MAX_KEY);
    longest[ETHOS_MAX_KEY] = 0;
    assert_int_equal(
        commit_small(store, &(struct small_commit){longest, "long", "t", version++, false}, &error),
        ETHOS_OK);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_holds(store, keys[i], keys[i]);
    assert_holds(store, longest, "long");
    assert_int_equal(
        commit_small(store, &(struct small_commit){bad, "x", "t", version, false}, &error),
        ETHOS_INVALID);
    assert_int_equal(version_of(store, SCOPE), version);
    close_store(store);
}

static void test_the_longest_text_is_kept_and_its_end_can_be_had(void **state)
{
    static const uint32_t ms = 120000; // on a busy machine, under a sanitizer
    const struct ethos_setting settings[] = {
        {"url", server.url}, {"statementTimeoutMs", "120000"}, {NULL, NULL}};
    struct ethos_store *inner, *store;
    struct ethos_error error = {0};
    assert_int_equal(pg_open_with(&log_default_host, settings, ms, &inner, &error), ETHOS_OK);
    assert_int_equal(store_rows_new(&log_default_host, inner, ms, &store, &error), ETHOS_OK);
    size_t size = ETHOS_MAX_STORE_BYTES;
    char *bytes = malloc(size), revision[ETHOS_REVISION_SIZE];
    (void)state;
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(i * 31 + i / 4096);
    struct ethos_text text = {0};
    assert_int_equal(store->ops->write(store, SCOPE, "big.md", NULL, view_of(bytes, size), NULL,
                                       revision, &error),
                     ETHOS_OK);
    struct ethos_read_how whole = {0, ETHOS_READ_REVISION}, tail = {1000, 0};
    assert_int_equal(store->ops->read(store, SCOPE, "big.md", &whole, &text, &error), ETHOS_OK);
    assert_true(text.size == size && text.total == size && text.offset == 0);
    assert_memory_equal(text.data, bytes, size);
    assert_string_equal(text.revision, revision);
    assert_int_equal(store->ops->read(store, SCOPE, "big.md", &tail, &text, &error), ETHOS_OK);
    assert_true(text.size == 1000 && text.total == size && text.offset == size - 1000);
    assert_memory_equal(text.data, bytes + size - 1000, 1000);
    assert_string_equal(text.revision, "");
    free(text.data);
    free(bytes);
    close_store(store);
}

static void test_people_can_read_it(void **state)
{
    struct ethos_store *store = open_whole(server.url, DEADLINE_MS);
    struct ethos_error error = {0};
    char out[64], revision[ETHOS_REVISION_SIZE];
    (void)state;
    assert_int_equal(write_text(store, "a.md", "gr\xc3\xbc\xc3\x9f dich", &error), ETHOS_OK);
    assert_int_equal(
        store->ops->write(store, SCOPE, "b.md", NULL, VIEW("\xff\0"), NULL, revision, &error),
        ETHOS_OK);
    assert_true(
        pg_server_say(&server, "SELECT text FROM ethos.memory ORDER BY key", out, sizeof out));
    assert_string_equal(out, "gr\xc3\xbc\xc3\x9f dich\n\\377\\000\n");
    assert_int_equal(pg_server_ask(&server, "SELECT count(diff) FROM ethos.change"), 2);
    close_store(store);
}

/* A name that is not UTF-8 must not keep a change from being made. */
static void test_an_origin_that_is_not_utf8_is_made_so(void **state)
{
    const struct ethos_origin origin = {.actor = "a\xff"
                                                 "b",
                                        .via = "cli"};
    struct ethos_store *store = open_whole(server.url, DEADLINE_MS);
    struct ethos_error error = {0};
    char out[64], revision[ETHOS_REVISION_SIZE];
    (void)state;
    assert_int_equal(
        store->ops->write(store, SCOPE, "a.md", NULL, VIEW("x"), &origin, revision, &error),
        ETHOS_OK);
    assert_true(pg_server_say(&server, "SELECT actor FROM ethos.history", out, sizeof out));
    assert_string_equal(out, "a\xef\xbf\xbd"
                             "b\n");
    close_store(store);
}

static void test_operations_are_forgotten_when_they_are_old_and_many(void **state)
{
    struct ethos_store *store = open_inner(server.url, DEADLINE_MS);
    (void)state;
    check_forgetting(store);
    check_done_again(store);
    close_store(store);
}

#define TEST(function) cmocka_unit_test_setup(function, begin)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_a_bad_option_is_named),
        TEST(test_a_password_in_the_url_is_refused_and_not_shown),
        TEST(test_a_password_lets_in_and_is_never_shown),
        TEST(test_a_password_that_an_error_quotes_is_not_shown),
        TEST(test_a_database_that_is_missing_is_named),
        TEST(test_a_server_that_needs_tls_or_has_none_is_told),
        TEST(test_a_server_that_is_away_lets_open_but_nothing_else),
        TEST(test_the_port_of_a_service_file_is_that_of_every_host),
        TEST(test_a_role_that_has_too_many_connections_is_busy),
        TEST(test_a_role_without_rights_is_told_which),
        TEST(test_a_server_that_is_read_only_is_told),
        TEST(test_a_read_only_server_without_the_schema_is_told_at_once),
        TEST(test_eight_processes_make_one_schema),
        TEST(test_a_schema_that_was_made_while_one_waited_is_found),
        TEST(test_a_schema_of_a_newer_version_is_refused),
        TEST(test_a_database_of_another_encoding_is_refused),
        TEST(test_schemas_are_separate),
        TEST(test_any_name_of_a_schema_will_do),
        TEST(test_settings_of_a_database_do_not_matter),
        TEST(test_a_server_without_fsync_is_not_durable_and_doctor_says_so),
        TEST(test_a_commit_waits_for_the_disk_whatever_is_set),
        TEST(test_clocks_that_differ_are_told),
        TEST(test_hostile_names_are_names),
        TEST(test_the_longest_text_is_kept_and_its_end_can_be_had),
        TEST(test_people_can_read_it),
        TEST(test_an_origin_that_is_not_utf8_is_made_so),
        TEST(test_operations_are_forgotten_when_they_are_old_and_many),
    };
    const char *missing = pg_server_missing();
    if (missing) {
        printf("1..0 # SKIP %s\n", missing);
        return 0;
    }
    pg_server_start(&server);
    snprintf(guarded_url, sizeof guarded_url,
             "postgresql://guarded@127.0.0.1:%u/postgres?sslmode=disable", server.port);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pg_server_stop(&server);
    return failed;
}
