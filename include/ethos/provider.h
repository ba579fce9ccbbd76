/*
 * ethos/provider.h: for those who implement a backend.
 *
 * There are two ways in. A *store* keeps text under (scope, key) with a revision and never looks
 * inside it; the host adds all meaning (add, replace, remove, budgets, redaction), so a store is
 * the usual choice, and four functions suffice (examples/store_scroll.c). A *provider* answers prefetch
 * and sync itself, for engines that are more than a store (semantic search, a remote service).
 *
 * A backend is given to the host as an argument of ethos_open, or compiled into a shared object
 * that defines `const struct ethos_module ethos_module` and is named by its absolute path in
 * `memory.provider`. Only the types of this header and of ethos/types.h cross that border: a module
 * calls no function of the host except those in struct ethos_host. docs/backends.md is the way there,
 * and `ethos conformance` tells whether one has arrived.
 *
 * Tables grow at the end only and begin with the ABI number they were compiled against; slots past
 * the mandatory ones may be NULL. Every call on one object is made by one thread at a time.
 */
#ifndef ETHOS_PROVIDER_H
#define ETHOS_PROVIDER_H

#include <ethos/limits.h>
#include <ethos/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ETHOS_ABI 4

struct ethos_sessions_ops; /* ethos/session.h */

/* ---- host services ------------------------------------------------------------------------- */

enum ethos_level { ETHOS_LOG_ERROR, ETHOS_LOG_WARN, ETHOS_LOG_INFO, ETHOS_LOG_DEBUG };

/*
 * resize is realloc with a context: size 0 frees and returns NULL, and NULL otherwise means no
 * memory. Every buffer that crosses the border is obtained and freed through it. now_ms is wall
 * time. log never receives memory content. The table outlives every object opened with it.
 */
struct ethos_host {
    uint32_t abi;
    void *arg;
    void *(*resize)(void *arg, void *block, size_t size);
    void (*log)(void *arg, enum ethos_level level, const char *line);
    int64_t (*now_ms)(void *arg);
};

/* ---- settings ------------------------------------------------------------------------------ */

/*
 * A secret NAME is given as NAMEFile (a path, relative to the home; the text without its last line end),
 * NAMEEnv (a variable) or, in a file that only its owner reads, as NAME; it reaches the backend as NAME and
 * is never shown.
 */
enum ethos_option_type {
    ETHOS_OPTION_STRING,
    ETHOS_OPTION_INTEGER,
    ETHOS_OPTION_BOOLEAN,
    ETHOS_OPTION_SECRET
};

/* What a backend understands under `memory.options.`; a row with name NULL ends the table. */
struct ethos_option {
    const char *name;
    enum ethos_option_type type;
    const char *fallback; /* value when not set, or NULL */
    const char *help;
};

/* One configured value, checked by the host against the option table before open is called. */
struct ethos_setting {
    const char *name;
    const char *value;
};

enum {
    ETHOS_SETUP_FAST = 1, /* durability: fast */
    ETHOS_SETUP_IN_PLACE =
        2,                 /* write_in_place: a file that cannot be replaced may be overwritten */
    ETHOS_SETUP_BRIEF = 4, /* somebody waits: what can be done later by others is left to them */
    ETHOS_SETUP_REACH = 8, /* the host has another answer: who is not there is asked once, for
                              ETHOS_ATTEMPT_MS, and open is ETHOS_BUSY then */
    /* a server: who is not there is waited for until the deadline; by others for ETHOS_REACH_MS, until he has
       answered once */
    ETHOS_SETUP_STAYS = 16,
    /* one version after the other will be asked for: what they are made from may stay in memory */
    ETHOS_SETUP_WALKS = 32
};

/*
 * How long a server is waited for, and that it did not answer: shared by everything that a handle opens
 * with the same settings, so that an operation waits once and not for each text. The host owns it and
 * changes call_ms between calls; a module that connects to nobody ignores it. Times are CLOCK_MONOTONIC.
 *
 * wait stands for poll(2) (and, with count 0, for a sleep), so that the host can serve others meanwhile.
 * -1: the host gives the call up, which ends as though the server had not answered.
 */
