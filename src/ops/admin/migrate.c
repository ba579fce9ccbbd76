/*
 * migrate.c: the operation memory.migrate: copies memory, history and sessions from one backend to another.
 *
 *     {"from": "markdown", "to": "postgres",
 *      "scopes": [{"scope", "changes", "moved", "added", "renumbered", "lost", "skipped", "texts", "copies",
 *                  "from": digest, "to": digest, "same": true, "passes": 1}],
 *      "sessions": {"sessions", "messages", "keys", "moved": {...}, "from", "to", "same"} or null,
 *      "config": ["memory.provider: postgres"], "dryRun"}
 *
 * It changes no settings: `config` are the lines to add to config.yaml.
 */
#include <string.h>

#include "base/err.h"
#include "base/system/log.h"
#include "base/view.h"
#include "memory/handle.h"
#include "memory/migrate/migrate.h"
#include "ops/tables.h"
#include "ops/write_report.h"

#define MOST_OPTIONS 64

struct migrate_report {
    struct op_call *call;
    json_t *scopes;
};

static void report_progress(void *arg, size_t index, size_t count, uint64_t done, uint64_t total)
{
    const struct migrate_report *report = arg;
    (void)index, (void)count;
    if (report->call->progress)
        report->call->progress(report->call->progress_arg, done, total);
}

static bool is_stopped(void *arg)
{
    const struct migrate_report *report = arg;
    return report->call->stopped && report->call->stopped(report->call->progress_arg);
}

