/*
 * sessions.c: conversations that several programs write at once stay whole.
 *
 *     foreign   a database that another program made: the program lists, searches and writes it, and
 *               neither its schema nor that program's own statements notice
 *     together  many processes append, to one session and to their own
 *     killed    appends and forks die at random moments
 *     pages     somebody reads page after page while another process inserts, appends, deletes, pins
 *     words     what people type into a search field
 *
 * The others of each part look at the file with SQLite alone (support/database.h). Parts that show how the
 * plain way fails are called controls: they must fail.
 */
#include "sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ethos/ethos.h>

#define NOW "strftime('%Y-%m-%dT%H:%M:%fZ','now')"

/* ---- one process's view ----------------------------------------------------------------------- */

void store_open(struct store *store, const struct home *home)
{
    const struct ethos_options options = {.home = home->path};
    if (ethos_open(&options, &store->ethos, &store->error) != ETHOS_OK ||
        ethos_sessions(store->ethos, &store->sessions, &store->error) != ETHOS_OK)
        proof_die(store->error.text);
    store->ops = store->sessions->ops;
}

void store_close(struct store *store)
{
    ethos_close(store->ethos);
}

bool store_create(struct store *store, const char *id)
{
    char out[ETHOS_UUID_SIZE], key[64];
    snprintf(key, sizeof key, "key:%s", id);
    const struct ethos_session session = {.id = id, .key = key, .platform = "cli"};
    return store->ops->create(store->sessions, &session, out, &store->error) == ETHOS_OK;
}

bool store_append(struct store *store, const char *id, const char *text)
{
    const struct ethos_message message = {.role = "user", .content = {text, strlen(text)}};
    return store->ops->append(store->sessions, id, &message, 1, 0, &store->error) == ETHOS_OK;
}

static int note_hit(void *arg, const struct ethos_hit *hit)
{
    char *out = arg;
    size_t used = strlen(out);
    snprintf(out + used, FOUND_SIZE - used, "%.*s|", (int)hit->message->content.size,
             hit->message->content.data);
    return 0;
}

void store_search(struct store *store, const char *typed, char out[FOUND_SIZE])
{
    const struct ethos_search search = {.text = {typed, strlen(typed)}};
    out[0] = 0;
    if (store->ops->search(store->sessions, &search, note_hit, out, &store->error) != ETHOS_OK) {
        proof_note("search for %s: %s", typed, store->error.text);
        snprintf(out, FOUND_SIZE, "(error)");
    }
}

/* ---- a database of another program ------------------------------------------------------------ */

#define SCHEMA "SELECT rowid,type,name,tbl_name,rootpage,sql FROM sqlite_schema ORDER BY rowid"

static void make_foreign(const struct home *home)
{
    database_make(home);
    sqlite3 *database = database_open(home);
    database_run(
        database,
        "CREATE TABLE api_keys(prefix TEXT PRIMARY KEY, hash TEXT) STRICT;"
        "INSERT INTO sessions(id,key,platform,model,provider,created_at,updated_at) VALUES"
        "('6b1e0f2a-0000-4000-8000-000000000001','cli:app','cli','m','p',"
        "'2026-01-01T10:00:00.000Z','2026-01-01T10:00:02.000Z'),"
        "('7c1e0f2a-0000-4000-8000-000000000002','telegram:bot:42','telegram','m','p',"
        "'2026-01-02T10:00:00.000Z','2026-01-02T10:00:00.000Z');"
        "INSERT INTO messages(id,session_id,role,content,tool_calls,timestamp) VALUES"
        "('a1','6b1e0f2a-0000-4000-8000-000000000001','user','deploy the night build',NULL,"
        "'2026-01-01T10:00:00.000Z'),"
        "('a2','6b1e0f2a-0000-4000-8000-000000000001','assistant','looking','[{\"id\":\"c1\","
        "\"name\":\"ls\"}]','2026-01-01T10:00:01.000Z'),"
        "('b1','7c1e0f2a-0000-4000-8000-000000000002','user','日本語テキスト',NULL,"
        "'2026-01-02T10:00:00.000Z');"
        "INSERT INTO messages(id,session_id,role,content,tool_call_id,tool_name,timestamp) VALUES"
        "('a3','6b1e0f2a-0000-4000-8000-000000000001','tool_result','12 files','c1','ls',"
        "'2026-01-01T10:00:02.000Z')");
    sqlite3_close(database);
}

