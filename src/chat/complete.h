/*
 * complete.h: what the word before the cursor can become: a command, what it is about, a file behind an @.
 */
#ifndef ETHOS_CHAT_COMPLETE_H
#define ETHOS_CHAT_COMPLETE_H

#include "base/str.h"
#include "chat/talk.h"

#define COMPLETE_MAX 1000 /* candidates */

struct completion {
    size_t begin;       /* of the word, in the text */
    json_t *candidates; /* strings, in order: the whole word; NULL: none */
    json_t *remarks;    /* strings beside them, or NULL */
    struct str common;  /* what all of them begin with */
};

/* What needs memory or sessions is completed only while the talk is idle. Release in any case. */
int complete_word(struct chat_talk *talk, bool idle, struct ethos_view text, size_t cursor,
                  struct completion *out);
void completion_release(struct completion *self);

#endif
