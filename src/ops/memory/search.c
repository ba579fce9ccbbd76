/*
 * search.c: the operations memory.search (the files of a context) and search.all (all memory and conversations).
 */
#include "memory/provider/missing_slots.h"
#include "memory/recall/text_search.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/view.h"
#include "core/sessions/attachment.h"
#include "ops/paging.h"
#include "ops/sessions/sessions.h"
#include "ops/tables.h"
#include "ops/write_report.h"

#define ELLIPSIS "\xE2\x80\xA6" /* U+2026 */

static json_t *snippet_json(const struct memory_hit *hit)
{
    struct str text;
    str_init(&text, SEARCH_MAX_SNIPPET + 2 * sizeof ELLIPSIS);
    str_adds(&text, hit->cut_before ? ELLIPSIS : "");
    str_add(&text, hit->snippet);
    str_adds(&text, hit->cut_after ? ELLIPSIS : "");
    json_t *json = str_code(&text) == ETHOS_OK ? json_text(str_view(&text)) : NULL;
    str_release(&text);
    return json;
}

/* The row of a hit in a conversation. */
static json_t *message_json(const struct memory_hit *hit)
{
    json_t *row = json_pack("{s:s, s:s, s:o, s:o}", "session", hit->said->session, "message",
                            hit->said->id, "snippet", snippet_json(hit), "modifiedAt",
                            op_json_time(hit->mtime_ms));
    if (hit->said->is_untrusted)
        op_json_put(&row, "untrusted", json_true());
    return row;
}

static int add_search_hit(void *arg, const struct memory_hit *hit)
{
    json_t **rows = arg;
    op_json_push(rows, hit->said ? message_json(hit)
                                 : json_pack("{s:s, s:s, s:I, s:o, s:o}", "scope", hit->scope,
                                             "key", hit->key, "line", (json_int_t)hit->line,
                                             "snippet", snippet_json(hit), "modifiedAt",
                                             op_json_time(hit->mtime_ms)));
    return *rows ? ETHOS_OK : ETHOS_NOMEM;
}

/* Hits of a session store that searches by itself follow the others, up to the limit. */
struct session_hits {
    json_t **rows;
    size_t limit;
};

static int add_session_hit(void *arg, const struct ethos_hit *hit)
{
    const struct session_hits *self = arg;
    struct memory_hit shown = {.snippet = hit->snippet,
                               .cut_before = hit->cut_before,
                               .cut_after = hit->cut_after,
                               .mtime_ms = -1};
    const struct ethos_message *message = hit->message;
    const struct said_message said = {.session = hit->session->id,
                                      .id = message->id,
                                      .is_untrusted = message_is_untrusted(message->role,
                                                                           message->content_blocks,
                                                                           message->content)};
    shown.said = &said;
    if (!clock_parse(view_str(hit->message->timestamp), 0, false, &shown.mtime_ms, NULL))
        shown.mtime_ms = -1;
    return json_array_size(*self->rows) < self->limit ? add_search_hit(self->rows, &shown)
                                                      : ETHOS_OK;
}

/* Searches conversations in a session store that memory_search does not search itself. */
static int search_session_store(struct op_call *call, const struct memory_search *search,
                                json_t **rows, struct ethos_error *error)
{
    struct ethos_sessions *store = NULL;
    struct sessions_viewer viewer;
    const struct session_hits self = {rows, search->limit};
    struct ethos_search asked = {.text = search->text, .limit = search->limit, .guarded = true};
    if (search->said == RECALL_SAID_NONE)
        return ETHOS_OK;
    int code = sessions_view(call, &viewer, error);
    if (code == ETHOS_OK && search->said == RECALL_SAID_HERE && !viewer.folder &&
        sessions_has_folder(call))
        code = sessions_limit(call, &viewer, error);
    if (code == ETHOS_OK)
        code = ethos_sessions(call->ethos, &store, error);
    asked.people = viewer.people;
    asked.working_dir = viewer.folder;
    if (code == ETHOS_OK && !SLOT_SESSIONS(store, unseen) && SLOT_SESSIONS(store, search))
        code = store->ops->search(store, &asked, add_session_hit, (void *)&self, error);
    sessions_view_release(&viewer);
    return code;
}

static int run_search_with(struct op_call *call, const struct memory_search *how,
                           struct op_result *result, struct ethos_error *error)
{
    struct recall_report report;
    struct memory_search search = *how;
    search.text = op_text(call, "query");
    search.limit = (unsigned)op_integer(call, "limit", 20);
    if (search.text.size > ETHOS_MAX_QUERY)
        return err_set(error, ETHOS_LIMIT, "query: longer than %d bytes", ETHOS_MAX_QUERY);
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    json_auto_t *hits = json_array();
    TRY(ethos_turn_new(call->ethos, call->request, &turn, error));
    int code = memory_search(turn, &search, add_search_hit, &hits, &report, error);
    if (code == ETHOS_OK)
        code = search_session_store(call, &search, &hits, error);
    if (code == ETHOS_NOMEM)
        err_nomem(error);
    TRY(code);
    result->code = report.code;
    result->error = report.error;
    report_workspace(ethos_turn_context(turn), result);
    result->withheld = call->guarded && report.withheld;
    result->texts_of = OP_TEXTS_SCOPED;
    return op_return(result,
                     json_pack("{s:O, s:I, s:I, s:b}", "hits", hits, "files",
                               (json_int_t)report.texts, "unreadable",
                               (json_int_t)report.unreadable, "partial", report.partial),
                     error);
}

static int run_search(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    const struct memory_search search = {.scope = op_string(call, "scope"),
                                         .archive = op_flag(call, "archive")};
    return run_search_with(call, &search, result, error);
}

static int run_all(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    bool here = op_flag(call, "here");
    const struct memory_search search = {
        .archive = true, .everywhere = !here, .said = here ? RECALL_SAID_HERE : RECALL_SAID_ALL};
    return run_search_with(call, &search, result, error);
}

#define ARG_QUERY                                                                                  \
    {                                                                                              \
        "query", OP_TEXT, OP_REQUIRED | OP_POSITIONAL | OP_REST, NULL, "QUERY",                    \
            "a question or words; \"quoted\" text must occur as it is"                             \
    }
#define ARG_HITS ARG_LIMIT("1|100", "at most this many hits (default 20)")

static const struct op_arg search_args[] = {
    ARG_QUERY,
    ARG_HITS,
    ARG_SCOPE,
    {"archive", OP_FLAG, 0, NULL, NULL, "search the archive too"},
    ARG_END};
static const struct op_arg all_args[] = {
    ARG_QUERY,
    {"here", OP_FLAG, 0, NULL, NULL, "only this workspace (default: all of them)"},
    ARG_HITS,
    ARG_END};

const struct op ops_search[] = {
    {"search.all", "search", "Search memory, notes and conversations",
     "ethos search 'is the oven hot?'", all_args, OP_OWNER, OP_IDEMPOTENT | OP_DATABASE, run_all},
    {"memory.search", "memory search", "Search the memory files and notes",
     "ethos memory search 'deploy friday'", search_args, OP_MEMORY_READ, OP_IDEMPOTENT | OP_ASKS,
     run_search},
    {0}};