/* Runs the program; whether it ended well and said this (NULL: anything). */
static bool ask(const struct home *home, const char *expected, const char *const *more)
{
    const char *words[16] = {ethos_program(), "--home", home->path};
    char *out = NULL;
    size_t n = 3;
    while (*more)
        words[n++] = *more++;
    int status = program_run(words, NULL, &out);
    bool good = status == 0 && (!expected || strstr(out, expected));
    if (!good)
        proof_note("sessions %s: exit %d, not '%s' in: %.300s", words[4], status,
                   expected ? expected : "", out);
    free(out);
    return good;
}

#define ASK(home, expected, ...)                                                                   \
    ask(home, expected, (const char *const[]){"sessions", __VA_ARGS__, NULL})

/* What the program must be able to do with it; how many of it failed. */
static unsigned use_foreign(const struct home *home, unsigned *out_count)
{
    const bool done[] = {
        ASK(home, "6b1e0f2a", "list", "--all", "--json"),
        ASK(home, "7c1e0f2a", "list", "--all", "--json"),
        ASK(home, "12 files", "show", "6b1e0f2a", "--json"),
        ASK(home, "a1", "search", "nights deploy", "--json"),
        ASK(home, "b1", "search", "日本", "--json"),
        ASK(home, NULL, "append", "the morning build", "--role", "assistant", "--session",
            "6b1e0f2a", "-q"),
        ASK(home, NULL, "append", "thank you", "--session", "cli:app", "-q"),
        ASK(home, "the morning build", "show", "6b1e0f2a", "--json"),
        ASK(home, "the morning build", "search", "morning", "--json"),
        ASK(home, NULL, "fork", "6b1e0f2a", "-q"),
        ASK(home, NULL, "rename", "7c1e0f2a", "A title", "-q"),
        ASK(home, NULL, "pin", "7c1e0f2a", "-q"),
        ASK(home, NULL, "unpin", "7c1e0f2a", "-q"),
        ASK(home, NULL, "undo", "7c1e0f2a", "-q", "--yes"),
    };
    unsigned failed = 0;
    *out_count = sizeof done / sizeof *done;
    for (unsigned i = 0; i < *out_count; i++)
        failed += !done[i];
    return failed;
}

/* What that program does: its history, its phrase search, its inserts. How many gave the wrong answer. */
static unsigned use_as_before(sqlite3 *database)
{
    static const char *const questions[][2] = {
        {"SELECT count(*) FROM messages WHERE session_id='6b1e0f2a-0000-4000-8000-000000000001'"
         " AND deleted_at IS NULL ORDER BY timestamp, rowid",
         "5\n"},
        {"SELECT count(*) FROM messages_fts f JOIN messages m ON m.rowid=f.rowid"
         " WHERE messages_fts MATCH '\"morning build\"'",
         "2\n"}, // the fork has it, too
        {"SELECT title FROM sessions WHERE key='telegram:bot:42'", "A title\n"},
        {"SELECT count(*) FROM sessions WHERE key LIKE 'cli:app:fork:%' AND"
         " parent_session_id='6b1e0f2a-0000-4000-8000-000000000001'",
         "1\n"},
        {"SELECT count(*) FROM messages WHERE deleted_at IS NOT NULL", "1\n"},
    };
    unsigned wrong = 0;
    database_run(database, "BEGIN IMMEDIATE; INSERT INTO messages(id,session_id,role,content,"
                           "timestamp) VALUES('z1','6b1e0f2a-0000-4000-8000-000000000001',"
                           "'assistant','evening build of theirs'," NOW "); UPDATE sessions SET"
                           " updated_at=" NOW " WHERE key='cli:app'; COMMIT");
    database_run(database, "DELETE FROM messages WHERE id='z1'");
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        char *answer = database_text(database, questions[i][0]);
        if (strcmp(answer, questions[i][1]) != 0) {
            proof_note("%s: %s", questions[i][0], answer);
            wrong++;
        }
        free(answer);
    }
    database_run(database, "INSERT INTO messages(id,session_id,role,content,timestamp) VALUES('z2',"
                           "'6b1e0f2a-0000-4000-8000-000000000001','assistant',"
                           "'afternoon build of theirs'," NOW ")");
    return wrong;
}

