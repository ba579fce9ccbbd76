/*
 * local_commands.c: rows of commands that a surface implements itself. They are in the table for help, completion and
 * the manual.
 */
#include "core/agents/agents.h"
#include "ops/tables.h"
#include "ops/write_report.h"

static const struct op_arg edit_args[] = {ARG_STORE, ARG_KEY, ARG_SCOPE, ARG_IF_MATCH, ARG_END};
static const struct op_arg completion_args[] = {
    {"shell", OP_CHOICE, OP_POSITIONAL, "bash|zsh|fish", "SHELL", "bash, zsh or fish"},
    {"of", OP_CHOICE, 0, "notes|personalities|settings|sessions", "KIND",
     "print these names instead; the scripts ask for them"},
    ARG_END};
static const struct op_arg mcp_args[] = {
    {"readOnly", OP_FLAG, 0, NULL, NULL, "offer only tools that change nothing"},
    {"scope", OP_CHOICE, OP_MANY,
     "memory:read|memory:write|sessions:read|sessions:write|personalities:read", "RIGHT",
     "offer only tools with this right, such as memory:read (default: all rights of an agent)"},
    {"team", OP_TEXT, 0, NULL, "NAME", "also the memory of this team"},
    ARG_END};

/* No argument is required, because a wrongly installed hook must not break its agent. */
static const struct op_arg hook_args[] = {
    {"agent", OP_TEXT, OP_POSITIONAL, NULL, "AGENT", AGENTS},
    {"event", OP_TEXT, OP_POSITIONAL, NULL, "EVENT", "the event, as the agent names it"},
    ARG_END};

static const struct op_arg serve_args[] = {
    {"host", OP_TEXT, OP_MANY, NULL, "HOST",
     "listen on this address instead of 127.0.0.1 and ::1; other machines need an API key"},
    {"port", OP_INTEGER, 0, "0|65535", "PORT",
     "the port (default: serve.port, 3000; 0: any free one)"},
    {"link", OP_FLAG, 0, NULL, NULL, "print a new login link of the running server, then exit"},
    {"untilEof", OP_FLAG, 0, NULL, NULL,
     "exit when standard input ends, for programs that start a server of their own"},
    ARG_END};

static const struct op_arg conformance_args[] = {
    {"file", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL, "FILE.so",
     "a shared object with a backend"},
    {"option", OP_TEXT, OP_MANY, NULL, "NAME=VALUE",
     "a setting of the backend, as memory.options.NAME would be; may be repeated"},
    {"timeout", OP_INTEGER, 0, "1|3600", "SECONDS", "seconds that one rule may take (default: 60)"},
    ARG_END};

static const struct op_arg ask_args[] = {
    {"text", OP_TEXT, OP_POSITIONAL | OP_REST, NULL, "TEXT",
     "the question; piped input is added to it"},
    {"continue", OP_FLAG, 0, NULL, NULL, "continue the conversation of this folder (default)"},
    {"new", OP_FLAG, 0, NULL, NULL, "start a new conversation"},
    {"resume", OP_TEXT, 0, NULL, "ID", "continue this session"},
    {"model", OP_TEXT, 0, NULL, "PROVIDER/NAME", "use this model instead of the configured one"},
    {"maxSteps", OP_INTEGER, 0, "1|1000", "N", "at most this many model calls (default: 50)"},
    {"noTools", OP_FLAG, 0, NULL, NULL, "offer the model no tools"},
    ARG_END};

static const struct op_arg chat_args[] = {
    {"continue", OP_FLAG, 0, NULL, NULL, "continue the conversation of this folder (default)"},
    {"new", OP_FLAG, 0, NULL, NULL, "start a new conversation"},
    {"resume", OP_TEXT, 0, NULL, "ID", "continue this session"},
    {"model", OP_TEXT, 0, NULL, "PROVIDER/NAME", "use this model instead of the configured one"},
    {"plain", OP_FLAG, 0, NULL, NULL,
     "print line by line without moving the cursor, for screen readers and simple terminals"},
    {"maxSteps", OP_INTEGER, 0, "1|1000", "N",
     "at most this many model calls in a turn (default: 50)"},
    {"noTools", OP_FLAG, 0, NULL, NULL, "offer the model no tools"},
    ARG_END};

static const struct op_arg setup_args[] = {
    {"provider", OP_TEXT, 0, NULL, "NAME",
     "anthropic, openai, openrouter, ollama, lmstudio, llamacpp or openai-compat"},
    {"model", OP_TEXT, 0, NULL, "NAME", "the model's name at the provider"},
    {"baseUrl", OP_TEXT, 0, NULL, "URL", "URL of the server, if not the provider's own"},
    {"keyStdin", OP_FLAG, 0, NULL, NULL,
     "read the key from standard input and store it in keys.yaml"},
    ARG_END};

static const struct op_arg models_args[] = {
    {"provider", OP_TEXT, 0, NULL, "NAME",
     "list the models of this provider instead of the configured one"},
    ARG_END};

const struct op ops_agent[] = {
    {"agent.chat", "chat", "Talk to the agent in the terminal", "ethos chat --resume 3f2a9c1d",
     chat_args, OP_OWNER, OP_WRITES | OP_LOCAL, NULL},
    {"agent.ask", "ask", "Ask the agent one question",
     "ethos ask 'What did we decide about backups?'", ask_args, OP_OWNER, OP_WRITES | OP_LOCAL,
     NULL},
    {"agent.setup", "setup", "Choose the model that answers, and store its key",
     "ethos setup --provider anthropic", setup_args, OP_OWNER, OP_WRITES | OP_LOCAL, NULL},
    {"agent.models", "models", "List the models that the provider offers",
     "ethos models --provider ollama", models_args, OP_OWNER, OP_IDEMPOTENT | OP_LOCAL, NULL},
    {0}};

const struct op ops_local[] = {
    {"memory.edit", "memory edit", "Edit one file in your editor", "ethos memory edit --store user",
     edit_args, OP_MEMORY_WRITE, OP_WRITES | OP_DESTRUCTIVE | OP_LOCAL, NULL},
    {"pending.review", "pending", "Review pending changes one by one", "ethos pending", NULL,
     OP_MEMORY_WRITE, OP_WRITES | OP_PERSON | OP_LOCAL, NULL},
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
    {"admin.conformance", "conformance", "Test a backend against the conformance rules",
     "ethos conformance ./store_scroll.so", conformance_args, OP_OWNER,
     OP_IDEMPOTENT | OP_LOCAL | OP_NO_HOME, NULL},
    {0}};
