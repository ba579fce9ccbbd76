/*
 * test_backup.c: backup and restore with every allocation and every system call failing, a database with a
 * log, and one that is damaged.
 *
 * A backup is whole and verified, or there is none and nothing is left; a restore is everything or nothing;
 * the home that is backed up never changes.
 */
#include "../world.h"

#include <sqlite3.h>

#include "base/err.h"
#include "memory/backup/backup.h"
#include "session/database_copy.h"

#define TAR "b.tar"

struct paths {
    char tar[160], copy[160];
};

static struct paths paths_of(const struct world *world)
{
    struct paths paths;
    snprintf(paths.tar, sizeof paths.tar, "%s/" TAR, world->temp.path);
    snprintf(paths.copy, sizeof paths.copy, "%s/copy/", world->temp.path);
    return paths;
}

static void make_home(struct world *world)
{
    world_open(world);
    world_turn(world, NULL);
    assert_ok(world, world_sync(world, "[{\"action\":\"add\",\"content\":\"one\"}]"));
    assert_ok(world, world_sync(world, "[{\"action\":\"add\",\"content\":\"two\"}]"));
    world_close(world);
    world_put(world, "home/personalities/p/config.yaml", "memoryScope: global\n");
}

static int back_up(struct world *world, const char *path)
{
    const struct backup_how how = {.path = path};
    json_t *report = NULL;
    int code = backup_write(world->ethos, &how, &report, &world->error);
    json_decref(report);
    return code;
}

static int restore(struct world *world, const char *path, bool dry_run)
{
    const struct restore_how how = {.path = path, .dry_run = dry_run};
    json_t *report = NULL;
    int code = backup_restore(world->ethos, &how, &report, &world->error);
    json_decref(report);
    return code;
}

/* Moves the home away and opens an empty one. */
static void open_empty(struct world *world)
{
    world_close(world);
    world_remove(world, "home");
    world_remove(world, "home.ethos-restoring");
    world_open(world);
}

static void assert_restorable(struct world *world, const char *path)
{
    assert_ok(world, restore(world, path, true));
}

static void assert_home(struct world *world)
{
    assert_file(world, "home/personalities/default/MEMORY.md", "one\n\ntwo\n");
    assert_file(world, "home/personalities/p/config.yaml", "memoryScope: global\n");
}

struct failing {
    unsigned long number, calls;
    bool failed;
    bool undo_fails; /* the call that failed takes something away */
};

static int call_fails(void *arg, const char *call, unsigned long number)
{
    struct failing *nth = arg;
    (void)number;
    if (++nth->calls != nth->number || strcmp(call, "close") == 0)
        return 0;
    nth->failed = true;
    nth->undo_fails = strcmp(call, "unlinkat") == 0;
    return EIO;
}

static void test_a_backup_is_whole_or_there_is_none(void **state)
{
    struct world *world = *state;
    struct paths paths = paths_of(world);
    struct failing nth = {.number = 1};
    make_home(world);
    world_open(world);
    assert_ok(world, back_up(world, paths.tar)); // locks are made by the first
    world_unlink(world, TAR);
    for (bool more = true; more; nth.number++) {
        nth.calls = 0;
        nth.failed = nth.undo_fails = false;
        os_hook(call_fails, &nth);
        int code = back_up(world, paths.tar);
        os_hook(NULL, NULL);
        more = nth.calls >= nth.number;
        bool there = world_exists(world, TAR); // also when only the sync after it failed
        assert_true(there || code != ETHOS_OK);
        assert_true(nth.undo_fails || !world_exists(world, TAR ".ethos-partial"));
        if (there) {
            assert_restorable(world, paths.tar);
            world_unlink(world, TAR);
        }
        assert_true(code == ETHOS_OK || world->error.text[0]);
        assert_home(world);
    }
    assert_true(nth.number > 60);
}

static void test_a_backup_without_memory(void **state)
{
    struct world *world = *state;
    struct paths paths = paths_of(world);
    int code = ETHOS_NOMEM;
    make_home(world);
    world_open(world);
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = back_up(world, paths.copy);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        assert_int_equal(code == ETHOS_OK, world_exists(world, "copy"));
        assert_false(world_exists(world, "copy.ethos-partial"));
    }
    alloc_fail_at(0);
    assert_restorable(world, paths.copy);
}

static void test_a_restore_is_everything_or_nothing(void **state)
{
    struct world *world = *state;
    struct paths paths = paths_of(world);
    struct failing nth = {.number = 1};
    make_home(world);
    world_open(world);
    assert_ok(world, back_up(world, paths.tar));
    for (bool more = true; more; nth.number++) {
        open_empty(world);
        nth.calls = 0;
        nth.failed = nth.undo_fails = false;
        os_hook(call_fails, &nth);
        int code = restore(world, paths.tar, false);
        os_hook(NULL, NULL);
        more = nth.calls >= nth.number;
        if (world_exists(world, "home"))
            assert_home(world);
        else
            assert_true(code != ETHOS_OK);
        if (code != ETHOS_OK && !world_exists(world, "home")) {
            assert_ok(world, restore(world, paths.tar, false)); // whatever was left is no hindrance
            assert_home(world);
        }
    }
    assert_true(nth.number > 60);
}

