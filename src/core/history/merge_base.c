/*
 * merge_base.c: the recorded version that a text saved outside started from.
 *
 * A table holds for each line how often it stands in the saved text, less how often it stands in the
 * version the search has reached; the positive amounts are lines that came, the negative ones lines that
 * went. Going back over a change moves only the lines of its diff.
 */
#include "core/history/merge_base.h"

#include <stdlib.h>
#include <string.h>

#include <ethos/limits.h>

#include "base/hash.h"
#include "base/str.h"
#include "base/view.h"
#include "core/history/patch.h"

#define LEAST_SLOTS 256

struct hash_slot {
    uint64_t hash; /* of a line; 0: free */
    int64_t count;
};

struct base_search {
    const struct merge_base_case *facts;
    struct hash_slot *slots;
    size_t room, used; /* slots */
    struct merge_distance distance;
    struct str text;      /* of a version that was read whole */
    size_t read;          /* bytes of all such */
    struct ethos_view at; /* hash of the version that was reached */
    struct merge_bases found;
};

/* ---- counting lines --------------------------------------------------------------------------- */

static struct hash_slot *find_hash_slot(struct hash_slot *slots, size_t room, uint64_t hash)
{
    size_t at = hash & (room - 1);

    while (slots[at].hash && slots[at].hash != hash)
        at = (at + 1) & (room - 1);
    return &slots[at];
}

static bool grow_table(struct base_search *s)
{
    size_t room = s->room ? 2 * s->room : LEAST_SLOTS;
    struct hash_slot *slots = calloc(room, sizeof(*slots));

    if (!slots)
        return false;
    for (size_t i = 0; i < s->room; i++) {
        if (s->slots[i].hash)
            *find_hash_slot(slots, room, s->slots[i].hash) = s->slots[i];
    }
    free(s->slots);
    s->slots = slots;
    s->room = room;
    return true;
}

/* Changes the count of a line in the slot and with it the distance. */
static void change_count(struct base_search *s, struct hash_slot *slot, int by)
{
    uint64_t *came = &s->distance.came, *went = &s->distance.went;

    if (slot->count > 0)
        *came -= (uint64_t)slot->count;
    else
        *went -= (uint64_t)-slot->count;
    slot->count += by;
    if (slot->count > 0)
        *came += (uint64_t)slot->count;
    else
        *went += (uint64_t)-slot->count;
}

uint64_t merge_distance_lines(struct merge_distance distance)
{
    return distance.came > distance.went ? distance.came : distance.went;
}

/* Counts a line `by` times more. */
static bool count_text_line(struct base_search *s, struct ethos_view line, int by)
{
    line = view_trim_end(line);
    if (line.size == 0)
        return true;
    if (s->used * 4 >= s->room * 3 && !grow_table(s))
        return false;
    uint64_t hash = hash_mix(0, line);
    struct hash_slot *slot = find_hash_slot(s->slots, s->room, hash ? hash : 1);
    s->used += !slot->hash;
    slot->hash = hash ? hash : 1;
    change_count(s, slot, by);
    return true;
}

static bool count_text_lines(struct base_search *s, struct ethos_view text, int by)
{
    struct ethos_view line;

    while (view_line(&text, &line)) {
        if (!count_text_line(s, line, by))
            return false;
    }
    return true;
}

/* Begins anew at a version. */
static bool restart_counts(struct base_search *s, struct ethos_view version)
{
    if (s->slots)
        memset(s->slots, 0, s->room * sizeof(*s->slots));
    s->used = 0;
    s->distance = (struct merge_distance){0};
    return count_text_lines(s, s->facts->now, 1) && count_text_lines(s, version, -1);
}

/* ---- going back ------------------------------------------------------------------------------- */

/* Takes the lines of a change back. ETHOS_INVALID when its diff does not say all of them. */
static int follow_diff(struct base_search *s, struct ethos_view diff)
{
    struct patch_hunk hunk;
    struct patch_line line;
    int code;

    while ((code = patch_next(&diff, &hunk)) == ETHOS_OK) {
        while (patch_line(&hunk.lines, &line)) {
            int by = line.marker == '+' ? 1 : line.marker == '-' ? -1 : 0;

            if (by && !count_text_line(s, line.text, by))
                return ETHOS_NOMEM;
        }
    }
    return code == ETHOS_NOTFOUND ? ETHOS_OK : ETHOS_INVALID;
}

