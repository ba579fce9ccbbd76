/*
 * chunks.c: the operations memory.chunks.*: list, search and edit single entries of MEMORY.md and USER.md.
 *
 *     {"id", "store", "content", "path": [...], "line", "source", "createdAt", "archived", "revision",
 *      "score"?, "similarity"?}
 *
 * Operations that change an entry return the usual write report with "chunk" and "previousId", or "ok". If the entry no
 * longer exists, the result is a conflict that names the most similar one: {"nearest": {...}}.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/chunks/chunks.h"
#include "memory/handle.h"
#include "ops/paging.h"
#include "ops/tables.h"
#include "ops/write_report.h"

#define LIST_ROWS 50
#define SEARCH_ROWS 5

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *path_json(const struct memory_chunk *chunk)
{
    json_t *path = json_array();
    for (size_t i = 0; i < chunk->depth; i++)
        op_json_push(&path, json_text(chunk->path[i]));
    return path;
}

static json_t *chunk_json(const struct memory_chunk *chunk)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:I, s:o, s:o, s:b, s:s}", "id", chunk->id, "store",
                     chunk->store == CHUNK_USER ? "user" : "memory", "content",
                     json_text(chunk->content), "path", path_json(chunk), "line",
                     (json_int_t)chunk->line, "source", op_json_string(chunk->source), "createdAt",
                     op_json_time(chunk->created_ms), "archived", chunk->archived, "revision",
                     chunk->revision);
}

static json_t *found_chunk_json(const struct memory_chunk *chunk)
{
    json_t *json = chunk_json(chunk);
    op_json_put(&json, "score", op_json_number(chunk->score));
    if (chunk->similarity >= 0)
        op_json_put(&json, "similarity", op_json_number(chunk->similarity));
    return json;
}

static enum chunk_store named_chunk_store(const struct op_call *call)
{
    const char *store = op_string(call, "store");
    return store && strcmp(store, "user") == 0 ? CHUNK_USER : CHUNK_MEMORY;
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef int read_fn(struct op_call *call, struct ethos_turn *turn, struct memory_chunks *chunks,
                    struct op_result *result, struct ethos_error *error);

static int run_in_turn(read_fn *run, struct op_call *call, struct op_result *result,
                       struct ethos_error *error)
{
    struct memory_chunks chunks;
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    TRY(ethos_turn_new(call->ethos, call->request, &turn, error));
    memory_chunks_init(&chunks);
    int code = run(call, turn, &chunks, result, error);
    memory_chunks_release(&chunks);
    return code;
}

/* Adds who wrote each entry and when. If the history cannot be read, the result carries its error and the entries stay. */
static int blame_chunks(struct ethos_turn *turn, struct memory_chunks *chunks, size_t first,
                        size_t count, struct op_result *result, struct ethos_error *error)
{
    struct ethos_error why = {0};
    int code = memory_chunks_blame(turn, chunks, first, count, &why);
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    if (code != ETHOS_OK) {
        result->code = code;
        result->error = why;
    }
    return ETHOS_OK;
}

/* The index after the entry that the cursor names; 0 without a cursor. */
static int find_page_start(const struct op_call *call, const struct memory_chunks *chunks,
                           size_t *out, struct ethos_error *error)
{
    const char *cursor = op_string(call, "cursor");
    *out = 0;
    while (cursor && *out < chunks->count && strcmp(chunks->rows[*out].id, cursor) != 0)
        ++*out;
    if (cursor && *out == chunks->count)
        return pages_refuse(error);
    *out += cursor != NULL;
    return ETHOS_OK;
}

static int list_chunks(struct op_call *call, struct ethos_turn *turn, struct memory_chunks *chunks,
                       struct op_result *result, struct ethos_error *error)
{
    size_t first = 0, most = (size_t)op_integer(call, "limit", LIST_ROWS);
    TRY(memory_chunks_list(turn, named_chunk_store(call), op_flag(call, "archived"), chunks,
                           error));
    TRY(find_page_start(call, chunks, &first, error));
    if (call->whole_lists && !op_string(call, "cursor") && op_integer(call, "limit", 0) == 0)
        most = chunks->count;
    size_t count = chunks->count - first < most ? chunks->count - first : most;
    TRY(blame_chunks(turn, chunks, first, count, result, error));
    json_t *items = json_array();
    for (size_t i = first; i < first + count; i++)
        op_json_push(&items, chunk_json(&chunks->rows[i]));
    bool more = count > 0 && first + count < chunks->count;
    const char *next = more ? chunks->rows[first + count - 1].id : NULL;
    return op_return(
        result, json_pack("{s:o, s:o}", "items", items, "nextCursor", op_json_string(next)), error);
}

