/*
 * test_hostile.c: clients that lie about where a request ends, that come and do not ask, and that send what
 * costs more than it looks: what they get, and that others do not notice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/http.h"
#include "raw_client.h"

#define FEW_FILES 256

/* ---- a server for each test ---------------------------------------------------------------------- */

static int start_with(unsigned files)
{
    drive = (struct drive){.files = files};
    drive_start(&drive, NULL);
    drive_login(&drive);
    return 0;
}

static int start(void **state)
{
    (void)state;
    return start_with(0);
}

static int start_with_few_files(void **state)
{
    (void)state;
    return start_with(FEW_FILES);
}

/* ---- where a request ends ------------------------------------------------------------------------ */

#define BODY "{\"json\":{\"store\":\"memory\"}}"

/* A good call but for these headers; what comes after them is behind. */
static int send_call(const char *headers, const char *behind)
{
    char text[4096];
    int size = snprintf(text, sizeof text,
                        "POST /rpc/memory/get HTTP/1.1\r\nHost: localhost:%u\r\n"
                        "Cookie: ethos_auth=%s\r\nOrigin: http://localhost:%u\r\n"
                        "Content-Type: application/json\r\n%s\r\n%s",
                        drive.port, drive.cookie, drive.port, headers, behind);
    assert_true(size > 0 && (size_t)size < sizeof text);
    int fd = drive_connect(&drive);
    drive_send(fd, text, (size_t)size);
    return fd;
}

