/*
 * The schema is that of the format, databases of others are taken as they are, and a file that is no
 * such database is refused with a reason.
 */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "session/database.h"
#include "world.h"

/* ---- golden ---------------------------------------------------------------------------------- */

static json_t *load_golden(void)
{
    json_error_t error;
    json_t *golden = json_load_file("tests/golden/sessions-schema.json", 0, &error);
    if (!golden)
        fail_msg("%s", error.text);
    return golden;
}

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

static bool is_true(const json_t *object, const char *name)
{
    return json_is_true(json_object_get(object, name));
}

/* "name|type|not null|default|primary key" for each column, as PRAGMA table_info tells it. */
static void check_columns(struct world *w, const char *table, const json_t *columns)
{
    char sql[160], *expected = NULL;
    size_t size, i;
    const json_t *column;
    FILE *out = open_memstream(&expected, &size);
    json_array_foreach (columns, i, column) {
        const char *value = text_of(column, "default");
        fprintf(out, "%s|%s|%d|%s|%d\n", text_of(column, "name"), text_of(column, "type"),
                is_true(column, "not_null"), value ? value : "NULL",
                is_true(column, "primary_key"));
    }
    fclose(out);
    snprintf(sql, sizeof sql,
             "SELECT name,type,\"notnull\",dflt_value,pk FROM"
             " pragma_table_info('%s')",
             table);
    assert_query(w, sql, expected);
    free(expected);
}

static void check_table(struct world *w, const char *name, const json_t *table)
{
    char sql[200], expected[200];
    size_t i;
    const json_t *key;
    check_columns(w, name, json_object_get(table, "columns"));
    snprintf(sql, sizeof sql, "SELECT strict FROM pragma_table_list WHERE name='%s'", name);
    assert_query(w, sql, "1\n");
    snprintf(sql, sizeof sql,
             "SELECT \"from\",\"table\",\"to\",on_delete FROM pragma_foreign_key_list('%s')", name);
    assert_true(is_true(table, "strict"));
    expected[0] = 0;
    json_array_foreach (json_object_get(table, "foreign_keys"), i, key)
        snprintf(expected, sizeof expected, "%s|%s|%s|%s\n", text_of(key, "from"),
                 text_of(key, "table"), text_of(key, "to"), text_of(key, "on_delete"));
    assert_query(w, sql, expected);
}

static void check_index(struct world *w, const json_t *index)
{
    char sql[200], expected[200] = "";
    size_t i;
    const json_t *column;
    snprintf(sql, sizeof sql, "SELECT name FROM pragma_index_info('%s')", text_of(index, "name"));
    json_array_foreach (json_object_get(index, "columns"), i, column) {
        size_t used = strlen(expected);
        snprintf(expected + used, sizeof expected - used, "%s\n", json_string_value(column));
    }
    assert_query(w, sql, expected);
}

static void check_trigger(struct world *w, const json_t *trigger)
{
    char sql[300];
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM sqlite_master WHERE type='trigger' AND tbl_name='messages'"
             " AND name='%s' AND instr(lower(sql),'%s')",
             text_of(trigger, "name"), text_of(trigger, "event"));
    assert_query(w, sql, "1\n");
}

static void check_fts(struct world *w, const json_t *fts)
{
    char sql[300];
    const char *name;
    json_t *value;
    snprintf(sql, sizeof sql, "SELECT name FROM pragma_table_info('%s')", text_of(fts, "name"));
    assert_query(w, sql, "content\n");
    json_object_foreach (json_object_get(fts, "options"), name, value) {
        snprintf(sql, sizeof sql,
                 "SELECT instr(sql,'USING fts5(')>0 AND instr(sql,'%s=''%s''')>0 FROM sqlite_master"
                 " WHERE name='%s'",
                 name, json_string_value(value), text_of(fts, "name"));
        assert_query(w, sql, "1\n");
    }
}

