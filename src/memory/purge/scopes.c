/*
 * scopes.c: purges a text from scopes, one after the other.
 */
#include "base/arena.h"
#include "memory/purge/purge.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/system/dir.h"
#include "base/system/os.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/memory/forget_text.h"
#include "memory/backends.h"
#include "memory/history/changes.h"
#include "memory/home/directory.h"
#include "memory/home/identity.h"
#include "memory/offline/offline.h"
#include "memory/provider/missing_slots.h"
#include "session/session.h"

#define MAX_NAMES 100000
#define SESSION_PAGE 200  /* conversations listed at once */
#define REMOVED "removed" /* folder of deleted personalities */
#define NAMED 1           /* ends a walk */
#define PURGE_SHOWN_SIZE (NAME_MAX + 32)

static const struct ethos_sync_how plain_how;

/* ---- one scope ------------------------------------------------------------------------------ */

static int purge_waiting(struct ethos *self, const char *scope, const struct purge_how *how,
                         uint64_t *calls, struct ethos_error *error)
{
    const struct ethos_setup setup = {
        .host = self->host, .root = self->root, .deadline_ms = self->wait_ms};
    return offline_forget(&setup, scope, how->match, how->dry_run, calls, error);
}

static bool is_nothing(const struct ethos_purge *purge)
{
    return purge->lines + purge->versions + purge->blobs + purge->conflicts + purge->names +
               purge->calls ==
           0;
}

static void add_purge(struct ethos_purge *total, const struct ethos_purge *purge)
{
    total->lines += purge->lines;
    total->versions += purge->versions;
    total->blobs += purge->blobs;
    total->conflicts += purge->conflicts;
    total->names += purge->names;
    total->calls += purge->calls;
}

static int cannot_purge(const struct ethos_provider *provider, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_UNSUPPORTED, "this backend (%s) cannot purge a text",
                       provider->ops->name);
    return err_hint(error, code,
                    "run ethos memory forget on the machine that keeps the memory; copies and "
                    "queued changes on this machine were purged");
}

/* Purges queued changes once more, for what was queued or refused meanwhile. */
static int purge_once(struct ethos *self, struct ethos_provider *provider, const char *scope,
                      const struct purge_how *how, struct ethos_purge *out,
                      struct ethos_error *error)
{
    struct ethos_purge purge = {0};
    uint64_t calls = 0;
    int code = provider->ops->purge(provider, scope, how->match, how->dry_run, how->origin, &purge,
                                    error);
    if (code == ETHOS_OK && !how->dry_run)
        code = purge_waiting(self, scope, how, &calls, error);
    purge.calls = calls;
    *out = purge;
    return code;
}

/* The findings of the last check of the notes quote them. */
static int drop_check(struct ethos *self, const char *scope, struct ethos_error *error)
{
    char name[HOME_RECORD_SIZE], path[sizeof HOME_RECORDS + HOME_RECORD_SIZE];
    int dir;
    int code = service_open_root(self, false, &dir, error);
    if (code != ETHOS_OK || dir < 0)
        return code;
    home_record_name("checks", scope, name);
    snprintf(path, sizeof path, HOME_RECORDS "/%s", name);
    if (os_unlinkat(dir, path, 0) != 0 && errno != ENOENT && errno != ENOTDIR)
        code = err_errno(error, errno, path);
    os_close(dir);
    return code;
}

static int still_there(const char *where, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_BUSY, "%s: another program keeps writing this text", where);
    return err_hint(error, code, "stop the program that writes it, then try again");
}

/*
 * Repeats until nothing is found; a dry run searches once. counted: the first findings are already
 * in the total.
 */
static int purge_rounds(struct ethos *self, struct ethos_provider *provider, const char *scope,
                        const struct purge_how *how, bool counted, struct ethos_purge *total,
                        struct ethos_error *error)
{
    struct ethos_purge found = {.lines = 1};
    int code = ETHOS_OK;
    for (int i = 0; code == ETHOS_OK && !is_nothing(&found) && i < PURGE_ROUNDS; i++) {
        code = purge_once(self, provider, scope, how, &found, error);
        if (code == ETHOS_OK && !(counted && i == 0))
            add_purge(total, &found);
        if (how->dry_run)
            return code;
    }
    return code == ETHOS_OK && !is_nothing(&found) ? still_there(scope, error) : code;
}

