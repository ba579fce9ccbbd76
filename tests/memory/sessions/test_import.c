/*
 * test_import.c: transcripts of other programs become sessions: once, as they grow,
 * whatever they hold, whoever else does the same.
 */
#include "memory/sessions/import.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>

#include "../world.h"
#include "base/str.h"
#include "memory/sessions/export.h"

/* ---- transcripts ----------------------------------------------------------------------------- */

#define ID(n) "aaaaaaaa-0000-4000-8000-00000000000" n
#define LINE(type, n, message)                                                                     \
    "{\"type\":\"" type "\",\"uuid\":\"" ID(n) "\",\"sessionId\":\"s1\",\"cwd\":\"/src/app\","     \
                                               "\"timestamp\":\"2025-01-02T03:04:0" n              \
                                               ".000Z\",\"message\":" message "}\n"
#define ASK(n, text) LINE("user", n, "{\"role\":\"user\",\"content\":\"" text "\"}")
#define SAY(n, text)                                                                               \
    LINE("assistant", n,                                                                           \
         "{\"id\":\"m" n "\",\"model\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"" text     \
         "\"}],\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}")
#define CALL(n)                                                                                    \
    LINE("assistant", n,                                                                           \
         "{\"id\":\"m" n "\",\"model\":\"m\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t" n     \
         "\",\"name\":\"Read\",\"input\":{}}],\"usage\":{\"input_tokens\":10,\"output_tokens\":1}" \
         "}")
#define RESULT(n, call, text)                                                                      \
    LINE("user", n,                                                                                \
         "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t" call      \
         "\",\"content\":\"" text "\"}]}")
#define KEY "claude-code:s1"
#define TAKEN "some of its messages were undone here, or are in another session"

/* ---- importing ------------------------------------------------------------------------------- */

struct told {
    struct str rows;
    char id[ETHOS_UUID_SIZE];
    unsigned notes;
    uint64_t done, total;
};

/* "a.jsonl created 2/2\n"; with the reason of what was not taken */
static void keep_row(void *arg, const struct sessions_import_row *row)
{
    struct told *told = arg;
    str_printf(&told->rows, "%s %s %llu/%llu", row->file, row->effect,
               (unsigned long long)row->messages, (unsigned long long)row->total);
    str_printf(&told->rows, row->why ? ": %s\n" : "\n", row->why ? row->why : "");
    if (row->id)
        snprintf(told->id, sizeof told->id, "%s", row->id);
    assert_true(!row->code || strcmp(row->effect, "skipped") == 0);
}

static void keep_note(void *arg, const char *file, size_t line, const char *what)
{
    struct told *told = arg;
    assert_true(*file && line > 0 && *what);
    told->notes++;
}

static void keep_progress(void *arg, uint64_t done, uint64_t total)
{
    struct told *told = arg;
    assert_true(done >= told->done && done <= total);
    assert_true(told->total == 0 || told->total == total);
    told->done = done;
    told->total = total;
}

static int run(struct world *world, const char *path, const char *text, int dry, struct told *told)
{
    const struct sessions_import what = {.path = path,
                                         .text = view_str(text),
                                         .dry_run = dry,
                                         .each = keep_row,
                                         .note = keep_note,
                                         .arg = told,
                                         .progress = keep_progress,
                                         .progress_arg = told};
    if (!world->turn)
        world_turn(world, NULL);
    *told = (struct told){0};
    str_init(&told->rows, 1 << 20);
    memset(&world->error, 0, sizeof world->error);
    return sessions_import(world->turn, &what, &world->error);
}

static void assert_import(struct world *world, const char *path, const char *expected)
{
    struct told told;
    assert_ok(world, run(world, path, NULL, 0, &told));
    assert_string_equal(told.rows.data, expected);
    assert_int_equal(told.done, told.total);
    str_release(&told.rows);
}

static void assert_refused(struct world *world, const char *path, int code, const char *text)
{
    struct told told;
    int found = run(world, path, NULL, 0, &told);
    assert_error(&world->error, found, code);
    if (!strstr(world->error.text, text))
        fail_msg("%s", world->error.text);
    assert_string_equal(told.rows.data, "");
    str_release(&told.rows);
}

/* What a dry run says is what happens. */
static void assert_both(struct world *world, const char *expected)
{
    struct told told;
    assert_ok(world, run(world, "a.jsonl", NULL, 1, &told));
    assert_string_equal(told.rows.data, expected);
    str_release(&told.rows);
    assert_import(world, "a.jsonl", expected);
}

/* Writes work/a.jsonl and imports it. */
static void assert_taken(struct world *world, const char *text, const char *expected)
{
    world_put(world, "work/a.jsonl", text);
    assert_import(world, "a.jsonl", expected);
}

/* ---- looking behind -------------------------------------------------------------------------- */

/* All values of a query, "|" between them, ";" after each row; free() it. */
static char *query(struct world *world, const char *sql)
{
    char path[160], *text = NULL;
    size_t size;
    sqlite3 *db;
    sqlite3_stmt *statement;
    FILE *out = open_memstream(&text, &size);
    snprintf(path, sizeof path, "%s/sessions.db", world->home);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    sqlite3_busy_timeout(db, 10000);
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    while (sqlite3_step(statement) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const char *value = (const char *)sqlite3_column_text(statement, i);
            fprintf(out, "%s%s", i ? "|" : "", value ? value : "-");
        }
        fputc(';', out);
    }
    fclose(out);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return text;
}

