/*
 * sessions.c: conversations in PostgreSQL: the table of functions, open and close; sessions one at
 * a time.
 */
#include "sessions.h"

#include <errno.h>

#include "base/err.h"
#include "base/system/uuid.h"
#include "core/sessions/normalize.h"

#define FOLDED SIZE_MAX /* bytes: as long as what is folded */

/* ---- open and close -------------------------------------------------------------------------- */

static void pg_sessions_close(struct ethos_sessions *sessions)
{
    struct pg_sessions *self = pg_sessions_of(sessions);
    if (!self)
        return;
    const struct ethos_host *host = self->store->host;
    pg_store_ops.close(&self->store->store);
    host->resize(host->arg, self->snapshot, 0);
    host->resize(host->arg, self, 0);
}

static int pg_sessions_open(const struct ethos_setup *setup, struct ethos_sessions **out_sessions,
                            struct ethos_error *error)
{
    const struct ethos_host *host = setup->host;
    struct ethos_store *store;
    struct pg_sessions *self = host->resize(host->arg, NULL, sizeof *self);
    if (!self)
        return err_nomem(error);
    int code = pg_store_ops.open(setup, &store, error);
    if (code != ETHOS_OK) {
        host->resize(host->arg, self, 0);
        return code;
    }
    *self = (struct pg_sessions){.sessions.ops = &pg_sessions_ops,
                                 .store = (struct pg_store *)store};
    *out_sessions = &self->sessions;
    return ETHOS_OK;
}

int64_t pg_sessions_now(const struct pg_sessions *self)
{
    const struct ethos_host *host = self->store->host;
    return host->now_ms(host->arg);
}

/* ---- create ---------------------------------------------------------------------------------- */

static void add_usage_params(struct pg_params *params, const struct ethos_usage *usage)
{
    pg_add_number(params, usage->input_tokens);
    pg_add_number(params, usage->output_tokens);
    pg_add_number(params, usage->cache_read_tokens);
    pg_add_number(params, usage->cache_creation_tokens);
    pg_add_double(params, usage->cost_usd);
    pg_add_number(params, usage->api_calls);
    pg_add_number(params, usage->compactions);
}

static void add_session_params(struct pg_params *params, const struct ethos_session *session,
                               const char *key_folded, const char *title_folded)
{
    const char *texts[] = {session->id,      session->key,         session->platform,
                           session->model,   session->provider,    session->personality,
                           session->parent,  session->working_dir, session->title,
                           session->metadata};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        pg_add_text(params, texts[i]);
    add_usage_params(params, &session->usage);
    pg_add_number(params, session->turns);
    pg_add_number(params, session->last_compaction_turn);
    pg_add_bool(params, session->pinned != 0);
    pg_add_text(params, session->created_at);
    pg_add_text(params, session->updated_at);
    pg_add_text(params, key_folded);
    pg_add_text(params, title_folded);
    pg_add_text(params, session->user);
}

static int create_session_row(struct pg_sessions *self, const struct ethos_session *session,
                              struct str *key, struct str *title, struct ethos_error *error)
{
    struct pg_change change;
    const char *key_folded, *title_folded = NULL;
    int code = pg_change_init(&change, PG_S_CREATE, session->key, error);
    if (code == ETHOS_OK)
        code = pg_fold(session->key, key, &key_folded, error);
    if (code == ETHOS_OK)
        code = pg_fold(session->title, title, &title_folded, error);
    if (code != ETHOS_OK)
        return code;
    add_session_params(&change.params, session, key_folded, title_folded);
    code = pg_change_send(self, &change, error);
    return code == ETHOS_EXISTS ? form_session_exists(session->key, error) : code;
}

static int pg_create(struct ethos_sessions *sessions, const struct ethos_session *session,
                     char out_id[ETHOS_UUID_SIZE], struct ethos_error *error)
{
    struct pg_sessions *self = pg_sessions_of(sessions);
    struct form_session form;
    struct str key, title;
    char id[ETHOS_UUID_SIZE];
    int code = form_session(session, pg_sessions_now(self), &form, error);
    if (code == ETHOS_OK && !session->id && uuid_make(id) != 0)
        code = err_errno(error, errno, "random");
    if (code != ETHOS_OK)
        return code;
    form.session.id = session->id ? session->id : id;
    str_init(&key, FOLDED);
    str_init(&title, FOLDED);
    code = create_session_row(self, &form.session, &key, &title, error);
    str_release(&key);
    str_release(&title);
    if (code == ETHOS_OK)
        memcpy(out_id, form.session.id, strlen(form.session.id) + 1);
    return code;
}

