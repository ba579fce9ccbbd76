/*
 * discord.h: bots of Discord.
 */
#ifndef ETHOS_GATEWAY_DISCORD_H
#define ETHOS_GATEWAY_DISCORD_H

#include "gateway/adapters/adapter.h"

extern const struct channel_adapter_ops discord_ops;

#endif