struct pollfd;
struct ethos_deadline {
    uint32_t read_ms;  /* most for one connection, and for reading texts; 0: no limit of its own */
    uint32_t call_ms;  /* most for any call now; 0: no limit of its own */
    uint32_t tried_ms; /* how long the server had when it did not answer */
    int64_t
        retry_at_ms; /* until then, a call that may wait no longer than that gets the error at once */
    struct ethos_error error;
    int (*wait)(void *arg, struct pollfd *fds, unsigned long count, int timeout_ms); /* or NULL */
    void *wait_arg;
};

/*
 * What a backend is opened with. root is where files would live; allow lists the directories that
 * links may lead into, separated by commas (or NULL). Neither comes from memory.options.
 */
struct ethos_setup {
    const struct ethos_host *host;
    const struct ethos_setting *settings;
    size_t setting_count;
    const char *root;
    const char *allow;
    uint32_t flags;
    uint32_t deadline_ms;            /* how long a call may wait for a lock or a connection */
    struct ethos_deadline *deadline; /* or NULL: each call waits on its own */
};

/* ---- texts --------------------------------------------------------------------------------- */

/*
 * A text and where it came from. The caller owns it and may hand the same one in again: a store
 * grows data through the host and sets every other member. Start from all zero.
 */
struct ethos_text {
    char *data;
    size_t size;     /* bytes in data */
    size_t capacity; /* bytes allocated */
    uint64_t
        offset;     /* where data[0] stands in the whole text; 0 unless only a tail was asked for */
    uint64_t total; /* bytes of the whole text */
    int64_t mtime_ms; /* last change, or -1 */
    int unsettled;    /* somebody is writing the file; this is the last recorded version instead */
    char revision[ETHOS_REVISION_SIZE]; /* "" unless asked for */
    uint64_t stamp;   /* which reading this is, for ETHOS_READ_AGAIN; 0: unknown */
    int64_t known_ms; /* 0: as it is now; else the host's copy of that time. Not set by a backend */
};

/*
 * AGAIN: stamp is that of an earlier reading of this text, and the caller knows that no directory on the
 * way to it has changed since. If the text has not either, a store may leave all members as they are; one
 * that cannot tell reads it.
 */
enum { ETHOS_READ_REVISION = 1, ETHOS_READ_AGAIN = 2 };

/*
 * What a reader needs: the last tail_bytes (0: everything), and which extras to pay for. A store
 * may always give more than the tail.
 */
struct ethos_read_how {
    uint64_t tail_bytes;
    unsigned flags;
};

enum ethos_section_id {
    ETHOS_SECTION_USER,
    ETHOS_SECTION_MEMORY,
    ETHOS_SECTION_WORKSPACE,
    ETHOS_SECTION_GLOBAL,
    ETHOS_SECTIONS
};

/*
 * One part of the memory block, raw: the host guards, redacts, cuts and renders. code is ETHOS_OK
 * when text holds something, ETHOS_NOTFOUND when there is nothing, or why it could not be read.
 * scope and key name the source.
 */
struct ethos_section {
    int code;
    struct ethos_text text;
    char scope[ETHOS_MAX_SCOPE];
    char key[ETHOS_MAX_KEY + 1];
    struct ethos_error error;
};

/* ---- store --------------------------------------------------------------------------------- */

/*
 * Capability bits of an open store: behaviour is chosen by these and by which optional slots are
 * filled, never by a backend's name.
 */
enum {
    ETHOS_STORE_PATHS = 1,   /* texts are files a person can open */
    ETHOS_STORE_DURABLE = 2, /* what was acknowledged survives the process and the power */
    ETHOS_STORE_ONCE = 4,    /* update remembers operation ids */
    ETHOS_STORE_HISTORY = 8  /* every version stays readable: history and version are there */
};

/* Every store object starts with this; the rest is its own. */
struct ethos_store {
    const struct ethos_store_ops *ops;
    uint32_t capabilities;
    uint32_t reserved;
};

struct ethos_entry {
    const char *key;
    uint64_t bytes;
    int64_t mtime_ms; /* or -1 */
};

