/*
 * messages.c: what was said: append, read, hide.
 *
 * An append is one transaction: the messages, the session's updated_at, and by the triggers of the
 * schema the full-text index of others.
 */
#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/system/uuid.h"
#include "base/view.h"
#include "core/sessions/transcript.h"
#include "session/operations.h"
#include "session/rows.h"

/* ---- the sequence ---------------------------------------------------------------------------- */

/* A message of the past, as much of it as its place in the sequence depends on. */
struct recent_message {
    struct ethos_message message;
    struct recent_message *next;
};

static const char *keep_text(struct arena *arena, sqlite3_stmt *statement, int column)
{
    return arena_str(arena, (const char *)sqlite3_column_text(statement, column));
}

/* The messages since the last one of a user, that one included. */
static int read_tail(struct db *self, const char *id, struct arena *arena,
                     struct recent_message **out, struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = db_prepare(self, DB_TAIL, &statement, error);
    if (code != ETHOS_OK)
        return code;
    db_bind(statement, 1, id);
    bool whole = false;
    while (!whole && (code = db_step(self, statement, "read messages", error)) == SQLITE_ROW) {
        struct recent_message *past = arena_alloc(arena, sizeof *past);
        if (!past || !(past->message.role = keep_text(arena, statement, 0))) {
            code = err_nomem(error);
            break;
        }
        past->message.content = VIEW("");
        past->message.tool_call_id = keep_text(arena, statement, 1);
        past->message.tool_name = keep_text(arena, statement, 2);
        past->message.tool_calls = keep_text(arena, statement, 3);
        past->next = *out;
        *out = past;
        whole = strcmp(past->message.role, "user") == 0;
    }
    sqlite3_reset(statement);
    return code < 0 ? code : ETHOS_OK;
}

/* What is stored already is not judged again: only how it goes on. */
static int check_sequence(struct db *self, const char *id, const struct ethos_message *messages,
                          size_t count, struct ethos_error *error)
{
    struct arena arena;
    struct recent_message *past = NULL;
    arena_init(&arena);
    struct transcript transcript = {.arena = &arena};
    int code = read_tail(self, id, &arena, &past, error);
    for (; code == ETHOS_OK && past; past = past->next) {
        if (transcript_next(&transcript, &past->message, error) == ETHOS_NOMEM)
            code = err_nomem(error);
    }
    for (size_t i = 0; code == ETHOS_OK && i < count; i++)
        code = transcript_next(&transcript, &messages[i], error);
    arena_release(&arena);
    return code;
}

/* ---- append ---------------------------------------------------------------------------------- */

/* The time of the session's newest message, "" without one or when that is no time. */
static int read_last_time(struct db *self, const char *id, char out[CLOCK_ISO_SIZE],
                          struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int64_t ms;
    int code = db_prepare(self, DB_LAST_TIME, &statement, error);
    if (code != ETHOS_OK)
        return code;
    db_bind(statement, 1, id);
    code = db_step(self, statement, "read a session", error);
    if (code < 0)
        return code;
    if (code != SQLITE_ROW)
        return form_no_session(id, error);
    struct ethos_view last = view_str((const char *)sqlite3_column_text(statement, 0));
    out[0] = 0;
    if (last.data && last.size < CLOCK_ISO_SIZE && clock_parse(last, 0, false, &ms, NULL))
        memcpy(out, last.data, last.size + 1);
    sqlite3_reset(statement);
    return ETHOS_OK;
}

static void bind_message_usage(sqlite3_stmt *statement, const struct ethos_usage *usage)
{
    sqlite3_bind_int64(statement, 10, usage->input_tokens);
    sqlite3_bind_int64(statement, 11, usage->output_tokens);
    sqlite3_bind_int64(statement, 12, usage->cache_read_tokens);
    sqlite3_bind_int64(statement, 13, usage->cache_creation_tokens);
    sqlite3_bind_double(statement, 14, usage->cost_usd);
}

static int insert_message(struct db *self, const char *session, const struct ethos_message *message,
                          const char *time, struct ethos_error *error)
{
    sqlite3_stmt *statement;
    char id[ETHOS_UUID_SIZE];
    int code = db_prepare(self, DB_INSERT_MESSAGE, &statement, error);
    if (code != ETHOS_OK)
        return code;
    if (!message->id && uuid_make(id) != 0)
        return err_errno(error, errno, "random");
    const char *content = message->content.data ? message->content.data : "";
    db_bind(statement, 1, message->id ? message->id : id);
    db_bind(statement, 2, session);
    db_bind(statement, 3, message->role);
    sqlite3_bind_text(statement, 4, content, (int)message->content.size, SQLITE_STATIC);
    db_bind(statement, 5, message->tool_call_id);
    db_bind(statement, 6, message->tool_name);
    db_bind(statement, 7, message->tool_calls);
    db_bind(statement, 8, message->content_blocks);
    db_bind(statement, 9, message->trace_id);
    if (message->has_usage)
        bind_message_usage(statement, &message->usage);
    db_bind(statement, 15, time);
    code = db_run(self, statement, "append a message", NULL, error);
    if (code == ETHOS_EXISTS)
        form_message_exists(message->id, error);
    return code;
}