static void check_schema(struct world *w)
{
    json_t *golden = load_golden(), *value;
    const char *name;
    size_t i;
    json_object_foreach (json_object_get(golden, "tables"), name, value)
        check_table(w, name, value);
    json_array_foreach (json_object_get(golden, "indexes"), i, value)
        check_index(w, value);
    json_array_foreach (json_object_get(golden, "triggers"), i, value)
        check_trigger(w, value);
    check_fts(w, json_object_get(golden, "fts"));
    assert_query(w,
                 "SELECT name FROM pragma_index_list('sessions') WHERE \"unique\" AND origin='u'",
                 "sqlite_autoindex_sessions_2\n");
    assert_query(w, "PRAGMA journal_mode", "wal\n");
    assert_query(w, "PRAGMA user_version", "1\n");
    json_decref(golden);
}

static void a_new_database_has_the_golden_schema(void **state)
{
    struct world *w = *state;
    make_session(w, "k");
    check_schema(w);
    assert_query(w,
                 "SELECT group_concat(name) FROM (SELECT name FROM sqlite_master WHERE"
                 " type='table' AND name NOT LIKE 'messages_fts%' ORDER BY name)",
                 "compressions,messages,sessions\n");
}

/* ---- databases of others --------------------------------------------------------------------- */

static bool is_added(const char *name)
{
    static const char *const added[] = {
        "turn_count", "last_compaction_turn", "pinned", "trace_id", "content_blocks",
        "deleted_at", "kept_from_message_id"};
    for (size_t i = 0; i < sizeof added / sizeof *added; i++) {
        if (strcmp(added[i], name) == 0)
            return true;
    }
    return false;
}

static void write_table(FILE *out, const char *name, const json_t *table, bool old)
{
    const json_t *column;
    size_t i;
    fprintf(out, "create table %s (", name);
    json_array_foreach (json_object_get(table, "columns"), i, column) {
        const char *value = text_of(column, "default"), *called = text_of(column, "name");
        if (old && is_added(called))
            continue;
        fprintf(out, "%s\n  %s %s", i ? "," : "", called, text_of(column, "type"));
        fputs(is_true(column, "primary_key") ? " primary key"
              : is_true(column, "not_null")  ? " not null"
                                             : "",
              out);
        fputs(strcmp(called, "key") == 0 ? " unique" : "", out);
        if (strcmp(called, "session_id") == 0)
            fputs(" references sessions (id) on delete cascade", out);
        if (value)
            fprintf(out, " default %s", value);
    }
    fputs(old ? ",\n  extra TEXT\n) strict;\n" : "\n) strict;\n", out);
}

/* A database as another program of the family makes it, in its own way of writing SQL. */
static void make_foreign(struct world *w, bool old)
{
    json_t *golden = load_golden(), *table;
    const char *name;
    char *sql = NULL;
    size_t size;
    FILE *out = open_memstream(&sql, &size);
    fputs("pragma journal_mode = wal; pragma user_version = 1; begin;\n", out);
    json_object_foreach (json_object_get(golden, "tables"), name, table)
        write_table(out, name, table, old);
    fputs("create index idx_sessions_key on sessions (key);\n"
          "create index idx_sessions_platform on sessions (platform);\n"
          "create index idx_messages_session on messages (session_id, timestamp);\n"
          "create index idx_compressions_session on compressions (session_id, created_at);\n"
          "create virtual table messages_fts using fts5 (content, content='messages',"
          " content_rowid='rowid', tokenize='porter ascii');\n"
          "create trigger messages_ai after insert on messages begin insert into"
          " messages_fts (rowid, content) values (new.rowid, new.content); end;\n"
          "create trigger messages_ad after delete on messages begin insert into messages_fts"
          " (messages_fts, rowid, content) values ('delete', old.rowid, old.content); end;\n"
          "create trigger messages_au after update of content on messages begin insert into"
          " messages_fts (messages_fts, rowid, content) values ('delete', old.rowid, old.content);"
          " insert into messages_fts (rowid, content) values (new.rowid, new.content); end;\n"
          "create table api_keys (prefix TEXT primary key, hash TEXT) strict;\n"
          "insert into api_keys values ('sk', 'x');\n"
          "insert into sessions (id, key, platform, model, provider, created_at, updated_at)"
          " values ('their-session', 'cli:app', 'cli', 'm', 'p',"
          " '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z');\n"
          "insert into messages (id, session_id, role, content, timestamp) values ('their-message',"
          " 'their-session', 'user', 'hello there', '2026-01-01T00:00:00.000Z');\n"
          "commit;",
          out);
    fclose(out);
    raw_run(w, sql);
    free(sql);
    json_decref(golden);
}