/* Return 0 to go on; any other value stops the walk and is returned by it. */
typedef int ethos_entry_fn(void *arg, const struct ethos_entry *entry);

/* Repeated is set by the store, never by a callback: this operation was done before. */
enum ethos_verdict { ETHOS_EDIT_KEEP, ETHOS_EDIT_PUT, ETHOS_EDIT_DROP, ETHOS_EDIT_REPEATED };

/*
 * One key of an update. In: key, the rest zero. Seen by the callback: old (data NULL when absent,
 * revision set when present); the caller frees old.data through the host when update has returned. Out of the callback: verdict and, for ETHOS_EDIT_PUT, text, which must stay valid
 * until the callback is called again or update returns. Out of update: revision of the new text,
 * "" after ETHOS_EDIT_DROP.
 */
struct ethos_edit {
    const char *key;
    struct ethos_text old;
    enum ethos_verdict verdict;
    struct ethos_view text;
    char revision[ETHOS_REVISION_SIZE];
    char receipt[ETHOS_RECEIPT_SIZE]; /* set by the callback, remembered with the operation id */
    const char
        *actions; /* for history, set by the callback: "add,remove"; NULL: "replace", "delete" */
};

/*
 * A pure function from the old texts to verdicts. It may be called several times when the text
 * moves meanwhile; a code other than ETHOS_OK ends the update with that code, nothing written.
 */
typedef int ethos_edit_fn(void *arg, struct ethos_edit *edits, size_t count,
                          struct ethos_error *error);

/*
 * One update among several that are handed over at once. In: the arguments of update, error maybe
 * NULL. Out: code and error, what update would have returned.
 */
struct ethos_edit_call {
    struct ethos_edit *edits;
    size_t count;
    ethos_edit_fn *edit;
    void *arg;
    const struct ethos_origin *origin;
    struct ethos_error *error;
    int code;
};

enum ethos_severity { ETHOS_FINDING_FIXED, ETHOS_FINDING_WARNING, ETHOS_FINDING_ERROR };

/* One thing doctor found: what it is about, what is wrong, and the command or act that mends it. */
struct ethos_finding {
    enum ethos_severity severity;
    const char *subject;
    const char *problem;
    const char *remedy;
};

typedef void ethos_finding_fn(void *arg, const struct ethos_finding *finding);

/* Return 0 to go on; any other value stops the walk and is returned by it. */
typedef int ethos_scope_fn(void *arg, const char *scope);

/* ---- a store that is a database ------------------------------------------------------------- */

/*
 * A database need not know what an update, an undo or a purge is. It keeps, for each scope, a number,
 * the version (0: never written), and four tables:
 *
 *   texts       key -> text, revision, time
 *   rows        number -> one change
 *   operations  id -> what that operation left
 *   copies      id -> a text kept beside a key
 *
 * The host reads what it needs (fetch), works out what follows from it, and hands that back (commit),
 * which happens as a whole and only while the scope still has the version that was fetched. update, batch, history,
 * version, purge and conflicts are made from that by the host, the same for every database. The
 * store adds ETHOS_STORE_DURABLE when its engine is set up so.
 */
struct ethos_fetch {
    /* in: key, old all zero; out: old, as a callback of update sees it (whole, with its revision) */
    struct ethos_edit *edits;
    size_t count; /* of different keys; may be 0 */
    /*
     * In: ids, all different; records all zero. Out: the record of each, data NULL for an unknown one. The
     * caller frees both kinds through the host, also after a failure.
     */
    const char *const *op_ids;
    struct ethos_text *records;
    size_t op_count;
    uint64_t version; /* out: all of this is from the moment when it was this one */
};

/*
 * A change. Its diff leads from the text before to the text after, or `whole` is the text after: so every
 * version can be made from the rows of its key, the first of which starts from no text, or from its `base`. A
 * store keeps every member as it is: strings that are NULL, a diff, a whole and a base of any bytes, an absent view
 * other than an empty one.
 */
struct ethos_row {
    struct ethos_change change;
    struct ethos_view whole; /* or absent */
    struct ethos_view base;  /* the text before, where no earlier row leads to it; else absent */
};

