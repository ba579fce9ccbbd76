/*
 * hooks.h: what an agent's hook does: it gives the model its memory, and records the conversation.
 *
 * For each conversation of an agent <home>/hooks/ has two small files: how far the transcript was
 * read, and the hashes of the lines of memory that the model was sent. They may be deleted at any
 * time: then that is read or sent again.
 */
#ifndef ETHOS_MEMORY_HOOKS_HOOKS_H
#define ETHOS_MEMORY_HOOKS_HOOKS_H

#include "core/agents/hook_events.h"

#include <ethos/ethos.h>

#include "base/str.h"

/* The output of a hook at an event. */
struct hooks_told {
    struct str text; /* for the model, at most HOOK_MAX_CONTEXT bytes */
    bool
        problem; /* reports for the first time that memory could not be read: for the person, too */
    int unread;  /* ETHOS_OK, or why it could not; the error has the text */
};

/*
 * What to send to the model at a start or a prompt: the block of memory, what changed in it since
 * the conversation had it, or nothing. out->text is initialised.
 */
int hooks_context(struct ethos *self, const struct ethos_request *request, const struct hook *hook,
                  struct hooks_told *out, struct ethos_error *error);

/* When an agent last received memory, in ms; -1: not within a month, or never. */
int64_t hooks_last_read(struct ethos *self, const char *agent);

/* The part of the 9,500 bytes for the block; the rest is for what a prompt recalls. */
#define HOOKS_RECALLED 1500
#define HOOKS_BLOCK (HOOK_MAX_CONTEXT - HOOKS_RECALLED)

/*
 * The block that a conversation of an agent begins with, with a receipt, to show to a person; NULL
 * if memory is empty.
 */
int hooks_block(struct ethos_turn *turn, struct ethos_block **out_block, struct ethos_error *error);

/*
 * Records what was said up to an event: queues it in the spool, then records everything queued for
 * this conversation. After a failure the queue is intact. A prompt is only queued, and only if
 * there will be no transcript.
 */
int hooks_record(struct ethos *self, const struct ethos_request *request, const struct hook *hook,
                 struct ethos_error *error);

/* The result of draining the spool. */
struct hooks_drained {
    uint64_t recorded, refused, left;
};

/* Records every queued event; dry_run counts them. The error is that of the first one left. */
int hooks_drain(struct ethos *self, bool dry_run, struct hooks_drained *out,
                struct ethos_error *error);

#endif
