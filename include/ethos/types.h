/*
 * ethos/types.h: the words both headers share: codes, errors, views, contexts, updates.
 *
 * Conventions of every public function: it returns an enum ethos_code as int (0 is success, all
 * others are negative); self comes first and outputs last; outputs are untouched on failure; an
 * error struct belongs to the caller and may be NULL. A returned pointer is borrowed; what arrives
 * through a pointer to a pointer is owned and has a matching _free that accepts NULL.
 */
#ifndef ETHOS_TYPES_H
#define ETHOS_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ETHOS_VERSION "0.1.0"
#define ETHOS_API __attribute__((visibility("default")))

enum ethos_code {
    ETHOS_OK = 0,
    ETHOS_NOTFOUND = -1,
    ETHOS_EXISTS = -2,
    ETHOS_CONFLICT = -3, /* the revision moved */
    ETHOS_INVALID = -4,  /* malformed input */
    ETHOS_DENIED = -5,   /* bad id or key, missing right, guard */
    ETHOS_LIMIT = -6,    /* larger than a named limit (ethos/limits.h) */
    ETHOS_BUSY = -7,     /* a lock was not to be had before the deadline */
    ETHOS_IO = -8,       /* storage fault */
    ETHOS_NOMEM = -9,
    ETHOS_CORRUPT = -10,     /* a file of ours does not parse */
    ETHOS_UNSUPPORTED = -11, /* this backend cannot do that */
    ETHOS_INTERNAL = -12,
    ETHOS_MODEL = -13,  /* a language model failed, or there is none */
    ETHOS_PENDING = -14 /* not written: it waits for a person */
};

/*
 * text is the message exactly as documented; a name it quotes may hold any bytes (NUL shows as \x00),
 * so whoever prints it on a terminal escapes them. What does not fit ends in "...". hint says what to
 * do next, or is empty.
 */
struct ethos_error {
    int code;
    char text[512];
    char hint[192];
};

/* Borrowed bytes; not terminated. data NULL means absent, which differs from empty. */
struct ethos_view {
    const char *data;
    size_t size;
};

/*
 * What a turn is about, resolved: ids are valid and the scope ids say where memory lives. The host
 * makes it (ethos_turn_new); a provider only reads it. All strings outlive the call.
 */
struct ethos_context {
    const char *personality; /* id, never NULL */
    const char *user;        /* id, never NULL */
    const char *session;     /* session id or NULL */
    const char *platform;    /* "cli", "web", "telegram", ..., never NULL */
    const char *workspace;   /* real path of the workspace root, or NULL */
    const char *query; /* what the person just asked, at most ETHOS_MAX_QUERY bytes, or NULL */
    const char *memory_scope;    /* "personality:<id>" or "global": scope of MEMORY.md and notes */
    const char *user_scope;      /* "user:<id>", "global" or "personality:<id>": scope of USER.md */
    const char *workspace_scope; /* "workspace:<slug>-<hash>", or NULL when there is none */
    int workspace_shown;         /* whether prefetch shows the workspace's index */
    /* While user_scope has no USER.md, the first of these that has one is the profile. */
    const char *profile_fallback[2]; /* scope ids or NULL */
    /* Why workspace_scope is NULL although the workspace has, or may have, memory; or NULL. */
    const struct ethos_error *workspace_error;
    const char *global_scope; /* "global" when prefetch shows the index kept there; or NULL */
};

enum ethos_action {
    ETHOS_ACTION_ADD = 1,
    ETHOS_ACTION_REPLACE,
    ETHOS_ACTION_REMOVE,
    ETHOS_ACTION_DELETE
};

/* A file by store, by key, or by scope and key, as in struct ethos_update; any may be NULL. */
struct ethos_target {
    const char *store;
    const char *scope;
    const char *key;
};

/*
 * One MemoryUpdate. The target is named by store ("memory" or "user"), by key (USER.md is the user
 * store, every other key a file of the memory scope) or by scope and key; all NULL is the memory
 * store. text is the content, or for ETHOS_ACTION_REMOVE the substring whose lines go.
 */
struct ethos_update {
    enum ethos_action action;
    const char *store;
    const char *scope; /* a scope id, or personality, user, global, workspace of the context */
    const char *key;
    struct ethos_view text;
    const char *if_match; /* the revision before the call, "absent", or NULL for any */
};

/* Who writes, for history. NULL members are unknown; user and session are then those of the turn. */
struct ethos_origin {
    const char *actor;   /* "owner", an agent's name, ... */
    const char *via;     /* the surface: "cli", "mcp", "editor", "migrate", ... */
    const char *source;  /* one of the seven of the history format; NULL means "tool" */
    const char *session; /* session id */
    const char *session_key;
    const char *user; /* user id */
    /* A repeat of the same operation does nothing and gives the first report. */
    const char *op_id;     /* 1 to 128 of [A-Za-z0-9_.:-], or NULL */
    const char *op_digest; /* of what was asked for; set by the host */
    const char *undoes; /* numbers of the changes this one undoes, separated by commas, or NULL */
    const char *trust;  /* "owner", "agent", "untrusted"; NULL: by the actor */
    const char *approved_by; /* who let it happen, or NULL */
    const char *edited_from; /* hash of what was proposed, where that was edited before; or NULL */
};