static void assert_query(struct world *world, const char *sql, const char *expected)
{
    char *found = query(world, sql);
    assert_string_equal(found, expected);
    free(found);
}

#define SHOWN                                                                                      \
    "SELECT m.role,m.content FROM messages m WHERE deleted_at IS NULL ORDER BY "                   \
    "m.timestamp,m.rowid"

/* ---- one transcript -------------------------------------------------------------------------- */

static void test_a_transcript_is_a_session_of_its_own_time_and_place(void **state)
{
    struct world *world = *state;
    assert_taken(world,
                 ASK("1", "Fix it")
                     SAY("2", "Done.") "{\"type\":\"ai-title\",\"aiTitle\":\"A fix\"}\n",
                 "a.jsonl created 2/2\n");
    assert_query(world, SHOWN, "user|Fix it;assistant|Done.;");
    assert_query(world,
                 "SELECT key,platform,model,working_dir,title,created_at,updated_at,turn_count,"
                 "input_tokens,output_tokens,api_call_count FROM sessions",
                 KEY "|claude-code|m|/src/app|A fix|2025-01-02T03:04:01.000Z|"
                     "2025-01-02T03:04:02.000Z|1|10|1|1;");
}

static void test_the_same_again_changes_nothing(void **state)
{
    struct world *world = *state;
    assert_taken(world, ASK("1", "a") SAY("2", "b"), "a.jsonl created 2/2\n");
    char *before = query(world, "SELECT * FROM sessions");
    char *messages = query(world, "SELECT * FROM messages");
    assert_import(world, "a.jsonl", "a.jsonl unchanged 0/2\n");
    world_rename(world, "work/a.jsonl", "work/elsewhere.jsonl");
    assert_import(world, "elsewhere.jsonl", "elsewhere.jsonl unchanged 0/2\n");
    assert_query(world, "SELECT * FROM sessions", before);
    assert_query(world, "SELECT * FROM messages", messages);
    free(before);
    free(messages);
}

static void test_a_grown_transcript_adds_what_is_new(void **state)
{
    struct world *world = *state;
    assert_taken(world, ASK("1", "a") SAY("2", "b"), "a.jsonl created 2/2\n");
    assert_taken(world, ASK("1", "a") SAY("2", "b") ASK("3", "c") SAY("4", "d"),
                 "a.jsonl appended 2/4\n");
    assert_query(world, SHOWN, "user|a;assistant|b;user|c;assistant|d;");
    assert_query(world, "SELECT turn_count,input_tokens,api_call_count FROM sessions", "2|20|2;");
    assert_query(world, "SELECT count(*) FROM messages", "4;");
}

static void test_the_same_words_in_another_session_are_another_one(void **state)
{
    struct world *world = *state;
    world_put(world, "work/x.jsonl", "{\"role\":\"user\",\"content\":\"hi\"}\n");
    world_put(world, "work/y.jsonl", "{\"role\":\"user\",\"content\":\"hi\"}\n");
    assert_import(world, "x.jsonl", "x.jsonl created 1/1\n");
    assert_import(world, "y.jsonl", "y.jsonl created 1/1\n");
    assert_import(world, "x.jsonl", "x.jsonl unchanged 0/1\n");
    assert_query(
        world,
        "SELECT key GLOB 'import:?.jsonl~*' AND length(key)=23,platform FROM sessions ORDER BY key",
        "1|import;1|import;");
}

static void test_the_same_words_twice_are_two_messages(void **state)
{
    struct world *world = *state;
    assert_taken(world, ASK("1", "go on") SAY("2", "ok") ASK("3", "go on") SAY("4", "ok"),
                 "a.jsonl created 4/4\n");
    assert_import(world, "a.jsonl", "a.jsonl unchanged 0/4\n");
}

/* ---- taken while it was written -------------------------------------------------------------- */

static void test_a_call_that_had_no_result_yet_is_taken_again(void **state)
{
    struct world *world = *state;
    assert_taken(world, ASK("1", "a") CALL("2"), "a.jsonl created 3/3\n");
    assert_query(world, SHOWN, "user|a;assistant|;tool_result|(no result was recorded);");
    assert_taken(world, ASK("1", "a") CALL("2") RESULT("3", "2", "text") SAY("4", "b"),
                 "a.jsonl appended 2/4\n");
    assert_query(world, SHOWN, "user|a;assistant|;tool_result|text;assistant|b;");
    assert_import(world, "a.jsonl", "a.jsonl unchanged 0/4\n");
}

static void test_half_an_answer_is_taken_again(void **state)
{
    struct world *world = *state;
    assert_taken(world, ASK("1", "a") SAY("2", "half"), "a.jsonl created 2/2\n");
    assert_taken(world, ASK("1", "a") SAY("2", "half") SAY("3", "whole"), "a.jsonl appended 1/2\n");
    assert_query(world, SHOWN, "user|a;assistant|half\n\nwhole;");
    assert_taken(world, ASK("1", "a") SAY("2", "half") SAY("3", "whole") CALL("4"),
                 "a.jsonl appended 2/3\n");
    assert_query(world, "SELECT input_tokens,api_call_count FROM sessions", "30|1;");
}

