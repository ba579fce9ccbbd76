/*
 * turn_record.c: what a turn has recorded in its session.
 */
#include "agent/turn_record.h"

#include <string.h>

#include "agent/agent.h"
#include "agent/conversation.h"
#include "base/err.h"
#include "base/view.h"
#include "ops/op.h"

struct turn_record_reader {
    struct turn_record *record;
    const char *turn_id;
};

static void read_recorded_answer(struct turn_record *self, const struct ethos_message *message)
{
    json_t *calls = NULL, *call;
    size_t index;
    if (message->content.size > 0 && self->reply.size > 0)
        str_adds(&self->reply, "\n\n");
    str_add(&self->reply, message->content);
    if (message->tool_calls)
        json_parse_most(view_str(message->tool_calls), MODEL_MAX_TEXT, "calls", &calls, NULL);
    json_array_foreach (calls, index, call)
        op_json_push(&self->open, json_incref(call));
    self->is_over = message->content_blocks && strstr(message->content_blocks, "\"ethos_aborted\"");
    self->has_answer = !self->is_over && json_array_size(calls) == 0;
    json_decref(calls);
}

/* Its call is no longer open; a memory update that was accepted is waiting. */
static void read_recorded_result(struct turn_record *self, const struct ethos_message *message)
{
    size_t index;
    json_t *call;
    self->is_untrusted |= message->content_blocks &&
                          strstr(message->content_blocks, CONVERSATION_FOREIGN);
    json_array_foreach (self->open, index, call)
        if (message->tool_call_id && view_eq_str(json_view(call, "id"), message->tool_call_id)) {
            if (view_eq_str(json_view(call, "name"), "memory_write") && !message->content_blocks)
                op_json_push(&self->writes, json_incref(call));
            json_array_remove(self->open, index);
            return;
        }
}

static int read_recorded_message(void *arg, const struct ethos_message *message)
{
    const struct turn_record_reader *reading = arg;
    struct turn_record *self = reading->record;
    bool its = message->trace_id && strcmp(message->trace_id, reading->turn_id) == 0;
    if (its && strcmp(message->role, "user") == 0)
        self->has_question = true;
    else if (its && strcmp(message->role, "assistant") == 0)
        read_recorded_answer(self, message);
    else if (its && strcmp(message->role, "tool_result") == 0)
        read_recorded_result(self, message);
    else if (self->has_question && !its)
        self->is_over = !self->has_answer;
    return self->writes && self->open ? 0 : ETHOS_NOMEM;
}

int turn_record_read(struct ethos_sessions *store, const char *session, const char *turn_id,
                     struct turn_record *out, struct ethos_error *error)
{
    struct turn_record_reader reading = {out, turn_id};
    *out = (struct turn_record){.writes = json_array(), .open = json_array()};
    str_init(&out->reply, AGENT_MAX_REPLY);
    int code = out->writes && out->open ? ETHOS_OK : ETHOS_NOMEM;
    if (code == ETHOS_OK)
        code = store->ops->messages(store, session, AGENT_MAX_HISTORY, read_recorded_message,
                                    &reading, error);
    if (code == ETHOS_OK)
        code = str_code(&out->reply);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

void turn_record_release(struct turn_record *self)
{
    str_release(&self->reply);
    json_decref(self->writes);
    json_decref(self->open);
    *self = (struct turn_record){0};
}
