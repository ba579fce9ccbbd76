/*
 * backup.c: the operations admin.backup and admin.restore. memory/backup/backup.h describes their results.
 */
#include "memory/backup/backup.h"
#include "base/err.h"
#include "ops/tables.h"
#include "ops/write_report.h"

static int run_backup(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    const struct backup_how how = {.path = op_string(call, "path"),
                                   .keys = op_flag(call, "withKeys"),
                                   .replace = op_flag(call, "replace"),
                                   .dry_run = call->dry_run,
                                   .stop = {call->stopped, call->progress_arg}};
    json_t *report = NULL;
    TRY(backup_write(call->ethos, &how, &report, error));
    return op_return(result, report, error);
}

static int run_restore(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    const struct restore_how how = {.path = op_string(call, "path"),
                                    .dry_run = call->dry_run,
                                    .stop = {call->stopped, call->progress_arg}};
    json_t *report = NULL;
    int code = backup_restore(call->ethos, &how, &report, error);
    if (code == ETHOS_NOTFOUND && error && !*error->hint)
        err_hint(error, code, "name a file or folder that ethos backup wrote");
    return code == ETHOS_OK ? op_return(result, report, error) : code;
}

static const struct op_arg backup_args[] = {
    {"path", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "FILE|DIR",
     "the tar archive to write; for a folder or a name ending in /, a plain copy"},
    {"withKeys", OP_FLAG, 0, NULL, NULL, "include keys.yaml and other keys of model providers"},
    {"replace", OP_FLAG, 0, NULL, NULL, "replace FILE if it exists; --yes does the same"},
    ARG_END};

static const struct op_arg restore_args[] = {
    {"path", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "PATH", "a backup made by ethos backup"},
    ARG_END};

const struct op ops_backup[] = {
    {"admin.backup", "backup", "Back up the home: memory, history, sessions, settings",
     "ethos backup ~/ethos-2026-11-15.tar", backup_args, OP_OWNER,
     OP_IDEMPOTENT | OP_LOCAL | OP_DATABASE, run_backup},
    {"admin.restore", "restore", "Restore a backup into an empty home, or merge it",
     "ethos restore ~/ethos-2026-11-15.tar", restore_args, OP_OWNER,
     OP_WRITES | OP_IDEMPOTENT | OP_LOCAL | OP_DATABASE, run_restore},
    {0}};
