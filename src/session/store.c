/*
 * store.c: the SQLite session store: its table, and sessions one at a time.
 */
#include "session/operations.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/system/uuid.h"
#include "session/owners.h"
#include "session/rows.h"
#include "session/search/search.h"
#include "session/session.h"

/* ---- opening --------------------------------------------------------------------------------- */

static char *copy_string(const struct ethos_host *host, const char *string)
{
    size_t size = strlen(string) + 1;
    char *copy = host->resize(host->arg, NULL, size);
    return copy ? memcpy(copy, string, size) : NULL;
}

static bool setting_is(const struct ethos_setup *setup, const char *name, const char *value)
{
    for (size_t i = 0; i < setup->setting_count; i++) {
        if (strcmp(setup->settings[i].name, name) == 0)
            return strcmp(setup->settings[i].value, value) == 0;
    }
    return false;
}

static int sessions_open(const struct ethos_setup *setup, struct ethos_sessions **out_sessions,
                         struct ethos_error *error)
{
    const struct ethos_host *host = setup->host;
    struct db *self = host->resize(host->arg, NULL, sizeof *self);
    char *root = copy_string(host, setup->root);
    if (!self || !root) {
        host->resize(host->arg, self, 0);
        host->resize(host->arg, root, 0);
        return err_nomem(error);
    }
    *self = (struct db){.base.ops = &sessions_sqlite,
                        .host = host,
                        .root = root,
                        .lock = -1,
                        .deadline_ms = setup->deadline_ms ? setup->deadline_ms
                                                          : ETHOS_LOCK_DEADLINE_MS,
                        .fast = setup->flags & ETHOS_SETUP_FAST,
                        .brief = setup->flags & ETHOS_SETUP_BRIEF,
                        .network = setting_is(setup, "network", "true")};
    *out_sessions = &self->base;
    return ETHOS_OK;
}

static void sessions_close(struct ethos_sessions *sessions)
{
    struct db *self = db_of(sessions);
    if (!self)
        return;
    const struct ethos_host *host = self->host;
    db_shut(self);
    follow_free(self);
    host->resize(host->arg, self->root, 0);
    host->resize(host->arg, self, 0);
}

/* ---- shared ---------------------------------------------------------------------------------- */

int session_begin(struct db *self, const char *id, struct ethos_error *error)
{
    int code = db_ready(self, false, error);
    if (code == ETHOS_NOTFOUND)
        return form_no_session(id, error);
    return code == ETHOS_OK ? db_begin(self, error) : code;
}

int session_exists(struct db *self, const char *id, struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = db_prepare(self, DB_SESSION, &statement, error);
    if (code != ETHOS_OK)
        return code;
    db_bind(statement, 1, id);
    code = db_step(self, statement, "read a session", error);
    sqlite3_reset(statement);
    return code < 0 ? code : code == SQLITE_ROW;
}

int session_time(const struct db *self, const char *given, char out[CLOCK_ISO_SIZE],
                 struct ethos_error *error)
{
    return form_time(given, self->host->now_ms(self->host->arg), out, error);
}

/* ---- create ---------------------------------------------------------------------------------- */

static void bind_usage(sqlite3_stmt *statement, int at, const struct ethos_usage *usage)
{
    sqlite3_bind_int64(statement, at, usage->input_tokens);
    sqlite3_bind_int64(statement, at + 1, usage->output_tokens);
    sqlite3_bind_int64(statement, at + 2, usage->cache_read_tokens);
    sqlite3_bind_int64(statement, at + 3, usage->cache_creation_tokens);
    sqlite3_bind_double(statement, at + 4, usage->cost_usd);
    sqlite3_bind_int64(statement, at + 5, usage->api_calls);
    sqlite3_bind_int64(statement, at + 6, usage->compactions);
}

static int insert_session(struct db *self, const struct ethos_session *session,
                          struct ethos_error *error)
{
    sqlite3_stmt *statement;
    int code = db_prepare(self, DB_INSERT_SESSION, &statement, error);
    if (code != ETHOS_OK)
        return code;
    const char *texts[] = {session->id,      session->key,         session->platform,
                           session->model,   session->provider,    session->personality,
                           session->parent,  session->working_dir, session->title,
                           session->metadata};
    for (int i = 0; i < 10; i++)
        db_bind(statement, i + 1, texts[i]);
    bind_usage(statement, 11, &session->usage);
    sqlite3_bind_int64(statement, 18, session->turns);
    sqlite3_bind_int64(statement, 19, session->last_compaction_turn);
    sqlite3_bind_int(statement, 20, session->pinned != 0);
    db_bind(statement, 21, session->created_at);
    db_bind(statement, 22, session->updated_at);
    code = db_run(self, statement, "create a session", NULL, error);
    if (code == ETHOS_EXISTS)
        form_session_exists(session->key, error);
    return code;
}

static int sessions_create(struct ethos_sessions *sessions, const struct ethos_session *session,
                           char out_id[ETHOS_UUID_SIZE], struct ethos_error *error)
{
    struct db *self = db_of(sessions);
    struct form_session form;
    char id[ETHOS_UUID_SIZE];
    int code = form_session(session, self->host->now_ms(self->host->arg), &form, error);
    if (code == ETHOS_OK && !session->id && uuid_make(id) != 0)
        code = err_errno(error, errno, "random");
    if (code == ETHOS_OK)
        code = db_begin(self, error);
    if (code != ETHOS_OK)
        return code;
    form.session.id = session->id ? session->id : id;
    code = insert_session(self, &form.session, error);
    if (code == ETHOS_OK)
        code = people_put(self, form.session.id, session->user, error);
    code = db_end(self, code, error);
    if (code == ETHOS_OK)
        memcpy(out_id, form.session.id, strlen(form.session.id) + 1);
    return code;
}

