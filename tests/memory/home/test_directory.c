/*
 * test_directory.c: where the home is, and how its small files are read and replaced.
 */
#include "memory/home/directory.h"

#include <sys/wait.h>

#include "../world.h"
#include "base/str.h"

/* ---- where it is ---------------------------------------------------------------------------- */

static void assert_path(const char *given, const char *expected)
{
    char *path = NULL;
    struct ethos_error error = {0};
    int code = home_path(given, &path, &error);
    if (code != ETHOS_OK)
        fail_msg("%s", error.text);
    assert_string_equal(path, expected);
    free(path);
}

static void test_option_then_two_variables_then_the_users_directory(void **state)
{
    (void)state;
    setenv("HOME", "/somebody", 1);
    assert_path(NULL, "/somebody/.ethos");
    setenv("ETHOS_STATE_DIR", "/state", 1);
    assert_path(NULL, "/state");
    setenv("ETHOS_HOME", "/home-of-it", 1);
    assert_path(NULL, "/home-of-it");
    assert_path("/given", "/given");
    setenv("ETHOS_HOME", "", 1); // set but empty is not set
    assert_path(NULL, "/state");
    setenv("ETHOS_STATE_DIR", "", 1);
    assert_path(NULL, "/somebody/.ethos");
}

static void test_a_relative_path_starts_from_the_current_directory(void **state)
{
    struct world *world = *state;
    char expected[256];

    snprintf(expected, sizeof expected, "%s/a/b", world->work);
    assert_path("a/b", expected);
    assert_path("a/b//", expected);
    assert_path("/", "/");
    assert_path("/x///", "/x");
}

static void test_no_directory_at_all_is_an_error(void **state)
{
    struct ethos_error error = {0};
    char long_path[8192], *path = NULL;

    (void)state;
    assert_error(&error, home_path("", &path, &error), ETHOS_INVALID);
    setenv("HOME", "relative", 1);
    assert_error(&error, home_path(NULL, &path, &error), ETHOS_INVALID);
    memset(long_path, 'x', sizeof long_path);
    long_path[0] = '/';
    long_path[sizeof long_path - 1] = 0;
    assert_error(&error, home_path(long_path, &path, &error), ETHOS_LIMIT);
    assert_null(path);
}

static void test_a_path_without_memory_is_no_path(void **state)
{
    int code = -1;

    (void)state;
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        char *path = NULL;
        struct ethos_error error = {0};
        code = home_path("a", &path, &error);
        if (code != ETHOS_OK)
            assert_error(&error, code, ETHOS_NOMEM);
        free(path);
    }
}

/* ---- opening it ----------------------------------------------------------------------------- */

static int open_home(struct world *world, bool create)
{
    int dir = -1;
    memset(&world->error, 0, sizeof world->error);
    int code = home_open(world->home, create, &dir, &world->error);
    if (dir >= 0)
        close(dir);
    assert_int_equal(dir >= 0, code == ETHOS_OK);
    return code;
}

static void test_it_is_made_only_on_demand_and_private_whatever_the_umask(void **state)
{
    struct world *world = *state;

    assert_error(&world->error, open_home(world, false), ETHOS_NOTFOUND);
    assert_false(world_exists(world, "home"));
    umask(0);
    assert_ok(world, open_home(world, true));
    assert_mode(world, "home", 0700);
    snprintf(world->home, sizeof world->home, "%s/deep/er/home", world->temp.path);
    assert_ok(world, open_home(world, true));
    assert_mode(world, "deep/er", 0700);
}

static void test_a_home_that_others_may_write_to_is_refused(void **state)
{
    struct world *world = *state;

    world_mkdir(world, "home");
    assert_int_equal(chmod(world->home, 0770), 0);
    assert_error(&world->error, open_home(world, false), ETHOS_DENIED);
    assert_non_null(strstr(world->error.hint, "chmod go-w"));
    assert_int_equal(chmod(world->home, 0707), 0);
    assert_int_equal(open_home(world, true), ETHOS_DENIED);
    assert_int_equal(chmod(world->home, 0755), 0);
    assert_ok(world, open_home(world, false));
}

static void test_a_file_in_its_place_is_an_error(void **state)
{
    struct world *world = *state;

    temp_write(&world->temp, "home", "x");
    assert_error(&world->error, open_home(world, false), ETHOS_IO);
    assert_int_equal(open_home(world, true), ETHOS_IO);
    assert_file(world, "home", "x");
}

/* ---- reading -------------------------------------------------------------------------------- */

