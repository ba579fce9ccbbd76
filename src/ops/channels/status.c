/*
 * status.c: the operations channel.status, messages and resend: the channels, recent messages, and unsent answers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "channel/inbox.h"
#include "channel/outbox.h"
#include "channel/platforms.h"
#include "memory/handle.h"
#include "ops/channels/channels.h"

#define SHOWN_MS (7 * 86400000LL) /* the period for counting messages and listing unsent ones */
#define MESSAGES 20               /* listed without a limit */

/* ---- channels ---------------------------------------------------------------------------------- */

/* The state that the gateway recorded last: "up 1763200000123 ...". */
struct channel_state {
    char value[CHANNEL_MAX_CURSOR], since[CLOCK_ISO_SIZE], bot[CHANNEL_MAX_CURSOR];
    const char *state, *why;
};

static int read_channel_state(struct channel_db *db, const char *platform,
                              struct channel_state *out, struct ethos_error *error)
{
    char *rest, *words;
    *out = (struct channel_state){.state = "down", .why = ""};
    int code = channel_db_cursor_read(db, platform, "state", out->value, error);
    if (code == ETHOS_OK)
        code = channel_db_cursor_read(db, platform, "name", out->bot, error);
    if (code == ETHOS_OK && !*out->bot)
        code = channel_db_cursor_read(db, platform, "bot", out->bot, error);
    if (code != ETHOS_OK || !(words = strchr(out->value, ' ')))
        return code;
    *words++ = '\0';
    int64_t since_ms = strtoll(words, &rest, 10);
    clock_iso(since_ms, out->since);
    out->state = out->value;
    out->why = *rest == ' ' ? rest + 1 : "";
    return code;
}

static int read_enabled(struct op_call *call, const char *platform, bool *out,
                        struct ethos_error *error)
{
    char key[128];
    const struct config *home;
    snprintf(key, sizeof key, "channels.%s.enabled", platform);
    int code = service_config(call->ethos, NULL, &home, NULL, error);
    *out = code == ETHOS_OK && config_switch(home, NULL, key);
    return code;
}

static json_t *command_lines(const char *setup)
{
    struct ethos_view rest = view_str(setup), line;
    json_t *lines = json_array();
    while (view_line(&rest, &line))
        op_json_push(&lines, json_text(line));
    return lines;
}

/* Adds the row of a channel; db is NULL if no channel was ever used. */
static int add_channel(struct op_call *call, struct channel_db *db,
                       const struct channel_platform *platform, bool runs, json_t **rows,
                       struct ethos_error *error)
{
    bool enabled;
    struct channel_state noted = {.state = "down", .why = ""};
    int64_t messages = 0;
    int code = read_enabled(call, platform->name, &enabled, error);
    if (code == ETHOS_OK && db)
        code = read_channel_state(db, platform->name, &noted, error);
    if (code == ETHOS_OK && db)
        code = inbox_count_since(db, platform->name, service_now_ms(call->ethos) - SHOWN_MS,
                                 &messages, error);
    if (code != ETHOS_OK)
        return code;
    const char *state = !enabled ? "off" : runs ? noted.state : "down";
    op_json_push(rows, json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:I, s:o}", "platform",
                                 platform->name, "title", platform->title, "state", state, "since",
                                 noted.since, "why", json_text(view_str(noted.why)), "bot",
                                 json_text(view_str(noted.bot)), "messages", (json_int_t)messages,
                                 "setup", command_lines(platform->setup)));
    return ETHOS_OK;
}

static int add_unsent(void *arg, const struct outbox_row *row)
{
    json_t **rows = arg;
    char created[CLOCK_ISO_SIZE];
    clock_iso(row->created_ms, created);
    op_json_push(rows, json_pack("{s:I, s:s, s:s, s:s, s:s}", "id", (json_int_t)row->id, "state",
                                 row->state, "platform", row->adapter, "chat", row->chat, "created",
                                 created));
    return ETHOS_OK;
}

