/*
 * personality_json.h: converts the members of a personality between config.yaml and JSON.
 *
 *     {"id", "name", "description", "provider", "model", "toolset": [...], "capabilities": [...],
 *      "mcp_servers": [...], "plugins": [...], "streamingTimeoutMs", "fs_reach", ...}
 *
 * Most of them are used by other programs of the family and only stored here. In the file, an object is a prefix
 * (fs_reach.read: src, docs), and items of a list are separated by commas.
 */
#ifndef ETHOS_OPS_ADMIN_PERSONALITY_JSON_H
#define ETHOS_OPS_ADMIN_PERSONALITY_JSON_H

#include "base/arena.h"
#include "memory/home/config.h"
#include "ops/admin/config_edit.h"

/* The members that every personality has, then those that are set in the file. NULL when out of memory. */
json_t *personality_json(const char *id, const struct config *own);

/* Changes of settings, in an arena. */
struct personality_changes {
    struct arena arena;
    struct settings_change *items;
    size_t count, capacity;
};

void personality_changes_init(struct personality_changes *changes);
void personality_changes_release(struct personality_changes *changes);

/* Adds one change; the value NULL removes the setting. Strings are copied. ETHOS_OK or ETHOS_NOMEM. */
int personality_set(struct personality_changes *changes, const char *key, const char *value,
                    struct ethos_error *error);

/*
 * Adds the changes of `members`, an object: null and "" clear a setting, an object replaces the existing one, and
 * omitted members stay. ETHOS_INVALID for unknown members, wrong types, and values that do not fit on a line.
 */
int personality_read(const json_t *members, const struct config *own,
                     struct personality_changes *changes, struct ethos_error *error);

#endif
