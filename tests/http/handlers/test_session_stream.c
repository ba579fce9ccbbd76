/*
 * test_session_stream.c: how many sessions keep their events, and which of them are forgotten first. The streams are the
 * test's own: what would be sent is their greeting, whose id says from where on the client is told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/view.h"
#include "http/handlers/events.h"

#define EVENT VIEW("{\"type\":\"notification\"}")

/* ---- in place of the server ----------------------------------------------------------------------------- */

static struct sse *sse;
static const char *last_id;
static struct events_reader *given; /* with the last answer; NULL: it was an error */
static unsigned status;

struct events *http_events_of(const struct http_call *call)
{
    (void)call;
    return NULL;
}

struct sse *sse_of(struct events *events)
{
    (void)events;
    return sse;
}

const char *events_last_id(const struct http_call *call)
{
    (void)call;
    return last_id;
}

struct events_reader *events_reader_new(struct hub *hub, unsigned kinds, uint64_t at)
{
    struct events_reader *self = calloc(1, sizeof *self);
    assert_non_null(self);
    self->hub = hub;
    self->kinds = kinds;
    self->at = at;
    str_init(&self->greeting, 4096);
    return self;
}

void events_answer(struct http_call *call, struct events_reader *reader)
{
    (void)call;
    given = reader;
    status = 200;
}

void http_answer_error(struct http_call *call, const struct http_error *error, json_t *data)
{
    (void)call;
    assert_null(data);
    status = error->status;
}

void http_answer_failure(struct http_call *call, const struct ethos_error *error)
{
    (void)call;
    fail_msg("%s", error->text);
}

/* ---- what is asked ---------------------------------------------------------------------------------------- */

static int start(void **state)
{
    (void)state;
    return sse_new(&sse, NULL);
}

static int end(void **state)
{
    (void)state;
    sse_free(sse);
    return 0;
}

static const char *name_of(int number)
{
    static char name[32];
    snprintf(name, sizeof name, "cli:%d", number);
    return name;
}

static struct events_reader *follow(int number, const char *from)
{
    struct http_call call = {.rest = name_of(number), .rights = OP_RIGHTS_AGENT};
    given = NULL;
    last_id = from;
    http_sse(&call);
    return given;
}

static void leave(struct events_reader *reader)
{
    reader->left(reader);
    str_release(&reader->greeting);
    free(reader);
}

/* Whether its one event is still there. Who asks for one that is not makes room for it. */
static bool is_kept(int number)
{
    struct events_reader *reader = follow(number, "1");
    assert_non_null(reader);
    bool kept = view_starts(str_view(&reader->greeting), VIEW("id: 1\n"));
    leave(reader);
    return kept;
}

static void tell(int from, int to)
{
    for (int i = from; i < to; i++)
        assert_int_equal(sse_tell(sse, name_of(i), EVENT), ETHOS_OK);
}

/* ---- tests -------------------------------------------------------------------------------------------------- */

static void test_the_one_that_was_left_first_makes_room(void **state)
{
    (void)state;
    tell(0, HTTP_MAX_FOLLOWED);
    assert_true(is_kept(0)); // and left last by this
    tell(HTTP_MAX_FOLLOWED, HTTP_MAX_FOLLOWED + 2);
    assert_true(is_kept(0));
    assert_true(is_kept(3));
    assert_true(is_kept(HTTP_MAX_FOLLOWED + 1));
    assert_false(is_kept(1));
    assert_false(is_kept(2));
}

static void test_who_is_followed_is_not_forgotten(void **state)
{
    (void)state;
    tell(0, 1);
    struct events_reader *reader = follow(0, NULL);
    tell(1, 2 * HTTP_MAX_FOLLOWED);
    assert_true(is_kept(0));
    assert_false(is_kept(1));
    leave(reader);
}

static void test_when_all_are_followed_the_next_is_told_so(void **state)
{
    static struct events_reader *readers[HTTP_MAX_FOLLOWED];
    (void)state;
    for (int i = 0; i < HTTP_MAX_FOLLOWED; i++)
        assert_non_null(readers[i] = follow(i, NULL));
    assert_null(follow(HTTP_MAX_FOLLOWED, NULL));
    assert_int_equal(status, 503);
    assert_int_equal(sse_tell(sse, name_of(HTTP_MAX_FOLLOWED), EVENT), ETHOS_LIMIT);
    struct events_reader *second = follow(0, NULL);
    assert_non_null(second); // one that is there needs no room
    leave(second);
    leave(readers[0]);
    assert_non_null(readers[0] = follow(HTTP_MAX_FOLLOWED, NULL));
    for (int i = 0; i < HTTP_MAX_FOLLOWED; i++)
        leave(readers[i]);
    assert_non_null(follow(0, NULL));
    leave(given);
}

/* Large ones push each other out before there are a thousand. */
static void test_the_events_of_a_session_take_no_more_than_so_much(void **state)
{
    static char large[HUB_BYTES / 4];
    (void)state;
    memset(large, 'x', sizeof large);
    for (int i = 0; i < 20; i++)
        assert_int_equal(sse_tell(sse, name_of(0), view_of(large, sizeof large)), ETHOS_OK);
    struct events_reader *reader = follow(0, "1");
    assert_true(reader->at >= 16);
    leave(reader);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_one_that_was_left_first_makes_room),
        TEST(test_who_is_followed_is_not_forgotten),
        TEST(test_when_all_are_followed_the_next_is_told_so),
        TEST(test_the_events_of_a_session_take_no_more_than_so_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
