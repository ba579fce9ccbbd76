/*
 * raw_client.h: a server of its own home, and requests as bytes: what a careful client would never send.
 */
#ifndef TESTS_HTTP_RAW_CLIENT_H
#define TESTS_HTTP_RAW_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct drive {
    char home[256];
    char program[512]; /* bin/ethos of this build */
    char token[65];    /* of the printed link */
    char cookie[65];   /* once drive_login was called */
    unsigned files;    /* descriptors that the programs may have; 0: as many as this one */
    unsigned port;     /* the same again after the first start */
    pid_t pid;         /* 0: it does not run */
};

/*
 * Starts a server, which ends with this process, too; args (NULL: none) are further words of its command line,
 * and end with NULL.
 */
void drive_start(struct drive *self, const char *const *args);

/* Ends it as a person would; its exit status. drive_end removes the home, too. */
int drive_stop(struct drive *self);
int drive_end(struct drive *self);
void drive_kill(struct drive *self); /* with -9 */

/* Exchanges the link for the cookie. */
void drive_login(struct drive *self);

/* The server of all tests of a program; and for cmocka, what starts it, with a login, and what ends it. */
extern struct drive drive;
int drive_group_start(void **state);
int drive_group_end(void **state);

/* Makes a key of these scopes, separated by blanks; origin may be NULL. */
void drive_key(struct drive *self, const char *scopes, const char *origin, char out[128]);

/* The same, of an agent. */
void drive_agent_key(struct drive *self, const char *scopes, char out[128]);

/* Runs the program; its output, cut to size. */
int drive_run(const struct drive *self, const char *const *args, char *out, size_t size);

struct reply {
    int status; /* 0: the connection ended instead */
    char head[16384];
    char *body; /* terminated; free it */
    size_t size;
};

int drive_connect(const struct drive *self); /* a socket */
void drive_send(int fd, const char *bytes, size_t size);
void drive_read(int fd, bool head_only, struct reply *out);
void raw_reply_release(struct reply *reply);

/* The value of a header, or NULL; valid until the next call. */
const char *reply_header(const struct reply *reply, const char *name);

/* One request on a connection of its own; the text is a format, %u is not the port: say so yourself. */
void drive_ask(const struct drive *self, struct reply *out, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, when only the status is wanted. */
int drive_status(const struct drive *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
