/*
 * rules_file.h: <home>/approval.yaml, the rules that exempt writes of agents from waiting.
 */
#ifndef ETHOS_MEMORY_APPROVAL_RULES_FILE_H
#define ETHOS_MEMORY_APPROVAL_RULES_FILE_H

#include <ethos/ethos.h>

#include "core/approval/policy.h"

struct arena;

/* Reads the rules of a home (-1: there is none). An absent file has none; ETHOS_INVALID names what is wrong. */
int rules_file_read(int home, struct arena *arena, struct policy *out, struct ethos_error *error);

/*
 * Adds a rule as a last line; one that is there already is not added twice. The file is made where it is missing.
 * ETHOS_INVALID when the file as it is cannot be read.
 */
int rules_file_append(int home, const char *line, struct ethos_error *error);

#endif
