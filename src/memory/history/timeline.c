/*
 * timeline.c: lists the recorded changes of every scope of a home, newest first, page by page.
 *
 * The mtime of a history file is an upper bound for the times of its changes, so a history is only
 * opened when the page reaches that time. An opened scope buffers its newest unreported changes and
 * reads more when they run out, twice as many each time, since the store starts at the end again.
 * The mtime of remote scopes is unknown: all that match the query are opened.
 */
#include "memory/history/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/backends.h"
#include "memory/history/changes.h"
#include "memory/provider/missing_slots.h"
#include "store/store.h"

#define HISTORY "/memory-history.jsonl"
#define TREE "/memories"
#define SLACK_MS 2000 /* how far the clock of files may be behind ours */

/* A buffered change, and the time it is sorted by. */
struct timeline_entry {
    struct ethos_change change;
    int64_t at_ms;
};

/* A scope in the merge. */
struct timeline_source {
    char scope[ETHOS_MAX_SCOPE];
    int64_t bound_ms;                /* upper bound of its times */
    struct ethos_provider *provider; /* serves it; NULL: it has files and is not opened yet */
    struct arena arena;              /* of the entries */
    struct timeline_entry *entries;  /* buffered */
    size_t count, next;              /* their number, and the first unreported one */
    size_t wanted;                   /* how many to read next */
    uint64_t taken;                  /* changes buffered so far */
    int64_t last_ms;                 /* sort time of the newest of those */
    uint64_t same;                   /* how many with that sort time were passed */
    bool ended;
};

/* Where a page ended: the number of changes of a scope with the same sort time. */
struct timeline_position {
    int64_t at_ms;
    uint64_t count;
    char scope[ETHOS_MAX_SCOPE];
};

struct timeline {
    struct ethos_turn *turn;
    const struct timeline_query *query;
    int root;
    struct ethos_provider *here;     /* a provider whose texts are files of the root, or NULL */
    struct timeline_source *sources; /* opened ones first, then by bound, latest first */
    size_t count, capacity, opened;
    struct timeline_position from, last; /* end of the previous page, and the current position */
    bool resumed;
    uint64_t looked;
    int code; /* why a scope could not be read */
    struct ethos_error *problem;
};

static void set_first_problem(struct timeline *self, int code, const struct ethos_error *why)
{
    if (self->code != ETHOS_OK)
        return;
    self->code = code;
    *self->problem = *why;
}

/* ---- cursors --------------------------------------------------------------------------------- */

/* A checksum that tells the cursors of different queries apart. */
static uint32_t query_checksum(const struct timeline_query *query,
                               const struct timeline_position *place)
{
    const struct ethos_filter *filter = &query->filter;
    const char *const words[] = {query->personality, query->user,    query->scope,
                                 query->key,         query->via,     filter->actor,
                                 filter->session,    filter->source, place->scope};
    CLEANUP_STR struct str text;
    str_init(&text, SIZE_MAX);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        str_printf(&text, "%s%c", words[i] ? words[i] : "\x01", 0);
    str_printf(&text, "%" PRId64 " %" PRIu64, place->at_ms, place->count);
    uint32_t crc = str_code(&text) == ETHOS_OK ? hash_crc32c(str_view(&text)) : 0;
    return crc;
}

static void print_cursor(const struct timeline_query *query, const struct timeline_position *place,
                         char out[TIMELINE_CURSOR_SIZE])
{
    snprintf(out, TIMELINE_CURSOR_SIZE, "%" PRId64 ".%" PRIu64 ".%08" PRIx32 ".%s", place->at_ms,
             place->count, query_checksum(query, place), place->scope);
}

/* A valid cursor is what printing its members gives. */
static int parse_cursor(const struct timeline_query *query, struct timeline_position *out,
                        struct ethos_error *error)
{
    char *end, again[TIMELINE_CURSOR_SIZE];
    const char *dot;
    errno = 0;
    *out = (struct timeline_position){.at_ms = strtoll(query->cursor, &end, 10)};
    if (*end == '.')
        out->count = strtoull(end + 1, &end, 10);
    dot = *end == '.' ? strchr(end + 1, '.') : NULL;
    if (dot)
        snprintf(out->scope, sizeof out->scope, "%s", dot + 1);
    print_cursor(query, out, again);
    return errno == 0 && strcmp(again, query->cursor) == 0
               ? ETHOS_OK
               : err_set(error, ETHOS_INVALID, "cursor: not one of this list");
}

