/*
 * render.c: the memory block of a prompt, within its budget.
 *
 * Nothing is looked at that cannot be shown. Each section owns a window: whole lines at the end of
 * its text, as they will be shown (guarded, redacted, invalid UTF-8 replaced, hidden characters as
 * their numbers). reach() asks whether a section has so many units and grows the window only until
 * that is answered; a window that would have to grow beyond the tail the caller gave means `more`.
 * As long as nothing in a window has to be replaced, it borrows the caller's bytes and positions in
 * it are positions in the text; otherwise the two are walked line by line, for lines stay lines.
 *
 * Layout: windows, places to cut, the two ways to share the cap, output.
 */
#include "core/memory/render.h"

#include <ethos/limits.h>
#include <string.h>

#include "base/str.h"
#include "base/text/invisible.h"
#include "base/text/unicode.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/memory/sanitize.h"

#define SLACK 64       /* bytes: blanks and digits around a first window, so that it rarely grows */
#define STEP 1024      /* bytes: cuts prefer to stay put while a text grows by less */
#define GROWTH 5       /* a text may get this much longer by being scanned and made valid */
#define LINE_ROOM 2048 /* bytes: room for the partial line a tail starts with */

#define MARKER_HEAD "[...truncated: "
#define MARKER_KEY " earlier bytes of "
#define MARKER_TAIL "]\n\n"
#define JOIN 2 /* bytes: the blank line before a heading, which the first one does without */

static const char *const headings[ETHOS_SECTIONS] = {
    [ETHOS_SECTION_USER] = "\n\n## About You\n\n",
    [ETHOS_SECTION_MEMORY] = "\n\n## Memory\n\n",
    [ETHOS_SECTION_WORKSPACE] = "\n\n## Workspace Memory\n\n",
    [ETHOS_SECTION_GLOBAL] = "\n\n## Global Memory\n\n",
};

/* Which tool of `ethos mcp` reads what was cut. */
static const struct ethos_view tools[ETHOS_SECTIONS] = {
    [ETHOS_SECTION_USER] = VIEW("; memory_read with store \"user\" reads all of it"),
    [ETHOS_SECTION_MEMORY] = VIEW("; memory_read reads all of it"),
    [ETHOS_SECTION_WORKSPACE] = VIEW("; note_list lists all notes"),
    [ETHOS_SECTION_GLOBAL] = VIEW("; note_list lists all notes"),
};

struct render_section {
    const struct render_options *options;
    struct ethos_view raw; /* what the caller gave */
    uint64_t offset;       /* of raw in the file */
    struct ethos_view key;
    struct ethos_view tool;            /* for the marker, ASCII, or empty */
    const struct shown_lines *allowed; /* or NULL */
    bool present;
    uint64_t most; /* units may be shown */

    /* The window raw[start, stop): whole lines, none before floor; raw[end - 1] is not blank. */
    size_t floor, start, end, stop;
    struct ethos_view shown; /* the window as shown, trimmed at its end */
    uint64_t units;          /* of shown */
    size_t blank;            /* bytes of white space shown starts with */
    uint64_t blank_units;    /* of those */
    bool ascii;              /* shown is */
    bool changed;            /* shown lies in scratch and differs from raw */
    bool guarded;            /* because something was found in a line */
    struct str scratch;
    bool more; /* the window had to grow beyond floor */

    /* What is printed: its heading from `skip` on, the marker if any, shown from `from` on. */
    bool hidden, cut, marked;
    size_t skip, from;
    uint64_t cut_at; /* file offset of the first kept byte, when cut */
};