/* ETHOS_NOTFOUND ends the search: the text is lost, or enough was read. */
static int read_whole(struct base_search *s, size_t index)
{
    if (s->read >= MERGE_BASE_BYTES)
        return ETHOS_NOTFOUND;
    str_clear(&s->text);
    int code = s->facts->text(s->facts->arg, index, true, &s->text);
    if (code != ETHOS_OK)
        return code;
    s->read += s->text.size;
    return restart_counts(s, str_view(&s->text)) ? ETHOS_OK : ETHOS_NOMEM;
}

/* Goes from the version after a record to the one before it. */
static int step_to_older(struct base_search *s, size_t index)
{
    const struct history_record *r = &s->facts->history->records[index];
    bool told = r->blob.size == 0 && (r->diff.size > 0 || view_eq(r->before_hash, r->after_hash));
    int code = told && view_eq(s->at, r->after_hash) ? ETHOS_OK : ETHOS_INVALID;

    if (code == ETHOS_OK && r->diff.size > 0)
        code = follow_diff(s, r->diff);
    if (code == ETHOS_INVALID)
        code = read_whole(s, index);
    s->at = r->before_hash;
    return code;
}

/* Whether the text before a record counts as a version: no change that was taken back led to it. */
static bool is_version(const struct history *h, size_t index)
{
    const struct history_record *r = &h->records[index];

    if (r->absent_before || view_eq(r->before_hash, h->records[h->count - 1].after_hash))
        return false;
    return index == 0 || !h->voided[index - 1] ||
           !view_eq(h->records[index - 1].after_hash, r->before_hash);
}

static bool is_known_version(const struct base_search *s, struct ethos_view hash)
{
    for (size_t i = 0; i < s->found.count; i++) {
        if (view_eq(s->facts->history->records[s->found.index[i]].before_hash, hash))
            return true;
    }
    return false;
}

static void note_version(struct base_search *s, size_t index)
{
    struct merge_bases *found = &s->found;

    uint64_t lines = merge_distance_lines(s->distance);
    uint64_t least = merge_distance_lines(found->distance);

    if (found->count > 0 && lines > least)
        return;
    if (found->count == 0 || lines < least) {
        found->count = 0;
        found->more = false;
        found->distance = s->distance;
    }
    if (s->distance.came + s->distance.went < found->distance.came + found->distance.went)
        found->distance = s->distance;
    if (is_known_version(s, s->at))
        return;
    if (found->count < MERGE_BASES)
        found->index[found->count++] = index;
    else
        found->more = true;
}

size_t merge_base_first(const struct history *h, int64_t now_ms)
{
    size_t first = h->count > MERGE_BASE_VERSIONS ? h->count - MERGE_BASE_VERSIONS : 0;

    while (first < h->count && h->records[first].ts_ms < now_ms - MERGE_BASE_MS)
        first++;
    return first;
}

static int search_all(struct base_search *s)
{
    const struct history *h = s->facts->history;
    size_t first = merge_base_first(h, s->facts->now_ms);
    int code = restart_counts(s, s->facts->last) ? ETHOS_OK : ETHOS_NOMEM;

    s->found.last_distance = s->distance;
    s->at = h->records[h->count - 1].after_hash;
    for (size_t i = h->count; code == ETHOS_OK && i-- > first;) {
        if (view_eq(h->records[i].via, VIEW("purge"))) // nobody ever read what is left before
            break;
        code = step_to_older(s, i);
        if (code == ETHOS_OK && is_version(h, i))
            note_version(s, i);
    }
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

int merge_base_find(const struct merge_base_case *facts, struct merge_bases *out)
{
    struct base_search s = {.facts = facts};

    str_init(&s.text, ETHOS_MAX_STORE_BYTES);
    int code = search_all(&s);
    str_release(&s.text);
    free(s.slots);
    if (code == ETHOS_OK)
        *out = s.found;
    return code;
}
