/*
 * main_db.c: the program ethos-db: ethos with the session store, and with the surfaces that need it.
 */
#include "cli/cli.h"
#include "mcp/mcp.h"

static const struct surface surfaces[] = {{"agents.mcp", mcp_serve}, {NULL, NULL}};

int main(int argc, char **argv)
{
    return cli_main(argc, argv, surfaces);
}
