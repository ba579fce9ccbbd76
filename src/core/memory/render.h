/*
 * render.h: the memory block of a prompt, within its budget.
 *
 *     ## About You      USER.md
 *     ## Memory         MEMORY.md
 *     ## Workspace Memory   the workspace index
 *     ## Global Memory  the index of the notes kept for everywhere
 *
 * Section = heading, blank line, trim(redact(guard(text))), in which what nobody would see stands as
 * its number (base/text/invisible), whether there is a guard or not; sections joined by a blank line; no
 * final newline; blank ones skipped. The result never exceeds the cap; a section whose share cannot
 * hold even its marker is left out. How a budget is shared and where a cut falls: memory format,
 * section 3. The text is a function of the bytes and the options alone.
 *
 * A caller need not read whole files: a section may hold only the tail of a text (offset > 0, then
 * its first partial line is ignored). When that tail is too short to decide, more is set, nothing is
 * rendered, and the caller comes back with a longer one.
 */
#ifndef ETHOS_CORE_MEMORY_RENDER_H
#define ETHOS_CORE_MEMORY_RENDER_H

#include <stdbool.h>

#include <ethos/provider.h>
#include <ethos/types.h>

struct shown_lines;
struct str;

enum render_unit { RENDER_CH, RENDER_BYTES };

struct render_options {
    uint64_t cap; /* in unit */
    enum render_unit unit;
    bool tail;  /* truncate: the last `cap` of the joined text, no marker; else balanced */
    bool guard; /* scan for injection and secrets */
    bool final; /* no more can be read: a tail stands for a text that is longer than any budget */
    bool tools; /* the marker of a cut names the tool that reads the rest */
    bool tally; /* fill the counts of struct render_part (costs a walk of the omitted text) */
};

struct render_input {
    struct ethos_view text;          /* data NULL: absent */
    uint64_t offset;                 /* of text.data[0] in the whole text */
    const char *key;                 /* for the marker */
    uint64_t most;                   /* units of it are shown, whatever the cap; 0: any */
    const struct shown_lines *shown; /* lines that the guard leaves as they are, or NULL */
};

struct render_part {
    bool shown;
    size_t start, size; /* the section's body in out, marker included */
    uint64_t chars;     /* CH of the section in out, heading included */
    uint64_t cut_bytes; /* bytes of the file before the first kept one; 0 when whole */
    uint64_t cut_chars; /* CH of those, when tally (needs the whole text: offset 0) */
    uint64_t guard_chars, guard_bytes, secret_chars,
        secret_bytes; /* in what was shown; when tally */
    bool guarded;     /* the guard or the redaction changed what was looked at */
};

struct render_result {
    bool more; /* a tail was too short: read more and call again */
    struct render_part parts[ETHOS_SECTIONS];
};

/* Bytes of tail to read first for a cap; doubling it on each `more` ends at the whole file. */
uint64_t render_tail_bytes(const struct render_options *options);

/*
 * Appends the block to out; appends nothing when all sections are blank, `more` is set, or memory or
 * the ceiling of out does not suffice. Returns ETHOS_OK, ETHOS_NOMEM or ETHOS_LIMIT.
 */
int render_block(const struct render_input inputs[ETHOS_SECTIONS],
                 const struct render_options *options, struct str *out,
                 struct render_result *out_result);

#endif
