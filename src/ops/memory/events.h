/*
 * events.h: what happens in a home, as JSON: for surfaces that tell of it while it happens.
 *
 * One row per type, as for operations: its name and the right that is needed to be told. op_allowed
 * decides, here as elsewhere.
 */
#ifndef ETHOS_OPS_MEMORY_EVENTS_H
#define ETHOS_OPS_MEMORY_EVENTS_H

#include "ops/op.h"

/* The types of events, as rows that cannot be run; ends with name NULL. docs/internals/http.md has their members. */
extern const struct op op_event_types[];

/* The types that somebody with these rights is told of: a bit for each row. */
unsigned op_event_kinds(unsigned rights);

/* ETHOS_DENIED, naming the right, unless the stream of the home, or of a session, is open to these rights. */
int op_event_check_allowed(bool session, unsigned rights, struct ethos_error *error);

#define OP_EVENT_LINE 200 /* bytes at most of a changed line in an event */

/* Whom to tell. All is borrowed for the length of the call; the handle must not be used. */
struct op_event_to {
    /* An event of the home: its type's place among the rows, and an object with "type" as a member. */
    void (*home)(void *arg, unsigned type, const json_t *json);
    /* Too much at once: everything may have changed. */
    void (*lost)(void *arg);
    /* An event of the stream of a session, in the closed set of types of the wire; id NULL: of all. */
    void (*session)(void *arg, const char *id, const json_t *json);
    void *arg;
};

struct op_events;

/* The handle is the follower's alone, and stays the caller's. */
int op_events_open(struct ethos *ethos, struct op_events **out, struct ethos_error *error);
void op_events_close(struct op_events *self);

/* As in memory/watch/watch.h. */
int op_events_fd(const struct op_events *self);
int op_events_wait_ms(const struct op_events *self);
/* Whether reading memory may mean to ask another machine. */
bool op_events_is_remote(const struct op_events *self);
int op_events_dispatch(struct op_events *self, const struct op_event_to *to,
                       struct ethos_error *error);

/* Whether anything happened since the last call on which the health of the home depends. */
bool op_events_should_check_health(struct op_events *self);

/*
 * Looks at everything, which may take seconds. The event health.changed, if what is found is not what *last has,
 * which then has it; NULL else, at the first look (*last is NULL), and when nothing can be told.
 */
json_t *op_event_health(struct ethos *ethos, json_t **last, unsigned *out_type);

#endif
