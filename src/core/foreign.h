/*
 * foreign.h: memory as other programs write it, read into items and written back.
 *
 *     claude-code    a folder: MEMORY.md (index) and notes; the native form
 *     jutul          the same with its own index line and a top-level type
 *     openclaw       MEMORY.md, USER.md, memory/YYYY-MM-DD.md
 *     hermes         MEMORY.md, USER.md: entries separated by lines of a section sign
 *     server-memory  JSON lines: entities with observations, relations
 *     markdown       any file: CLAUDE.md, AGENTS.md, notes.md
 *
 * Pure: bytes of one file in, items out. Who reads folders and writes memory is memory/transfer.
 */
#ifndef ETHOS_CORE_FOREIGN_H
#define ETHOS_CORE_FOREIGN_H

#include <stdbool.h>

#include <ethos/types.h>

struct arena;
struct str;

enum foreign_kind {
    FOREIGN_NOTE,  /* a note file: name and text as they are */
    FOREIGN_INDEX, /* an index: text as it is */
    FOREIGN_ENTRY, /* one entry of a log */
    FOREIGN_FACT   /* title and text, to be remembered */
};

/* target: "memory", "user" or "workspace". Views are borrowed from the input or the arena. */
struct foreign_item {
    enum foreign_kind kind;
    const char *target;
    struct ethos_view name;  /* file name of a note */
    struct ethos_view title; /* of a fact */
    struct ethos_view text;
};

/* What was not taken: a line number (0: the whole), and why. */
typedef int foreign_item_fn(void *arg, const struct foreign_item *item);
typedef void foreign_skip_fn(void *arg, size_t line, const char *why);

/* One file of a source. ETHOS_INVALID for a source that does not exist, ETHOS_NOMEM, or what each gave. */
int foreign_read(const char *source, const char *file, struct ethos_view text, struct arena *arena,
                 foreign_item_fn *each, foreign_skip_fn *skip, void *arg);

/* Appends a note or index in jutul-agent's form. Byte-equal to what it was read from. Returns str_code. */
int foreign_jutul_note(struct ethos_view note, struct str *out);
int foreign_jutul_index(struct ethos_view index, struct str *out);

/*
 * Makes out the text with the lines between <!-- BEGIN ethos --> and <!-- END ethos --> replaced, or the
 * block appended; the absent block takes it out. Every other byte stays. ETHOS_INVALID for markers that
 * are unbalanced or come twice.
 */
int foreign_block(struct ethos_view text, struct ethos_view block, struct str *out);

#endif
