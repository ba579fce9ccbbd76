/*
 * builtin_personalities.h: the personalities that come with the program. They are made in the home when they are
 * used first; from then on they are the person's, and a directory that exists is never touched.
 */
#ifndef ETHOS_OPS_ADMIN_BUILTIN_PERSONALITIES_H
#define ETHOS_OPS_ADMIN_BUILTIN_PERSONALITIES_H

struct builtin_personality {
    const char *id, *name, *description;
    const char *soul;    /* SOUL.md */
    const char *toolset; /* toolset.yaml; NULL: every tool */
};

extern const struct builtin_personality builtin_personalities[]; /* ends with id NULL */

/* NULL: there is none with this id. */
const struct builtin_personality *builtin_personality_find(const char *id);

#endif
