/*
 * turn.c: the stages of a turn, in order: resolve, prefetch, record the question, ask and run tools, remember,
 * account.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/answer.h"
#include "agent/conversation.h"
#include "agent/describe.h"
#include "agent/project.h"
#include "agent/prompt.h"
#include "agent/session.h"
#include "agent/tools/toolbox.h"
#include "agent/tools/updates.h"
#include "agent/turn_record.h"
#include "base/err.h"
#include "base/system/os.h"
#include "base/system/uuid.h"
#include "base/view.h"
#include "core/formats/toolset_yaml.h"
#include "core/sessions/attachment.h"
#include "memory/handle.h"
#include "memory/recall/recall.h"
#include "memory/review/instructions.h"
#include "ops/op.h"

#define MAX_TOOLSET 65536 /* bytes of toolset.yaml */
#define WINDOW_SHARE 80   /* percent of the window that a prompt may take */
#define ABORTED_RESULT "aborted"
#define NOT_ACCEPTED                                                                               \
    "the instructions of this project are not accepted: the model treats them as data, and new "   \
    "memories wait for approval; ethos workspaces accept accepts the current files"
#define INTERRUPTED_RESULT "interrupted: it may have taken effect; check before repeating it"

struct turn {
    const struct agent_setup *setup;
    const struct agent_question *question;
    agent_event_fn *each;
    void *arg;
    struct ethos_error *error;
    char id[ETHOS_MAX_OPID + 1];

    struct ethos_sessions *store;
    struct ethos_request request; /* with the personality of the session */
    struct ethos_turn *memory;
    struct agent_session session;

    struct conversation conversation;
    struct prompt prompt;
    struct updates updates;
    struct toolbox toolbox;
    struct turn_record record; /* of a turn that continues after a crash */
    json_t *toolset;
    char top[PATH_MAX], skills[PROJECT_SKILL_FOLDERS][PATH_MAX];
    char *notes_folder, *query;

    size_t first; /* message that is sent first */
    bool halved;  /* the conversation was too long once already */
    struct model_usage usage;
    int64_t asks;
    struct str reply;
    const char *failure; /* code of the AGENT_ERROR; NULL: none */
};

static void emit_event(const struct turn *self, const struct agent_event *event)
{
    self->each(self->arg, event);
}

static bool is_aborted(const struct turn *self)
{
    struct pollfd fd = {self->question->abort_fd, POLLIN, 0};
    return fd.fd >= 0 && os_poll(&fd, 1, 0) > 0;
}

static int fail_turn(struct turn *self, const char *failure, const char *problem)
{
    self->failure = failure;
    return err_set(self->error, ETHOS_MODEL, "%s", problem);
}

/* ---- resolve ----------------------------------------------------------------------------------- */

static int resolve_session(struct turn *self)
{
    const char *given = self->setup->request ? self->setup->request->personality : NULL;
    TRY(ethos_sessions(self->setup->ethos, &self->store, self->error));
    TRY(agent_session_read(self->setup->ethos, self->question->session, &self->session,
                           self->error));
    if (self->setup->request)
        self->request = *self->setup->request;
    if (!given && *self->session.personality)
        self->request.personality = self->session.personality;
    self->request.session = self->question->session;
    struct ethos_view text = self->question->text;
    self->query = text.size > 0 ? strndup(text.data, text.size) : NULL;
    self->request.query = self->query;
    return ethos_turn_new(self->setup->ethos, &self->request, &self->memory, self->error);
}

/* ---- tools ------------------------------------------------------------------------------------- */

static const char *turn_actor(const struct turn *self)
{
    return self->setup->actor ? self->setup->actor : "agent";
}

static const char *find_shown_revision(void *arg, const char *store, const char *key)
{
    const struct turn *self = arg;
    return prompt_shown_revision(&self->prompt, ethos_turn_context(self->memory), store, key);
}

