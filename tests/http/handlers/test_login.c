/*
 * test_login.c: browsers sign in with links and codes, stay signed in, sign out; each has its own secret.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../raw_client.h"

#define FIREFOX "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"

/* ---- helpers ---------------------------------------------------------------------------------- */

/* The token of the link that `ethos serve --link` prints. */
static void new_link(char out[65])
{
    char text[512];
    unsigned port;
    assert_int_equal(
        drive_run(&drive, (const char *const[]){"serve", "--link", NULL}, text, sizeof text), 0);
    assert_int_equal(sscanf(text, "http://%*[^:]:%u/auth/exchange?t=%64[0-9a-f]\n", &port, out), 2);
    assert_int_equal(port, drive.port);
}

/* The status of an exchange; the cookie, if there is one. */
static int exchange(const char *given, const char *agent, char cookie[65])
{
    struct reply reply;
    drive_ask(&drive, &reply,
              "GET /auth/exchange?t=%s HTTP/1.1\r\nHost: localhost:%u\r\nUser-Agent: %s\r\n\r\n",
              given, drive.port, agent);
    const char *header = reply_header(&reply, "set-cookie");
    if (reply.status == 302)
        assert_int_equal(sscanf(header, "ethos_auth=%64[0-9a-f];", cookie), 1);
    else
        assert_null(header);
    raw_reply_release(&reply);
    return reply.status;
}

static void sign_in(const char *agent, char cookie[65])
{
    char link[65];
    new_link(link);
    assert_int_equal(exchange(link, agent, cookie), 302);
}

/* What it gets for its cookie. */
static int status_of(const char *cookie)
{
    return drive_status(&drive,
                        "GET /api/memory/get HTTP/1.1\r\nHost: localhost:%u\r\n"
                        "Cookie: ethos_auth=%s\r\n\r\n",
                        drive.port, cookie);
}

static int post(const char *path, const char *cookie, const char *more, struct reply *out)
{
    drive_ask(&drive, out,
              "POST %s HTTP/1.1\r\nHost: localhost:%u\r\nCookie: ethos_auth=%s\r\n%s"
              "Content-Length: 0\r\n\r\n",
              path, drive.port, cookie, more);
    return out->status;
}

static int post_here(const char *path, const char *cookie)
{
    char origin[64];
    struct reply reply;
    snprintf(origin, sizeof origin, "Origin: http://localhost:%u\r\n", drive.port);
    int status = post(path, cookie, origin, &reply);
    raw_reply_release(&reply);
    return status;
}

static void list_browsers(char *out, size_t size)
{
    assert_int_equal(
        drive_run(&drive, (const char *const[]){"browsers", "list", "--json", NULL}, out, size), 0);
}

/* ---- tests ------------------------------------------------------------------------------------- */

static void test_a_link_is_never_a_cookie_and_never_works_twice(void **state)
{
    char link[65], cookie[65], again[65];
    (void)state;
    new_link(link);
    assert_int_equal(status_of(link), 401);
    assert_int_equal(exchange(link, FIREFOX, cookie), 302);
    assert_string_not_equal(link, cookie);
    assert_int_equal(exchange(link, FIREFOX, again), 401);
    assert_int_equal(exchange(cookie, FIREFOX, again), 401); // a cookie is no link
    assert_int_equal(status_of(link), 401);
    assert_int_equal(status_of(cookie), 200);
}

static void test_several_browsers_are_signed_in_at_a_time(void **state)
{
    char cookies[3][65], list[8192];
    (void)state;
    for (int i = 0; i < 3; i++)
        sign_in(FIREFOX, cookies[i]);
    for (int i = 0; i < 3; i++)
        assert_int_equal(status_of(cookies[i]), 200);
    list_browsers(list, sizeof list);
    assert_non_null(strstr(list, "\"name\":\"Firefox on Linux\""));
    for (int i = 0; i < 3; i++)
        assert_null(strstr(list, cookies[i]));
}

static void test_a_restart_keeps_browsers_and_makes_no_link_of_their_cookie(void **state)
{
    char cookie[65], other[65];
    (void)state;
    sign_in(FIREFOX, cookie);
    assert_int_equal(drive_stop(&drive), 0);
    drive_start(&drive, NULL);
    assert_string_not_equal(drive.token, cookie);
    assert_int_equal(status_of(cookie), 200);
    assert_int_equal(status_of(drive.token), 401);
    assert_int_equal(exchange(drive.token, FIREFOX, other), 302);
    assert_string_not_equal(other, cookie);
    assert_int_equal(status_of(cookie), 200);
}

static void test_signing_out_ends_one_browser(void **state)
{
    char one[65], other[65];
    struct reply reply;
    (void)state;
    sign_in(FIREFOX, one);
    sign_in(FIREFOX, other);
    assert_int_equal(post("/auth/logout", one, "", &reply), 401); // from no known page
    raw_reply_release(&reply);
    assert_int_equal(post("/auth/logout", one, "Origin: http://elsewhere.example\r\n", &reply),
                     401);
    raw_reply_release(&reply);
    assert_int_equal(status_of(one), 200);
    assert_int_equal(post_here("/auth/logout", one), 200);
    assert_int_equal(status_of(one), 401);
    assert_int_equal(status_of(other), 200);
}

