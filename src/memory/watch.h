/*
 * watch.h: what changes in a home, as it is recorded, whoever changes it.
 *
 * The watcher looks where changes leave their mark: the history of every scope, the rows of sessions,
 * kept copies. A text that was edited outside is recorded first (settled), so it is told like any other
 * change, with "outside" as its way. Each recorded change is told once, in the order of its scope's history.
 */
#ifndef ETHOS_MEMORY_WATCH_H
#define ETHOS_MEMORY_WATCH_H

#include <ethos/ethos.h>

enum watch_kind {
    WATCH_MEMORY,   /* scope, key, change */
    WATCH_NOTE,     /* the same; the key is a note */
    WATCH_SESSION,  /* session */
    WATCH_CONFLICT, /* scope, key, count */
    WATCH_PERSONALITIES,
    WATCH_USERS,
    WATCH_CONFIG,
    WATCH_LOST, /* too much at once: everything may have changed */
};

struct watch_event {
    enum watch_kind kind;
    const char *scope, *key;
    const struct ethos_change *change; /* as ethos_history tells it */
    const char *session;               /* id */
    const char *what;                  /* created, updated or deleted */
    const char *updated_at;
    uint64_t count;
};

/* Borrowed for the length of the call; it must not use the handle. */
typedef void watch_fn(void *arg, const struct watch_event *event);

struct watch;

/* Begins with now: what is there already is not told. The handle is the watcher's alone. */
int watch_open(struct ethos *ethos, struct watch **out, struct ethos_error *error);
void watch_close(struct watch *self);

/* To be polled for reading; without file events the caller also asks every WATCH_PERIOD_MS. */
#define WATCH_PERIOD_MS 2000
int watch_fd(const struct watch *self);

/* Tells what happened since; quick when nothing did. */
int watch_take(struct watch *self, watch_fn *each, void *arg, struct ethos_error *error);

#endif
