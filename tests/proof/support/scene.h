/*
 * scene.h: one operation on one home in a known state, done through the library in a child of its
 * own, so that it can be killed or fail at any call.
 *
 * The parent never calls the library: its fault machinery reads ETHOS_FAULT once per process.
 */
#ifndef TESTS_PROOF_SUPPORT_SCENE_H
#define TESTS_PROOF_SUPPORT_SCENE_H

#include <ethos/types.h>

#include "proof.h"

enum deed {
    DEED_ADD,
    DEED_REPLACE,
    DEED_REMOVE,
    DEED_DELETE,
    DEED_BATCH,    /* two keys of one scope */
    DEED_OVERFLOW, /* an add that pushes older text into the archive: two keys as well */
    DEED_RESTORE,
    DEED_REMEMBER, /* a note and its line in the index: two keys */
    DEED_MOVE,     /* a note gets another name: three keys */
    DEED_GROUP,    /* seven updates of several clients, handed to the store at once */
    /* of the memory tool, in its tree: */
    DEED_CREATE, /* a file in directories that are not there */
    DEED_RENAME, /* a directory with four files, two of them deeper */
    DEED_ERASE,  /* the same directory */
    DEEDS
};

enum state {
    STATE_EXISTS, /* three entries, all recorded */
    STATE_ABSENT, /* not even a home */
    STATE_LINK,   /* MEMORY.md is a symbolic link */
    STATE_EDITED, /* somebody added a line outside */
    STATE_STALE,  /* somebody saved an old buffer: recorded entries are missing */
    STATE_BIG,    /* the change is larger than a line of history holds */
    STATES
};

extern const char *const deed_names[DEEDS], *const state_names[STATES];

#define SCENE_ENTRY "deed-0" /* what adds, batches and overflows put into MEMORY.md */
#define SCENE_NOTE "note-0"  /* what remembering makes, and moving moves */
#define SCENE_NEW_NAME "moved-0"
#define SCENE_EDIT "human-0"  /* the line of the edit in STATE_EDITED and STATE_STALE */
#define SCENE_FIRST "alpha-0" /* the entries of every state but STATE_ABSENT */
#define SCENE_SECOND "bravo-0"
#define SCENE_THIRD "charlie-0"

struct scene {
    enum deed deed;
    enum state state;
    struct home start;     /* how it looks before the deed */
    char first[HASH_SIZE]; /* revision after the first entry, for DEED_RESTORE */
    char *before;          /* MEMORY.md at the start, or NULL */
    char *stale;           /* an older version of it, or NULL */
};

/* What became of a deed; lies in shared memory. */
struct outcome {
    int code;            /* of enum ethos_code; 1 while it has not returned */
    unsigned long calls; /* of the system, up to its end */
    char failed[24];     /* the call that was made to fail */
    unsigned done;       /* of DEED_GROUP: which updates were acknowledged, a bit each */
    struct ethos_error error;
};

/* Whether the deed can be done in that state. */
bool scene_fits(enum deed deed, enum state state);

/* Builds the home; every step must succeed. */
void scene_make(struct scene *scene, enum deed deed, enum state state);
void scene_free(struct scene *scene);

/* Makes the directories that the file is in. */
void scene_parents(const struct home *home);

/*
 * Called in the child before each system call; number counts from 1. What it returns is the errno
 * the call fails with, 0 lets it go on.
 */
typedef int call_fn(void *arg, const struct home *home, const char *call, unsigned long number);

struct how {
    const char *fault; /* value of ETHOS_FAULT, or NULL */
    const char *op_id; /* or NULL */
    call_fn *call;     /* or NULL */
    void *arg;
};

/* Does the deed in a home. Exit status of the child: 0, or 128 + 9 when it was killed. */
int scene_do(const struct scene *scene, const struct home *home, const struct how *how,
             struct outcome *out);

/* Whether the texts after DEED_GROUP are what its updates were told, one by one. */
bool scene_as_told(const struct scene *scene, const struct home *home, const struct outcome *out);

/* One add of an entry by another operation; op_id may be NULL. */
int scene_add(const struct home *home, const char *op_id, const char *entry, struct outcome *out);

/* A scene and what an undisturbed run of it gives; a run that fails is said so. */
#define OP_ID "op:1"
struct plan {
    struct scene scene;
    char *before, *right; /* as scene_texts gives them */
    unsigned long calls;
};
void plan_make(struct plan *plan, enum deed deed, enum state state);
void plan_free(struct plan *plan);

/*
 * All texts of the scope as one: names, contents, absent ones left out; the moments written into
 * an archive do not count. free() it.
 */
char *scene_texts(const struct home *home);

/* Directories of a tree that hold nothing. */
unsigned scene_hollow(const struct home *home);

#endif
