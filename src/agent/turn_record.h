/*
 * turn_record.h: what a turn has recorded in its session, for a process that goes on after another one died.
 *
 * The messages of a turn carry its id as trace id.
 */
#ifndef ETHOS_AGENT_TURN_RECORD_H
#define ETHOS_AGENT_TURN_RECORD_H

#include <stdbool.h>

#include <ethos/session.h>

#include "base/json.h"
#include "base/str.h"

struct turn_record {
    bool has_question;
    bool has_answer;   /* the last answer is whole and calls no tool */
    bool is_untrusted; /* a tool gave somebody else's text */
    bool is_over;      /* the last answer was cut short, or the conversation has gone on since */
    struct str reply;  /* the text of the answers so far */
    json_t *writes;    /* memory_write calls that were accepted: [{"id", "name", "input"}] */
    json_t *open;      /* calls without a result, the same */
};

/* Release in any case. */
int turn_record_read(struct ethos_sessions *store, const char *session, const char *turn_id,
                     struct turn_record *out, struct ethos_error *error);
void turn_record_release(struct turn_record *self);

#endif
