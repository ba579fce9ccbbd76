/*
 * install_agent.c: plans the changes of an agent's files that install and uninstall make.
 *
 * Uninstall restores a file byte for byte if it is unchanged since install; otherwise it removes only our entries.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/system/file.h"
#include "base/system/os.h"
#include "base/text/quote.h"
#include "base/view.h"
#include "core/history/diff.h"
#include "ops/admin/install_internal.h"

/* ---- the record ----------------------------------------------------------------------------- */

static bool has_revision(const json_t *entry, const char *name, struct ethos_view text)
{
    char revision[ETHOS_REVISION_SIZE];
    hash_revision(text, revision);
    return view_eq_str(json_view(entry, name), revision);
}

static json_t *revision_json(struct ethos_view text)
{
    char revision[ETHOS_REVISION_SIZE];
    hash_revision(text, revision);
    return json_string(revision);
}

/* The agents of an entry, including or excluding this one. */
static json_t *agents_json(const json_t *entry, const char *name, bool with)
{
    size_t index;
    json_t *agent, *list = json_array();
    json_array_foreach (json_object_get(entry, "agents"), index, agent)
        if (json_is_string(agent) && strcmp(json_string_value(agent), name) != 0)
            op_json_push(&list, json_incref(agent));
    if (with)
        op_json_push(&list, json_string(name));
    return list;
}

static bool is_agent_recorded(const json_t *entry, const char *name)
{
    size_t index;
    json_t *agent;
    json_array_foreach (json_object_get(entry, "agents"), index, agent)
        if (json_is_string(agent) && strcmp(json_string_value(agent), name) == 0)
            return true;
    return false;
}

/* ---- planning to install -------------------------------------------------------------------- */

/* Plans a backup. The one that uninstall makes (`edited`) must not overwrite the one of install. */
static void plan_backup(struct target *target, bool edited)
{
    char hash[HASH_HEX_SIZE];
    const char *name = strrchr(target->path, '/') + 1;
    hash_hex(view_str(target->path), hash);
    snprintf(target->backup, sizeof target->backup, "%.12s-%s%s", hash, name,
             edited ? ".edited" : "");
    target->keep = true;
}

/* The folders to create. An install that was killed may have created some of them already. */
static json_t *find_folders(const struct target *target, const json_t *was)
{
    json_t *made = json_object_get(was, "folders");
    json_t *missing = target->exists ? json_array() : missing_folders(target->path);
    if (!missing || target->exists || json_array_size(made) <= json_array_size(missing))
        return missing;
    json_decref(missing);
    return json_incref(made);
}

/* The entry of a file that is not recorded, or that no longer has entries of ours. */
static json_t *new_entry(struct target *target, const json_t *was, bool changes)
{
    if (changes && target->exists)
        plan_backup(target, false);
    return json_pack("{s:b, s:o, s:o, s:o, s:o}", "existed", target->exists, "before",
                     target->exists ? revision_json(str_view(&target->before)) : json_null(),
                     "after", revision_json(str_view(&target->after)), "backup",
                     target->keep ? json_string(target->backup) : json_null(), "folders",
                     find_folders(target, was));
}

static int record_install(const struct job *job, struct target *target, struct ethos_error *error)
{
    const json_t *was = record_entry(job, target->path);
    struct ethos_view text = str_view(&target->before);
    bool changes = will_target_change(target), same = was && has_revision(was, "after", text);
    if (was && target->exists && agent_touched(target->file, text) &&
        !(is_record_untouched(was) && changes)) {
        target->entry = json_deep_copy(was);
        if (changes)
            op_json_put(&target->entry, "after",
                        same ? revision_json(str_view(&target->after)) : json_null());
    } else {
        target->entry = new_entry(target, was, changes);
    }
    op_json_put(&target->entry, "agents", agents_json(was, job->agent->name, true));
    return target->entry ? ETHOS_OK : err_nomem(error);
}

static int refuse_read_only(struct target *target)
{
    return err_set(&target->error, ETHOS_DENIED, "%s: is read-only", target->path);
}

/* Reads the text as it was before install; ETHOS_NOTFOUND if that is not known. */
static int read_text_before(const struct job *job, const json_t *was, struct str *out)
{
    if (!was || is_record_untouched(was))
        return ETHOS_NOTFOUND;
    return json_is_true(json_object_get(was, "existed")) ? record_backup(job, was, out) : ETHOS_OK;
}

/* The same, as agent_add and agent_remove need it. */
struct earlier_text {
    struct str text;
    struct ethos_view view; /* absent: not known */
};

