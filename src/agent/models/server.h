/*
 * server.h: the server of a provider as the settings describe it, ready to be asked.
 */
#ifndef ETHOS_AGENT_MODELS_SERVER_H
#define ETHOS_AGENT_MODELS_SERVER_H

#include "agent/models/providers.h"
#include "agent/models/transport.h"
#include "agent/models/wire.h"
#include "base/arena.h"

/* It must stay where it is: the transport borrows from it. */
struct server {
    const struct provider *provider;
    const struct wire *wire;
    struct endpoint endpoint;
    struct arena arena; /* of the strings */
    const char *key;    /* or NULL */
    bool is_local;      /* the models run on this machine: they cost nothing */
    struct transport *transport;
};

/* Checks the settings; the server is not asked. Errors are those of model_open. To be closed in any case. */
int server_open(struct server *self, const struct model_settings *settings,
                struct ethos_error *error);
void server_close(struct server *self);

struct failure_context server_context(const struct server *self);

#endif