static void test_a_line_that_is_being_written_comes_with_the_next_import(void **state)
{
    struct world *world = *state;
    char text[] = ASK("1", "a") SAY("2", "b");
    text[sizeof ASK("1", "a") + 100] = '\0';
    assert_taken(world, text, "a.jsonl created 1/1\n");
    assert_taken(world, ASK("1", "a") SAY("2", "b"), "a.jsonl appended 1/2\n");
}

static void test_an_old_copy_changes_nothing(void **state)
{
    struct world *world = *state;
    assert_taken(world, ASK("1", "a") CALL("2") RESULT("3", "2", "text") SAY("4", "b"),
                 "a.jsonl created 4/4\n");
    assert_taken(world, ASK("1", "a"), "a.jsonl unchanged 0/4\n");
    assert_taken(world, ASK("1", "a") CALL("2"), "a.jsonl unchanged 0/4\n");
    assert_query(world, "SELECT count(*) FROM messages WHERE deleted_at IS NULL", "4;");
}

/* ---- conflicts ------------------------------------------------------------------------------- */

static void say_here(struct world *world, const char *role, const char *text)
{
    struct ethos_sessions *store;
    char id[ETHOS_UUID_SIZE];
    const struct ethos_message message = {.role = role, .content = view_str(text)};
    assert_ok(world, ethos_sessions(world->ethos, &store, &world->error));
    assert_ok(world, ethos_session_find(world->ethos, KEY, id, &world->error));
    assert_ok(world, store->ops->append(store, id, &message, 1, 0, &world->error));
}

static void test_a_session_that_went_on_here_is_a_conflict(void **state)
{
    struct world *world = *state;
    assert_taken(world, ASK("1", "a") SAY("2", "b"), "a.jsonl created 2/2\n");
    say_here(world, "user", "c, here");
    assert_import(world, "a.jsonl", "a.jsonl unchanged 0/3\n");
    assert_taken(world, ASK("1", "a") SAY("2", "b") ASK("3", "c, there"),
                 "a.jsonl conflict 0/3: the session here continued differently\n");
    assert_query(world, SHOWN, "user|a;assistant|b;user|c, here;");
}

static void test_a_transcript_that_was_rewritten_is_a_conflict(void **state)
{
    struct world *world = *state;
    assert_taken(world, ASK("1", "a") SAY("2", "b"), "a.jsonl created 2/2\n");
    assert_taken(world, ASK("1", "x") SAY("2", "b"),
                 "a.jsonl conflict 0/2: the transcript no longer begins like the session\n");
    assert_taken(world, ASK("1", "a") SAY("2", "b") ASK("3", "c") SAY("4", "d"),
                 "a.jsonl appended 2/4\n");
    assert_taken(world, ASK("1", "a") SAY("2", "b more") ASK("3", "c") SAY("4", "d"),
                 "a.jsonl conflict 0/4: the transcript no longer begins like the session\n");
    assert_query(world, SHOWN, "user|a;assistant|b;user|c;assistant|d;");
}

static void test_what_was_taken_back_there_is_taken_back_here(void **state)
{
    struct world *world = *state;
    char text[4096];
    size_t at = 0;
    const struct {
        const char *up, *line;
    } lines[] = {{"0", ASK("1", "a")}, {"1", SAY("2", "b")}, {"2", ASK("3", "old")},
                 {"3", SAY("4", "x")}, {"4", ASK("5", "y")}, {"2", ASK("6", "new")},
                 {"6", SAY("7", "c")}};
    for (size_t i = 0; i < COUNT(lines); i++) {
        if (i == 5) {
            world_put(world, "work/a.jsonl", text);
            assert_both(world, "a.jsonl created 5/5\n");
        }
        at += (size_t)snprintf(text + at, sizeof text - at, "{\"parentUuid\":\"" ID("%s") "\",%s",
                               lines[i].up, lines[i].line + 1);
    }
    world_put(world, "work/a.jsonl", text);
    assert_both(world, "a.jsonl appended 2/4\n");
    assert_both(world, "a.jsonl unchanged 0/4\n");
    assert_query(world, SHOWN, "user|a;assistant|b;user|new;assistant|c;");
    say_here(world, "user", "mine");
    at += (size_t)snprintf(text + at, sizeof text - at, "{\"parentUuid\":\"" ID("2") "\",%s",
                           ASK("8", "newer") + 1);
    world_put(world, "work/a.jsonl", text);
    assert_both(world, "a.jsonl conflict 0/5: the session here continued differently\n");
}

static void test_what_was_undone_here_does_not_come_back(void **state)
{
    struct world *world = *state;
    struct ethos_sessions *store;
    char id[ETHOS_UUID_SIZE];
    uint64_t count;
    assert_taken(world, ASK("1", "a") SAY("2", "b") ASK("3", "c") SAY("4", "d"),
                 "a.jsonl created 4/4\n");
    assert_ok(world, ethos_sessions(world->ethos, &store, &world->error));
    assert_ok(world, ethos_session_find(world->ethos, KEY, id, &world->error));
    assert_ok(world, store->ops->undo(store, id, 1, &count, &world->error));
    assert_both(world, "a.jsonl conflict 0/2: " TAKEN "\n");
    assert_query(world, SHOWN, "user|a;assistant|b;");
}

/* ---- what a file may be ---------------------------------------------------------------------- */

