/*
 * handle.h: the handle behind ethos.h, as operations see it.
 *
 * It holds the home, its configuration (read again when the file's stamp changes) and the opened
 * backends. What ethos.h offers to everyone is declared there; here is what the operations need
 * besides: where things are, the settings, the people.
 */
#ifndef ETHOS_MEMORY_HANDLE_H
#define ETHOS_MEMORY_HANDLE_H

#include <ethos/ethos.h>
#include <ethos/provider.h>

#include "memory/home/config.h"
#include "memory/home/identity.h"

/*
 * ethos_open for a program of several threads with a handle each: those opened with one group
 * (store/group_commit.h, NULL for none) share durable writes. The group outlives them; their hosts, where
 * given, are one and the same, and can be called from any thread.
 */
struct group;
int service_open(const struct ethos_options *options, struct group *group, struct ethos **out_ethos,
                 struct ethos_error *error);

/* What waits for a backend in place of poll (struct ethos_deadline), for backends that are not opened yet. */
struct pollfd;
typedef int service_wait_fn(void *arg, struct pollfd *fds, unsigned long count, int timeout_ms);
void service_set_wait(struct ethos *self, service_wait_fn *wait, void *arg);

/* From now on no call waits longer for a backend; 0: as usual. */
void service_limit_calls(struct ethos *self, uint32_t call_ms);

/* From now on a backend that is not there is asked once, and for so many milliseconds at most. */
void service_disable_retries(struct ethos *self, uint32_t wait_ms);

/* The home (configuration) and the root (memory: the same, or the ephemeral directory). */
const char *service_home(const struct ethos *self);
const char *service_root(const struct ethos *self);
bool service_ephemeral(const struct ethos *self);
int64_t service_now_ms(const struct ethos *self);

/* Descriptors for one call, closed by the caller; *out is -1 when the directory does not exist and create is false. */
int service_open_home(struct ethos *self, bool create, int *out, struct ethos_error *error);
int service_open_root(struct ethos *self, bool create, int *out, struct ethos_error *error);

/* The configuration of the home, fresh; personality may be NULL. Borrowed until the next call. */
int service_config(struct ethos *self, const char *personality, const struct config **out_home,
                   const struct config **out_personality, struct ethos_error *error);

/*
 * Whether the login of this process is not known in this home, while exactly one other person is: a
 * home that was restored under another name. The command that joins them is "users link cli LOGIN USER".
 */
bool service_unlinked(struct ethos *self, char out_login[ETHOS_MAX_ID + 1],
                      char out_user[ETHOS_MAX_ID + 1]);

/*
 * The profiles that the person at this machine does not see (identity_unreached), and that person's login.
 * None where the configuration says who the person is (user.id).
 */
int service_unreached(struct ethos *self, char out_login[ETHOS_MAX_ID + 1],
                      identity_person_fn *each, void *arg);

/* The id of the person at this machine. */
int service_local_user(struct ethos *self, char out_user[ETHOS_MAX_ID + 1],
                       struct ethos_error *error);

/* The provider that has a text of a turn (key NULL: any of the scope). It is the handle's. */
struct ethos_provider *service_provider(const struct ethos_turn *turn, const char *scope,
                                        const char *key);

/* Frees what a provider put into a text. */
void service_free_text(const struct ethos *self, struct ethos_text *text);

/*
 * The provider that a personality is configured with (NULL: the home's own), opened at first use, and
 * what the configuration calls it, known also when it does not open. Both borrowed, the name until the
 * next call.
 */
int service_provider_for(struct ethos *self, const char *personality, const char **out_name,
                         struct ethos_provider **out, struct ethos_error *error);

/*
 * Appends which place that is: the name of the backend and its settings, a line each, secrets left out. Another
 * password is the same place, another database is not.
 */
struct str;
int service_place(struct ethos *self, const char *personality, struct str *out,
                  struct ethos_error *error);

/* Whether conversations are kept by the backend of the home's memory. Nobody is asked. */
bool service_sessions_there(struct ethos *self);

/* A model elsewhere that makes vectors of texts: memory.options.embedder, embedUrl, embedModel, embedConsent. */
struct service_embedder {
    bool is_remote, is_ollama, consent;
    char url[1024], model[256]; /* "": the usual one, none */
};

/* Vectors of texts, of length 1, one behind the other; freed with free(). */
struct service_vectors {
    size_t dimension;
    float *values;
};

/* That of a personality, NULL: of the home. */
int service_embedder(struct ethos *self, const char *personality, struct service_embedder *out,
                     struct ethos_error *error);

/* The prefetch settings a turn was made with. */
struct service_settings {
    uint64_t max_chars;
    uint64_t recall_chars; /* of those, for what a query finds; 0: nothing is looked for */
    bool tail;
    bool guard;
    int64_t stale_days; /* after which a note nobody verified is stale */
    bool vector;        /* of MEMORY.md the newest entries are shown, and what fits the question */
    unsigned top_k;     /* then at most so many */
    uint64_t chunk_chars, tail_chars; /* of both */
    struct service_embedder embedder;
    bool global_auto; /* the index of notes kept for everywhere shows when it has one of them */
};
const struct service_settings *service_settings(const struct ethos_turn *turn);

/* The folder a turn is about and how its memory was found; NULL when it has none. Borrowed. */
struct workspace;
const struct workspace *service_workspace(const struct ethos_turn *turn);

/*
 * What a file was read from. While it holds, the same request and target give the same file: asking takes
 * a few system calls, and no file is read. turn 0: nobody can tell.
 */
struct service_seen {
    uint64_t turn, stamp;
    bool watched; /* the way to the file, too, with what the turn was made from */
    char scope[ETHOS_MAX_SCOPE];
    char key[ETHOS_MAX_KEY + 1];
};

/* ethos_read that tells, if it is asked to; the file has no path before service_locate. */
int service_read(struct ethos_turn *turn, const struct ethos_target *target,
                 struct ethos_file **out_file, struct service_seen *out_seen,
                 struct ethos_error *error);
int service_locate(const struct ethos_turn *turn, struct ethos_file *file,
                   struct ethos_error *error);

/* Asks the handle that has read it; variables of the environment are taken to be what they were. */
bool service_holds(struct ethos *self, const struct service_seen *seen);

/* Where a file of memory is; NULL when the backend has no files. Free with free(). */
int service_path(const struct ethos_turn *turn, const char *scope, const char *key, char **out_path,
                 struct ethos_error *error);

#endif
