/*
 * update.h: what add, replace, remove and delete do to a text.
 *
 *     add c      absent or empty: trim(c) LF; else trimEnd(text) LF LF trim(c) LF; blank c: nothing
 *     replace c  trim(c) LF
 *     remove s   lines containing s go, then trimEnd LF; absent text or empty s: nothing
 *     delete     absent
 *
 * Bytes outside the edit stay as they are, valid UTF-8 or not.
 */
#ifndef ETHOS_CORE_MEMORY_UPDATE_H
#define ETHOS_CORE_MEMORY_UPDATE_H

#include <stdbool.h>

#include <ethos/types.h>

struct arena;
struct str;

struct update_effect {
    bool present;        /* the text exists afterwards (it is in out) */
    bool changed;        /* bytes or presence differ from before */
    uint64_t applied;    /* updates that changed something at their place */
    uint64_t removals;   /* remove updates */
    uint64_t matched;    /* lines they took out */
    const char *warning; /* static text, or NULL */
};

/*
 * Applies updates in order to old (absent view = no file) and makes the result the content of out;
 * targets are ignored. Returns str_code.
 */
int update_apply(const struct ethos_update *updates, size_t count, struct ethos_view old,
                 struct str *out, struct update_effect *out_effect);

/*
 * The ceiling of one key: the offset from which text is kept, 0 when it fits. Never leaves an empty
 * text: a single over-long line keeps its tail.
 */
size_t update_ceiling(struct ethos_view text);

/* Appends the archive block for what the ceiling dropped. Returns str_code. */
int update_archive(struct ethos_view dropped, const char *key, const char *iso,
                   struct str *archive);

/*
 * What makes a batch acceptable before its targets are looked at: at most ETHOS_MAX_BATCH updates
 * (ETHOS_LIMIT), known actions and stores, no scope without key, a text without NUL unless it is a
 * delete (ETHOS_INVALID). update_parse gives nothing that fails it.
 */
int update_check(const struct ethos_update *updates, size_t count, struct ethos_error *error);

/* ETHOS_CONFLICT: the key has not the revision that was asked for, but this one (or "absent"). */
int update_moved(const char *key, const char *revision, struct ethos_error *error);

/* ETHOS_INVALID unless id is 1 to ETHOS_MAX_OPID of [A-Za-z0-9_.:-]. */
int update_check_opid(struct ethos_view id, struct ethos_error *error);

struct update_batch {
    struct ethos_update *updates; /* in the arena */
    size_t count;
    const char *op_id; /* or NULL */
};

/*
 * Parses every accepted JSON form: one update, an array, {"updates": [...], "opId": ...}.
 * ETHOS_INVALID names the update, counted from 1, and the member; ETHOS_LIMIT above
 * ETHOS_MAX_BATCH; ids and keys that carry NUL are ETHOS_DENIED. Targets are not resolved here
 * (scope_target does).
 */
int update_parse(struct ethos_view json, struct arena *arena, struct update_batch *out,
                 struct ethos_error *error);

#endif