static void test_files_that_are_no_transcripts_are_refused(void **state)
{
    struct world *world = *state;
    world_put(world, "work/empty.jsonl", "");
    world_put(world, "work/odd.jsonl", "\xff\xfe\x01\x02\n{\"a\":1}\n");
    world_put(world, "work/none.jsonl", "{\"type\":\"user\",\"message\":{\"content\":\"\"}}\n");
    assert_refused(world, "empty.jsonl", ETHOS_INVALID,
                   "empty.jsonl: not a transcript in a known format");
    assert_refused(world, "odd.jsonl", ETHOS_INVALID,
                   "odd.jsonl: not a transcript in a known format");
    assert_refused(world, "none.jsonl", ETHOS_INVALID, "no message could be read");
    assert_refused(world, "gone.jsonl", ETHOS_NOTFOUND, "gone.jsonl");
    assert_true(strstr(world->error.hint, "~/.claude/projects") != NULL);
    assert_int_equal(mkfifo("pipe.jsonl", 0600), 0);
    assert_refused(world, "pipe.jsonl", ETHOS_INVALID, "neither a file nor a folder");
    world_mkdir(world, "work/void");
    assert_refused(world, "void", ETHOS_NOTFOUND, "void: no transcript in it");
    assert_false(world_exists(world, "home/sessions.db"));
}

static void test_odd_bytes_and_line_ends_do_no_harm(void **state)
{
    struct world *world = *state;
    struct told told;
    world_put(world, "work/a.jsonl",
              "{\"role\":\"user\",\"content\":\"caf\xe9\"}\r\n\r\n"
              "{\"role\":\"assistant\",\"content\":\"b\"}\r\n{\"role\":\"user\",\"con");
    assert_ok(world, run(world, "a.jsonl", NULL, 0, &told));
    assert_string_equal(told.rows.data, "a.jsonl created 2/2\n");
    assert_int_equal(told.notes, 2);
    str_release(&told.rows);
    assert_query(world, SHOWN, "user|caf\xef\xbf\xbd;assistant|b;");
}

static void test_a_folder_is_walked_in_order_and_no_further(void **state)
{
    struct world *world = *state;
    world_put(world, "work/t/b/2.jsonl", "{\"role\":\"user\",\"content\":\"2\"}\n");
    world_put(world, "work/t/a.jsonl", "{\"role\":\"user\",\"content\":\"1\"}\n");
    world_put(world, "work/t/c.json", "{\"name\":\"no transcript\"}\n");
    world_put(world, "work/t/notes.txt", "{\"role\":\"user\",\"content\":\"no\"}\n");
    world_put(world, "work/outside/x.jsonl", "{\"role\":\"user\",\"content\":\"no\"}\n");
    world_link(world, "../outside", "work/t/link");
    world_link(world, "../outside/x.jsonl", "work/t/x.jsonl");
    assert_int_equal(mkfifo("t/pipe.jsonl", 0600), 0);
    assert_import(world, "t",
                  "a.jsonl created 1/1\nb/2.jsonl created 1/1\n"
                  "c.json skipped 0/0: not a transcript in a known format\n");
    assert_query(world, "SELECT content FROM messages ORDER BY content", "1;2;");
}

static void test_a_name_may_be_any_bytes(void **state)
{
    struct world *world = *state;
    world_put(world, "work/t/\xff.jsonl", "{\"role\":\"user\",\"content\":\"1\"}\n");
    world_put(world, "work/t/\xfe.jsonl", "{\"role\":\"user\",\"content\":\"2\"}\n");
    assert_import(world, "t", "\xfe.jsonl created 1/1\n\xff.jsonl created 1/1\n");
    assert_import(world, "t", "\xfe.jsonl unchanged 0/1\n\xff.jsonl unchanged 0/1\n");
}

static void test_folders_that_are_too_deep_are_told(void **state)
{
    struct world *world = *state;
    world_put(world, "work/t/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/a.jsonl",
              "{\"role\":\"user\",\"content\":\"1\"}\n");
    world_put(world, "work/t/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/b.jsonl",
              "{\"role\":\"user\",\"content\":\"2\"}\n");
    assert_import(world, "t",
                  "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17 skipped 0/0: more than 16 folders "
                  "deep\n1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/a.jsonl created 1/1\n");
}

/* The first file that is opened below a folder is not ours. */
static int deny_first(void *arg, const char *call, unsigned long number)
{
    unsigned *seen = arg;
    (void)number;
    return strcmp(call, "openat2") == 0 && (*seen)++ == 0 ? EACCES : 0;
}

static void test_a_file_that_cannot_be_read_is_told(void **state)
{
    struct world *world = *state;
    unsigned seen = 0;
    world_turn(world, NULL);
    world_put(world, "work/t/a.jsonl", "{\"role\":\"user\",\"content\":\"1\"}\n");
    world_put(world, "work/t/b.jsonl", "{\"role\":\"user\",\"content\":\"2\"}\n");
    os_hook(deny_first, &seen);
    assert_import(world, "t", "a.jsonl skipped 0/0: Permission denied\nb.jsonl created 1/1\n");
    os_hook(NULL, NULL);
}

static void test_text_from_elsewhere_is_known_by_what_it_says(void **state)
{
    struct world *world = *state;
    struct told told;
    const char *text = "{\"role\":\"user\",\"content\":\"hi\"}\n";
    assert_ok(world, run(world, "-", text, 0, &told));
    assert_string_equal(told.rows.data, "- created 1/1\n");
    str_release(&told.rows);
    assert_ok(world, run(world, "-", text, 0, &told));
    assert_string_equal(told.rows.data, "- unchanged 0/1\n");
    str_release(&told.rows);
    assert_query(world, "SELECT length(key)-length('import:') FROM sessions", "32;");
}

