/*
 * search.c: searching 100,000 messages by hand and through the library, and what more of them cost.
 *
 * By hand: the full-text index that belongs to the database, ranked by bm25, the snippet made by
 * it, with message and session of each hit. The words of a message follow Zipf's law; "deployment"
 * is in every one of them, "migration" in every other, "quasar" in one of a thousand, 日本 in one
 * of a hundred.
 */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/str.h"
#include "base/system/log.h"
#include "base/view.h"
#include "bench.h"
#include "session/database.h"
#include "session/search/search.h"
#include "session/session.h"

#define HITS 20
#define WORDS 30 /* of a message */
#define VOCABULARY 30000
#define PER_SESSION 100
#define BATCH 20000 /* messages of one transaction that makes them */

static const char by_hand[] =
    "SELECT snippet(messages_fts,0,'[',']','...',32),m.*,s.* FROM messages_fts f"
    " JOIN messages m ON m.rowid=f.rowid JOIN sessions s ON s.id=m.session_id"
    " WHERE messages_fts MATCH ?1 AND m.deleted_at IS NULL ORDER BY bm25(messages_fts) LIMIT 20";

/* ---- making --------------------------------------------------------------------------------- */

static unsigned dice(uint64_t *seed, unsigned sides)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((*seed >> 33) % sides);
}

/* The first words of the vocabulary are the most frequent by far. */
static unsigned any_word(uint64_t *seed)
{
    unsigned span = 1u << (1 + dice(seed, 15));
    return dice(seed, span < VOCABULARY ? span : VOCABULARY);
}

static void put_word(struct str *text, unsigned number)
{
    uint64_t seed = number * UINT64_C(2654435761) + 7;
    for (unsigned left = 3 + dice(&seed, 6); left > 0; left--)
        str_addc(text, (char)('a' + dice(&seed, 26)));
    str_addc(text, ' ');
}

static void make_text(struct str *text, unsigned number, uint64_t *seed)
{
    str_clear(text);
    for (unsigned i = 0; i < WORDS; i++) {
        if (i == number % WORDS)
            str_adds(text, "deployment ");
        else if (i == 5 && number % 2)
            str_adds(text, "migration ");
        else if (i == 7 && number % 1000 == 7)
            str_adds(text, "quasar ");
        else if (i == 8 && number % 100 == 8)
            str_adds(text, "日本語 ");
        else
            put_word(text, any_word(seed));
    }
}

static void run_sql(const struct bench *bench, sqlite3 *connection, const char *sql)
{
    if (sqlite3_exec(connection, sql, NULL, NULL, NULL) != SQLITE_OK)
        bench_die(bench, sqlite3_errmsg(connection));
}

static void put_message(const struct bench *bench, sqlite3_stmt *statement, unsigned number,
                        const struct str *text)
{
    char id[40], session[40];
    snprintf(id, sizeof id, "%08x-0000-4000-8000-%012x", number * 2654435761u, number);
    snprintf(session, sizeof session, "s%06u", number / PER_SESSION);
    sqlite3_bind_text(statement, 1, id, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, session, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 3, text->data, (int)text->size, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 4, 1700000000 + number);
    if (sqlite3_step(statement) != SQLITE_DONE || sqlite3_reset(statement) != SQLITE_OK)
        bench_die(bench, "message");
}

static void put_messages(const struct bench *bench, sqlite3 *connection, unsigned count)
{
    static const char sql[] = "INSERT INTO messages(id,session_id,role,content,timestamp)"
                              " VALUES(?1,?2,iif(?4%2,'user','assistant'),?3,"
                              "strftime('%Y-%m-%dT%H:%M:%S.000Z',?4,'unixepoch'))";
    sqlite3_stmt *statement;
    struct str text;
    uint64_t seed = 1;
    str_init(&text, SIZE_MAX);
    if (sqlite3_prepare_v2(connection, sql, -1, &statement, NULL) != SQLITE_OK)
        bench_die(bench, sqlite3_errmsg(connection));
    for (unsigned i = 0; i < count; i++) {
        if (i % BATCH == 0)
            run_sql(bench, connection, "BEGIN");
        make_text(&text, i, &seed);
        put_message(bench, statement, i, &text);
        if (i % BATCH == BATCH - 1 || i == count - 1)
            run_sql(bench, connection, "COMMIT;PRAGMA wal_checkpoint(TRUNCATE)");
    }
    sqlite3_finalize(statement);
    str_release(&text);
}

