/*
 * commands_session.c: the commands that choose which conversation goes on, in which personality, with which model.
 */
#include <stdio.h>
#include <string.h>

#include "agent/session.h"
#include "base/err.h"
#include "base/view.h"
#include "chat/talk.h"

#define SHOWN_SESSIONS 20

static const char *title_of(const json_t *session)
{
    const char *title = json_cstr(session, "displayTitle");
    return *title ? title : "without a title";
}

/* Runs an operation whose result has a session, and goes on in it. */
static bool switch_session(struct chat_talk *self, const char *operation, json_t *args)
{
    struct op_result result;
    bool done = talk_run(self, operation, args, &result);
    if (done)
        done = talk_switch(self, json_cstr(json_object_get(result.json, "session"), "id"));
    op_result_release(&result);
    return done;
}

void command_new(struct chat_talk *self, struct ethos_view rest)
{
    (void)rest;
    if (switch_session(self, "sessions.new", json_object()))
        talk_say(self, TALK_DIM, "A new conversation, %.8s; memory stays.", self->choice.session);
}

void command_fork(struct chat_talk *self, struct ethos_view rest)
{
    (void)rest;
    if (switch_session(self, "sessions.fork", json_pack("{s:s}", "id", self->choice.session)))
        talk_say(self, TALK_DIM, "This is a copy now, %.8s; the original stays as it is.",
                 self->choice.session);
}

static void list_sessions(struct chat_talk *self)
{
    size_t index;
    json_t *row;
    struct op_result result;
    if (talk_run(self, "sessions.list", json_pack("{s:i}", "limit", SHOWN_SESSIONS), &result)) {
        const json_t *items = json_object_get(result.json, "items");
        json_array_foreach ((json_t *)items, index, row) {
            bool here = strcmp(json_cstr(row, "id"), self->choice.session) == 0;
            talk_say(self, here ? TALK_BOLD : TALK_PLAIN, "%s %.8s  %.16s  %s", here ? "*" : " ",
                     json_cstr(row, "id"), json_cstr(row, "updatedAt"), title_of(row));
        }
        if (json_array_size(items) == 0)
            talk_say(self, TALK_DIM, "There are no conversations here.");
        else
            talk_say(self, TALK_DIM, "/resume ID goes on with one%s",
                     *json_cstr(result.json, "nextCursor") ? "; ethos sessions list has more" : "");
    }
    op_result_release(&result);
}

void command_sessions(struct chat_talk *self, struct ethos_view rest)
{
    (void)rest;
    list_sessions(self);
}

void command_resume(struct chat_talk *self, struct ethos_view rest)
{
    char name[ETHOS_MAX_ID + 1], id[ETHOS_UUID_SIZE];
    struct op_result result;
    struct ethos_error error = {0};
    if (rest.size == 0) {
        list_sessions(self);
        return;
    }
    snprintf(name, sizeof name, "%.*s", VIEW_ARG(rest));
    if (ethos_session_find(self->choice.ethos, name, id, &error) != ETHOS_OK) {
        talk_fail(self, &error);
        return;
    }
    if (!talk_switch(self, id))
        return;
    if (talk_run(self, "sessions.get", json_pack("{s:s, s:i}", "id", id, "last", 1), &result)) {
        const json_t *session = json_object_get(result.json, "session");
        talk_say(self, TALK_DIM, "Conversation %.8s, %lld turns: %s", id,
                 (long long)json_integer_value(json_object_get(session, "turnCount")),
                 title_of(session));
    }
    op_result_release(&result);
}

void command_rename(struct chat_talk *self, struct ethos_view rest)
{
    struct op_result result;
    if (rest.size == 0) {
        talk_say(self, TALK_FAILED, "/rename needs a title, such as /rename The night deployment");
        return;
    }
    if (talk_run(self, "sessions.update",
                 json_pack("{s:s, s:o}", "id", self->choice.session, "title", json_text(rest)),
                 &result))
        talk_say(self, TALK_DIM, "This conversation is now called %.*s.", VIEW_ARG(rest));
    op_result_release(&result);
}

/* ---- personality and model --------------------------------------------------------------------- */

static void list_personalities(struct chat_talk *self)
{
    size_t index;
    json_t *row;
    struct op_result result;
    if (talk_run(self, "personalities.list", json_object(), &result))
        json_array_foreach (json_object_get(result.json, "items"), index, row) {
            bool here = strcmp(json_cstr(row, "id"), self->choice.personality) == 0;
            talk_say(self, here ? TALK_BOLD : TALK_PLAIN, "%s %-16s %s", here ? "*" : " ",
                     json_cstr(row, "id"), json_cstr(row, "description"));
        }
    json_array_foreach (json_object_get(result.json, "builtIn"), index, row)
        talk_say(self, TALK_PLAIN, "  %-16s %s", json_cstr(row, "id"),
                 json_cstr(row, "description"));
    op_result_release(&result);
}

/* One that comes with the program is made in the home when it is used first. */
static bool create_personality(struct chat_talk *self, const char *id)
{
    struct op_result result;
    bool done = talk_run(self, "personalities.create", json_pack("{s:s}", "id", id), &result);
    op_result_release(&result);
    return done;
}

void command_personality(struct chat_talk *self, struct ethos_view rest)
{
    struct op_result result;
    struct ethos_error error = {0};
    if (rest.size == 0) {
        list_personalities(self);
        return;
    }
    bool known = talk_run(self, "personalities.get", json_pack("{s:o}", "id", json_text(rest)),
                          &result);
    const json_t *row = json_object_get(result.json, "personality");
    const char *id = json_cstr(row, "id");
    if (known && json_is_true(json_object_get(row, "builtin")))
        known = create_personality(self, id);
    if (known && talk_choose(self, id, NULL)) {
        if (agent_session_set_personality(self->choice.ethos, self->choice.session, id, &error) !=
            ETHOS_OK)
            talk_fail(self, &error);
        else
            talk_say(self, TALK_DIM, "The personality is now %s; the conversation goes on.", id);
    }
    op_result_release(&result);
}

void command_model(struct chat_talk *self, struct ethos_view rest)
{
    char name[256];
    if (rest.size >= sizeof name) {
        talk_say(self, TALK_FAILED, "this is not the name of a model");
        return;
    }
    snprintf(name, sizeof name, "%.*s", VIEW_ARG(rest));
    if (rest.size > 0 && !talk_choose(self, NULL, name))
        return;
    talk_say(self, rest.size > 0 ? TALK_DIM : TALK_PLAIN, "The model is %s%s/%s.",
             rest.size > 0 ? "now " : "", self->choice.model->provider, self->choice.model->name);
}
