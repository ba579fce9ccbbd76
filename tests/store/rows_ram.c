/*
 * rows_ram.c: the smallest database: four tables and a number for each scope, in memory.
 *
 * A list of items for each table; an item never changes. A commit makes all its items
 * first and links them afterwards, which cannot fail: an item takes the place of the one with its name, and
 * one that says nothing takes it away.
 */
#include "rows_ram.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/view.h"
#include "core/history/history.h"
#include "store/update_steps.h"

enum table { VERSION, TEXTS, ROWS, OPERATIONS, COPIES, TABLES };

struct item {
    struct item *next;
    struct arena arena; /* of all that it points at */
    const char *scope, *name;
    enum table table;
    bool gone;              /* takes away what has its name */
    uint64_t number;        /* of a version */
    struct ethos_view text; /* of a text, an operation or a copy; the token of a version */
    int64_t time_ms;
    const char *revision, *key; /* of a text; of a copy */
    struct ethos_row row;
};

struct handle;

struct rows_ram {
    const struct ethos_host *host;
    struct item *tables[TABLES]; /* each ordered by scope and name */
    struct handle *handles;
    struct rows_ram_hooks hooks;
};

#define MOST_CHANGED                                                                               \
    64 /* scopes that a store remembers to have changed; of more, that all may have */

struct handle {
    struct ethos_store store;
    struct rows_ram *db;
    struct handle *next;
    int fd; /* an eventfd(2) while it watches, or -1 */
    bool any, deaf;
    char changed[MOST_CHANGED][ETHOS_MAX_SCOPE];
    size_t changed_count;
};

static struct rows_ram *db_of(struct ethos_store *self)
{
    return ((struct handle *)self)->db;
}

static int is_down(const struct rows_ram *db, struct ethos_error *error)
{
    return db->hooks.down ? err_set(error, db->hooks.down, "rows-ram: made not to answer")
                          : ETHOS_OK;
}

/* ---- items ---------------------------------------------------------------------------------- */

/* The link to the first item that does not come before these names. */
static struct item **find(struct rows_ram *db, const char *scope, enum table table,
                          const char *name)
{
    struct item **link = &db->tables[table];
    for (; *link; link = &(*link)->next) {
        int order = strcmp((*link)->scope, scope);
        if (order > 0 || (order == 0 && strcmp((*link)->name, name) >= 0))
            break;
    }
    return link;
}

static bool is_in(const struct item *item, const char *scope)
{
    return item && strcmp(item->scope, scope) == 0;
}

static struct item *get(struct rows_ram *db, const char *scope, enum table table, const char *name)
{
    struct item *item = *find(db, scope, table, name);
    return is_in(item, scope) && strcmp(item->name, name) == 0 ? item : NULL;
}

static void free_item(struct item *item)
{
    if (item)
        arena_release(&item->arena);
    free(item);
}

static void free_chain(struct item *chain)
{
    while (chain) {
        struct item *item = chain;
        chain = item->next;
        free_item(item);
    }
}

/* At the front of *chain. NULL without memory. */
static struct item *make(struct item **chain, const char *scope, enum table table, const char *name,
                         struct ethos_view text)
{
    struct item *item = calloc(1, sizeof *item);
    if (!item)
        return NULL;
    arena_init(&item->arena);
    item->next = *chain;
    *chain = item;
    item->table = table;
    item->scope = arena_str(&item->arena, scope);
    item->name = arena_str(&item->arena, name);
    item->gone = !text.data;
    item->text = view_of(text.data ? arena_copy(&item->arena, text) : NULL, text.size);
    return item->scope && item->name && (item->text.data || item->gone) ? item : NULL;
}

/* Newest first, in byte order. */
static void name_row(uint64_t number, char out[24])
{
    snprintf(out, 24, "%020" PRIu64, UINT64_MAX - number);
}

static void link_items(struct rows_ram *db, struct item *chain)
{
    while (chain) {
        struct item *item = chain, **link = find(db, item->scope, item->table, item->name);
        struct item *old = get(db, item->scope, item->table, item->name);
        chain = item->next;
        if (old)
            *link = old->next;
        free_item(old);
        item->next = *link;
        if (item->gone)
            free_item(item);
        else
            *link = item;
    }
}

/* ---- reading -------------------------------------------------------------------------------- */

