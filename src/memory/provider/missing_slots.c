/*
 * missing_slots.c: functions for the optional slots that a backend leaves out; each fails with
 * ETHOS_UNSUPPORTED.
 */
#include "memory/provider/missing_slots.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define ELSEWHERE "use another memory.provider, such as markdown"

static int refuse_unsupported(const char *backend, const char *what, const char *next,
                              struct ethos_error *error)
{
    int code = err_set(error, ETHOS_UNSUPPORTED, "this backend (%s) cannot %s", backend, what);
    return err_hint(error, code, "%s", next);
}

/*
 * Every function below has the same body: self, its table's name, what it cannot do, what to do
 * instead.
 */
#define REFUSE(what, next) return refuse_unsupported(self->ops->name, what, next, error)

/* ---- provider ------------------------------------------------------------------------------ */

static int no_read(struct ethos_provider *self, const char *scope, const char *key,
                   const struct ethos_read_how *how, struct ethos_text *out_text,
                   struct ethos_error *error)
{
    (void)scope, (void)key, (void)how, (void)out_text;
    REFUSE("show a single text", "ethos prefetch shows what it has");
}

static int no_write(struct ethos_provider *self, const char *scope, const char *key,
                    const char *expect, struct ethos_view text, const struct ethos_origin *origin,
                    char out_revision[ETHOS_REVISION_SIZE], struct ethos_error *error)
{
    (void)scope, (void)key, (void)expect, (void)text, (void)origin, (void)out_revision;
    REFUSE("take a text byte for byte", "ethos memory add, replace and remove go through its sync");
}

static int no_list(struct ethos_provider *self, const char *scope, ethos_entry_fn *each, void *arg,
                   struct ethos_error *error)
{
    (void)scope, (void)each, (void)arg;
    REFUSE("list its texts", "ethos prefetch shows what it has");
}

static int no_locate(struct ethos_provider *self, const char *scope, const char *key, char *path,
                     size_t size, struct ethos_error *error)
{
    (void)scope, (void)key, (void)path, (void)size;
    REFUSE("name a file", "its texts are no files");
}

/* It has nothing to check. */
static int no_check(struct ethos_provider *self, int fix, ethos_finding_fn *each, void *arg,
                    struct ethos_error *error)
{
    (void)self, (void)fix, (void)each, (void)arg, (void)error;
    return ETHOS_OK;
}

static int no_settle(struct ethos_provider *self, const char *scope, const char *key,
                     struct ethos_error *error)
{
    (void)scope, (void)key;
    REFUSE("record edits made outside", ELSEWHERE);
}

static int no_history(struct ethos_provider *self, const char *scope, const char *key,
                      ethos_change_fn *each, void *arg, struct ethos_error *error)
{
    (void)scope, (void)key, (void)each, (void)arg;
    REFUSE("list its history", ELSEWHERE);
}

static int no_version(struct ethos_provider *self, const char *scope, const char *key,
                      const char *revision, struct ethos_text *out_text, struct ethos_error *error)
{
    (void)scope, (void)key, (void)revision, (void)out_text;
    REFUSE("show an earlier version", ELSEWHERE);
}

static int no_purge(struct ethos_provider *self, const char *scope, const struct ethos_match *match,
                    int dry_run, const struct ethos_origin *origin, struct ethos_purge *out_purge,
                    struct ethos_error *error)
{
    (void)scope, (void)match, (void)dry_run, (void)origin, (void)out_purge;
    REFUSE("purge a text", "ethos memory remove removes the lines from what is shown; purge the "
                           "rest where it is stored");
}

static int no_set_aside(struct ethos_provider *self, const char *scope, const char *key,
                        struct ethos_view text, struct ethos_error *error)
{
    (void)scope, (void)key, (void)text;
    REFUSE("store a conflict copy", ELSEWHERE);
}

static int no_conflicts(struct ethos_provider *self, const char *scope, ethos_conflict_fn *each,
                        void *arg, struct ethos_error *error)
{
    (void)scope, (void)each, (void)arg;
    REFUSE("list conflicts", ELSEWHERE);
}

static int no_conflict_read(struct ethos_provider *self, const char *scope, const char *id,
                            struct ethos_text *out_text, struct ethos_error *error)
{
    (void)scope, (void)id, (void)out_text;
    REFUSE("show a conflict", ELSEWHERE);
}

static int no_conflict_drop(struct ethos_provider *self, const char *scope, const char *id,
                            struct ethos_error *error)
{
    (void)scope, (void)id;
    REFUSE("resolve a conflict", ELSEWHERE);
}

static int no_update(struct ethos_provider *self, const char *scope, struct ethos_edit *edits,
                     size_t count, ethos_edit_fn *edit, void *arg,
                     const struct ethos_origin *origin, struct ethos_error *error)
{
    (void)scope, (void)edits, (void)count, (void)edit, (void)arg, (void)origin;
    REFUSE("keep notes", "ethos memory add adds a line to its memory");
}

