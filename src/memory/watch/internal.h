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

/* A scope that has a directory, or one of a backend. Times are os_monotonic_ms; 0: not set. */
struct watched {
    struct watched *next;
    char scope[ETHOS_MAX_SCOPE];
    char *dir;                   /* below the root; "." is the root; NULL: none */
    struct ethos_provider *from; /* the backend, which is asked; NULL: it has a directory */
    bool gone;                   /* freed with the next look */
    bool elsewhere;              /* its texts are not in its directory: a backend tells of them */
    bool polled;                 /* changes of its texts may stay unseen */
    bool known;                  /* of a backend: what it had is no news */
    bool dirty;                  /* there may be new lines */
    bool recount;                /* copies may have come or gone */
    bool asks;                   /* what waits for a person there may be other */
    uint64_t queue_print;        /* of the queue, when its directory was looked at */
    int64_t due_ms;              /* look again, though nothing is marked */
    int64_t pending_ms;          /* since when its newest change is waited for */
    /* What of its history is known. */
    uint64_t inode, place; /* the live file, and how far it was read */
    uint64_t number;       /* of the newest change */
    int64_t time_ms;       /* the same */
    int64_t since_ms;      /* what is older was there before */
    struct watch_copies *copies;
    size_t copy_count;
    uint64_t print; /* of the list of its texts, while polled */
};

/* A text that somebody touched. */
struct touched {
    struct touched *next;
    struct watched *scope;
    int64_t due_ms;
    unsigned tries;
    char revision[ETHOS_REVISION_SIZE]; /* that the history says it has now; "": says nothing new */
    char key[ETHOS_MAX_KEY + 1];
};

/* A backend whose texts are not here. It belongs to the handle. */
struct remote_backend {
    struct remote_backend *next;
    struct ethos_provider *provider;
    struct watched **scopes; /* by name */
    size_t count, capacity;
    bool serves;               /* the configuration still names it */
    bool met;                  /* what it had is known, and the rest is news */
    bool any;                  /* every scope may have changed, and there may be others */
    bool marked;               /* some scope is */
    bool personalities, users; /* there are new ones */
    int fd;                    /* that becomes readable; -1: none */
    int64_t due_ms;            /* when to ask it again; 0: when fd says so */
    int64_t retry_ms;          /* it failed, and is left alone until then */
};

enum place_kind {
    PLACE_ABOVE,     /* the root is to appear below it */
    PLACE_HOME,      /* the configuration, where that is not in the root */
    PLACE_ROOT,      /* also the scope global */
    PLACE_FOLDER,    /* personalities, users, teams, workspaces */
    PLACE_ID,        /* a team or workspace, whose memory is a folder in it */
    PLACE_SCOPE,     /* the directory of a scope */
    PLACE_BRANCH,    /* below a tree */
    PLACE_MEM,       /* .mem: the folder of copies may appear */
    PLACE_CONFLICTS, /* that folder */
};

/* A directory that is watched. */
struct watch_place {
    int watch;
    enum place_kind kind;
    enum scope_kind of;
    struct watched *scope; /* or NULL */
    char *path;            /* below the root; PLACE_ABOVE: the name that is to appear */
};

struct memory_watch {
    struct ethos *ethos;
    int events;        /* inotify, or -1 */
    int several;       /* those and the descriptors of backends; -1: there are none of these */
    int root;          /* descriptor, -1 while it does not exist */
    char *real;        /* the root's real path, while it exists */
    bool blind;        /* not everything can be watched: all of it is polled */
    bool begun;        /* what appears from now on is news */
    int64_t opened_ms; /* wall time of the handle */
    int64_t poll_ms;   /* when those that are polled were last looked at */
    struct watch_place *places; /* by watch */
    size_t place_count, place_capacity;
    struct watched *scopes; /* those with a directory */
    struct remote_backend *tellers;
    int64_t look_ms; /* when to look for backends again; 0: all are known */
    struct touched *touched[WATCH_BUCKETS];
    uint64_t prints[3]; /* of the stamps of settings, while they are polled */
    /* marks */
    bool restart; /* the root came, went or moved */
    bool lost;
    bool personalities, users, config, sessions;
    int64_t sessions_ms; /* when to ask for sessions again */
    /* during watch_take */
    watch_fn *each;
    void *arg;
    int code; /* the first failure */
    struct ethos_error error;
};