static int raise_session(struct db *self, const char *id, const char *time, int64_t turns,
                         struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = db_prepare(self, DB_RAISE_SESSION, &statement, error);
    if (code != ETHOS_OK)
        return code;
    db_bind(statement, 1, id);
    db_bind(statement, 2, time);
    sqlite3_bind_int64(statement, 3, turns);
    return db_run(self, statement, "append a message", NULL, error);
}

static int insert_all(struct db *self, const char *id, const struct ethos_message *messages,
                      size_t count, unsigned flags, struct ethos_error *error)
{
    char last[CLOCK_ISO_SIZE], time[CLOCK_ISO_SIZE];
    int64_t turns = 0;
    int code = read_last_time(self, id, last, error);
    if (code == ETHOS_OK && flags & ETHOS_APPEND_CHECKED)
        code = check_sequence(self, id, messages, count, error);
    for (size_t i = 0; code == ETHOS_OK && i < count; i++) {
        bool keep = flags & ETHOS_APPEND_KEEP_TIME && messages[i].timestamp;
        code = session_time(self, messages[i].timestamp, time, error);
        if (code != ETHOS_OK)
            break;
        if (strcmp(time, last) > 0)
            memcpy(last, time, sizeof last);
        code = insert_message(self, id, &messages[i], keep ? time : last, error);
        turns += strcmp(messages[i].role, "user") == 0;
    }
    return code == ETHOS_OK && count > 0 ? raise_session(self, id, last, turns, error) : code;
}

int messages_append(struct ethos_sessions *sessions, const char *id,
                    const struct ethos_message *messages, size_t count, unsigned flags,
                    struct ethos_error *error)
{
    struct db *self = db_of(sessions);
    int code = form_messages(messages, count, error);
    if (code == ETHOS_OK)
        code = session_begin(self, id, error);
    if (code != ETHOS_OK)
        return code;
    return db_end(self, insert_all(self, id, messages, count, flags, error), error);
}

static int is_taken(struct db *self, const char *id, bool *out, struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = db_prepare(self, DB_TAKEN, &statement, error);
    if (code != ETHOS_OK)
        return code;
    db_bind(statement, 1, id);
    code = db_step(self, statement, "read messages", error);
    *out = code == SQLITE_ROW;
    sqlite3_reset(statement);
    return code < 0 ? code : ETHOS_OK;
}