static uint64_t min_units(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* Whether a unit is a byte. */
static bool plain(const struct render_section *s)
{
    return s->options->unit == RENDER_BYTES || s->ascii;
}

static uint64_t count(const struct render_section *s, struct ethos_view v)
{
    return plain(s) ? v.size : utf8_units(v);
}

/* Units of the window from `at` on. What lies before is the shorter part: windows start near a cut. */
static uint64_t count_from(const struct render_section *s, size_t at)
{
    return s->units - count(s, view_of(s->shown.data, at));
}

static bool is_continuation_byte(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* Start of the longest tail of at most `units`, not before `at`, that starts on a character. */
static size_t tail_at(const struct render_section *s, size_t at, uint64_t units)
{
    uint64_t have = count_from(s, at), skip = have > units ? have - units : 0;

    if (plain(s))
        at += (size_t)skip;
    for (uint64_t skipped = 0; !plain(s) && skipped < skip; at++) { // valid UTF-8, byte by byte
        unsigned char byte = (unsigned char)s->shown.data[at];

        skipped += byte >= 0xF0 ? 2 : !is_continuation_byte((char)byte);
    }
    while (at < s->shown.size && is_continuation_byte(s->shown.data[at]))
        at++;
    return at;
}

static size_t find_line_start(const char *data, size_t floor, size_t at)
{
    const char *newline = memrchr(data + floor, '\n', at - floor);

    return newline ? (size_t)(newline - data) + 1 : floor;
}

/*
 * Where the first whole line of a tail starts. When no more can be read and there is none, the
 * line is taken from its first whole character on.
 */
static size_t find_first_line(struct ethos_view tail, bool final)
{
    const char *newline = memchr(tail.data, '\n', tail.size);
    size_t start = newline ? (size_t)(newline - tail.data) + 1 : tail.size;

    if (!final || !view_blank(view_from(tail, start)))
        return start;
    for (start = 0; start < tail.size && is_continuation_byte(tail.data[start]);)
        start++;
    return start;
}

static void section_open(struct render_section *s, const struct render_input *input,
                         const struct render_options *options)
{
    *s = (struct render_section){.options = options, .raw = input->text, .offset = input->offset};
    if (!input->text.data)
        return;
    s->key = view_str(input->key);
    s->allowed = input->shown;
    s->most = input->most > 0 ? input->most : UINT64_MAX / 8;
    if (s->offset > 0)
        s->floor = find_first_line(s->raw, options->final);
    s->end = s->floor + view_trim_end(view_from(s->raw, s->floor)).size;
    s->present = s->end > s->floor;
    s->more = !s->present && s->offset > 0 && !options->final;
    const char *newline = memchr(s->raw.data + s->end, '\n', s->raw.size - s->end);
    s->stop = newline ? (size_t)(newline - s->raw.data) : s->raw.size;
    s->start = s->stop;
    s->ascii = true;
    str_init(&s->scratch, s->raw.size * GROWTH + SLACK);
}

/* Size of the white space before the first line of the text, which is never shown. */
static size_t lead(const struct render_section *s, size_t from, struct ethos_view text)
{
    bool first = s->offset == 0 && view_blank(view_of(s->raw.data, from));

    return first ? text.size - view_trim_start(text).size : 0;
}

static bool scan_section(const struct render_section *s, struct ethos_view text, struct str *out,
                         struct scan_tally *tally)
{
    const struct scan_how how = {
        .what = SCAN_GUARD | SCAN_REDACT, .shown = s->allowed, .tally = tally};
    return scan_text_with(text, &how, out);
}

/* Puts the lines from `from` on before a window that borrows; false if one must be replaced. */
static bool window_extend(struct render_section *s, size_t from)
{
    size_t to = s->start < s->end ? s->start : s->end;
    struct ethos_view text = view_of(s->raw.data + from, to - from);
    struct ethos_view lines = view_of(s->raw.data + from, s->start - from);
    uint64_t units;
    bool unseen;

    if (s->options->guard && scan_section(s, lines, &s->scratch, NULL))
        return false;
    if (!utf8_measure(text, &units, &unseen))
        return false;
    if (unseen && hidden_find(text, lead(s, from, text)) < text.size)
        return false;
    s->ascii &= units == text.size;
    s->units += plain(s) ? text.size : units;
    s->shown = view_of(text.data, s->end - from);
    return true;
}

/* A text that may lie in scratch, made anew there but for what is kept at its start. */
static struct ethos_view remake(struct render_section *s, struct ethos_view text, size_t kept,
                                int make(struct ethos_view, struct str *))
{
    struct str made;

    str_init(&made, s->scratch.ceiling);
    str_add(&made, view_of(text.data, kept));
    make(view_from(text, kept), &made);
    str_release(&s->scratch);
    s->scratch = made;
    return str_view(&s->scratch);
}

/* Makes the window anew, in scratch. */
static void window_rebuild(struct render_section *s, size_t from)
{
    struct ethos_view text = view_of(s->raw.data + from, s->stop - from);

    s->changed = true;
    str_clear(&s->scratch);
    if (s->options->guard && scan_section(s, text, &s->scratch, NULL)) {
        text = str_view(&s->scratch);
        s->guarded = true;
    }
    if (!str_code(&s->scratch) && !utf8_valid(text))
        text = remake(s, text, 0, utf8_sanitize);
    text = view_trim_end(text);
    size_t kept = lead(s, from, text);
    if (!str_code(&s->scratch) && hidden_find(text, kept) < text.size)
        text = remake(s, text, kept, hidden_show_all);
    s->shown = text;
    s->ascii = utf8_ascii(s->shown);
    s->units = count(s, s->shown);
}

/* Grows the window by `bytes` or more, to a line start. */
static void window_grow(struct render_section *s, uint64_t bytes)
{
    size_t start = s->start < s->end ? s->start : s->end;
    size_t by = (size_t)min_units(bytes, start - s->floor);
    size_t from = find_line_start(s->raw.data, s->floor, start - by);

    if ((s->changed || !window_extend(s, from)) && !str_code(&s->scratch))
        window_rebuild(s, from);
    s->start = from;
    s->blank = s->shown.size - view_trim_start(s->shown).size;
    s->blank_units = count(s, view_of(s->shown.data, s->blank));
}

/*
 * min(length of the section as shown, units). Asks for more text when the tail cannot tell. First
 * guess: a unit is a byte; second: it is three, the most it can be; only what is blank or replaced
 * takes more than that.
 */
static uint64_t reach(struct render_section *s, uint64_t units)
{
    uint64_t have = s->units - s->blank_units, step = 0;

    for (int guess = 1; have < units && s->start > s->floor && !str_code(&s->scratch); guess++) {
        uint64_t missing = min_units(units - have, s->raw.size);

        step = guess == 1 ? missing + SLACK : guess == 2 ? 3 * missing + SLACK : 2 * step;
        window_grow(s, step);
        have = s->units - s->blank_units;
    }
    bool cut_off = have < units && s->offset > 0;
    s->more |= cut_off && !s->options->final;
    return cut_off && s->options->final ? units : min_units(have, units);
}

/* ---- places to cut --------------------------------------------------------------------------- */

/* The same line start in the text and in the window. */
struct line_spot {
    size_t raw, shown;
};

static bool next_section_line(const struct render_section *s, struct line_spot *spot)
{
    const char *shown = memchr(s->shown.data + spot->shown, '\n', s->shown.size - spot->shown);

    if (!shown)
        return false;
    spot->shown = (size_t)(shown - s->shown.data) + 1;
    const char *raw = memchr(s->raw.data + spot->raw, '\n', s->stop - spot->raw);
    spot->raw = (size_t)(raw - s->raw.data) + 1;
    return true;
}

/* Moves to the first line start at or after both positions; false when there is none. */
static bool seek(const struct render_section *s, struct line_spot *spot, size_t raw, size_t shown)
{
    if (!s->changed) { // one jump
        size_t at = raw - s->start > shown ? raw - s->start : shown;

        if (at <= spot->shown)
            return true;
        if (at > s->shown.size)
            return false;
        spot->shown = at - 1;
        spot->raw = s->start + at - 1;
        return next_section_line(s, spot);
    }
    while (spot->raw < raw || spot->shown < shown) {
        if (!next_section_line(s, spot))
            return false;
    }
    return true;
}

/* The same, past lines that are blank. */
static bool seek_text(const struct render_section *s, struct line_spot *spot, size_t raw,
                      size_t shown)
{
    while (seek(s, spot, raw, shown)) {
        struct ethos_view line, rest = view_from(s->shown, spot->shown);

        if (!view_line(&rest, &line))
            return false;
        if (!view_blank(line))
            return true;
        shown = spot->shown + 1;
    }
    return false;
}

/* The start of the line that holds position `at` of the window. */
static struct line_spot find_line_around(const struct render_section *s, size_t at)
{
    struct line_spot spot = {s->start, 0}, next = spot;

    if (!s->changed) {
        spot.shown = find_line_start(s->shown.data, 0, at);
        spot.raw = s->start + spot.shown;
        return spot;
    }
    while (next_section_line(s, &next) && next.shown <= at)
        spot = next;
    return spot;
}

#define DECIMAL_SIZE 20 /* digits of the largest number */

static struct ethos_view decimal(uint64_t number, char digits[DECIMAL_SIZE])
{
    size_t at = DECIMAL_SIZE;

    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return view_of(digits + at, DECIMAL_SIZE - at);
}

/* The marker without its digits, with the blank line. */
static uint64_t marker_units(const struct render_section *s)
{
    uint64_t key = s->options->unit == RENDER_BYTES ? s->key.size : utf8_units(s->key);

    return sizeof(MARKER_HEAD MARKER_KEY MARKER_TAIL) - 1 + key + s->tool.size;
}

/* Whether the tail from `shown` on, cut at `raw`, fits beside the digits of its offset. */
static bool is_tail_within(const struct render_section *s, size_t raw, size_t shown, uint64_t room)
{
    char digits[DECIMAL_SIZE];

    return count_from(s, shown) + decimal(s->offset + raw, digits).size <= room;
}

static void cut_to(struct render_section *s, size_t raw, size_t shown)
{
    s->cut = true;
    s->from = shown;
    s->cut_at = s->offset + raw;
}

/* The earliest non-blank line that fits or, if that keeps enough, the first one on a full STEP. */
static bool cut_before_line(struct render_section *s, uint64_t allowance, uint64_t room)
{
    struct line_spot spot = {s->start, 0};
    size_t at = tail_at(s, 0, room - 1); // one digit at least

    do {
        if (!seek_text(s, &spot, s->start, at))
            return false;
        at = spot.shown + 1;
    } while (!is_tail_within(s, spot.raw, spot.shown, room));

    struct line_spot later = spot;
    uint64_t step = (s->offset + spot.raw + STEP - 1) / STEP * STEP;
    if (seek_text(s, &later, (size_t)(step - s->offset), 0) &&
        4 * count_from(s, later.shown) >= 3 * allowance)
        spot = later;
    cut_to(s, spot.raw, spot.shown);
    return true;
}

/* The first character of the line that fits, in the line. */
static size_t last_characters(const struct render_section *s, struct line_spot spot, uint64_t room)
{
    struct ethos_view line = view_from(s->shown, spot.shown);
    size_t at = tail_at(s, spot.shown, room - 1) - spot.shown;

    while (at < line.size && !is_tail_within(s, spot.raw + at, spot.shown + at, room))
        for (at++; at < line.size && is_continuation_byte(line.data[at]);)
            at++;
    return at;
}

/* Not even the last line fits: the first grapheme boundary inside it that does. */
static void cut_inside_line(struct render_section *s, uint64_t room)
{
    struct line_spot spot = find_line_around(s, s->shown.size);
    struct ethos_view line = view_from(s->shown, spot.shown);
    size_t at = unicode_boundary(line, tail_at(s, spot.shown, room - 1) - spot.shown);

    while (at < line.size && !is_tail_within(s, spot.raw + at, spot.shown + at, room))
        at = unicode_boundary(line, at + 1);
    if (at == line.size) // one grapheme larger than the room: rather a part of it than nothing
        at = last_characters(s, spot, room);
    cut_to(s, spot.raw + at, spot.shown + at);
    s->hidden = !is_tail_within(s, spot.raw + at, spot.shown + at, room);
}

/* ---- sharing the cap ------------------------------------------------------------------------- */

/* The decision has to wait for a longer tail, or memory ran out. */
static bool stuck(const struct render_section *s)
{
    return s->more || str_code(&s->scratch);
}

/* What the headings of all sections take. */
static uint64_t overhead(const struct render_section sections[ETHOS_SECTIONS])
{
    uint64_t units = 0;

    for (int i = 0; i < ETHOS_SECTIONS; i++)
        units += sections[i].present ? strlen(headings[i]) : 0;
    return units > 0 ? units - JOIN : 0;
}

static void share_budget(struct render_section sections[ETHOS_SECTIONS], uint64_t budget,
                         uint64_t allowance[ETHOS_SECTIONS])
{
    static const int order[ETHOS_SECTIONS] = {ETHOS_SECTION_USER, ETHOS_SECTION_WORKSPACE,
                                              ETHOS_SECTION_GLOBAL, ETHOS_SECTION_MEMORY};
    uint64_t left = budget;

    allowance[ETHOS_SECTION_USER] = sections[ETHOS_SECTION_USER].present ? 2 * budget / 5 : 0;
    allowance[ETHOS_SECTION_WORKSPACE] = sections[ETHOS_SECTION_WORKSPACE].present ? budget / 5 : 0;
    allowance[ETHOS_SECTION_GLOBAL] = sections[ETHOS_SECTION_GLOBAL].present ? budget / 10 : 0;
    allowance[ETHOS_SECTION_MEMORY] = budget - allowance[ETHOS_SECTION_USER] -
                                      allowance[ETHOS_SECTION_WORKSPACE] -
                                      allowance[ETHOS_SECTION_GLOBAL];
    for (int i = 0; i < ETHOS_SECTIONS; i++) {
        allowance[i] = sections[i].present
                           ? reach(&sections[i], min_units(allowance[i], sections[i].most))
                           : 0;
        left -= allowance[i];
    }
    for (int i = 0; i < ETHOS_SECTIONS && left > 0; i++) {
        struct render_section *s = &sections[order[i]];
        uint64_t had = allowance[order[i]];

        allowance[order[i]] = s->present ? reach(s, min_units(had + left, s->most)) : 0;
        left -= allowance[order[i]] - had;
    }
}

/* Keeps the tail of a section longer than its allowance; without room for the marker, nothing. */
static void shorten(struct render_section *s, uint64_t allowance)
{
    uint64_t marker = marker_units(s);
    uint64_t room = allowance > marker ? allowance - marker : 0;

    s->marked = true;
    s->hidden = room == 0;
    if (room > 0 && !cut_before_line(s, allowance, room))
        cut_inside_line(s, room);
}

static void plan_balanced(struct render_section sections[ETHOS_SECTIONS], uint64_t cap)
{
    uint64_t allowance[ETHOS_SECTIONS], taken = overhead(sections);
    size_t skip = JOIN;

    share_budget(sections, cap > taken ? cap - taken : 0, allowance);
    for (int i = 0; i < ETHOS_SECTIONS; i++) {
        struct render_section *s = &sections[i];

        if (!s->present)
            continue;
        bool longer = reach(s, allowance[i] + 1) > allowance[i];
        s->from = s->blank;
        if (longer && !stuck(s))
            shorten(s, allowance[i]);
        s->skip = skip;
        skip = s->hidden ? skip : 0;
    }
}

/* The last `cap` of the joined text, from its end backwards. */
static void plan_tail(struct render_section sections[ETHOS_SECTIONS], uint64_t cap)
{
    uint64_t before = overhead(sections); // headings not yet passed

    for (int i = ETHOS_SECTIONS - 1; i >= 0; i--) {
        struct render_section *s = &sections[i];

        if (!s->present)
            continue;
        uint64_t most = min_units(cap, s->most), body = reach(s, most + 1);
        s->from = s->blank;
        if (body > most && !stuck(s)) {
            size_t at = tail_at(s, 0, most);
            struct line_spot spot = find_line_around(s, at);

            cut_to(s, spot.raw + (at - spot.shown), at);
            s->hidden = at == s->shown.size;
        }
        cap -= min_units(body, most);
        uint64_t heading = min_units(strlen(headings[i]), before);
        uint64_t kept = min_units(heading, cap);
        s->skip = strlen(headings[i]) - (size_t)kept;
        before -= heading;
        cap -= kept;
    }
}

/* ---- output ---------------------------------------------------------------------------------- */

static void count_cut_parts(const struct render_section *s, struct render_part *part)
{
    struct scan_tally scanned = {0};
    struct str nowhere; // takes nothing: the text was made before
    size_t cut = (size_t)min_units(part->cut_bytes, s->raw.size);

    if (s->offset == 0)
        part->cut_chars = utf8_units(view_of(s->raw.data, cut));
    if (s->hidden || !s->options->guard)
        return;
    size_t from = find_line_around(s, s->from).raw;
    str_init(&nowhere, 0);
    scan_section(s, view_of(s->raw.data + from, s->stop - from), &nowhere, &scanned);
    part->guard_chars = scanned.guard_chars;
    part->guard_bytes = scanned.guard_bytes;
    part->secret_chars = scanned.secret_chars;
    part->secret_bytes = scanned.secret_bytes;
}

static void print_section(const struct render_section *s, const char *heading, struct str *out,
                          struct render_part *part)
{
    struct ethos_view body = view_from(s->shown, s->from);
    char digits[DECIMAL_SIZE];
    size_t start = out->size;

    str_adds(out, heading + s->skip);
    part->shown = true;
    part->start = out->size;
    if (s->marked) {
        str_add(out, VIEW(MARKER_HEAD));
        str_add(out, decimal(s->cut_at, digits));
        str_add(out, VIEW(MARKER_KEY));
        str_add(out, s->key);
        str_add(out, s->tool);
        str_add(out, body.size > 0 ? VIEW(MARKER_TAIL) : VIEW("]"));
    }
    part->chars = utf8_units(view_from(str_view(out), start));
    part->chars += s->options->unit == RENDER_CH ? count_from(s, s->from) : utf8_units(body);
    str_add(out, body);
    part->size = out->size - part->start;
}

/* One growth for all, so that out either gets the whole block or stays as it was. */
static int reserve_output(const struct render_section sections[ETHOS_SECTIONS], struct str *out)
{
    size_t size = 0;

    for (int i = 0; i < ETHOS_SECTIONS; i++) {
        const struct render_section *s = &sections[i];

        if (s->present && !s->hidden)
            size += strlen(headings[i]) + sizeof(MARKER_HEAD MARKER_KEY MARKER_TAIL) +
                    DECIMAL_SIZE + s->key.size + s->tool.size + s->shown.size - s->from;
    }
    return str_reserve(out, size);
}

static int print_sections(struct render_section sections[ETHOS_SECTIONS], struct str *out,
                          struct render_result *result)
{
    int code = reserve_output(sections, out);

    for (int i = 0; i < ETHOS_SECTIONS && !code; i++) {
        struct render_section *s = &sections[i];
        struct render_part *part = &result->parts[i];

        if (!s->present)
            continue;
        if (!s->hidden)
            print_section(s, headings[i], out, part);
        part->cut_bytes = s->hidden ? s->offset + s->raw.size : s->cut ? s->cut_at : 0;
        part->guarded = s->guarded;
        if (s->options->tally)
            count_cut_parts(s, part);
    }
    return code;
}

uint64_t render_tail_bytes(const struct render_options *options)
{
    return min_units(options->cap, UINT64_MAX - LINE_ROOM) + LINE_ROOM;
}

int render_block(const struct render_input inputs[ETHOS_SECTIONS],
                 const struct render_options *options, struct str *out,
                 struct render_result *out_result)
{
    struct render_section sections[ETHOS_SECTIONS];
    uint64_t cap = min_units(options->cap, UINT64_MAX / 8); // sums stay in range
    bool more = false;
    int code = ETHOS_OK;

    *out_result = (struct render_result){0};
    for (int i = 0; i < ETHOS_SECTIONS; i++) {
        section_open(&sections[i], &inputs[i], options);
        sections[i].tool = options->tools ? tools[i] : (struct ethos_view){0};
    }
    if (options->tail)
        plan_tail(sections, cap);
    else
        plan_balanced(sections, cap);
    for (int i = 0; i < ETHOS_SECTIONS; i++) {
        code = code ? code : str_code(&sections[i].scratch);
        more |= sections[i].more;
    }
    if (!code && !more)
        code = print_sections(sections, out, out_result);
    out_result->more = !code && more;
    for (int i = 0; i < ETHOS_SECTIONS; i++)
        str_release(&sections[i].scratch);
    return code;
}