static int add_counts(struct channel_db *db, json_t **json, struct ethos_error *error)
{
    static const struct {
        const char *name, *sql;
    } counts[] = {
        {"waiting", "SELECT count(*) FROM inbox WHERE state IN('new','running')"},
        {"sending", "SELECT count(*) FROM outbox WHERE state IN('queued','sending','live')"},
    };
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < sizeof counts / sizeof *counts; i++) {
        int64_t number = 0;
        if (db)
            code = channel_db_number(db, 0, &number, error, counts[i].sql, "");
        op_json_put(json, counts[i].name, json_integer(number));
    }
    return code;
}

/* Whether a gateway of this home is running. */
static bool is_gateway_running(struct op_call *call)
{
    int lock = -1;
    bool runs = channel_db_lock(service_home(call->ethos), &lock, NULL) == ETHOS_BUSY;
    if (lock >= 0)
        os_close(lock);
    return runs;
}

static int add_status(struct op_call *call, struct channel_db *db, json_t **json,
                      struct ethos_error *error)
{
    bool runs = db && is_gateway_running(call);
    json_t *rows = json_array(), *unsent = json_array();
    op_json_put(json, "running", json_boolean(runs));
    int code = add_counts(db, json, error);
    for (const struct channel_platform *row = channel_platforms; code == ETHOS_OK && row->name;
         row++)
        code = add_channel(call, db, row, runs, &rows, error);
    if (code == ETHOS_OK && db)
        code = outbox_each_unsent(db, service_now_ms(call->ethos) - SHOWN_MS, add_unsent, &unsent,
                                  error);
    op_json_put(json, "channels", rows);
    op_json_put(json, "unsent", unsent);
    return code;
}

int channel_status_run(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct channel_db *db;
    json_t *json = json_object();
    int code = channels_open_to_list(call, &db, error);
    if (code == ETHOS_OK)
        code = add_status(call, db, &json, error);
    channels_close(call, db);
    if (code == ETHOS_OK)
        return op_return(result, json, error);
    json_decref(json);
    return code;
}

/* ---- messages ---------------------------------------------------------------------------------- */

static int add_message_row(void *arg, const struct inbox_recent *recent)
{
    json_t **rows = arg;
    char received[CLOCK_ISO_SIZE], ended[CLOCK_ISO_SIZE] = "";
    clock_iso(recent->received_ms, received);
    if (recent->ended_ms > 0)
        clock_iso(recent->ended_ms, ended);
    op_json_push(rows,
                 json_pack("{s:s, s:s, s:b, s:s, s:o, s:s, s:s, s:s, s:o, s:o}", "platform",
                           recent->adapter, "chat", recent->chat, "direct", recent->direct,
                           "sender", recent->sender, "name", json_text(view_str(recent->name)),
                           "role", recent->role, "received", received, "state", recent->state,
                           "ended", op_json_string(*ended ? ended : NULL), "answer",
                           op_json_string(*recent->answer ? recent->answer : NULL)));
    return ETHOS_OK;
}

int channel_messages_run(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct channel_db *db;
    json_t *rows = json_array();
    int code = channels_open_to_list(call, &db, error);
    if (code == ETHOS_OK && db)
        code = inbox_each_recent(db, op_integer(call, "limit", MESSAGES), add_message_row, &rows,
                                 error);
    channels_close(call, db);
    json_t *json = json_pack("{s:o}", "messages", rows);
    if (code == ETHOS_OK)
        return op_return(result, json, error);
    json_decref(json);
    return code;
}

int channel_resend_run(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct channel_db *db;
    int64_t id = op_integer(call, "id", 0);
    int code = channels_open(call, false, &db, error);
    if (code == ETHOS_OK)
        code = outbox_resend(db, id, error);
    channels_close(call, db);
    return code == ETHOS_OK
               ? op_return(result, json_pack("{s:b, s:I}", "ok", 1, "id", (json_int_t)id), error)
               : code;
}