static int run_list_chunks(struct op_call *call, struct op_result *result,
                           struct ethos_error *error)
{
    return run_in_turn(list_chunks, call, result, error);
}

static int get_chunk(struct op_call *call, struct ethos_turn *turn, struct memory_chunks *chunks,
                     struct op_result *result, struct ethos_error *error)
{
    TRY(memory_chunks_get(turn, op_string(call, "id"), chunks, error));
    TRY(blame_chunks(turn, chunks, 0, 1, result, error));
    return op_return(result, json_pack("{s:o}", "chunk", chunk_json(&chunks->rows[0])), error);
}

static int run_get_chunk(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return run_in_turn(get_chunk, call, result, error);
}

static int search_chunks(struct op_call *call, struct ethos_turn *turn,
                         struct memory_chunks *chunks, struct op_result *result,
                         struct ethos_error *error)
{
    const struct memory_chunks_ask ask = {
        .query = op_text(call, "query"),
        .store = named_chunk_store(call),
        .archived = !json_is_false(json_object_get(call->args, "archived")),
        .most = (unsigned)op_integer(call, "topK", SEARCH_ROWS)};
    int64_t start = os_monotonic_ms();
    if (ask.query.size > ETHOS_MAX_QUERY)
        return err_set(error, ETHOS_LIMIT, "query: longer than %d bytes", ETHOS_MAX_QUERY);
    int code = memory_chunks_search(turn, &ask, chunks, error);
    result->code = chunks->code;
    result->error = chunks->error;
    TRY(code);
    TRY(blame_chunks(turn, chunks, 0, chunks->count, result, error));
    json_t *items = json_array();
    for (size_t i = 0; i < chunks->count; i++)
        op_json_push(&items, found_chunk_json(&chunks->rows[i]));
    return op_return(result,
                     json_pack("{s:o, s:I}", "items", items, "elapsedMs",
                               (json_int_t)(os_monotonic_ms() - start)),
                     error);
}

static int run_search_chunks(struct op_call *call, struct op_result *result,
                             struct ethos_error *error)
{
    return run_in_turn(search_chunks, call, result, error);
}

/* ---- changing -------------------------------------------------------------------------------- */

/* The source and time of a new entry are known without reading the history. */
static int set_chunk_member(json_t *more, const char *name, const struct op_call *call,
                            struct memory_chunk *chunk, bool is_new)
{
    if (is_new) {
        chunk->source = call->source ? call->source : "tool";
        chunk->created_ms = service_now_ms(call->ethos);
    }
    json_t *json = chunk_json(chunk);
    return json && json_object_set_new(more, name, json) == 0 ? ETHOS_OK : ETHOS_NOMEM;
}

static int apply_chunk_change(struct ethos_turn *turn, const struct op_call *call,
                              const struct memory_chunk_change *change,
                              const struct ethos_sync_how *how, json_t *more,
                              struct ethos_error *error)
{
    struct memory_chunks chunks;
    memory_chunks_init(&chunks);
    int code = memory_chunk_apply(turn, change, how, &chunks, error);
    int put = ETHOS_OK;
    if (code == ETHOS_CONFLICT && chunks.count > 0) {
        memory_chunks_blame(turn, &chunks, 0, 1, NULL);
        put = set_chunk_member(more, "nearest", call, &chunks.rows[0], false);
    } else if (code == ETHOS_OK && chunks.count > 0) {
        put = set_chunk_member(more, "chunk", call, &chunks.rows[0], true);
    }
    if (code == ETHOS_OK && change->id && change->content.data)
        put |= json_object_set_new(more, "previousId", json_string(change->id));
    if (code == ETHOS_OK && !change->content.data)
        put |= json_object_set_new(more, "ok", json_true());
    memory_chunks_release(&chunks);
    return code == ETHOS_OK && put ? err_nomem(error) : code;
}

static int add_chunk(struct ethos_turn *turn, const struct op_call *call,
                     const struct ethos_sync_how *how, json_t *more, struct ethos_error *error)
{
    struct ethos_view block = op_text(call, "id");
    const struct memory_chunk_change change = {
        .content = op_text(call, "content"),
        .store = named_chunk_store(call),
        .under = op_text(call, "under"),
        .block = view_starts(block, VIEW("^")) ? view_from(block, 1) : block};
    return apply_chunk_change(turn, call, &change, how, more, error);
}

