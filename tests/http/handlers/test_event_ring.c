/*
 * test_event_ring.c: events in order, for readers that come, stay behind and come back.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../support/alloc.h"
#include "base/view.h"
#include "http/handlers/event_ring.h"

static struct hub *make(size_t events, size_t bytes)
{
    struct hub *hub;
    assert_int_equal(hub_new(events, bytes, &hub, NULL), ETHOS_OK);
    return hub;
}

static void add(struct hub *hub, const char *json)
{
    assert_int_equal(hub_add(hub, "r", 1, view_str(json)), ETHOS_OK);
}

static void assert_read(struct hub *hub, uint64_t *at, unsigned kinds, bool whole,
                        const char *expected)
{
    struct hub_batch *batch;
    assert_int_equal(hub_read(hub, at, kinds, &batch), whole);
    struct ethos_view bytes = batch ? hub_bytes(batch) : VIEW("");
    assert_int_equal(bytes.size, strlen(expected));
    assert_memory_equal(bytes.data, expected, bytes.size);
    assert_int_equal(batch == NULL, bytes.size == 0);
    hub_release(batch);
}

static void test_frames_are_numbered_from_one_and_read_in_order(void **state)
{
    (void)state;
    struct hub *hub = make(8, 0);
    uint64_t at = 0;
    assert_int_equal(hub_head(hub), 0);
    assert_read(hub, &at, HUB_ALL, true, "");
    add(hub, "{}");
    add(hub, "[1]");
    assert_int_equal(hub_head(hub), 2);
    assert_read(hub, &at, HUB_ALL, true,
                "id: r-1\ndata: {}\n\n"
                "id: r-2\ndata: [1]\n\n");
    assert_int_equal(at, 2);
    assert_read(hub, &at, HUB_ALL, true, "");
    hub_add(hub, "", 1, VIEW("3"));
    assert_read(hub, &at, HUB_ALL, true, "id: 3\ndata: 3\n\n");
    hub_free(hub);
}

static void test_a_read_gives_some_frames_and_at_least_one(void **state)
{
    (void)state;
    struct hub *hub = make(8192, 0);
    char large[2 * HUB_BATCH];
    uint64_t at = 0, before;
    memset(large, '1', sizeof large - 1);
    large[sizeof large - 1] = 0;
    add(hub, large);
    for (int i = 0; i < 1000; i++)
        add(hub, "2");
    for (size_t reads = 0, size = 0; at < 1001; reads++, size = 0) {
        struct hub_batch *batch;
        before = at;
        assert_true(hub_read(hub, &at, HUB_ALL, &batch));
        size = hub_bytes(batch).size;
        assert_true(reads == 0 ? at == 1 : size <= HUB_BATCH && at > before);
        hub_release(batch);
    }
    hub_free(hub);
}

/* They are given the very same bytes; and what they hold stays as it is, whatever becomes of the hub. */
static void test_readers_at_the_same_place_share_what_they_are_given(void **state)
{
    (void)state;
    struct hub *hub = make(2, 0);
    struct hub_batch *one, *two, *other;
    uint64_t at = 0, again = 0, later = 0;
    add(hub, "1");
    assert_true(hub_read(hub, &at, HUB_ALL, &one));
    assert_true(hub_read(hub, &again, HUB_ALL, &two));
    assert_ptr_equal(one, two);
    add(hub, "2");
    assert_true(hub_read(hub, &later, HUB_ALL, &other)); // more came since
    assert_ptr_not_equal(one, other);
    assert_int_equal(later, 2);
    for (int i = 0; i < 10; i++)
        add(hub, "3");
    hub_free(hub);
    assert_memory_equal(hub_bytes(one).data, "id: r-1\ndata: 1\n\n", hub_bytes(one).size);
    hub_release(one);
    hub_release(two);
    hub_release(other);
}

static void test_whoever_falls_behind_is_told_so_and_goes_on_with_the_oldest(void **state)
{
    (void)state;
    struct hub *hub = make(3, 0);
    uint64_t at = 0, late = 1;
    for (int i = 0; i < 5; i++)
        add(hub, "0");
    assert_read(hub, &at, HUB_ALL, false, "");
    assert_int_equal(at, 2);
    assert_int_equal(hub_reach(hub, 0), 2);
    assert_int_equal(hub_reach(hub, 4), 4);
    assert_read(hub, &at, HUB_ALL, true,
                "id: r-3\ndata: 0\n\nid: r-4\ndata: 0\n\nid: r-5\ndata: 0\n\n");
    assert_read(hub, &late, HUB_ALL, false, "");
    uint64_t exact = 4;
    assert_read(hub, &exact, HUB_ALL, true, "id: r-5\ndata: 0\n\n");
    hub_free(hub);
}

