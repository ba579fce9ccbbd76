/*
 * search.c: the operations memory.search, within a context, and search.all, everywhere.
 */
#include "memory/search.h"

#include "base/err.h"
#include "ops/pages.h"
#include "ops/report.h"
#include "ops/sessions.h"
#include "ops/tables.h"

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

/* A message instead of a line of a file. */
static json_t *message_json(const struct memory_hit *hit)
{
    return json_pack("{s:s, s:s, s:o, s:s}", "session", hit->session, "message", hit->message,
                     "snippet", snippet_json(hit), "modifiedAt", hit->time);
}

static int add_hit(void *arg, const struct memory_hit *hit)
{
    json_t **rows = arg;
    op_json_push(rows, hit->message ? message_json(hit)
                                    : json_pack("{s:s, s:s, s:I, s:o, s:o}", "scope", hit->scope,
                                                "key", hit->key, "line", (json_int_t)hit->line,
                                                "snippet", snippet_json(hit), "modifiedAt",
                                                op_json_time(hit->mtime_ms)));
    return *rows ? ETHOS_OK : ETHOS_NOMEM;
}

static int search_with(struct op_call *call, const struct memory_search *how,
                       struct op_result *result, struct ethos_error *error)
{
    struct ethos_turn *turn;
    struct memory_searched searched;
    struct memory_search search = *how;
    search.text = op_text(call, "query");
    search.limit = (unsigned)op_integer(call, "limit", 20);
    search.guarded = call->guarded;
    if (search.text.size > ETHOS_MAX_QUERY)
        return err_set(error, ETHOS_LIMIT, "query: longer than %d bytes", ETHOS_MAX_QUERY);
    int code = ethos_turn_new(call->ethos, call->request, &turn, error);
    if (code != ETHOS_OK)
        return code;
    json_t *hits = json_array();
    code = memory_search(turn, &search, add_hit, &hits, &searched, error);
    if (code == ETHOS_OK) {
        result->code = searched.code;
        result->error = searched.error;
        report_workspace(ethos_turn_context(turn), result);
        code = op_return(result,
                         json_pack("{s:O, s:I, s:I, s:b}", "hits", hits, "files",
                                   (json_int_t)searched.files, "unreadable",
                                   (json_int_t)searched.unreadable, "partial", searched.partial),
                         error);
        result->withheld = searched.withheld;
    } else if (code == ETHOS_NOMEM) {
        err_nomem(error);
    }
    json_decref(hits);
    ethos_turn_free(turn);
    return code;
}

static int run_search(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    const struct memory_search search = {.scope = op_string(call, "scope"),
                                         .archive = op_flag(call, "archive")};
    return search_with(call, &search, result, error);
}

/* A home without conversations is searched as well. */
static int run_all(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    bool here = op_flag(call, "here");
    struct memory_search search = {.archive = 1, .everywhere = !here};
    struct sessions_viewer viewer;
    int code = sessions_view(call, &viewer, error);
    if (code == ETHOS_OK && here && !viewer.folder && sessions_placed(call))
        code = sessions_limit(call, &viewer, error);
    if (code == ETHOS_OK)
        code = ethos_sessions(call->ethos, &search.sessions, error);
    search.people = viewer.people;
    search.working_dir = viewer.folder;
    if (code == ETHOS_OK)
        code = search_with(call, &search, result, error);
    sessions_view_release(&viewer);
    return code;
}

#define ARG_QUERY                                                                                  \
    {                                                                                              \
        "query", OP_TEXT, OP_REQUIRED | OP_POSITIONAL | OP_REST, NULL, "QUERY",                    \
            "words or a question; \"in quotes\" what must occur as it is"                          \
    }
#define ARG_HITS ARG_LIMIT("1|100", "at most this many hits (default 20)")

static const struct op_arg search_args[] = {
    ARG_QUERY,
    ARG_HITS,
    ARG_SCOPE,
    {"archive", OP_FLAG, 0, NULL, NULL, "also in what was too long for its file and was archived"},
    ARG_END};
static const struct op_arg all_args[] = {
    ARG_QUERY,
    {"here", OP_FLAG, 0, NULL, NULL, "only this workspace (default: all of them)"},
    ARG_HITS,
    ARG_END};

const struct op ops_search[] = {
    {"search.all", "search", "Search memory, notes and conversations",
     "ethos search 'is the oven hot?'", all_args, OP_OWNER, OP_IDEMPOTENT | OP_DATABASE, run_all},
    {"memory.search", "memory search", "Find the best answers in the files and notes",
     "ethos memory search 'deploy friday'", search_args, OP_MEMORY_READ, OP_IDEMPOTENT, run_search},
    {0}};
