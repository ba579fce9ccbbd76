/*
 * policy.h: which writes wait for a person.
 *
 * The owner's never do. What is not trusted always does. An agent's waits by the mode:
 *
 *     off         only what reads like instructions
 *     automated   also what programs write by themselves (capture, consolidation, dream), and removals of much
 *     all         everything
 *
 * The rules of approval.yaml exempt an agent's writes from the mode, or refuse writes of anybody but the owner:
 *
 *     rules:
 *       - allow claude-code add notes max 300
 *       - allow codex add,replace memory max 500 day 20
 *       - deny telegram:* any user
 *
 *     VERDICT ACTOR ACTIONS FILES [max CHARS] [day N]
 *
 * ACTOR may end in *; ACTIONS are add, replace, remove, delete or any; FILES are memory, user, notes, team, tree or
 * any; CHARS are those of the text, N changes of that actor in the scope since midnight UTC. The first rule that
 * fits decides; without one the mode does. No rule exempts what is not trusted, what reads like instructions, or
 * what removes much.
 */
#ifndef ETHOS_CORE_APPROVAL_POLICY_H
#define ETHOS_CORE_APPROVAL_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include <ethos/types.h>

#include "core/approval/trust.h"

struct arena;
struct str;

#define POLICY_FILE "approval.yaml"

enum approval_mode { APPROVAL_OFF, APPROVAL_AUTOMATED, APPROVAL_ALL };

/* ETHOS_INVALID for any word except "off", "automated", "all". */
int approval_mode_parse(const char *word, enum approval_mode *out);

enum policy_files {
    POLICY_MEMORY = 1, /* MEMORY.md of a personality, or the shared one */
    POLICY_USER = 2,   /* USER.md */
    POLICY_NOTES = 4,  /* notes and their index */
    POLICY_TEAM = 8,
    POLICY_TREE = 16 /* files of the memory tool */
};

struct policy_rule {
    bool allows;
    struct ethos_view actor;
    unsigned actions; /* bits 1 << enum ethos_action */
    unsigned files;
    uint64_t max_chars; /* 0: any */
    uint64_t day;       /* 0: any */
};

struct policy {
    enum approval_mode mode;
    struct policy_rule *rules;
    size_t count;
};

/* ETHOS_INVALID names the rule, counted from 1. Rules and their strings are in the arena. */
int policy_parse(struct ethos_view yaml, struct arena *arena, struct policy *out,
                 struct ethos_error *error);

/* One rule, as in the file. */
int policy_parse_rule(struct ethos_view line, struct policy_rule *out, struct ethos_error *error);

/* Appends it as one line without LF. Returns str_code. */
int policy_print_rule(const struct policy_rule *rule, struct str *out);

/* Which of these files a key belongs to. */
enum policy_files policy_files_of(const char *scope, const char *key);

/* ---- deciding --------------------------------------------------------------------------------- */

struct policy_write {
    enum trust trust;
    const char *actor, *source;
    enum ethos_action action;
    enum policy_files files;
    uint64_t chars;
    bool instructs; /* the guard would hide a line */
    bool large;     /* it removes a large part (removal.h) */
    uint64_t today; /* changes of the actor since midnight; only determined if a rule needs it */
};

enum policy_verdict { POLICY_ADMIT, POLICY_WAIT, POLICY_REFUSE };

/* Why a write waits. */
enum { WHY_UNTRUSTED = 1, WHY_INSTRUCTS = 2, WHY_LARGE = 4, WHY_AUTOMATED = 8, WHY_MODE = 16 };

enum policy_verdict policy_decide(const struct policy *policy, const struct policy_write *write,
                                  unsigned *out_why);

/* Whether any rule limits the changes of a day. */
bool policy_counts(const struct policy *policy);

/* The name of a reason ("untrusted"), and its text for a person. */
const char *policy_why_name(unsigned why);
const char *policy_why_sentence(struct ethos_view name);

/*
 * The rule that would allow writes like this one, to be offered to a person. False if none may: the
 * write is not trusted, or no rule can exempt it.
 */
bool policy_rule_for(const struct policy_write *write, unsigned why, struct policy_rule *out);

#endif