static void test_a_restore_without_memory(void **state)
{
    struct world *world = *state;
    struct paths paths = paths_of(world);
    int code = ETHOS_NOMEM;
    make_home(world);
    world_open(world);
    assert_ok(world, back_up(world, paths.tar));
    open_empty(world);
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = restore(world, paths.tar, false);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        assert_int_equal(code == ETHOS_OK, world_exists(world, "home"));
    }
    alloc_fail_at(0);
    assert_home(world);
}

/* Merging twice, or after a failure, ends as merging once. */
static void test_a_merge_that_failed_can_be_repeated(void **state)
{
    struct world *world = *state;
    struct paths paths = paths_of(world);
    struct failing nth = {.number = 1};
    make_home(world);
    world_open(world);
    assert_ok(world, back_up(world, paths.tar));
    for (bool more = true; more; nth.number += 7) {
        open_empty(world);
        world_turn(world, NULL);
        assert_ok(world, world_sync(world, "[{\"action\":\"add\",\"content\":\"mine\"}]"));
        nth.calls = 0;
        os_hook(call_fails, &nth);
        restore(world, paths.tar, false);
        os_hook(NULL, NULL);
        more = nth.calls >= nth.number;
        assert_ok(world, restore(world, paths.tar, false));
        assert_file(world, "home/personalities/default/MEMORY.md", "mine\n\none\n\ntwo\n");
        assert_file(world, "home/personalities/p/config.yaml", "memoryScope: global\n");
    }
}

/* ---- homes that cannot be replaced, and ends in the middle --------------------------------------- */

struct refusing {
    const char *call;
    int errnum;
    unsigned long left; /* how often it is refused */
};

static int call_is_refused(void *arg, const char *call, unsigned long number)
{
    struct refusing *refusing = arg;
    (void)number;
    if (refusing->left == 0 || strcmp(call, refusing->call) != 0)
        return 0;
    refusing->left--;
    return refusing->errnum;
}

/* A mount point is not replaced by a rename; the folder of a home may be somebody else's. */
static void test_an_empty_home_that_cannot_be_replaced_is_filled(void **state)
{
    struct world *world = *state;
    struct paths paths = paths_of(world);
    make_home(world);
    world_open(world);
    assert_ok(world, back_up(world, paths.tar));
    for (int i = 0; i < 3; i++) {
        struct refusing ways[] = {
            {"renameat", EBUSY, 1}, {"renameat", EXDEV, 1}, {"mkdirat", EACCES, 1}};
        open_empty(world);
        world_put(world, "home/.gitignore", "mine\n");
        os_hook(call_is_refused, &ways[i]);
        int code = restore(world, paths.tar, false);
        os_hook(NULL, NULL);
        assert_ok(world, code);
        assert_int_equal(ways[i].left, 0);
        assert_home(world);
        assert_false(world_exists(world, "home.ethos-restoring"));
        assert_false(world_exists(world, "home/.mem/restoring"));
    }
}

struct counting {
    unsigned long renames, syncs;
};

static int count_call(void *arg, const char *call, unsigned long number)
{
    struct counting *counting = arg;
    (void)number;
    counting->renames += strcmp(call, "renameat") == 0;
    counting->syncs += strcmp(call, "fdatasync") == 0 || strcmp(call, "fsync") == 0;
    return 0;
}

/* Texts that are the same on both sides are read, not settled one by one, each with the whole history. */
static void test_a_merge_costs_what_differs(void **state)
{
    enum { SAME = 60 };
    struct world *world = *state;
    struct paths paths = paths_of(world);
    struct counting counting = {0};
    char update[96];
    world_open(world);
    world_turn(world, NULL);
    for (int i = 0; i < SAME; i++) {
        snprintf(update, sizeof update,
                 "[{\"action\":\"add\",\"key\":\"note-%d.md\",\"content\":\"same\"}]", i);
        assert_ok(world, world_sync(world, update));
    }
    assert_ok(world, back_up(world, paths.tar));
    open_empty(world);
    assert_ok(world, restore(world, paths.tar, false));
    world_turn(world, NULL);
    assert_ok(world, world_sync(world, "[{\"action\":\"add\",\"content\":\"mine\"}]"));
    os_hook(count_call, &counting);
    int code = restore(world, paths.tar, false);
    os_hook(NULL, NULL);
    assert_ok(world, code);
    assert_true(counting.renames < SAME / 2);
    assert_true(counting.syncs < SAME / 2);
    assert_file(world, "home/personalities/default/MEMORY.md", "mine\n");
}

#define EXTRA_BYTES 100000

struct extra {
    char path[256];
    bool torn;
};

