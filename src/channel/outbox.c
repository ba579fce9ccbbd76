/*
 * outbox.c: what is sent.
 */
#include "channel/outbox.h"

#include <stdio.h>

#include "base/err.h"
#include "base/view.h"

#define MAX_OPEN 512 /* rows that are looked at in one step; later ones wait for these */

#define COLUMNS                                                                                    \
    "id,turn,part,adapter,chat,thread,coalesce(reply_to,''),direct,coalesce(text,''),"             \
    "coalesce(remote,''),final,sends_preview,attempts,not_before_ms,created_ms,state,"             \
    "shown IS NOT NULL AND shown IS text,coalesce(subject,''),coalesce(sent_ms,0)"

void outbox_row_release(struct outbox_row *self)
{
    str_release(&self->text);
}

static int read_outbox_row(sqlite3_stmt *statement, struct outbox_row *out,
                           struct ethos_error *error)
{
    *out = (struct outbox_row){.id = sqlite3_column_int64(statement, 0),
                               .part = sqlite3_column_int64(statement, 2),
                               .direct = sqlite3_column_int(statement, 7) != 0,
                               .final = sqlite3_column_int(statement, 10) != 0,
                               .sends_preview = sqlite3_column_int(statement, 11) != 0,
                               .attempts = sqlite3_column_int64(statement, 12),
                               .not_before_ms = sqlite3_column_int64(statement, 13),
                               .created_ms = sqlite3_column_int64(statement, 14),
                               .is_shown = sqlite3_column_int(statement, 16) != 0,
                               .sent_ms = sqlite3_column_int64(statement, 18)};
    channel_db_copy_text(statement, 1, out->turn, sizeof out->turn);
    channel_db_copy_text(statement, 3, out->adapter, sizeof out->adapter);
    channel_db_copy_text(statement, 4, out->chat, sizeof out->chat);
    channel_db_copy_text(statement, 5, out->thread, sizeof out->thread);
    channel_db_copy_text(statement, 6, out->reply_to, sizeof out->reply_to);
    channel_db_copy_text(statement, 9, out->remote, sizeof out->remote);
    channel_db_copy_text(statement, 17, out->subject, sizeof out->subject);
    channel_db_copy_text(statement, 15, out->state, sizeof out->state);
    str_init(&out->text, 2 * (size_t)CHANNEL_MAX_TEXT);
    str_adds(&out->text, channel_db_text(statement, 8));
    return str_code(&out->text) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

int outbox_add(struct channel_db *db, const struct outbox_entry *entry, struct ethos_error *error)
{
    return channel_db_run(
        db, NULL, error,
        "INSERT INTO outbox(turn,part,adapter,chat,thread,reply_to,direct,text,final,created_ms,"
        "state,subject) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,'queued',?11) ON CONFLICT(turn,part) "
        "DO UPDATE"
        " SET text=excluded.text,final=excluded.final WHERE final=0",
        "tittttiviit", entry->turn, entry->part, entry->adapter, entry->chat,
        entry->thread ? entry->thread : "", entry->reply_to, (int64_t)entry->direct, entry->text,
        (int64_t)entry->final, entry->now_ms, entry->subject);
}

int outbox_set_preview(struct channel_db *db, const char *turn, struct ethos_view text,
                       struct ethos_error *error)
{
    return channel_db_run(db, NULL, error,
                          "UPDATE outbox SET text=?2 WHERE turn=?1 AND part=1 AND final=0", "tv",
                          turn, text);
}

/* Finalises the statement. */
static int each_outbox_row(struct channel_db *db, int code, sqlite3_stmt *statement,
                           outbox_each_fn *each, void *arg, struct ethos_error *error)
{
    int result = code;
    while (result >= 0 && (result = channel_db_step(db, statement, error)) == SQLITE_ROW) {
        struct outbox_row row;
        code = read_outbox_row(statement, &row, error);
        if (code == ETHOS_OK)
            code = each(arg, &row);
        outbox_row_release(&row);
        if (code != ETHOS_OK) {
            result = code;
            break;
        }
    }
    sqlite3_finalize(statement);
    return result < 0 ? result : ETHOS_OK;
}

int outbox_each_open(struct channel_db *db, outbox_each_fn *each, void *arg,
                     struct ethos_error *error)
{
    sqlite3_stmt *statement = NULL;
    int code = channel_db_prepare(db, &statement, error,
                                  "SELECT " COLUMNS
                                  " FROM outbox WHERE state IN('queued','sending','live')"
                                  " ORDER BY id LIMIT ?1",
                                  "i", (int64_t)MAX_OPEN);
    return each_outbox_row(db, code, statement, each, arg, error);
}

int outbox_each_unsent(struct channel_db *db, int64_t since_ms, outbox_each_fn *each, void *arg,
                       struct ethos_error *error)
{
    sqlite3_stmt *statement = NULL;
    int code = channel_db_prepare(db, &statement, error,
                                  "SELECT " COLUMNS
                                  " FROM outbox WHERE state IN('unknown','failed')"
                                  " AND ended_ms>=?1 ORDER BY id LIMIT ?2",
                                  "ii", since_ms, (int64_t)MAX_OPEN);
    return each_outbox_row(db, code, statement, each, arg, error);
}

int outbox_read(struct channel_db *db, int64_t id, struct outbox_row *out,
                struct ethos_error *error)
{
    sqlite3_stmt *statement = NULL;
    int code = channel_db_prepare(db, &statement, error,
                                  "SELECT " COLUMNS " FROM outbox WHERE id=?1", "i", id);
    int result = code == ETHOS_OK ? channel_db_step(db, statement, error) : code;
    if (result == SQLITE_ROW) {
        code = read_outbox_row(statement, out, error);
        if (code != ETHOS_OK)
            outbox_row_release(out);
    } else if (result == SQLITE_DONE) {
        code = err_set(error, ETHOS_NOTFOUND, "no such message: %lld", (long long)id);
    }
    sqlite3_finalize(statement);
    return result < 0 ? result : code;
}

int outbox_set_sending(struct channel_db *db, const struct outbox_row *row, int64_t now_ms,
                       struct ethos_error *error)
{
    return channel_db_run(db, NULL, error,
                          "UPDATE outbox SET state='sending',sends_preview=?2,attempts=attempts+1,"
                          "sent_ms=coalesce(sent_ms,?3) WHERE id=?1",
                          "iii", row->id, (int64_t)!row->final, now_ms);
}

int outbox_set_doubtful(struct channel_db *db, int64_t id, int64_t not_before_ms,
                        struct ethos_error *error)
{
    return channel_db_run(db, NULL, error, "UPDATE outbox SET not_before_ms=?2 WHERE id=?1", "ii",
                          id, not_before_ms);
}

int outbox_send_anew(struct channel_db *db, int64_t id, int64_t not_before_ms,
                     struct ethos_error *error)
{
    return channel_db_run(db, NULL, error,
                          "UPDATE outbox SET state='queued',sent_ms=NULL,not_before_ms=?2"
                          " WHERE id=?1",
                          "ii", id, not_before_ms);
}

/* A preview stays live until its answer is final and shown. */
int outbox_set_shown(struct channel_db *db, int64_t id, struct ethos_view text, const char *remote,
                     int64_t now_ms, struct ethos_error *error)
{
    return channel_db_run(
        db, NULL, error,
        "UPDATE outbox SET remote=coalesce(?3,remote),"
        "state=CASE WHEN final AND text IS ?2 THEN 'sent' ELSE 'live' END,"
        "ended_ms=CASE WHEN final AND text IS ?2 THEN ?4 END,"
        "shown=CASE WHEN final AND text IS ?2 THEN NULL ELSE ?2 END,"
        "text=CASE WHEN final AND text IS ?2 THEN NULL ELSE text END,"
        "subject=CASE WHEN final AND text IS ?2 THEN NULL ELSE subject END WHERE id=?1",
        "ivti", id, text, remote && *remote ? remote : NULL, now_ms);
}

int outbox_postpone(struct channel_db *db, int64_t id, int64_t not_before_ms,
                    struct ethos_error *error)
{
    return channel_db_run(
        db, NULL, error,
        "UPDATE outbox SET not_before_ms=?2,"
        "state=CASE state WHEN 'sending' THEN 'queued' ELSE state END WHERE id=?1",
        "ii", id, not_before_ms);
}

int outbox_set_state(struct channel_db *db, int64_t id, const char *state, int64_t now_ms,
                     struct ethos_error *error)
{
    return channel_db_run(db, NULL, error, "UPDATE outbox SET state=?2,ended_ms=?3 WHERE id=?1",
                          "iti", id, state, now_ms);
}

int outbox_drop_preview(struct channel_db *db, int64_t id, struct ethos_error *error)
{
    int code = channel_db_run(db, NULL, error, "DELETE FROM outbox WHERE id=?1 AND final=0", "i",
                              id);
    return code == ETHOS_OK ? outbox_begin_anew(db, id, error) : code;
}

int outbox_begin_anew(struct channel_db *db, int64_t id, struct ethos_error *error)
{
    return channel_db_run(db, NULL, error,
                          "UPDATE outbox SET state='queued',remote=NULL,shown=NULL,sent_ms=NULL"
                          " WHERE id=?1",
                          "i", id);
}

int outbox_recover(struct channel_db *db, const char *adapter, bool probes, int64_t now_ms,
                   struct ethos_error *error)
{
    int code = channel_db_begin(db, error);
    if (code != ETHOS_OK)
        return code;
    code = channel_db_run(db, NULL, error,
                          "DELETE FROM outbox WHERE final=0 AND adapter=?1"
                          " AND state IN('queued','sending')",
                          "t", adapter);
    if (code == ETHOS_OK) // its answer was made meanwhile
        code = channel_db_run(db, NULL, error,
                              "UPDATE outbox SET state='queued',remote=NULL,shown=NULL,"
                              "sent_ms=NULL WHERE state='sending' AND sends_preview AND adapter=?1",
                              "t", adapter);
    if (code == ETHOS_OK && !probes)
        code = channel_db_run(db, NULL, error,
                              "UPDATE outbox SET state='unknown',ended_ms=?1"
                              " WHERE state='sending' AND adapter=?2",
                              "it", now_ms, adapter);
    return channel_db_end(db, code, error);
}

int outbox_rename_chat(struct channel_db *db, const char *adapter, const char *from, const char *to,
                       struct ethos_error *error)
{
    int code = channel_db_begin(db, error);
    if (code != ETHOS_OK)
        return code;
    code = channel_db_run(db, NULL, error,
                          "UPDATE outbox SET chat=?3 WHERE adapter=?1 AND chat=?2"
                          " AND state IN('queued','sending','live','unknown')",
                          "ttt", adapter, from, to);
    if (code == ETHOS_OK)
        code = channel_db_run(db, NULL, error,
                              "UPDATE inbox SET chat=?3 WHERE adapter=?1 AND chat=?2"
                              " AND state IN('new','running')",
                              "ttt", adapter, from, to);
    return channel_db_end(db, code, error);
}

int outbox_resend(struct channel_db *db, int64_t id, struct ethos_error *error)
{
    int64_t changed = 0;
    int code = channel_db_run(db, &changed, error,
                              "UPDATE outbox SET state='queued',not_before_ms=0,ended_ms=NULL,"
                              "sent_ms=NULL"
                              " WHERE id=?1 AND state IN('unknown','failed') AND text IS NOT NULL",
                              "i", id);
    if (code == ETHOS_OK && changed == 0) {
        code = err_set(error, ETHOS_NOTFOUND, "no unsent message: %lld", (long long)id);
        err_hint(error, code, "ethos gateway status lists them with their numbers");
    }
    return code;
}
