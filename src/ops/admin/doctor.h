/*
 * doctor.h: the checks of admin.doctor that have a file of their own.
 */
#ifndef ETHOS_OPS_ADMIN_DOCTOR_H
#define ETHOS_OPS_ADMIN_DOCTOR_H

#include <stdbool.h>

#include <ethos/provider.h>

/* Reports private files that git tracks, or would add, if the home is in a repository (doctor_git.c). */
void doctor_git(const char *home, bool fix, ethos_finding_fn *each, void *arg);

#endif
