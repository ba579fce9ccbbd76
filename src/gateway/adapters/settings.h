/*
 * settings.h: what config.yaml says about a channel.
 */
#ifndef ETHOS_GATEWAY_SETTINGS_H
#define ETHOS_GATEWAY_SETTINGS_H

#include <limits.h>
#include <stdbool.h>

#include <ethos/ethos.h>

struct channel_settings {
    bool enabled, group_memory, reads_files;
    bool events; /* of Slack: requests come, too */
    char events_port[8];
    char api_root[512], personality[ETHOS_MAX_ID + 1], workspace[PATH_MAX];
    char imap[512], smtp[512], user[256], from[256], authserv[256]; /* of mail */
    char groups[4096]; /* ids of chats, separated by commas */
};

int channel_settings_read(struct ethos *ethos, const char *platform, struct channel_settings *out,
                          struct ethos_error *error);

/* Whether a group may be spoken in. */
bool channel_settings_allow(const struct channel_settings *self, const char *chat);

#endif
