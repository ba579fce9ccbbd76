/*
 * channels.h: the operations channel.* except channel.run, which is the gateway itself. They read and change channels.db,
 * whether a gateway is running or not.
 *
 * Every program has the rows (table.c), but only programs with SQLite have the functions. The others define
 * channel_operations as NULL and leave these operations to libexec/ethos-db.
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
 * Opens the database of the home; in a dry run, in a transaction that channels_close rolls back. ETHOS_NOTFOUND if there
 * is none and create is false.
 */
int channels_open(struct op_call *call, bool create, struct channel_db **out,
                  struct ethos_error *error);
/* The same for a list: if there is no database, *out is NULL. */
int channels_open_to_list(struct op_call *call, struct channel_db **out, struct ethos_error *error);

void channels_close(const struct op_call *call, struct channel_db *db);

#endif
