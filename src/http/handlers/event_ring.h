/*
 * event_ring.h: events in the order they happened, for many readers.
 *
 * A ring of frames behind one mutex. Readers at the same place are given the same piece of it, so a thousand
 * that keep up cost one copy; whoever falls behind by the whole ring is told so. Numbers begin with 1.
 */
#ifndef ETHOS_HTTP_HANDLERS_EVENT_RING_H
#define ETHOS_HTTP_HANDLERS_EVENT_RING_H

#include <stdbool.h>
#include <stdint.h>

#include <ethos/types.h>

#define HUB_EVENTS 8192   /* that a reader may be behind */
#define HUB_BYTES 4194304 /* of frames in all; the oldest go first */
#define HUB_BATCH 4096    /* bytes of frames that are read at a time, unless one is larger */
#define HUB_ALL (~0u)     /* every kind */

struct hub;
struct hub_batch; /* frames that were read; they outlive the hub */

/* At most this many events and bytes of frames (0: any); what is not needed is not allocated. */
int hub_new(size_t events, size_t bytes, struct hub **out, struct ethos_error *error);
void hub_free(struct hub *self);

/*
 * Adds an event; its frame is "id: <run>-<number>\ndata: <json>\n\n" (run "": the number alone). kind is a
 * bit that readers choose by; json has no line end. Without memory the number is used up and everyone
 * has missed it.
 */
int hub_add(struct hub *self, const char *run, unsigned kind, struct ethos_view json);

/* The number of the newest event; 0: none yet. */
uint64_t hub_head(struct hub *self);

/*
 * The next frames after *at, which moves behind them; those of other kinds are passed over. *out is NULL when
 * there are none, and else to be released. False: some after *at are gone, and *at is then just before the
 * oldest that is there; or there is no memory.
 */
bool hub_read(struct hub *self, uint64_t *at, unsigned kinds, struct hub_batch **out);

struct ethos_view hub_bytes(const struct hub_batch *batch);
void hub_release(struct hub_batch *batch); /* NULL is none */

/* The place from which on all events are there: at, or a later one. */
uint64_t hub_reach(struct hub *self, uint64_t at);

#endif
