/*
 * Whichever allocation fails, of ours or of SQLite: the call says so or succeeds, nothing leaks, and the
 * store goes on afterwards.
 */
#include "../support/alloc.h"
#include "world.h"

/*
 * The index of others finds what the messages say. Not asked for here: its count of all rows, which
 * SQLite 3.40 can lose when it runs out of memory; only a rank is computed from it.
 */
static void assert_index_sound(struct world *w)
{
    assert_query(w, "PRAGMA integrity_check", "ok\n");
    raw_run(w, "INSERT INTO messages_fts(messages_fts) VALUES('integrity-check');"
               "CREATE VIRTUAL TABLE temp.words USING fts5vocab(main,messages_fts,instance);"
               "CREATE TEMP TABLE off(n CHECK(n=0));"
               "INSERT INTO off SELECT count(*) FROM temp.words WHERE term='hello' AND doc NOT IN"
               " (SELECT rowid FROM messages WHERE content='hello');"
               "INSERT INTO off SELECT count(*) FROM messages WHERE content='hello' AND rowid"
               " NOT IN (SELECT doc FROM temp.words WHERE term='hello')");
}

/* Runs the body with one allocation failing, the first of them, then later ones, while reached. */
#define STEP (getenv("CHECK_LONG") ? 1 : 11)
#define EACH_ALLOCATION(n) for (unsigned long n = 1; reached; n += (unsigned long)STEP)

static int use(struct world *w, unsigned long round)
{
    struct ethos_session_query query = {.text = "k", .limit = 1};
    struct ethos_message messages[] = {{.role = "user", .content = VIEW("hello")},
                                       {.role = "assistant", .content = VIEW("there")}};
    struct ethos_session_patch patch = {.title = "t"};
    char key[64], id[ETHOS_UUID_SIZE], copy[ETHOS_UUID_SIZE], cursor[ETHOS_CURSOR_SIZE];
    struct ethos_sessions *s = w->sessions;
    struct ethos_error *error = &w->error;
    uint64_t count;
    snprintf(key, sizeof key, "k%lu", round);
    struct ethos_session session = {.key = key, .platform = "cli"};
    int code = sessions_sqlite.create(s, &session, id, error);
    if (code == ETHOS_OK)
        code = sessions_sqlite.append(s, id, messages, 2, ETHOS_APPEND_CHECKED, error);
    if (code == ETHOS_OK)
        code = sessions_sqlite.messages(s, id, 1, ignore_message, NULL, error);
    if (code == ETHOS_OK)
        code = sessions_sqlite.list(s, &query, ignore_session, NULL, cursor, error);
    if (code == ETHOS_OK)
        code = sessions_sqlite.update(s, id, &patch, error);
    if (code == ETHOS_OK)
        code = sessions_sqlite.fork(s, id, copy, error);
    if (code == ETHOS_OK)
        code = sessions_sqlite.rewind(s, copy, "none", NULL, 0, 0, &count, error) == ETHOS_NOMEM
                   ? ETHOS_NOMEM
                   : sessions_sqlite.undo(s, copy, 1, &count, error);
    if (code == ETHOS_OK)
        code = sessions_sqlite.remove(s, copy, error);
    return code;
}

static void every_failing_allocation_is_reported_and_survived(void **state)
{
    struct world *w = *state;
    bool reached = true; // SQLite does without some of what it asks for: success is not the end
    make_session(w, "first"); // making the tables is another test's
    world_close(w);
    EACH_ALLOCATION(n)
    {
        alloc_fail_at(n);
        int code = world_open_with(w, ETHOS_SETUP_FAST, 60000, NULL, 0);
        if (code == ETHOS_OK)
            code = use(w, n);
        reached = alloc_count() >= n;
        alloc_fail_at(0);
        if (code != ETHOS_OK && code != ETHOS_NOMEM)
            fail_msg("allocation %lu: %d %s", n, code, w->error.text);
        if (w->sessions && n % 5 == 0)
            say(w, "user", "still there"); // into "first"
        world_close(w);
    }
    world_open(w);
    assert_index_sound(w);
    char *done = raw_query(w, "SELECT count(*)>0 FROM sessions WHERE title='t'");
    assert_string_equal(done, "1\n");
    free(done);
}

static void making_the_tables_is_all_or_nothing(void **state)
{
    struct world *w = *state;
    bool reached = true;
    EACH_ALLOCATION(n)
    {
        alloc_fail_at(n);
        int code = do_create(w, "k");
        reached = alloc_count() >= n;
        alloc_fail_at(0);
        if (code != ETHOS_OK && code != ETHOS_NOMEM)
            fail_msg("allocation %lu: %d %s", n, code, w->error.text);
        if (n % 4 == 0) {
            char *tables = raw_query(w, "SELECT count(*) FROM sqlite_master");
            assert_true(strcmp(tables, "0\n") == 0 || strlen(tables) == 3); // none, or all of them
            free(tables);
        }
        world_close(w);
        if (reached) {
            temp_remove(&w->temp);
            temp_make(&w->temp);
        }
        assert_int_equal(world_open_with(w, ETHOS_SETUP_FAST, 60000, NULL, 0), ETHOS_OK);
    }
    assert_index_sound(w);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_failing_allocation_is_reported_and_survived),
        TEST(making_the_tables_is_all_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
