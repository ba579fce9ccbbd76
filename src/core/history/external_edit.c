/*
 * external_edit.c: what an outside edit meant.
 *
 * Three texts meet here: the one last recorded, the one that stands there now, and, through the
 * diffs of the history, the entries that were added. Lines are looked up in sorted indexes, so that asking
 * for many entries stays cheap. What is kept for a line is small, and one version is read at a time: a
 * text of one-letter lines has half as many lines as bytes.
 */
#include "core/history/external_edit.h"

#include <ethos/limits.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/text/line_index.h"
#include "base/view.h"
#include "core/history/added_entry.h"
#include "core/history/diff.h"
#include "core/history/merge.h"
#include "core/history/patch.h"
#include "core/history/purged_lines.h"
#include "core/history/rewording.h"
#include "core/notes/index.h"

#define CORRECTED_BYTES 12 /* shorter lines are alike by chance */
#define CORRECTED_LINES 64 /* new lines that are compared with those they may correct */

struct edit_check {
    const struct verdict_case *facts;
    const struct history *history;
    struct arena *arena; /* until the end of the call; what is found lives in the history's */
    struct line_index last, now;
    struct wording fresh;              /* of lines that are not in the last text */
    char hash[ETHOS_REVISION_SIZE];    /* of the text now */
    char trimmed[ETHOS_REVISION_SIZE]; /* of the text now as an update would end it */
};

/* ---- entries --------------------------------------------------------------------------------- */

/* A diff that is whole: that of the record, or one of its texts, in the arena, where it was cut. */
static int find_diff(const struct edit_check *j, size_t index, struct arena *arena,
                     struct ethos_view *out)
{
    const struct verdict_case *facts = j->facts;
    struct history_record record = j->history->records[index];
    struct str before, after;
    int code = record.blob.size > 0 && facts->text ? ETHOS_OK : ETHOS_NOTFOUND;

