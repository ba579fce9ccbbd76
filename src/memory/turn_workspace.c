/*
 * turn_workspace.c: finds and records the workspace of a turn.
 */
#include <string.h>

#include "base/system/log.h"
#include "base/system/os.h"
#include "memory/handle_internal.h"

const struct workspace *service_workspace(const struct ethos_turn *turn)
{
    return turn->context.workspace_scope ? &turn->workspace : NULL;
}

void handle_touch(struct ethos_turn *turn, const char *scope)
{
    int dir;
    struct ethos_error error = {0};
    struct workspace *own = &turn->workspace;
    const char *wanted = turn->context.workspace_scope;
    if (!wanted || strcmp(scope_owner(scope), wanted) != 0 || own->recorded ||
        own->place.root.size == 0 || turn->ethos->ephemeral)
        return;
    own->recorded = true;
    int code = service_open_root(turn->ethos, true, &dir, &error);
    if (code == ETHOS_OK) {
        code = workspace_record(dir, &own->place, &own->found, own->marker,
                                service_now_ms(turn->ethos), &error);
        os_close(dir);
    }
    if (code != ETHOS_OK)
        log_line(turn->ethos->host, ETHOS_LOG_WARN, "%s", error.text);
}