static int read_earlier_text(const struct job *job, const struct target *target,
                             struct earlier_text *out, struct ethos_error *error)
{
    *out = (struct earlier_text){0};
    str_init(&out->text, ETHOS_MAX_INPUT_BYTES + 1);
    int code = read_text_before(job, record_entry(job, target->path), &out->text);
    if (code == ETHOS_OK)
        out->view = str_view(&out->text);
    return code == ETHOS_NOMEM ? err_nomem(error) : ETHOS_OK;
}

/* The text of the file with our entries. */
static int build_text_with_entries(const struct job *job, struct target *target)
{
    unsigned parts = target->file->parts & job->parts;
    struct ethos_view text = str_view(&target->before);
    struct earlier_text earlier;
    int code = read_earlier_text(job, target, &earlier, &target->error);
    if (code == ETHOS_OK)
        code = agent_add(&job->wiring, target->file, parts, text, earlier.view, target->path,
                         &target->after, &target->error);
    str_release(&earlier.text);
    if (code == ETHOS_INVALID && (agent_parts(job->agent, target->file, text) & parts) == parts) {
        str_clear(&target->after); // the entries were pasted by hand
        code = str_add(&target->after, text) ? err_nomem(&target->error) : ETHOS_OK;
    }
    return code;
}

static int refuse_home(const struct job *job, struct target *target, const char *home)
{
    struct str line;
    str_init(&line, (size_t)PATH_MAX * 4 + 3);
    quote_shell(view_str(home), &line);
    err_set(&target->error, ETHOS_EXISTS, "%s: ethos is installed there with the memory in %s",
            target->path, home);
    err_hint(&target->error, ETHOS_EXISTS, "run first: ethos --home %s uninstall %s%s", line.data,
             job->agent->name, job->project ? " --project" : "");
    str_release(&line);
    return ETHOS_EXISTS;
}

/* An agent must use one home only, so a file with entries of another home is refused. */
static int check_homes(const struct job *job, struct target *target)
{
    size_t index;
    json_t *use, *uses = agent_homes(job->agent, target->file, str_view(&target->after));
    int code = uses ? ETHOS_OK : err_nomem(&target->error);
    json_array_foreach (uses, index, use) {
        char home[PATH_MAX];
        if (code == ETHOS_OK &&
            !is_home_of_job(job, json_string_value(json_object_get(use, "home")), home) &&
            (json_is_true(json_object_get(use, "made")) || is_recorded_in_home(home, target->path)))
            code = refuse_home(job, target, home);
    }
    json_decref(uses);
    return code;
}

static void plan_install(const struct job *job, struct target *target)
{
    target_read(target);
    if (target->code != ETHOS_OK)
        return;
    target->remains = true;
    target->code = build_text_with_entries(job, target);
    if (target->code == ETHOS_OK)
        target->code = check_homes(job, target);
    if (target->code == ETHOS_OK && will_target_change(target)) {
        target->state = target->exists ? "changed" : "created";
        if (target->exists && !(target->info.st_mode & 0222))
            target->code = refuse_read_only(target);
    }
    target->paste = target->file->form != AGENT_MARKDOWN &&
                    (target->code == ETHOS_INVALID || target->code == ETHOS_DENIED);
    if (target->code == ETHOS_OK)
        target->code = record_install(job, target, &target->error);
    if (target->paste)
        err_hint(&target->error, target->code,
                 "put what is printed above into it yourself, then run this again");
}

/* ---- planning to uninstall ------------------------------------------------------------------ */

/* Whether the record names this agent; if not, all entries of ethos are removed. */
static bool is_agent_known(const struct job *job)
{
    for (size_t i = 0; i < job->count; i++)
        if (is_agent_recorded(record_entry(job, job->targets[i].path), job->agent->name))
            return true;
    return false;
}

/* Plans to restore the text from before install. */
static int plan_restore(const struct job *job, struct target *target, const json_t *was)
{
    if (!json_is_true(json_object_get(was, "existed"))) {
        target->remains = false;
        target->state = "removed";
        return ETHOS_OK;
    }
    str_clear(&target->after);
    int code = record_backup(job, was, &target->after);
    if (code == ETHOS_OK)
        target->state = "restored";
    return code == ETHOS_NOMEM ? err_nomem(&target->error) : code;
}

static int remove_entries(const struct job *job, struct target *target)
{
    struct earlier_text earlier;
    int code = read_earlier_text(job, target, &earlier, &target->error);
    if (code == ETHOS_OK)
        code = agent_remove(target->file, str_view(&target->before), earlier.view, target->path,
                            &target->after, &target->error);
    str_release(&earlier.text);
    return code;
}

