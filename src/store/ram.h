/*
 * ram.h: what the parts of the store in memory share. Private to ram.c and ram_history.c.
 */
#ifndef ETHOS_STORE_RAM_H
#define ETHOS_STORE_RAM_H

#include <stdbool.h>

#include <ethos/provider.h>

/* A text under two names. It never changes: another text is another node. */
struct node {
    struct node *next;
    const char *scope, *key, *text; /* point into bytes, each terminated */
    size_t size;                    /* of text */
    int64_t mtime_ms;
    char revision[ETHOS_REVISION_SIZE];
    char bytes[];
};

/* A recorded change with both its texts; absent views where there was no text. */
struct change {
    struct change *next;
    const char *scope;
    struct ethos_view before, after;
    struct ethos_change told; /* what history reports; everything points into bytes */
    char bytes[];
};

struct ram {
    struct ethos_store store;
    const struct ethos_host *host;
    struct node *texts, *operations; /* ordered by scope and key */
    struct change *changes;          /* newest first */
    struct node *copies;             /* conflict copies, oldest first; the key is the id */
    uint64_t numbers;                /* given to changes and copies so far */
};

struct node *ram_node(struct ram *ram, const char *scope, const char *key, struct ethos_view text);
void ram_link(struct node **link, struct node *node);
void ram_unlink(struct ram *ram, struct node **link); /* takes the node out and frees it */

/* The node of a key, or NULL. */
const struct node *ram_find(struct ram *ram, const char *scope, const char *key);

/* Puts a node in the place of the one its key has; NULL only takes that away. */
void ram_put(struct ram *ram, const char *scope, const char *key, struct node *node);

/* ---- ram_history.c ------------------------------------------------------------------------- */

/* The changes that the edits make, oldest first; ram_record links them, which cannot fail. */
int ram_describe(struct ram *ram, const char *scope, const struct ethos_edit *edits, size_t count,
                 const struct ethos_origin *origin, struct change **out_chain,
                 struct ethos_error *error);
void ram_record(struct ram *ram, struct change *chain);
void ram_free_changes(struct ram *ram, struct change **chain);

int ram_history(struct ethos_store *self, const char *scope, const char *key, ethos_change_fn *each,
                void *arg, struct ethos_error *error);
int ram_version(struct ethos_store *self, const char *scope, const char *key, const char *revision,
                struct ethos_text *out_text, struct ethos_error *error);
int ram_purge(struct ethos_store *self, const char *scope, const struct ethos_match *match,
              int dry_run, const struct ethos_origin *origin, struct ethos_purge *out_purge,
              struct ethos_error *error);
int ram_set_aside(struct ethos_store *self, const char *scope, const char *key,
                  struct ethos_view text, struct ethos_error *error);
int ram_conflicts(struct ethos_store *self, const char *scope, ethos_conflict_fn *each, void *arg,
                  struct ethos_error *error);
int ram_conflict_read(struct ethos_store *self, const char *scope, const char *id,
                      struct ethos_text *out_text, struct ethos_error *error);
int ram_conflict_drop(struct ethos_store *self, const char *scope, const char *id,
                      struct ethos_error *error);
int ram_keep(struct ethos_store *self, const char *scope, const char *key, struct ethos_view text,
             struct ethos_error *error);
int ram_graft(struct ethos_store *self, const char *scope, const struct ethos_commit *commit,
              struct ethos_error *error);
int ram_scopes(struct ethos_store *self, ethos_scope_fn *each, void *arg,
               struct ethos_error *error);

#endif
