/*
 * test_limits.c: what the server reads at most, and what it does with the rest; paths; the login.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "http/http.h"
#include "raw_client.h"

const struct http_parts http_parts;

static char *filled(size_t size, char with)
{
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, with, size);
    text[size] = 0;
    return text;
}

/* ---- n, n + 1, 100 n ------------------------------------------------------------------------------- */

/* "OPTIONS /... HTTP/1.1" of so many bytes: a method that is answered before all else. */
static int ask_line(size_t size)
{
    char *path = filled(size - strlen("OPTIONS / HTTP/1.1"), 'a');
    int status = drive_status(&drive, "OPTIONS /%s HTTP/1.1\r\nHost: localhost:%u\r\n\r\n", path,
                              drive.port);
    free(path);
    return status;
}

static void test_a_request_line_has_8_KiB(void **state)
{
    (void)state;
    assert_int_equal(ask_line(HTTP_MAX_LINE), 204);
    assert_int_equal(ask_line(HTTP_MAX_LINE + 1), 414);
    assert_int_equal(ask_line(100 * HTTP_MAX_LINE), 414);
}

/* So many headers, Host among them. */
static int ask_headers(size_t count)
{
    char *text = malloc(count * 16 + 64);
    size_t size = 0;
    assert_non_null(text);
    for (size_t i = 1; i < count; i++)
        size += (size_t)snprintf(text + size, 16, "X-%zu: y\r\n", i);
    int status = drive_status(&drive, "OPTIONS / HTTP/1.1\r\nHost: localhost:%u\r\n%s\r\n",
                              drive.port, text);
    free(text);
    return status;
}

static void test_there_are_100_headers(void **state)
{
    (void)state;
    assert_int_equal(ask_headers(HTTP_MAX_HEADERS), 204);
    assert_int_equal(ask_headers(HTTP_MAX_HEADERS + 1), 431);
    assert_int_equal(ask_headers(100 * HTTP_MAX_HEADERS), 431);
}

/* Headers of so many bytes, ends of lines among them. */
static int ask_header_bytes(size_t size)
{
    char host[64];
    size_t used = (size_t)snprintf(host, sizeof host, "Host: localhost:%u\r\n", drive.port);
    char *value = filled(size - used - strlen("X: \r\n"), 'a');
    int status = drive_status(&drive, "OPTIONS / HTTP/1.1\r\n%sX: %s\r\n\r\n", host, value);
    free(value);
    return status;
}

static void test_headers_have_16_KiB(void **state)
{
    (void)state;
    assert_int_equal(ask_header_bytes(HTTP_MAX_HEADER), 204);
    assert_int_equal(ask_header_bytes(HTTP_MAX_HEADER + 1), 431);
    assert_int_equal(ask_header_bytes(100 * HTTP_MAX_HEADER), 431);
}

/* A body of blanks and {}, which every route takes or refuses by its size alone. */
static int ask_body(const char *path, size_t size, bool chunked)
{
    char *body = filled(size, ' '), head[64];
    memcpy(body, "{}", 2);
    snprintf(head, sizeof head, chunked ? "Transfer-Encoding: chunked" : "Content-Length: %zu",
             size);
    char chunk[32] = "";
    if (chunked)
        snprintf(chunk, sizeof chunk, "%zx\r\n", size);
    int status = drive_status(&drive,
                              "POST %s HTTP/1.1\r\nHost: localhost:%u\r\nCookie: ethos_auth=%s\r\n"
                              "Origin: http://localhost:%u\r\nContent-Type: application/json\r\n"
                              "%s\r\n\r\n%s%s%s",
                              path, drive.port, drive.cookie, drive.port, head, chunk, body,
                              chunked ? "\r\n0\r\n\r\n" : "");
    free(body);
    return status;
}

static void test_a_body_has_1_MiB_and_16_for_calls(void **state)
{
    (void)state;
    const char *api = "/api/memory/paths", *rpc = "/rpc/memory/paths";
    assert_int_not_equal(ask_body(api, HTTP_MAX_BODY, false), 413);
    assert_int_equal(ask_body(api, HTTP_MAX_BODY + 1, true), 413);
    assert_int_not_equal(ask_body(rpc, HTTP_MAX_RPC_BODY, false), 413);
    assert_int_equal(ask_body(rpc, HTTP_MAX_RPC_BODY + 1, true), 413);
}

/* What is announced is not waited for. */
static void test_a_body_that_is_announced_too_large_is_refused_at_once(void **state)
{
    (void)state;
    assert_int_equal(
        drive_status(&drive,
                     "POST /rpc/memory/paths HTTP/1.1\r\nHost: localhost:%u\r\n"
                     "Cookie: ethos_auth=%s\r\nOrigin: http://localhost:%u\r\n"
                     "Content-Type: application/json\r\nContent-Length: 1000000000\r\n\r\n",
                     drive.port, drive.cookie, drive.port),
        413);
}

