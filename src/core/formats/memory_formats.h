/*
 * memory_formats.h: memory as other programs write it, read into items and written back.
 *
 *     claude-code    a folder: MEMORY.md (index) and notes; the native form
 *     claude-md      any markdown file: CLAUDE.md, AGENTS.md; its sections become notes
 *     jutul          a folder like claude-code's, with its own index line and a top-level type
 *     openclaw       MEMORY.md, USER.md, memory/YYYY-MM-DD.md
 *     hermes         memories/MEMORY.md and USER.md: entries separated by lines of a section sign
 *     server-memory  JSON lines: entities with observations, relations
 *     ethos-vector   texts of a vector database, each by the name of its file here
 *
 * Pure: bytes of one file in, items out. Who reads folders and writes memory is memory/import_export.
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

/* Where an item belongs when nobody says otherwise. */
enum foreign_target { FOREIGN_WORKSPACE, FOREIGN_MEMORY, FOREIGN_USER };

/*
 * Views are borrowed from the input or the arena. Entries of one file are pieces of its text, in
 * order: neighbours may be taken as one piece, unless they stand apart.
 */
struct foreign_item {
    enum foreign_kind kind;
    enum foreign_target target;
    struct ethos_view name;    /* file name of a note */
    struct ethos_view title;   /* of a fact */
    struct ethos_view hook;    /* of a fact: when it matters; absent: its first line */
    struct ethos_view text;    /* of facts and entries: never blank */
    struct ethos_view heading; /* of an entry: the heading above it, or absent; one line or more */
    bool first;                /* of the entries under its heading */
    bool apart;
    size_t line; /* where it begins, from 1 */
};

/* The first item that returns other than 0 ends the reading with that value. */
typedef int foreign_item_fn(void *arg, const struct foreign_item *item);

/* What was not taken: a line number (0: the whole), and why. */
typedef void foreign_skip_fn(void *arg, size_t line, const char *why);

/* Whether a source is a folder; else it is one file. */
bool foreign_is_folder(const char *source);

/* The folder inside a source's folder that belongs to it too, or NULL. */
const char *foreign_below(const char *source);

/*
 * Why a file of the folder, named by its path in it, is not read; NULL: it is. "": not worth
 * telling one by one.
 */
const char *foreign_refusal(const char *source, const char *path);

/*
 * One file of a source. ETHOS_INVALID for a source that does not exist, ETHOS_NOMEM, or what each
 * gave.
 */
int foreign_read(const char *source, const char *path, struct ethos_view text, struct arena *arena,
                 foreign_item_fn *each, foreign_skip_fn *skip, void *arg);

/* ---- what items become ---------------------------------------------------------------------- */

/*
 * Appends the note that a fact becomes under a key: a function of the fact alone. Returns
 * str_code.
 */
int foreign_note(const struct foreign_item *fact, const char *source, const char *key,
                 struct str *out);

/* Appends the line of the index for it, LF included. Returns str_code. */
int foreign_line(const struct foreign_item *fact, const char *key, struct str *out);

typedef bool foreign_wanted_fn(void *arg, struct ethos_view file);

/*
 * Makes out our index with the entries of theirs that it lacks and that are wanted, as they are
 * written there, after its last entry, or added below when it has none. *out_added counts them.
 * Near linear. Returns str_code.
 */
int foreign_join(struct ethos_view ours, struct ethos_view theirs, foreign_wanted_fn *wanted,
                 void *arg, struct str *out, size_t *out_added);

/* ---- what others read ----------------------------------------------------------------------- */

/*
 * Appends a note or index in jutul-agent's form; what came from there is byte-equal, and a line whose
 * title that form cannot hold stays as it is. title is that of the note. Returns str_code.
 */
int foreign_jutul_note(struct ethos_view note, struct ethos_view title, struct str *out);
int foreign_jutul_index(struct ethos_view index, struct str *out);

/* block_put for FOREIGN_BEGIN and FOREIGN_END. */
int foreign_block(struct ethos_view text, struct ethos_view block, struct str *out);

/* Appends text with every marker in it disarmed. Returns str_code. */
int foreign_disarm(struct ethos_view text, struct str *out);

#endif
