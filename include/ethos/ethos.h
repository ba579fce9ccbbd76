/*
 * ethos/ethos.h: for those who embed the memory: open, prefetch, sync, read, write.
 *
 *     struct ethos *memory;
 *     struct ethos_turn *turn;
 *     struct ethos_block *block;
 *     struct ethos_error error;
 *
 *     if (ethos_open(NULL, &memory, &error)) ...           // ~/.ethos
 *     if (ethos_turn_new(memory, NULL, &turn, &error)) ... // who, where, which personality
 *     if (ethos_prefetch(turn, NULL, &block, &error)) ...
 *     if (block) prompt_append(block->text, block->size);
 *     ...
 *     if (ethos_sync(turn, updates, count, NULL, &error)) ...
 *
 * Nothing is cached that could disagree with the files: every prefetch and read looks at them. A
 * handle serves one thread at a time; open one per thread. The library starts no threads, installs
 * no signal handlers, prints nothing. examples/embed.c is the above as a program.
 */
#ifndef ETHOS_ETHOS_H
#define ETHOS_ETHOS_H

#include <ethos/limits.h>
#include <ethos/session.h>
#include <ethos/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ethos;
struct ethos_turn;
struct ethos_host; /* these three: ethos/provider.h */
struct ethos_store;
struct ethos_provider;

/* ---- handle -------------------------------------------------------------------------------- */

/*
 * All zero is the default. home NULL follows $ETHOS_HOME, $ETHOS_STATE_DIR, ~/.ethos; it need not
 * exist, the first write makes it. With ephemeral set, memory lives in a private temporary
 * directory that ethos_close removes, and the home gives only its configuration. provider or store
 * is an open backend that replaces the configured one for every personality; it belongs to the
 * handle from the call on, whether or not ethos_open succeeds.
 */
struct ethos_options {
    const char *home;
    int ephemeral;
    int fast; /* keep only the syncs that prevent torn files; power loss may take the last writes */
    int brief; /* in a hurry: waits ETHOS_BRIEF_DEADLINE_MS for others, leaves upkeep to them */
    const struct ethos_host *host; /* or NULL: malloc, silence, the system clock */
    struct ethos_provider *provider;
    struct ethos_store *store;
};

ETHOS_API int ethos_open(const struct ethos_options *options, struct ethos **out_ethos,
                         struct ethos_error *error);
ETHOS_API void ethos_close(struct ethos *self);

/* ---- turn ---------------------------------------------------------------------------------- */

/*
 * What the caller knows about the turn; all NULL means the local person in the active personality
 * and the current directory. platform_user with platform is looked up in the identity map when
 * user is NULL. workspace is a directory, "workspace:<id>" for one that is known (ETHOS_NOTFOUND
 * otherwise), or "" for none.
 */
struct ethos_request {
    const char *personality;
    const char *user;
    const char *session;
    const char *platform;
    const char *platform_user;
    const char *workspace;
    const char *query;
    int no_global; /* notes that all personalities share are neither shown nor found */
};

/*
 * Resolves a request: ids checked (ETHOS_DENIED, "unrecognised memory scope: ..."), configuration read,
 * scopes chosen. A turn belongs to its handle and is freed before it. It keeps the configuration of
 * the moment it was made and nothing of any memory file: make one per turn of the conversation.
 */
ETHOS_API int ethos_turn_new(struct ethos *self, const struct ethos_request *request,
                             struct ethos_turn **out_turn, struct ethos_error *error);
ETHOS_API void ethos_turn_free(struct ethos_turn *turn);

/* Who and where, as resolved. Borrowed, as long as the turn. */
ETHOS_API const struct ethos_context *ethos_turn_context(const struct ethos_turn *turn);

/* ---- prefetch ------------------------------------------------------------------------------ */

enum ethos_truncate { ETHOS_TRUNCATE_DEFAULT, ETHOS_TRUNCATE_BALANCED, ETHOS_TRUNCATE_TAIL };
enum ethos_switch { ETHOS_SWITCH_DEFAULT, ETHOS_SWITCH_ON, ETHOS_SWITCH_OFF };

