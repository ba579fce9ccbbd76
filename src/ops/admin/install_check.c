/*
 * install_check.c: what is installed in which agent, and whether it works.
 *
 * Starts the server as the agent would, from the agent's own settings, and asks for its tools; runs the hook for the
 * start of a session in the same way. Settings that look right may still not work.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/system/os.h"
#include "base/system/process.h"
#include "base/view.h"
#include "ops/admin/install_internal.h"

#define PATIENCE 5000        /* ms that a server may take to list its tools */
#define ANSWER_MAX (1 << 22) /* bytes */

/* ---- what is installed ---------------------------------------------------------------------- */

static unsigned installed_parts(struct job *job)
{
    unsigned parts = 0;
    for (size_t i = 0; i < job->count; i++) {
        struct target *target = &job->targets[i];
        target_read(target);
        if (target->code == ETHOS_OK && target->exists)
            parts |= agent_parts(job->agent, target->file, str_view(&target->before));
    }
    return parts;
}

static json_t *agent_json(const struct agent *agent, struct ethos_error *error)
{
    struct stat info;
    char folder[PATH_MAX];
    struct job job = {.parts = AGENT_ALL};
    job_folder(agent, folder);
    bool found = os_fstatat(AT_FDCWD, folder, &info, 0) == 0 || install_is_on_path(agent->program);
    json_t *json = NULL;
    if (job_open(&job, agent, NULL, NULL, error) == ETHOS_OK) {
        unsigned parts = installed_parts(&job);
        json = json_pack("{s:s, s:s, s:b, s:o, s:b, s:b, s:b}", "agent", agent->name, "title",
                         agent->title, "found", found, "folder", op_json_string(folder), "mcp",
                         parts & AGENT_MCP, "hooks", parts & AGENT_HOOKS, "instructions",
                         parts & AGENT_INSTRUCTIONS);
        if (!json)
            err_nomem(error);
    }
    job_close(&job);
    return json;
}

int install_list(json_t **out_rows, struct ethos_error *error)
{
    json_t *list = json_array();
    for (const struct agent *agent = agents; list && agent->name; agent++) {
        json_t *row = agent_json(agent, error);
        if (!row) {
            json_decref(list);
            return error->code;
        }
        op_json_push(&list, row);
    }
    *out_rows = list;
    return list ? ETHOS_OK : err_nomem(error);
}

/* ---- whether the server answers ------------------------------------------------------------- */

static const char question[] =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
    "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"ethos doctor\",\"version\":"
    "\"1\"}}}\n"
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{}}\n";

/* How many tools the answer to tools/list has; -1 if there is no answer. */
static int count_tools(struct ethos_view answers)
{
    struct ethos_view line;
    int count = -1;
    while (view_line(&answers, &line)) {
        json_t *json = NULL;
        if (json_parse(line, "", &json, NULL) != ETHOS_OK)
            continue;
        const json_t *tools = json_object_get(json_object_get(json, "result"), "tools");
        if (json_integer_value(json_object_get(json, "id")) == 2 && json_is_array(tools))
            count = (int)json_array_size(tools);
        json_decref(json);
    }
    return count;
}

/* Builds "env NAME=VALUE command args" from the entry of a server. */
static bool make_command(const json_t *server, const char *argv[], size_t room, struct str *home)
{
    size_t index, count = 0;
    json_t *word;
    struct ethos_view value = json_view(json_object_get(server, "env"), "ETHOS_HOME");
    if (value.data) {
        str_printf(home, "ETHOS_HOME=%.*s", VIEW_ARG(value));
        argv[count++] = "env";
        argv[count++] = home->data;
    }
    argv[count++] = json_string_value(json_object_get(server, "command"));
    json_array_foreach (json_object_get(server, "args"), index, word) {
        if (count + 1 >= room || !json_is_string(word))
            return false;
        argv[count++] = json_string_value(word);
    }
    argv[count] = NULL;
    return str_code(home) == ETHOS_OK;
}

/* NULL if the server lists its tools; else the problem, in text. */
static const char *find_server_problem(const json_t *server, char text[256])
{
    const char *argv[16];
    CLEANUP_STR struct str home;
    CLEANUP_STR struct str answers;
    str_init(&home, (size_t)PATH_MAX * 2);
    str_init(&answers, ANSWER_MAX);
    bool made = make_command(server, argv, sizeof argv / sizeof *argv, &home);
    int status = made ? process_ask(argv, view_str(question), PATIENCE, &answers) : -1;
    const char *why = !made                ? "its command cannot be parsed"
                      : status >= 0        ? NULL
                      : errno == ETIMEDOUT ? "it does not end when its input does"
                                           : strerror(errno);
    int tools = count_tools(str_view(&answers));
    if (status > 0 && tools < 0)
        snprintf(text, 256, "the server ends with status %d and lists no tools", status);
    else if (why || tools <= 0)
        snprintf(text, 256, "the server does not list its tools%s%s", why ? ": " : "",
                 why ? why : "");
    return why || tools <= 0 ? text : NULL;
}

