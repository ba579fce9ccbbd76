/*
 * discord_message.h: what Discord delivers as a message of a channel.
 *
 * Ids are snowflakes: numbers that grow with time, as texts. A thread is a channel of its own.
 */
#ifndef ETHOS_GATEWAY_DISCORD_MESSAGE_H
#define ETHOS_GATEWAY_DISCORD_MESSAGE_H

#include "base/json.h"
#include "base/str.h"
#include "channel/message.h"

#define DISCORD_MAX_ID 24 /* bytes with terminator */

struct discord_bot {
    char id[DISCORD_MAX_ID], name[CHANNEL_MAX_ID];
};

/* message points into the rest. Release text. */
struct discord_message {
    char chat[DISCORD_MAX_ID], guild[DISCORD_MAX_ID], msg[DISCORD_MAX_ID], sender[DISCORD_MAX_ID];
    char name[CHANNEL_MAX_ID];
    struct str text;
    struct channel_message message;
};

/*
 * A message object; edited: of MESSAGE_UPDATE. False: nothing that anybody could answer; then there is nothing to
 * release.
 */
bool discord_message_read(const json_t *json, bool edited, const struct discord_bot *bot,
                          struct discord_message *out);

/* The moment of an id in wall time, and the least id of a moment. */
int64_t discord_id_ms(const char *id);
void discord_id_at(int64_t ms, char out[DISCORD_MAX_ID]);

/* Whether a is later than b. */
bool discord_id_is_later(const char *a, const char *b);

#endif