static int db_read(struct ethos_store *self, const char *scope, const char *key,
                   const struct ethos_read_how *how, struct ethos_text *out_text,
                   struct ethos_error *error)
{
    struct rows_ram *db = db_of(self);
    const struct item *item = get(db, scope, TEXTS, key);
    if (is_down(db, error) != ETHOS_OK)
        return db->hooks.down;
    if (!item)
        return err_set(error, ETHOS_NOTFOUND, "%s: not found", key);
    const char *revision = how->flags & ETHOS_READ_REVISION ? item->revision : "";
    return edit_fill_text(db->host, item->text, revision, item->time_ms, out_text, error);
}

static int db_list(struct ethos_store *self, const char *scope, ethos_entry_fn *each, void *arg,
                   struct ethos_error *error)
{
    int code = is_down(db_of(self), error);
    for (const struct item *item = *find(db_of(self), scope, TEXTS, "");
         code == ETHOS_OK && is_in(item, scope); item = item->next) {
        const struct ethos_entry entry = {item->name, item->text.size, item->time_ms};
        code = each(arg, &entry);
    }
    return code;
}

static void call_once(struct rows_ram *db, void (**hook)(void *))
{
    void (*call)(void *) = *hook;
    *hook = NULL;
    if (call)
        call(db->hooks.arg);
}

static int fetch_operations(struct rows_ram *db, const char *scope, struct ethos_fetch *fetch,
                            struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < fetch->op_count; i++) {
        const struct item *item = get(db, scope, OPERATIONS, fetch->op_ids[i]);
        if (item)
            code = edit_fill_text(db->host, item->text, "", -1, &fetch->records[i], error);
    }
    return code;
}

static int db_fetch(struct ethos_store *self, const char *scope, struct ethos_fetch *fetch,
                    struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0, ETHOS_READ_REVISION};
    struct rows_ram *db = db_of(self);
    int code = is_down(db, error);
    db->hooks.fetches++;
    fetch->version = rows_ram_version(db, scope);
    for (size_t i = 0; code == ETHOS_OK && i < fetch->count; i++) {
        struct ethos_edit *edit = &fetch->edits[i];
        if (get(db, scope, TEXTS, edit->key))
            code = db_read(self, scope, edit->key, &whole, &edit->old, error);
    }
    if (code == ETHOS_OK)
        code = fetch_operations(db, scope, fetch, error);
    call_once(db, &db->hooks.between);
    return code;
}

static int db_rows(struct ethos_store *self, const char *scope, const char *key, uint64_t below,
                   size_t limit, ethos_row_fn *each, void *arg, struct ethos_error *error)
{
    char first[24];
    int code = is_down(db_of(self), error);
    name_row(below ? below - 1 : UINT64_MAX, first);
    db_of(self)->hooks.pages++;
    for (const struct item *item = *find(db_of(self), scope, ROWS, first);
         code == ETHOS_OK && limit > 0 && is_in(item, scope); item = item->next) {
        if (key && strcmp(item->row.change.key, key) != 0)
            continue;
        code = each(arg, &item->row);
        db_of(self)->hooks.rows++;
        limit--;
    }
    call_once(db_of(self), &db_of(self)->hooks.after_page);
    return code;
}

static int db_copies(struct ethos_store *self, const char *scope, const char *id,
                     ethos_copy_fn *each, void *arg, struct ethos_error *error)
{
    int code = is_down(db_of(self), error);
    for (const struct item *item = *find(db_of(self), scope, COPIES, id ? id : "");
         code == ETHOS_OK && is_in(item, scope); item = item->next) {
        const struct ethos_copy copy = {item->name, item->key, item->time_ms, item->text};
        if (id && strcmp(item->name, id) != 0)
            break;
        code = each(arg, &copy);
    }
    return code;
}

static int db_scopes(struct ethos_store *self, ethos_scope_fn *each, void *arg,
                     struct ethos_error *error)
{
    int code = is_down(db_of(self), error);
    for (const struct item *item = db_of(self)->tables[VERSION]; code == ETHOS_OK && item;
         item = item->next)
        code = each(arg, item->scope);
    return code;
}

/* ---- committing ----------------------------------------------------------------------------- */

static bool make_texts(const char *scope, const struct ethos_commit *commit, struct item **chain)
{
    for (size_t i = 0; i < commit->edit_count; i++) {
        const struct ethos_edit *edit = &commit->edits[i];
        if (edit->verdict != ETHOS_EDIT_PUT && edit->verdict != ETHOS_EDIT_DROP)
            continue;
        bool put = edit->verdict == ETHOS_EDIT_PUT;
        struct item *item = make(chain, scope, TEXTS, edit->key,
                                 put ? edit->text : (struct ethos_view){0});
        if (!item || !(item->revision = arena_str(&item->arena, edit->revision)))
            return false;
        item->time_ms = commit->time_ms;
    }
    return true;
}