/* toolset.yaml lists the personality's tools; without the file it has all of them. */
static int read_toolset(struct turn *self)
{
    char path[ETHOS_MAX_ID + 32];
    struct str text;
    int home, code = service_open_home(self->setup->ethos, false, &home, self->error);
    if (code != ETHOS_OK || home < 0)
        return code;
    snprintf(path, sizeof path, "personalities/%s/toolset.yaml",
             ethos_turn_context(self->memory)->personality);
    int fd = os_open_beneath(home, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    os_close(home);
    if (fd < 0)
        return ETHOS_OK;
    str_init(&text, MAX_TOOLSET + 1);
    if (os_read_all(fd, &text, MAX_TOOLSET) == 0)
        self->toolset = toolset_read(str_view(&text));
    os_close(fd);
    str_release(&text);
    if (self->toolset && json_array_size(self->toolset) == 0) {
        json_decref(self->toolset);
        self->toolset = NULL;
    }
    return ETHOS_OK;
}

/* Adds the folders that file tools may read: the project, its notes, the skills. */
static void add_roots(struct turn *self, struct toolbox_setup *setup)
{
    const struct ethos_context *context = ethos_turn_context(self->memory);
    if (!self->setup->folder ||
        instructions_find_top(self->setup->folder, self->top, NULL) != ETHOS_OK)
        return;
    setup->roots[setup->root_count++] = self->top;
    if (context->workspace_scope &&
        service_path(self->memory, context->workspace_scope, "MEMORY.md", &self->notes_folder,
                     NULL) == ETHOS_OK &&
        self->notes_folder) {
        *strrchr(self->notes_folder, '/') = '\0';
        setup->roots[setup->root_count++] = self->notes_folder;
    }
    size_t count = project_skill_folders(self->top, service_home(self->setup->ethos), self->skills);
    for (size_t i = 0; i < count; i++)
        setup->roots[setup->root_count++] = self->skills[i];
}

static int open_tools(struct turn *self)
{
    struct toolbox_setup setup = {.ethos = self->setup->ethos,
                                  .request = &self->request,
                                  .rights = self->setup->rights,
                                  .only = self->setup->only,
                                  .via = self->setup->via,
                                  .actor = turn_actor(self),
                                  .trust = self->setup->trust,
                                  .proposes = self->setup->proposes,
                                  .turn_id = self->id,
                                  .dry_run = self->setup->dry_run,
                                  .updates = &self->updates,
                                  .shown_revision = find_shown_revision,
                                  .shown_arg = self};
    if (self->setup->no_tools || (self->setup->no_memory && !self->setup->proposes))
        return ETHOS_OK;
    TRY(read_toolset(self));
    setup.allowed = self->toolset;
    if (!self->setup->proposes)
        add_roots(self, &setup);
    return toolbox_init(&self->toolbox, &setup, self->error);
}

/* ---- prefetch ---------------------------------------------------------------------------------- */

static int prefetch_memory(struct turn *self)
{
    TRY(updates_init(&self->updates, self->memory, self->error));
    TRY(open_tools(self));
    const struct prompt_setup setup = {
        .ethos = self->setup->ethos,
        .turn = self->memory,
        .folder = self->setup->folder,
        .reads_files = toolbox_has_tool(&self->toolbox, VIEW("read_file")),
        .writes_memory = toolbox_has_tool(&self->toolbox, VIEW("memory_write")),
        .number = self->conversation.fence,
        .no_memory = self->setup->no_memory,
        .not_applied = self->session.not_applied.data};
    int code = prompt_build(&setup, &self->prompt, self->error);
    bool attached = attachment_said(self->question->text).size < self->question->text.size;
    if (self->prompt.foreign || attached || self->record.is_untrusted)
        toolbox_distrust(&self->toolbox);
    return code;
}

/* ---- record ------------------------------------------------------------------------------------ */

static int append_session_message(struct turn *self, struct ethos_message message)
{
    char id[UUID_SIZE];
    if (uuid_make(id) != 0)
        return err_set(self->error, ETHOS_IO, "cannot get random bytes from the system");
    message.id = id;
    message.trace_id = self->id;
    int code = conversation_append(&self->conversation, &message, self->error);
    if (code == ETHOS_OK)
        emit_event(self, &(struct agent_event){.kind = AGENT_MESSAGE,
                                               .id = view_str(id),
                                               .name = view_str(message.role)});
    return code;
}

/* Records the question with the recalled notes, which later turns send again unchanged, and with its trust. */
static int record_question(struct turn *self)
{
    struct str blocks;
    struct ethos_view recalled = prompt_recalled(&self->prompt);
    struct ethos_message message = {.role = "user", .content = self->question->text};
    json_t *rows = json_array();
    if (recalled.size > 0)
        json_array_append_new(
            rows, json_pack("{s:s, s:o}", "type", "ethos_recalled", "text", json_text(recalled)));
    if (self->setup->trust == TRUST_UNTRUSTED)
        json_array_append_new(rows, json_pack("{s:s}", "type", "ethos_foreign"));
    str_init(&blocks, MODEL_MAX_TEXT);
    if (json_array_size(rows) > 0 && json_print(rows, JSON_STYLE_LINE, &blocks) == ETHOS_OK)
        message.content_blocks = blocks.data;
    int code = append_session_message(self, message);
    json_decref(rows);
    str_release(&blocks);
    return code;
}

/* Arguments that are not a JSON object are kept only in the raw answer. */
static json_t *parse_call_input(const struct answer_call *call)
{
    json_t *input = NULL;
    if (json_parse_most(str_view(&call->arguments), MODEL_MAX_TEXT, "arguments", &input, NULL) ==
            ETHOS_OK &&
        json_is_object(input))
        return input;
    json_decref(input);
    return json_object();
}

static json_t *calls_json(const struct model_answer *answer)
{
    json_t *calls = json_array();
    for (size_t i = 0; i < answer->call_count; i++)
        op_json_push(&calls,
                     json_pack("{s:o, s:o, s:o}", "id", json_text(str_view(&answer->calls[i].id)),
                               "name", json_text(str_view(&answer->calls[i].name)), "input",
                               parse_call_input(&answer->calls[i])));
    return calls;
}

static json_t *blocks_json(const struct model_answer *answer, bool untrusted)
{
    json_t *blocks = json_array(), *raw = NULL;
    if (answer->raw.size > 0 &&
        json_parse_most(str_view(&answer->raw), MODEL_MAX_TEXT, "raw", &raw, NULL) == ETHOS_OK)
        op_json_push(&blocks, json_pack("{s:s, s:o}", "type", "ethos_raw", "raw", raw));
    if (answer->failed)
        op_json_push(&blocks, json_pack("{s:s, s:s}", "type", "ethos_aborted", "reason",
                                        model_answer_error_code(answer->error)));
    if (untrusted)
        op_json_push(&blocks, json_pack("{s:s}", "type", "ethos_untrusted"));
    return blocks;
}

static int record_answer(struct turn *self, const struct model_answer *answer)
{
    struct str calls, blocks;
    json_t *call_rows = calls_json(answer),
           *block_rows = blocks_json(answer, self->toolbox.trust == TRUST_UNTRUSTED);
    str_init(&calls, 2 * (size_t)MODEL_MAX_TEXT);
    str_init(&blocks, 2 * (size_t)MODEL_MAX_TEXT);
    if (json_array_size(call_rows) > 0)
        json_print(call_rows, JSON_STYLE_LINE, &calls);
    if (json_array_size(block_rows) > 0)
        json_print(block_rows, JSON_STYLE_LINE, &blocks);
    const struct ethos_message message = {.role = "assistant",
                                          .content = str_view(&answer->text),
                                          .tool_calls = calls.size > 0 ? calls.data : NULL,
                                          .content_blocks = blocks.size > 0 ? blocks.data : NULL};
    bool lost = !call_rows || !block_rows || str_code(&calls) || str_code(&blocks);
    int code = lost ? err_nomem(self->error) : append_session_message(self, message);
    json_decref(call_rows);
    json_decref(block_rows);
    str_release(&calls);
    str_release(&blocks);
    return code;
}

static int record_result(struct turn *self, const struct answer_call *call, struct ethos_view text,
                         bool failed, enum toolbox_text whose)
{
    static const char *const blocks[] = {[TOOLBOX_PLAIN] = NULL,
                                         [TOOLBOX_OWN] = "[{\"type\":" CONVERSATION_OWN "}]",
                                         [TOOLBOX_FOREIGN] = "[{\"type\":" CONVERSATION_FOREIGN
                                                             "}]"};
    const struct ethos_message message = {.role = "tool_result",
                                          .content = text,
                                          .tool_call_id = call->id.data,
                                          .tool_name = call->name.data,
                                          .content_blocks = failed ? "[{\"type\":\"ethos_failed\"}]"
                                                                   : blocks[whose]};
    return append_session_message(self, message);
}

/* ---- asking ------------------------------------------------------------------------------------ */

static int64_t window_tokens(const struct turn *self)
{
    int64_t window = self->setup->model->window;
    return window > 0 ? window : AGENT_DEFAULT_WINDOW;
}

static int64_t history_tokens(const struct turn *self)
{
    int64_t tokens = window_tokens(self) * WINDOW_SHARE / 100;
    for (size_t i = 0; i < self->prompt.count; i++)
        tokens -= conversation_estimate(self->prompt.views[i].size);
    for (size_t i = 0; i < self->toolbox.count; i++)
        tokens -= conversation_estimate(self->toolbox.tools[i].description.size +
                                        self->toolbox.tools[i].schema.size);
    return tokens;
}

static void add_turn_usage(struct turn *self, const struct model_usage *usage)
{
    struct model_usage *sum = &self->usage;
    unsigned estimated = (sum->known | usage->known) & MODEL_ESTIMATED;
    sum->input += usage->input;
    sum->output += usage->output;
    sum->cache_read += usage->cache_read;
    sum->cache_write += usage->cache_write;
    sum->thinking += usage->thinking;
    sum->nano_usd += usage->nano_usd;
    sum->known = (self->asks == 0 ? usage->known : sum->known & usage->known) | estimated;
    self->asks++;
}

static void ask_for_answer(struct turn *self, struct model_answer *answer)
{
    const struct conversation *conversation = &self->conversation;
    const struct model_request request = {.system = self->prompt.views,
                                          .system_count = self->prompt.count,
                                          .messages = conversation->messages + self->first,
                                          .message_count = conversation->count - self->first,
                                          .tools = self->toolbox.tools,
                                          .tool_count = self->toolbox.count,
                                          .abort_fd = self->question->abort_fd};
    model_answer_ask(answer, self->setup->model, &request, self->each, self->arg);
    add_turn_usage(self, &answer->usage);
}

/* Drops the older half of a conversation that is too long, once per turn. */
static bool drop_older_half(struct turn *self, const struct model_answer *answer)
{
    size_t middle = conversation_find_middle(&self->conversation, self->first);
    if (self->halved || !answer->failed || answer->error != MODEL_OVERFLOW ||
        middle >= self->conversation.count)
        return false;
    self->halved = true;
    self->first = middle;
    return true;
}

static int run_call(struct turn *self, const struct answer_call *call)
{
    struct str result;
    struct ethos_view id = str_view(&call->id), name = str_view(&call->name);
    enum toolbox_text whose = TOOLBOX_PLAIN;
    bool aborted = is_aborted(self);
    int64_t began = os_monotonic_ms();
    emit_event(self, &(struct agent_event){.kind = AGENT_TOOL_START,
                                           .id = id,
                                           .name = name,
                                           .text = str_view(&call->arguments)});
    str_init(&result, 2 * (size_t)TOOLBOX_MAX_RESULT);
    bool done = !aborted && toolbox_call(&self->toolbox, name, str_view(&call->arguments),
                                         call->id.data, &result, &whose);
    if (aborted)
        str_adds(&result, ABORTED_RESULT);
    emit_event(self, &(struct agent_event){.kind = AGENT_TOOL_END,
                                           .id = id,
                                           .name = name,
                                           .text = str_view(&result),
                                           .ok = done,
                                           .duration_ms = os_monotonic_ms() - began});
    int code = str_code(&result) == ETHOS_OK
                   ? record_result(self, call, str_view(&result), !done, whose)
                   : err_nomem(self->error);
    str_release(&result);
    return code;
}

/* Records a result for every call, even of an answer that was cut short; models require it. */
static int run_calls(struct turn *self, const struct model_answer *answer)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < answer->call_count; i++)
        code = answer->failed ? record_result(self, &answer->calls[i], VIEW(ABORTED_RESULT), true,
                                              TOOLBOX_PLAIN)
                              : run_call(self, &answer->calls[i]);
    return code;
}

