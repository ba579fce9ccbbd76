/*
 * test_lookup.c: which conversation a name or a folder means.
 */
#include <sqlite3.h>
#include <sys/wait.h>

#include "../world.h"
#include "base/str.h"
#include "memory/sessions/lookup.h"

/* ---- helpers --------------------------------------------------------------------------------- */

static struct ethos_sessions *store_of(struct world *world)
{
    struct ethos_sessions *store = NULL;
    if (!world->turn)
        world_turn(world, NULL);
    assert_ok(world, ethos_sessions(world->ethos, &store, &world->error));
    return store;
}

/* Makes a session as any program may; folder NULL: it did not say. */
static void put(struct world *world, const char *id, const char *key, const char *folder,
                const char *created)
{
    char out[ETHOS_UUID_SIZE];
    struct ethos_sessions *store = store_of(world);
    const struct ethos_session session = {.id = id,
                                          .key = key,
                                          .platform = "cli",
                                          .model = "m",
                                          .provider = "p",
                                          .working_dir = folder,
                                          .created_at = created,
                                          .updated_at = created};
    assert_ok(world, store->ops->create(store, &session, out, &world->error));
}

static void say(struct world *world, const char *id, const char *role, const char *text)
{
    struct ethos_sessions *store = store_of(world);
    const struct ethos_message message = {.role = role, .content = view_str(text)};
    assert_ok(world, store->ops->append(store, id, &message, 1, 0, &world->error));
}

/* What is known of one session: "key folder". */
static int note_facts(void *arg, const struct ethos_session *session)
{
    snprintf(arg, 512, "%s %s", session->key, session->working_dir ? session->working_dir : "-");
    return 0;
}

static void assert_facts(struct world *world, const char *id, const char *expected)
{
    char facts[512] = "";
    struct ethos_sessions *store = store_of(world);
    assert_ok(world, store->ops->get(store, id, note_facts, facts, &world->error));
    assert_string_equal(facts, expected);
}

static const char *current(struct world *world, const char *folder, int fresh,
                           char out[ETHOS_UUID_SIZE])
{
    store_of(world);
    assert_ok(world, ethos_session_current(world->turn, folder, fresh, out, &world->error));
    return out;
}

static const char *in_temp(struct world *world, const char *path, char out[256])
{
    snprintf(out, 256, "%s/%s", world->temp.path, path);
    return out;
}

/* ---- by folder ------------------------------------------------------------------------------- */

static void test_a_folder_resumes_its_session_after_a_restart(void **state)
{
    struct world *world = *state;
    char first[ETHOS_UUID_SIZE], again[ETHOS_UUID_SIZE], facts[256];

    current(world, NULL, 0, first);
    snprintf(facts, sizeof facts, "cli:work %s", world->work);
    assert_facts(world, first, facts);
    world_open(world);
    assert_string_equal(current(world, NULL, 0, again), first);
    assert_string_equal(current(world, world->work, 0, again), first);
}

static void test_looking_makes_nothing(void **state)
{
    struct world *world = *state;
    char id[ETHOS_UUID_SIZE];

    world_turn(world, NULL);
    assert_int_equal(sessions_current(world->turn, world->work, id, &world->error), ETHOS_NOTFOUND);
    assert_false(world_exists(world, "home"));
}

static void test_a_fresh_one_follows_and_is_then_current(void **state)
{
    struct world *world = *state;
    char first[ETHOS_UUID_SIZE], fresh[ETHOS_UUID_SIZE], other[ETHOS_UUID_SIZE], facts[256];

    current(world, NULL, 0, first);
    current(world, NULL, 1, fresh);
    assert_string_not_equal(first, fresh);
    snprintf(facts, sizeof facts, "cli:work:%ld %s", NOW_MS, world->work);
    assert_facts(world, fresh, facts);
    assert_string_equal(current(world, NULL, 0, other), fresh);
    current(world, NULL, 1, other); // within the same millisecond
    assert_string_not_equal(other, fresh);
}

static void test_folders_of_the_same_name_do_not_collide(void **state)
{
    struct world *world = *state;
    char a[ETHOS_UUID_SIZE], b[ETHOS_UUID_SIZE], again[ETHOS_UUID_SIZE], one[256], two[256];

    world_mkdir(world, "one/shop");
    world_mkdir(world, "two/shop");
    in_temp(world, "one/shop", one);
    in_temp(world, "two/shop", two);
    current(world, one, 0, a);
    current(world, two, 0, b);
    assert_string_not_equal(a, b);
    assert_string_equal(current(world, one, 0, again), a);
    assert_string_equal(current(world, two, 0, again), b);
    current(world, two, 1, b);
    assert_string_equal(current(world, two, 0, again), b);
    assert_string_equal(current(world, one, 0, again), a);
}

static void test_a_link_to_a_folder_is_the_folder(void **state)
{
    struct world *world = *state;
    char a[ETHOS_UUID_SIZE], b[ETHOS_UUID_SIZE], link[256];

    world_link(world, "work", "shortcut");
    current(world, NULL, 0, a);
    assert_string_equal(current(world, in_temp(world, "shortcut", link), 0, b), a);
}