/* Zero members follow the configuration. */
struct ethos_prefetch_options {
    uint64_t max_chars; /* CH; the block never exceeds it */
    uint64_t max_bytes; /* a ceiling in bytes beside it, or 0 */
    enum ethos_truncate truncate;
    enum ethos_switch guard; /* scan for injection and secrets */
    uint64_t
        max_recalled; /* of it for what the query finds, left free without one, too; 0: the setting,
                              with a query alone. At most half of it */
    int quick; /* a query may miss edits that did not replace their file, and reads no other text */
    int receipt;     /* fill parts, omitted and sources; reads the files whole */
    int tools;       /* what was cut says which tool of `ethos mcp` reads it */
    int no_sessions; /* a query finds nothing of what was said */
    int keep_sections; /* what a query finds stands behind all sections, so that those stay the same */
};

struct ethos_omission {
    char scope[ETHOS_MAX_SCOPE];
    char key[ETHOS_MAX_KEY + 1];
    uint64_t chars;     /* CH left out */
    uint64_t bytes;     /* bytes of the file left out */
    const char *reason; /* "budget", "guard", "secret" or "unreadable" */
};

struct ethos_source {
    char scope[ETHOS_MAX_SCOPE];
    char key[ETHOS_MAX_KEY + 1];
    char revision[ETHOS_REVISION_SIZE]; /* "" where the file is too large to read whole */
    char *path;                         /* or NULL for backends without files */
};

/*
 * A passage that the query found, and why it is shown: its score orders passages, evidence is the share of the
 * query's weight that it holds (0 to 1). words are those of the query that it has. What was said has the scope
 * "sessions", the id of its session as the key, and a message.
 */
struct ethos_found {
    char scope[ETHOS_MAX_SCOPE];
    char key[ETHOS_MAX_KEY + 1];
    char message[40]; /* or "" */
    uint64_t line;    /* from 1 */
    double score, evidence;
    double similarity; /* of its meaning and that of the query, 0 to 1; -1: unknown */
    char *words;       /* separated by blanks */
};

/*
 * The text for the prompt, terminated by a NUL that size does not count. code is ETHOS_OK, or why a
 * file that exists could not be read (the others are still shown; error says which). Views point
 * into the block.
 */
struct ethos_block {
    char *text;
    size_t size;
    uint64_t chars; /* CH */
    int code;
    struct ethos_error error;
    int64_t known_ms; /* 0: as it is now; else the backend is out of reach, and this was so then */
    struct ethos_view recalled; /* what the query found, at the end of the text, or absent */
    /* with receipt: */
    /* as shown, or absent */
    struct ethos_view user_memory, project_memory, workspace_memory, global_memory;
    struct ethos_omission *omitted;
    size_t omitted_count;
    struct ethos_source *sources;
    size_t source_count;
    struct ethos_found
        *found; /* what the query found, best first: passages of recalled, and entries
                                  of memory where it answers by meaning */
    size_t found_count;
    uint64_t left_out; /* entries that fitted the query, and are not shown */
};

/* *out_block is NULL when there is no memory at all; that is not an error. options may be NULL. */
ETHOS_API int ethos_prefetch(struct ethos_turn *turn, const struct ethos_prefetch_options *options,
                             struct ethos_block **out_block, struct ethos_error *error);
ETHOS_API void ethos_block_free(struct ethos_block *block);

/* ---- sync, read, write --------------------------------------------------------------------- */

/*
 * Applies updates in order; every id, key and text of the call is checked before the first write. The
 * result is the first conflict or failure, if any; scopes commit separately. how may be NULL.
 */
ETHOS_API int ethos_sync(struct ethos_turn *turn, const struct ethos_update *updates, size_t count,
                         const struct ethos_sync_how *how, struct ethos_error *error);

/*
 * The same from JSON: one update, an array, or {"updates": [...], "opId": ...}. An operation id in
 * it counts as that of the origin; ETHOS_INVALID when both are given and differ.
 */
ETHOS_API int ethos_sync_json(struct ethos_turn *turn, struct ethos_view json,
                              const struct ethos_sync_how *how, struct ethos_error *error);