static int no_keep(struct ethos_provider *self, const char *scope, const char *key,
                   struct ethos_view text, struct ethos_error *error)
{
    (void)scope, (void)key, (void)text;
    REFUSE("store a text as a version", ELSEWHERE);
}

static int no_scopes(struct ethos_provider *self, ethos_scope_fn *each, void *arg,
                     struct ethos_error *error)
{
    (void)each, (void)arg;
    REFUSE("list its scopes", ELSEWHERE);
}

static int no_watch(struct ethos_provider *self, ethos_scope_fn *each, void *arg, int *out_fd,
                    unsigned *out_wait_ms, struct ethos_error *error)
{
    (void)each, (void)arg, (void)out_fd, (void)out_wait_ms;
    REFUSE("watch for changes", ELSEWHERE);
}

const struct ethos_provider_ops slots_no_provider = {
    .read = no_read,
    .write = no_write,
    .list = no_list,
    .locate = no_locate,
    .check = no_check,
    .settle = no_settle,
    .history = no_history,
    .version = no_version,
    .purge = no_purge,
    .set_aside = no_set_aside,
    .conflicts = no_conflicts,
    .conflict_read = no_conflict_read,
    .conflict_drop = no_conflict_drop,
    .update = no_update,
    .keep = no_keep,
    .scopes = no_scopes,
    .watch = no_watch,
};

/* ---- sessions ------------------------------------------------------------------------------ */

#define SESSIONS_ELSEWHERE "ethos config set sessions.provider sqlite keeps conversations here"

static int no_create(struct ethos_sessions *self, const struct ethos_session *session,
                     char out_id[ETHOS_UUID_SIZE], struct ethos_error *error)
{
    (void)session, (void)out_id;
    REFUSE("create a conversation", SESSIONS_ELSEWHERE);
}

static int no_get(struct ethos_sessions *self, const char *id, ethos_session_fn *each, void *arg,
                  struct ethos_error *error)
{
    (void)id, (void)each, (void)arg;
    REFUSE("find a conversation", SESSIONS_ELSEWHERE);
}

static int no_session_update(struct ethos_sessions *self, const char *id,
                             const struct ethos_session_patch *patch, struct ethos_error *error)
{
    (void)id, (void)patch;
    REFUSE("change a conversation's title and settings", SESSIONS_ELSEWHERE);
}

static int no_remove(struct ethos_sessions *self, const char *id, struct ethos_error *error)
{
    (void)id;
    REFUSE("delete a conversation", SESSIONS_ELSEWHERE);
}

static int no_append(struct ethos_sessions *self, const char *id,
                     const struct ethos_message *messages, size_t count, unsigned flags,
                     struct ethos_error *error)
{
    (void)id, (void)messages, (void)count, (void)flags;
    REFUSE("append to a conversation", SESSIONS_ELSEWHERE);
}

static int no_messages(struct ethos_sessions *self, const char *id, unsigned last,
                       ethos_message_fn *each, void *arg, struct ethos_error *error)
{
    (void)id, (void)last, (void)each, (void)arg;
    REFUSE("show the messages of a conversation", SESSIONS_ELSEWHERE);
}

static int no_session_list(struct ethos_sessions *self, const struct ethos_session_query *query,
                           ethos_session_fn *each, void *arg, char out_cursor[ETHOS_CURSOR_SIZE],
                           struct ethos_error *error)
{
    (void)query, (void)each, (void)arg, (void)out_cursor;
    REFUSE("list conversations", SESSIONS_ELSEWHERE);
}

static int no_search(struct ethos_sessions *self, const struct ethos_search *search,
                     ethos_hit_fn *each, void *arg, struct ethos_error *error)
{
    (void)search, (void)each, (void)arg;
    REFUSE("search conversations", SESSIONS_ELSEWHERE);
}

static int no_fork(struct ethos_sessions *self, const char *id, char out_id[ETHOS_UUID_SIZE],
                   struct ethos_error *error)
{
    (void)id, (void)out_id;
    REFUSE("copy a conversation", SESSIONS_ELSEWHERE);
}

static int no_undo(struct ethos_sessions *self, const char *id, unsigned turns, uint64_t *out_count,
                   struct ethos_error *error)
{
    (void)id, (void)turns, (void)out_count;
    REFUSE("undo a turn", SESSIONS_ELSEWHERE);
}

static int no_prune(struct ethos_sessions *self, const char *before, int dry_run,
                    uint64_t *out_count, struct ethos_error *error)
{
    (void)before, (void)dry_run, (void)out_count;
    REFUSE("delete old conversations", SESSIONS_ELSEWHERE);
}

