/*
 * install.h: teaching other programs to use ethos, taking that back, and looking whether it works.
 *
 *     install.c        the rows, and what the others share
 *     install_git.c    the merge driver of a repository
 *     install_agent.c  an agent: what is to be done
 *     install_files.c  doing it: all files or none, and the record that makes the undo exact
 *     install_check.c  what is there, and whether the server answers
 */
#ifndef ETHOS_OPS_ADMIN_INSTALL_H
#define ETHOS_OPS_ADMIN_INSTALL_H

#include <ethos/provider.h>

#include "ops/op.h"

/* What runs this very program: "ethos" when PATH finds it, else its path. */
int install_program(struct str *out, struct ethos_error *error);

/* Whether PATH finds a program of this name. */
bool install_is_on_path(const char *name);

/* false: take it back. */
int install_git(struct op_call *call, bool install, struct op_result *result,
                struct ethos_error *error);
int install_agent(struct op_call *call, bool install, struct op_result *result,
                  struct ethos_error *error);

/* The agents, which of them are on this machine, and what they have of ours. */
int install_list(json_t **out_rows, struct ethos_error *error);

/*
 * For doctor: whether what was installed is still there, and with ask whether each agent's server starts
 * and lists its tools. Takes seconds at most, and makes nothing. home is its path. False: out of memory,
 * and not everything was looked at.
 */
bool install_check(const char *home, bool ask, ethos_finding_fn *found, void *arg);

#endif
