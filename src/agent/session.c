/*
 * session.c: what a turn knows of its session.
 */
#include "agent/session.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/json.h"
#include "base/view.h"
#include "core/sessions/key.h"
#include "memory/sessions/lookup.h"
#include "ops/op.h"

#define ACTIVE_PERSONALITY "activePersonality" /* in the metadata */

/* The member activePersonality of the metadata wins over the column, as in other programs of the family. */
static void read_metadata(struct agent_session *self, const struct ethos_session *row)
{
    json_t *metadata = NULL;
    if (row->metadata) {
        str_adds(&self->metadata, row->metadata);
        json_parse(view_str(row->metadata), "metadata", &metadata, NULL);
    }
    const char *active = json_string_value(json_object_get(metadata, ACTIVE_PERSONALITY));
    snprintf(self->personality, sizeof self->personality, "%s",
             active && *active  ? active
             : row->personality ? row->personality
                                : "");
    str_add(&self->not_applied, json_view(metadata, SESSION_NOT_APPLIED));
    json_decref(metadata);
}

static int copy_session_row(void *arg, const struct ethos_session *row)
{
    struct agent_session *self = arg;
    snprintf(self->key, sizeof self->key, "%s", row->key);
    snprintf(self->model, sizeof self->model, "%s", row->model);
    snprintf(self->provider, sizeof self->provider, "%s", row->provider);
    snprintf(self->folder, sizeof self->folder, "%s", row->working_dir ? row->working_dir : "");
    self->turns = row->turns;
    read_metadata(self, row);
    return 0;
}

int agent_session_read(struct ethos *ethos, const char *id, struct agent_session *out,
                       struct ethos_error *error)
{
    struct ethos_sessions *store;
    *out = (struct agent_session){0};
    str_init(&out->metadata, SESSION_MAX_METADATA);
    str_init(&out->not_applied, SESSION_MAX_METADATA);
    int code = ethos_sessions(ethos, &store, error);
    return code == ETHOS_OK ? store->ops->get(store, id, copy_session_row, out, error) : code;
}

int agent_session_chat_key(const char *platform, const char *bot, const char *chat,
                           const char *thread, int64_t moment, struct str *out)
{
    struct str place;
    str_init(&place, SESSION_MAX_METADATA);
    str_printf(&place, "%s%s%s", chat, *thread ? "/" : "", thread);
    const struct ethos_view parts[] = {view_str(platform), view_str(bot), str_view(&place)};
    session_key_parts(parts, sizeof parts / sizeof *parts, out);
    if (moment != 0)
        str_printf(out, ":%" PRId64, moment);
    str_fail(out, str_code(&place));
    str_release(&place);
    return str_code(out);
}

static int copy_session_id(void *arg, const struct ethos_session *row)
{
    snprintf(arg, ETHOS_UUID_SIZE, "%s", row->id);
    return 0;
}

static int make_session(struct ethos *ethos, struct ethos_sessions *store,
                        const struct ethos_request *request, const char *key,
                        char out_id[ETHOS_UUID_SIZE], struct ethos_error *error)
{
    struct ethos_turn *turn;
    int code = ethos_turn_new(ethos, request, &turn, error);
    if (code != ETHOS_OK)
        return code;
    const struct ethos_context *context = ethos_turn_context(turn);
    struct ethos_session session = {.key = key,
                                    .platform = context->platform,
                                    .model = "",
                                    .provider = "",
                                    .personality = context->personality};
    code = sessions_user(turn, &session.user, error);
    if (code == ETHOS_OK)
        code = store->ops->create(store, &session, out_id, error);
    ethos_turn_free(turn);
    return code;
}

int agent_session_open(struct ethos *ethos, const struct ethos_request *request, const char *key,
                       char out_id[ETHOS_UUID_SIZE], struct ethos_error *error)
{
    struct ethos_sessions *store;
    int code = ethos_sessions(ethos, &store, error);
    if (code == ETHOS_OK)
        code = store->ops->get_by_key(store, key, copy_session_id, out_id, error);
    if (code == ETHOS_NOTFOUND)
        code = make_session(ethos, store, request, key, out_id, error);
    if (code == ETHOS_EXISTS) // somebody made it meanwhile
        code = store->ops->get_by_key(store, key, copy_session_id, out_id, error);
    return code;
}

void agent_session_release(struct agent_session *self)
{
    str_release(&self->metadata);
    str_release(&self->not_applied);
}

int agent_session_set_personality(struct ethos *ethos, const char *id, const char *personality,
                                  struct ethos_error *error)
{
    struct agent_session session;
    struct ethos_sessions *store;
    struct str text;
    json_t *metadata = NULL;
    int code = agent_session_read(ethos, id, &session, error);
    str_init(&text, SESSION_MAX_METADATA);
    if (code == ETHOS_OK && session.metadata.size > 0)
        json_parse(str_view(&session.metadata), "metadata", &metadata, NULL);
    if (code == ETHOS_OK && json_object_get(metadata, ACTIVE_PERSONALITY)) {
        op_json_put(&metadata, ACTIVE_PERSONALITY, json_string(personality));
        if (!metadata || json_print(metadata, JSON_STYLE_LINE, &text) != ETHOS_OK)
            code = err_nomem(error);
    }
    const struct ethos_session_patch patch = {.personality = personality,
                                              .metadata = text.size > 0 ? text.data : NULL};
    if (code == ETHOS_OK)
        code = ethos_sessions(ethos, &store, error);
    if (code == ETHOS_OK)
        code = store->ops->update(store, id, &patch, error);
    json_decref(metadata);
    str_release(&text);
    agent_session_release(&session);
    return code;
}
