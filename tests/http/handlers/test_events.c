/*
 * test_events.c: the streams of a real server: what they say, to whom, and after an interruption.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "../raw_client.h"

#define TEXT_SIZE 65536

static char key_all[128], key_memory[128], key_sessions[128];

/* ---- a stream ----------------------------------------------------------------------------------- */

struct stream {
    int fd;
    struct reply head;
    char text[TEXT_SIZE]; /* of the stream, without its chunks */
    size_t size;
};

static void open_stream(struct stream *self, const char *path, const char *key, const char *last)
{
    char request[1024];
    *self = (struct stream){.fd = drive_connect(&drive)};
    snprintf(request, sizeof request,
             "GET %s HTTP/1.1\r\nHost: localhost:%u\r\nAuthorization: Bearer %s\r\n%s%s%s\r\n",
             path, drive.port, key, last ? "Last-Event-ID: " : "", last ? last : "",
             last ? "\r\n" : "");
    drive_send(self->fd, request, strlen(request));
    drive_read(self->fd, true, &self->head);
}

static void close_stream(struct stream *self)
{
    close(self->fd);
    raw_reply_release(&self->head);
}

static void read_exactly(int fd, char *out, size_t size)
{
    for (size_t used = 0; used < size;) {
        ssize_t got = recv(fd, out + used, size - used, 0);
        if (got <= 0)
            fail_msg("the stream ended, or was silent for too long");
        used += (size_t)got;
    }
}

/* One chunk more. */
static void read_chunk(struct stream *self)
{
    char line[16] = "";
    for (size_t used = 0; !strchr(line, '\n') && used < sizeof line - 1; used++)
        read_exactly(self->fd, line + used, 1);
    size_t size = strtoul(line, NULL, 16);
    assert_true(size > 0 && self->size + size + 3 < TEXT_SIZE);
    read_exactly(self->fd, self->text + self->size, size + 2);
    self->size += size;
    self->text[self->size] = 0;
}

/* Reads until the stream holds this text; where it begins. */
static const char *await(struct stream *self, const char *text)
{
    while (!strstr(self->text, text))
        read_chunk(self);
    return strstr(self->text, text);
}

/* The id of the event that a place is in. */
static void id_before(const struct stream *self, const char *place, char out[64])
{
    const char *id = NULL;
    for (const char *at = self->text; (at = strstr(at, "id: ")) && at < place; at++)
        id = at;
    assert_non_null(id);
    snprintf(out, 64, "%.*s", (int)strcspn(id + 4, "\n"), id + 4);
}

static void run(const char *const *args)
{
    char out[4096];
    if (drive_run(&drive, args, out, sizeof out) != 0)
        fail_msg("%s %s failed", args[0], args[1]);
}

static void add(const char *text)
{
    run((const char *const[]){"memory", "add", text, "-p", "tester", NULL});
}

/* ---- /events ------------------------------------------------------------------------------------ */

static void test_a_stream_begins_with_hello_and_says_how_it_is_to_be_read(void **state)
{
    struct stream stream;
    (void)state;
    open_stream(&stream, "/events", key_all, NULL);
    assert_int_equal(stream.head.status, 200);
    assert_string_equal(reply_header(&stream.head, "content-type"), "text/event-stream");
    assert_string_equal(reply_header(&stream.head, "cache-control"), "no-cache");
    assert_string_equal(reply_header(&stream.head, "x-accel-buffering"), "no");
    await(&stream, "\n\n");
    assert_int_equal(strncmp(stream.text, "retry: 3000\nid: ", 16), 0);
    assert_non_null(strstr(stream.text, "\ndata: {\"type\":\"hello\",\"version\":\""));
    assert_null(strstr(stream.text, "\nevent:"));
    assert_null(strchr(stream.text, '\r'));
    close_stream(&stream);
}

