/*
 * world.h: what the tests of the session store share: a store in a directory of its own, a second
 * connection that looks at the same rows without our code, calls shortened.
 *
 * The store is SQLite's, unless a subject says otherwise (subjects.h). Raw SQL names tables and columns as the
 * schema of the memory format does.
 */
#ifndef TESTS_SESSION_WORLD_H
#define TESTS_SESSION_WORLD_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include <ethos/provider.h>

#include "../support/temp.h"
#include "base/system/log.h"
#include "base/view.h"
#include "session/session.h"

struct world;

/* Another store than SQLite's. */
struct subject {
    const char *name;
    int (*open)(struct world *w, struct ethos_sessions **out_sessions);
    void (*prepare)(struct world *w); /* for raw SQL, when the store is open */
    void (*run)(struct world *w, const char *sql);
    char *(*query)(struct world *w, const char *sql); /* as raw_query */
    void (*drop)(struct world *w);
};

static const struct subject *world_subject; /* NULL: SQLite */

struct world {
    struct temp temp;
    const struct ethos_sessions_ops *ops;
    const struct subject *subject;
    char schema[32]; /* of the subject */
    struct ethos_host host;
    int64_t now; /* what the store takes for the time; 0: the real one */
    struct ethos_sessions *sessions;
    struct ethos_error error;
    char id[ETHOS_UUID_SIZE]; /* of the session made last */
};

static inline int64_t world_now(void *arg)
{
    struct world *w = arg;
    return w->now ? w->now : log_default_host.now_ms(NULL);
}

static inline void *world_resize(void *arg, void *block, size_t size)
{
    (void)arg;
    return log_default_host.resize(NULL, block, size);
}

static inline int world_open_with(struct world *w, uint32_t flags, uint32_t deadline_ms,
                                  const struct ethos_setting *settings, size_t count)
{
    struct ethos_setup setup = {.host = &w->host,
                                .root = w->temp.path,
                                .flags = flags,
                                .deadline_ms = deadline_ms,
                                .settings = settings,
                                .setting_count = count};
    w->ops = &sessions_sqlite;
    return w->ops->open(&setup, &w->sessions, &w->error);
}

/* One more store over the same rows. */
static inline void world_open_another(struct world *w, struct ethos_sessions **out_sessions)
{
    const struct ethos_setup setup = {.host = &w->host, .root = w->temp.path, .deadline_ms = 60000};
    int code = w->subject ? w->subject->open(w, out_sessions)
                          : sessions_sqlite.open(&setup, out_sessions, &w->error);
    if (code != ETHOS_OK)
        fail_msg("%s", w->error.text);
}

static inline void world_open(struct world *w)
{
    world_open_another(w, &w->sessions);
    w->ops = w->sessions->ops;
}

static inline void world_close(struct world *w)
{
    w->ops->close(w->sessions);
    w->sessions = NULL;
}

static inline void world_reopen(struct world *w)
{
    world_close(w);
    world_open(w);
}

static inline int world_setup(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    temp_make(&w->temp);
    w->host = log_default_host;
    w->host.arg = w;
    w->host.now_ms = world_now;
    w->host.resize = world_resize;
    w->subject = world_subject;
    world_open(w);
    if (w->subject)
        w->subject->prepare(w);
    *state = w;
    return 0;
}

static inline int world_teardown(void **state)
{
    struct world *w = *state;
    world_close(w);
    if (w->subject)
        w->subject->drop(w);
    temp_remove(&w->temp);
    free(w);
    return 0;
}

#define NOBODY 65534

/* Root may write everything: then the test goes on as nobody. */
static inline void become_ordinary(struct world *w)
{
    static const char *const names[] = {"", "/sessions.db", "/sessions.db-wal", "/sessions.db-shm",
                                        "/sessions.db-lock"};
    char path[160];
    for (size_t i = 0; geteuid() == 0 && i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s%s", w->temp.path, names[i]);
        assert_true(chown(path, NOBODY, NOBODY) == 0 || errno == ENOENT);
    }
    if (geteuid() == 0)
        assert_int_equal(seteuid(NOBODY), 0);
}

/* ---- calls, shortened ------------------------------------------------------------------------ */