static void test_a_folder_that_is_gone_is_an_error(void **state)
{
    struct world *world = *state;
    char id[ETHOS_UUID_SIZE];

    store_of(world);
    int code = ethos_session_current(world->turn, "/nowhere/at/all", 0, id, &world->error);
    assert_error(&world->error, code, ETHOS_NOTFOUND);
    assert_non_null(strstr(world->error.text, "/nowhere/at/all"));
}

/* ---- rows of older programs ------------------------------------------------------------------ */

static void test_a_session_without_folder_is_taken_over(void **state)
{
    struct world *world = *state;
    char id[ETHOS_UUID_SIZE], facts[256];

    put(world, "old", "cli:work", NULL, "2025-01-01T00:00:00.000Z");
    assert_ok(world, sessions_current(world->turn, world->work, id, &world->error));
    assert_string_equal(id, "old");
    assert_facts(world, "old", "cli:work -"); // looking leaves it alone
    assert_string_equal(current(world, NULL, 0, id), "old");
    snprintf(facts, sizeof facts, "cli:work %s", world->work);
    assert_facts(world, "old", facts);
}

static void test_the_newest_of_a_family_without_folder_is_taken_over(void **state)
{
    struct world *world = *state;
    char id[ETHOS_UUID_SIZE];

    put(world, "old", "cli:work", NULL, "2025-01-01T00:00:00.000Z");
    put(world, "newer", "cli:work:1735700000000", NULL, "2025-01-02T00:00:00.000Z");
    put(world, "fork", "cli:work:fork:1735800000000", NULL, "2025-01-03T00:00:00.000Z");
    put(world, "other", "cli:workshop", NULL, "2025-01-04T00:00:00.000Z");
    assert_string_equal(current(world, NULL, 0, id), "newer");
    assert_facts(world, "old", "cli:work -");
}

static void test_a_session_of_another_folder_stays_its_own(void **state)
{
    struct world *world = *state;
    char id[ETHOS_UUID_SIZE];

    put(world, "theirs", "cli:work", "/somewhere/else/work", "2025-01-01T00:00:00.000Z");
    current(world, NULL, 0, id);
    assert_string_not_equal(id, "theirs");
    assert_facts(world, "theirs", "cli:work /somewhere/else/work");
}

/* ---- many at once ---------------------------------------------------------------------------- */

static void ask_as_child(struct world *world, int out)
{
    struct ethos *ethos;
    struct ethos_turn *turn;
    char id[ETHOS_UUID_SIZE];
    const struct ethos_options options = {.home = world->home};
    if (ethos_open(&options, &ethos, NULL) || ethos_turn_new(ethos, NULL, &turn, NULL) ||
        ethos_session_current(turn, world->work, 0, id, NULL) ||
        write(out, id, ETHOS_UUID_SIZE) != ETHOS_UUID_SIZE)
        _exit(1);
    ethos_turn_free(turn);
    ethos_close(ethos);
    _exit(0);
}

static void test_processes_that_ask_at_once_get_the_same(void **state)
{
    struct world *world = *state;
    enum { ASKERS = 8 };
    char ids[ASKERS][ETHOS_UUID_SIZE];
    int pipes[2], status;

    assert_int_equal(pipe(pipes), 0);
    for (int i = 0; i < ASKERS; i++)
        if (fork() == 0)
            ask_as_child(world, pipes[1]);
    close(pipes[1]);
    for (int i = 0; i < ASKERS; i++) {
        assert_int_equal(read(pipes[0], ids[i], ETHOS_UUID_SIZE), ETHOS_UUID_SIZE);
        assert_string_equal(ids[i], ids[0]);
    }
    close(pipes[0]);
    for (int i = 0; i < ASKERS; i++)
        assert_true(wait(&status) > 0 && status == 0);
}

/* ---- by name --------------------------------------------------------------------------------- */

static void test_a_name_is_an_id_a_key_or_the_start_of_one_id(void **state)
{
    struct world *world = *state;
    char id[ETHOS_UUID_SIZE];

    put(world, "aa11", "cli:one", NULL, NULL);
    put(world, "aa22", "cli:two", NULL, NULL);
    put(world, "aa", "cli:three", NULL, NULL);
    put(world, "b_-", "aa1", NULL, NULL);
    assert_ok(world, ethos_session_find(world->ethos, "aa22", id, &world->error));
    assert_string_equal(id, "aa22");
    assert_ok(world, ethos_session_find(world->ethos, "aa2", id, &world->error));
    assert_string_equal(id, "aa22");
    assert_ok(world, ethos_session_find(world->ethos, "cli:one", id, &world->error));
    assert_string_equal(id, "aa11");
    assert_ok(world, ethos_session_find(world->ethos, "aa", id, &world->error)); // whole
    assert_string_equal(id, "aa");
    assert_ok(world, ethos_session_find(world->ethos, "aa1", id, &world->error)); // a key
    assert_string_equal(id, "b_-");
}

