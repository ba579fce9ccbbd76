/*
 * commands.c: what begins with a slash, and the commands that wait for memory.
 */
#include "gateway/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/configured_model.h"
#include "agent/session.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/view.h"
#include "channel/contacts.h"
#include "ops/op.h"

static const struct command commands[] = {
    {"help", "what can be said here", ROLE_GUEST, COMMAND_IN_ORDER},
    {"start", NULL, ROLE_GUEST, COMMAND_IN_ORDER},
    {"new", "begin a new conversation; memory stays", ROLE_GUEST, COMMAND_IN_ORDER},
    {"stop", "end the answer that is being written", ROLE_GUEST, COMMAND_AT_ONCE},
    {"link", "make this account and another of yours one person", ROLE_GUEST, COMMAND_IN_ORDER},
    {"memory", "show memory", ROLE_TRUSTED, COMMAND_IN_THREAD},
    {"undo", "take back what the last answer remembered", ROLE_TRUSTED, COMMAND_IN_THREAD},
    {"recall", "search memory: /recall TEXT", ROLE_TRUSTED, COMMAND_IN_THREAD},
    {"usage", "tokens and cost of this conversation", ROLE_TRUSTED, COMMAND_IN_THREAD},
    {"personality", "show or switch the personality: /personality ID", ROLE_OWNER,
     COMMAND_IN_THREAD},
    {"model", "show or switch the model: /model NAME", ROLE_OWNER, COMMAND_IN_THREAD},
    {"pair", "let somebody in: /pair CODE, or /pair CODE trusted", ROLE_OWNER, COMMAND_AT_ONCE},
};

static const struct command *find_command(struct ethos_view name)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (view_eq_nocase(name, view_str(commands[i].name)))
            return &commands[i];
    return NULL;
}

bool command_parse(struct ethos_view text, const struct command **out, struct ethos_view *out_rest)
{
    size_t size = 1;
    text = view_trim(text);
    if (text.size == 0 || *text.data != '/')
        return false;
    while (size < text.size && !memchr(" \t\n", text.data[size], 3))
        size++;
    *out = find_command(view_of(text.data + 1, size - 1));
    *out_rest = view_trim(view_from(text, size));
    return true;
}

static int rank_role(const char *role)
{
    return strcmp(role, ROLE_OWNER) == 0     ? 3
           : strcmp(role, ROLE_TRUSTED) == 0 ? 2
           : strcmp(role, ROLE_GUEST) == 0   ? 1
                                             : 0;
}

bool command_is_allowed(const struct command *command, const char *role)
{
    return rank_role(role) >= rank_role(command->role);
}

void command_help(const char *role, struct str *out)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (commands[i].help && command_is_allowed(&commands[i], role))
            str_printf(out, "%s/%s: %s", out->size > 0 ? "\n" : "", commands[i].name,
                       commands[i].help);
}

/* ---- operations -------------------------------------------------------------------------------- */

/*
 * Takes args. The result is released by the caller in any case. guarded: of what a model may read; a person's own
 * conversation is shown as it is.
 */
static int run_operation_as(const struct command_call *call, const char *name, json_t *args,
                            bool guarded, struct op_result *result, struct ethos_error *error)
{
    struct op_call op_call = {.ethos = call->ethos,
                              .request = call->request,
                              .args = args,
                              .want_json = true,
                              .guarded = guarded,
                              .via = call->request->platform,
                              .actor = "owner"};
    op_result_init(result);
    int code = args ? op_run(op_find(name), &op_call, result, error) : err_nomem(error);
    json_decref(args);
    return code;
}

static int run_guarded_operation(const struct command_call *call, const char *name, json_t *args,
                                 struct op_result *result, struct ethos_error *error)
{
    return run_operation_as(call, name, args, true, result, error);
}

static int show_memory(const struct command_call *call, struct ethos_view rest, struct str *out,
                       char out_model[256], struct ethos_error *error)
{
    (void)rest, (void)out_model;
    size_t index;
    json_t *row;
    struct op_result result;
    int code = run_guarded_operation(call, "memory.list", json_object(), &result, error);
    json_array_foreach (json_object_get(result.json, "files"), index, row)
        str_printf(out, "%s%s, %lld characters\n%.*s\n", out->size > 0 ? "\n" : "",
                   json_cstr(row, "key"), json_int(row, "chars"),
                   VIEW_ARG(view_trim_end(json_view(row, "shown"))));
    if (code == ETHOS_OK && out->size == 0)
        str_adds(out, "Memory is empty.");
    op_result_release(&result);
    return code;
}

static int search_memory(const struct command_call *call, struct ethos_view query, struct str *out,
                         char out_model[256], struct ethos_error *error)
{
    (void)out_model;
    size_t index;
    json_t *row;
    struct op_result result;
    if (query.size == 0) {
        str_adds(out, "Say what to look for: /recall deploy on Fridays");
        return ETHOS_OK;
    }
    int code = run_guarded_operation(call, "memory.search",
                                     json_pack("{s:o}", "query", json_text(query)), &result, error);
    json_array_foreach (json_object_get(result.json, "hits"), index, row)
        str_printf(out, "%s%s: %s", out->size > 0 ? "\n" : "", json_cstr(row, "key"),
                   json_cstr(row, "snippet"));
    if (code == ETHOS_OK && out->size == 0)
        str_adds(out, "Nothing found.");
    op_result_release(&result);
    return code;
}