static json_t *number_json(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static void report_migrated_scope(void *arg, const struct migrate_scope *scope)
{
    struct migrate_report *report = arg;
    const struct migrate_count *count = &scope->count;
    bool dry = report->call->dry_run;
    json_t *row = json_object();
    op_json_put(&row, "scope", json_text(view_str(scope->scope)));
    op_json_put(&row, "changes", number_json(count->changes));
    op_json_put(&row, "moved", number_json(count->moved));
    op_json_put(&row, "added", number_json(count->added));
    op_json_put(&row, "renumbered", number_json(count->renumbered));
    op_json_put(&row, "lost", number_json(count->lost));
    op_json_put(&row, "skipped", number_json(count->skipped));
    op_json_put(&row, "texts", number_json(count->texts));
    op_json_put(&row, "copies", number_json(count->copies));
    if (!dry) {
        op_json_put(&row, "from", json_string(scope->from));
        op_json_put(&row, "to", json_string(scope->to));
        op_json_put(&row, "same", json_boolean(strcmp(scope->from, scope->to) == 0));
        op_json_put(&row, "passes", json_integer((json_int_t)scope->passes));
    }
    op_json_push(&report->scopes, row);
}

/* ---- arguments ------------------------------------------------------------------------------- */

static int read_side_arguments(const struct op_call *call, const char *name, const char *options,
                               const char *room[MOST_OPTIONS], struct migrate_side *out,
                               struct ethos_error *error)
{
    const json_t *list = json_object_get(call->args, options);
    size_t count = json_array_size(list);
    if (count > MOST_OPTIONS)
        return err_set(error, ETHOS_LIMIT, "%s: more than %d", options, MOST_OPTIONS);
    for (size_t i = 0; i < count; i++)
        room[i] = json_string_value(json_array_get(list, i));
    *out = (struct migrate_side){op_string(call, name), room, count};
    return ETHOS_OK;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static json_t *conversations_json(const struct migrate_talk_count *count,
                                  char digests[2][HASH_HEX_SIZE], bool dry)
{
    json_t *json = json_object();
    op_json_put(&json, "sessions", number_json(count->sessions));
    op_json_put(&json, "messages", number_json(count->messages));
    op_json_put(&json, "keys", number_json(count->keys));
    if (dry)
        return json;
    op_json_put(&json, "movedSessions", number_json(count->moved_sessions));
    op_json_put(&json, "movedMessages", number_json(count->moved_messages));
    op_json_put(&json, "movedKeys", number_json(count->moved_keys));
    op_json_put(&json, "from", json_string(digests[0]));
    op_json_put(&json, "to", json_string(digests[1]));
    op_json_put(&json, "same", json_boolean(count->differ == 0));
    return json;
}

/* Adds a line, or fails as a whole when out of memory. */
static void push_config_line(json_t **lines, const char *name, struct ethos_view option,
                             const char *value)
{
    struct str line;
    str_init(&line, SIZE_MAX);
    str_printf(&line, "%s%.*s: %s", name, VIEW_ARG(option), value);
    op_json_push(lines, str_code(&line) == ETHOS_OK ? json_text(str_view(&line)) : NULL);
    str_release(&line);
}

/* The settings that make the home use the target. */
static json_t *config_json(const struct migrate_side *to)
{
    json_t *lines = json_array();
    push_config_line(&lines, "memory.provider", VIEW(""), to->name);
    for (size_t i = 0; i < to->option_count; i++) {
        const char *option = to->options[i], *equals = strchr(option, '=');
        push_config_line(&lines, "memory.options.", view_of(option, (size_t)(equals - option)),
                         equals + 1);
    }
    return lines;
}

/* ---- the operation --------------------------------------------------------------------------- */

static int migrate_conversations(const struct migrate *move, const struct migrate_opened *opened,
                                 struct op_result *result, json_t **out, struct ethos_error *error)
{
    struct migrate_talk_count count;
    char digests[2][HASH_HEX_SIZE];
    struct ethos_sessions *from = migrate_talks(opened, false);
    *out = NULL;
    if (!from) {
        *out = json_null();
        return ETHOS_OK;
    }
    int code = migrate_sessions(move, from, migrate_talks(opened, true), &count, digests, error);
    if (code != ETHOS_OK)
        return code;
    *out = conversations_json(&count, digests, move->dry_run);
    if (count.differ > 0 && result->code == ETHOS_OK)
        result->code = err_set(&result->error, ETHOS_INTERNAL,
                               "%llu conversations or keys differ, %s first",
                               (unsigned long long)count.differ, count.first);
    return ETHOS_OK;
}

static int migrate_everything(struct op_call *call, const struct migrate_opened *opened,
                              const struct migrate_side *from, const struct migrate_side *to,
                              struct op_result *result, struct ethos_error *error)
{
    struct migrate_report report = {.call = call, .scopes = json_array()};
    json_t *talks = NULL;
    const struct migrate move = {.host = &log_default_host,
                                 .from = migrate_store(opened, false),
                                 .to = migrate_store(opened, true),
                                 .dry_run = call->dry_run,
                                 .progress = call->progress ? report_progress : NULL,
                                 .each = report_migrated_scope,
                                 .stopped = is_stopped,
                                 .arg = &report};
    int code = migrate_stores(&move, error);
    if (code == ETHOS_INTERNAL && report.scopes) { // some scopes differ; the report shows which
        result->code = code;
        if (error)
            result->error = *error;
        code = ETHOS_OK;
    }
    if (code == ETHOS_OK)
        code = migrate_conversations(&move, opened, result, &talks, error);
    if (code != ETHOS_OK) {
        json_decref(report.scopes);
        return code;
    }
    json_t *json = json_pack("{s:s, s:s}", "from", from->name, "to", to->name);
    op_json_put(&json, "scopes", report.scopes);
    op_json_put(&json, "sessions", talks);
    op_json_put(&json, "config", config_json(to));
    if (call->dry_run)
        op_json_put(&json, "dryRun", json_true());
    return op_return(result, json, error);
}

static int run_migrate(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    const char *options[2][MOST_OPTIONS];
    struct migrate_side from, to;
    struct migrate_opened *opened;
    TRY(read_side_arguments(call, "from", "fromOption", options[0], &from, error));
    TRY(read_side_arguments(call, "to", "toOption", options[1], &to, error));
    TRY(migrate_open(call->ethos, &from, &to, call->dry_run, &opened, error));
    int code = migrate_everything(call, opened, &from, &to, result, error);
    migrate_close(opened);
    return code;
}

static const struct op_arg migrate_args[] = {
    {"from", OP_TEXT, OP_REQUIRED, NULL, "BACKEND",
     "markdown, postgres, redis, or the path of a shared object"},
    {"to", OP_TEXT, OP_REQUIRED, NULL, "BACKEND", "the backend to move to, named in the same way"},
    {"fromOption", OP_TEXT, OP_MANY, NULL, "NAME=VALUE",
     "an option of the source backend (default: as configured); secrets as NAMEFile or NAMEEnv"},
    {"toOption", OP_TEXT, OP_MANY, NULL, "NAME=VALUE", "an option of the target backend"},
    ARG_END};

const struct op ops_migrate[] = {
    {"memory.migrate", "memory migrate", "Move memory, history and sessions to another backend",
     "ethos memory migrate --from markdown --to redis --to-option url=redis://db", migrate_args,
     OP_OWNER, OP_WRITES | OP_IDEMPOTENT | OP_LOCAL | OP_DATABASE, run_migrate},
    {0}};