/* Tells of an event; before the first take nobody is told. */
void watch_report(struct memory_watch *self, const struct watch_event *event);

/* Remembers a failure for the end of the take. */
void watch_fail(struct memory_watch *self, int code, const struct ethos_error *error);

/* A turn whose provider serves the scope. Free it. */
int watch_turn(struct memory_watch *self, const char *scope, struct ethos_turn **out,
               struct ethos_error *error);

/* The provider that a scope is asked of. */
int watch_provider(struct memory_watch *self, const struct watched *scope,
                   struct ethos_provider **out, struct ethos_error *error);

#define WATCH_RETRY_MS 2000 /* before a part that failed is looked at again */

/* ---- directories.c -------------------------------------------------------------------------- */

/* Looks for the root and everything below it; also later, for what was missed. */
void places_scan(struct memory_watch *self);

/* Marks what events tell of; tells nothing. */
void places_read(struct memory_watch *self);

/* The same for what has no events: marks settings that changed. */
void places_poll(struct memory_watch *self);

/* Frees the scopes whose directories are gone. */
void places_sweep(struct memory_watch *self);

/* The configuration is another one: where texts are may be, too. */
void places_settings(struct memory_watch *self);

/* Forgets all places and scopes. */
void places_clear(struct memory_watch *self);

/* ---- recorded_changes.c ---------------------------------------------------------------------------- */

/* How far the history of a scope has got, when it is first seen. */
void past_begin(struct memory_watch *self, struct watched *scope);

/* Tells of a change that is new, if it is one of a text that readers know. */
void changes_report(struct memory_watch *self, struct watched *scope,
                    const struct ethos_change *change);

/* The same for one of a backend. */
int past_newest(struct memory_watch *self, struct watched *scope, struct ethos_error *error);

/* Tells what is new. */
int changes_read_new(struct memory_watch *self, struct watched *scope, struct ethos_error *error);

/* ---- external_edits.c ------------------------------------------------------------------------- */

void outside_touch(struct memory_watch *self, struct watched *scope, const char *key);
void outside_touch_all(struct memory_watch *self, struct watched *scope);

/* The history tells of the text that a key has now. */
void outside_set_revision(struct memory_watch *self, const struct watched *scope, const char *key,
                          const char *revision);

/* Marks texts that changed since the last look at the list. */
void outside_poll(struct memory_watch *self, struct watched *scope);

/* Settles what has been quiet for a while. */
void outside_check_due(struct memory_watch *self);

/* When the next one is due, or -1. */
int64_t outside_due(const struct memory_watch *self);
void outside_forget(struct memory_watch *self, const struct watched *scope); /* NULL: all */

/* ---- remote_backends.c ---------------------------------------------------------------------------- */

/* Looks for the backends that the configuration names, and begins with those that are new. */
void remote_find_backends(struct memory_watch *self);

/* A scope that a provider serves, which may be unable to tell by itself that it has it. */
void remote_add_scope(struct memory_watch *self, struct ethos_provider *provider,
                      const char *scope);

/* Everything may have changed. */
void remote_mark_all(struct memory_watch *self);

/* Asks those that have something to tell, and tells it. */
void remote_poll(struct memory_watch *self);

/* When the next one is due, or -1. */
int64_t remote_due(const struct memory_watch *self);
void remote_release(struct memory_watch *self);

/* ---- conflict_copies.c -------------------------------------------------------------------------- */

/* Counts the copies of a scope; tells the keys whose number is another one. */
int copies_compare(struct memory_watch *self, struct watched *scope, bool tell,
                   struct ethos_error *error);

#endif
