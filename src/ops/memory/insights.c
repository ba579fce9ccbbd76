/*
 * insights.c: the operation memory.insights: how memory grows, and who writes to it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/utf8.h"
#include "base/view.h"
#include "memory/handle.h"
#include "memory/history/timeline.h"
#include "ops/tables.h"
#include "ops/write_report.h"

#define DAYS 30 /* unless they are given */
#define DAY_MS 86400000LL
#define DATE_SIZE 11 /* YYYY-MM-DD, terminated */

static void date_of(int64_t ms, char out[DATE_SIZE])
{
    char iso[CLOCK_ISO_SIZE];
    clock_iso(ms, iso);
    snprintf(out, DATE_SIZE, "%.10s", iso);
}

/* ---- the size of a file over time ------------------------------------------------------------ */

struct series {
    int64_t since_ms;
    json_t *points; /* newest first: the last of each day */
    char day[DATE_SIZE];
    uint64_t before; /* bytes, before the oldest change that was read */
};

static json_t *point_json(int64_t ms, uint64_t bytes)
{
    return json_pack("{s:o, s:I}", "time", op_json_time(ms), "bytes", (json_int_t)bytes);
}

static int add_point(void *arg, const struct ethos_change *change)
{
    struct series *series = arg;
    char day[DATE_SIZE];
    if (change->via && strcmp(change->via, "seen") == 0)
        return ETHOS_OK;
    if (change->time_ms < series->since_ms) {
        series->before = change->bytes_after;
        return 1;
    }
    date_of(change->time_ms, day);
    if (strcmp(day, series->day) != 0)
        op_json_push(&series->points, point_json(change->time_ms, change->bytes_after));
    memcpy(series->day, day, sizeof day);
    series->before = change->bytes_before;
    return series->points ? ETHOS_OK : ETHOS_NOMEM;
}

/* The points, oldest first, preceded by the size at the start of the period. */
static json_t *reverse_points(struct series *series)
{
    json_t *points = json_array();
    size_t count = json_array_size(series->points);
    op_json_push(&points, point_json(series->since_ms, series->before));
    while (count-- > 0)
        op_json_push(&points, json_incref(json_array_get(series->points, count)));
    return points;
}

