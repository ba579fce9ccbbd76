/*
 * reply.c: the answer of a model as it arrives.
 */
#include "agent/models/reply.h"

#include <stdio.h>
#include <stdlib.h>

#include "agent/models/surrogates.h"
#include "base/json.h"
#include "base/utf8.h"
#include "base/view.h"

#define MAX_EVENT (4u << 20) /* bytes of one event of a stream */
#define MADE_ID_SIZE 9       /* the length that the strictest server asks for */
#define MOST_USD 1e6         /* of one answer; more is a mistake */
#define BYTES_PER_TOKEN 4    /* an estimate */

static void read_data(void *arg, struct ethos_view data);

static void init_text(struct reply_text *text)
{
    str_init(&text->text, WIRE_MAX_ANSWER);
    text->half = 0;
}

void reply_init(struct reply *self, const struct wire *wire, const struct wire_settings *settings,
                model_event_fn *each, void *arg)
{
    *self = (struct reply){.wire = wire, .settings = settings, .each = each, .arg = arg};
    event_stream_init(&self->events, MAX_EVENT, read_data, self);
    str_init(&self->line, WIRE_MAX_ANSWER);
    init_text(&self->text);
    init_text(&self->thinking);
}

static void free_call(struct reply_call *call)
{
    str_release(&call->id);
    str_release(&call->name);
    str_release(&call->arguments.text);
    json_decref(call->members);
    free(call);
}

void reply_release(struct reply *self)
{
    event_stream_release(&self->events);
    str_release(&self->line);
    str_release(&self->text.text);
    str_release(&self->thinking.text);
    for (size_t i = 0; i < self->field_count; i++)
        str_release(&self->fields[i].value.text);
    for (size_t i = 0; i < self->call_count; i++)
        free_call(self->calls[i]);
    json_decref(self->message);
    *self = (struct reply){0};
}

/* ---- failures ------------------------------------------------------------------------------------ */

struct failure_context reply_context(const struct reply *self)
{
    return (struct failure_context){self->settings->provider, self->settings->key};
}

bool reply_is_over(const struct reply *self)
{
    return self->is_complete || self->has_failed;
}

void reply_fail(struct reply *self, enum model_error error, const char *detail)
{
    struct failure_context context = reply_context(self);
    if (self->has_failed)
        return;
    self->has_failed = true;
    failure_set(&self->failure, &context, error, 0, view_str(detail));
}

void reply_fail_json(struct reply *self, const json_t *error)
{
    struct failure_context context = reply_context(self);
    if (self->has_failed)
        return;
    self->has_failed = true;
    failure_from_json(&self->failure, &context, error);
}

void reply_fail_memory(struct reply *self)
{
    reply_fail(self, MODEL_PROTOCOL, "out of memory");
}

static void check_code(struct reply *self, int code)
{
    if (code == ETHOS_LIMIT)
        reply_fail(self, MODEL_PROTOCOL, "the answer is too long");
    else if (code != ETHOS_OK)
        reply_fail_memory(self);
}

/* ---- the stream ---------------------------------------------------------------------------------- */

static int parse_event(struct ethos_view text, json_t **out, struct ethos_error *error)
{
    struct str valid, marked;
    str_init(&valid, 3 * WIRE_MAX_ANSWER);
    str_init(&marked, 3 * WIRE_MAX_ANSWER);
    if (!utf8_valid(text)) {
        utf8_sanitize(text, &valid);
        text = str_view(&valid);
    }
    surrogates_mark(text, &marked);
    int code = str_code(&valid) == ETHOS_OK ? str_code(&marked) : str_code(&valid);
    if (code == ETHOS_OK)
        code = json_parse_most(str_view(&marked), 3 * WIRE_MAX_ANSWER, "event", out, error);
    str_release(&valid);
    str_release(&marked);
    return code;
}

static void read_event_object(struct reply *self, const json_t *event)
{
    const json_t *error = json_object_get(event, "error");
    if (json_is_object(error) || json_is_string(error))
        reply_fail_json(self, error);
    else if (view_eq_str(json_view(event, "object"), "error"))
        reply_fail_json(self, event);
    else
        self->wire->read_event(self, event);
}

