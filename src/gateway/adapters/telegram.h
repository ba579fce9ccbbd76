/*
 * telegram.h: bots of Telegram, by long polling. The wire: https://core.telegram.org/bots/api.
 */
#ifndef ETHOS_GATEWAY_TELEGRAM_H
#define ETHOS_GATEWAY_TELEGRAM_H

#include "gateway/adapters/adapter.h"

extern const struct channel_adapter_ops telegram_ops;

#endif
