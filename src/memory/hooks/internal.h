/*
 * internal.h: what prompt_context.c and record.c share.
 */
#ifndef ETHOS_MEMORY_HOOKS_INTERNAL_H
#define ETHOS_MEMORY_HOOKS_INTERNAL_H

#include "memory/hooks/hooks.h"

/* Whether conversations are recorded at all. */
int hooks_recording(struct ethos *self, bool *out, struct ethos_error *error);

/*
 * Records what an event says itself; turn_id tells it from others. Nothing when the transcript of the
 * conversation was recorded, which tells it all.
 */
int hooks_append_messages(struct ethos_turn *turn, const struct hook *hook, const char *turn_id,
                          struct ethos_error *error);

/*
 * Leaves of a block what the conversation does not have yet, and notes that it has it then. problem: why
 * some memory, or all, could not be read, or NULL; whether that is to be told is *out_tell_problem. turn
 * is NULL when there is none. ETHOS_OK or ETHOS_NOMEM.
 */
int hooks_shown(struct ethos *self, struct ethos_turn *turn, const struct hook *hook,
                const char *problem, struct str *block, bool *out_tell_problem);

/*
 * What is known of a conversation, each in a file <home>/hooks/<agent>-<hash>.<what>: how far its
 * transcript was read, what it was shown, what could not be noted. Writing may fail.
 */
#define HOOKS_PLACE "place"
#define HOOKS_SHOWN "shown"     /* core/agents/shown_lines.h */
#define HOOKS_WAITING "waiting" /* prompts that could not be noted: a name, a space, the note */
int hooks_state_read(struct ethos *self, const struct hook *hook, const char *what,
                     struct str *out);
bool hooks_state_write(struct ethos *self, const struct hook *hook, const char *what,
                       struct ethos_view text);

/* Notes that an agent was told what is remembered, now, in <home>/hooks/<agent>.read. */
void hooks_note_read(struct ethos *self, const char *agent);

/* Appends to the file; what cannot be appended whole leaves it as it was. */
bool hooks_state_append(struct ethos *self, const struct hook *hook, const char *what,
                        struct ethos_view line);

void hooks_state_drop(struct ethos *self, const struct hook *hook, const char *what);

/* Every file of a kind, whatever its conversation; one that `each` is done with goes. */
typedef bool hooks_state_fn(void *arg, struct ethos_view text);
void hooks_state_each(struct ethos *self, const char *what, hooks_state_fn *each, void *arg);

/* What was left of conversations long ago goes. */
void hooks_state_clear(struct ethos *self);

#endif
