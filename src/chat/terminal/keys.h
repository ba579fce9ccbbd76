/*
 * keys.h: bytes from a terminal as keys.
 *
 *     keys_init(&keys, over_ssh, each, arg);
 *     keys_feed(&keys, bytes, now_ms);      what was read, in pieces of any size
 *     keys_expire(&keys, now_ms);           no later than keys_wait says: a lone Esc becomes a key
 *
 * Pure: no input, no clock. A sequence that is unknown is dropped whole.
 */
#ifndef ETHOS_CHAT_KEYS_H
#define ETHOS_CHAT_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define KEYS_MAX_PASTE 1048576 /* bytes of one paste; the rest is dropped */
#define KEYS_MAX_SEQUENCE 32   /* bytes of a sequence that can be known; longer ones are dropped */
#define KEYS_ESCAPE_MS 100     /* of silence, and an Esc was pressed alone */
#define KEYS_ESCAPE_SSH_MS 250 /* the same over a network */
#define KEYS_SEQUENCE_MS 500   /* for the rest of a sequence, also behind an Esc that was a key */
#define KEYS_RETURN_MS 5       /* a carriage return with more bytes within that time is pasted */
#define KEYS_TYPED_MS 25       /* of silence before a lone carriage return, and it was typed */
#define KEYS_MAX_POSITION 100000 /* of a row or column in a reply */

enum key_kind {
    KEY_CHARACTER,  /* text: one character, valid UTF-8, no control character */
    KEY_ALT,        /* text: the character with Alt; DEL for Alt-Backspace */
    KEY_CTRL,       /* letter: 'A' to 'Z', '\\', ']', '^', '_' */
    KEY_ENTER,      /* send */
    KEY_LINE_BREAK, /* Alt-Enter, Ctrl-J, and the end of a line in a paste without markers */
    KEY_BACKSPACE,
    KEY_DELETE,
    KEY_TAB,
    KEY_ESCAPE,
    KEY_UP,
    KEY_DOWN,
    KEY_LEFT,
    KEY_RIGHT,
    KEY_HOME,
    KEY_END,
    KEY_PASTE,   /* text: valid UTF-8, lines end with LF */
    KEY_POSITION /* row, column: the reply to CSI 6n */
};

struct key {
    enum key_kind kind;
    struct ethos_view text; /* lives as long as the call */
    char letter;
    bool cut; /* of a paste, the end is missing: KEYS_MAX_PASTE, or out of memory */
    int row, column;
};

typedef void key_fn(void *arg, const struct key *key);

enum keys_state {
    KEYS_GROUND,
    KEYS_CHARACTER, /* in a character of several bytes */
    KEYS_RETURN,    /* behind a carriage return */
    KEYS_ESCAPE,    /* behind an ESC */
    KEYS_TAIL,      /* the ESC became a key; its sequence may still come */
    KEYS_CSI,       /* ESC [ */
    KEYS_SS3,       /* ESC O */
    KEYS_STRING,    /* ESC ] and others, up to BEL or ESC \ */
    KEYS_PASTE
};

struct keys {
    key_fn *each;
    void *arg;
    int escape_ms;
    enum keys_state state;
    int64_t now, deadline; /* of the state, where it has one */
    int64_t fed;           /* when bytes came last */
    bool alt;              /* of the character */
    bool silent;           /* the sequence's ESC was a key: only a paste counts */
    char held[KEYS_MAX_SEQUENCE];
    size_t size;    /* of held; one more than fits: the sequence is too long */
    size_t need;    /* bytes of the character */
    size_t matched; /* of the end of a paste */
    bool after_return;
    struct str paste;
};

void keys_init(struct keys *self, bool over_ssh, key_fn *each, void *arg);
void keys_release(struct keys *self);

/* Bytes that were read now; the time never falls. */
void keys_feed(struct keys *self, struct ethos_view bytes, int64_t now_ms);

/* Decides what only silence decides, if its time has come. */
void keys_expire(struct keys *self, int64_t now_ms);

/* Milliseconds until keys_expire has something to do; -1: nothing is undecided. */
int keys_wait(const struct keys *self, int64_t now_ms);

#endif