/* One event, or the whole answer. What the end of the stream cut off is not read. */
static void read_event_text(struct reply *self, struct ethos_view text)
{
    struct ethos_error error = {0};
    json_t *event = NULL;
    if (reply_is_over(self))
        return;
    int code = parse_event(text, &event, &error);
    if (code == ETHOS_OK) {
        const json_t *object = json_is_array(event) ? json_array_get(event, 0) : event;
        if (json_is_object(object))
            read_event_object(self, object);
        else
            reply_fail(self, MODEL_PROTOCOL, "an event is not a JSON object");
    } else if (!self->is_cut) {
        reply_fail(self, MODEL_PROTOCOL, error.text);
    }
    json_decref(event);
}

static void read_data(void *arg, struct ethos_view data)
{
    struct reply *self = arg;
    if (!data.data)
        reply_fail(self, MODEL_PROTOCOL, "an event is too long");
    else if (view_eq_str(view_trim(data), "[DONE]"))
        reply_complete(self);
    else if (!view_blank(data))
        read_event_text(self, data);
}

static void read_json_lines(struct reply *self, struct ethos_view bytes)
{
    while (bytes.size > 0 && !reply_is_over(self)) {
        const char *end = memchr(bytes.data, '\n', bytes.size);
        size_t size = end ? (size_t)(end - bytes.data) : bytes.size;
        check_code(self, str_add(&self->line, view_of(bytes.data, size)));
        bytes = view_from(bytes, end ? size + 1 : size);
        if (!end)
            break;
        if (!view_blank(str_view(&self->line)))
            read_event_text(self, str_view(&self->line));
        str_clear(&self->line);
    }
}

/* What kind of answer it is shows in its first byte. */
static void find_input(struct reply *self, struct ethos_view *bytes)
{
    *bytes = view_trim_start(*bytes);
    if (bytes->size == 0)
        return;
    if (*bytes->data == '<')
        reply_fail(self, MODEL_PROTOCOL, "the server sent a page; check the base URL");
    bool is_document = *bytes->data == '{' || *bytes->data == '[';
    self->input = is_document && self->wire->framing == WIRE_EVENTS ? REPLY_INPUT_WHOLE
                                                                    : REPLY_INPUT_STREAM;
}

void reply_feed(struct reply *self, struct ethos_view bytes)
{
    if (self->input == REPLY_INPUT_UNKNOWN)
        find_input(self, &bytes);
    if (reply_is_over(self) || bytes.size == 0)
        return;
    if (self->input == REPLY_INPUT_WHOLE)
        check_code(self, str_add(&self->line, bytes));
    else if (self->wire->framing == WIRE_LINES)
        read_json_lines(self, bytes);
    else
        event_stream_feed(&self->events, bytes);
}

/* ---- its parts ----------------------------------------------------------------------------------- */

int reply_join(struct reply_text *text, struct ethos_view piece)
{
    return surrogates_join(&text->half, piece, &text->text);
}

static void show_reply_text(struct reply *self, enum model_event_kind kind, struct ethos_view text)
{
    struct model_event event = {.kind = kind, .text = text};
    self->shown_bytes += text.size;
    self->each(self->arg, &event);
}

void reply_add_text(struct reply *self, struct ethos_view piece)
{
    size_t before = self->text.text.size;
    if (self->has_failed || piece.size == 0)
        return;
    check_code(self, reply_join(&self->text, piece));
    struct ethos_view added = view_from(str_view(&self->text.text), before);
    if (added.size == 0)
        return;
    self->has_shown = true;
    show_reply_text(self, MODEL_TEXT, added);
}

void reply_add_thinking(struct reply *self, struct ethos_view piece)
{
    size_t before = self->thinking.text.size;
    if (self->has_failed || piece.size == 0)
        return;
    check_code(self, reply_join(&self->thinking, piece));
    struct ethos_view added = view_from(str_view(&self->thinking.text), before);
    if (added.size == 0)
        return;
    self->has_thought = true;
    show_reply_text(self, MODEL_THINKING, added);
}

void reply_add_field(struct reply *self, const char *name, struct ethos_view piece)
{
    struct reply_field *field = self->fields;
    struct reply_field *end = self->fields + self->field_count;
    while (field < end && strcmp(field->name, name) != 0)
        field++;
    if (field == end) {
        if (self->field_count == REPLY_MAX_FIELDS || strlen(name) >= sizeof field->name)
            return;
        snprintf(field->name, sizeof field->name, "%s", name);
        init_text(&field->value);
        self->field_count++;
    }
    check_code(self, reply_join(&field->value, piece));
}

void reply_set_member(struct reply *self, json_t *object, const char *name, json_t *value)
{
    if (!value || json_object_set(object, name, value) != 0)
        reply_fail_memory(self);
}