/* ---- get, update, remove --------------------------------------------------------------------- */

static int read_session_by_name(struct pg_sessions *self, enum pg_statement which, const char *name,
                                ethos_session_fn *each, void *arg, struct ethos_error *error)
{
    struct pg_params params = {0};
    PGresult *result;
    if (form_texts(&name, 1, NULL) != ETHOS_OK) // the server knows no such thing
        return form_no_session(name, error);
    pg_add_text(&params, name);
    int code = pg_sessions_ask(self, which, &params, &result, error);
    if (code != ETHOS_OK)
        return code;
    if (PQntuples(result) == 0) {
        code = form_no_session(name, error);
    } else {
        const struct ethos_session session = pg_session_row(result, 0, 0);
        self->giving = true;
        code = each(arg, &session);
        self->giving = false;
    }
    PQclear(result);
    return code;
}

static int pg_get(struct ethos_sessions *self, const char *id, ethos_session_fn *each, void *arg,
                  struct ethos_error *error)
{
    return read_session_by_name(pg_sessions_of(self), PG_S_GET, id, each, arg, error);
}

static int pg_get_by_key(struct ethos_sessions *self, const char *key, ethos_session_fn *each,
                         void *arg, struct ethos_error *error)
{
    return read_session_by_name(pg_sessions_of(self), PG_S_GET_BY_KEY, key, each, arg, error);
}

static int send_for(struct pg_sessions *self, struct pg_change *change, const char *id,
                    struct ethos_error *error)
{
    int code = pg_change_send(self, change, error);
    return code == ETHOS_OK && change->outcome == PG_NO_SESSION ? form_no_session(id, error) : code;
}

static int pg_update(struct ethos_sessions *sessions, const char *id,
                     const struct ethos_session_patch *patch, struct ethos_error *error)
{
    static const struct ethos_usage none = {0};
    struct pg_change change;
    struct pg_params *params = &change.params;
    struct str folded;
    const char *title = NULL;
    int code = form_patch(patch, error);
    if (code == ETHOS_OK)
        code = pg_change_init(&change, PG_S_UPDATE, id, error);
    if (code != ETHOS_OK)
        return code;
    str_init(&folded, FOLDED);
    code = pg_fold(patch->title, &folded, &title, error);
    const char *texts[] = {id,
                           patch->title,
                           title,
                           patch->model,
                           patch->provider,
                           patch->personality,
                           patch->metadata,
                           patch->working_dir};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        pg_add_text(params, texts[i]);
    if (patch->pinned)
        pg_add_bool(params, *patch->pinned != 0);
    else
        pg_add_bytes(params, PG_BOOL, (struct ethos_view){0});
    add_usage_params(params, patch->usage ? patch->usage : &none);
    if (code == ETHOS_OK)
        code = send_for(pg_sessions_of(sessions), &change, id, error);
    str_release(&folded);
    return code;
}

static int pg_remove(struct ethos_sessions *sessions, const char *id, struct ethos_error *error)
{
    struct pg_change change;
    int code = pg_change_init(&change, PG_S_REMOVE, id, error);
    if (code != ETHOS_OK)
        return code;
    pg_add_text(&change.params, id);
    return send_for(pg_sessions_of(sessions), &change, id, error);
}

/* ---- table ----------------------------------------------------------------------------------- */

const struct ethos_sessions_ops pg_sessions_ops = {
    .abi = ETHOS_ABI,
    .name = "postgres",
    .options = pg_options,
    .open = pg_sessions_open,
    .close = pg_sessions_close,
    .create = pg_create,
    .get = pg_get,
    .get_by_key = pg_get_by_key,
    .update = pg_update,
    .remove = pg_remove,
    .append = pg_append,
    .messages = pg_messages,
    .list = pg_sessions_list,
    .search = pg_search,
    .fork = pg_fork,
    .undo = pg_undo,
    .prune = pg_prune,
    .vacuum = pg_vacuum,
    .rewind = pg_rewind,
    .check = pg_sessions_check,
    .taken = pg_taken,
    .settle = pg_settle,
    .purge = pg_sessions_purge,
    .follow = pg_follow,
    .keys = pg_keys,
    .key_add = pg_key_add,
    .key_revoke = pg_key_revoke,
    .key_used = pg_key_used,
    .keys_version = pg_keys_version,
};
