/*
 * memory_formats.h: reads memory of other programs into items, and writes memory in their formats.
 *
 *     claude-code    a folder: MEMORY.md (index) and notes; the native form
 *     claude-md      any markdown file: CLAUDE.md, AGENTS.md; its sections become notes
 *     jutul          a folder like claude-code's, with its own index line and a top-level type
 *     openclaw       MEMORY.md, USER.md, memory/YYYY-MM-DD.md
 *     hermes         memories/MEMORY.md and USER.md: entries separated by lines of a section sign
 *     server-memory  JSON lines: entities with observations, relations
 *     ethos-vector   texts of a vector database, each by the name of its file here
 *
 * Pure: it takes the bytes of one file. Reading folders and writing memory is in memory/import_export.
 */
#ifndef ETHOS_CORE_FORMATS_MEMORY_FORMATS_H
#define ETHOS_CORE_FORMATS_MEMORY_FORMATS_H

#include <stdbool.h>

#include <ethos/types.h>

struct arena;
struct str;

#define FOREIGN_SOURCES "claude-code|claude-md|jutul|openclaw|hermes|server-memory|ethos-vector"

#define FOREIGN_BEGIN "<!-- BEGIN ethos -->"
#define FOREIGN_END "<!-- END ethos -->"

enum foreign_kind {
    FOREIGN_NOTE,  /* a note file: name and text as they are */
    FOREIGN_INDEX, /* an index: text as it is */
    FOREIGN_ENTRY, /* one entry of a log: a paragraph, a list item, a block of code */
    FOREIGN_FACT   /* title and text, to become a note */
};

/* The default target of an item. */
enum foreign_target { FOREIGN_WORKSPACE, FOREIGN_MEMORY, FOREIGN_USER };

/*
 * Views point into the input or the arena. Entries are consecutive pieces of their file; neighbours may be joined unless
 * `apart` is set.
 */
struct foreign_item {
    enum foreign_kind kind;
    enum foreign_target target;
    struct ethos_view name;    /* file name of a note */
    struct ethos_view title;   /* of a fact */
    struct ethos_view hook;    /* of a fact: when it matters; absent: use its first line */
    struct ethos_view text;    /* of facts and entries: never blank */
    struct ethos_view heading; /* of an entry: the heading above it, or absent; one line or more */
    bool first;                /* of the entries under its heading */
    bool apart;
    size_t line; /* where it begins, from 1 */
};

/* A value other than 0 ends reading and is returned. */
typedef int foreign_item_fn(void *arg, const struct foreign_item *item);

/* Reports what was skipped: a line number (0: the whole file), and why. */
typedef void foreign_skip_fn(void *arg, size_t line, const char *why);

/* Whether a source is a folder, not a single file. */
bool foreign_is_folder(const char *source);

/* The subfolder of a source's folder that is read, too, or NULL. */
const char *foreign_below(const char *source);

/*
 * Why a file of the folder, named by its path below it, is not read; NULL if it is read; "" if that need not be reported.
 */
const char *foreign_refusal(const char *source, const char *path);

/*
 * Reads one file of a source. ETHOS_INVALID for an unknown source, ETHOS_NOMEM, or the value of `each`.
 */
int foreign_read(const char *source, const char *path, struct ethos_view text, struct arena *arena,
                 foreign_item_fn *each, foreign_skip_fn *skip, void *arg);

/* ---- items to notes ------------------------------------------------------------------------- */

/*
 * Appends the note of a fact with a key; the same fact always gives the same note. Returns str_code.
 */
int foreign_note(const struct foreign_item *fact, const char *source, const char *key,
                 struct str *out);

/* Appends its line of the index, with LF. Returns str_code. */
int foreign_line(const struct foreign_item *fact, const char *key, struct str *out);

typedef bool foreign_wanted_fn(void *arg, struct ethos_view file);

/*
 * Sets out to our index with the wanted entries of theirs that it lacks, unchanged, after its last entry, or at the end
 * if it has none. *out_added counts them. Nearly linear. Returns str_code.
 */
int foreign_join(struct ethos_view ours, struct ethos_view theirs, foreign_wanted_fn *wanted,
                 void *arg, struct str *out, size_t *out_added);

/* ---- export --------------------------------------------------------------------------------- */

/*
 * Append a note or index in jutul-agent's form. Text that was imported from it is byte-equal; a line whose title cannot be
 * written in that form is copied unchanged. title is that of the note. Return str_code.
 */
int foreign_jutul_note(struct ethos_view note, struct ethos_view title, struct str *out);
int foreign_jutul_index(struct ethos_view index, struct str *out);

/* block_put for FOREIGN_BEGIN and FOREIGN_END. */
int foreign_block(struct ethos_view text, struct ethos_view block, struct str *out);

/* Appends text with every mark in it escaped. Returns str_code. */
int foreign_disarm(struct ethos_view text, struct str *out);

#endif
