/*
 * migrate.c: migrates all scopes, one after the other, and verifies that both sides are equal.
 *
 * A scope that changed meanwhile is processed again to copy the new changes. Then each side is read
 * from the start by itself, and the digests are compared.
 */
#include "memory/migrate/migrate.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "memory/migrate/scope_history.h"

int migrate_go_on(const struct migrate *self, struct ethos_error *error)
{
    if (!self->stopped || !self->stopped(self->arg))
        return ETHOS_OK;
    int code = err_set(error, ETHOS_BUSY, "interrupted");
    return err_hint(error, code, "what was copied stays; run the same command again to continue");
}

/* ---- copies ---------------------------------------------------------------------------------- */

static int add_conflict_copy(void *arg, const struct ethos_conflict *conflict)
{
    struct copies *copies = arg;
    struct ethos_copy *list = arena_grow(&copies->arena, copies->list, copies->count,
                                         &copies->capacity, sizeof *list);
    if (!list)
        return ETHOS_NOMEM;
    copies->list = list;
    struct ethos_copy *copy = &list[copies->count++];
    *copy = (struct ethos_copy){.id = arena_str(&copies->arena, conflict->id),
                                .key = arena_str(&copies->arena, conflict->key),
                                .time_ms = conflict->time_ms};
    return copy->id && copy->key ? ETHOS_OK : ETHOS_NOMEM;
}

/* Skips a copy that is gone. */
static int read_copies(struct ethos_store *store, const char *scope, struct copies *copies,
                       struct ethos_text *text, struct ethos_error *error)
{
    size_t kept = 0;
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < copies->count; i++) {
        struct ethos_copy *copy = &copies->list[i];
        code = store->ops->conflict_read(store, scope, copy->id, text, error);
        if (code == ETHOS_NOTFOUND) {
            code = ETHOS_OK;
            continue;
        }
        const struct ethos_view found = view_of(text->size ? text->data : "", text->size);
        if (code == ETHOS_OK)
            copy->text = view_of(arena_copy(&copies->arena, found), found.size);
        if (code == ETHOS_OK && !copy->text.data)
            code = err_nomem(error);
        copies->list[kept++] = *copy;
    }
    copies->count = kept;
    return code;
}

int copies_collect(const struct ethos_host *host, struct ethos_store *store, const char *scope,
                   struct copies *out, struct ethos_error *error)
{
    struct ethos_text text = {0};
    *out = (struct copies){0};
    arena_init(&out->arena);
    if (!store->ops->conflicts || !store->ops->conflict_read)
        return ETHOS_OK;
    int code = store->ops->conflicts(store, scope, add_conflict_copy, out, error);
    if (code == ETHOS_NOMEM)
        err_nomem(error);
    if (code == ETHOS_OK)
        code = read_copies(store, scope, out, &text, error);
    host->resize(host->arg, text.data, 0);
    return code;
}

void copies_release(struct copies *copies)
{
    arena_release(&copies->arena);
    *copies = (struct copies){0};
}

/* ---- digests --------------------------------------------------------------------------------- */

/* A chain: each line is hashed with the digest of the previous ones. */
struct migration_digest {
    char hex[HASH_HEX_SIZE];
    struct str line;
    uint64_t lost;
};

static void digest_init(struct migration_digest *digest)
{
    *digest = (struct migration_digest){0};
    str_init(&digest->line, SIZE_MAX);
}

static int digest_line(struct migration_digest *digest, struct ethos_error *error)
{
    str_adds(&digest->line, digest->hex);
    if (str_code(&digest->line) != ETHOS_OK)
        return err_nomem(error);
    hash_hex(str_view(&digest->line), digest->hex);
    str_clear(&digest->line);
    return ETHOS_OK;
}

/* Only the target needs to know the texts of a change that a migration added. */
static int digest_row(struct migration_digest *digest, const struct ethos_row *row,
                      struct ethos_error *error)
{
    const struct ethos_change *change = &row->change;
    bool before = row->base.data || strcmp(change->before, "absent") == 0;
    bool after = row->whole.data || strcmp(change->after, "absent") == 0;
    bool told = past_is_added(change);
    past_print(change, &digest->line);
    str_printf(&digest->line, "%d%d", told || before, told || after);
    digest->lost += !told && !after;
    return digest_line(digest, error);
}

