/*
 * handle_internal.h: the members of struct ethos and struct ethos_turn. Private to src/memory.
 */
#ifndef ETHOS_MEMORY_HANDLE_INTERNAL_H
#define ETHOS_MEMORY_HANDLE_INTERNAL_H

#include "base/arena.h"
#include "base/str.h"
#include "core/memory/scope.h"
#include "memory/handle.h"
#include "memory/provider/registry.h"
#include "memory/turn_cache.h"
#include "memory/workspace/workspace.h"
#include "recall/index.h"
#include "recall/model.h"

/* An opened backend, shared by all personalities with the same configuration. */
struct opened {
    struct opened *next;
    char *signature; /* root, name and settings */
    struct backend backend;
    struct ethos_provider *provider;
};

/* Whether the file of an index was verified (recall/index.h). */
struct handle_trust {
    struct handle_trust *next;
    struct recall_trust trust;
    char name[]; /* of the file */
};

/* The deadline of one backend; it outlives the backends that are opened with it. */
struct handle_deadline {
    struct handle_deadline *next;
    struct ethos_deadline deadline;
    char signature[]; /* the signature of struct opened */
};

struct ethos {
    const struct ethos_host *host;
    char *home; /* directory of the configuration */
    char *root; /* directory of memory */
    bool ephemeral;
    bool fast;
    bool
        wants_sessions; /* a passage of a conversation could not be read without the session store */
    bool brief;         /* leaves deferrable work to others */
    bool once;          /* tries an unreachable backend once, and briefly */
    uint32_t wait_ms;   /* wait for locks of others */
    uint32_t call_ms;   /* wait for a backend, now; 0: the default */
    struct group *group;             /* shares writes with other handles, or NULL */
    struct ethos_provider *injected; /* or NULL: the configured ones */
    struct opened *opened;
    struct handle_deadline *deadlines;
    struct handle_trust *trusts;
    struct recall_model
        *model; /* NULL: none is installed, or it was not loaded yet (model_sought) */
    bool model_sought;
    bool words_only;                        /* recall.meaning is off */
    struct service_vectors remote_question; /* of the last question (remote_meaning.h) */
    uint64_t remote_question_hash;
    bool remote_told; /* that the remote model is unreachable */
    char remote_wanted
        [ETHOS_MAX_SCOPE]; /* a scope of which the last question lacked passages; "": none */
    service_wait_fn *wait; /* replaces poll, or NULL */
    void *wait_arg;
    struct scope_router *splits;      /* scope_router.h: of personalities with their own backend */
    struct ethos_sessions *sessions;  /* NULL until first use */
    struct backend sessions_backend;  /* the backend that made them; all zero: this program */
    struct config config;             /* of the home */
    struct config personality_config; /* of the personality named beside it */
    char personality[ETHOS_MAX_ID + 1];
    char login[ETHOS_MAX_ID + 1]; /* of this process; "" before the first use */
    struct turn_cache kept;
    /* Buffers of prefetch, reused so that a warm call allocates only its result. */
    struct ethos_section sections[ETHOS_SECTIONS];
};

/*
 * What a cached turn was made for: the request, completed by the environment, and the current
 * directory.
 */
struct turn_asked {
    struct ethos_request request;
    const char *here; /* of a request without a workspace */
    char *now;        /* allocated size */
    uint64_t number;  /* number of the turn */
};

struct ethos_turn {
    bool no_global; /* of its request */
    bool warned;    /* this login has no profile */
    bool has_index; /* the agent shows the workspace's index itself */
    struct ethos_context context;
    struct ethos *ethos;
    struct arena arena; /* holds every string of the context */
    struct ethos_provider *provider;
    struct service_settings settings;
    /*
     * The platform and user to record at the first write of a profile; platform_user is NULL if
     * there is nothing to record.
     */
    const char *pair_platform, *platform_user;
    struct workspace workspace;     /* if the context has a workspace_scope */
    const struct turn_asked *asked; /* NULL: not cacheable */
};

/* The person at this machine. */
struct local_user {
    char login[ETHOS_MAX_ID + 1];
    char id[ETHOS_MAX_ID + 1];
    bool known; /* the map or the configuration names the person; else the id is derived */
};