/* One file. text is NULL and revision "absent" when there is none; path is NULL without files. */
struct ethos_file {
    char scope[ETHOS_MAX_SCOPE];
    char key[ETHOS_MAX_KEY + 1];
    char *text;
    size_t size;
    char *path;
    int64_t mtime_ms; /* or -1 */
    char revision[ETHOS_REVISION_SIZE];
    int unsettled;    /* somebody is saving the file; this is the last recorded version instead */
    int64_t known_ms; /* 0: as it is now; else the backend is out of reach, and this was so then */
};

/* target NULL is the memory store. A key that is no memory (settings, sidecars) is ETHOS_NOTFOUND. */
ETHOS_API int ethos_read(struct ethos_turn *turn, const struct ethos_target *target,
                         struct ethos_file **out_file, struct ethos_error *error);
ETHOS_API void ethos_file_free(struct ethos_file *file);

/*
 * Byte-exact, as an editor saves; replace in a sync is the agent's way. expect is the revision the
 * file must have, "absent", or NULL for any. Takes no operation id.
 */
ETHOS_API int ethos_write(struct ethos_turn *turn, const struct ethos_target *target,
                          const char *expect, struct ethos_view text,
                          const struct ethos_sync_how *how, struct ethos_error *error);

/*
 * An editor's save: base is the text the person started from. When the file moved meanwhile, the two
 * are merged by lines; where both changed the same place the file keeps its text, the person's whole
 * text is kept as a conflict copy, and *out_conflicts counts the places. how may be NULL. A file that
 * has not the revision how->if_match is ETHOS_CONFLICT, and nothing is kept.
 */
ETHOS_API int ethos_save(struct ethos_turn *turn, const struct ethos_target *target,
                         struct ethos_view base, struct ethos_view text,
                         const struct ethos_sync_how *how, unsigned *out_conflicts,
                         struct ethos_error *error);

/* ---- notes --------------------------------------------------------------------------------- */

/* What to do when a note of this title is there. */
enum ethos_again {
    ETHOS_AGAIN_ADD,     /* add to it, unless it says so already */
    ETHOS_AGAIN_REPLACE, /* give it this text instead */
    ETHOS_AGAIN_NEW,     /* make a second note */
    ETHOS_AGAIN_ASK      /* leave it as it is: the effect is "exists" */
};

/* One fact to keep as a note of its own. Only text is needed. */
struct ethos_fact {
    struct ethos_view text;
    struct ethos_view title; /* absent: made from the text */
    struct ethos_view hook;  /* when the note matters; absent: the first line of the text */
    const char *type;        /* user, feedback, project (default) or reference */
    const char *scope;       /* NULL: the workspace; as in struct ethos_update */
    enum ethos_again again;
};

/* What became of it. */
struct ethos_kept {
    char scope[ETHOS_MAX_SCOPE];
    char key[ETHOS_MAX_KEY + 1];
    /* "created", "appended", "replaced", "unchanged" (also when another note has this text) or "exists"; static */
    const char *effect;
};

/*
 * Keeps a fact: its note and its line in the index MEMORY.md change together or not at all.
 * ETHOS_LIMIT when the index or the note would outgrow what can be read. how->each is told of both
 * files. An operation id of the origin makes a repeat harmless. how->if_match is the revision that the note
 * must have.
 */
ETHOS_API int ethos_remember(struct ethos_turn *turn, const struct ethos_fact *fact,
                             const struct ethos_sync_how *how, struct ethos_kept *out_kept,
                             struct ethos_error *error);

/* One note of a scope. Strings are borrowed for the length of the call; NULL members are unknown. */
struct ethos_note {
    const char *key;
    const char *title;
    const char *hook; /* of its line in the index, else its description */
    const char *type;
    const char *created, *verified, *expires; /* YYYY-MM-DD as the note says */
    const char *stale;                        /* why it is not to be trusted unseen, or NULL */
    int listed;                               /* the index has a line for it */
    uint64_t bytes;
    int64_t mtime_ms; /* or -1 */
    struct ethos_view text;
};

/* Return 0 to go on; any other value stops the walk and is returned by it. */
typedef int ethos_note_fn(void *arg, const struct ethos_note *note);

/* The notes of a scope (NULL: the workspace): in the order of the index, then those without line. */
ETHOS_API int ethos_notes(struct ethos_turn *turn, const char *scope, ethos_note_fn *each,
                          void *arg, struct ethos_error *error);