/* Must not call the store; nor must one of copies. A value other than 0 ends the walk and is returned by it. */
typedef int ethos_row_fn(void *arg, const struct ethos_row *row);

struct ethos_copy {
    const char *id; /* any bytes in the id of a question; ids in byte order are in order of time */
    const char *key;
    int64_t time_ms;
    struct ethos_view text; /* of a commit: absent takes the copy away */
};
typedef int ethos_copy_fn(void *arg, const struct ethos_copy *copy);

/* One whose id is known already takes the place of the older one; so does a copy. */
struct ethos_done {
    const char *op_id;
    struct ethos_view record;
};

/*
 * All of it or nothing, durable when it returns ETHOS_OK; ETHOS_CONFLICT when the scope has another version
 * than `version`. It then has `next`. A row whose number is not above `version` replaces the one of that
 * number, all others are new.
 *
 * When the answer to a commit is lost, the store asks again by the token, which is kept with the version: a
 * scope that has version `next` and this token has seen this commit. A later commit hides that, so each new row
 * keeps the token, too. Only when neither can be known is the code ETHOS_IO; ETHOS_BUSY means that
 * nothing was or will be done.
 */
struct ethos_commit {
    uint64_t version, next;
    const char *token; /* 32 hex digits, another one for each commit */
    int64_t time_ms;   /* now: of the texts that change */
    const struct ethos_edit
        *edits; /* ETHOS_EDIT_PUT: text and revision; ETHOS_EDIT_DROP; the rest stays */
    size_t edit_count;
    const struct ethos_row *rows;
    size_t row_count;
    const struct ethos_done *done;
    size_t done_count;
    const struct ethos_copy *copies;
    size_t copy_count;
    /*
     * Operations done before forget_ms (0: none) are forgotten, but for the `keep` newest of the scope, by
     * their times: one that is old and that many came after. The oldest go first, ETHOS_OPID_AT_ONCE or more;
     * the others may wait for the next time, for more go then than have come.
     */
    int64_t forget_ms;
    uint64_t keep; /* 1 at least; a store may keep others of the same time as the last of them */
};

/*
 * Ids and keys arrive checked by the host; a store still must not let them reach outside its own
 * space. A key is a file name, in a scope "memories:<scope>" a relative path. `expect` is the revision
 * the text must have, "absent", or NULL for any; when it does not hold, the call answers
 * ETHOS_CONFLICT and nothing has changed. Equal bytes have equal revisions.
 */
struct ethos_store_ops {
    uint32_t abi;
    const char *name;
    const struct ethos_option *options; /* or NULL: takes none */

    /* mandatory */
    int (*open)(const struct ethos_setup *setup, struct ethos_store **out_store,
                struct ethos_error *error);
    void (*close)(struct ethos_store *self);

    /* ETHOS_NOTFOUND when absent. */
    int (*read)(struct ethos_store *self, const char *scope, const char *key,
                const struct ethos_read_how *how, struct ethos_text *out_text,
                struct ethos_error *error);

    int (*write)(struct ethos_store *self, const char *scope, const char *key, const char *expect,
                 struct ethos_view text, const struct ethos_origin *origin,
                 char out_revision[ETHOS_REVISION_SIZE], struct ethos_error *error);

    /* ETHOS_NOTFOUND when absent (ETHOS_CONFLICT when expect names a revision). */
    int (*remove)(struct ethos_store *self, const char *scope, const char *key, const char *expect,
                  const struct ethos_origin *origin, struct ethos_error *error);

    /*
     * Keys in byte order; a scope that was never written is empty. In a tree ("memories:...") no half
     * of an update may be seen; each must not call the store there.
     */
    int (*list)(struct ethos_store *self, const char *scope, ethos_entry_fn *each, void *arg,
                struct ethos_error *error);

