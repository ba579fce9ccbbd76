/*
 * update_steps.h: what the stores that have `update` share.
 *
 * The order of an update is the same everywhere: check the keys, fill `old` of every edit, ask the
 * callback, store what edit_changes() names, fill `revision`. The functions here are those steps
 * that do not depend on where the text lives.
 */
#ifndef ETHOS_STORE_UPDATE_STEPS_H
#define ETHOS_STORE_UPDATE_STEPS_H

#include <stdbool.h>

#include <ethos/provider.h>

typedef int edit_update_fn(struct ethos_store *self, const char *scope, struct ethos_edit *edits,
                           size_t count, ethos_edit_fn *edit, void *arg,
                           const struct ethos_origin *origin, struct ethos_error *error);

/* ETHOS_INVALID when a key comes twice: an edit sees only its own old text. */
int edit_check(const struct ethos_edit *edits, size_t count, struct ethos_error *error);

/* `old` of a key that does not exist: nothing, its memory given back. */
void edit_absent(const struct ethos_host *host, struct ethos_text *old);

/* Makes room for size bytes and a terminator in text; what it holds otherwise is untouched. */
int edit_reserve(const struct ethos_host *host, struct ethos_text *text, size_t size,
                 struct ethos_error *error);

/*
 * Makes a text the whole content of out, read at mtime_ms; revision NULL: it is made here. The content of out
 * is untouched without memory.
 */
int edit_give(const struct ethos_host *host, struct ethos_view text, const char *revision,
              int64_t mtime_ms, struct ethos_text *out, struct ethos_error *error);

/* Asks for the verdicts, starting from ETHOS_EDIT_KEEP. ETHOS_LIMIT for a text no store takes. */
int edit_ask(struct ethos_edit *edits, size_t count, ethos_edit_fn *edit, void *arg,
             struct ethos_error *error);

/* Whether the verdict leaves another text than the old one. */
bool edit_changes(const struct ethos_edit *edit);

/* Whether any of them does. */
bool edit_any_changes(const struct ethos_edit *edits, size_t count);

/* What history calls the change: what the callback said, else "replace" or "delete". */
const char *edit_actions(const struct ethos_edit *edit);

/*
 * An edit as history tells it: who (origin may be NULL), what and when; and a text that was only met beside
 * a key. Number, revisions, sizes and diff are left to the store.
 */
struct ethos_change edit_change(const struct ethos_edit *edit, const struct ethos_origin *origin,
                                int64_t now_ms);
struct ethos_change edit_seen(const char *key, int64_t now_ms);

/* Fills `revision` from the verdicts; one that was repeated has it already. */
void edit_finish(struct ethos_edit *edits, size_t count);

/* write and remove (text NULL) as an update of one key that is judged by expect. */
int edit_swap(const struct ethos_host *host, edit_update_fn *update, struct ethos_store *self,
              const char *scope, const char *key, const char *expect, const struct ethos_view *text,
              const struct ethos_origin *origin, char out_revision[ETHOS_REVISION_SIZE],
              struct ethos_error *error);

#endif
