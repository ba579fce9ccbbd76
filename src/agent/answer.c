/*
 * answer.c: one answer of a model, collected from its events.
 */
#include "agent/answer.h"

#include <string.h>

#include "base/view.h"

#define MAX_ID 256       /* bytes: the id of a call, and its name */
#define MAX_PROBLEM 2048 /* bytes */

void answer_init(struct answer *self)
{
    *self = (struct answer){0};
    str_init(&self->text, MODEL_MAX_TEXT);
    str_init(&self->raw, MODEL_MAX_TEXT);
    str_init(&self->problem, MAX_PROBLEM);
}

static void release_calls(struct answer *self)
{
    for (size_t i = 0; i < self->call_count; i++) {
        str_release(&self->calls[i].id);
        str_release(&self->calls[i].name);
        str_release(&self->calls[i].arguments);
    }
    self->call_count = 0;
}

void answer_release(struct answer *self)
{
    release_calls(self);
    str_release(&self->text);
    str_release(&self->raw);
    str_release(&self->problem);
}

/* ---- events ----------------------------------------------------------------------------------- */

struct collecting {
    struct answer *answer;
    agent_event_fn *each;
    void *arg;
};

static void emit(const struct collecting *self, enum agent_event_kind kind, struct ethos_view text)
{
    const struct agent_event event = {.kind = kind, .text = text};
    self->each(self->arg, &event);
}

/* A call is known by its number; what is beyond the limit is told as a failure at the end. */
static struct answer_call *find_call(struct answer *self, unsigned item)
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

static void set_text(struct str *to, struct ethos_view text)
{
    str_clear(to);
    str_add(to, text);
}

static void end_call(struct answer *self, const struct model_event *event)
{
    struct answer_call *call = find_call(self, event->item);
    if (!call)
        return;
    set_text(&call->id, event->id);
    set_text(&call->name, event->name);
    set_text(&call->arguments, event->text);
    call->whole = str_code(&call->id) == ETHOS_OK && str_code(&call->name) == ETHOS_OK &&
                  str_code(&call->arguments) == ETHOS_OK;
}

static void take_text(struct collecting *self, struct ethos_view text)
{
    str_add(&self->answer->text, text);
    if (str_code(&self->answer->text) == ETHOS_OK) {
        self->answer->shown = true;
        emit(self, AGENT_TEXT, text);
    }
}

static void begin_again(struct collecting *self)
{
    str_clear(&self->answer->text);
    release_calls(self->answer);
    emit(self, AGENT_RESTART, (struct ethos_view){0});
}

static void collect(void *arg, const struct model_event *event)
{
    struct collecting *self = arg;
    struct answer *answer = self->answer;
    switch (event->kind) {
    case MODEL_TEXT:
        take_text(self, event->text);
        break;
    case MODEL_THINKING:
        emit(self, AGENT_THINKING, event->text);
        break;
    case MODEL_STATUS:
        emit(self, AGENT_STATUS, event->text);
        break;
    case MODEL_RESTART:
        begin_again(self);
        break;
    case MODEL_CALL_BEGIN:
        find_call(answer, event->item);
        break;
    case MODEL_CALL_END:
        end_call(answer, event);
        break;
    case MODEL_USAGE:
        answer->usage = event->usage;
        break;
    case MODEL_DONE:
        answer->stop = event->stop;
        set_text(&answer->raw, event->raw);
        break;
    case MODEL_ERROR:
        answer->failed = true;
        answer->error = event->error;
        set_text(&answer->problem, event->text);
        break;
    case MODEL_START:
    case MODEL_CALL_ARGUMENTS:
        break;
    }
}

/* ---- asking ----------------------------------------------------------------------------------- */

static void fail(struct answer *self, const char *problem)
{
    self->failed = true;
    self->error = MODEL_PROTOCOL;
    set_text(&self->problem, view_str(problem));
}

/* Calls that are whole move together; the others are gone. */
static void drop_partial_calls(struct answer *self)
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

void answer_ask(struct answer *self, struct model *model, const struct model_request *request,
                agent_event_fn *each, void *arg)
{
    struct collecting collecting = {self, each, arg};
    model->ops->ask(model, request, collect, &collecting);
    bool partial = false;
    for (size_t i = 0; i < self->call_count; i++)
        partial = partial || !self->calls[i].whole;
    if (!self->failed && partial && self->stop != MODEL_STOP_LENGTH)
        fail(self, "the model began a tool call and did not finish it");
    if (!self->failed && str_code(&self->text) != ETHOS_OK)
        fail(self, "the answer is too long");
    drop_partial_calls(self);
    if (str_code(&self->raw) != ETHOS_OK || self->failed)
        str_clear(&self->raw); // rebuilt from text and calls then
}

const char *answer_error_code(enum model_error error)
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