/*
 * Renames notes, which changes lines and adds to the history: so matches are counted before, as in
 * a dry run.
 */
static int purge_names(struct ethos *self, struct ethos_provider *provider, const char *scope,
                       const struct purge_how *how, const struct forget *forget, bool *out_counted,
                       struct ethos_purge *total, struct ethos_error *error)
{
    struct purge_how dry = *how;
    struct ethos_purge found = {0};
    bool any = false;
    dry.dry_run = true;
    int code = purge_notes(self, provider, scope, forget, NULL, &any, error);
    if (code != ETHOS_OK || !any)
        return code;
    *out_counted = true;
    code = purge_once(self, provider, scope, &dry, &found, error);
    if (code == ETHOS_OK)
        add_purge(total, &found);
    return code == ETHOS_OK ? purge_notes(self, provider, scope, forget, how->origin, NULL, error)
                            : code;
}

/* Whether a note of the scope has, or had, a name that contains the text. */
struct naming {
    const struct forget *forget;
    bool any;
};

static int match_entry_name(void *arg, const struct ethos_entry *entry)
{
    struct naming *naming = arg;
    naming->any = naming->any || forget_names(naming->forget, view_str(entry->key));
    return ETHOS_OK;
}

static int match_former_name(void *arg, const struct ethos_change *change)
{
    struct naming *naming = arg;
    naming->any = forget_names(naming->forget, view_str(change->key));
    return naming->any ? NAMED : ETHOS_OK;
}

/* For one word without its accents, lines may mean another: "cafe" of "café". */
static bool slug_is_text(const struct forget *forget)
{
    struct ethos_view text = forget->match->text, slug = forget->slug;
    bool plain = utf8_ascii(text) || memchr(slug.data, '-', slug.size);
    return plain && !view_eq(slug, text);
}

/*
 * Links and older versions contain the note's name made from a title with the text: it counts, too.
 */
static int add_slug(struct ethos_provider *provider, const char *scope, struct ethos_match *match,
                    struct forget *forget, struct ethos_error *error)
{
    struct naming naming = {.forget = forget};
    if (forget->slug.size == 0 || !slug_is_text(forget) || !SLOT_PROVIDER(provider, list))
        return ETHOS_OK;
    int code = provider->ops->list(provider, scope, match_entry_name, &naming, error);
    if (code == ETHOS_OK && !naming.any && SLOT_PROVIDER(provider, history))
        code = provider->ops->history(provider, scope, NULL, match_former_name, &naming, error);
    if ((code != ETHOS_OK && code != NAMED) || !naming.any)
        return code;
    match->also = forget->slug;
    return forget_init(forget, match, error);
}

/* The scope as shown: that of a removed personality is "removed/engineer". */
static const char *shown_scope(const struct purge_how *how, const char *scope,
                               char out[PURGE_SHOWN_SIZE])
{
    if (!how->removed)
        return scope;
    snprintf(out, PURGE_SHOWN_SIZE, "%s" REMOVED "/%s", scope_is_tree(scope) ? "memories:" : "",
             how->removed);
    return out;
}

/*
 * Queued changes are purged first: a password sent to an unreachable backend can be removed before
 * it gets there.
 */
int purge_scope(struct ethos *self, struct ethos_provider *provider, const char *scope,
                const struct purge_how *how, struct ethos_purge *out, struct ethos_error *error)
{
    struct forget forget;
    struct ethos_purge total = {0};
    struct ethos_match match = *how->match;
    struct purge_how own = *how;
    bool counted = false;
    char buffer[PURGE_SHOWN_SIZE];
    const char *shown = shown_scope(how, scope, buffer);
    own.match = &match;
    int code = forget_init(&forget, &match, error);
    bool tree = code == ETHOS_OK && scope_is_tree(scope);
    if (code == ETHOS_OK && how->enter)
        how->enter(how->arg, shown);
    if (code == ETHOS_OK)
        code = purge_waiting(self, scope, how, &total.calls, error);
    uint64_t calls = total.calls;
    if (code == ETHOS_OK && !SLOT_PROVIDER(provider, purge))
        code = cannot_purge(provider, error);
    if (code == ETHOS_OK)
        code = add_slug(provider, scope, &match, &forget, error);
    if (code == ETHOS_OK && !how->dry_run && !tree)
        code = purge_names(self, provider, scope, &own, &forget, &counted, &total, error);
    if (code == ETHOS_OK)
        code = purge_rounds(self, provider, scope, &own, counted, &total, error);
    if (code == ETHOS_BUSY && calls > 0 && !how->dry_run)
        err_hint(error, code, "only %llu queued changes were purged; try again later",
                 (unsigned long long)calls);
    if (code == ETHOS_OK && !how->dry_run && !tree && !is_nothing(&total))
        code = drop_check(self, scope, error);
    if (code == ETHOS_OK && !how->dry_run && !tree && !is_nothing(&total))
        code = purge_report_empty_notes(self, provider, scope, how, error);
    if (code != ETHOS_OK)
        return code;
    *out = total;
    if (!is_nothing(&total) && how->scope)
        how->scope(how->arg, shown, &total);
    return ETHOS_OK;
}