static void prove_foreign(void)
{
    struct home home;
    unsigned commands;
    place_make(&home, PLACE_DISK);
    make_foreign(&home);
    sqlite3 *database = database_open(&home);
    char *before = database_text(database, SCHEMA);
    sqlite3_close(database);
    unsigned failed = use_foreign(&home, &commands);
    database = database_open(&home);
    char *after = database_text(database, SCHEMA);
    bool same = strcmp(before, after) == 0;
    int64_t version = database_number(database, "PRAGMA user_version");
    unsigned wrong = use_as_before(database);
    bool found = ASK(&home, "z2", "search", "afternoon", "--json");
    proof_say(failed == 0 && same && version == 1 && wrong == 0 && found &&
                  database_sound(database),
              "sessions: a database of another program: %u commands, %u failed; its schema of %zu "
              "bytes %s, user_version %d; of its own statements %u answered otherwise; what it "
              "added is %s",
              commands, failed, strlen(before), same ? "is the same" : "CHANGED", (int)version,
              wrong, found ? "found" : "NOT FOUND");
    free(before);
    free(after);
    sqlite3_close(database);
    place_remove(&home);
}

/* ---- together --------------------------------------------------------------------------------- */

#define CROWD 8

struct crowd {
    const struct home *home;
    unsigned number, each;
    unsigned *refused; /* shared */
};

/* By turns into the session of all and into one of its own. */
static int append_many(void *arg)
{
    const struct crowd *crowd = arg;
    struct store store;
    char own[32], text[64];
    store_open(&store, crowd->home);
    snprintf(own, sizeof own, "own-%u", crowd->number);
    unsigned refused = !store_create(&store, own);
    for (unsigned i = 0; i < crowd->each; i++) {
        snprintf(text, sizeof text, "%u %u", crowd->number, i);
        refused += !store_append(&store, i % 2 ? own : "shared", text);
    }
    if (refused > 0)
        proof_note("process %u: %s", crowd->number, store.error.text);
    *crowd->refused = refused;
    store_close(&store);
    return 0;
}

int create_shared(void *arg)
{
    struct store store;
    store_open(&store, arg);
    bool done = store_create(&store, "shared");
    store_close(&store);
    return !done;
}

/* The plain way: nobody waits, and who has read before he writes may not. */
static int append_plainly(void *arg)
{
    const struct crowd *crowd = arg;
    sqlite3 *database = database_open(crowd->home);
    sqlite3_busy_timeout(database, 0);
    for (unsigned i = 0; i < crowd->each; i++) {
        int result = sqlite3_exec(
            database,
            "BEGIN; INSERT INTO messages(id,session_id,role,content,timestamp) VALUES("
            "hex(randomblob(16)),'shared','user',(SELECT count(*) FROM messages)," NOW "); COMMIT",
            NULL, NULL, NULL);
        *crowd->refused += result != SQLITE_OK;
        if (!sqlite3_get_autocommit(database))
            sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
    }
    sqlite3_close(database);
    return 0;
}

static unsigned run_crowd(const struct home *home, unsigned each, child_fn *work)
{
    struct crowd crowd[CROWD];
    pid_t pids[CROWD];
    unsigned *refused = shared_make(CROWD * sizeof *refused), all = 0;
    for (unsigned i = 0; i < CROWD; i++) {
        crowd[i] = (struct crowd){home, i, each, &refused[i]};
        pids[i] = child_start(work, &crowd[i]);
    }
    for (unsigned i = 0; i < CROWD; i++) {
        if (child_wait(pids[i]) != 0)
            refused[i] += each;
        all += refused[i];
    }
    return all;
}

/* Messages whose number is not the next one of its writer in this session; *count: all of them. */
static unsigned count_disorder(sqlite3 *database, const char *session, unsigned *count)
{
    unsigned next[CROWD], wrong = 0, writer, number;
    char sql[200];
    snprintf(sql, sizeof sql,
             "SELECT content FROM messages WHERE session_id='%s' ORDER BY timestamp,rowid",
             session);
    for (unsigned i = 0; i < CROWD; i++)
        next[i] = strcmp(session, "shared") != 0;
    char *text = database_text(database, sql);
    for (char *line = text; *line; line += strcspn(line, "\n") + 1, (*count)++) {
        if (sscanf(line, "%u %u", &writer, &number) != 2 || writer >= CROWD ||
            number != next[writer])
            wrong++;
        else
            next[writer] += 2;
    }
    free(text);
    return wrong;
}