static void no_finding(void *arg, const struct ethos_finding *finding)
{
    (void)arg;
    fail_msg("%s: %s", finding->subject, finding->problem);
}

static int note_id(void *arg, const struct ethos_session *session)
{
    struct world *w = arg;
    snprintf(w->id, sizeof w->id, "%s", session->id);
    return 0;
}

static void a_database_of_others_is_used_and_its_schema_stays(void **state)
{
    struct world *w = *state;
    struct ethos_session_query query = {0};
    char cursor[ETHOS_CURSOR_SIZE], copy[ETHOS_UUID_SIZE];
    const char *schema = "SELECT type,name,tbl_name,sql FROM sqlite_master ORDER BY rowid";
    make_foreign(w, false);
    char *before = raw_query(w, schema);
    assert_int_equal(sessions_sqlite.list(w->sessions, &query, note_id, w, cursor, &w->error),
                     ETHOS_OK);
    assert_string_equal(w->id, "their-session");
    say(w, "assistant", "good morning");
    assert_said(w, w->id, 0, "hello there|good morning|");
    make_session(w, "ours");
    assert_int_equal(sessions_sqlite.fork(w->sessions, "their-session", copy, &w->error), ETHOS_OK);
    world_reopen(w);
    say(w, "user", "x");
    char *after = raw_query(w, schema);
    assert_string_equal(before, after);
    free(before);
    free(after);
    assert_query(w, "PRAGMA user_version", "1\n");
    assert_query(w, "SELECT * FROM api_keys", "sk|x\n");
    assert_query(w, "SELECT count(*) FROM messages_fts WHERE messages_fts MATCH 'mornings'", "2\n");
    assert_sound(w);
}

static void columns_that_came_later_are_added_and_others_stay(void **state)
{
    struct world *w = *state;
    uint64_t count;
    make_foreign(w, true);
    raw_run(w, "UPDATE messages SET extra='theirs'; UPDATE sessions SET extra='too'");
    snprintf(w->id, sizeof w->id, "their-session");
    assert_said(w, w->id, 0, "hello there|");
    assert_int_equal(sessions_sqlite.undo(w->sessions, w->id, 1, &count, &w->error), ETHOS_OK);
    assert_int_equal(count, 1);
    assert_query(w, "SELECT extra,turn_count,last_compaction_turn,pinned FROM sessions",
                 "too|0|0|0\n");
    assert_query(w, "SELECT extra,trace_id,content_blocks,deleted_at IS NULL FROM messages",
                 "theirs|NULL|NULL|0\n");
    assert_query(w, "SELECT count(*) FROM pragma_table_info('compressions')", "13\n");
    assert_query(w, "PRAGMA user_version", "1\n");
    assert_sound(w);
}

static void who_reads_an_older_database_changes_nothing(void **state)
{
    struct world *w = *state;
    struct ethos_session_query query = {0};
    char cursor[ETHOS_CURSOR_SIZE];
    uint64_t count = 0;
    size_t size;
    make_foreign(w, true);
    raw_run(w, "PRAGMA wal_checkpoint(TRUNCATE)");
    char *before = temp_read(&w->temp, "sessions.db", &size);
    assert_int_equal(sessions_sqlite.list(w->sessions, &query, note_id, w, cursor, &w->error),
                     ETHOS_OK);
    assert_string_equal(w->id, "their-session");
    assert_said(w, w->id, 0, "hello there|");
    assert_said(w, w->id, 1, "hello there|");
    assert_int_equal(sessions_sqlite.prune(w->sessions, "2026-06-01", 1, &count, &w->error),
                     ETHOS_OK);
    assert_int_equal(count, 1);
    assert_int_equal(sessions_sqlite.check(w->sessions, 0, no_finding, NULL, &w->error), ETHOS_OK);
    assert_query(w, "SELECT count(*) FROM pragma_table_info('sessions') WHERE name='pinned'",
                 "0\n");
    assert_query(w, "PRAGMA wal_checkpoint(TRUNCATE)", "0|0|0\n");
    char *after = temp_read(&w->temp, "sessions.db", NULL);
    assert_memory_equal(before, after, size);
    free(before);
    free(after);
    say(w, "assistant", "more"); // the same connection
    assert_said(w, w->id, 0, "hello there|more|");
    assert_query(w, "SELECT pinned,turn_count FROM sessions", "0|0\n");
    assert_sound(w);
}

