/*
 * test_again.c: an answer that serves again is the one that would be made: for every change of the file,
 * for every header that changes it, and with the id of its own request.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drive.h"

#define WARM 40 /* requests: more than it takes for an answer to be kept */
#define SETTLE_US 150000

static char key[128];

static void write_text(const char *text)
{
    const char *const words[] = {"memory", "write", "--content", text, NULL};
    char out[1024];
    assert_int_equal(drive_run(&drive, words, out, sizeof out), 0);
}

static int start(void **state)
{
    (void)state;
    drive_start(&drive, NULL);
    write_text("first"); // makes the directory
    drive_key(&drive, "memory:read", NULL, key);
    return 0;
}

/* ---- files and requests ---------------------------------------------------------------------------- */

static void path_of(const char *name, char out[512])
{
    snprintf(out, 512, "%s/personalities/default/%s", drive.home, name);
}

/* Old enough not to be taken for half a save. */
static void put(const char *name, const char *text)
{
    const struct timespec times[2] = {{1600000000, 7}, {1600000000, 7}};
    char path[512];
    path_of(name, path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void move(const char *from, const char *to)
{
    char a[512], b[512];
    path_of(from, a);
    path_of(to, b);
    assert_int_equal(rename(a, b), 0);
}

static void ask_with(int fd, const char *line, const char *headers, struct reply *out)
{
    char text[1024];
    int size = snprintf(text, sizeof text,
                        "%s HTTP/1.1\r\nHost: localhost:%u\r\nAuthorization: Bearer %s\r\n%s\r\n",
                        line, drive.port, key, headers);
    drive_send(fd, text, (size_t)size);
    drive_read(fd, strncmp(line, "HEAD", 4) == 0, out);
}

#define LINE "GET /api/memory/memory"

static void assert_says(int fd, const char *content)
{
    struct reply reply;
    ask_with(fd, LINE, "", &reply);
    assert_int_equal(reply.status, 200);
    if (!strstr(reply.body, content))
        fail_msg("expected %s, found %s", content, reply.body);
    reply_release(&reply);
}

/* A connection on which an answer with this content is kept. */
static int warm(const char *content)
{
    int fd = drive_connect(&drive);
    usleep(SETTLE_US);
    for (int i = 0; i < WARM; i++)
        assert_says(fd, content);
    return fd;
}

/* ---- the file --------------------------------------------------------------------------------------- */

static void test_every_read_sees_what_was_written_before_it(void **state)
{
    char text[32], content[64];
    (void)state;
    put("MEMORY.md", "zero\n");
    int fd = warm("\"content\":\"zero\\n\"");
    for (int i = 0; i < 50; i++) {
        const char *name = i % 2 ? "new" : "MEMORY.md";
        snprintf(text, sizeof text, "%04d\n", i);
        snprintf(content, sizeof content, "\"content\":\"%04d\\n\"", i);
        put(name, text);
        if (i % 2)
            move("new", "MEMORY.md");
        if (i % 5 == 0)
            usleep(SETTLE_US);
        for (int j = 0; j < 6; j++)
            assert_says(fd, content);
    }
    close(fd);
}

static void test_a_file_that_is_gone_is_not_found(void **state)
{
    struct reply reply;
    (void)state;
    put("MEMORY.md", "here\n");
    int fd = warm("here");
    move("MEMORY.md", "away");
    ask_with(fd, LINE, "", &reply);
    assert_int_equal(reply.status, 404);
    reply_release(&reply);
    move("away", "MEMORY.md");
    assert_says(fd, "here");
    close(fd);
}

static void test_a_write_of_another_program_is_seen_by_the_next_read(void **state)
{
    (void)state;
    put("MEMORY.md", "one\n");
    int fd = warm("one");
    write_text("two");
    assert_says(fd, "\"content\":\"two");
    close(fd);
}

/* ---- the request ------------------------------------------------------------------------------------- */

static void test_each_answer_has_the_id_of_its_request(void **state)
{
    struct reply reply;
    char header[64], id[16], before[64] = "";
    (void)state;
    put("MEMORY.md", "one\n");
    int fd = warm("one"), other = drive_connect(&drive);
    for (int i = 0; i < 20; i++) {
        snprintf(id, sizeof id, "mine-%d", i);
        snprintf(header, sizeof header, "X-Request-Id: %s\r\n", id);
        ask_with(i % 2 ? fd : other, LINE, header, &reply);
        assert_string_equal(reply_header(&reply, "X-Request-Id"), id);
        assert_null(strstr(strstr(reply.head, id) + 1, id)); // and no other
        reply_release(&reply);
        ask_with(i % 2 ? other : fd, LINE, "", &reply);
        const char *fresh = reply_header(&reply, "X-Request-Id");
        assert_int_equal(strlen(fresh), 36);
        assert_string_not_equal(fresh, before);
        snprintf(before, sizeof before, "%s", fresh);
        reply_release(&reply);
    }
    close(fd);
    close(other);
}

static void test_what_the_request_says_decides(void **state)
{
    struct reply reply;
    char tag[256];
    (void)state;
    put("MEMORY.md", "one\n");
    int fd = warm("one");
    ask_with(fd, LINE, "", &reply);
    snprintf(tag, sizeof tag, "If-None-Match: %s\r\n", reply_header(&reply, "ETag"));
    size_t size = reply.size;
    reply_release(&reply);
    ask_with(fd, LINE, tag, &reply);
    assert_int_equal(reply.status, 304);
    reply_release(&reply);
    for (int i = 0; i < WARM; i++) {
        ask_with(fd, LINE, "Accept: text/markdown\r\n", &reply);
        assert_string_equal(reply.body, "one\n");
        assert_string_equal(reply_header(&reply, "Content-Type"), "text/markdown; charset=utf-8");
        reply_release(&reply);
    }
    assert_says(fd, "\"content\":\"one\\n\"");
    for (int i = 0; i < WARM; i++) { // of two, the first one counts, and is kept as such
        ask_with(fd, LINE, "Accept: application/json\r\nAccept: text/markdown\r\n", &reply);
        assert_string_equal(reply_header(&reply, "Content-Type"), "application/json");
        reply_release(&reply);
        ask_with(fd, LINE, "Accept: text/markdown\r\nAccept: application/json\r\n", &reply);
        assert_string_equal(reply.body, "one\n");
        reply_release(&reply);
    }
    ask_with(fd, "HEAD /api/memory/memory", "", &reply);
    assert_int_equal(reply.status, 200);
    assert_int_equal(strtoul(reply_header(&reply, "Content-Length"), NULL, 10), size);
    reply_release(&reply);
    ask_with(fd, LINE "?personality=other", "", &reply);
    assert_int_equal(reply.status, 404);
    reply_release(&reply);
    ask_with(fd, LINE "?nobody=knows", "", &reply);
    assert_int_equal(reply.status, 400);
    reply_release(&reply);
    close(fd);
}

/* What a line means is remembered for the next request of the connection. */
static void test_each_line_means_what_it_says(void **state)
{
    static const struct {
        const char *line;
        int status;
    } rows[] = {
        {LINE, 200},
        {"PUT /api/memory/memory", 403},
        {"GET /api/memory/memor%79", 200},
        {"GET /api/memory/memor%7", 400},
        {"GET /api/../api/memory/memory", 400},
        {"GET /nowhere", 404},
        {LINE "?", 200},
    };
    struct reply reply;
    char line[1024], long_line[512];
    (void)state;
    put("MEMORY.md", "one\n");
    int fd = warm("one");
    memset(long_line, 'x', sizeof long_line);
    long_line[300] = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int again = 0; again < 3; again++) {
            ask_with(fd, rows[i].line, "", &reply);
            assert_int_equal(reply.status, rows[i].status);
            reply_release(&reply);
        }
        assert_says(fd, "one");
        snprintf(line, sizeof line, "GET /%s", long_line);
        ask_with(fd, line, "", &reply);
        assert_int_equal(reply.status, 404);
        reply_release(&reply);
    }
    close(fd);
}

