/*
 * note.h: a note file: optional frontmatter, then the body.
 *
 *     ---
 *     name: co2-eos
 *     description: Use when building CO2 cases
 *     metadata:
 *       type: project
 *       created: 2026-11-15
 *     ---
 *
 *     Body
 *
 * Reading borrows slices and never fails: a file without frontmatter, or with one that does not
 * close, is all body. Known members may stand at the top level or under `metadata:`. Editing changes
 * the lines it must and keeps every other byte; what it adds ends its lines as the file does, LF or
 * CR LF. A body never turns into frontmatter: where it would, an empty one is put before it.
 */
#ifndef ETHOS_CORE_NOTES_NOTE_H
#define ETHOS_CORE_NOTES_NOTE_H

#include <stdbool.h>

#include <ethos/types.h>

struct str;

struct note {
    bool has_frontmatter;
    struct ethos_view head;        /* the fences and what is between; empty without frontmatter */
    struct ethos_view frontmatter; /* the lines between the fences */
    struct ethos_view body;        /* after the closing fence and one blank line */
    /* As written, quotes included where they hold quotes or escapes (note_value); absent: missing. */
    struct ethos_view name, description, type, title, created, verified, source, expires,
        supersedes, check, hook;
};

void note_parse(struct ethos_view text, struct note *out);

/* Appends what a member says: quotes taken off, escapes resolved. Returns str_code. */
int note_value(struct ethos_view member, struct str *out);

/*
 * Appends the title: the member, else what the file name gives: without .md, '-' and '_' as blanks,
 * the first letter a capital. Returns str_code.
 */
int note_title(const struct note *note, const char *key, struct str *out);

/* What a new note says about itself; absent members are left out. */
struct note_head {
    struct ethos_view name, description, type, title, created, verified, source;
};

/*
 * Appends a new note in the written form. title is left out where the name gives it back; values are
 * collapsed to one line and quoted so that any YAML reader finds these strings. Returns str_code.
 */
int note_write(const struct note_head *head, struct ethos_view body, struct str *out);

/*
 * Makes out the text with one member set to the collapsed value: its line replaced where it stands,
 * else added (name and description at the top level, the others under metadata, both made when
 * missing). Every other byte stays, comments too; the absent value takes the member out.
 * ETHOS_UNSUPPORTED, with out the text as it was, when it is written in a way this cannot edit: a
 * value of several lines, metadata that is no block mapping. Returns str_code otherwise.
 */
int note_set(struct ethos_view text, const char *member, struct ethos_view value, struct str *out);

/* Makes out the text with another body: the head as it is, a blank line, trim(body) LF. */
int note_rebody(struct ethos_view text, struct ethos_view body, struct str *out);

/* Makes out the text with more body: as `add` does, trimEnd(text) LF LF trim(more) LF. */
int note_append(struct ethos_view text, struct ethos_view more, struct str *out);

/*
 * Whether the body has these lines, one below the other, blank lines or nothing around them; the text
 * is trimmed first and white space at the ends of lines does not count. Linear. ETHOS_NOMEM.
 */
int note_says(const struct note *note, struct ethos_view text, bool *out_says);

/*
 * Whether a word of type stands for this kind: simulator counts as project, preference as feedback,
 * and none at all as project.
 */
bool note_is_type(struct ethos_view type, const char *kind);

#endif