static void test_signing_out_takes_the_cookie_away(void **state)
{
    char cookie[65], origin[64];
    struct reply reply;
    (void)state;
    sign_in(FIREFOX, cookie);
    snprintf(origin, sizeof origin, "Origin: http://localhost:%u\r\n", drive.port);
    assert_int_equal(post("/auth/logout", cookie, origin, &reply), 200);
    assert_string_equal(reply_header(&reply, "set-cookie"),
                        "ethos_auth=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict");
    raw_reply_release(&reply);
}

static void test_a_browser_is_revoked_like_a_key(void **state)
{
    char cookie[65], list[8192], out[512];
    (void)state;
    sign_in("curl/8.0", cookie);
    list_browsers(list, sizeof list);
    const char *named = strstr(list, "\"name\":\"curl\"");
    assert_non_null(named);
    assert_int_equal(drive_run(&drive, (const char *const[]){"browsers", "revoke", "curl", NULL},
                               out, sizeof out),
                     0);
    for (int i = 0; i < 30 && status_of(cookie) != 401; i++)
        usleep(100000); // the server looks about once a second
    assert_int_equal(status_of(cookie), 401);
    assert_int_equal(drive_run(&drive, (const char *const[]){"browsers", "revoke", "nobody", NULL},
                               out, sizeof out),
                     3);
}

/* What is for browsers is not for keys, and a browser's secret is no key. */
static void test_keys_and_browsers_are_two_things(void **state)
{
    char cookie[65], key[128];
    (void)state;
    sign_in(FIREFOX, cookie);
    drive_key(&drive, "memory:read", NULL, key);
    assert_int_equal(drive_status(&drive,
                                  "GET /api/memory/get HTTP/1.1\r\nHost: localhost:%u\r\n"
                                  "Authorization: Bearer %s\r\n\r\n",
                                  drive.port, cookie),
                     401);
    assert_int_equal(status_of(key), 401);
    static const char *const paths[] = {"/auth/logout", "/auth/code"};
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(drive_status(&drive,
                                      "POST %s HTTP/1.1\r\nHost: localhost:%u\r\n"
                                      "Authorization: Bearer %s\r\nContent-Length: 0\r\n\r\n",
                                      paths[i], drive.port, key),
                         403);
}

static void test_a_code_signs_another_browser_in_once(void **state)
{
    char cookie[65], other[65], origin[64], code[16];
    struct reply reply;
    (void)state;
    sign_in(FIREFOX, cookie);
    snprintf(origin, sizeof origin, "Origin: http://localhost:%u\r\n", drive.port);
    assert_int_equal(post("/auth/code", cookie, origin, &reply), 200);
    assert_int_equal(sscanf(reply.body, "{\"code\":\"%6[0-9]\"", code), 1);
    raw_reply_release(&reply);
    assert_int_equal(exchange(code, "curl/8.0", other), 302);
    assert_int_equal(status_of(other), 200);
    assert_int_equal(status_of(cookie), 200);
    assert_int_equal(exchange(code, FIREFOX, other), 401);
    assert_int_equal(post("/auth/code", "0", origin, &reply), 401);
    raw_reply_release(&reply);
}

/* The home of a program that keeps link and cookie in one file. */
static void test_a_web_token_lets_nobody_in(void **state)
{
    char path[300], token[65], cookie[65], text[80] = "";
    (void)state;
    memset(token, 'b', 64);
    token[64] = 0;
    snprintf(path, sizeof path, "%s/web-token", drive.home);
    FILE *file = fopen(path, "w");
    fprintf(file, "%s\n", token);
    fclose(file);
    assert_int_equal(status_of(token), 401);
    assert_int_equal(exchange(token, FIREFOX, cookie), 401);
    file = fopen(path, "r");
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_memory_equal(text, token, 64);
}

static void test_without_a_server_there_is_no_link(void **state)
{
    struct drive other = {.port = 0};
    char text[512];
    (void)state;
    snprintf(other.home, sizeof other.home, "%.200s/none", drive.home);
    snprintf(other.program, sizeof other.program, "%s", drive.program);
    assert_int_equal(
        drive_run(&other, (const char *const[]){"serve", "--link", NULL}, text, sizeof text), 3);
    assert_string_equal(text, "");
    assert_int_equal(drive_run(&other,
                               (const char *const[]){"serve", "--link", "--port", "4711", NULL},
                               text, sizeof text),
                     0);
    assert_non_null(strstr(text, ":4711/auth/exchange?t="));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_link_is_never_a_cookie_and_never_works_twice),
        cmocka_unit_test(test_several_browsers_are_signed_in_at_a_time),
        cmocka_unit_test(test_a_restart_keeps_browsers_and_makes_no_link_of_their_cookie),
        cmocka_unit_test(test_signing_out_ends_one_browser),
        cmocka_unit_test(test_signing_out_takes_the_cookie_away),
        cmocka_unit_test(test_keys_and_browsers_are_two_things),
        cmocka_unit_test(test_a_browser_is_revoked_like_a_key),
        cmocka_unit_test(test_a_code_signs_another_browser_in_once),
        cmocka_unit_test(test_a_web_token_lets_nobody_in),
        cmocka_unit_test(test_without_a_server_there_is_no_link),
    };
    return cmocka_run_group_tests(tests, drive_group_start, drive_group_end);
}
