/*
 * test_postgres_tls.c: TLS to PostgreSQL: whose certificate is believed, under which name, and who is let in by
 * one of his own. The server makes its certificates itself, in its own folder.
 */
#include <signal.h>

#include "postgres_calls.h"

#define CURVE "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
#define SIGNED "openssl req -x509 -CA ca.crt -CAkey ca.key " CURVE

static struct pg_server server;
static char name_url[128], number_url[128]; /* of the same server: by its name, and by its number */
static char ca[96], other_ca[96];

static void say(const char *sql)
{
    if (!pg_server_say(&server, sql, NULL, 0))
        fail_msg("%s", sql);
}

/* As the server's user, in its folder. */
static void run(const char *command)
{
    char sql[512];
    snprintf(sql, sizeof sql, "COPY (SELECT 1) TO PROGRAM '%s'", command);
    say(sql);
}

static void path_of(const char *name, char out[96])
{
    snprintf(out, 96, "%s/data/%s", server.temp.path, name);
}

static int set_up(void **state)
{
    char sql[512];
    (void)state;
    run("openssl req -x509 " CURVE "-subj /CN=ca -out ca.crt -keyout ca.key");
    run("openssl req -x509 " CURVE "-subj /CN=other -out other.crt -keyout other.key");
    run(SIGNED "-subj /CN=localhost -addext subjectAltName=DNS:localhost"
               " -out server.crt -keyout server.key");
    run(SIGNED "-subj /CN=invited -out invited.crt -keyout invited.key");
    say("CREATE ROLE invited LOGIN SUPERUSER");
    snprintf(sql, sizeof sql,
             "COPY (VALUES ('local all all trust'), ('hostssl all invited 127.0.0.1/32 cert'),"
             " ('hostssl all all 127.0.0.1/32 trust')) TO '%s/data/pg_hba.conf'",
             server.temp.path);
    say(sql);
    say("ALTER SYSTEM SET ssl_ca_file = 'ca.crt'");
    say("ALTER SYSTEM SET ssl = on");
    pg_server_end(&server, SIGINT);
    pg_server_again(&server);
    snprintf(name_url, sizeof name_url,
             "host=localhost hostaddr=127.0.0.1 port=%u user=owner dbname=postgres", server.port);
    snprintf(number_url, sizeof number_url, "host=127.0.0.1 port=%u user=owner dbname=postgres",
             server.port);
    path_of("ca.crt", ca);
    path_of("other.crt", other_ca);
    return 0;
}

static int try(const struct ethos_setting *settings, struct ethos_error *error)
{
    struct ethos_store *store;
    *error = (struct ethos_error){0};
    int code = pg_open_with(&log_default_host, settings, DEADLINE_MS, &store, error);
    if (code != ETHOS_OK)
        return code;
    version_of(store, SCOPE);
    assert_int_equal(pg_server_ask(&server,
                                   "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING"
                                   " (pid) WHERE ssl AND usename IS NOT NULL"),
                     1);
    close_store(store);
    return code;
}

static void lets_in(const struct ethos_setting *settings)
{
    struct ethos_error error;
    if (try(settings, &error) != ETHOS_OK)
        fail_msg("%s; %s", error.text, error.hint);
}

static void refuses(const char *text, const struct ethos_setting *settings)
{
    struct ethos_error error;
    assert_int_equal(try(settings, &error), ETHOS_DENIED);
    if (!strstr(error.text, text))
        fail_msg("%s", error.text);
    assert_non_null(strstr(error.hint, "sslrootcert"));
}

static void test_a_server_is_believed_by_its_authority_and_name(void **state)
{
    (void)state;
    lets_in((const struct ethos_setting[]){
        {"url", name_url}, {"sslmode", "verify-full"}, {"sslrootcert", ca}, {NULL, NULL}});
    lets_in((const struct ethos_setting[]){
        {"url", number_url}, {"sslmode", "verify-ca"}, {"sslrootcert", ca}, {NULL, NULL}});
}

