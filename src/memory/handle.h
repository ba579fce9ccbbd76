/*
 * handle.h: the handle behind ethos.h, as operations see it.
 *
 * It holds the home, its configuration (read again when the file's stamp changes) and the opened
 * backends. ethos.h declares what everyone may use; this header adds what operations need: paths,
 * settings and people.
 */
#ifndef ETHOS_MEMORY_HANDLE_H
#define ETHOS_MEMORY_HANDLE_H

#include <ethos/ethos.h>
#include <ethos/provider.h>

#include "memory/home/config.h"
#include "memory/home/identity.h"

/*
 * ethos_open for a program with several threads, each with its own handle: handles opened with one
 * group (store/group_commit.h, NULL for none) share durable writes. The group must outlive them;
 * their hosts, if given, are the same, and any thread may call it.
 */
struct group;
int service_open(const struct ethos_options *options, struct group *group, struct ethos **out_ethos,
                 struct ethos_error *error);

/*
 * Waits for a backend in place of poll (struct ethos_deadline); for backends that are opened later.
 */
struct pollfd;
typedef int service_wait_fn(void *arg, struct pollfd *fds, unsigned long count, int timeout_ms);
void service_set_wait(struct ethos *self, service_wait_fn *wait, void *arg);

/* Limits how long calls wait for a backend from now on; 0: the default. */
void service_limit_calls(struct ethos *self, uint32_t call_ms);

/* From now on an unreachable backend is tried once only, for at most this many milliseconds. */
void service_disable_retries(struct ethos *self, uint32_t wait_ms);

/* The home (configuration) and the root (memory: the same, or the ephemeral directory). */
const char *service_home(const struct ethos *self);
const char *service_root(const struct ethos *self);
bool service_ephemeral(const struct ethos *self);
int64_t service_now_ms(const struct ethos *self);

/*
 * Descriptors for one call; the caller closes them. *out is -1 if the directory does not exist and
 * create is false.
 */
int service_open_home(struct ethos *self, bool create, int *out, struct ethos_error *error);
int service_open_root(struct ethos *self, bool create, int *out, struct ethos_error *error);

/* The current configuration of the home; personality may be NULL. Borrowed until the next call. */
int service_config(struct ethos *self, const char *personality, const struct config **out_home,
                   const struct config **out_personality, struct ethos_error *error);

/*
 * Whether this home does not know the login of this process and knows exactly one other person, as
 * after restoring a home under another name. "users link cli LOGIN USER" joins the two.
 */
bool service_unlinked(struct ethos *self, char out_login[ETHOS_MAX_ID + 1],
                      char out_user[ETHOS_MAX_ID + 1]);

/*
 * The profiles that the person at this machine does not see (identity_unreached), and that person's
 * login. None if the configuration names the person (user.id).
 */
int service_unreached(struct ethos *self, char out_login[ETHOS_MAX_ID + 1],
                      identity_person_fn *each, void *arg);

/* The id of the person at this machine. */
int service_local_user(struct ethos *self, char out_user[ETHOS_MAX_ID + 1],
                       struct ethos_error *error);

/*
 * The provider that serves a text of a turn (key NULL: any text of the scope). The handle owns it.
 */
struct ethos_provider *service_provider(const struct ethos_turn *turn, const char *scope,
                                        const char *key);

/* Frees a text that a provider filled in. */
void service_free_text(const struct ethos *self, struct ethos_text *text);

/*
 * The provider configured for a personality (NULL: the home's own), opened at first use, and its
 * configured name, which is set even if it cannot be opened. Both are borrowed, the name until the
 * next call.
 */
int service_provider_for(struct ethos *self, const char *personality, const char **out_name,
                         struct ethos_provider **out, struct ethos_error *error);

/*
 * Appends the identity of the backend: its name and settings, one per line, without secrets.
 * Changing the password keeps the identity; another database changes it.
 */
struct str;
int service_place(struct ethos *self, const char *personality, struct str *out,
                  struct ethos_error *error);

/* Whether the home's memory backend also keeps conversations. Contacts no backend. */
bool service_sessions_there(struct ethos *self);

/*
 * A remote model that turns texts into vectors: memory.options.embedder, embedUrl, embedModel,
 * embedConsent.
 */
struct service_embedder {
    bool is_remote, is_ollama, consent;
    char url[1024], model[256]; /* "": the usual one, none */
};

/* Unit vectors of texts, one after the other; free with free(). */
struct service_vectors {
    size_t dimension;
    float *values;
};

/* The embedder of a personality; NULL: of the home. */
int service_embedder(struct ethos *self, const char *personality, struct service_embedder *out,
                     struct ethos_error *error);

/* The prefetch settings a turn was made with. */
struct service_settings {
    uint64_t max_chars;
    uint64_t recall_chars; /* part of it, for what a query finds; 0: no search */
    bool tail;
    bool guard;
    int64_t stale_days; /* days after which an unverified note is stale */
    bool vector;        /* MEMORY.md: show the newest entries and what matches the question */
    unsigned top_k;     /* then at most this many */
    uint64_t chunk_chars, tail_chars; /* of both */
    struct service_embedder embedder;
    bool global_auto; /* show the index of global notes if it lists one of them */
};
const struct service_settings *service_settings(const struct ethos_turn *turn);

/* The folder of a turn and how its memory was found; NULL if it has none. Borrowed. */
struct workspace;
const struct workspace *service_workspace(const struct ethos_turn *turn);

/*
 * The validator of a file. While it holds, the same request and target give the same file; checking
 * it takes a few system calls and reads no file. turn 0: unknown.
 */
struct service_seen {
    uint64_t turn, stamp;
    bool watched; /* also of the path to the file, and of what the turn was made from */
    char scope[ETHOS_MAX_SCOPE];
    char key[ETHOS_MAX_KEY + 1];
};

/* ethos_read that also returns a validator; the file has no path before service_locate. */
int service_read(struct ethos_turn *turn, const struct ethos_target *target,
                 struct ethos_file **out_file, struct service_seen *out_seen,
                 struct ethos_error *error);
int service_locate(const struct ethos_turn *turn, struct ethos_file *file,
                   struct ethos_error *error);

/*
 * Checks a validator with the handle that made it; assumes that environment variables are
 * unchanged.
 */
bool service_holds(struct ethos *self, const struct service_seen *seen);

/* The path of a file of memory; NULL if the backend has no files. Free with free(). */
int service_path(const struct ethos_turn *turn, const char *scope, const char *key, char **out_path,
                 struct ethos_error *error);

#endif