static void append_reply(struct turn *self, const struct model_answer *answer)
{
    if (answer->text.size > 0 && self->reply.size > 0)
        str_adds(&self->reply, "\n\n");
    str_add(&self->reply, str_view(&answer->text));
}

/* One answer and the tools that it calls. */
static int run_step(struct turn *self, bool *out_ended)
{
    struct model_answer answer;
    model_answer_init(&answer);
    ask_for_answer(self, &answer);
    if (drop_older_half(self, &answer)) {
        emit_event(self,
                   &(struct agent_event){.kind = AGENT_STATUS,
                                         .text = VIEW("the conversation is longer than the model's "
                                                      "context; its older half is left out")});
        model_answer_release(&answer);
        model_answer_init(&answer);
        ask_for_answer(self, &answer);
    }
    int code = record_answer(self, &answer);
    if (code == ETHOS_OK)
        code = run_calls(self, &answer);
    append_reply(self, &answer);
    *out_ended = answer.call_count == 0 && answer.stop != MODEL_STOP_PAUSED;
    if (code == ETHOS_OK && answer.failed) {
        code = fail_turn(self, model_answer_error_code(answer.error), answer.problem.data);
        if (answer.error == MODEL_OVERFLOW)
            err_hint(self->error, code, "start a new conversation: /new, or ethos ask --new");
    } else if (code == ETHOS_OK && answer.stop == MODEL_STOP_REFUSED) {
        code = fail_turn(self, "refused", "the model refused to answer");
    }
    model_answer_release(&answer);
    return code;
}

