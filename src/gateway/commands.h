/*
 * commands.h: slash commands and the roles that may use them.
 *
 *   at once       /stop, /pair: while a turn is running
 *   in order      /new, /help, /link: in the gateway's thread, after earlier messages were answered
 *   in a thread   /memory, /undo, /recall, /usage, /personality, /model: they use memory and may block
 *
 * /forget, /resume and /allow are deliberately missing from channels.
 */
#ifndef ETHOS_GATEWAY_COMMANDS_H
#define ETHOS_GATEWAY_COMMANDS_H

#include <stdbool.h>

#include <ethos/ethos.h>

#include "base/str.h"

enum command_when { COMMAND_AT_ONCE, COMMAND_IN_ORDER, COMMAND_IN_THREAD };

struct command {
    const char *name, *help; /* help NULL: not listed */
    const char *role;        /* the lowest role that may use it */
    enum command_when when;
};

/* Whether a text begins with a slash. *out is NULL for an unknown command. */
bool command_parse(struct ethos_view text, const struct command **out, struct ethos_view *out_rest);

/* Whether a role may use a command. */
bool command_is_allowed(const struct command *command, const char *role);

/* Appends the list of commands that a role may use. */
void command_help(const char *role, struct str *out);

/* A command that runs in a thread. */
struct command_call {
    struct ethos *ethos;
    const struct ethos_request *request;
    const char *session; /* id */
    struct ethos_view text;
    int64_t undo_ms;
    bool no_memory;
};

/* Appends the answer. out_model: the new model of the chat, or "". */
int command_run(const struct command_call *call, struct str *out, char out_model[256],
                struct ethos_error *error);

#endif
