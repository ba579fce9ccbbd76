/*
 * personality_json.h: the members of a personality: a config.yaml on one side, JSON on the other.
 *
 *     {"id", "name", "description", "provider", "model", "toolset": [...], "capabilities": [...],
 *      "mcp_servers": [...], "plugins": [...], "streamingTimeoutMs", "fs_reach", ...}
 *
 * Most have no meaning here: other programs of the family use them, and they are kept. In the file an
 * object is a prefix (fs_reach.read: src, docs), and a list is separated by commas.
 */
#ifndef ETHOS_OPS_ADMIN_PERSONALITY_JSON_H
#define ETHOS_OPS_ADMIN_PERSONALITY_JSON_H

#include "base/arena.h"
#include "memory/home/config.h"
#include "ops/admin/config_edit.h"

/* The members that a file says, after those that every personality has. NULL without memory. */
json_t *personality_json(const char *id, const struct config *own);

/* Settings to write, in an arena. */
struct personality_changes {
    struct arena arena;
    struct settings_change *items;
    size_t count, capacity;
};

void personality_changes_init(struct personality_changes *changes);
void personality_changes_release(struct personality_changes *changes);

/* Adds one setting, NULL takes it out; strings are copied. ETHOS_OK or ETHOS_NOMEM. */
int personality_set(struct personality_changes *changes, const char *key, const char *value,
                    struct ethos_error *error);

/*
 * Adds what members (an object) say: null and "" clear one, an object replaces the one that is there,
 * what is left out stays. ETHOS_INVALID for unknown members, wrong types, and what a line cannot hold.
 */
int personality_read(const json_t *members, const struct config *own,
                     struct personality_changes *changes, struct ethos_error *error);

#endif
