/*
 * test_response_cache.c: an answer that serves again is the one that would be made: for every change of the file,
 * for every header that changes it, and with the id of its own request.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "raw_client.h"

#define WARM 120 /* requests: then an answer is kept and its file watched */
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
    raw_reply_release(&reply);
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
    raw_reply_release(&reply);
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
        raw_reply_release(&reply);
        ask_with(i % 2 ? other : fd, LINE, "", &reply);
        const char *fresh = reply_header(&reply, "X-Request-Id");
        assert_int_equal(strlen(fresh), 36);
        assert_string_not_equal(fresh, before);
        snprintf(before, sizeof before, "%s", fresh);
        raw_reply_release(&reply);
    }
    close(fd);
    close(other);
}

static time_t now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now); // time() may be a tick behind
    return now.tv_sec;
}

static time_t date_of(int fd)
{
    struct reply reply;
    struct tm parts = {0};
    ask_with(fd, LINE, "", &reply);
    const char *first = strstr(reply.head, "\nDate: ");
    assert_non_null(first);
    assert_null(strstr(first + 1, "\nDate: "));
    const char *rest = strptime(first + 7, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    assert_true(rest && *rest == '\r');
    raw_reply_release(&reply);
    return timegm(&parts);
}

static void test_each_answer_has_the_date_of_its_second(void **state)
{
    (void)state;
    put("MEMORY.md", "one\n");
    int fd = warm("one");
    for (int i = 0; i < 30; i++) {
        time_t before = now_s(), date = date_of(fd);
        assert_true(before <= date && date <= now_s());
        usleep(100000);
    }
    close(fd);
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
    raw_reply_release(&reply);
    ask_with(fd, LINE, tag, &reply);
    assert_int_equal(reply.status, 304);
    raw_reply_release(&reply);
    for (int i = 0; i < WARM; i++) {
        ask_with(fd, LINE, "Accept: text/markdown\r\n", &reply);
        assert_string_equal(reply.body, "one\n");
        assert_string_equal(reply_header(&reply, "Content-Type"), "text/markdown; charset=utf-8");
        raw_reply_release(&reply);
    }
    assert_says(fd, "\"content\":\"one\\n\"");
    for (int i = 0; i < WARM; i++) { // of two, the first one counts, and is kept as such
        ask_with(fd, LINE, "Accept: application/json\r\nAccept: text/markdown\r\n", &reply);
        assert_string_equal(reply_header(&reply, "Content-Type"), "application/json");
        raw_reply_release(&reply);
        ask_with(fd, LINE, "Accept: text/markdown\r\nAccept: application/json\r\n", &reply);
        assert_string_equal(reply.body, "one\n");
        raw_reply_release(&reply);
    }
    ask_with(fd, "HEAD /api/memory/memory", "", &reply);
    assert_int_equal(reply.status, 200);
    assert_int_equal(strtoul(reply_header(&reply, "Content-Length"), NULL, 10), size);
    raw_reply_release(&reply);
    ask_with(fd, LINE "?personality=other", "", &reply);
    assert_int_equal(reply.status, 404);
    raw_reply_release(&reply);
    ask_with(fd, LINE "?nobody=knows", "", &reply);
    assert_int_equal(reply.status, 400);
    raw_reply_release(&reply);
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
            raw_reply_release(&reply);
        }
        assert_says(fd, "one");
        snprintf(line, sizeof line, "GET /%s", long_line);
        ask_with(fd, line, "", &reply);
        assert_int_equal(reply.status, 404);
        raw_reply_release(&reply);
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

/* ---- what a connection, or a thread, remembers -------------------------------------------------------- */

static int status_of(int fd, const char *host, const char *headers)
{
    struct reply reply;
    char text[1024];
    int size = snprintf(text, sizeof text, LINE " HTTP/1.1\r\nHost: %s\r\n%s\r\n", host, headers);
    drive_send(fd, text, (size_t)size);
    drive_read(fd, false, &reply);
    raw_reply_release(&reply);
    return reply.status;
}

static int status_for(int fd, const char *secret)
{
    char host[64], header[256];
    snprintf(host, sizeof host, "localhost:%u", drive.port);
    snprintf(header, sizeof header, "Authorization: %s\r\n", secret);
    return status_of(fd, host, header);
}

static void test_who_was_let_in_before_lets_nobody_else_in(void **state)
{
    char right[160], less[160], more[160], wrong[160], other[160], secret[128];
    (void)state;
    put("MEMORY.md", "one\n");
    int fd = warm("one");
    drive_key(&drive, "sessions:read", NULL, secret);
    snprintf(right, sizeof right, "Bearer %s", key);
    snprintf(less, sizeof less, "Bearer %.*s", (int)strlen(key) - 1, key);
    snprintf(more, sizeof more, "Bearer %s0", key);
    snprintf(wrong, sizeof wrong, "Bearer %s", key);
    wrong[strlen(wrong) - 1] ^= 1;
    snprintf(other, sizeof other, "Bearer %s", secret);
    const struct {
        const char *secret;
        int status;
    } rows[] = {{less, 401}, {more, 401}, {wrong, 401}, {"", 401}, {"Bearer", 401}, {other, 403}};
    for (size_t i = 0; i < 3 * sizeof rows / sizeof *rows; i++) {
        assert_int_equal(status_for(fd, right), 200);
        assert_int_equal(status_for(fd, rows[i / 3].secret), rows[i / 3].status);
    }
    assert_int_equal(status_for(fd, right), 200);
    close(fd);
}

static void test_a_name_that_was_ours_makes_no_other_ours(void **state)
{
    char ours[64], others[5][64], header[160];
    (void)state;
    put("MEMORY.md", "one\n");
    int fd = warm("one");
    snprintf(ours, sizeof ours, "localhost:%u", drive.port);
    snprintf(others[0], sizeof *others, "localhost:%u", drive.port + 1);
    snprintf(others[1], sizeof *others, "localhost");
    snprintf(others[2], sizeof *others, "localhost:%u0", drive.port);
    snprintf(others[3], sizeof *others, "elsewhere:%u", drive.port);
    others[4][0] = 0;
    snprintf(header, sizeof header, "Authorization: Bearer %s\r\n", key);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(status_of(fd, ours, header), 200);
        assert_int_equal(status_of(fd, others[i], header), 421);
        assert_int_equal(status_of(fd, others[i], header), 421);
    }
    assert_int_equal(status_of(fd, ours, header), 200);
    close(fd);
}

