/*
 * scope_history.c: the history of one side of a migration: its changes in order, and the texts
 * between them.
 *
 * A text is made from the previous one by the diff, and checked by its hash; only if that fails is
 * the version read from the store. So all versions of a long history cost about one walk through
 * it.
 */
#include "memory/migrate/scope_history.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/view.h"
#include "core/history/history.h"
#include "core/history/patch.h"
#include "core/memory/scope.h"
#include "core/memory/wire.h"

#define DIFF_LIMIT 1 /* ends a walk: too many */

/* ---- changes --------------------------------------------------------------------------------- */

struct collecting {
    const char *scope;
    struct scope_history *past;
};

static int add_history_change(void *arg, const struct ethos_change *change)
{
    struct collecting *collecting = arg;
    struct scope_history *past = collecting->past;
    if (scope_key_check(collecting->scope, change->key, NULL) != ETHOS_OK) {
        past->skipped++;
        return ETHOS_OK;
    }
    struct ethos_change *rows = arena_grow(&past->arena, past->rows, past->count, &past->capacity,
                                           sizeof *rows);
    if (!rows)
        return ETHOS_NOMEM;
    past->rows = rows;
    past->bytes += change->diff.size;
    if (past->bytes > ETHOS_MAX_HISTORY_BYTES)
        return DIFF_LIMIT;
    return history_copy(change, &past->arena, &rows[past->count++]);
}

static void turn_around(struct scope_history *past)
{
    for (size_t i = 0, k = past->count; i + 1 < k; i++) {
        struct ethos_change swap = past->rows[i];
        past->rows[i] = past->rows[--k];
        past->rows[k] = swap;
    }
}

int past_collect(struct ethos_store *store, const char *scope, struct scope_history *out,
                 struct ethos_error *error)
{
    struct collecting collecting = {scope, out};
    *out = (struct scope_history){0};
    arena_init(&out->arena);
    int code = store->ops->history(store, scope, NULL, add_history_change, &collecting, error);
    if (code == ETHOS_NOMEM)
        err_nomem(error);
    if (code == DIFF_LIMIT)
        code = err_set(error, ETHOS_LIMIT, "%s: more than %d bytes of history", scope,
                       ETHOS_MAX_HISTORY_BYTES);
    turn_around(out);
    return code;
}

void past_release(struct scope_history *past)
{
    arena_release(&past->arena);
    *past = (struct scope_history){0};
}

/* Every string that matters; numbers are handled separately. */
static const size_t members[] = {
    offsetof(struct ethos_change, key),         offsetof(struct ethos_change, actions),
    offsetof(struct ethos_change, source),      offsetof(struct ethos_change, via),
    offsetof(struct ethos_change, actor),       offsetof(struct ethos_change, session),
    offsetof(struct ethos_change, session_key), offsetof(struct ethos_change, user),
    offsetof(struct ethos_change, op_id),       offsetof(struct ethos_change, event),
    offsetof(struct ethos_change, undoes),      offsetof(struct ethos_change, before),
    offsetof(struct ethos_change, after),       offsetof(struct ethos_change, trust),
    offsetof(struct ethos_change, approved_by), offsetof(struct ethos_change, edited_from),
};
#define MEMBERS (sizeof members / sizeof *members)

/* An operation id that the remote backend made for its requests is nobody's, and is left out. */
static const char *get_change_member(const struct ethos_change *change, size_t index)
{
    const char *const *at = (const char *const *)(const void *)((const char *)change +
                                                                members[index]);
    bool made = members[index] == offsetof(struct ethos_change, op_id) && *at &&
                strncmp(*at, WIRE_OP, sizeof WIRE_OP - 1) == 0;
    return *at && !made ? *at : "";
}

bool past_same(const struct ethos_change *a, const struct ethos_change *b)
{
    bool same = a->number == b->number && a->time_ms == b->time_ms;
    for (size_t i = 0; same && i < MEMBERS; i++)
        same = strcmp(get_change_member(a, i), get_change_member(b, i)) == 0;
    return same;
}

void past_print(const struct ethos_change *change, struct str *out)
{
    str_printf(out, "%" PRIu64 " %" PRId64, change->number, change->time_ms);
    for (size_t i = 0; i < MEMBERS; i++)
        str_printf(out, " %zu:%s", strlen(get_change_member(change, i)),
                   get_change_member(change, i));
    str_addc(out, '\n');
}

bool past_is_seen(const struct ethos_change *change)
{
    return change->via && strcmp(change->via, "seen") == 0;
}

