/*
 * imap_response.c: what an IMAP server says.
 */
#include "gateway/adapters/imap_response.h"

#include "base/view.h"

#define KEEP_BYTES 65536 /* that were read before the buffer is moved */

void imap_reader_init(struct imap_reader *self)
{
    *self = (struct imap_reader){0};
    str_init(&self->buffer, IMAP_MAX_RESPONSE);
}

void imap_reader_release(struct imap_reader *self)
{
    str_release(&self->buffer);
}

/* What was given out makes room. */
static void drop_read(struct imap_reader *self)
{
    size_t rest = self->buffer.size - self->read;
    if (self->read == 0 || (rest > 0 && self->read < KEEP_BYTES))
        return;
    memmove(self->buffer.data, self->buffer.data + self->read, rest);
    str_truncate(&self->buffer, rest);
    self->seen -= self->read;
    self->read = 0;
}

int imap_reader_feed(struct imap_reader *self, struct ethos_view bytes)
{
    drop_read(self);
    return str_add(&self->buffer, bytes);
}

/* The size of the literal that a line announces at its end; false: none. */
static bool read_literal(struct ethos_view line, size_t *out)
{
    size_t at = line.size, number = 0;
    if (at == 0 || line.data[at - 1] != '}')
        return false;
    at--;
    if (at > 0 && line.data[at - 1] == '+')
        at--;
    size_t end = at;
    while (at > 0 && line.data[at - 1] >= '0' && line.data[at - 1] <= '9')
        at--;
    if (at == end || at == 0 || line.data[at - 1] != '{' || end - at > 10)
        return false;
    for (; at < end; at++)
        number = number * 10 + (size_t)(line.data[at] - '0');
    *out = number;
    return true;
}

bool imap_reader_next(struct imap_reader *self, struct ethos_view *out)
{
    const char *data = self->buffer.data;
    if (self->seen < self->read)
        self->seen = self->read;
    while (!self->is_lost && self->seen < self->buffer.size) {
        size_t literal, rest = self->buffer.size - self->seen;
        const char *end = memchr(data + self->seen, '\n', rest);
        if (!end)
            return false;
        struct ethos_view line = view_of(data + self->seen, (size_t)(end - data) - self->seen);
        size_t next = (size_t)(end - data) + 1;
        if (line.size > 0 && line.data[line.size - 1] == '\r')
            line.size--;
        if (!read_literal(line, &literal)) {
            *out = view_of(data + self->read, (size_t)(line.data + line.size - data) - self->read);
            self->read = self->seen = next;
            return true;
        }
        self->is_lost = literal > IMAP_MAX_LITERAL;
        if (self->is_lost || self->buffer.size - next < literal)
            return false; // the line is looked at again
        self->seen = next + literal;
    }
    return false;
}

/* ---- tokens ------------------------------------------------------------------------------------ */

static struct imap_token read_quoted(struct ethos_view *rest)
{
    size_t at = 1;
    while (at < rest->size && rest->data[at] != '"')
        at += rest->data[at] == '\\' && at + 1 < rest->size ? 2 : 1;
    size_t size = at < rest->size ? at : rest->size;
    struct imap_token token = {IMAP_STRING, view_of(rest->data + 1, size - 1)};
    *rest = view_from(*rest, at < rest->size ? at + 1 : rest->size);
    return token;
}

/* "{5}", CRLF, five bytes. False: it is not one. */
static bool read_literal_token(struct ethos_view *rest, struct imap_token *out)
{
    size_t size;
    const char *end = memchr(rest->data, '\n', rest->size);
    if (!end)
        return false;
    struct ethos_view line = view_of(rest->data, (size_t)(end - rest->data));
    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    struct ethos_view behind = view_from(*rest, (size_t)(end - rest->data) + 1);
    if (!read_literal(line, &size) || size > behind.size ||
        memchr(line.data + 1, '{', line.size - 1))
        return false;
    *out = (struct imap_token){IMAP_STRING, view_of(behind.data, size)};
    *rest = view_from(behind, size);
    return true;
}

static struct imap_token read_atom(struct ethos_view *rest)
{
    size_t at = 0, brackets = 0;
    for (; at < rest->size; at++) {
        char c = rest->data[at];
        brackets += c == '[';
        brackets -= c == ']' && brackets > 0;
        if (brackets == 0 && memchr(" ()\"\r\n", c, 6))
            break;
        if (c == ' ' && at > 0 && *rest->data == '[')
            break; // a response code is read token by token
    }
    struct imap_token token = {IMAP_ATOM, view_of(rest->data, at > 0 ? at : 1)};
    *rest = view_from(*rest, token.text.size);
    return token;
}

struct imap_token imap_token_next(struct ethos_view *rest)
{
    struct imap_token token = {IMAP_END, {"", 0}};
    while (rest->size > 0 && memchr(" \r\n", *rest->data, 3))
        *rest = view_from(*rest, 1);
    if (rest->size == 0)
        return token;
    if (*rest->data == '(' || *rest->data == ')') {
        token = (struct imap_token){*rest->data == '(' ? IMAP_OPEN : IMAP_CLOSE,
                                    view_of(rest->data, 1)};
        *rest = view_from(*rest, 1);
        return token;
    }
    if (*rest->data == '"')
        return read_quoted(rest);
    if (*rest->data == '{' && read_literal_token(rest, &token))
        return token;
    return read_atom(rest);
}

bool imap_is(struct imap_token token, const char *name)
{
    return token.kind == IMAP_ATOM && view_eq_nocase(token.text, view_str(name));
}

bool imap_number(struct ethos_view text, uint32_t *out)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || number > UINT32_MAX)
            return false;
        number = number * 10 + (uint64_t)(text.data[i] - '0');
    }
    *out = (uint32_t)number;
    return text.size > 0 && number <= UINT32_MAX;
}