int messages_taken(struct ethos_sessions *sessions, const struct ethos_message *messages,
                   size_t count, size_t *out_at, struct ethos_error *error)
{
    struct db *self = db_of(sessions);
    bool taken = false;
    size_t at = 0;
    int code = db_ready(self, false, error);
    for (; code == ETHOS_OK && at < count; at++) {
        if (messages[at].id)
            code = is_taken(self, messages[at].id, &taken, error);
        if (taken)
            break;
    }
    *out_at = code == ETHOS_OK ? at : count;
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

/* ---- read ------------------------------------------------------------------------------------ */

static int give_all(struct db *self, sqlite3_stmt *statement, ethos_message_fn *each, void *arg,
                    bool *out_any, struct ethos_error *error)
{
    struct ethos_message message;
    for (;;) {
        int step = db_step(self, statement, "read messages", error);
        if (step != SQLITE_ROW)
            return step < 0 ? step : ETHOS_OK;
        *out_any = true;
        message_row(statement, 0, &message);
        int stop = each(arg, &message);
        if (stop != 0) {
            sqlite3_reset(statement);
            return stop;
        }
    }
}

int messages_read(struct ethos_sessions *sessions, const char *id, unsigned last,
                  ethos_message_fn *each, void *arg, struct ethos_error *error)
{
    struct db *self = db_of(sessions);
    sqlite3_stmt *statement;
    bool any = false;
    int code = db_ready(self, false, error);
    if (code == ETHOS_NOTFOUND)
        return form_no_session(id, error);
    if (code == ETHOS_OK)
        code = db_prepare(self, last ? DB_LAST_MESSAGES : DB_MESSAGES, &statement, error);
    if (code != ETHOS_OK)
        return code;
    db_bind(statement, 1, id);
    if (last)
        sqlite3_bind_int64(statement, 2, last);
    code = give_all(self, statement, each, arg, &any, error);
    if (code != ETHOS_OK || any)
        return code;
    int exists = session_exists(self, id, error);
    return exists < 0 ? exists : exists ? ETHOS_OK : form_no_session(id, error);
}

/* ---- hide ------------------------------------------------------------------------------------ */

/* From where on: the last turns, or a message. */
struct list_start {
    const char *message; /* or NULL */
    unsigned turns;
    bool found;
    int64_t row;
};

static int find_first_message(struct db *self, const char *id, struct list_start *start,
                              struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = db_prepare(self, start->message ? DB_MESSAGE : DB_TURNS, &statement, error);
    if (code != ETHOS_OK)
        return code;
    db_bind(statement, 1, id);
    if (start->message)
        db_bind(statement, 2, start->message);
    for (unsigned i = 0; i < start->turns; i++) {
        code = db_step(self, statement, "read messages", error);
        if (code != SQLITE_ROW)
            break;
        start->row = sqlite3_column_int64(statement, 0);
        start->found = true;
    }
    sqlite3_reset(statement);
    return code < 0 ? code : ETHOS_OK;
}

static int run_from(struct db *self, enum db_statement which, const char *id, int64_t row,
                    const char *now, int64_t *out_count, struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = db_prepare(self, which, &statement, error);
    if (code != ETHOS_OK)
        return code;
    db_bind(statement, 1, id);
    sqlite3_bind_int64(statement, 2, row);
    if (now)
        db_bind(statement, 3, now);
    return db_run(self, statement, "hide messages", out_count, error);
}

static int hide_from(struct db *self, const char *id, int64_t row, int64_t *out_count,
                     struct ethos_error *error)
{
    char now[CLOCK_ISO_SIZE];
    int code = session_time(self, NULL, now, error);
    if (code == ETHOS_OK)
        code = run_from(self, DB_LOWER_SESSION, id, row, NULL, NULL, error);
    return code == ETHOS_OK ? run_from(self, DB_HIDE, id, row, now, out_count, error) : code;
}

/* Within a transaction. */
static int hide(struct db *self, const char *id, struct list_start *start, int64_t *out_count,
                struct ethos_error *error)
{
    *out_count = 0;
    int code = session_exists(self, id, error);
    if (code >= 0)
        code = code ? find_first_message(self, id, start, error) : form_no_session(id, error);
    if (code == ETHOS_OK && start->message && !start->found)
        code = form_no_message(start->message, error);
    if (code == ETHOS_OK && start->found)
        code = hide_from(self, id, start->row, out_count, error);
    return code;
}

int messages_undo(struct ethos_sessions *sessions, const char *id, unsigned turns,
                  uint64_t *out_count, struct ethos_error *error)
{
    struct db *self = db_of(sessions);
    struct list_start start = {.turns = turns};
    int64_t hidden;
    int code = session_begin(self, id, error);
    if (code != ETHOS_OK)
        return code;
    code = db_end(self, hide(self, id, &start, &hidden, error), error);
    if (code == ETHOS_OK)
        *out_count = (uint64_t)hidden;
    return code;
}

/* After the inserts: a row that is new must not get the number of one that was. */
static int delete_hidden(struct db *self, const char *message, struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = db_prepare(self, DB_DELETE_HIDDEN, &statement, error);
    if (code != ETHOS_OK)
        return code;
    db_bind(statement, 1, message);
    return db_run(self, statement, "replace a message", NULL, error);
}

int messages_rewind(struct ethos_sessions *sessions, const char *id, const char *message,
                    const struct ethos_message *messages, size_t count, unsigned flags,
                    uint64_t *out_hidden, struct ethos_error *error)
{
    struct db *self = db_of(sessions);
    struct list_start start = {.message = message, .turns = 1};
    int64_t hidden;
    int code = form_messages(messages, count, error);
    if (code == ETHOS_OK)
        code = session_begin(self, id, error);
    if (code != ETHOS_OK)
        return code;
    code = hide(self, id, &start, &hidden, error);
    if (code == ETHOS_OK && count > 0)
        code = insert_all(self, id, messages, count, flags, error);
    if (code == ETHOS_OK && count > 0 && flags & ETHOS_APPEND_REPLACE)
        code = delete_hidden(self, message, error);
    code = db_end(self, code, error);
    if (code == ETHOS_OK)
        *out_hidden = (uint64_t)hidden;
    return code;
}
