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
#include "base/view.h"
#include "core/index.h"
#include "core/patch.h"

#define CORRECTED_BYTES 12 /* shorter lines are alike by chance */

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

static bool is_older_version(const struct judge *j)
{
    const struct history *h = j->history;

    for (size_t i = 0; i < h->count; i++) {
        const struct history_record *r = &h->records[i];

        if (!h->voided[i] && r->voids_first == 0 &&
            (is_text(j, r, r->after_hash, r->absent_after) ||
             view_eq_str(r->after_hash, j->trimmed)))
            return true;
    }
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

static bool is_our_add(const struct history *h, size_t index)
{
    const struct history_record *r = &h->records[index];

    return !h->voided[index] && r->seq > 0 && r->voids_first == 0 && all_adds(r->actions);
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

int verdict_judge(const struct verdict_case *facts, struct verdict_finding *out)
{
    struct judge j = {.facts = facts, .history = facts->history, .arena = facts->history->arena};
    struct verdict_finding finding = {.verdict = VERDICT_HONOUR};
    struct missing missing;

    hash_revision(facts->now, j.hash);
    if (hash_trimmed(&j))
        return ETHOS_NOMEM;
    if (find_taken_back(&j, &finding) || is_older_version(&j))
        finding.verdict = VERDICT_REVERT;
    else if (is_crash_damage(facts))
        finding.verdict = VERDICT_RESTORE;
    if (finding.verdict != VERDICT_RESTORE) {
        if (split(facts->last, j.arena, &j.last) || split(facts->now, j.arena, &j.now) ||
            find_missing(&j, &missing))
            return ETHOS_NOMEM;
        finding.dropped = missing.dropped ||
                          (finding.verdict == VERDICT_REVERT && missing.count > 0);
        if (finding.verdict == VERDICT_HONOUR && judge_missing(&j, &missing, &finding))
            return ETHOS_NOMEM;
    }
    *out = finding;
    return ETHOS_OK;
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
