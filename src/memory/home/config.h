/*
 * config.h: the settings of config.yaml.
 *
 * One table lists all keys: their file, type and default. The home's file and a personality's are
 * read as flat tables (base/yaml.h); a personality's value overrides the home's if the table allows
 * it. Unknown keys are preserved and reported, never dropped. An unknown key that was probably
 * meant to say where memory is (CONFIG_PLACE, or anything below "memory.") is an error, because
 * memory would silently go elsewhere.
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
/*
 * Where a key may be set; kept: known and checked, without effect in this version; place: it says
 * where memory is; vector: see below.
 */
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

/* One parsed file. All zero: no file. */
struct config {
    struct arena arena;
    struct yaml_table table;
    struct home_stamp stamp;
    bool loaded;
    bool holds; /* the stamp */
};

/*
 * Reads dir/name again if its stamp changed; a missing file is an empty table. Values of known keys
 * are checked: ETHOS_INVALID as "config.yaml:3: prefetch.maxChars: ...", also for a typo in a key
 * that says where memory is.
 */
int config_load(struct config *self, int dir, const char *name, unsigned where,
                struct ethos_error *error);
void config_release(struct config *self);

/* The value this file sets, or NULL; self may be NULL. */
const char *config_own(const struct config *self, const char *key);

/* personality may be NULL. The value, else the table's default, else NULL. */
const char *config_get(const struct config *home, const struct config *personality,
                       const char *key);
int64_t config_integer(const struct config *home, const struct config *personality,
                       const char *key);

bool config_switch(const struct config *home, const struct config *personality, const char *key);

/*
 * memory.provider: vector is a way of showing memory, not a place: it shows the newest entries, and
 * those that match the question. memory.options.store then says where memory is. A personality
 * whose file sets only such a mode uses the home's backend.
 */
#define VECTOR_NAME "vector"
#define VECTOR_OPTION "memory.options."
#define VECTOR_STORE VECTOR_OPTION "store"
bool config_is_vector(const struct config *home, const struct config *personality);
const char *config_backend(const struct config *home, const struct config *personality);

/* Whether the file of a personality sets its backend. */
bool config_owns_backend(const struct config *personality);

/*
 * Whether an option belongs to the mode rather than to the backend; provider: the value of
 * memory.provider.
 */
bool config_is_vector_option(const char *provider, const char *key);

/* The row for a key, or NULL; and the nearest known key for a message, or NULL. */
const struct config_option *config_find(const char *key);
const char *config_nearest(const char *key);

/* Unknown keys of the file, for doctor. */
typedef void config_unknown_fn(void *arg, const struct yaml_pair *pair);
void config_unknown(const struct config *self, config_unknown_fn *each, void *arg);

/* Checks a value before it is written. */
int config_check(const struct config_option *option, const char *what, const char *value,
                 struct ethos_error *error);

/*
 * The text of the file with key set to value: replaced in place, else appended as a flat line. NULL
 * removes its line. ETHOS_UNSUPPORTED if that would not change exactly this setting.
 */
int config_edit(struct ethos_view text, const char *what, const char *key, const char *value,
                struct str *out, struct ethos_error *error);

#endif
