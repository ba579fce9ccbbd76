/*
 * config_edit.h: changes settings in a config.yaml.
 */
#ifndef ETHOS_OPS_ADMIN_CONFIG_EDIT_H
#define ETHOS_OPS_ADMIN_CONFIG_EDIT_H

#include "ops/op.h"

struct settings_change {
    const char *key;
    const char *value; /* NULL: remove the setting */
};

/*
 * Changes settings in <home>/<folder>/config.yaml under a lock, leaving every other byte as it is. A dry run writes
 * nothing and returns the diff as the result's text (op_return_change). Refused in ephemeral memory.
 */
int settings_write(struct op_call *call, const char *folder, const struct settings_change *changes,
                   size_t count, struct op_result *result, struct ethos_error *error);

#endif
