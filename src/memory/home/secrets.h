/*
 * secrets.h: settings that nobody else may see: where they come from, that they do not stay, and what is
 * shown in their place.
 *
 * The settings of a backend are checked against its table here, which turns NAMEFile and NAMEEnv of a
 * secret into NAME. What was read for that is overwritten when it is released.
 */
#ifndef ETHOS_MEMORY_HOME_SECRETS_H
#define ETHOS_MEMORY_HOME_SECRETS_H

#include <stdbool.h>

#include <ethos/provider.h>

#define SECRETS_PREFIX "memory.options."
#define SECRETS_MAX_SETTINGS 64 /* memory.options.* of one backend */
#define SECRETS_MAX_BYTES 4096  /* of one secret */

struct str;

/* Settings as they are configured. */
struct secrets_given {
    const struct ethos_setting *settings;
    size_t count;
    const bool *exposed; /* of each: others may read where it stands; NULL: none */
    const char *home;    /* what the file of a secret is relative to */
    const struct ethos_option
        *also; /* options of the host itself, which the backend does not get */
};

/* Settings as a backend gets them. All zero: none. */
struct secrets {
    struct ethos_setting settings[SECRETS_MAX_SETTINGS];
    size_t count;
    char *texts[SECRETS_MAX_SETTINGS]; /* that were read */
    size_t text_count;
};

/*
 * ETHOS_INVALID for an unknown name (with the nearest) or a value of another type; ETHOS_DENIED for a secret
 * that others may read. No message holds the value of a secret. out is to be released in any case.
 */
int secrets_resolve(const struct ethos_option *options, const struct secrets_given *given,
                    struct secrets *out, struct ethos_error *error);
void secrets_release(struct secrets *self);

/* Whether a setting is one of a table or the other: its name, and the type of its value. ETHOS_INVALID. */
int secrets_check(const struct ethos_option *options, const struct ethos_option *also,
                  const struct ethos_setting *setting, struct ethos_error *error);

/*
 * Appends "name=value" of every setting that is neither a secret, nor where one is found, nor one of the
 * host, in byte order, a line each, without passwords: which place this is. Numbers and switches say how, not
 * where, and what is as by default says nothing.
 */
int secrets_place(const struct ethos_option *options, const struct secrets_given *given,
                  struct str *out);

/*
 * Appends what may be shown of the value of a key of config.yaml: all but passwords. options is the table
 * of the backend, or NULL; what looks like a secret is one, whatever the table says.
 */
int secrets_mask(const struct ethos_option *options, const char *key, const char *value,
                 struct str *out);

#endif
