/*
 * change.c: a record of the history as others are told of it.
 */
#include "base/arena.h"
#include "base/view.h"
#include "core/history/history.h"

static const char *copy_string(struct arena *arena, struct ethos_view v)
{
    return v.size ? arena_copy(arena, v) : NULL;
}

static const char *make_revision(struct arena *arena, struct ethos_view hash, bool absent)
{
    return absent ? "absent" : arena_copy(arena, hash);
}

/* A line that only keeps a text leads to that text, though the file never had it. */
static const char *revision_after(struct arena *arena, const struct history_record *record)
{
    return view_eq_str(record->via, "seen")
               ? arena_printf(arena, "sha256:%.*s", VIEW_ARG(record->after_blob))
               : make_revision(arena, record->after_hash, record->absent_after);
}

/*
 * Whether the diff leads from one text to the other. Where it does not, it was cut or is empty, or both
 * texts are blobs, but for one of no bytes. A line with a diff and only the text after as a blob keeps that
 * for the sake of those that follow.
 */
static bool is_exact(const struct history_record *record)
{
    bool periodic = record->diff.size > 0 && !record->before_blob.size && record->size_before > 0 &&
                    !view_eq_str(record->via, "seen");
    return !record->blob.size && (!record->after_blob.size || periodic);
}

/*
 * The update that a line belongs to: what the line says, else its append. External edits that were met in
 * one append have nothing to do with each other, nor have lines that were brought here together.
 */
static void set_group(const struct history_record *record, struct ethos_change *change)
{
    bool alone = view_eq_str(record->actor, "external") || view_eq_str(record->actor, "ethos");
    unsigned index = record->part_index, count = record->part_count;

    if (count == 0 && !record->graft.data) {
        index = record->txn_index;
        count = record->txn_count;
    }
    if (alone)
        index = count = 1;
    if (count > 0 && record->seq >= index) {
        change->group = record->seq - index + 1;
        change->group_size = count;
    }
}

int history_change(const struct history_record *record, struct arena *arena,
                   struct ethos_change *out)
{
    *out = (struct ethos_change){
        .number = record->seq,
        .time_ms = record->ts_ms,
        .key = arena_copy(arena, record->key),
        .actions = copy_string(arena, record->actions),
        .source = copy_string(arena, record->source),
        .via = copy_string(arena, record->via),
        .actor = copy_string(arena, record->actor),
        .session = copy_string(arena, record->session),
        .session_key = copy_string(arena, record->session_key),
        .user = copy_string(arena, record->user),
        .op_id = copy_string(arena, record->op_id),
        .event = copy_string(arena, record->event),
        .undoes = copy_string(arena, record->undoes),
        .before = make_revision(arena, record->before_hash, record->absent_before),
        .after = revision_after(arena, record),
        .bytes_before = record->size_before,
        .bytes_after = record->size_after,
        .diff = record->diff,
        .diff_whole = is_exact(record),
        .trust = copy_string(arena, record->trust),
        .approved_by = copy_string(arena, record->approved_by),
        .edited_from = copy_string(arena, record->edited_from),
    };
    set_group(record, out);
    return out->key && out->before && out->after ? ETHOS_OK : ETHOS_NOMEM;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* Every string of struct ethos_change. */
static const size_t strings[] = {
    offsetof(struct ethos_change, key),         offsetof(struct ethos_change, actions),
    offsetof(struct ethos_change, source),      offsetof(struct ethos_change, via),
    offsetof(struct ethos_change, actor),       offsetof(struct ethos_change, session),
    offsetof(struct ethos_change, user),        offsetof(struct ethos_change, session_key),
    offsetof(struct ethos_change, op_id),       offsetof(struct ethos_change, event),
    offsetof(struct ethos_change, undoes),      offsetof(struct ethos_change, before),
    offsetof(struct ethos_change, after),       offsetof(struct ethos_change, trust),
    offsetof(struct ethos_change, approved_by), offsetof(struct ethos_change, edited_from),
};

int history_copy(const struct ethos_change *change, struct arena *arena, struct ethos_change *out)
{
    *out = *change;
    for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++) {
        const char **string = (const char **)(void *)((char *)out + strings[i]);

        if (*string && !(*string = arena_str(arena, *string)))
            return ETHOS_NOMEM;
    }
    if (out->diff.data)
        out->diff.data = arena_copy(arena, change->diff);
    return out->diff.data || !change->diff.data ? ETHOS_OK : ETHOS_NOMEM;
}
