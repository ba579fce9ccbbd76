/*
 * transfer.h: memory of other programs brought in, and ours given out.
 *
 * An import copies or adds, never overwrites what a person changed: a file that was imported before is
 * merged with what it was then as the base. It may be run again: what came in once and was deleted here
 * stays deleted. Everything that was not taken is reported with the reason.
 */
#ifndef ETHOS_MEMORY_TRANSFER_H
#define ETHOS_MEMORY_TRANSFER_H

#include <ethos/ethos.h>

/* what: "taken", "unchanged", "merged", "conflict", "skipped"; why: for skipped and conflict. */
struct transfer_row {
    const char *what;
    const char *from; /* path of the file, with :line where it matters */
    const char *scope, *key;
    const char *why;
    const char *diff; /* in a dry run, or NULL */
};

typedef void transfer_fn(void *arg, const struct transfer_row *row);

/* Asked before each item, for a progress display; NULL: none. */
typedef void transfer_progress_fn(void *arg, uint64_t done, uint64_t total);

struct transfer {
    const char *format; /* import: a source of foreign.h; export: also json, agents-md */
    const char *path;   /* NULL: where that program keeps it (import), standard output (export) */
    const char *scope;  /* NULL: the workspace for notes */
    transfer_fn *each;
    transfer_progress_fn *progress;
    void *arg;
};

int transfer_import(struct ethos_turn *turn, const struct transfer *what,
                    const struct ethos_sync_how *how, struct ethos_error *error);

/* Writes a folder or a file, or appends to out where path is NULL and the format is one file. */
int transfer_export(struct ethos_turn *turn, const struct transfer *what, struct str *out,
                    const struct ethos_sync_how *how, struct ethos_error *error);

#endif
