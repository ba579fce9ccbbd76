/*
 * shown_lines.c: lines of memory that a conversation has, by their hashes.
 */
#include "core/agents/shown_lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/view.h"

#define DIGITS 16 /* of a hash in a file */
#define CUT VIEW("[...truncated: ")
#define HEADING VIEW("## ")
#define MORE "[...more has changed: memory_read shows what is there]"

/* ---- lines ----------------------------------------------------------------------------------- */

uint64_t shown_hash(struct ethos_view line)
{
    char hex[HASH_HEX_SIZE];
    hash_hex(view_trim_end(line), hex);
    hex[DIGITS] = '\0';
    return strtoull(hex, NULL, 16);
}

static int compare_line_hashes(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return one < other ? -1 : one > other;
}

static void sort(struct shown_lines *self)
{
    size_t count = 0;
    if (self->count)
        qsort(self->list, self->count, sizeof *self->list, compare_line_hashes);
    for (size_t i = 0; i < self->count; i++)
        if (i == 0 || self->list[i] != self->list[count - 1])
            self->list[count++] = self->list[i];
    self->count = count;
}

static bool has_hash(const struct shown_lines *self, uint64_t hash)
{
    return self->count && bsearch(&hash, self->list, self->count, sizeof hash, compare_line_hashes);
}

bool shown_has(const struct shown_lines *self, struct ethos_view line)
{
    return has_hash(self, shown_hash(line));
}

/* Unsorted. */
static int push_hash(struct shown_lines *self, struct arena *arena, uint64_t hash)
{
    uint64_t *list = arena_grow(arena, self->list, self->count, &self->capacity, sizeof hash);
    if (!list)
        return ETHOS_NOMEM;
    self->list = list;
    list[self->count++] = hash;
    return ETHOS_OK;
}

/* Neither a heading is, nor how much of a file was cut, which changes with every line. */
static bool is_memory(struct ethos_view line)
{
    return !view_blank(line) && !view_starts(line, CUT) && !view_starts(line, HEADING);
}

int shown_add(struct shown_lines *self, struct arena *arena, struct ethos_view text)
{
    struct ethos_view line;
    int code = ETHOS_OK;
    while (code == ETHOS_OK && view_line(&text, &line))
        if (is_memory(line))
            code = push_hash(self, arena, shown_hash(line));
    sort(self);
    return code;
}

int shown_join(struct shown_lines *self, struct arena *arena, const struct shown_lines *other)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < other->count; i++)
        code = push_hash(self, arena, other->list[i]);
    sort(self);
    return code;
}

bool shown_same(const struct shown_lines *a, const struct shown_lines *b)
{
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->list, b->list, a->count * sizeof *a->list) == 0);
}

/* ---- in a file ------------------------------------------------------------------------------- */

int shown_print(const struct shown *self, struct str *out)
{
    str_printf(out, "1 %" PRIu64 " %" PRIu64 " %d %016" PRIx64 "\n", self->size, self->seen,
               self->asked, self->problem);
    for (size_t i = 0; i < self->lines.count; i++)
        str_printf(out, "%016" PRIx64 "%s\n", self->lines.list[i],
                   has_hash(&self->sent, self->lines.list[i]) ? " sent" : "");
    return str_code(out);
}

static bool parse_shown_line(struct ethos_view line, struct arena *arena, struct shown *out)
{
    char digits[DIGITS + 1] = "", *end;
    bool sent = line.size > DIGITS;
    if (line.size < DIGITS || (sent && !view_eq(view_from(line, DIGITS), VIEW(" sent"))))
        return false;
    memcpy(digits, line.data, DIGITS);
    uint64_t hash = strtoull(digits, &end, 16);
    return !*end && push_hash(&out->lines, arena, hash) == ETHOS_OK &&
           (!sent || push_hash(&out->sent, arena, hash) == ETHOS_OK);
}

bool shown_parse(struct ethos_view text, struct arena *arena, struct shown *out)
{
    char head[96] = "";
    struct ethos_view line;
    int asked;
    *out = (struct shown){0};
    if (!view_line(&text, &line) || line.size >= sizeof head)
        return false;
    memcpy(head, line.data, line.size);
    bool whole = sscanf(head, "1 %" SCNu64 " %" SCNu64 " %d %" SCNx64, &out->size, &out->seen,
                        &asked, &out->problem) == 4;
    out->asked = whole && asked;
    while (whole && view_line(&text, &line))
        whole = parse_shown_line(line, arena, out);
    sort(&out->lines);
    sort(&out->sent);
    return whole;
}

