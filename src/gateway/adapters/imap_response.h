/*
 * imap_response.h: what an IMAP server says, as it arrives: whole responses, and the tokens of one.
 *
 * A response is a line; a literal ("{12}" at the end of a line, then as many bytes) belongs to it, and the line goes
 * on behind it.
 */
#ifndef ETHOS_GATEWAY_IMAP_RESPONSE_H
#define ETHOS_GATEWAY_IMAP_RESPONSE_H

#include <stdbool.h>

#include "base/str.h"

#define IMAP_MAX_LITERAL 26214400  /* bytes: a mail */
#define IMAP_MAX_RESPONSE 33554432 /* bytes */

struct imap_reader {
    struct str buffer;
    size_t read;  /* of the buffer: responses that were given out */
    size_t seen;  /* of the buffer: the response at its head is looked at so far */
    bool is_lost; /* more than can be a response: the connection is to be closed */
};

void imap_reader_init(struct imap_reader *self);
void imap_reader_release(struct imap_reader *self);

/* ETHOS_LIMIT, ETHOS_NOMEM. Views that were given out end. */
int imap_reader_feed(struct imap_reader *self, struct ethos_view bytes);

/* The next response that is whole, without the end of its line. False: there is none, or is_lost. */
bool imap_reader_next(struct imap_reader *self, struct ethos_view *out);

enum imap_kind {
    IMAP_END,
    IMAP_ATOM,   /* also a number, a flag, "BODY[]" */
    IMAP_STRING, /* quoted (escapes stay) or a literal */
    IMAP_OPEN,   /* ( */
    IMAP_CLOSE   /* ) */
};

struct imap_token {
    enum imap_kind kind;
    struct ethos_view text;
};

/* Takes the next token off *rest. */
struct imap_token imap_token_next(struct ethos_view *rest);

/* Whether the token is an atom of this name, case ignored. */
bool imap_is(struct imap_token token, const char *name);

/* The number that an atom is; false: it is none, or larger than 2^32 - 1. */
bool imap_number(struct ethos_view text, uint32_t *out);

#endif
