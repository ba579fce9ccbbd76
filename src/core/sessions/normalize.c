/*
 * normalize.c: what a session store is given, made ready to be kept.
 */
#include "core/sessions/normalize.h"

#include <string.h>

#include "base/choice.h"
#include "base/err.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/memory/scope.h"

int form_texts(const char *const *texts, size_t count, struct ethos_error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (texts[i] && !utf8_valid(view_str(texts[i])))
            return err_set(error, ETHOS_INVALID, "not valid UTF-8: %s", texts[i]);
    }
    return ETHOS_OK;
}

/* ---- times ----------------------------------------------------------------------------------- */

static int read_time(const char *given, int64_t now_ms, bool end, char out[CLOCK_ISO_SIZE],
                     struct ethos_error *error)
{
    int64_t ms = now_ms;
    if (given && !clock_parse(view_str(given), now_ms, end, &ms, NULL))
        return err_set(error, ETHOS_INVALID, "not a time: %s", given);
    clock_iso(ms, out);
    return ETHOS_OK;
}

int form_time(const char *given, int64_t now_ms, char out[CLOCK_ISO_SIZE],
              struct ethos_error *error)
{
    return read_time(given, now_ms, false, out, error);
}

int form_span(const char *since, const char *until, int64_t now_ms, struct form_span *out,
              struct ethos_error *error)
{
    int code = read_time(since, now_ms, false, out->from, error);
    if (code == ETHOS_OK)
        code = read_time(until, now_ms, true, out->to, error);
    out->since = since ? out->from : NULL;
    out->until = until ? out->to : NULL;
    return code;
}

/* ---- sessions -------------------------------------------------------------------------------- */

static bool is_uuid_or_key(const char *id)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789-_";
    size_t size = strspn(id, allowed);
    return size > 0 && size < ETHOS_UUID_SIZE && id[size] == 0;
}

static int check_session_fields(const struct ethos_session *session, struct ethos_error *error)
{
    const char *texts[] = {session->key,         session->platform, session->model,
                           session->provider,    session->parent,   session->personality,
                           session->working_dir, session->title,    session->metadata};
    if (!session->key || !*session->key || !session->platform || !*session->platform)
        return err_set(error, ETHOS_INVALID, "a session needs a key and a platform");
    if (session->id && !is_uuid_or_key(session->id))
        return err_set(error, ETHOS_INVALID, "bad session id: %s", session->id);
    if (session->user && !scope_id_ok(view_str(session->user)))
        return err_set(error, ETHOS_INVALID, "bad user id of a session");
    return form_texts(texts, sizeof texts / sizeof *texts, error);
}

int form_session(const struct ethos_session *given, int64_t now_ms, struct form_session *out,
                 struct ethos_error *error)
{
    struct ethos_session *session = &out->session;
    *session = *given;
    int code = check_session_fields(given, error);
    if (code == ETHOS_OK)
        code = form_time(given->created_at, now_ms, out->created, error);
    if (code == ETHOS_OK)
        code = form_time(given->updated_at ? given->updated_at : out->created, now_ms, out->updated,
                         error);
    session->created_at = out->created;
    session->updated_at = out->updated;
    session->model = given->model ? given->model : "";
    session->provider = given->provider ? given->provider : "";
    return code;
}

int form_key(const struct ethos_key *given, int64_t now_ms, struct form_key *out,
             struct ethos_error *error)
{
    const char *texts[] = {given->prefix, given->hash, given->name, given->scopes, given->origins};
    out->key = *given;
    out->key.created_at = out->created;
    out->key.last_used_at = given->last_used_at ? out->used : NULL;
    out->key.revoked_at = given->revoked_at ? out->revoked : NULL;
    int code = form_texts(texts, sizeof texts / sizeof *texts, error);
    if (code == ETHOS_OK)
        code = form_time(given->created_at, now_ms, out->created, error);
    if (code == ETHOS_OK)
        code = form_time(given->last_used_at, now_ms, out->used, error);
    return code == ETHOS_OK ? form_time(given->revoked_at, now_ms, out->revoked, error) : code;
}

int form_patch(const struct ethos_session_patch *patch, struct ethos_error *error)
{
    const char *texts[] = {patch->title,       patch->model,    patch->provider,
                           patch->personality, patch->metadata, patch->working_dir};
    return form_texts(texts, sizeof texts / sizeof *texts, error);
}

/* ---- messages -------------------------------------------------------------------------------- */

static int check_message(const struct ethos_message *message, struct ethos_error *error)
{
    const char *texts[] = {message->id,         message->tool_call_id,   message->tool_name,
                           message->tool_calls, message->content_blocks, message->trace_id};
    if (!message->role ||
        !choice_has("user|assistant|tool_result|system|user_steer", view_str(message->role)))
        return err_set(error, ETHOS_INVALID, "no such role: %s",
                       message->role ? message->role : "(none)");
    if (message->content.size > FORM_MAX_CONTENT)
        return err_set(error, ETHOS_LIMIT, "a message of %zu bytes is too large",
                       message->content.size);
    if (!utf8_valid(message->content))
        return err_set(error, ETHOS_INVALID, "a message is not valid UTF-8");
    return form_texts(texts, sizeof texts / sizeof *texts, error);
}

int form_messages(const struct ethos_message *messages, size_t count, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < count; i++)
        code = check_message(&messages[i], error);
    return code;
}

/* ---- what there is not, and what there is already -------------------------------------------- */

int form_no_session(const char *id, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_NOTFOUND, "no such session: %s", id);
    return err_hint(error, code, "list the sessions to see which there are");
}

int form_no_message(const char *id, struct ethos_error *error)
{
    return err_set(error, ETHOS_NOTFOUND, "no such message in the session: %s", id);
}

int form_no_key(const char *name, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_NOTFOUND, "no such key: %s", name);
    return err_hint(error, code, "list the keys to see which there are");
}

int form_session_exists(const char *key, struct ethos_error *error)
{
    return err_set(error, ETHOS_EXISTS, "a session with this key or id exists: %s", key);
}

int form_message_exists(const char *id, struct ethos_error *error)
{
    return err_set(error, ETHOS_EXISTS, "a message with this id exists: %s", id);
}

int form_key_exists(const char *prefix, struct ethos_error *error)
{
    return err_set(error, ETHOS_EXISTS, "a key with this prefix or secret exists: %s", prefix);
}

/* ---- folders --------------------------------------------------------------------------------- */

bool form_within(const char *wanted, const char *folder)
{
    struct ethos_view rest = view_str(wanted), is = view_str(folder), line;
    if (!wanted || !folder)
        return !wanted;
    while (view_line(&rest, &line)) {
        bool tree = line.size > 1 && line.data[line.size - 1] == '/';
        size_t size = line.size - tree;
        if (is.size >= size && memcmp(is.data, line.data, size) == 0 &&
            (is.size == size || (tree && is.data[size] == '/')))
            return true;
    }
    return false;
}
