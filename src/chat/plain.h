/*
 * plain.h: a conversation line by line.
 */
#ifndef ETHOS_CHAT_PLAIN_H
#define ETHOS_CHAT_PLAIN_H

#include "chat/talk.h"

/* The talk is open. */
int chat_plain(struct chat_talk *talk, struct ethos_error *error);

#endif
