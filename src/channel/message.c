/*
 * message.c: the id of the turn that answers a message.
 */
#include "channel/message.h"

#include <stdio.h>
#include <string.h>

#include "base/digest.h"

void channel_turn_id(const char *platform, const char *bot, const char *chat, const char *msg,
                     char out[CHANNEL_TURN_SIZE])
{
    const char *const parts[] = {platform, bot, chat, msg};
    char hash[HASH_HEX_SIZE];
    struct digest digest;
    digest_init(&digest);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (i > 0)
            digest_add(&digest, "", 1); // a NUL between them
        digest_add(&digest, parts[i], strlen(parts[i]));
    }
    digest_end(&digest, hash);
    snprintf(out, CHANNEL_TURN_SIZE, "ch:%.32s", hash);
}
