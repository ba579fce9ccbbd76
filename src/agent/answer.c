/*
 * answer.c: one answer of a model, collected from its events.
 */
#include "agent/answer.h"

#include <string.h>

#include "base/view.h"

#define MAX_ID 256       /* bytes: the id of a call, and its name */
#define MAX_PROBLEM 2048 /* bytes */

void model_answer_init(struct model_answer *self)
{
    *self = (struct model_answer){0};
    str_init(&self->text, MODEL_MAX_TEXT);
    str_init(&self->raw, MODEL_MAX_TEXT);
    str_init(&self->problem, MAX_PROBLEM);
}

static void release_calls(struct model_answer *self)
{
    for (size_t i = 0; i < self->call_count; i++) {
        str_release(&self->calls[i].id);
        str_release(&self->calls[i].name);
        str_release(&self->calls[i].arguments);
    }
    self->call_count = 0;
}

void model_answer_release(struct model_answer *self)
{
    release_calls(self);
    str_release(&self->text);
    str_release(&self->raw);
    str_release(&self->problem);
}

/* ---- events ----------------------------------------------------------------------------------- */

struct answer_collector {
    struct model_answer *answer;
    agent_event_fn *each;
    void *arg;
};

static void emit_text_event(const struct answer_collector *self, enum agent_event_kind kind,
                            struct ethos_view text)
{
    const struct agent_event event = {.kind = kind, .text = text};
    self->each(self->arg, &event);
}

/* A call is known by its number; what is beyond the limit is told as a failure at the end. */
static struct answer_call *find_or_add_call(struct model_answer *self, unsigned item)
{
    if (item >= AGENT_MAX_CALLS)
        return NULL;
    while (self->call_count <= item) {
        struct answer_call *call = &self->calls[self->call_count++];
        *call = (struct answer_call){0};
        str_init(&call->id, MAX_ID);
        str_init(&call->name, MAX_ID);
        str_init(&call->arguments, MODEL_MAX_TEXT);
    }
    return &self->calls[item];
}

static void replace_text(struct str *to, struct ethos_view text)
{
    str_clear(to);
    str_add(to, text);
}

static void end_call(struct model_answer *self, const struct model_event *event)
{
    struct answer_call *call = find_or_add_call(self, event->item);
    if (!call)
        return;
    replace_text(&call->id, event->id);
    replace_text(&call->name, event->name);
    replace_text(&call->arguments, event->text);
    call->whole = str_code(&call->id) == ETHOS_OK && str_code(&call->name) == ETHOS_OK &&
                  str_code(&call->arguments) == ETHOS_OK;
}

static void append_answer_text(struct answer_collector *self, struct ethos_view text)
{
    str_add(&self->answer->text, text);
    if (str_code(&self->answer->text) == ETHOS_OK) {
        self->answer->shown = true;
        emit_text_event(self, AGENT_TEXT, text);
    }
}

static void restart_answer(struct answer_collector *self)
{
    str_clear(&self->answer->text);
    release_calls(self->answer);
    emit_text_event(self, AGENT_RESTART, (struct ethos_view){0});
}

static void collect_model_event(void *arg, const struct model_event *event)
{
    struct answer_collector *self = arg;
    struct model_answer *answer = self->answer;
    switch (event->kind) {
    case MODEL_TEXT:
        append_answer_text(self, event->text);
        break;
    case MODEL_THINKING:
        emit_text_event(self, AGENT_THINKING, event->text);
        break;
    case MODEL_STATUS:
        emit_text_event(self, AGENT_STATUS, event->text);
        break;
    case MODEL_RESTART:
        restart_answer(self);
        break;
    case MODEL_CALL_BEGIN:
        find_or_add_call(answer, event->item);
        break;
    case MODEL_CALL_END:
        end_call(answer, event);
        break;
    case MODEL_USAGE:
        answer->usage = event->usage;
        break;
    case MODEL_DONE:
        answer->stop = event->stop;
        replace_text(&answer->raw, event->raw);
        break;
    case MODEL_ERROR:
        answer->failed = true;
        answer->error = event->error;
        replace_text(&answer->problem, event->text);
        break;
    case MODEL_START:
    case MODEL_CALL_ARGUMENTS:
        break;
    }
}

/* ---- asking ----------------------------------------------------------------------------------- */

static void fail_answer(struct model_answer *self, const char *problem)
{
    self->failed = true;
    self->error = MODEL_PROTOCOL;
    replace_text(&self->problem, view_str(problem));
}

/* Calls that are whole move together; the others are gone. */
static void drop_partial_calls(struct model_answer *self)
{
    size_t count = 0;
    for (size_t i = 0; i < self->call_count; i++) {
        struct answer_call call = self->calls[i];
        if (call.whole) {
            self->calls[count++] = call;
            continue;
        }
        str_release(&call.id);
        str_release(&call.name);
        str_release(&call.arguments);
    }
    self->call_count = count;
}

void model_answer_ask(struct model_answer *self, struct model *model,
                      const struct model_request *request, agent_event_fn *each, void *arg)
{
    struct answer_collector collecting = {self, each, arg};
    model->ops->ask(model, request, collect_model_event, &collecting);
    bool partial = false;
    for (size_t i = 0; i < self->call_count; i++)
        partial = partial || !self->calls[i].whole;
    if (!self->failed && partial && self->stop != MODEL_STOP_LENGTH)
        fail_answer(self, "the model began a tool call and did not finish it");
    if (!self->failed && str_code(&self->text) != ETHOS_OK)
        fail_answer(self, "the answer is too long");
    drop_partial_calls(self);
    if (str_code(&self->raw) != ETHOS_OK || self->failed)
        str_clear(&self->raw); // rebuilt from text and calls then
}

const char *model_answer_error_code(enum model_error error)
{
    switch (error) {
    case MODEL_ABORTED:
        return "aborted";
    case MODEL_OVERFLOW:
        return "context_overflow";
    case MODEL_TIMEOUT:
        return "streaming_timeout";
    case MODEL_AUTH:
        return "PROVIDER_AUTH_FAILED";
    default:
        return "llm_error";
    }
}