/*
 * The file a name means: a key with or without .md, or a title. ETHOS_NOTFOUND hints at near ones,
 * ETHOS_INVALID names those that share a title.
 */
ETHOS_API int ethos_note_find(struct ethos_turn *turn, const char *scope, const char *name,
                              char out_key[ETHOS_MAX_KEY + 1], struct ethos_error *error);

/* Takes a note and its line away; history keeps both. */
ETHOS_API int ethos_note_remove(struct ethos_turn *turn, const char *scope, const char *name,
                                const struct ethos_sync_how *how, struct ethos_error *error);

/*
 * Gives a note another name: a file name, or a title of which one is made. Its line and the links
 * [[name]] of the other notes follow. ETHOS_EXISTS when there is such a note.
 */
ETHOS_API int ethos_note_move(struct ethos_turn *turn, const char *scope, const char *name,
                              const char *new_name, const struct ethos_sync_how *how,
                              char out_key[ETHOS_MAX_KEY + 1], struct ethos_error *error);

/* What reindexing mends: "unlisted", "missing" or "double", and the line of the index or 0. */
typedef void ethos_mend_fn(void *arg, const char *problem, const char *key, uint64_t line);

/* Brings index and notes of a scope into agreement: one line per note. All else stays. */
ETHOS_API int ethos_notes_reindex(struct ethos_turn *turn, const char *scope,
                                  const struct ethos_sync_how *how, ethos_mend_fn *each, void *arg,
                                  struct ethos_error *error);

/* ---- the memory tool ----------------------------------------------------------------------- */

/* What a model is told. A mistake of its own (a path, a text that is not there) is a reply too. */
struct ethos_reply {
    char *text; /* terminated by a NUL that size does not count */
    size_t size;
    int is_error;
};

/*
 * Runs one command of the memory tool of the Anthropic API (memory_20250818), a JSON object as the model
 * gave it, over the files below memories/ of a scope (NULL: that of MEMORY.md). A command changes all
 * its files or none. ETHOS_INVALID for what is no JSON object; other codes are failures that the
 * model can do nothing about. how may be NULL; its origin may not have an operation id.
 */
ETHOS_API int ethos_memory_tool(struct ethos_turn *turn, const char *scope, struct ethos_view json,
                                const struct ethos_sync_how *how, struct ethos_reply **out_reply,
                                struct ethos_error *error);
ETHOS_API void ethos_reply_free(struct ethos_reply *reply);

/* ---- history ------------------------------------------------------------------------------- */

/* Which changes of a file; all zero means all. Strings match exactly. */
struct ethos_filter {
    const char *actor;
    const char *session; /* session id or key */
    const char *source;  /* source or via */
    int64_t since_ms;    /* at or after; 0: any */
    int64_t until_ms;    /* at or before; 0: any */
    uint64_t limit;      /* changes reported at most; 0: any */
    uint64_t number;     /* the change with this number; 0: any */
};

/* The changes of a file, newest first; an edit made outside is recorded before, if it can be. */
ETHOS_API int ethos_history(struct ethos_turn *turn, const struct ethos_target *target,
                            const struct ethos_filter *filter, ethos_change_fn *each, void *arg,
                            struct ethos_error *error);

/*
 * The file as it was. name is a revision, at least 6 hex digits that begin one, or the number of a
 * change ("42" or "#42": the text after it). ETHOS_NOTFOUND, or ETHOS_INVALID for a name that fits
 * several. text is NULL for a version in which the file did not exist.
 */
ETHOS_API int ethos_read_version(struct ethos_turn *turn, const struct ethos_target *target,
                                 const char *name, struct ethos_file **out_file,
                                 struct ethos_error *error);

/* Writes a version back, byte for byte, as a new version. */
ETHOS_API int ethos_restore(struct ethos_turn *turn, const struct ethos_target *target,
                            const char *name, const struct ethos_sync_how *how,
                            struct ethos_error *error);

/*
 * Undoes changes, newest first: with a filter of actor, session or times all that it names, else the
 * newest one. Changes that were undone before, and undoing itself, are passed over. The newest
 * change of a file is undone byte for byte; an older one by merging, and when later changes stand
 * in the same lines the call is ETHOS_CONFLICT and nothing is written. ETHOS_NOTFOUND when there is
 * nothing to undo. A change that was made together with changes of other files (a note and its line in
 * the index) is undone together with them, in one write. A filter that names a number may name an undo.
 */