static void put_sessions(const struct bench *bench, sqlite3 *connection, unsigned count)
{
    char sql[512];
    snprintf(
        sql, sizeof sql,
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<%u)"
        "INSERT INTO sessions(id,key,platform,model,provider,working_dir,created_at,updated_at)"
        " SELECT printf('s%%06d',i),printf('cli:%%d',i),'cli','','',printf('/d%%d',i%%100),"
        "'2026-01-01T00:00:00.000Z','2026-01-01T00:00:00.000Z' FROM n",
        count / PER_SESSION);
    run_sql(bench, connection, sql);
}

/* A store whose schema our library made, filled by hand; with the index by hand when that is asked.
 */
static struct ethos_sessions *make_store(const struct bench *bench, const char *name,
                                         unsigned count, bool with_index)
{
    struct ethos_sessions *sessions;
    struct ethos_error error;
    char path[PATH_MAX], file[PATH_MAX], id[ETHOS_UUID_SIZE];
    snprintf(path, sizeof path, "%s/%s", bench->root, name);
    snprintf(file, sizeof file, "%.*s/sessions.db", PATH_MAX - 20, path);
    const struct ethos_setup setup = {.host = &log_default_host, .root = path};
    const struct ethos_session session = {.key = "first", .platform = "cli"};
    if (mkdir(path, 0700) != 0)
        bench_die(bench, path);
    if (sessions_sqlite.open(&setup, &sessions, &error) != ETHOS_OK ||
        sessions_sqlite.create(sessions, &session, id, &error) != ETHOS_OK)
        bench_die_of(bench, &error);
    sqlite3 *connection = db_of(sessions)->connection;
    run_sql(bench, connection, with_index ? "" : "DROP TRIGGER messages_ai");
    put_sessions(bench, connection, count);
    put_messages(bench, connection, count);
    return sessions;
}

/* ---- searching ------------------------------------------------------------------------------ */

static const char *const queries[SEARCHES] = {
    [SEARCH_RARE] = "quasar",
    [SEARCH_COMMON] = "deployment",
};

static struct ethos_sessions *store_of(struct bench *bench)
{
    if (!bench->searched)
        bench->searched = make_store(bench, "searched", 100000, true);
    return bench->searched;
}

static int count_hit(void *arg, const struct ethos_hit *hit)
{
    *(unsigned *)arg += hit->snippet.size > 0;
    return 0;
}

/* How many hits there are. */
static unsigned search(const struct bench *bench, struct ethos_sessions *sessions,
                       const struct ethos_search *asked)
{
    unsigned hits = 0;
    struct ethos_error error;
    if (sessions_sqlite.search(sessions, asked, count_hit, &hits, &error) != ETHOS_OK)
        bench_die_of(bench, &error);
    return hits;
}

void search_stored(struct bench *bench, int arg, unsigned count)
{
    const struct ethos_search asked = {.text = view_str(queries[arg])};
    for (unsigned i = 0; i < count; i++) {
        if (search(bench, store_of(bench), &asked) != HITS)
            bench_die(bench, "search");
    }
}

static void ask_by_hand(const struct bench *bench, sqlite3_stmt *statement, const char *query)
{
    unsigned hits = 0;
    sqlite3_bind_text(statement, 1, query, -1, SQLITE_STATIC);
    while (sqlite3_step(statement) == SQLITE_ROW)
        hits += sqlite3_column_bytes(statement, 0) > 0;
    if (sqlite3_reset(statement) != SQLITE_OK || hits == 0 || hits > HITS)
        bench_die(bench, "search by hand");
}

void search_by_hand(struct bench *bench, int arg, unsigned count)
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(db_of(store_of(bench))->connection, by_hand, -1, &statement, NULL) !=
        SQLITE_OK)
        bench_die(bench, "prepare");
    for (unsigned i = 0; i < count; i++)
        ask_by_hand(bench, statement, queries[arg]);
    sqlite3_finalize(statement);
}

void searched_close(struct bench *bench)
{
    if (bench->searched)
        sessions_sqlite.close(bench->searched);
    bench->searched = NULL;
}

/* ---- growth --------------------------------------------------------------------------------- */

#define NEWEST                                                                                     \
    "SELECT rowid FROM (SELECT rowid,bm25(messages_fts) AS fit FROM messages_fts"                  \
    " WHERE messages_fts MATCH ?1 ORDER BY rowid DESC LIMIT 2000) ORDER BY fit LIMIT 20"

