/*
 * search.c: the operation memory.search.
 */
#include "memory/search.h"

#include "base/err.h"
#include "ops/report.h"
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

static int add_hit(void *arg, const struct memory_hit *hit)
{
    json_t **rows = arg;
    op_json_push(rows, json_pack("{s:s, s:s, s:I, s:o, s:o}", "scope", hit->scope, "key", hit->key,
                                 "line", (json_int_t)hit->line, "snippet", snippet_json(hit),
                                 "modifiedAt", op_json_time(hit->mtime_ms)));
    return *rows ? ETHOS_OK : ETHOS_NOMEM;
}

static int run_search(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct ethos_turn *turn;
    struct memory_searched searched;
    const struct memory_search search = {.text = op_text(call, "query"),
                                         .scope = op_string(call, "scope"),
                                         .limit = (unsigned)op_integer(call, "limit", 20),
                                         .guarded = call->guarded,
                                         .archive = op_flag(call, "archive")};
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

static const struct op_arg search_args[] = {
    {"query", OP_TEXT, OP_REQUIRED | OP_POSITIONAL | OP_REST, NULL, "QUERY",
     "words in any order; \"in quotes\" a phrase"},
    {"limit", OP_INTEGER, 0, "1|100", "N", "at most this many hits (default 20)"},
    ARG_SCOPE,
    {"archive", OP_FLAG, 0, NULL, NULL, "also in what was too long for its file and was archived"},
    ARG_END};

const struct op ops_search[] = {
    {"memory.search", "memory search", "Find words in the files and notes",
     "ethos memory search 'deploy friday'", search_args, OP_MEMORY_READ, OP_IDEMPOTENT, run_search},
    {0}};
