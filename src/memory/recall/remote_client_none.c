/*
 * remote_client_none.c: stub for programs without a client for remote models.
 */
#include "memory/recall/remote_meaning.h"

const struct remote_client *const remote_client_builtin = NULL;
