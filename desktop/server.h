/*
 * server.h: the server of the home: the one that runs, else one of our own, which ends with us.
 *
 * Ours is `ethos serve --until-eof`: however this program ends, its standard input does, too.
 */
#ifndef DESKTOP_SERVER_H
#define DESKTOP_SERVER_H

#include <gio/gio.h>

struct server;

/* link: signs a browser in, NULL when there is no server; then problem says why. */
typedef void server_fn(void *arg, const char *link, const char *problem);

/* home NULL: the usual one. ready is called after each server_find; gone, when a server of our own ended by itself. */
struct server *server_new(const char *home, server_fn *ready, void (*gone)(void *arg), void *arg);
void server_free(struct server *self);

/* Finds a server, or starts one. */
void server_find(struct server *self);

#endif