/* ---- get, update, remove --------------------------------------------------------------------- */

static int read_session_by_name(struct db *self, enum db_statement which, const char *name,
                                ethos_session_fn *each, void *arg, struct ethos_error *error)
{
    sqlite3_stmt *statement;
    struct ethos_session session;
    int code = db_ready(self, false, error);
    if (code == ETHOS_NOTFOUND)
        return form_no_session(name, error);
    if (code == ETHOS_OK)
        code = db_prepare(self, which, &statement, error);
    if (code != ETHOS_OK)
        return code;
    db_bind(statement, 1, name);
    code = db_step(self, statement, "read a session", error);
    if (code < 0)
        return code;
    if (code != SQLITE_ROW)
        return form_no_session(name, error);
    session_row(statement, 0, &session);
    code = people_open(self, error);
    if (code == ETHOS_OK)
        code = people_fill(self, &session, error);
    if (code == ETHOS_OK)
        code = each(arg, &session);
    sqlite3_reset(statement);
    return code;
}

static int sessions_get(struct ethos_sessions *self, const char *id, ethos_session_fn *each,
                        void *arg, struct ethos_error *error)
{
    return read_session_by_name(db_of(self), DB_SESSION, id, each, arg, error);
}

static int sessions_get_by_key(struct ethos_sessions *self, const char *key, ethos_session_fn *each,
                               void *arg, struct ethos_error *error)
{
    return read_session_by_name(db_of(self), DB_SESSION_BY_KEY, key, each, arg, error);
}

/* Runs a statement that changes one session, whose id is its first parameter. */
static int change_session(struct db *self, sqlite3_stmt *statement, const char *id,
                          const char *what, struct ethos_error *error)
{
    int64_t changed = 0;
    db_bind(statement, 1, id);
    int code = db_run(self, statement, what, &changed, error);
    return code == ETHOS_OK && changed == 0 ? form_no_session(id, error) : code;
}

static int patch_row(struct db *self, const char *id, const struct ethos_session_patch *patch,
                     struct ethos_error *error)
{
    static const struct ethos_usage none = {0};
    sqlite3_stmt *statement;
    int code = db_prepare(self, DB_UPDATE_SESSION, &statement, error);
    if (code != ETHOS_OK)
        return code;
    const char *texts[] = {patch->title,       patch->model,    patch->provider,
                           patch->personality, patch->metadata, patch->working_dir};
    for (int i = 0; i < 6; i++)
        db_bind(statement, i + 2, texts[i]);
    if (patch->pinned)
        sqlite3_bind_int(statement, 8, *patch->pinned != 0);
    bind_usage(statement, 9, patch->usage ? patch->usage : &none);
    return change_session(self, statement, id, "change a session", error);
}

static int sessions_update(struct ethos_sessions *sessions, const char *id,
                           const struct ethos_session_patch *patch, struct ethos_error *error)
{
    struct db *self = db_of(sessions);
    int code = form_patch(patch, error);
    if (code == ETHOS_OK)
        code = session_begin(self, id, error);
    return code == ETHOS_OK ? db_end(self, patch_row(self, id, patch, error), error) : code;
}

static int sessions_remove(struct ethos_sessions *sessions, const char *id,
                           struct ethos_error *error)
{
    struct db *self = db_of(sessions);
    sqlite3_stmt *statement;
    int code = session_begin(self, id, error);
    if (code != ETHOS_OK)
        return code;
    code = db_prepare(self, DB_DELETE_SESSION, &statement, error);
    if (code == ETHOS_OK)
        code = change_session(self, statement, id, "delete a session", error);
    code = db_end(self, code, error);
    if (code == ETHOS_OK) {
        sessions_erase_deleted(self);
        people_drop(self, id);
    }
    return code;
}

static int sessions_search(struct ethos_sessions *self, const struct ethos_search *search,
                           ethos_hit_fn *each, void *arg, struct ethos_error *error)
{
    return search_run(db_of(self), search, each, arg, error);
}

/* ---- table ----------------------------------------------------------------------------------- */

static const struct ethos_option options[] = {
    {"network", ETHOS_OPTION_BOOLEAN, "false",
     "treat the file system as one of several machines, also where it does not say so"},
    {0},
};

const struct ethos_sessions_ops sessions_sqlite = {
    .abi = ETHOS_ABI,
    .name = "sqlite",
    .options = options,
    .open = sessions_open,
    .close = sessions_close,
    .create = sessions_create,
    .get = sessions_get,
    .get_by_key = sessions_get_by_key,
    .update = sessions_update,
    .remove = sessions_remove,
    .append = messages_append,
    .messages = messages_read,
    .list = sessions_list,
    .search = sessions_search,
    .fork = sessions_fork,
    .undo = messages_undo,
    .prune = sessions_prune,
    .vacuum = sessions_vacuum,
    .rewind = messages_rewind,
    .check = sessions_check,
    .taken = messages_taken,
    .settle = sessions_settle,
    .keys = keys_each,
    .key_add = keys_add,
    .key_revoke = keys_revoke,
    .key_used = keys_used,
    .keys_version = keys_version,
    .follow = sessions_follow,
    .unseen = messages_unseen,
    .message = messages_one,
    .purge = sessions_purge,
};
