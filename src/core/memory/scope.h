/*
 * scope.h: which ids, scopes and keys are valid, and where an update goes.
 *
 * Every surface and backend checks here before anything is touched. Failures are ETHOS_DENIED with
 * exactly these texts:
 *     unrecognised memory scope: <scope id>
 *     unsafe memory key: <key>
 *     reserved memory key: <key>
 */
#ifndef ETHOS_CORE_MEMORY_SCOPE_H
#define ETHOS_CORE_MEMORY_SCOPE_H

#include <stdbool.h>

#include <ethos/limits.h>
#include <ethos/types.h>

enum scope_kind { SCOPE_GLOBAL, SCOPE_PERSONALITY, SCOPE_USER, SCOPE_TEAM, SCOPE_WORKSPACE };

/* ^[A-Za-z0-9_-]{1,128}$ over the whole string. */
bool scope_id_ok(struct ethos_view id);

/*
 * Checks a scope id; *out_kind and *out_id (empty for global) may be NULL. "memories:<scope id>" is
 * the tree of the memory tool in a scope's directory; kind and id are then those of that scope.
 */
int scope_parse(const char *scope, enum scope_kind *out_kind, const char **out_id,
                struct ethos_error *error);

/* "personality" + "ethos" -> "personality:ethos", checked. */
int scope_make(enum scope_kind kind, const char *id, char out[ETHOS_MAX_SCOPE],
               struct ethos_error *error);

/* The path before and after the id in the directory of a scope, below the root. */
void scope_place(enum scope_kind kind, struct ethos_view *out_before, struct ethos_view *out_after);

/*
 * The directory of a scope, "." for global; for a tree, the directory of its owner, which contains
 * it.
 */
#define SCOPE_FOLDER_SIZE (ETHOS_MAX_ID + 40)
int scope_folder(const char *scope, char out[SCOPE_FOLDER_SIZE], struct ethos_error *error);

/* Whether a scope is a tree, in which keys are paths. */
bool scope_is_tree(const char *scope);

/* The scope that owns a tree; any other scope itself. */
const char *scope_owner(const char *scope);

/* The id of the tree of a valid scope that is not itself a tree. */
void scope_tree(const char *owner, char out[ETHOS_MAX_SCOPE]);

/*
 * Whether a store may use a key in a scope: scope_key_safe, or in a tree a relative UTF-8 path
 * without hidden names (beginning with a dot), that cannot lead out of the tree in any spelling,
 * does not collide with the store's own files, and has no control characters, quotes or
 * backslashes.
 */
int scope_key_check(const char *scope, const char *key, struct ethos_error *error);

/* Whether a path is one that the store itself uses at the root of a tree. */
bool scope_key_reserved(const char *key);

/* Whether lists and readers show a key: scope_key_visible, or any key of a tree. */
bool scope_key_shown(const char *scope, const char *key);

/* Whether it is memory at all: what is shown, and the archive. */
bool scope_key_is_stored(const char *scope, const char *key);

/* Safe to name a file with; reserved and unlisted keys pass. */
int scope_key_safe(const char *key, struct ethos_error *error);

/* Also ends in .md and is not reserved: may be written by an update. */
int scope_key_writable(const char *key, struct ethos_error *error);

/* A key that lists, reads and searches show: safe, ends in .md, not reserved, no editor litter. */
bool scope_key_visible(const char *key);

/* The two refusals, for bytes that cannot be a C string. Both return ETHOS_DENIED. */
int scope_refuse(struct ethos_view scope, struct ethos_error *error);
int scope_key_refuse(struct ethos_view key, struct ethos_error *error);

/* "memory": MEMORY.md, "user": USER.md, anything else: NULL. */
const char *scope_store_key(const char *store);

struct scope_target {
    char scope[ETHOS_MAX_SCOPE];
    char key[ETHOS_MAX_KEY + 1];
};

/*
 * Where (store, scope, key) points in a context; each may be NULL. ETHOS_INVALID for an unknown
 * store, a store and key that disagree, a scope without key, and `workspace` where the context has
 * none; ETHOS_DENIED for bad ids and keys. The key is checked as writable when `write` is set, else
 * as safe.
 */
int scope_target(const struct ethos_context *context, const char *store, const char *scope,
                 const char *key, bool write, struct scope_target *out, struct ethos_error *error);

#endif
