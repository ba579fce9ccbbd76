/*
 * import_export.c: the operations sessions.import and sessions.export.
 *
 *     {"rows": [{"file", "effect", "why", "id", "format", "messages", "total"}],
 *      "counts": {"created": 2, ...}, "notes": [{"what", "count"}], "dryRun"}
 *
 * Members of rows that do not apply are omitted. An export is the text alone: markdown, or the document {"session",
 * "messages"}, which an import turns into the same conversation.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/sessions/transcript.h"
#include "memory/sessions/export.h"
#include "memory/sessions/import.h"
#include "ops/sessions/sessions.h"
#include "ops/tables.h"
#include "ops/write_report.h"

/* ---- import ---------------------------------------------------------------------------------- */

struct import_tally {
    json_t *rows, *counts, *notes;
    json_t *places; /* the notes by their text */
    int64_t conflicts, left;
    struct ethos_error error; /* of the first file that was not imported */
};

static void put_import_text(json_t **row, const char *name, const char *value)
{
    if (value)
        op_json_put(row, name, json_text(view_str(value)));
}

static void increment_count(json_t **object, const char *name)
{
    json_int_t count = json_integer_value(json_object_get(*object, name));
    op_json_put(object, name, json_integer(count + 1));
}

/* In a folder, a file that is not a transcript is not an error; a file that cannot be read is. */
static void add_import_row(void *arg, const struct sessions_import_row *row)
{
    struct import_tally *tally = arg;
    json_t *json = json_object();
    put_import_text(&json, "file", row->file);
    put_import_text(&json, "effect", row->effect);
    put_import_text(&json, "why", row->why);
    put_import_text(&json, "id", row->id);
    put_import_text(&json, "format", row->format);
    op_json_put(&json, "messages", json_integer((json_int_t)row->messages));
    op_json_put(&json, "total", json_integer((json_int_t)row->total));
    op_json_push(&tally->rows, json);
    increment_count(&tally->counts, row->effect);
    tally->conflicts += strcmp(row->effect, "conflict") == 0;
    bool failed = row->code != ETHOS_OK && row->code != ETHOS_INVALID;
    if (failed && tally->left == 0)
        err_set(&tally->error, row->code, "%s: %s", row->file, row->why);
    tally->left += failed;
}

static void add_import_note(void *arg, const char *file, size_t line, const char *what)
{
    struct import_tally *tally = arg;
    (void)file, (void)line;
    json_t *note = json_object_get(tally->places, what);
    json_t *count = json_object_get(note, "count");
    if (count) {
        json_integer_set(count, json_integer_value(count) + 1);
        return;
    }
    note = json_pack("{s:s, s:i}", "what", what, "count", 1);
    op_json_push(&tally->notes, json_incref(note));
    op_json_put(&tally->places, what, note);
}

/* Sets the error beside the report: why the import stopped, or what was not imported. */
static void set_import_error(const struct import_tally *tally, int code,
                             const struct ethos_error *error, struct op_result *result)
{
    if (code != ETHOS_OK) {
        result->code = code;
        if (error)
            result->error = *error;
    } else if (tally->conflicts > 0) {
        result->code = err_set(&result->error, ETHOS_CONFLICT, "%lld in conflict",
                               (long long)tally->conflicts);
        err_hint(&result->error, result->code,
                 "to import it anew, run ethos sessions delete ID first");
    } else if (tally->left > 0) {
        result->code = tally->error.code;
        result->error = tally->error;
    }
}

/* Returns the report, with the error beside it if something was imported before the failure. */
static int return_import(const struct op_call *call, struct import_tally *tally, int code,
                         struct op_result *result, struct ethos_error *error)
{
    if (code != ETHOS_OK && json_array_size(tally->rows) == 0)
        return code;
    json_t *json = json_object();
    if (!tally->places)
        op_json_put(&json, "notes", NULL); // out of memory: the counts are incomplete
    op_json_put(&json, "rows", json_incref(tally->rows));
    op_json_put(&json, "counts", json_incref(tally->counts));
    op_json_put(&json, "notes", json_incref(tally->notes));
    if (call->dry_run)
        op_json_put(&json, "dryRun", json_true());
    set_import_error(tally, code, error, result);
    return op_return(result, json, error);
}