static int read_max_steps(struct turn *self, unsigned *out)
{
    const struct config *home, *personality;
    int code = service_config(self->setup->ethos, NULL, &home, &personality, self->error);
    if (code == ETHOS_OK)
        *out = (unsigned)config_integer(home, NULL, "agent.maxSteps");
    return code;
}

static json_t *make_prompt_json(const struct turn *self)
{
    return describe_prompt(&self->prompt, &self->toolbox, &self->conversation, self->first,
                           window_tokens(self));
}

static void emit_prompt(const struct turn *self)
{
    json_t *json = make_prompt_json(self);
    if (json)
        emit_event(self, &(struct agent_event){.kind = AGENT_CONTEXT, .prompt = json});
    json_decref(json);
}

static int run_agent_steps(struct turn *self)
{
    unsigned most = self->setup->max_steps;
    bool ended = false;
    int code = most ? ETHOS_OK : read_max_steps(self, &most);
    self->first = conversation_first(&self->conversation, history_tokens(self));
    emit_prompt(self);
    for (unsigned i = 0; code == ETHOS_OK && !ended; i++) {
        if (i == most) {
            code = fail_turn(self, "max_steps", "the turn reached its step limit");
            err_hint(self->error, code, "ask it to continue, or raise agent.maxSteps (now %u)",
                     most);
        } else {
            code = run_step(self, &ended);
        }
        if (code == ETHOS_OK && !ended && is_aborted(self))
            code = fail_turn(self, "aborted", "aborted");
    }
    return code;
}