/* ---- whether the hooks answer --------------------------------------------------------------- */

static bool is_runnable(const char *program)
{
    struct stat info;
    return strchr(program, '/') ? os_fstatat(AT_FDCWD, program, &info, 0) == 0 &&
                                      S_ISREG(info.st_mode) && (info.st_mode & 0111)
                                : install_is_on_path(program);
}

/* Runs the hook as an agent does at the start of a session, with an empty event. */
static bool can_hook_answer(const char *command)
{
    const char *const argv[] = {"sh", "-c", command, NULL};
    CLEANUP_STR struct str answer;
    json_auto_t *json = NULL;
    str_init(&answer, ANSWER_MAX);
    return process_ask(argv, VIEW("{}"), PATIENCE, &answer) == 0 &&
           json_parse(str_view(&answer), "", &json, NULL) == ETHOS_OK && json_is_object(json);
}

/* NULL if the hook can be run (with ask: and answers) or is not installed; else the problem, in text. */
static const char *find_hook_problem(const struct target *target, const struct agent_event *event,
                                     bool ask, char text[256])
{
    CLEANUP_STR struct str command;
    CLEANUP_STR struct str program;
    text[0] = 0;
    str_init(&command, ANSWER_MAX);
    str_init(&program, ANSWER_MAX);
    int code = agent_hook_command(str_view(&target->before), event->name, &command, &program);
    if (code == ETHOS_OK && !is_runnable(program.data))
        snprintf(text, 256, "its hooks run %.180s, which cannot be executed", program.data);
    else if (code == ETHOS_OK && ask &&
             (event->action == AGENT_START || event->action == AGENT_PROMPT) &&
             !can_hook_answer(command.data))
        snprintf(text, 256, "its hook for %s does not answer", event->name);
    return *text ? text : NULL;
}

/* ---- whether Codex trusts the hooks --------------------------------------------------------- */

/* UserPromptSubmit: user_prompt_submit */
static void add_snake(const char *event, struct str *out)
{
    for (const char *at = event; *at; at++) {
        bool upper = *at >= 'A' && *at <= 'Z';
        if (upper && at > event)
            str_addc(out, '_');
        str_addc(out, upper ? (char)(*at - 'A' + 'a') : *at);
    }
}

/* Codex records trusted hooks in config.toml, by file, event and position. */
static bool is_trusted(const struct target *hooks, struct ethos_view config, const char *path,
                       const char *event)
{
    size_t group = 0, number = 0;
    if (!agent_hook(str_view(&hooks->before), event, &group, &number))
        return true; // there is no such hook
    CLEANUP_STR struct str key;
    str_init(&key, (size_t)PATH_MAX * 2);
    str_printf(&key, "%s:", path);
    add_snake(event, &key);
    str_printf(&key, ":%zu:%zu\"", group, number);
    return str_code(&key) != ETHOS_OK || view_contains(config, str_view(&key));
}

static int count_untrusted(const struct job *job)
{
    const struct target *config = &job->targets[0], *hooks = &job->targets[1];
    struct ethos_view text = str_view(&config->before);
    char real[PATH_MAX];
    int count = 0;
    if (os_realpath(hooks->path, real) != 0)
        return 0; // there are none
    for (const struct agent_event *event = job->agent->events; event->name; event++)
        count += !is_trusted(hooks, text, hooks->path, event->name) &&
                 !is_trusted(hooks, text, real, event->name);
    return count;
}

/* ---- for doctor ----------------------------------------------------------------------------- */

struct agent_check {
    ethos_finding_fn *found;
    void *arg;
    const char *home;
    bool ask;
    json_t *asked; /* servers that answered */
    bool *whole;   /* false: out of memory */
};

static void report_agent_problem(const struct agent_check *check, enum ethos_severity severity,
                                 const char *subject, const char *problem, const char *remedy)
{
    const struct ethos_finding finding = {severity, subject, problem, remedy};
    check->found(check->arg, &finding);
}

