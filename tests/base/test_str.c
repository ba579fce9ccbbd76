/*
 * test_str.c: the one growable buffer.
 */
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../support/alloc.h"
#include "base/view.h"

static void test_starts_empty_terminated_and_without_memory(void **state)
{
    struct str s;

    (void)state;
    alloc_fail_at(0);
    str_init(&s, 10);
    assert_string_equal(s.data, "");
    assert_int_equal(s.size, 0);
    str_add(&s, VIEW(""));
    str_printf(&s, "%s", "");
    str_truncate(&s, 0);
    str_clear(&s);
    assert_string_equal(s.data, "");
    assert_int_equal(alloc_count(), 0);
    str_release(&s);
}

static void test_appends_in_order_and_stays_terminated(void **state)
{
    struct str s;

    (void)state;
    str_init(&s, 100);
    assert_int_equal(str_adds(&s, "one"), ETHOS_OK);
    assert_int_equal(str_addc(&s, ' '), ETHOS_OK);
    assert_int_equal(str_add(&s, VIEW("tw\0o")), ETHOS_OK);
    assert_int_equal(str_printf(&s, " %d", 3), ETHOS_OK);
    assert_int_equal(s.size, 10);
    assert_memory_equal(s.data, "one tw\0o 3", 11);
    str_release(&s);
}

static void test_grows_to_its_ceiling_and_not_one_byte_further(void **state)
{
    struct str s;

    (void)state;
    str_init(&s, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(str_addc(&s, 'x'), ETHOS_OK);
    assert_true(s.capacity <= 1001);
    assert_int_equal(str_addc(&s, 'y'), ETHOS_LIMIT);
    assert_int_equal(s.size, 1000);
    assert_int_equal(strlen(s.data), 1000);
    str_release(&s);
}

static void test_a_failed_append_changes_nothing_and_stays_failed(void **state)
{
    struct str s;

    (void)state;
    str_init(&s, 5);
    str_adds(&s, "abc");
    assert_int_equal(str_adds(&s, "defg"), ETHOS_LIMIT);
    assert_string_equal(s.data, "abc");
    assert_int_equal(str_addc(&s, 'd'), ETHOS_LIMIT);
    assert_int_equal(str_printf(&s, "d"), ETHOS_LIMIT);
    assert_int_equal(str_reserve(&s, 1), ETHOS_LIMIT);
    assert_string_equal(s.data, "abc");
    assert_int_equal(str_code(&s), ETHOS_LIMIT);
    assert_null(str_steal(&s, NULL));
    str_clear(&s);
    assert_int_equal(str_adds(&s, "defgh"), ETHOS_OK);
    assert_string_equal(s.data, "defgh");
    str_release(&s);
}

static void test_a_failed_printf_leaves_no_piece_behind(void **state)
{
    struct str s;

    (void)state;
    str_init(&s, 80);
    str_adds(&s, "abc");
    assert_int_equal(str_printf(&s, "%090d", 1), ETHOS_LIMIT);
    assert_int_equal(s.size, 3);
    assert_string_equal(s.data, "abc");
    str_release(&s);
}

static void test_printf_longer_than_the_spare_room_is_whole(void **state)
{
    struct str s;

    (void)state;
    for (int width = 1; width < 200; width++) {
        str_init(&s, 1000);
        str_adds(&s, "<");
        assert_int_equal(str_printf(&s, "%0*d>", width, 7), ETHOS_OK);
        assert_int_equal(s.size, (size_t)width + 2);
        assert_int_equal(strlen(s.data), s.size);
        assert_true(view_ends(str_view(&s), VIEW("7>")));
        str_release(&s);
    }
}

static void test_reserve_of_impossible_sizes_is_a_limit(void **state)
{
    struct str s;

    (void)state;
    str_init(&s, SIZE_MAX);
    assert_int_equal(str_reserve(&s, SIZE_MAX), ETHOS_LIMIT);
    str_clear(&s);
    str_adds(&s, "x");
    assert_int_equal(str_reserve(&s, SIZE_MAX - 1), ETHOS_LIMIT);
    str_release(&s);
}

static void test_reserved_room_is_used_without_allocating(void **state)
{
    struct str s;

    (void)state;
    str_init(&s, 10000);
    str_reserve(&s, 5000);
    alloc_fail_at(0);
    for (int i = 0; i < 5000; i++)
        str_addc(&s, 'x');
    assert_int_equal(alloc_count(), 0);
    str_release(&s);
}

static void test_truncate_only_shortens(void **state)
{
    struct str s;

    (void)state;
    str_init(&s, 10);
    str_adds(&s, "abcdef");
    str_truncate(&s, 8);
    assert_string_equal(s.data, "abcdef");
    str_truncate(&s, 2);
    assert_string_equal(s.data, "ab");
    str_adds(&s, "z");
    assert_string_equal(s.data, "abz");
    str_release(&s);
}

static void test_fail_keeps_the_first_code(void **state)
{
    struct str s;

    (void)state;
    str_init(&s, 10);
    assert_int_equal(str_fail(&s, ETHOS_NOMEM), ETHOS_NOMEM);
    assert_int_equal(str_fail(&s, ETHOS_LIMIT), ETHOS_NOMEM);
    str_release(&s);
    assert_int_equal(str_code(&s), ETHOS_OK);
}

static void test_steal_hands_over_and_starts_anew(void **state)
{
    struct str s;
    size_t size = 99;

    (void)state;
    str_init(&s, 10);
    char *empty = str_steal(&s, &size);
    assert_string_equal(empty, "");
    assert_int_equal(size, 0);
    free(empty);
    str_adds(&s, "abc");
    char *data = str_steal(&s, &size);
    assert_string_equal(data, "abc");
    assert_int_equal(size, 3);
    assert_string_equal(s.data, "");
    assert_int_equal(str_adds(&s, "0123456789"), ETHOS_OK);
    str_release(&s);
    free(data);
}

static void test_what_was_stolen_can_be_adopted(void **state)
{
    struct str from, to;
    size_t size;

    (void)state;
    str_init(&from, 10);
    str_init(&to, 10);
    str_adds(&from, "abc");
    str_adds(&to, "old");
    char *data = str_steal(&from, &size);
    str_adopt(&to, data, size);
    assert_ptr_equal(to.data, data);
    assert_int_equal(str_adds(&to, "defghij"), ETHOS_OK);
    assert_string_equal(to.data, "abcdefghij");
    assert_int_equal(str_addc(&to, 'k'), ETHOS_LIMIT);
    str_release(&to);
}

static void test_release_is_safe_twice_and_on_zero(void **state)
{
    struct str s = {0};

    (void)state;
    str_release(&s);
    assert_string_equal(s.data, "");
    str_init(&s, 10);
    str_adds(&s, "abc");
    str_release(&s);
    str_release(&s);
    assert_string_equal(s.data, "");
}

static void test_every_failing_allocation_is_nomem_and_keeps_the_text(void **state)
{
    int code = ETHOS_NOMEM;

    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        struct str s;
        size_t good = 0;

        str_init(&s, 100000);
        for (int i = 0; i < 1000; i++) {
            code = i % 2 ? str_adds(&s, "0123456789") : str_printf(&s, "%010d", i);
            good += code == ETHOS_OK ? 10 : 0;
        }
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        assert_int_equal(s.size, good);
        assert_int_equal(strlen(s.data), good);
        char *data = str_steal(&s, NULL);
        assert_int_equal(data != NULL, code == ETHOS_OK);
        free(data);
        str_release(&s);
    }
    struct str s;
    str_init(&s, 10);
    alloc_fail_at(1);
    assert_null(str_steal(&s, NULL));
    assert_int_equal(str_code(&s), ETHOS_NOMEM);
    alloc_fail_at(0);
}