static void test_a_dry_run_tells_and_writes_nothing(void **state)
{
    struct world *world = *state;
    struct told told;
    world_put(world, "work/a.jsonl", ASK("1", "a") SAY("2", "b"));
    assert_ok(world, run(world, "a.jsonl", NULL, 1, &told));
    assert_string_equal(told.rows.data, "a.jsonl created 2/2\n");
    str_release(&told.rows);
    assert_false(world_exists(world, "home"));
    assert_import(world, "a.jsonl", "a.jsonl created 2/2\n");
    world_put(world, "work/a.jsonl", ASK("1", "a") SAY("2", "b") ASK("3", "c"));
    assert_ok(world, run(world, "a.jsonl", NULL, 1, &told));
    assert_string_equal(told.rows.data, "a.jsonl appended 1/3\n");
    str_release(&told.rows);
    assert_query(world, "SELECT count(*) FROM messages", "2;");
}

static void test_times_that_are_missing_do_not_break_the_order(void **state)
{
    struct world *world = *state;
    assert_taken(world, "{\"role\":\"user\",\"content\":\"a\"}\n", "a.jsonl created 1/1\n");
    assert_taken(world,
                 "{\"role\":\"user\",\"content\":\"a\"}\n"
                 "{\"role\":\"assistant\",\"content\":\"b\",\"timestamp\":\"2020-01-01\"}\n"
                 "{\"role\":\"user\",\"content\":\"c\",\"timestamp\":\"2020-01-02\"}\n",
                 "a.jsonl appended 2/3\n");
    assert_query(world, SHOWN, "user|a;assistant|b;user|c;");
}

static void test_times_to_come_are_taken_as_now(void **state)
{
    struct world *world = *state;
    struct told told;
    world_put(world, "work/a.jsonl",
              "{\"role\":\"user\",\"content\":\"a\",\"timestamp\":\"2025-11-15T12:00:00Z\"}\n"
              "{\"role\":\"assistant\",\"content\":\"b\",\"timestamp\":\"9999-01-01T00:00:00Z\"}\n"
              "{\"role\":\"user\",\"content\":\"c\"}\n");
    assert_ok(world, run(world, "a.jsonl", NULL, 0, &told));
    assert_string_equal(told.rows.data, "a.jsonl created 3/3\n");
    assert_int_equal(told.notes, 3); // two times, and the one that was missing
    str_release(&told.rows);
    assert_query(world, "SELECT DISTINCT timestamp FROM messages", "2025-11-15T12:00:00.000Z;");
    assert_query(world, "SELECT updated_at FROM sessions", "2025-11-15T12:00:00.000Z;");
    world_put(world, "work/b.jsonl",
              "{\"role\":\"user\",\"content\":\"a\",\"timestamp\":\"9999-01-01T00:00:00Z\"}\n");
    assert_import(world, "b.jsonl", "b.jsonl created 1/1\n");
    assert_query(world,
                 "SELECT s.created_at,s.updated_at,m.timestamp FROM sessions s JOIN messages m ON"
                 " m.session_id=s.id WHERE s.key LIKE '%b.jsonl%'",
                 NOW_ISO "|" NOW_ISO "|" NOW_ISO ";");
}

#define MOST "9223372036854775807"

static void test_more_tokens_than_can_be_counted_are_the_most_that_can(void **state)
{
    struct world *world = *state;
    assert_taken(world,
                 ASK("1", "a")
                     LINE("assistant", "2",
                          "{\"id\":\"m2\",\"content\":\"b\",\"usage\":{\"input_tokens\":" MOST
                          "}}") ASK("3", "c")
                         LINE("assistant", "4",
                              "{\"id\":\"m4\",\"content\":\"d\",\"usage\":{\"input_tokens\":" MOST
                              ",\"output_tokens\":2}}"),
                 "a.jsonl created 4/4\n");
    assert_query(world, "SELECT input_tokens,output_tokens,api_call_count FROM sessions",
                 MOST "|2|2;");
}

/* ---- many, and others at the same time ------------------------------------------------------- */

#define MANY 1300 /* pairs of messages: several batches */

static void put_many(struct world *world, unsigned pairs)
{
    struct str text;
    str_init(&text, 1 << 24);
    for (unsigned i = 0; i < pairs; i++)
        str_printf(&text,
                   "{\"type\":\"user\",\"sessionId\":\"s1\",\"message\":{\"content\":\"q%u\"}}\n"
                   "{\"type\":\"assistant\",\"sessionId\":\"s1\",\"message\":{\"content\":\"a%u\","
                   "\"usage\":{\"input_tokens\":1}}}\n",
                   i, i);
    world_put(world, "work/a.jsonl", text.data);
    str_release(&text);
}

static void assert_many(struct world *world, unsigned pairs)
{
    char expected[96];
    snprintf(expected, sizeof expected, "%u|%u|%u;", pairs * 2, pairs * 2, pairs * 2);
    assert_query(world,
                 "SELECT count(*),count(DISTINCT content),sum(deleted_at IS NULL) FROM messages",
                 expected);
    snprintf(expected, sizeof expected, "%u|%u;", pairs, pairs);
    assert_query(world, "SELECT turn_count,input_tokens FROM sessions", expected);
    assert_query(
        world,
        "SELECT count(*) FROM (SELECT content,row_number() OVER (ORDER BY timestamp,rowid)"
        " n FROM messages) WHERE content<>(CASE n%2 WHEN 1 THEN 'q' ELSE 'a' END)||((n-1)/2)",
        "0;");
    assert_query(world, "PRAGMA integrity_check", "ok;");
}

