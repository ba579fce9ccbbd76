/*
 * framing.c: bytes to messages.
 *
 * A message is a line. One that is longer than allowed is passed over to its end and answered once.
 * Before a request is run, and again before its answer is sent, the input that has come meanwhile is
 * searched for its cancellation; each byte is searched once.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/view.h"
#include "mcp/internal.h"

#define INPUT_CEILING (8 * (size_t)MCP_MAX_LINE) /* bytes waiting to be handled */

/* ---- cancellations --------------------------------------------------------------------------- */

static void note_cancellation(struct mcp_stream *self, const json_t *message, size_t end)
{
    json_t *id = json_object_get(json_object_get(message, "params"), "requestId");
    if (!view_eq_str(json_view(message, "method"), "notifications/cancelled") ||
        (!json_is_string(id) && !json_is_integer(id)) || self->cancelled_count == MCP_MAX_CANCELLED)
        return;
    self->cancelled[self->cancelled_count].id = json_incref(id);
    self->cancelled[self->cancelled_count++].end = end;
}

/* Only a line with the word is worth parsing; what is wrong with it is told when it is its turn. */
static void note_cancelled_line(struct mcp_stream *self, struct ethos_view line, size_t end)
{
    json_t *message, *item;
    size_t index;
    if (line.size > MCP_MAX_LINE || !view_contains(line, VIEW("cancelled")) ||
        json_parse_wide(line, "message", &message, NULL) != ETHOS_OK)
        return;
    note_cancellation(self, message, end);
    json_array_foreach (message, index, item)
        note_cancellation(self, item, end);
    json_decref(message);
}

static void look_ahead(struct mcp_stream *self)
{
    const char *data = self->in.data, *newline;
    if (self->looked < self->at)
        self->looked = self->at;
    while ((newline = memchr(data + self->looked, '\n', self->in.size - self->looked))) {
        size_t end = (size_t)(newline - data) + 1;
        note_cancelled_line(self, view_of(data + self->looked, end - 1 - self->looked), end);
        self->looked = end;
    }
}

/* Those whose message has had its turn: the id may be used again. */
static void forget_passed(struct mcp_stream *self)
{
    size_t kept = 0;
    for (size_t i = 0; i < self->cancelled_count; i++) {
        if (self->cancelled[i].end > self->at)
            self->cancelled[kept++] = self->cancelled[i];
        else
            json_decref(self->cancelled[i].id);
    }
    self->cancelled_count = kept;
}

static bool is_id_cancelled(void *arg, const json_t *id)
{
    struct mcp_stream *self = arg;
    if (self->more)
        self->more(self->more_arg);
    look_ahead(self);
    for (size_t i = 0; i < self->cancelled_count; i++)
        if (json_equal(self->cancelled[i].id, id))
            return true;
    return false;
}

/* ---- lines ----------------------------------------------------------------------------------- */

void mcp_stream_init(struct mcp_stream *self, const struct mcp *mcp)
{
    *self = (struct mcp_stream){
        .session = {.mcp = mcp, .cancelled = is_id_cancelled, .cancelled_arg = self}};
    self->session.kept = mcp->holds ? mcp_answer_cache_new() : NULL;
    self->session.forms = mcp->holds ? mcp_forms_new() : NULL;
    self->session.rooms = self->rooms;
    str_init(&self->rooms[0], MCP_MAX_REPLY);
    str_init(&self->rooms[1], MCP_MAX_REPLY);
    str_init(&self->in, INPUT_CEILING);
}

void mcp_stream_release(struct mcp_stream *self)
{
    self->at = SIZE_MAX;
    forget_passed(self);
    mcp_answer_cache_free(self->session.kept);
    mcp_forms_free(self->session.forms);
    str_release(&self->rooms[0]);
    str_release(&self->rooms[1]);
    str_release(&self->in);
}

/* Gives the room of what was handled back. */
static void compact(struct mcp_stream *self)
{
    size_t gone = self->at, left = self->in.size - gone;
    memmove(self->in.data, self->in.data + gone, left);
    str_truncate(&self->in, left);
    self->at = 0;
    self->looked = self->looked > gone ? self->looked - gone : 0;
    self->early = self->early > gone ? self->early - gone : 0;
    for (size_t i = 0; i < self->cancelled_count; i++)
        self->cancelled[i].end -= gone;
}

int mcp_stream_add(struct mcp_stream *self, struct ethos_view bytes)
{
    if (self->at > 0 && (self->at == self->in.size || self->at > MCP_MAX_LINE))
        compact(self);
    return str_add(&self->in, bytes);
}

void mcp_stream_early(struct mcp_stream *self, struct str *out)
{
    const char *newline;
    if (self->early < self->at)
        self->early = self->at;
    while ((newline = memchr(self->in.data + self->early, '\n', self->in.size - self->early))) {
        size_t begin = self->early, size = (size_t)(newline - self->in.data) - begin;
        self->early = begin + size + 1;
        if (size <= MCP_MAX_LINE &&
            mcp_message_early(&self->session, view_of(self->in.data + begin, size), out))
            memset(self->in.data + begin, ' ', size); // a blank line is no message
    }
}

/* The rest of a line that is too long; true when its end has come. */
static bool skip_long_line(struct mcp_stream *self, const char *newline, bool at_end,
                           struct str *out)
{
    self->at = newline ? (size_t)(newline - self->in.data) + 1 : self->in.size;
    self->skipping = !newline && !at_end;
    if (newline || at_end)
        mcp_too_long(out);
    return !self->skipping;
}

bool mcp_stream_next(struct mcp_stream *self, bool at_end, struct str *out)
{
    forget_passed(self);
    struct ethos_view rest = view_from(str_view(&self->in), self->at);
    const char *newline = rest.size ? memchr(rest.data, '\n', rest.size) : NULL;
    size_t size = newline ? (size_t)(newline - rest.data) : rest.size;
    if (self->skipping || size > MCP_MAX_LINE)
        return (rest.size > 0 || at_end) && skip_long_line(self, newline, at_end, out);
    if (!newline && (!at_end || rest.size == 0))
        return false;
    self->begin = self->at;
    self->at += size + (newline != NULL);
    mcp_message(&self->session, view_of(rest.data, size), out); // may move the input, once parsed
    return true;
}
