/*
 * sessions.c: messages appended and sessions listed, by hand and through the session store.
 *
 * By hand means the same SQL on an own connection with the same settings. A talk is a database with so
 * many sessions and messages; it is made when it is first asked for, that is while warming up.
 */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/log.h"
#include "base/system/uuid.h"
#include "base/view.h"
#include "bench.h"
#include "session/rows.h"
#include "session/session.h"

#define TEXT "The queue moved; its new address is in the deployment notes, and the old one answers."
#define PAGE 50

static const struct {
    const char *name;
    unsigned sessions, messages;
} talks[TALKS] = {
    [TALK_HAND] = {"talk-hand", 10, 1000},         [TALK_1000] = {"talk-1000", 10, 1000},
    [TALK_100000] = {"talk-100000", 1000, 100000}, [TALK_MILLION] = {"talk-million", 1000, 1000000},
    [TALK_MANY] = {"talk-many", 10000, 10000},
};

enum { HAND_BEGIN, HAND_LAST, HAND_INSERT, HAND_RAISE, HAND_COMMIT, HAND_LIST };

static const char *const by_hand[HAND_STATEMENTS] = {
    [HAND_BEGIN] = "BEGIN IMMEDIATE",
    [HAND_LAST] = "SELECT timestamp FROM messages WHERE session_id=?1 ORDER BY timestamp DESC,"
                  "rowid DESC LIMIT 1",
    [HAND_INSERT] = "INSERT INTO messages(id,session_id,role,content,timestamp)"
                    " VALUES(?1,?2,'user',?3,strftime('%Y-%m-%dT%H:%M:%fZ','now'))",
    [HAND_RAISE] = "UPDATE sessions SET updated_at=strftime('%Y-%m-%dT%H:%M:%fZ','now')"
                   " WHERE id=?1",
    [HAND_COMMIT] = "COMMIT",
    [HAND_LIST] = "SELECT * FROM sessions ORDER BY pinned DESC,updated_at DESC,rowid DESC LIMIT ?1",
};

/* ---- making ---------------------------------------------------------------------------------- */

static void run_sql(const struct bench *bench, sqlite3 *connection, const char *sql)
{
    if (sqlite3_exec(connection, sql, NULL, NULL, NULL) != SQLITE_OK)
        bench_die(bench, sqlite3_errmsg(connection));
}

static void fill(const struct bench *bench, sqlite3 *connection, unsigned sessions,
                 unsigned messages)
{
    char sql[900];
    snprintf(sql, sizeof sql,
             "BEGIN;WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n LIMIT %u)"
             " INSERT INTO sessions(id,key,platform,model,provider,created_at,updated_at)"
             " SELECT 's'||i,'cli:'||i,'cli','','','2026-01-01T00:00:00.000Z',"
             " strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ','2026-01-02',(i*7919%%10007)||' seconds')"
             " FROM n;WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n LIMIT %u)"
             " INSERT INTO messages(id,session_id,role,content,timestamp)"
             " SELECT lower(hex(randomblob(16))),'s'||(i%%%u),'user',i||' " TEXT "',"
             " strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ','2026-01-02',i||' seconds') FROM n;COMMIT;"
             "PRAGMA wal_checkpoint(TRUNCATE)",
             sessions, messages, sessions);
    run_sql(bench, connection, sql);
}