/* ---- history ------------------------------------------------------------------------------- */

/*
 * One recorded change of one key. Strings are borrowed for the length of the call; NULL members are
 * unknown. A change that was taken back (it never became the text, or a crash undid it) is not
 * reported.
 */
struct ethos_change {
    uint64_t number; /* grows with every change of the scope; 0 when others wrote it */
    int64_t time_ms;
    const char *key;
    const char *actions; /* "add,remove", "external", "restore" */
    const char *source;  /* one of the seven of the history format */
    const char *via;
    const char *actor; /* "external" for an edit made outside, "ethos" for what answered it */
    const char *session;
    const char *session_key;
    const char *user;
    const char *op_id;
    const char *event;  /* "dropped", "reapplied", "merged", "partial", "restored"; or NULL */
    const char *undoes; /* numbers of the changes it undid, separated by commas, or NULL */
    const char *before; /* revisions, or "absent" */
    const char *after;
    uint64_t bytes_before, bytes_after;
    struct ethos_view diff; /* may be cut when it is long: then the two versions tell */
    int diff_whole;         /* the diff leads from one text to the other */
    uint64_t group;         /* number of the first change of the same update; 0: unknown */
    uint64_t group_size;    /* changes of that update; 0: unknown */
    const char *trust;      /* "owner", "agent", "untrusted" */
    const char *approved_by;
    const char *edited_from;
};

/* Return 0 to go on; any other value stops the walk and is returned by it. */
typedef int ethos_change_fn(void *arg, const struct ethos_change *change);

/* A text that could not be brought together with its file and was kept beside it. */
struct ethos_conflict {
    const char *id; /* names it within its scope */
    const char *key;
    int64_t time_ms;
    uint64_t bytes;
    const char *path; /* or NULL */
    const char *kind; /* "copy": kept by us; "foreign": left there by another program */
};

typedef int ethos_conflict_fn(void *arg, const struct ethos_conflict *conflict);

/*
 * What a purge looks for. A line holds it where the text stands as whole words: no letter or digit
 * continues it, where it begins or ends with one itself. Scripts written without spaces have no words.
 */
enum {
    ETHOS_MATCH_SUBSTRING = 1, /* also within words */
    ETHOS_MATCH_ANY_CASE = 2   /* in any letter case and normal form */
};

/* A line that a purge would take. */
struct ethos_purge_line {
    const char *key;
    uint64_t number; /* from 1 */
    struct ethos_view text;
};

/* Return 0 to go on; any other value stops the purge and is returned by it. */
typedef int ethos_purge_line_fn(void *arg, const struct ethos_purge_line *line);

struct ethos_match {
    struct ethos_view text; /* part of one line, not blank, at most ETHOS_MAX_MATCH bytes */
    unsigned flags;
    struct ethos_view also;    /* another form that counts like it, or absent */
    uint64_t salt;             /* random: files whose names hold the text get names made from it */
    ethos_purge_line_fn *each; /* or NULL: called by a dry run for every line of the texts of now */
    void *arg;
};

/* What a purge took away. */
struct ethos_purge {
    uint64_t lines;     /* of texts that stand now, the archive included */
    uint64_t versions;  /* recorded changes that held it */
    uint64_t blobs;     /* whole versions kept aside that held it */
    uint64_t conflicts; /* conflict copies that held it */
    uint64_t names;     /* files that were renamed, because their names held it */
    uint64_t calls;     /* calls that wait for a backend, or were refused there; not set by one */
};

/* ---- sync ---------------------------------------------------------------------------------- */

enum ethos_outcome_kind {
    ETHOS_OUTCOME_WRITTEN,
    ETHOS_OUTCOME_UNCHANGED,
    ETHOS_OUTCOME_CONFLICT,
    ETHOS_OUTCOME_FAILED,
    ETHOS_OUTCOME_QUEUED, /* the backend is out of reach: it is done when it is back */
    ETHOS_OUTCOME_PENDING /* it waits for a person */
};

/* What became of one key. Strings are borrowed for the length of the call. */
struct ethos_outcome {
    enum ethos_outcome_kind kind;
    const char *scope;
    const char *key;
    const char *revision;            /* now; "absent" when there is no such file, or queued */
    uint64_t chars;                  /* CH of the text now */
    uint64_t applied;                /* updates that changed it */
    uint64_t removals;               /* remove updates among those asked for */
    uint64_t matched;                /* lines they took out */
    const char *warning;             /* or NULL */
    const char *diff;                /* unified diff of the change when asked for, or NULL */
    const struct ethos_error *error; /* for a conflict or failure */
    const char *pending;             /* the id under which it waits; of a dry run "" */
};

typedef void ethos_outcome_fn(void *arg, const struct ethos_outcome *outcome);

enum { ETHOS_SYNC_DRY_RUN = 1, ETHOS_SYNC_DIFF = 2 };

/* How to write: who it is, what to leave out, and whom to tell. All zero is fine. */
struct ethos_sync_how {
    const struct ethos_origin *origin; /* or NULL */
    unsigned flags;
    ethos_outcome_fn *each; /* called once per key, or NULL */
    void *arg;
    const char *if_match; /* for restore, undo, save, resolve: the revision the file must have */
};

#ifdef __cplusplus
}
#endif
#endif
