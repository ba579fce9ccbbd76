/*
 * sessions.h: what the parts of the proof of sessions share: the store as one process has it.
 */
#ifndef TESTS_PROOF_SESSIONS_H
#define TESTS_PROOF_SESSIONS_H

#include <ethos/session.h>

#include "support/database.h"

struct ethos;

struct store {
    struct ethos *ethos;
    struct ethos_sessions *sessions;
    const struct ethos_sessions_ops *ops;
    struct ethos_error error;
};

/* Only in children: what SQLite knows of a process must not be carried over a fork. */
void store_open(struct store *store, const struct home *home);
void store_close(struct store *store);

/* False and store->error when it was refused. */
bool store_create(struct store *store, const char *id);
bool store_append(struct store *store, const char *id, const char *text);

/* The texts that fit, each ended by "|", or "(error)". */
#define FOUND_SIZE 4096
void store_search(struct store *store, const char *typed, char out[FOUND_SIZE]);

/* A child: makes the session "shared", and so the database of the home it is given. */
int create_shared(void *arg);

void prove_killed(void);
void prove_pages(void);

#endif
