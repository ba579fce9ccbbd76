/*
 * inbox.c: messages that were received.
 */
#include "channel/inbox.h"

#include <stdio.h>

#include "base/err.h"
#include "base/view.h"

#define MAX_RUNNING 64 /* rows that are noted at once */

#define COLUMNS                                                                                    \
    "id,adapter,chat,thread,msg,sender,name,role,state,turn,direct,time_ms,coalesce(text,''),"     \
    "coalesce(subject,'')"

void inbox_row_release(struct inbox_row *self)
{
    str_release(&self->text);
}

/* The row at which the statement stands. */
static int read_inbox_row(sqlite3_stmt *statement, struct inbox_row *out, struct ethos_error *error)
{
    *out = (struct inbox_row){.id = sqlite3_column_int64(statement, 0),
                              .direct = sqlite3_column_int(statement, 10) != 0,
                              .time_ms = sqlite3_column_int64(statement, 11)};
    channel_db_copy_text(statement, 1, out->adapter, sizeof out->adapter);
    channel_db_copy_text(statement, 2, out->chat, sizeof out->chat);
    channel_db_copy_text(statement, 3, out->thread, sizeof out->thread);
    channel_db_copy_text(statement, 4, out->msg, sizeof out->msg);
    channel_db_copy_text(statement, 5, out->sender, sizeof out->sender);
    channel_db_copy_text(statement, 6, out->name, sizeof out->name);
    channel_db_copy_text(statement, 7, out->role, sizeof out->role);
    channel_db_copy_text(statement, 8, out->state, sizeof out->state);
    channel_db_copy_text(statement, 9, out->turn, sizeof out->turn);
    str_init(&out->text, 2 * (size_t)CHANNEL_MAX_TEXT);
    str_adds(&out->text, channel_db_text(statement, 12));
    channel_db_copy_text(statement, 13, out->subject, sizeof out->subject);
    return str_code(&out->text) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

static int read_one_row(struct channel_db *db, sqlite3_stmt *statement, struct inbox_row *out,
                        struct ethos_error *error)
{
    int result = channel_db_step(db, statement, error);
    int code = result == SQLITE_ROW    ? read_inbox_row(statement, out, error)
               : result == SQLITE_DONE ? err_set(error, ETHOS_NOTFOUND, "no such message")
                                       : result;
    if (result == SQLITE_ROW && code != ETHOS_OK)
        inbox_row_release(out);
    sqlite3_finalize(statement);
    return code;
}

int inbox_find(struct channel_db *db, const char *adapter, const char *chat, const char *msg,
               char out_state[16], struct ethos_error *error)
{
    sqlite3_stmt *statement = NULL;
    int code = channel_db_prepare(db, &statement, error,
                                  "SELECT state FROM inbox WHERE adapter=?1 AND chat=?2 AND msg=?3",
                                  "ttt", adapter, chat, msg);
    int result = code == ETHOS_OK ? channel_db_step(db, statement, error) : code;
    *out_state = '\0';
    if (result == SQLITE_ROW)
        channel_db_copy_text(statement, 0, out_state, 16);
    sqlite3_finalize(statement);
    return result < 0 ? result : ETHOS_OK;
}

int inbox_add(struct channel_db *db, const struct inbox_entry *entry, struct ethos_error *error)
{
    const struct channel_message *message = entry->message;
    return channel_db_run(
        db, NULL, error,
        "INSERT INTO inbox(adapter,chat,msg,thread,sender,name,direct,role,text,time_ms,"
        "received_ms,turn,state,subject) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14)",
        "ttttttitviittt", entry->adapter, message->chat, message->msg,
        message->thread ? message->thread : "", message->sender ? message->sender : "",
        message->name ? message->name : "", (int64_t)message->direct, entry->role, entry->text,
        message->time_ms, entry->now_ms, entry->turn, entry->state,
        entry->text.data ? message->subject : NULL);
}

int inbox_edit(struct channel_db *db, const char *adapter, const char *chat, const char *msg,
               const char *text, struct ethos_error *error)
{
    return channel_db_run(
        db, NULL, error,
        "UPDATE inbox SET text=?4 WHERE adapter=?1 AND chat=?2 AND msg=?3 AND state='new'", "tttt",
        adapter, chat, msg, text);
}

int inbox_waiting(struct channel_db *db, const char *adapter, const char *chat, const char *thread,
                  int64_t *out, struct ethos_error *error)
{
    return channel_db_number(
        db, 0, out, error,
        "SELECT count(*) FROM inbox WHERE state='new' AND adapter=?1 AND chat=?2 AND thread=?3",
        "ttt", adapter, chat, thread ? thread : "");
}

int inbox_next(struct channel_db *db, struct inbox_row *out, struct ethos_error *error)
{
    sqlite3_stmt *statement = NULL;
    int code = channel_db_prepare(
        db, &statement, error,
        "SELECT " COLUMNS
        " FROM inbox AS i WHERE state='new' AND NOT EXISTS(SELECT 1 FROM inbox AS r"
        " WHERE r.state='running' AND r.adapter=i.adapter AND r.chat=i.chat AND r.thread=i.thread)"
        " ORDER BY id LIMIT 1",
        "");
    return code == ETHOS_OK ? read_one_row(db, statement, out, error) : code;
}

int inbox_read(struct channel_db *db, int64_t id, struct inbox_row *out, struct ethos_error *error)
{
    sqlite3_stmt *statement = NULL;
    int code = channel_db_prepare(db, &statement, error,
                                  "SELECT " COLUMNS " FROM inbox WHERE id=?1", "i", id);
    return code == ETHOS_OK ? read_one_row(db, statement, out, error) : code;
}

int inbox_set_state(struct channel_db *db, int64_t id, const char *state, int64_t now_ms,
                    struct ethos_error *error)
{
    return channel_db_run(db, NULL, error,
                          "UPDATE inbox SET state=?2,"
                          "text=CASE WHEN ?2 IN('new','running') THEN text END,"
                          "subject=CASE WHEN ?2 IN('new','running') THEN subject END,"
                          "ended_ms=CASE WHEN ?2 IN('new','running') THEN NULL ELSE ?3 END"
                          " WHERE id=?1",
                          "iti", id, state, now_ms);
}

int inbox_each_running(struct channel_db *db, inbox_each_fn *each, void *arg,
                       struct ethos_error *error)
{
    int64_t ids[MAX_RUNNING];
    size_t count = 0;
    sqlite3_stmt *statement = NULL;
    int code = channel_db_prepare(db, &statement, error,
                                  "SELECT id FROM inbox WHERE state='running' ORDER BY id", "");
    int result = code;
    while (code == ETHOS_OK && count < MAX_RUNNING &&
           (result = channel_db_step(db, statement, error)) == SQLITE_ROW)
        ids[count++] = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    code = result < 0 ? result : ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < count; i++)
        code = each(arg, ids[i]);
    return code;
}