static void test_the_oldest_go_when_there_are_too_many_bytes(void **state)
{
    (void)state;
    char large[600];
    struct hub *hub = make(100, 2000);
    uint64_t at = 0;
    memset(large, '1', sizeof large - 1);
    large[sizeof large - 1] = 0;
    for (int i = 0; i < 10; i++)
        add(hub, large);
    assert_read(hub, &at, HUB_ALL, false, "");
    assert_true(at >= 6 && at < 9);
    add(hub, "2");
    at = 10;
    assert_read(hub, &at, HUB_ALL, true, "id: r-11\ndata: 2\n\n");
    hub_free(hub);
}

static void test_one_frame_that_is_larger_than_all_is_kept_alone(void **state)
{
    (void)state;
    struct hub *hub = make(100, 50);
    uint64_t at = 1;
    add(hub, "1");
    add(hub, "\"01234567890123456789012345678901234567890123456789\"");
    assert_read(hub, &at, HUB_ALL, true,
                "id: r-2\ndata: \"01234567890123456789012345678901234567890123456789\"\n\n");
    hub_free(hub);
}

static void test_kinds_that_are_not_wanted_are_passed_over(void **state)
{
    (void)state;
    struct hub *hub = make(8, 0);
    uint64_t at = 0;
    hub_add(hub, "r", 1, VIEW("1"));
    hub_add(hub, "r", 2, VIEW("2"));
    hub_add(hub, "r", 4, VIEW("3"));
    hub_add(hub, "r", HUB_ALL, VIEW("4"));
    assert_read(hub, &at, 5, true, "id: r-1\ndata: 1\n\nid: r-3\ndata: 3\n\nid: r-4\ndata: 4\n\n");
    assert_int_equal(at, 4);
    at = 0;
    assert_read(hub, &at, 0, true, "");
    assert_int_equal(at, 4);
    hub_free(hub);
}

static void test_without_memory_an_event_is_missed_by_everyone_and_known_to_be(void **state)
{
    (void)state;
    struct hub *hub = make(8, 0);
    uint64_t at = 1;
    add(hub, "1");
    alloc_fail_at(1);
    assert_int_equal(hub_add(hub, "r", 1, VIEW("2")), ETHOS_NOMEM);
    alloc_fail_at(0);
    add(hub, "3");
    assert_read(hub, &at, HUB_ALL, false, "");
    assert_read(hub, &at, HUB_ALL, true, "id: r-3\ndata: 3\n\n");
    hub_free(hub);
}

/* ---- many at once ------------------------------------------------------------------------------ */

enum { EVENTS = 20000, READERS = 4 };

/* Every number is seen once and in order, or said to be gone. */
static void *read_all(void *arg)
{
    struct hub *hub = arg;
    struct hub_batch *batch;
    uint64_t at = 0, seen = 0;
    while (at < EVENTS) {
        if (!hub_read(hub, &at, HUB_ALL, &batch))
            seen = at;
        struct ethos_view line, rest = batch ? hub_bytes(batch) : VIEW("");
        while (view_line(&rest, &line)) {
            if (!view_starts(line, VIEW("id: r-")))
                continue;
            if (strtoull(line.data + 6, NULL, 10) != seen + 1)
                return "a number is missing";
            seen++;
        }
        hub_release(batch);
        if (seen != at)
            return "a frame is missing";
    }
    return NULL;
}

static void test_readers_see_every_event_once_while_others_add(void **state)
{
    (void)state;
    struct hub *hub = make(512, 0);
    pthread_t readers[READERS];
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_all, hub), 0);
    for (int i = 0; i < EVENTS; i++)
        add(hub, "{\"type\":\"x\"}");
    for (int i = 0; i < READERS; i++) {
        void *problem;
        pthread_join(readers[i], &problem);
        if (problem)
            fail_msg("%s", (const char *)problem);
    }
    hub_free(hub);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_are_numbered_from_one_and_read_in_order),
        cmocka_unit_test(test_a_read_gives_some_frames_and_at_least_one),
        cmocka_unit_test(test_readers_at_the_same_place_share_what_they_are_given),
        cmocka_unit_test(test_whoever_falls_behind_is_told_so_and_goes_on_with_the_oldest),
        cmocka_unit_test(test_the_oldest_go_when_there_are_too_many_bytes),
        cmocka_unit_test(test_one_frame_that_is_larger_than_all_is_kept_alone),
        cmocka_unit_test(test_kinds_that_are_not_wanted_are_passed_over),
        cmocka_unit_test(test_without_memory_an_event_is_missed_by_everyone_and_known_to_be),
        cmocka_unit_test(test_readers_see_every_event_once_while_others_add),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
