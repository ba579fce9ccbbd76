/*
 * render.h: the memory block of a prompt, within its budget.
 *
 *     ## About You      USER.md
 *     ## Memory         MEMORY.md
 *     ## Workspace Memory   the workspace index
 *     ## Global Memory  the index of the global notes
 *
 * A section is a heading, a blank line and trim(redact(guard(text))), with invisible characters
 * shown as numbers (base/text/invisible) even without the guard. Sections are joined by a blank
 * line, without a final newline; blank sections are skipped. The result never exceeds the cap; a
 * section whose share is too small even for its marker is left out. The memory format, section 3,
 * defines how the budget is shared and where a text is cut. The result depends only on the bytes
 * and the options.
 *
 * A caller need not read whole files: a section may contain only the tail of a text (offset > 0;
 * its first, partial line is then ignored). If that tail is too short, `more` is set, nothing is
 * rendered, and the caller tries again with a longer one.
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
    bool guard; /* scan for injected instructions and secrets */
    bool final; /* no more can be read: a tail is all there is of a text longer than any budget */
    bool tools; /* the marker of a cut names the tool that reads the rest */
    bool tally; /* fill the counts of struct render_part (costs a walk of the omitted text) */
};

struct render_input {
    struct ethos_view text;          /* data NULL: absent */
    uint64_t offset;                 /* of text.data[0] in the whole text */
    const char *key;                 /* for the marker */
    uint64_t most;                   /* show at most so many units of it; 0: no limit */
    const struct shown_lines *shown; /* lines that the guard must not hide, or NULL */
};

struct render_part {
    bool shown;
    size_t start, size; /* the section's body in out, marker included */
    uint64_t chars;     /* CH of the section in out, heading included */
    uint64_t cut_bytes; /* bytes of the file that were cut from its start; 0 when whole */
    uint64_t cut_chars; /* CH of those, when tally (needs the whole text: offset 0) */
    uint64_t guard_chars, guard_bytes, secret_chars,
        secret_bytes; /* in the text that was shown; with tally */
    bool guarded;     /* the guard or the redaction changed the text */
};

struct render_result {
    bool more; /* a tail was too short: read more and call again */
    struct render_part parts[ETHOS_SECTIONS];
};

/*
 * How many bytes of tail to read first for a cap; doubling it on each `more` finally reaches the
 * whole file.
 */
uint64_t render_tail_bytes(const struct render_options *options);

/*
 * Appends the block to out, or nothing if all sections are blank, `more` is set, or memory or the
 * limit of out does not suffice. Returns ETHOS_OK, ETHOS_NOMEM or ETHOS_LIMIT.
 */
int render_block(const struct render_input inputs[ETHOS_SECTIONS],
                 const struct render_options *options, struct str *out,
                 struct render_result *out_result);

#endif
