/*
 * copy_scope.c: migrates one scope: plans what the target will be, and copies changes until it is.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "core/history/history.h"
#include "core/memory/scope.h"
#include "memory/migrate/scope_history.h"
#include "store/store.h"

#define WALK_ENDS 1 /* ends a walk: found */

static bool is_no_text(const char *revision)
{
    return strcmp(revision, "absent") == 0;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static uint64_t last_number(const struct plan *plan)
{
    return plan->count > 0 ? plan->rows[plan->count - 1].number : 0;
}

/* The current number of a source change: of the newest one with the old number. */
static uint64_t number_now(const struct plan *plan, uint64_t old)
{
    for (size_t i = plan->count; i-- > 0;) {
        if (plan->old_numbers[i] == old)
            return plan->rows[i].number;
    }
    return plan->some ? 0 : old;
}

/* Converts "3,4" to current numbers; stops at anything that is not a number. */
static int map_undoes(struct plan *plan, const char **undoes)
{
    CLEANUP_STR struct str out = {0};
    const char *at = *undoes;
    char *end;
    if (!at)
        return ETHOS_OK;
    str_init(&out, SIZE_MAX);
    while (*at >= '0' && *at <= '9') {
        uint64_t old = strtoull(at, &end, 10);
        uint64_t now = number_now(plan, old);
        if (now > 0 || !plan->some)
            str_printf(&out, "%s%" PRIu64, out.size ? "," : "", now);
        at = *end == ',' ? end + 1 : end;
    }
    *undoes = out.size ? arena_str(&plan->arena, out.data) : NULL;
    return str_code(&out) == ETHOS_OK && (*undoes || !out.size) ? ETHOS_OK : ETHOS_NOMEM;
}

/* The next change for the target. */
static int number_change(struct plan *plan, const struct ethos_change *from,
                         struct ethos_change *out)
{
    uint64_t last = last_number(plan);
    *out = *from;
    if (out->number <= last || out->number > MIGRATE_NUMBER_MAX)
        out->number = last + 1;
    if (out->group > 0)
        out->group = out->number - (from->number - from->group);
    return map_undoes(plan, &out->undoes);
}

static int push_planned(struct plan *plan, const struct ethos_change *change, uint64_t old)
{
    struct ethos_change *rows = arena_grow(&plan->arena, plan->rows, plan->count, &plan->capacity,
                                           sizeof *rows);
    uint64_t *numbers = arena_grow(&plan->arena, plan->old_numbers, plan->count,
                                   &plan->old_capacity, sizeof *numbers);
    if (rows)
        plan->rows = rows;
    if (numbers)
        plan->old_numbers = numbers;
    if (!rows || !numbers)
        return ETHOS_NOMEM;
    numbers[plan->count] = old;
    rows[plan->count++] = *change;
    return ETHOS_OK;
}

/* ---- what the target has --------------------------------------------------------------------- */

static int refuse_other_change(const struct plan *plan, const struct ethos_change *change,
                               struct ethos_error *error)
{
    int code = err_set(error, ETHOS_CONFLICT,
                       "%s: the target has other changes: %" PRIu64 " of %s is not in the source",
                       plan->scope, change->number, change->key);
    return err_hint(error, code, "choose an empty target, or one that this source was moved to");
}

/*
 * The next change of the target must equal the next one of the source, or be one that a migration
 * added.
 */
static int accept_target_change(struct plan *plan, const struct ethos_change *there,
                                struct ethos_error *error)
{
    struct ethos_change next;
    if (plan->taken < plan->source.count) {
        const struct ethos_change *from = &plan->source.rows[plan->taken];
        if (number_change(plan, from, &next) != ETHOS_OK)
            return err_nomem(error);
        if (past_same(&next, there)) {
            plan->taken++;
            return push_planned(plan, &next, from->number) == ETHOS_OK ? ETHOS_OK
                                                                       : err_nomem(error);
        }
    }
    if (!past_is_added(there) || there->number <= last_number(plan))
        return refuse_other_change(plan, there, error);
    if (history_copy(there, &plan->arena, &next) != ETHOS_OK ||
        push_planned(plan, &next, 0) != ETHOS_OK)
        return err_nomem(error);
    return ETHOS_OK;
}

static int accept_all(struct plan *plan, struct ethos_error *error)
{
    struct scope_history target;
    int code = past_collect(plan->move->to, plan->scope, &target, error);
    for (size_t i = 0; code == ETHOS_OK && i < target.count; i++)
        code = accept_target_change(plan, &target.rows[i], error);
    plan->there = plan->count;
    past_release(&target);
    return code;
}

static int plan_remaining(struct plan *plan, struct ethos_error *error)
{
    for (; plan->taken < plan->source.count; plan->taken++) {
        struct ethos_change next;
        const struct ethos_change *from = &plan->source.rows[plan->taken];
        if (number_change(plan, from, &next) != ETHOS_OK ||
            push_planned(plan, &next, from->number) != ETHOS_OK)
            return err_nomem(error);
    }
    for (size_t i = 0; i < plan->count; i++)
        plan->counts.renumbered += plan->old_numbers[i] != 0 || !past_is_added(&plan->rows[i])
                                       ? plan->old_numbers[i] != plan->rows[i].number
                                       : 0;
    return ETHOS_OK;
}

/* ---- texts that no change led to ------------------------------------------------------------- */

static int change_nothing(void *arg, struct ethos_edit *edits, size_t count,
                          struct ethos_error *error)
{
    (void)arg, (void)edits, (void)count, (void)error;
    return ETHOS_OK;
}

/*
 * The revision that the changes of each key lead to; in the arena of the keys. NULL: out of memory.
 */
static const char **find_ends(struct names *keys, const struct ethos_change *rows, size_t count)
{
    const char **ends = arena_array(&keys->arena, keys->count + 1, sizeof *ends);
    for (size_t i = 0; ends && i < keys->count; i++)
        ends[i] = "absent";
    for (size_t i = 0; ends && i < count; i++) {
        size_t key = past_is_seen(&rows[i]) ? keys->count : names_find(keys, rows[i].key);
        if (key < keys->count)
            ends[key] = rows[i].after;
    }
    return ends;
}

/*
 * Reads the current text of a key. If people can edit it, their edits are recorded first by an
 * update, which costs as much as the index of the scope; so a text that its last change led to
 * (end; NULL: unknown) is only read.
 */
static int read_settled_text(const struct plan *plan, struct ethos_store *store, const char *key,
                             const char *end, struct ethos_text *out, struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    const struct ethos_host *host = plan->move->host;
    int read = store->ops->read(store, plan->scope, key, &whole, out, error);
    read = read == ETHOS_NOTFOUND ? ETHOS_OK : read;
    bool settled = read == ETHOS_OK && end &&
                   strcmp(out->data ? out->revision : "absent", end) == 0;
    if (settled || plan->move->dry_run || !(store->capabilities & ETHOS_STORE_PATHS))
        return read;
    struct ethos_edit edit = {.key = key};
    int code = store_update(store, plan->scope, &edit, 1, change_nothing, NULL, NULL, error);
    if (code == ETHOS_DENIED || code == ETHOS_IO) { // read-only file, or disk error
        host->resize(host->arg, edit.old.data, 0);
        return read;
    }
    host->resize(host->arg, out->data, 0);
    *out = edit.old;
    return code;
}

static int plan_change(struct plan *plan, const char *key, const char *before, const char *after,
                       const struct ethos_text *text, struct ethos_error *error)
{
    const struct ethos_host *host = plan->move->host;
    const struct ethos_change change = {
        .number = last_number(plan) + 1,
        .time_ms = text->data && text->mtime_ms > 0 ? text->mtime_ms : host->now_ms(host->arg),
        .key = arena_str(&plan->arena, key),
        .actions = is_no_text(after) ? "delete" : "replace",
        .source = "tool",
        .via = MIGRATE_VIA,
        .actor = "ethos",
        .before = before,
        .after = arena_str(&plan->arena, after),
        .bytes_after = text->size,
    };
    if (!change.key || !change.after || push_planned(plan, &change, 0) != ETHOS_OK)
        return err_nomem(error);
    plan->counts.added++;
    return ETHOS_OK;
}

/* The newest change of a walk. */
struct newest_change {
    const struct plan *plan;
    bool known; /* it is the last change of the plan */
};

static int check_newest(void *arg, const struct ethos_change *change)
{
    struct newest_change *newest = arg;
    const struct scope_history *source = &newest->plan->source;
    if (scope_key_check(newest->plan->scope, change->key, NULL) != ETHOS_OK)
        return ETHOS_OK;
    newest->known = source->count > 0 && past_same(&source->rows[source->count - 1], change);
    return WALK_ENDS;
}

int plan_is_old(const struct plan *plan, bool *out, struct ethos_error *error)
{
    struct ethos_store *from = plan->move->from;
    struct newest_change newest = {plan, plan->source.count == 0};
    int code = from->ops->history(from, plan->scope, NULL, check_newest, &newest, error);
    *out = !newest.known;
    return code == WALK_ENDS ? ETHOS_OK : code;
}

/*
 * Adds a change for a text that its last change did not lead to, unless its change came meanwhile.
 */
static int compare_key(struct plan *plan, const char *key, const char *end,
                       struct ethos_error *error)
{
    const struct ethos_host *host = plan->move->host;
    struct ethos_text text = {0};
    char revision[ETHOS_REVISION_SIZE] = "absent";
    int code = read_settled_text(plan, plan->move->from, key, end, &text, error);
    if (code == ETHOS_OK && text.data) {
        hash_revision(view_of(text.data, text.size), revision);
        plan->counts.texts++;
    }
    if (code == ETHOS_OK && strcmp(revision, end) != 0 && !plan->old)
        code = plan_is_old(plan, &plan->old, error);
    if (code == ETHOS_OK && strcmp(revision, end) != 0 && !plan->old)
        code = plan_change(plan, key, end, revision, &text, error);
    host->resize(host->arg, text.data, 0);
    return code;
}

/* ---- the plan -------------------------------------------------------------------------------- */

/*
 * If people can edit texts, records their edits, and finishes or rolls back what a crashed writer
 * left.
 */
static int record_outside_edits(const struct plan *plan, struct ethos_store *store,
                                struct ethos_error *error)
{
    const struct ethos_host *host = plan->move->host;
    struct names keys = {0};
    struct scope_history past;
    if (!(store->capabilities & ETHOS_STORE_PATHS) || plan->move->dry_run)
        return ETHOS_OK;
    int code = past_collect(store, plan->scope, &past, error);
    if (code == ETHOS_OK)
        code = names_of_keys(store, plan->scope, &past, &keys, error);
    const char **ends = code == ETHOS_OK ? find_ends(&keys, past.rows, past.count) : NULL;
    if (code == ETHOS_OK && !ends)
        code = err_nomem(error);
    for (size_t i = 0; code == ETHOS_OK && i < keys.count; i++) {
        struct ethos_text text = {0};
        const char *end = i > 0 ? ends[i] : NULL; // an update of one key recovers after a crash
        code = read_settled_text(plan, store, keys.list[i], end, &text, error);
        host->resize(host->arg, text.data, 0);
    }
    names_release(&keys);
    past_release(&past);
    return code;
}

static int compare_planned_keys(struct plan *plan, struct names *keys, struct ethos_error *error)
{
    const char **ends = find_ends(keys, plan->rows, plan->count);
    int code = ends ? ETHOS_OK : err_nomem(error);
    for (size_t i = 0; code == ETHOS_OK && i < keys->count; i++)
        code = compare_key(plan, keys->list[i], ends[i], error);
    return code;
}

static int compare_all(struct plan *plan, struct ethos_error *error)
{
    struct names keys = {0};
    const struct scope_history all = {.rows = plan->rows, .count = plan->count};
    int code = names_of_keys(plan->move->from, plan->scope, &all, &keys, error);
    if (code == ETHOS_OK)
        code = compare_planned_keys(plan, &keys, error);
    names_release(&keys);
    return code;
}

static int draw_up(struct plan *plan, struct ethos_error *error)
{
    int code = past_collect(plan->move->from, plan->scope, &plan->source, error);
    if (code == ETHOS_OK)
        code = accept_all(plan, error);
    if (code == ETHOS_OK)
        code = plan_remaining(plan, error);
    if (code == ETHOS_OK)
        code = compare_all(plan, error);
    plan->counts.changes = plan->source.count;
    plan->counts.skipped = plan->source.skipped;
    plan->counts.moved = plan->count - plan->there - plan->counts.added;
    return code;
}

int plan_make(struct plan *plan, const struct migrate *move, const char *scope,
              struct ethos_error *error)
{
    *plan = (struct plan){.move = move, .scope = scope};
    arena_init(&plan->arena);
    TRY(record_outside_edits(plan, move->from, error));
    TRY(record_outside_edits(plan, move->to, error));
    return draw_up(plan, error);
}

/* The newest change of the target; the plan's follow it. */
static int accept_last(struct plan *plan, struct ethos_error *error)
{
    struct scope_history target;
    struct ethos_change last;
    int code = past_collect(plan->move->to, plan->scope, &target, error);
    if (code == ETHOS_OK && target.count > 0 &&
        (history_copy(&target.rows[target.count - 1], &plan->arena, &last) != ETHOS_OK ||
         push_planned(plan, &last, 0) != ETHOS_OK))
        code = err_nomem(error);
    plan->there = plan->count;
    past_release(&target);
    return code;
}

int plan_make_keys(struct plan *plan, const struct migrate *move, const char *scope,
                   struct names *keys, struct ethos_error *error)
{
    struct ethos_change next;
    *plan = (struct plan){.move = move, .scope = scope, .some = true};
    arena_init(&plan->arena);
    int code = past_collect(move->from, scope, &plan->source, error);
    if (code == ETHOS_OK)
        code = accept_last(plan, error);
    for (size_t i = 0; code == ETHOS_OK && i < plan->source.count; i++) {
        const struct ethos_change *from = &plan->source.rows[i];
        if (names_find(keys, from->key) == keys->count)
            continue;
        if (number_change(plan, from, &next) != ETHOS_OK ||
            push_planned(plan, &next, from->number) != ETHOS_OK)
            code = err_nomem(error);
    }
    return code == ETHOS_OK ? compare_planned_keys(plan, keys, error) : code;
}

void plan_release(struct plan *plan)
{
    past_release(&plan->source);
    arena_release(&plan->arena);
}

/* ---- carrying it out ------------------------------------------------------------------------- */

/* A batch of changes copied at once. */
struct hand {
    struct arena arena;
    struct ethos_row *rows;
    size_t count, capacity;
    uint64_t bytes;
    struct ethos_edit *edits;
    size_t edit_count;
};

static bool is_full(const struct hand *hand)
{
    return hand->count >= MIGRATE_ROWS || hand->bytes >= MIGRATE_BYTES;
}

/*
 * No key may be left with a text that nobody has: then the batch extends to where a text is known.
 */
static int extend_batch(struct hand *hand, struct replay *replay, const struct plan *plan,
                        size_t from, struct ethos_error *error)
{
    int code = ETHOS_OK;
    while (code == ETHOS_OK && from + hand->count < plan->count &&
           !(is_full(hand) && replay_is_sound(replay))) {
        struct ethos_row *rows = arena_grow(&hand->arena, hand->rows, hand->count, &hand->capacity,
                                            sizeof *rows);
        if (!rows)
            return err_nomem(error);
        hand->rows = rows;
        struct ethos_row *row = &rows[hand->count];
        code = replay_step(replay, &plan->rows[from + hand->count], &hand->arena, row, error);
        hand->bytes += row->base.size + row->whole.size;
        hand->count++;
        if (code == ETHOS_OK)
            code = migrate_go_on(plan->move, error);
    }
    return code;
}

static int add_edits(struct hand *hand, const struct replay *replay, struct ethos_error *error)
{
    hand->edits = arena_array(&hand->arena, replay->names.count + 1, sizeof *hand->edits);
    if (!hand->edits)
        return err_nomem(error);
    for (size_t i = 0; i < replay->names.count; i++) {
        const struct replay_key *key = &replay->keys[i];
        if (!key->told)
            continue;
        struct ethos_edit *edit = &hand->edits[hand->edit_count++];
        *edit = (struct ethos_edit){.key = replay->names.list[i]};
        if (key->moved && is_no_text(key->revision)) {
            edit->verdict = ETHOS_EDIT_DROP;
        } else if (key->moved && key->view.data) {
            edit->verdict = ETHOS_EDIT_PUT;
            edit->text = key->view;
            hash_revision(key->view, edit->revision);
        }
    }
    return ETHOS_OK;
}

static int hand_over(struct plan *plan, struct replay *replay, const struct copies *copies,
                     size_t *at, struct ethos_error *error)
{
    struct hand hand = {0};
    struct ethos_store *to = plan->move->to;
    arena_init(&hand.arena);
    int code = extend_batch(&hand, replay, plan, *at, error);
    if (code == ETHOS_OK)
        code = add_edits(&hand, replay, error);
    bool last = *at + hand.count == plan->count;
    const struct ethos_commit commit = {
        .version = *at > 0 ? plan->rows[*at - 1].number : 0,
        .edits = hand.edits,
        .edit_count = hand.edit_count,
        .rows = hand.rows,
        .row_count = hand.count,
        .copies = copies->list,
        .copy_count = last ? copies->count : 0,
    };
    if (code == ETHOS_OK)
        code = to->ops->graft(to, plan->scope, &commit, error);
    if (code == ETHOS_OK)
        code = replay_rest(replay, error);
    *at += hand.count;
    arena_release(&hand.arena);
    return code;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static bool has_copy(const struct copies *copies, const struct ethos_copy *copy)
{
    for (size_t i = 0; i < copies->count; i++) {
        if (strcmp(copies->list[i].key, copy->key) == 0 &&
            view_eq(copies->list[i].text, copy->text))
            return true;
    }
    return false;
}

/* Removes from the source's copies those that the target has. */
static int missing_copies(const struct plan *plan, struct copies *out, struct ethos_error *error)
{
    struct copies there;
    const struct migrate *move = plan->move;
    int code = copies_collect(move->host, move->to, plan->scope, &there, error);
    size_t kept = 0;
    for (size_t i = 0; code == ETHOS_OK && i < out->count; i++) {
        if (!has_copy(&there, &out->list[i]))
            out->list[kept++] = out->list[i];
    }
    out->count = code == ETHOS_OK ? kept : 0;
    copies_release(&there);
    return code;
}

static int copy_conflict_copies(const struct plan *plan, struct copies *copies,
                                struct ethos_error *error)
{
    struct ethos_store *to = plan->move->to;
    int code = copies->count > 0 ? missing_copies(plan, copies, error) : ETHOS_OK;
    if (code == ETHOS_OK && copies->count > 0 && !to->ops->set_aside)
        return err_set(error, ETHOS_UNSUPPORTED, "%s: keeps no conflict copies, and %s has some",
                       to->ops->name, plan->scope);
    for (size_t i = 0; code == ETHOS_OK && i < copies->count; i++) {
        const struct ethos_copy *copy = &copies->list[i];
        code = to->ops->set_aside(to, plan->scope, copy->key, copy->text, error);
    }
    return code;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int carry_rows(struct plan *plan, const struct copies *copies,
                      void (*told)(void *arg, size_t rows), void *arg, struct ethos_error *error)
{
    struct replay replay;
    const struct migrate *move = plan->move;
    size_t at = plan->there;
    int code = replay_begin(&replay, move->host, move->from, plan->scope, plan->rows, plan->count,
                            error);
    for (size_t i = 0; code == ETHOS_OK && i < at; i++)
        replay_skip(&replay, &plan->rows[i]);
    while (code == ETHOS_OK && at < plan->count) {
        size_t before = at;
        code = hand_over(plan, &replay, copies, &at, error);
        if (code == ETHOS_OK)
            told(arg, at - before);
    }
    replay_end(&replay);
    return code;
}

int plan_carry_out(struct plan *plan, void (*told)(void *arg, size_t rows), void *arg,
                   struct ethos_error *error)
{
    struct copies copies;
    const struct migrate *move = plan->move;
    int code = copies_collect(move->host, move->from, plan->scope, &copies, error);
    plan->counts.copies = copies.count;
    if (code == ETHOS_OK && copies.count > 0 && !move->dry_run)
        code = missing_copies(plan, &copies, error);
    if (code == ETHOS_OK && !move->dry_run && plan->there < plan->count)
        code = carry_rows(plan, &copies, told, arg, error);
    if (code == ETHOS_OK && !move->dry_run)
        code = copy_conflict_copies(plan, &copies, error);
    copies_release(&copies);
    return code;
}