static void test_many_messages_come_in_batches(void **state)
{
    struct world *world = *state;
    put_many(world, MANY);
    assert_import(world, "a.jsonl", "a.jsonl created 2600/2600\n");
    assert_many(world, MANY);
    assert_import(world, "a.jsonl", "a.jsonl unchanged 0/2600\n");
}

/* Imports in a process of its own; handles are not shared with it. */
static pid_t import_apart(struct world *world)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0)
        return child;
    struct told told;
    world->ethos = NULL;
    world->turn = NULL;
    int code = run(world, "a.jsonl", NULL, 0, &told);
    _exit(code == ETHOS_OK && !strstr(told.rows.data, "conflict") ? 0 : 1);
}

static void test_two_imports_at_once_double_nothing(void **state)
{
    struct world *world = *state;
    int status;
    put_many(world, MANY);
    pid_t children[] = {import_apart(world), import_apart(world), import_apart(world)};
    for (size_t i = 0; i < COUNT(children); i++) {
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_many(world, MANY);
}

static void test_an_import_that_was_killed_goes_on(void **state)
{
    struct world *world = *state;
    for (unsigned round = 1; round <= 12; round++) {
        int status;
        put_many(world, MANY * round / 12);
        pid_t child = import_apart(world);
        os_sleep_ms(round * 7 % 60);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
    }
    struct told told;
    assert_ok(world, run(world, "a.jsonl", NULL, 0, &told));
    assert_null(strstr(told.rows.data, "conflict"));
    str_release(&told.rows);
    assert_many(world, MANY);
}

static void test_what_a_killed_import_did_not_count_is_counted_by_the_next(void **state)
{
    struct world *world = *state;
    struct ethos_sessions *store;
    char id[ETHOS_UUID_SIZE];
    const struct ethos_usage less = {.input_tokens = -10, .api_calls = -1};
    const struct ethos_session_patch patch = {.usage = &less};
    assert_taken(world, ASK("1", "a") SAY("2", "b"), "a.jsonl created 2/2\n");
    assert_ok(world, ethos_sessions(world->ethos, &store, &world->error));
    assert_ok(world, ethos_session_find(world->ethos, KEY, id, &world->error));
    assert_ok(world, store->ops->update(store, id, &patch, &world->error));
    assert_query(world, "SELECT turn_count,input_tokens,api_call_count FROM sessions", "1|0|0;");
    assert_import(world, "a.jsonl", "a.jsonl unchanged 0/2\n");
    assert_query(world, "SELECT turn_count,input_tokens,api_call_count FROM sessions", "1|10|1;");
}

static void test_an_import_without_memory_leaves_nothing_half(void **state)
{
    struct world *world = *state;
    struct told told;
    int code;
    world_turn(world, NULL);
    world_put(world, "work/a.jsonl", ASK("1", "a") CALL("2"));
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = run(world, "a.jsonl", NULL, 0, &told);
        str_release(&told.rows);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
    }
    assert_query(world, SHOWN, "user|a;assistant|;tool_result|(no result was recorded);");
    world_put(world, "work/a.jsonl", ASK("1", "a") CALL("2") RESULT("3", "2", "r") SAY("4", "b"));
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        code = run(world, "a.jsonl", NULL, 0, &told);
        str_release(&told.rows);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
    }
    assert_query(world, SHOWN, "user|a;assistant|;tool_result|r;assistant|b;");
    assert_query(world, "SELECT turn_count,api_call_count FROM sessions", "1|2;");
}

/* ---- our own documents ----------------------------------------------------------------------- */

#define OWN_SAID(n, role, text, rest)                                                              \
    "{\"id\":\"" ID(n) "\",\"role\":\"" role "\",\"content\":\"" text "\"" rest                    \
                       ",\"timestamp\":\"2025-01-02T03:04:0" n ".000Z\"}"
#define OWN_AS(id, key, messages)                                                                  \
    "{\"session\":{\"id\":\"" id "\",\"key\":\"" key "\",\"platform\":\"cli\",\"title\":\"T\","    \
    "\"pinned\":true,\"turnCount\":1,\"metadata\":{\"k\":1},\"usage\":{\"inputTokens\":9}},"       \
    "\"messages\":[\n" messages "\n]}\n"
#define OWN_PAIR(last)                                                                             \
    OWN_SAID("5", "user", "a", "")                                                                 \
    ",\n" OWN_SAID("6", "assistant", last, ",\"contentBlocks\":[1]")
#define OWN(last) OWN_AS(ID("f"), "cli:app", OWN_PAIR(last))

static void test_an_export_of_ours_comes_back_as_it_was(void **state)
{
    struct world *world = *state;
    assert_taken(world, OWN("b"), "a.jsonl created 2/2\n");
    assert_query(world,
                 "SELECT id,key,platform,title,pinned,turn_count,metadata,input_tokens,updated_at"
                 " FROM sessions",
                 ID("f") "|cli:app|cli|T|1|1|{\"k\":1}|9|2025-01-02T03:04:06.000Z;");
    assert_query(world, "SELECT id,content_blocks FROM messages ORDER BY rowid",
                 ID("5") "|-;" ID("6") "|[1];");
    assert_import(world, "a.jsonl", "a.jsonl unchanged 0/2\n");
    assert_taken(world, OWN("edited"), "a.jsonl conflict 0/1: a message differs here\n");
}