ETHOS_API int ethos_undo(struct ethos_turn *turn, const struct ethos_target *target,
                         const struct ethos_filter *filter, const struct ethos_sync_how *how,
                         struct ethos_error *error);

/* One line of a file and the change that put it there; change is NULL for what was there before. */
struct ethos_blame {
    uint64_t line; /* from 1 */
    struct ethos_view text;
    const struct ethos_change *change;
    /*
     * What the change took out in its place, or absent: the first line that it put somewhere replaced the first
     * that it took out there, and so on; the last one all that are left. At most 4096 bytes; the rest is cut off.
     */
    struct ethos_view replaced;
};
typedef int ethos_blame_fn(void *arg, const struct ethos_blame *blame);

/* line 0: every line. ETHOS_NOTFOUND past the end. */
ETHOS_API int ethos_blame(struct ethos_turn *turn, const struct ethos_target *target, uint64_t line,
                          ethos_blame_fn *each, void *arg, struct ethos_error *error);

/*
 * Takes every line that holds a match out of the file's scope, its archive, its history and its conflict
 * copies, and out of calls that wait for a backend, for good; files whose names hold it are renamed.
 * ETHOS_NOTFOUND when nothing has it. With ETHOS_BUSY only the calls were rid of it, if any.
 */
ETHOS_API int ethos_forget(struct ethos_turn *turn, const struct ethos_target *target,
                           const struct ethos_match *match, const struct ethos_sync_how *how,
                           struct ethos_purge *out_purge, struct ethos_error *error);

/* ---- conflicts ----------------------------------------------------------------------------- */

/* The conflict copies beside the files of a target's scope, oldest first. */
ETHOS_API int ethos_conflicts(struct ethos_turn *turn, const struct ethos_target *target,
                              ethos_conflict_fn *each, void *arg, struct ethos_error *error);
ETHOS_API int ethos_conflict_read(struct ethos_turn *turn, const struct ethos_target *target,
                                  const char *id, struct ethos_file **out_file,
                                  struct ethos_error *error);

enum ethos_resolution {
    ETHOS_RESOLVE_KEEP, /* the file stays as it is */
    ETHOS_RESOLVE_TAKE, /* the copy becomes the file */
    ETHOS_RESOLVE_BOTH  /* lines of the copy that the file lacks are added to it */
};

/*
 * Ends a conflict; the copy's text goes to history before the copy goes. ETHOS_CONFLICT, and both stay,
 * when the file has not the revision how->if_match.
 */
ETHOS_API int ethos_conflict_resolve(struct ethos_turn *turn, const struct ethos_target *target,
                                     const char *id, enum ethos_resolution resolution,
                                     const struct ethos_sync_how *how, struct ethos_error *error);

/* ---- sessions ------------------------------------------------------------------------------ */

/*
 * The conversations of the home, as a table of functions (ethos/session.h): append, list, search, fork.
 * Borrowed, as long as the handle; opened at first use. With ephemeral memory it is a throwaway one.
 */
ETHOS_API int ethos_sessions(struct ethos *self, struct ethos_sessions **out_sessions,
                             struct ethos_error *error);

/*
 * The session a name means: an id, a key, or the start of exactly one id. ETHOS_NOTFOUND, or
 * ETHOS_INVALID for the start of several.
 */
ETHOS_API int ethos_session_find(struct ethos *self, const char *name, char out_id[ETHOS_UUID_SIZE],
                                 struct ethos_error *error);

/*
 * The conversation that goes on in a folder (NULL: the current directory): the newest of its key
 * family, made when there is none or when a fresh one is asked for. Folders of the same name have
 * conversations of their own; one that an older program recorded without its folder is taken over.
 */
ETHOS_API int ethos_session_current(struct ethos_turn *turn, const char *folder, int fresh,
                                    char out_id[ETHOS_UUID_SIZE], struct ethos_error *error);

/* "notfound", "conflict", ...: the name in lower case, as in --json errors. */
ETHOS_API const char *ethos_code_name(int code);

ETHOS_API const char *ethos_version(void);

#ifdef __cplusplus
}
#endif
#endif
