/*
 * purged_lines.c: where lines stood that a purge took out of a text.
 */
#include "core/history/purged_lines.h"

#include <ethos/limits.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/view.h"
#include "core/history/diff.h"
#include "core/history/external_edit.h"
#include "core/memory/forget_text.h"
#include "core/notes/index.h"

struct line_place {
    size_t at;   /* lines before it */
    size_t span; /* lines that stand there now */
};

struct line_places {
    struct line_place list[PLACES_MAX];
    size_t count;
    bool many;
};

struct line_list {
    struct ethos_view *at; /* without line ends */
    size_t count;
};

static int split_into_lines(struct ethos_view text, struct arena *arena, struct line_list *out)
{
    struct ethos_view line;
    out->count = 0;
    for (struct ethos_view rest = text; view_line(&rest, &line);)
        out->count++;
    out->at = arena_array(arena, out->count + 1, sizeof *out->at);
    if (!out->at)
        return ETHOS_NOMEM;
    size_t i = 0;
    while (view_line(&text, &line)) {
        if (view_ends(line, VIEW("\r")))
            line.size--;
        out->at[i++] = line;
    }
    return ETHOS_OK;
}

/* ---- the written form -------------------------------------------------------------------------- */

static void add_line_place(struct line_places *self, size_t at, size_t span)
{
    if (self->count == PLACES_MAX)
        self->many = true;
    else
        self->list[self->count++] = (struct line_place){at, span};
}

static size_t read_place_number(struct ethos_view *rest)
{
    size_t number = 0;
    while (rest->size > 0 && *rest->data >= '0' && *rest->data <= '9') {
        number = number < SIZE_MAX / 16 ? number * 10 + (size_t)(*rest->data - '0') : number;
        *rest = view_from(*rest, 1);
    }
    return number;
}

static void parse_places(struct ethos_view text, struct line_places *out)
{
    *out = (struct line_places){.many = view_eq(text, VIEW("*"))};
    while (!out->many && text.size > 0) {
        size_t at = read_place_number(&text), span = 0;
        if (view_starts(text, VIEW("+"))) {
            text = view_from(text, 1);
            span = read_place_number(&text);
        }
        add_line_place(out, at, span);
        if (!view_starts(text, VIEW(","))) {
            out->many = out->many || text.size > 0; // nothing that we wrote
            return;
        }
        text = view_from(text, 1);
    }
}

static int print_places(const struct line_places *self, struct arena *arena, struct ethos_view *out)
{
    struct str text;
    *out = (struct ethos_view){0};
    if (self->count == 0 && !self->many)
        return ETHOS_OK;
    str_init(&text, SIZE_MAX);
    if (self->many)
        str_adds(&text, "*");
    for (size_t i = 0; !self->many && i < self->count; i++) {
        str_printf(&text, "%s%zu", i ? "," : "", self->list[i].at);
        if (self->list[i].span > 0)
            str_printf(&text, "+%zu", self->list[i].span);
    }
    const char *copy = str_code(&text) == ETHOS_OK ? arena_copy(arena, str_view(&text)) : NULL;
    *out = view_of(copy, copy ? text.size : 0);
    str_release(&text);
    return copy ? ETHOS_OK : ETHOS_NOMEM;
}

/* ---- making ------------------------------------------------------------------------------------ */

static size_t count_held(const struct forget *forget, const struct line_list *lines, size_t from,
                         size_t end)
{
    size_t count = 0;
    for (size_t i = from; i < end && i < lines->count; i++)
        count += forget_holds(forget, lines->at[i]);
    return count;
}

int places_make(const struct forget *forget, struct ethos_view before, struct ethos_view after,
                struct ethos_view known, struct arena *arena, struct ethos_view *out)
{
    struct line_places old, made = {0};
    struct line_list from, to;
    struct diff_change *changes;
    size_t count;
    if (split_into_lines(before, arena, &from) != ETHOS_OK ||
        split_into_lines(after, arena, &to) != ETHOS_OK ||
        diff_changes(before, after, arena, &changes, &count) != ETHOS_OK)
        return ETHOS_NOMEM;
    parse_places(known, &old);
    made.many = old.many;
    for (size_t i = 0; i < old.count; i++)
        add_line_place(&made, old.list[i].at - count_held(forget, &to, 0, old.list[i].at),
                       old.list[i].span);
    size_t gone = 0, at = 0; // lines of `after` that hold it, up to here
    for (size_t i = 0; i < count && !made.many; i++) {
        const struct diff_change *change = &changes[i];
        gone += count_held(forget, &to, at, change->b);
        at = change->b;
        if (count_held(forget, &from, change->a, change->a_end) > 0)
            add_line_place(&made, change->b - gone,
                           change->b_end - change->b -
                               count_held(forget, &to, change->b, change->b_end));
    }
    return print_places(&made, arena, out);
}

