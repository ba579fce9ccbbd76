/*
 * check.c: what is wrong with the conversations, for whoever asks the doctor.
 *
 * Only reads, and keeps nobody waiting, unless to mend: what is derived from the messages is made anew,
 * they themselves are never touched. Memory does not grow with what there is to look at.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "core/sessions/check.h"
#include "session/operations.h"
#include "session/schema.h"
#include "session/search/fulltext.h"
#include "session/search/index.h"
#include "session/search/search.h"

struct database_check {
    struct db *db;
    bool fix;
    bool damaged; /* so that there is no use in looking further */
    ethos_finding_fn *each;
    void *arg;
};

static void report_database_finding(const struct database_check *check,
                                    enum ethos_severity severity, const char *subject,
                                    const char *problem, const char *remedy)
{
    session_finding(check->each, check->arg, severity, subject, problem, remedy);
}

typedef void row_fn(struct database_check *check, sqlite3_stmt *row);

static int each_row(struct database_check *check, const char *sql, row_fn *each,
                    struct ethos_error *error)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(check->db->connection, sql, -1, &statement, NULL) != SQLITE_OK)
        return db_fail(check->db, "check it", error);
    int code;
    while ((code = db_step(check->db, statement, "check it", error)) == SQLITE_ROW)
        each(check, statement);
    sqlite3_finalize(statement);
    return code < 0 ? code : ETHOS_OK;
}

static const char *row_text(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    return text ? text : "";
}

/* ---- the database ---------------------------------------------------------------------------- */

/* What writing needs besides: without it, every append fails. */
static int check_lock(struct database_check *check, struct ethos_error *error)
{
    struct ethos_error why = {0};
    (void)error;
    if (!check->db->read_only && db_check_lock(check->db, &why) != ETHOS_OK)
        report_database_finding(check, ETHOS_FINDING_ERROR, DB_LOCK, why.text,
                                "move it away; it is created when needed");
    return ETHOS_OK;
}

/* Every statement must fit. What an older program did not know is made by the next write. */
static int check_statements(struct database_check *check, struct ethos_error *error)
{
    sqlite3_stmt *statement;
    enum schema_state schema = check->db->schema;
    int code = ETHOS_OK;
    if (schema == SCHEMA_OLD)
        return ETHOS_OK;
    if (schema != SCHEMA_WHOLE) {
        check->damaged = true;
        report_database_finding(check, ETHOS_FINDING_WARNING, DB_FILE,
                                "parts of the schema are missing", "the next write creates them");
        return ETHOS_OK;
    }
    int keys = keys_present(check->db, "api_keys", error);
    int browsers = keys < 0 ? keys : keys_present(check->db, "browsers", error);
    for (int i = 0; code == ETHOS_OK && browsers >= 0 && i < DB_STATEMENTS; i++)
        if (i < DB_KEYS || i > DB_USE_BROWSER || (i <= DB_USE_KEY ? keys : browsers))
            code = db_prepare(check->db, (enum db_statement)i, &statement, error);
    return browsers < 0 ? browsers : code;
}

static void report_page(struct database_check *check, sqlite3_stmt *row)
{
    if (strcmp(row_text(row, 0), "ok") == 0)
        return;
    check->damaged = true;
    report_database_finding(check, ETHOS_FINDING_ERROR, DB_FILE, row_text(row, 0),
                            "keep a copy, then try: sqlite3 " DB_FILE " .recover");
}

static int check_pages(struct database_check *check, struct ethos_error *error)
{
    char sql[64];
    snprintf(sql, sizeof sql, "PRAGMA quick_check(%d)", SESSION_CHECK_SHOWN);
    return each_row(check, sql, report_page, error);
}

static void report_orphans(struct database_check *check, sqlite3_stmt *row)
{
    char problem[200];
    snprintf(problem, sizeof problem,
             "%" PRId64 " rows in %.80s refer to rows that no longer exist",
             (int64_t)sqlite3_column_int64(row, 1), row_text(row, 0));
    report_database_finding(check, ETHOS_FINDING_WARNING, DB_FILE, problem,
                            "nothing shows them; to see which: sqlite3 " DB_FILE
                            " 'PRAGMA foreign_key_check'");
}