int inbox_drop_waiting(struct channel_db *db, const char *adapter, const char *chat,
                       const char *thread, int64_t now_ms, int64_t *out_count,
                       struct ethos_error *error)
{
    return channel_db_run(db, out_count, error,
                          "UPDATE inbox SET state='refused',text=NULL,subject=NULL,ended_ms=?4"
                          " WHERE state='new' AND adapter=?1 AND chat=?2 AND thread=?3",
                          "ttti", adapter, chat, thread ? thread : "", now_ms);
}

int inbox_each_recent(struct channel_db *db, int64_t most, inbox_recent_fn *each, void *arg,
                      struct ethos_error *error)
{
    sqlite3_stmt *statement = NULL;
    int result = channel_db_prepare(
        db, &statement, error,
        "SELECT adapter,chat,sender,name,role,state,direct,received_ms,ended_ms,"
        "(SELECT state FROM outbox WHERE outbox.turn=inbox.turn ORDER BY CASE state"
        " WHEN 'unknown' THEN 0 WHEN 'failed' THEN 1 WHEN 'sent' THEN 3 ELSE 2 END LIMIT 1)"
        " FROM inbox ORDER BY id DESC LIMIT ?1",
        "i", most);
    while (result >= 0 && (result = channel_db_step(db, statement, error)) == SQLITE_ROW) {
        struct inbox_recent recent = {.direct = sqlite3_column_int(statement, 6) != 0,
                                      .received_ms = sqlite3_column_int64(statement, 7),
                                      .ended_ms = sqlite3_column_int64(statement, 8)};
        channel_db_copy_text(statement, 0, recent.adapter, sizeof recent.adapter);
        channel_db_copy_text(statement, 1, recent.chat, sizeof recent.chat);
        channel_db_copy_text(statement, 2, recent.sender, sizeof recent.sender);
        channel_db_copy_text(statement, 3, recent.name, sizeof recent.name);
        channel_db_copy_text(statement, 4, recent.role, sizeof recent.role);
        channel_db_copy_text(statement, 5, recent.state, sizeof recent.state);
        channel_db_copy_text(statement, 9, recent.answer, sizeof recent.answer);
        int code = each(arg, &recent);
        if (code != ETHOS_OK) {
            result = code;
            break;
        }
    }
    sqlite3_finalize(statement);
    return result < 0 ? result : ETHOS_OK;
}