int ethos_forget(struct ethos_turn *turn, const struct ethos_target *target,
                 const struct ethos_match *match, const struct ethos_sync_how *how,
                 struct ethos_purge *out_purge, struct ethos_error *error)
{
    struct scope_target aimed;
    struct ethos_purge purge = {0};
    struct forget forget;
    how = how ? how : &plain_how;
    const struct purge_how own = {
        .match = match, .origin = how->origin, .dry_run = how->flags & ETHOS_SYNC_DRY_RUN};
    int code = forget_init(&forget, match, error);
    if (code == ETHOS_OK)
        code = handle_aim(turn, target, true, &aimed, error);
    if (code == ETHOS_OK)
        code = purge_scope(turn->ethos, turn->provider, aimed.scope, &own, &purge, error);
    if (code == ETHOS_OK && is_nothing(&purge))
        code = err_set(error, ETHOS_NOTFOUND, "%s: nothing contains this text", aimed.scope);
    if (code == ETHOS_OK)
        *out_purge = purge;
    return code;
}

/* ---- every scope ---------------------------------------------------------------------------- */

struct scope_list {
    struct arena arena;
    const char **list;
    size_t count, capacity;
};

static int add_to_scopes(void *arg, const char *scope)
{
    struct scope_list *scopes = arg;
    const char **list = arena_grow(&scopes->arena, scopes->list, scopes->count, &scopes->capacity,
                                   sizeof *list);
    const char *copy = list ? arena_str(&scopes->arena, scope) : NULL;
    if (!copy)
        return ETHOS_NOMEM;
    scopes->list = list;
    list[scopes->count++] = copy;
    return ETHOS_OK;
}

/* Every name in a folder of the home, as scopes with their trees. */
static int add_folder_names(int root, const char *folder, const char *kind,
                            struct scope_list *scopes, struct ethos_error *error)
{
    struct dir_names names = {0};
    char scope[ETHOS_MAX_SCOPE], tree[ETHOS_MAX_SCOPE];
    int dir = os_open_beneath(root, folder, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0)
        return errno == ENOENT ? ETHOS_OK : err_errno(error, errno, folder);
    int code = dir_names(dir, &scopes->arena, MAX_NAMES, &names) == 0
                   ? ETHOS_OK
                   : err_errno(error, errno, folder);
    os_close(dir);
    for (size_t i = 0; code == ETHOS_OK && i < names.count; i++) {
        if (!scope_id_ok(view_str(names.list[i])))
            continue;
        snprintf(scope, sizeof scope, "%s%s", kind, names.list[i]);
        scope_tree(scope, tree);
        code = add_to_scopes(scopes, scope);
        code = code == ETHOS_OK ? add_to_scopes(scopes, tree) : code;
    }
    return code;
}

/* Also people without a folder: a backend has their profiles. */
static int add_people(int root, struct scope_list *scopes, struct ethos_error *error)
{
    struct identity_map map;
    size_t index;
    json_t *entry;
    char scope[ETHOS_MAX_SCOPE];
    int code = identity_load(root, &map, error);
    if (code != ETHOS_OK)
        return code;
    json_array_foreach (map.entries, index, entry) {
        struct ethos_view user = json_view(entry, "userId");
        snprintf(scope, sizeof scope, "user:%.*s", VIEW_ARG(user));
        if (code == ETHOS_OK && scope_id_ok(user))
            code = add_to_scopes(scopes, scope);
    }
    identity_release(&map);
    return code;
}

