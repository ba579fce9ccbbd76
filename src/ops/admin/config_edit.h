/*
 * config_edit.h: changing a config.yaml, for the operations that do.
 */
#ifndef ETHOS_OPS_ADMIN_CONFIG_EDIT_H
#define ETHOS_OPS_ADMIN_CONFIG_EDIT_H

#include "ops/op.h"

struct settings_change {
    const char *key;
    const char *value; /* NULL: not set any more */
};

/*
 * Sets keys in <home>/<folder>/config.yaml under a lock, every other byte kept. In a dry run nothing is
 * written and the diff becomes the result's text (op_return_change). Refused while memory is ephemeral.
 */
int settings_write(struct op_call *call, const char *folder, const struct settings_change *changes,
                   size_t count, struct op_result *result, struct ethos_error *error);

#endif