static inline int do_create(struct world *w, const char *key)
{
    struct ethos_session session = {.key = key, .platform = "cli"};
    return w->ops->create(w->sessions, &session, w->id, &w->error);
}

static inline void make_session(struct world *w, const char *key)
{
    int code = do_create(w, key);
    if (code != ETHOS_OK)
        fail_msg("%s", w->error.text);
}

static inline int do_append(struct world *w, const char *role, const char *text)
{
    struct ethos_message message = {.role = role, .content = view_str(text)};
    return w->ops->append(w->sessions, w->id, &message, 1, 0, &w->error);
}

static inline void say(struct world *w, const char *role, const char *text)
{
    if (do_append(w, role, text) != ETHOS_OK)
        fail_msg("%s", w->error.text);
}

/* The contents of a session's messages, each ended by "|". */
struct said {
    char text[4096];
    char last_time[64];
    unsigned count;
};

static inline int hear(void *arg, const struct ethos_message *message)
{
    struct said *said = arg;
    size_t used = strlen(said->text);
    snprintf(said->text + used, sizeof said->text - used, "%.*s|", VIEW_ARG(message->content));
    assert_true(strcmp(message->timestamp, said->last_time) >= 0);
    snprintf(said->last_time, sizeof said->last_time, "%s", message->timestamp);
    said->count++;
    return 0;
}

static inline void assert_said(struct world *w, const char *id, unsigned last, const char *expected)
{
    struct said said = {{0}, {0}, 0};
    int code = w->ops->messages(w->sessions, id, last, hear, &said, &w->error);
    if (code != ETHOS_OK)
        fail_msg("%s", w->error.text);
    assert_string_equal(said.text, expected);
}

static inline int ignore_session(void *arg, const struct ethos_session *session)
{
    (void)arg;
    (void)session;
    return 0;
}

static inline int ignore_message(void *arg, const struct ethos_message *message)
{
    (void)arg;
    (void)message;
    return 0;
}

/* ---- the same file by other means ------------------------------------------------------------ */

static inline sqlite3 *raw_open(struct world *w)
{
    char path[128];
    sqlite3 *raw = NULL;
    snprintf(path, sizeof path, "%s/sessions.db", w->temp.path);
    assert_int_equal(sqlite3_open(path, &raw), SQLITE_OK);
    sqlite3_busy_timeout(raw, 10000);
    sqlite3_wal_autocheckpoint(raw, 0);
    sqlite3_db_config(raw, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return raw;
}

static inline void raw_run(struct world *w, const char *sql)
{
    if (w->subject) {
        w->subject->run(w, sql);
        return;
    }
    sqlite3 *raw = raw_open(w);
    char *message = NULL;
    if (sqlite3_exec(raw, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    sqlite3_close(raw);
}

/* All values that a query gives, separated by "|", rows by a line feed; free() it. */
static inline char *raw_query(struct world *w, const char *sql)
{
    if (w->subject)
        return w->subject->query(w, sql);
    sqlite3 *raw = raw_open(w);
    sqlite3_stmt *statement;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (sqlite3_prepare_v2(raw, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(raw));
    while (sqlite3_step(statement) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const char *value = (const char *)sqlite3_column_text(statement, i);
            fprintf(out, "%s%s", i ? "|" : "", value ? value : "NULL");
        }
        fputc('\n', out);
    }
    fclose(out);
    sqlite3_finalize(statement);
    sqlite3_close(raw);
    return text;
}

static inline void assert_query(struct world *w, const char *sql, const char *expected)
{
    char *text = raw_query(w, sql);
    assert_string_equal(text, expected);
    free(text);
}

static inline void no_words(void *arg, const struct ethos_finding *finding)
{
    (void)arg;
    assert_null(strstr(finding->problem, "words"));
}

/* The database is whole, and the full-text index says what the messages say. */
static inline void assert_sound(struct world *w)
{
    if (w->subject) {
        assert_int_equal(w->ops->check(w->sessions, 0, no_words, NULL, &w->error), ETHOS_OK);
        return;
    }
    assert_query(w, "PRAGMA integrity_check", "ok\n");
    assert_query(w, "PRAGMA foreign_key_check", "");
    raw_run(w, "INSERT INTO messages_fts(messages_fts,rank) VALUES('integrity-check',1)");
}

#endif
