/*
 * events.h: changes of a home as JSON events, for surfaces that report them as they happen.
 *
 * Each type of event has a row, like an operation: its name and the right that is needed to receive it. op_allowed
 * checks that right.
 */
#ifndef ETHOS_OPS_MEMORY_EVENTS_H
#define ETHOS_OPS_MEMORY_EVENTS_H

#include "ops/op.h"

/* The types of events, as rows that cannot be run; ends with name NULL. docs/internals/http.md has their members. */
extern const struct op op_event_types[];

/* The types that a caller with these rights receives: one bit for each row. */
unsigned op_event_kinds(unsigned rights);

/* ETHOS_DENIED, naming the missing right, unless these rights open the stream of the home (or of a session). */
int op_event_check_allowed(bool session, unsigned rights, struct ethos_error *error);

#define OP_EVENT_LINE 200 /* at most this many bytes of a changed line in an event */

/* Callbacks. Arguments are valid during the call only; callbacks must not use the handle. */
struct op_event_to {
    /* An event of the home: the index of its row in op_event_types, and an object with the member "type". */
    void (*home)(void *arg, unsigned type, const json_t *json);
    /* Events were lost: everything may have changed. */
    void (*lost)(void *arg);
    /* An event of the stream of one session (id NULL: of all), with one of the fixed types of that stream. */
    void (*session)(void *arg, const char *id, const json_t *json);
    void *arg;
};

struct op_events;

/* Nobody else may use the handle meanwhile; the caller still closes it. */
int op_events_open(struct ethos *ethos, struct op_events **out, struct ethos_error *error);
void op_events_close(struct op_events *self);

/* As in memory/watch/watch.h. */
int op_events_fd(const struct op_events *self);
int op_events_wait_ms(const struct op_events *self);
/* Whether the backend of memory is on another machine. */
bool op_events_is_remote(const struct op_events *self);
int op_events_dispatch(struct op_events *self, const struct op_event_to *to,
                       struct ethos_error *error);

/* Whether something happened since the last call that may change the result of op_event_health. */
bool op_events_should_check_health(struct op_events *self);

/*
 * Runs admin.doctor, which may take seconds, and stores its findings in *last. Returns the event health.changed if they
 * differ from the previous ones; NULL if not, if *last was NULL (the first call), or if doctor failed.
 */
json_t *op_event_health(struct ethos *ethos, json_t **last, unsigned *out_type);

#endif
