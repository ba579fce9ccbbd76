/*
 * internal.h: what the parts of the watcher share. Private to memory/watch/.
 *
 *   watch.c             the order of a look: what was marked is told
 *   directories.c       which directories there are, and what an event in one of them marks
 *   recorded_changes.c  what was recorded since, from the end of a history
 *   external_edits.c    texts that somebody touched: settled, when it was not us
 *   conflict_copies.c   kept copies, counted
 *   remote_backends.c   backends whose texts are not here, and what they tell of
 */
#ifndef ETHOS_MEMORY_WATCH_INTERNAL_H
#define ETHOS_MEMORY_WATCH_INTERNAL_H

#include "core/memory/scope.h"
#include "memory/handle_internal.h"
#include "memory/watch/watch.h"

#define WATCH_PATH_SIZE 512 /* below the root */
#define WATCH_BUCKETS 256

struct watch_copies {
    char key[ETHOS_MAX_KEY + 1];
    uint64_t count;
};

/* A scope with a directory, or of a backend. Times are os_monotonic_ms; 0: not set. */
struct watched {
    struct watched *next;
    char scope[ETHOS_MAX_SCOPE];
    char *dir;                   /* below the root; "." is the root; NULL: none */
    struct ethos_provider *from; /* the backend; NULL: it has a directory */
    bool gone;                   /* freed at the next call */
    bool elsewhere;              /* its texts are not in its directory: a backend reports them */
    bool polled;                 /* changes of its texts may be missed */
    bool known;                  /* of a backend: existing changes are not news */
    bool dirty;                  /* there may be new lines */
    bool recount;                /* conflict copies may have changed */
    bool asks;                   /* the approval queue may have changed */
    uint64_t queue_print;        /* of the queue, when its directory was scanned */
    int64_t due_ms;              /* check again, though nothing is marked */
    int64_t pending_ms;          /* since when its newest change is incomplete */
    /* What is known of its history. */
    uint64_t inode, place; /* the live file, and how far it was read */
    uint64_t number;       /* of the newest change */
    int64_t time_ms;       /* likewise */
    int64_t since_ms;      /* older ones existed before */
    struct watch_copies *copies;
    size_t copy_count;
    uint64_t print; /* of the list of its texts, while polled */
};

/* A text that may have been edited. */
struct touched {
    struct touched *next;
    struct watched *scope;
    int64_t due_ms;
    unsigned tries;
    char revision[ETHOS_REVISION_SIZE]; /* revision in the history; "": unknown */
    char key[ETHOS_MAX_KEY + 1];
};

/* A remote backend, owned by the handle. */
struct remote_backend {
    struct remote_backend *next;
    struct ethos_provider *provider;
    struct watched **scopes; /* by name */
    size_t count, capacity;
    bool serves;               /* still configured */
    bool met;                  /* its existing changes are known, and others are news */
    bool any;                  /* every scope may have changed, and there may be new ones */
    bool marked;               /* some scope is marked */
    bool personalities, users; /* new personalities or users */
    int fd;                    /* becomes readable at changes; -1: none */
    int64_t due_ms;            /* when to ask again; 0: when fd is readable */
    int64_t retry_ms;          /* after a failure: not used before */
};

enum place_kind {
    PLACE_ABOVE,     /* parent of the missing root */
    PLACE_HOME,      /* the configuration, if it is not in the root */
    PLACE_ROOT,      /* also the scope global */
    PLACE_FOLDER,    /* personalities, users, teams, workspaces */
    PLACE_ID,        /* a team or workspace, whose memory is a folder in it */
    PLACE_SCOPE,     /* the directory of a scope */
    PLACE_BRANCH,    /* below a tree */
    PLACE_MEM,       /* .mem: the folder of conflict copies may appear */
    PLACE_CONFLICTS, /* that folder */
};

/* A directory that is watched. */
struct watch_place {
    int watch;
    enum place_kind kind;
    enum scope_kind of;
    struct watched *scope; /* or NULL */
    char *path;            /* below the root; PLACE_ABOVE: the name to wait for */
};

