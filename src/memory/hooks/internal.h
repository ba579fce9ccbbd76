/*
 * internal.h: what the files behind hooks.h share.
 */
#ifndef ETHOS_MEMORY_HOOKS_INTERNAL_H
#define ETHOS_MEMORY_HOOKS_INTERNAL_H

#include "memory/hooks/hooks.h"

/* Whether recording of conversations is enabled. */
int hooks_recording(struct ethos *self, bool *out, struct ethos_error *error);

/*
 * Records the messages that the event itself contains; turn_id identifies the event. Does nothing
 * if the transcript of the conversation was recorded, which contains them all.
 */
int hooks_append_messages(struct ethos_turn *turn, const struct hook *hook, const char *turn_id,
                          struct ethos_error *error);

/*
 * Reduces a block to what the conversation does not have yet, and records that it has it then.
 * problem: why some or all memory could not be read, or NULL; *out_tell_problem: whether to report
 * it. turn is NULL without a turn. ETHOS_OK or ETHOS_NOMEM.
 */
int hooks_shown(struct ethos *self, struct ethos_turn *turn, const struct hook *hook,
                const char *problem, struct str *block, bool *out_tell_problem);

/*
 * The state of a conversation, in files <home>/hooks/<agent>-<hash>.<what>: how far its transcript
 * was read, what it was sent, what could not be queued. Writing may fail.
 */
#define HOOKS_PLACE "place"
#define HOOKS_SHOWN "shown" /* core/agents/shown_lines.h */
#define HOOKS_WAITING                                                                              \
    "waiting" /* prompts that could not be queued: a name, a space, the queued event */
int hooks_state_read(struct ethos *self, const struct hook *hook, const char *what,
                     struct str *out);
bool hooks_state_write(struct ethos *self, const struct hook *hook, const char *what,
                       struct ethos_view text);

/* Records in <home>/hooks/<agent>.read that an agent received memory now. */
void hooks_note_read(struct ethos *self, const char *agent);

/* Appends to the file completely, or leaves it unchanged. */
bool hooks_state_append(struct ethos *self, const struct hook *hook, const char *what,
                        struct ethos_view line);

void hooks_state_drop(struct ethos *self, const struct hook *hook, const char *what);

/* Calls each with every file of a kind; a file for which it returns true is removed. */
typedef bool hooks_state_fn(void *arg, struct ethos_view text);
void hooks_state_each(struct ethos *self, const char *what, hooks_state_fn *each, void *arg);

/* Removes the state of old conversations. */
void hooks_state_clear(struct ethos *self);

#endif
