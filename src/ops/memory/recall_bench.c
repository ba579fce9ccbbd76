/*
 * recall_bench.c: the operation recall.bench: measures recall over your notes or over a corpus in files.
 */
#include <stdlib.h>

#include "base/err.h"
#include "memory/handle.h"
#include "memory/recall/own_notes.h"
#include "ops/memory/recall_batch.h"
#include "ops/tables.h"

static int measure_files(struct op_call *call, struct recall_measure *out,
                         struct ethos_error *error)
{
    const char *corpus = op_string(call, "corpus"), *queries = op_string(call, "queries");
    json_int_t questions;
    if (!corpus || !queries)
        return err_hint(error,
                        err_set(error, ETHOS_INVALID, "%s: missing", corpus ? "queries" : "corpus"),
                        "give both a corpus and its questions");
    return recall_batch(corpus, queries, NULL, out, &questions, error);
}

static int measure_notes(struct op_call *call, struct recall_measure *out,
                         struct ethos_error *error)
{
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    TRY(ethos_turn_new(call->ethos, call->request, &turn, error));
    return recall_own_notes(turn, out, error);
}

/* In percent, to two places. */
static json_t *percent(double share)
{
    return json_real((double)(int64_t)(share * 10000 + 0.5) / 100);
}

static int run_bench(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct recall_measure measured;
    bool files = op_string(call, "corpus") || op_string(call, "queries");
    int code = files ? measure_files(call, &measured, error)
                     : measure_notes(call, &measured, error);
    if (code != ETHOS_OK)
        return code;
    struct recall_means means = recall_measure_means(&measured);
    json_int_t least = op_integer(call, "least", 0);
    if (least > 0 && means.recall_10 * 100 < (double)least)
        result->code = err_set(&result->error, ETHOS_CONFLICT,
                               "recall@10 is %.2f, less than %" JSON_INTEGER_FORMAT,
                               means.recall_10 * 100, least);
    double each = measured.questions > 0 ? (double)measured.elapsed_ms / (double)measured.questions
                                         : 0;
    return op_return(result,
                     json_pack("{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "questions",
                               (json_int_t)measured.questions, "texts", (json_int_t)measured.texts,
                               "recall1", percent(means.recall_1), "recall5",
                               percent(means.recall_5), "recall10", percent(means.recall_10),
                               "ndcg10", percent(means.ndcg_10), "mrr", percent(means.mrr),
                               "msEach", percent(each / 100)),
                     error);
}

static const struct op_arg bench_args[] = {
    {"corpus", OP_TEXT, 0, NULL, "FILE",
     "texts to search, as JSON lines (default: your notes, with their hooks as questions)"},
    {"queries", OP_TEXT, 0, NULL, "FILE",
     "their questions, as JSON lines: id, text, scope, relevant: the ids of the right texts"},
    {"least", OP_INTEGER, 0, "1|100", "PERCENT", "fail when recall@10 is less"},
    {NULL, OP_TEXT, 0, NULL, NULL, NULL}};

const struct op ops_recall_bench[] = {
    {"recall.bench", "bench recall", "Measure how well recall answers questions",
     "ethos bench recall", bench_args, OP_OWNER, OP_IDEMPOTENT | OP_LOCAL, run_bench},
    {0}};
