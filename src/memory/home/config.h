/*
 * config.h: what the keys of config.yaml mean.
 *
 * One table says which keys exist, in which file, of which type and with which default. The home's
 * file and a personality's are read as flat tables (base/yaml.h); a personality's value wins where
 * the table allows it. Unknown keys are kept and reported, never dropped; only one that was probably
 * meant to say where memory is (CONFIG_PLACE, or anything below "memory.") is refused, because memory
 * would silently go elsewhere.
 */
#ifndef ETHOS_MEMORY_HOME_CONFIG_H
#define ETHOS_MEMORY_HOME_CONFIG_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/yaml.h"
#include "memory/home/directory.h"

enum config_type {
    CONFIG_STRING,
    CONFIG_CHOICE,
    CONFIG_INTEGER,
    CONFIG_SWITCH,
    CONFIG_LIST,
    CONFIG_PATHS /* a list of absolute paths */
};
/* Where a key may stand; kept: known and checked, without effect in this version; place: it says where
 * memory is; vector: below. */
enum {
    CONFIG_HOME = 1,
    CONFIG_PERSONALITY = 2,
    CONFIG_KEPT = 4,
    CONFIG_PLACE = 8,
    CONFIG_VECTOR = 16
};

struct config_option {
    const char *key; /* "prefix.*" stands for every key below it */
    enum config_type type;
    unsigned where;
    const char *fallback; /* NULL: unset */
    const char *choices;  /* "a|b|c" for CONFIG_CHOICE */
    int64_t min, max;     /* for CONFIG_INTEGER */
    const char *help;
};

extern const struct config_option config_options[]; /* ends with key NULL */

/* One parsed file. All zero is an absent one. */
struct config {
    struct arena arena;
    struct yaml_table table;
    struct home_stamp stamp;
    bool loaded;
    bool holds; /* the stamp */
};

/*
 * Reads dir/name again if its stamp changed; an absent file is an empty table. Values of known keys
 * are checked: ETHOS_INVALID as "config.yaml:3: prefetch.maxChars: ...", also for a slip in the name of
 * one that says where memory is.
 */
int config_load(struct config *self, int dir, const char *name, unsigned where,
                struct ethos_error *error);
void config_release(struct config *self);

/* What this file itself says, or NULL; self may be NULL. */
const char *config_own(const struct config *self, const char *key);

/* personality may be NULL. The value, else the default of the table, else NULL. */
const char *config_get(const struct config *home, const struct config *personality,
                       const char *key);
int64_t config_integer(const struct config *home, const struct config *personality,
                       const char *key);

bool config_switch(const struct config *home, const struct config *personality, const char *key);

/*
 * memory.provider: vector is no place but a way of showing memory: the newest entries, and those that fit the question.
 * Where memory is then says memory.options.store. A personality whose file names a mode alone is where the home is.
 */
#define VECTOR_NAME "vector"
#define VECTOR_OPTION "memory.options."
#define VECTOR_STORE VECTOR_OPTION "store"
bool config_is_vector(const struct config *home, const struct config *personality);
const char *config_backend(const struct config *home, const struct config *personality);

/* Whether the file of a personality names its backend itself. */
bool config_owns_backend(const struct config *personality);

/* Whether an option is one of that way, and not the backend's to know; provider: the value of memory.provider. */
bool config_is_vector_option(const char *provider, const char *key);

/* The row for a key, or NULL; and the nearest known key for a message, or NULL. */
const struct config_option *config_find(const char *key);
const char *config_nearest(const char *key);

/* Keys of the file that the table does not know, for doctor. */
typedef void config_unknown_fn(void *arg, const struct yaml_pair *pair);
void config_unknown(const struct config *self, config_unknown_fn *each, void *arg);

/* Checks a value for a key before it is written. */
int config_check(const struct config_option *option, const char *what, const char *value,
                 struct ethos_error *error);

/*
 * The text of the file with key set to value: replaced in place, else appended as a flat line. NULL takes
 * its line out. ETHOS_UNSUPPORTED where that would not change exactly this one pair.
 */
int config_edit(struct ethos_view text, const char *what, const char *key, const char *value,
                struct str *out, struct ethos_error *error);

#endif