bool past_is_added(const struct ethos_change *change)
{
    return change->via && strcmp(change->via, MIGRATE_VIA) == 0 && change->actor &&
           strcmp(change->actor, "ethos") == 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

void names_init(struct names *names)
{
    *names = (struct names){0};
    arena_init(&names->arena);
}

int names_add(struct names *names, const char *name)
{
    const char **list = arena_grow(&names->arena, names->list, names->count, &names->capacity,
                                   sizeof *list);
    if (!list)
        return ETHOS_NOMEM;
    names->list = list;
    const char *copy = arena_str(&names->arena, name);
    names->list[names->count] = copy;
    names->count += copy ? 1 : 0;
    return copy ? ETHOS_OK : ETHOS_NOMEM;
}

static int compare_string_pointers(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void names_sort(struct names *names)
{
    size_t kept = 0;
    if (names->count > 1)
        qsort(names->list, names->count, sizeof *names->list, compare_string_pointers);
    for (size_t i = 0; i < names->count; i++) {
        if (kept == 0 || strcmp(names->list[kept - 1], names->list[i]) != 0)
            names->list[kept++] = names->list[i];
    }
    names->count = kept;
}

size_t names_find(const struct names *names, const char *name)
{
    const char **found = names->count == 0 ? NULL
                                           : bsearch(&name, names->list, names->count,
                                                     sizeof *names->list, compare_string_pointers);
    return found ? (size_t)(found - names->list) : names->count;
}

void names_release(struct names *names)
{
    arena_release(&names->arena);
    *names = (struct names){0};
}

static int add_scope_name(void *arg, const char *scope)
{
    return names_add(arg, scope);
}

int names_of_scopes(struct ethos_store *store, struct names *out, struct ethos_error *error)
{
    names_init(out);
    int code = store->ops->scopes(store, add_scope_name, out, error);
    names_sort(out);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

struct key_walk {
    const char *scope;
    struct names *names;
};

static int add_stored_key(void *arg, const struct ethos_entry *entry)
{
    struct key_walk *walk = arg;
    return scope_key_is_stored(walk->scope, entry->key) ? names_add(walk->names, entry->key)
                                                        : ETHOS_OK;
}

int names_of_keys(struct ethos_store *store, const char *scope, const struct scope_history *past,
                  struct names *out, struct ethos_error *error)
{
    struct key_walk walk = {scope, out};
    names_init(out);
    int code = store->ops->list(store, scope, add_stored_key, &walk, error);
    for (size_t i = 0; code == ETHOS_OK && i < past->count; i++) {
        bool again = i > 0 && strcmp(past->rows[i].key, past->rows[i - 1].key) == 0;
        code = again ? ETHOS_OK : names_add(out, past->rows[i].key);
    }
    names_sort(out);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

/* ---- texts on the way ------------------------------------------------------------------------ */

static int add_keys(struct names *names, const struct ethos_change *rows, size_t count)
{
    int code = ETHOS_OK;
    names_init(names);
    for (size_t i = 0; code == ETHOS_OK && i < count; i++) {
        bool again = i > 0 && strcmp(rows[i].key, rows[i - 1].key) == 0;
        code = again ? ETHOS_OK : names_add(names, rows[i].key);
    }
    names_sort(names);
    return code;
}

int replay_begin(struct replay *replay, const struct ethos_host *host, struct ethos_store *store,
                 const char *scope, const struct ethos_change *rows, size_t count,
                 struct ethos_error *error)
{
    *replay = (struct replay){.host = host, .store = store, .scope = scope};
    str_init(&replay->spare, ETHOS_MAX_STORE_BYTES);
    if (add_keys(&replay->names, rows, count) != ETHOS_OK)
        return err_nomem(error);
    size_t keys = replay->names.count;
    replay->keys = arena_array(&replay->names.arena, keys + 1, sizeof *replay->keys);
    if (!replay->keys)
        return err_nomem(error);
    for (size_t i = 0; i < keys; i++) {
        replay->keys[i] = (struct replay_key){.revision = "absent", .state = REPLAY_KNOWN};
        str_init(&replay->keys[i].text, ETHOS_MAX_STORE_BYTES);
    }
    return ETHOS_OK;
}

static struct replay_key *key_of(const struct replay *replay, const struct ethos_change *change)
{
    return &replay->keys[names_find(&replay->names, change->key)];
}

static bool is_absent_text(const char *revision)
{
    return strcmp(revision, "absent") == 0;
}

void replay_skip(struct replay *replay, const struct ethos_change *change)
{
    struct replay_key *key = key_of(replay, change);
    if (past_is_seen(change))
        return;
    key->revision = change->after;
    key->state = is_absent_text(change->after) ? REPLAY_KNOWN : REPLAY_UNREAD;
}

static bool has_revision(struct ethos_view text, const char *revision)
{
    char real[ETHOS_REVISION_SIZE];
    hash_revision(text, real);
    return strcmp(real, revision) == 0;
}

static int copy_text_view(struct arena *arena, struct ethos_view text, struct ethos_view *out,
                          struct ethos_error *error)
{
    const char *copy = arena_copy(arena, text);
    *out = view_of(copy, text.size);
    return copy ? ETHOS_OK : err_nomem(error);
}

/* Reads a version from the store, or the current text; the absent view if it is lost. */
static int read_stored_version(struct replay *replay, const char *key, const char *revision,
                               struct arena *arena, struct ethos_view *out,
                               struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    struct ethos_store *store = replay->store;
    struct ethos_text *text = &replay->text;
    *out = (struct ethos_view){0};
    for (int now = 0; now < 2 && !out->data; now++) {
        int code = now ? store->ops->read(store, replay->scope, key, &whole, text, error)
                       : store->ops->version(store, replay->scope, key, revision, text, error);
        if (code == ETHOS_NOTFOUND || code == ETHOS_CORRUPT)
            continue;
        if (code != ETHOS_OK)
            return code;
        struct ethos_view found = view_of(text->size ? text->data : "", text->size);
        if (has_revision(found, revision))
            return copy_text_view(arena, found, out, error);
    }
    return ETHOS_OK;
}

/* The current text of a key, in the arena. */
static int load_current_text(struct replay *replay, struct replay_key *key, const char *name,
                             struct arena *arena, struct ethos_error *error)
{
    int code = ETHOS_OK;
    if (key->view.data || is_absent_text(key->revision) || key->state == REPLAY_LOST)
        return ETHOS_OK;
    if (key->state == REPLAY_KNOWN)
        return copy_text_view(arena, str_view(&key->text), &key->view, error);
    code = read_stored_version(replay, name, key->revision, arena, &key->view, error);
    key->state = key->view.data ? REPLAY_KNOWN : REPLAY_LOST;
    key->unsaved = true;
    return code;
}

static int find_text_before(struct replay *replay, struct replay_key *key,
                            const struct ethos_change *change, struct arena *arena,
                            struct ethos_view *out, struct ethos_error *error)
{
    *out = (struct ethos_view){0};
    if (is_absent_text(change->before))
        return ETHOS_OK;
    if (strcmp(key->revision, change->before) != 0)
        return read_stored_version(replay, change->key, change->before, arena, out, error);
    int code = load_current_text(replay, key, change->key, arena, error);
    *out = key->view;
    return code;
}

static int find_after(struct replay *replay, const struct ethos_row *row, struct arena *arena,
                      struct ethos_view *out, struct ethos_error *error)
{
    const struct ethos_change *change = &row->change;
    bool before = row->base.data || is_absent_text(change->before);
    *out = (struct ethos_view){0};
    if (is_absent_text(change->after))
        return ETHOS_OK;
    if (strcmp(change->before, change->after) == 0) {
        *out = row->base;
        return ETHOS_OK;
    }
    int code = before && change->diff.data
                   ? patch_apply(change->diff, row->base, false, &replay->spare)
                   : ETHOS_CONFLICT;
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    if (code == ETHOS_OK && has_revision(str_view(&replay->spare), change->after))
        return copy_text_view(arena, str_view(&replay->spare), out, error);
    return read_stored_version(replay, change->key, change->after, arena, out, error);
}

int replay_step(struct replay *replay, const struct ethos_change *change, struct arena *arena,
                struct ethos_row *out, struct ethos_error *error)
{
    struct replay_key *key = key_of(replay, change);
    *out = (struct ethos_row){.change = *change};
    int code = find_text_before(replay, key, change, arena, &out->base, error);
    if (code == ETHOS_OK)
        code = find_after(replay, out, arena, &out->whole, error);
    key->told = true;
    if (code != ETHOS_OK || past_is_seen(change))
        return code;
    bool known = out->whole.data || is_absent_text(change->after);
    key->revision = change->after;
    key->view = out->whole;
    key->state = known ? REPLAY_KNOWN : REPLAY_LOST;
    key->moved = key->unsaved = true;
    return ETHOS_OK;
}

bool replay_is_sound(const struct replay *replay)
{
    for (size_t i = 0; i < replay->names.count; i++) {
        if (replay->keys[i].moved && replay->keys[i].state == REPLAY_LOST)
            return false;
    }
    return true;
}

int replay_rest(struct replay *replay, struct ethos_error *error)
{
    for (size_t i = 0; i < replay->names.count; i++) {
        struct replay_key *key = &replay->keys[i];
        if (key->unsaved) {
            str_clear(&key->text);
            if (str_add(&key->text, key->view) != ETHOS_OK)
                return err_nomem(error);
        }
        key->told = key->moved = key->unsaved = false;
        key->view = (struct ethos_view){0};
    }
    return ETHOS_OK;
}

void replay_end(struct replay *replay)
{
    for (size_t i = 0; replay->keys && i < replay->names.count; i++)
        str_release(&replay->keys[i].text);
    str_release(&replay->spare);
    if (replay->text.data)
        replay->host->resize(replay->host->arg, replay->text.data, 0);
    names_release(&replay->names);
}