static void test_a_name_that_fits_none_or_several_says_so(void **state)
{
    struct world *world = *state;
    char id[ETHOS_UUID_SIZE] = "untouched";

    put(world, "aa11", "cli:one", NULL, NULL);
    put(world, "aa22", "cli:two", NULL, NULL);
    int code = ethos_session_find(world->ethos, "a", id, &world->error);
    assert_error(&world->error, code, ETHOS_INVALID);
    assert_non_null(strstr(world->error.hint, "aa11"));
    assert_non_null(strstr(world->error.hint, "aa22"));
    code = ethos_session_find(world->ethos, "", id, &world->error);
    assert_error(&world->error, code, ETHOS_INVALID);
    static const char *const unknown[] = {"zz", "%", "_", "a*", "aa11 "};
    for (size_t i = 0; i < COUNT(unknown); i++) {
        code = ethos_session_find(world->ethos, unknown[i], id, &world->error);
        assert_error(&world->error, code, ETHOS_NOTFOUND);
    }
    assert_string_equal(id, "untouched");
}

/* Another program may have made ids that are longer than ours: cut, one would be another's. */
static void test_an_id_that_is_too_long_is_never_taken_for_another(void **state)
{
    static const char uuid[] = "11111111-1111-4111-8111-111111111111";
    struct world *world = *state;
    char path[256], id[ETHOS_UUID_SIZE] = "untouched";
    sqlite3 *db = NULL;

    put(world, uuid, "cli:one", NULL, NULL);
    assert_int_equal(sqlite3_open(in_temp(world, "home/sessions.db", path), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "INSERT INTO sessions(id,key,platform,model,provider,created_at,"
                                  "updated_at) SELECT id||'x','long',platform,model,provider,"
                                  "created_at,updated_at FROM sessions",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    static const char *const names[] = {"11111111-1111-4111-8111-111111111111x", "long", "1111"};
    for (size_t i = 0; i < COUNT(names); i++) {
        int code = ethos_session_find(world->ethos, names[i], id, &world->error);
        assert_error(&world->error, code, ETHOS_LIMIT);
    }
    assert_string_equal(id, "untouched");
    assert_ok(world, ethos_session_find(world->ethos, uuid, id, &world->error));
    assert_string_equal(id, uuid);
}

static void test_ephemeral_sessions_leave_the_home_alone(void **state)
{
    struct world *world = *state;
    char id[ETHOS_UUID_SIZE];

    put(world, "kept", "cli:work", NULL, NULL);
    world_close(world); // folds the log into the database
    char *before = world_tree(world, "home", TREE_ALL);
    world_open_with(world, (struct ethos_options){.ephemeral = 1});
    assert_string_not_equal(current(world, NULL, 0, id), "kept");
    world_close(world);
    char *after = world_tree(world, "home", TREE_ALL);
    assert_string_equal(after, before);
    free(before);
    free(after);
}

/* ---- titles ---------------------------------------------------------------------------------- */

static void test_a_title_is_made_of_the_first_words_of_the_user(void **state)
{
    struct world *world = *state;
    struct str title;

    str_init(&title, 1024);
    put(world, "s", "k", NULL, NULL);
    assert_ok(world, sessions_title(world->ethos, "s", false, &title, &world->error));
    assert_int_equal(title.size, 0);
    say(world, "s", "system", "Rules");
    say(world, "s", "user", " \n");
    say(world, "s", "user", "\n# Fix the build\nplease");
    say(world, "s", "user", "Later");
    assert_ok(world, sessions_title(world->ethos, "s", false, &title, &world->error));
    assert_string_equal(title.data, "Fix the build");
    str_release(&title);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_a_folder_resumes_its_session_after_a_restart),
        WORLD_TEST(test_looking_makes_nothing),
        WORLD_TEST(test_a_fresh_one_follows_and_is_then_current),
        WORLD_TEST(test_folders_of_the_same_name_do_not_collide),
        WORLD_TEST(test_a_link_to_a_folder_is_the_folder),
        WORLD_TEST(test_a_folder_that_is_gone_is_an_error),
        WORLD_TEST(test_a_session_without_folder_is_taken_over),
        WORLD_TEST(test_the_newest_of_a_family_without_folder_is_taken_over),
        WORLD_TEST(test_a_session_of_another_folder_stays_its_own),
        WORLD_TEST(test_processes_that_ask_at_once_get_the_same),
        WORLD_TEST(test_a_name_is_an_id_a_key_or_the_start_of_one_id),
        WORLD_TEST(test_a_name_that_fits_none_or_several_says_so),
        WORLD_TEST(test_an_id_that_is_too_long_is_never_taken_for_another),
        WORLD_TEST(test_ephemeral_sessions_leave_the_home_alone),
        WORLD_TEST(test_a_title_is_made_of_the_first_words_of_the_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
