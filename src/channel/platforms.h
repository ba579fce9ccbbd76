/*
 * platforms.h: the platforms there are, as rows: all that the commands and the page for channels say about one.
 *
 * What a platform does is in its adapter (gateway/adapters); nothing else knows its name.
 */
#ifndef ETHOS_CHANNEL_PLATFORMS_H
#define ETHOS_CHANNEL_PLATFORMS_H

#define PLATFORM_MAX_SECRETS 3
#define PLATFORM_NAMES "telegram, email, slack or discord" /* for help and errors */

struct channel_platform {
    const char *name, *title;
    /* Names in the environment or keys.yaml, the first of which is always needed; up to NULL. */
    const char *secrets[PLATFORM_MAX_SECRETS];
    /* Commands that set it up, a line each. keys.yaml stands for itself. */
    const char *setup;
    /* Where the first owner sends the code by a click, with the bot's name and the code; or NULL. */
    const char *owner_link;
};

extern const struct channel_platform channel_platforms[]; /* ends with name NULL */

/* NULL: there is none of that name. */
const struct channel_platform *channel_platform_find(const char *name);

#endif
