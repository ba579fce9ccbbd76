/*
 * sessions_messages.c: what was said: append, read, hide.
 *
 * Appending, undoing and rewinding are one statement: what is hidden, and what is said then.
 */
#include <errno.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/system/uuid.h"
#include "base/view.h"
#include "core/sessions/normalize.h"
#include "core/sessions/transcript.h"
#include "sessions.h"

/* ---- what is said, by columns ---------------------------------------------------------------- */

enum column {
    ID,
    ROLE,
    CONTENT,
    CALL,
    TOOL,
    CALLS,
    BLOCKS,
    TRACE,
    INPUT,
    OUTPUT,
    CACHE_READ,
    CACHE_MADE,
    COST,
    TIME,
    KEEP,
    TERMS,
    COLUMNS
};

static const struct {
    Oid element, array;
} types[COLUMNS] = {
    [ID] = {PG_TEXT, PG_TEXTS},         [ROLE] = {PG_TEXT, PG_TEXTS},
    [CONTENT] = {PG_BYTEA, PG_BYTEAS},  [CALL] = {PG_TEXT, PG_TEXTS},
    [TOOL] = {PG_TEXT, PG_TEXTS},       [CALLS] = {PG_TEXT, PG_TEXTS},
    [BLOCKS] = {PG_TEXT, PG_TEXTS},     [TRACE] = {PG_TEXT, PG_TEXTS},
    [INPUT] = {PG_INT8, PG_INT8S},      [OUTPUT] = {PG_INT8, PG_INT8S},
    [CACHE_READ] = {PG_INT8, PG_INT8S}, [CACHE_MADE] = {PG_INT8, PG_INT8S},
    [COST] = {PG_FLOAT8, PG_FLOAT8S},   [TIME] = {PG_TEXT, PG_TEXTS},
    [KEEP] = {PG_BOOL, PG_BOOLS},       [TERMS] = {PG_TEXT, PG_TEXTS},
};

struct said {
    struct pg_array columns[COLUMNS];
    struct str terms; /* of the message at hand */
};

static void said_init(struct said *self)
{
    for (int i = 0; i < COLUMNS; i++)
        pg_array_init(&self->columns[i], types[i].element);
    str_init(&self->terms, PG_MAX_MESSAGE);
}

static void said_release(struct said *self)
{
    for (int i = 0; i < COLUMNS; i++)
        pg_array_release(&self->columns[i]);
    str_release(&self->terms);
}

static void add_usage_columns(struct pg_array *columns, const struct ethos_message *message)
{
    const struct ethos_usage *usage = &message->usage;
    const int64_t tokens[] = {usage->input_tokens, usage->output_tokens, usage->cache_read_tokens,
                              usage->cache_creation_tokens};
    for (int i = INPUT; i <= COST; i++) {
        if (!message->has_usage)
            pg_array_bytes(&columns[i], (struct ethos_view){0});
        else if (i == COST)
            pg_array_double(&columns[i], usage->cost_usd);
        else
            pg_array_number(&columns[i], tokens[i - INPUT]);
    }
}

static int add_terms(struct said *self, struct ethos_view content, struct ethos_error *error)
{
    bool whole;
    str_clear(&self->terms);
    if (pg_terms(content, &self->terms, &whole) != ETHOS_OK)
        return err_nomem(error);
    pg_array_text(&self->columns[TERMS], whole ? self->terms.data : NULL);
    return ETHOS_OK;
}

static int add_message_columns(struct said *self, const struct ethos_message *message, int64_t now,
                               unsigned flags, struct ethos_error *error)
{
    struct pg_array *columns = self->columns;
    char id[ETHOS_UUID_SIZE], time[CLOCK_ISO_SIZE];
    char keep = flags & ETHOS_APPEND_KEEP_TIME && message->timestamp;
    const char *texts[] = {[CALL] = message->tool_call_id,
                           [TOOL] = message->tool_name,
                           [CALLS] = message->tool_calls,
                           [BLOCKS] = message->content_blocks,
                           [TRACE] = message->trace_id};
    int code = form_time(message->timestamp, now, time, error);
    if (code == ETHOS_OK && !message->id && uuid_make(id) != 0)
        code = err_errno(error, errno, "random");
    if (code != ETHOS_OK)
        return code;
    pg_array_text(&columns[ID], message->id ? message->id : id);
    pg_array_text(&columns[ROLE], message->role);
    pg_array_bytes(&columns[CONTENT], message->content.data ? message->content : VIEW(""));
    for (int i = CALL; i <= TRACE; i++)
        pg_array_text(&columns[i], texts[i]);
    add_usage_columns(columns, message);
    pg_array_text(&columns[TIME], time);
    pg_array_bytes(&columns[KEEP], view_of(&keep, 1));
    return add_terms(self, message->content, error);
}

