/*
 * scope_history.h: the history of one side of a migration. Private to memory/migrate/.
 */
#ifndef ETHOS_MEMORY_MIGRATE_SCOPE_HISTORY_H
#define ETHOS_MEMORY_MIGRATE_SCOPE_HISTORY_H

#include "base/arena.h"
#include "base/str.h"
#include "memory/migrate/migrate.h"

/* ---- changes --------------------------------------------------------------------------------- */

/* All of a scope, oldest first; at most ETHOS_MAX_HISTORY_BYTES of diffs. */
struct scope_history {
    struct arena arena;
    struct ethos_change *rows;
    size_t count, capacity;
    uint64_t bytes;
    uint64_t skipped; /* changes with an invalid key */
};

int past_collect(struct ethos_store *store, const char *scope, struct scope_history *out,
                 struct ethos_error *error);
void past_release(struct scope_history *past);

/* Whether two changes are equal, regardless of how the diff is stored; absent equals empty. */
bool past_same(const struct ethos_change *a, const struct ethos_change *b);

bool past_is_seen(const struct ethos_change *change);

/* Whether a migration added it. */
bool past_is_added(const struct ethos_change *change);

/* Appends what past_same compares, each member with its length. */
void past_print(const struct ethos_change *change, struct str *out);

/* ---- names ----------------------------------------------------------------------------------- */

/* Names in an arena, in byte order once sorted. */
struct names {
    struct arena arena;
    const char **list;
    size_t count, capacity;
};

void names_init(struct names *names);
int names_add(struct names *names, const char *name);
void names_sort(struct names *names);                           /* and each once */
size_t names_find(const struct names *names, const char *name); /* count: not found */
void names_release(struct names *names);

int names_of_scopes(struct ethos_store *store, struct names *out, struct ethos_error *error);

/* The keys of a scope that are memory, and those that its changes name; sorted. */
int names_of_keys(struct ethos_store *store, const char *scope, const struct scope_history *past,
                  struct names *out, struct ethos_error *error);

/* ---- texts on the way ------------------------------------------------------------------------ */

enum replay_state { REPLAY_UNREAD, REPLAY_KNOWN, REPLAY_LOST };

/* A key, and its text after the changes so far. */
struct replay_key {
    const char *revision; /* "absent": none */
    enum replay_state state;
    struct str text;
    struct ethos_view
        view; /* of the text, in the arena of the steps; absent before the first step */
    /* since replay_rest: a step was about it; it led to another text; the view is not saved */
    bool told, moved, unsaved;
};

/* Replays changes in order to find the texts between them. */
struct replay {
    const struct ethos_host *host;
    struct ethos_store *store; /* the store with the versions */
    const char *scope;
    struct names names;
    struct replay_key *keys; /* of each name */
    struct str spare;
    struct ethos_text text;
};

int replay_begin(struct replay *replay, const struct ethos_host *host, struct ethos_store *store,
                 const char *scope, const struct ethos_change *rows, size_t count,
                 struct ethos_error *error);

/* Skips a change. */
void replay_skip(struct replay *replay, const struct ethos_change *change);

/*
 * The next change with both its texts, in the arena; a text that is absent although its revision is
 * not is lost.
 */
int replay_step(struct replay *replay, const struct ethos_change *change, struct arena *arena,
                struct ethos_row *out, struct ethos_error *error);

/* Whether all texts that steps led to are known. */
bool replay_is_sound(const struct replay *replay);

/* Call before the arena of the steps is released. */
int replay_rest(struct replay *replay, struct ethos_error *error);
void replay_end(struct replay *replay);

/* ---- copies ---------------------------------------------------------------------------------- */

/* The conflict copies of a scope with their texts; ids are not those of the store. */
struct copies {
    struct arena arena;
    struct ethos_copy *list;
    size_t count, capacity;
};

int copies_collect(const struct ethos_host *host, struct ethos_store *store, const char *scope,
                   struct copies *out, struct ethos_error *error);
void copies_release(struct copies *copies);

/* ---- one scope (copy_scope.c) ------------------------------------------------------------- */

/* The planned changes of the target: those of the source, renumbered, and added ones. */
struct plan {
    const struct migrate *move;
    const char *scope;
    struct scope_history source;
    struct arena arena;
    struct ethos_change *rows;
    size_t count, capacity;
    size_t there;          /* how many the target has */
    size_t taken;          /* how many of the source's are in rows */
    uint64_t *old_numbers; /* of each row */
    size_t old_capacity;
    struct migrate_count counts;
    bool old;  /* the source had more changes when its texts were read */
    bool some; /* not all changes of the source are in it */
};

/*
 * Makes the plan; writes nothing except external edits of the source. Release it in any case.
 * ETHOS_CONFLICT: the target has other changes.
 */
int plan_make(struct plan *plan, const struct migrate *move, const char *scope,
              struct ethos_error *error);
void plan_release(struct plan *plan);

/*
 * Likewise for some keys that the target never had: their changes follow the target's, with new
 * numbers. Numbers in `undoes` that are not copied are left out.
 */
int plan_make_keys(struct plan *plan, const struct migrate *move, const char *scope,
                   struct names *keys, struct ethos_error *error);

/* Whether the source has changes that the plan does not know. */
int plan_is_old(const struct plan *plan, bool *out, struct ethos_error *error);

/* Executes the plan; reports after each step how many changes were copied. */
int plan_carry_out(struct plan *plan, void (*told)(void *arg, size_t rows), void *arg,
                   struct ethos_error *error);

#endif
