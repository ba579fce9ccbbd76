/*
 * import_export.h: memory of other programs brought in, and ours given out.
 *
 * An import copies or adds, never overwrites what a person changed: what was imported before is
 * merged with what it was then as the base. It may be run again: what came in once and was deleted
 * here stays deleted. An export never deletes, and replaces a file only when it knows every byte
 * of it. Everything that was not taken or written is reported with the reason.
 *
 * What an import saw last, and what an export wrote last, is remembered by hash in the root:
 *     .mem/imports-<scope, ':' as '-'>.json
 *         {"version": 1,
 *          "sources": {"<path>": {"format": "<format>",
 *                                 "notes": {"<key>": "<revision>[ <hash of the title>]"},
 *                                 "entries": {"<key>": {"<hash>": 1}}}},
 *          "exports": {"<path of a folder>": {"<name>": "<revision>"}}}, "<format>:<name>" where all
 *                     notes are one file
 */
#ifndef ETHOS_MEMORY_IMPORT_EXPORT_IMPORT_EXPORT_H
#define ETHOS_MEMORY_IMPORT_EXPORT_IMPORT_EXPORT_H

#include <stdbool.h>

#include <ethos/ethos.h>

struct str;

#define TRANSFER_DIFFERS "it is there with other content; --replace overwrites it"

#define TRANSFER_FORMATS "claude-code|jutul|markdown|json|agents-md|claude-md"

/*
 * what: of an import "taken", "waiting" (for a person who approves it), "updated", "merged", "conflict", "unchanged", "skipped" or
 * "warning", of an export "written", "unchanged", "skipped" or "warning"; "diff" in a dry run, of a
 * file whose entries are rows. why: of what was skipped, conflicts and warns, else NULL or a remark.
 */
struct transfer_row {
    const char *what;
    const char *file; /* path within the source or the destination, with :line where it matters */
    const char *scope, *key; /* NULL: it has no place here */
    const char *why;
    const char *diff; /* in a dry run, or NULL */
    int code;         /* of an export: why a file that was asked for was not written, or ETHOS_OK */
};

typedef void transfer_fn(void *arg, const struct transfer_row *row);

/* Called before each item, for a progress display. */
typedef void transfer_progress_fn(void *arg, uint64_t done, uint64_t total);

struct transfer_request {
    const char *format; /* import: one of FOREIGN_SOURCES; export: one of TRANSFER_FORMATS */
    const char *path;   /* NULL: where that program keeps it (import), standard output (export) */
    const char *scope;  /* NULL: where such memory belongs (import), the workspace (export) */
    bool replace;       /* an export overwrites files with other content */
    transfer_fn *each;
    transfer_progress_fn *progress; /* or NULL */
    void *arg;                      /* of each */
    void *progress_arg;
};

/*
 * Where it went: the resolved path of the source or destination ("" for standard output), the
 * scope.
 */
struct transfer_place {
    char path[4096];
    char scope[ETHOS_MAX_SCOPE];
};

/*
 * ETHOS_NOTFOUND when there is nothing at the path; why it cannot be read when it is one file. Conflicts are rows, no failure. The origin's
 * via is "import" whatever how says; how->each is not used.
 */
int transfer_import(struct ethos_turn *turn, const struct transfer_request *what,
                    const struct ethos_sync_how *how, struct transfer_place *out_place,
                    struct ethos_error *error);

/*
 * Writes a folder or a file, or appends to out where path is NULL or "-" and the format is one
 * file. ETHOS_INVALID for a folder format without path, and for a file whose markers are
 * unbalanced. Files that stay are rows with a code, no failure: ETHOS_EXISTS and the reason
 * TRANSFER_DIFFERS where their content is not known. What looks like a secret is told of; in one
 * text it is redacted, files of a folder are exact.
 */
int transfer_export(struct ethos_turn *turn, const struct transfer_request *what, struct str *out,
                    const struct ethos_sync_how *how, struct transfer_place *out_place,
                    struct ethos_error *error);

#endif