/* What one would try with FTS5 alone. */
static const struct {
    const char *name, *sql, *query;
} plain[] = {
    {"rare", by_hand, "quasar"},
    {"common", by_hand, "deployment"},
    {"common, newest 2,000", NEWEST, "deployment"},
    {"start of it, newest 2,000", NEWEST, "deplo*"},
    {"letter, newest 2,000", NEWEST, "d*"},
};
#define PLAIN (sizeof plain / sizeof *plain)

static const struct {
    const char *name;
    struct ethos_search search;
} ours[] = {
    {"rare", {.text = VIEW("quasar")}},
    {"common", {.text = VIEW("deployment")}},
    {"start of it", {.text = VIEW("deplo")}},
    {"letter", {.text = VIEW("d")}},
    {"two common", {.text = VIEW("deployment migration")}},
    {"phrase that nobody wrote", {.text = VIEW("\"deployment migration\"")}},
    {"pair", {.text = VIEW("\xE6\x97\xA5\xE6\x9C\xAC")}},
    {"newest", {.text = VIEW("deployment"), .newest = 1}},
    {"session", {.text = VIEW("deployment"), .session = "s000003"}},
    {"role", {.text = VIEW("deployment"), .role = "user"}},
    {"directory", {.text = VIEW("deployment"), .working_dir = "/d3"}},
    {"until", {.text = VIEW("deployment"), .until = "2023-11-14T22:20:00Z"}},
};
#define OURS (sizeof ours / sizeof *ours)

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Prints the milliseconds of the fastest of five. */
static void print_fastest(const struct bench *bench, struct ethos_sessions *sessions,
                          const struct ethos_search *asked)
{
    double best = 1e9;
    for (int i = 0; i < 5; i++) {
        double start = now();
        search(bench, sessions, asked);
        double took = (now() - start) * 1e3;
        best = took < best ? took : best;
    }
    printf(" %.2f |", best);
}

static void print_plain(const struct bench *bench, struct ethos_sessions *sessions, size_t i)
{
    sqlite3_stmt *statement;
    double best = 1e9;
    if (sqlite3_prepare_v2(db_of(sessions)->connection, plain[i].sql, -1, &statement, NULL) !=
        SQLITE_OK)
        bench_die(bench, "prepare");
    for (int n = 0; n < 3; n++) {
        double start = now();
        ask_by_hand(bench, statement, plain[i].query);
        double took = (now() - start) * 1e3;
        best = took < best ? took : best;
    }
    sqlite3_finalize(statement);
    printf(" %.2f |", best);
}

/* Of a database and its log. */
static double megabytes(const struct bench *bench, const char *name, const char *file)
{
    static const char *const suffixes[] = {"", "-wal"};
    double sum = 0;
    for (size_t i = 0; i < 2; i++) {
        char path[PATH_MAX];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s/%s%s", bench->root, name, file, suffixes[i]);
        if (stat(path, &st) == 0)
            sum += (double)st.st_size / 1e6;
    }
    return sum;
}

static void print_heads(void)
{
    printf("| messages | database MB | index MB | index s |");
    for (size_t i = 0; i < OURS; i++)
        printf(" %s |", ours[i].name);
    for (size_t i = 0; i < PLAIN; i++)
        printf(" FTS5: %s |", plain[i].name);
    printf("\n|---|---|---|---|");
    for (size_t i = 0; i < OURS + PLAIN; i++)
        printf("---|");
    printf("\n");
}

static void print_size(struct bench *bench, unsigned count)
{
    char name[32];
    struct ethos_error error;
    snprintf(name, sizeof name, "growth-%u", count);
    struct ethos_sessions *sessions = make_store(bench, name, count, false);
    double start = now();
    if (search_catch_up(db_of(sessions), &error) != ETHOS_OK)
        bench_die_of(bench, &error);
    printf("| %u | %.0f | %.0f | %.1f |", count, megabytes(bench, name, "sessions.db"),
           megabytes(bench, name, "sessions-search.db"), now() - start);
    for (size_t i = 0; i < OURS; i++)
        print_fastest(bench, sessions, &ours[i].search);
    run_sql(bench, db_of(sessions)->connection, DB_REBUILD_INDEX);
    for (size_t i = 0; i < PLAIN; i++)
        print_plain(bench, sessions, i);
    printf("\n");
    fflush(stdout);
    sessions_sqlite.close(sessions);
}

void search_growth(struct bench *bench)
{
    static const unsigned sizes[] = {10000, 100000, 1000000};
    print_heads();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        print_size(bench, sizes[i]);
}