static void test_a_key_that_is_revoked_ends_on_connections_that_it_has(void **state)
{
    char secret[128], right[160], out[1024];
    (void)state;
    put("MEMORY.md", "one\n");
    drive_key(&drive, "memory:read", NULL, secret);
    snprintf(right, sizeof right, "Bearer %s", secret);
    int fd = drive_connect(&drive), tries = 0;
    for (int i = 0; i < WARM; i++)
        assert_int_equal(status_for(fd, right), 200);
    secret[sizeof "sk-ethos-" - 1 + 8] = 0; // what the list shows
    const char *const words[] = {"api-key", "revoke", secret, NULL};
    assert_int_equal(drive_run(&drive, words, out, sizeof out), 0);
    while (status_for(fd, right) == 200 &&
           tries++ < 5000) // asked all the time, and not let in by that
        usleep(1000);
    assert_int_equal(status_for(fd, right), 401);
    close(fd);
}

/* What comes until the stream ends, or holds the word; 1 MiB at most. */
static bool hears(int fd, const char *word)
{
    static char text[1 << 20];
    size_t used = 0;
    ssize_t count;
    while (used + 1 < sizeof text &&
           (count = recv(fd, text + used, sizeof text - 1 - used, 0)) > 0) {
        used += (size_t)count;
        text[used] = 0;
        if (strstr(text, word) || strstr(text, "0\r\n\r\n"))
            break;
    }
    assert_true(count > 0);
    return strstr(text, word) != NULL;
}

static void test_a_stream_tells_nothing_to_a_key_that_is_revoked(void **state)
{
    char secret[128], right[160], out[1024];
    struct reply reply;
    (void)state;
    drive_key(&drive, "memory:read sessions:read", NULL, secret);
    snprintf(right, sizeof right, "Bearer %s", secret);
    int fd = drive_connect(&drive), stream = drive_connect(&drive), tries = 0;
    int size = snprintf(out, sizeof out,
                        "GET /events HTTP/1.1\r\nHost: localhost:%u\r\nAuthorization: %s\r\n\r\n",
                        drive.port, right);
    drive_send(stream, out, (size_t)size);
    drive_read(stream, false, &reply);
    assert_int_equal(reply.status, 200);
    raw_reply_release(&reply);
    write_text("for all who may know");
    assert_true(hears(stream, "for all who may know"));
    secret[sizeof "sk-ethos-" - 1 + 8] = 0;
    const char *const words[] = {"api-key", "revoke", secret, NULL};
    assert_int_equal(drive_run(&drive, words, out, sizeof out), 0);
    while (status_for(fd, right) != 401 && tries++ < 5000)
        usleep(1000);
    write_text("for those who still may");
    assert_false(hears(stream, "for those who still may"));
    close(stream);
    close(fd);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_read_sees_what_was_written_before_it),
        cmocka_unit_test(test_a_file_that_is_gone_is_not_found),
        cmocka_unit_test(test_a_write_of_another_program_is_seen_by_the_next_read),
        cmocka_unit_test(test_each_answer_has_the_id_of_its_request),
        cmocka_unit_test(test_each_answer_has_the_date_of_its_second),
        cmocka_unit_test(test_what_the_request_says_decides),
        cmocka_unit_test(test_each_line_means_what_it_says),
        cmocka_unit_test(test_only_who_may_is_answered),
        cmocka_unit_test(test_who_was_let_in_before_lets_nobody_else_in),
        cmocka_unit_test(test_a_name_that_was_ours_makes_no_other_ours),
        cmocka_unit_test(test_a_key_that_is_revoked_ends_on_connections_that_it_has),
        cmocka_unit_test(test_a_stream_tells_nothing_to_a_key_that_is_revoked),
    };
    return cmocka_run_group_tests(tests, start, drive_group_end);
}