static void test_only_who_may_is_answered(void **state)
{
    char other[128];
    (void)state;
    put("MEMORY.md", "one\n");
    int fd = warm("one");
    drive_key(&drive, "sessions:read", NULL, other);
    for (int i = 0; i < 4; i++) { // either thread has it
        assert_int_equal(drive_status(&drive,
                                      LINE " HTTP/1.1\r\nHost: localhost:%u\r\n"
                                           "Authorization: Bearer %s\r\n\r\n",
                                      drive.port, other),
                         403);
        assert_int_equal(
            drive_status(&drive, LINE " HTTP/1.1\r\nHost: localhost:%u\r\n\r\n", drive.port), 401);
        assert_int_equal(drive_status(&drive,
                                      LINE " HTTP/1.1\r\nHost: elsewhere:%u\r\n"
                                           "Authorization: Bearer %s\r\n\r\n",
                                      drive.port, key),
                         421);
    }
    assert_says(fd, "one");
    close(fd);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_read_sees_what_was_written_before_it),
        cmocka_unit_test(test_a_file_that_is_gone_is_not_found),
        cmocka_unit_test(test_a_write_of_another_program_is_seen_by_the_next_read),
        cmocka_unit_test(test_each_answer_has_the_id_of_its_request),
        cmocka_unit_test(test_what_the_request_says_decides),
        cmocka_unit_test(test_each_line_means_what_it_says),
        cmocka_unit_test(test_only_who_may_is_answered),
    };
    return cmocka_run_group_tests(tests, start, drive_group_end);
}
