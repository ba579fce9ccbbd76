/*
 * test_login.c: links and codes that let a browser in once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../support/temp.h"
#include "base/view.h"
#include "ops/admin/login.h"

#define NOW 1700000000000
#define CROWD 8

struct world {
    struct temp temp;
    struct login *login;
    struct ethos_error error;
};

static int setup(void **state)
{
    static struct world world;
    temp_make(&world.temp);
    assert_int_equal(login_open(world.temp.path, &world.login, &world.error), ETHOS_OK);
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    login_close(w->login);
    temp_remove(&w->temp);
    return 0;
}

static bool use(struct world *w, const char *given, int64_t now_ms)
{
    bool good = false;
    assert_int_equal(login_use(w->login, view_str(given), now_ms, &good, &w->error), ETHOS_OK);
    return good;
}

static void make_link(struct world *w, char out[LOGIN_TOKEN_SIZE])
{
    assert_int_equal(login_add_link(w->login, NOW, out, &w->error), ETHOS_OK);
}

static void make_code(struct world *w, char out[LOGIN_CODE_SIZE])
{
    assert_int_equal(login_add_code(w->login, NOW, out, &w->error), ETHOS_OK);
}

/* Another code than the one that is right. */
static const char *wrong_code(const char *right)
{
    return strcmp(right, "000000") == 0 ? "111111" : "000000";
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_a_link_works_once(void **state)
{
    struct world *w = *state;
    char first[LOGIN_TOKEN_SIZE], second[LOGIN_TOKEN_SIZE];
    make_link(w, first);
    make_link(w, second);
    assert_string_not_equal(first, second);
    assert_int_equal(strlen(first), 64);
    assert_true(use(w, first, NOW));
    assert_false(use(w, first, NOW));
    assert_true(use(w, second, NOW + LOGIN_MS - 1)); // the other one is not touched
    assert_false(use(w, second, NOW));
}

static void test_a_link_is_good_for_ten_minutes(void **state)
{
    struct world *w = *state;
    char link[LOGIN_TOKEN_SIZE];
    make_link(w, link);
    assert_false(use(w, link, NOW + LOGIN_MS));
    make_link(w, link);
    assert_false(use(w, link, NOW - 1000)); // by a clock that was set back nobody can tell
}

static void test_the_file_has_hashes_and_is_private(void **state)
{
    struct world *w = *state;
    char link[LOGIN_TOKEN_SIZE], code[LOGIN_CODE_SIZE], hash[HASH_HEX_SIZE], path[128];
    struct stat info;
    make_link(w, link);
    make_code(w, code);
    char *text = temp_read(&w->temp, ".mem/logins", NULL);
    assert_non_null(text);
    hash_hex(view_str(link), hash);
    assert_null(strstr(text, link));
    assert_non_null(strstr(text, hash));
    free(text);
    snprintf(path, sizeof path, "%s/.mem/logins", w->temp.path);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
}

static void test_a_web_token_of_another_program_is_left_alone(void **state)
{
    struct world *w = *state;
    char secret[65];
    memset(secret, 'a', 64);
    secret[64] = 0;
    temp_write(&w->temp, "web-token", secret);
    assert_false(use(w, secret, NOW));
    char *text = temp_read(&w->temp, "web-token", NULL);
    assert_string_equal(text, secret);
    free(text);
}

static void test_a_code_works_once_and_replaces_the_one_before(void **state)
{
    struct world *w = *state;
    char first[LOGIN_CODE_SIZE], second[LOGIN_CODE_SIZE];
    make_code(w, first);
    assert_int_equal(strspn(first, "0123456789"), 6);
    do {
        make_code(w, second);
    } while (strcmp(first, second) == 0);
    assert_false(use(w, first, NOW));
    assert_true(use(w, second, NOW));
    assert_false(use(w, second, NOW));
}

static void test_five_wrong_codes_end_the_right_one(void **state)
{
    struct world *w = *state;
    char code[LOGIN_CODE_SIZE], link[LOGIN_TOKEN_SIZE];
    make_link(w, link);
    make_code(w, code);
    for (int i = 0; i < LOGIN_TRIES - 1; i++)
        assert_false(use(w, wrong_code(code), NOW));
    assert_true(use(w, code, NOW));
    make_code(w, code);
    for (int i = 0; i < LOGIN_TRIES; i++)
        assert_false(use(w, wrong_code(code), NOW));
    assert_false(use(w, code, NOW));
    assert_true(use(w, link, NOW)); // links cannot be guessed
}

static void test_what_let_nobody_in_is_put_back(void **state)
{
    struct world *w = *state;
    char link[LOGIN_TOKEN_SIZE];
    make_link(w, link);
    assert_true(use(w, link, NOW));
    assert_int_equal(login_restore(w->login, view_str(link), NOW, &w->error), ETHOS_OK);
    assert_true(use(w, link, NOW));
    assert_false(use(w, link, NOW));
}

static void test_a_damaged_file_lets_nobody_in_and_is_written_anew(void **state)
{
    static const char *const texts[] = {"",
                                        "\n\n",
                                        "link",
                                        "link x 1 1\n",
                                        "code 1 2 3 4 5",
                                        "link aaaaaaaa 99999999999999999999999999 1\n"};
    struct world *w = *state;
    char link[LOGIN_TOKEN_SIZE];
    make_link(w, link);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        temp_write(&w->temp, ".mem/logins", texts[i]);
        assert_false(use(w, link, NOW));
        assert_false(use(w, "000000", NOW));
    }
    make_link(w, link);
    assert_true(use(w, link, NOW));
}

/* Of processes that come with the same link at the same time, one is let in. */
static void test_of_a_crowd_one_is_let_in(void **state)
{
    struct world *w = *state;
    char link[LOGIN_TOKEN_SIZE];
    int good = 0;
    make_link(w, link);
    for (int i = 0; i < CROWD; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            struct login *own;
            bool mine = false;
            if (login_open(w->temp.path, &own, NULL) == ETHOS_OK)
                login_use(own, view_str(link), NOW, &mine, NULL);
            _exit(mine);
        }
    }
    for (int i = 0; i < CROWD; i++) {
        int status;
        assert_true(wait(&status) > 0);
        good += WEXITSTATUS(status);
    }
    assert_int_equal(good, 1);
}

static void test_the_server_that_started_last_is_known(void **state)
{
    struct world *w = *state;
    char url[64];
    long pid = 0;
    assert_int_equal(login_server(w->login, url, sizeof url, &pid, &w->error), ETHOS_NOTFOUND);
    assert_int_equal(login_record_server(w->login, "http://localhost:3000", 42, &w->error),
                     ETHOS_OK);
    assert_int_equal(login_server(w->login, url, sizeof url, &pid, &w->error), ETHOS_OK);
    assert_string_equal(url, "http://localhost:3000");
    assert_int_equal(pid, 42);
    temp_write(&w->temp, ".mem/server", "");
    assert_int_equal(login_server(w->login, url, sizeof url, &pid, &w->error), ETHOS_CORRUPT);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_link_works_once),
        TEST(test_a_link_is_good_for_ten_minutes),
        TEST(test_the_file_has_hashes_and_is_private),
        TEST(test_a_web_token_of_another_program_is_left_alone),
        TEST(test_a_code_works_once_and_replaces_the_one_before),
        TEST(test_five_wrong_codes_end_the_right_one),
        TEST(test_what_let_nobody_in_is_put_back),
        TEST(test_a_damaged_file_lets_nobody_in_and_is_written_anew),
        TEST(test_of_a_crowd_one_is_let_in),
        TEST(test_the_server_that_started_last_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