/* The scopes that this home knows, for a backend that cannot list its own. */
static int add_known_scopes(struct ethos *self, struct scope_list *scopes,
                            struct ethos_error *error)
{
    static const char *const kinds[][2] = {{"personalities", "personality:"},
                                           {"users", "user:"},
                                           {"workspaces", "workspace:"},
                                           {"teams", "team:"}};
    static const char *const usual[] = {"global", "memories:global", "personality:default",
                                        "memories:personality:default"};
    int root = -1;
    int code = service_open_root(self, false, &root, error);
    for (size_t i = 0; code == ETHOS_OK && i < sizeof usual / sizeof *usual; i++)
        code = add_to_scopes(scopes, usual[i]);
    for (size_t i = 0; code == ETHOS_OK && root >= 0 && i < sizeof kinds / sizeof *kinds; i++)
        code = add_folder_names(root, kinds[i][0], kinds[i][1], scopes, error);
    if (code == ETHOS_OK && root >= 0)
        code = add_people(root, scopes, error);
    if (root >= 0)
        os_close(root);
    return code;
}

struct everywhere {
    struct ethos *ethos;
    const struct purge_how *how;
    bool here;   /* a backend has the files of the root */
    bool found;  /* found something in this round */
    bool missed; /* failure of a backend that was not purged */
    bool ended;  /* failure here, which ends the walk */
    struct ethos_error *error;
};

static int purge_place(struct everywhere *self, struct ethos_provider *provider, const char *scope)
{
    struct ethos_purge purge = {0};
    int code = purge_scope(self->ethos, provider, scope, self->how, &purge, self->error);
    self->found = self->found || !is_nothing(&purge);
    return code;
}

/* All scopes of a backend that cannot purge are tried: its queued changes are purged. */
static int purge_list(struct everywhere *self, struct ethos_provider *provider,
                      const struct scope_list *scopes)
{
    int code = ETHOS_OK;
    for (size_t i = 0; (code == ETHOS_OK || code == ETHOS_UNSUPPORTED) && i < scopes->count; i++) {
        int own = purge_place(self, provider, scopes->list[i]);
        code = own == ETHOS_OK ? code : own;
    }
    return code;
}

/* Purges the queued changes of an unreachable backend. */
static int purge_queued(struct everywhere *self)
{
    struct scope_list scopes = {0};
    struct ethos_error why;
    arena_init(&scopes.arena);
    int code = add_known_scopes(self->ethos, &scopes, &why);
    for (size_t i = 0; code == ETHOS_OK && i < scopes.count; i++) {
        struct ethos_purge purge = {0};
        code = purge_waiting(self->ethos, scopes.list[i], self->how, &purge.calls, &why);
        if (purge.calls > 0 && self->how->scope)
            self->how->scope(self->how->arg, scopes.list[i], &purge);
    }
    arena_release(&scopes.arena);
    return code;
}

static int compare_scope_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Each scope once. */
static void sort_scopes(struct scope_list *scopes)
{
    size_t count = 0;
    if (scopes->count > 0)
        qsort(scopes->list, scopes->count, sizeof *scopes->list, compare_scope_names);
    for (size_t i = 0; i < scopes->count; i++)
        if (count == 0 || strcmp(scopes->list[i], scopes->list[count - 1]) != 0)
            scopes->list[count++] = scopes->list[i];
    scopes->count = count;
}

/*
 * here: it has files of the home, where a folder may contain the text although nothing was ever
 * written to the scope.
 */
static int purge_provider(struct everywhere *self, struct ethos_provider *provider, bool here)
{
    struct scope_list scopes = {0};
    bool lists = SLOT_PROVIDER(provider, scopes);
    arena_init(&scopes.arena);
    int code = lists ? provider->ops->scopes(provider, add_to_scopes, &scopes, self->error)
                     : ETHOS_OK;
    if (code == ETHOS_OK && (here || !lists))
        code = add_known_scopes(self->ethos, &scopes, self->error);
    sort_scopes(&scopes);
    if (code == ETHOS_NOMEM)
        err_nomem(self->error);
    else if (code != ETHOS_OK && purge_queued(self) == ETHOS_NOMEM)
        code = err_nomem(self->error);
    if (code == ETHOS_OK)
        code = purge_list(self, provider, &scopes);
    if (code == ETHOS_OK && !lists && self->how->kept)
        self->how->kept(self->how->arg, provider->ops->name,
                        "this backend cannot list its scopes; only the scopes known to this home "
                        "were searched");
    arena_release(&scopes.arena);
    return code;
}