    str_init(&before, ETHOS_MAX_STORE_BYTES);
    str_init(&after, ETHOS_MAX_STORE_BYTES);
    if (code == ETHOS_OK)
        code = facts->text(facts->arg, index, true, &before);
    if (code == ETHOS_OK)
        code = facts->text(facts->arg, index, false, &after);
    if (code == ETHOS_OK)
        code = history_mend(str_view(&before), str_view(&after), arena, &record);
    str_release(&before);
    str_release(&after);
    *out = record.diff;
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

/* Makes the entry of an add the content of out. */
static int read_added_entry(const struct edit_check *j, size_t index, struct str *out)
{
    struct ethos_view diff;
    struct arena arena;

    arena_init(&arena);
    int code = find_diff(j, index, &arena, &diff);
    if (code == ETHOS_OK)
        code = entry_read(diff, out);
    arena_release(&arena);
    return code;
}

/* ---- (a) an older version -------------------------------------------------------------------- */

/* Lines of others do not say whether a text of no bytes was a file. */
static bool is_version_text(const struct edit_check *j, const struct history_record *r,
                            struct ethos_view hash, bool absent)
{
    return view_eq_str(hash, j->hash) && (r->seq == 0 || absent == !j->facts->now.data);
}

static bool was_before(const struct edit_check *j, const struct history_record *r)
{
    return is_version_text(j, r, r->before_hash, r->absent_before);
}

/* Sets *out_next to the first record after the newest version that is the text now. */
static bool is_older_version(const struct edit_check *j, size_t *out_next)
{
    const struct history *h = j->history;

    for (size_t i = h->count; i-- > 0;) {
        const struct history_record *r = &h->records[i];

        *out_next = i + 1;
        if (!h->voided[i] && r->voids_first == 0 &&
            (is_version_text(j, r, r->after_hash, r->absent_after) ||
             view_eq_str(r->after_hash, j->trimmed)))
            return true;
    }
    *out_next = 0;
    return was_before(j, &h->records[0]);
}

static bool same_append(const struct history_record *a, const struct history_record *b)
{
    return a->txn_id.data && view_eq(a->txn_id, b->txn_id);
}

/* The lines that the newest append added to the text it started from, if that is the text now. */
static bool find_taken_back(const struct edit_check *j, struct verdict_finding *out)
{
    const struct history *h = j->history;
    const struct history_record *newest = &h->records[h->count - 1], *first = NULL;

    if (h->voided[h->count - 1] || newest->seq == 0 || newest->voids_first > 0)
        return false;
    for (size_t i = h->count; i-- > 0;) {
        const struct history_record *r = &h->records[i];

        if (r != newest && !same_append(r, newest))
            break;
        if (!view_eq(r->actions, VIEW("external")))
            first = r;
    }
    if (!first || !was_before(j, first))
        return false;
    out->voids_first = first->seq;
    out->voids_last = newest->seq;
    return true;
}

/* ---- (b) a stale buffer ---------------------------------------------------------------------- */

static bool all_adds(struct ethos_view actions)
{
    for (;;) {
        if (!view_starts(actions, VIEW("add")))
            return false;
        actions = view_from(actions, 3);
        if (actions.size == 0)
            return true;
        if (actions.data[0] != ',')
            return false;
        actions = view_from(actions, 1);
    }
}

/* A change that one of our operations made, and that stands. */
static bool is_own_change(const struct history *h, size_t index)
{
    const struct history_record *r = &h->records[index];

    return !h->voided[index] && r->seq > 0 && r->voids_first == 0 &&
           !view_eq(r->actions, VIEW("external"));
}

static bool is_our_add(const struct history *h, size_t index)
{
    return is_own_change(h, index) && all_adds(h->records[index].actions);
}

/* Entries that stood in the last text and are missing now, newest first. */
struct missing {
    struct ethos_view *entries;
    size_t count, capacity;
    bool
        stopped; /* one was met that whoever saved has read: older ones were taken out on purpose */
    bool dropped; /* one will stay missing */
};

/* How often an entry was collected already: one that was appended again has two records. */
static size_t collected(const struct missing *missing, struct ethos_view entry)
{
    size_t count = 0;

    for (size_t i = 0; i < missing->count; i++)
        count += view_eq(missing->entries[i], entry);
    return count;
}

/* Bytes that two lines begin and end with alike. */
static size_t common_bytes(struct ethos_view a, struct ethos_view b)
{
    size_t most = a.size < b.size ? a.size : b.size, start = 0, end = 0;

    while (start < most && a.data[start] == b.data[start])
        start++;
    while (end < most - start && a.data[a.size - 1 - end] == b.data[b.size - 1 - end])
        end++;
    return start + end;
}

/* Lines of an index that name the same note are the same line, whatever else was changed. */
static bool same_note(struct ethos_view a, struct ethos_view b)
{
    struct index_entry one, other;

    return index_line(a, &one) && index_line(b, &other) && view_eq(one.file, other.file);
}

/* Whether a line of now is new and reads much like this one: somebody put it right, or wrapped it. */
static bool was_corrected(const struct edit_check *j, struct ethos_view line)
{
    struct ethos_view other, rest = j->facts->now;

    if (wording_has(&j->fresh, line))
        return true;
    while (line_index_next(&rest, &other)) {
        size_t longer = line.size > other.size ? line.size : other.size;

        bool much = longer >= CORRECTED_BYTES && 3 * common_bytes(line, other) >= 2 * longer;

        if ((much || same_note(line, other)) && !line_index_has(&j->last, other))
            return true;
    }
    return false;
}

/* Who corrects an entry has seen it: his text is not stale. */
static bool is_corrected(const struct edit_check *j, struct ethos_view entry)
{
    struct ethos_view line;

    while (view_line(&entry, &line)) {
        if (!line_index_has(&j->now, line) && was_corrected(j, line))
            return true;
    }
    return false;
}

static int add_missing(const struct edit_check *j, struct ethos_view entry, struct missing *missing)
{
    struct ethos_view *entries = arena_grow(j->arena, missing->entries, missing->count,
                                            &missing->capacity, sizeof(*entries));
    const char *copy = arena_copy(j->arena, entry);

    if (!entries || !copy)
        return ETHOS_NOMEM;
    missing->entries = entries;
    entries[missing->count++] = view_of(copy, entry.size);
    return ETHOS_OK;
}

/* What the text now has of an entry, line by line. */
struct standing {
    /* A line more often than the last text would without the entry: whoever left it there has read it. */
    bool read;
    bool all; /* every line as often as the last text */
};

static int find_standing(const struct edit_check *j, struct ethos_view entry, struct standing *out)
{
    struct ethos_view line, rest = entry;
    struct line_index own;
    struct arena arena;

    *out = (struct standing){.all = true};
    arena_init(&arena);
    int code = line_index_make(entry, &arena, &own);
    while (code == ETHOS_OK && line_index_next(&rest, &line)) {
        size_t last = line_index_count(&j->last, line), now = line_index_count(&j->now, line);

        if (view_blank(line))
            continue;
        out->read |= now + line_index_count(&own, line) > last;
        out->all &= now >= last;
    }
    arena_release(&arena);
    return code;
}

/*
 * Whether an entry is missing. Only the newest that is can have been corrected. What was taken out by somebody who had
 * read it is no loss: the editor began after it, and after all that is older.
 */
static int compare_entry(const struct edit_check *j, const struct history_record *r,
                         struct ethos_view entry, struct missing *missing)
{
    bool recent = r->ts_ms >= j->facts->now_ms - VERDICT_REAPPLY_MS;
    struct standing standing;
    size_t then, now;

