/*
 * conversation_choice.c: choosing the session, personality and model of a command.
 */
#include "chat/conversation_choice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/configured_model.h"
#include "agent/session.h"
#include "base/err.h"
#include "base/view.h"

/* Finds or creates the session of the folder. dry_run: none is created, and the id may be "". */
static int find_folder_session(struct conversation_choice *self, bool fresh, bool dry_run,
                               struct ethos_error *error)
{
    struct op_result result;
    const struct op *op = op_find(fresh ? "sessions.new" : "sessions.current");
    json_t *args = json_object();
    struct op_call call = {.ethos = self->ethos,
                           .request = &self->request,
                           .args = args,
                           .want_json = true,
                           .dry_run = dry_run,
                           .via = "ask"};
    op_result_init(&result);
    int code = args ? op_run(op, &call, &result, error) : err_nomem(error);
    struct ethos_view id = json_view(json_object_get(result.json, "session"), "id");
    if (code == ETHOS_OK)
        snprintf(self->session, sizeof self->session, "%.*s", VIEW_ARG(id));
    json_decref(args);
    op_result_release(&result);
    return code;
}

/* Uses the personality of the call, else of the session, else the active one. */
static int find_personality(struct conversation_choice *self, struct ethos_error *error)
{
    struct agent_session session = {0};
    struct ethos_turn *turn;
    int code = ETHOS_OK;
    if (!self->request.personality && *self->session) {
        code = agent_session_read(self->ethos, self->session, &session, error);
        snprintf(self->personality, sizeof self->personality, "%s", session.personality);
        agent_session_release(&session);
    }
    if (code != ETHOS_OK || *self->personality)
        return code;
    code = ethos_turn_new(self->ethos, &self->request, &turn, error);
    if (code != ETHOS_OK)
        return code;
    snprintf(self->personality, sizeof self->personality, "%s",
             ethos_turn_context(turn)->personality);
    ethos_turn_free(turn);
    return ETHOS_OK;
}

static int run_personality_operation(struct conversation_choice *self, const char *operation,
                                     bool dry_run, struct op_result *result,
                                     struct ethos_error *error)
{
    json_t *args = json_pack("{s:s}", "id", self->personality);
    struct op_call call = {.ethos = self->ethos,
                           .request = &self->request,
                           .args = args,
                           .want_json = true,
                           .dry_run = dry_run,
                           .via = "ask"};
    op_result_init(result);
    int code = args ? op_run(op_find(operation), &call, result, error) : err_nomem(error);
    json_decref(args);
    return code;
}

/* Creates a built-in personality in the home on its first use. */
static int create_builtin_personality(struct conversation_choice *self, bool dry_run,
                                      struct ethos_error *error)
{
    struct op_result result;
    int code = run_personality_operation(self, "personalities.get", dry_run, &result, NULL);
    const json_t *row = json_object_get(result.json, "personality");
    bool makes = code == ETHOS_OK && json_is_true(json_object_get(row, "builtin"));
    op_result_release(&result);
    if (!makes)
        return ETHOS_OK;
    code = run_personality_operation(self, "personalities.create", dry_run, &result, error);
    op_result_release(&result);
    return code;
}

int conversation_choose(const struct surface_start *start, const char *resume, bool fresh,
                        const char *model, struct conversation_choice *out,
                        struct ethos_error *error)
{
    *out = (struct conversation_choice){.request = *start->request};
    if (!getcwd(out->folder, sizeof out->folder) && errno != ENOENT)
        return err_errno(error, errno, "the current directory");
    if (!*out->folder)
        return err_hint(error, err_set(error, ETHOS_NOTFOUND, "the current directory is gone"),
                        "change to an existing directory");
    TRY(ethos_open(start->options, &out->ethos, error));
    if (resume)
        TRY(ethos_session_find(out->ethos, resume, out->session, error));
    else if (!fresh)
        TRY(find_folder_session(out, false, true, error));
    TRY(find_personality(out, error));
    if (!start->options->ephemeral)
        TRY(create_builtin_personality(out, start->dry_run, error));
    TRY(configured_model_open(out->ethos, out->personality, model, &out->model, error));
    return *out->session ? ETHOS_OK : find_folder_session(out, fresh, false, error);
}

void conversation_choice_release(struct conversation_choice *self)
{
    if (self->model)
        self->model->ops->close(self->model);
    ethos_close(self->ethos);
    self->model = NULL;
    self->ethos = NULL;
}
