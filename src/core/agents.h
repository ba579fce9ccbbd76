/*
 * agents.h: the agents that can be taught to use ethos, where each keeps its settings, and how our
 * entries are put into those and taken out again.
 *
 * Pure: the text of a file in, the text of the file out. Three things make an agent use ethos: an
 * MCP server, hooks, and a paragraph of instructions. Ours is an entry whose command runs the
 * program ethos, or what stands between our marks; nothing else is ever changed. An entry that
 * somebody wrote by hand counts, and stays as it is.
 */
#ifndef ETHOS_CORE_AGENTS_H
#define ETHOS_CORE_AGENTS_H

#include <stdbool.h>

#include <ethos/types.h>

#include "base/json.h"

struct str;

#define AGENTS "claude-code|codex|gemini|cursor"

enum { AGENT_MCP = 1, AGENT_HOOKS = 2, AGENT_INSTRUCTIONS = 4, AGENT_ALL = 7 };

enum agent_form { AGENT_JSON, AGENT_TOML, AGENT_MARKDOWN };

struct agent_file {
    unsigned parts; /* what of ours belongs into it; 0 ends the list */
    enum agent_form form;
    const char *user;    /* below the folder of the agent; NULL: it has none */
    const char *project; /* below the project */
    bool beside;         /* stands beside that folder, unless the variable names the folder */
};

struct agent_event {
    const char *name;
    int timeout; /* seconds */
};

struct agent {
    const char *name, *title;
    const char *program;  /* by which it is started */
    const char *variable; /* names its folder, or what that is in; NULL: nothing does */
    const char *below;    /* where the folder is in what the variable names; "": that is it */
    const char *folder;   /* in the home of the user, when the variable is not set */
    struct agent_file files[4];
    const struct agent_event *events; /* end with name NULL */
    bool typed;                       /* its MCP entry says that it is of type stdio */
    bool flat;                        /* hooks are commands, not groups of them */
    bool named;                       /* hooks have names */
    int unit;                         /* of a timeout, parts of a second */
    const char *trust;                /* what it needs before it runs our hooks, or NULL */
    const char *approve;              /* what the server of a project needs, or NULL */
    const char *rules;                /* why the user has no file for instructions, or NULL */
};

extern const struct agent agents[]; /* ends with name NULL */

const struct agent *agent_find(const char *name);

/* Whether the program of a command is ours, whatever its folder. */
bool agent_is_program(struct ethos_view program);

/* What the entries shall run. */
struct agent_wiring {
    const struct agent *agent;
    const char *program; /* "ethos", or where it is */
    const char *home;    /* NULL: the usual one */
};

/*
 * Makes out the text of the file with our entries of these parts in it. Those that are there stay
 * as they are, but renew lets them run this program with this home. what names the file in errors.
 * ETHOS_INVALID when the text is not what the agent reads, or is commented JSON; ETHOS_EXISTS when
 * our name is somebody else's.
 */
int agent_add(const struct agent_wiring *wiring, const struct agent_file *file, unsigned parts,
              struct ethos_view text, const char *what, bool renew, struct str *out,
              struct ethos_error *error);

/*
 * Makes out the text without any of our entries. What they leave empty goes too, unless it was
 * there in the text from before they came; absent: not known. A block that stood there before comes
 * back.
 */
int agent_remove(const struct agent_file *file, struct ethos_view text, struct ethos_view before,
                 const char *what, struct str *out, struct ethos_error *error);

/* Which parts are in the text, whole; none in one that cannot be read. Comments do no harm here. */
unsigned agent_parts(const struct agent *agent, const struct agent_file *file,
                     struct ethos_view text);

/* Whether there is anything in the text that agent_remove would take out. */
bool agent_touched(const struct agent_file *file, struct ethos_view text);

/* Whether nothing is left in a text from which our entries were taken. */
bool agent_left_nothing(const struct agent_file *file, struct ethos_view text);

/*
 * Our MCP server as the text has it: {"command", "args", "env"?}. NULL when it has none, or one
 * that cannot be read; owned.
 */
json_t *agent_server(const struct agent_file *file, struct ethos_view text);

/*
 * Where our hook for an event stands in the text: its group and its number in that. False when it
 * does not.
 */
bool agent_hook(struct ethos_view text, const char *event, size_t *out_group, size_t *out_number);

#endif
