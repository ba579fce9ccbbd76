/*
 * redis.h: a Redis server for tests, and stores over it.
 *
 * The server has a directory of its own, listens on a socket file there and on a free port of the
 * loopback, and syncs every change. It is killed with the test that started it.
 */
#ifndef TESTS_MODULES_REDIS_H
#define TESTS_MODULES_REDIS_H

#include <sys/types.h>

#include <ethos/provider.h>

#include "../support/temp.h"

struct redis_server {
    struct temp temp;
    pid_t pid; /* 0: not running */
    unsigned port;
    char socket[80];
    char url[88];            /* by its socket */
    const char *options[12]; /* words of its command line, ended by NULL */
};

/* Why there can be no server here; NULL: there can. */
const char *redis_server_missing(void);

unsigned redis_free_port(void);

/* Fills in everything but options, and waits until it answers. Ends the program when that fails. */
void redis_server_start(struct redis_server *self);
void redis_server_kill(struct redis_server *self);  /* -9 */
void redis_server_again(struct redis_server *self); /* after a kill: the same directory */
void redis_server_stop(struct redis_server *self);  /* and all it wrote */

/* A command in one line; the reply as the server wrote it, cut to size. */
void redis_server_say(const struct redis_server *self, const char *line, char *out, size_t size);

/* The store of the module that was built beside this test. */
const struct ethos_store_ops *redis_ops(void);

/* Opens it; settings end with a name NULL. */
int redis_open(const struct ethos_host *host, const struct ethos_setting *settings,
               uint32_t deadline_ms, struct ethos_store **out_store, struct ethos_error *error);

/* The whole store that the host makes of it, over a url. */
int redis_open_rows(const struct ethos_host *host, const char *url, uint32_t deadline_ms,
                    struct ethos_store **out_store, struct ethos_error *error);

#endif