/* Plans to remove our entries from a file that was changed since install, or that is not recorded. */
static int plan_entry_removal(const struct job *job, struct target *target, const json_t *was)
{
    int code = remove_entries(job, target);
    if (code == ETHOS_INVALID && !agent_touched(target->file, str_view(&target->before))) {
        str_clear(&target->after);
        return str_add(&target->after, str_view(&target->before)) ? err_nomem(&target->error)
                                                                  : ETHOS_OK;
    }
    if (code == ETHOS_INVALID)
        return err_hint(&target->error, code,
                        "remove the entries of ethos by hand, then run this again");
    if (code != ETHOS_OK)
        return code;
    target->remains = !was || json_is_true(json_object_get(was, "existed")) ||
                      !agent_left_nothing(target->file, str_view(&target->after));
    if (will_target_change(target)) {
        target->state = target->remains ? "changed" : "removed";
        plan_backup(target, true);
    }
    return ETHOS_OK;
}

/* Another agent uses the file, too, so only the record changes. */
static int plan_shared(struct target *target, const json_t *was, json_t *others)
{
    target->state = "shared";
    target->entry = json_deep_copy(was);
    op_json_put(&target->entry, "agents", others);
    return target->entry ? ETHOS_OK : err_nomem(&target->error);
}

static int plan_removal_by_last_agent(const struct job *job, struct target *target,
                                      const json_t *was)
{
    struct ethos_view text = str_view(&target->before);
    if (!target->exists)
        return ETHOS_OK;
    if (was && is_record_untouched(was)) {
        target->state = "kept";
        return ETHOS_OK;
    }
    int code = was && has_revision(was, "after", text) ? plan_restore(job, target, was)
                                                       : ETHOS_NOTFOUND;
    return code == ETHOS_NOTFOUND ? plan_entry_removal(job, target, was) : code;
}

/* Records that the entries left in the file were written by a person, so that the next uninstall leaves them alone. */
static int plan_personal_entries(struct target *target)
{
    json_t *revision = revision_json(str_view(&target->after));
    target->entry = json_pack("{s:b, s:O, s:o, s:n, s:[], s:[]}", "existed", true, "before",
                              revision, "after", revision, "backup", "folders", "agents");
    return target->entry ? ETHOS_OK : err_nomem(&target->error);
}

static void plan_uninstall(const struct job *job, struct target *target, bool known)
{
    const json_t *was = record_entry(job, target->path);
    target_read(target);
    if (target->code != ETHOS_OK)
        return;
    if (known && !is_agent_recorded(was, job->agent->name)) {
        target->entry = json_incref((json_t *)was);
        if (str_add(&target->after, str_view(&target->before)) != ETHOS_OK)
            target->code = err_nomem(&target->error);
        return;
    }
    json_t *others = agents_json(was, job->agent->name, false);
    if (!others || str_add(&target->after, str_view(&target->before)) != ETHOS_OK)
        target->code = err_nomem(&target->error);
    else if (json_array_size(others) > 0)
        target->code = plan_shared(target, was, json_incref(others));
    else
        target->code = plan_removal_by_last_agent(job, target, was);
    json_decref(others);
    if (target->code == ETHOS_OK && was && !target->entry && target->remains &&
        agent_touched(target->file, str_view(&target->after)))
        target->code = plan_personal_entries(target);
    if (target->code == ETHOS_OK && will_target_change(target) && !(target->info.st_mode & 0222))
        target->code = refuse_read_only(target);
}

/* ---- the report ----------------------------------------------------------------------------- */

/* refused: no file was changed. */
static json_t *target_json(const struct job *job, const struct target *target, bool refused)
{
    char backup[PATH_MAX];
    snprintf(backup, sizeof backup, "%s/installed/%s", job->home, target->backup);
    return json_pack("{s:o, s:s, s:o}", "path", op_json_string(target->path), "state",
                     target->code != ETHOS_OK ? "refused"
                     : refused                ? "unchanged"
                                              : target->state,
                     "backup", target->keep && !refused ? op_json_string(backup) : json_null());
}

/* Our entries alone, as they would be in an empty file. */
static json_t *make_snippet(const struct job *job, const struct target *target)
{
    struct str text;
    json_t *json = NULL;
    str_init(&text, ETHOS_MAX_INPUT_BYTES);
    if (agent_add(&job->wiring, target->file, target->file->parts & job->parts, VIEW(""),
                  (struct ethos_view){0}, "", &text, NULL) == ETHOS_OK)
        json = json_pack("{s:o, s:o}", "path", op_json_string(target->path), "text",
                         json_text(str_view(&text)));
    str_release(&text);
    return json;
}

