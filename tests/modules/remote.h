/*
 * remote.h: an `ethos serve` of its own home, and the module `remote` as a program loads it.
 */
#ifndef TESTS_MODULES_REMOTE_H
#define TESTS_MODULES_REMOTE_H

#include <ethos/provider.h>

#include "../http/raw_client.h"

#define REMOTE_KEY_SIZE 128

struct remote_server {
    struct drive drive;
    unsigned port; /* the same again after a restart */
    char key[REMOTE_KEY_SIZE];
};

/* Makes a home and starts; the key has the scope store. Ends with this process, too. */
void remote_server_start(struct remote_server *self);

/* With -9, and on the same home and port. */
void remote_server_kill(struct remote_server *self);
void remote_server_again(struct remote_server *self);

/* Ends it, and removes its home. */
void remote_server_stop(struct remote_server *self);

/* Runs the program on its home: words end with NULL. What it printed is the content of out. */
int remote_server_run(const struct remote_server *self, const char *const *words, char *out,
                      size_t size);

/* Makes a key with these scopes, separated by blanks. */
void remote_server_key(struct remote_server *self, const char *scopes, char out[REMOTE_KEY_SIZE]);

/* A proxy in front of it, whose address the server is told to answer to: it is started again for that. */
struct proxy *remote_server_proxy(struct remote_server *self);

/* The module's store table. */
const struct ethos_store_ops *remote_module(void);

/* Opens the module at a port of the loopback; key may be NULL: none is given. */
int remote_open_at(const struct ethos_host *host, unsigned port, const char *key,
                   uint32_t deadline_ms, struct ethos_store **out_store, struct ethos_error *error);

/* The same for any settings; they end with name NULL. */
int remote_open_with(const struct ethos_host *host, const struct ethos_setting *settings,
                     uint32_t deadline_ms, struct ethos_store **out_store,
                     struct ethos_error *error);

/* What opening it and a first call tell; it is closed again. */
int remote_try(const struct ethos_setting *settings, uint32_t deadline_ms,
               struct ethos_error *error);

#endif