/* A request (NULL: an empty one), completed by the environment. */
struct ethos_request turn_request(const struct ethos_request *given);

/*
 * Steps of resolving a turn, on descriptors that are opened once per turn (-1: no such directory).
 * handle_config loads config (personality NULL) or personality_config; the others use those.
 */
int handle_config(struct ethos *self, int home, const char *personality, struct ethos_error *error);
int handle_lookup(struct ethos *self, int root, const char *platform, const char *platform_user,
                  char out_user[ETHOS_MAX_ID + 1], bool *out_known, struct ethos_error *error);
int handle_local_user(struct ethos *self, int root, struct local_user *out,
                      struct ethos_error *error);

void handle_embedder(const struct config *home, const struct config *own,
                     struct service_embedder *out);

/* Resolves the file that a caller names (NULL: the memory store); readers see only memory files. */
int handle_aim(const struct ethos_turn *turn, const struct ethos_target *target, bool write,
               struct scope_target *out, struct ethos_error *error);

/* A text as callers get it; text NULL: the file does not exist. */
int handle_file(const struct ethos_turn *turn, const struct scope_target *target,
                const struct ethos_text *text, struct ethos_file **out_file,
                struct ethos_error *error);

/*
 * Returns ETHOS_CONFLICT unless the file has the revision the caller expects (NULL: any). An older
 * profile shown in place of an absent one may also be expected to be absent.
 */
int handle_match(const struct scope_target *target, const char *wanted,
                 const struct ethos_file *file, struct ethos_error *error);

/*
 * Makes text the content of a file, byte for byte; the absent view deletes it. Failures are not
 * reported to how->each. ETHOS_CONFLICT if the file does not have the expected revision (NULL:
 * any).
 */
int handle_put(struct ethos_turn *turn, const struct scope_target *target, const char *expect,
               struct ethos_view text, const struct ethos_sync_how *how, struct ethos_error *error);

/* The origin of a write: the caller's, completed by the turn, and checked. */
int handle_origin(const struct ethos_turn *turn, const struct ethos_origin *given,
                  struct ethos_origin *out, struct ethos_error *error);

/*
 * Changes several keys of one scope by a pure function, all or none (provider.h); edits have their
 * keys and are otherwise zero. Each key is reported to how->each, with the actions of the callback.
 * A dry run calls the function and writes nothing.
 */
int handle_update(struct ethos_turn *turn, const char *scope, struct ethos_edit *edits,
                  size_t count, ethos_edit_fn *edit, void *arg, const struct ethos_sync_how *how,
                  struct ethos_error *error);

/* Likewise for files of memory: the owner of a written profile is recorded, as with any write. */
int handle_update_files(struct ethos_turn *turn, const char *scope, struct ethos_edit *edits,
                        size_t count, ethos_edit_fn *edit, void *arg,
                        const struct ethos_sync_how *how, struct ethos_error *error);

/*
 * Recovers what a crashed writer left in a scope, as the next write would. Call it before planning
 * a write from what was read: otherwise the plan may rest on a half-done batch that the write then
 * rolls back. ETHOS_BUSY or ETHOS_NOMEM; the write reports any other failure.
 */
int handle_recover(struct ethos_turn *turn, const char *scope, struct ethos_error *error);

/*
 * Records the turn's workspace with its folder; called with a write to a scope, before or after it.
 * Failures are ignored.
 */
void handle_touch(struct ethos_turn *turn, const char *scope);

/* The sessions of the home's backend; NULL: it keeps none, or must not be contacted. */
int handle_sessions(struct ethos *self, struct ethos_sessions **out, struct ethos_error *error);

/*
 * The configured provider, opened at first use. If a personality has its own backend, profiles stay
 * in the home's (scope_router.h) unless its memory.options.user is true; own_profile: they are in
 * its own.
 */
int handle_provider(struct ethos *self, bool own_profile, struct ethos_provider **out,
                    struct ethos_error *error);

/* The home's own. */
int handle_home_provider(struct ethos *self, struct ethos_provider **out,
                         struct ethos_error *error);

/* ETHOS_UNSUPPORTED if a provider cannot do what a sync requests beyond the updates. */
int handle_sync_able(const struct ethos_provider *provider, const struct ethos_sync_how *how,
                     struct ethos_error *error);

#endif