static json_t *next_steps_json(const struct job *job)
{
    const struct agent *agent = job->agent;
    char restart[64];
    json_t *next = json_array();
    snprintf(restart, sizeof restart, "Restart %s", agent->title);
    op_json_push(&next, json_string(restart));
    if (job->install && agent->trust && (job->parts & AGENT_HOOKS))
        op_json_push(&next, json_string(agent->trust));
    if (job->install && agent->approve && job->project)
        op_json_push(&next, json_string(agent->approve));
    if (job->install && agent->rules && !job->project && (job->parts & AGENT_INSTRUCTIONS))
        op_json_push(&next, json_string(agent->rules));
    return next;
}

static json_t *install_report_json(const struct job *job, bool refused)
{
    json_t *files = json_array(), *changed = json_array(), *snippets = json_array();
    for (size_t i = 0; i < job->count; i++) {
        const struct target *target = &job->targets[i];
        op_json_push(&files, target_json(job, target, refused));
        if (!refused && will_target_change(target))
            op_json_push(&changed, op_json_string(target->path));
        if (target->paste)
            op_json_push(&snippets, make_snippet(job, target));
    }
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "agent", job->agent->name, "scope",
                     job->project ? "project" : "user", "changed", changed, "files", files,
                     "snippets", snippets, "next",
                     json_array_size(changed) > 0 ? next_steps_json(job) : json_array());
}

static int show_diffs(const struct job *job, struct op_result *result, struct ethos_error *error)
{
    for (size_t i = 0; i < job->count; i++) {
        const struct target *target = &job->targets[i];
        const struct ethos_view none = VIEW("");
        if (will_target_change(target) &&
            diff_unified(target->exists ? str_view(&target->before) : none,
                         target->remains ? str_view(&target->after) : none, target->path,
                         &result->text) != ETHOS_OK)
            return err_nomem(error);
    }
    return ETHOS_OK;
}

/* ---- the operation -------------------------------------------------------------------------- */

/* The workspace of the call; else the work tree around the current folder; else that folder. */
static int find_project(const char *given, char out[PATH_MAX], struct ethos_error *error)
{
    struct stat info;
    char entry[PATH_MAX + 8];
    if (os_realpath(given ? given : ".", out) != 0)
        return err_errno(error, errno, given ? given : "the current directory");
    for (size_t size = given ? 0 : strlen(out); size > 0;) {
        snprintf(entry, sizeof entry, "%.*s/.git", (int)size, out);
        if (os_fstatat(AT_FDCWD, entry, &info, 0) == 0) {
            out[size] = 0;
            break;
        }
        do
            size--;
        while (size > 0 && out[size] != '/');
    }
    return ETHOS_OK;
}

static enum own_memory parse_own_memory(const char *choice)
{
    return !choice                        ? OWN_MEMORY_UNASKED
           : strcmp(choice, "keep") == 0  ? OWN_MEMORY_KEEP
           : strcmp(choice, "share") == 0 ? OWN_MEMORY_SHARE
                                          : OWN_MEMORY_OFF;
}

/* The paragraph in the instructions is left out if the MCP server's instructions say the same. */
static unsigned chosen_parts(const struct op_call *call, const struct agent *agent,
                             enum own_memory own_memory)
{
    const char *only = op_string(call, "only");
    unsigned parts = !only                      ? AGENT_ALL
                     : strcmp(only, "mcp") == 0 ? AGENT_MCP | AGENT_TOOLS
                     : *only == 'h'             ? AGENT_HOOKS
                                                : AGENT_INSTRUCTIONS;
    if (!only && agent->instructed)
        parts &= ~(unsigned)AGENT_INSTRUCTIONS;
    parts &= ~(unsigned)AGENT_OWN_MEMORY;
    if (own_memory != OWN_MEMORY_UNASKED)
        parts |= AGENT_OWN_MEMORY;
    return op_flag(call, "instructions") ? parts | AGENT_INSTRUCTIONS : parts;
}