struct memory_watch {
    struct ethos *ethos;
    int events;        /* inotify, or -1 */
    int several;       /* epoll of those and the descriptors of backends; -1: no backends */
    int root;          /* descriptor, -1 while it does not exist */
    char *real;        /* the root's real path, while it exists */
    bool blind;        /* some directories cannot be watched: everything is polled */
    bool begun;        /* the first scan is done: everything new is reported */
    int64_t opened_ms; /* wall time of the handle */
    int64_t poll_ms;   /* when polled scopes were last checked */
    struct watch_place *places; /* by watch */
    size_t place_count, place_capacity;
    struct watched *scopes; /* those with a directory */
    struct remote_backend *remotes;
    int64_t look_ms; /* when to look for backends again; 0: all are known */
    struct touched *touched[WATCH_BUCKETS];
    uint64_t prints[3]; /* stamps of settings, while they are polled */
    /* marks */
    bool restart; /* the root appeared, vanished or moved */
    bool lost;
    bool personalities, users, config, sessions;
    int64_t sessions_ms; /* when to check sessions again */
    /* during watch_take */
    watch_fn *each;
    void *arg;
    int code; /* the first failure */
    struct ethos_error error;
};

/* Reports an event; not before the first call of watch_poll. */
void watch_report(struct memory_watch *self, const struct watch_event *event);

/* Records a failure for the end of watch_poll. */
void watch_fail(struct memory_watch *self, int code, const struct ethos_error *error);

/* A turn whose provider serves the scope. Free it. */
int watch_turn(struct memory_watch *self, const char *scope, struct ethos_turn **out,
               struct ethos_error *error);

/* The provider that serves a scope. */
int watch_provider(struct memory_watch *self, const struct watched *scope,
                   struct ethos_provider **out, struct ethos_error *error);

#define WATCH_RETRY_MS 2000 /* before a failed part is tried again */

/* ---- directories.c -------------------------------------------------------------------------- */

/* Scans the root and everything below it; also later, for what was missed. */
void places_scan(struct memory_watch *self);

/* Marks what inotify events are about; reports nothing. */
void places_read(struct memory_watch *self);

/* Likewise without events: marks settings that changed. */
void places_poll(struct memory_watch *self);

/* Frees the scopes whose directories are gone. */
void places_sweep(struct memory_watch *self);

/* The configuration changed: texts may be elsewhere. */
void places_settings(struct memory_watch *self);

/* Forgets all places and scopes. */
void places_clear(struct memory_watch *self);

/* ---- recorded_changes.c ---------------------------------------------------------------------------- */

/* Finds the end of a scope's history when it is first seen. */
void past_begin(struct memory_watch *self, struct watched *scope);

/* Reports a new change, if it is of a text that readers know. */
void changes_report(struct memory_watch *self, struct watched *scope,
                    const struct ethos_change *change);

/* Likewise for a backend. */
int past_newest(struct memory_watch *self, struct watched *scope, struct ethos_error *error);

/* Tells what is new. */
int changes_read_new(struct memory_watch *self, struct watched *scope, struct ethos_error *error);

/* ---- external_edits.c ------------------------------------------------------------------------- */

void outside_touch(struct memory_watch *self, struct watched *scope, const char *key);
void outside_touch_all(struct memory_watch *self, struct watched *scope);

/* The history has this revision for a key. */
void outside_set_revision(struct memory_watch *self, const struct watched *scope, const char *key,
                          const char *revision);

/* Marks texts that changed since they were last listed. */
void outside_poll(struct memory_watch *self, struct watched *scope);

/* Records edits of texts that have been quiet for a while. */
void outside_check_due(struct memory_watch *self);

/* When the next one is due, or -1. */
int64_t outside_due(const struct memory_watch *self);
void outside_forget(struct memory_watch *self, const struct watched *scope); /* NULL: all */

/* ---- remote_backends.c ---------------------------------------------------------------------------- */

/* Finds the configured backends, and starts watching new ones. */
void remote_find_backends(struct memory_watch *self);

/* Adds a scope that a provider serves, in case the provider cannot list its scopes. */
void remote_add_scope(struct memory_watch *self, struct ethos_provider *provider,
                      const char *scope);

/* Marks everything. */
void remote_mark_all(struct memory_watch *self);

/* Asks backends that have changes, and reports them. */
void remote_poll(struct memory_watch *self);

/* When the next one is due, or -1. */
int64_t remote_due(const struct memory_watch *self);
void remote_release(struct memory_watch *self);

/* ---- conflict_copies.c -------------------------------------------------------------------------- */

/* Counts the conflict copies of a scope; reports keys whose number changed. */
int copies_compare(struct memory_watch *self, struct watched *scope, bool tell,
                   struct ethos_error *error);

#endif
