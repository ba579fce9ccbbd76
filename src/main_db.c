/*
 * main_db.c: the program ethos-db: ethos with the session store.
 */
#include "cli/cli.h"
#include "hook/hook.h"
#include "mcp/mcp.h"

static const struct surface surfaces[] = {
    {.name = "agents.mcp", .run = mcp_serve},
    {"agents.hook", hook_serve, NULL, HOOK_NOTHING, NULL},
    {.name = "admin.serve", .program = "ethos-serve"},
    {.name = "agent.ask", .program = "ethos-agent"},
    {.name = "agent.chat", .program = "ethos-agent"},
    {.name = "agent.setup", .program = "ethos-agent"},
    {.name = "agent.models", .program = "ethos-agent"},
    {.name = "channel.run", .program = "ethos-gateway"},
    {.name = "admin.conformance", .program = "ethos-conformance"},
    {0}};

int main(int argc, char **argv)
{
    return cli_main(argc, argv, surfaces);
}