/* ---- remember and account ---------------------------------------------------------------------- */

/* Stores the updates that failed; the next prompt tells the model about them once. */
static int store_not_applied(struct turn *self)
{
    json_t *metadata = NULL;
    struct str text;
    if (self->updates.problems.size == 0 && self->session.not_applied.size == 0)
        return ETHOS_OK;
    if (self->session.metadata.size > 0)
        json_parse(str_view(&self->session.metadata), "metadata", &metadata, NULL);
    if (!json_is_object(metadata)) {
        json_decref(metadata);
        metadata = json_object();
    }
    json_object_del(metadata, SESSION_NOT_APPLIED);
    if (self->updates.problems.size > 0)
        op_json_put(&metadata, SESSION_NOT_APPLIED, json_text(str_view(&self->updates.problems)));
    str_init(&text, SESSION_MAX_METADATA);
    if (metadata)
        json_print(metadata, JSON_STYLE_LINE, &text);
    const struct ethos_session_patch patch = {.metadata = text.data};
    int code = metadata && str_code(&text) == ETHOS_OK
                   ? self->store->ops->update(self->store, self->question->session, &patch,
                                              self->error)
                   : err_nomem(self->error);
    json_decref(metadata);
    str_release(&text);
    return code;
}

static int record_turn(struct turn *self)
{
    const struct ethos_origin origin = {
        .actor = turn_actor(self),
        .trust = trust_name(TRUST_AGENT), // untrusted updates were proposed
        .via = self->setup->via,
        .source = "tool",
        .session = self->question->session,
        .session_key = self->session.key,
        .op_id = self->id};
    int code = updates_apply(&self->updates, &origin, self->error);
    if (code == ETHOS_OK)
        code = store_not_applied(self);
    if (json_array_size(self->toolbox.pending) > 0)
        emit_event(self,
                   &(struct agent_event){.kind = AGENT_PENDING, .changes = self->toolbox.pending});
    if (code == ETHOS_OK && self->updates.problems.size > 0)
        emit_event(self, &(struct agent_event){.kind = AGENT_STATUS,
                                               .text = str_view(&self->updates.problems)});
    return code;
}

