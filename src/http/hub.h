/*
 * hub.h: events in the order they happened, for many readers.
 *
 * A ring of frames, made once and sent to all: adding is one copy, reading is one copy under the same
 * mutex, whoever falls behind by the whole ring is told so. Numbers begin with 1.
 */
#ifndef ETHOS_HTTP_HUB_H
#define ETHOS_HTTP_HUB_H

#include <stdbool.h>
#include <stdint.h>

#include <ethos/types.h>

#include "base/str.h"

#define HUB_EVENTS 8192   /* that a reader may be behind */
#define HUB_BYTES 4194304 /* of frames in all; the oldest go first */

struct hub;

int hub_new(struct hub **out, struct ethos_error *error);
void hub_free(struct hub *self);

/* Adds an event; its frame is "id: <run>-<number>\ndata: <json>\n\n" (run "": the number alone). */
int hub_add(struct hub *self, const char *run, struct ethos_view json);

/* The number of the newest event; 0: none yet. */
uint64_t hub_head(struct hub *self);

/*
 * Appends the frames after *at, up to about max bytes, and moves *at behind them. False: some after *at
 * are gone; *at is then just before the oldest that is there.
 */
bool hub_read(struct hub *self, uint64_t *at, size_t max, struct str *out);

#endif