void reply_clear_fields(struct reply *self)
{
    for (size_t i = 0; i < self->field_count; i++)
        str_release(&self->fields[i].value.text);
    self->field_count = 0;
}

struct reply_call *reply_add_call(struct reply *self)
{
    struct reply_call *call = NULL;
    if (self->has_failed)
        return NULL;
    if (self->call_count == REPLY_MAX_CALLS) {
        reply_fail(self, MODEL_PROTOCOL, "too many calls");
        return NULL;
    }
    call = calloc(1, sizeof *call);
    if (!call) {
        reply_fail_memory(self);
        return NULL;
    }
    call->item = (unsigned)self->call_count;
    call->index = -1;
    str_init(&call->id, WIRE_MAX_ANSWER);
    str_init(&call->name, WIRE_MAX_ANSWER);
    init_text(&call->arguments);
    self->calls[self->call_count++] = call;
    return call;
}

static void show_call(struct reply *self, enum model_event_kind kind, const struct reply_call *call,
                      struct ethos_view text)
{
    struct model_event event = {.kind = kind,
                                .item = call->item,
                                .id = str_view(&call->id),
                                .name = str_view(&call->name),
                                .text = text};
    self->each(self->arg, &event);
}

/* Letters and digits; which ones is decided by the seed and the number of the call. */
static void make_call_id(const struct reply *self, struct reply_call *call)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    uint64_t value = self->settings->call_seed + call->item * 0x9E3779B97F4A7C15u;
    value = (value ^ (value >> 31)) * 0xD6E8FEB86659FD93u;
    for (size_t i = 0; i < MADE_ID_SIZE; i++, value /= 36)
        str_addc(&call->id, digits[value % 36]);
}

static bool has_call_id(const struct reply *self, struct ethos_view id)
{
    for (size_t i = 0; i < self->call_count; i++)
        if (view_eq(str_view(&self->calls[i]->id), id))
            return true;
    return false;
}

static void announce_call(struct reply *self, struct reply_call *call)
{
    if (call->id.size == 0)
        make_call_id(self, call);
    check_code(self, str_code(&call->id));
    check_code(self, str_code(&call->name));
    if (self->has_failed)
        return;
    call->has_begun = true;
    self->has_shown = true;
    show_call(self, MODEL_CALL_BEGIN, call, view_str(NULL));
    if (call->arguments.text.size > 0)
        show_call(self, MODEL_CALL_ARGUMENTS, call, str_view(&call->arguments.text));
}

void reply_name_call(struct reply *self, struct reply_call *call, struct ethos_view id,
                     struct ethos_view name)
{
    if (self->has_failed)
        return;
    if (id.size > 0 && call->id.size == 0 && !has_call_id(self, id))
        str_add(&call->id, id);
    if (name.size == 0)
        return;
    str_clear(&call->name);
    str_add(&call->name, name);
    if (!call->has_begun)
        announce_call(self, call);
}

void reply_add_arguments(struct reply *self, struct reply_call *call, struct ethos_view piece)
{
    size_t before = call->arguments.text.size;
    if (self->has_failed || piece.size == 0)
        return;
    check_code(self, reply_join(&call->arguments, piece));
    struct ethos_view added = view_from(str_view(&call->arguments.text), before);
    self->shown_bytes += added.size;
    if (call->has_begun && added.size > 0)
        show_call(self, MODEL_CALL_ARGUMENTS, call, added);
}

void reply_add_json_arguments(struct reply *self, struct reply_call *call, const json_t *arguments)
{
    struct str text;
    if (json_is_string(arguments))
        reply_add_arguments(self, call,
                            view_of(json_string_value(arguments), json_string_length(arguments)));
    if (!json_is_object(arguments))
        return;
    str_init(&text, WIRE_MAX_ANSWER);
    check_code(self, json_print(arguments, JSON_STYLE_LINE, &text));
    reply_add_arguments(self, call, str_view(&text));
    str_release(&text);
}

void reply_count(struct reply *self, const json_t *value, int64_t *out, unsigned known)
{
    int64_t count;
    if (!json_whole(value, &count) || count < 0)
        return;
    *out = count;
    self->usage.known |= known;
}

void reply_set_cost(struct reply *self, double usd)
{
    if (!(usd >= 0 && usd < MOST_USD))
        return;
    self->usage.nano_usd = (int64_t)(usd * 1e9 + 0.5);
    self->usage.known |= MODEL_KNOWS_COST;
}

void reply_show_status(struct reply *self, const char *text)
{
    const struct model_event event = {.kind = MODEL_STATUS, .text = view_str(text)};
    if (!self->has_failed)
        self->each(self->arg, &event);
}

