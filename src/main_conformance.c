/*
 * main_conformance.c: the program ethos-conformance: ethos with the rules for backends, and without SQLite.
 */
#include "cli/cli.h"
#include "conformance/command.h"
#include "ops/channels/channels.h"
#include "session/database_copy.h"
#include "session/session.h"

const struct ethos_sessions_ops *const sessions_builtin = NULL;
const struct session_copier *const session_copier_builtin = NULL;
const struct channel_operations *const channel_operations = NULL;

static const struct surface surfaces[] = {{.name = "admin.conformance", .run = conformance_serve},
                                          {0}};

int main(int argc, char **argv)
{
    return cli_main(argc, argv, surfaces);
}
