/*
 * platforms.c: the platforms there are.
 */
#include "channel/platforms.h"

#include <stddef.h>
#include <string.h>

const struct channel_platform channel_platforms[] = {
    {.name = "telegram",
     .title = "Telegram",
     .secrets = {"TELEGRAM_BOT_TOKEN"},
     .setup = "umask 077; echo 'TELEGRAM_BOT_TOKEN: 123456:ABC-DEF...' >> ~/.ethos/keys.yaml\n"
              "ethos config set channels.telegram.enabled on",
     .owner_link = "https://t.me/%s?start=%s"},
    {.name = "email",
     .title = "Email",
     .secrets = {"EMAIL_PASSWORD"},
     .setup = "ethos config set channels.email.imap imaps://imap.example.org\n"
              "ethos config set channels.email.smtp smtp://smtp.example.org:587\n"
              "ethos config set channels.email.user ethos@example.org\n"
              "ethos config set channels.email.authserv mx.example.org\n"
              "umask 077; echo 'EMAIL_PASSWORD: ...' >> ~/.ethos/keys.yaml\n"
              "ethos config set channels.email.enabled on"},
    {.name = "slack",
     .title = "Slack",
     .secrets = {"SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET"},
     .setup = "umask 077; echo 'SLACK_APP_TOKEN: xapp-...' >> ~/.ethos/keys.yaml\n"
              "umask 077; echo 'SLACK_BOT_TOKEN: xoxb-...' >> ~/.ethos/keys.yaml\n"
              "ethos config set channels.slack.enabled on"},
    {.name = "discord",
     .title = "Discord",
     .secrets = {"DISCORD_BOT_TOKEN"},
     .setup = "umask 077; echo 'DISCORD_BOT_TOKEN: ...' >> ~/.ethos/keys.yaml\n"
              "ethos config set channels.discord.enabled on"},
    {0}};

const struct channel_platform *channel_platform_find(const char *name)
{
    for (const struct channel_platform *row = channel_platforms; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}