static int digest_rows(const struct migrate *self, struct ethos_store *store, const char *scope,
                       const struct ethos_change *rows, size_t count,
                       struct migration_digest *digest, struct ethos_error *error)
{
    struct replay replay;
    int code = replay_begin(&replay, self->host, store, scope, rows, count, error);
    for (size_t i = 0; code == ETHOS_OK && i < count;) {
        struct arena arena;
        arena_init(&arena);
        for (size_t bytes = 0, stop = i + MIGRATE_ROWS;
             code == ETHOS_OK && i < count && i < stop && bytes < MIGRATE_BYTES; i++) {
            struct ethos_row row;
            code = replay_step(&replay, &rows[i], &arena, &row, error);
            if (code == ETHOS_OK)
                code = digest_row(digest, &row, error);
            if (code == ETHOS_OK)
                code = migrate_go_on(self, error);
            bytes += row.base.size + row.whole.size;
        }
        if (code == ETHOS_OK)
            code = replay_rest(&replay, error);
        arena_release(&arena);
    }
    replay_end(&replay);
    return code;
}

static int digest_texts(const struct migrate *self, struct ethos_store *store, const char *scope,
                        const struct scope_history *past, struct migration_digest *digest,
                        struct ethos_error *error)
{
    static const struct ethos_read_how whole = {0};
    struct ethos_text text = {0};
    struct names keys = {0};
    char revision[ETHOS_REVISION_SIZE];
    int code = names_of_keys(store, scope, past, &keys, error);
    for (size_t i = 0; code == ETHOS_OK && i < keys.count; i++) {
        code = store->ops->read(store, scope, keys.list[i], &whole, &text, error);
        if (code == ETHOS_NOTFOUND) {
            code = ETHOS_OK;
            continue;
        }
        if (code != ETHOS_OK)
            break;
        hash_revision(view_of(text.size ? text.data : "", text.size), revision);
        str_printf(&digest->line, "text %zu:%s %s", strlen(keys.list[i]), keys.list[i], revision);
        code = digest_line(digest, error);
    }
    self->host->resize(self->host->arg, text.data, 0);
    names_release(&keys);
    return code;
}

/* Unordered and without duplicates: a store keeps a conflict copy only once. */
static int digest_copies(const struct migrate *self, struct ethos_store *store, const char *scope,
                         struct migration_digest *digest, struct ethos_error *error)
{
    struct copies copies;
    struct names lines;
    char revision[ETHOS_REVISION_SIZE];
    names_init(&lines);
    int code = copies_collect(self->host, store, scope, &copies, error);
    for (size_t i = 0; code == ETHOS_OK && i < copies.count; i++) {
        hash_revision(copies.list[i].text, revision);
        const char *line = arena_printf(&copies.arena, "copy %s %s", copies.list[i].key, revision);
        if (!line || names_add(&lines, line) != ETHOS_OK)
            code = err_nomem(error);
    }
    names_sort(&lines);
    for (size_t i = 0; code == ETHOS_OK && i < lines.count; i++) {
        str_adds(&digest->line, lines.list[i]);
        code = digest_line(digest, error);
    }
    names_release(&lines);
    copies_release(&copies);
    return code;
}

static int digest_side(const struct migrate *self, struct ethos_store *store, const char *scope,
                       const struct scope_history *past, struct migration_digest *digest,
                       struct ethos_error *error)
{
    digest_init(digest);
    int code = digest_rows(self, store, scope, past->rows, past->count, digest, error);
    if (code == ETHOS_OK)
        code = digest_texts(self, store, scope, past, digest, error);
    if (code == ETHOS_OK)
        code = digest_copies(self, store, scope, digest, error);
    str_release(&digest->line);
    return code;
}