static int no_vacuum(struct ethos_sessions *self, struct ethos_error *error)
{
    REFUSE("reclaim space", SESSIONS_ELSEWHERE);
}

static int no_rewind(struct ethos_sessions *self, const char *id, const char *message,
                     const struct ethos_message *messages, size_t count, unsigned flags,
                     uint64_t *out_hidden, struct ethos_error *error)
{
    (void)id, (void)message, (void)messages, (void)count, (void)flags, (void)out_hidden;
    REFUSE("replace the end of a conversation", SESSIONS_ELSEWHERE);
}

static int no_session_check(struct ethos_sessions *self, int fix, ethos_finding_fn *each, void *arg,
                            struct ethos_error *error)
{
    (void)self, (void)fix, (void)each, (void)arg, (void)error;
    return ETHOS_OK;
}

static int no_taken(struct ethos_sessions *self, const struct ethos_message *messages, size_t count,
                    size_t *out_at, struct ethos_error *error)
{
    (void)messages, (void)count, (void)out_at;
    REFUSE("check for existing messages", SESSIONS_ELSEWHERE);
}

/* The next search does the work instead. */
static int no_session_settle(struct ethos_sessions *self, struct ethos_error *error)
{
    (void)self, (void)error;
    return ETHOS_OK;
}

static int no_follow(struct ethos_sessions *self, ethos_follow_fn *each, void *arg,
                     unsigned *out_wait_ms, struct ethos_error *error)
{
    (void)each, (void)arg, (void)out_wait_ms;
    REFUSE("watch conversations", SESSIONS_ELSEWHERE);
}

static int no_keys(struct ethos_sessions *self, ethos_key_fn *each, void *arg,
                   struct ethos_error *error)
{
    (void)each, (void)arg;
    REFUSE("list API keys", SESSIONS_ELSEWHERE);
}

static int no_key_add(struct ethos_sessions *self, const struct ethos_key *key,
                      struct ethos_error *error)
{
    (void)key;
    REFUSE("store an API key", SESSIONS_ELSEWHERE);
}

static int no_key_revoke(struct ethos_sessions *self, const char *prefix, struct ethos_error *error)
{
    (void)prefix;
    REFUSE("revoke an API key", SESSIONS_ELSEWHERE);
}

static int no_key_used(struct ethos_sessions *self, const char *hash, struct ethos_error *error)
{
    (void)hash;
    REFUSE("record the use of an API key", SESSIONS_ELSEWHERE);
}

static int no_keys_version(struct ethos_sessions *self, uint64_t *out_version,
                           struct ethos_error *error)
{
    (void)out_version;
    REFUSE("report changes of API keys", SESSIONS_ELSEWHERE);
}

static int no_session_purge(struct ethos_sessions *self, const struct ethos_match *match,
                            int dry_run, struct ethos_session_purge *out_purge,
                            struct ethos_error *error)
{
    (void)match, (void)dry_run, (void)out_purge;
    REFUSE("purge a text", SESSIONS_ELSEWHERE);
}

static int no_unseen(struct ethos_sessions *self, struct ethos_seen *seen, int *out_all,
                     ethos_unseen_fn *each, void *arg, struct ethos_error *error)
{
    (void)seen, (void)out_all, (void)each, (void)arg;
    REFUSE("list messages for an index", SESSIONS_ELSEWHERE);
}

static int no_message(struct ethos_sessions *self, int64_t number, ethos_message_fn *each,
                      void *arg, struct ethos_error *error)
{
    (void)number, (void)each, (void)arg;
    REFUSE("read a message by its number", SESSIONS_ELSEWHERE);
}

const struct ethos_sessions_ops slots_no_sessions = {
    .create = no_create,
    .get = no_get,
    .get_by_key = no_get,
    .update = no_session_update,
    .remove = no_remove,
    .append = no_append,
    .messages = no_messages,
    .list = no_session_list,
    .search = no_search,
    .fork = no_fork,
    .undo = no_undo,
    .prune = no_prune,
    .vacuum = no_vacuum,
    .rewind = no_rewind,
    .check = no_session_check,
    .taken = no_taken,
    .settle = no_session_settle,
    .follow = no_follow,
    .keys = no_keys,
    .key_add = no_key_add,
    .key_revoke = no_key_revoke,
    .key_used = no_key_used,
    .keys_version = no_keys_version,
    .purge = no_session_purge,
    .unseen = no_unseen,
    .message = no_message,
};

/* ---- mandatory members --------------------------------------------------------------------- */

struct required_slot {
    const char *name;
    bool there;
};

static const char *find_missing_slot(const struct required_slot *members, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!members[i].there)
            return members[i].name;
    return NULL;
}