/* ---- which scopes ---------------------------------------------------------------------------- */

static bool is_named(const char *scope, const char *kind, const char *id)
{
    size_t size = strlen(kind);
    return id && strncmp(scope, kind, size) == 0 && strcmp(scope + size, id) == 0;
}

static bool is_meant(const struct timeline *self, const char *scope)
{
    const struct timeline_query *query = self->query;
    const char *owner = scope_owner(scope);
    if (!query->personality && !query->user && !query->scope)
        return true;
    return is_named(owner, "personality:", query->personality) ||
           is_named(owner, "user:", query->user) ||
           (query->scope && strcmp(scope, query->scope) == 0);
}

static int add_timeline_source(struct timeline *self, const char *scope, int64_t bound_ms,
                               struct ethos_provider *provider)
{
    if (self->count == self->capacity) {
        size_t capacity = self->capacity ? 2 * self->capacity : 64;
        struct timeline_source *sources = realloc(self->sources, capacity * sizeof *sources);
        if (!sources)
            return ETHOS_NOMEM;
        self->sources = sources;
        self->capacity = capacity;
    }
    struct timeline_source *source = &self->sources[self->count++];
    *source = (struct timeline_source){
        .bound_ms = bound_ms, .provider = provider, .wanted = 1, .last_ms = INT64_MAX};
    arena_init(&source->arena);
    snprintf(source->scope, sizeof source->scope, "%s", scope);
    return ETHOS_OK;
}

/* The mtime of a history; false: it does not exist. INT64_MAX if it cannot be read. */
static bool get_history_mtime(const struct timeline *self, const char *dir, const char *below,
                              int64_t *out)
{
    char path[ETHOS_MAX_ID + 128];
    struct stat info;
    snprintf(path, sizeof path, "%s%s" HISTORY, dir, below);
    *out = INT64_MAX;
    if (os_fstatat(self->root, path, &info, 0) != 0)
        return errno != ENOENT && errno != ENOTDIR;
    *out = (int64_t)info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / 1000000 + SLACK_MS;
    return true;
}

static int add_timeline_scope(void *arg, const char *scope, const char *dir)
{
    struct timeline *self = arg;
    char tree[ETHOS_MAX_SCOPE];
    int64_t bound_ms;
    int code = ETHOS_OK;
    if (is_meant(self, scope) && get_history_mtime(self, dir, "", &bound_ms))
        code = add_timeline_source(self, scope, bound_ms, NULL);
    scope_tree(scope, tree);
    if (code == ETHOS_OK && is_meant(self, tree) && get_history_mtime(self, dir, TREE, &bound_ms))
        code = add_timeline_source(self, tree, bound_ms, NULL);
    return code;
}

static int add_provider_scope(void *arg, struct ethos_provider *provider, const char *scope)
{
    struct timeline *self = arg;
    return is_meant(self, scope) ? add_timeline_source(self, scope, INT64_MAX, provider) : ETHOS_OK;
}

/* For a provider that cannot list its scopes: those of the turn. */
static int add_own(struct timeline *self)
{
    const struct ethos_context *context = &self->turn->context;
    const char *const scopes[] = {context->memory_scope, context->user_scope,
                                  context->workspace_scope};
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < 3; i++) {
        if (!scopes[i])
            continue;
        struct ethos_provider *provider = service_provider(self->turn, scopes[i], NULL);
        if (!SLOT_PROVIDER(provider, scopes) && !backends_here(self->turn->ethos, provider))
            code = add_provider_scope(self, provider, scopes[i]);
    }
    return code;
}

/* The first one will do: they share the same files. */
static int find_local_provider(void *arg, struct ethos_provider *provider, bool here)
{
    struct timeline *self = arg;
    if (here)
        self->here = provider;
    return here;
}

