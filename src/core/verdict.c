/*
 * verdict.c: what an outside edit meant.
 *
 * Three texts meet here: the one last recorded, the one that stands there now, and, through the
 * diffs of the history, the entries that were added. Texts are looked at by lines, which are sorted
 * once, so that asking for many entries stays cheap.
 */
#include "core/verdict.h"

#include <ethos/limits.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/view.h"
#include "core/diff.h"
#include "core/index.h"
#include "core/merge.h"
#include "core/patch.h"
#include "core/places.h"

#define CORRECTED_BYTES 12 /* shorter lines are alike by chance */
#define CORRECTED_LINES 64 /* new lines that are compared with those they may correct */

/* Lines without their line ends, in order and sorted. */
struct lines {
    struct ethos_view *at, **sorted;
    size_t count;
};

struct judge {
    const struct verdict_case *facts;
    const struct history *history;
    struct arena *arena;
    struct lines last, now;
    char hash[ETHOS_REVISION_SIZE];    /* of the text now */
    char trimmed[ETHOS_REVISION_SIZE]; /* of the text now as an update would end it */
};

/* ---- lines ----------------------------------------------------------------------------------- */

static int compare(const struct ethos_view *a, const struct ethos_view *b)
{
    size_t size = a->size < b->size ? a->size : b->size;
    int order = size ? memcmp(a->data, b->data, size) : 0;

    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static int compare_sorted(const void *left, const void *right)
{
    return compare(*(struct ethos_view *const *)left, *(struct ethos_view *const *)right);
}

static struct ethos_view without_end(struct ethos_view line)
{
    if (view_ends(line, VIEW("\n")))
        line.size--;
    if (view_ends(line, VIEW("\r")))
        line.size--;
    return line;
}

static int sort_lines(struct lines *lines, struct arena *arena)
{
    lines->sorted = arena_array(arena, lines->count, sizeof(*lines->sorted));
    if (!lines->sorted)
        return ETHOS_NOMEM;
    for (size_t i = 0; i < lines->count; i++)
        lines->sorted[i] = &lines->at[i];
    qsort(lines->sorted, lines->count, sizeof(*lines->sorted), compare_sorted);
    return ETHOS_OK;
}

static int split(struct ethos_view text, struct arena *arena, struct lines *out)
{
    struct ethos_view line, rest = text;
    size_t count = 0;

    while (view_line(&rest, &line))
        count++;
    out->at = arena_array(arena, count, sizeof(*out->at));
    if (!out->at)
        return ETHOS_NOMEM;
    while (view_line(&text, &line))
        out->at[out->count++] = without_end(line);
    return sort_lines(out, arena);
}

/* Index of the first sorted line that is not before this one. */
static size_t find(const struct lines *lines, const struct ethos_view *line)
{
    size_t low = 0, high = lines->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare(lines->sorted[middle], line) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has_line(const struct lines *lines, const struct ethos_view *line)
{
    size_t at = find(lines, line);

    return at < lines->count && view_eq(*lines->sorted[at], *line);
}

/* ---- entries --------------------------------------------------------------------------------- */

/* What an add put in: lines without blank ones around them. */
struct entry {
    const struct ethos_view *lines;
    size_t count;
};

static bool stands_at(const struct ethos_view *at, size_t left, const struct entry *entry)
{
    if (left < entry->count)
        return false;
    for (size_t i = 0; i < entry->count; i++) {
        if (!view_eq(at[i], entry->lines[i]))
            return false;
    }
    return true;
}

/* How often an entry stands in a text, its lines one after the other. */
static size_t count_entry(const struct lines *text, const struct entry *entry)
{
    size_t count = 0;

    for (size_t i = find(text, entry->lines); i < text->count; i++) {
        const struct ethos_view *at = text->sorted[i];

        if (!view_eq(*at, entry->lines[0]))
            break;
        count += stands_at(at, (size_t)(text->at + text->count - at), entry);
    }
    return count;
}

static bool same_entry(const struct entry *a, const struct entry *b)
{
    return a->count == b->count && stands_at(a->lines, a->count, b);
}

/* The last hunk of a diff; an add puts its text at the end. False for a diff that is not whole. */
static bool last_hunk(struct ethos_view diff, struct patch_hunk *out)
{
    struct patch_hunk hunk;
    bool any = false;
    int code;

    for (; (code = patch_next(&diff, &hunk)) == ETHOS_OK; any = true)
        *out = hunk;
    return any && code == ETHOS_NOTFOUND;
}

/* An add ends the line before it cleanly, which shows as that line taken out and put in. */
static bool was_there(struct ethos_view line, struct ethos_view removed)
{
    return removed.data && view_eq(view_trim_end(line), view_trim_end(removed));
}

/* Reads the entry of an add from its diff; without lines when the diff does not tell. */
static int read_entry(struct ethos_view diff, struct arena *arena, struct entry *out)
{
    struct ethos_view removed = {0};
    struct patch_hunk hunk;
    struct patch_line line;
    size_t count = 0, kept = 0;

    *out = (struct entry){0};
    if (!last_hunk(diff, &hunk))
        return ETHOS_OK;
    struct ethos_view *lines = arena_array(arena, hunk.new_count, sizeof(*lines));
    if (!lines)
        return ETHOS_NOMEM;
    while (patch_line(&hunk.lines, &line)) {
        bool blank = view_blank(line.text), added = line.marker == '+';

        if (line.marker == '-' && !blank)
            removed = line.text;
        if (line.marker == '-' || (count == 0 && (!added || blank)))
            continue;
        if (count == 0 && was_there(line.text, removed))
            continue;
        lines[count++] = without_end(line.text);
        if (added && !blank)
            kept = count;
    }
    *out = (struct entry){lines, kept};
    return ETHOS_OK;
}

/* The entry as one text in the arena. */
static int join(const struct entry *entry, struct arena *arena, struct ethos_view *out)
{
    size_t size = 0;

    for (size_t i = 0; i < entry->count; i++)
        size += entry->lines[i].size + 1;
    char *text = arena_alloc(arena, size), *at = text;
    if (!text)
        return ETHOS_NOMEM;
    for (size_t i = 0; i < entry->count; i++) {
        if (entry->lines[i].size > 0)
            memcpy(at, entry->lines[i].data, entry->lines[i].size);
        at += entry->lines[i].size;
        *at++ = '\n';
    }
    *out = view_of(text, size - 1);
    return ETHOS_OK;
}

/* ---- (a) an older version -------------------------------------------------------------------- */

/* Lines of others do not say whether a text of no bytes was a file. */
static bool is_text(const struct judge *j, const struct history_record *r, struct ethos_view hash,
                    bool absent)
{
    return view_eq_str(hash, j->hash) && (r->seq == 0 || absent == !j->facts->now.data);
}

static bool was_before(const struct judge *j, const struct history_record *r)
{
    return is_text(j, r, r->before_hash, r->absent_before);
}

/* Sets *out_next to the first record after the newest version that is the text now. */
static bool is_older_version(const struct judge *j, size_t *out_next)
{
    const struct history *h = j->history;

    for (size_t i = h->count; i-- > 0;) {
        const struct history_record *r = &h->records[i];

        *out_next = i + 1;
        if (!h->voided[i] && r->voids_first == 0 &&
            (is_text(j, r, r->after_hash, r->absent_after) ||
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
static bool find_taken_back(const struct judge *j, struct verdict_finding *out)
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
static bool is_ours(const struct history *h, size_t index)
{
    const struct history_record *r = &h->records[index];

    return !h->voided[index] && r->seq > 0 && r->voids_first == 0 &&
           !view_eq(r->actions, VIEW("external"));
}

static bool is_our_add(const struct history *h, size_t index)
{
    return is_ours(h, index) && all_adds(h->records[index].actions);
}

/* Entries that stood in the last text and are missing now, newest first. */
struct missing {
    struct entry *entries;
    size_t count;
    bool stopped; /* one was met that still stands: older ones were taken out on purpose */
    bool dropped; /* one will stay missing */
};

/* How often an entry was collected already: one that was appended again has two records. */
static size_t collected(const struct missing *missing, const struct entry *entry)
{
    size_t count = 0;

    for (size_t i = 0; i < missing->count; i++)
        count += same_entry(&missing->entries[i], entry);
    return count;
}

/* Bytes that two lines begin and end with alike. */
static size_t alike(struct ethos_view a, struct ethos_view b)
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

/* Whether a line of now is new and reads much like this one: somebody put it right. */
static bool was_corrected(const struct judge *j, struct ethos_view line)
{
    for (size_t i = 0; i < j->now.count; i++) {
        struct ethos_view other = j->now.at[i];
        size_t longer = line.size > other.size ? line.size : other.size;

        bool much = longer >= CORRECTED_BYTES && 3 * alike(line, other) >= 2 * longer;

        if ((much || same_note(line, other)) && !has_line(&j->last, &other))
            return true;
    }
    return false;
}

/* Who corrects an entry has seen it: his text is not stale. */
static bool is_corrected(const struct judge *j, const struct entry *entry)
{
    for (size_t i = 0; i < entry->count; i++) {
        if (!has_line(&j->now, &entry->lines[i]) && was_corrected(j, entry->lines[i]))
            return true;
    }
    return false;
}

static void look_at(const struct judge *j, const struct history_record *r,
                    const struct entry *entry, struct missing *missing)
{
    size_t then = count_entry(&j->last, entry), now = count_entry(&j->now, entry);
    bool recent = r->ts_ms >= j->facts->now_ms - VERDICT_REAPPLY_MS;

    if (then == 0)
        return;
    if (then <= now + collected(missing, entry))
        missing->stopped |= now > 0;
    else if (missing->count == 0 && is_corrected(j, entry))
        missing->stopped = missing->dropped = true;
    else if (recent && !missing->stopped)
        missing->entries[missing->count++] = *entry;
    else
        missing->dropped = true;
}

static int find_missing(const struct judge *j, struct missing *out)
{
    const struct history *h = j->history;

    *out = (struct missing){.entries = arena_array(j->arena, h->count, sizeof(*out->entries))};
    if (!out->entries)
        return ETHOS_NOMEM;
    for (size_t i = h->count; i-- > 0;) {
        struct entry entry = {0};

        if (is_our_add(h, i) && read_entry(h->records[i].diff, j->arena, &entry))
            return ETHOS_NOMEM;
        if (entry.count > 0)
            look_at(j, &h->records[i], &entry, out);
    }
    return ETHOS_OK;
}

/* Gathers the lines that the changes of the history put in. */
static int added_lines(const struct judge *j, struct lines *out)
{
    const struct history *h = j->history;
    struct ethos_view diff;
    struct patch_hunk hunk;
    struct patch_line line;
    size_t most = 0;

    for (size_t i = 0; i < h->count; i++) {
        for (diff = h->records[i].diff; patch_next(&diff, &hunk) == ETHOS_OK;)
            most += hunk.new_count;
    }
    out->at = arena_array(j->arena, most, sizeof(*out->at));
    if (!out->at)
        return ETHOS_NOMEM;
    for (size_t i = 0; i < h->count; i++) {
        for (diff = h->records[i].diff; patch_next(&diff, &hunk) == ETHOS_OK;) {
            while (patch_line(&hunk.lines, &line)) {
                if (line.marker == '+')
                    out->at[out->count++] = without_end(line.text);
            }
        }
    }
    return sort_lines(out, j->arena);
}

/* Whether a line still stands that no change put in, that is, a line of the first version. */
static int has_first_line(const struct judge *j, bool *out)
{
    struct lines added = {0};
    int code = added_lines(j, &added);

    *out = false;
    for (size_t i = 0; !code && !*out && i < j->now.count; i++) {
        const struct ethos_view *line = &j->now.at[i];

        *out = !view_blank(*line) && has_line(&j->last, line) && !has_line(&added, line);
    }
    return code;
}

/* A buffer is stale when what it lacks is new, and something older stands in it. */
static int judge_missing(const struct judge *j, const struct missing *missing,
                         struct verdict_finding *out)
{
    bool stale = missing->stopped;

    if (missing->count == 0)
        return ETHOS_OK;
    if (!stale && has_first_line(j, &stale))
        return ETHOS_NOMEM;
    if (!stale) {
        out->dropped = true;
        return ETHOS_OK;
    }
    out->entries = arena_array(j->arena, missing->count, sizeof(*out->entries));
    if (!out->entries)
        return ETHOS_NOMEM;
    for (size_t i = missing->count; i-- > 0;) {
        if (join(&missing->entries[i], j->arena, &out->entries[out->count++]))
            return ETHOS_NOMEM;
    }
    out->verdict = VERDICT_REAPPLY;
    return ETHOS_OK;
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

        if (is_ours(h, i) && (adds || !all_adds(r->actions)) && !view_eq(r->via, VIEW("mirror")))
            return true;
    }
    return false;
}

/* Whether changes of ours were made lately. */
static bool any_recent(const struct judge *j)
{
    const struct history *h = j->history;
    size_t from = h->count > MERGE_BASE_VERSIONS ? h->count - MERGE_BASE_VERSIONS : 0;

    while (from < h->count && h->records[from].ts_ms < j->facts->now_ms - MERGE_BASE_MS)
        from++;
    return any_ours(h, from, true);
}

/* How much a line is like the nearest of those that a text has and the text now has not. */
static size_t most_alike(const struct judge *j, const struct lines *text, struct ethos_view line,
                         const struct lines *except)
{
    size_t most = 0;

    for (size_t i = 0; i < text->count; i++) {
        struct ethos_view other = text->at[i];
        size_t longer = line.size > other.size ? line.size : other.size, same;

        if (has_line(&j->now, &other) || (except && has_line(except, &other)))
            continue;
        same = alike(line, other);
        if (longer >= CORRECTED_BYTES && 3 * same >= 2 * longer && same > most)
            most = same;
    }
    return most;
}

static bool any_common(const struct lines *a, const struct lines *b)
{
    for (size_t i = 0; i < b->count; i++) {
        if (!view_blank(b->at[i]) && has_line(a, &b->at[i]))
            return true;
    }
    return false;
}

/*
 * How many lines of now correct one that came after the base, and not one of the base: whoever does
 * that has read the last version.
 */
static size_t count_corrected(const struct judge *j, const struct lines *base)
{
    size_t count = 0, tried = 0;

    for (size_t i = 0; i < j->now.count && tried < CORRECTED_LINES; i++) {
        struct ethos_view line = j->now.at[i];

        if (view_blank(line) || has_line(&j->last, &line) || has_line(base, &line))
            continue;
        tried++;
        count += most_alike(j, &j->last, line, base) > most_alike(j, base, line, NULL);
    }
    return count;
}

/* Whether entries of ours that stood in the last text are missing in another one. */
static int find_dropped(const struct judge *j, struct ethos_view text, bool *out)
{
    struct judge other = *j;
    struct missing missing;

    other.now = (struct lines){0};
    if (split(text, j->arena, &other.now) || find_missing(&other, &missing))
        return ETHOS_NOMEM;
    *out = missing.dropped || missing.count > 0;
    return ETHOS_OK;
}

/* What merging over one base gives. */
struct trial {
    struct str base, merged;
    struct merge_report report;
};

static int try_base(const struct judge *j, size_t index, struct trial *trial)
{
    const struct verdict_case *facts = j->facts;

    str_clear(&trial->base);
    int code = facts->text(facts->arg, index, &trial->base);
    if (code == ETHOS_OK)
        code = merge_texts(str_view(&trial->base), facts->now, facts->last, &trial->merged,
                           &trial->report);
    return code;
}

/* Lines that were changed place by place, a replaced one once: all, and without blank ones. */
struct places {
    size_t all, filled;
};

static void count_places(const struct lines *lines, size_t from, size_t end, struct places *out)
{
    *out = (struct places){end - from, 0};
    for (size_t i = from; i < end; i++)
        out->filled += !view_blank(lines->at[i]);
}

static int measure_places(const struct judge *j, struct ethos_view base, struct places *out)
{
    struct diff_change *changes;
    struct lines lines = {0};
    struct places went, came;
    struct arena arena;
    size_t count = 0;

    *out = (struct places){0};
    arena_init(&arena);
    int code = split(base, &arena, &lines);
    if (code == ETHOS_OK)
        code = diff_changes(base, j->facts->now, &arena, &changes, &count);
    for (size_t i = 0; code == ETHOS_OK && i < count; i++) {
        count_places(&lines, changes[i].a, changes[i].a_end, &went);
        count_places(&j->now, changes[i].b, changes[i].b_end, &came);
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
static int narrow_bases(const struct judge *j, struct merge_bases *bases, struct str *text)
{
    struct places at[MERGE_BASES], oldest = {0};
    size_t least = SIZE_MAX, others = SIZE_MAX, count = 0;

    for (size_t i = 0; bases->count > 1 && i < bases->count; i++) {
        str_clear(text);
        int code = j->facts->text(j->facts->arg, bases->index[i], text);

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
static int find_entry(const struct judge *j, struct ethos_view base,
                      const struct verdict_finding *finding, bool *out)
{
    struct lines lines = {0};
    struct ethos_view entry, line;

    if (*out || finding->count == 0)
        return ETHOS_OK;
    if (split(base, j->arena, &lines))
        return ETHOS_NOMEM;
    for (size_t i = 0; !*out && i < finding->count; i++) {
        entry = finding->entries[i];
        if (view_line(&entry, &line)) {
            line = without_end(line);
            *out = has_line(&lines, &line);
        }
    }
    return ETHOS_OK;
}

/*
 * Merges over each base in turn. *out_same: all lead to the same text, which is that of the last, the
 * oldest one. *out_read: one of them has an entry that is to be appended again, so whoever saved may
 * have read it and taken it out.
 */
static int try_bases(const struct judge *j, const struct merge_bases *bases,
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
        if (find_entry(j, str_view(&trial->base), finding, out_read))
            return ETHOS_NOMEM;
    }
    return ETHOS_OK;
}

static uint64_t sum_of(struct merge_distance distance)
{
    return distance.came + distance.went;
}

/* How much nearer the last version is than the bases: below 0, 0 or above 0 for a base that is nearer. */
static int compare_last(const struct merge_bases *bases)
{
    uint64_t base = merge_distance_lines(bases->distance);
    uint64_t last = merge_distance_lines(bases->last_distance);

    if (base == last) {
        base = sum_of(bases->distance);
        last = sum_of(bases->last_distance);
    }
    return (last > base) - (last < base);
}

static int decide_merge(const struct judge *j, const struct merge_bases *bases,
                        const struct trial *trial, bool same, struct verdict_finding *out)
{
    bool changes = !view_eq(str_view(&trial->merged), j->facts->now);
    struct lines base = {0};

    if (!changes && trial->report.conflicts == 0)
        return ETHOS_OK; // it has all of ours
    out->dropped = true;
    if (!same || compare_last(bases) == 0)
        return ETHOS_OK;
    if (split(str_view(&trial->base), j->arena, &base))
        return ETHOS_NOMEM;
    if (!any_common(&base, &j->now))
        return ETHOS_OK; // all was written anew
    // a line that was corrected is one change, not one that went and one that came
    if (sum_of(bases->last_distance) <= sum_of(bases->distance) + count_corrected(j, &base))
        return ETHOS_OK;
    out->conflicts = trial->report.conflicts;
    if (!changes)
        return ETHOS_OK;
    const char *merged = arena_copy(j->arena, str_view(&trial->merged));
    if (!merged)
        return ETHOS_NOMEM;
    out->merged = view_of(merged, trial->merged.size);
    out->verdict = VERDICT_MERGE;
    return find_dropped(j, out->merged, &out->dropped);
}

/* adds: changes of ours that only added count as well. */
static int judge_stale(const struct judge *j, bool adds, struct verdict_finding *out)
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
        out->dropped |= any_recent(j);
        return ETHOS_OK;
    }
    if (!facts->text)
        return ETHOS_OK;
    int code = merge_base_find(&search, &bases);
    if (code != ETHOS_OK || bases.count == 0 || compare_last(&bases) < 0 ||
        !any_ours(j->history, bases.index[bases.count - 1], adds))
        return code;
    str_init(&trial.base, ETHOS_MAX_STORE_BYTES);
    str_init(&trial.merged, ETHOS_MAX_STORE_BYTES);
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
static int hash_trimmed(struct judge *j)
{
    struct ethos_view text = view_trim_end(j->facts->now);
    char *copy = text.size > 0 ? arena_alloc(j->arena, text.size + 1) : NULL;

    if (text.size == 0)
        return ETHOS_OK;
    if (!copy)
        return ETHOS_NOMEM;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\n';
    hash_revision(view_of(copy, text.size + 1), j->trimmed);
    return ETHOS_OK;
}

static bool is_known(void *arg, struct ethos_view line)
{
    const struct judge *j = arg;

    return has_line(&j->last, &line);
}

/* What stands of our adds decides first; then the other changes. */
static int judge_edit(const struct judge *j, const struct missing *missing,
                      struct verdict_finding *out)
{
    if (judge_missing(j, missing, out))
        return ETHOS_NOMEM;
    // adds that nothing older is left to tell the age of are looked for among the versions
    return judge_stale(j, missing->count > 0 && out->verdict != VERDICT_REAPPLY, out);
}

int verdict_judge(const struct verdict_case *facts, struct verdict_finding *out)
{
    struct judge j = {.facts = facts, .history = facts->history, .arena = facts->history->arena};
    struct verdict_finding finding = {.verdict = VERDICT_HONOUR};
    struct missing missing;
    size_t next = 0;
    int code = ETHOS_OK;

    hash_revision(facts->now, j.hash);
    if (hash_trimmed(&j))
        return ETHOS_NOMEM;
    bool older = is_older_version(&j, &next);
    if (find_taken_back(&j, &finding) || older)
        finding.verdict = VERDICT_REVERT;
    else if (is_crash_damage(facts))
        finding.verdict = VERDICT_RESTORE;
    if (finding.verdict != VERDICT_RESTORE) {
        if (split(facts->last, j.arena, &j.last) || split(facts->now, j.arena, &j.now) ||
            find_missing(&j, &missing))
            return ETHOS_NOMEM;
        finding.dropped = missing.dropped ||
                          (finding.verdict == VERDICT_REVERT && any_ours(j.history, next, true));
        if (finding.verdict == VERDICT_HONOUR)
            code = places_returned(facts, is_known, &j, &finding.returned);
        if (code == ETHOS_OK && finding.verdict == VERDICT_HONOUR && !finding.returned)
            code = judge_edit(&j, &missing, &finding);
    }
    if (code == ETHOS_OK)
        *out = finding;
    return code;
}

/* ---- one entry ------------------------------------------------------------------------------- */

size_t verdict_count(const struct history_record *record, struct ethos_view text,
                     struct arena *arena)
{
    struct entry entry;
    struct lines lines = {0};

    if (!all_adds(record->actions) || read_entry(record->diff, arena, &entry) != ETHOS_OK ||
        entry.count == 0 || split(text, arena, &lines) != ETHOS_OK)
        return 0;
    return count_entry(&lines, &entry);
}