int inbox_each_place(struct channel_db *db, const char *adapter, int64_t most, inbox_place_fn *each,
                     void *arg, struct ethos_error *error)
{
    sqlite3_stmt *statement = NULL;
    int result = channel_db_prepare(
        db, &statement, error,
        "SELECT chat,thread,msg,received_ms,direct FROM inbox WHERE id IN"
        "(SELECT max(id) FROM inbox WHERE adapter=?1"
        " GROUP BY chat,thread) ORDER BY id DESC LIMIT ?2",
        "ti", adapter, most);
    while (result >= 0 && (result = channel_db_step(db, statement, error)) == SQLITE_ROW) {
        struct inbox_place place = {.received_ms = sqlite3_column_int64(statement, 3),
                                    .direct = sqlite3_column_int(statement, 4) != 0};
        channel_db_copy_text(statement, 0, place.chat, sizeof place.chat);
        channel_db_copy_text(statement, 1, place.thread, sizeof place.thread);
        channel_db_copy_text(statement, 2, place.msg, sizeof place.msg);
        int code = each(arg, &place);
        if (code != ETHOS_OK) {
            result = code;
            break;
        }
    }
    sqlite3_finalize(statement);
    return result < 0 ? result : ETHOS_OK;
}

int inbox_count_since(struct channel_db *db, const char *adapter, int64_t since_ms, int64_t *out,
                      struct ethos_error *error)
{
    return channel_db_number(db, 0, out, error,
                             "SELECT count(*) FROM inbox WHERE adapter=?1 AND received_ms>=?2"
                             " AND role<>''",
                             "ti", adapter, since_ms);
}

int inbox_forget(struct channel_db *db, int64_t now_ms, struct ethos_error *error)
{
    static const char *const statements[] = {
        "DELETE FROM inbox WHERE state NOT IN('new','running') AND received_ms<?1",
        "DELETE FROM outbox WHERE state IN('sent','failed') AND created_ms<?1",
        "DELETE FROM contact WHERE role='' AND since_ms<?1",
        "DELETE FROM code WHERE created_ms<?1",
        "DELETE FROM link WHERE created_ms<?1",
    };
    int64_t before = now_ms - (int64_t)INBOX_DAYS * 86400000;
    int code = channel_db_begin(db, error);
    if (code != ETHOS_OK)
        return code;
    for (size_t i = 0; code == ETHOS_OK && i < sizeof statements / sizeof *statements; i++)
        code = channel_db_run(db, NULL, error, statements[i], "i", before);
    return channel_db_end(db, code, error);
}
