/*
 * open.c: opens channels.db for the operations channel.*, in programs with SQLite.
 */
#include "base/err.h"
#include "base/system/os.h"
#include "channel/database.h"
#include "memory/handle.h"
#include "ops/channels/channels.h"

static const struct channel_operations operations = {.owner = channel_owner_run,
                                                     .allow = channel_allow_run,
                                                     .remove = channel_remove_run,
                                                     .people = channel_people_run,
                                                     .status = channel_status_run,
                                                     .messages = channel_messages_run,
                                                     .resend = channel_resend_run};

const struct channel_operations *const channel_operations = &operations;

int channels_open(struct op_call *call, bool create, struct channel_db **out,
                  struct ethos_error *error)
{
    int home, code = service_open_home(call->ethos, create && !call->dry_run, &home, error);
    *out = NULL;
    if (code != ETHOS_OK)
        return code;
    if (home >= 0)
        os_close(home);
    code = channel_db_open(service_home(call->ethos), create && !call->dry_run, out, error);
    if (code == ETHOS_OK && call->dry_run)
        code = channel_db_begin(*out, error);
    if (code == ETHOS_NOTFOUND) {
        err_set(error, code, "no channel was ever used in %s", service_home(call->ethos));
        err_hint(error, code, "docs/channels.md has the first steps; then: ethos gateway");
    }
    return code;
}

int channels_open_to_list(struct op_call *call, struct channel_db **out, struct ethos_error *error)
{
    struct ethos_error own = {0};
    int code = channels_open(call, false, out, &own);
    if (code == ETHOS_NOTFOUND)
        return ETHOS_OK;
    if (code != ETHOS_OK && error)
        *error = own;
    return code;
}

void channels_close(const struct op_call *call, struct channel_db *db)
{
    if (db && call->dry_run)
        channel_db_end(db, ETHOS_CONFLICT, NULL); // rolls back
    channel_db_close(db);
}
