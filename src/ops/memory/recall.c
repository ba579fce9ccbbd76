/*
 * recall.c: the operations memory.recall, which finds passages of memory that answer a question, and recall.index.
 *
 *     {"hits": [{"scope", "key", "line", "text", "date", "score", "message"?, "role"?, "untrusted"?,
 *                "why"?: [{"part", "value", "weight", "score"}], "words"?: [{"word", "as" | "near", "cosine"}],
 *                "indexed"?}],
 *      "scopes", "units", "partial", "elapsedMs"}
 */
#include "memory/recall/recall.h"
#include "memory/recall/remote_meaning.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/handle.h"
#include "ops/memory/recall_index.h"
#include "ops/paging.h"
#include "ops/tables.h"
#include "ops/write_report.h"

#define DEFAULT_HITS 10

struct recall_rows {
    json_t *hits;
    bool why;
};

/* ---- why ------------------------------------------------------------------------------------- */

struct score_part {
    size_t feature;
    double score;
};

static double absolute(double number)
{
    return number < 0 ? -number : number;
}

static int compare_parts(const void *a, const void *b)
{
    const struct score_part *x = a, *y = b;
    double order = absolute(y->score) - absolute(x->score);
    return order > 0 ? 1 : order < 0 ? -1 : (x->feature > y->feature) - (x->feature < y->feature);
}

/* The parts of the score that are not 0, largest first. */
static json_t *why_json(const struct ranker_hit *hit)
{
    struct score_part parts[RANKER_FEATURES];
    size_t count = 0;
    json_t *rows = json_array();
    for (size_t f = 0; f < RANKER_FEATURES; f++)
        if (hit->features[f] != 0)
            parts[count++] = (struct score_part){f, hit->features[f] * ranker_weight(hit, f)};
    qsort(parts, count, sizeof *parts, compare_parts);
    for (size_t i = 0; i < count; i++) {
        const struct ranker_feature *feature = &ranker_features[parts[i].feature];
        op_json_push(&rows, json_pack("{s:s, s:o, s:o, s:o}", "part", feature->name, "value",
                                      op_json_number(hit->features[parts[i].feature]), "weight",
                                      op_json_number(ranker_weight(hit, parts[i].feature)), "score",
                                      op_json_number(parts[i].score)));
    }
    return rows;
}

/* The words of the question that match the text: "as" another form of the word, or "near" a word of similar meaning. */
static json_t *words_json(const struct matched_words *words)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < words->count; i++) {
        const struct matched_word *row = &words->rows[i];
        if (!*row->as && !*row->near)
            continue;
        json_t *json = json_pack("{s:s}", "word", row->word);
        if (!*row->as) {
            op_json_put(&json, "near", json_string(row->near));
            op_json_put(&json, "cosine", op_json_number(row->cosine));
        } else if (strcmp(row->word, row->as) != 0) {
            op_json_put(&json, "as", json_string(row->as));
        }
        op_json_push(&rows, json);
    }
    return rows;
}

/* ---- hits ------------------------------------------------------------------------------------ */

static json_t *date_json(int64_t ms)
{
    char text[CLOCK_ISO_SIZE];
    if (ms < 0)
        return json_null();
    clock_date(ms, text);
    return json_string(text);
}

static int add_recall_hit(void *arg, const struct recall_hit *hit)
{
    struct recall_rows *answer = arg;
    json_t *row = json_pack("{s:s, s:s, s:I, s:o, s:o, s:o}", "scope", hit->scope, "key", hit->key,
                            "line", (json_int_t)hit->line, "text", json_text(hit->text), "date",
                            date_json(hit->date_ms), "score", op_json_number(hit->ranked->score));
    if (hit->said) {
        op_json_put(&row, "message", json_string(hit->said->id));
        op_json_put(&row, "role", json_string(hit->said->role));
        if (hit->said->is_untrusted)
            op_json_put(&row, "untrusted", json_true());
    }
    if (answer->why) {
        op_json_put(&row, "why", why_json(hit->ranked));
        op_json_put(&row, "words", words_json(hit->words));
        op_json_put(&row, "indexed", op_json_time(hit->indexed_ms));
    }
    op_json_push(&answer->hits, row);
    return answer->hits ? ETHOS_OK : ETHOS_NOMEM;
}

