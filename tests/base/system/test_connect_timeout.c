/*
 * test_connect_timeout.c: for how long one who is not there is tried.
 */
#include "base/system/connect_timeout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define BEGAN 5000
#define UNTIL (BEGAN + 10000)

static struct backend_reach of(uint32_t flags)
{
    return reach_make(&(struct ethos_setup){.flags = flags});
}

static void test_nobody_is_tried_for_a_second_and_somebody_until_the_deadline(void **state)
{
    struct backend_reach command = of(0), server = of(ETHOS_SETUP_STAYS);
    (void)state;
    assert_int_equal(reach_again(&command, BEGAN, UNTIL), BEGAN + ETHOS_REACH_MS);
    assert_int_equal(reach_again(&command, BEGAN, BEGAN + 100), BEGAN + 100);
    assert_int_equal(reach_again(&server, BEGAN, UNTIL), UNTIL);
    command.waits = true; // he has answered
    assert_int_equal(reach_again(&command, BEGAN, UNTIL), UNTIL);
}

static void test_where_there_is_another_answer_once_and_briefly_is_enough(void **state)
{
    struct backend_reach cached = of(ETHOS_SETUP_REACH | ETHOS_SETUP_STAYS), command = of(0);
    (void)state;
    assert_int_equal(reach_again(&cached, BEGAN, UNTIL), BEGAN);
    assert_int_equal(reach_attempt(&cached, BEGAN, UNTIL), BEGAN + ETHOS_ATTEMPT_MS);
    assert_int_equal(reach_attempt(&cached, BEGAN, BEGAN + 100), BEGAN + 100);
    assert_int_equal(reach_attempt(&command, BEGAN, UNTIL), UNTIL);
}

static void test_a_server_that_did_not_answer_is_left_alone_for_a_while(void **state)
{
    const struct ethos_error away = {.code = ETHOS_IO, .text = "away"};
    struct ethos_error error = {0};
    struct ethos_deadline deadline = {.read_ms = 3000};
    struct backend_reach reach = reach_make(&(struct ethos_setup){.deadline = &deadline}),
                         alone = of(0);
    (void)state;
    assert_int_equal(reach_check(&reach, BEGAN, &error), ETHOS_OK);
    reach_failed(&alone, BEGAN, BEGAN + 1, &away); // nowhere to note it
    assert_int_equal(reach_check(&alone, BEGAN + 1, &error), ETHOS_OK);
    static const struct {
        int waited, pause;
    } rows[] = {{0, REACH_LEAST_PAUSE_MS}, {800, 2400}, {10000, REACH_MOST_PAUSE_MS}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t now = BEGAN + rows[i].waited, over = now + rows[i].pause;
        reach_failed(&reach, BEGAN, now, &away);
        assert_int_equal(reach_check(&reach, over - 1, &error), ETHOS_BUSY);
        assert_int_equal(error.code, ETHOS_BUSY); // of this call, nothing was done
        assert_string_equal(error.text, "away");
        assert_int_equal(reach_check(&reach, over, &error), ETHOS_OK);
    }
}

static void test_a_call_that_may_wait_longer_than_the_one_that_failed_is_tried(void **state)
{
    const struct ethos_error away = {.code = ETHOS_BUSY, .text = "away"};
    struct ethos_deadline deadline = {.read_ms = 3000, .call_ms = 800};
    struct backend_reach reach = reach_make(&(struct ethos_setup){.deadline = &deadline});
    (void)state;
    assert_int_equal(reach_read_ms(&reach), 800);
    reach_failed(&reach, BEGAN, BEGAN + 800, &away);
    deadline.call_ms = 0;
    assert_int_equal(reach_read_ms(&reach), 3000);
    assert_int_equal(reach_call_ms(&reach), ETHOS_LOCK_DEADLINE_MS);
    assert_int_equal(reach_check(&reach, BEGAN + 801, NULL), ETHOS_OK);
    reach_failed(&reach, BEGAN, BEGAN + 3000, &away);
    assert_int_equal(reach_check(&reach, BEGAN + 3001, NULL), ETHOS_BUSY);
    deadline.call_ms = 800;
    assert_int_equal(reach_check(&reach, BEGAN + 3001, NULL), ETHOS_BUSY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_is_tried_for_a_second_and_somebody_until_the_deadline),
        cmocka_unit_test(test_where_there_is_another_answer_once_and_briefly_is_enough),
        cmocka_unit_test(test_a_server_that_did_not_answer_is_left_alone_for_a_while),
        cmocka_unit_test(test_a_call_that_may_wait_longer_than_the_one_that_failed_is_tried),
    };
    return cmocka_run_group_tests_name("reach", tests, NULL, NULL);
}
