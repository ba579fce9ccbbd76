/*
 * test_dashboard_page.c: the page of the dashboard brings what it shows first, to whom it may be shown, and as data that
 * stays data.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "../raw_client.h"

#define BEFORE "<script type=\"application/json\" id=\"given\">"
#define LARGE 524288 /* bytes: more than a page brings */

static void write_text(const char *store, const char *text)
{
    const char *const words[] = {"memory", "write", "--store", store, "--content", text, NULL};
    char out[1024];
    assert_int_equal(drive_run(&drive, words, out, sizeof out), 0);
}

static void get(struct reply *out, const char *path)
{
    drive_ask(&drive, out, "GET %s HTTP/1.1\r\nHost: localhost:%u\r\nCookie: ethos_auth=%s\r\n\r\n",
              path, drive.port, drive.cookie);
    assert_int_equal(out->status, 200);
}

/* What a page brings, or NULL; it ends with the first "<", as a browser would have it. */
static json_t *given_in(const struct reply *page)
{
    char *at = strstr(page->body, BEFORE);
    if (!at)
        return NULL;
    at += strlen(BEFORE);
    size_t size = strcspn(at, "<");
    assert_string_equal(at + size, "</script>\n"); // the last thing of the page
    json_t *given = json_loadb(at, size, 0, NULL);
    assert_non_null(given);
    return given;
}

static json_t *given_now(void)
{
    struct reply page;
    get(&page, "/");
    json_t *given = given_in(&page);
    raw_reply_release(&page);
    return given;
}

static const json_t *file_of(const json_t *given, size_t index)
{
    return json_array_get(json_object_get(json_object_get(given, "memory"), "files"), index);
}

/* ---- what it brings ---------------------------------------------------------------------------------- */

static void test_a_page_brings_what_the_list_would_answer(void **state)
{
    struct reply list;
    (void)state;
    write_text("memory", "# Facts\n\n- one\n");
    write_text("user", "short answers\n");
    get(&list, "/api/memory/list");
    json_t *given = given_now(), *wanted = json_loads(list.body, 0, NULL);
    assert_true(json_equal(json_object_get(given, "memory"), wanted));
    assert_int_equal(json_array_size(json_object_get(given, "nodes")), 2);
    json_t *node = json_array_get(json_array_get(json_object_get(given, "nodes"), 1), 0);
    assert_string_equal(json_string_value(json_object_get(node, "t")), "h");
    json_decref(given);
    json_decref(wanted);
    raw_reply_release(&list);
}

static void test_every_page_is_made_of_what_is_there_then(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        char text[16];
        snprintf(text, sizeof text, "%04d", i);
        write_text("memory", text);
        json_t *given = given_now();
        const char *content = json_string_value(json_object_get(file_of(given, 1), "content"));
        assert_memory_equal(content, text, 4);
        json_decref(given);
    }
}

static void test_hostile_text_does_not_leave_its_element(void **state)
{
    static const char text[] = "</script><script>attack(1)</script><!--<script>\xE2\x80\xA8]]>"
                               "</SCRIPT ><img src=x onerror=attack(1)>&lt;\\u003c";
    (void)state;
    write_text("memory", text);
    json_t *given = given_now();
    const char *content = json_string_value(json_object_get(file_of(given, 1), "content"));
    assert_memory_equal(content, text, sizeof text - 1);
    json_decref(given);
}

static void test_what_is_large_is_left_to_be_asked_for(void **state)
{
    char *text = malloc(LARGE);
    (void)state;
    assert_non_null(text);
    memset(text, 'x', LARGE);
    text[40000] = 0; // is given, not set
    write_text("memory", text);
    json_t *given = given_now();
    assert_true(json_is_null(json_array_get(json_object_get(given, "nodes"), 1)));
    assert_false(json_is_null(json_array_get(json_object_get(given, "nodes"), 0)));
    json_decref(given);
    char path[512];
    snprintf(path, sizeof path, "%s/personalities/default/MEMORY.md", drive.home);
    memset(text, 'x', LARGE);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, LARGE, file), LARGE);
    assert_int_equal(fclose(file), 0);
    assert_null(given_now());
    write_text("memory", "small");
    free(text);
}

/* ---- to whom ------------------------------------------------------------------------------------------- */

