/*
 * agents.h: the agents that can be taught to use ethos, where each keeps its settings, and how our
 * entries are put into those and taken out again.
 *
 * Pure: the text of a file in, the text of the file out. Three things make an agent use ethos: an
 * MCP server, hooks, and a paragraph of instructions where the server's own do not reach the model. Ours is an entry whose command runs the
 * program ethos, or what stands between our marks; nothing else is ever changed. An entry that
 * somebody wrote by hand counts, and stays as it is.
 */
#ifndef ETHOS_CORE_AGENTS_AGENTS_H
#define ETHOS_CORE_AGENTS_AGENTS_H

#include <stdbool.h>

#include <ethos/types.h>

#include "base/json.h"

struct str;

#define AGENTS "claude-code|codex|gemini|cursor|copilot|qwen|opencode"
#define MCP_JSON_NAME "mcp-json"        /* any other program */
#define AGENTS_ALSO "claude|gemini-cli" /* what people call them besides */

/*
 * AGENT_TOOLS: the tools that the agent may call without asking. AGENT_OWN_MEMORY: where the memory that the agent
 * itself keeps is, or that it keeps none; for one project.
 */
enum {
    AGENT_MCP = 1,
    AGENT_HOOKS = 2,
    AGENT_INSTRUCTIONS = 4,
    AGENT_TOOLS = 8,
    AGENT_OWN_MEMORY = 16,
    AGENT_ALL = 31
};

/* AGENT_JSONC: with comments and trailing commas, which the agent reads as well. */
enum agent_form { AGENT_JSON, AGENT_JSONC, AGENT_TOML, AGENT_MARKDOWN };

struct agent_file {
    unsigned parts; /* what of ours belongs into it; 0 ends the list */
    enum agent_form form;
    const char *user;    /* below the folder of the agent; NULL: it has none */
    const char *project; /* below the project */
    bool beside;         /* stands beside that folder, unless the variable names the folder */
};

/* What an event of an agent means to memory. */
enum agent_action {
    AGENT_START = 1, /* a conversation begins or goes on: it is told what is remembered */
    AGENT_PROMPT,    /* somebody asks: the same, if it is not told yet */
    AGENT_TURN,      /* an answer was given: what was said is recorded */
    AGENT_COMPACT,   /* the agent is about to forget: the same */
    AGENT_END,       /* the conversation ends: the same, and what was noted for it goes */
};

struct agent_event {
    const char *name;
    enum agent_action action;
    int timeout; /* seconds */
};

struct agent {
    const char *name, *title;
    const char *also;     /* what people call it besides, or NULL */
    const char *program;  /* by which it is started */
    const char *variable; /* names its folder, or what that is in; NULL: nothing does */
    const char *below;    /* where the folder is in what the variable names; "": that is it */
    const char *folder;   /* in the home of the user, when the variable is not set */
    const char *project;  /* variable that tells its hooks where the conversation began, or NULL */
    struct agent_file files[5];
    const struct agent_event *events; /* that are wired; end with name NULL */
    const struct agent_event *others; /* that are understood, but better not wired; or NULL */
    const char *allowed[2];           /* member of its settings that lists such tools, or NULL */
    const char *tool_prefix;          /* of our tools in that list */
    const char *own_folder;           /* member that says where it keeps its own memory, or NULL */
    const char *own_switch;           /* member that says whether it keeps one */
    const char *servers;              /* member around its MCP entries; NULL: mcpServers */
    const char *type;                 /* what its MCP entry says of its type, or NULL */
    bool joined;                      /* its MCP entry has command and arguments in one list */
    bool filters;                     /* its MCP entry says which tools are used */
    bool loads;                       /* its MCP entry says that all tools are shown at once */
    bool flat;                        /* hooks are commands, not groups of them */
    bool named;                       /* hooks have names */
    bool strict;                      /* takes a hook that cannot be run for an order to stop */
    bool instructed;                  /* its model reads what an MCP server says of itself */
    int unit;                         /* of a timeout, parts of a second */
    const char *format;               /* of its transcripts; NULL: its events tell what was said */
    bool messages;                    /* shows a person what a hook says in systemMessage */
    bool marks;                       /* what hooks say stands between marks in its transcripts */
    const char *trust;                /* what it needs before it runs our hooks, or NULL */
    const char *approve;              /* what the server of a project needs, or NULL */
    const char *rules;                /* why the user has no file for instructions, or NULL */
};

extern const struct agent agents[]; /* ends with name NULL */

const struct agent *agent_find(const char *name);

/*
 * Any other program that has MCP servers in a file of its own, as "mcp-json": which form it has is seen from the text,
 * else from the path.
 */
const struct agent *agent_of_file(const char *path, struct ethos_view text);

/*
 * The event of these names, and whose it is; NULL when there is none, or a name is. Of the name of an
 * event the letters decide, be they large or small: session-start.
 */
const struct agent_event *agent_event_find(const char *agent, const char *event,
                                           const struct agent **out_agent);

/* Whether the program of a command is ours, whatever its folder. */
bool agent_is_program(struct ethos_view program);

/* What the entries shall run. */
struct agent_wiring {
    const struct agent *agent;
    const char *program;      /* "ethos", or where it is */
    const char *home;         /* NULL: the usual one */
    const char *const *tools; /* to be called without asking; ends with NULL; NULL: none */
    bool all_tools;           /* these are all tools */
    const char *own_memory;   /* the folder of the agent's own memory; "": it shall keep none */
};

/*
 * Makes out the text of the file with our entries of these parts in it. before is the text from
 * before they came: what is not in it is ours, and is made to run this program with this home;
 * everything else that is there stays as it is. Absent: not known, all of it stays. what names the
 * file in errors. ETHOS_INVALID when the text is not what the agent reads, or is commented JSON;
 * ETHOS_EXISTS when our name is somebody else's.
 */
int agent_add(const struct agent_wiring *wiring, const struct agent_file *file, unsigned parts,
              struct ethos_view text, struct ethos_view before, const char *what, struct str *out,
              struct ethos_error *error);

/*
 * Makes out the text without our entries, and without what they leave empty. What was there in the
 * text from before they came stays, or comes back when it was a block; absent: not known, all of
 * them go.
 */
int agent_remove(const struct agent_file *file, struct ethos_view text, struct ethos_view before,
                 const char *what, struct str *out, struct ethos_error *error);

/* Appends the folder that the settings name for the agent's own memory, if it is that of a workspace. */
int agent_own_folder(const struct agent *agent, struct ethos_view text, struct str *out);

/*
 * Which memory the entries in the text use: [{"home": "/x", "made": true}], home null when it is
 * not named, made when the entry is just as agent_add writes it. Owned; NULL when out of memory.
 */
json_t *agent_homes(const struct agent *agent, const struct agent_file *file,
                    struct ethos_view text);

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

/* Appends the command of that hook, and the program in it. ETHOS_NOTFOUND when there is none. */
int agent_hook_command(struct ethos_view text, const char *event, struct str *out_command,
                       struct str *out_program);

#endif
