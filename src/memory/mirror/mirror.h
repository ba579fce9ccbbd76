/*
 * mirror.h: keeps a folder of Markdown files in step with a backend, so that cat, grep and git
 * work.
 *
 * The folder is a files store with the layout of a home; every write to it is atomic and recorded.
 * Each scope comes from the backend that serves it: a personality's from its configured one, all
 * others from that of the home. Texts are those that are memory (memory/served_store.h).
 *
 * For each text three revisions count: the file's, the backend's, and the one that both last agreed
 * on. Syncing a text takes two steps, and may be interrupted after either:
 *
 *     the file changed     two-way: the edit is merged into the backend's current text; if they
 *                          conflict, the whole text of the file becomes a conflict copy there.
 *                          One-way: the file's text becomes a conflict copy here. The file's
 *                          revision is then the agreed one.
 *     the backend changed  the file gets the backend's text, which is then the agreed one.
 *
 * Two-way, a missing file is removed at the backend if nobody changed it there since; otherwise,
 * and one-way, it is created again. If more than half of the files are missing, or more than
 * MIRROR_MANY, that is taken for an accident: they are created again and nothing is removed, unless
 * how.deletes. A text that was removed at the backend is removed here, unless it was edited here,
 * two-way: then it is restored there. So is one that a database has lost with its history; one-way,
 * or if a scope can be deleted with its history, its file stays. An unknown file is added two-way,
 * and left alone one-way.
 *
 * Agreed revisions are recorded after the fact. If the mirror was killed before, the next sync
 * finds out: a file whose newest change is the mirror's own was not edited, and the change at the
 * backend has an operation id (if the backend records them) that follows from the edit.
 */
#ifndef ETHOS_MEMORY_MIRROR_MIRROR_H
#define ETHOS_MEMORY_MIRROR_MIRROR_H

#include <stdbool.h>

#include <ethos/ethos.h>

#define MIRROR_VIA "mirror"   /* of its changes, in the history of either side */
#define MIRROR_FAILURES 10    /* reported texts per sync */
#define MIRROR_RETRY_MS 2000  /* before a failure is retried */
#define MIRROR_QUIET_MS 250   /* quiet time before a missing file counts as deleted */
#define MIRROR_ROUNDS 16      /* attempts at a text that others keep changing */
#define MIRROR_MANY 10        /* files that may be deleted at once */
#define MIRROR_SPELL_MS 60000 /* deletions with shorter pauses count as one */

enum mirror_kind {
    MIRROR_FILE,    /* the file got the backend's text */
    MIRROR_BACKEND, /* the backend got the edit of the file */
    MIRROR_KEPT,    /* a text of the file became a conflict copy */
    MIRROR_FAILED,  /* this text is not in step: error */
    MIRROR_SKIPPED, /* another backend has this scope, too, which is not mirrored; key NULL */
    MIRROR_REFILLED, /* too many files were missing and are created again: gone, known; scope and key NULL */
    MIRROR_AWAY,    /* the backend is unreachable: error; reported once */
    MIRROR_BACK,    /* it is reachable again */
    MIRROR_IN_STEP, /* of mirror_run: everything is in step, first or again: known texts */
};

struct mirror_event {
    enum mirror_kind kind;
    const char *backend; /* its name, as configured */
    const char *scope, *key;
    const char *path; /* of the file, below the folder */
    bool removed;     /* the text was removed on the side it is written to */
    bool merged;      /* both sides had changed; of MIRROR_KEPT: at the backend */
    bool
        forgotten; /* of MIRROR_KEPT: in the folder; it may contain what the backend has forgotten */
    size_t gone, known;
    const struct ethos_error *error;
};

/* Borrowed for the length of the call. */
typedef void mirror_fn(void *arg, const struct mirror_event *event);

struct mirror_how {
    const char *folder;
    bool two_way;
    bool deletes;      /* missing files are removed at the backend, however many */
    unsigned quiet_ms; /* in place of MIRROR_QUIET_MS, or 0 */
    int stop;          /* a descriptor that becomes readable to stop; -1: none */
    mirror_fn *each;   /* or NULL */
    void *arg;
};

struct mirror_count {
    uint64_t texts; /* in step after the last sync of each */
    uint64_t to_file, to_backend, kept;
    uint64_t failed; /* in the last sync */
};

struct mirror;

/*
 * Opens the folder: creates it if missing, and locks it until it is closed. ETHOS_INVALID if memory
 * is in files anyway, or the folder is in the home or around it; ETHOS_DENIED if the folder
 * contains other things or mirrors another place; ETHOS_BUSY if another process mirrors it;
 * ETHOS_UNSUPPORTED names what the backend lacks. The backend may be unreachable. Nobody else may
 * use the handle until it is closed.
 */
int mirror_open(struct ethos *ethos, const struct mirror_how *how, struct mirror **out,
                struct ethos_error *error);
void mirror_close(struct mirror *self);

/* The absolute path of the folder, and the name of the home's backend. */
const char *mirror_folder(const struct mirror *self);
const char *mirror_backend(const struct mirror *self);

/*
 * Syncs every text once. Returns the first failure: of a single text after all others were tried,
 * of the backend at once.
 */
int mirror_once(struct mirror *self, struct ethos_error *error);

/*
 * Likewise, and then at every change, until how.stop is readable: ETHOS_OK. Waits for an
 * unreachable backend. Ends if a backend refuses from the start, or the folder is removed.
 */
int mirror_run(struct mirror *self, struct ethos_error *error);

struct mirror_count mirror_count(const struct mirror *self);

#endif
