/*
 * mirror.h: a folder of markdown that is kept in step with a backend, so that cat, grep and git work.
 *
 * The folder is a files store: the layout of a home, and every write of it careful, lossless and recorded. A
 * scope comes from the backend that serves it: that of a personality from the one it is configured with, all
 * others from that of the home. Of the texts there, those that are memory (memory/served_store.h).
 *
 * For each text three revisions count: of the file, of the backend, and the one that both last agreed on.
 * A look at a text is two steps, each of which can be the last one that is done:
 *
 *     the file moved     two-way: what was changed in it is done at the backend, by a merge with what
 *                        stands there at that moment; where they contradict each other, the file's whole text is
 *                        kept beside it there. One-way: the file's text is kept beside it here.
 *                        From now on the file's revision is the one agreed on.
 *     the backend moved  the file becomes what the backend has, and that is agreed on.
 *
 * A file that is gone, two-way, is removed at the backend if nobody changed it there since; else it is made
 * again, as it is one-way. When more than half of the files are gone, or more than MIRROR_MANY, that is not taken
 * for what somebody wants: they are made again and nothing is removed, unless how.deletes. A text that was removed
 * at the backend goes, but not when it was edited here, two-way: then it comes back. So does one that a database
 * has lost with its history; one-way, or where a scope can be deleted with its past, its file stays. A file nobody
 * knows is new, two-way, and left alone, one-way.
 *
 * What was agreed on is written down after it is so. Killed before that, a look finds out: a file whose newest
 * change is the mirror's own did not move, and the change at the backend has an operation id (where the
 * backend keeps them) that follows from what was to be done.
 */
#ifndef ETHOS_MEMORY_MIRROR_MIRROR_H
#define ETHOS_MEMORY_MIRROR_MIRROR_H

#include <stdbool.h>

#include <ethos/ethos.h>

#define MIRROR_VIA "mirror"   /* of its changes, in the history of either side */
#define MIRROR_FAILURES 10    /* texts of one look that somebody is told of */
#define MIRROR_RETRY_MS 2000  /* before what failed is tried again */
#define MIRROR_QUIET_MS 250   /* so long nothing vanishes, before a file counts as deleted */
#define MIRROR_ROUNDS 16      /* over one text that others change meanwhile */
#define MIRROR_MANY 10        /* files that may be deleted at once */
#define MIRROR_SPELL_MS 60000 /* deletions that follow each other sooner are one */

enum mirror_kind {
    MIRROR_FILE,     /* the file became what the backend has */
    MIRROR_BACKEND,  /* the backend was given what was changed in the file */
    MIRROR_KEPT,     /* a text of the file is kept beside it */
    MIRROR_FAILED,   /* this text is not in step: error */
    MIRROR_SKIPPED,  /* another backend has this scope, too: not in this folder; key NULL */
    MIRROR_REFILLED, /* too many files were gone, and come again: gone, known; scope and key NULL */
    MIRROR_AWAY,     /* the backend does not answer: error; told once */
    MIRROR_BACK,     /* it does again */
    MIRROR_IN_STEP, /* of mirror_run: nothing is left to do, for the first time or again: known texts */
};

struct mirror_event {
    enum mirror_kind kind;
    const char *backend; /* its name, as configured */
    const char *scope, *key;
    const char *path; /* of the file, below the folder */
    bool removed;     /* the text is gone from where it says */
    bool merged;      /* both sides had changed; of MIRROR_KEPT: the backend keeps it */
    bool forgotten; /* of MIRROR_KEPT: by the folder; it may hold what the backend has forgotten */
    size_t gone, known;
    const struct ethos_error *error;
};

/* Borrowed for the length of the call. */
typedef void mirror_fn(void *arg, const struct mirror_event *event);

struct mirror_how {
    const char *folder;
    bool two_way;
    bool deletes;      /* files that are gone are removed at the backend, however many */
    unsigned quiet_ms; /* in place of MIRROR_QUIET_MS, or 0 */
    int stop;          /* a descriptor: readable, everything ends soon; -1: none */
    mirror_fn *each;   /* or NULL */
    void *arg;
};

struct mirror_count {
    uint64_t texts; /* in step after the last look at each */
    uint64_t to_file, to_backend, kept;
    uint64_t failed; /* in the last look */
};

struct mirror;

/*
 * Takes the folder: made when missing, locked until it is closed. ETHOS_INVALID when memory is in files anyway,
 * or the folder is in the home or around it; ETHOS_DENIED for a folder with other things in it and for one that
 * mirrors another place; ETHOS_BUSY for one that another process mirrors; ETHOS_UNSUPPORTED names what the
 * backend lacks. The backend need not answer yet. The handle is used by nobody else until it is closed.
 */
int mirror_open(struct ethos *ethos, const struct mirror_how *how, struct mirror **out,
                struct ethos_error *error);
void mirror_close(struct mirror *self);

/* The absolute path of the folder, and the name of the home's backend. */
const char *mirror_folder(const struct mirror *self);
const char *mirror_backend(const struct mirror *self);

/*
 * Looks at every text once. The first failure is returned: one of a single text after all others were
 * looked at, one of the backend at once.
 */
int mirror_once(struct mirror *self, struct ethos_error *error);

/*
 * The same, and then whenever something changes, until how.stop is readable: ETHOS_OK. A backend that
 * does not answer is waited for. Others end it: a backend that refuses from the start, a folder that is
 * taken away.
 */
int mirror_run(struct mirror *self, struct ethos_error *error);

struct mirror_count mirror_count(const struct mirror *self);

#endif