int migrate_digest(const struct migrate *self, struct ethos_store *store, const char *scope,
                   char out[HASH_HEX_SIZE], struct ethos_error *error)
{
    struct scope_history past;
    struct migration_digest digest;
    int code = past_collect(store, scope, &past, error);
    if (code == ETHOS_OK)
        code = digest_side(self, store, scope, &past, &digest, error);
    if (code == ETHOS_OK)
        memcpy(out, digest.hex, sizeof digest.hex);
    past_release(&past);
    return code;
}

/* ---- one scope ------------------------------------------------------------------------------- */

struct migration_run {
    const struct migrate *move;
    struct names scopes;
    size_t index; /* of the current scope */
    size_t met;   /* changes of the target when others wrote to it; SIZE_MAX: nobody did */
    uint64_t done, total;
    size_t differ, unknown;
    char first[ETHOS_MAX_SCOPE]; /* the first that differs, or else the first that is unknown */
};

static void report_progress(void *arg, size_t rows)
{
    struct migration_run *run = arg;
    const struct migrate *move = run->move;
    run->done += rows;
    if (run->total < run->done)
        run->total = run->done;
    if (move->progress)
        move->progress(move->arg, run->index, run->scopes.count, run->done, run->total);
}

/* Compares the source, as it must look in the target, with the target. */
static int compare_scope(const struct migrate *self, const struct plan *plan,
                         struct migrate_scope *out, struct ethos_error *error)
{
    const struct scope_history as_planned = {.rows = plan->rows, .count = plan->count};
    struct migration_digest digest;
    TRY(digest_side(self, self->from, plan->scope, &as_planned, &digest, error));
    memcpy(out->from, digest.hex, sizeof out->from);
    out->count.lost = digest.lost;
    return migrate_digest(self, self->to, plan->scope, out->to, error);
}

static void add_up(struct migrate_count *total, const struct migrate_count *pass)
{
    uint64_t moved = total->moved + pass->moved, added = total->added + pass->added;
    *total = *pass;
    total->moved = moved;
    total->added = added;
}

static bool scope_differs(const struct migrate_scope *scope)
{
    return strcmp(scope->from, scope->to) != 0;
}

/*
 * Whether changes of others in the target require another pass: another migration may have
 * continued this one; if not, the next plan reports whose they are. The same result twice is final.
 */
static bool is_met(struct migration_run *run, int code, const struct plan *plan)
{
    bool first = code == ETHOS_CONFLICT && run->met != plan->there;
    if (first)
        run->met = plan->there;
    return first;
}

/* *out_more: something was copied, or will be; then the source is checked once more. */
static int copy_scope_once(struct migration_run *run, struct migrate_scope *out, bool *out_more,
                           struct ethos_error *error)
{
    const struct migrate *move = run->move;
    struct plan plan;
    TRY(migrate_go_on(move, error));
    int code = plan_make(&plan, move, out->scope, error);
    if (code == ETHOS_OK) {
        *out_more = (plan.there < plan.count || plan.old) && !move->dry_run;
        code = plan_carry_out(&plan, report_progress, run, error);
        if (is_met(run, code, &plan)) {
            plan_release(&plan);
            return ETHOS_OK;
        }
    }
    if (code == ETHOS_OK) {
        add_up(&out->count, &plan.counts);
        out->passes += plan.there < plan.count;
    }
    if (code == ETHOS_OK && !*out_more && !move->dry_run) {
        code = compare_scope(move, &plan, out, error);
        if (code == ETHOS_OK && scope_differs(out))
            code = plan_is_old(&plan, out_more, error);
    }
    plan_release(&plan);
    return code;
}

/*
 * Repeats until nothing is new; a difference without a change may be an edit that is recorded next
 * time.
 */