/* A failure does not stop the others. */
static void miss_backend(struct everywhere *self, const char *name, int code)
{
    char words[ETHOS_MAX_ID + 16];
    snprintf(words, sizeof words, "backend%s%.100s", *name ? " " : "", name);
    self->missed = true;
    if (self->how->missed)
        self->how->missed(self->how->arg, words, code, self->error);
}

static int purge_backend(void *arg, struct ethos_provider *provider, bool here)
{
    struct everywhere *self = arg;
    self->here = self->here || here;
    if (!here && self->how->served)
        self->how->served(self->how->arg, provider->ops->name);
    int code = purge_provider(self, provider, here);
    self->ended = code == ETHOS_NOMEM || (code != ETHOS_OK && here);
    if (code == ETHOS_OK || self->ended)
        return code;
    miss_backend(self, provider->ops->name, code);
    return ETHOS_OK;
}

/*
 * Files that do not, or no longer, belong to a backend of the home. removed (may be NULL): the
 * removed personality.
 */
static int purge_root(struct everywhere *self, const char *root, const char *removed)
{
    const struct purge_how *how = self->how;
    struct purge_how own = *how;
    const struct ethos_setup setup = {
        .host = self->ethos->host, .root = root, .deadline_ms = self->ethos->wait_ms};
    static const struct secrets_given nothing;
    struct backend backend = {0};
    struct ethos_provider *provider = NULL;
    int code = registry_find("markdown", &backend, self->error);
    if (code == ETHOS_OK)
        code = registry_open(&backend, &setup, &nothing, (struct registry_group){0}, &provider,
                             self->error);
    if (code == ETHOS_OK && !removed)
        code = purge_provider(self, provider, true);
    own.removed = removed;
    self->how = &own;
    if (code == ETHOS_OK && removed)
        code = purge_place(self, provider, "global");
    if (code == ETHOS_OK && removed)
        code = purge_place(self, provider, "memories:global");
    self->how = how;
    if (provider)
        provider->ops->close(provider);
    return code;
}