static int read_input(struct str *out, struct ethos_error *error)
{
    if (os_read_all(STDIN_FILENO, out, SESSIONS_IMPORT_BYTES) == 0)
        return ETHOS_OK;
    if (errno == EFBIG)
        return err_set(error, ETHOS_LIMIT, "standard input: larger than %d bytes",
                       SESSIONS_IMPORT_BYTES);
    return err_errno(error, errno, "standard input");
}

static int import_in_turn(struct op_call *call, const struct sessions_import *what,
                          struct ethos_error *error)
{
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    TRY(ethos_turn_new(call->ethos, call->request, &turn, error));
    return sessions_import(turn, what, error);
}

static int run_import(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct import_tally tally = {json_array(), json_object(), json_array(), json_object(), 0, 0,
                                 {0}};
    struct str text;
    struct sessions_import what = {.path = op_string(call, "path"),
                                   .format = op_string(call, "format"),
                                   .dry_run = call->dry_run,
                                   .each = add_import_row,
                                   .note = add_import_note,
                                   .arg = &tally,
                                   .progress = call->progress,
                                   .progress_arg = call->progress_arg};
    str_init(&text, SESSIONS_IMPORT_BYTES);
    int code = strcmp(what.path, "-") == 0 ? read_input(&text, error) : ETHOS_OK;
    what.text = str_view(&text);
    if (code == ETHOS_OK)
        code = import_in_turn(call, &what, error);
    str_release(&text);
    code = return_import(call, &tally, code, result, error);
    json_decref(tally.rows);
    json_decref(tally.counts);
    json_decref(tally.notes);
    json_decref(tally.places);
    return code;
}

/* ---- export as JSON -------------------------------------------------------------------------- */

/* Stored JSON as a value; invalid JSON becomes a string. */
static json_t *stored_json(const char *text)
{
    json_t *value = NULL;
    int code = json_parse(view_str(text), "stored", &value, NULL);
    return code == ETHOS_OK || code == ETHOS_NOMEM ? value : json_text(view_str(text));
}

static json_t *message_usage(const struct ethos_usage *usage)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:f}", "inputTokens", (json_int_t)usage->input_tokens,
                     "outputTokens", (json_int_t)usage->output_tokens, "cacheReadTokens",
                     (json_int_t)usage->cache_read_tokens, "cacheCreationTokens",
                     (json_int_t)usage->cache_creation_tokens, "estimatedCostUsd",
                     isfinite(usage->cost_usd) ? usage->cost_usd : 0.0);
}

/* A session with the members that the wire form lacks. */
static json_t *whole_session(const struct ethos_session *session)
{
    json_t *row = sessions_row(session);
    op_json_put(&row, "lastCompactionTurn",
                json_integer((json_int_t)session->last_compaction_turn));
    if (session->metadata)
        op_json_put(&row, "metadata", stored_json(session->metadata));
    return row;
}

static json_t *whole_message(const struct ethos_message *message)
{
    json_t *row = sessions_message(message);
    if (message->content_blocks)
        op_json_put(&row, "contentBlocks", stored_json(message->content_blocks));
    if (message->trace_id)
        op_json_put(&row, "traceId", json_text(view_str(message->trace_id)));
    if (message->has_usage)
        op_json_put(&row, "usage", message_usage(&message->usage));
    return row;
}

/* An export as JSON, with one line per message, so that an import can read it line by line. */
struct document {
    struct str *text;
    json_t *session, *messages; /* messages: NULL unless the caller wants JSON */
    size_t count;
    size_t bytes; /* of the messages as JSON, about */
};

static int print_row(json_t *row, struct str *out)
{
    int code = row ? json_print(row, JSON_STYLE_LINE, out) : str_fail(out, ETHOS_NOMEM);
    json_decref(row);
    return code;
}

static int add_document_session(void *arg, const struct ethos_session *session)
{
    struct document *document = arg;
    document->session = whole_session(session);
    return document->session ? ETHOS_OK : ETHOS_NOMEM;
}

