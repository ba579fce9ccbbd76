/*
 * test_log.c: one line per event, through the host.
 */
#include "base/system/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/system/os.h"

struct seen {
    int lines;
    enum ethos_level level;
    char last[4096];
};

static void keep(void *arg, enum ethos_level level, const char *line)
{
    struct seen *seen = arg;

    seen->lines++;
    seen->level = level;
    snprintf(seen->last, sizeof(seen->last), "%s", line);
}

static void test_the_host_gets_level_and_line(void **state)
{
    struct seen seen = {0};
    struct ethos_host host = {.abi = ETHOS_ABI, .arg = &seen, .log = keep};

    (void)state;
    log_line(&host, ETHOS_LOG_WARN, "scope=%s bytes=%d", "global", 7);
    assert_int_equal(seen.lines, 1);
    assert_int_equal(seen.level, ETHOS_LOG_WARN);
    assert_string_equal(seen.last, "scope=global bytes=7");
}

static void test_an_event_is_one_line_whatever_a_name_holds(void **state)
{
    struct seen seen = {0};
    struct ethos_host host = {.abi = ETHOS_ABI, .arg = &seen, .log = keep};

    (void)state;
    log_line(&host, ETHOS_LOG_INFO, "file=%s", "a\nlevel=error\x1B[31m\x7F\u00E9");
    assert_string_equal(seen.last, "file=a?level=error?[31m?\u00E9");
}

static void test_long_lines_are_cut(void **state)
{
    struct seen seen = {0};
    struct ethos_host host = {.abi = ETHOS_ABI, .arg = &seen, .log = keep};

    (void)state;
    log_line(&host, ETHOS_LOG_INFO, "%05000d", 1);
    assert_int_equal(seen.lines, 1);
    assert_int_equal(strlen(seen.last), 1023);
}

static void test_without_a_log_function_nothing_happens(void **state)
{
    struct ethos_host host = {.abi = ETHOS_ABI};

    (void)state;
    log_line(NULL, ETHOS_LOG_ERROR, "x");
    log_line(&host, ETHOS_LOG_ERROR, "x");
    log_line(&log_default_host, ETHOS_LOG_ERROR, "x");
}

static void test_the_default_host_resizes_and_tells_the_time(void **state)
{
    const struct ethos_host *host = &log_default_host;

    (void)state;
    assert_int_equal(host->abi, ETHOS_ABI);
    char *block = host->resize(host->arg, NULL, 3);
    assert_non_null(block);
    memcpy(block, "abc", 3);
    block = host->resize(host->arg, block, 100000);
    assert_non_null(block);
    assert_memory_equal(block, "abc", 3);
    assert_null(host->resize(host->arg, block, 0));
    assert_null(host->resize(host->arg, NULL, 0));

    int64_t before = os_now_ms();
    int64_t now = host->now_ms(host->arg);
    assert_true(now >= before && now <= os_now_ms());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_host_gets_level_and_line),
        cmocka_unit_test(test_an_event_is_one_line_whatever_a_name_holds),
        cmocka_unit_test(test_long_lines_are_cut),
        cmocka_unit_test(test_without_a_log_function_nothing_happens),
        cmocka_unit_test(test_the_default_host_resizes_and_tells_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
