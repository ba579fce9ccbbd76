/*
 * commands.h: what begins with a slash, and who may say it.
 *
 *   at once       /stop, /pair: they do not wait for the turn that runs
 *   in order      /new, /help, /link: in the gateway's thread, when what was said before is answered
 *   in a thread   /memory, /undo, /recall, /usage, /personality, /model: they wait for memory
 *
 * Nothing here changes anything outside the conversation but what its name says; /forget, /resume and /allow are not
 * for channels.
 */
#ifndef ETHOS_GATEWAY_COMMANDS_H
#define ETHOS_GATEWAY_COMMANDS_H

#include <stdbool.h>

#include <ethos/ethos.h>

#include "base/str.h"

enum command_when { COMMAND_AT_ONCE, COMMAND_IN_ORDER, COMMAND_IN_THREAD };

struct command {
    const char *name, *help; /* help NULL: it is not listed */
    const char *role;        /* the least one */
    enum command_when when;
};

/* Whether a text begins with a slash; *out is its row, or NULL for one that there is not. */
bool command_parse(struct ethos_view text, const struct command **out, struct ethos_view *out_rest);

/* Whether somebody of this role may. */
bool command_is_allowed(const struct command *command, const char *role);

/* Appends the list of those that the role may. */
void command_help(const char *role, struct str *out);

/* One that runs in a thread. */
struct command_call {
    struct ethos *ethos;
    const struct ethos_request *request;
    const char *session; /* id */
    struct ethos_view text;
    int64_t undo_ms;
    bool no_memory;
};

/* Appends the answer. out_model: the model of the chat from now on, or "". */
int command_run(const struct command_call *call, struct str *out, char out_model[256],
                struct ethos_error *error);

#endif