/* Reports entries that install wrote and that are no longer there. */
static void check_installed_entries(const struct agent_check *check, const struct job *job)
{
    char remedy[64];
    for (size_t i = 0; i < job->count; i++) {
        const struct target *target = &job->targets[i];
        snprintf(remedy, sizeof remedy, "run: ethos install %s%s", job->agent->name,
                 target->file->parts == AGENT_INSTRUCTIONS ? " --instructions" : "");
        if (target->code == ETHOS_NOMEM)
            *check->whole = false;
        else if (target->code != ETHOS_OK)
            report_agent_problem(check, ETHOS_FINDING_WARNING, target->path, target->error.text,
                                 *target->error.hint ? target->error.hint : NULL);
        else if (record_entry(job, target->path) &&
                 !agent_touched(target->file, str_view(&target->before)) &&
                 !agent_parts(job->agent, target->file, str_view(&target->before)))
            report_agent_problem(check, ETHOS_FINDING_WARNING, target->path,
                                 "what ethos install wrote there is gone", remedy);
    }
}

static void check_server(const struct agent_check *check, const struct target *target)
{
    char text[256];
    size_t index;
    json_auto_t *server = agent_server(target->file, str_view(&target->before));
    json_t *other;
    json_array_foreach (check->asked, index, other)
        if (json_equal(other, server))
            return;
    if (!server)
        return;
    const char *problem = find_server_problem(server, text);
    if (problem)
        report_agent_problem(check, ETHOS_FINDING_ERROR, target->path, problem,
                             "run its command by hand, or install again");
    else
        json_array_append(check->asked, server);
}

/* If there is one of our hooks, there should be all. */
static void check_hook_events(const struct agent_check *check, const struct job *job,
                              const struct target *target)
{
    char text[256], remedy[64];
    size_t group, number, count = 0;
    const char *missing = NULL;
    for (const struct agent_event *event = job->agent->events; event->name; event++)
        if (agent_hook(str_view(&target->before), event->name, &group, &number))
            count++;
        else
            missing = missing ? missing : event->name;
    if (count == 0 || !missing)
        return;
    snprintf(text, sizeof text, "it has hooks of ethos, but none for %s", missing);
    snprintf(remedy, sizeof remedy, "run: ethos install %s", job->agent->name);
    report_agent_problem(check, ETHOS_FINDING_WARNING, target->path, text, remedy);
}

static void check_hooks(const struct agent_check *check, const struct job *job,
                        const struct target *target)
{
    char text[256], remedy[128];
    const char *problem = NULL, *name = job->agent->name;
    const json_t *was = record_entry(job, target->path);
    for (const struct agent_event *event = job->agent->events; event->name && !problem; event++)
        problem = find_hook_problem(target, event, check->ask, text);
    if (was && !is_record_untouched(was))
        snprintf(remedy, sizeof remedy, "run: ethos install %s", name);
    else
        snprintf(remedy, sizeof remedy, "correct them, or run: ethos uninstall %s, then install",
                 name);
    if (problem)
        report_agent_problem(check, ETHOS_FINDING_ERROR, target->path, problem, remedy);
    check_hook_events(check, job, target);
}

static void check_agent(const struct agent_check *check, const struct agent *agent)
{
    struct job job = {.parts = AGENT_ALL};
    struct ethos_error error = {0};
    if (job_open(&job, agent, check->home, NULL, &error) == ETHOS_OK) {
        installed_parts(&job);
        check_installed_entries(check, &job);
        for (size_t i = 0; i < job.count; i++) {
            const struct target *target = &job.targets[i];
            if (check->ask && target->code == ETHOS_OK && (target->file->parts & AGENT_MCP))
                check_server(check, target);
            if (target->code == ETHOS_OK && (target->file->parts & AGENT_HOOKS))
                check_hooks(check, &job, target);
        }
        if (agent->trust && count_untrusted(&job) > 0)
            report_agent_problem(check, ETHOS_FINDING_WARNING, job.targets[1].path,
                                 "its hooks of ethos are not trusted yet", agent->trust);
    } else if (error.code == ETHOS_NOMEM) {
        *check->whole = false;
    } else {
        report_agent_problem(check, ETHOS_FINDING_ERROR, agent->title, error.text, error.hint);
    }
    job_close(&job);
}

bool install_check(const char *home, bool ask, ethos_finding_fn *found, void *arg)
{
    bool whole = true;
    const struct agent_check check = {found, arg, home, ask, json_array(), &whole};
    for (const struct agent *agent = agents; agent->name; agent++)
        check_agent(&check, agent);
    json_decref(check.asked);
    return whole;
}