static void missing_tables_are_made_and_the_index_is_filled(void **state)
{
    struct world *w = *state;
    make_foreign(w, false);
    raw_run(w, "DROP TRIGGER messages_ai; DROP TABLE messages_fts; DROP TABLE compressions");
    snprintf(w->id, sizeof w->id, "their-session");
    say(w, "assistant", "more");
    assert_query(w, "SELECT count(*) FROM messages_fts WHERE messages_fts MATCH 'hello OR more'",
                 "2\n");
    check_schema(w);
    assert_sound(w);
}

static void an_empty_file_becomes_a_database(void **state)
{
    struct world *w = *state;
    struct ethos_session_query query = {0};
    char cursor[ETHOS_CURSOR_SIZE];
    temp_write(&w->temp, "sessions.db", "");
    assert_int_equal(
        sessions_sqlite.list(w->sessions, &query, ignore_session, NULL, cursor, &w->error),
        ETHOS_OK);
    assert_query(w, "SELECT count(*) FROM sqlite_master", "0\n"); // not by looking
    make_session(w, "k");
    check_schema(w);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void assert_refused(struct world *w, int code, const char *reason)
{
    struct ethos_session_query query = {0};
    char cursor[ETHOS_CURSOR_SIZE];
    assert_int_equal(do_create(w, "k"), code);
    if (!strstr(w->error.text, reason))
        fail_msg("\"%s\" says nothing of \"%s\"", w->error.text, reason);
    assert_int_equal(
        sessions_sqlite.list(w->sessions, &query, ignore_session, NULL, cursor, &w->error), code);
}

static void a_newer_version_is_refused_and_left_alone(void **state)
{
    struct world *w = *state;
    make_foreign(w, true);
    raw_run(w, "PRAGMA user_version=2");
    assert_refused(w, ETHOS_UNSUPPORTED, "newer");
    assert_query(w, "PRAGMA user_version", "2\n");
    assert_query(w, "SELECT count(*) FROM pragma_table_info('sessions') WHERE name='pinned'",
                 "0\n");
    raw_run(w, "PRAGMA user_version=-1");
    assert_refused(w, ETHOS_UNSUPPORTED, "written by another program: schema -1");
}

static void garbage_is_no_database(void **state)
{
    struct world *w = *state;
    char garbage[8193];
    for (size_t i = 0; i < sizeof garbage - 1; i++)
        garbage[i] = (char)('A' + i * 7 % 23);
    garbage[sizeof garbage - 1] = 0;
    temp_write(&w->temp, "sessions.db", garbage);
    assert_refused(w, ETHOS_CORRUPT, "is not a database");
    char *after = temp_read(&w->temp, "sessions.db", NULL);
    assert_string_equal(after, garbage);
    free(after);
}

static void a_truncated_database_is_reported_as_damaged(void **state)
{
    struct world *w = *state;
    char path[128], text[3000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    make_session(w, "k");
    for (int i = 0; i < 40; i++)
        say(w, "user", text);
    assert_int_equal(sessions_sqlite.vacuum(w->sessions, &w->error), ETHOS_OK); // empties the log
    world_close(w);
    snprintf(path, sizeof path, "%s/sessions.db", w->temp.path);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    // Wherever it is cut, calls end with a result or a reason.
    for (off_t size = st.st_size - 4096; size > 0; size -= 4096 * 3 + 100) {
        assert_int_equal(truncate(path, size), 0);
        world_open(w);
        int code = sessions_sqlite.messages(w->sessions, w->id, 0, ignore_message, NULL, &w->error);
        assert_true(code == ETHOS_OK || code == ETHOS_CORRUPT || code == ETHOS_NOTFOUND);
        code = do_append(w, "user", "more");
        assert_true(code == ETHOS_OK || code == ETHOS_CORRUPT || code == ETHOS_NOTFOUND);
        world_close(w);
        char log[160];
        snprintf(log, sizeof log, "%s-wal", path);
        unlink(log);
        snprintf(log, sizeof log, "%s-shm", path);
        unlink(log);
    }
    world_open(w);
}

static void what_is_no_regular_file_is_refused(void **state)
{
    struct world *w = *state;
    char path[128], other[128];
    snprintf(path, sizeof path, "%s/sessions.db", w->temp.path);
    snprintf(other, sizeof other, "%s/other.db", w->temp.path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_refused(w, ETHOS_IO, "is a directory");
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused(w, ETHOS_IO, "not a regular file");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(other, path), 0);
    assert_refused(w, ETHOS_DENIED, "symbolic link");
    assert_int_equal(access(other, F_OK), -1);
    assert_int_equal(unlink(path), 0);
    make_session(w, "k");
}

static void a_root_behind_a_link_is_fine_and_one_that_is_a_file_is_not(void **state)
{
    struct world *w = *state;
    char path[128], real[128];
    struct ethos_sessions *other;
    struct ethos_setup setup = {.host = &w->host, .root = path};
    struct ethos_session session = {.key = "k", .platform = "cli"};
    snprintf(path, sizeof path, "%s/link/deep", w->temp.path);
    snprintf(real, sizeof real, "%s/real", w->temp.path);
    assert_int_equal(mkdir(real, 0700), 0);
    path[strlen(path) - 5] = 0;
    assert_int_equal(symlink(real, path), 0);
    path[strlen(path)] = '/';
    assert_int_equal(sessions_sqlite.open(&setup, &other, &w->error), ETHOS_OK);
    assert_int_equal(sessions_sqlite.create(other, &session, w->id, &w->error), ETHOS_OK);
    sessions_sqlite.close(other);
    temp_write(&w->temp, "file", "x");
    snprintf(path, sizeof path, "%s/file", w->temp.path);
    assert_int_equal(sessions_sqlite.open(&setup, &other, &w->error), ETHOS_OK);
    assert_int_not_equal(sessions_sqlite.create(other, &session, w->id, &w->error), ETHOS_OK);
    sessions_sqlite.close(other);
}

static void a_trigger_of_others_cannot_reach_outside(void **state)
{
    static const char *const bodies[] = {"SELECT load_extension('/tmp/x.so')",
                                         "SELECT fts3_tokenizer('simple', x'00')",
                                         "SELECT holds('a', 'b')", "SELECT new_id()"};
    struct world *w = *state;
    char sql[200];
    make_session(w, "k");
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        snprintf(sql, sizeof sql,
                 "DROP TRIGGER IF EXISTS evil; CREATE TRIGGER evil AFTER INSERT ON messages BEGIN"
                 " %s; END",
                 bodies[i]);
        raw_run(w, sql);
        int code = do_append(w, "user", "x");
        if (code != ETHOS_CORRUPT && code != ETHOS_DENIED)
            fail_msg("%s: %d", bodies[i], code);
        world_reopen(w);
        assert_int_not_equal(do_append(w, "user", "x"), ETHOS_OK);
        assert_said(w, w->id, 0, "");
    }
    raw_run(w, "DROP TRIGGER evil; CREATE TRIGGER harmless AFTER INSERT ON messages BEGIN"
               " UPDATE sessions SET metadata=upper('seen') WHERE id=new.session_id; END");
    say(w, "user", "x");
    assert_query(w, "SELECT metadata FROM sessions", "SEEN\n");
}

static void a_table_of_another_shape_is_an_error_not_a_crash(void **state)
{
    struct world *w = *state;
    raw_run(w, "CREATE TABLE sessions(a); CREATE VIEW messages AS SELECT 1 AS id");
    int code = do_create(w, "k");
    assert_int_equal(code, ETHOS_CORRUPT);
    assert_query(w, "SELECT count(*) FROM sqlite_master", "2\n"); // nothing was begun
}

static void a_database_that_can_only_be_read_is_read(void **state)
{
    struct world *w = *state;
    char path[128];
    uid_t before = geteuid();
    make_session(w, "k");
    say(w, "user", "a");
    world_close(w);
    snprintf(path, sizeof path, "%s/sessions.db", w->temp.path);
    assert_int_equal(chmod(path, 0400), 0);
    become_ordinary(w);
    world_open(w);
    assert_said(w, w->id, 0, "a|");
    assert_int_equal(do_append(w, "user", "b"), ETHOS_IO);
    assert_non_null(strstr(w->error.text, "can only be read"));
    assert_int_equal(seteuid(before), 0);
}

/* Closes it, takes a file away, and opens it where nothing can be written. */
static uid_t lock_away(struct world *w, const char *gone)
{
    uid_t before = geteuid();
    world_close(w);
    if (gone)
        assert_int_equal(unlinkat(w->temp.fd, gone, 0), 0);
    become_ordinary(w);
    assert_int_equal(fchmod(w->temp.fd, 0500), 0);
    world_open(w);
    return before;
}

static void let_in(struct world *w, uid_t before)
{
    assert_int_equal(fchmod(w->temp.fd, 0700), 0);
    assert_int_equal(seteuid(before), 0);
}

static void a_directory_that_can_only_be_read_is_read(void **state)
{
    struct world *w = *state;
    make_session(w, "k");
    say(w, "user", "a");
    world_close(w);
    assert_int_equal(unlinkat(w->temp.fd, "sessions.db-wal", 0), 0); // which is empty now
    world_open(w);
    uid_t before = lock_away(w, "sessions.db-shm");
    assert_said(w, w->id, 0, "a|");
    assert_int_equal(do_append(w, "user", "b"), ETHOS_IO);
    let_in(w, before);
}

static void a_log_that_cannot_be_read_is_no_missing_database(void **state)
{
    struct world *w = *state;
    struct ethos_session_query query = {0};
    char cursor[ETHOS_CURSOR_SIZE];
    make_session(w, "k");
    world_close(w);
    raw_run(w, "UPDATE sessions SET title='in the log'");
    world_open(w);
    uid_t before = lock_away(w, "sessions.db-shm");
    assert_int_equal(
        sessions_sqlite.list(w->sessions, &query, ignore_session, NULL, cursor, &w->error),
        ETHOS_IO);
    assert_non_null(strstr(w->error.text, "neither opened nor made"));
    assert_int_equal(do_append(w, "user", "b"), ETHOS_IO);
    let_in(w, before);
}

/* ---- the log --------------------------------------------------------------------------------- */

static off_t size_of(struct world *w, const char *name)
{
    struct stat st;
    return fstatat(w->temp.fd, name, &st, 0) == 0 ? st.st_size : -1;
}

static void who_wrote_leaves_the_messages_in_the_file_itself(void **state)
{
    struct world *w = *state;
    make_session(w, "k");
    say(w, "user", "a");
    assert_true(size_of(w, "sessions.db-wal") > 0);
    world_close(w);
    assert_int_equal(size_of(w, "sessions.db-wal"), 0);
    raw_run(w, "UPDATE sessions SET title='of others'");
    world_open(w);
    assert_said(w, w->id, 0, "a|");
    world_close(w);
    assert_true(size_of(w, "sessions.db-wal") > 0); // who only read leaves it alone
    world_open(w);
}

static void nobody_waits_to_fold_the_log(void **state)
{
    struct world *w = *state;
    make_session(w, "k");
    int fd = openat(w->temp.fd, "sessions.db-lock", O_RDWR);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    world_close(w);
    assert_true(size_of(w, "sessions.db-wal") > 0);
    close(fd);
    world_open(w);
    sqlite3 *raw = raw_open(w);
    assert_int_equal(sqlite3_exec(raw, "BEGIN;SELECT * FROM sessions", NULL, NULL, NULL),
                     SQLITE_OK);
    say(w, "user", "a");
    world_close(w); // a reader of the past keeps it from all of it, and does not keep it waiting
    assert_true(size_of(w, "sessions.db-wal") > 0);
    sqlite3_close(raw);
    world_open(w);
    assert_said(w, w->id, 0, "a|");
}

static void a_log_without_its_database_is_kept(void **state)
{
    struct world *w = *state;
    char path[128], away[128];
    snprintf(path, sizeof path, "%s/sessions.db", w->temp.path);
    snprintf(away, sizeof away, "%s/away.db", w->temp.path);
    make_session(w, "k");
    world_close(w);
    raw_run(w, "UPDATE sessions SET title='in the log'");
    world_open(w);
    off_t size = size_of(w, "sessions.db-wal");
    assert_int_equal(rename(path, away), 0);
    assert_refused(w, ETHOS_CORRUPT, "is missing, but there are messages in sessions.db-wal");
    assert_non_null(strstr(w->error.hint, "sessions.db, sessions.db-wal and sessions.db-shm"));
    temp_write(&w->temp, "sessions.db", "");
    assert_refused(w, ETHOS_CORRUPT, "is empty, but there are messages in sessions.db-wal");
    assert_int_equal(size_of(w, "sessions.db-wal"), size);
    assert_int_equal(rename(away, path), 0);
    assert_query(w, "SELECT title FROM sessions", "in the log\n");
}

static void another_who_writes_too_long_is_busy(void **state)
{
    struct world *w = *state;
    make_session(w, "k");
    struct world other = {.temp = w->temp, .host = w->host};
    memcpy(other.id, w->id, sizeof other.id);
    assert_int_equal(world_open_with(&other, 0, 50, NULL, 0), ETHOS_OK);
    int fd = openat(w->temp.fd, "sessions.db-lock", O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(do_append(&other, "user", "x"), ETHOS_BUSY);
    assert_non_null(strstr(other.error.text, "locked by"));
    assert_said(&other, w->id, 0, ""); // reading needs no lock
    close(fd);
    say(&other, "user", "x");
    world_close(&other);
}

static void a_full_disk_is_told_and_takes_nothing(void **state)
{
    struct world *w = *state;
    static char text[200000];
    memset(text, 'x', sizeof text - 1);
    make_session(w, "k");
    say(w, "user", "before");
    sqlite3 *connection = db_of(w->sessions)->connection;
    sqlite3_exec(connection, "PRAGMA max_page_count=1", NULL, NULL, NULL); // no more than there are
    assert_int_equal(do_append(w, "user", text), ETHOS_IO);
    assert_non_null(strstr(w->error.text, "no space left"));
    assert_said(w, w->id, 0, "before|");
    sqlite3_exec(connection, "PRAGMA max_page_count=1000000", NULL, NULL, NULL);
    say(w, "user", "after");
    assert_said(w, w->id, 0, "before|after|");
    assert_sound(w);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_new_database_has_the_golden_schema),
        TEST(a_database_of_others_is_used_and_its_schema_stays),
        TEST(columns_that_came_later_are_added_and_others_stay),
        TEST(who_reads_an_older_database_changes_nothing),
        TEST(missing_tables_are_made_and_the_index_is_filled),
        TEST(an_empty_file_becomes_a_database),
        TEST(a_newer_version_is_refused_and_left_alone),
        TEST(garbage_is_no_database),
        TEST(a_truncated_database_is_reported_as_damaged),
        TEST(what_is_no_regular_file_is_refused),
        TEST(a_root_behind_a_link_is_fine_and_one_that_is_a_file_is_not),
        TEST(a_trigger_of_others_cannot_reach_outside),
        TEST(a_table_of_another_shape_is_an_error_not_a_crash),
        TEST(a_database_that_can_only_be_read_is_read),
        TEST(a_directory_that_can_only_be_read_is_read),
        TEST(a_log_that_cannot_be_read_is_no_missing_database),
        TEST(who_wrote_leaves_the_messages_in_the_file_itself),
        TEST(nobody_waits_to_fold_the_log),
        TEST(a_log_without_its_database_is_kept),
        TEST(another_who_writes_too_long_is_busy),
        TEST(a_full_disk_is_told_and_takes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
