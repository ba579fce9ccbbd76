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
    /* As written, including quotes (see note_value); absent if missing. */
    struct ethos_view name, description, type, title, created, verified, source, expires,
        supersedes, check, hook;
};

void note_parse(struct ethos_view text, struct note *out);

/* Appends the value of a member, without quotes and escapes. Returns str_code. */
int note_value(struct ethos_view member, struct str *out);

/*
 * Appends the title: the member, or one made from the file name: without .md, '-' and '_' become
 * spaces, the first letter a capital. Returns str_code.
 */
int note_title(const struct note *note, const char *key, struct str *out);

/* The members of a new note; absent ones are left out. */
struct note_head {
    struct ethos_view name, description, type, title, created, verified, source;
};

/*
 * Appends a new note in the written form. The title is left out if it can be made from the name;
 * values are collapsed to one line and quoted so that any YAML reader reads them as strings.
 * Returns str_code.
 */
int note_write(const struct note_head *head, struct ethos_view body, struct str *out);

/*
 * Sets one member to the collapsed value and writes the text to out: its line is replaced, or added
 * (name and description at the top level, the others under metadata, which is created if missing).
 * Every other byte stays, including comments; an absent value removes the member.
 * ETHOS_UNSUPPORTED, with the unchanged text in out, for forms this cannot edit: a value of several
 * lines, or metadata that is not a block mapping. Otherwise returns str_code.
 */
int note_set(struct ethos_view text, const char *member, struct ethos_view value, struct str *out);

/* Writes to out the text with another body: the unchanged head, a blank line, trim(body) LF. */
int note_rebody(struct ethos_view text, struct ethos_view body, struct str *out);

/* Writes to out the text with more body, as `add` does: trimEnd(text) LF LF trim(more) LF. */
int note_append(struct ethos_view text, struct ethos_view more, struct str *out);

/*
 * Whether the body contains these lines one after the other, between blank lines or its ends; the
 * text is trimmed first, and spaces at the ends of lines are ignored. Linear. ETHOS_NOMEM.
 */
int note_says(const struct note *note, struct ethos_view text, bool *out_says);

/*
 * Whether a value of type means this kind: simulator counts as project, preference as feedback, and
 * an absent type as project.
 */
bool note_is_type(struct ethos_view type, const char *kind);

#endif