/* ---- what changed ---------------------------------------------------------------------------- */

int shown_past_add(struct shown_past *self, struct arena *arena, struct ethos_view diff, bool own)
{
    struct ethos_view line;
    bool begun = false;
    int code = ETHOS_OK;
    while (code == ETHOS_OK && view_line(&diff, &line)) {
        char sign = line.size ? line.data[0] : ' ';
        struct ethos_view text = view_from(line, line.size > 0);
        begun = begun || sign == '@'; // two lines before that begin with signs, too
        if (!begun || (sign != '+' && sign != '-') || view_blank(text))
            continue;
        if (own) {
            code = push_hash(sign == '+' ? &self->added : &self->removed, arena, shown_hash(text));
        } else if (sign == '-') {
            str_add(self->gone, text);
            code = str_addc(self->gone, '\n');
        }
    }
    sort(&self->added);
    sort(&self->removed);
    return code;
}

/* A text in the making that says so when there is no more room. */
struct limited_text {
    struct str *out;
    bool full;
};

static void add_shown_line(struct limited_text *self, struct ethos_view line, const char *before)
{
    size_t size = strlen(before) + line.size + sizeof "\n" MORE;
    if (self->full)
        return;
    self->full = self->out->size + size > SHOWN_MAX_CHANGES;
    str_adds(self->out, self->full ? "\n" MORE : before);
    if (!self->full)
        str_add(self->out, line);
}

/* Lines of the block that are new, each under its heading. */
static void add_new_lines(struct limited_text *self, const struct shown_lines *before,
                          struct ethos_view block, const struct shown_past *past)
{
    struct ethos_view line, heading = {0};
    while (view_line(&block, &line)) {
        uint64_t hash = shown_hash(line);
        if (view_starts(line, HEADING))
            heading = line;
        else if (is_memory(line) && !has_hash(before, hash) && !has_hash(&past->added, hash)) {
            if (heading.data)
                add_shown_line(self, heading, "\n\n");
            add_shown_line(self, line, heading.data ? "\n\n" : "\n");
            heading = (struct ethos_view){0};
        }
    }
}

/* Lines that it has and the block has no more; those whose text nobody knows are counted. */
static void tell_gone(struct limited_text *self, const struct shown_lines *before,
                      const struct shown_lines *after, bool cut, const struct shown_past *past,
                      struct arena *arena)
{
    struct shown_lines told = {0};
    struct ethos_view rest = str_view(past->gone), line;
    size_t unknown = 0;
    char text[128];
    while (view_line(&rest, &line)) {
        uint64_t hash = shown_hash(line);
        if (!has_hash(before, hash) || has_hash(after, hash) || has_hash(&past->removed, hash) ||
            has_hash(&told, hash))
            continue;
        add_shown_line(self, line, told.count ? "\n" : "\n\nNo longer in memory:\n\n");
        if (push_hash(&told, arena, hash) != ETHOS_OK)
            str_fail(self->out, ETHOS_NOMEM);
        sort(&told);
    }
    for (size_t i = 0; i < before->count; i++) {
        uint64_t hash = before->list[i];
        unknown += !has_hash(after, hash) && !has_hash(&past->removed, hash) &&
                   !has_hash(&told, hash);
    }
    if (unknown == 0 || cut || !past->known)
        return;
    snprintf(text, sizeof text, "%zu %s shown before %s no longer in memory.", unknown,
             unknown == 1 ? "line" : "lines", unknown == 1 ? "is" : "are");
    add_shown_line(self, view_str(text), "\n\n");
}

static bool is_cut(struct ethos_view block)
{
    struct ethos_view line;
    while (view_line(&block, &line))
        if (view_starts(line, CUT))
            return true;
    return false;
}

int shown_changes(const struct shown_lines *before, const struct shown_lines *after,
                  struct ethos_view block, const struct shown_past *past, struct str *out)
{
    static const char title[] = "Memory has changed since it was shown in this conversation.";
    struct limited_text telling = {.out = out};
    struct arena arena;
    size_t start = out->size;
    arena_init(&arena);
    str_adds(out, title);
    add_new_lines(&telling, before, block, past);
    tell_gone(&telling, before, after, is_cut(block), past, &arena);
    arena_release(&arena);
    if (out->size == start + sizeof title - 1)
        str_truncate(out, start);
    return str_code(out);
}
