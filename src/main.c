/*
 * main.c: the program ethos, which starts like cat: hooks run it on every prompt.
 *
 * It is linked without SQLite, by saying here that there is none. What needs the database is executed
 * in libexec/ethos-db, which is the same program with it (main_db.c); a connection that has begun here
 * goes on there.
 */
#include "base/err.h"
#include "base/text/snowball.h"
#include "cli/cli.h"
#include "hook/hook.h"
#include "mcp/mcp.h"
#include "ops/channels/channels.h"
#include "session/database_copy.h"
#include "session/session.h"

const struct ethos_sessions_ops *const sessions_builtin = NULL;
const struct session_copier *const session_copier_builtin = NULL;
const struct channel_operations *const channel_operations = NULL;

/* Nor the tables of other languages: 80 pages to relocate at every start. Who searches does it there, too. */
int snowball_open(struct ethos_view languages, struct snowball **out, struct ethos_error *error)
{
    (void)languages;
    *out = NULL;
    return err_set(error, ETHOS_UNSUPPORTED, "languages other than English need libexec/ethos-db");
}

void snowball_close(struct snowball *self)
{
    (void)self;
}

bool snowball_same(struct snowball *self, struct ethos_view a, struct ethos_view b)
{
    (void)self, (void)a, (void)b;
    return false;
}

static const struct surface surfaces[] = {
    {.name = "agents.mcp", .run = mcp_serve},
    {"agents.hook", hook_serve, hook_elsewhere, HOOK_NOTHING, NULL},
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
