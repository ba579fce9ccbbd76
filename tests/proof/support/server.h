/*
 * server.h: ethos serve as a proof sees it: a process, a port, a key, and one request at a time.
 */
#ifndef TESTS_PROOF_SUPPORT_SERVER_H
#define TESTS_PROOF_SUPPORT_SERVER_H

#include "proof.h"

struct server {
    pid_t pid;
    unsigned port;
    char key[128]; /* of a program that may read and write everything but settings */
};

/* Makes a key in the home; once, before the first start. */
void server_key(struct server *server, const struct home *home);

/* Starts it, on any free port, and waits until it listens. */
void server_start(struct server *server, const struct home *home);

/* Ends it with a signal; its exit status, or 128 + signal. */
int server_end(struct server *server, int signal);

/* A connection to it; -1 when there is none to be had. */
int server_connect(const struct server *server);

/*
 * POST with a JSON body on a connection that stays open. Returns the status, 0 when the connection broke;
 * with `out` given it is the body (free() it).
 */
unsigned server_post(const struct server *server, int fd, const char *path, const char *json,
                     char **out);

/* GET, in the same way; a file comes as its bytes. */
unsigned server_get(const struct server *server, int fd, const char *path, char **out,
                    size_t *out_size);

#endif