static int move_scope(struct migration_run *run, const char *scope, struct ethos_error *error)
{
    struct migrate_scope out = {.scope = scope};
    int code = ETHOS_OK;
    unsigned differing = 0;
    bool more = true;
    run->met = SIZE_MAX;
    for (unsigned i = 0; code == ETHOS_OK && more && i < MIGRATE_PASSES; i++) {
        code = copy_scope_once(run, &out, &more, error);
        if (code == ETHOS_OK && !more && scope_differs(&out))
            more = ++differing < 2;
    }
    if (code != ETHOS_OK)
        return code;
    if (more) {
        code = err_set(error, ETHOS_BUSY, "%s: the source keeps changing", scope);
        return err_hint(error, code,
                        "stop what writes to it, then run the command again to continue");
    }
    if (scope_differs(&out) && run->differ++ == 0)
        snprintf(run->first, sizeof run->first, "%s", scope);
    if (run->move->each)
        run->move->each(run->move->arg, &out);
    return ETHOS_OK;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int fail_unsupported(const struct ethos_store *store, const char *what, const char *hint,
                            struct ethos_error *error)
{
    int code = err_set(error, ETHOS_UNSUPPORTED, "%s: %s", store->ops->name, what);
    return err_hint(error, code, "%s", hint);
}

int migrate_check(const struct migrate *self, struct ethos_error *error)
{
    const struct ethos_store *from = self->from, *to = self->to;
    bool history = (from->capabilities & ETHOS_STORE_HISTORY) && from->ops->history &&
                   from->ops->version;
    if (!history || !from->ops->scopes)
        return fail_unsupported(from, "cannot list its history, so nothing can be moved from it",
                                "export its notes instead: ethos export", error);
    if (!to->ops->graft || !to->ops->history || !to->ops->version)
        return fail_unsupported(to, "cannot import a history, so nothing can be moved to it",
                                "move to markdown, postgres or redis", error);
    return ETHOS_OK;
}

static int count_change(void *arg, const struct ethos_change *change)
{
    (void)change;
    ++*(uint64_t *)arg;
    return ETHOS_OK;
}

/* For progress only. */
static int count_all(struct migration_run *run, struct ethos_error *error)
{
    struct ethos_store *from = run->move->from, *to = run->move->to;
    int code = ETHOS_OK;
    uint64_t there = 0;
    for (size_t i = 0; run->move->progress && code == ETHOS_OK && i < run->scopes.count; i++) {
        code = migrate_go_on(run->move, error);
        if (code == ETHOS_OK)
            code = from->ops->history(from, run->scopes.list[i], NULL, count_change, &run->total,
                                      error);
        if (code == ETHOS_OK)
            code = to->ops->history(to, run->scopes.list[i], NULL, count_change, &there, error);
    }
    run->total = run->total > there ? run->total - there : 0;
    return code;
}

/* A database may have scopes that only a later version knows: they stay, all others are moved. */
static void leave_unknown(struct migration_run *run)
{
    struct names *scopes = &run->scopes;
    size_t kept = 0;
    for (size_t i = 0; i < scopes->count; i++) {
        if (scope_parse(scopes->list[i], NULL, NULL, NULL) == ETHOS_OK)
            scopes->list[kept++] = scopes->list[i];
        else if (run->unknown++ == 0)
            snprintf(run->first, sizeof run->first, "%s", scopes->list[i]);
    }
    scopes->count = kept;
}

static int conclude_migration(const struct migration_run *run, struct ethos_error *error)
{
    if (run->differ > 0) {
        int code = err_set(error, ETHOS_INTERNAL, "%zu scope%s, %s first", run->differ,
                           run->differ == 1 ? " differs" : "s differ", run->first);
        return err_hint(error, code,
                        "run it again; if they still differ, use the source as it was");
    }
    if (run->unknown == 0)
        return ETHOS_OK;
    int code = err_set(error, ETHOS_INTERNAL,
                       "%zu scope%s that this version does not know, %s first", run->unknown,
                       run->unknown == 1 ? "" : "s", run->first);
    return err_hint(
        error, code,
        "everything else was moved; use the version that wrote these scopes to move them");
}

int migrate_stores(const struct migrate *self, struct ethos_error *error)
{
    struct migration_run run = {.move = self};
    TRY(migrate_check(self, error));
    int code = names_of_scopes(self->from, &run.scopes, error);
    leave_unknown(&run);
    if (code == ETHOS_OK)
        code = count_all(&run, error);
    for (; code == ETHOS_OK && run.index < run.scopes.count; run.index++)
        code = move_scope(&run, run.scopes.list[run.index], error);
    names_release(&run.scopes);
    return code == ETHOS_OK ? conclude_migration(&run, error) : code;
}
