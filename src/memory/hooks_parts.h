/*
 * hooks_parts.h: what hooks.c and hooks_record.c share.
 */
#ifndef ETHOS_MEMORY_HOOKS_PARTS_H
#define ETHOS_MEMORY_HOOKS_PARTS_H

#include "memory/hooks.h"

/* The request of a hook: the given one, in the folder the agent works in. */
struct ethos_request hooks_request(const struct ethos_request *given, const struct hook *hook);

/* Whether conversations are recorded at all. */
int hooks_recording(struct ethos *self, bool *out, struct ethos_error *error);

/*
 * Records what an event says itself; turn_id tells it from others. Nothing when the transcript of the
 * conversation was recorded, which tells it all.
 */
int hooks_say(struct ethos_turn *turn, const struct hook *hook, const char *turn_id,
              struct ethos_error *error);

/*
 * What is known of a conversation, each in a file <home>/hooks/<agent>-<hash>.<what>: how far its
 * transcript was read, and what it was told last. Writing may fail silently.
 */
#define HOOKS_PLACE "place"
#define HOOKS_TOLD "told"
int hooks_state_read(struct ethos *self, const struct hook *hook, const char *what,
                     struct str *out);
void hooks_state_write(struct ethos *self, const struct hook *hook, const char *what,
                       struct ethos_view text);

void hooks_state_drop(struct ethos *self, const struct hook *hook, const char *what);

/* What was left of conversations long ago goes. */
void hooks_state_clear(struct ethos *self);

#endif
