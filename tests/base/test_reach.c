/*
 * test_reach.c: for how long one who is not there is tried.
 */
#include "base/reach.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define BEGAN 5000
#define UNTIL (BEGAN + 10000)

static struct reach of(uint32_t flags)
{
    return reach_make(&(struct ethos_setup){.flags = flags});
}

static void test_nobody_is_tried_for_a_second_and_somebody_until_the_deadline(void **state)
{
    struct reach command = of(0), server = of(ETHOS_SETUP_STAYS);
    (void)state;
    assert_int_equal(reach_again(&command, BEGAN, UNTIL), BEGAN + ETHOS_REACH_MS);
    assert_int_equal(reach_again(&command, BEGAN, BEGAN + 100), BEGAN + 100);
    assert_int_equal(reach_again(&server, BEGAN, UNTIL), UNTIL);
    command.waits = true; // he has answered
    assert_int_equal(reach_again(&command, BEGAN, UNTIL), UNTIL);
}

static void test_where_there_is_another_answer_once_and_briefly_is_enough(void **state)
{
    struct reach cached = of(ETHOS_SETUP_REACH | ETHOS_SETUP_STAYS), command = of(0);
    (void)state;
    assert_int_equal(reach_again(&cached, BEGAN, UNTIL), BEGAN);
    assert_int_equal(reach_attempt(&cached, BEGAN, UNTIL), BEGAN + ETHOS_ATTEMPT_MS);
    assert_int_equal(reach_attempt(&cached, BEGAN, BEGAN + 100), BEGAN + 100);
    assert_int_equal(reach_attempt(&command, BEGAN, UNTIL), UNTIL);
}

static void test_an_excuse_is_given_once_and_does_not_keep(void **state)
{
    struct reach_excuse excuse = {.error = {.code = ETHOS_BUSY, .text = "away"}, .until = UNTIL};
    struct ethos_error error = {0};
    (void)state;
    assert_int_equal(reach_excuse(&excuse, BEGAN, &error), ETHOS_BUSY);
    assert_string_equal(error.text, "away");
    assert_int_equal(reach_excuse(&excuse, BEGAN, &error), ETHOS_OK);
    excuse.until = UNTIL;
    assert_int_equal(reach_excuse(&excuse, UNTIL, &error), ETHOS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_is_tried_for_a_second_and_somebody_until_the_deadline),
        cmocka_unit_test(test_where_there_is_another_answer_once_and_briefly_is_enough),
        cmocka_unit_test(test_an_excuse_is_given_once_and_does_not_keep),
    };
    return cmocka_run_group_tests_name("reach", tests, NULL, NULL);
}
