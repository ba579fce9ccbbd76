/*
 * mirror.c: the operation memory.mirror: keeps a folder of markdown files in sync with a backend.
 *
 *     {"folder", "backend": "postgres", "twoWay", "once", "texts", "toFile", "toBackend", "kept", "failed"}
 *
 * Events are reported as they happen (op_call.tell):
 *
 *     {"what": "begin", "backend", "folder", "twoWay"}
 *     {"what": "file" | "backend" | "kept" | "failed", "backend", "scope", "key", "path", "removed", "merged",
 *      "forgotten", "error"}
 *     {"what": "skipped" | "away" | "back", "backend", "scope", "error"}
 *     {"what": "refilled" | "inStep", "backend", "gone", "known"}
 *
 * It runs until SIGINT, SIGTERM or SIGHUP, and then ends successfully (ops/shutdown.h).
 */
#include <errno.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/handle.h"
#include "memory/mirror/mirror.h"
#include "ops/shutdown.h"
#include "ops/tables.h"
#include "ops/write_report.h"

struct mirroring {
    struct op_call *call;
    const char *folder;
    bool two_way, once, deletes;
    bool away;
};

/* ---- events ---------------------------------------------------------------------------------- */

static const char *const names[] = {
    [MIRROR_FILE] = "file",     [MIRROR_BACKEND] = "backend", [MIRROR_KEPT] = "kept",
    [MIRROR_FAILED] = "failed", [MIRROR_SKIPPED] = "skipped", [MIRROR_REFILLED] = "refilled",
    [MIRROR_AWAY] = "away",     [MIRROR_BACK] = "back",       [MIRROR_IN_STEP] = "inStep",
};

static void report_mirror_event(const struct mirroring *self, json_t *event)
{
    op_json_put(&event, "folder", json_text(view_str(self->folder)));
    op_json_put(&event, "twoWay", json_boolean(self->two_way));
    if (event && self->call->tell)
        self->call->tell(self->call->progress_arg, event);
    json_decref(event);
}

static void report_event(void *arg, const struct mirror_event *event)
{
    struct mirroring *self = arg;
    self->away = self->away || event->kind == MIRROR_AWAY;
    if (event->kind == MIRROR_AWAY && self->once)
        return; // the error of the operation says so
    json_t *json = json_pack("{s:s}", "what", names[event->kind]);
    op_json_put(&json, "backend", op_json_string(event->backend));
    op_json_put(&json, "scope", op_json_string(event->scope));
    op_json_put(&json, "key", op_json_string(event->key));
    op_json_put(&json, "path", op_json_string(event->path));
    op_json_put(&json, "removed", json_boolean(event->removed));
    op_json_put(&json, "merged", json_boolean(event->merged));
    op_json_put(&json, "forgotten", json_boolean(event->forgotten));
    op_json_put(&json, "gone", json_integer((json_int_t)event->gone));
    op_json_put(&json, "known", json_integer((json_int_t)event->known));
    if (event->error)
        op_json_put(&json, "error", op_json_error(event->error));
    report_mirror_event(self, json);
}

static void report_begin(const struct mirroring *self, const char *backend)
{
    report_mirror_event(self, json_pack("{s:s, s:s}", "what", "begin", "backend", backend));
}

/* ---- the operation --------------------------------------------------------------------------- */

static int return_mirror_counts(const struct mirroring *self, const struct mirror *mirror,
                                struct op_result *result, struct ethos_error *error)
{
    const struct mirror_count count = mirror_count(mirror);
    json_t *json = json_pack("{s:s, s:b, s:b, s:I, s:I, s:I, s:I, s:I}", "backend",
                             mirror_backend(mirror), "twoWay", self->two_way, "once", self->once,
                             "texts", (json_int_t)count.texts, "toFile", (json_int_t)count.to_file,
                             "toBackend", (json_int_t)count.to_backend, "kept",
                             (json_int_t)count.kept, "failed", (json_int_t)count.failed);
    op_json_put(&json, "folder", json_text(view_str(mirror_folder(mirror))));
    return op_return(result, json, error);
}

static int run_until_stopped(struct mirroring *self, int end, struct op_result *result,
                             struct ethos_error *error)
{
    const struct mirror_how how = {.folder = self->folder,
                                   .two_way = self->two_way,
                                   .deletes = self->deletes,
                                   .stop = end,
                                   .each = report_event,
                                   .arg = self};
    struct mirror *mirror;
    int code = mirror_open(self->call->ethos, &how, &mirror, error);
    if (code != ETHOS_OK)
        return code;
    self->folder = mirror_folder(mirror);
    if (!self->once)
        report_begin(self, mirror_backend(mirror));
    code = self->once ? mirror_once(mirror, error) : mirror_run(mirror, error);
    uint64_t failed = mirror_count(mirror).failed;
    if (code != ETHOS_OK && failed > 0 && !self->away) { // events named the texts
        result->code = err_set(&result->error, code, "%llu text%s not in step",
                               (unsigned long long)failed, failed == 1 ? " is" : "s are");
        code = ETHOS_OK;
    }
    if (code == ETHOS_OK)
        code = return_mirror_counts(self, mirror, result, error);
    mirror_close(mirror);
    return code;
}

static int run_mirror(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct mirroring self = {.call = call,
                             .folder = op_string(call, "folder"),
                             .two_way = op_flag(call, "twoWay"),
                             .once = op_flag(call, "once"),
                             .deletes = op_flag(call, "delete")};
    if (call->dry_run)
        return err_set(error, ETHOS_INVALID, "memory mirror: --dry-run is not supported");
    if (self.deletes && !(self.two_way && self.once))
        return err_set(error, ETHOS_INVALID, "--delete needs --two-way --once");
    int end = shutdown_catch_signals();
    int code = end >= 0 ? run_until_stopped(&self, end, result, error)
                        : err_errno(error, errno, "signals");
    shutdown_restore_signals(!self.once);
    return code;
}

static const struct op_arg mirror_args[] = {
    {"folder", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "DIR",
     "an empty folder, a new one, or an existing mirror"},
    {"twoWay", OP_FLAG, 0, NULL, NULL,
     "also write edits made in the folder to the backend, merged"},
    {"once", OP_FLAG, 0, NULL, NULL, "sync once, then exit"},
    {"delete", OP_FLAG, 0, NULL, NULL,
     "with --two-way --once: remove at the backend what was deleted in the folder, however much"},
    ARG_END};

const struct op ops_mirror[] = {{"memory.mirror", "memory mirror",
                                 "Sync a folder of markdown files with a database",
                                 "ethos memory mirror ~/memory --two-way", mirror_args, OP_OWNER,
                                 OP_WRITES | OP_IDEMPOTENT | OP_LOCAL, run_mirror},
                                {0}};
