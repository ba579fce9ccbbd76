/*
 * handle_internal.h: what is inside struct ethos and struct ethos_turn. Private to src/memory.
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

/* A backend that was opened for some personality, shared by all with the same configuration. */
struct opened {
    struct opened *next;
    char *signature; /* root, name and settings */
    struct backend backend;
    struct ethos_provider *provider;
};

/* What is known of the file of an index (recall/index.h). */
struct handle_trust {
    struct handle_trust *next;
    struct recall_trust trust;
    char name[]; /* of the file */
};

/* How long one backend is waited for; it outlives those that are opened with it. */
struct handle_deadline {
    struct handle_deadline *next;
    struct ethos_deadline deadline;
    char signature[]; /* as that of struct opened */
};

struct ethos {
    const struct ethos_host *host;
    char *home; /* configuration */
    char *root; /* memory */
    bool ephemeral;
    bool fast;
    bool wants_sessions; /* a passage that was said could not be read without the session store */
    bool brief;          /* leaves to others what can wait */
    bool once;           /* asks a backend that is not there once, and briefly */
    uint32_t wait_ms;    /* for the locks of others */
    uint32_t call_ms;    /* for a backend, now; 0: as usual */
    struct group *group; /* that shares writes with other handles, or NULL */
    struct ethos_provider *injected; /* or NULL: the configured ones */
    struct opened *opened;
    struct handle_deadline *deadlines;
    struct handle_trust *trusts;
    struct recall_model *model; /* NULL: none is installed, or nobody has asked (model_sought) */
    bool model_sought;
    bool words_only;                        /* recall.meaning is off */
    struct service_vectors remote_question; /* of the last question (remote_meaning.h) */
    uint64_t remote_question_hash;
    bool remote_told;                    /* that the model elsewhere is away */
    char remote_wanted[ETHOS_MAX_SCOPE]; /* a scope whose passages a question lacked; "": none */
    service_wait_fn *wait;               /* instead of poll, or NULL */
    void *wait_arg;
    struct scope_router *splits; /* scope_router.h: of personalities with a backend of their own */
    struct ethos_sessions *sessions;  /* NULL until first use */
    struct backend sessions_backend;  /* that made them; all zero: this program */
    struct config config;             /* of the home */
    struct config personality_config; /* of the personality named beside it */
    char personality[ETHOS_MAX_ID + 1];
    char login[ETHOS_MAX_ID + 1]; /* of this process; "" until somebody asks */
    struct turn_cache kept;
    /* Scratch of prefetch, kept so that a warm call allocates nothing but its result. */
    struct ethos_section sections[ETHOS_SECTIONS];
};

/* What a turn that is kept was made for: the request, completed by the environment, and the current directory. */
struct turn_asked {
    struct ethos_request request;
    const char *here; /* of a request without a workspace */
    char *now;        /* room for as much */
    uint64_t number;  /* of the turn */
};

struct ethos_turn {
    bool no_global; /* of its request */
    bool warned;    /* that this login has no profile */
    bool has_index; /* the agent shows the index of the workspace itself */
    struct ethos_context context;
    struct ethos *ethos;
    struct arena arena; /* every string of the context */
    struct ethos_provider *provider;
    struct service_settings settings;
    /* The pair to record at the first write of a profile; platform_user is NULL when there is none. */
    const char *pair_platform, *platform_user;
    struct workspace workspace;     /* when the context has a workspace_scope */
    const struct turn_asked *asked; /* NULL: not one to be kept */
};

/* The person at this machine. */
struct local_user {
    char login[ETHOS_MAX_ID + 1];
    char id[ETHOS_MAX_ID + 1];
    bool known; /* the map or the configuration says so; else the id is derived */
};

/* A request (NULL: an empty one), completed by the environment. */
struct ethos_request turn_request(const struct ethos_request *given);

/*
 * Steps of resolving a turn, on descriptors that are opened once per turn (-1: no such directory).
 * handle_config makes config (personality NULL) or personality_config current; the others use those.
 */