/* What this conversation changed in one store since its last turn that remembered something began. */
static int undo_store(const struct command_call *call, const char *store, struct str *out,
                      struct ethos_error *error)
{
    char since[CLOCK_ISO_SIZE];
    struct op_result result;
    clock_iso(call->undo_ms, since);
    int code = run_guarded_operation(call, "memory.undo",
                                     json_pack("{s:s, s:b, s:s, s:s}", "store", store, "all", 1,
                                               "session", call->session, "since", since),
                                     &result, error);
    if (code == ETHOS_OK)
        str_printf(out, "%s%s", out->size > 0 ? " and in " : "Undone in ",
                   strcmp(store, "user") == 0 ? "USER.md" : "MEMORY.md");
    op_result_release(&result);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

static int undo_turn(const struct command_call *call, struct ethos_view rest, struct str *out,
                     char out_model[256], struct ethos_error *error)
{
    (void)rest, (void)out_model;
    int code = ETHOS_OK;
    if (call->undo_ms > 0)
        code = undo_store(call, "memory", out, error);
    if (code == ETHOS_OK && call->undo_ms > 0)
        code = undo_store(call, "user", out, error);
    if (code == ETHOS_OK)
        str_adds(out, out->size > 0 ? "." : "The last answer remembered nothing.");
    return code;
}

static int show_usage(const struct command_call *call, struct ethos_view rest, struct str *out,
                      char out_model[256], struct ethos_error *error)
{
    (void)rest, (void)out_model;
    struct op_result result;
    int code = run_operation_as(call, "sessions.get",
                                json_pack("{s:s, s:i}", "id", call->session, "last", 1), false,
                                &result, error);
    const json_t *row = json_object_get(json_object_get(result.json, "session"), "usage");
    if (code == ETHOS_OK)
        str_printf(out, "Turns: %lld, tokens in: %lld, out: %lld",
                   json_int(json_object_get(result.json, "session"), "turnCount"),
                   json_int(row, "inputTokens"), json_int(row, "outputTokens"));
    double cost = json_number_value(json_object_get(row, "estimatedCostUsd"));
    if (code == ETHOS_OK && cost > 0)
        str_printf(out, ", cost: $%.4f", cost);
    op_result_release(&result);
    return code;
}

static int list_personalities(const struct command_call *call, struct str *out,
                              struct ethos_error *error)
{
    size_t index;
    json_t *row;
    struct op_result result;
    struct agent_session session;
    int code = agent_session_read(call->ethos, call->session, &session, error);
    if (code == ETHOS_OK)
        str_printf(out, "This conversation: %s", session.personality);
    agent_session_release(&session);
    if (code != ETHOS_OK)
        return code;
    code = run_guarded_operation(call, "personalities.list", json_object(), &result, error);
    json_array_foreach (json_object_get(result.json, "items"), index, row)
        str_printf(out, "\n%s %s", json_cstr(row, "id"), json_cstr(row, "description"));
    op_result_release(&result);
    return code;
}

static int choose_personality(const struct command_call *call, struct ethos_view name,
                              struct str *out, char out_model[256], struct ethos_error *error)
{
    struct op_result result;
    (void)out_model;
    if (name.size == 0)
        return list_personalities(call, out, error);
    int code = run_guarded_operation(call, "personalities.get",
                                     json_pack("{s:o}", "id", json_text(name)), &result, error);
    const char *id = json_cstr(json_object_get(result.json, "personality"), "id");
    if (code == ETHOS_OK)
        code = agent_session_set_personality(call->ethos, call->session, id, error);
    if (code == ETHOS_OK)
        str_printf(out, "The personality is now %s; the conversation goes on.", id);
    op_result_release(&result);
    return code;
}

static int choose_model(const struct command_call *call, struct ethos_view name, struct str *out,
                        char out_model[256], struct ethos_error *error)
{
    char text[256];
    struct agent_session session;
    struct configured_model *configured = calloc(1, sizeof *configured);
    if (!configured)
        return err_nomem(error);
    snprintf(text, sizeof text, "%.*s", (int)(name.size < sizeof text ? name.size : 0), name.data);
    int code = agent_session_read(call->ethos, call->session, &session, error);
    if (code == ETHOS_OK)
        code = configured_model_read(call->ethos, *session.personality ? session.personality : NULL,
                                     *text ? text : NULL, configured, error);
    if (code == ETHOS_OK) {
        str_printf(out, "The model is %s%s/%s.", *text ? "now " : "", configured->provider,
                   configured->model);
        snprintf(out_model, 256, "%s", text);
    }
    configured_model_release(configured);
    free(configured);
    agent_session_release(&session);
    return code;
}

static const struct {
    const char *name;
    int (*run)(const struct command_call *call, struct ethos_view rest, struct str *out,
               char out_model[256], struct ethos_error *error);
} in_thread[] = {{"memory", show_memory},   {"undo", undo_turn},
                 {"recall", search_memory}, {"usage", show_usage},
                 {"model", choose_model},   {"personality", choose_personality}};

int command_run(const struct command_call *call, struct str *out, char out_model[256],
                struct ethos_error *error)
{
    const struct command *command;
    struct ethos_view rest;
    if (!command_parse(call->text, &command, &rest) || !command)
        return err_set(error, ETHOS_INVALID, "not a command");
    if (call->no_memory && command->when == COMMAND_IN_THREAD &&
        strcmp(command->role, ROLE_TRUSTED) == 0 && strcmp(command->name, "usage") != 0) {
        str_adds(out, "There is no memory in this chat.");
        return ETHOS_OK;
    }
    for (size_t i = 0; i < sizeof in_thread / sizeof *in_thread; i++)
        if (strcmp(in_thread[i].name, command->name) == 0)
            return in_thread[i].run(call, rest, out, out_model, error);
    return err_set(error, ETHOS_INVALID, "/%s does not run in a thread", command->name);
}
