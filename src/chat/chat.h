/*
 * chat.h: talking to the agent in a terminal: the surfaces of the program ethos-agent.
 *
 *   ask.c      ethos ask: one turn
 *   models.c   ethos models: what the configured server offers
 *   setup.c    ethos setup: choosing a model
 *   chat.c     ethos chat: a conversation
 *
 * A conversation (docs/internals/chat.md):
 *
 *   talk.c       turns and commands, whatever shows them
 *   commands*.c  the commands
 *   attach.c     files that a message names
 *   plain.c      shows it line by line
 *   live.c       shows it in a terminal whose cursor can be moved
 *   program.c    editors and other programs that get the terminal
 */
#ifndef ETHOS_CHAT_CHAT_H
#define ETHOS_CHAT_CHAT_H

#include "ops/surface.h"

surface_fn chat_ask;
surface_fn chat_talk;
surface_fn chat_setup;
surface_fn chat_models;

#endif