static void test_a_change_of_another_program_is_told_as_history_has_it(void **state)
{
    struct stream stream;
    (void)state;
    open_stream(&stream, "/events", key_all, NULL);
    await(&stream, "hello");
    add("a first entry");
    const char *event = await(&stream, "\"line\":\"+a first entry\"");
    assert_non_null(event);
    assert_non_null(strstr(stream.text,
                           "{\"type\":\"memory.changed\",\"scope\":\"personality:tester\","
                           "\"key\":\"MEMORY.md\",\"revision\":\"sha256:"));
    if (!strstr(stream.text, "\"via\":\"cli\""))
        fail_msg("%s", stream.text);
    assert_non_null(strstr(stream.text, "\"actor\":\"owner\""));
    assert_non_null(strstr(stream.text, "\"source\":\"tool\""));
    assert_non_null(strstr(stream.text, "\"trust\":\"owner\""));
    close_stream(&stream);
}

static void test_who_comes_back_is_given_what_was_missed(void **state)
{
    struct stream stream;
    char id[64];
    (void)state;
    open_stream(&stream, "/events", key_all, NULL);
    await(&stream, "hello");
    add("missed 0");
    id_before(&stream, await(&stream, "+missed 0"), id);
    close_stream(&stream);
    add("missed 1");
    add("missed 2");
    open_stream(&stream, "/events", key_all, id);
    const char *second = await(&stream, "+missed 2"), *first = strstr(stream.text, "+missed 1");
    assert_true(first && first < second);
    assert_null(strstr(stream.text, "missed 0"));
    assert_null(strstr(stream.text, "reset"));
    close_stream(&stream);
}

static void test_an_id_by_the_query_is_taken_too(void **state)
{
    struct stream stream;
    char id[64], path[128];
    (void)state;
    open_stream(&stream, "/events", key_all, NULL);
    await(&stream, "hello");
    add("query 0");
    id_before(&stream, await(&stream, "+query 0"), id);
    close_stream(&stream);
    add("query 1");
    snprintf(path, sizeof path, "/events?lastEventId=%s", id);
    open_stream(&stream, path, key_all, NULL);
    await(&stream, "+query 1");
    assert_null(strstr(stream.text, "+query 0"));
    close_stream(&stream);
}

static void test_an_id_of_another_run_means_to_reload_everything(void **state)
{
    static const char *const ids[] = {"0123456789abcdef-3", "7", "x", "-1"};
    (void)state;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct stream stream;
        open_stream(&stream, "/events", key_all, ids[i]);
        await(&stream, "data: {\"type\":\"reset\"}\n\n");
        close_stream(&stream);
    }
}

static void test_a_key_is_told_of_nothing_that_it_may_not_read(void **state)
{
    struct stream stream;
    (void)state;
    open_stream(&stream, "/events", key_sessions, NULL);
    assert_int_equal(stream.head.status, 403);
    close_stream(&stream);
    open_stream(&stream, "/events", key_memory, NULL);
    await(&stream, "hello");
    run((const char *const[]){"sessions", "append", "hello", NULL});
    add("after the session");
    await(&stream, "+after the session");
    assert_null(strstr(stream.text, "session.changed"));
    close_stream(&stream);
}

/* ---- /sse/sessions ------------------------------------------------------------------------------ */

static void current_session(char out[64])
{
    char json[8192];
    assert_int_equal(drive_run(&drive, (const char *const[]){"--json", "sessions", "list", NULL},
                               json, sizeof json),
                     0);
    const char *id = strstr(json, "\"id\"");
    assert_non_null(id);
    snprintf(out, 64, "%.36s", strchr(id + 4, '"') + 1);
}

static void say(const char *role, const char *text)
{
    run((const char *const[]){"sessions", "append", text, "--role", role, NULL});
}