static int add_document_message(void *arg, const struct ethos_message *message)
{
    struct document *document = arg;
    json_t *row = whole_message(message);
    document->bytes += message->content.size +
                       (message->tool_calls ? strlen(message->tool_calls) : 0);
    if (document->messages && document->bytes > document->text->ceiling) {
        json_decref(row);
        return ETHOS_LIMIT;
    }
    if (document->messages)
        return json_array_append_new(document->messages, row) ? ETHOS_NOMEM : ETHOS_OK;
    str_adds(document->text, document->count++ ? ",\n" : "\n");
    return print_row(row, document->text);
}

static int print_document(struct ethos *ethos, const char *id, struct document *document,
                          struct ethos_error *error)
{
    struct ethos_sessions *store;
    int code = ethos_sessions(ethos, &store, error);
    if (code == ETHOS_OK)
        code = store->ops->get(store, id, add_document_session, document, error);
    if (code == ETHOS_OK && !document->messages) {
        str_adds(document->text, "{\"session\":");
        print_row(json_incref(document->session), document->text);
        str_adds(document->text, ",\"messages\":[");
    }
    if (code == ETHOS_OK)
        code = store->ops->messages(store, id, 0, add_document_message, document, error);
    if (code == ETHOS_OK)
        code = str_adds(document->text, document->messages ? "" : "\n]}\n");
    if (code == ETHOS_LIMIT)
        return sessions_export_large(document->text->ceiling, error);
    return sessions_walk_code(code, error);
}

static int export_json(struct op_call *call, const char *id, struct op_result *result,
                       struct ethos_error *error)
{
    struct document document = {.text = &result->text};
    json_t *json = NULL;
    if (call->want_json && !(document.messages = json_array()))
        return err_nomem(error);
    int code = print_document(call->ethos, id, &document, error);
    if (code == ETHOS_OK) {
        json = document.messages ? json_pack("{s:O, s:O}", "session", document.session, "messages",
                                             document.messages)
                                 : json_pack("{s:s, s:s}", "id", id, "format", "json");
        result->has_text = !document.messages;
        code = op_return(result, json, error);
    }
    json_decref(document.session);
    json_decref(document.messages);
    return code;
}

static int export_markdown(struct op_call *call, const char *id, struct op_result *result,
                           struct ethos_error *error)
{
    int code = sessions_export_markdown(call->ethos, id, &result->text, error);
    if (code != ETHOS_OK)
        return code;
    json_t *json = json_pack("{s:s, s:s}", "id", id, "format", "md");
    if (call->want_json)
        op_json_put(&json, "text", json_text(str_view(&result->text)));
    result->has_text = true;
    return op_return(result, json, error);
}

static int run_export(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    char id[ETHOS_UUID_SIZE];
    const char *format = op_string(call, "format");
    int code = sessions_find_named(call, op_string(call, "id"), id, error);
    if (code != ETHOS_OK)
        return code;
    str_release(&result->text);
    str_init(&result->text, call->whole_lists ? SESSIONS_EXPORT_BYTES : SESSIONS_EXPORT_SERVED);
    return format && strcmp(format, "json") == 0 ? export_json(call, id, result, error)
                                                 : export_markdown(call, id, result, error);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const struct op_arg import_args[] = {
    {"path", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "PATH",
     "a transcript or a folder of them, such as ~/.claude/projects or ~/.codex/sessions; - reads "
     "standard input"},
    {"format", OP_CHOICE, 0, TRANSCRIPT_FORMATS, "FORMAT",
     "jsonl, claude-code, codex or ethos, an export (default: guessed)"},
    ARG_END};
static const struct op_arg export_args[] = {{"id", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "ID",
                                             "a session: its id, the start of it, or its key"},
                                            {"format", OP_CHOICE, 0, SESSIONS_EXPORT_FORMATS,
                                             "FORMAT",
                                             "md (default), or json, which sessions import reads"},
                                            ARG_END};

const struct op ops_sessions_transfer[] = {
    {"sessions.import", "sessions import", "Import conversations of other programs",
     "ethos sessions import ~/.claude/projects", import_args, OP_SESSIONS_WRITE,
     OP_WRITES | OP_IDEMPOTENT | OP_LOCAL | OP_DATABASE, run_import},
    {"sessions.export", "sessions export", "Export a conversation as text",
     "ethos sessions export 3f2a --format json", export_args, OP_SESSIONS_READ,
     OP_IDEMPOTENT | OP_DATABASE, run_export},
    {0}};