/* ---- paths -------------------------------------------------------------------------------------------- */

static void test_a_path_names_what_it_names_in_one_way(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "/assets/../index.html",
        "/assets/./index.html",
        "/assets//index.html",
        "//assets/index.html",
        "/assets/%2e%2e/x",
        "/assets/%2e/index.html",
        "/assets/..%2findex.html",
        "/assets/%00",
        "/assets/index.html%00.js",
        "/assets/%5cindex.html",
        "/assets/a%0ab",
        "/assets/%c0%ae%c0%ae/x",
        "/assets/%ff",
        "/assets/%",
        "/assets/%2",
        "/assets/%zz",
        "/assets/a\\b",
        "/assets/%7f",
        "/assets/%e2%28%a1",
        "assets/index.html",
        "http:/assets/index.html",
        "/assets/index.html?a=%00",
        "/assets/index.html?%",
        "/rpc/memory/../memory/get",
        "/sse/sessions/../../events",
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        int status = drive_status(
            &drive, "GET %s HTTP/1.1\r\nHost: localhost:%u\r\nCookie: ethos_auth=%s\r\n\r\n",
            paths[i], drive.port, drive.cookie);
        if (status != 400)
            fail_msg("%s: %d", paths[i], status);
    }
    assert_int_equal(
        drive_status(&drive,
                     "GET /assets/%%69ndex.html?q=%%25 HTTP/1.1\r\nHost: localhost:%u\r\n"
                     "Cookie: ethos_auth=%s\r\n\r\n",
                     drive.port, drive.cookie),
        200);
    assert_int_equal(drive_status(&drive,
                                  "GET /assets/%%2569ndex.html HTTP/1.1\r\nHost: localhost:%u\r\n"
                                  "Cookie: ethos_auth=%s\r\n\r\n",
                                  drive.port, drive.cookie),
                     404); // decoded once
}

/* ---- the id of a request --------------------------------------------------------------------------------- */

static void test_a_request_keeps_its_id_when_it_is_one(void **state)
{
    (void)state;
    char *longest = filled(255, 'a'), *longer = filled(256, 'a');
    const struct {
        const char *given;
        bool kept;
    } rows[] = {
        {"abc_DEF=9-", true}, {longest, true}, {longer, false}, {"a b", false}, {"a<b", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reply reply;
        drive_ask(&drive, &reply,
                  "OPTIONS / HTTP/1.1\r\nHost: localhost:%u\r\nX-Request-Id: %s\r\n\r\n",
                  drive.port, rows[i].given);
        const char *id = reply_header(&reply, "x-request-id");
        assert_non_null(id);
        assert_true((strcmp(id, rows[i].given) == 0) == rows[i].kept);
        if (!rows[i].kept)
            assert_int_equal(strlen(id), 36);
        raw_reply_release(&reply);
    }
    free(longest);
    free(longer);
}

/* ---- connections ------------------------------------------------------------------------------------------ */

static void test_a_connection_is_kept_after_refusals(void **state)
{
    (void)state;
    char text[512];
    struct reply reply;
    int fd = drive_connect(&drive);
    for (int i = 0; i < 20; i++) {
        int size = snprintf(text, sizeof text,
                            "POST /rpc/memory/get HTTP/1.1\r\nHost: localhost:%u\r\n"
                            "Content-Type: text/plain\r\nContent-Length: 4\r\n\r\nabcd",
                            drive.port);
        drive_send(fd, text, (size_t)size);
        drive_read(fd, false, &reply);
        assert_int_equal(reply.status, 401);
        raw_reply_release(&reply);
    }
    close(fd);
}

static void test_half_requests_do_not_disturb_others(void **state)
{
    (void)state;
    int fds[200];
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        fds[i] = drive_connect(&drive);
        drive_send(fds[i], "GET / HT", 8);
    }
    assert_int_equal(
        drive_status(&drive,
                     "GET / HTTP/1.1\r\nHost: localhost:%u\r\nCookie: ethos_auth=%s\r\n\r\n",
                     drive.port, drive.cookie),
        200);
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        close(fds[i]);
}

/* ---- the login -------------------------------------------------------------------------------------------- */

static void test_a_link_works_once(void **state)
{
    (void)state;
    assert_int_equal(drive_status(&drive,
                                  "GET /auth/exchange?t=%s HTTP/1.1\r\nHost: localhost:%u\r\n\r\n",
                                  drive.token, drive.port),
                     401);
    assert_int_equal(drive_status(&drive,
                                  "GET /auth/exchange HTTP/1.1\r\nHost: localhost:%u\r\n\r\n",
                                  drive.port),
                     401);
    assert_int_equal(
        drive_status(&drive,
                     "GET / HTTP/1.1\r\nHost: localhost:%u\r\nCookie: ethos_auth=%s\r\n\r\n",
                     drive.port, drive.cookie),
        200);
}

