/*
 * remote.h: the memory of another `ethos serve` as a store. docs/internals/backends.md has the picture.
 *
 *   remote.c      options, opening, the table; check
 *   connection.c  one connection: a question and its answer, in time, again where that is safe
 *   response.c    what an answer means
 *   texts.c       read, gather, list, scopes; cache.c: texts that are given when the server says unchanged
 *   update.c      read, ask, swap, again when something moved; write and remove
 *   history.c     history, versions, what is kept beside keys
 *   watch.c       what changed, by the server's events
 */
#ifndef ETHOS_REMOTE_H
#define ETHOS_REMOTE_H

#include <curl/curl.h>
#include <signal.h>
#include <stdbool.h>

#include <ethos/provider.h>

#include "base/json.h"
#include "base/str.h"
#include "base/system/connect_timeout.h"
#include "core/memory/wire.h"

#define REMOTE_MAX_URL 2048       /* bytes of the address in the configuration */
#define REMOTE_MAX_QUERY 6144     /* bytes: a longer question is not asked with GET */
#define REMOTE_MAX_REASON 160     /* bytes of another program's words in an error */
#define REMOTE_FIRST_PAUSE_MS 10  /* before a question is asked again; doubles */
#define REMOTE_MOST_PAUSE_MS 1000 /* unless the server says Retry-After */
#define REMOTE_IDLE_SECONDS 50    /* a connection older than this is not used again */
#define REMOTE_CACHE_TEXTS 256
#define REMOTE_CACHE_BYTES 8388608
#define REMOTE_LIST_ROUNDS 5   /* after which a list that changes between its pages is given up */
#define REMOTE_SKEW_MS 5000    /* of the clocks: more is told by check */
#define REMOTE_SILENT_MS 45000 /* three heartbeats: events are asked for again */
#define REMOTE_MAX_EVENT 65536 /* bytes of one event */
#define REMOTE_MOST_TIMEOUT_MS 3600000
#define REMOTE_KEY_PUBLIC 17                 /* bytes of a key of ours that may be shown */
#define REMOTE_OP_SIZE (sizeof WIRE_OP + 32) /* of an operation id that is made here */

/* ---- link ------------------------------------------------------------------------------------- */

struct remote_link {
    CURL *curl;
    CURLM *multi;     /* of curl, where the host waits; else NULL */
    char *url;        /* without a slash at the end */
    char *credential; /* "Authorization: Bearer ..."; wiped */
    char prefix[32];  /* of the key, which is public */
    char *ca_file;    /* or NULL */
    bool local;       /* the server is on this machine */
    uint32_t timeout_ms, connect_ms;
    struct backend_reach reach;
    struct str body; /* of the answer at hand */
};

enum {
    ASK_AGAIN = 1, /* asking twice does what asking once does: a lost answer is asked for again */
    ASK_READ = 3,  /* the same, and nothing is changed by it */
};

struct remote_call {
    const char *name;  /* "swap" */
    const char *query; /* of GET; NULL: POST with args */
    const json_t *args;
    const char *tag; /* what the caller has: If-None-Match; or NULL */
    unsigned flags;
};

/* When a call must be over, by os_monotonic_ms. */
int64_t link_deadline(const struct remote_link *self);
int64_t link_deadline_texts(const struct remote_link *self); /* of which the host may have others */
int link_too_late(const struct remote_link *self, struct ethos_error *error); /* ETHOS_BUSY */

/*
 * Asks, and gives the object that was answered (owned); NULL: nothing changed. What the server's store
 * refused is an error of that code, with *out the object around it where it has more to tell.
 * ETHOS_BUSY: nothing was done; ETHOS_IO: that is not known.
 */
int link_ask(struct remote_link *self, const struct remote_call *ask, int64_t deadline,
             json_t **out, struct ethos_error *error);

/* Sets what every transfer has: where, how long, who. */
CURLcode link_prepare(const struct remote_link *self, CURL *curl, const char *path,
                      struct curl_slist **headers);

/* A peer that goes away while it is written to raises SIGPIPE in some TLS libraries: not in our host. */
struct hush {
    sigset_t before;
    bool was_pending;
};
void link_hush(struct hush *self);
void link_unhush(const struct hush *self);

/* ---- judge ------------------------------------------------------------------------------------ */

/* One answer, or that there is none. */
struct remote_answer {
    CURLcode failure;   /* CURLE_OK: there is one */
    const char *reason; /* in curl's words */
    bool sent;          /* the question, or a part of it, has left */
    long status;
    const char *type; /* of the content, or NULL */
    struct ethos_view body;
};

enum verdict {
    VERDICT_DONE,  /* it is what the code says */
    VERDICT_LATER, /* nothing was done; it may be asked again */
    VERDICT_LOST,  /* whether it was done is not known */
};

/* code and error are what the call returns when it is not asked again; *out as in link_ask. */
enum verdict remote_evaluate_answer(const struct remote_link *link, const struct remote_call *ask,
                                    const struct remote_answer *answer, json_t **out, int *code,
                                    struct ethos_error *error);

/* Of what another program should not have answered: ETHOS_CORRUPT. */
int remote_unexpected_answer(const struct remote_link *link, const char *what,
                             struct ethos_error *error);

/* ---- texts ------------------------------------------------------------------------------------ */

