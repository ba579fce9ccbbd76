/*
 * What the doctor finds in a database, and what it mends.
 */
#include "hits.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/alloc.h"

#define INDEX "sessions-search.db"
#define FTS "its full-text index messages_fts does not match the messages\n"
#define EARLY "'2026-01-01T00:00:00.000Z'"

/* "severity subject: problem" per line. */
struct findings {
    char text[4096];
    unsigned count;
};

static void note(void *arg, const struct ethos_finding *finding)
{
    static const char *const names[] = {"fixed", "warning", "error"};
    struct findings *findings = arg;
    size_t used = strlen(findings->text);
    snprintf(findings->text + used, sizeof findings->text - used, "%s %s: %s\n",
             names[finding->severity], finding->subject, finding->problem);
    findings->count++;
}

static struct findings do_check(struct world *w, int fix)
{
    struct findings findings = {.count = 0};
    if (sessions_sqlite.check(w->sessions, fix, note, &findings, &w->error) != ETHOS_OK)
        fail_msg("%s", w->error.text);
    return findings;
}

static void assert_finds(struct world *w, int fix, const char *expected)
{
    struct findings findings = do_check(w, fix);
    assert_string_equal(findings.text, expected);
}

static void assert_finds_part(struct world *w, int fix, const char *part)
{
    struct findings findings = do_check(w, fix);
    if (!strstr(findings.text, part))
        fail_msg("'%s' is not in '%s'", part, findings.text);
}

/* A conversation with a tool, as a model accepts it. */
static void converse(struct world *w, const char *key)
{
    const struct ethos_message messages[] = {
        {.role = "user", .content = VIEW("running and jumping, café 日本語")},
        {.role = "assistant", .content = VIEW("looking"), .tool_calls = "[{\"id\":\"c\"}]"},
        {.role = "tool_result", .content = VIEW("12 files"), .tool_call_id = "c"},
        {.role = "assistant", .content = VIEW("")}};
    make_session(w, key);
    assert_int_equal(
        sessions_sqlite.append(w->sessions, w->id, messages, 4, ETHOS_APPEND_CHECKED, &w->error),
        ETHOS_OK);
}

/* ---- nothing wrong --------------------------------------------------------------------------- */

static void nothing_is_wrong_where_nothing_is(void **state)
{
    struct world *w = *state;
    struct stat st;
    assert_finds(w, 0, "");
    assert_finds(w, 1, "");
    assert_int_equal(fstatat(w->temp.fd, "sessions.db", &st, 0), -1);
}

static void a_good_database_has_no_finding(void **state)
{
    struct world *w = *state;
    struct stat st;
    uint64_t count;
    converse(w, "a");
    converse(w, "b");
    assert_finds(w, 0, "");
    assert_finds(w, 1, "");
    assert_int_equal(fstatat(w->temp.fd, INDEX, &st, 0), -1); // made by searching, not by looking
    assert_int_equal(count_hits(w, "files"), 2);
    converse(w, "c");
    assert_int_equal(sessions_sqlite.undo(w->sessions, w->id, 1, &count, &w->error), ETHOS_OK);
    assert_int_equal(sessions_sqlite.remove(w->sessions, w->id, &w->error), ETHOS_OK);
    converse(w, "d");
    assert_finds(w, 0, ""); // the index lags behind, which it may
}

