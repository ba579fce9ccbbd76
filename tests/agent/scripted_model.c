/*
 * scripted_model.c: a request is kept as text, a line of head and the text of each part:
 *
 *     [system] ...
 *     [tool NAME]
 *     [user] ...
 *     [assistant] ...
 *     [call ID NAME ARGUMENTS]
 *     [result ID] ...      or [failed ID] ...
 */
#include "scripted_model.h"

#include <string.h>

#include "base/view.h"

static void append_message(const struct model_message *message, struct str *out)
{
    if (message->role == MODEL_TOOL_RESULT)
        str_printf(out, "[%s %.*s] %.*s\n", message->is_error ? "failed" : "result",
                   VIEW_ARG(message->call_id), VIEW_ARG(message->text));
    else
        str_printf(out, "[%s] %.*s\n", message->role == MODEL_USER ? "user" : "assistant",
                   VIEW_ARG(message->text));
    for (size_t i = 0; i < message->call_count; i++)
        str_printf(out, "[call %.*s %.*s %.*s]\n", VIEW_ARG(message->calls[i].id),
                   VIEW_ARG(message->calls[i].name), VIEW_ARG(message->calls[i].arguments));
    if (message->raw.size > 0)
        str_printf(out, "[raw %.*s]\n", VIEW_ARG(message->raw));
}

static void print_request(const struct model_request *request, struct str *out)
{
    for (size_t i = 0; i < request->system_count; i++)
        str_printf(out, "[system] %.*s\n", VIEW_ARG(request->system[i]));
    for (size_t i = 0; i < request->tool_count; i++)
        str_printf(out, "[tool %.*s]\n", VIEW_ARG(request->tools[i].name));
    for (size_t i = 0; i < request->message_count; i++)
        append_message(&request->messages[i], out);
}

static void emit_call(const struct scripted_call *call, unsigned item, bool whole,
                      model_event_fn *each, void *arg)
{
    struct model_event event = {.kind = MODEL_CALL_BEGIN,
                                .item = item,
                                .id = view_str(call->id),
                                .name = view_str(call->name)};
    each(arg, &event);
    event.kind = MODEL_CALL_ARGUMENTS;
    event.text = view_str(call->arguments);
    each(arg, &event);
    event.kind = MODEL_CALL_END;
    if (whole)
        each(arg, &event);
}

static void ask(struct model *model, const struct model_request *request, model_event_fn *each,
                void *arg)
{
    static const struct scripted_answer nothing = {.error = "the script has ended"};
    struct scripted_model *self = (struct scripted_model *)model;
    const struct scripted_answer *answer = self->asked < self->count ? &self->answers[self->asked]
                                                                     : &nothing;
    unsigned calls = 0;
    if (self->asked < SCRIPT_MAX_ANSWERS)
        print_request(request, &self->requests[self->asked]);
    self->asked++;
    if (answer->before)
        answer->before(self->arg);
    each(arg, &(struct model_event){.kind = MODEL_START});
    if (answer->text)
        each(arg, &(struct model_event){.kind = MODEL_TEXT, .text = view_str(answer->text)});
    while (calls < SCRIPT_MAX_CALLS && answer->calls[calls].id)
        calls++;
    for (unsigned i = 0; i < calls; i++)
        emit_call(&answer->calls[i], i, i + answer->partial_calls < calls, each, arg);
    const struct model_usage usage = {.input = 10,
                                      .output = 5,
                                      .nano_usd = 1000,
                                      .known = MODEL_KNOWS_INPUT | MODEL_KNOWS_OUTPUT |
                                               MODEL_KNOWS_COST};
    each(arg, &(struct model_event){.kind = MODEL_USAGE, .usage = usage});
    if (answer->error)
        each(arg, &(struct model_event){.kind = MODEL_ERROR,
                                        .error = answer->error_kind,
                                        .text = view_str(answer->error)});
    else
        each(arg, &(struct model_event){.kind = MODEL_DONE,
                                        .stop = answer->stop ? answer->stop
                                                : calls > 0  ? MODEL_STOP_CALLS
                                                             : MODEL_STOP_END,
                                        .raw = view_str(answer->raw)});
}

static void close_model(struct model *model)
{
    (void)model;
}

static const struct model_ops script_ops = {ask, close_model};

void scripted_model_init(struct scripted_model *self, const struct scripted_answer *answers,
                         size_t count)
{
    *self = (struct scripted_model){
        .model = {&script_ops, "test", "scripted", 0, true}, .answers = answers, .count = count};
    for (size_t i = 0; i < SCRIPT_MAX_ANSWERS; i++)
        str_init(&self->requests[i], 16777216);
}

void scripted_model_release(struct scripted_model *self)
{
    for (size_t i = 0; i < SCRIPT_MAX_ANSWERS; i++)
        str_release(&self->requests[i]);
}