static void connect(const struct bench *bench, struct bench_talk *talk, const char *path)
{
    char file[PATH_MAX + 16];
    snprintf(file, sizeof file, "%s/sessions.db", path);
    if (sqlite3_open_v2(file, &talk->hand, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK)
        bench_die(bench, file);
    run_sql(bench, talk->hand, "PRAGMA synchronous=FULL;PRAGMA foreign_keys=ON");
    for (int i = 0; i < HAND_STATEMENTS; i++) {
        if (sqlite3_prepare_v3(talk->hand, by_hand[i], -1, SQLITE_PREPARE_PERSISTENT,
                               &talk->statements[i], NULL) != SQLITE_OK)
            bench_die(bench, sqlite3_errmsg(talk->hand));
    }
}

static struct bench_talk *talk_of(struct bench *bench, int which)
{
    struct bench_talk *talk = &bench->talks[which];
    struct ethos_error error;
    char path[PATH_MAX], id[ETHOS_UUID_SIZE];
    if (talk->sessions)
        return talk;
    snprintf(path, sizeof path, "%s/%s", bench->root, talks[which].name);
    const struct ethos_setup setup = {.host = &log_default_host, .root = path};
    const struct ethos_session session = {.key = "first", .platform = "cli"};
    if (sessions_sqlite.open(&setup, &talk->sessions, &error) != ETHOS_OK ||
        sessions_sqlite.create(talk->sessions, &session, id, &error) != ETHOS_OK)
        bench_die_of(bench, &error);
    connect(bench, talk, path);
    fill(bench, talk->hand, talks[which].sessions, talks[which].messages);
    return talk;
}

void talks_close(struct bench *bench)
{
    for (int i = 0; i < TALKS; i++) {
        struct bench_talk *talk = &bench->talks[i];
        for (int k = 0; k < HAND_STATEMENTS; k++)
            sqlite3_finalize(talk->statements[k]);
        sqlite3_close(talk->hand);
        if (talk->sessions)
            sessions_sqlite.close(talk->sessions);
    }
}

/* ---- append ---------------------------------------------------------------------------------- */

static void step(const struct bench *bench, struct bench_talk *talk, int which)
{
    int result = sqlite3_step(talk->statements[which]);
    if ((result != SQLITE_DONE && result != SQLITE_ROW) ||
        sqlite3_reset(talk->statements[which]) != SQLITE_OK)
        bench_die(bench, sqlite3_errmsg(talk->hand));
}

/* A different session each time, as with many conversations. */
static const char *next_session(struct bench_talk *talk, int arg, char out[16])
{
    snprintf(out, 16, "s%u", talk->appended++ * 7919 % talks[arg].sessions);
    return out;
}

void append_by_hand(struct bench *bench, int arg, unsigned count)
{
    struct bench_talk *talk = talk_of(bench, arg);
    sqlite3_stmt **statements = talk->statements;
    for (unsigned i = 0; i < count; i++) {
        char session[16], id[ETHOS_UUID_SIZE];
        next_session(talk, arg, session);
        if (uuid_make(id) != 0)
            bench_die(bench, "random");
        sqlite3_bind_text(statements[HAND_LAST], 1, session, -1, SQLITE_STATIC);
        sqlite3_bind_text(statements[HAND_INSERT], 1, id, -1, SQLITE_STATIC);
        sqlite3_bind_text(statements[HAND_INSERT], 2, session, -1, SQLITE_STATIC);
        sqlite3_bind_text(statements[HAND_INSERT], 3, TEXT, -1, SQLITE_STATIC);
        sqlite3_bind_text(statements[HAND_RAISE], 1, session, -1, SQLITE_STATIC);
        for (int which = HAND_BEGIN; which <= HAND_COMMIT; which++)
            step(bench, talk, which);
    }
}

void append_stored(struct bench *bench, int arg, unsigned count)
{
    struct bench_talk *talk = talk_of(bench, arg);
    const struct ethos_message message = {.role = "user", .content = VIEW(TEXT)};
    struct ethos_error error;
    for (unsigned i = 0; i < count; i++) {
        char session[16];
        if (sessions_sqlite.append(talk->sessions, next_session(talk, arg, session), &message, 1, 0,
                                   &error) != ETHOS_OK)
            bench_die_of(bench, &error);
    }
}

/* ---- list ------------------------------------------------------------------------------------ */

static int read_session(void *arg, const struct ethos_session *session)
{
    *(size_t *)arg += strlen(session->id) > 0;
    return 0;
}

void list_by_hand(struct bench *bench, int arg, unsigned count)
{
    struct bench_talk *talk = talk_of(bench, arg);
    sqlite3_stmt *list = talk->statements[HAND_LIST];
    for (unsigned i = 0; i < count; i++) {
        size_t rows = 0;
        sqlite3_bind_int(list, 1, PAGE);
        for (; sqlite3_step(list) == SQLITE_ROW; rows++) {
            for (int k = 0; k < sqlite3_column_count(list); k++)
                sqlite3_column_text(list, k);
        }
        if (sqlite3_reset(list) != SQLITE_OK || rows != PAGE)
            bench_die(bench, "list");
    }
}

void list_stored(struct bench *bench, int arg, unsigned count)
{
    struct bench_talk *talk = talk_of(bench, arg);
    struct ethos_session_query query = {.limit = PAGE};
    struct ethos_error error;
    char cursor[ETHOS_CURSOR_SIZE];
    for (unsigned i = 0; i < count; i++) {
        size_t rows = 0;
        if (sessions_sqlite.list(talk->sessions, &query, read_session, &rows, cursor, &error) !=
            ETHOS_OK)
            bench_die_of(bench, &error);
        if (rows != PAGE || !cursor[0])
            bench_die(bench, "list");
    }
}
