/*
 * email.h: mail: IMAP for what arrives, SMTP for answers.
 */
#ifndef ETHOS_GATEWAY_EMAIL_H
#define ETHOS_GATEWAY_EMAIL_H

#include "gateway/adapters/adapter.h"

extern const struct channel_adapter_ops email_ops;

#endif
