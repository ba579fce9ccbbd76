/*
 * main.c: the program ethos, which starts like cat: hooks run it on every prompt.
 *
 * It is linked without SQLite, by saying here that there is none. What needs the database is executed
 * in libexec/ethos-db, which is the same program with it (main_db.c); a connection that has begun here
 * goes on there.
 */
#include "cli/cli.h"
#include "hook/hook.h"
#include "mcp/mcp.h"
#include "session/copy.h"
#include "session/session.h"

const struct ethos_sessions_ops *const sessions_builtin = NULL;
const struct session_copier *const session_copier_builtin = NULL;

static const struct surface surfaces[] = {
    {.name = "agents.mcp", .run = mcp_serve},
    {"agents.hook", hook_serve, hook_elsewhere, HOOK_NOTHING, NULL},
    {.name = "admin.serve", .program = "ethos-serve"},
    {.name = "admin.conformance", .program = "ethos-conformance"},
    {0}};

int main(int argc, char **argv)
{
    return cli_main(argc, argv, surfaces);
}