static int record_usage(struct turn *self)
{
    const struct model *model = self->setup->model;
    const struct ethos_usage usage = {.input_tokens = self->usage.input,
                                      .output_tokens = self->usage.output,
                                      .cache_read_tokens = self->usage.cache_read,
                                      .cache_creation_tokens = self->usage.cache_write,
                                      .cost_usd = (double)self->usage.nano_usd / 1e9,
                                      .api_calls = self->asks};
    bool same = strcmp(self->session.model, model->name) == 0 &&
                strcmp(self->session.provider, model->provider) == 0;
    const struct ethos_session_patch patch = {.usage = &usage,
                                              .model = same ? NULL : model->name,
                                              .provider = same ? NULL : model->provider};
    emit_event(self, &(struct agent_event){.kind = AGENT_USAGE, .usage = self->usage});
    return self->store->ops->update(self->store, self->question->session, &patch, self->error);
}

/* ---- continuing after a crash -------------------------------------------------------------------- */

/* Checks and queues an interrupted memory update again. *out_done: it was accepted. */
static int requeue_write(struct turn *self, const json_t *call, struct str *out, bool *out_done)
{
    struct str arguments;
    enum toolbox_text whose;
    str_clear(out);
    str_init(&arguments, MODEL_MAX_TEXT);
    int code = json_print(json_object_get(call, "input"), JSON_STYLE_LINE, &arguments);
    if (code == ETHOS_OK)
        *out_done = toolbox_call(&self->toolbox, json_view(call, "name"), str_view(&arguments),
                                 json_string_value(json_object_get(call, "id")), out, &whose);
    str_release(&arguments);
    return code == ETHOS_OK ? str_code(out) : code;
}