    if (entry_count(&j->last, entry, &then) || entry_count(&j->now, entry, &now))
        return ETHOS_NOMEM;
    if (then > 0 && then <= now + collected(missing, entry)) {
        missing->stopped |= now > 0;
        return ETHOS_OK;
    }
    if (find_standing(j, entry, &standing))
        return ETHOS_NOMEM;
    if (missing->stopped)
        return ETHOS_OK;
    if (then == 0) { // an edit had parted it, or it was taken out
        missing->dropped |= !standing.all;
    } else if (standing.read) {
        missing->stopped = true;
    } else if (!recent) {
        missing->dropped = true;
    } else if (missing->count == 0 && is_corrected(j, entry)) {
        missing->stopped = true;
    } else {
        return add_missing(j, entry, missing);
    }
    return ETHOS_OK;
}

/* Indexes the text now, and finds how its lines are worded that are not in the last text. */
static int read_now(struct edit_check *j)
{
    int code = line_index_make(j->facts->now, j->arena, &j->now);

    return code == ETHOS_OK ? wording_make(j->facts->now, &j->last, j->arena, &j->fresh) : code;
}

static int find_missing(const struct edit_check *j, struct missing *out)
{
    const struct history *h = j->history;
    struct str entry;
    int code = ETHOS_OK;

    *out = (struct missing){0};
    str_init(&entry, SIZE_MAX);
    for (size_t i = h->count; code == ETHOS_OK && i-- > 0;) {
        if (!is_our_add(h, i))
            continue;
        code = read_added_entry(j, i, &entry);
        if (code == ETHOS_OK && entry.size > 0)
            code = compare_entry(j, &h->records[i], str_view(&entry), out);
    }
    str_release(&entry);
    return code;
}

/* Marks the lines of now that a diff puts in: the first of equal ones. */
static void mark_added(const struct edit_check *j, struct ethos_view diff, bool *added)
{
    struct patch_hunk hunk;
    struct patch_line line;
    size_t at, end;

    while (patch_next(&diff, &hunk) == ETHOS_OK) {
        while (patch_line(&hunk.lines, &line)) {
            if (line.marker != '+')
                continue;
            line_index_find(&j->now, line_index_plain(line.text), &at, &end);
            if (at < end)
                added[at] = true;
        }
    }
}

/* Whether a line still stands that no change put in, that is, a line of the first version. */
static int has_first_line(const struct edit_check *j, bool *out)
{
    const struct history *h = j->history;
    bool *added = arena_array(j->arena, j->now.count, sizeof(*added));
    struct ethos_view diff, line, rest = j->facts->now;
    int code = added ? ETHOS_OK : ETHOS_NOMEM;
    size_t at, end;

    for (size_t i = 0; code == ETHOS_OK && i < h->count; i++) {
        struct arena arena;

        arena_init(&arena);
        diff = h->records[i].diff;
        if (is_our_add(h, i))
            code = find_diff(j, i, &arena, &diff);
        if (code == ETHOS_OK)
            mark_added(j, diff, added);
        arena_release(&arena);
    }
    *out = false;
    while (code == ETHOS_OK && !*out && line_index_next(&rest, &line)) {
        line_index_find(&j->now, line, &at, &end);
        *out = !added[at] && !view_blank(line) && line_index_has(&j->last, line);
    }
    return code;
}

/* A buffer is stale when what it lacks is new, and something older stands in it. */
static int classify_missing(const struct edit_check *j, const struct missing *missing,
                            struct verdict_finding *out)
{
    bool stale = missing->stopped;