/* Whoever is killed at this call leaves the file whole, or none. */
static int look_at_extra(void *arg, const char *call, unsigned long number)
{
    struct extra *extra = arg;
    struct stat st;
    (void)call, (void)number;
    extra->torn |= stat(extra->path, &st) == 0 && st.st_size != EXTRA_BYTES;
    return 0;
}

static void test_a_file_that_is_added_appears_whole(void **state)
{
    struct world *world = *state;
    struct paths paths = paths_of(world);
    static char text[EXTRA_BYTES + 1];
    struct extra extra = {0};
    memset(text, 'x', EXTRA_BYTES);
    make_home(world);
    world_put(world, "home/extra/file.bin", text);
    world_open(world);
    assert_ok(world, back_up(world, paths.tar));
    open_empty(world);
    world_turn(world, NULL);
    assert_ok(world, world_sync(world, "[{\"action\":\"add\",\"content\":\"mine\"}]"));
    snprintf(extra.path, sizeof extra.path, "%s/home/extra/file.bin", world->temp.path);
    os_hook(look_at_extra, &extra);
    int code = restore(world, paths.tar, false);
    os_hook(NULL, NULL);
    assert_ok(world, code);
    assert_false(extra.torn);
    assert_file(world, "home/extra/file.bin", text);
}

static bool is_asked(void *arg)
{
    int *left = arg;
    return (*left)-- <= 0;
}

static void test_what_is_stopped_leaves_nothing(void **state)
{
    struct world *world = *state;
    struct paths paths = paths_of(world);
    int code = ETHOS_IO, steps = 0;
    make_home(world);
    world_open(world);
    for (; code != ETHOS_OK; steps++) {
        int left = steps;
        json_t *report = NULL;
        const struct backup_how how = {.path = paths.tar, .stop = {is_asked, &left}};
        code = backup_write(world->ethos, &how, &report, &world->error);
        json_decref(report);
        assert_true(code == ETHOS_OK || code == ETHOS_IO);
        assert_int_equal(code == ETHOS_OK, world_exists(world, TAR));
        assert_false(world_exists(world, TAR ".ethos-partial"));
    }
    assert_true(steps > 5);
    open_empty(world);
    for (code = ETHOS_IO, steps = 0; code != ETHOS_OK; steps++) {
        int left = steps;
        json_t *report = NULL;
        const struct restore_how how = {.path = paths.tar, .stop = {is_asked, &left}};
        code = backup_restore(world->ethos, &how, &report, &world->error);
        json_decref(report);
        assert_int_equal(code == ETHOS_OK, world_exists(world, "home"));
        assert_false(world_exists(world, "home.ethos-restoring"));
    }
    assert_true(steps > 3);
    assert_home(world);
}

/* ---- databases -------------------------------------------------------------------------------- */

static void test_a_database_is_copied_with_its_log(void **state)
{
    struct world *world = *state;
    struct ethos_error error = {0};
    char from[160], to[160];
    sqlite3 *database;
    sqlite3_stmt *statement;
    snprintf(from, sizeof from, "%s/from.db", world->temp.path);
    snprintf(to, sizeof to, "%s/to.db", world->temp.path);
    assert_int_equal(sqlite3_open(from, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database,
                                  "PRAGMA journal_mode=WAL;PRAGMA wal_autocheckpoint=0;"
                                  "CREATE TABLE t(x);INSERT INTO t VALUES(1);"
                                  "BEGIN;INSERT INTO t VALUES(2)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(session_sqlite_copier.copy(from, to, 1000, &error),
                     ETHOS_OK); // while it writes
    assert_int_equal(session_sqlite_copier.copy(from, to, 1000, &error), ETHOS_IO); // in the way
    sqlite3_close(database);
    assert_int_equal(sqlite3_open(to, &database), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(database, "SELECT sum(x) FROM t", -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(statement, 0), 1);
    sqlite3_finalize(statement);
    sqlite3_close(database);
    assert_mode(world, "to.db", 0600);
    world_put(world, "d/bad.db", "SQLite format 3");
    snprintf(from, sizeof from, "%s/d/bad.db", world->temp.path);
    assert_int_equal(session_sqlite_copier.check(from, &error), ETHOS_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_backup_is_whole_or_there_is_none, world_set_up_quick,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_a_backup_without_memory, world_set_up_quick,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_a_restore_is_everything_or_nothing, world_set_up_quick,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_a_restore_without_memory, world_set_up_quick,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_a_merge_that_failed_can_be_repeated,
                                        world_set_up_quick, world_tear_down),
        cmocka_unit_test_setup_teardown(test_an_empty_home_that_cannot_be_replaced_is_filled,
                                        world_set_up_quick, world_tear_down),
        cmocka_unit_test_setup_teardown(test_a_merge_costs_what_differs, world_set_up_quick,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_a_file_that_is_added_appears_whole, world_set_up_quick,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_stopped_leaves_nothing, world_set_up_quick,
                                        world_tear_down),
        cmocka_unit_test_setup_teardown(test_a_database_is_copied_with_its_log, world_set_up_quick,
                                        world_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
