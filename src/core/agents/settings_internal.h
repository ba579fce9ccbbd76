/*
 * settings_internal.h: shared by the files that implement agents.h: one pair of functions per file
 * format.
 */
#ifndef ETHOS_CORE_AGENTS_SETTINGS_INTERNAL_H
#define ETHOS_CORE_AGENTS_SETTINGS_INTERNAL_H

#include "core/agents/agents.h"

#define AGENT_SERVER "ethos" /* the name of our MCP server */

int agent_json_add(const struct agent_wiring *wiring, const struct agent_file *file, unsigned parts,
                   struct ethos_view text, struct ethos_view before, const char *what,
                   struct str *out, struct ethos_error *error);
int agent_json_remove(const struct agent_file *file, struct ethos_view text,
                      struct ethos_view before, const char *what, struct str *out,
                      struct ethos_error *error);
unsigned agent_json_parts(const struct agent *agent, struct ethos_view text);
/* parts: which of our parts belong in such a file. */
bool agent_json_touched(unsigned parts, struct ethos_view text);
json_t *agent_json_server(struct ethos_view text);
int agent_json_homes(const struct agent *agent, struct ethos_view text, json_t *list);

int agent_toml_add(const struct agent_wiring *wiring, struct ethos_view text,
                   struct ethos_view before, const char *what, struct str *out,
                   struct ethos_error *error);
int agent_toml_remove(struct ethos_view text, struct ethos_view before, const char *what,
                      struct str *out, struct ethos_error *error);
unsigned agent_toml_parts(struct ethos_view text);
bool agent_toml_touched(struct ethos_view text);
json_t *agent_toml_server(struct ethos_view text);
int agent_toml_homes(struct ethos_view text, json_t *list);

/* Adds a row to the result of agent_homes; home NULL: not named. Not 0: out of memory. */
int agent_tell_home(json_t *list, const char *home, bool made);

/*
 * Writes to out the text without the block, and without the line ends that block_put added to the
 * text before; absent: not known. ETHOS_INVALID as block_put.
 */
struct block_marks;
int agent_drop_block(struct ethos_view text, struct ethos_view before,
                     const struct block_marks *marks, struct str *out);

#endif