static int read_series(struct ethos_turn *turn, const struct ethos_target *target, uint64_t bytes,
                       int64_t since_ms, json_t **out, struct ethos_error *error)
{
    struct series series = {.since_ms = since_ms, .points = json_array(), .before = bytes};
    int code = ethos_history(turn, target, NULL, add_point, &series, error);
    if (code == 1 || code == ETHOS_UNSUPPORTED)
        code = ETHOS_OK;
    if (code == ETHOS_OK && !(*out = reverse_points(&series)))
        code = ETHOS_NOMEM;
    json_decref(series.points);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

static int add_file_series(struct ethos_turn *turn, const char *scope, const char *key,
                           const char *label, int64_t since_ms, json_t **files,
                           struct ethos_error *error)
{
    const struct ethos_target target = {NULL, scope, key};
    CLEANUP_FILE struct ethos_file *file = NULL;
    json_t *series = NULL;
    TRY(ethos_read(turn, &target, &file, error));
    TRY(read_series(turn, &target, file->size, since_ms, &series, error));
    op_json_push(files, json_pack("{s:s, s:s, s:s, s:I, s:I, s:o}", "scope", scope, "key", key,
                                  "label", label, "bytes", (json_int_t)file->size, "chars",
                                  (json_int_t)utf8_units(view_of(file->text, file->size)), "series",
                                  series));
    return *files ? ETHOS_OK : err_nomem(error);
}

/* If a file cannot be read, the result carries the error and shows the other files. */
static int add_files(struct ethos_turn *turn, int64_t since_ms, json_t **files,
                     struct op_result *result, struct ethos_error *error)
{
    const struct ethos_context *context = ethos_turn_context(turn);
    const struct {
        const char *scope, *key, *label;
    } rows[] = {{context->user_scope, "USER.md", "About you"},
                {context->memory_scope, "MEMORY.md", "Memory"},
                {context->workspace_scope, "MEMORY.md", "Workspace"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ethos_error why = {0};
        int code = rows[i].scope ? add_file_series(turn, rows[i].scope, rows[i].key, rows[i].label,
                                                   since_ms, files, &why)
                                 : ETHOS_OK;
        if (code == ETHOS_NOMEM)
            return err_nomem(error);
        if (code != ETHOS_OK) {
            result->code = code;
            result->error = why;
        }
    }
    return ETHOS_OK;
}

/* ---- writes --------------------------------------------------------------------------------- */

/* Counts writes by day, source, surface and scope, which together are the key of a row. */
static int count_write(void *arg, const char *scope, const struct ethos_change *change)
{
    json_t **rows = arg;
    char day[DATE_SIZE], name[ETHOS_MAX_SCOPE + 160];
    date_of(change->time_ms, day);
    snprintf(name, sizeof name, "%s %s %.60s %.60s", day, scope,
             change->source ? change->source : "", change->via ? change->via : "");
    json_t *row = json_object_get(*rows, name);
    if (row) {
        json_t *count = json_object_get(row, "count");
        json_integer_set(count, json_integer_value(count) + 1);
        return ETHOS_OK;
    }
    op_json_put(rows, name,
                json_pack("{s:s, s:o, s:o, s:s, s:I}", "day", day, "source",
                          op_json_string(change->source), "via", op_json_string(change->via),
                          "scope", scope, "count", (json_int_t)1));
    return *rows ? ETHOS_OK : ETHOS_NOMEM;
}

static int compare_row_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The rows in the order of their keys, so by day. */
static json_t *sort_rows(json_t *rows)
{
    size_t count = json_object_size(rows), i = 0;
    const char **names = calloc(count + 1, sizeof *names), *name;
    json_t *row, *list = names ? json_array() : NULL;
    if (names) {
        json_object_foreach (rows, name, row)
            names[i++] = name;
        qsort(names, count, sizeof *names, compare_row_names);
    }
    for (i = 0; names && i < count; i++)
        op_json_push(&list, json_incref(json_object_get(rows, names[i])));
    free(names);
    return list;
}

static int add_writes(struct ethos_turn *turn, int64_t since_ms, json_t **out,
                      struct op_result *result, struct ethos_error *error)
{
    int problem;
    struct ethos_error why = {0};
    json_t *rows = json_object();
    int code = timeline_since(turn, since_ms, count_write, &rows, &problem, &why, error);
    if (code == ETHOS_UNSUPPORTED)
        code = ETHOS_OK;
    else if (code == ETHOS_OK && problem != ETHOS_OK) {
        result->code = problem;
        result->error = why;
    }
    if (code == ETHOS_OK) {
        *out = sort_rows(rows);
        code = *out ? ETHOS_OK : ETHOS_NOMEM;
    }
    json_decref(rows);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

/* ---- notes ---------------------------------------------------------------------------------- */

struct note_counts {
    json_int_t total, stale;
};

static int count_note(void *arg, const struct ethos_note *note)
{
    struct note_counts *tally = arg;
    tally->total++;
    tally->stale += note->stale != NULL;
    return ETHOS_OK;
}

/* Those of the workspace, where there is one. */
static int count_notes(struct ethos_turn *turn, struct note_counts *out, struct ethos_error *error)
{
    const struct ethos_context *context = ethos_turn_context(turn);
    return ethos_notes(turn,
                       context->workspace_scope ? context->workspace_scope : context->memory_scope,
                       count_note, out, error);
}

/* ---- the operation -------------------------------------------------------------------------- */

static int collect_insights(struct op_call *call, struct ethos_turn *turn, struct op_result *result,
                            struct ethos_error *error)
{
    int64_t days = op_integer(call, "days", DAYS);
    int64_t since_ms = service_now_ms(call->ethos) - days * DAY_MS;
    json_auto_t *files = json_array();
    json_auto_t *writes = NULL;
    struct note_counts notes = {0};
    TRY(add_files(turn, since_ms, &files, result, error));
    TRY(add_writes(turn, since_ms, &writes, result, error));
    TRY(count_notes(turn, &notes, error));
    return op_return(result,
                     json_pack("{s:I, s:I, s:O, s:O, s:{s:I, s:I}}", "days", (json_int_t)days,
                               "budget", (json_int_t)service_settings(turn)->max_chars, "files",
                               files, "writes", writes, "notes", "total", notes.total, "stale",
                               notes.stale),
                     error);
}

static int run_insights(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    TRY(ethos_turn_new(call->ethos, call->request, &turn, error));
    TRY(collect_insights(call, turn, result, error));
    report_workspace(ethos_turn_context(turn), result);
    return ETHOS_OK;
}

static const struct op_arg insights_args[] = {
    {"days", OP_INTEGER, 0, "1|366", "N", "how far back (default: 30)"},
    {NULL, OP_TEXT, 0, NULL, NULL, NULL}};

const struct op ops_insights[] = {{"memory.insights", NULL,
                                   "Show how memory grows, and who writes to it", NULL,
                                   insights_args, OP_MEMORY_READ, OP_IDEMPOTENT, run_insights},
                                  {0}};