/* The last test: for a minute after it, wrong ones are not looked at. */
static void test_the_eleventh_wrong_link_of_a_minute_is_one_too_many(void **state)
{
    (void)state;
    int last = 0;
    for (int i = 0; i < 12; i++) {
        last = drive_status(&drive,
                            "GET /auth/exchange?t=%064d HTTP/1.1\r\nHost: localhost:%u\r\n\r\n", i,
                            drive.port);
        assert_true(last == 401 || last == 429);
    }
    assert_int_equal(last, 429);
    struct reply reply;
    drive_ask(&drive, &reply, "GET /auth/exchange?t=%s HTTP/1.1\r\nHost: localhost:%u\r\n\r\n",
              drive.cookie, drive.port);
    assert_int_equal(reply.status, 429); // the right one is not looked at, either
    assert_string_equal(reply_header(&reply, "retry-after"), "60");
    raw_reply_release(&reply);
    assert_int_equal(
        drive_status(&drive,
                     "GET / HTTP/1.1\r\nHost: localhost:%u\r\nCookie: ethos_auth=%s\r\n\r\n",
                     drive.port, drive.cookie),
        200); // who is in stays in
}

/* ---- streams ----------------------------------------------------------------------------------------------- */

#define STREAMS 1000 /* of HTTP_MAX_STREAMS: twice as many do not fit */

static void ask_stream(int *fd)
{
    char text[512];
    int size = snprintf(text, sizeof text,
                        "GET /events HTTP/1.1\r\nHost: localhost:%u\r\n"
                        "Cookie: ethos_auth=%s\r\n\r\n",
                        drive.port, drive.cookie);
    *fd = drive_connect(&drive);
    drive_send(*fd, text, (size_t)size);
}

/* How many of them are streams. */
static unsigned count_streams(const int fds[STREAMS])
{
    unsigned count = 0;
    for (size_t i = 0; i < STREAMS; i++) {
        struct reply reply;
        drive_read(fds[i], true, &reply);
        count += reply.status == 200;
        raw_reply_release(&reply);
    }
    return count;
}

static void test_streams_that_were_dropped_leave_their_places_at_once(void **state)
{
    (void)state;
    static int fds[STREAMS];
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < STREAMS; i++)
            ask_stream(&fds[i]);
        assert_int_equal(count_streams(fds), STREAMS);
        for (size_t i = 0; i < STREAMS; i++)
            close(fds[i]);
    }
}

/* ---- keys -------------------------------------------------------------------------------------------------- */

static int ask_with(const char *key)
{
    return drive_status(&drive,
                        "GET /api/memory/get HTTP/1.1\r\nHost: localhost:%u\r\n"
                        "Authorization: Bearer %s\r\n\r\n",
                        drive.port, key);
}

/* Somebody who asks all the time, so that the server has always looked at the keys just now. */
static pid_t keep_asking(const char *key)
{
    pid_t pid = fork();
    while (pid == 0)
        ask_with(key);
    return pid;
}

static void test_a_key_works_as_soon_as_it_is_made(void **state)
{
    (void)state;
    char other[128], key[128];
    unsigned good = 0;
    drive_key(&drive, "memory:read", NULL, other);
    pid_t pid = keep_asking(other);
    for (int i = 0; i < 8; i++) {
        drive_key(&drive, "memory:read", NULL, key);
        good += ask_with(key) == 200;
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(good, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_request_line_has_8_KiB),
        cmocka_unit_test(test_there_are_100_headers),
        cmocka_unit_test(test_headers_have_16_KiB),
        cmocka_unit_test(test_a_body_has_1_MiB_and_16_for_calls),
        cmocka_unit_test(test_a_body_that_is_announced_too_large_is_refused_at_once),
        cmocka_unit_test(test_a_path_names_what_it_names_in_one_way),
        cmocka_unit_test(test_a_request_keeps_its_id_when_it_is_one),
        cmocka_unit_test(test_a_connection_is_kept_after_refusals),
        cmocka_unit_test(test_half_requests_do_not_disturb_others),
        cmocka_unit_test(test_streams_that_were_dropped_leave_their_places_at_once),
        cmocka_unit_test(test_a_key_works_as_soon_as_it_is_made),
        cmocka_unit_test(test_a_link_works_once),
        cmocka_unit_test(test_the_eleventh_wrong_link_of_a_minute_is_one_too_many),
    };
    return cmocka_run_group_tests(tests, drive_group_start, drive_group_end);
}