/* Queues the updates again that were waiting when the turn was interrupted, in their order. */
static int requeue_writes(struct turn *self)
{
    struct str result;
    size_t index;
    json_t *call;
    bool done;
    int code = ETHOS_OK;
    str_init(&result, 2 * (size_t)TOOLBOX_MAX_RESULT);
    json_array_foreach (self->record.writes, index, call)
        if (code == ETHOS_OK)
            code = requeue_write(self, call, &result, &done);
    str_release(&result);
    return code == ETHOS_OK ? ETHOS_OK : err_nomem(self->error);
}

/* Models require a result for every call. A memory update had no effect yet and is queued again; any other call may or
 * may not have taken effect. */
static int record_missing_result(struct turn *self, const json_t *call, struct str *result)
{
    bool done = false;
    int code = ETHOS_OK;
    str_clear(result);
    if (view_eq_str(json_view(call, "name"), "memory_write"))
        code = requeue_write(self, call, result, &done);
    else
        str_adds(result, INTERRUPTED_RESULT);
    const struct ethos_message message = {
        .role = "tool_result",
        .content = str_view(result),
        .tool_call_id = json_string_value(json_object_get(call, "id")),
        .tool_name = json_string_value(json_object_get(call, "name")),
        .content_blocks = done ? NULL : "[{\"type\":\"ethos_failed\"}]"};
    return code == ETHOS_OK ? append_session_message(self, message) : err_nomem(self->error);
}

static int record_missing_results(struct turn *self)
{
    struct str result;
    size_t index;
    json_t *call;
    int code = ETHOS_OK;
    str_init(&result, 2 * (size_t)TOOLBOX_MAX_RESULT);
    json_array_foreach (self->record.open, index, call)
        if (code == ETHOS_OK)
            code = record_missing_result(self, call, &result);
    str_release(&result);
    return code;
}

static int continue_interrupted_turn(struct turn *self)
{
    int code = requeue_writes(self);
    str_add(&self->reply, str_view(&self->record.reply));
    if (code == ETHOS_OK && self->record.is_over)
        return fail_turn(self, "interrupted", "the answer was interrupted; ask again");
    return code == ETHOS_OK && !self->record.has_answer ? record_missing_results(self) : code;
}

/* ---- the turn ---------------------------------------------------------------------------------- */

/* Records the question even if memory cannot be read. */
static int prefetch_and_record(struct turn *self)
{
    struct ethos_error prefetch_error = {0};
    struct ethos_error *error = self->error;
    self->error = &prefetch_error;
    int prefetched = prefetch_memory(self);
    self->error = error;
    int code = self->record.has_question ? ETHOS_OK : record_question(self);
    if (code == ETHOS_OK && prefetched != ETHOS_OK) {
        if (error)
            *error = prefetch_error;
        code = prefetched;
    }
    return code;
}

static int run_stages(struct turn *self)
{
    TRY(resolve_session(self));
    if (self->question->resumes)
        TRY(turn_record_read(self->store, self->question->session, self->id, &self->record,
                             self->error));
    TRY(conversation_load(self->store, self->question->session, &self->conversation, self->error));
    TRY(prefetch_and_record(self));
    emit_event(self, &(struct agent_event){.kind = AGENT_START,
                                           .id = view_str(self->id),
                                           .provider = self->setup->model->provider,
                                           .model = self->setup->model->name});
    if (self->prompt.foreign && self->conversation.count == 1) // once in a conversation
        emit_event(self, &(struct agent_event){.kind = AGENT_STATUS, .text = VIEW(NOT_ACCEPTED)});
    if (self->record.has_question)
        TRY(continue_interrupted_turn(self));
    return self->record.has_answer ? ETHOS_OK : run_agent_steps(self);
}

