/*
 * test_measure.c: recall, gain and the place of the first right answer, against values made by hand.
 */
#include "recall/measure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_near(double value, double expected)
{
    double difference = value - expected;
    if (difference > 1e-9 || difference < -1e-9)
        fail_msg("%.12f, not %.12f", value, expected);
}

static void test_one_question(void **state)
{
    static const size_t places[] = {2, 4, 11};
    struct recall_measure measure = {.questions = 0};
    (void)state;
    recall_measure_add(&measure, places, 3, 4);
    struct recall_means means = recall_measure_means(&measure);
    assert_near(means.recall_1, 0);
    assert_near(means.recall_5, 0.5);
    assert_near(means.recall_10, 0.5);
    assert_near(means.mrr, 0.5);
    /* (1/log2 3 + 1/log2 5) / (1 + 1/log2 3 + 1/2 + 1/log2 5) */
    assert_near(means.ndcg_10, (0.63092975357145742 + 0.43067655807339306) /
                                   (1 + 0.63092975357145742 + 0.5 + 0.43067655807339306));
}

static void test_means(void **state)
{
    static const size_t first[] = {1};
    struct recall_measure measure = {.questions = 0};
    (void)state;
    assert_near(recall_measure_means(&measure).recall_10, 0);
    recall_measure_add(&measure, first, 1, 1);
    recall_measure_add(&measure, NULL, 0, 1);
    assert_near(recall_measure_means(&measure).recall_1, 0.5);
    assert_near(recall_measure_means(&measure).ndcg_10, 0.5);
    assert_near(recall_measure_means(&measure).mrr, 0.5);
    assert_int_equal(measure.questions, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_question),
        cmocka_unit_test(test_means),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
