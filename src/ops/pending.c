/*
 * pending.c: the operations memory.pending*: writes that wait for a person. None of ours do: every write is
 * direct. Other programs of the family keep theirs in memory-pending.jsonl of a personality, which is listed and
 * not touched; to decide is for the program that proposed them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/choice.h"
#include "base/err.h"
#include "base/os.h"
#include "base/view.h"
#include "core/quote.h"
#include "memory/home.h"
#include "memory/service.h"
#include "ops/tables.h"

#define FILE_NAME "memory-pending.jsonl"
#define MAX_PENDING 200                  /* of a personality; older ones make room */
#define DAYS_MS ((int64_t)30 * 86400000) /* after which nobody waits any more */

/* ---- lines ----------------------------------------------------------------------------------- */

static bool has_text(const json_t *object, const char *name)
{
    return json_is_string(json_object_get(object, name));
}

/* {action: add|replace, key, content}, {action: remove, key, substringMatch}, {action: delete, key} */
static bool is_update(const json_t *update)
{
    struct ethos_view action = json_view(update, "action");
    if (!json_is_object(update) || !action.data || !has_text(update, "key"))
        return false;
    return choice_has("add|replace", action) ? has_text(update, "content")
           : view_eq(action, VIEW("remove")) ? has_text(update, "substringMatch")
                                             : view_eq(action, VIEW("delete"));
}

static bool is_pending(const json_t *row, int64_t now_ms)
{
    const json_t *proposed = json_object_get(row, "proposedAt");
    return has_text(row, "id") && has_text(row, "scopeId") && has_text(row, "source") &&
           is_update(json_object_get(row, "update")) && json_is_number(proposed) &&
           json_number_value(proposed) > (double)(now_ms - DAYS_MS);
}

static double proposed_at(const json_t *row)
{
    return json_number_value(json_object_get(row, "proposedAt"));
}

/* Oldest first; those of one moment as they stand. */
static void insert_row(json_t **rows, json_t *row)
{
    size_t at = json_array_size(*rows);
    while (at > 0 && proposed_at(json_array_get(*rows, at - 1)) > proposed_at(row))
        at--;
    op_json_insert(rows, at, row);
    if (json_array_size(*rows) > MAX_PENDING)
        json_array_remove(*rows, 0);
}

/* A line that is torn, or is none of these, is passed over: its program may be writing it. */
static json_t *read_rows(struct ethos_view text, int64_t now_ms)
{
    struct ethos_view line;
    json_t *rows = json_array();
    while (rows && view_line(&text, &line)) {
        json_t *row = NULL;
        if (json_parse(line, "", &row, NULL) == ETHOS_OK && is_pending(row, now_ms))
            insert_row(&rows, json_incref(row));
        json_decref(row);
    }
    return rows;
}

/* ---- the operations -------------------------------------------------------------------------- */

static int read_file(struct op_call *call, const char *personality, struct str *out,
                     struct ethos_error *error)
{
    int root;
    char path[ETHOS_MAX_ID + 64];
    int code = service_open_root(call->ethos, false, &root, error);
    if (code != ETHOS_OK || root < 0)
        return code;
    snprintf(path, sizeof path, "personalities/%s/" FILE_NAME, personality);
    code = home_read(root, path, ETHOS_MAX_READ_BYTES, out, NULL, error);
    os_close(root);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

/* What waits for the personality of the call; owned. */
static int list_rows(struct op_call *call, json_t **out, struct ethos_error *error)
{
    struct ethos_turn *turn;
    struct str text;
    int code = ethos_turn_new(call->ethos, call->request, &turn, error);
    if (code != ETHOS_OK)
        return code;
    str_init(&text, ETHOS_MAX_READ_BYTES);
    code = read_file(call, ethos_turn_context(turn)->personality, &text, error);
    json_t *rows = code == ETHOS_OK ? read_rows(str_view(&text), service_now_ms(call->ethos))
                                    : NULL;
    str_release(&text);
    ethos_turn_free(turn);
    if (code == ETHOS_OK && !rows)
        code = err_nomem(error);
    if (code == ETHOS_OK)
        *out = rows;
    return code;
}

static int run_list(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    json_t *rows;
    int code = list_rows(call, &rows, error);
    return code == ETHOS_OK ? op_return(result, json_pack("{s:o}", "pending", rows), error) : code;
}

static int run_decide(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    char shown[QUOTE_SIZE];
    json_t *rows, *row;
    size_t index;
    bool waits = false;
    (void)result;
    int code = list_rows(call, &rows, error);
    if (code != ETHOS_OK)
        return code;
    json_array_foreach (rows, index, row)
        waits |= view_eq(json_view(row, "id"), op_text(call, "id"));
    json_decref(rows);
    quote_line(op_text(call, "id"), shown);
    if (!waits)
        return err_set(error, ETHOS_NOTFOUND, "nothing waits under the id %s", shown);
    code = err_set(error, ETHOS_UNSUPPORTED, "%s cannot be decided here yet", shown);
    return err_hint(error, code, "decide in the program that proposed it");
}

static const struct op_arg id_args[] = {{"id", OP_TEXT, OP_REQUIRED, NULL, "ID", "of what waits"},
                                        {NULL, OP_TEXT, 0, NULL, NULL, NULL}};

const struct op ops_pending[] = {{"memory.pendingList", NULL,
                                  "List the writes that wait for a person", NULL, NULL,
                                  OP_MEMORY_READ, OP_IDEMPOTENT | OP_QUICK, run_list},
                                 {"memory.pendingApprove", NULL, "Let a waiting write happen", NULL,
                                  id_args, OP_MEMORY_WRITE, OP_WRITES | OP_PERSON, run_decide},
                                 {"memory.pendingReject", NULL, "Turn a waiting write down", NULL,
                                  id_args, OP_MEMORY_WRITE, OP_WRITES | OP_PERSON, run_decide},
                                 {0}};
