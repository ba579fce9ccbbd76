/*
 * builtin_personalities.h: the built-in personalities. One is copied into the home when it is first used; from then on
 * it belongs to the person, and an existing directory is never changed.
 */
#ifndef ETHOS_OPS_ADMIN_BUILTIN_PERSONALITIES_H
#define ETHOS_OPS_ADMIN_BUILTIN_PERSONALITIES_H

struct builtin_personality {
    const char *id, *name, *description;
    const char *soul;    /* SOUL.md */
    const char *toolset; /* toolset.yaml; NULL: every tool */
};

extern const struct builtin_personality builtin_personalities[]; /* ends with id NULL */

/* NULL if no built-in personality has this id. */
const struct builtin_personality *builtin_personality_find(const char *id);

#endif
