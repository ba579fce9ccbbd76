/*
 * spread.h: what the parts of spread share.
 */
#ifndef TESTS_PROOF_SPREAD_H
#define TESTS_PROOF_SPREAD_H

#include "../modules/postgres.h"
#include "support/server.h"

/* Writes a config.yaml that names a provider and its url. */
void spread_configure(const char *path, const char *provider, const char *url);

/* spread_seen.c: what is changed through one server is seen through the others. */
void spread_seen(struct pg_server *database);

#endif
