/*
 * answers.c: what a wire makes of a stream, however it is cut.
 */
#include "answers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/models/reply.h"
#include "base/utf8.h"
#include "base/view.h"

#define MOST (1u << 22)

static const char *const stops[] = {"end", "calls", "length", "window", "refused", "paused"};
static const char *const errors[] = {"auth",     "billing",  "rate",      "overloaded",
                                     "overflow", "request",  "not_found", "network",
                                     "timeout",  "protocol", "server",    "aborted"};

void event_log_init(struct event_log *self)
{
    *self = (struct event_log){.last = MODEL_START};
    str_init(&self->lines, MOST);
    str_init(&self->piece, MOST);
    str_init(&self->text, MOST);
}

void event_log_release(struct event_log *self)
{
    str_release(&self->lines);
    str_release(&self->piece);
    str_release(&self->text);
}

static void end_piece(struct event_log *self)
{
    if (self->piece.size > 0 && self->last == MODEL_TEXT)
        str_printf(&self->lines, "text %s\n", self->piece.data);
    else if (self->piece.size > 0 && self->last == MODEL_THINKING)
        str_printf(&self->lines, "thinking %s\n", self->piece.data);
    str_clear(&self->piece);
}

static void add_piece(struct event_log *self, const struct model_event *event)
{
    assert_true(event->text.size > 0);
    assert_true(utf8_valid(event->text));
    if (self->last != event->kind)
        end_piece(self);
    str_add(&self->piece, event->text);
    if (event->kind == MODEL_TEXT)
        str_add(&self->text, event->text);
}

static void add_call(struct event_log *self, const struct model_event *event, const char *word)
{
    str_printf(&self->lines, "%s %u %.*s %.*s", word, event->item, VIEW_ARG(event->id),
               VIEW_ARG(event->name));
    if (event->text.size > 0)
        str_printf(&self->lines, " %.*s", VIEW_ARG(event->text));
    str_adds(&self->lines, "\n");
}

static void add_end(struct event_log *self, const struct model_event *event)
{
    self->ends++;
    if (event->kind == MODEL_ERROR) {
        str_printf(&self->lines, "error %s %d %lld %.*s\n", errors[event->error], event->http,
                   (long long)event->retry_ms, VIEW_ARG(event->text));
        return;
    }
    str_printf(&self->lines, "done %s\n", stops[event->stop]);
    if (event->raw.data)
        str_printf(&self->lines, "raw %.*s\n", VIEW_ARG(event->raw));
}

void event_log_add(void *log, const struct model_event *event)
{
    struct event_log *self = log;
    const struct model_usage *usage = &event->usage;
    assert_int_equal(self->ends, 0);
    if (event->kind == MODEL_TEXT || event->kind == MODEL_THINKING)
        add_piece(self, event);
    else if (event->kind != MODEL_CALL_ARGUMENTS)
        end_piece(self);
    self->last = event->kind;
    if (event->kind == MODEL_START)
        str_adds(&self->lines, "start\n");
    else if (event->kind == MODEL_RESTART)
        str_adds(&self->lines, "restart\n");
    else if (event->kind == MODEL_STATUS)
        str_printf(&self->lines, "status %.*s\n", VIEW_ARG(event->text));
    else if (event->kind == MODEL_CALL_BEGIN)
        add_call(self, event, "begin");
    else if (event->kind == MODEL_CALL_END)
        add_call(self, event, "end");
    else if (event->kind == MODEL_USAGE)
        str_printf(&self->lines, "usage %lld/%lld/%lld/%lld/%lld %lld %u\n",
                   (long long)usage->input, (long long)usage->output, (long long)usage->cache_read,
                   (long long)usage->cache_write, (long long)usage->thinking,
                   (long long)usage->nano_usd, usage->known);
    else if (event->kind == MODEL_DONE || event->kind == MODEL_ERROR)
        add_end(self, event);
}

const char *event_log_text(struct event_log *self)
{
    end_piece(self);
    assert_int_equal(str_code(&self->lines), ETHOS_OK);
    return self->lines.data;
}

static void run(struct event_log *log, const struct wire *wire,
                const struct wire_settings *settings, struct ethos_view stream, size_t first,
                size_t step)
{
    struct reply reply;
    reply_init(&reply, wire, settings, event_log_add, log);
    reply_feed(&reply, view_of(stream.data, first));
    for (size_t at = first; at < stream.size; at += step)
        reply_feed(&reply,
                   view_of(stream.data + at, stream.size - at < step ? stream.size - at : step));
    reply_finish(&reply, NULL);
    reply_release(&reply);
}

static void assert_lines(struct event_log *log, const char *expected, size_t first)
{
    if (strcmp(event_log_text(log), expected) != 0)
        print_message("cut after %zu bytes\n", first);
    assert_string_equal(event_log_text(log), expected);
    assert_int_equal(log->ends, 1);
}

/* Cut off after so many bytes: one end, and no other text. */
static void assert_cut_off(const struct wire *wire, const struct wire_settings *settings,
                           struct ethos_view stream, size_t size, const struct str *text)
{
    struct event_log log;
    event_log_init(&log);
    run(&log, wire, settings, view_of(stream.data, size), size, 1);
    assert_int_equal(str_code(&log.text), ETHOS_OK);
    assert_int_equal(log.ends, 1);
    assert_true(view_starts(str_view(text), str_view(&log.text)));
    event_log_release(&log);
}

void assert_answer(const struct wire *wire, const struct wire_settings *settings,
                   struct ethos_view stream, const char *expected)
{
    struct event_log whole, log;
    event_log_init(&whole);
    run(&whole, wire, settings, stream, stream.size, 1);
    assert_lines(&whole, expected, stream.size);
    for (size_t first = 0; first < stream.size; first++) {
        event_log_init(&log);
        run(&log, wire, settings, stream, first, first > 0 ? stream.size : 1);
        assert_lines(&log, expected, first);
        event_log_release(&log);
        assert_cut_off(wire, settings, stream, first, &whole.text);
    }
    event_log_release(&whole);
}

void assert_request(const struct wire *wire, const struct wire_settings *settings,
                    const struct model_request *request, const char *expected)
{
    struct str body;
    str_init(&body, MOST);
    assert_int_equal(wire->write_request(settings, request, &body), ETHOS_OK);
    assert_true(wire_is_object(str_view(&body)));
    assert_string_equal(body.data, expected);
    str_release(&body);
}
