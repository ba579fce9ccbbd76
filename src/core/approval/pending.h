/*
 * pending.h: a write that waits for a person: one line of memory-pending.jsonl.
 *
 *     id scopeId update source proposedAt factHash? sessionId? sessionKey?     as other programs of the family
 *     actor via trust why base hash opId? userId? note? editedFrom?            ours
 *
 * update      {action: add|replace, key, content}, {action: remove, key, substringMatch}, {action: delete, key}
 * why         names of the reasons (policy.h)
 * base        revision of the key when it was proposed, or "absent"
 * note        {title, hook}: the line of the index that comes, or goes, with the file
 * hash        of what a person is shown, see pending_hash
 * editedFrom  hash of what was proposed, where a person has changed it
 *
 * Lines without our members are read as well; members that nobody here knows stay.
 */
#ifndef ETHOS_CORE_APPROVAL_PENDING_H
#define ETHOS_CORE_APPROVAL_PENDING_H

#include <stdbool.h>

#include <ethos/types.h>

#include "base/hash.h"
#include "base/json.h"

/* A parsed line: strings belong to its JSON, NULL if absent. */
struct pending {
    const char *id, *scope, *key, *source;
    enum ethos_action action;
    struct ethos_view text; /* content, or for a remove the substring; absent for a delete */
    int64_t proposed_ms;
    const char *fact_hash, *session, *session_key;
    const char *actor, *via, *trust, *base, *hash, *op_id, *user, *edited_from;
    const json_t *why; /* or NULL */
    bool has_note;
    const char *title, *hook; /* of the note */
};

/* False if the line does not have this form. */
bool pending_read(const json_t *row, struct pending *out);

/* "add", "replace", "remove", "delete" */
const char *pending_action_name(enum ethos_action action);

/* The line of a proposal, with its hash. NULL if memory runs out. */
json_t *pending_make(const struct pending *proposal);

/*
 * The hash that an approval names, so that only what was shown is applied: of scope, update and
 * note, and for changes and removals also of the revision they apply to (NULL: base). ETHOS_OK or
 * ETHOS_NOMEM.
 */
int pending_hash(const struct pending *pending, const char *revision, char out[HASH_HEX_SIZE]);

/*
 * Changes the text of the line and its hash; editedFrom keeps the first hash. ETHOS_OK or
 * ETHOS_NOMEM.
 */
int pending_edit(json_t *row, struct ethos_view text);

/*
 * The fact hash of an update: of its text, for a note without the head; for a removal, of what it
 * would remove. ETHOS_OK or ETHOS_NOMEM.
 */
int pending_fact_hash(const struct pending *pending, char out[HASH_HEX_SIZE]);

/*
 * SHA-256 of a text in lower case, trimmed, with runs of spaces collapsed. ETHOS_OK or ETHOS_NOMEM.
 */
int fact_hash(struct ethos_view text, char out[HASH_HEX_SIZE]);

#endif