static int update_chunk(struct ethos_turn *turn, const struct op_call *call,
                        const struct ethos_sync_how *how, json_t *more, struct ethos_error *error)
{
    const struct memory_chunk_change change = {.id = op_string(call, "id"),
                                               .content = op_text(call, "content"),
                                               .if_revision = op_string(call, "ifRevision")};
    return apply_chunk_change(turn, call, &change, how, more, error);
}

static int delete_chunk(struct ethos_turn *turn, const struct op_call *call,
                        const struct ethos_sync_how *how, json_t *more, struct ethos_error *error)
{
    const struct memory_chunk_change change = {.id = op_string(call, "id"),
                                               .if_revision = op_string(call, "ifRevision")};
    return apply_chunk_change(turn, call, &change, how, more, error);
}

static int run_add_chunk(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return report_run(add_chunk, call, result, error);
}

static int run_update_chunk(struct op_call *call, struct op_result *result,
                            struct ethos_error *error)
{
    return report_run(update_chunk, call, result, error);
}

static int run_delete_chunk(struct op_call *call, struct op_result *result,
                            struct ethos_error *error)
{
    return report_run(delete_chunk, call, result, error);
}

/* ---- the rows -------------------------------------------------------------------------------- */

#define ARG_ID                                                                                     \
    {                                                                                              \
        "id", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "ID",                                    \
            "the entry's id or block id, as the list shows it"                                     \
    }
#define ARG_IF_REVISION                                                                            \
    {                                                                                              \
        "ifRevision", OP_TEXT, 0, NULL, "REV",                                                     \
            "only if the entry still has this revision; needed with a block id"                    \
    }

static const struct op_arg list_args[] = {
    ARG_STORE,
    {"archived", OP_FLAG, 0, NULL, NULL, "include archived entries"},
    ARG_LIMIT("1|200", "at most this many (default: all; other surfaces: 50)"),
    ARG_CURSOR,
    ARG_END};
static const struct op_arg get_args[] = {ARG_ID, ARG_END};
static const struct op_arg search_args[] = {
    {"query", OP_TEXT, OP_REQUIRED | OP_POSITIONAL | OP_REST, NULL, "QUESTION",
     "a question or words"},
    {"topK", OP_INTEGER, 0, "1|100", "N", "at most this many (default 5)"},
    ARG_STORE,
    {"archived", OP_FLAG, 0, NULL, NULL, "include archived entries (default)"},
    ARG_END};
static const struct op_arg add_args[] = {
    {"content", OP_TEXT, OP_REQUIRED | OP_POSITIONAL | OP_STDIN, NULL, "TEXT", "the text"},
    ARG_STORE,
    {"under", OP_TEXT, 0, NULL, "HEADING", "below this heading (default: at the end)"},
    {"id", OP_TEXT, 0, NULL, "NAME", "give it this block id: letters, digits and hyphens"},
    ARG_END};
static const struct op_arg update_args[] = {
    ARG_ID,
    {"content", OP_TEXT, OP_REQUIRED | OP_POSITIONAL | OP_STDIN, NULL, "TEXT", "the new text"},
    ARG_IF_REVISION,
    ARG_END};
static const struct op_arg delete_args[] = {ARG_ID, ARG_IF_REVISION, ARG_END};

const struct op ops_chunks[] = {
    {"memory.chunks.list", "memory chunks list", "List the entries of a file",
     "ethos memory chunks list --store user", list_args, OP_MEMORY_READ, OP_IDEMPOTENT,
     run_list_chunks},
    {"memory.chunks.get", "memory chunks get", "Show one entry",
     "ethos memory chunks get 9a14d21ddd23f9b0", get_args, OP_MEMORY_READ, OP_IDEMPOTENT,
     run_get_chunk},
    {"memory.chunks.search", "memory chunks search", "Find the entries that answer a question",
     "ethos memory chunks search 'When do we deploy?'", search_args, OP_MEMORY_READ, OP_IDEMPOTENT,
     run_search_chunks},
    {"memory.chunks.add", "memory chunks add", "Add an entry",
     "ethos memory chunks add 'We deploy on Wednesdays' --under Work", add_args, OP_MEMORY_WRITE,
     OP_WRITES, run_add_chunk},
    {"memory.chunks.update", "memory chunks update", "Change the text of an entry",
     "ethos memory chunks update 9a14d21ddd23f9b0 'We deploy on Tuesdays'", update_args,
     OP_MEMORY_WRITE, OP_WRITES | OP_DESTRUCTIVE, run_update_chunk},
    {"memory.chunks.delete", "memory chunks delete", "Delete an entry",
     "ethos memory chunks delete 9a14d21ddd23f9b0", delete_args, OP_MEMORY_WRITE,
     OP_WRITES | OP_DESTRUCTIVE, run_delete_chunk},
    {0}};
