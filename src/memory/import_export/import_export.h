/*
 * import_export.h: imports the memory of other programs, and exports ours.
 *
 * An import copies or adds, and never overwrites what a person changed: what was imported before is
 * merged, with the text it had then as the base. It may be repeated: an imported text that was
 * deleted here stays deleted. An export never deletes, and replaces a file only if it knows every
 * byte of it. Everything that was not imported or written is reported with the reason.
 *
 * What an import last read, and an export last wrote, is recorded by hash in the root:
 *
 *     .mem/imports-<scope, ':' as '-'>.json
 *         {"version": 1, "sources": {"<path>": {"format": "<format>",
 *             "notes": {"<key>": "<revision>[ <hash of the title>]"},
 *             "entries": {"<key>": {"<hash>": 1}}}},
 *          "exports": {"<path of a folder>": {"<name>": "<revision>"}}},
 *         "<format>:<name>" if all notes are in one file
 */
#ifndef ETHOS_MEMORY_IMPORT_EXPORT_IMPORT_EXPORT_H
#define ETHOS_MEMORY_IMPORT_EXPORT_IMPORT_EXPORT_H

#include <stdbool.h>

#include <ethos/ethos.h>

struct str;

#define TRANSFER_DIFFERS "the file has other content; --replace overwrites it"

#define TRANSFER_FORMATS "claude-code|jutul|markdown|json|agents-md|claude-md"

/*
 * what: of an import "taken", "waiting" (for approval), "updated", "merged", "conflict",
 * "unchanged", "skipped" or "warning"; of an export "written", "unchanged", "skipped" or "warning";
 * in a dry run "diff" of a file whose entries are rows. why: the reason for skips, conflicts and
 * warnings, else NULL or a remark.
 */
struct transfer_row {
    const char *what;
    const char *file; /* path within the source or the destination, with :line where it matters */
    const char *scope, *key; /* NULL: it has no key here */
    const char *why;
    const char *diff; /* in a dry run, or NULL */
    int code;         /* of an export: why a requested file was not written, or ETHOS_OK */
};

typedef void transfer_fn(void *arg, const struct transfer_row *row);

/* Called before each item, to show progress. */
typedef void transfer_progress_fn(void *arg, uint64_t done, uint64_t total);

struct transfer_request {
    const char *format; /* import: one of FOREIGN_SOURCES; export: one of TRANSFER_FORMATS */
    const char *path;   /* NULL: the program's usual place (import), standard output (export) */
    const char *scope;  /* NULL: the usual scope of such memory (import), the workspace (export) */
    bool replace;       /* an export overwrites files with other content */
    transfer_fn *each;
    transfer_progress_fn *progress; /* or NULL */
    void *arg;                      /* of each */
    void *progress_arg;
};

/*
 * Filled in: the resolved path of the source or destination ("" for standard output), and the
 * scope.
 */
struct transfer_place {
    char path[4096];
    char scope[ETHOS_MAX_SCOPE];
};

/*
 * ETHOS_NOTFOUND if nothing exists at the path; if it is one file, why it cannot be read. Conflicts
 * are rows, not failures. The origin's via is "import" regardless of how; how->each is not used.
 */
int transfer_import(struct ethos_turn *turn, const struct transfer_request *what,
                    const struct ethos_sync_how *how, struct transfer_place *out_place,
                    struct ethos_error *error);

/*
 * Writes a folder or a file, or appends to out if path is NULL or "-" and the format is a single
 * file. ETHOS_INVALID for a folder format without a path, and for a file whose markers are
 * unbalanced. Files that stay are rows with a code, not failures: ETHOS_EXISTS and the reason
 * TRANSFER_DIFFERS if their content is not known. Text that looks like a secret is reported; in a
 * single file it is redacted, files of a folder are exact.
 */
int transfer_export(struct ethos_turn *turn, const struct transfer_request *what, struct str *out,
                    const struct ethos_sync_how *how, struct transfer_place *out_place,
                    struct ethos_error *error);

#endif