/* Ends the arrays, as parameters. */
static int add_columns(struct pg_change *change, struct said *said, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (int i = 0; i < COLUMNS; i++) {
        int ended = pg_array_end(&said->columns[i]);
        code = code == ETHOS_OK ? ended : code;
        change->size += said->columns[i].bytes.size;
        pg_add_bytes(&change->params, types[i].array, str_view(&said->columns[i].bytes));
    }
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    return code != ETHOS_OK || change->size > PG_MAX_MESSAGE
               ? err_set(error, ETHOS_LIMIT, "postgres: more than %d bytes at once", PG_MAX_MESSAGE)
               : ETHOS_OK;
}

/* ---- the sequence ---------------------------------------------------------------------------- */

/* One change of what a session shows. */
struct session_change {
    const char *id;
    const char *from;      /* message that is hidden, and all after it; or NULL */
    const unsigned *turns; /* that are hidden, or NULL */
    const struct ethos_message *messages;
    size_t count;
    unsigned flags;
    int64_t version; /* that was looked at; -1: none */
};

static int check_append_order(const struct session_change *talk, const PGresult *tail,
                              struct ethos_error *error)
{
    struct arena arena;
    int code = ETHOS_OK;
    arena_init(&arena);
    struct transcript transcript = {.arena = &arena};
    for (int i = 0; code == ETHOS_OK && i < PQntuples(tail); i++) {
        const struct ethos_message past = {.role = pg_text(tail, i, 1),
                                           .content = VIEW(""),
                                           .tool_call_id = pg_text(tail, i, 2),
                                           .tool_name = pg_text(tail, i, 3),
                                           .tool_calls = pg_text(tail, i, 4)};
        // What is stored already is not judged again: only how it goes on.
        if (past.role && transcript_next(&transcript, &past, error) == ETHOS_NOMEM)
            code = err_nomem(error);
    }
    for (size_t i = 0; code == ETHOS_OK && i < talk->count; i++)
        code = transcript_next(&transcript, &talk->messages[i], error);
    arena_release(&arena);
    return code;
}

static int check_sequence(struct pg_sessions *self, struct session_change *talk,
                          struct ethos_error *error)
{
    struct pg_params params = {0};
    PGresult *tail;
    pg_add_text(&params, talk->id);
    pg_add_text(&params, talk->from);
    int code = pg_sessions_ask(self, PG_S_TAIL, &params, &tail, error);
    if (code != ETHOS_OK)
        return code;
    if (PQntuples(tail) == 0) {
        code = form_no_session(talk->id, error);
    } else if (!pg_bool(tail, 0, 5)) {
        code = form_no_message(talk->from, error);
    } else {
        talk->version = pg_number(tail, 0, 0);
        code = check_append_order(talk, tail, error);
    }
    PQclear(tail);
    return code;
}

/* ---- append, undo, rewind -------------------------------------------------------------------- */

static void add_session_params(struct pg_params *params, const struct session_change *talk,
                               const char *now)
{
    pg_add_text(params, talk->id);
    if (talk->version >= 0)
        pg_add_number(params, talk->version);
    else
        pg_add_bytes(params, PG_INT8, (struct ethos_view){0});
    pg_add_text(params, talk->from);
    if (talk->turns)
        pg_add_number(params, *talk->turns);
    else
        pg_add_bytes(params, PG_INT8, (struct ethos_view){0});
    pg_add_text(params, now);
}

/* Which id it is that is taken: one that is there, or one that was given twice. */
static int name_taken(struct pg_sessions *self, const struct session_change *talk,
                      struct ethos_error *error)
{
    size_t at = talk->count;
    int code = pg_taken(&self->sessions, talk->messages, talk->count, &at, error);
    if (code != ETHOS_OK)
        return code;
    for (size_t i = 0; at == talk->count && i < talk->count; i++) {
        for (size_t j = 0; j < i && talk->messages[i].id; j++) {
            if (talk->messages[j].id && strcmp(talk->messages[i].id, talk->messages[j].id) == 0)
                at = i;
        }
    }
    return form_message_exists(at < talk->count ? talk->messages[at].id : "(made here)", error);
}

/* One attempt: ETHOS_OK and PG_STALE when another program changed it first. */
static int try_change(struct pg_sessions *self, struct session_change *talk,
                      struct pg_change *change, struct said *said, const char *now,
                      struct ethos_error *error)
{
    int code = talk->flags & ETHOS_APPEND_CHECKED && talk->count > 0
                   ? check_sequence(self, talk, error)
                   : ETHOS_OK;
    change->params.count = 1;
    change->size = 0;
    add_session_params(&change->params, talk, now);
    if (code == ETHOS_OK)
        code = add_columns(change, said, error);
    if (code == ETHOS_OK)
        code = pg_change_send(self, change, error);
    if (code == ETHOS_EXISTS)
        return name_taken(self, talk, error);
    if (code == ETHOS_OK && change->outcome == PG_NO_SESSION)
        return form_no_session(talk->id, error);
    if (code == ETHOS_OK && change->outcome == PG_NO_MESSAGE)
        return form_no_message(talk->from, error);
    return code;
}