/* Applies the queued updates even after a failure. The first failure is the one that is reported. */
static int finish_turn(struct turn *self, int code)
{
    struct ethos_error later = {0};
    struct ethos_error *error = self->error;
    if (!self->updates.rows)
        return code;
    if (code != ETHOS_OK)
        self->error = &later;
    int remembered = record_turn(self);
    int accounted = self->asks > 0 ? record_usage(self) : ETHOS_OK;
    self->error = error;
    return code != ETHOS_OK ? code : remembered != ETHOS_OK ? remembered : accounted;
}

static void emit_end(struct turn *self, int code)
{
    const char *failure = self->failure ? self->failure : ethos_code_name(code);
    if (code == ETHOS_OK)
        emit_event(self,
                   &(struct agent_event){.kind = AGENT_DONE,
                                         .id = view_str(self->id),
                                         .text = str_view(&self->reply),
                                         .turns = self->session.turns + 1,
                                         .remembers = json_array_size(self->updates.changes) > 0});
    else
        emit_event(self, &(struct agent_event){.kind = AGENT_ERROR,
                                               .id = view_str(self->id),
                                               .name = view_str(failure),
                                               .text = view_str(self->error->text)});
    if (json_array_size(self->updates.changes) > 0)
        emit_event(self, &(struct agent_event){.kind = AGENT_REMEMBERED,
                                               .changes = self->updates.changes});
}

static void release_turn(struct turn *self)
{
    toolbox_release(&self->toolbox);
    updates_release(&self->updates);
    turn_record_release(&self->record);
    prompt_release(&self->prompt);
    conversation_release(&self->conversation);
    ethos_turn_free(self->memory);
    json_decref(self->toolset);
    free(self->notes_folder);
    free(self->query);
    agent_session_release(&self->session);
    str_release(&self->reply);
}

int agent_turn(const struct agent_setup *setup, const struct agent_question *question,
               agent_event_fn *each, void *arg, struct ethos_error *error)
{
    struct ethos_error own = {0};
    struct turn self = {.setup = setup, .question = question, .each = each, .arg = arg};
    char uuid[UUID_SIZE];
    self.error = error ? error : &own;
    str_init(&self.reply, AGENT_MAX_REPLY);
    int code = question->text.size > MODEL_MAX_TEXT
                   ? err_set(self.error, ETHOS_LIMIT, "the message has %zu bytes; %d are allowed",
                             question->text.size, MODEL_MAX_TEXT)
               : !question->turn_id && uuid_make(uuid) != 0
                   ? err_set(self.error, ETHOS_IO, "cannot get random bytes from the system")
                   : ETHOS_OK;
    if (code == ETHOS_OK) {
        snprintf(self.id, sizeof self.id, "%s", question->turn_id ? question->turn_id : uuid);
        code = finish_turn(&self, run_stages(&self));
    }
    emit_end(&self, code);
    release_turn(&self);
    return code;
}

void agent_index_conversation(struct ethos *ethos)
{
    recall_follow(ethos);
}

int agent_describe(const struct agent_setup *setup, const char *session, json_t **out,
                   struct ethos_error *error)
{
    const struct agent_question question = {.session = session, .abort_fd = -1};
    struct turn self = {.setup = setup, .question = &question, .error = error};
    int code = resolve_session(&self);
    if (code == ETHOS_OK)
        code = conversation_load(self.store, session, &self.conversation, error);
    if (code == ETHOS_OK)
        code = prefetch_memory(&self);
    if (code == ETHOS_OK) {
        self.first = conversation_first(&self.conversation, history_tokens(&self));
        *out = make_prompt_json(&self);
        code = *out ? ETHOS_OK : err_nomem(error);
    }
    release_turn(&self);
    return code;
}
