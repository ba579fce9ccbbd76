/*
 * doctor.h: parts of the operation admin.doctor.
 */
#ifndef ETHOS_OPS_ADMIN_DOCTOR_H
#define ETHOS_OPS_ADMIN_DOCTOR_H

#include <stdbool.h>

#include <ethos/provider.h>

/* Whether the repository that the home is in, if any, has or would take private files (doctor_git.c). */
void doctor_git(const char *home, bool fix, ethos_finding_fn *each, void *arg);

#endif