static int by_bound(const void *a, const void *b)
{
    const struct timeline_source *one = a, *other = b;
    if (one->bound_ms != other->bound_ms)
        return one->bound_ms > other->bound_ms ? -1 : 1;
    return strcmp(one->scope, other->scope);
}

/* A provider that cannot list its scopes does not hide the others. */
static int find_elsewhere(struct timeline *self, struct ethos_error *error)
{
    struct ethos_error why = {0};
    int code = backends_scopes(self->turn->ethos, add_provider_scope, self, &why);
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    if (code != ETHOS_OK)
        set_first_problem(self, code, &why);
    return add_own(self);
}

static int find_sources(struct timeline *self, struct ethos_error *error)
{
    int code = find_elsewhere(self, error);
    // Other failures were reported by find_elsewhere, which called the same.
    if (code == ETHOS_OK &&
        backends_each(self->turn->ethos, find_local_provider, self, NULL) == ETHOS_NOMEM)
        code = ETHOS_NOMEM;
    if (code == ETHOS_OK && self->here)
        code = store_files_scopes(self->root, add_timeline_scope, self, error);
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    if (code == ETHOS_OK && self->count > 0)
        qsort(self->sources, self->count, sizeof *self->sources, by_bound);
    return code;
}

/* ---- the changes of a scope ------------------------------------------------------------------ */

struct change_fetch {
    struct timeline_source *source;
    uint64_t seen;
    size_t capacity;
    bool full;
};

static int fetch_change(void *arg, const struct ethos_change *change)
{
    struct change_fetch *taking = arg;
    struct timeline_source *source = taking->source;
    if (taking->seen++ < source->taken)
        return ETHOS_OK;
    struct timeline_entry *entries = arena_grow(&source->arena, source->entries, source->count,
                                                &taking->capacity, sizeof *entries);
    if (!entries)
        return ETHOS_NOMEM;
    source->entries = entries;
    struct timeline_entry *entry = &entries[source->count];
    if (changes_copy(&source->arena, change, true, &entry->change) != ETHOS_OK)
        return ETHOS_NOMEM;
    entry->at_ms = source->last_ms = change->time_ms < source->last_ms ? change->time_ms
                                                                       : source->last_ms;
    taking->full = ++source->count == source->wanted;
    return taking->full ? 1 : ETHOS_OK;
}

/* A scope that cannot be read counts as empty; the others are still listed. */
static int end_source(struct timeline *self, struct timeline_source *source, int code,
                      const struct ethos_error *why)
{
    source->ended = true;
    set_first_problem(self, code, why);
    return ETHOS_OK;
}

/* Reads more changes into the buffer. */
static int fetch_changes(struct timeline *self, struct timeline_source *source,
                         struct ethos_error *error)
{
    struct change_fetch taking = {.source = source};
    struct ethos_error why = {0};
    struct ethos_provider *provider = source->provider;
    arena_release(&source->arena);
    arena_init(&source->arena);
    source->entries = NULL;
    source->count = source->next = 0;
    int code = provider->ops->history(provider, source->scope, self->query->key, fetch_change,
                                      &taking, &why);
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    source->taken += source->count;
    source->ended = !taking.full;
    source->wanted *= 2;
    return code == ETHOS_OK || taking.full ? ETHOS_OK : end_source(self, source, code, &why);
}

/* The provider of a scope's personality, if its texts are files here. */
static int provider_for_scope(struct timeline *self, const char *scope, struct ethos_provider **out,
                              struct ethos_error *error)
{
    enum scope_kind kind;
    const char *id, *name;
    int code = scope_parse(scope, &kind, &id, error);
    *out = self->here;
    if (code == ETHOS_OK && kind == SCOPE_PERSONALITY)
        code = service_provider_for(self->turn->ethos, id, &name, out, error);
    return code;
}

/* Files of a personality whose memory is now elsewhere are not listed. */
static int open_source(struct timeline *self, struct timeline_source *source,
                       struct ethos_error *error)
{
    struct ethos_error why = {0};
    bool files = !source->provider;
    int code = files ? provider_for_scope(self, source->scope, &source->provider, &why) : ETHOS_OK;
    self->opened++;
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    if (code != ETHOS_OK)
        return end_source(self, source, code, &why);
    source->ended = !SLOT_PROVIDER(source->provider, history) ||
                    (files && !backends_here(self->turn->ethos, source->provider));
    return ETHOS_OK;
}

