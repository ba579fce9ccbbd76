/*
 * main_gateway.c: the program ethos-gateway: ethos with channels, and the agent that answers in them.
 */
#include "cli/cli.h"
#include "gateway/surfaces.h"

static const struct surface surfaces[] = {{.name = "channel.run", .run = gateway_run}, {0}};

int main(int argc, char **argv)
{
    return cli_main(argc, argv, surfaces);
}