static void others_write_while_it_looks(void **state)
{
    struct world *w = *state;
    converse(w, "a");
    sqlite3 *raw = raw_open(w);
    assert_int_equal(sqlite3_exec(raw, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    int fd = openat(w->temp.fd, "sessions.db-lock", O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_finds(w, 0, ""); // it waits for nobody
    close(fd);
    sqlite3_close(raw);
}

/* ---- the file -------------------------------------------------------------------------------- */

static void what_is_no_database_is_told(void **state)
{
    struct world *w = *state;
    size_t size;
    temp_write(&w->temp, "sessions.db", "dear somebody, this is a letter and no database at all");
    assert_finds_part(w, 1, "is not a database\n");
    char *text = temp_read(&w->temp, "sessions.db", &size);
    assert_memory_equal(text, "dear", 4);
    free(text);
}

static void a_newer_version_is_told(void **state)
{
    struct world *w = *state;
    converse(w, "a");
    raw_run(w, "PRAGMA user_version=2");
    world_reopen(w);
    assert_finds_part(w, 1, "written by a newer version: schema 2, this program knows 1\n");
    assert_query(w, "PRAGMA user_version", "2\n");
}

static void a_lock_that_nobody_can_take_is_told(void **state)
{
    struct world *w = *state;
    converse(w, "a");
    world_close(w);
    assert_int_equal(unlinkat(w->temp.fd, "sessions.db-lock", 0), 0);
    assert_int_equal(mkdirat(w->temp.fd, "sessions.db-lock", 0700), 0);
    world_open(w);
    assert_finds_part(w, 0, "error sessions.db-lock: ");
    assert_int_equal(do_append(w, "user", "x"), ETHOS_IO);
    assert_int_equal(unlinkat(w->temp.fd, "sessions.db-lock", AT_REMOVEDIR), 0);
    assert_finds(w, 0, ""); // and one that is missing is made
}

static void tables_that_do_not_fit_are_told(void **state)
{
    struct world *w = *state;
    converse(w, "a");
    raw_run(w, "ALTER TABLE messages DROP COLUMN tool_name");
    world_reopen(w);
    assert_finds_part(w, 1, "tool_name");
}

/* Noise into the middle of the file, behind the pages that say what it is. */
static void damage(struct world *w)
{
    char noise[4096];
    struct stat st;
    raw_run(w, "PRAGMA wal_checkpoint(TRUNCATE)");
    world_close(w);
    memset(noise, 0xA5, sizeof noise);
    int fd = openat(w->temp.fd, "sessions.db", O_WRONLY);
    assert_int_equal(fstat(fd, &st), 0);
    for (off_t at = 16384; at < st.st_size; at += 8192)
        assert_int_equal(pwrite(fd, noise, sizeof noise, at), sizeof noise);
    close(fd);
    world_open(w);
}

static void damage_is_told_and_not_made_worse(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < 40; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        converse(w, key);
    }
    damage(w);
    size_t before_size, after_size;
    char *before = temp_read(&w->temp, "sessions.db", &before_size);
    struct findings findings = do_check(w, 1);
    assert_true(findings.count >= 1 && findings.count <= 5);
    assert_non_null(strstr(findings.text, "error sessions.db: "));
    char *after = temp_read(&w->temp, "sessions.db", &after_size);
    assert_int_equal(before_size, after_size);
    assert_memory_equal(before, after, before_size);
    free(before);
    free(after);
}

static void rows_without_their_session_are_counted(void **state)
{
    struct world *w = *state;
    converse(w, "a");
    raw_run(w, "PRAGMA foreign_keys=OFF; DELETE FROM sessions");
    assert_finds(w, 1,
                 "warning sessions.db: 4 rows in messages refer to rows that no longer exist\n");
    assert_query(w, "SELECT count(*) FROM messages", "4\n");
}

static void a_database_that_can_only_be_read_is_checked(void **state)
{
    struct world *w = *state;
    char path[128];
    uid_t before = geteuid();
    converse(w, "a");
    raw_run(w, "INSERT INTO messages_fts(messages_fts) VALUES('delete-all')");
    world_close(w);
    snprintf(path, sizeof path, "%s/sessions.db", w->temp.path);
    assert_int_equal(chmod(path, 0400), 0);
    become_ordinary(w);
    world_open(w);
    struct findings findings = do_check(w, 1);
    assert_int_equal(seteuid(before), 0);
    assert_string_equal(findings.text, "warning sessions.db: " FTS);
}

/* ---- the full-text index --------------------------------------------------------------------- */

static void a_full_text_index_that_disagrees_is_rebuilt(void **state)
{
    static const char *const spoilt[] = {
        "INSERT INTO messages_fts(messages_fts) VALUES('delete-all')",
        "INSERT INTO messages_fts(rowid,content) VALUES(99,'stray')",
        "INSERT INTO messages_fts(messages_fts,rowid,content) VALUES('delete',1,'running')",
        "UPDATE messages SET rowid=rowid+70",
        "DELETE FROM messages_fts_data WHERE id>10",
        "DROP TRIGGER messages_au; UPDATE messages SET content='jumping and running' WHERE "
        "role='user';"
        "CREATE TRIGGER messages_au AFTER UPDATE OF content ON messages BEGIN SELECT 1; END",
    };
    struct world *w = *state;
    converse(w, "a");
    converse(w, "b");
    char *messages = raw_query(w, "SELECT id,content FROM messages ORDER BY id");
    for (size_t i = 0; i < sizeof spoilt / sizeof *spoilt; i++) {
        raw_run(w, spoilt[i]);
        world_reopen(w);
        assert_finds(w, 0, "warning sessions.db: " FTS);
        assert_finds(w, 1, "fixed sessions.db: " FTS);
        assert_finds(w, 0, "");
        assert_sound(w);
        if (i + 2 == sizeof spoilt / sizeof *spoilt) // the last one changes a message itself
            assert_query(w, "SELECT id,content FROM messages ORDER BY id", messages);
    }
    free(messages);
}

static void long_and_strange_words_agree(void **state)
{
    struct world *w = *state;
    static char text[100001];
    make_session(w, "a");
    memset(text, 'w', sizeof text - 1);
    say(w, "user", text);
    say(w, "user", "x\x01\x7f _under_score relational conditional \xc3\x9f\xf0\x9f\x98\x80 a b");
    raw_run(w, "UPDATE messages SET content='one'||char(0)||'two three' WHERE rowid=2;"
               "UPDATE messages SET content=content||' end' WHERE rowid=1");
    assert_sound(w);
    struct findings findings = do_check(w, 0);
    assert_null(strstr(findings.text, "full-text"));
}

/* ---- sequences ------------------------------------------------------------------------------- */

static void sessions_that_a_model_would_refuse_are_named(void **state)
{
    struct world *w = *state;
    char expected[256];
    converse(w, "good");
    converse(w, "bad");
    say(w, "assistant", "again");
    say(w, "assistant", "and again");
    snprintf(expected, sizeof expected,
             "warning session %s: message 5: role assistant after an assistant's message: a model "
             "would reject it\n",
             w->id);
    assert_finds(w, 1, expected);
    raw_run(w, "UPDATE messages SET deleted_at=" EARLY " WHERE content LIKE '%again'");
    assert_finds(w, 0, ""); // only what is visible counts
}

static void many_of_them_are_counted(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < 12; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i);
        make_session(w, key);
        say(w, "assistant", "me first");
    }
    struct findings findings = do_check(w, 0);
    assert_int_equal(findings.count, 6);
    assert_non_null(strstr(findings.text,
                           "warning 7 more sessions: have messages that a model would refuse\n"));
}