    /*
     * Optional from here on: NULL where a store lacks it.
     *
     * Read-modify-write of several keys of one scope, all or none: new keys first, then the others
     * in the order given, an earlier one durable before a later one changes. When every verdict is ETHOS_EDIT_KEEP the store stays
     * untouched. Without it the host loops over read and write.
     *
     * With ETHOS_STORE_ONCE, an origin with op_id and op_digest makes a repeat harmless: when the
     * scope knows the id with the same digest, nothing is written, and every edit of the first time,
     * changed or not, comes back as ETHOS_EDIT_REPEATED with the revision and receipt of then
     * (another key as ETHOS_EDIT_KEEP); old says nothing. With another digest the call is
     * ETHOS_DENIED, "operation id used for other updates: <id>". Only an update that changed
     * something is remembered.
     */
    int (*update)(struct ethos_store *self, const char *scope, struct ethos_edit *edits,
                  size_t count, ethos_edit_fn *edit, void *arg, const struct ethos_origin *origin,
                  struct ethos_error *error);

    /* Absolute path of the file behind a key, whether or not it exists. */
    int (*locate)(struct ethos_store *self, const char *scope, const char *key, char *path,
                  size_t size, struct ethos_error *error);

    /* Looks for what is wrong with the store itself; with fix, mends what is safe to mend. */
    int (*check)(struct ethos_store *self, int fix, ethos_finding_fn *each, void *arg,
                 struct ethos_error *error);

    /*
     * With ETHOS_STORE_HISTORY. The changes of a key (NULL: of every key), newest first; each starts
     * from the text the one before it left. An edit made outside is recorded by the next update of
     * its key, an update that keeps everything included. A change whose via is "seen" is none: the
     * key kept its text `before`, and `after` names a text that was met beside it and is kept as a
     * version.
     */
    int (*history)(struct ethos_store *self, const char *scope, const char *key,
                   ethos_change_fn *each, void *arg, struct ethos_error *error);

    /*
     * The text a key had at a revision that its history names. ETHOS_NOTFOUND when it never had it,
     * ETHOS_CORRUPT when what is kept does not lead there.
     */
    int (*version)(struct ethos_store *self, const char *scope, const char *key,
                   const char *revision, struct ethos_text *out_text, struct ethos_error *error);

    /*
     * Drops every line that holds a match from every text of the scope, archive included, and from
     * every recorded version. A key whose name holds it becomes another one, in history as well. What
     * remains of history stays consistent; a text that lost lines gets a change whose via is "purge"
     * and whose revisions are equal. A blank text is ETHOS_INVALID; with dry_run it only counts and
     * tells match->each.
     */
    int (*purge)(struct ethos_store *self, const char *scope, const struct ethos_match *match,
                 int dry_run, const struct ethos_origin *origin, struct ethos_purge *out_purge,
                 struct ethos_error *error);

    /*
     * Keeps a text beside a key's file, to be listed until it is dropped; one that is kept there
     * already is not kept twice. Durable.
     */
    int (*set_aside)(struct ethos_store *self, const char *scope, const char *key,
                     struct ethos_view text, struct ethos_error *error);

    /*
     * What was kept so, oldest first; its text; taking it away. ETHOS_NOTFOUND for an unknown id.
     * Before a copy goes, its text is a version of its key: one it had anyway, or one seen.
     */
    int (*conflicts)(struct ethos_store *self, const char *scope, ethos_conflict_fn *each,
                     void *arg, struct ethos_error *error);
    int (*conflict_read)(struct ethos_store *self, const char *scope, const char *id,
                         struct ethos_text *out_text, struct ethos_error *error);
    int (*conflict_drop)(struct ethos_store *self, const char *scope, const char *id,
                         struct ethos_error *error);

    /* Makes a text a version of a key, one it had anyway or one seen; the key keeps its own. */
    int (*keep)(struct ethos_store *self, const char *scope, const char *key,
                struct ethos_view text, struct ethos_error *error);

    /*
     * Several updates of one scope: as if they had been called one after the other, each all or none,
     * each seeing what those before it left, with a history and an operation id of its own. One that
     * is refused fails alone. What they changed becomes durable together, and none is told before
     * it is: when that fails, every one that changed something fails with it, and so does every one
     * that came after, having seen what is gone. A text that a callback gave must stay valid until
     * batch returns: no two of them share a buffer. Other callers may come between two of them.
     */
    void (*batch)(struct ethos_store *self, const char *scope, struct ethos_edit_call *calls,
                  size_t count);

