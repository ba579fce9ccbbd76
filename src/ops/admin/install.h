/*
 * install.h: connects agents and other programs to ethos, undoes that, and checks that it works.
 *
 *     install.c        the operations, and what the other files share
 *     install_git.c    the merge driver of a repository
 *     install_agent.c  plans the changes of an agent's files
 *     install_files.c  writes all files or none, and the record for an exact undo
 *     install_check.c  what is installed, and whether the server answers
 */
#ifndef ETHOS_OPS_ADMIN_INSTALL_H
#define ETHOS_OPS_ADMIN_INSTALL_H

#include <ethos/provider.h>

#include "ops/op.h"

/* The command that runs this program: "ethos" if PATH finds it, else its path. */
int install_program(struct str *out, struct ethos_error *error);

/* Whether PATH finds a program of this name. */
bool install_is_on_path(const char *name);

/* Install, or (install false) uninstall. */
int install_git(struct op_call *call, bool install, struct op_result *result,
                struct ethos_error *error);
int install_agent(struct op_call *call, bool install, struct op_result *result,
                  struct ethos_error *error);

/* The known agents, whether they are on this machine, and what is installed in each. */
int install_list(json_t **out_rows, struct ethos_error *error);

/*
 * For doctor: reports entries that are no longer there and, with ask, servers that do not start or do not list their
 * tools. Takes some seconds and changes nothing. home is a path. False: out of memory, the check is incomplete.
 */
bool install_check(const char *home, bool ask, ethos_finding_fn *found, void *arg);

#endif