    if (missing->count == 0)
        return ETHOS_OK;
    int code = stale ? ETHOS_OK : has_first_line(j, &stale);
    if (code != ETHOS_OK)
        return code;
    if (!stale) {
        out->dropped = true;
        return ETHOS_OK;
    }
    out->entries = arena_array(j->history->arena, missing->count, sizeof(*out->entries));
    for (size_t i = missing->count; out->entries && i-- > 0;) {
        const char *copy = arena_copy(j->history->arena, missing->entries[i]);

        if (!copy)
            return ETHOS_NOMEM;
        out->entries[out->count++] = view_of(copy, missing->entries[i].size);
    }
    out->verdict = VERDICT_REAPPLY;
    return out->entries ? ETHOS_OK : ETHOS_NOMEM;
}

/* ---- (c) a stale buffer that lacks more than adds --------------------------------------------- */

/*
 * Whether there are changes of ours from a record on; adds count only if they are asked for. What a
 * mirror wrote does not count: it compares edits with that by itself, and with its backend.
 */
static bool any_ours(const struct history *h, size_t from, bool adds)
{
    for (size_t i = from; i < h->count; i++) {
        const struct history_record *r = &h->records[i];

        if (is_own_change(h, i) && (adds || !all_adds(r->actions)) &&
            !view_eq(r->via, VIEW("mirror")))
            return true;
    }
    return false;
}

/* The first of the changes that were made lately. */
static size_t first_recent(const struct edit_check *j)
{
    return merge_base_first(j->history, j->facts->now_ms);
}

/* Whether a change put in lines that the last text has and the text now lacks, or that cannot be told. */
static bool lost_lines(const struct edit_check *j, const struct history_record *r)
{
    struct ethos_view diff = r->diff;
    struct patch_hunk hunk;
    struct patch_line line;
    int code;

    while ((code = patch_next(&diff, &hunk)) == ETHOS_OK) {
        while (patch_line(&hunk.lines, &line)) {
            struct ethos_view text = line_index_plain(line.text);

            if (line.marker == '+' && !view_blank(text) &&
                line_index_count(&j->now, text) < line_index_count(&j->last, text))
                return true;
        }
    }
    return code != ETHOS_NOTFOUND || r->blob.size > 0;
}

/* Whether lines are missing that changes of ours put in, from a record on. */
static bool lost_ours(const struct edit_check *j, size_t from)
{
    for (size_t i = from; i < j->history->count; i++) {
        const struct history_record *r = &j->history->records[i];

        if (is_own_change(j->history, i) && !view_eq(r->via, VIEW("mirror")) && lost_lines(j, r))
            return true;
    }
    return false;
}

/* How much a line is like the nearest of those that a text has and the text now has not. */
static size_t most_similar(const struct edit_check *j, struct ethos_view text,
                           struct ethos_view line, const struct line_index *except)
{
    struct ethos_view other;
    size_t most = 0;