static bool make_rows(const char *scope, const struct ethos_commit *commit, struct item **chain)
{
    char name[24];
    for (size_t i = 0; i < commit->row_count; i++) {
        const struct ethos_row *row = &commit->rows[i];
        name_row(row->change.number, name);
        struct item *item = make(chain, scope, ROWS, name, VIEW(""));
        if (!item || history_copy(&row->change, &item->arena, &item->row.change) != ETHOS_OK)
            return false;
        item->row.whole = row->whole;
        if (row->whole.data && !(item->row.whole.data = arena_copy(&item->arena, row->whole)))
            return false;
        item->row.base = row->base;
        if (row->base.data && !(item->row.base.data = arena_copy(&item->arena, row->base)))
            return false;
    }
    return true;
}

static bool make_rest(const char *scope, const struct ethos_commit *commit, struct item **chain)
{
    for (size_t i = 0; i < commit->done_count; i++) {
        const struct ethos_done *done = &commit->done[i];
        struct item *item = make(chain, scope, OPERATIONS, done->op_id, done->record);
        if (!item)
            return false;
        item->time_ms = commit->time_ms;
    }
    for (size_t i = 0; i < commit->copy_count; i++) {
        const struct ethos_copy *copy = &commit->copies[i];
        struct item *item = make(chain, scope, COPIES, copy->id, copy->text);
        if (!item || !(item->key = arena_str(&item->arena, copy->key)))
            return false;
        item->time_ms = copy->time_ms;
    }
    struct item *version = make(chain, scope, VERSION, "", view_str(commit->token));
    if (version)
        version->number = commit->next;
    return version;
}

static struct item **find_oldest(struct rows_ram *db, const char *scope)
{
    struct item **oldest = find(db, scope, OPERATIONS, "");
    for (struct item **link = oldest; is_in(*link, scope); link = &(*link)->next)
        if ((*link)->time_ms < (*oldest)->time_ms)
            oldest = link;
    return oldest;
}

static void forget(struct rows_ram *db, const char *scope, const struct ethos_commit *commit)
{
    size_t count = rows_ram_operations(db, scope);
    for (unsigned i = 0; count > commit->keep && i < ETHOS_OPID_AT_ONCE; i++, count--) {
        struct item **link = find_oldest(db, scope), *item = *link;
        if (item->time_ms >= commit->forget_ms)
            break;
        *link = item->next;
        free_item(item);
    }
}

/* Remembers for everyone who watches that a scope changed. */
static void notify(struct rows_ram *db, const char *scope)
{
    for (struct handle *handle = db->handles; handle; handle = handle->next) {
        if (handle->fd < 0 || db->hooks.deaf)
            continue;
        handle->any = handle->any || handle->changed_count == MOST_CHANGED;
        if (!handle->any)
            snprintf(handle->changed[handle->changed_count++], ETHOS_MAX_SCOPE, "%s", scope);
        eventfd_write(handle->fd, 1);
    }
}

static int commit_now(struct rows_ram *db, const char *scope, const struct ethos_commit *commit,
                      struct ethos_error *error)
{
    struct item *chain = NULL;
    if (rows_ram_version(db, scope) != commit->version)
        return err_set(error, ETHOS_CONFLICT, "%s: has moved", scope);
    if (make_texts(scope, commit, &chain) && make_rows(scope, commit, &chain) &&
        make_rest(scope, commit, &chain)) {
        link_items(db, chain);
        notify(db, scope);
        if (commit->forget_ms)
            forget(db, scope, commit);
        return ETHOS_OK;
    }
    free_chain(chain);
    return err_nomem(error);
}

static int db_commit(struct ethos_store *self, const char *scope, const struct ethos_commit *commit,
                     struct ethos_error *error)
{
    struct rows_ram *db = db_of(self);
    int fails = db->hooks.fails ? db->hooks.fails : db->hooks.down, loses = db->hooks.loses;
    db->hooks.commits++;
    db->hooks.forgets += commit->forget_ms != 0;
    db->hooks.fails = db->hooks.loses = 0;
    if (db->hooks.conflicts > 0) {
        db->hooks.conflicts--;
        return err_set(error, ETHOS_CONFLICT, "%s: made to move", scope);
    }
    if (fails)
        return err_set(error, fails, "%s: made to fail", scope);
    int code = commit_now(db, scope, commit, error);
    if (loses && db->hooks.then)
        db->hooks.down = db->hooks.then;
    return loses && code == ETHOS_OK ? err_set(error, loses, "%s: the answer was lost", scope)
                                     : code;
}

