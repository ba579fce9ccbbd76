/*
 * workspace.h: which project folder this is, and the scope of its memory.
 */
#ifndef ETHOS_MEMORY_WORKSPACE_H
#define ETHOS_MEMORY_WORKSPACE_H

#include <ethos/limits.h>
#include <ethos/types.h>

struct str;

#define WORKSPACE_SLUG_MAX 32 /* bytes */

/*
 * The root whose memory is meant: `given` as it is, else the git top level of the current directory,
 * else that directory; resolved, and for a linked worktree the main work tree. Appends the path.
 */
int workspace_root(const char *given, struct str *out_path, struct ethos_error *error);

/*
 * The scope "workspace:<id>" for a root: aliases.json, else a directory of workspaces/ ending in the
 * path's hash, else <slug>-<hash12>. dir -1: no home yet. Makes nothing.
 */
int workspace_scope(int dir, const char *root, char out_scope[ETHOS_MAX_SCOPE],
                    struct ethos_error *error);

#endif
