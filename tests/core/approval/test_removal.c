/*
 * test_removal.c: how far a write is trusted, and whether it takes much of a file away.
 */
#include "core/approval/removal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "base/view.h"
#include "core/approval/trust.h"
#include "core/history/diff.h"

/* ---- trust ----------------------------------------------------------------------------------- */

static enum trust trust_for(const char *actor, const char *trust)
{
    const struct ethos_origin origin = {.actor = actor, .trust = trust};
    return trust_of(&origin);
}

static void test_what_an_origin_says_counts(void **state)
{
    (void)state;
    assert_int_equal(trust_for("codex", "owner"), TRUST_OWNER);
    assert_int_equal(trust_for("owner", "agent"), TRUST_AGENT);
    assert_int_equal(trust_for("owner", "untrusted"), TRUST_UNTRUSTED);
}

static void test_an_origin_that_says_nothing_goes_by_its_actor(void **state)
{
    (void)state;
    assert_int_equal(trust_for(NULL, NULL), TRUST_OWNER);
    assert_int_equal(trust_for("owner", NULL), TRUST_OWNER);
    assert_int_equal(trust_for("codex", NULL), TRUST_AGENT);
}

static void test_an_unknown_word_is_not_trusted(void **state)
{
    (void)state;
    assert_int_equal(trust_for("owner", "Owner"), TRUST_UNTRUSTED);
    assert_int_equal(trust_for("owner", ""), TRUST_UNTRUSTED);
}

/* ---- removal --------------------------------------------------------------------------------- */

static bool is_large(const char *before, const char *after)
{
    struct str diff;
    struct ethos_change change = {.bytes_before = strlen(before), .bytes_after = strlen(after)};
    str_init(&diff, SIZE_MAX);
    assert_int_equal(diff_unified(view_str(before), view_str(after), "k", &diff), ETHOS_OK);
    change.diff = str_view(&diff);
    bool large = removal_is_large(&change);
    str_release(&diff);
    return large;
}

static void test_more_than_a_quarter_is_large(void **state)
{
    (void)state;
    assert_false(is_large("aaa\nbbb\nccc\nddd\n", "aaa\nbbb\nccc\n"));
    assert_true(is_large("aaa\nbbb\nccc\n", "aaa\nbbb\n"));
    assert_true(is_large("aaa\nbbb\nccc\nddd\n", ""));
    assert_false(is_large("", "aaa\n"));
    assert_false(is_large("aaa\n", "aaa\n\nbbb\n"));
}

static void test_other_text_in_the_place_of_lines_removes_them(void **state)
{
    (void)state;
    assert_true(is_large("aaaaaa\nbbbbbb\n", "xxxxxx\nyyyyyy\nzzzzzz\n"));
}

static void test_a_corrected_line_is_not_removed(void **state)
{
    (void)state;
    assert_false(
        is_large("- Deploys on Fridays\n- Uses vim\n", "- Deploys on Mondays\n- Uses vim\n"));
}

static void test_blank_lines_do_not_count(void **state)
{
    (void)state;
    assert_false(is_large("a\n\n\n\n\n\n", "a\n"));
}

static void test_a_diff_that_was_cut_leaves_the_sizes(void **state)
{
    (void)state;
    struct ethos_change change = {
        .bytes_before = 100, .bytes_after = 74, .diff = VIEW("@@ -1,9 +")};
    assert_true(removal_is_large(&change));
    change.bytes_after = 75;
    assert_false(removal_is_large(&change));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_an_origin_says_counts),
        cmocka_unit_test(test_an_origin_that_says_nothing_goes_by_its_actor),
        cmocka_unit_test(test_an_unknown_word_is_not_trusted),
        cmocka_unit_test(test_more_than_a_quarter_is_large),
        cmocka_unit_test(test_other_text_in_the_place_of_lines_removes_them),
        cmocka_unit_test(test_a_corrected_line_is_not_removed),
        cmocka_unit_test(test_blank_lines_do_not_count),
        cmocka_unit_test(test_a_diff_that_was_cut_leaves_the_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