static void test_a_key_that_is_taken_is_not_taken_away(void **state)
{
    struct world *world = *state;
    struct ethos_sessions *store;
    char id[ETHOS_UUID_SIZE];
    const struct ethos_session session = {.key = "cli:app", .platform = "cli"};
    world_turn(world, NULL);
    assert_ok(world, ethos_sessions(world->ethos, &store, &world->error));
    assert_ok(world, store->ops->create(store, &session, id, &world->error));
    assert_taken(world, OWN("b"), "a.jsonl created 2/2\n");
    assert_query(world, "SELECT key FROM sessions WHERE title='T'", "ethos:" ID("f") ";");
}

static void test_an_export_is_found_by_its_key_when_it_is_the_same_conversation(void **state)
{
    struct world *world = *state;
    assert_taken(world, OWN("b"), "a.jsonl created 2/2\n");
    assert_taken(world, OWN_AS(ID("e"), "cli:app", OWN_PAIR("b")), "a.jsonl unchanged 0/2\n");
    assert_taken(world,
                 OWN_AS(ID("e"), "cli:app", OWN_PAIR("b") ",\n" OWN_SAID("7", "user", "c", "")),
                 "a.jsonl appended 1/3\n");
    assert_query(world, "SELECT id FROM sessions", ID("f") ";");
}

#define LONG_ID ID("f") "-and-more"

static void test_a_document_whose_id_is_none_here_comes_in_once(void **state)
{
    struct world *world = *state;
    assert_taken(world, OWN_AS(LONG_ID, "cli:app", OWN_PAIR("b")), "a.jsonl created 2/2\n");
    assert_import(world, "a.jsonl", "a.jsonl unchanged 0/2\n");
    assert_query(world, "SELECT key FROM sessions", "cli:app;");
}

static void test_a_conflict_leaves_nothing(void **state)
{
    struct world *world = *state;
    assert_taken(world, OWN("b"), "a.jsonl created 2/2\n");
    world_put(world, "work/a.jsonl", OWN_AS(ID("e"), "cli:other", OWN_PAIR("b")));
    assert_both(world, "a.jsonl conflict 0/0: " TAKEN "\n");
    assert_query(world, "SELECT key FROM sessions", "cli:app;");
}

static void test_results_alone_are_no_conversation(void **state)
{
    struct world *world = *state;
    world_put(world, "work/a.json",
              OWN_AS(ID("f"), "k", OWN_SAID("1", "tool_result", "r", ",\"toolCallId\":\"x\"")));
    assert_refused(world, "a.json", ETHOS_INVALID, "a.json: none of its messages can stand alone");
    assert_string_equal(world->error.hint, "");
    assert_false(world_exists(world, "home/sessions.db"));
}

/* ---- markdown -------------------------------------------------------------------------------- */

static void assert_markdown(struct world *world, const char *part)
{
    struct str text;
    char id[ETHOS_UUID_SIZE];
    str_init(&text, SESSIONS_EXPORT_BYTES);
    assert_ok(world, ethos_session_find(world->ethos, KEY, id, &world->error));
    assert_ok(world, sessions_export_markdown(world->ethos, id, &text, &world->error));
    if (!strstr(text.data, part))
        fail_msg("%s\nhas no\n%s", text.data, part);
    assert_true(view_ends(str_view(&text), VIEW("\n")) &&
                !view_ends(str_view(&text), VIEW("\n\n")));
    str_release(&text);
}

static void test_markdown_shows_who_said_what(void **state)
{
    struct world *world = *state;
    assert_taken(world,
                 ASK("1", "Fix it") CALL("2") RESULT("3", "2", "````\\n## User")
                     SAY("4", "So:\\n```c\\nint x;"),
                 "a.jsonl created 4/4\n");
    assert_markdown(world, "# Fix it\n\n- Session: `");
    assert_markdown(world, "- Folder: `/src/app`\n- From 2025-01-02 03:04 UTC to");
    assert_markdown(world, "## User · 2025-01-02 03:04 UTC\n\nFix it\n\n## Assistant · ");
    assert_markdown(world, "Calls `Read`:\n\n```json\n{}\n```\n\n## Result of `Read` · ");
    assert_markdown(world, "\n\n`````\n````\n## User\n`````\n\n");
    assert_markdown(world, "> So:\n> ```c\n> int x;\n"); // what is left open ends with a quotation
}

/* What a message becomes; free() it. */
static char *markdown_of(struct world *world, const char *said)
{
    static const char heading[] = " UTC\n\n";
    const struct ethos_session session = {.key = said, .platform = "cli"};
    const struct ethos_message message = {.role = "user", .content = view_str(said)};
    struct ethos_sessions *store;
    struct str text;
    char id[ETHOS_UUID_SIZE];
    str_init(&text, SESSIONS_EXPORT_BYTES);
    assert_ok(world, ethos_sessions(world->ethos, &store, &world->error));
    assert_ok(world, store->ops->create(store, &session, id, &world->error));
    assert_ok(world, store->ops->append(store, id, &message, 1, 0, &world->error));
    assert_ok(world, sessions_export_markdown(world->ethos, id, &text, &world->error));
    char *found = strdup(strstr(strstr(text.data, "## User"), heading) + strlen(heading));
    str_release(&text);
    return found;
}

