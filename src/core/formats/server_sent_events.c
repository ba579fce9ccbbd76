/*
 * server_sent_events.c: parses server-sent events, for clients.
 */
#include "core/formats/server_sent_events.h"

#include "base/view.h"

void event_stream_init(struct event_stream *self, size_t limit, event_stream_fn *each, void *arg)
{
    *self = (struct event_stream){.each = each, .arg = arg};
    str_init(&self->line, limit);
    str_init(&self->data, limit);
}

void event_stream_release(struct event_stream *self)
{
    str_release(&self->line);
    str_release(&self->data);
}

static void forget_event(struct event_stream *self)
{
    str_clear(&self->data);
    self->has_data = self->too_long = false;
}

void event_stream_restart(struct event_stream *self)
{
    str_clear(&self->line);
    self->after_cr = false;
    forget_event(self);
}

/* The id is sent in a header of the next request, so control characters are refused. */
static void set_id(struct event_stream *self, struct ethos_view id)
{
    if (id.size >= sizeof self->id)
        return;
    for (size_t i = 0; i < id.size; i++)
        if ((unsigned char)id.data[i] < 0x20 || id.data[i] == 0x7f)
            return;
    memcpy(self->id, id.data, id.size);
    self->id[id.size] = 0;
}

static void end_event(struct event_stream *self)
{
    if (self->too_long)
        self->each(self->arg, view_str(NULL));
    else if (self->has_data)
        self->each(self->arg, str_view(&self->data));
    forget_event(self);
}

static void read_field(struct event_stream *self, struct ethos_view line)
{
    const char *colon = memchr(line.data, ':', line.size);
    size_t size = colon ? (size_t)(colon - line.data) : line.size;
    struct ethos_view name = view_of(line.data, size);
    struct ethos_view value = view_from(line, size + (colon ? 1 : 0));
    if (view_starts(value, VIEW(" ")))
        value = view_from(value, 1);
    if (view_eq_str(name, "id"))
        set_id(self, value);
    if (!view_eq_str(name, "data"))
        return;
    if (self->has_data)
        str_addc(&self->data, '\n');
    str_add(&self->data, value);
    self->has_data = true;
    self->too_long = self->too_long || str_code(&self->data) != ETHOS_OK;
}

static void finish_line(struct event_stream *self)
{
    if (str_code(&self->line) != ETHOS_OK)
        self->too_long = true;
    else if (self->line.size == 0)
        end_event(self);
    else
        read_field(self, str_view(&self->line));
    str_clear(&self->line);
}

void event_stream_feed(struct event_stream *self, struct ethos_view bytes)
{
    while (bytes.size > 0) {
        if (self->after_cr && *bytes.data == '\n')
            bytes = view_from(bytes, 1);
        self->after_cr = false;
        size_t size = 0;
        while (size < bytes.size && bytes.data[size] != '\n' && bytes.data[size] != '\r')
            size++;
        str_add(&self->line, view_of(bytes.data, size));
        if (size < bytes.size) {
            self->after_cr = bytes.data[size++] == '\r';
            finish_line(self);
        }
        bytes = view_from(bytes, size);
    }
}
