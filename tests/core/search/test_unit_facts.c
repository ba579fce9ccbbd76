/*
 * test_unit_facts.c: what a text says of itself; the rest is judged by tests/golden/ranking.jsonl.
 */
#include "core/search/unit_facts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/view.h"
#include "core/search/question.h"

static bool has_title(const char *text)
{
    struct unit_facts facts;
    unit_facts_find(view_str(text), &facts);
    return facts.title;
}

static void test_titles(void **state)
{
    char text[1000] = "";
    (void)state;
    assert_true(has_title("I loved \"Little Women\" as a child."));
    assert_true(has_title("I loved \xE2\x80\x9CLittle Women\xE2\x80\x9D as a child."));
    assert_true(has_title("\"no\" but \"Yes\""));
    assert_false(has_title("she said \"yes, of course\""));
    assert_false(has_title("\"It\" is short"));
    assert_false(has_title("\"Unclosed"));
    assert_false(has_title("\""));
    assert_false(has_title(""));
    assert_false(has_title(
        "\"A title of more than sixty characters, which is none because nobody writes so\""));
    snprintf(text, sizeof text, "%0600d \"Little Women\"", 0);
    assert_false(has_title(text)); // behind the head
}

static void test_questions_for_works(void **state)
{
    struct question_facts facts;
    (void)state;
    question_find_facts(VIEW("Which Book did she read?"), &facts);
    assert_true(facts.work);
    question_find_facts(VIEW("What did she book?"), &facts);
    assert_true(facts.work);
    question_find_facts(VIEW("Who keeps the bookkeeping?"), &facts);
    assert_false(facts.work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_titles),
        cmocka_unit_test(test_questions_for_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