static void prove_together(void)
{
    struct home home;
    unsigned each = proof_number("each", 100, 2000), count = 0, disorder = 0;
    place_make(&home, PLACE_DISK);
    unsigned refused = child_run(create_shared, &home) != 0;
    int64_t start = proof_us();
    refused += run_crowd(&home, each, append_many);
    double seconds = (double)(proof_us() - start) / 1e6;
    sqlite3 *database = database_open(&home);
    disorder += count_disorder(database, "shared", &count);
    for (unsigned i = 0; i < CROWD; i++) {
        char own[32];
        snprintf(own, sizeof own, "own-%u", i);
        disorder += count_disorder(database, own, &count);
    }
    bool sound = database_sound(database);
    sqlite3_close(database);
    proof_say(refused == 0 && count == CROWD * each && disorder == 0 && sound,
              "sessions: %u processes x %u appends: %u of %u present, %u refused, %u out of order, "
              "%.0f per second",
              CROWD, each, count, CROWD * each, refused, disorder, CROWD * each / seconds);
    refused = run_crowd(&home, 100, append_plainly);
    proof_say(refused > 0,
              "sessions: control: the same by plain SQL: %u of %u refused, the database is locked",
              refused, CROWD * 100);
    place_remove(&home);
}

/* ---- words ------------------------------------------------------------------------------------ */

static const char *const texts[] = {"日本語テキスト",         "un café noir",
                                    "the deployment is done", "either \"AND (\" or not",
                                    "NEAR/2 the river",       "nothing of interest"};
static const struct {
    const char *typed, *found;
} wanted[] = {
    {"日本", "日本語テキスト|"},
    {"cafe", "un café noir|"},
    {"deploy", "the deployment is done|"},
    {"\"AND (", "either \"AND (\" or not|"},
    {"NEAR/", "NEAR/2 the river|"},
    {"\"", ""},
    {"done deploy", "the deployment is done|"},
    {"\"deployment is\"", "the deployment is done|"},
    {"\"is deployment\"", ""},
};
#define WANTED (sizeof wanted / sizeof *wanted)

static int ask_words(void *arg)
{
    struct store store;
    char found[FOUND_SIZE];
    int wrong = 0;
    store_open(&store, arg);
    if (!store_create(&store, "words"))
        return 99;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        wrong += !store_append(&store, "words", texts[i]);
    for (size_t i = 0; i < WANTED; i++) {
        store_search(&store, wanted[i].typed, found);
        if (strcmp(found, wanted[i].found) != 0)
            proof_note("%s finds %s", wanted[i].typed, found);
        wrong += strcmp(found, wanted[i].found) != 0;
    }
    store_close(&store);
    return wrong;
}

/* What the same words find when they are given to FTS5 as they are. */
static unsigned ask_plainly(const struct home *home)
{
    sqlite3 *database = database_open(home);
    unsigned wrong = 0;
    for (size_t i = 0; i < WANTED; i++) {
        sqlite3_stmt *statement;
        sqlite3_prepare_v2(database,
                           "SELECT m.content FROM messages_fts f JOIN messages m ON m.rowid=f.rowid"
                           " WHERE messages_fts MATCH ?1",
                           -1, &statement, NULL);
        sqlite3_bind_text(statement, 1, wanted[i].typed, -1, SQLITE_STATIC);
        int result = sqlite3_step(statement);
        wrong += result != (*wanted[i].found ? SQLITE_ROW : SQLITE_DONE);
        sqlite3_finalize(statement);
    }
    sqlite3_close(database);
    return wrong;
}

static void prove_words(void)
{
    struct home home;
    place_make(&home, PLACE_DISK);
    int wrong = child_run(ask_words, &home);
    bool quoted = ASK(&home, "\"AND (\\\"", "search", "\"AND (", "--json") &&
                  ASK(&home, NULL, "search", "\"", "--json") &&
                  ASK(&home, "日本語テキスト", "search", "日本", "--json");
    proof_say(wrong == 0 && quoted,
              "sessions: %zu ways to type what is wanted: %d found otherwise; through the program "
              "%s",
              WANTED, wrong, quoted ? "the same" : "OTHERWISE");
    unsigned plainly = ask_plainly(&home);
    proof_say(plainly > 0, "sessions: control: given to FTS5 as typed, %u of %zu fail", plainly,
              WANTED);
    place_remove(&home);
}

int main(int argc, char **argv)
{
    proof_begin(argc, argv);
    if (proof_part("foreign"))
        prove_foreign();
    if (proof_part("together"))
        prove_together();
    if (proof_part("killed"))
        prove_killed();
    if (proof_part("pages"))
        prove_pages();
    if (proof_part("words"))
        prove_words();
    return proof_end();
}