static int read_file(struct world *world, int dir, const char *name, size_t limit, struct str *out)
{
    memset(&world->error, 0, sizeof world->error);
    return home_read(dir, name, limit, out, NULL, &world->error);
}

static void test_a_file_is_appended_whole_or_not_at_all(void **state)
{
    struct world *world = *state;
    struct str out;

    str_init(&out, 1024);
    str_adds(&out, "before ");
    temp_write(&world->temp, "f", "12345");
    assert_ok(world, read_file(world, world->temp.fd, "f", 5, &out));
    assert_string_equal(out.data, "before 12345");
    assert_int_equal(read_file(world, world->temp.fd, "f", 4, &out), ETHOS_LIMIT);
    assert_string_equal(out.data, "before 12345");
    assert_int_equal(read_file(world, world->temp.fd, "none", 4, &out), ETHOS_NOTFOUND);
    assert_int_equal(read_file(world, -1, "f", 4, &out), ETHOS_NOTFOUND);
    str_release(&out);
}

static void test_only_regular_files_beneath_are_read_and_nothing_waits(void **state)
{
    struct world *world = *state;
    struct str out;

    str_init(&out, 1024);
    assert_int_equal(mkfifoat(world->temp.fd, "fifo", 0600), 0);
    world_link(world, "/etc/hostname", "outside");
    world_link(world, "nowhere", "dangling");
    world_put(world, "real/file", "inside");
    world_link(world, "real/file", "inside");
    assert_int_equal(read_file(world, world->temp.fd, "fifo", 64, &out), ETHOS_IO);
    assert_int_equal(read_file(world, world->temp.fd, "real", 64, &out), ETHOS_IO);
    assert_int_not_equal(read_file(world, world->temp.fd, "outside", 64, &out), ETHOS_OK);
    assert_int_equal(read_file(world, world->temp.fd, "dangling", 64, &out), ETHOS_NOTFOUND);
    assert_ok(world, read_file(world, world->temp.fd, "inside", 64, &out));
    assert_string_equal(out.data, "inside");
    str_release(&out);
}

static void test_the_stamp_of_the_bytes_tells_a_change(void **state)
{
    struct world *world = *state;
    struct home_stamp read, now, absent = {0};
    struct str out;

    str_init(&out, 1024);
    temp_write(&world->temp, "f", "one");
    assert_int_equal(home_read(world->temp.fd, "f", 64, &out, &read, NULL), ETHOS_OK);
    home_stamp(world->temp.fd, "f", &now);
    assert_memory_equal(&read, &now, sizeof now);
    temp_write(&world->temp, "f", "three");
    home_stamp(world->temp.fd, "f", &now);
    assert_memory_not_equal(&read, &now, sizeof now);
    home_stamp(world->temp.fd, "none", &now);
    assert_memory_equal(&absent, &now, sizeof now);
    home_stamp(-1, "f", &now);
    assert_memory_equal(&absent, &now, sizeof now);
    str_release(&out);
}

/* ---- replacing ------------------------------------------------------------------------------ */

static int replace(struct world *world, const char *folder, const char *text)
{
    memset(&world->error, 0, sizeof world->error);
    return home_replace(world->temp.fd, folder, "file", view_str(text), &world->error);
}

static void test_a_new_file_is_private_and_an_old_one_keeps_its_mode(void **state)
{
    struct world *world = *state;

    umask(0);
    assert_ok(world, replace(world, "a/b", "one"));
    assert_file(world, "a/b/file", "one");
    assert_mode(world, "a", 0700);
    assert_mode(world, "a/b/file", 0600);
    assert_int_equal(fchmodat(world->temp.fd, "a/b/file", 0644, 0), 0);
    umask(077);
    assert_ok(world, replace(world, "a/b", "two"));
    assert_file(world, "a/b/file", "two");
    assert_mode(world, "a/b/file", 0644);
    assert_ok(world, replace(world, "", "top"));
    assert_file(world, "file", "top");
    assert_no_litter(world);
}

static void test_what_is_no_regular_file_is_not_replaced(void **state)
{
    struct world *world = *state;

    temp_write(&world->temp, "target", "kept");
    world_link(world, "target", "file");
    assert_int_not_equal(replace(world, "", "new"), ETHOS_OK);
    assert_file(world, "target", "kept");
    world_unlink(world, "file");
    world_mkdir(world, "file");
    assert_int_not_equal(replace(world, "", "new"), ETHOS_OK);
    assert_no_litter(world);
}

