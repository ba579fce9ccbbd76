/*
 * talk.h: a conversation in the terminal, whatever shows it: a line that a person typed is a message for the agent
 * or a command. plain.c shows it line by line, live.c with an editor.
 *
 * Nothing here reads or writes the terminal; what is to be seen goes to the screen, text as it came: the screen
 * escapes it.
 */
#ifndef ETHOS_CHAT_TALK_H
#define ETHOS_CHAT_TALK_H

#include "agent/agent.h"
#include "chat/conversation_choice.h"

#define TALK_MAX_CHANGES 6 /* lines of what was remembered that are shown */
#define TALK_MAX_CALL 100  /* characters of a tool call that are shown */

enum talk_style { TALK_PLAIN, TALK_BOLD, TALK_DIM, TALK_ADDED, TALK_REMOVED, TALK_FAILED };

/* What shows a conversation. The calls come from the thread that runs talk_input. */
struct talk_screen {
    void *arg;
    void (*event)(void *arg, const struct agent_event *event);              /* of a turn */
    void (*line)(void *arg, enum talk_style style, struct ethos_view text); /* or several */
    void (*source)(void *arg, struct ethos_view text);                      /* as it is */
    bool (*confirm)(void *arg, const char *question);
    /* Runs a program that needs the terminal; its exit status, or -1. argv ends with NULL. */
    int (*run)(void *arg, const char *const argv[]);
    const char *keys; /* what keys do, for /help; or NULL */
};

struct chat_talk {
    const struct surface_start *start;
    const struct talk_screen *screen;
    struct conversation_choice choice;
    char model[256]; /* that /model chose, as PROVIDER/NAME; "": the configured one */
    int abort_fd;

    json_t *context;    /* of the last turn, or NULL */
    struct str reply;   /* of the last turn */
    json_t *changes;    /* of memory in the last turn, or NULL */
    json_t *pending;    /* what waits since the turn, until it ends; or NULL */
    int64_t changed_ms; /* when that turn began */
    char changed_session[ETHOS_UUID_SIZE];
    struct model_usage usage; /* of the last turn */
    bool failed;              /* the last input */
    bool leaving;             /* somebody said /quit */
};

/* Finds conversation and model; the caller sets screen and abort_fd. Release in any case. */
int talk_open(const struct surface_start *start, struct chat_talk *out, struct ethos_error *error);
void talk_release(struct chat_talk *self);

/* What somebody typed: a message, which is one turn, or a command. What goes wrong is shown. */
void talk_input(struct chat_talk *self, struct ethos_view text);

/* Whether a setting has this value. */
bool talk_setting_is(struct chat_talk *self, const char *name, const char *value);

/* Whether the text is a command, not a message. */
bool talk_is_command(struct ethos_view text);

/* The names of commands with what follows them, in the order of /help; ends with name NULL. */
struct talk_command {
    const char *name; /* "/memory" */
    const char *args; /* for help, or NULL */
    const char *help;
    void (*run)(struct chat_talk *self, struct ethos_view rest);
};
extern const struct talk_command talk_commands[];

/* ---- what is shown of a turn, in words ---------------------------------------------------------- */

/* "run make test": a tool with its arguments, in one line. Returns str_code. */
int talk_describe_call(const struct agent_event *event, struct str *out);

/* "1,200 tokens in, 85 out, $0.0041"; a model of this machine costs nothing, and nothing is said of it. */
int talk_describe_usage(const struct model_usage *usage, struct str *out);

/* "remembered 2 lines in MEMORY.md (/undo)" and the lines, as lines of the screen. */
void talk_show_changes(struct chat_talk *self, const json_t *changes);

/* ---- for commands ------------------------------------------------------------------------------- */

/* Shows one line. */
void talk_say(struct chat_talk *self, enum talk_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Shows an error. */
void talk_fail(struct chat_talk *self, const struct ethos_error *error);

/*
 * Runs an operation of the table; takes args. False: it failed, and the error is shown. A partial result counts as
 * done, after its error was shown. The result is released in any case by the caller.
 */
struct op_result;
bool talk_run(struct chat_talk *self, const char *operation, json_t *args,
              struct op_result *result);
bool talk_try(struct chat_talk *self, const char *operation, json_t *args,
              struct op_result *result);

/* Goes on in another session; opens the model that it needs. False: nothing changed, and why is shown. */
bool talk_switch(struct chat_talk *self, const char *session);

/* Goes on with another personality or model: NULL leaves it as it is. */
bool talk_choose(struct chat_talk *self, const char *personality, const char *model);

struct agent_setup talk_setup(struct chat_talk *self);

/* commands_memory.c, commands_pending.c, commands_session.c */
void command_memory(struct chat_talk *self, struct ethos_view rest);
void command_undo(struct chat_talk *self, struct ethos_view rest);
void command_forget(struct chat_talk *self, struct ethos_view rest);
void command_pending(struct chat_talk *self, struct ethos_view rest);
void command_accept(struct chat_talk *self, struct ethos_view rest);
void command_recall(struct chat_talk *self, struct ethos_view rest);
void command_new(struct chat_talk *self, struct ethos_view rest);
void command_sessions(struct chat_talk *self, struct ethos_view rest);
void command_resume(struct chat_talk *self, struct ethos_view rest);
void command_fork(struct chat_talk *self, struct ethos_view rest);
void command_rename(struct chat_talk *self, struct ethos_view rest);
void command_personality(struct chat_talk *self, struct ethos_view rest);
void command_model(struct chat_talk *self, struct ethos_view rest);

#endif
