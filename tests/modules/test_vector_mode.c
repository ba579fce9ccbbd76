/*
 * test_vector_mode.c: memory that answers by meaning over files, PostgreSQL and Redis: set and set back, and used.
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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../support/temp.h"
#include "postgres.h"
#include "redis.h"

#define FACT "The wifi password of the cabin is written on the fridge door"
#define QUESTION "'Where is the wifi password of the cabin?'"
#define LINES 2000
#define ANSWER_SIZE 1048576

static struct pg_server postgres;
static struct redis_server redis;
static struct temp temp;
static char program[PATH_MAX];

/* <build>/tests/modules/test_vector_mode -> <build>/bin/ethos */
static void find_program(void)
{
    char here[PATH_MAX - 64];
    ssize_t size = readlink("/proc/self/exe", here, sizeof here - 1);
    assert_true(size > 0);
    here[size] = 0;
    for (int i = 0; i < 3; i++)
        *strrchr(here, '/') = 0;
    snprintf(program, sizeof program, "%s/bin/ethos", here);
}

static int begin(void **state)
{
    char path[128];
    (void)state;
    find_program();
    temp_make(&temp);
    snprintf(path, sizeof path, "%s/home", temp.path);
    return mkdir(path, 0700);
}

static int clean(void **state)
{
    (void)state;
    temp_remove(&temp);
    return 0;
}

/* What a command prints; it must succeed. Valid until the next. */
static const char *ethos(const char *words)
{
    static char answer[ANSWER_SIZE];
    char line[2 * PATH_MAX];
    snprintf(line, sizeof line, "cd %s && ASAN_OPTIONS=detect_leaks=0 %s --home %s/home -q %s",
             temp.path, program, temp.path, words);
    FILE *out = popen(line, "re");
    assert_non_null(out);
    size_t size = fread(answer, 1, sizeof answer - 1, out);
    answer[size] = 0;
    if (pclose(out) != 0)
        fail_msg("failed: %s", words);
    return answer;
}

static void write_memory(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/text", temp.path);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file, "# Cabin\n\n- %s\n- Mice come in winter ^mice\n\n# Log\n\n", FACT);
    for (int i = 0; i < LINES; i++)
        fprintf(file, "- Line %d: machine %d was oiled\n", i, i * 31 % 97);
    assert_int_equal(fclose(file), 0);
    ethos("memory write <text");
}

static size_t count(const char *text, const char *what)
{
    size_t found = 0;
    for (; (text = strstr(text, what)) != NULL; text++)
        found++;
    return found;
}

static void check_prefetch(void)
{
    const char *tail = ethos("prefetch");
    assert_true(strlen(tail) < 2100 && strstr(tail, "- Line 1999: "));
    assert_null(strstr(tail, FACT));
    const char *block = ethos("prefetch --query " QUESTION);
    assert_non_null(strstr(block, "[Cabin]\n- " FACT "\n"));
    assert_int_equal(count(block, FACT), 1);
}

/* What is added is found by the next call; an entry is changed where it stands. */
static void check_chunks(void)
{
    char update[256], id[32];
    ethos("memory chunks add 'The spare key of the boat hangs in the shed' --under Cabin");
    assert_non_null(strstr(ethos("prefetch --query 'Where is the spare key of the boat?'"),
                           "[Cabin]\n- The spare key of the boat hangs in the shed\n"));
    const char *found = ethos("memory chunks search " QUESTION);
    const char *fact = strstr(found, " line 3  Cabin\n  " FACT "\n");
    assert_true(fact && fact - found >= 16);
    snprintf(id, sizeof id, "%.16s", fact - 16);
    snprintf(update, sizeof update, "memory chunks update %s 'The cabin has no wifi any more'", id);
    ethos(update);
    const char *text = ethos("memory get");
    assert_non_null(strstr(text, "# Cabin\n\n- The cabin has no wifi any more\n- Mice come"));
    assert_int_equal(count(text, "- Line "), LINES);
    assert_null(strstr(ethos("prefetch --query " QUESTION), FACT));
    ethos("memory undo --yes");
    assert_non_null(strstr(ethos("prefetch --query " QUESTION), FACT));
}

static void check_backend(const char *name, const char *url)
{
    char config[512] = "", setting[256];
    if (url)
        snprintf(config, sizeof config, "memory.provider: %s\nmemory.options.url: \"%s\"\n", name,
                 url);
    temp_write(&temp, "home/config.yaml", config);
    write_memory();
    char *before = strdup(ethos("memory get"));
    ethos("config set memory vector");
    snprintf(setting, sizeof setting, "%s\n", name);
    assert_string_equal(ethos("config get memory.options.store"), setting);
    assert_string_equal(ethos("memory get"), before);
    check_prefetch();
    ethos("config unset memory");
    char *now = temp_read(&temp, "home/config.yaml", NULL);
    assert_string_equal(now, config);
    assert_string_equal(ethos("memory get"), before);
    assert_non_null(strstr(ethos("prefetch"), "- Line 1800: "));
    ethos("config set memory.provider vector");
    check_chunks();
    free(before);
    free(now);
}

static void test_over_files(void **state)
{
    (void)state;
    check_backend("markdown", NULL);
}

static void test_over_postgres(void **state)
{
    (void)state;
    if (pg_server_missing()) {
        print_message("skipped: %s\n", pg_server_missing());
        skip();
    }
    pg_server_start(&postgres);
    check_backend("postgres", postgres.url);
    pg_server_stop(&postgres);
}

static void test_over_redis(void **state)
{
    (void)state;
    if (redis_server_missing()) {
        print_message("skipped: %s\n", redis_server_missing());
        skip();
    }
    redis_server_start(&redis);
    check_backend("redis", redis.url);
    redis_server_stop(&redis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_over_files, begin, clean),
        cmocka_unit_test_setup_teardown(test_over_postgres, begin, clean),
        cmocka_unit_test_setup_teardown(test_over_redis, begin, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