static void test_what_a_dead_writer_left_is_no_obstacle(void **state)
{
    struct world *world = *state;

    temp_write(&world->temp, ".file.draft", "torn");
    assert_ok(world, replace(world, "", "new"));
    assert_file(world, "file", "new");
    assert_no_litter(world);
}

static void test_a_failing_call_leaves_the_old_file_or_the_new_one_and_no_litter(void **state)
{
    static const int errnums[] = {EIO, ENOSPC, EACCES};
    struct world *world = *state;

    for (size_t i = 0; i < COUNT(errnums); i++) {
        struct nth nth = {.number = 1, .errnum = errnums[i]};
        do {
            nth.calls = 0;
            nth.failed[0] = 0;
            world_put(world, "folder/file", "old");
            os_hook(nth_fails, &nth);
            int code = replace(world, "folder", "new");
            os_hook(NULL, NULL);
            /* A dead writer's draft need not exist; after the rename only the sync can fail. */
            bool written = code == ETHOS_OK || strcmp(nth.failed, "fsync") == 0;
            assert_file(world, "folder/file", written ? "new" : "old");
            if (code == ETHOS_OK && nth.failed[0])
                assert_string_equal(nth.failed, "unlinkat");
            assert_no_litter(world);
            nth.number++;
        } while (nth.failed[0]);
        assert_true(nth.number > 8);
    }
}

/* ---- locking -------------------------------------------------------------------------------- */

static void test_a_lock_waits_for_the_one_who_holds_it(void **state)
{
    struct world *world = *state;
    int lock, ready[2];

    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        int held;
        if (home_lock(world->temp.fd, "x", &held, NULL) != ETHOS_OK || write(ready[1], "!", 1) != 1)
            _exit(1);
        usleep(50000);
        temp_write(&world->temp, "released", "");
        _exit(0);
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_ok(world, home_lock(world->temp.fd, "x", &lock, &world->error));
    assert_true(world_exists(world, "released"));
    close(lock);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(ready[0]);
    close(ready[1]);
}

static void test_locks_of_different_names_do_not_meet(void **state)
{
    struct world *world = *state;
    int one, two;

    assert_ok(world, home_lock(world->temp.fd, "one", &one, &world->error));
    assert_ok(world, home_lock(world->temp.fd, "two", &two, &world->error));
    assert_mode(world, ".mem", 0700);
    assert_mode(world, ".mem/one.lock", 0600);
    close(one);
    close(two);
}

static void test_a_lock_that_cannot_be_had_is_no_lock(void **state)
{
    struct world *world = *state;
    struct nth nth = {.number = 1, .name = "flock", .errnum = ENOLCK};
    int lock = -1;

    os_hook(nth_fails, &nth);
    int code = home_lock(world->temp.fd, "x", &lock, &world->error);
    os_hook(NULL, NULL);
    assert_int_not_equal(code, ETHOS_OK);
    assert_int_equal(lock, -1);
    temp_write(&world->temp, "elsewhere", "");
    world_unlink(world, ".mem/x.lock");
    world_link(world, "../elsewhere", ".mem/x.lock");
    assert_int_not_equal(home_lock(world->temp.fd, "x", &lock, &world->error), ETHOS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_option_then_two_variables_then_the_users_directory),
        WORLD_TEST(test_a_relative_path_starts_from_the_current_directory),
        WORLD_TEST(test_no_directory_at_all_is_an_error),
        WORLD_TEST(test_a_path_without_memory_is_no_path),
        WORLD_TEST(test_it_is_made_only_on_demand_and_private_whatever_the_umask),
        WORLD_TEST(test_a_home_that_others_may_write_to_is_refused),
        WORLD_TEST(test_a_file_in_its_place_is_an_error),
        WORLD_TEST(test_a_file_is_appended_whole_or_not_at_all),
        WORLD_TEST(test_only_regular_files_beneath_are_read_and_nothing_waits),
        WORLD_TEST(test_the_stamp_of_the_bytes_tells_a_change),
        WORLD_TEST(test_a_new_file_is_private_and_an_old_one_keeps_its_mode),
        WORLD_TEST(test_what_is_no_regular_file_is_not_replaced),
        WORLD_TEST(test_what_a_dead_writer_left_is_no_obstacle),
        WORLD_TEST(test_a_failing_call_leaves_the_old_file_or_the_new_one_and_no_litter),
        WORLD_TEST(test_a_lock_waits_for_the_one_who_holds_it),
        WORLD_TEST(test_locks_of_different_names_do_not_meet),
        WORLD_TEST(test_a_lock_that_cannot_be_had_is_no_lock),
    };

    return cmocka_run_group_tests_name("memory/home", tests, NULL, NULL);
}
