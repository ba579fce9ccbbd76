/*
 * identity.h: maps (platform, platformUserId) to a user id.
 *
 * users/identity-map.json is an array of {platform, platformUserId, userId, displayLabel,
 * firstSeenAt}. Several entries with the same userId link identities. Someone who is not in the map
 * gets an id derived from the pair, so that losing the map loses nobody. A map that cannot be
 * parsed is never overwritten: identity-map.json.bak is used instead, and changes are refused until
 * the map is repaired.
 */
#ifndef ETHOS_MEMORY_HOME_IDENTITY_H
#define ETHOS_MEMORY_HOME_IDENTITY_H

#include "base/json.h"
#include <stdbool.h>

#include <ethos/limits.h>
#include <ethos/types.h>

struct str;

#define IDENTITY_FILE "users/identity-map.json"

struct identity_map {
    json_t *entries;   /* array; invalid entries and unknown members are preserved */
    bool damaged;      /* the file could not be parsed; entries come from the .bak, or are empty */
    char problem[256]; /* why, when damaged */
};

/* dir -1 or no file: an empty map. */
int identity_load(int dir, struct identity_map *out, struct ethos_error *error);
void identity_release(struct identity_map *self);

/* The error for a change while the map is damaged. */
int identity_damaged(const struct identity_map *self, struct ethos_error *error);

/* The user id of a pair: from the map (*out_known), else derived, avoiding ids of others. */
int identity_resolve(const struct identity_map *self, const char *platform,
                     const char *platform_user, char out_user[ETHOS_MAX_ID + 1], bool *out_known,
                     struct ethos_error *error);

/* The derived id of the pair, whatever the map says. */
int identity_derive(const struct identity_map *self, const char *platform,
                    const char *platform_user, char out_user[ETHOS_MAX_ID + 1],
                    struct ethos_error *error);

/* Whether no other pair has this user id. */
bool identity_alone(const struct identity_map *self, const char *user, const char *platform,
                    const char *platform_user);

/*
 * The only person who has used this home locally, if there is exactly one: with a login in the map,
 * or with a profile that the map does not name.
 */
bool identity_only(const struct identity_map *self, int dir, char out_user[ETHOS_MAX_ID + 1]);

/*
 * People with a profile below dir that `user`, the person at this machine, does not see: all their
 * identities are other logins (login: one of them), or the id is derived and no identity leads to
 * it (login NULL). Ids that the person's own identities had before they were linked are left out.
 */
typedef void identity_person_fn(void *arg, const char *user, const char *login);
int identity_unreached(const struct identity_map *self, int dir, const char *user,
                       identity_person_fn *each, void *arg);

/*
 * All ids that a user has been known by, in the arena: the current id first, then those that linked
 * pairs had before, which are derived from them.
 */
struct arena;
int identity_ids(const struct identity_map *self, const char *user, struct arena *arena,
                 const char *const **out_ids, size_t *out_count, struct ethos_error *error);

/*
 * Records the pair under user, with a lock and a fresh read: adds an entry, or (relink) rewrites
 * the userId of the existing one. An entry that is already correct is left alone. If user is the
 * derived id of the person at this machine, that person gets an entry too. ETHOS_CORRUPT while the
 * map is damaged. With preview, nothing is written and the diff of the file is appended to it.
 */
int identity_record(int dir, const char *platform, const char *platform_user, const char *user,
                    bool relink, int64_t now_ms, struct str *preview, struct ethos_error *error);

/* Renames a damaged map to preserve it, and replaces it by the .bak if that is valid. */
int identity_repair(int dir, int64_t now_ms, struct ethos_error *error);

/* The login name of this process's user, or its decimal uid. */
void identity_login(char *out, size_t size);

#endif
