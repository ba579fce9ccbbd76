/*
 * undo_operation.c: undoes an operation that changed several files, such as a note and its index
 * line.
 *
 *     walk the scope's history back to the operation -> select its changes of other files that are
 *     still in effect -> revert them in those files -> one update for all files
 *
 * Changes of one update share a group. A store that does not record groups numbers the changes of
 * an update consecutively, with one time and one origin: such a run that includes the index counts
 * as one update.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "core/memory/update.h"
#include "core/notes/index.h"
#include "core/notes/note.h"
#include "memory/history/undo.h"
#include "memory/history/undo_internal.h"
#include "memory/notes/list.h"
#include "memory/provider/missing_slots.h"

/* ---- the end of a scope's history ------------------------------------------------------------- */

struct operation_history {
    struct arena arena;
    struct ethos_change *items; /* newest first */
    size_t count, capacity;
    const struct ethos_change **by_number; /* sorted */
    bool *undone;                          /* of each item */
    uint64_t low;                          /* number of the oldest relevant change */
    bool merged;                           /* two changes have the same number */
};

static bool same_word(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_origin(const struct ethos_change *a, const struct ethos_change *b)
{
    return same_word(a->actor, b->actor) && same_word(a->via, b->via) &&
           same_word(a->source, b->source) && same_word(a->session, b->session) &&
           same_word(a->user, b->user) && same_word(a->op_id, b->op_id) &&
           same_word(a->undoes, b->undoes);
}

/* Whether two changes, the newer one first, may belong to one update of a store without groups. */
static bool is_same_update(const struct ethos_change *newer, const struct ethos_change *older)
{
    return !newer->group && !older->group && newer->number == older->number + 1 &&
           older->number > 0 && newer->time_ms == older->time_ms && same_origin(newer, older);
}

static int add_operation_change(void *arg, const struct ethos_change *change)
{
    struct operation_history *past = arg;
    const struct ethos_change *last = past->count ? &past->items[past->count - 1] : NULL;
    if (change->number < past->low && !(last && is_same_update(last, change)))
        return 1; // enough
    struct ethos_change *items = arena_grow(&past->arena, past->items, past->count, &past->capacity,
                                            sizeof *items);
    if (!items)
        return ETHOS_NOMEM;
    past->items = items;
    int code = changes_copy(&past->arena, change, false, &items[past->count]);
    past->count += code == ETHOS_OK;
    return code;
}

/* ---- groups that nobody recorded -------------------------------------------------------------- */

static void set_group(struct operation_history *past, size_t newest, size_t oldest)
{
    for (size_t i = newest; i <= oldest; i++) {
        past->items[i].group = past->items[oldest].number;
        past->items[i].group_size = oldest - newest + 1;
    }
}

static bool is_index(const struct ethos_change *change)
{
    return strcmp(change->key, NOTES_INDEX) == 0;
}

/*
 * Splits a run of changes, oldest first, into updates. No update has a key twice: if one repeats,
 * the previous update ended with its index at the latest.
 */
static int split_run(struct operation_history *past, size_t newest, size_t oldest)
{
    json_t *keys = json_object();
    size_t begin = oldest + 1; // one more than the oldest change of the current update
    size_t index = 0;          // one more than that of its index; 0: none yet
    int code = keys ? ETHOS_OK : ETHOS_NOMEM;
    for (size_t i = oldest + 1; code == ETHOS_OK && i-- > newest;) {
        if (json_object_get(keys, past->items[i].key)) {
            size_t end = index ? index - 1 : i + 1;
            if (index)
                set_group(past, end, begin - 1);
            json_object_clear(keys);
            for (size_t k = i + 1; k < end; k++)
                json_object_set_new(keys, past->items[k].key, json_true());
            begin = end;
            index = 0;
        }
        if (json_object_set_new(keys, past->items[i].key, json_true()) != 0)
            code = ETHOS_NOMEM;
        if (is_index(&past->items[i]))
            index = i + 1;
    }
    if (code == ETHOS_OK && index)
        set_group(past, newest, begin - 1);
    json_decref(keys);
    return code;
}

static int infer_groups(struct operation_history *past)
{
    int code = ETHOS_OK;
    for (size_t i = 0, end; code == ETHOS_OK && i < past->count; i = end) {
        end = i + 1;
        if (past->items[i].group > 0)
            continue;
        while (end < past->count && is_same_update(&past->items[end - 1], &past->items[end]))
            end++;
        code = split_run(past, i, end - 1);
    }
    return code;
}

/* ---- by number -------------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = (*(const struct ethos_change *const *)a)->number;
    uint64_t y = (*(const struct ethos_change *const *)b)->number;
    return (x > y) - (x < y);
}

static const struct ethos_change *find_number(const struct operation_history *past, uint64_t number)
{
    const struct ethos_change wanted = {.number = number}, *key = &wanted;
    const struct ethos_change *const *found = bsearch(&key, past->by_number, past->count,
                                                      sizeof key, compare_numbers);
    return found ? *found : NULL;
}

static void mark_undone(struct operation_history *past, const char *numbers)
{
    char *end;
    for (const char *at = numbers; at && *at; at = *end ? end + 1 : end) {
        const struct ethos_change *change = find_number(past, strtoull(at, &end, 10));
        if (end == at)
            return;
        if (change)
            past->undone[change - past->items] = true;
    }
}

/* Newest first: an undo that was itself undone does not count. */
static int index_past(struct operation_history *past)
{
    past->by_number = arena_array(&past->arena, past->count + 1, sizeof *past->by_number);
    past->undone = arena_array(&past->arena, past->count + 1, sizeof *past->undone);
    if (!past->by_number || !past->undone)
        return ETHOS_NOMEM;
    for (size_t i = 0; i < past->count; i++)
        past->by_number[i] = &past->items[i];
    qsort(past->by_number, past->count, sizeof *past->by_number, compare_numbers);
    for (size_t i = 1; i < past->count; i++)
        past->merged |= past->by_number[i]->number > 0 &&
                        past->by_number[i]->number == past->by_number[i - 1]->number;
    for (size_t i = 0; i < past->count; i++)
        if (!past->undone[i])
            mark_undone(past, past->items[i].undoes);
    return ETHOS_OK;
}

static int load_past(struct ethos_turn *turn, const char *scope, uint64_t low,
                     struct operation_history *out, struct ethos_error *error)
{
    struct ethos_provider *provider = turn->provider;
    *out = (struct operation_history){.low = low};
    arena_init(&out->arena);
    int code = provider->ops->history(provider, scope, NULL, add_operation_change, out, error);
    if (code == 1)
        code = ETHOS_OK;
    if (code == ETHOS_OK)
        code = infer_groups(out);
    if (code == ETHOS_OK)
        code = index_past(out);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

/* ---- which changes go along ------------------------------------------------------------------- */

/* The operations to undo: one change of each, sorted by group. */
struct operations {
    const struct ethos_change **items;
    size_t count;
};

static int compare_groups(const void *a, const void *b)
{
    uint64_t x = (*(const struct ethos_change *const *)a)->group;
    uint64_t y = (*(const struct ethos_change *const *)b)->group;
    return (x > y) - (x < y);
}

/* After a git merge of two histories, two updates may share a group; their times differ. */
static bool is_part(const struct operation_history *past, const struct operations *operations,
                    const struct ethos_change *change)
{
    const struct ethos_change *const *end = operations->items + operations->count;
    const struct ethos_change *const *at = bsearch(&change, operations->items, operations->count,
                                                   sizeof change, compare_groups);
    while (at && at > operations->items && at[-1]->group == change->group)
        at--;
    for (; change->group > 0 && at && at < end && (*at)->group == change->group; at++)
        if (same_origin(*at, change) && (!past->merged || (*at)->time_ms == change->time_ms))
            return true;
    return false;
}

/* The change itself, even if others have its number. */
static const struct ethos_change *find_change(const struct operation_history *past,
                                              const struct ethos_change *change)
{
    const struct ethos_change *const *end = past->by_number + past->count;
    const struct ethos_change *const *at = bsearch(&change, past->by_number, past->count,
                                                   sizeof change, compare_numbers);
    while (at && at > past->by_number && at[-1]->number == change->number)
        at--;
    for (; at && at < end && (*at)->number == change->number; at++)
        if (strcmp((*at)->key, change->key) == 0 && strcmp((*at)->after, change->after) == 0)
            return *at;
    return NULL;
}

static int name_operations(struct operation_history *past, const struct undoing *undoing,
                           struct operations *out)
{
    out->items = arena_array(&past->arena, undoing->taken + 1, sizeof *out->items);
    if (!out->items)
        return ETHOS_NOMEM;
    for (size_t i = 0; i < undoing->taken; i++) {
        const struct ethos_change *found = find_change(past, undoing->taken_changes[i]);
        if (found && found->group_size > 1)
            out->items[out->count++] = found;
    }
    qsort(out->items, out->count, sizeof *out->items, compare_groups);
    return ETHOS_OK;
}

/* The oldest number that may belong to an operation being undone; 0: each changed one file. */
static uint64_t lowest_number(const struct undoing *undoing)
{
    uint64_t low = 0;
    for (size_t i = 0; i < undoing->taken; i++) {
        const struct ethos_change *change = undoing->taken_changes[i];
        uint64_t first = change->group ? change->group : change->number;
        if (change->number > 0 && change->group_size != 1 && (low == 0 || first < low))
            low = first;
    }
    return low;
}

/* ---- taking them out -------------------------------------------------------------------------- */

static int open_other(struct undoing *undoing, const char *key, struct undo_other *out,
                      struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    struct ethos_provider *provider = undoing->turn->provider;
    const char *scope = undoing->target->scope;
    struct changes *changes = &out->undoing.changes;
    *out = (struct undo_other){
        .undoing = {.turn = undoing->turn, .filter = undoing->filter, .how = undoing->how}};
    snprintf(out->target.scope, sizeof out->target.scope, "%s", scope);
    snprintf(out->target.key, sizeof out->target.key, "%s", key);
    arena_init(&changes->arena);
    str_init(&out->undoing.text, ETHOS_MAX_STORE_BYTES);
    str_init(&out->undoing.undoes, 0);
    if (SLOT_PROVIDER(provider, settle) && !(undoing->how->flags & ETHOS_SYNC_DRY_RUN))
        provider->ops->settle(provider, scope, key, NULL);
    int code = provider->ops->read(provider, scope, key, &whole, &changes->now, error);
    if (code != ETHOS_OK && code != ETHOS_NOTFOUND)
        return code;
    return undo_set_text(&out->undoing, view_of(changes->now.data, changes->now.size),
                         changes_revision(changes), error);
}

/* The state of a change's file; opened with its first change. */
static int find_other(struct undoing *undoing, json_t *places, const char *key,
                      struct undo_other **out, struct ethos_error *error)
{
    const json_t *place = json_object_get(places, key);
    if (place) {
        *out = &undoing->others[json_integer_value(place)];
        return ETHOS_OK;
    }
    *out = &undoing->others[undoing->other_count];
    if (json_object_set_new(places, key, json_integer((json_int_t)undoing->other_count)) != 0)
        return err_nomem(error);
    undoing->other_count++;
    return open_other(undoing, key, *out, error);
}

static int revert_in_other(struct undoing *undoing, json_t *places,
                           const struct ethos_change *change, struct ethos_error *error)
{
    struct undo_other *other;
    int code = find_other(undoing, places, change->key, &other, error);
    if (code != ETHOS_OK)
        return code;
    other->undoing.target = &other->target;
    if (!is_index(change) && undo_is_purge(change))
        code = undo_refuse_purged(&other->undoing, error);
    else
        code = undo_revert_change(&other->undoing, change, error);
    undoing->stuck = undoing->stuck || other->undoing.stuck;
    str_printf(&undoing->undoes, "%s%" PRIu64, undoing->undoes.size ? "," : "", change->number);
    return code == ETHOS_OK && str_code(&undoing->undoes) != ETHOS_OK ? err_nomem(error) : code;
}

static bool goes_along(const struct undoing *undoing, const struct operation_history *past,
                       const struct operations *operations, size_t index)
{
    const struct ethos_change *change = &past->items[index];
    return !past->undone[index] && changes_real(change) &&
           (!undo_is(change) || undoing->filter->number) &&
           strcmp(change->key, undoing->target->key) != 0 &&
           scope_key_shown(undoing->target->scope, change->key) &&
           is_part(past, operations, change);
}

/* ---- one note of an import -------------------------------------------------------------------- */

/* An import writes many notes in one update, which was not one operation for its user. */
static bool is_import(const struct ethos_change *change)
{
    return change->via && strcmp(change->via, "import") == 0;
}

static bool is_imported_note(const struct undoing *undoing)
{
    bool imported = undoing->taken > 0 && strcmp(undoing->target->key, NOTES_INDEX) != 0;
    for (size_t i = 0; imported && i < undoing->taken; i++)
        imported = is_import(undoing->taken_changes[i]);
    return imported;
}

/* The imported note goes with its line; the others of the import stay. */
static int drop_line(struct undoing *undoing, struct ethos_error *error)
{
    CLEANUP_STR struct str text = {0};
    undoing->others = arena_array(&undoing->changes.arena, 1, sizeof *undoing->others);
    if (!undoing->others)
        return err_nomem(error);
    struct undo_other *other = undoing->others;
    undoing->other_count = 1;
    int code = open_other(undoing, NOTES_INDEX, other, error);
    other->undoing.target = &other->target;
    struct ethos_view now = str_view(&other->undoing.text);
    if (code != ETHOS_OK || !undo_text(&other->undoing).data)
        return code;
    str_init(&text, ETHOS_MAX_STORE_BYTES);
    code = index_drop(now, view_str(undoing->target->key), &text) == ETHOS_OK
               ? undo_set_text(&other->undoing, str_view(&text), "", error)
               : err_nomem(error);
    return code;
}

static int revert_in_others(struct undoing *undoing, const struct operation_history *past,
                            const struct operations *operations, struct ethos_error *error)
{
    size_t most = 0;
    json_t *places = json_object();
    for (size_t i = 0; i < past->count; i++)
        most += goes_along(undoing, past, operations, i);
    undoing->others = arena_array(&undoing->changes.arena, most + 1, sizeof *undoing->others);
    int code = places && undoing->others ? ETHOS_OK : err_nomem(error);
    for (size_t i = 0; code == ETHOS_OK && i < past->count; i++)
        if (goes_along(undoing, past, operations, i))
            code = revert_in_other(undoing, places, &past->items[i], error);
    json_decref(places);
    return code;
}

/* ---- a line for each note that comes back ------------------------------------------------------ */

static const struct undoing *file_at(const struct undoing *undoing, size_t index)
{
    return index == 0 ? undoing : &undoing->others[index - 1].undoing;
}

/* Whether undoing restores a deleted note. */
static bool is_returning(const struct undoing *file)
{
    const char *key = file->target->key;
    return undo_text(file).data && !file->changes.now.data && scope_key_visible(key) &&
           strcmp(key, NOTES_INDEX) != 0 && strcmp(key, "USER.md") != 0;
}

static int restore_index_line(struct undoing *index, const struct undoing *file,
                              struct ethos_error *error)
{
    struct note note;
    struct index_entry entry;
    CLEANUP_STR struct str title = {0}, hook = {0}, text = {0};
    struct ethos_view now = undo_text(index);
    if (!is_returning(file) || index_find(now, view_str(file->target->key), &entry))
        return ETHOS_OK;
    str_init(&title, ETHOS_MAX_STORE_BYTES);
    str_init(&hook, ETHOS_MAX_STORE_BYTES);
    str_init(&text, ETHOS_MAX_STORE_BYTES);
    note_parse(undo_text(file), &note);
    int code = note_title(&note, file->target->key, &title);
    if (code == ETHOS_OK)
        code = note_value(note.description, &hook);
    if (code == ETHOS_OK)
        code = index_put(now, str_view(&title), view_str(file->target->key), str_view(&hook),
                         &text);
    code = code == ETHOS_OK ? undo_set_text(index, str_view(&text), "", error) : err_nomem(error);
    return code;
}

/*
 * An operation on notes changes the index as well; a purge may have removed the line from its
 * history.
 */
static int restore_index_lines(struct undoing *undoing, struct ethos_error *error)
{
    struct undoing *index = NULL;
    int code = ETHOS_OK;
    if (strcmp(undoing->target->key, NOTES_INDEX) == 0)
        index = undoing;
    for (size_t i = 0; !index && i < undoing->other_count; i++)
        if (strcmp(undoing->others[i].target.key, NOTES_INDEX) == 0)
            index = &undoing->others[i].undoing;
    if (!index || scope_is_tree(undoing->target->scope))
        return ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i <= undoing->other_count; i++)
        code = restore_index_line(index, file_at(undoing, i), error);
    return code;
}

/* ---- half of a move between scopes ------------------------------------------------------------- */

static int compare_move(void *arg, const struct ethos_change *change)
{
    bool *moved = arg;
    if (!changes_real(change) || undo_is(change))
        return ETHOS_OK;
    *moved = undo_is_move(change);
    return 1;
}

/* Another scope of the turn that has the note, or that it was moved from or to. NULL: none. */
static const char *find_tier(struct ethos_turn *turn, const char *scope, const char *key,
                             bool present)
{
    struct ethos_provider *provider = turn->provider;
    const char *tiers[NOTES_TIERS];
    size_t count = notes_tiers(turn, tiers);
    for (size_t i = 0; i < count; i++) {
        struct ethos_text text = {0};
        bool moved = false;
        if (strcmp(tiers[i], scope) == 0)
            continue;
        bool there = notes_read(turn, tiers[i], key, &text, NULL) == ETHOS_OK && text.data;
        notes_free(turn, &text);
        if (!present)
            provider->ops->history(provider, tiers[i], key, compare_move, &moved, NULL);
        if (present ? there : moved)
            return tiers[i];
    }
    return NULL;
}

bool undo_is_move(const struct ethos_change *change)
{
    return same_word(change->via, NOTES_MOVE);
}

int undo_refuse_move(struct ethos_turn *turn, const char *scope, const char *key, bool came,
                     struct ethos_error *error)
{
    const char *back = came ? find_tier(turn, scope, key, false) : scope;
    int code = err_set(error, ETHOS_DENIED,
                       "%s: was moved between scopes; move it back instead of undoing", key);
    return err_hint(error, code, "ethos notes mv %.*s --scope %s", (int)strlen(key) - 3, key,
                    back ? back : "SCOPE");
}

/*
 * Each scope has recorded its half of the move: undoing one alone would duplicate or lose the note.
 */
static int check_halves(struct undoing *undoing, struct ethos_error *error)
{
    bool moved = undoing->taken > 0 && undo_is_move(undoing->taken_changes[0]);
    for (size_t i = 0; moved && i <= undoing->other_count; i++) {
        const struct undoing *file = file_at(undoing, i);
        const char *key = file->target->key, *scope = file->target->scope;
        bool leaves = file->changes.now.data && !undo_text(file).data;
        if (strcmp(key, NOTES_INDEX) == 0 || (!leaves && !is_returning(file)) ||
            leaves == (find_tier(undoing->turn, scope, key, true) != NULL))
            continue;
        undoing->stuck = true;
        return undo_refuse_move(undoing->turn, scope, key, leaves, error);
    }
    return ETHOS_OK;
}

/* Whether the record of another file undid the changes, because this one had not changed. */
static bool all_undone(const struct operation_history *past, const struct undoing *undoing)
{
    bool undone = undoing->taken > 0;
    for (size_t i = 0; undone && i < undoing->taken; i++) {
        const struct ethos_change *found = find_number(past, undoing->taken_changes[i]->number);
        undone = found && past->undone[found - past->items];
    }
    return undone;
}

int undo_find_others(struct undoing *undoing, struct ethos_error *error)
{
    struct operation_history past;
    struct operations operations = {0};
    uint64_t low = undoing->alone || !SLOT_PROVIDER(undoing->turn->provider, update)
                       ? 0
                       : lowest_number(undoing);
    if (low == 0)
        return ETHOS_OK;
    if (is_imported_note(undoing))
        return undo_text(undoing).data ? ETHOS_OK : drop_line(undoing, error);
    int code = load_past(undoing->turn, undoing->target->scope, low, &past, error);
    if (code == ETHOS_OK && name_operations(&past, undoing, &operations) != ETHOS_OK)
        code = err_nomem(error);
    if (code == ETHOS_OK && all_undone(&past, undoing)) {
        undoing->stuck = true;
        code = err_set(error, ETHOS_NOTFOUND, "%s: nothing to undo", undoing->target->key);
    }
    if (code == ETHOS_OK && operations.count > 0)
        code = revert_in_others(undoing, &past, &operations, error);
    if (code == ETHOS_OK)
        code = check_halves(undoing, error);
    if (code == ETHOS_OK)
        code = restore_index_lines(undoing, error);
    arena_release(&past.arena);
    return code;
}

void undo_release_others(struct undoing *undoing)
{
    for (size_t i = 0; i < undoing->other_count; i++) {
        struct undoing *other = &undoing->others[i].undoing;
        str_release(&other->text);
        str_release(&other->undoes);
        changes_release(other->turn, &other->changes);
    }
    undoing->other_count = 0;
}

/* ---- one write -------------------------------------------------------------------------------- */

static int edit_all(void *arg, struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    const struct undoing *undoing = arg;
    for (size_t i = 0; i < count; i++) {
        const struct undoing *file = file_at(undoing, i);
        const char *found = edits[i].old.data ? edits[i].old.revision : "absent";
        if (strcmp(found, changes_revision(&file->changes)) != 0)
            return update_moved(edits[i].key, found, error);
        edits[i].actions = "restore";
        struct ethos_view text = undo_text(file);
        if (text.data) {
            edits[i].verdict = ETHOS_EDIT_PUT;
            edits[i].text = text;
        } else if (edits[i].old.data) {
            edits[i].verdict = ETHOS_EDIT_DROP;
        }
    }
    return ETHOS_OK;
}

int undo_write_all(struct undoing *undoing, const struct ethos_sync_how *how,
                   struct ethos_error *error)
{
    size_t count = undoing->other_count + 1;
    struct ethos_edit *edits = arena_array(&undoing->changes.arena, count, sizeof *edits);
    if (!edits)
        return err_nomem(error);
    for (size_t i = 0; i < count; i++)
        edits[i].key = file_at(undoing, i)->target->key;
    return handle_update(undoing->turn, undoing->target->scope, edits, count, edit_all, undoing,
                         how, error);
}

/* ---- the last operation of a scope ------------------------------------------------------------ */

/* Walks back to the first change that is neither undone nor an undo. */
struct newest_search {
    const char *scope;
    json_t *undone;  /* numbers */
    uint64_t number; /* 0: none yet */
    uint64_t group;  /* of an emptied index; a note of the same operation is preferred */
    char key[ETHOS_MAX_KEY + 1];
};

static bool add_undone_numbers(json_t *undone, const char *numbers)
{
    char *end, name[24];
    bool ok = true;
    for (const char *at = numbers; ok && *at; at = *end ? end + 1 : end) {
        snprintf(name, sizeof name, "%llu", strtoull(at, &end, 10));
        if (end == at)
            break;
        ok = json_object_set_new(undone, name, json_true()) == 0;
    }
    return ok;
}

static int find_newest(void *arg, const struct ethos_change *change)
{
    struct newest_search *newest = arg;
    char name[24];
    snprintf(name, sizeof name, "%" PRIu64, change->number);
    if (!changes_real(change) || json_object_get(newest->undone, name))
        return ETHOS_OK;
    if (change->undoes && !add_undone_numbers(newest->undone, change->undoes))
        return ETHOS_NOMEM;
    if (undo_is(change) || change->number == 0 || !scope_key_shown(newest->scope, change->key))
        return ETHOS_OK;
    if (newest->number && change->group != newest->group)
        return 1;
    newest->number = change->number;
    newest->group = change->group;
    snprintf(newest->key, sizeof newest->key, "%s", change->key);
    return is_index(change) && change->group && undo_is_purge(change) ? ETHOS_OK : 1;
}

int undo_newest(struct ethos_turn *turn, const char *scope, char out_key[ETHOS_MAX_KEY + 1],
                uint64_t *out_number, struct ethos_error *error)
{
    struct ethos_provider *provider = turn->provider;
    struct newest_search newest = {.scope = scope, .undone = json_object()};
    int code = changes_need(turn, SLOT_PROVIDER(provider, history), error);
    if (code == ETHOS_OK && SLOT_PROVIDER(provider, settle))
        provider->ops->settle(provider, scope, NOTES_INDEX, NULL);
    if (code == ETHOS_OK)
        code = newest.undone
                   ? provider->ops->history(provider, scope, NULL, find_newest, &newest, error)
                   : ETHOS_NOMEM;
    json_decref(newest.undone);
    if (code == 1 || (code == ETHOS_OK && newest.number)) {
        memcpy(out_key, newest.key, sizeof newest.key);
        *out_number = newest.number;
        return ETHOS_OK;
    }
    if (code == ETHOS_OK)
        return err_set(error, ETHOS_NOTFOUND, "%s: nothing to undo", scope);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

struct wanted {
    uint64_t number;
    bool found;
    char key[ETHOS_MAX_KEY + 1], other[ETHOS_MAX_KEY + 1]; /* other: "" for none */
};

/* Histories merged by git may have a number twice, even for two files. */
static int compare_number(void *arg, const struct ethos_change *change)
{
    struct wanted *wanted = arg;
    if (change->number != wanted->number)
        return ETHOS_OK;
    if (!wanted->found)
        snprintf(wanted->key, sizeof wanted->key, "%s", change->key);
    else if (changes_real(change) && strcmp(wanted->key, change->key) != 0)
        snprintf(wanted->other, sizeof wanted->other, "%s", change->key);
    wanted->found = true;
    return *wanted->other ? 1 : ETHOS_OK;
}

int undo_find_number(struct ethos_turn *turn, const char *scope, uint64_t number,
                     char out_key[ETHOS_MAX_KEY + 1], struct ethos_error *error)
{
    struct ethos_provider *provider = turn->provider;
    struct wanted wanted = {.number = number};
    int code = changes_need(turn, SLOT_PROVIDER(provider, history), error);
    if (code == ETHOS_OK)
        code = provider->ops->history(provider, scope, NULL, compare_number, &wanted, error);
    if (code == 1)
        return err_hint(error,
                        err_set(error, ETHOS_INVALID,
                                "%s: two changes have the number %" PRIu64 ": of %s and of %s",
                                scope, number, wanted.key, wanted.other),
                        "name the file: ethos memory undo --scope %s --key %s --change %" PRIu64,
                        scope, wanted.key, number);
    if (code == ETHOS_OK && !wanted.found)
        return err_hint(error,
                        err_set(error, ETHOS_NOTFOUND, "%s: no change %" PRIu64, scope, number),
                        "ethos memory timeline lists them");
    if (code == ETHOS_OK)
        memcpy(out_key, wanted.key, sizeof wanted.key);
    return code;
}