/* Whether previous pages reported the change, or the query ends before it. */
static bool is_passed(const struct timeline *self, const struct timeline_source *source,
                      const struct timeline_entry *entry)
{
    const struct timeline_position *from = &self->from;
    int64_t until_ms = self->query->filter.until_ms;
    if (until_ms && entry->at_ms > until_ms)
        return true;
    if (!self->resumed || entry->at_ms != from->at_ms)
        return self->resumed && entry->at_ms > from->at_ms;
    int order = strcmp(source->scope, from->scope);
    return order < 0 || (order == 0 && source->same < from->count);
}

/* *out is the first unreported buffered change; NULL at the end. */
static int head_of(struct timeline *self, struct timeline_source *source,
                   const struct timeline_entry **out, struct ethos_error *error)
{
    *out = NULL;
    for (;;) {
        int code = source->next == source->count && !source->ended
                       ? fetch_changes(self, source, error)
                       : ETHOS_OK;
        if (code != ETHOS_OK || source->next == source->count)
            return code;
        const struct timeline_entry *entry = &source->entries[source->next];
        if (!is_passed(self, source, entry)) {
            *out = entry;
            return ETHOS_OK;
        }
        source->same += entry->at_ms == self->from.at_ms;
        source->next++;
    }
}

/* ---- the page -------------------------------------------------------------------------------- */

/*
 * Chooses the scope with the next change, NULL at the end; opens scopes when the time reaches their
 * bound.
 */
static int choose_next_change(struct timeline *self, struct timeline_source **out_source,
                              const struct timeline_entry **out_entry, struct ethos_error *error)
{
    *out_source = NULL;
    *out_entry = NULL;
    for (size_t i = 0; i < self->count; i++) {
        struct timeline_source *source = &self->sources[i];
        const struct timeline_entry *entry;
        int code = ETHOS_OK;
        if (i >= self->opened && *out_entry && source->bound_ms < (*out_entry)->at_ms)
            break;
        if (i >= self->opened)
            code = open_source(self, source, error);
        if (code == ETHOS_OK)
            code = head_of(self, source, &entry, error);
        if (code != ETHOS_OK)
            return code;
        bool later = entry && (!*out_entry || entry->at_ms > (*out_entry)->at_ms ||
                               (entry->at_ms == (*out_entry)->at_ms &&
                                strcmp(source->scope, (*out_source)->scope) < 0));
        if (later) {
            *out_source = source;
            *out_entry = entry;
        }
    }
    return ETHOS_OK;
}

static bool matches_query(const struct timeline *self, const char *scope,
                          const struct ethos_change *change)
{
    const char *via = self->query->via;
    return changes_real(change) && scope_key_shown(scope, change->key) &&
           (!via || (change->via && strcmp(via, change->via) == 0)) &&
           history_matches(&self->query->filter, change);
}

/* Advances past a change. */
static void advance_source(struct timeline *self, struct timeline_source *source,
                           const struct timeline_entry *entry)
{
    struct timeline_position *last = &self->last;
    bool goes_on = last->at_ms == entry->at_ms && strcmp(last->scope, source->scope) == 0;
    last->count = goes_on ? last->count + 1 : 1;
    last->at_ms = entry->at_ms;
    snprintf(last->scope, sizeof last->scope, "%s", source->scope);
    source->next++;
    source->same = last->count;
    self->looked++;
}

static int walk_timeline(struct timeline *self, timeline_fn *each, void *arg, bool *out_more,
                         struct ethos_error *error)
{
    const struct ethos_filter *filter = &self->query->filter;
    struct timeline_source *source;
    const struct timeline_entry *entry;
    for (uint64_t told = 0;;) {
        int code = choose_next_change(self, &source, &entry, error);
        *out_more = code == ETHOS_OK && source &&
                    (!filter->since_ms || entry->at_ms >= filter->since_ms);
        if (!*out_more || told == filter->limit || self->looked == TIMELINE_MOST)
            return code;
        if (matches_query(self, source->scope, &entry->change)) {
            code = each(arg, source->scope, &entry->change);
            told++;
        }
        if (code != ETHOS_OK)
            return code;
        advance_source(self, source, entry);
    }
}

