/*
 * watch.h: what changes in a home, as it is recorded, whoever changes it.
 *
 * The watcher looks where changes leave their mark: the history of every scope, the rows of sessions,
 * kept copies. A text that was edited outside is recorded first (settled), once nobody is writing it
 * any more, so it is told like any other change, with "external" as its way. Each recorded change is told
 * once, in the order of its scope's history, and not before readers see it; what was never the text
 * (taken back, or met beside the file) is not told.
 *
 * Where the kernel (inotify) or a backend tells of changes, nothing is asked for that did not change.
 * Elsewhere (a network, too few watches, texts behind symbolic links, a backend that tells nothing) it is
 * asked every WATCH_PERIOD_MS. A home that is not there yet is waited for, and so is a backend that does not
 * answer: what changed meanwhile is told when it is back.
 */
#ifndef ETHOS_MEMORY_WATCH_WATCH_H
#define ETHOS_MEMORY_WATCH_WATCH_H

#include <stdbool.h>

#include <ethos/ethos.h>

enum watch_kind {
    WATCH_MEMORY,   /* scope, key, change */
    WATCH_NOTE,     /* the same; the key is a note */
    WATCH_SESSION,  /* session, what, updated_at */
    WATCH_MESSAGE,  /* session, message, role: it was appended */
    WATCH_PENDING,  /* scope: what waits for a person there is other than it was */
    WATCH_CONFLICT, /* scope, key, count: copies that are kept now */
    WATCH_PERSONALITIES,
    WATCH_USERS,
    WATCH_CONFIG,
    WATCH_LOST, /* too much at once, or unseen: everything may have changed */
};

/*
 * change is as ethos_history tells it. A text that has no history, and gets none by an edit made outside, is
 * told with number 0 and before NULL.
 */
struct watch_event {
    enum watch_kind kind;
    const char *scope, *key;
    const struct ethos_change *change;
    const char *session; /* id */
    const char *what;    /* created, updated or deleted */
    const char *updated_at;
    const char *message, *role;
    uint64_t count;
};

/* Borrowed for the length of the call; it must not use the handle. */
typedef void watch_fn(void *arg, const struct watch_event *event);

struct memory_watch;

/* Begins with now: what is there already is not told. The handle is the watcher's alone. */
int watch_open(struct ethos *ethos, struct memory_watch **out, struct ethos_error *error);
void watch_close(struct memory_watch *self);

/*
 * The one descriptor to be polled for reading, whatever there is behind it: the kernel, and backends that tell
 * by themselves that something changed; -1: none. It may be another one after each call of watch_take.
 */
int watch_fd(const struct memory_watch *self);

/* After how long to call watch_take though the descriptor is quiet; -1: no need. */
#define WATCH_PERIOD_MS 2000
int watch_wait_ms(const struct memory_watch *self);

/* Whether some texts are not files below the root, so that to read one is to ask somebody else. */
bool watch_elsewhere(const struct memory_watch *self);

/*
 * Tells what happened since; quick when nothing did. A failure is that of one part; the others were told, and
 * that one is tried again later.
 */
int watch_poll(struct memory_watch *self, watch_fn *each, void *arg, struct ethos_error *error);

#endif
