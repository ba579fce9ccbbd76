/*
 * change_json.h: a recorded change as JSON.
 *
 *     {"number", "time", "scope", "key", "actions": [...], "source", "via", "actor", "session",
 *      "sessionKey", "user", "opId", "event", "undoes": [...], "before", "after", "bytesBefore",
 *      "bytesAfter", "trust", "approvedBy", "editedFrom", "large", "added", "removed", "line"}
 *
 * before and after are revisions, null where there was no file. added and removed count lines; line is the first
 * added (+) or removed (-) line. All three are null if the recorded diff was cut. trust is the trust level of the
 * writer; large is true if anybody but the owner removed more than a quarter of the file. Unknown values are null.
 */
#ifndef ETHOS_OPS_MEMORY_CHANGE_JSON_H
#define ETHOS_OPS_MEMORY_CHANGE_JSON_H

#include "ops/op.h"

/* ---- arguments that select changes ---------------------------------------------------------- */

#define ARG_SINCE                                                                                  \
    {                                                                                              \
        "since", OP_TIME, 0, NULL, "TIME", "not before: 12h, 7d, 2026-11-15, 2026-11-15T08:30"     \
    }
#define ARG_UNTIL                                                                                  \
    {                                                                                              \
        "until", OP_TIME, 0, NULL, "TIME", "not after; a time as above"                            \
    }
#define ARG_SOURCE                                                                                 \
    {                                                                                              \
        "source", OP_TEXT, 0, NULL, "SOURCE",                                                      \
            "only changes from: tool, web-editor, restore, cli, ..."                               \
    }
#define ARG_ACTOR                                                                                  \
    {                                                                                              \
        "actor", OP_TEXT, 0, NULL, "NAME", "only changes by: owner, external or an agent's name"   \
    }
#define ARG_SESSION                                                                                \
    {                                                                                              \
        "session", OP_TEXT, 0, NULL, "ID", "only changes of this session"                          \
    }

/* ---- rows ----------------------------------------------------------------------------------- */

/* One change as an object; NULL when out of memory. */
json_t *change_json(const char *scope, const struct ethos_change *change);

/* Sets added, removed and line of a row from a diff. */
void change_count(json_t **row, struct ethos_view diff);

/* Appends the diff from one version to another; the version "absent" stands for no file. */
int change_diff(struct ethos_turn *turn, const struct ethos_target *target, const char *from,
                const char *to, struct str *out, struct ethos_error *error);

/* Sets diff, added, removed and line of a row whose recorded diff was cut, by comparing its two versions. */
int change_complete(struct ethos_turn *turn, const struct ethos_target *target, json_t *row,
                    struct ethos_error *error);

#endif
