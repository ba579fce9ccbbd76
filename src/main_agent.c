/*
 * main_agent.c: the program ethos-agent: ethos with the agent, and what only the agent links.
 */
#include "chat/chat.h"
#include "cli/cli.h"

static const struct surface surfaces[] = {{.name = "agent.ask", .run = chat_ask},
                                          {.name = "agent.chat", .run = chat_talk},
                                          {.name = "agent.setup", .run = chat_setup},
                                          {.name = "agent.models", .run = chat_models},
                                          {0}};

int main(int argc, char **argv)
{
    return cli_main(argc, argv, surfaces);
}
