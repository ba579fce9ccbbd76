/*
 * local.c: rows of commands that a surface carries out itself; they stand in the table so that help,
 * completion and the manual know them.
 */
#include "core/agents.h"
#include "ops/report.h"
#include "ops/tables.h"

static const struct op_arg edit_args[] = {ARG_STORE, ARG_KEY, ARG_SCOPE, ARG_IF_MATCH, ARG_END};
static const struct op_arg completion_args[] = {{"shell", OP_CHOICE, OP_REQUIRED | OP_POSITIONAL,
                                                 "bash|zsh|fish", "SHELL", "bash, zsh or fish"},
                                                ARG_END};
static const struct op_arg mcp_args[] = {
    {"readOnly", OP_FLAG, 0, NULL, NULL, "only tools that change nothing"},
    {"scope", OP_CHOICE, OP_MANY,
     "memory:read|memory:write|sessions:read|sessions:write|personalities:read", "RIGHT",
     "only tools with this right, such as memory:read (default: all rights of an agent)"},
    {"team", OP_TEXT, 0, NULL, "NAME", "also the memory of this team"},
    ARG_END};

/* Nothing is required: a hook that was set up wrongly must not break its agent. */
static const struct op_arg hook_args[] = {
    {"agent", OP_TEXT, OP_POSITIONAL, NULL, "AGENT", AGENTS},
    {"event", OP_TEXT, OP_POSITIONAL, NULL, "EVENT", "what happened, by the agent's name for it"},
    ARG_END};

static const struct op_arg serve_args[] = {
    {"host", OP_TEXT, OP_MANY, NULL, "HOST",
     "listen there instead of on 127.0.0.1 and ::1; other machines need an API key"},
    {"port", OP_INTEGER, 0, "0|65535", "PORT", "its port (default: serve.port, 3000; 0: any free)"},
    {"link", OP_FLAG, 0, NULL, NULL, "print a new login link of the server that runs, and end"},
    ARG_END};

static const struct op_arg conformance_args[] = {
    {"file", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "FILE.so",
     "a shared object with a backend"},
    {"option", OP_TEXT, OP_MANY, NULL, "NAME=VALUE",
     "a setting of the backend, as memory.options.NAME would be; may be repeated"},
    {"timeout", OP_INTEGER, 0, "1|3600", "SECONDS", "what one rule may take (default: 60)"},
    ARG_END};

const struct op ops_local[] = {
    {"memory.edit", "memory edit", "Edit one file in your editor", "ethos memory edit --store user",
     edit_args, OP_MEMORY_WRITE, OP_WRITES | OP_DESTRUCTIVE | OP_LOCAL, NULL},
    {"admin.completion", "completion", "Print the completion script of a shell",
     "ethos completion bash > ~/.local/share/bash-completion/completions/ethos", completion_args,
     OP_OWNER, OP_IDEMPOTENT | OP_LOCAL, NULL},
    {"agents.mcp", "mcp", "Serve memory to an agent, as MCP on stdio", "ethos mcp --read-only",
     mcp_args, OP_OWNER, OP_WRITES | OP_DESTRUCTIVE | OP_LOCAL, NULL},
    {"agents.hook", "hook", "Answer a hook of an agent, JSON on stdin and stdout",
     "ethos hook claude-code SessionStart < event.json", hook_args, OP_OWNER, OP_WRITES | OP_LOCAL,
     NULL},
    {"admin.serve", "serve", "Serve the dashboard and the API on this machine",
     "ethos serve --port 3001", serve_args, OP_OWNER,
     OP_WRITES | OP_DESTRUCTIVE | OP_LOCAL | OP_DATABASE, NULL},
    {"admin.conformance", "conformance", "Judge a backend by the rules for all of them",
     "ethos conformance ./store_scroll.so", conformance_args, OP_OWNER,
     OP_IDEMPOTENT | OP_LOCAL | OP_NO_HOME, NULL},
    {0}};