static void test_a_request_whose_end_is_unclear_ends_its_connection(void **state)
{
    static const struct {
        const char *headers, *behind;
    } rows[] = {
        {"Content-Length: 27\r\nContent-Length: 27\r\n", BODY},
        {"Content-Length: 27\r\nContent-Length: 5\r\n", BODY},
        {"Content-Length: 27\r\nTransfer-Encoding: chunked\r\n", "1b\r\n" BODY "\r\n0\r\n\r\n"},
        {"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "1b\r\n" BODY "\r\n0\r\n\r\n"},
        {"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
         "1b\r\n" BODY "\r\n0\r\n\r\n"},
        {"Transfer-Encoding: xchunked\r\n", BODY},
        {"Transfer-Encoding: chunked \r\n", "1b\r\n" BODY "\r\n0\r\n\r\n"},
        {"Transfer-Encoding: gzip, chunked\r\n", "1b\r\n" BODY "\r\n0\r\n\r\n"},
        {"Transfer-Encoding: identity\r\nContent-Length: 27\r\n", BODY},
        {"Content-Length : 27\r\n", BODY},
        {"Content-Length\t: 27\r\n", BODY},
        {"Transfer-Encoding : chunked\r\n", "1b\r\n" BODY "\r\n0\r\n\r\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reply reply;
        char rest;
        int fd = send_call(rows[i].headers, rows[i].behind);
        drive_read(fd, false, &reply);
        if (reply.status != 400)
            fail_msg("%s: %d", rows[i].headers, reply.status);
        if (recv(fd, &rest, 1, 0) > 0)
            fail_msg("%s: what came behind it was answered, too", rows[i].headers);
        raw_reply_release(&reply);
        close(fd);
    }
}

static void test_what_is_clear_is_answered(void **state)
{
    static const struct {
        const char *headers, *behind;
    } rows[] = {
        {"Content-Length: 27\r\n", BODY},
        {"Transfer-Encoding: chunked\r\n", "1b\r\n" BODY "\r\n0\r\n\r\n"},
        {"transfer-encoding:  Chunked\r\n", "7;x=y\r\n{\"json\"\r\n14\r\n:{\"store\":\"memory\"}}"
                                            "\r\n0\r\nX: y\r\n\r\n"},
        {"Expect: 100-continue\r\nContent-Length: 27\r\n", BODY},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reply reply;
        int fd = send_call(rows[i].headers, rows[i].behind);
        drive_read(fd, true, &reply);
        if (reply.status == 100) {
            raw_reply_release(&reply);
            drive_read(fd, true, &reply);
        }
        if (reply.status != 200)
            fail_msg("%s: %d", rows[i].headers, reply.status);
        raw_reply_release(&reply);
        close(fd);
    }
}

/* Who waits to be told before it sends a body hears at once that it need not. */
static void test_who_waits_to_be_told_is_refused_at_once(void **state)
{
    static const struct {
        const char *path, *type;
        int status;
    } rows[] = {{"/rpc/memory/get", "text/plain", 415},
                {"/nothing", "application/json", 404},
                {"/rpc/memory/get", "application/json", 100}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reply reply;
        char text[1024];
        int size = snprintf(text, sizeof text,
                            "POST %s HTTP/1.1\r\nHost: localhost:%u\r\nContent-Type: %s\r\n"
                            "Cookie: ethos_auth=%s\r\nOrigin: http://localhost:%u\r\n"
                            "Content-Length: 27\r\nExpect: 100-continue\r\n\r\n",
                            rows[i].path, drive.port, rows[i].type, drive.cookie, drive.port);
        int fd = drive_connect(&drive);
        drive_send(fd, text, (size_t)size);
        drive_read(fd, true, &reply);
        if (reply.status != rows[i].status)
            fail_msg("%s, %s: %d", rows[i].path, rows[i].type, reply.status);
        raw_reply_release(&reply);
        close(fd);
    }
}

/* ---- those who do not ask ------------------------------------------------------------------------ */

/* Somebody who comes, says so much and no more. */
static int come(const char *text)
{
    int fd = drive_connect(&drive);
    drive_send(fd, text, strlen(text));
    return fd;
}

static int ask_memory(void)
{
    return drive_status(&drive,
                        "GET /api/memory/get HTTP/1.1\r\nHost: localhost:%u\r\n"
                        "Cookie: ethos_auth=%s\r\nConnection: close\r\n\r\n",
                        drive.port, drive.cookie);
}

static int add_memory(void)
{
    return drive_status(&drive,
                        "POST /rpc/memory/add HTTP/1.1\r\nHost: localhost:%u\r\n"
                        "Cookie: ethos_auth=%s\r\nOrigin: http://localhost:%u\r\n"
                        "Content-Type: application/json\r\nContent-Length: 27\r\n\r\n"
                        "{\"json\":{\"content\":\"fact\"}}",
                        drive.port, drive.cookie, drive.port);
}

/* Twice as many as there is room for: those who came first and have not asked give their places. */
static void test_those_who_do_not_ask_take_no_place_of_those_who_do(void **state)
{
    static const char *const says[] = {
        "",
        "GET /api/memory/get HT",
        "GET / HTTP/1.1\r\nHost: x\r\nX-",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n{",
    };
    static int fds[2 * HTTP_MAX_CONNECTIONS];
    (void)state;
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        fds[i] = come(says[i % 4]);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(ask_memory(), 200);
        assert_int_equal(add_memory(), 200);
    }
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        close(fds[i]);
}

/* How many connections of the server have bytes that it has not read yet. */
static unsigned count_unread(void)
{
    char line[512];
    unsigned count = 0;
    for (int i = 0; i < 2; i++) {
        FILE *table = fopen(i ? "/proc/net/tcp6" : "/proc/net/tcp", "r");
        while (table && fgets(line, sizeof line, table)) {
            unsigned port, state, sent, unread;
            if (sscanf(line, " %*u: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x %x:%x", &port, &state, &sent,
                       &unread) == 4 &&
                port == drive.port && state == 1)
                count += unread > 0;
        }
        if (table)
            fclose(table);
    }
    return count;
}

/* Half of what a server may open is for connections: files are read and written all the same. */
static void test_connections_leave_descriptors_for_files(void **state)
{
    int fds[300];
    (void)state;
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        fds[i] = come("GET / HTTP/1.1\r\n");
    while (count_unread() > 0) // a request that nobody has read yet keeps its place
        usleep(1000);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(ask_memory(), 200);
        assert_int_equal(add_memory(), 200);
    }
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        close(fds[i]);
}

/* ---- large bodies --------------------------------------------------------------------------------- */

/* A call with a body of this size, of which so much has come. */
static int send_large(size_t announced, size_t sent)
{
    static char blanks[1 << 20];
    char headers[64];
    snprintf(headers, sizeof headers, "Content-Length: %zu\r\n", announced);
    int fd = send_call(headers, "");
    memset(blanks, ' ', sizeof blanks);
    for (size_t size; sent > 0; sent -= size) {
        size = sent < sizeof blanks ? sent : sizeof blanks;
        drive_send(fd, blanks, size);
    }
    return fd;
}

/* Blanks are no call, so what is taken is 400. */
static int ask_large(size_t size, bool *told_when)
{
    struct reply reply;
    int fd = send_large(size, size);
    drive_read(fd, false, &reply);
    const char *again = reply_header(&reply, "retry-after");
    int status = reply.status;
    *told_when = again && strcmp(again, "1") == 0;
    raw_reply_release(&reply);
    close(fd);
    return status;
}

/* Those who send all but the end hold the memory of all; small calls go on, and it comes back when they go. */
static void test_bodies_take_no_more_than_so_much_together(void **state)
{
    enum { HOLDERS = HTTP_MAX_BODIES / HTTP_MAX_RPC_BODY, TRIES = 200 };
    int fds[HOLDERS], status = 0;
    bool told_when;
    (void)state;
    for (size_t i = 0; i <= HOLDERS; i++) // one after the other is no trouble
        assert_int_equal(ask_large(HTTP_MAX_RPC_BODY, &told_when), 400);
    for (size_t i = 0; i < HOLDERS; i++)
        fds[i] = send_large(HTTP_MAX_RPC_BODY, HTTP_MAX_RPC_BODY - 1);
    for (int i = 0; i < TRIES && status != 503; i++) // some of it may still be on its way
        status = ask_large(HTTP_MAX_RPC_BODY, &told_when);
    assert_int_equal(status, 503);
    assert_true(told_when);
    assert_int_equal(ask_memory(), 200);
    assert_int_equal(add_memory(), 200);
    for (size_t i = 0; i < HOLDERS; i++)
        close(fds[i]);
    for (int i = 0; i < TRIES && status != 400; i++)
        status = ask_large(HTTP_MAX_RPC_BODY, &told_when);
    assert_int_equal(status, 400);
}

/* ---- guessing ------------------------------------------------------------------------------------- */

/* A page whose name points at this machine may send what it likes, and shuts nobody out. */
static void test_wrong_credentials_for_another_host_are_not_counted(void **state)
{
    char key[128];
    (void)state;
    for (int i = 0; i < 20; i++)
        assert_int_equal(drive_status(&drive,
                                      "GET /api/memory/get HTTP/1.1\r\nHost: example.com:%u\r\n"
                                      "Authorization: Bearer sk-ethos-%064d\r\n\r\n",
                                      drive.port, i),
                         421);
    assert_int_equal(drive_status(&drive,
                                  "GET /api/memory/get HTTP/1.1\r\nHost: localhost:%u\r\n"
                                  "Authorization: Bearer sk-ethos-%064d\r\n\r\n",
                                  drive.port, 99),
                     401); // not 429
    drive_key(&drive, "memory:read", NULL, key);
    assert_int_equal(drive_status(&drive,
                                  "GET /api/memory/get HTTP/1.1\r\nHost: localhost:%u\r\n"
                                  "Authorization: Bearer %s\r\n\r\n",
                                  drive.port, key),
                     200);
}

/* This program has as many connections as it likes. */
static int many_files(void **state)
{
    struct rlimit files;
    (void)state;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return -1;
    files.rlim_cur = files.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &files);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, start, drive_group_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_request_whose_end_is_unclear_ends_its_connection),
        TEST(test_what_is_clear_is_answered),
        TEST(test_who_waits_to_be_told_is_refused_at_once),
        TEST(test_those_who_do_not_ask_take_no_place_of_those_who_do),
        TEST(test_bodies_take_no_more_than_so_much_together),
        TEST(test_wrong_credentials_for_another_host_are_not_counted),
        cmocka_unit_test_setup_teardown(test_connections_leave_descriptors_for_files,
                                        start_with_few_files, drive_group_end),
    };
    return cmocka_run_group_tests(tests, many_files, NULL);
}