static void foreign_text_stays_on_its_line(void **state)
{
    struct world *w = *state;
    converse(w, "a");
    raw_run(w, "UPDATE messages SET tool_call_id='a'||char(10)||'error: b'||char(27)"
               " WHERE role='tool_result'");
    struct findings findings = do_check(w, 0);
    assert_int_equal(findings.count, 1);
    assert_ptr_equal(strchr(findings.text, '\n'), findings.text + strlen(findings.text) - 1);
    assert_null(strchr(findings.text, 27));
}

/* ---- the index of searching ------------------------------------------------------------------ */

static void edited_behind_its_back_is_told_and_put_right(void **state)
{
    struct world *w = *state;
    converse(w, "a");
    assert_int_equal(count_hits(w, "files"), 1);
    raw_run(w, "UPDATE messages SET content='hidden gem' WHERE role='tool_result'");
    assert_finds(w, 0, "warning " INDEX ": 1 message was edited since: searches may miss it\n");
    assert_finds(w, 1, "fixed " INDEX ": 1 message was edited since: searches may miss it\n");
    assert_finds(w, 0, "");
    assert_found(w, "gem", "hidden gem|");
}

/* The rows of what was deleted are given to what comes next: nobody edited anything. */
static void an_index_that_lags_behind_a_deletion_is_no_finding(void **state)
{
    struct world *w = *state;
    converse(w, "a");
    assert_int_equal(count_hits(w, "files"), 1);
    assert_int_equal(w->ops->remove(w->sessions, w->id, &w->error), ETHOS_OK);
    make_session(w, "b");
    say(w, "user", "Which papers changed?");
    assert_finds(w, 0, "");
    assert_int_equal(count_hits(w, "papers"), 1);
    assert_int_equal(count_hits(w, "files"), 0);
}