static void test_the_url_may_say_it_too(void **state)
{
    char url[320];
    (void)state;
    snprintf(url, sizeof url, "%s sslmode=verify-full sslrootcert=%s", name_url, ca);
    lets_in((const struct ethos_setting[]){{"url", url}, {NULL, NULL}});
    snprintf(url, sizeof url, "%s sslmode=verify-full sslrootcert=%s", name_url, other_ca);
    refuses("certificate", (const struct ethos_setting[]){{"url", url}, {NULL, NULL}});
}

static void test_another_authority_is_refused(void **state)
{
    static const char *const modes[] = {"verify-full", "verify-ca", "require"};
    (void)state;
    for (size_t i = 0; i < 3; i++)
        refuses(
            "certificate verify failed",
            (const struct ethos_setting[]){
                {"url", name_url}, {"sslmode", modes[i]}, {"sslrootcert", other_ca}, {NULL, NULL}});
}

static void test_another_name_is_refused(void **state)
{
    (void)state;
    refuses("does not match host name", (const struct ethos_setting[]){{"url", number_url},
                                                                       {"sslmode", "verify-full"},
                                                                       {"sslrootcert", ca},
                                                                       {NULL, NULL}});
}

static void test_an_authority_that_is_not_there_is_told(void **state)
{
    (void)state;
    refuses("/nowhere/ca.crt", (const struct ethos_setting[]){{"url", name_url},
                                                              {"sslmode", "verify-full"},
                                                              {"sslrootcert", "/nowhere/ca.crt"},
                                                              {NULL, NULL}});
}

static void test_without_an_authority_it_is_only_hidden(void **state)
{
    struct ethos_error error;
    (void)state;
    lets_in(
        (const struct ethos_setting[]){{"url", number_url}, {"sslmode", "require"}, {NULL, NULL}});
    assert_int_equal(try((const struct ethos_setting[]){{"url", number_url},
                                                        {"sslmode", "disable"},
                                                        {NULL, NULL}},
                         &error),
                     ETHOS_DENIED); // pg_hba.conf has hostssl only
    assert_non_null(strstr(error.text, "no encryption"));
}

static void test_a_certificate_of_ones_own_lets_in(void **state)
{
    char url[160], certificate[96], key[96];
    struct ethos_error error;
    (void)state;
    snprintf(url, sizeof url,
             "host=localhost hostaddr=127.0.0.1 port=%u user=invited"
             " dbname=postgres",
             server.port);
    path_of("invited.crt", certificate);
    path_of("invited.key", key);
    lets_in((const struct ethos_setting[]){{"url", url},
                                           {"sslmode", "verify-full"},
                                           {"sslrootcert", ca},
                                           {"sslcert", certificate},
                                           {"sslkey", key},
                                           {NULL, NULL}});
    assert_int_equal(try((const struct ethos_setting[]){{"url", url},
                                                        {"sslmode", "verify-full"},
                                                        {"sslrootcert", ca},
                                                        {NULL, NULL}},
                         &error),
                     ETHOS_DENIED);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_server_is_believed_by_its_authority_and_name),
        cmocka_unit_test(test_the_url_may_say_it_too),
        cmocka_unit_test(test_another_authority_is_refused),
        cmocka_unit_test(test_another_name_is_refused),
        cmocka_unit_test(test_an_authority_that_is_not_there_is_told),
        cmocka_unit_test(test_without_an_authority_it_is_only_hidden),
        cmocka_unit_test(test_a_certificate_of_ones_own_lets_in),
    };
    const char *missing = pg_server_missing();
    if (missing) {
        printf("1..0 # SKIP %s\n", missing);
        return 0;
    }
    pg_server_start(&server);
    int failed = cmocka_run_group_tests(tests, set_up, NULL);
    pg_server_stop(&server);
    return failed;
}