static int check_links(struct database_check *check, struct ethos_error *error)
{
    return each_row(check, "SELECT \"table\",count(*) FROM pragma_foreign_key_check GROUP BY 1",
                    report_orphans, error);
}

static int check_fulltext(struct database_check *check, struct ethos_error *error)
{
    bool agrees = false, mended = false;
    int code = fulltext_agrees(check->db, &agrees, error);
    if (code != ETHOS_OK || agrees)
        return code;
    if (check->fix && !check->db->read_only) {
        code = fulltext_rebuild(check->db, error);
        if (code == ETHOS_OK)
            code = fulltext_agrees(check->db, &mended, error);
    }
    report_database_finding(check, mended ? ETHOS_FINDING_FIXED : ETHOS_FINDING_WARNING, DB_FILE,
                            "its full-text index messages_fts does not match the messages",
                            mended ? "made anew" : "ethos doctor --fix rebuilds it");
    return code;
}

/* ---- sequences ------------------------------------------------------------------------------- */

static int check_message_order(struct session_check *sequence, sqlite3_stmt *row,
                               struct ethos_error *error)
{
    const struct ethos_message message = {.role = row_text(row, 1),
                                          .content = VIEW(""),
                                          .tool_call_id = (const char *)sqlite3_column_text(row, 2),
                                          .tool_calls = (const char *)sqlite3_column_text(row, 3)};
    return session_check_take(sequence, row_text(row, 0), &message, error);
}

static int check_sequences(struct database_check *check, struct ethos_error *error)
{
    struct session_check sequence;
    sqlite3_stmt *statement;
    int code = db_prepare(check->db, DB_SEQUENCES, &statement, error);
    if (code != ETHOS_OK)
        return code;
    session_check_begin(&sequence, check->each, check->arg);
    while ((code = db_step(check->db, statement, "read messages", error)) == SQLITE_ROW) {
        if ((code = check_message_order(&sequence, statement, error)) != ETHOS_OK)
            break;
    }
    sqlite3_reset(statement);
    session_check_end(&sequence, code >= 0);
    return code < 0 ? code : ETHOS_OK;
}

/* ---- searching ------------------------------------------------------------------------------- */

static int check_search(struct database_check *check, struct ethos_error *error)
{
    struct search_state state;
    char problem[120];
    bool mended = false;
    int code = search_check(check->db, check->fix, &state, error);
    if (!state.damaged && state.edited == 0)
        return code;
    if (state.damaged)
        snprintf(problem, sizeof problem, "is damaged; the next search rebuilds it");
    else
        snprintf(problem, sizeof problem,
                 "%" PRIu64 " message%s edited since: searches may miss %s", state.edited,
                 state.edited == 1 ? " was" : "s were", state.edited == 1 ? "it" : "them");
    mended = check->fix && code == ETHOS_OK;
    report_database_finding(check, mended ? ETHOS_FINDING_FIXED : ETHOS_FINDING_WARNING, INDEX_FILE,
                            problem, mended ? "put right" : "ethos doctor --fix repairs it");
    return code;
}

/* ---- all of it ------------------------------------------------------------------------------- */

typedef int step_fn(struct database_check *check, struct ethos_error *error);

static int run_steps(struct database_check *check, struct ethos_error *error)
{
    static step_fn *const steps[] = {check_lock,     check_statements, check_pages, check_links,
                                     check_fulltext, check_sequences,  check_search};
    int code = ETHOS_OK;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (code == ETHOS_OK && !check->damaged)
            code = steps[i](check, error);
    }
    return code;
}

/* What keeps it from looking on is a finding, too; only for lack of memory it fails. */
int sessions_check(struct ethos_sessions *sessions, int fix, ethos_finding_fn *each, void *arg,
                   struct ethos_error *error)
{
    struct database_check check = {
        .db = db_of(sessions), .fix = fix != 0, .each = each, .arg = arg};
    struct ethos_error why = {0};
    int code = db_ready(check.db, false, &why);
    if (code == ETHOS_NOTFOUND)
        return ETHOS_OK; // nobody said anything yet
    if (code == ETHOS_OK)
        code = run_steps(&check, &why);
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    if (code != ETHOS_OK)
        report_database_finding(&check, ETHOS_FINDING_ERROR, DB_FILE, why.text,
                                *why.hint ? why.hint : NULL);
    return ETHOS_OK;
}
