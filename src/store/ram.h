/* ram.h: shared by ram.c and ram_history.c. */
#ifndef ETHOS_STORE_RAM_H
#define ETHOS_STORE_RAM_H

#include <stdbool.h>

#include <ethos/provider.h>

/* A text under two names. It never changes: another text is another node. */
struct ram_node {
    struct ram_node *next;
    const char *scope, *key, *text; /* point into bytes, each terminated */
    size_t size;                    /* of text */
    int64_t mtime_ms;
    char revision[ETHOS_REVISION_SIZE];
    char bytes[];
};

/* A recorded change with both its texts; absent views where there was no text. */
struct ram_change {
    struct ram_change *next;
    const char *scope;
    struct ethos_view before, after;
    struct ethos_change told; /* what history reports; everything points into bytes */
    char bytes[];
};

struct ram {
    struct ethos_store store;
    const struct ethos_host *host;
    struct ram_node *texts, *operations; /* ordered by scope and key */
    struct ram_change *changes;          /* newest first */
    struct ram_node *copies;             /* conflict copies, oldest first; the key is the id */
    uint64_t numbers;                    /* the last number given to a change or copy */
};

struct ram_node *ram_make_node(struct ram *ram, const char *scope, const char *key,
                               struct ethos_view text);
void ram_link_node(struct ram_node **link, struct ram_node *node);
void ram_unlink_node(struct ram *ram, struct ram_node **link); /* takes the node out and frees it */

/* The node of a key, or NULL. */
const struct ram_node *ram_find_text(struct ram *ram, const char *scope, const char *key);

/* Replaces the node of a key; NULL removes it. */
void ram_put_text(struct ram *ram, const char *scope, const char *key, struct ram_node *node);

/* ---- ram_history.c ------------------------------------------------------------------------- */

/*
 * Makes the changes of the edits, oldest first; ram_record_changes links them, which cannot fail.
 */
int ram_describe_edits(struct ram *ram, const char *scope, const struct ethos_edit *edits,
                       size_t count, const struct ethos_origin *origin,
                       struct ram_change **out_chain, struct ethos_error *error);
void ram_record_changes(struct ram *ram, struct ram_change *chain);
void ram_free_changes(struct ram *ram, struct ram_change **chain);

int ram_history(struct ethos_store *self, const char *scope, const char *key, ethos_change_fn *each,
                void *arg, struct ethos_error *error);
int ram_version(struct ethos_store *self, const char *scope, const char *key, const char *revision,
                struct ethos_text *out_text, struct ethos_error *error);
int ram_purge(struct ethos_store *self, const char *scope, const struct ethos_match *match,
              int dry_run, const struct ethos_origin *origin, struct ethos_purge *out_purge,
              struct ethos_error *error);
int ram_add_conflict_copy(struct ethos_store *self, const char *scope, const char *key,
                          struct ethos_view text, struct ethos_error *error);
int ram_list_conflicts(struct ethos_store *self, const char *scope, ethos_conflict_fn *each,
                       void *arg, struct ethos_error *error);
int ram_conflict_read(struct ethos_store *self, const char *scope, const char *id,
                      struct ethos_text *out_text, struct ethos_error *error);
int ram_conflict_remove(struct ethos_store *self, const char *scope, const char *id,
                        struct ethos_error *error);
int ram_add_version(struct ethos_store *self, const char *scope, const char *key,
                    struct ethos_view text, struct ethos_error *error);
int ram_import_commits(struct ethos_store *self, const char *scope,
                       const struct ethos_commit *commit, struct ethos_error *error);
int ram_list_scopes(struct ethos_store *self, ethos_scope_fn *each, void *arg,
                    struct ethos_error *error);

#endif
