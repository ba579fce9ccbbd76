/*
 * merge.c: the operation memory.merge: three-way merge of texts.
 */
#include "core/history/merge.h"

#include "base/err.h"
#include "base/utf8.h"
#include "base/view.h"
#include "ops/tables.h"

#define MOST_HUNKS                                                                                 \
    10000 /* about a kilobyte each as JSON; the last one contains the rest of the texts */

/* The hunks of an answer. at: offsets of the next hunk in each text; first: offsets of the last row's hunk. */
struct hunks {
    json_t *rows;
    size_t count;
    struct places {
        size_t base, ours, theirs, merged;
    } at, first;
    enum merge_origin origin; /* of the last one */
};

static void push_hunk(struct hunks *hunks, const struct merge_hunk *hunk)
{
    static const char *const kinds[] = {"same", "yours", "theirs", "both", "conflict"};
    op_json_push(&hunks->rows,
                 json_pack("{s:s, s:o, s:o, s:o, s:o}", "kind", kinds[hunk->origin], "base",
                           json_text(hunk->base), "yours", json_text(hunk->ours), "theirs",
                           json_text(hunk->theirs), "merged", json_text(hunk->merged)));
}

static bool add_hunk(void *arg, const struct merge_hunk *hunk)
{
    struct hunks *hunks = arg;
    hunks->count++;
    if (hunks->count < MOST_HUNKS) {
        push_hunk(hunks, hunk);
    } else if (hunks->count == MOST_HUNKS) {
        hunks->first = hunks->at;
        hunks->origin = hunk->origin;
    } else if (hunks->origin != MERGE_CONFLICT) {
        hunks->origin = hunk->origin == MERGE_CONFLICT ? MERGE_CONFLICT : MERGE_BOTH;
    }
    hunks->at.base += hunk->base.size;
    hunks->at.ours += hunk->ours.size;
    hunks->at.theirs += hunk->theirs.size;
    hunks->at.merged += hunk->merged.size;
    return hunks->rows;
}

/* If there are more hunks than fit, adds one row with the rest of the texts. */
static void add_last_hunk(const struct op_call *call, const struct str *merged, struct hunks *hunks)
{
    if (hunks->count < MOST_HUNKS)
        return;
    const struct merge_hunk rest = {hunks->origin,
                                    view_from(op_text(call, "base"), hunks->first.base),
                                    view_from(op_text(call, "yours"), hunks->first.ours),
                                    view_from(op_text(call, "theirs"), hunks->first.theirs),
                                    view_from(str_view(merged), hunks->first.merged)};
    push_hunk(hunks, &rest);
}

static int check_sizes(const struct op_call *call, struct ethos_error *error)
{
    static const char *const names[] = {"base", "yours", "theirs"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (utf8_units(op_text(call, names[i])) > ETHOS_MAX_FILE_CH)
            return err_set(error, ETHOS_LIMIT, "%s: longer than a file may be", names[i]);
    return ETHOS_OK;
}

/* Returns the merged text; the result's error counts the conflicts. */
static int return_merged_text(struct op_result *result, const struct merge_report *report,
                              struct str *merged, struct ethos_error *error)
{
    result->has_text = true;
    if (str_add(&result->text, str_view(merged)) != ETHOS_OK)
        return err_nomem(error);
    if (report->conflicts > 0)
        result->code = err_set(&result->error, ETHOS_CONFLICT,
                               "%u place%s changed in both: yours is used", report->conflicts,
                               report->conflicts == 1 ? "" : "s");
    return ETHOS_OK;
}

static int run_merge_texts(struct op_call *call, struct op_result *result,
                           struct ethos_error *error)
{
    struct str merged;
    struct merge_report report;
    int code = check_sizes(call, error);
    if (code != ETHOS_OK)
        return code;
    struct hunks hunks = {.rows = json_array()};
    str_init(&merged, ETHOS_MAX_STORE_BYTES);
    if (merge_hunks(op_text(call, "base"), op_text(call, "yours"), op_text(call, "theirs"), &merged,
                    call->want_json ? add_hunk : NULL, &hunks, &report) != ETHOS_OK)
        code = err_nomem(error);
    else if (!call->want_json)
        code = return_merged_text(result, &report, &merged, error);
    if (code == ETHOS_OK && call->want_json) {
        add_last_hunk(call, &merged, &hunks);
        code = op_return(result,
                         json_pack("{s:o, s:b, s:O}", "merged", json_text(str_view(&merged)),
                                   "clean", report.conflicts == 0, "hunks", hunks.rows),
                         error);
    }
    json_decref(hunks.rows);
    str_release(&merged);
    return code;
}

#define ARG_FILE(name, placeholder, help)                                                          \
    {                                                                                              \
        name, OP_TEXT, OP_REQUIRED | OP_POSITIONAL | OP_STDIN | OP_FILE, NULL, placeholder, help   \
    }

static const struct op_arg merge_args[] = {
    ARG_FILE("base", "BASE", "file with the common ancestor"),
    ARG_FILE("yours", "YOURS",
             "file with your version, which wins where both changed the same lines"),
    ARG_FILE("theirs", "THEIRS", "file with the other version; - or nothing reads standard input"),
    {NULL, OP_TEXT, 0, NULL, NULL, NULL}};

const struct op ops_merging[] = {{"memory.merge", "memory merge",
                                  "Merge two versions of a text, and print the result",
                                  "ethos memory merge base.md yours.md theirs.md", merge_args,
                                  OP_MEMORY_READ, OP_IDEMPOTENT, run_merge_texts},
                                 {0}};
