/*
 * test_process.c: running another program and reading what it says.
 */
#include "base/system/process.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/str.h"
#include "base/view.h"

static int run(const char *script, struct str *out)
{
    const char *const argv[] = {"sh", "-c", script, NULL};

    return process_run(argv, out);
}

static void test_output_is_appended_and_the_status_returned(void **state)
{
    struct str out;

    (void)state;
    str_init(&out, 100);
    str_adds(&out, "> ");
    assert_int_equal(run("echo said; echo complained >&2; exit 7", &out), 7);
    assert_string_equal(out.data, "> said\n");
    assert_int_equal(run("kill -TERM $$", &out), 128 + 15);
    str_release(&out);
}

static void test_arguments_arrive_as_they_are_and_there_is_no_input(void **state)
{
    const char *const argv[] = {"sh", "-c", "cat; printf '%s|' \"$@\"", "sh", "a b", "$HOME",
                                "",   NULL};
    struct str out;

    (void)state;
    str_init(&out, 100);
    assert_int_equal(process_run(argv, &out), 0);
    assert_string_equal(out.data, "a b|$HOME||");
    str_release(&out);
}

static void test_a_program_that_is_not_there(void **state)
{
    const char *const argv[] = {"no-such-program", NULL};
    struct str out;

    (void)state;
    str_init(&out, 100);
    assert_int_equal(process_run(argv, &out), -1);
    assert_int_equal(errno, ENOENT);
    str_release(&out);
}

static void test_more_than_the_buffer_holds_is_a_failure(void **state)
{
    struct str out;

    (void)state;
    str_init(&out, 4);
    assert_int_equal(run("echo too much", &out), -1);
    assert_int_equal(errno, EFBIG);
    assert_int_equal(out.size, 0);
    str_release(&out);
}

/* ---- with input, and not for ever ------------------------------------------------------------ */

static int ask(const char *script, struct ethos_view input, unsigned timeout_ms, struct str *out)
{
    const char *const argv[] = {"sh", "-c", script, NULL};

    return process_ask(argv, input, timeout_ms, out);
}

static void test_a_program_is_told_and_answers(void **state)
{
    struct str out;

    (void)state;
    str_init(&out, 100);
    assert_int_equal(ask("tr a-z A-Z; exit 3", VIEW("said\n"), 60000, &out), 3);
    assert_string_equal(out.data, "SAID\n");
    str_release(&out);
}

static void test_one_that_does_not_listen_is_no_harm(void **state)
{
    struct str out;

    (void)state;
    str_init(&out, 100);
    assert_int_equal(ask("exec <&-; echo done", VIEW("said\n"), 60000, &out), 0);
    assert_string_equal(out.data, "done\n");
    const char *const argv[] = {"no-such-program", NULL};
    assert_int_equal(process_ask(argv, VIEW("x"), 60000, &out), -1);
    assert_int_equal(errno, ENOENT);
    str_release(&out);
}

static void test_one_that_does_not_end_is_ended(void **state)
{
    struct str out;

    (void)state;
    str_init(&out, 100);
    assert_int_equal(ask("echo begun; exec sleep 1000", VIEW(""), 300, &out), -1);
    assert_int_equal(errno, ETIMEDOUT);
    str_clear(&out);
    assert_int_equal(ask("exec cat /dev/zero", VIEW(""), 60000, &out), -1);
    assert_int_equal(errno, EFBIG);
    str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output_is_appended_and_the_status_returned),
        cmocka_unit_test(test_arguments_arrive_as_they_are_and_there_is_no_input),
        cmocka_unit_test(test_a_program_that_is_not_there),
        cmocka_unit_test(test_more_than_the_buffer_holds_is_a_failure),
        cmocka_unit_test(test_a_program_is_told_and_answers),
        cmocka_unit_test(test_one_that_does_not_listen_is_no_harm),
        cmocka_unit_test(test_one_that_does_not_end_is_ended),
    };

    return cmocka_run_group_tests_name("base/process", tests, NULL, NULL);
}