struct cache_entry;
struct cache {
    struct cache_entry *entries; /* REMOTE_CACHE_TEXTS of them, or NULL */
    uint64_t clock;
    size_t bytes;
};

/* A text that was seen, or that there is none (text.data NULL); NULL: it was not seen. */
const struct ethos_text *cache_find(struct cache *self, const char *scope, const char *key,
                                    uint64_t tail_bytes);
void cache_put(struct cache *self, const char *scope, const char *key, uint64_t tail_bytes,
               const struct ethos_text *text);
void cache_forget(struct cache *self, const char *scope, const char *key);
void cache_release(struct cache *self);

struct remote_watch;

struct remote {
    struct ethos_store store;
    struct ethos_store_ops ops; /* without what the server's store lacks */
    const struct ethos_host *host;
    struct remote_link link;
    struct cache cache;
    struct remote_watch *watch; /* NULL until first asked */
    bool known;   /* the server has told what it offers; the two below follow from that */
    bool once;    /* it remembers operation ids */
    bool settles; /* its history notices edits made outside */
};

static inline struct remote *remote_of(struct ethos_store *self)
{
    return (struct remote *)self;
}

/*
 * link_ask, of a server that is known: one that was not there when the store was opened is asked first what
 * it offers.
 */
int remote_ask(struct remote *self, const struct remote_call *ask, int64_t deadline, json_t **out,
               struct ethos_error *error);

/* One text to be read; text is the caller's. */
struct spot {
    const char *scope, *key;
    struct ethos_text *text;
    int code;
    struct ethos_error error;
};

/* Reads them as they were at one moment. */
int texts_fetch(struct remote *self, struct spot *spots, size_t count, uint64_t tail_bytes,
                int64_t deadline, struct ethos_error *error);

/* Makes bytes, with what is known about them, the content of out. */
int texts_give(struct remote *self, const struct ethos_text *about, struct ethos_view bytes,
               struct ethos_text *out, struct ethos_error *error);

/* Makes a text of the wire the content of out. ETHOS_CORRUPT when it is none. */
int texts_take(struct remote *self, const json_t *value, struct ethos_text *out,
               struct ethos_error *error);

/* A question about a scope, and maybe a key, which is asked with POST. Takes args' last member. */
json_t *texts_args(const char *scope, const char *key, const char *name, json_t *value);

/* Asks, within the time of one call. */
int texts_ask(struct remote *self, const char *name, json_t *args, unsigned flags, json_t **out,
              struct ethos_error *error);

/* All rows of a list of texts, scopes (scope NULL) or copies, page by page; owned, NULL after a failure. */
int texts_list(struct remote *self, const char *name, const char *scope, const char *member,
               json_t **out_rows, struct ethos_error *error);

/* ---- slots -------------------------------------------------------------------------------------- */

int remote_read(struct ethos_store *self, const char *scope, const char *key,
                const struct ethos_read_how *how, struct ethos_text *out_text,
                struct ethos_error *error);
int remote_gather(struct ethos_store *self, const struct ethos_read_how *how,
                  struct ethos_section *sections, size_t count, struct ethos_error *error);
int remote_list(struct ethos_store *self, const char *scope, ethos_entry_fn *each, void *arg,
                struct ethos_error *error);
int remote_scopes(struct ethos_store *self, ethos_scope_fn *each, void *arg,
                  struct ethos_error *error);
int remote_update(struct ethos_store *self, const char *scope, struct ethos_edit *edits,
                  size_t count, ethos_edit_fn *edit, void *arg, const struct ethos_origin *origin,
                  struct ethos_error *error);
int remote_write(struct ethos_store *self, const char *scope, const char *key, const char *expect,
                 struct ethos_view text, const struct ethos_origin *origin,
                 char out_revision[ETHOS_REVISION_SIZE], struct ethos_error *error);
int remote_remove(struct ethos_store *self, const char *scope, const char *key, const char *expect,
                  const struct ethos_origin *origin, struct ethos_error *error);
int remote_history(struct ethos_store *self, const char *scope, const char *key,
                   ethos_change_fn *each, void *arg, struct ethos_error *error);
int remote_version(struct ethos_store *self, const char *scope, const char *key,
                   const char *revision, struct ethos_text *out_text, struct ethos_error *error);
int remote_set_aside(struct ethos_store *self, const char *scope, const char *key,
                     struct ethos_view text, struct ethos_error *error);
int remote_import_commits(struct ethos_store *self, const char *scope,
                          const struct ethos_commit *commit, struct ethos_error *error);
int remote_keep(struct ethos_store *self, const char *scope, const char *key,
                struct ethos_view text, struct ethos_error *error);
int remote_conflicts(struct ethos_store *self, const char *scope, ethos_conflict_fn *each,
                     void *arg, struct ethos_error *error);
int remote_conflict_read(struct ethos_store *self, const char *scope, const char *id,
                         struct ethos_text *out_text, struct ethos_error *error);
int remote_conflict_drop(struct ethos_store *self, const char *scope, const char *id,
                         struct ethos_error *error);
int remote_watch(struct ethos_store *self, ethos_scope_fn *each, void *arg, int *out_fd,
                 unsigned *out_wait_ms, struct ethos_error *error);
void watch_free(struct remote_watch *self);

#endif