/* Plans all targets; returns the first one that failed, or NULL. */
static const struct target *plan_targets(struct job *job)
{
    bool known = !job->install && is_agent_known(job);
    const struct target *bad = NULL;
    for (size_t i = 0; i < job->count; i++) {
        struct target *target = &job->targets[i];
        if (job->own_memory == OWN_MEMORY_KEEP && target->file->parts == AGENT_OWN_MEMORY)
            plan_uninstall(job, target, true);
        else if (job->install)
            plan_install(job, target);
        else
            plan_uninstall(job, target, known);
        if (target->code != ETHOS_OK && !bad)
            bad = target;
    }
    return bad;
}

/* Whether there is anything to write. Install does not change the record alone. */
static bool job_changes(const struct job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        const struct target *target = &job->targets[i];
        const json_t *was = record_entry(job, target->path);
        bool same = target->entry == was || json_equal(target->entry, was);
        if (will_target_change(target) || (!job->install && !same))
            return true;
    }
    return false;
}

static int apply_plan(struct job *job, struct op_result *result, struct ethos_error *error)
{
    const struct target *bad = plan_targets(job);
    int code = ETHOS_OK;
    if (bad) {
        result->code = bad->code;
        result->error = bad->error;
        return bad->code == ETHOS_NOMEM ? err_nomem(error)
                                        : op_return(result, install_report_json(job, true), error);
    }
    if (job->call->dry_run)
        code = show_diffs(job, result, error);
    else if (job_changes(job))
        code = job_apply(job, error);
    return code == ETHOS_OK
               ? op_return_change(job->call, result, install_report_json(job, false), error)
               : code;
}

/* Resolves the folder of the given file, which must exist. */
static int find_program_file(const char *given, char out[PATH_MAX], struct ethos_error *error)
{
    char folder[PATH_MAX], real[PATH_MAX];
    const char *slash = strrchr(given, '/'), *name = slash ? slash + 1 : given;
    int size = snprintf(folder, sizeof folder, "%.*s", (int)(name - given), given);
    if (!*name || size >= PATH_MAX)
        return err_set(error, ETHOS_INVALID, "%s: is not a file", given);
    if (os_realpath(size > 0 ? folder : ".", real) != 0)
        return err_errno(error, errno, size > 0 ? folder : ".");
    return snprintf(out, PATH_MAX, "%s/%s", strcmp(real, "/") == 0 ? "" : real, name) < PATH_MAX
               ? ETHOS_OK
               : err_set(error, ETHOS_INVALID, "%s: the path is too long", given);
}

/* Detects the program by its file. Read errors are reported later, by target_read. */
static int detect_agent(const char *path, const struct agent **out, struct ethos_error *error)
{
    struct str text;
    str_init(&text, ETHOS_MAX_INPUT_BYTES + 1);
    int fd = os_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    int code = fd < 0 ? ETHOS_OK : file_read(fd, path, ETHOS_MAX_INPUT_BYTES, &text, NULL, NULL);
    if (fd >= 0)
        os_close(fd);
    *out = agent_of_file(path, str_view(&text));
    str_release(&text);
    return code == ETHOS_NOMEM ? err_nomem(error) : ETHOS_OK;
}

int install_agent(struct op_call *call, bool install, struct op_result *result,
                  struct ethos_error *error)
{
    char project[PATH_MAX], file[PATH_MAX];
    const char *given = op_string(call, "file");
    const struct agent *agent = given ? NULL : agent_find(op_string(call, "agent"));
    if (given && (find_program_file(given, file, error) != ETHOS_OK ||
                  detect_agent(file, &agent, error) != ETHOS_OK))
        return error->code;
    enum own_memory own = parse_own_memory(op_string(call, "ownMemory"));
    struct job job = {.call = call,
                      .file = given ? file : NULL,
                      .install = install,
                      .own_memory = own,
                      .project = op_flag(call, "project"),
                      .parts = install ? chosen_parts(call, agent, own) : AGENT_ALL};
    bool needs_project = job.project || own != OWN_MEMORY_UNASKED;
    if (own > OWN_MEMORY_KEEP && !agent->own_folder)
        return err_set(error, ETHOS_DENIED, "%s: ethos knows of no memory of its own",
                       agent->title);
    int code = needs_project ? find_project(call->request->workspace, project, error) : ETHOS_OK;
    if (code == ETHOS_OK)
        code = job_open(&job, agent, call->home, needs_project ? project : NULL, error);
    if (code == ETHOS_OK && own == OWN_MEMORY_SHARE)
        code = job_find_notes(&job, project, error);
    if (code == ETHOS_OK && install)
        code = job_wire(&job, op_flag(call, "allowTools"), error);
    if (code == ETHOS_OK)
        code = apply_plan(&job, result, error);
    job_close(&job);
    return code;
}