    /*
     * Reads several texts, of any scopes, as they were at one moment: scope and key of each section
     * are set, code, text and error of each are the answer. The call itself fails only when nothing could
     * be asked. Without it the host reads one after the other.
     */
    int (*gather)(struct ethos_store *self, const struct ethos_read_how *how,
                  struct ethos_section *sections, size_t count, struct ethos_error *error);

    /* Every scope that was ever written, trees included, in byte order. each must not call the store. */
    int (*scopes)(struct ethos_store *self, ethos_scope_fn *each, void *arg,
                  struct ethos_error *error);

    /*
     * Tells which scopes changed since the last call, whoever changed them; the first call only begins.
     * scope NULL: any may have. *out_fd becomes readable when there may be something to tell, or is -1;
     * *out_wait_ms: call again after this time though it does not; 0: no need. Both may be others
     * after each call.
     */
    int (*watch)(struct ethos_store *self, ethos_scope_fn *each, void *arg, int *out_fd,
                 unsigned *out_wait_ms, struct ethos_error *error);

    /*
     * The four that make a store of a database: see above struct ethos_fetch. A store has all of them or
     * none; with them it leaves write, remove and every slot from update to batch, but for check, NULL.
     */
    int (*fetch)(struct ethos_store *self, const char *scope, struct ethos_fetch *fetch,
                 struct ethos_error *error);
    int (*commit)(struct ethos_store *self, const char *scope, const struct ethos_commit *commit,
                  struct ethos_error *error);

    /*
     * The changes of a key (NULL: of every key), newest first, those numbered below `below` (0: all), at
     * most `limit`.
     */
    int (*rows)(struct ethos_store *self, const char *scope, const char *key, uint64_t below,
                size_t limit, ethos_row_fn *each, void *arg, struct ethos_error *error);

    /* The kept copy with this id, if there is one (NULL: every one), oldest first. */
    int (*copies)(struct ethos_store *self, const char *scope, const char *id, ethos_copy_fn *each,
                  void *arg, struct ethos_error *error);

    /*
     * Optional, with ETHOS_STORE_HISTORY; the host makes it where there is commit. Appends changes as another
     * store had them: every member stays what it is, number and time included. The rows are in order, with
     * growing numbers above `version`, which is the number of the newest change there is (0: none), else
     * ETHOS_CONFLICT. A row has both its texts, base before and whole after it; one that is absent, though its
     * revision is not, is lost, and then the diff is all there is. `edits` are the texts as they are after the last row, each
     * key once, KEEP for one that stays. A text that no change led to (a file put there by hand) is ETHOS_CONFLICT,
     * too. Of `copies`, time and key are kept; a store may leave them to set_aside. next, token and time are not
     * looked at, nor is done. All or nothing, durable.
     */
    int (*graft)(struct ethos_store *self, const char *scope, const struct ethos_commit *commit,
                 struct ethos_error *error);
};

/* ---- provider ------------------------------------------------------------------------------ */

/*
 * Capability bits of an open provider: the flags of ethos_sync_how it honours, and op_id. A semantic one answers by
 * meaning: prefetch shows what fits context->query, and need not show everything that was added.
 */
enum {
    ETHOS_PROVIDER_DRY_RUN = 1,
    ETHOS_PROVIDER_DIFF = 2,
    ETHOS_PROVIDER_ONCE = 4,
    ETHOS_PROVIDER_SEMANTIC = 8
};

struct ethos_provider {
    const struct ethos_provider_ops *ops;
    uint32_t capabilities;
    uint32_t reserved;
};

/*
 * The contract of the seeds. prefetch fills the sections it has something for (the host presets every
 * code to ETHOS_NOTFOUND and may hand in more sections than a provider knows). sync applies the
 * updates in order, per scope all or nothing, and reports each key it touched. Updates arrive targeted:
 * scope and key are set and checked, store is NULL. When one scope conflicts or fails, the others still
 * commit and the first such code is returned. Flags of ethos_sync_how and an op_id in its origin
 * arrive only when announced.
 */
struct ethos_provider_ops {
    uint32_t abi;
    const char *name;
    const struct ethos_option *options;