int handle_config(struct ethos *self, int home, const char *personality, struct ethos_error *error);
int handle_lookup(struct ethos *self, int root, const char *platform, const char *platform_user,
                  char out_user[ETHOS_MAX_ID + 1], bool *out_known, struct ethos_error *error);
int handle_local_user(struct ethos *self, int root, struct local_user *out,
                      struct ethos_error *error);

void handle_embedder(const struct config *home, const struct config *own,
                     struct service_embedder *out);

/* Which file a caller means (NULL: the memory store); a reader sees only what is memory. */
int handle_aim(const struct ethos_turn *turn, const struct ethos_target *target, bool write,
               struct scope_target *out, struct ethos_error *error);

/* A text as callers get it; text NULL: there is no such file. */
int handle_file(const struct ethos_turn *turn, const struct scope_target *target,
                const struct ethos_text *text, struct ethos_file **out_file,
                struct ethos_error *error);

/*
 * ETHOS_CONFLICT unless a file is what the caller knows of the target: this revision, or NULL for any.
 * An older profile shown in place of an absent one may be called absent too.
 */
int handle_match(const struct scope_target *target, const char *wanted,
                 const struct ethos_file *file, struct ethos_error *error);

/*
 * Makes text the content of a file, byte for byte; the absent view deletes it. A failure is not told
 * to how->each. ETHOS_CONFLICT when the file has not the expected revision (NULL: any).
 */
int handle_put(struct ethos_turn *turn, const struct scope_target *target, const char *expect,
               struct ethos_view text, const struct ethos_sync_how *how, struct ethos_error *error);

/* Who writes: what the caller says, completed by what the turn knows; checked. */
int handle_origin(const struct ethos_turn *turn, const struct ethos_origin *given,
                  struct ethos_origin *out, struct ethos_error *error);

/*
 * Changes several keys of one scope by a pure function, all or none (provider.h); edits have their
 * keys and are otherwise zero. Each key is told to how->each, with actions of the callback. A dry run
 * asks the function and writes nothing.
 */
int handle_update(struct ethos_turn *turn, const char *scope, struct ethos_edit *edits,
                  size_t count, ethos_edit_fn *edit, void *arg, const struct ethos_sync_how *how,
                  struct ethos_error *error);

/* The same for files of memory: who has a profile written is remembered, as with any write. */
int handle_update_files(struct ethos_turn *turn, const char *scope, struct ethos_edit *edits,
                        size_t count, ethos_edit_fn *edit, void *arg,
                        const struct ethos_sync_how *how, struct ethos_error *error);

/*
 * Recovers what a dead writer left in a scope, as the next write to it would. Whoever plans a write from
 * what it reads calls this first: else it plans from a half-done batch that its own write rolls back.
 * ETHOS_BUSY, ETHOS_NOMEM; any other failure is left to the write.
 */
int handle_recover(struct ethos_turn *turn, const char *scope, struct ethos_error *error);

/*
 * With a write to a scope, before or after it: the turn's workspace is noted with its folder. Failing
 * to is no failure.
 */
void handle_touch(struct ethos_turn *turn, const char *scope);

/* The sessions of the backend that the home names; NULL: it keeps none, or is not to be asked. */
int handle_sessions(struct ethos *self, struct ethos_sessions **out, struct ethos_error *error);

/*
 * The provider the current configuration names, opened at first use. Where a personality has a backend of its
 * own, profiles are in the home's (scope_router.h), unless its memory.options.user is true; own_profile: they are its own.
 */
int handle_provider(struct ethos *self, bool own_profile, struct ethos_provider **out,
                    struct ethos_error *error);

/* That of the home itself. */
int handle_home_provider(struct ethos *self, struct ethos_provider **out,
                         struct ethos_error *error);

/* ETHOS_UNSUPPORTED when a provider does not do what a sync is asked for beyond the updates. */
int handle_sync_able(const struct ethos_provider *provider, const struct ethos_sync_how *how,
                     struct ethos_error *error);

#endif
