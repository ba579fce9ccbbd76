/*
 * What may happen to the index of searching, and to the messages behind its back.
 */
#include "../hits.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../support/alloc.h"
#include "base/arena.h"
#include "core/search/query.h"
#include "session/database.h"
#include "session/search/search.h"

#define INDEX "sessions-search.db"

static void path_of(const struct world *w, const char *name, char out[256])
{
    snprintf(out, 256, "%s/%s", w->temp.path, name);
}

static void catch_up(struct world *w)
{
    if (search_catch_up(db_of(w->sessions), &w->error) != ETHOS_OK)
        fail_msg("%s", w->error.text);
}

/* The only value that a query of the index gives. */
static int64_t ask_index(const struct world *w, const char *sql)
{
    char path[256];
    sqlite3 *raw;
    sqlite3_stmt *statement;
    path_of(w, INDEX, path);
    assert_int_equal(sqlite3_open(path, &raw), SQLITE_OK);
    sqlite3_db_config(raw, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_busy_timeout(raw, 10000);
    assert_int_equal(sqlite3_prepare_v2(raw, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(raw);
    return number;
}

/* "word n<number>" from `from` on, a second apart. */
static void make_many(struct world *w, unsigned from, unsigned count)
{
    char sql[1024];
    snprintf(sql, sizeof sql,
             "WITH RECURSIVE n(i) AS (SELECT %u UNION ALL SELECT i+1 FROM n WHERE i<%u)"
             " INSERT INTO messages(id,session_id,role,content,timestamp)"
             " SELECT printf('m%%06d',i),'%s','user',printf('word n%%06d',i),"
             "strftime('%%Y-%%m-%%dT%%H:%%M:%%S.000Z',1700000000+i,'unixepoch') FROM n",
             from, from + count - 1, w->id);
    raw_run(w, sql);
}

/* ---- the file -------------------------------------------------------------------------------- */

static void test_it_is_private(void **state)
{
    static const char *const names[] = {INDEX, INDEX "-wal", INDEX "-lock"};
    struct world *w = *state;
    struct stat st;
    make_session(w, "cli:a");
    say(w, "user", "word");
    assert_found(w, "word", "word|");
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(fstatat(w->temp.fd, names[i], &st, 0), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
    }
}

static void test_it_may_be_deleted_at_any_time(void **state)
{
    struct world *w = *state;
    make_session(w, "cli:a");
    say(w, "user", "word");
    assert_found(w, "word", "word|");
    unlinkat(w->temp.fd, INDEX, 0);
    assert_found(w, "word", "word|");
    assert_int_equal(faccessat(w->temp.fd, INDEX, F_OK, 0), 0);
    world_close(w);
    unlinkat(w->temp.fd, INDEX, 0); // its log stays
    world_open(w);
    say(w, "user", "word two");
    assert_int_equal(count_hits(w, "word"), 2);
    assert_int_equal(ask_index(w, "SELECT count(*) FROM docs"), 2);
}

/* Gives the file of the index this content, or cuts it to this size. */
static void spoil(struct world *w, const char *text, long size)
{
    int fd = openat(w->temp.fd, INDEX, O_WRONLY);
    assert_true(fd >= 0);
    if (text)
        assert_int_equal(pwrite(fd, text, strlen(text), 0), strlen(text));
    if (size >= 0)
        assert_int_equal(ftruncate(fd, size), 0);
    close(fd);
    unlinkat(w->temp.fd, INDEX "-wal", 0);
    unlinkat(w->temp.fd, INDEX "-shm", 0);
}

static void test_what_is_damaged_is_made_anew(void **state)
{
    static const long sizes[] = {0, 1, 99, 100, 512, 4095, 4096, 8192, 20000};
    struct world *w = *state;
    make_session(w, "cli:a");
    make_many(w, 1, 500);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(count_hits(w, "word"), 500);
        ask_index(w, "PRAGMA wal_checkpoint(TRUNCATE)");
        world_close(w);
        spoil(w, NULL, sizes[i]);
        world_open(w);
    }
    assert_int_equal(count_hits(w, "word"), 500);
    world_close(w);
    spoil(w, "this is no database, it is a letter to somebody else", 3000);
    world_open(w);
    assert_int_equal(count_hits(w, "word"), 500);
    assert_int_equal(count_hits(w, "n000400"), 1);
}

static void test_truncated_while_it_is_open(void **state)
{
    struct world *w = *state;
    make_session(w, "cli:a");
    make_many(w, 1, 3000);
    assert_int_equal(count_hits(w, "n000400"), 1);
    ask_index(w, "PRAGMA wal_checkpoint(TRUNCATE)");
    int fd = openat(w->temp.fd, INDEX, O_WRONLY);
    assert_int_equal(ftruncate(fd, 8192), 0);
    close(fd);
    say(w, "user", "one more");
    count_hits(w, "n002400"); // whatever is in memory still, it ends
    world_reopen(w);
    assert_int_equal(count_hits(w, "n002400"), 1);
    assert_int_equal(count_hits(w, "more"), 1);
}

static void test_pages_of_noise_do_no_harm(void **state)
{
    struct world *w = *state;
    unsigned seed = 9;
    make_session(w, "cli:a");
    make_many(w, 1, 2000);
    for (int round = 0; round < 12; round++) {
        char noise[64];
        struct stat st;
        count_hits(w, "word");
        ask_index(w, "PRAGMA wal_checkpoint(TRUNCATE)");
        world_close(w);
        assert_int_equal(fstatat(w->temp.fd, INDEX, &st, 0), 0);
        int fd = openat(w->temp.fd, INDEX, O_WRONLY);
        for (size_t i = 0; i < sizeof noise; i++)
            noise[i] = (char)((seed = seed * 1664525u + 1013904223u) >> 24);
        assert_int_equal(pwrite(fd, noise, sizeof noise, seed % (unsigned)st.st_size),
                         sizeof noise);
        close(fd);
        world_open(w);
        assert_true(count_hits(w, "word") <= 2000);
        count_hits(w, "n0010");
        count_hits(w, "\"word n001000\"");
    }
    unlinkat(w->temp.fd, INDEX, 0);
    assert_int_equal(count_hits(w, "word"), 2000);
}

static void test_what_is_not_ours_is_made_anew(void **state)
{
    static const char *const sql[] = {"PRAGMA user_version=99", "PRAGMA application_id=7",
                                      "DROP TABLE postings", "DELETE FROM blocks",
                                      "UPDATE shards SET docs=99999"};
    struct world *w = *state;
    make_session(w, "cli:a");
    make_many(w, 1, 10);
    for (size_t i = 0; i < sizeof sql / sizeof *sql; i++) {
        char path[256];
        sqlite3 *raw;
        assert_int_equal(count_hits(w, "word"), 10 + i);
        world_close(w);
        path_of(w, INDEX, path);
        assert_int_equal(sqlite3_open(path, &raw), SQLITE_OK);
        assert_int_equal(sqlite3_exec(raw, sql[i], NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(raw);
        world_open(w);
        say(w, "user", "another word");
        assert_int_equal(count_hits(w, "word"), 11 + i);
    }
}

/* ---- where nothing can be written ------------------------------------------------------------ */

static unsigned warnings;

static void count_warning(void *arg, enum ethos_level level, const char *line)
{
    (void)arg;
    warnings += level == ETHOS_LOG_WARN && strstr(line, INDEX) != NULL;
}

static void test_without_a_place_to_write_it_still_works(void **state)
{
    struct world *w = *state;
    w->host.log = count_warning;
    warnings = 0;
    assert_int_equal(mkdirat(w->temp.fd, INDEX, 0700), 0);
    make_session(w, "cli:a");
    make_many(w, 1, 100);
    assert_int_equal(count_hits(w, "word"), 100);
    say(w, "user", "one more word");
    assert_int_equal(count_hits(w, "word"), 101);
    assert_int_equal(warnings, 1);
    catch_up(w);
    assert_int_equal(unlinkat(w->temp.fd, INDEX, AT_REMOVEDIR), 0);
}

static void test_a_link_is_not_followed(void **state)
{
    struct world *w = *state;
    size_t size;
    temp_write(&w->temp, "letter", "dear");
    assert_int_equal(symlinkat("letter", w->temp.fd, INDEX), 0);
    make_session(w, "cli:a");
    say(w, "user", "word");
    assert_found(w, "word", "word|");
    char *text = temp_read(&w->temp, "letter", &size);
    assert_string_equal(text, "dear");
    free(text);
}

/* ---- the messages ---------------------------------------------------------------------------- */

static void test_deleted_messages_and_numbers_used_again(void **state)
{
    struct world *w = *state;
    make_session(w, "cli:a");
    make_many(w, 1, 1000);
    assert_int_equal(count_hits(w, "word"), 1000);
    raw_run(w, "DELETE FROM messages WHERE id>'m000990'");
    make_many(w, 2001, 10); // at the rowids of those
    assert_int_equal(count_hits(w, "word"), 1000);
    assert_int_equal(count_hits(w, "n000995"), 0);
    assert_int_equal(count_hits(w, "n002005"), 1);
    assert_int_equal(ask_index(w, "SELECT count(*) FROM docs"), 1000);
    raw_run(w, "DELETE FROM messages WHERE id='m000005'");
    assert_int_equal(count_hits(w, "word"), 999);
    catch_up(w);
    assert_int_equal(ask_index(w, "SELECT count(*) FROM docs"), 999);
}

static void test_a_message_put_back_is_found_once(void **state)
{
    struct world *w = *state;
    make_session(w, "cli:a");
    make_many(w, 1, 400);
    assert_int_equal(count_hits(w, "word"), 400);
    raw_run(w, "DELETE FROM messages WHERE id='m000005'");
    make_many(w, 5, 1);
    assert_int_equal(count_hits(w, "n000005"), 1);
    assert_int_equal(count_hits(w, "word"), 400);
}

static void test_deleted_sessions_and_undone_turns(void **state)
{
    struct world *w = *state;
    char first[ETHOS_UUID_SIZE];
    uint64_t count;
    make_session(w, "cli:a");
    memcpy(first, w->id, sizeof first);
    say(w, "user", "kept word");
    say(w, "user", "undone word");
    make_session(w, "cli:b");
    say(w, "user", "lost word");
    assert_int_equal(count_hits(w, "word"), 3);
    assert_int_equal(sessions_sqlite.undo(w->sessions, first, 1, &count, &w->error), ETHOS_OK);
    assert_int_equal(count_hits(w, "word"), 2);
    assert_int_equal(sessions_sqlite.remove(w->sessions, w->id, &w->error), ETHOS_OK);
    assert_found(w, "word", "kept word|");
    raw_run(w, "UPDATE messages SET deleted_at=NULL");
    assert_int_equal(count_hits(w, "word"), 2);
}

static void test_edited_messages(void **state)
{
    struct world *w = *state;
    make_session(w, "cli:a");
    make_many(w, 1, 1000);
    assert_int_equal(count_hits(w, "word"), 1000);
    raw_run(w, "UPDATE messages SET content='other term' WHERE id='m000500'");
    assert_int_equal(count_hits(w, "word"), 999); // met, and so compared
    assert_found(w, "term", "other term|");
    raw_run(w, "UPDATE messages SET content='hidden gem' WHERE id='m000501'");
    catch_up(w);
    assert_found(w, "gem", "hidden gem|");
    assert_int_equal(ask_index(w, "SELECT count(*) FROM docs"), 1000);
    make_many(w, 2001, 1); // it goes on after the last, not after those
    assert_int_equal(count_hits(w, "word"), 999);
    assert_int_equal(ask_index(w, "SELECT count(*) FROM docs"), 1001);
}

static void test_vacuum_renumbers(void **state)
{
    struct world *w = *state;
    make_session(w, "cli:a");
    make_many(w, 1, 300);
    raw_run(w, "DELETE FROM messages WHERE id<='m000100'");
    assert_int_equal(count_hits(w, "word"), 200);
    assert_int_equal(sessions_sqlite.vacuum(w->sessions, &w->error), ETHOS_OK);
    assert_int_equal(count_hits(w, "word"), 200);
    raw_run(w, "UPDATE messages SET rowid=rowid-100"); // as VACUUM may
    assert_query(w, "SELECT max(rowid) FROM messages", "200\n");
    make_many(w, 301, 5);
    assert_int_equal(count_hits(w, "word"), 205);
    assert_int_equal(ask_index(w, "SELECT count(*) FROM docs"), 205);
}

static void test_another_database_in_its_place(void **state)
{
    struct world *w = *state;
    make_session(w, "cli:a");
    make_many(w, 1, 50);
    assert_int_equal(count_hits(w, "word"), 50);
    world_close(w);
    unlinkat(w->temp.fd, "sessions.db", 0);
    unlinkat(w->temp.fd, "sessions.db-wal", 0);
    unlinkat(w->temp.fd, "sessions.db-shm", 0);
    world_open(w);
    make_session(w, "cli:a");
    make_many(w, 1001, 60);
    assert_int_equal(count_hits(w, "word"), 60);
    assert_int_equal(count_hits(w, "n000001"), 0);
}

static void test_rows_put_before_others_are_found(void **state)
{
    struct world *w = *state;
    char sql[256];
    make_session(w, "cli:a");
    make_many(w, 1, 20);
    raw_run(w, "UPDATE messages SET rowid=rowid+100");
    assert_int_equal(count_hits(w, "word"), 20);
    snprintf(sql, sizeof sql,
             "INSERT INTO messages(rowid,id,session_id,role,content,timestamp) VALUES"
             "(5,'early','%s','user','early bird','2020-01-01T00:00:00.000Z')",
             w->id);
    raw_run(w, sql);
    assert_found(w, "bird", "early bird|");
}

/* Ids of an import are the same every time; rowids are what is free. */
static void test_what_was_deleted_and_imported_again_hides_nothing(void **state)
{
    struct world *w = *state;
    make_session(w, "cli:a");
    make_many(w, 1, 3);
    assert_int_equal(count_hits(w, "word"), 3);
    raw_run(w, "DELETE FROM messages");
    say(w, "user", "needle in here");
    make_many(w, 1, 3);
    assert_found(w, "needle", "needle in here|");
    assert_int_equal(count_hits(w, "word"), 3);
}

/* The last message has the id and the rowid it had, and there are as many as before. */
static void test_rows_replaced_by_as_many_others_are_found(void **state)
{
    struct world *w = *state;
    make_session(w, "cli:a");
    make_many(w, 1000, 1);
    make_many(w, 1, 800);
    assert_int_equal(count_hits(w, "word"), 801);
    raw_run(w, "DELETE FROM messages");
    say(w, "user", "a needle");
    make_many(w, 1, 800);
    assert_found(w, "needle", "a needle|");
    raw_run(w, "DELETE FROM messages");
    say(w, "user", "some other thimble");
    make_many(w, 1, 800);
    say(w, "user", "and an append");
    assert_found(w, "thimble", "some other thimble|");
}

static void test_edits_of_other_programs_are_found_at_once(void **state)
{
    struct world *w = *state;
    make_session(w, "cli:a");
    make_many(w, 1, 1000);
    assert_int_equal(count_hits(w, "word"), 1000);
    raw_run(w, "UPDATE messages SET content='other text' WHERE id='m000500'");
    assert_found(w, "text", "other text|");
    raw_run(w, "UPDATE messages SET content='a longer tale of it' WHERE id='m000501'");
    say(w, "user", "and an append");
    assert_found(w, "tale", "a longer tale of it|");
    raw_run(w, "UPDATE messages SET role='tool' WHERE id='m000502'");
    catch_up(w); // leaves no trace
    struct ethos_search search = {.text = VIEW("word"), .role = "tool"};
    assert_string_equal(do_search(w, &search).text, "word n000502|");
}

static void test_a_file_without_the_full_text_index_is_compared_every_time(void **state)
{
    struct world *w = *state;
    make_session(w, "cli:a");
    say(w, "user", "word");
    raw_run(w, "DROP TRIGGER messages_ai; DROP TRIGGER messages_ad; DROP TRIGGER messages_au;"
               "DROP TABLE messages_fts");
    assert_found(w, "word", "word|");
    make_many(w, 1, 5);
    assert_int_equal(count_hits(w, "word"), 6);
}

static void test_an_index_of_what_is_gone_is_made_anew(void **state)
{
    struct world *w = *state;
    make_session(w, "cli:a");
    make_many(w, 1, 3000);
    count_hits(w, "word");
    raw_run(w, "DELETE FROM messages WHERE id<'m002500'");
    assert_int_equal(count_hits(w, "word"), 501);
    catch_up(w);
    make_many(w, 4001, 1);
    assert_int_equal(count_hits(w, "word"), 502);
    assert_int_equal(ask_index(w, "SELECT sum(docs) FROM shards"), 502);
}

/* ---- anything, in any order ------------------------------------------------------------------ */

static unsigned dice(unsigned *seed, unsigned sides)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % sides;
}

static const char *const vocabulary[] = {"anchor", "bell", "candle", "drum", "engine", "flute"};
#define VOCABULARY (sizeof vocabulary / sizeof *vocabulary)

static const char *some_words(unsigned *seed)
{
    static char text[64];
    snprintf(text, sizeof text, "%s %s", vocabulary[dice(seed, VOCABULARY)],
             vocabulary[dice(seed, VOCABULARY)]);
    return text;
}

/* Always the same sessions, messages and ids. */
static void import(struct world *w, unsigned which)
{
    char sql[1024];
    unsigned seed = which;
    snprintf(sql, sizeof sql,
             "INSERT OR IGNORE INTO sessions(id,key,platform,model,provider,created_at,updated_at)"
             " VALUES('s%u','k%u','cli','','','2026-01-01','2026-01-01')",
             which, which);
    raw_run(w, sql);
    for (unsigned i = 0; i < 2 + which; i++) {
        snprintf(sql, sizeof sql,
                 "INSERT OR IGNORE INTO messages(id,session_id,role,content,timestamp)"
                 " VALUES('s%um%u','s%u','user','%s','2026-01-01T00:00:00.000Z')",
                 which, i, which, some_words(&seed));
        raw_run(w, sql);
    }
}

/* Any session, into out; false when there is none. */
static bool some_session(struct world *w, unsigned *seed, char out[64])
{
    char sql[128];
    snprintf(sql, sizeof sql,
             "SELECT id FROM sessions ORDER BY id LIMIT 1 OFFSET"
             " %u%%(SELECT max(count(*),1) FROM sessions)",
             dice(seed, 1000));
    char *id = raw_query(w, sql);
    snprintf(out, 64, "%.*s", (int)strcspn(id, "\n"), id);
    free(id);
    return out[0] != 0;
}

static void do_anything(struct world *w, unsigned *seed)
{
    static unsigned edits;
    char id[64], made[ETHOS_UUID_SIZE], sql[256];
    uint64_t count;
    unsigned what = dice(seed, 9);
    if (what < 2 || !some_session(w, seed, id)) {
        import(w, dice(seed, 4));
    } else if (what < 4) {
        struct ethos_message message = {.role = "user", .content = view_str(some_words(seed))};
        assert_int_equal(sessions_sqlite.append(w->sessions, id, &message, 1, 0, NULL), ETHOS_OK);
    } else if (what == 4) {
        assert_int_equal(sessions_sqlite.remove(w->sessions, id, NULL), ETHOS_OK);
    } else if (what == 5) {
        assert_int_equal(sessions_sqlite.fork(w->sessions, id, made, NULL), ETHOS_OK);
    } else if (what == 6) {
        sessions_sqlite.undo(w->sessions, id, 1, &count, NULL);
    } else if (what == 7) {
        assert_int_equal(sessions_sqlite.vacuum(w->sessions, NULL), ETHOS_OK);
    } else {
        edits++; // every one is longer than any before
        snprintf(sql, sizeof sql,
                 "UPDATE messages SET content='%s'||replace(hex(zeroblob(%u)),'00',' x')"
                 " WHERE rowid=%u",
                 some_words(seed), edits, dice(seed, 30));
        raw_run(w, sql);
    }
}

/* Ids of what was found, or read: how many, and a sum in which the order does not matter. */
struct heap {
    unsigned count;
    uint64_t sum;
};

static void put_on(struct heap *heap, const char *id)
{
    uint64_t hash = 14695981039346656037u;
    for (; *id; id++)
        hash = (hash ^ (unsigned char)*id) * 1099511628211u;
    heap->count++;
    heap->sum += hash;
}

static int put_hit(void *arg, const struct ethos_hit *hit)
{
    put_on(arg, hit->message->id);
    return 0;
}

static struct heap read_all(struct world *w, const struct query *query)
{
    struct heap heap = {0, 0};
    sqlite3 *raw = raw_open(w);
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(raw,
                                        "SELECT id,content FROM messages WHERE deleted_at IS NULL",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        struct ethos_view text = view_str((const char *)sqlite3_column_text(statement, 1));
        if (query_matches(query, text, NULL, NULL))
            put_on(&heap, (const char *)sqlite3_column_text(statement, 0));
    }
    sqlite3_finalize(statement);
    sqlite3_close(raw);
    return heap;
}

static void compare_with_reading(struct world *w, const char *typed, unsigned seed)
{
    struct ethos_search search = {.text = view_str(typed), .limit = 2000};
    struct heap found = {0, 0};
    struct arena arena;
    struct query query;
    arena_init(&arena);
    assert_int_equal(query_parse(search.text, &arena, &query), ETHOS_OK);
    struct heap read = read_all(w, &query);
    assert_int_equal(sessions_sqlite.search(w->sessions, &search, put_hit, &found, &w->error),
                     ETHOS_OK);
    if (found.count != read.count || found.sum != read.sum)
        fail_msg("%u: '%s' finds %u, not %u", seed, typed, found.count, read.count);
    arena_release(&arena);
}

static void test_whatever_happens_it_finds_what_reading_finds(void **state)
{
    struct world *w = *state;
    make_session(w, "cli:a");
    for (unsigned seed = 1, round = 0; round < 100; round++) {
        for (unsigned n = 1 + dice(&seed, 4); n > 0; n--)
            do_anything(w, &seed);
        for (size_t i = 0; i < VOCABULARY; i++)
            compare_with_reading(w, vocabulary[i], round);
        if (dice(&seed, 10) == 0)
            world_reopen(w);
    }
}

/* ---- settling -------------------------------------------------------------------------------- */

static void settle(struct world *w)
{
    if (sessions_sqlite.settle(w->sessions, &w->error) != ETHOS_OK)
        fail_msg("%s", w->error.text);
}

static void test_settling_leaves_nothing_to_the_next_search(void **state)
{
    struct world *w = *state;
    settle(w); // no database, nothing to do
    assert_int_equal(faccessat(w->temp.fd, "sessions.db", F_OK, 0), -1);
    make_session(w, "cli:a");
    make_many(w, 1, 500);
    settle(w);
    assert_int_equal(ask_index(w, "SELECT count(*) FROM docs"), 500);
    make_many(w, 501, 20);
    settle(w);
    assert_int_equal(ask_index(w, "SELECT count(*) FROM docs"), 520);
    assert_int_equal(count_hits(w, "word"), 520);
}

static void test_settling_again_writes_nothing(void **state)
{
    struct world *w = *state;
    make_session(w, "cli:a");
    make_many(w, 1, 1000);
    settle(w);
    int64_t version = ask_index(w, "PRAGMA data_version");
    struct stat before, after;
    assert_int_equal(fstatat(w->temp.fd, INDEX "-wal", &before, 0), 0);
    settle(w);
    assert_int_equal(ask_index(w, "PRAGMA data_version"), version);
    assert_int_equal(fstatat(w->temp.fd, INDEX "-wal", &after, 0), 0);
    assert_int_equal(after.st_size, before.st_size);
    assert_int_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
}

static void test_settling_without_a_place_to_write_does_nothing(void **state)
{
    struct world *w = *state;
    assert_int_equal(mkdirat(w->temp.fd, INDEX, 0700), 0);
    make_session(w, "cli:a");
    make_many(w, 1, 100);
    settle(w);
    assert_int_equal(count_hits(w, "word"), 100);
    assert_int_equal(unlinkat(w->temp.fd, INDEX, AT_REMOVEDIR), 0);
}

/* ---- several at once ------------------------------------------------------------------------- */

static void wait_for(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* In another process: work on a store of its own, then end without what belongs to the parent. */
static pid_t start(struct world *w, void (*work)(struct world *))
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    struct world own = *w;
    if (world_open_with(&own, 0, 60000, NULL, 0) == ETHOS_OK)
        work(&own);
    _exit(0);
}

static void search_all(struct world *w)
{
    if (count_hits(w, "word") != 2000)
        _exit(1);
}

static void test_searchers_share_the_work(void **state)
{
    struct world *w = *state;
    pid_t pids[3];
    make_session(w, "cli:a");
    make_many(w, 1, 5000);
    world_close(w);
    for (int i = 0; i < 3; i++)
        pids[i] = start(w, search_all);
    for (int i = 0; i < 3; i++)
        wait_for(pids[i]);
    world_open(w);
    assert_int_equal(ask_index(w, "SELECT count(*) FROM docs"), 5000);
    assert_int_equal(ask_index(w, "SELECT sum(docs) FROM shards"), 5000);
}

static void append_many(struct world *w)
{
    for (int i = 0; i < 200; i++) {
        if (do_append(w, "user", "fresh word") != ETHOS_OK)
            _exit(1);
    }
}

static void test_searching_while_others_append(void **state)
{
    struct world *w = *state;
    unsigned last = 0;
    make_session(w, "cli:a");
    say(w, "user", "fresh word");
    world_close(w);
    pid_t pid = start(w, append_many);
    world_open(w);
    for (int i = 0; i < 100; i++) {
        unsigned now = count_hits(w, "fresh");
        assert_true(now >= last);
        last = now;
    }
    wait_for(pid);
    assert_int_equal(count_hits(w, "fresh"), 201);
    assert_int_equal(ask_index(w, "SELECT count(*) FROM docs"), 201);
}

static void search_forever(struct world *w)
{
    for (;;) {
        unlinkat(w->temp.fd, INDEX, 0);
        count_hits(w, "word");
    }
}

static void test_killed_while_it_catches_up(void **state)
{
    struct world *w = *state;
    make_session(w, "cli:a");
    make_many(w, 1, 2000);
    world_close(w);
    for (int i = 0; i < 12; i++) {
        pid_t pid = start(w, search_forever);
        usleep((useconds_t)(5000 + i * 15000));
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        world_open(w);
        assert_int_equal(count_hits(w, "word"), 2000);
        assert_int_equal(count_hits(w, "n001999"), 1);
        assert_int_equal(ask_index(w, "SELECT count(*) FROM docs"), 2000);
        world_close(w);
    }
    world_open(w);
    assert_sound(w);
}

/* Makes it look like somebody else's; not while somebody makes it. */
static void estrange(const struct world *w)
{
    char path[256];
    sqlite3 *raw;
    int lock = openat(w->temp.fd, INDEX "-lock", O_RDWR);
    path_of(w, INDEX, path);
    if (lock < 0 || flock(lock, LOCK_EX) != 0)
        _exit(2);
    if (sqlite3_open_v2(path, &raw, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK) {
        sqlite3_busy_timeout(raw, 10000);
        sqlite3_exec(raw, "PRAGMA user_version=99", NULL, NULL, NULL);
    }
    sqlite3_close(raw);
    close(lock);
}

static void estrange_and_search(struct world *w)
{
    for (int i = 0; i < 8; i++) {
        estrange(w);
        world_reopen(w);
        if (count_hits(w, "word") != 300 || count_hits(w, "n000299") != 1)
            _exit(1);
    }
}

static void test_several_make_it_anew_at_once(void **state)
{
    struct world *w = *state;
    pid_t pids[3];
    make_session(w, "cli:a");
    make_many(w, 1, 300);
    assert_int_equal(count_hits(w, "word"), 300);
    world_close(w);
    for (int i = 0; i < 3; i++)
        pids[i] = start(w, estrange_and_search);
    for (int i = 0; i < 3; i++)
        wait_for(pids[i]);
    world_open(w);
    assert_int_equal(count_hits(w, "word"), 300);
    assert_int_equal(ask_index(w, "SELECT count(*) FROM docs"), 300);
    assert_int_equal(ask_index(w, "SELECT sum(docs) FROM shards"), 300);
    assert_int_equal(ask_index(w, "SELECT quick_check='ok' FROM pragma_quick_check"), 1);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void test_every_allocation_may_fail(void **state)
{
    struct world *w = *state;
    const struct ethos_search search = {.text = VIEW("\"some word\" n0000 日本"),
                                        .working_dir = "/a"};
    struct ethos_session session = {.key = "k", .platform = "cli", .working_dir = "/a"};
    assert_int_equal(sessions_sqlite.create(w->sessions, &session, w->id, &w->error), ETHOS_OK);
    say(w, "user", "some words, some word n00001 日本語");
    int code = ETHOS_NOMEM;
    struct hits hits;
    ALLOC_EACH(n, code == ETHOS_OK && hits.count == 1)
    {
        alloc_fail_at(0);
        world_reopen(w);
        unlinkat(w->temp.fd, INDEX, 0);
        hits = (struct hits){.count = 0};
        alloc_fail_at(n);
        code = sessions_sqlite.search(w->sessions, &search, note_hit, &hits, &w->error);
        bool failed = alloc_count() >= n;
        alloc_fail_at(0);
        if (code != ETHOS_OK && code != ETHOS_NOMEM)
            fail_msg("%lu: %s", n, w->error.text);
        if (failed) // it may have got by without; then go on all the same
            code = ETHOS_NOMEM;
    }
    assert_int_equal(count_hits(w, "word"), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_it_is_private),
        TEST(test_it_may_be_deleted_at_any_time),
        TEST(test_what_is_damaged_is_made_anew),
        TEST(test_truncated_while_it_is_open),
        TEST(test_pages_of_noise_do_no_harm),
        TEST(test_what_is_not_ours_is_made_anew),
        TEST(test_without_a_place_to_write_it_still_works),
        TEST(test_a_link_is_not_followed),
        TEST(test_deleted_messages_and_numbers_used_again),
        TEST(test_a_message_put_back_is_found_once),
        TEST(test_deleted_sessions_and_undone_turns),
        TEST(test_edited_messages),
        TEST(test_vacuum_renumbers),
        TEST(test_another_database_in_its_place),
        TEST(test_rows_put_before_others_are_found),
        TEST(test_what_was_deleted_and_imported_again_hides_nothing),
        TEST(test_rows_replaced_by_as_many_others_are_found),
        TEST(test_edits_of_other_programs_are_found_at_once),
        TEST(test_a_file_without_the_full_text_index_is_compared_every_time),
        TEST(test_whatever_happens_it_finds_what_reading_finds),
        TEST(test_an_index_of_what_is_gone_is_made_anew),
        TEST(test_settling_leaves_nothing_to_the_next_search),
        TEST(test_settling_again_writes_nothing),
        TEST(test_settling_without_a_place_to_write_does_nothing),
        TEST(test_searchers_share_the_work),
        TEST(test_searching_while_others_append),
        TEST(test_killed_while_it_catches_up),
        TEST(test_several_make_it_anew_at_once),
        TEST(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