    while (line_index_next(&text, &other)) {
        size_t longer = line.size > other.size ? line.size : other.size;
        size_t same = longer >= CORRECTED_BYTES ? common_bytes(line, other) : 0;

        if (same > most && 3 * same >= 2 * longer && !line_index_has(&j->now, other) &&
            !(except && line_index_has(except, other)))
            most = same;
    }
    return most;
}

/* Whether a text has a line of another one. */
static bool any_common(const struct line_index *index, struct ethos_view text)
{
    struct ethos_view line;

    while (line_index_next(&text, &line)) {
        if (!view_blank(line) && line_index_has(index, line))
            return true;
    }
    return false;
}

/*
 * How many lines of now correct one that came after the base, and not one of the base: whoever does
 * that has read the last version.
 */
static size_t count_corrected(const struct edit_check *j, const struct line_index *base)
{
    struct ethos_view line, rest = j->facts->now;
    size_t count = 0, tried = 0;

    while (tried < CORRECTED_LINES && line_index_next(&rest, &line)) {
        if (view_blank(line) || line_index_has(&j->last, line) || line_index_has(base, line))
            continue;
        tried++;
        count += most_similar(j, j->facts->last, line, base) >
                 most_similar(j, base->text, line, NULL);
    }
    return count;
}

/* Whether a line that was taken out since the base stands in the text: it was moved there. */
static bool any_back(const struct edit_check *j, const struct line_index *base,
                     const struct line_index *text)
{
    struct ethos_view line, rest = base->text;

    while (line_index_next(&rest, &line)) {
        size_t last = line_index_count(&j->last, line);

        if (!view_blank(line) && last < line_index_count(base, line) &&
            last < line_index_count(text, line))
            return true;
    }
    return false;
}

/* What merging over one base gives. */
struct trial {
    struct str base, merged;
    struct merge_report report;
    size_t oldest; /* of the bases that were equally near: the text before this record */
};

/*
 * Whether what merging gave lacks entries of ours that stood in the last text, or lines that came after any
 * of the equally near bases, or has lines that were taken out since the base.
 */
static int find_dropped(const struct edit_check *j, const struct line_index *base,
                        const struct trial *trial, bool *out)
{
    struct verdict_case facts = *j->facts;
    struct edit_check other = *j;
    struct missing missing = {0};

    facts.now = str_view(&trial->merged);
    other.facts = &facts;
    int code = read_now(&other);
    if (code == ETHOS_OK)
        code = find_missing(&other, &missing);
    if (code == ETHOS_OK)
        *out = missing.dropped || missing.count > 0 || any_back(j, base, &other.now) ||
               lost_ours(&other, trial->oldest);
    return code;
}

static int try_base(const struct edit_check *j, size_t index, struct trial *trial)
{
    const struct verdict_case *facts = j->facts;

    str_clear(&trial->base);
    int code = facts->text(facts->arg, index, true, &trial->base);
    if (code == ETHOS_OK)
        code = merge_texts(str_view(&trial->base), facts->now, facts->last, &trial->merged,
                           &trial->report);
    return code;
}

/* Lines that were changed place by place, a replaced one once: all, and without blank ones. */
struct changed_places {
    size_t all, filled;
};

/* Of the lines up to `end`, which *rest is at line *at of; both go on behind them. */
static struct changed_places count_places(struct ethos_view *rest, size_t *at, size_t from,
                                          size_t end)
{
    struct changed_places places = {end - from, 0};
    struct ethos_view line;

    for (; *at < end && view_line(rest, &line); ++*at)
        places.filled += *at >= from && !view_blank(line);
    return places;
}

static int measure_places(const struct edit_check *j, struct ethos_view base,
                          struct changed_places *out)
{
    struct ethos_view old = base, new = j->facts->now;
    size_t count = 0, old_at = 0, new_at = 0;
    struct diff_change *changes;
    struct arena arena;

