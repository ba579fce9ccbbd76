/*
 * operation_id.h: the record of one operation, for stores that remember operation ids
 * (ETHOS_STORE_ONCE).
 *
 * A record is one line of JSON, without its line end:
 *
 *     {"opId":ID,"ts":MS,"digest":HEX,"rows":[{"key":KEY,"revision":REV,"receipt":TEXT},...]}
 *
 * with one row for every edit of the update, also for those that changed nothing: the report of a
 * repeat is made from them alone. revision is "" where no text was left.
 */
#ifndef ETHOS_STORE_OPERATION_ID_H
#define ETHOS_STORE_OPERATION_ID_H

#include <stdbool.h>

#include <ethos/provider.h>

struct str;

/* Whether an update must be applied only once. */
bool opid_is_given(const struct ethos_origin *origin);

/* Makes the record of an update, whose edits are finished. */
int opid_make_record(const struct ethos_origin *origin, int64_t now_ms,
                     const struct ethos_edit *edits, size_t count, struct str *out,
                     struct ethos_error *error);

/*
 * Sets the edits from the record. ETHOS_NOTFOUND if it is not a record, or has another id;
 * ETHOS_DENIED if the id was used for another update.
 */
int opid_apply_record(struct ethos_view record, const struct ethos_origin *origin,
                      struct ethos_edit *edits, size_t count, struct ethos_error *error);

/*
 * Whether an update was refused because its id was used for another one; the message is part of the
 * contract.
 */
bool opid_is_used_error(const struct ethos_error *error);

/* When the operation was done, or -1 when this is no record. */
int64_t opid_record_time(struct ethos_view record);

#endif
