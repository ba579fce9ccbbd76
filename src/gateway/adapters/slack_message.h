/*
 * slack_message.h: what Slack delivers as a message of a channel; its texts; who signed a request.
 *
 * A message is known by its channel and ts: a mention arrives as app_mention and as message. In a channel every message
 * begins a thread, or belongs to one, and a thread is a conversation; in a direct chat it is one only where somebody
 * made it.
 */
#ifndef ETHOS_GATEWAY_SLACK_MESSAGE_H
#define ETHOS_GATEWAY_SLACK_MESSAGE_H

#include "base/json.h"
#include "base/str.h"
#include "channel/message.h"

#define SLACK_MAX_ID 64          /* bytes with terminator */
#define SLACK_SIGNED_SECONDS 300 /* for which a request is one of now */

/* The bot, as auth.test names it. */
struct slack_bot {
    char user[SLACK_MAX_ID], name[SLACK_MAX_ID], team[SLACK_MAX_ID];
};

/* message points into the rest, and its name is the sender's id. Release text. */
struct slack_message {
    char chat[SLACK_MAX_ID], thread[SLACK_MAX_ID], msg[SLACK_MAX_ID], user[SLACK_MAX_ID];
    char sender[2 * SLACK_MAX_ID];
    struct str text;
    struct channel_message message;
};

/*
 * The event of an event_callback of a team (""; that of the bot). False: nothing that anybody could answer; then
 * there is nothing to release.
 */
bool slack_message_read(const json_t *event, const char *team, const struct slack_bot *bot,
                        struct slack_message *out);

/* Appends a text with <@U1>, <#C1|name>, <https://...|label> and &amp; as people read them. Returns str_code. */
int slack_text_read(struct ethos_view text, const struct slack_bot *bot, struct str *out);

/* Appends a text that Slack shows as it is. Returns str_code. */
int slack_text_write(struct ethos_view text, struct str *out);

/* Whether Slack signed a request with this secret, within five minutes of now. Looks at nothing of the body. */
bool slack_is_signed(const char *secret, struct ethos_view timestamp, struct ethos_view signature,
                     struct ethos_view body, int64_t now_ms);

#endif