    *out = (struct changed_places){0};
    arena_init(&arena);
    int code = diff_changes(base, new, &arena, &changes, &count);
    for (size_t i = 0; code == ETHOS_OK && i < count; i++) {
        const struct diff_change *c = &changes[i];
        struct changed_places went = count_places(&old, &old_at, c->a, c->a_end);
        struct changed_places came = count_places(&new, &new_at, c->b, c->b_end);

        out->all += went.all > came.all ? went.all : came.all;
        out->filled += went.filled > came.filled ? went.filled : came.filled;
    }
    arena_release(&arena);
    return code;
}

/*
 * Keeps those of equally near bases that are the nearest place by place. When blank lines tell the oldest
 * of them from the others, it is the one: nothing that came after it can be taken for deleted.
 */
static int narrow_bases(const struct edit_check *j, struct merge_bases *bases, struct str *text)
{
    struct changed_places at[MERGE_BASES], oldest = {0};
    size_t least = SIZE_MAX, others = SIZE_MAX, count = 0;

    for (size_t i = 0; bases->count > 1 && i < bases->count; i++) {
        str_clear(text);
        int code = j->facts->text(j->facts->arg, bases->index[i], true, text);

        if (code == ETHOS_OK)
            code = measure_places(j, str_view(text), &at[i]);
        if (code != ETHOS_OK)
            return code;
        least = at[i].filled < least ? at[i].filled : least;
    }
    if (bases->count < 2)
        return ETHOS_OK;
    for (size_t i = 0; i < bases->count; i++) {
        if (at[i].filled > least)
            continue;
        if (count > 0 && oldest.all < others)
            others = oldest.all;
        oldest = at[i];
        bases->index[count++] = bases->index[i];
    }
    bases->count = count;
    if (count > 1 && oldest.all < others) {
        bases->index[0] = bases->index[count - 1];
        bases->count = 1;
    }
    return ETHOS_OK;
}

/* Whether a base has a line that an entry that is to be appended again begins with. */
static int find_begun(struct ethos_view base, const struct verdict_finding *finding, bool *out)
{
    struct line_index index;
    struct ethos_view entry, line;
    struct arena arena;

    if (*out || finding->count == 0)
        return ETHOS_OK;
    arena_init(&arena);
    int code = line_index_make(base, &arena, &index);
    for (size_t i = 0; code == ETHOS_OK && !*out && i < finding->count; i++) {
        entry = finding->entries[i];
        *out = view_line(&entry, &line) && line_index_has(&index, line);
    }
    arena_release(&arena);
    return code;
}

/*
 * Merges over each base in turn. *out_same: all lead to the same text, which is that of the last, the
 * oldest one. *out_read: one of them has an entry that is to be appended again, so whoever saved may
 * have read it and taken it out.
 */
static int try_bases(const struct edit_check *j, const struct merge_bases *bases,
                     const struct verdict_finding *finding, struct trial *trial, bool *out_same,
                     bool *out_read)
{
    char first[ETHOS_REVISION_SIZE], other[ETHOS_REVISION_SIZE];

    *out_same = !bases->more;
    *out_read = false;
    for (size_t i = 0; i < bases->count; i++) {
        int code = try_base(j, bases->index[i], trial);

        if (code != ETHOS_OK)
            return code;
        hash_revision(str_view(&trial->merged), i == 0 ? first : other);
        *out_same = *out_same && (i == 0 || strcmp(first, other) == 0);
        if (find_begun(str_view(&trial->base), finding, out_read))
            return ETHOS_NOMEM;
    }
    return ETHOS_OK;
}

static uint64_t distance_sum(struct merge_distance distance)
{
    return distance.came + distance.went;
}

/* How much nearer one is than another: below 0, 0 or above 0 for the other. */
static int compare_distances(struct merge_distance one, struct merge_distance other)
{
    uint64_t a = merge_distance_lines(one), b = merge_distance_lines(other);

    if (a == b) {
        a = distance_sum(one);
        b = distance_sum(other);
    }
    return (a > b) - (a < b);
}

/* How much nearer the last version is than the bases. */
static int compare_last(const struct merge_bases *bases)
{
    return compare_distances(bases->last_distance, bases->distance);
}

/*
 * Whether a text of no lines is nearer than the last version: an editor may have been opened when there
 * was no file, or all was deleted in one that had not seen the newest changes.
 */
static bool is_nearer_to_none(const struct edit_check *j, struct merge_distance last)
{
    struct ethos_view line, rest = j->facts->now;
    struct merge_distance none = {0};

    while (view_line(&rest, &line))
        none.came += !view_blank(line);
    return compare_distances(last, none) > 0;
}

static int decide_merge(const struct edit_check *j, const struct merge_bases *bases,
                        const struct trial *trial, bool same, struct verdict_finding *out)
{
    bool changes = !view_eq(str_view(&trial->merged), j->facts->now);
    struct line_index base;

    if (line_index_make(str_view(&trial->base), j->arena, &base))
        return ETHOS_NOMEM;
    if (!changes && trial->report.conflicts == 0) { // it has all of ours
        out->dropped |= any_back(j, &base, &j->now);
        return ETHOS_OK;
    }
    out->dropped = true;
    if (!same || compare_last(bases) == 0)
        return ETHOS_OK;
    if (!any_common(&base, j->facts->now))
        return ETHOS_OK; // all was written anew
    // a line that was corrected is one change, not one that went and one that came
    if (distance_sum(bases->last_distance) <=
        distance_sum(bases->distance) + count_corrected(j, &base))
        return ETHOS_OK;
    out->conflicts = trial->report.conflicts;
    if (!changes)
        return ETHOS_OK;
    const char *merged = arena_copy(j->history->arena, str_view(&trial->merged));
    if (!merged)
        return ETHOS_NOMEM;
    out->merged = view_of(merged, trial->merged.size);
    out->verdict = VERDICT_MERGE;
    return find_dropped(j, &base, trial, &out->dropped);
}

/* adds: changes of ours that only added count as well. */
static int classify_stale(const struct edit_check *j, bool adds, struct verdict_finding *out)
{
    const struct verdict_case *facts = j->facts;
    const struct merge_base_case search = {.history = j->history,
                                           .last = facts->last,
                                           .now = facts->now,
                                           .now_ms = facts->now_ms,
                                           .text = facts->text,
                                           .arg = facts->arg};
    struct merge_bases bases;
    struct trial trial;
    bool same, read;

    if (!facts->last.data || !facts->now.data) { // a file that was deleted has no lines to merge
        out->dropped |= any_ours(j->history, first_recent(j), true);
        return ETHOS_OK;
    }
    if (!facts->text)
        return ETHOS_OK;
    int code = merge_base_find(&search, &bases);
    if (code == ETHOS_OK && out->verdict != VERDICT_REAPPLY &&
        is_nearer_to_none(j, bases.last_distance))
        out->dropped |= lost_ours(j, first_recent(j));
    if (code != ETHOS_OK || bases.count == 0 || compare_last(&bases) < 0 ||
        !any_ours(j->history, bases.index[bases.count - 1], adds))
        return code;
    str_init(&trial.base, ETHOS_MAX_STORE_BYTES);
    str_init(&trial.merged, ETHOS_MAX_STORE_BYTES);
    trial.oldest = bases.index[bases.count - 1];
    code = narrow_bases(j, &bases, &trial.base);
    if (code == ETHOS_OK)
        code = try_bases(j, &bases, out, &trial, &same, &read);
    if (code == ETHOS_OK && !same && read && compare_last(&bases) > 0)
        out->verdict = VERDICT_HONOUR, out->count = 0;
    if (code == ETHOS_OK)
        code = decide_merge(j, &bases, &trial, same, out);
    else if (code == ETHOS_NOTFOUND ||
             code == ETHOS_LIMIT) // it cannot be merged: what is missing is told
        code = ETHOS_OK, out->dropped = true;
    str_release(&trial.base);
    str_release(&trial.merged);
    return code;
}

/* ---- (d) crash damage ------------------------------------------------------------------------ */

static bool is_damaged(struct ethos_view text)
{
    return text.size == 0 || memchr(text.data, '\0', text.size);
}

static bool is_crash_damage(const struct verdict_case *facts)
{
    return facts->before_boot && facts->now.data && is_damaged(facts->now) &&
           !is_damaged(facts->last);
}

/* Whoever takes an entry out in an editor may leave the blank line before it. */
static int hash_trimmed(struct edit_check *j)
{
    struct ethos_view text = view_trim_end(j->facts->now);
    struct str ended;

    if (text.size == 0)
        return ETHOS_OK;
    str_init(&ended, SIZE_MAX);
    str_reserve(&ended, text.size + 1);
    str_add(&ended, text);
    str_addc(&ended, '\n');
    int code = str_code(&ended);
    if (code == ETHOS_OK)
        hash_revision(str_view(&ended), j->trimmed);
    str_release(&ended);
    return code;
}

static bool is_known_line(void *arg, struct ethos_view line)
{
    const struct edit_check *j = arg;

    return line_index_has(&j->last, line);
}

/* What stands of our adds decides first; then the other changes. */
static int classify_edit(const struct edit_check *j, const struct missing *missing,
                         struct verdict_finding *out)
{
    int code = classify_missing(j, missing, out);
    // adds that nothing older is left to tell the age of are looked for among the versions
    return code == ETHOS_OK
               ? classify_stale(j, missing->count > 0 && out->verdict != VERDICT_REAPPLY, out)
               : code;
}

/* Compares the lines. next: the first record after the version that the text now is, if it is one. */
static int classify_lines(struct edit_check *j, size_t next, struct verdict_finding *out)
{
    struct missing missing;
    int code = line_index_make(j->facts->last, j->arena, &j->last);

    if (code == ETHOS_OK)
        code = read_now(j);
    if (code == ETHOS_OK)
        code = find_missing(j, &missing);
    if (code != ETHOS_OK)
        return code;
    out->dropped = missing.dropped ||
                   (out->verdict == VERDICT_REVERT && any_ours(j->history, next, true));
    if (out->verdict == VERDICT_HONOUR)
        code = places_returned(j->facts, is_known_line, j, &out->returned);
    if (code == ETHOS_OK && out->verdict == VERDICT_HONOUR && !out->returned)
        code = classify_edit(j, &missing, out);
    return code;
}

int edit_verdict_find(const struct verdict_case *facts, struct verdict_finding *out)
{
    struct arena arena;
    struct edit_check j = {.facts = facts, .history = facts->history, .arena = &arena};
    struct verdict_finding finding = {.verdict = VERDICT_HONOUR};
    size_t next = 0;

    hash_revision(facts->now, j.hash);
    if (hash_trimmed(&j))
        return ETHOS_NOMEM;
    bool older = is_older_version(&j, &next);
    if (find_taken_back(&j, &finding) || older)
        finding.verdict = VERDICT_REVERT;
    else if (is_crash_damage(facts))
        finding.verdict = VERDICT_RESTORE;
    arena_init(&arena);
    int code = finding.verdict == VERDICT_RESTORE ? ETHOS_OK : classify_lines(&j, next, &finding);
    arena_release(&arena);
    if (code == ETHOS_OK)
        *out = finding;
    return code;
}

/* ---- one entry ------------------------------------------------------------------------------- */

size_t verdict_count(const struct history_record *record, struct ethos_view text)
{
    struct line_index lines;
    struct arena arena;
    struct str entry;
    size_t count = 0;

    arena_init(&arena);
    str_init(&entry, SIZE_MAX);
    if (all_adds(record->actions) && entry_read(record->diff, &entry) == ETHOS_OK &&
        entry.size > 0 && line_index_make(text, &arena, &lines) == ETHOS_OK)
        entry_count(&lines, str_view(&entry), &count);
    str_release(&entry);
    arena_release(&arena);
    return count;
}
