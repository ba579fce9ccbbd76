/*
 * secrets.h: settings that contain secrets: reading them, erasing them, and hiding them in output.
 *
 * The settings of a backend are checked against its option table here, which turns NAMEFile and
 * NAMEEnv of a secret into NAME. What was read for that is overwritten when it is released.
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
    const bool *exposed; /* of each: others may read the file it came from; NULL: none */
    const char *home;    /* base of relative secret files */
    const struct ethos_option
        *also; /* options of the host itself, which are not passed to the backend */
};

/* Settings as a backend gets them. All zero: none. */
struct secrets {
    struct ethos_setting settings[SECRETS_MAX_SETTINGS];
    size_t count;
    char *texts[SECRETS_MAX_SETTINGS]; /* secrets that were read */
    size_t text_count;
};

/*
 * ETHOS_INVALID for an unknown name (with the nearest one) or a value of the wrong type;
 * ETHOS_DENIED for a secret that others may read. No message contains the value of a secret.
 * Release out in any case.
 */
int secrets_resolve(const struct ethos_option *options, const struct secrets_given *given,
                    struct secrets *out, struct ethos_error *error);
void secrets_release(struct secrets *self);

/* Checks the name and value of a setting against two tables. ETHOS_INVALID. */
int secrets_check(const struct ethos_option *options, const struct ethos_option *also,
                  const struct ethos_setting *setting, struct ethos_error *error);

/*
 * Appends the settings that identify the backend: "name=value" lines in byte order, without
 * secrets, their sources, passwords and options of the host. Numbers and switches say how, not
 * where, and default values say nothing.
 */
int secrets_place(const struct ethos_option *options, const struct secrets_given *given,
                  struct str *out);

/*
 * Appends the value of a key of config.yaml without passwords. options is the table of the backend,
 * or NULL; what looks like a secret is hidden, whatever the table says.
 */
int secrets_mask(const struct ethos_option *options, const char *key, const char *value,
                 struct str *out);

#endif
