/*
 * subjects.h: the same tests over every session store: SQLite, and PostgreSQL where there is a
 * server to start.
 *
 * Each test has a schema of its own on one server. Views in it have the names and columns of the
 * memory format, so that raw SQL reads alike.
 */
#ifndef TESTS_SESSION_SUBJECTS_H
#define TESTS_SESSION_SUBJECTS_H

#include "../modules/postgres.h"
#include "world.h"

static struct pg_server subject_server;

static inline int subject_open(struct world *w, struct ethos_sessions **out_sessions)
{
    static unsigned made;
    if (!*w->schema)
        snprintf(w->schema, sizeof w->schema, "world%u", ++made);
    const struct ethos_setting settings[] = {{"url", subject_server.url}, {"schema", w->schema}};
    const struct ethos_setup setup = {
        .host = &w->host, .settings = settings, .setting_count = 2, .deadline_ms = 60000};
    return pg_module()->sessions->open(&setup, out_sessions, &w->error);
}

static inline void subject_say(struct world *w, const char *sql, char *out, size_t size)
{
    size_t room = strlen(sql) + 96;
    char *whole = malloc(room);
    assert_non_null(whole);
    snprintf(whole, room, "SET search_path TO %s; %s", w->schema, sql);
    if (!pg_server_say(&subject_server, whole, out, size))
        fail_msg("%s", sql);
    free(whole);
}

static inline void subject_run(struct world *w, const char *sql)
{
    subject_say(w, sql, NULL, 0);
}

static inline char *subject_query(struct world *w, const char *sql)
{
    char *out = malloc(65536);
    assert_non_null(out);
    subject_say(w, sql, out, 65536);
    return out;
}

static inline void subject_prepare(struct world *w)
{
    struct ethos_error error;
    char cursor[ETHOS_CURSOR_SIZE];
    assert_int_equal(w->ops->list(w->sessions, &(struct ethos_session_query){0}, ignore_session,
                                  NULL, cursor, &error),
                     ETHOS_OK);
    subject_run(
        w, "CREATE VIEW sessions AS SELECT number AS rowid, id, key, platform, model, provider,"
           " title, input_tokens, output_tokens, cache_read_tokens, cache_creation_tokens,"
           " estimated_cost_usd, api_call_count, compaction_count, created_at, updated_at,"
           " turn_count, last_compaction_turn, pinned::int AS pinned, key_folded FROM session;"
           "CREATE VIEW messages AS SELECT number AS rowid, id, session_id, role, content,"
           " timestamp, deleted_at, terms FROM message");
}

static inline void subject_drop(struct world *w)
{
    char sql[96];
    snprintf(sql, sizeof sql, "DROP SCHEMA %s CASCADE", w->schema);
    pg_server_say(&subject_server, sql, NULL, 0);
}

static const struct subject subject_postgres = {
    "postgres", subject_open, subject_prepare, subject_run, subject_query, subject_drop,
};

/* Tests of every store, and those of SQLite alone; the tests that failed. */
static inline int subjects_run(const struct CMUnitTest *all, size_t all_count,
                               const struct CMUnitTest *sqlite, size_t sqlite_count)
{
    int failed = _cmocka_run_group_tests("sqlite", all, all_count, NULL, NULL);
    if (sqlite_count)
        failed += _cmocka_run_group_tests("sqlite alone", sqlite, sqlite_count, NULL, NULL);
    const char *missing = pg_server_missing();
    if (missing) {
        printf("ok # SKIP postgres: %s\n", missing);
        return failed;
    }
    pg_server_start(&subject_server);
    world_subject = &subject_postgres;
    failed += _cmocka_run_group_tests("postgres", all, all_count, NULL, NULL);
    pg_server_stop(&subject_server);
    return failed;
}

#define COUNT_OF(tests) (sizeof tests / sizeof *tests)

#endif
