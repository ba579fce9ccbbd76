/*
 * slack.h: bots of Slack.
 */
#ifndef ETHOS_GATEWAY_SLACK_H
#define ETHOS_GATEWAY_SLACK_H

#include "gateway/adapters/adapter.h"

extern const struct channel_adapter_ops slack_ops;

#endif