static void test_undone_it_is_as_if_nothing_had_failed(void **state)
{
    struct str s;

    (void)state;
    str_init(&s, 5);
    str_adds(&s, "abc");
    assert_int_equal(str_adds(&s, "def"), ETHOS_LIMIT);
    str_undo(&s, 1);
    assert_int_equal(str_code(&s), ETHOS_OK);
    assert_string_equal(s.data, "a");
    assert_int_equal(str_adds(&s, "wxyz"), ETHOS_OK);
    assert_string_equal(s.data, "awxyz");
    str_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_starts_empty_terminated_and_without_memory),
        cmocka_unit_test(test_appends_in_order_and_stays_terminated),
        cmocka_unit_test(test_grows_to_its_ceiling_and_not_one_byte_further),
        cmocka_unit_test(test_a_failed_append_changes_nothing_and_stays_failed),
        cmocka_unit_test(test_undone_it_is_as_if_nothing_had_failed),
        cmocka_unit_test(test_a_failed_printf_leaves_no_piece_behind),
        cmocka_unit_test(test_printf_longer_than_the_spare_room_is_whole),
        cmocka_unit_test(test_reserve_of_impossible_sizes_is_a_limit),
        cmocka_unit_test(test_reserved_room_is_used_without_allocating),
        cmocka_unit_test(test_truncate_only_shortens),
        cmocka_unit_test(test_fail_keeps_the_first_code),
        cmocka_unit_test(test_steal_hands_over_and_starts_anew),
        cmocka_unit_test(test_what_was_stolen_can_be_adopted),
        cmocka_unit_test(test_release_is_safe_twice_and_on_zero),
        cmocka_unit_test(test_every_failing_allocation_is_nomem_and_keeps_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
