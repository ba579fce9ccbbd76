/*
 * channels.h: the operations channel.* but channel.run, which is the gateway itself: they read and change channels.db,
 * whether a gateway runs or not.
 *
 * The rows are in every program (table.c). What they run is in those that have SQLite: the others define
 * channel_operations as NULL, and their rows are for libexec/ethos-db.
 */
#ifndef ETHOS_OPS_CHANNELS_CHANNELS_H
#define ETHOS_OPS_CHANNELS_CHANNELS_H

#include "ops/op.h"

struct channel_operations {
    op_fn *owner, *allow, *remove, *people, *status, *messages, *resend;
};

extern const struct channel_operations *const channel_operations;

op_fn channel_status_run; /* status.c */
op_fn channel_messages_run;
op_fn channel_resend_run;

op_fn channel_owner_run; /* people.c */
op_fn channel_allow_run;
op_fn channel_remove_run;
op_fn channel_people_run;

/* ---- open.c ------------------------------------------------------------------------------------ */

struct channel_db;

/*
 * The database of the home; of a dry run in a transaction that channels_close gives up. ETHOS_NOTFOUND when there is
 * none and create is false.
 */
int channels_open(struct op_call *call, bool create, struct channel_db **out,
                  struct ethos_error *error);
/* The same for a list: *out is NULL when there is none. */
int channels_open_to_list(struct op_call *call, struct channel_db **out, struct ethos_error *error);

void channels_close(const struct op_call *call, struct channel_db *db);

#endif
