/*
 * rebuild_version.c: a recorded text again, from what the changes of its key kept.
 *
 * The changes of a key are a chain of texts, held together by their hashes: where two histories were
 * put together, or lines are missing, neighbours in the file need not be neighbours in the chain. Any
 * text follows from any other by the diffs between them; so one that was kept whole is looked for,
 * backwards first, and the diffs are applied on the way back. The hash of the result decides.
 */
#include "core/history/history.h"

#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/view.h"
#include "core/history/patch.h"

#define HASH_PREFIX VIEW("sha256:")
#define HASH_OF_NOTHING                                                                            \
    VIEW("sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")

/* A text of the chain: the one before or after a record. */
struct chain_place {
    size_t index;
    bool before;
};

struct version_rebuild {
    const struct history *history;
    history_blob_fn *blob;
    void *arg;
    struct str *out, spare;
    struct chain_place *path; /* from the text that is wanted to the one it is made from */
    size_t length;
};

typedef bool move_fn(const struct history *h, struct chain_place *place);

static struct ethos_view hash_at(const struct history *h, struct chain_place place)
{
    const struct history_record *r = &h->records[place.index];

    return place.before ? r->before_hash : r->after_hash;
}

/* Moves to the nearest record of the same key that has the same text on its other side. */
static bool cross(const struct history *h, struct chain_place *place, bool older)
{
    struct ethos_view key = h->records[place->index].key, hash = hash_at(h, *place);
    struct chain_place next = {.before = !older};

    for (size_t i = place->index; older ? i-- > 0 : ++i < h->count;) {
        next.index = i;
        if (!view_eq(h->records[i].key, key) || !view_eq(hash_at(h, next), hash))
            continue;
        *place = next;
        return true;
    }
    return false;
}

static bool older(const struct history *h, struct chain_place *place)
{
    if (place->before)
        return cross(h, place, true);
    return place->before = true;
}

static bool newer(const struct history *h, struct chain_place *place)
{
    if (!place->before)
        return cross(h, place, false);
    place->before = false;
    return true;
}

/* Whether a record says that this text was kept whole. */
static bool has_whole_text(const struct history *h, struct chain_place place)
{
    const struct history_record *r = &h->records[place.index];
    struct ethos_view blob = place.before ? r->before_blob : r->after_blob;

    return blob.data || (place.before && r->blob.data && !r->append_blob.data);
}

/* Gets a text without patches. */
static int fetch_whole_text(struct version_rebuild *b, struct chain_place place)
{
    struct ethos_view hash = hash_at(b->history, place);
    char hex[HASH_HEX_SIZE] = "", real[ETHOS_REVISION_SIZE];

    str_clear(b->out);
    if (view_eq(hash, HASH_OF_NOTHING))
        return ETHOS_OK;
    if (!view_starts(hash, HASH_PREFIX) || !hash_is_hex(view_from(hash, HASH_PREFIX.size)))
        return ETHOS_NOTFOUND;
    memcpy(hex, hash.data + HASH_PREFIX.size, HASH_HEX_SIZE - 1);
    int code = b->blob(b->arg, hex, b->out);
    if (code)
        return code == ETHOS_NOMEM ? code : ETHOS_NOTFOUND;
    hash_revision(str_view(b->out), real);
    return view_eq_str(hash, real) ? ETHOS_OK : ETHOS_NOTFOUND;
}

/* Goes to the nearest text that can be fetched, noting the way. Where the chain ends, a blob may be. */
static int find_anchor(struct version_rebuild *b, struct chain_place place, move_fn *away)
{
    for (b->length = 0;;) {
        struct chain_place next = place;
        bool end = !away(b->history, &next);
        bool nothing = view_eq(hash_at(b->history, place), HASH_OF_NOTHING);
        int code = end || nothing || has_whole_text(b->history, place) ? fetch_whole_text(b, place)
                                                                       : ETHOS_NOTFOUND;

        b->path[b->length++] = place;
        if (code != ETHOS_NOTFOUND || end)
            return code;
        place = next;
    }
}

int history_append(const struct history_record *record, history_blob_fn *blob, void *arg,
                   struct str *text)
{
    struct str part;
    char hex[HASH_HEX_SIZE] = "", real[HASH_HEX_SIZE];