static void a_damaged_index_is_told_and_made_anew(void **state)
{
    struct world *w = *state;
    size_t size;
    converse(w, "a");
    assert_int_equal(count_hits(w, "files"), 1);
    world_close(w);
    unlinkat(w->temp.fd, INDEX "-wal", 0);
    unlinkat(w->temp.fd, INDEX "-shm", 0);
    temp_write(&w->temp, INDEX, "dear somebody, this is a letter and no database at all, nor ours");
    world_open(w);
    assert_finds(w, 0, "warning " INDEX ": is damaged; the next search rebuilds it\n");
    char *text = temp_read(&w->temp, INDEX, &size);
    assert_memory_equal(text, "dear", 4); // looking writes nothing
    free(text);
    assert_finds(w, 1, "fixed " INDEX ": is damaged; the next search rebuilds it\n");
    assert_finds(w, 0, "");
    assert_int_equal(count_hits(w, "files"), 1);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void every_allocation_may_fail(void **state)
{
    struct world *w = *state;
    converse(w, "a");
    assert_int_equal(count_hits(w, "files"), 1);
    bool reached = true;
    unsigned long step = getenv("CHECK_LONG") ? 1 : 7;
    for (unsigned long n = 1; reached; n += step) {
        struct findings findings = {.count = 0};
        world_reopen(w);
        alloc_fail_at(n);
        int code = sessions_sqlite.check(w->sessions, 0, note, &findings, &w->error);
        reached = alloc_count() >= n;
        alloc_fail_at(0);
        if (code != ETHOS_OK && code != ETHOS_NOMEM)
            fail_msg("allocation %lu: %d %s", n, code, w->error.text);
        if (code == ETHOS_OK && findings.count > 0)
            fail_msg("allocation %lu: %s", n, findings.text);
        assert_finds(w, 0, ""); // and it goes on
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_wrong_where_nothing_is),
        TEST(a_good_database_has_no_finding),
        TEST(others_write_while_it_looks),
        TEST(what_is_no_database_is_told),
        TEST(a_newer_version_is_told),
        TEST(a_lock_that_nobody_can_take_is_told),
        TEST(tables_that_do_not_fit_are_told),
        TEST(damage_is_told_and_not_made_worse),
        TEST(rows_without_their_session_are_counted),
        TEST(a_database_that_can_only_be_read_is_checked),
        TEST(a_full_text_index_that_disagrees_is_rebuilt),
        TEST(long_and_strange_words_agree),
        TEST(sessions_that_a_model_would_refuse_are_named),
        TEST(many_of_them_are_counted),
        TEST(foreign_text_stays_on_its_line),
        TEST(edited_behind_its_back_is_told_and_put_right),
        TEST(an_index_that_lags_behind_a_deletion_is_no_finding),
        TEST(a_damaged_index_is_told_and_made_anew),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
