/*
 * postgres.h: a PostgreSQL server for tests, a pgbouncer before it, and stores over them.
 *
 * The server has a directory of its own, listens on a socket there and on a free port of the loopback, and
 * ends with the test that started it. Its owner is "owner", who needs no password; role "guarded" has one,
 * PG_SERVER_PASSWORD, and is let in by the port only. Started by root, it runs as somebody else.
 */
#ifndef TESTS_MODULES_POSTGRES_H
#define TESTS_MODULES_POSTGRES_H

#include <stdbool.h>
#include <sys/types.h>

#include <ethos/provider.h>

#include "../support/temp.h"

#define PG_SERVER_PASSWORD "correct-horse-7"

struct pg_server {
    struct temp temp;
    pid_t pid; /* 0: not running */
    unsigned port;
    char url[128];           /* by its socket */
    char port_url[128];      /* by its port */
    const char *options[12]; /* "name=value", ended by NULL */
    pid_t pooler;
    unsigned pooler_port;
};

/* Why there can be no server here, or no pooler; NULL: there can. */
const char *pg_server_missing(void);
const char *pg_pooler_missing(void);

/* Fills in everything but options, and waits until it answers. Ends the program when that fails. */
void pg_server_start(struct pg_server *self);
void pg_server_end(struct pg_server *self, int signal); /* SIGINT: in order; SIGQUIT: at once */
void pg_server_again(struct pg_server *self);           /* the same directory */
void pg_server_stop(struct pg_server *self);            /* and all it wrote */

/* What psql says to SQL as the owner, cut to size; out may be NULL. False when it fails. */
bool pg_server_say(const struct pg_server *self, const char *sql, char *out, size_t size);

/* The same for one number; ends the program when it is none. */
long pg_server_ask(const struct pg_server *self, const char *sql);

/* pgbouncer in transaction mode with two connections to the server. It ends with the server. */
void pg_pooler_start(struct pg_server *self);

/* The module that was built beside this test, and its store. */
const struct ethos_module *pg_module(void);
const struct ethos_store_ops *pg_ops(void);

/* Opens it; settings end with a name NULL. */
int pg_open_with(const struct ethos_host *host, const struct ethos_setting *settings,
                 uint32_t deadline_ms, struct ethos_store **out_store, struct ethos_error *error);

/* The whole store that the host makes of it, over a url. */
int pg_open_rows(const struct ethos_host *host, const char *url, uint32_t deadline_ms,
                 struct ethos_store **out_store, struct ethos_error *error);

#endif