    if (record->append_blob.size != HASH_HEX_SIZE - 1 || text->size != record->size_before)
        return ETHOS_NOTFOUND;
    memcpy(hex, record->append_blob.data, HASH_HEX_SIZE - 1);
    str_init(&part, text->ceiling);
    int code = blob(arg, hex, &part);
    if (!code) {
        hash_hex(str_view(&part), real);
        code = strcmp(hex, real) != 0 ? ETHOS_NOTFOUND : str_add(text, str_view(&part));
    }
    str_release(&part);
    return code && code != ETHOS_NOMEM ? ETHOS_NOTFOUND : code;
}

/*
 * Whether the lines of a hunk are some that stay and then some that are new: a hunk without a line behind it is at
 * the end of the text. Adds both kinds to their strings.
 */
static bool is_at_end(struct ethos_view lines, struct str *stay, struct str *new)
{
    struct patch_line line;

    while (patch_line(&lines, &line)) {
        if (line.marker == '-' || (line.marker == ' ' && new->size > 0))
            return false;
        str_add(line.marker == '+' ? new : stay, line.text);
    }
    return new->size > 0 && str_code(stay) == ETHOS_OK &&str_code(new) == ETHOS_OK;
}

/* A diff that only puts lines at the end of a long text: done where the text stands. False: any other one. */
static bool step_at_end(struct version_rebuild *b, const struct history_record *r, bool reverse)
{
    struct ethos_view rest = r->diff, text = str_view(b->out);
    struct patch_hunk hunk, second;
    struct str stay, new;

    if (r->size_before < HISTORY_LONG_BYTES || r->size_after <= r->size_before ||
        text.size != (reverse ? r->size_after : r->size_before) ||
        patch_next(&rest, &hunk) != ETHOS_OK || patch_next(&rest, &second) != ETHOS_NOTFOUND)
        return false;
    str_init(&stay, SIZE_MAX);
    str_init(&new, SIZE_MAX);
    bool fits = is_at_end(hunk.lines, &stay, &new) && new.size == r->size_after - r->size_before;
    if (fits && reverse) {
        fits = view_ends(text, str_view(&new));
        text.size -= fits ? new.size : 0;
    }
    fits = fits && view_ends(text, str_view(&stay));
    if (fits && reverse)
        str_truncate(b->out, text.size);
    else if (fits)
        fits = str_add(b->out, str_view(&new)) == ETHOS_OK;
    str_release(&stay);
    str_release(&new);
    return fits;
}

/* Turns the text before record `index` into the one after it, or back. */
static int step_record(struct version_rebuild *b, size_t index, bool reverse)
{
    struct str swap;
    const struct history_record *r = &b->history->records[index];

    if (r->append_blob.data && reverse && b->out->size == r->size_after)
        return str_truncate(b->out, r->size_before);
    if (r->append_blob.data)
        return reverse ? ETHOS_NOTFOUND : history_append(r, b->blob, b->arg, b->out);
    if (step_at_end(b, r, reverse))
        return ETHOS_OK;
    int code = patch_apply(r->diff, str_view(b->out), reverse, &b->spare);

    if (code)
        return code == ETHOS_NOMEM ? code : ETHOS_NOTFOUND;
    swap = *b->out;
    *b->out = b->spare;
    b->spare = swap;
    return ETHOS_OK;
}

static int rebuild_from(struct version_rebuild *b, struct chain_place goal, move_fn *away)
{
    char real[ETHOS_REVISION_SIZE];
    int code = find_anchor(b, goal, away);

    for (size_t i = b->length; code == ETHOS_OK && i-- > 1;) {
        struct chain_place at = b->path[i], next = b->path[i - 1];

        if (at.index == next.index)
            code = step_record(b, at.index, !at.before);
    }
    if (code)
        return code;
    hash_revision(str_view(b->out), real);
    return view_eq_str(hash_at(b->history, goal), real) ? ETHOS_OK : ETHOS_NOTFOUND;
}

int history_rebuild(const struct history *history, size_t index, bool before, history_blob_fn *blob,
                    void *arg, struct str *out)
{
    struct version_rebuild b = {.history = history, .blob = blob, .arg = arg, .out = out};
    struct chain_place goal = {.index = index, .before = before};
    struct arena arena;

    arena_init(&arena);
    str_init(&b.spare, out->ceiling);
    b.path = arena_array(&arena, 2 * history->count + 1, sizeof(*b.path));
    int code = b.path ? rebuild_from(&b, goal, older) : ETHOS_NOMEM;
    if (code == ETHOS_NOTFOUND)
        code = rebuild_from(&b, goal, newer);
    if (code)
        str_clear(out);
    str_release(&b.spare);
    arena_release(&arena);
    return code;
}
