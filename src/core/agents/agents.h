/*
 * agents.h: the agents that ethos can be installed for, where each keeps its settings, and how our
 * entries are added to and removed from those files.
 *
 * Pure: takes and returns the text of a file. An agent uses ethos through an MCP server, hooks, and
 * a paragraph of instructions if the server's own do not reach the model. Ours are entries whose
 * command runs the program ethos, and blocks between our markers; nothing else is ever changed. An
 * entry that somebody wrote by hand counts and stays unchanged.
 */
#ifndef ETHOS_CORE_AGENTS_AGENTS_H
#define ETHOS_CORE_AGENTS_AGENTS_H

#include <stdbool.h>

#include <ethos/types.h>

#include "base/json.h"

struct str;

#define AGENTS "claude-code|codex|gemini|cursor|copilot|qwen|opencode"
#define MCP_JSON_NAME "mcp-json"        /* stands for any other program */
#define AGENTS_ALSO "claude|gemini-cli" /* other names that people use */

/*
 * AGENT_TOOLS: the tools that the agent may call without asking. AGENT_OWN_MEMORY: the setting for
 * the agent's own memory, for one project.
 */
enum {
    AGENT_MCP = 1,
    AGENT_HOOKS = 2,
    AGENT_INSTRUCTIONS = 4,
    AGENT_TOOLS = 8,
    AGENT_OWN_MEMORY = 16,
    AGENT_ALL = 31
};

/* AGENT_JSONC: JSON with comments and trailing commas, which the agent accepts. */
enum agent_form { AGENT_JSON, AGENT_JSONC, AGENT_TOML, AGENT_MARKDOWN };

struct agent_file {
    unsigned parts; /* which of our parts belong in it; 0 ends the list */
    enum agent_form form;
    const char *user;    /* relative to the agent's folder; NULL: none */
    const char *project; /* relative to the project */
    bool beside;         /* next to the agent's folder, unless the variable names the folder */
};

/* What an event of an agent means to memory. */
enum agent_action {
    AGENT_START = 1, /* a conversation begins or continues: show the memory */
    AGENT_PROMPT,    /* a prompt: show the memory, if it was not shown yet */
    AGENT_TURN,      /* an answer is complete: record the turn */
    AGENT_COMPACT,   /* the agent is about to compact: record the turn */
    AGENT_END,       /* the conversation ends: record the turn and delete its state */
};

struct agent_event {
    const char *name;
    enum agent_action action;
    int timeout; /* seconds */
};

struct agent {
    const char *name, *title;
    const char *also;     /* another name that people use, or NULL */
    const char *program;  /* the command that starts it */
    const char *variable; /* variable that names its folder or a parent of it; or NULL */
    const char *below;    /* path of the folder below that; "": the same */
    const char *folder;   /* in the user's home, if the variable is not set */
    const char *project;  /* variable that gives hooks the folder of the conversation, or NULL */
    struct agent_file files[5];
    const struct agent_event *events; /* events that we install hooks for; ends with name NULL */
    const struct agent_event *others; /* events that we understand but do not install; or NULL */
    const char *allowed[2];           /* path of the setting that lists allowed tools, or NULL */
    const char *tool_prefix;          /* prefix of our tools in that list */
    const char *own_folder;           /* setting with the folder of its own memory, or NULL */
    const char *own_switch;           /* setting that turns its own memory on or off */
    const char *servers;              /* member that contains its MCP entries; NULL: mcpServers */
    const char *type;                 /* the type in its MCP entry, or NULL */
    bool joined;                      /* its MCP entry has command and arguments in one array */
    bool filters;                     /* its MCP entry lists the tools to use */
    bool loads;                       /* its MCP entry says that all tools are shown at once */
    bool flat;                        /* hooks are commands, not groups of commands */
    bool named;                       /* hooks have names */
    bool strict;                      /* treats a hook that cannot be run as an order to stop */
    bool instructed;                  /* its model reads the instructions of an MCP server */
    int unit;                         /* units per second of its timeouts */
    const char *format;  /* format of its transcripts; NULL: its events contain the messages */
    bool messages;       /* shows the user the systemMessage of a hook */
    bool marks;          /* its transcripts mark the output of hooks */
    const char *trust;   /* what the user must do before it runs our hooks, or NULL */
    const char *approve; /* what the user must do before it uses a project's server, or NULL */
    const char *rules;   /* why it has no user-wide instructions file, or NULL */
};

