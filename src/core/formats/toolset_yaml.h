/*
 * toolset_yaml.h: reads and edits toolset.yaml and mcp.yaml, which other programs of the family store beside a
 * personality's config.yaml.
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
 * An edit changes only the lines concerned; comments, unknown members and everything else stay byte for byte. Lists and
 * objects in brackets can be read, too, but not edited: ETHOS_INVALID, unless nothing has to change. Pure.
 */
#ifndef ETHOS_CORE_FORMATS_TOOLSET_YAML_H
#define ETHOS_CORE_FORMATS_TOOLSET_YAML_H

#include <stdbool.h>

#include <ethos/types.h>

#include "base/json.h"

struct str;

/* The names in a toolset.yaml, in order. NULL when out of memory. */
json_t *toolset_read(struct ethos_view text);

/*
 * Appends the text with exactly these names (an array of texts): lines with other names are removed, missing names are
 * added at the end. If the order differs, the whole list is rewritten below the comments before it. ETHOS_INVALID for a
 * name that cannot be written.
 */
int toolset_edit(struct ethos_view text, const json_t *names, struct str *out,
                 struct ethos_error *error);

/* {"servers": {name: {"enabled", "tools": [...], "reject_args": {...}}}}, {} without servers. NULL when out of memory. */
json_t *mcp_policy_read(struct ethos_view text);

/* Appends the text with the tools of these servers set: {name: [tools]}; null removes the list of a server. */
int mcp_policy_edit(struct ethos_view text, const json_t *tools, struct str *out,
                    struct ethos_error *error);

#endif
