/*
 * home.h: what the agent and its surfaces read of a home besides memory: where it is, and secrets.
 */
#ifndef ETHOS_AGENT_HOME_H
#define ETHOS_AGENT_HOME_H

#include <limits.h>
#include <stdbool.h>

#include <ethos/ethos.h>

#include "base/str.h"

#define KEYS_FILE "keys.yaml"
#define KEYS_MAX_KEY 4096   /* bytes of one secret */
#define KEYS_MAX_FILE 65536 /* bytes of keys.yaml and files like it */

/* The folder of the home; create makes it when it is missing. */
int agent_home(struct ethos *ethos, bool create, char out[PATH_MAX], struct ethos_error *error);

/* Appends a file of the home that nobody else may read. ETHOS_OK with nothing appended when there is none. */
int agent_read_private(struct ethos *ethos, const char *name, struct str *out,
                       struct ethos_error *error);

/* A secret by its name: from the environment, else from keys.yaml; "" when neither has it. The caller overwrites it. */
int agent_secret(struct ethos *ethos, const char *name, char out[KEYS_MAX_KEY + 1],
                 struct ethos_error *error);

#endif