static void record_external_edits(const struct ethos_turn *turn)
{
    const struct ethos_context *context = &turn->context;
    const struct {
        const char *scope, *key;
    } files[] = {{context->memory_scope, "MEMORY.md"},
                 {context->user_scope, "USER.md"},
                 {context->workspace_scope, "MEMORY.md"}};
    for (size_t i = 0; SLOT_PROVIDER(turn->provider, settle) && i < 3; i++)
        if (files[i].scope)
            turn->provider->ops->settle(turn->provider, files[i].scope, files[i].key, NULL);
}

static void release_timeline(struct timeline *self)
{
    for (size_t i = 0; i < self->count; i++)
        arena_release(&self->sources[i].arena);
    free(self->sources);
    if (self->root >= 0)
        os_close(self->root);
}

/* Records external edits, then finds the scopes. */
static int start_timeline(struct timeline *self, struct ethos_error *error)
{
    int code = changes_need(self->turn, SLOT_PROVIDER(self->turn->provider, history), error);
    if (code == ETHOS_OK && self->query->cursor)
        code = parse_cursor(self->query, &self->from, error);
    else if (code == ETHOS_OK)
        record_external_edits(self->turn);
    self->last = self->from;
    if (code == ETHOS_OK)
        code = service_open_root(self->turn->ethos, false, &self->root, error);
    return code == ETHOS_OK ? find_sources(self, error) : code;
}

int timeline_page(struct ethos_turn *turn, const struct timeline_query *query, timeline_fn *each,
                  void *arg, char out_cursor[TIMELINE_CURSOR_SIZE], int *out_code,
                  struct ethos_error *out_error, struct ethos_error *error)
{
    struct timeline self = {
        .turn = turn, .query = query, .root = -1, .resumed = query->cursor, .problem = out_error};
    bool more = false;
    int code = start_timeline(&self, error);
    if (code == ETHOS_OK)
        code = walk_timeline(&self, each, arg, &more, error);
    *out_cursor = 0;
    if (code == ETHOS_OK && more)
        print_cursor(query, &self.last, out_cursor);
    *out_code = self.code;
    release_timeline(&self);
    return code;
}

/* ---- all of them ----------------------------------------------------------------------------- */

struct since {
    const struct timeline *timeline;
    const struct timeline_source *source;
    int64_t since_ms;
    timeline_fn *each;
    void *arg;
    unsigned older; /* consecutive older changes */
};

#define MOST_OLDER                                                                                 \
    256 /* stop after this many; a clock that was set back may put a newer one between */

static int report_change_since(void *arg, const struct ethos_change *change)
{
    struct since *since = arg;
    since->older = change->time_ms < since->since_ms ? since->older + 1 : 0;
    if (since->older > 0)
        return since->older > MOST_OLDER;
    return matches_query(since->timeline, since->source->scope, change)
               ? since->each(since->arg, since->source->scope, change)
               : ETHOS_OK;
}

int timeline_since(struct ethos_turn *turn, int64_t since_ms, timeline_fn *each, void *arg,
                   int *out_code, struct ethos_error *out_error, struct ethos_error *error)
{
    static const struct timeline_query all;
    struct timeline self = {.turn = turn, .query = &all, .root = -1, .problem = out_error};
    int code = start_timeline(&self, error);
    for (size_t i = 0; code == ETHOS_OK && i < self.count; i++) {
        struct timeline_source *source = &self.sources[i];
        struct since since = {&self, source, since_ms, each, arg, 0};
        struct ethos_error why = {0};
        if (source->bound_ms < since_ms)
            break;
        code = open_source(&self, source, error);
        if (code != ETHOS_OK || source->ended)
            continue;
        code = source->provider->ops->history(source->provider, source->scope, NULL,
                                              report_change_since, &since, &why);
        if (code == ETHOS_NOMEM)
            code = err_nomem(error);
        else if (code != ETHOS_OK)
            code = since.older > MOST_OLDER ? ETHOS_OK : end_source(&self, source, code, &why);
    }
    *out_code = self.code;
    release_timeline(&self);
    return code;
}