/* ---- asking ------------------------------------------------------------------------------------ */

struct purge_edit {
    struct line_list text, now;
    const struct diff_change *change;
    places_line_fn *known;
    void *arg;
};

static bool is_blank_between(const struct line_list *lines, size_t from, size_t end)
{
    for (size_t i = from; i < end && i < lines->count; i++)
        if (!view_blank(lines->at[i]))
            return false;
    return true;
}

/* Whether a change is at a place, blank lines aside. */
static bool is_change_at(const struct purge_edit *edit, const struct line_place *place)
{
    const struct diff_change *change = edit->change;
    size_t end = place->at + place->span;
    return end < change->a             ? is_blank_between(&edit->text, end, change->a)
           : place->at > change->a_end ? is_blank_between(&edit->text, change->a_end, place->at)
                                       : true;
}

/* Whether a line of the index points at a file that a line which went pointed at: it was only rewritten. */
static bool is_rewritten(const struct purge_edit *edit, struct ethos_view line)
{
    struct index_entry entry, other;
    if (!index_line(line, &entry))
        return false;
    for (size_t i = edit->change->a; i < edit->change->a_end; i++)
        if (index_line(edit->text.at[i], &other) && view_eq(other.file, entry.file))
            return true;
    return false;
}

/* More lines came than went; or one that stands in the place of another went for something else. */
static bool fills(const struct purge_edit *edit, const struct line_place *place)
{
    const struct diff_change *change = edit->change;
    size_t came = 0, went = 0;
    bool replaced = false;
    for (size_t i = change->b; i < change->b_end; i++) {
        struct ethos_view line = edit->now.at[i];
        came += !view_blank(line) && !edit->known(edit->arg, line) && !is_rewritten(edit, line);
    }
    for (size_t i = change->a; i < change->a_end; i++) {
        bool ours = !view_blank(edit->text.at[i]) && edit->known(edit->arg, edit->text.at[i]);
        went += ours;
        replaced = replaced || (ours && i >= place->at && i < place->at + place->span);
    }
    return came > 0 && (came > went || replaced);
}

static int is_filled(struct ethos_view places, struct ethos_view text,
                     const struct verdict_case *facts, places_line_fn *known, void *arg, bool *out)
{
    struct line_places parsed;
    struct diff_change *changes;
    struct purge_edit edit = {.known = known, .arg = arg};
    struct arena *arena = facts->history->arena;
    size_t count;
    if (split_into_lines(text, arena, &edit.text) != ETHOS_OK ||
        split_into_lines(facts->now, arena, &edit.now) != ETHOS_OK ||
        diff_changes(text, facts->now, arena, &changes, &count) != ETHOS_OK)
        return ETHOS_NOMEM;
    parse_places(places, &parsed);
    for (size_t i = 0; i < count && !*out; i++) {
        edit.change = &changes[i];
        for (size_t j = 0; j < parsed.count && !*out; j++)
            *out = is_change_at(&edit, &parsed.list[j]) && fills(&edit, &parsed.list[j]);
        for (size_t j = changes[i].b; parsed.many && j < changes[i].b_end && !*out; j++)
            *out = !view_blank(edit.now.at[j]) && !known(arg, edit.now.at[j]);
    }
    return ETHOS_OK;
}

/* Of one purge. The text that it left is read; where that cannot be had, any line may be one that went. */
static int returns(const struct verdict_case *facts, size_t purge, places_line_fn *known, void *arg,
                   bool *out)
{
    const struct history *history = facts->history;
    struct ethos_view places = history->records[purge].places, left = facts->last;
    bool newest = purge + 1 == history->count;
    struct str text;
    int code = ETHOS_OK;
    str_init(&text, ETHOS_MAX_STORE_BYTES);
    if (!newest)
        code = facts->text ? facts->text(facts->arg, purge + 1, true, &text) : ETHOS_NOTFOUND;
    if (!newest)
        left = str_view(&text);
    if (code == ETHOS_NOTFOUND || !places.data)
        code = ETHOS_OK, places = VIEW("*"), left = facts->last;
    if (code == ETHOS_OK)
        code = is_filled(places, left, facts, known, arg, out);
    str_release(&text);
    return code;
}

int places_returned(const struct verdict_case *facts, places_line_fn *known, void *arg, bool *out)
{
    const struct history *history = facts->history;
    int code = ETHOS_OK;
    *out = false;
    for (size_t i = history->count; code == ETHOS_OK && !*out && i-- > 0;) {
        const struct history_record *record = &history->records[i];
        if (record->ts_ms < facts->now_ms - MERGE_BASE_MS ||
            view_eq(record->actions, VIEW("external")))
            break;
        if (!history->voided[i] && view_eq(record->via, VIEW("purge")))
            code = returns(facts, i, known, arg, out);
    }
    return code;
}