void reply_set_stop(struct reply *self, enum model_stop stop)
{
    self->stop = stop;
    self->has_stop = true;
}

void reply_complete(struct reply *self)
{
    if (!self->has_failed)
        self->is_complete = true;
}

/* ---- the end ------------------------------------------------------------------------------------- */

bool reply_has_call(const struct reply *self, const struct reply_call *call)
{
    struct ethos_view arguments = str_view(&call->arguments.text);
    bool is_cut = self->stop == MODEL_STOP_LENGTH || self->stop == MODEL_STOP_WINDOW;
    if (!call->has_begun || self->stop == MODEL_STOP_REFUSED)
        return false;
    return !is_cut || wire_is_object(arguments);
}

void reply_end(struct reply *self, bool is_cut)
{
    if (self->has_ended)
        return;
    self->has_ended = true;
    self->is_cut = is_cut || self->input == REPLY_INPUT_STREAM;
    if (self->input == REPLY_INPUT_WHOLE || self->wire->framing == WIRE_LINES) {
        if (!view_blank(str_view(&self->line)))
            read_event_text(self, str_view(&self->line));
    } else if (!reply_is_over(self)) {
        event_stream_feed(&self->events, VIEW("\n\n"));
    }
}

bool reply_is_whole(const struct reply *self)
{
    return !self->has_failed && (self->is_complete || self->has_stop);
}

static void show_usage(struct reply *self)
{
    struct model_event event = {.kind = MODEL_USAGE, .usage = self->usage};
    if (self->usage.known != 0)
        self->each(self->arg, &event);
}

/* An answer that was cut short has no final usage. */
static void estimate_usage(struct reply *self)
{
    int64_t output = (int64_t)((self->shown_bytes + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN);
    if (self->usage.known == 0 && output == 0)
        return;
    if (self->usage.output < output)
        self->usage.output = output;
    self->usage.known |= MODEL_KNOWS_OUTPUT | MODEL_ESTIMATED;
}

static void show_failure(struct reply *self)
{
    struct model_event event = {.kind = MODEL_ERROR,
                                .error = self->failure.error,
                                .http = self->failure.http,
                                .retry_ms = self->failure.retry_ms,
                                .text = view_str(self->failure.text)};
    estimate_usage(self);
    show_usage(self);
    self->each(self->arg, &event);
}

static void write_raw(struct reply *self, struct str *out)
{
    wire_begin_echo(out, self->wire, self->settings);
    size_t empty = out->size;
    if (self->stop != MODEL_STOP_REFUSED)
        self->wire->write_echo(self, out);
    if (out->size == empty)
        str_clear(out);
    else
        str_adds(out, "}");
}

/* Calls decide: a server may say "stop" with them. */
static void set_final_stop(struct reply *self)
{
    bool has_calls = false;
    for (size_t i = 0; i < self->call_count; i++)
        has_calls |= reply_has_call(self, self->calls[i]);
    if (!self->has_stop || self->stop == MODEL_STOP_END || self->stop == MODEL_STOP_CALLS)
        self->stop = has_calls ? MODEL_STOP_CALLS : MODEL_STOP_END;
}

static void show_done(struct reply *self)
{
    struct str raw;
    set_final_stop(self);
    str_init(&raw, WIRE_MAX_REQUEST);
    write_raw(self, &raw);
    check_code(self, str_code(&raw));
    for (size_t i = 0; i < self->call_count && !self->has_failed; i++)
        if (!self->calls[i]->has_begun)
            reply_fail(self, MODEL_PROTOCOL, "a call has no name");
    if (self->has_failed) {
        show_failure(self);
    } else {
        struct model_event event = {.kind = MODEL_DONE, .stop = self->stop};
        for (size_t i = 0; i < self->call_count; i++)
            if (reply_has_call(self, self->calls[i]))
                show_call(self, MODEL_CALL_END, self->calls[i],
                          str_view(&self->calls[i]->arguments.text));
        event.raw = raw.size > 0 ? str_view(&raw) : view_str(NULL);
        show_usage(self);
        self->each(self->arg, &event);
    }
    str_release(&raw);
}

void reply_finish(struct reply *self, const struct failure *failure)
{
    reply_end(self, failure != NULL);
    if (reply_is_whole(self)) {
        show_done(self);
        return;
    }
    if (failure)
        self->failure = *failure;
    else
        reply_fail(self, MODEL_NETWORK, "it was closed before the answer was complete");
    show_failure(self);
}
