/*
 * commands.c: the commands of a conversation, and those of them that only look.
 */
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "chat/talk.h"

static void command_help(struct chat_talk *self, struct ethos_view rest)
{
    (void)rest;
    for (const struct talk_command *row = talk_commands; row->name; row++) {
        char head[64];
        snprintf(head, sizeof head, "%s%s%s", row->name, row->args ? " " : "",
                 row->args ? row->args : "");
        talk_say(self, TALK_PLAIN, "%-29s %s", head, row->help);
    }
    talk_say(self, TALK_DIM,
             "A line that ends with \\ goes on; @FILE puts a file into the message.");
    if (self->screen->keys)
        talk_say(self, TALK_DIM, "%s", self->screen->keys);
}

static void command_quit(struct chat_talk *self, struct ethos_view rest)
{
    (void)rest;
    self->leaving = true;
}

static void command_raw(struct chat_talk *self, struct ethos_view rest)
{
    (void)rest;
    if (self->reply.size == 0)
        talk_say(self, TALK_DIM, "There is no answer yet.");
    else
        self->screen->source(self->screen->arg, str_view(&self->reply));
}

/* ---- what the model gets ----------------------------------------------------------------------- */

static void command_why(struct chat_talk *self, struct ethos_view rest)
{
    size_t index;
    json_t *row;
    const json_t *json = self->context;
    (void)rest;
    if (!json) {
        talk_say(self, TALK_DIM, "Nothing was asked yet.");
        return;
    }
    talk_say(self, TALK_BOLD, "The last prompt");
    json_array_foreach (json_object_get(json, "parts"), index, row)
        talk_say(self, TALK_PLAIN, "%10lld bytes  %s", json_int(row, "bytes"),
                 json_string_value(json_object_get(row, "name")));
    talk_say(self, TALK_PLAIN, "%10lld bytes  %zu tools", json_int(json, "toolBytes"),
             json_array_size(json_object_get(json, "tools")));
    talk_say(self, TALK_PLAIN, "%10lld bytes  %lld messages of this conversation",
             json_int(json, "messageBytes"), json_int(json, "messages"));
    talk_say(self, TALK_DIM, "The model's context has %lld tokens.", json_int(json, "window"));
    if (json_int(json, "left") > 0)
        talk_say(self, TALK_PLAIN, "Left out: the %lld oldest messages", json_int(json, "left"));
    json_array_foreach (json_object_get(json, "omitted"), index, row)
        talk_say(self, TALK_PLAIN, "Left out: %lld characters of %s (%s)", json_int(row, "chars"),
                 json_string_value(json_object_get(row, "key")),
                 json_string_value(json_object_get(row, "reason")));
}

static void command_tools(struct chat_talk *self, struct ethos_view rest)
{
    size_t index;
    json_t *row, *json;
    struct ethos_error error = {0};
    const struct agent_setup setup = talk_setup(self);
    (void)rest;
    if (agent_describe(&setup, self->choice.session, &json, &error) != ETHOS_OK) {
        talk_fail(self, &error);
        return;
    }
    const json_t *tools = json_object_get(json, "tools");
    json_array_foreach ((json_t *)tools, index, row) {
        const char *text = json_string_value(json_object_get(row, "description"));
        const char *end = strstr(text, ". ");
        talk_say(self, TALK_PLAIN, "%-20s %.*s", json_string_value(json_object_get(row, "name")),
                 (int)(end ? end - text + 1 : (long)strlen(text)), text);
    }
    if (json_array_size(tools) == 0)
        talk_say(self, TALK_DIM, "The model has no tools here.");
    json_decref(json);
}

static void command_usage(struct chat_talk *self, struct ethos_view rest)
{
    struct op_result result;
    struct str last;
    (void)rest;
    if (self->context) {
        str_init(&last, 256);
        talk_describe_usage(&self->usage, &last);
        talk_say(self, TALK_PLAIN, "Last turn: %s", last.data);
        str_release(&last);
    }
    if (talk_run(self, "sessions.get",
                 json_pack("{s:s, s:i}", "id", self->choice.session, "last", 1), &result)) {
        const json_t *session = json_object_get(result.json, "session");
        const json_t *usage = json_object_get(session, "usage");
        double cost = json_number_value(json_object_get(usage, "estimatedCostUsd"));
        talk_say(self, TALK_PLAIN,
                 "This conversation: turns: %lld, requests: %lld, tokens in: %lld, out: %lld",
                 json_int(session, "turnCount"), json_int(usage, "apiCallCount"),
                 json_int(usage, "inputTokens"), json_int(usage, "outputTokens"));
        if (cost > 0)
            talk_say(self, TALK_PLAIN, "Cost: $%.4f", cost);
    }
    op_result_release(&result);
}

const struct talk_command talk_commands[] = {
    {"/memory", "[NOTE | edit [NOTE]]", "show memory, print a note, or edit one", command_memory},
    {"/undo", NULL, "undo what the last turn remembered", command_undo},
    {"/pending", "[DECISION] [ID]", "what waits for you; approve, edit, reject or never",
     command_pending},
    {"/accept", NULL, "accept the instructions of this project as your own words", command_accept},
    {"/forget", "TEXT", "purge a text from memory, after showing where it is", command_forget},
    {"/recall", "TEXT", "search memory and notes", command_recall},
    {"/new", NULL, "begin a new conversation; memory stays", command_new},
    {"/sessions", NULL, "list the conversations of this project", command_sessions},
    {"/resume", "[ID]", "go on with another conversation", command_resume},
    {"/fork", NULL, "go on in a copy of this conversation", command_fork},
    {"/rename", "TITLE", "give this conversation a title", command_rename},
    {"/personality", "[ID]", "show or switch the personality", command_personality},
    {"/model", "[PROVIDER/NAME]", "show or switch the model", command_model},
    {"/why", NULL, "what was in the last prompt", command_why},
    {"/usage", NULL, "tokens and cost", command_usage},
    {"/tools", NULL, "list the tools of the model", command_tools},
    {"/raw", NULL, "print the last answer as the model wrote it", command_raw},
    {"/help", NULL, "list the commands", command_help},
    {"/quit", NULL, "leave", command_quit},
    {0}};