static int append_or_replace(struct pg_sessions *self, struct session_change *talk,
                             uint64_t *out_hidden, struct ethos_error *error)
{
    struct pg_change change;
    struct said said;
    char now[CLOCK_ISO_SIZE];
    int64_t now_ms = pg_sessions_now(self);
    int code = form_messages(talk->messages, talk->count, error);
    if (code == ETHOS_OK)
        code = pg_change_init(&change, PG_S_SAY, talk->id, error);
    if (code != ETHOS_OK)
        return code;
    said_init(&said);
    clock_iso(now_ms, now);
    talk->version = -1;
    for (size_t i = 0; code == ETHOS_OK && i < talk->count; i++)
        code = add_message_columns(&said, &talk->messages[i], now_ms, talk->flags, error);
    for (int i = 0; code == ETHOS_OK && i < PG_ATTEMPTS; i++) {
        code = try_change(self, talk, &change, &said, now, error);
        if (code != ETHOS_OK || change.outcome == PG_DONE)
            break;
    }
    said_release(&said);
    if (code == ETHOS_OK && change.outcome == PG_STALE)
        return err_set(error, ETHOS_BUSY, "%s: others keep changing it", talk->id);
    if (code == ETHOS_OK && out_hidden)
        *out_hidden = (uint64_t)change.count;
    return code;
}

int pg_append(struct ethos_sessions *sessions, const char *id, const struct ethos_message *messages,
              size_t count, unsigned flags, struct ethos_error *error)
{
    struct session_change talk = {.id = id, .messages = messages, .count = count, .flags = flags};
    return append_or_replace(pg_sessions_of(sessions), &talk, NULL, error);
}

int pg_undo(struct ethos_sessions *sessions, const char *id, unsigned turns, uint64_t *out_count,
            struct ethos_error *error)
{
    struct session_change talk = {.id = id, .turns = &turns};
    return append_or_replace(pg_sessions_of(sessions), &talk, out_count, error);
}

int pg_rewind(struct ethos_sessions *sessions, const char *id, const char *message,
              const struct ethos_message *messages, size_t count, unsigned flags,
              uint64_t *out_hidden, struct ethos_error *error)
{
    struct session_change talk = {
        .id = id, .from = message, .messages = messages, .count = count, .flags = flags};
    return append_or_replace(pg_sessions_of(sessions), &talk, out_hidden, error);
}

/* ---- reading --------------------------------------------------------------------------------- */

int pg_messages(struct ethos_sessions *sessions, const char *id, unsigned last,
                ethos_message_fn *each, void *arg, struct ethos_error *error)
{
    struct pg_sessions *self = pg_sessions_of(sessions);
    struct pg_params params = {0};
    PGresult *result;
    pg_add_text(&params, id);
    if (last)
        pg_add_number(&params, last);
    else
        pg_add_bytes(&params, PG_INT8, (struct ethos_view){0});
    int code = pg_sessions_ask(self, PG_S_MESSAGES, &params, &result, error);
    if (code != ETHOS_OK)
        return code;
    if (PQntuples(result) == 0)
        code = form_no_session(id, error);
    self->giving = true;
    for (int i = 0; code == ETHOS_OK && i < PQntuples(result); i++) {
        const struct ethos_message message = pg_message_row(result, i, 0);
        if (message.id) // NULL: a session that is empty
            code = each(arg, &message);
    }
    self->giving = false;
    PQclear(result);
    return code;
}

int pg_taken(struct ethos_sessions *sessions, const struct ethos_message *messages, size_t count,
             size_t *out_at, struct ethos_error *error)
{
    struct pg_params params = {0};
    struct pg_array ids;
    PGresult *result;
    pg_array_init(&ids, PG_TEXT);
    for (size_t i = 0; i < count; i++)
        pg_array_text(&ids, messages[i].id);
    int code = pg_array_end(&ids) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
    pg_add_bytes(&params, PG_TEXTS, str_view(&ids.bytes));
    if (code == ETHOS_OK)
        code = pg_sessions_ask(pg_sessions_of(sessions), PG_S_TAKEN, &params, &result, error);
    pg_array_release(&ids);
    if (code != ETHOS_OK)
        return code;
    *out_at = PQntuples(result) > 0 ? (size_t)pg_number(result, 0, 0) - 1 : count;
    PQclear(result);
    return ETHOS_OK;
}