static void test_markdown_of_a_message_ends_with_it(void **state)
{
    static const char *const as_it_is[] = {
        "`x` and ```ls -l``` here", "```ls -l``` please", "```sh\nls\n```", "~~~\n```\n~~~",
        "````\n```\n<!--\n````",    "```\na\n``` b\n```", "1. a\n2. b",     "a < b <!-- c",
        "# a\n> b\n\n    c",        "```a\n  ````\n",
    };
    static const char *const quoted[] = {
        "```\nls",   "- ```\n  ls",  "1. a\n   ```\n   b\n2. c\n```",
        "<!-- a",    "<pre>\n\n```", "> ```",
        "a\r```\rb", "~~~\n```",     "<div>\n```\n\n```",
        "\t```\n",   "```\n~~~",     "  <script>",
        "- <!--",    "```\n```c",    "```\n```\xc2\xa0\na",
    };
    struct world *world = *state;
    world_turn(world, NULL);
    for (size_t i = 0; i < COUNT(as_it_is); i++) {
        char *text = markdown_of(world, as_it_is[i]);
        assert_true(text[0] == as_it_is[i][0]);
        free(text);
    }
    for (size_t i = 0; i < COUNT(quoted); i++) {
        char *text = markdown_of(world, quoted[i]);
        if (strncmp(text, "> ", 2) != 0)
            fail_msg("%s", text);
        free(text);
    }
    char *text = markdown_of(world, "a\r\r\nb\n\n```\nc\n");
    assert_string_equal(text, "> a\n>\n> b\n>\n> ```\n> c\n");
    free(text);
}

static void test_markdown_without_memory_is_an_error(void **state)
{
    struct world *world = *state;
    struct str text;
    char id[ETHOS_UUID_SIZE];
    int code;
    assert_taken(world, ASK("1", "a") CALL("2"), "a.jsonl created 3/3\n");
    assert_ok(world, ethos_session_find(world->ethos, KEY, id, &world->error));
    ALLOC_EACH(n, code == ETHOS_OK)
    {
        str_init(&text, SESSIONS_EXPORT_BYTES);
        code = sessions_export_markdown(world->ethos, id, &text, &world->error);
        assert_true(code == ETHOS_OK || code == ETHOS_NOMEM);
        str_release(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_a_transcript_is_a_session_of_its_own_time_and_place),
        WORLD_TEST(test_the_same_again_changes_nothing),
        WORLD_TEST(test_a_grown_transcript_adds_what_is_new),
        WORLD_TEST(test_the_same_words_in_another_session_are_another_one),
        WORLD_TEST(test_the_same_words_twice_are_two_messages),
        WORLD_TEST(test_a_call_that_had_no_result_yet_is_taken_again),
        WORLD_TEST(test_half_an_answer_is_taken_again),
        WORLD_TEST(test_a_line_that_is_being_written_comes_with_the_next_import),
        WORLD_TEST(test_an_old_copy_changes_nothing),
        WORLD_TEST(test_a_session_that_went_on_here_is_a_conflict),
        WORLD_TEST(test_a_transcript_that_was_rewritten_is_a_conflict),
        WORLD_TEST(test_what_was_taken_back_there_is_taken_back_here),
        WORLD_TEST(test_what_was_undone_here_does_not_come_back),
        WORLD_TEST(test_files_that_are_no_transcripts_are_refused),
        WORLD_TEST(test_odd_bytes_and_line_ends_do_no_harm),
        WORLD_TEST(test_a_folder_is_walked_in_order_and_no_further),
        WORLD_TEST(test_a_name_may_be_any_bytes),
        WORLD_TEST(test_folders_that_are_too_deep_are_told),
        WORLD_TEST(test_a_file_that_cannot_be_read_is_told),
        WORLD_TEST(test_text_from_elsewhere_is_known_by_what_it_says),
        WORLD_TEST(test_a_dry_run_tells_and_writes_nothing),
        WORLD_TEST(test_times_that_are_missing_do_not_break_the_order),
        WORLD_TEST(test_times_to_come_are_taken_as_now),
        WORLD_TEST(test_more_tokens_than_can_be_counted_are_the_most_that_can),
        WORLD_LOOP(test_many_messages_come_in_batches),
        WORLD_LOOP(test_two_imports_at_once_double_nothing),
        WORLD_LOOP(test_an_import_that_was_killed_goes_on),
        WORLD_TEST(test_what_a_killed_import_did_not_count_is_counted_by_the_next),
        WORLD_LOOP(test_an_import_without_memory_leaves_nothing_half),
        WORLD_TEST(test_an_export_of_ours_comes_back_as_it_was),
        WORLD_TEST(test_a_key_that_is_taken_is_not_taken_away),
        WORLD_TEST(test_an_export_is_found_by_its_key_when_it_is_the_same_conversation),
        WORLD_TEST(test_a_document_whose_id_is_none_here_comes_in_once),
        WORLD_TEST(test_a_conflict_leaves_nothing),
        WORLD_TEST(test_results_alone_are_no_conversation),
        WORLD_TEST(test_markdown_shows_who_said_what),
        WORLD_TEST(test_markdown_of_a_message_ends_with_it),
        WORLD_LOOP(test_markdown_without_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
