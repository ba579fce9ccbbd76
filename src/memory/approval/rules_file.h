/*
 * rules_file.h: <home>/approval.yaml, the rules that exempt writes of agents from approval.
 */
#ifndef ETHOS_MEMORY_APPROVAL_RULES_FILE_H
#define ETHOS_MEMORY_APPROVAL_RULES_FILE_H

#include <ethos/ethos.h>

#include "core/approval/policy.h"

struct arena;

/*
 * Reads the rules of a home (-1: no home). A missing file has none; ETHOS_INVALID names what is
 * wrong.
 */
int rules_file_read(int home, struct arena *arena, struct policy *out, struct ethos_error *error);

/*
 * Appends a rule unless it exists. The file is created if it is missing. ETHOS_INVALID if the file
 * cannot be parsed.
 */
int rules_file_append(int home, const char *line, struct ethos_error *error);

#endif
