/*
 * Lists of messages and places: what was written is read, and what is not ours ends the walk.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "session/search/postings.h"

static size_t put(uint8_t *out, size_t size, const uint32_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        size += postings_put(out + size, numbers[i]);
    return size;
}

static void test_what_is_written_is_read(void **state)
{
    /* Message 3 at 0 and 300; message 4 nowhere; message 16383 at UINT32_MAX - 1. */
    static const uint32_t numbers[] = {0, 1, 301, 0, 1, 0, 16379, UINT32_MAX, 0};
    uint8_t bytes[64];
    (void)state;
    struct postings list = postings_of(bytes,
                                       put(bytes, 0, numbers, sizeof numbers / sizeof *numbers), 3);
    assert_true(postings_next(&list));
    assert_int_equal(list.doc, 3);
    assert_int_equal(list.count, 2);
    uint32_t place = postings_place(&list, 0);
    assert_int_equal(place, 0);
    assert_int_equal(postings_place(&list, place), 300);
    assert_true(postings_next(&list));
    assert_int_equal(list.doc, 4);
    assert_int_equal(list.count, 0);
    assert_true(postings_next(&list));
    assert_int_equal(list.doc, 16383);
    assert_int_equal(postings_place(&list, 0), UINT32_MAX - 1);
    assert_false(postings_next(&list));
}

static void test_what_is_cut_short_ends(void **state)
{
    static const uint32_t numbers[] = {5, 1000, 100000, 0};
    uint8_t bytes[64];
    size_t size = put(bytes, 0, numbers, 4);
    (void)state;
    for (size_t cut = 0; cut < size; cut++) {
        struct postings list = postings_of(bytes, cut, 0);
        assert_false(postings_next(&list));
    }
    struct postings none = postings_of(NULL, 0, 7);
    assert_false(postings_next(&none));
}

static void test_any_bytes_end(void **state)
{
    uint32_t seed = 11;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        uint8_t bytes[24];
        size_t size = (seed >> 16) % sizeof bytes, steps = 0;
        for (size_t i = 0; i < size; i++) {
            seed = seed * 1664525u + 1013904223u;
            bytes[i] = (uint8_t)(seed >> (seed % 3 ? 24 : 31));
        }
        struct postings list = postings_of(bytes, size, 0);
        for (uint32_t place = 0; postings_next(&list); steps++) {
            for (uint32_t i = 0; i <= list.count; i++)
                place = postings_place(&list, place);
        }
        assert_true(steps <= size);
        seed++;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_what_is_cut_short_ends),
        cmocka_unit_test(test_any_bytes_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
