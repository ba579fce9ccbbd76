/*
 * test_arena.c: memory that lives as long as one request.
 */
#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../support/alloc.h"
#include "base/view.h"

static bool all_zero(const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (data[i])
            return false;
    }
    return true;
}

static void test_blocks_are_zeroed_aligned_and_apart(void **state)
{
    struct arena a;
    char *blocks[300];

    (void)state;
    arena_init(&a);
    for (size_t i = 0; i < 300; i++) {
        size_t size = i * i % 1999; // small ones share blocks, large ones have their own

        blocks[i] = arena_alloc(&a, size);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % _Alignof(max_align_t), 0);
        assert_true(all_zero(blocks[i], size));
        memset(blocks[i], (int)i | 1, size);
    }
    for (size_t i = 0; i < 300; i++) {
        for (size_t j = 0; j < i * i % 1999; j++)
            assert_int_equal((unsigned char)blocks[i][j], (i | 1) & 0xFF);
    }
    arena_release(&a);
}

static void test_small_requests_share_and_large_ones_do_not_waste(void **state)
{
    struct arena a;

    (void)state;
    arena_init(&a);
    alloc_fail_at(0);
    arena_alloc(&a, 10);
    arena_alloc(&a, 1000000);
    arena_alloc(&a, 10); // still fits the first block
    assert_int_equal(alloc_count(), 2);
    arena_release(&a);
}

static void test_empty_requests_are_distinct(void **state)
{
    struct arena a;

    (void)state;
    arena_init(&a);
    void *one = arena_alloc(&a, 0), *two = arena_alloc(&a, 0);
    assert_non_null(one);
    assert_non_null(two);
    assert_ptr_not_equal(one, two);
    arena_release(&a);
}

static void test_overflowing_sizes_are_refused(void **state)
{
    struct arena a;

    (void)state;
    arena_init(&a);
    assert_null(arena_alloc(&a, SIZE_MAX));
    assert_null(arena_alloc(&a, SIZE_MAX - 8));
    assert_null(arena_array(&a, SIZE_MAX / 2, 3));
    assert_null(arena_copy(&a, view_of("x", SIZE_MAX)));
    assert_non_null(arena_array(&a, 0, 8));
    arena_release(&a);
}

static void test_copies_are_terminated_and_their_own(void **state)
{
    struct arena a;
    char text[] = "abc";

    (void)state;
    arena_init(&a);
    char *copy = arena_copy(&a, view_of(text, 2));
    char *string = arena_str(&a, text);
    memset(text, 'x', 3);
    assert_string_equal(copy, "ab");
    assert_string_equal(string, "abc");
    assert_string_equal(arena_copy(&a, (struct ethos_view){NULL, 0}), "");
    assert_null(arena_str(&a, NULL));
    arena_release(&a);
}

static void test_printf_formats_any_length(void **state)
{
    struct arena a;

    (void)state;
    arena_init(&a);
    assert_string_equal(arena_printf(&a, "%s:%d", "user", 7), "user:7");
    assert_string_equal(arena_printf(&a, "%s", ""), "");
    assert_int_equal(strlen(arena_printf(&a, "%09999d", 1)), 9999);
    arena_release(&a);
}

static void test_release_empties_and_may_be_repeated(void **state)
{
    struct arena a;

    (void)state;
    arena_init(&a);
    arena_release(&a);
    arena_alloc(&a, 1);
    arena_release(&a);
    arena_release(&a);
    assert_null(a.head);
}

static void test_every_failing_allocation_gives_null_and_no_leak(void **state)
{
    bool whole = false;

    (void)state;
    ALLOC_EACH(n, whole)
    {
        struct arena a;

        arena_init(&a);
        whole = true;
        for (size_t i = 0; i < 20; i++) {
            char *block = arena_alloc(&a, i * 300);
            char *text = arena_printf(&a, "%zu", i);

            whole = whole && block && text;
            assert_true(!block || all_zero(block, i * 300));
        }
        arena_release(&a);
    }
}

static void test_an_array_grows_and_keeps_what_it_holds(void **state)
{
    struct arena a;
    size_t capacity = 0;
    unsigned *numbers = NULL;
    (void)state;
    arena_init(&a);
    for (unsigned i = 0; i < 1000; i++) {
        numbers = arena_grow(&a, numbers, i, &capacity, sizeof *numbers);
        assert_non_null(numbers);
        assert_true(capacity > i);
        numbers[i] = i;
    }
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(numbers[i], i);
    size_t huge = SIZE_MAX / 2;
    assert_null(arena_grow(&a, numbers, huge, &huge, sizeof *numbers));
    assert_true(huge == SIZE_MAX / 2);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_array_grows_and_keeps_what_it_holds),
        cmocka_unit_test(test_blocks_are_zeroed_aligned_and_apart),
        cmocka_unit_test(test_small_requests_share_and_large_ones_do_not_waste),
        cmocka_unit_test(test_empty_requests_are_distinct),
        cmocka_unit_test(test_overflowing_sizes_are_refused),
        cmocka_unit_test(test_copies_are_terminated_and_their_own),
        cmocka_unit_test(test_printf_formats_any_length),
        cmocka_unit_test(test_release_empties_and_may_be_repeated),
        cmocka_unit_test(test_every_failing_allocation_gives_null_and_no_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