/* ---- watching ------------------------------------------------------------------------------- */

static int tell_changed(struct handle *handle, ethos_scope_fn *each, void *arg)
{
    int code = handle->any ? each(arg, NULL) : ETHOS_OK;
    for (size_t i = 0; !handle->any && code == ETHOS_OK && i < handle->changed_count; i++)
        code = each(arg, handle->changed[i]);
    handle->any = false;
    handle->changed_count = 0;
    return code;
}

static int db_watch(struct ethos_store *self, ethos_scope_fn *each, void *arg, int *out_fd,
                    unsigned *out_wait_ms, struct ethos_error *error)
{
    struct handle *handle = (struct handle *)self;
    eventfd_t count;
    int code = is_down(handle->db, error);
    handle->db->hooks.watches++;
    if (code != ETHOS_OK)
        return code;
    if (handle->fd < 0 && (handle->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) < 0)
        return err_set(error, ETHOS_IO, "rows-ram: eventfd");
    eventfd_read(handle->fd, &count);
    handle->any = handle->any || (handle->deaf && !handle->db->hooks.deaf);
    handle->deaf = handle->db->hooks.deaf;
    *out_fd = handle->deaf ? -1 : handle->fd;
    *out_wait_ms = handle->deaf ? 20 : 0;
    return tell_changed(handle, each, arg);
}

/* ---- life ----------------------------------------------------------------------------------- */

static void db_close(struct ethos_store *self)
{
    struct handle *handle = (struct handle *)self, **link = &handle->db->handles;
    while (*link != handle)
        link = &(*link)->next;
    *link = handle->next;
    if (handle->fd >= 0)
        close(handle->fd);
    free(handle);
}

static const struct ethos_store_ops db_ops = {
    .abi = ETHOS_ABI,
    .name = "rows-ram",
    .close = db_close,
    .read = db_read,
    .list = db_list,
    .scopes = db_scopes,
    .watch = db_watch,
    .fetch = db_fetch,
    .commit = db_commit,
    .rows = db_rows,
    .copies = db_copies,
};

struct ethos_store *rows_ram_open(struct rows_ram *db)
{
    struct handle *handle = calloc(1, sizeof *handle);
    if (!handle)
        return NULL;
    *handle = (struct handle){.store.ops = &db_ops, .db = db, .next = db->handles, .fd = -1};
    db->handles = handle;
    return &handle->store;
}

struct rows_ram *rows_ram_new(const struct ethos_host *host)
{
    struct rows_ram *db = calloc(1, sizeof *db);
    if (db)
        db->host = host;
    return db;
}

void rows_ram_clear(struct rows_ram *db)
{
    for (size_t i = 0; i < TABLES; i++) {
        free_chain(db->tables[i]);
        db->tables[i] = NULL;
    }
}

void rows_ram_free(struct rows_ram *db)
{
    if (db)
        rows_ram_clear(db);
    free(db);
}

/* ---- for tests ------------------------------------------------------------------------------ */

struct rows_ram_hooks *rows_ram_hooks(struct rows_ram *db)
{
    return &db->hooks;
}

uint64_t rows_ram_version(struct rows_ram *db, const char *scope)
{
    const struct item *item = get(db, scope, VERSION, "");
    return item ? item->number : 0;
}

size_t rows_ram_operations(const struct rows_ram *db, const char *scope)
{
    size_t count = 0;
    for (const struct item *item = db->tables[OPERATIONS]; item; item = item->next)
        count += is_in(item, scope) ? 1 : 0;
    return count;
}

struct ethos_row *rows_ram_row(struct rows_ram *db, const char *scope, uint64_t number)
{
    char name[24];
    name_row(number, name);
    struct item *item = get(db, scope, ROWS, name);
    return item ? &item->row : NULL;
}

bool rows_ram_holds(const struct rows_ram *db, struct ethos_view needle)
{
    for (size_t i = 0; i < TABLES; i++)
        for (const struct item *item = db->tables[i]; item; item = item->next)
            if (view_contains(item->text, needle) || view_contains(item->row.change.diff, needle) ||
                view_contains(item->row.whole, needle) || view_contains(item->row.base, needle))
                return true;
    return false;
}
