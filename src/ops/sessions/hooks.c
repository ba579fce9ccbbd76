/*
 * hooks.c: the operations hooks.run, which answers and records a hook event of an agent, and sessions.drain, which
 * records events that are still queued.
 */
#include "ops/sessions/hooks.h"

#include <stdio.h>

#include "base/err.h"
#include "core/agents/hook_events.h"
#include "memory/hooks/hooks.h"
#include "memory/hooks/queue.h"
#include "memory/recall/recall.h"
#include "ops/tables.h"
#include "ops/write_report.h"

static int read_hook(const struct op_call *call, struct hook *out, struct ethos_error *error)
{
    const struct agent *agent;
    const struct agent_event *event = agent_event_find(op_string(call, "agent"),
                                                       op_string(call, "event"), &agent);
    *out = (struct hook){0};
    if (!event)
        return err_set(error, ETHOS_INVALID, "%s: %s has no such event", op_string(call, "event"),
                       op_string(call, "agent"));
    return hook_read(agent, event, op_text(call, "input"), out, error);
}

static bool is_recorded_event(const struct agent_event *event)
{
    return event->action != AGENT_START && event->action != AGENT_PROMPT;
}

bool op_hook_is_recorded(const char *agent, const char *event)
{
    const struct agent *who;
    const struct agent_event *what = agent_event_find(agent, event, &who);
    return what && is_recorded_event(what);
}

/* A prompt is recorded first, which is cheap; the hook's deadline may end the rest. */
static int handle_event(struct op_call *call, const struct hook *hook, struct hooks_told *told,
                        struct op_result *result, struct ethos_error *error)
{
    if (is_recorded_event(hook->event)) {
        int code = hooks_record(call->ethos, call->request, hook, error);
        if (code == ETHOS_OK && !call->dry_run)
            recall_follow(call->ethos); // a prompt does not update the index
        return code;
    }
    int noted = hook->event->action == AGENT_PROMPT && !op_flag(call, "noted")
                    ? hooks_record(call->ethos, call->request, hook, NULL)
                    : ETHOS_OK;
    int code = hooks_context(call->ethos, call->request, hook, told, &result->error);
    result->code = told->unread;
    if (code != ETHOS_OK && error)
        *error = result->error;
    return code != ETHOS_OK ? code : noted == ETHOS_NOMEM ? err_nomem(error) : ETHOS_OK;
}

static int print_hook_answer(const struct hook *hook, const struct hooks_told *told,
                             struct op_result *result, struct ethos_error *error)
{
    char message[sizeof result->error.text + 64];
    snprintf(message, sizeof message, "ethos: memory could not be read: %s", result->error.text);
    int code = hook_answer(hook->agent, hook->event, str_view(&told->text),
                           told->problem ? message : NULL, &result->text);
    return code == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

/* Returns the text that the agent reads. */
static int run_hook(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct hook hook;
    struct hooks_told told = {0};
    str_init(&told.text, ETHOS_MAX_STORE_BYTES);
    int code = read_hook(call, &hook, error);
    hook.tries = op_flag(call, "tries");
    if (code == ETHOS_OK)
        code = handle_event(call, &hook, &told, result, error);
    if (code == ETHOS_OK)
        code = print_hook_answer(&hook, &told, result, error);
    result->has_text = code == ETHOS_OK;
    if (code == ETHOS_OK && call->want_json)
        code = op_return(result, json_pack("{s:o}", "context", json_text(str_view(&told.text))),
                         error);
    hook_release(&hook);
    str_release(&told.text);
    return code;
}

static int run_drain(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct hooks_drained told;
    int code = hooks_drain(call->ethos, call->dry_run, &told, error);
    if (code != ETHOS_OK)
        return code;
    if (call->dry_run)
        str_printf(&result->text, "would record %llu", (unsigned long long)told.left);
    else
        str_printf(&result->text, "recorded %llu", (unsigned long long)told.recorded);
    if (told.refused > 0)
        str_printf(&result->text, ", refused %llu", (unsigned long long)told.refused);
    str_adds(&result->text, "\n");
    result->has_text = true;
    return op_return(result,
                     json_pack("{s:I, s:I, s:I}", "recorded", (json_int_t)told.recorded, "refused",
                               (json_int_t)told.refused, "left", (json_int_t)told.left),
                     error);
}

bool op_has_queued_hooks(const char *home)
{
    return spool_waiting(home);
}

static const struct op_arg hook_args[] = {
    {"agent", OP_TEXT, OP_REQUIRED, NULL, "AGENT", "which agent: " AGENTS},
    {"event", OP_TEXT, OP_REQUIRED, NULL, "EVENT", "what happened, as the agent calls it"},
    {"input", OP_TEXT, OP_REQUIRED, NULL, "JSON", "what the agent says about it"},
    {"tries", OP_FLAG, 0, NULL, NULL,
     "stop if the session store is needed; another program then continues"},
    {"noted", OP_FLAG, 0, NULL, NULL, "the prompt was recorded before"},
    ARG_END};

const struct op ops_hooks[] = {{"hooks.run", NULL, "Answer a hook of an agent", NULL, hook_args,
                                OP_OWNER, OP_WRITES | OP_LOCAL, run_hook},
                               {"sessions.drain", "sessions drain",
                                "Record the hook events that are still queued",
                                "ethos sessions drain", NULL, OP_SESSIONS_WRITE,
                                OP_WRITES | OP_IDEMPOTENT | OP_LOCAL | OP_DATABASE, run_drain},
                               {0}};
