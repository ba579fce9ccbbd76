/*
 * remote_client_none.c: for programs without a client of models.
 */
#include "memory/recall/remote_meaning.h"

const struct remote_client *const remote_client_builtin = NULL;