static void test_a_session_streams_what_is_appended_in_its_own_sequence(void **state)
{
    struct stream stream;
    char id[64], path[128];
    (void)state;
    say("assistant", "one"); // somebody said hello before
    current_session(id);
    snprintf(path, sizeof path, "/sse/sessions/%s", id);
    open_stream(&stream, path, key_sessions, NULL);
    assert_int_equal(stream.head.status, 200);
    await(&stream, "\n\n");
    assert_int_equal(
        strncmp(stream.text, "id: 0\ndata: {\"type\":\"stream_meta\",\"requestId\":\"", 46), 0);
    say("user", "two");
    await(&stream, "id: 1\ndata: {\"type\":\"message_persisted\",\"messageId\":\"");
    await(&stream, "\"role\":\"user\"}\n\n");
    say("assistant", "three");
    await(&stream, "id: 2\n");
    assert_null(strstr(stream.text, "\nevent:"));
    close_stream(&stream);

    open_stream(&stream, path, key_sessions, "1");
    await(&stream, "id: 2\n");
    assert_int_equal(strncmp(stream.text, "id: 1\ndata: {\"type\":\"stream_meta\"", 33), 0);
    assert_null(strstr(stream.text, "id: 1\ndata: {\"type\":\"message_persisted\""));
    close_stream(&stream);

    open_stream(&stream, path, key_sessions, "99"); // of a server before this one
    await(&stream, "id: 2\n");
    assert_non_null(strstr(stream.text, "id: 1\ndata: {\"type\":\"message_persisted\""));
    close_stream(&stream);

    open_stream(&stream, path, key_sessions, "nonsense");
    await(&stream, "id: 1\ndata: {\"type\":\"message_persisted\"");
    close_stream(&stream);
}

static void test_a_session_that_nobody_knows_is_open_and_silent(void **state)
{
    struct stream stream;
    (void)state;
    open_stream(&stream, "/sse/sessions/unknown", key_sessions, NULL);
    assert_int_equal(stream.head.status, 200);
    await(&stream, "stream_meta");
    close_stream(&stream);
    open_stream(&stream, "/sse/sessions/unknown", key_memory, NULL);
    assert_int_equal(stream.head.status, 403);
    close_stream(&stream);
    open_stream(&stream, "/sse/sessions/", key_sessions, NULL);
    assert_int_equal(stream.head.status, 404);
    close_stream(&stream);
}

static void test_an_edit_made_outside_is_told_to_those_who_follow_a_session(void **state)
{
    struct stream stream;
    char path[512];
    (void)state;
    add("for the editor");
    open_stream(&stream, "/sse/sessions/any", key_sessions, NULL);
    await(&stream, "stream_meta");
    snprintf(path, sizeof path, "%s/personalities/tester/MEMORY.md", drive.home);
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fputs("by hand\n", file);
    fclose(file);
    await(&stream, "data: {\"type\":\"notification\",\"message\":\"Memory was edited outside.\","
                   "\"source\":\"memory\"}\n\n");
    close_stream(&stream);
}

/* ---- the whole ----------------------------------------------------------------------------------- */

static int begin(void **state)
{
    (void)state;
    snprintf(drive.home, sizeof drive.home, "/tmp/ethos-events-XXXXXX");
    if (!mkdtemp(drive.home))
        return -1;
    drive_start(&drive, NULL);
    drive_key(&drive, "memory:read sessions:read personalities:read", NULL, key_all);
    drive_key(&drive, "memory:read", NULL, key_memory);
    drive_key(&drive, "sessions:read", NULL, key_sessions);
    if (drive_stop(&drive) != 0) // a new key is known a moment after it was made
        return -1;
    drive_start(&drive, NULL);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stream_begins_with_hello_and_says_how_it_is_to_be_read),
        cmocka_unit_test(test_a_change_of_another_program_is_told_as_history_has_it),
        cmocka_unit_test(test_who_comes_back_is_given_what_was_missed),
        cmocka_unit_test(test_an_id_by_the_query_is_taken_too),
        cmocka_unit_test(test_an_id_of_another_run_means_to_reload_everything),
        cmocka_unit_test(test_a_key_is_told_of_nothing_that_it_may_not_read),
        cmocka_unit_test(test_a_session_streams_what_is_appended_in_its_own_sequence),
        cmocka_unit_test(test_a_session_that_nobody_knows_is_open_and_silent),
        cmocka_unit_test(test_an_edit_made_outside_is_told_to_those_who_follow_a_session),
    };
    return cmocka_run_group_tests(tests, begin, drive_group_end);
}
