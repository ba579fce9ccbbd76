/*
 * message.h: a message of a channel, whatever the platform.
 */
#ifndef ETHOS_CHANNEL_MESSAGE_H
#define ETHOS_CHANNEL_MESSAGE_H

#include <ethos/types.h>

#define CHANNEL_MAX_NAME 64     /* bytes with terminator: platform, adapter */
#define CHANNEL_MAX_ID 256      /* bytes with terminator: chat, thread, message, sender */
#define CHANNEL_MAX_TEXT 262144 /* bytes of one message; the rest of a longer one is cut */
#define CHANNEL_TURN_SIZE 36    /* "ch:", 32 hex digits, terminator */

/* Ids are opaque texts; everything is UTF-8. Borrowed for the length of a call. */
struct channel_message {
    const char *chat, *thread; /* thread "" or NULL: none */
    const char *space; /* what the chat is a part of, which may be listed in its place; or NULL */
    const char *msg;   /* unique in its chat */
    const char *sender, *name; /* sender is an identity, name is for reading alone */
    const char *text;
    const char *subject; /* where the platform has one; or NULL */
    int64_t time_ms;
    unsigned direct : 1;    /* nobody else is in the chat */
    unsigned addressed : 1; /* in a group: the bot is meant */
    unsigned edited : 1;    /* an earlier message has this text now */
    unsigned bot : 1;       /* a program wrote it */
    unsigned verified : 1;  /* the platform vouches for the sender */
    unsigned has_files : 1;
    unsigned begins : 1; /* a thread: its subject belongs to the text */
};

/*
 * The id of the turn that answers a message: trace id of its messages in the session, operation id of what it
 * remembers.
 */
void channel_turn_id(const char *platform, const char *bot, const char *chat, const char *msg,
                     char out[CHANNEL_TURN_SIZE]);

/* Of seconds since 1970 that a platform gives; 0 where no year has them. */
static inline int64_t channel_time_ms(int64_t seconds)
{
    return seconds > 0 && seconds < 253402300800 ? 1000 * seconds : 0;
}

#endif
