/*
 * hooks.h: what an agent's hook does to memory: it tells the model what is remembered, and records
 * what was said.
 *
 * For each conversation of an agent <home>/hooks/ has two small files: how far the transcript was
 * read, and which lines of memory the model was shown, by their hashes. They may be deleted at any
 * time: then that is read or shown again.
 */
#ifndef ETHOS_MEMORY_HOOKS_HOOKS_H
#define ETHOS_MEMORY_HOOKS_HOOKS_H

#include "core/agents/hook_events.h"

#include <ethos/ethos.h>

#include "base/str.h"

/* What is told at an event. */
struct hooks_told {
    struct str text; /* for the model, at most HOOK_MAX_CONTEXT bytes */
    bool
        problem; /* it says that memory could not be read, for the first time: for the person, too */
    int unread;  /* why it could not, and the error says what; or ETHOS_OK */
};

/*
 * What the model shall be told at a start or a prompt: the block of memory, what changed in it since the
 * conversation had it, or nothing. out->text is initialised.
 */
int hooks_context(struct ethos *self, const struct ethos_request *request, const struct hook *hook,
                  struct hooks_told *out, struct ethos_error *error);

/* When an agent was last told what is remembered, in ms; -1: not for a month, or never. */
int64_t hooks_last_read(struct ethos *self, const char *agent);

/* What of the 9,500 bytes is the block's; the rest is for what a prompt recalls. */
#define HOOKS_RECALLED 1500
#define HOOKS_BLOCK (HOOK_MAX_CONTEXT - HOOKS_RECALLED)

/* The block that a conversation of an agent begins with, with a receipt, to tell a person; NULL when memory is empty. */
int hooks_block(struct ethos_turn *turn, struct ethos_block **out_block, struct ethos_error *error);

/*
 * Records what was said up to an event: notes it in the spool, then takes in every note of this
 * conversation. A failure leaves the notes, safely. A prompt is only noted, and only where no
 * transcript will tell of it.
 */
int hooks_record(struct ethos *self, const struct ethos_request *request, const struct hook *hook,
                 struct ethos_error *error);

/* What became of the notes in the spool. */
struct hooks_drained {
    uint64_t recorded, refused, left;
};

/* Takes in every note; dry_run counts them. An error is why the first of those that are left is. */
int hooks_drain(struct ethos *self, bool dry_run, struct hooks_drained *out,
                struct ethos_error *error);

#endif