    int (*open)(const struct ethos_setup *setup, struct ethos_provider **out_provider,
                struct ethos_error *error);
    void (*close)(struct ethos_provider *self);

    int (*prefetch)(struct ethos_provider *self, const struct ethos_context *context,
                    const struct ethos_read_how *how, struct ethos_section *sections, size_t count,
                    struct ethos_error *error);

    int (*sync)(struct ethos_provider *self, const struct ethos_context *context,
                const struct ethos_update *updates, size_t count, const struct ethos_sync_how *how,
                struct ethos_error *error);

    /* Optional: whole texts by scope and key, as in the store contract. */
    int (*read)(struct ethos_provider *self, const char *scope, const char *key,
                const struct ethos_read_how *how, struct ethos_text *out_text,
                struct ethos_error *error);
    int (*write)(struct ethos_provider *self, const char *scope, const char *key,
                 const char *expect, struct ethos_view text, const struct ethos_origin *origin,
                 char out_revision[ETHOS_REVISION_SIZE], struct ethos_error *error);
    int (*list)(struct ethos_provider *self, const char *scope, ethos_entry_fn *each, void *arg,
                struct ethos_error *error);
    int (*locate)(struct ethos_provider *self, const char *scope, const char *key, char *path,
                  size_t size, struct ethos_error *error);
    int (*check)(struct ethos_provider *self, int fix, ethos_finding_fn *each, void *arg,
                 struct ethos_error *error);

    /*
     * Optional: history and conflicts as in the store contract. settle looks at a key and records an
     * edit made outside.
     */
    int (*settle)(struct ethos_provider *self, const char *scope, const char *key,
                  struct ethos_error *error);
    int (*history)(struct ethos_provider *self, const char *scope, const char *key,
                   ethos_change_fn *each, void *arg, struct ethos_error *error);
    int (*version)(struct ethos_provider *self, const char *scope, const char *key,
                   const char *revision, struct ethos_text *out_text, struct ethos_error *error);
    int (*purge)(struct ethos_provider *self, const char *scope, const struct ethos_match *match,
                 int dry_run, const struct ethos_origin *origin, struct ethos_purge *out_purge,
                 struct ethos_error *error);
    int (*set_aside)(struct ethos_provider *self, const char *scope, const char *key,
                     struct ethos_view text, struct ethos_error *error);
    int (*conflicts)(struct ethos_provider *self, const char *scope, ethos_conflict_fn *each,
                     void *arg, struct ethos_error *error);
    int (*conflict_read)(struct ethos_provider *self, const char *scope, const char *id,
                         struct ethos_text *out_text, struct ethos_error *error);
    int (*conflict_drop)(struct ethos_provider *self, const char *scope, const char *id,
                         struct ethos_error *error);

    /* Optional: as in the store contract. Notes need it. */
    int (*update)(struct ethos_provider *self, const char *scope, struct ethos_edit *edits,
                  size_t count, ethos_edit_fn *edit, void *arg, const struct ethos_origin *origin,
                  struct ethos_error *error);

    /* Optional: as in the store contract. */
    int (*keep)(struct ethos_provider *self, const char *scope, const char *key,
                struct ethos_view text, struct ethos_error *error);
    int (*scopes)(struct ethos_provider *self, ethos_scope_fn *each, void *arg,
                  struct ethos_error *error);
    int (*watch)(struct ethos_provider *self, ethos_scope_fn *each, void *arg, int *out_fd,
                 unsigned *out_wait_ms, struct ethos_error *error);
};

/* ---- module -------------------------------------------------------------------------------- */

/*
 * What a shared object offers; one of store and provider is enough, provider wins. sessions (ethos/session.h)
 * is where conversations and API keys are kept when this is the home's backend; NULL: as without it.
 */
struct ethos_module {
    uint32_t abi;
    const char *name;
    const struct ethos_store_ops *store;
    const struct ethos_provider_ops *provider;
    const struct ethos_sessions_ops *sessions;
};

/* What a shared object defines; the host finds it by this name. */
extern ETHOS_API const struct ethos_module ethos_module;

#ifdef __cplusplus
}
#endif
#endif
