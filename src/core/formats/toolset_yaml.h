/*
 * toolset_yaml.h: two files that other programs of the family keep beside a personality's config.yaml.
 *
 *     toolset.yaml    - read_file             mcp.yaml    servers:
 *                     - write_file                          linear:
 *                                                             enabled: false
 *                                                             tools:
 *                                                               - list_issues
 *                                                             reject_args:
 *                                                               save_issue:
 *                                                                 status:
 *                                                                   - Done
 *
 * An edit changes the lines that it is about; comments, members that nobody here knows and everything else stay
 * byte for byte. Lists and objects in brackets are read, too; but a file whose lines cannot be edited so is refused
 * (ETHOS_INVALID), unless it says what it should already. Pure.
 */
#ifndef ETHOS_CORE_FORMATS_TOOLSET_YAML_H
#define ETHOS_CORE_FORMATS_TOOLSET_YAML_H

#include <stdbool.h>

#include <ethos/types.h>

#include "base/json.h"

struct str;

/* The names in a toolset.yaml, in order. NULL without memory. */
json_t *toolset_read(struct ethos_view text);

/*
 * Appends the text with exactly these names (an array of texts): lines of other names go, names that are missing
 * are added at the end. In another order than the lines are in, the list is written anew below the comments
 * before it. ETHOS_INVALID for a name that the file cannot hold.
 */
int toolset_edit(struct ethos_view text, const json_t *names, struct str *out,
                 struct ethos_error *error);

/* {"servers": {name: {"enabled", "tools": [...], "reject_args": {...}}}}, {} when it names none. NULL without memory. */
json_t *mcp_policy_read(struct ethos_view text);

/* Appends the text with the tools of these servers set: {name: [tools]}; null takes the list of a server out. */
int mcp_policy_edit(struct ethos_view text, const json_t *tools, struct str *out,
                    struct ethos_error *error);

#endif