/* A removed personality is a folder like a home of its own. */
static int purge_removed(struct everywhere *self, int root)
{
    CLEANUP_ARENA struct arena arena = {0};
    struct dir_names names = {0};
    char path[PATH_MAX];
    int code = ETHOS_OK;
    CLEANUP_FD int dir = os_open_beneath(root, REMOVED, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0)
        return errno == ENOENT ? ETHOS_OK : err_errno(self->error, errno, REMOVED);
    arena_init(&arena);
    if (dir_names(dir, &arena, MAX_NAMES, &names) != 0)
        code = err_errno(self->error, errno, REMOVED);
    for (size_t i = 0; code == ETHOS_OK && i < names.count; i++) {
        struct stat info;
        if (os_fstatat(dir, names.list[i], &info, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISDIR(info.st_mode))
            continue;
        snprintf(path, sizeof path, "%s/" REMOVED "/%s", self->ethos->root, names.list[i]);
        code = purge_root(self, path, names.list[i]);
    }
    return code;
}

static int purge_scopes(struct everywhere *self)
{
    int root = -1;
    int code = backends_each(self->ethos, purge_backend, self, self->error);
    if (code != ETHOS_OK && code != ETHOS_NOMEM && !self->ended) { // one could not be opened
        miss_backend(self, "", code);
        code = purge_queued(self) == ETHOS_NOMEM ? err_nomem(self->error) : ETHOS_OK;
    }
    if (code == ETHOS_OK && !self->here && !self->ethos->injected)
        code = purge_root(self, self->ethos->root, NULL);
    if (code == ETHOS_OK)
        code = service_open_root(self->ethos, false, &root, self->error);
    if (code == ETHOS_OK && root >= 0)
        code = purge_removed(self, root);
    if (root >= 0)
        os_close(root);
    return code;
}

int purge_everywhere(struct ethos *self, const struct purge_how *how, struct ethos_error *error)
{
    struct ethos_error own = {0};
    error = error ? error : &own;
    struct everywhere everywhere = {.ethos = self, .how = how, .error = error};
    struct forget forget;
    uint64_t left = 1;
    int code = forget_init(&forget, how->match, error);
    for (int i = 0; code == ETHOS_OK && left > 0 && i < PURGE_ROUNDS; i++) {
        everywhere.found = false;
        code = purge_scopes(&everywhere);
        if (code == ETHOS_OK)
            code = purge_files(self, &forget, how,
                               (i > 0 && !everywhere.found ? PURGE_SETTLED : 0u) |
                                   (everywhere.missed ? PURGE_FOREIGN : 0u),
                               &left, error);
        if (how->dry_run)
            return code;
    }
    return code == ETHOS_OK && left > 0 ? still_there(self->root, error) : code;
}

/* ---- conversations -------------------------------------------------------------------------- */

/* Conversations from before a backend kept them. */
static int purge_own_sessions(struct ethos *self, const struct purge_how *how,
                              struct ethos_session_purge *total, struct ethos_error *error)
{
    const struct ethos_setup setup = {
        .host = self->host, .root = self->root, .deadline_ms = self->wait_ms};
    struct ethos_sessions *sessions = NULL;
    struct ethos_session_purge purge = {0};
    TRY(sessions_builtin->open(&setup, &sessions, error));
    int code = sessions->ops->purge(sessions, how->match, how->dry_run, &purge, error);
    sessions->ops->close(sessions);
    total->sessions += purge.sessions;
    total->messages += purge.messages;
    total->summaries += purge.summaries;
    total->keys += purge.keys;
    return code;
}

/* Conversations that match by a key, a folder, a model or a person. */
struct named_sessions {
    struct forget forget;
    uint64_t count;
    char first[128];
};

static int count_named_session(void *arg, const struct ethos_session *session)
{
    struct named_sessions *named = arg;
    const char *const names[] = {session->key,   session->working_dir, session->platform,
                                 session->model, session->provider,    session->personality,
                                 session->user};
    bool held = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        held = held || (names[i] && forget_holds(&named->forget, view_str(names[i])));
    if (held && named->count++ == 0)
        snprintf(named->first, sizeof named->first, "%s",
                 session->key ? session->key : session->id);
    return ETHOS_OK;
}

/* They stay, and are reported. */
static int report_named_sessions(struct ethos_sessions *sessions, const struct purge_how *how,
                                 struct ethos_error *error)
{
    struct named_sessions named = {0};
    char cursor[ETHOS_CURSOR_SIZE] = "", reason[256];
    if (!how->kept || !SLOT_SESSIONS(sessions, list))
        return ETHOS_OK;
    int code = forget_init(&named.forget, how->match, error);
    do {
        const struct ethos_session_query query = {.cursor = *cursor ? cursor : NULL,
                                                  .limit = SESSION_PAGE};
        char next[ETHOS_CURSOR_SIZE] = "";
        if (code == ETHOS_OK)
            code = sessions->ops->list(sessions, &query, count_named_session, &named, next, error);
        memcpy(cursor, next, sizeof cursor);
    } while (code == ETHOS_OK && *cursor);
    if (code != ETHOS_OK || named.count == 0)
        return code;
    snprintf(reason, sizeof reason,
             "%llu found by a name that holds it (key, folder, model or person), such as %s; ethos "
             "sessions delete",
             (unsigned long long)named.count, named.first);
    how->kept(how->arg, "conversations", reason);
    return ETHOS_OK;
}

int purge_sessions(struct ethos *self, const struct purge_how *how, struct ethos_session_purge *out,
                   struct ethos_error *error)
{
    struct ethos_sessions *sessions = NULL;
    *out = (struct ethos_session_purge){0};
    TRY(ethos_sessions(self, &sessions, error));
    if (how->enter)
        how->enter(how->arg, "sessions");
    if (!SLOT_SESSIONS(sessions, purge))
        return err_set(error, ETHOS_UNSUPPORTED, "%s: conversations kept there cannot be purged",
                       sessions->ops->name);
    int code = sessions->ops->purge(sessions, how->match, how->dry_run, out, error);
    if (how->served && sessions_builtin && sessions->ops != sessions_builtin)
        how->served(how->arg, sessions->ops->name);
    if (code == ETHOS_OK && sessions_builtin && sessions->ops != sessions_builtin)
        code = purge_own_sessions(self, how, out, error);
    return code == ETHOS_OK ? report_named_sessions(sessions, how, error) : code;
}
