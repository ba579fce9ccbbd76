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
#define REMOTE_MAX_QUERY 6144     /* bytes: longer queries are sent with POST */
#define REMOTE_MAX_REASON 160     /* bytes of another program's text in an error */
#define REMOTE_FIRST_PAUSE_MS 10  /* before retrying; doubles */
#define REMOTE_MOST_PAUSE_MS 1000 /* unless the server says Retry-After */
#define REMOTE_IDLE_SECONDS 50    /* an idle connection older than this is not reused */
#define REMOTE_CACHE_TEXTS 256
#define REMOTE_CACHE_BYTES 8388608
#define REMOTE_LIST_ROUNDS 5   /* after that many changes between its pages, reading a list fails */
#define REMOTE_SKEW_MS 5000    /* between the clocks; more is reported by check */
#define REMOTE_SILENT_MS 45000 /* three heartbeats: then the stream is opened again */
#define REMOTE_MAX_EVENT 65536 /* bytes of one event */
#define REMOTE_MOST_TIMEOUT_MS 3600000
#define REMOTE_KEY_PUBLIC 17                 /* bytes of an API key that may be shown */
#define REMOTE_OP_SIZE (sizeof WIRE_OP + 32) /* of a generated operation id */

/* ---- link ------------------------------------------------------------------------------------- */

struct remote_link {
    CURL *curl;
    CURLM *multi;     /* for transfers during which the host waits; otherwise NULL */
    char *url;        /* without a slash at the end */
    char *credential; /* "Authorization: Bearer ..."; wiped */
    char prefix[32];  /* of the key, which is public */
    char *ca_file;    /* or NULL */
    bool local;       /* the server is on this machine */
    uint32_t timeout_ms, connect_ms;
    struct backend_reach reach;
    struct str body; /* of the current answer */
};

enum {
    ASK_AGAIN = 1, /* idempotent: retried if the answer is lost */
    ASK_READ = 3,  /* the same, and changes nothing */
};

struct remote_call {
    const char *name;  /* "swap" */
    const char *query; /* of GET; NULL: POST with args */
    const json_t *args;
    const char *tag; /* If-None-Match; or NULL */
    unsigned flags;
};

/* The deadline of a call, by os_monotonic_ms. */
int64_t link_deadline(const struct remote_link *self);
int64_t
link_deadline_texts(const struct remote_link *self); /* for texts that the host may have cached */
int link_too_late(const struct remote_link *self, struct ethos_error *error); /* ETHOS_BUSY */

/*
 * Sends a call and returns the answered object (owned); NULL: not modified. An error of the
 * server's store is returned with its code, with *out the object around it if it has more details.
 * ETHOS_BUSY: nothing was done; ETHOS_IO: unknown.
 */
int link_ask(struct remote_link *self, const struct remote_call *ask, int64_t deadline,
             json_t **out, struct ethos_error *error);

/* Sets the options of every transfer: address, timeouts, credential. */
CURLcode link_prepare(const struct remote_link *self, CURL *curl, const char *path,
                      struct curl_slist **headers);

/*
 * Some TLS libraries raise SIGPIPE if the peer closes the connection during a write; this blocks
 * it.
 */
struct hush {
    sigset_t before;
    bool was_pending;
};
void link_hush(struct hush *self);
void link_unhush(const struct hush *self);

/* ---- judge ------------------------------------------------------------------------------------ */

/* One answer, or that there is none. */
struct remote_answer {
    CURLcode failure;   /* CURLE_OK: there was an answer */
    const char *reason; /* in curl's words */
    bool sent;          /* the request was sent, at least in part */
    long status;
    const char *type; /* of the content, or NULL */
    struct ethos_view body;
};

enum verdict {
    VERDICT_DONE,  /* done, with the result in code */
    VERDICT_LATER, /* nothing was done; it may be retried */
    VERDICT_LOST,  /* it is unknown whether it was done */
};

/* code and error are the result of the call if it is not retried; *out as in link_ask. */
enum verdict remote_evaluate_answer(const struct remote_link *link, const struct remote_call *ask,
                                    const struct remote_answer *answer, json_t **out, int *code,
                                    struct ethos_error *error);

/* The error for an unexpected answer: ETHOS_CORRUPT. */
int remote_unexpected_answer(const struct remote_link *link, const char *what,
                             struct ethos_error *error);

/* ---- texts ------------------------------------------------------------------------------------ */

struct cache_entry;
struct cache {
    struct cache_entry *entries; /* REMOTE_CACHE_TEXTS of them, or NULL */
    uint64_t clock;
    size_t bytes;
};

/* A cached text, or that there is none (text.data NULL); NULL: not cached. */
const struct ethos_text *cache_find(struct cache *self, const char *scope, const char *key,
                                    uint64_t tail_bytes);
void cache_put(struct cache *self, const char *scope, const char *key, uint64_t tail_bytes,
               const struct ethos_text *text);
void cache_forget(struct cache *self, const char *scope, const char *key);
void cache_release(struct cache *self);

struct remote_watch;

struct remote {
    struct ethos_store store;
    struct ethos_store_ops ops; /* without the slots that the server's store lacks */
    const struct ethos_host *host;
    struct remote_link link;
    struct cache cache;
    struct remote_watch *watch; /* NULL until first asked */
    bool known;   /* the server has reported what it offers; the two below follow from that */
    bool once;    /* it remembers operation ids */
    bool settles; /* its history notices external edits */
};

static inline struct remote *remote_of(struct ethos_store *self)
{
    return (struct remote *)self;
}

/*
 * link_ask for a known server: one that could not be reached at open is first asked what it offers.
 */
int remote_ask(struct remote *self, const struct remote_call *ask, int64_t deadline, json_t **out,
               struct ethos_error *error);

/* A text to be read; text belongs to the caller. */
struct spot {
    const char *scope, *key;
    struct ethos_text *text;
    int code;
    struct ethos_error error;
};

/* Reads them as of one moment. */
int texts_fetch(struct remote *self, struct spot *spots, size_t count, uint64_t tail_bytes,
                int64_t deadline, struct ethos_error *error);

/* Sets out to bytes, with what is known about them. */
int texts_give(struct remote *self, const struct ethos_text *about, struct ethos_view bytes,
               struct ethos_text *out, struct ethos_error *error);

/* Sets out to a text in wire format. ETHOS_CORRUPT if it is not one. */
int texts_take(struct remote *self, const json_t *value, struct ethos_text *out,
               struct ethos_error *error);

/* The arguments of a POST about a scope, and maybe a key. Takes ownership of the last member. */
json_t *texts_args(const char *scope, const char *key, const char *name, json_t *value);

/* Sends a call, within the time of one call. */
int texts_ask(struct remote *self, const char *name, json_t *args, unsigned flags, json_t **out,
              struct ethos_error *error);

/*
 * All rows of a list of texts, scopes (scope NULL) or copies, page by page; owned, NULL after a
 * failure.
 */
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