static bool is_given_to(const char *scopes)
{
    char key[128];
    struct reply page;
    drive_key(&drive, scopes, NULL, key);
    drive_ask(&drive, &page,
              "GET / HTTP/1.1\r\nHost: localhost:%u\r\nAuthorization: Bearer %s\r\n\r\n",
              drive.port, key);
    assert_int_equal(page.status, 200);
    json_t *given = given_in(&page);
    raw_reply_release(&page);
    json_decref(given);
    return given != NULL;
}

static void test_memory_is_brought_to_who_may_read_it(void **state)
{
    struct reply page;
    (void)state;
    assert_true(is_given_to("memory:read"));
    assert_false(is_given_to("sessions:read"));
    drive_ask(&drive, &page, "GET / HTTP/1.1\r\nHost: localhost:%u\r\n\r\n", drive.port);
    assert_int_equal(page.status, 401);
    assert_null(strstr(page.body, "given"));
    raw_reply_release(&page);
}

static void test_a_page_is_data_and_has_a_policy_of_its_own(void **state)
{
    static const char *const others[] = {"/api/memory/list", "/assets/js/app.js", "/openapi.json"};
    struct reply reply;
    (void)state;
    get(&reply, "/");
    assert_string_equal(reply_header(&reply, "Cache-Control"), "no-store");
    const char *policy = reply_header(&reply, "Content-Security-Policy");
    assert_non_null(strstr(policy, "; script-src 'self' 'sha256-"));
    assert_non_null(strstr(policy, "; style-src 'self' 'sha256-"));
    assert_non_null(strstr(policy, "; require-trusted-types-for 'script'"));
    assert_null(strstr(policy, "unsafe"));
    raw_reply_release(&reply);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        get(&reply, others[i]);
        policy = reply_header(&reply, "Content-Security-Policy");
        assert_non_null(strstr(policy, "; script-src 'self'; style-src 'self'; "));
        raw_reply_release(&reply);
    }
}

/* What follows the name of the home in the first tag. */
static const char *after_home(const struct reply *page)
{
    static const char before[] = "<html data-home=\"";
    const char *at = strstr(page->body, before);
    assert_non_null(at);
    at += strlen(before);
    assert_int_equal(strspn(at, "0123456789abcdef"), 16);
    assert_int_equal(at[16], '"');
    return at + 17;
}

static void test_a_page_comes_in_the_looks_that_were_chosen(void **state)
{
    static const struct {
        const char *cookie, *tag;
    } rows[] = {
        {"", " lang=\"en\">"},
        {"; ethos_look=dark", " data-theme=\"dark\" lang=\"en\">"},
        {"; ethos_look=light.icons", " data-theme=\"light\" data-rail=\"icons\" lang=\"en\">"},
        {"; ethos_look=icons; a=dark", " data-rail=\"icons\" lang=\"en\">"},
        {"; ethos_look=", " lang=\"en\">"},
        {"; ethos_look=.", " lang=\"en\">"},
        {"; ethos_look=x\"onload=\"attack(1)", " lang=\"en\">"},
    };
    struct reply page;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        drive_ask(&drive, &page,
                  "GET / HTTP/1.1\r\nHost: localhost:%u\r\nCookie: ethos_auth=%s%s\r\n\r\n",
                  drive.port, drive.cookie, rows[i].cookie);
        assert_int_equal(page.status, 200);
        const char *rest = after_home(&page);
        if (strncmp(rest, rows[i].tag, strlen(rows[i].tag)) != 0)
            fail_msg("%s: no %s: %.60s", rows[i].cookie, rows[i].tag, rest);
        raw_reply_release(&page);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_page_brings_what_the_list_would_answer),
        cmocka_unit_test(test_every_page_is_made_of_what_is_there_then),
        cmocka_unit_test(test_hostile_text_does_not_leave_its_element),
        cmocka_unit_test(test_what_is_large_is_left_to_be_asked_for),
        cmocka_unit_test(test_memory_is_brought_to_who_may_read_it),
        cmocka_unit_test(test_a_page_is_data_and_has_a_policy_of_its_own),
        cmocka_unit_test(test_a_page_comes_in_the_looks_that_were_chosen),
    };
    return cmocka_run_group_tests(tests, drive_group_start, drive_group_end);
}