const char *slots_provider_lacks(const struct ethos_provider_ops *ops)
{
    const struct required_slot members[] = {{"name", ops->name},
                                            {"close", ops->close},
                                            {"prefetch", ops->prefetch},
                                            {"sync", ops->sync}};
    return find_missing_slot(members, sizeof members / sizeof *members);
}

/* For a database with four functions the host makes the others. */
const char *slots_store_lacks(const struct ethos_store_ops *ops)
{
    const struct required_slot members[] = {{"name", ops->name},
                                            {"close", ops->close},
                                            {"read", ops->read},
                                            {"list", ops->list},
                                            {"write", ops->fetch || ops->write},
                                            {"remove", ops->fetch || ops->remove},
                                            {"commit", !ops->fetch || ops->commit},
                                            {"rows", !ops->fetch || ops->rows},
                                            {"copies", !ops->fetch || ops->copies}};
    return find_missing_slot(members, sizeof members / sizeof *members);
}

const char *slots_sessions_lack(const struct ethos_sessions_ops *ops)
{
    const struct required_slot members[] = {{"name", ops->name}, {"close", ops->close}};
    return find_missing_slot(members, sizeof members / sizeof *members);
}

/* ---- filling ------------------------------------------------------------------------------- */

typedef void slot_fn(void);

/* Tables consist of functions from some member on; *out_filled: whether one was missing. */
static void fill_slots(void *table, const void *missing, size_t from, size_t size, bool *out_filled)
{
    *out_filled = false;
    for (size_t at = from; at + sizeof(slot_fn *) <= size; at += sizeof(slot_fn *)) {
        slot_fn *own, *instead;
        memcpy(&own, (const char *)table + at, sizeof own);
        memcpy(&instead, (const char *)missing + at, sizeof instead);
        if (own || !instead)
            continue;
        memcpy((char *)table + at, &instead, sizeof instead);
        *out_filled = true;
    }
}

void slots_fill(struct ethos_provider_ops *ops)
{
    bool filled;
    fill_slots(ops, &slots_no_provider, offsetof(struct ethos_provider_ops, open), sizeof *ops,
               &filled);
}

/* A completed copy, and the table it replaces. */
struct filled_provider {
    struct ethos_provider_ops ops;
    const struct ethos_provider_ops *own;
};

struct filled_sessions {
    struct ethos_sessions_ops ops;
    const struct ethos_sessions_ops *own;
};

static void close_filled(struct ethos_provider *self)
{
    struct filled_provider *filled = (struct filled_provider *)self->ops;
    self->ops = filled->own;
    self->ops->close(self);
    free(filled);
}

static void close_filled_sessions(struct ethos_sessions *self)
{
    struct filled_sessions *filled = (struct filled_sessions *)self->ops;
    self->ops = filled->own;
    self->ops->close(self);
    free(filled);
}

static int refuse_table(const char *name, const char *missing, struct ethos_error *error)
{
    return err_set(error, ETHOS_INVALID, "%s: a mandatory member is missing: %s",
                   name ? name : "backend", missing);
}

int slots_complete(struct ethos_provider *provider, struct ethos_error *error)
{
    bool missing;
    const struct ethos_provider_ops *own = provider->ops;
    const char *lacks = own ? slots_provider_lacks(own) : "ops";
    if (lacks) {
        if (own && own->close)
            own->close(provider);
        return refuse_table(own ? own->name : NULL, lacks, error);
    }
    struct filled_provider *filled = malloc(sizeof *filled);
    if (!filled) {
        own->close(provider);
        return err_nomem(error);
    }
    *filled = (struct filled_provider){*own, own};
    fill_slots(&filled->ops, &slots_no_provider, offsetof(struct ethos_provider_ops, open),
               sizeof filled->ops, &missing);
    filled->ops.close = close_filled;
    if (missing)
        provider->ops = &filled->ops;
    else
        free(filled);
    return ETHOS_OK;
}

int slots_complete_sessions(struct ethos_sessions *sessions, struct ethos_error *error)
{
    bool missing;
    const struct ethos_sessions_ops *own = sessions->ops;
    const char *lacks = own ? slots_sessions_lack(own) : "ops";
    if (lacks) {
        if (own && own->close)
            own->close(sessions);
        return refuse_table(own ? own->name : NULL, lacks, error);
    }
    struct filled_sessions *filled = malloc(sizeof *filled);
    if (!filled) {
        own->close(sessions);
        return err_nomem(error);
    }
    *filled = (struct filled_sessions){*own, own};
    fill_slots(&filled->ops, &slots_no_sessions, offsetof(struct ethos_sessions_ops, open),
               sizeof filled->ops, &missing);
    filled->ops.close = close_filled_sessions;
    if (missing)
        sessions->ops = &filled->ops;
    else
        free(filled);
    return ETHOS_OK;
}