extern const struct agent agents[]; /* ends with name NULL */

const struct agent *agent_find(const char *name);

/*
 * Any other program with MCP servers in its own file, as "mcp-json"; the form is determined by the
 * text, or by the path.
 */
const struct agent *agent_of_file(const char *path, struct ethos_view text);

/*
 * The event with these names, and its agent; NULL if either is unknown. Event names are compared by
 * their letters, ignoring case: session-start.
 */
const struct agent_event *agent_event_find(const char *agent, const char *event,
                                           const struct agent **out_agent);

/* Whether the program of a command is ours, in whatever folder. */
bool agent_is_program(struct ethos_view program);

/* What the entries should run. */
struct agent_wiring {
    const struct agent *agent;
    const char *program;      /* "ethos", or its path */
    const char *home;         /* NULL: the usual one */
    const char *const *tools; /* to allow without asking; ends with NULL; NULL: none */
    bool all_tools;           /* these are all our tools */
    const char *own_memory;   /* the folder for the agent's own memory; "": turn it off */
};

/*
 * Adds our entries of these parts to the text of a file and writes it to out. before is the text
 * without our entries: entries that are not in it are ours and are changed to run this program with
 * this home; everything else stays. Absent: not known, everything stays. what names the file in
 * errors. ETHOS_INVALID if the agent could not read the text, or if it is commented JSON;
 * ETHOS_EXISTS if our name is used by another program.
 */
int agent_add(const struct agent_wiring *wiring, const struct agent_file *file, unsigned parts,
              struct ethos_view text, struct ethos_view before, const char *what, struct str *out,
              struct ethos_error *error);

/*
 * Removes our entries, and what becomes empty without them, and writes the text to out. What the
 * text before contained stays, or is restored if it was a block; absent: not known, all our entries
 * are removed.
 */
int agent_remove(const struct agent_file *file, struct ethos_view text, struct ethos_view before,
                 const char *what, struct str *out, struct ethos_error *error);

/* Appends the folder set for the agent's own memory, if it is that of a workspace. */
int agent_own_folder(const struct agent *agent, struct ethos_view text, struct str *out);

/*
 * The homes that the entries in the text use: [{"home": "/x", "made": true}], with home null if
 * none is named, and made if the entry is exactly what agent_add writes. Owned; NULL if out of
 * memory.
 */
json_t *agent_homes(const struct agent *agent, const struct agent_file *file,
                    struct ethos_view text);

/* Which parts the text contains completely; none if it cannot be read. Comments are allowed. */
unsigned agent_parts(const struct agent *agent, const struct agent_file *file,
                     struct ethos_view text);

/* Whether agent_remove would change the text. */
bool agent_touched(const struct agent_file *file, struct ethos_view text);

/* Whether nothing is left in a text from which our entries were removed. */
bool agent_left_nothing(const struct agent_file *file, struct ethos_view text);

/*
 * Our MCP server in the text: {"command", "args", "env"?}. NULL if it has none or it cannot be
 * read; owned.
 */
json_t *agent_server(const struct agent_file *file, struct ethos_view text);

/*
 * Finds our hook for an event in the text: its group, and its number in the group. False if there
 * is none.
 */
bool agent_hook(struct ethos_view text, const char *event, size_t *out_group, size_t *out_number);

/* Appends the command of that hook, and the program in it. ETHOS_NOTFOUND if there is none. */
int agent_hook_command(struct ethos_view text, const char *event, struct str *out_command,
                       struct str *out_program);

#endif
