/*
 * live.h: a conversation in a terminal whose cursor can be moved: somebody types while the answer arrives.
 */
#ifndef ETHOS_CHAT_LIVE_H
#define ETHOS_CHAT_LIVE_H

#include "chat/talk.h"

/* The talk is open; standard input and output are the terminal. */
int chat_live(struct chat_talk *talk, struct ethos_error *error);

#endif
