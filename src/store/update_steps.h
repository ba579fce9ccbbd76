/*
 * update_steps.h: the steps of an update that do not depend on where the text is stored.
 *
 * The order of an update is the same in every store: check the keys, fill `old` of every edit, run
 * the callback, store what edit_is_change() says, set `revision`.
 */
#ifndef ETHOS_STORE_UPDATE_STEPS_H
#define ETHOS_STORE_UPDATE_STEPS_H

#include <stdbool.h>

#include <ethos/provider.h>

typedef int edit_update_fn(struct ethos_store *self, const char *scope, struct ethos_edit *edits,
                           size_t count, ethos_edit_fn *edit, void *arg,
                           const struct ethos_origin *origin, struct ethos_error *error);

/* ETHOS_INVALID when a key comes twice: an edit sees only its own old text. */
int edit_check_keys(const struct ethos_edit *edits, size_t count, struct ethos_error *error);

/* Frees a text: `old` of a key that does not exist. */
void edit_free_text(const struct ethos_host *host, struct ethos_text *old);

/* Makes room for size bytes and a terminator; the other members stay. */
int edit_reserve_text(const struct ethos_host *host, struct ethos_text *text, size_t size,
                      struct ethos_error *error);

/*
 * Copies a text into out, with mtime_ms; revision NULL: it is computed. out stays as it was
 * without memory.
 */
int edit_fill_text(const struct ethos_host *host, struct ethos_view text, const char *revision,
                   int64_t mtime_ms, struct ethos_text *out, struct ethos_error *error);

/*
 * Runs the callback; every verdict starts as ETHOS_EDIT_KEEP. ETHOS_LIMIT for a text that is too
 * long.
 */
int edit_run_callback(struct ethos_edit *edits, size_t count, ethos_edit_fn *edit, void *arg,
                      struct ethos_error *error);

/* Whether the verdict changes the text. */
bool edit_is_change(const struct ethos_edit *edit);

/* Whether any verdict changes a text. */
bool edit_has_changes(const struct ethos_edit *edits, size_t count);

/* The actions of the change in the history: those of the callback, else "replace" or "delete". */
const char *edit_action_names(const struct ethos_edit *edit);

/*
 * Makes the change of an edit for the history: who (origin may be NULL), what and when; and that
 * of a text that was only seen. Number, revisions, sizes and diff are set by the store.
 */
struct ethos_change edit_make_change(const struct ethos_edit *edit,
                                     const struct ethos_origin *origin, int64_t now_ms);
struct ethos_change edit_make_seen_change(const char *key, int64_t now_ms);

/* Sets `revision` by the verdicts; a repeated edit has it already. */
void edit_set_revisions(struct ethos_edit *edits, size_t count);

/* write, and remove (text NULL), as an update of one key that compares `expect`. */
int edit_compare_and_swap(const struct ethos_host *host, edit_update_fn *update,
                          struct ethos_store *self, const char *scope, const char *key,
                          const char *expect, const struct ethos_view *text,
                          const struct ethos_origin *origin, char out_revision[ETHOS_REVISION_SIZE],
                          struct ethos_error *error);

#endif
