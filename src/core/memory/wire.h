/*
 * wire.h: what a store keeps, as JSON between two machines.
 *
 * The operations store.* give and take these forms, the backend `remote` asks them: both sides are here,
 * so that there is one place that knows a member's name.
 *
 *     bytes    a string; {"base64": ...} when they are not valid UTF-8, hold a NUL, or are shorter so
 *     text     {"text": bytes, "offset", "total", "mtimeMs", "revision", "unsettled"}
 *     error    {"code": "conflict", "message", "hint"}
 *     origin   {"actor", "via", "source", "session", "sessionKey", "user", "opId", "opDigest", "undoes",
 *              "trust", "approvedBy", "editedFrom"}
 *     change   the members of struct ethos_change in the same spelling, diff as bytes or null
 *     commit   {"version", "rows": [change], "edits": [{"key", "revision"}], "copies": [{"key", "timeMs", "text"}],
 *              "texts": {revision: bytes}}: of an edit, "absent" drops, none keeps; a row's texts are those of its
 *              revisions, as far as they are there
 *
 * What is NULL there is null here, or left out. Making gives NULL without memory. Taking borrows from
 * the value, and from scratch what had to be decoded, which is emptied first; ETHOS_INVALID, without a text, when
 * the value is not of this form.
 */
#ifndef ETHOS_CORE_MEMORY_WIRE_H
#define ETHOS_CORE_MEMORY_WIRE_H

#include <stdbool.h>

#include <ethos/provider.h>

#include "base/json.h"

#define WIRE_VERSION 1
#define WIRE_MAX_BYTES ETHOS_MAX_STORE_BYTES /* of all texts in one request, or one answer */
#define WIRE_MAX_BODY 100663296        /* bytes: those in JSON, which are a third more at most */
#define WIRE_MAX_SPOTS ETHOS_MAX_BATCH /* texts in one request */
#define WIRE_OP "remote." /* how operation ids begin that are made for the way, and are nobody's */

struct arena;
struct str;

json_t *wire_bytes(struct ethos_view bytes);
int wire_take_bytes(const json_t *value, struct str *scratch, struct ethos_view *out);

/* Taking leaves data, size and capacity of the text alone: its bytes are *out_bytes. */
json_t *wire_text(const struct ethos_text *text);
int wire_take_text(const json_t *value, struct str *scratch, struct ethos_text *out,
                   struct ethos_view *out_bytes);

/* Taking returns the code that was said, never ETHOS_OK: ETHOS_INVALID when none was. */
json_t *wire_error(const struct ethos_error *error);
int wire_take_error(const json_t *value, struct ethos_error *out);

json_t *wire_origin(const struct ethos_origin *origin);
int wire_take_origin(const json_t *value, struct ethos_origin *out);

json_t *wire_change(const struct ethos_change *change);
int wire_take_change(const json_t *value, struct str *scratch, struct ethos_change *out);

/* What graft gets. Every text has the revision it comes under, numbers grow; keys are as they came. */
json_t *wire_commit(const struct ethos_commit *commit);
int wire_take_commit(const json_t *value, struct arena *arena, struct str *scratch,
                     struct ethos_commit *out);

/* A string without NUL, or NULL; *ok is set to false where there is something else. */
const char *wire_string(const json_t *object, const char *name, bool *ok);

/* A number that is not negative, else the fallback. */
uint64_t wire_number(const json_t *object, const char *name, uint64_t fallback);

/*
 * What several texts are together, for an entity tag: starts as "", grows by each text in order (one that
 * could not be read has its code as revision), and its hash_revision is the tag.
 */
void wire_tag(struct str *tag, const char *scope, const char *key, uint64_t tail_bytes,
              const char *revision, int64_t mtime_ms);

#endif