static int answer_question(struct op_call *call, struct ethos_turn *turn, struct op_result *result,
                           struct ethos_error *error)
{
    struct recall_rows answer = {.hits = json_array(), .why = op_flag(call, "why")};
    // a limited key or a model searches its own context only
    bool everywhere = !op_flag(call, "here") && !call->only && !call->guarded;
    const struct recall_ask question = {
        .question = op_text(call, "question"),
        .limit = (unsigned)op_integer(call, "limit", DEFAULT_HITS),
        .since_ms = op_time(call, "since"),
        .encode_ms = RECALL_ENCODE_MS,
        .everywhere = everywhere,
        .said = call->no_sessions       ? RECALL_SAID_NONE
                : everywhere            ? RECALL_SAID_ALL
                : op_flag(call, "here") ? RECALL_SAID_HERE
                                        : RECALL_SAID_PROJECT,
    };
    struct recall_report report;
    int64_t start = os_monotonic_ms();
    int code = answer.hits ? recall_search(turn, &question, add_recall_hit, &answer, &report, error)
                           : err_nomem(error);
    if (code == ETHOS_OK) {
        result->code = report.code;
        result->error = report.error;
        result->texts_of = OP_TEXTS_SCOPED;
        report_workspace(ethos_turn_context(turn), result);
        code = op_return(result,
                         json_pack("{s:O, s:I, s:I, s:b, s:I}", "hits", answer.hits, "scopes",
                                   (json_int_t)report.scopes, "units", (json_int_t)report.units,
                                   "partial", report.partial, "elapsedMs",
                                   (json_int_t)(os_monotonic_ms() - start)),
                         error);
    } else if (code == ETHOS_NOMEM) {
        err_nomem(error);
    }
    json_decref(answer.hits);
    return code;
}

static int run_recall(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    if (op_text(call, "question").size > ETHOS_MAX_QUERY)
        return err_set(error, ETHOS_LIMIT, "question: longer than %d bytes", ETHOS_MAX_QUERY);
    TRY(ethos_turn_new(call->ethos, call->request, &turn, error));
    return answer_question(call, turn, result, error);
}

/* ---- the index ------------------------------------------------------------------------------- */

static int add_index_row(void *arg, const struct recall_scope_report *report)
{
    json_t **rows = arg;
    op_json_push(rows,
                 json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:b}", "scope", report->scope,
                           "texts", (json_int_t)report->texts, "units", (json_int_t)report->units,
                           "bytes", (json_int_t)report->bytes, "indexed",
                           (json_int_t)report->indexed, "encoded", (json_int_t)report->encoded,
                           "rebuilt", report->rebuilt, "saved", !report->unsaved));
    return *rows ? ETHOS_OK : ETHOS_NOMEM;
}

static int run_index(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    json_auto_t *scopes = json_array();
    int64_t start = os_monotonic_ms();
    if (!scopes)
        return err_nomem(error);
    TRY(recall_index_all(call->ethos, add_index_row, &scopes, error));
    return op_return(result,
                     json_pack("{s:O, s:I}", "scopes", scopes, "elapsedMs",
                               (json_int_t)(os_monotonic_ms() - start)),
                     error);
}

bool recall_index_elsewhere(struct ethos *ethos, const char *personality)
{
    struct service_embedder embedder;
    return !remote_meaning_is_here() &&
           service_embedder(ethos, personality, &embedder, NULL) == ETHOS_OK && embedder.is_remote;
}

static const struct op_arg recall_args[] = {
    {"question", OP_TEXT, OP_REQUIRED | OP_POSITIONAL | OP_REST, NULL, "QUESTION",
     "a question or words"},
    {"here", OP_FLAG, 0, NULL, NULL, "only this workspace (default: all of them)"},
    {"since", OP_TIME, 0, NULL, "TIME", "only what was written since: 7d, 2026-11-15"},
    {"why", OP_FLAG, 0, NULL, NULL, "explain each score"},
    ARG_LIMIT("1|100", "at most this many hits (default 10)"),
    ARG_END};

const struct op ops_recall[] = {{"memory.recall", "recall", "Search memory with a question",
                                 "ethos recall 'When do we deploy?'", recall_args, OP_MEMORY_READ,
                                 OP_IDEMPOTENT | OP_DATABASE, run_recall},
                                {"recall.index", "recall index", "Update the recall index",
                                 "ethos recall index", NULL, OP_OWNER,
                                 OP_WRITES | OP_IDEMPOTENT | OP_DATABASE, run_index},
                                {0}};
