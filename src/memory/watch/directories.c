/*
 * directories.c: watches the directories of a home by inotify(7), and interprets the events.
 *
 * A directory is watched before it is listed, so that nothing that appears meanwhile is missed.
 * Events only mark; what to report is read from where it is recorded.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>

#include "base/arena.h"
#include "base/system/dir.h"
#include "base/system/os.h"
#include "base/system/watch_set.h"
#include "base/view.h"
#include "core/memory/conflict_name.h"
#include "memory/approval/pending_queue.h"
#include "memory/backends.h"
#include "memory/watch/internal.h"

#define HISTORY "memory-history.jsonl"
#define TREE "memories"
#define MOST_NAMES 65536  /* in one directory */
#define MOST_PLACES 32768 /* with more, everything is polled */
#define MOST_DEPTH 16     /* of a tree */

#define APPEARS (IN_CREATE | IN_MOVED_TO)
#define VANISHES (IN_DELETE | IN_MOVED_FROM)
#define EVENTS                                                                                     \
    (APPEARS | VANISHES | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK)

static const struct {
    const char *name, *below; /* below: the subfolder with the memory, or NULL */
} folders[] = {
    [SCOPE_PERSONALITY] = {"personalities", NULL},
    [SCOPE_USER] = {"users", NULL},
    [SCOPE_TEAM] = {"teams", "memory"},
    [SCOPE_WORKSPACE] = {"workspaces", "memory"},
};
#define FOLDERS (sizeof folders / sizeof *folders)

/* ---- places ---------------------------------------------------------------------------------- */

/* The index of the first place of a watch, or where to insert it. */
static size_t find_watch_place(const struct memory_watch *self, int watch)
{
    size_t low = 0, high = self->place_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (self->places[middle].watch < watch)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has_place(const struct memory_watch *self, int watch, enum place_kind kind,
                      const char *path)
{
    for (size_t i = find_watch_place(self, watch); i < self->place_count; i++) {
        const struct watch_place *place = &self->places[i];
        if (place->watch != watch)
            break;
        if (place->kind == kind && strcmp(place->path, path) == 0)
            return true;
    }
    return false;
}

static bool insert_place(struct memory_watch *self, const struct watch_place *place)
{
    if (self->place_count == MOST_PLACES)
        return false;
    if (self->place_count == self->place_capacity) {
        size_t capacity = self->place_capacity ? 2 * self->place_capacity : 64;
        struct watch_place *places = realloc(self->places, capacity * sizeof *places);
        if (!places)
            return false;
        self->places = places;
        self->place_capacity = capacity;
    }
    size_t at = find_watch_place(self, place->watch);
    memmove(&self->places[at + 1], &self->places[at],
            (self->place_count - at) * sizeof *self->places);
    self->places[at] = *place;
    self->place_count++;
    return true;
}

static void remove_place(struct memory_watch *self, size_t at)
{
    free(self->places[at].path);
    self->place_count--;
    memmove(&self->places[at], &self->places[at + 1],
            (self->place_count - at) * sizeof *self->places);
}

/* Watches a directory. False: it does not exist. If it cannot be watched, everything is polled. */
static bool add_watch_place(struct memory_watch *self, enum place_kind kind, enum scope_kind of,
                            struct watched *scope, const char *absolute, const char *path)
{
    int watch = self->events >= 0 ? os_watch_add(self->events, absolute, EVENTS) : -1;
    if (watch < 0) {
        struct stat info;
        bool there = os_fstatat(AT_FDCWD, absolute, &info, 0) == 0 && S_ISDIR(info.st_mode);
        self->blind = self->blind || there;
        return there;
    }
    if (has_place(self, watch, kind, path))
        return true;
    struct watch_place place = {watch, kind, of, scope, strdup(path)};
    if (!place.path || !insert_place(self, &place)) {
        free(place.path);
        self->blind = true;
    }
    return true;
}

static bool add_below(struct memory_watch *self, enum place_kind kind, enum scope_kind of,
                      struct watched *scope, const char *path)
{
    char absolute[PATH_MAX];
    int size = snprintf(absolute, sizeof absolute, "%s/%s", self->real, path);
    return size < (int)sizeof absolute && add_watch_place(self, kind, of, scope, absolute, path);
}

static bool join_path(char out[WATCH_PATH_SIZE], const char *dir, const char *name)
{
    bool top = strcmp(dir, ".") == 0;
    int size = snprintf(out, WATCH_PATH_SIZE, "%s%s%s", top ? "" : dir, top ? "" : "/", name);
    return size < WATCH_PATH_SIZE;
}

/* ---- scopes ---------------------------------------------------------------------------------- */

static struct watched *find_watched_scope(struct memory_watch *self, const char *scope)
{
    struct watched *at = self->scopes;
    while (at && (at->gone || strcmp(at->scope, scope) != 0))
        at = at->next;
    return at;
}

static void free_scope(struct memory_watch *self, struct watched *scope)
{
    for (size_t i = 0; i < self->place_count; i++)
        if (self->places[i].scope == scope)
            self->places[i].scope = NULL;
    outside_forget(self, scope);
    free(scope->copies);
    free(scope->dir);
    free(scope);
}

/* Whether the texts of a scope are elsewhere than in its directory. False if unknown. */
static bool has_texts_elsewhere(struct memory_watch *self, const struct watched *scope)
{
    struct ethos_provider *provider;
    if (watch_provider(self, scope, &provider, NULL) != ETHOS_OK ||
        backends_here(self->ethos, provider))
        return false;
    remote_add_scope(self, provider, scope->scope);
    return true;
}

/* Adds a new scope; its contents are reported, except in the first scan. */
static struct watched *add_watched_scope(struct memory_watch *self, const char *scope,
                                         const char *dir)
{
    struct watched *known = find_watched_scope(self, scope);
    if (known)
        return known;
    struct watched *added = calloc(1, sizeof *added);
    if (!added || !(added->dir = strdup(dir))) {
        self->lost = true;
        free(added);
        return NULL;
    }
    snprintf(added->scope, sizeof added->scope, "%s", scope);
    added->elsewhere = has_texts_elsewhere(self, added);
    added->next = self->scopes;
    self->scopes = added;
    past_begin(self, added);
    if (added->elsewhere)
        return added;
    if (self->begun) {
        added->recount = true;
        outside_touch_all(self, added);
    } else {
        copies_compare(self, added, false, NULL);
    }
    return added;
}

/* ---- looking for directories ------------------------------------------------------------------ */

typedef void visit_fn(struct memory_watch *self, struct watched *scope, enum scope_kind of,
                      const char *dir, const char *name, unsigned depth);

/* Visits every name in a directory. */
static void visit_names(struct memory_watch *self, struct watched *scope, enum scope_kind of,
                        const char *path, unsigned depth, visit_fn *visit)
{
    CLEANUP_ARENA struct arena arena = {0};
    struct dir_names names;
    int dir = os_openat(self->root, path, O_RDONLY | O_DIRECTORY, 0);
    if (dir < 0)
        return;
    arena_init(&arena);
    if (dir_names(dir, &arena, MOST_NAMES, &names) != 0)
        names.count = 0;
    os_close(dir);
    for (size_t i = 0; i < names.count; i++)
        visit(self, scope, of, path, names.list[i], depth);
}

static bool is_of_type(const struct memory_watch *self, const char *path, mode_t type)
{
    struct stat info;
    return os_fstatat(self->root, path, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
           (info.st_mode & S_IFMT) == type;
}

/* A change of a text behind a link is not seen by our watches. */
static void see_key(struct memory_watch *self, struct watched *scope, const char *dir,
                    const char *name)
{
    char path[WATCH_PATH_SIZE];
    if (!scope->polled && join_path(path, dir, name) && is_of_type(self, path, S_IFLNK))
        scope->polled = true;
}

/* A text of a tree. */
static void mark_file_changed(struct memory_watch *self, struct watched *scope, const char *path)
{
    const char *key = path + strlen(scope->dir) + 1;
    if (self->begun && strlen(key) <= ETHOS_MAX_KEY &&
        scope_key_check(scope->scope, key, NULL) == ETHOS_OK)
        outside_touch(self, scope, key);
}

static void visit_branch(struct memory_watch *self, struct watched *scope, enum scope_kind of,
                         const char *dir, const char *name, unsigned depth)
{
    char path[WATCH_PATH_SIZE];
    bool top = strcmp(dir, scope->dir) == 0;
    if (name[0] == '.' || (top && scope_key_reserved(name)) || depth > MOST_DEPTH ||
        !join_path(path, dir, name))
        return;
    if (!is_of_type(self, path, S_IFDIR))
        mark_file_changed(self, scope, path);
    else if (add_below(self, PLACE_BRANCH, of, scope, path))
        visit_names(self, scope, of, path, depth + 1, visit_branch);
}

static void visit_text(struct memory_watch *self, struct watched *scope, enum scope_kind of,
                       const char *dir, const char *name, unsigned depth)
{
    (void)of, (void)depth;
    if (scope_key_shown(scope->scope, name))
        see_key(self, scope, dir, name);
}

/* .mem of a scope, and its folder of conflict copies. */
static void visit_mem(struct memory_watch *self, struct watched *scope)
{
    char path[WATCH_PATH_SIZE];
    if (join_path(path, scope->dir, ".mem"))
        add_below(self, PLACE_MEM, SCOPE_GLOBAL, scope, path);
    if (join_path(path, scope->dir, CONFLICT_FOLDER))
        add_below(self, PLACE_CONFLICTS, SCOPE_GLOBAL, scope, path);
}

/* A stamp of a small file without reading it; 0: it does not exist. */
static uint64_t print_of(int dir, const char *path)
{
    struct home_stamp stamp = {0};
    if (dir >= 0)
        home_stamp(dir, path, &stamp);
    return stamp.inode * 31 + stamp.size * 7 + (uint64_t)stamp.mtime_ns + (uint64_t)stamp.ctime_ns;
}

/* A queue that was created before it was watched, or while it could not be. */
static void see_queue(struct memory_watch *self, struct watched *scope)
{
    char path[WATCH_PATH_SIZE];
    if (scope_is_tree(scope->scope) || !join_path(path, scope->dir, PENDING_FILE))
        return;
    uint64_t print = print_of(self->root, path) + 1, none = 1;
    if (!scope->queue_print)
        scope->queue_print = self->begun ? none : print;
    scope->asks = scope->asks || print != scope->queue_print;
    scope->queue_print = print;
}

static void visit_scope(struct memory_watch *self, enum place_kind kind, enum scope_kind of,
                        const char *id, const char *dir)
{
    char tree[ETHOS_MAX_SCOPE], path[WATCH_PATH_SIZE];
    if (!is_of_type(self, dir, S_IFDIR) && !is_of_type(self, dir, S_IFLNK))
        return;
    struct watched *scope = add_watched_scope(self, id, dir);
    if (!scope || !add_below(self, kind, of, scope, dir))
        return;
    visit_mem(self, scope);
    see_queue(self, scope);
    if (scope_is_tree(id)) {
        visit_names(self, scope, of, dir, 0, visit_branch);
        return;
    }
    visit_names(self, scope, of, dir, 0, visit_text);
    scope_tree(id, tree);
    if (join_path(path, dir, TREE))
        visit_scope(self, PLACE_SCOPE, of, tree, path);
}

static void visit_id(struct memory_watch *self, struct watched *scope, enum scope_kind of,
                     const char *folder, const char *name, unsigned depth)
{
    char path[WATCH_PATH_SIZE], below[WATCH_PATH_SIZE], id[ETHOS_MAX_SCOPE];
    (void)scope, (void)depth;
    if (scope_make(of, name, id, NULL) != ETHOS_OK || !join_path(path, folder, name))
        return;
    if (!folders[of].below) {
        visit_scope(self, PLACE_SCOPE, of, id, path);
        return;
    }
    if (add_below(self, PLACE_ID, of, NULL, path) && join_path(below, path, folders[of].below))
        visit_scope(self, PLACE_SCOPE, of, id, below);
}

static void watch_scope_folder(struct memory_watch *self, enum scope_kind of)
{
    const char *name = folders[of].name;
    if (add_below(self, PLACE_FOLDER, of, NULL, name))
        visit_names(self, NULL, of, name, 0, visit_id);
}

/* ---- the root -------------------------------------------------------------------------------- */

/* Watches for the root to appear. */
static void wait_above(struct memory_watch *self)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", self->ethos->root);
    for (char *end; (end = strrchr(path, '/'));) {
        *end = 0;
        if (add_watch_place(self, PLACE_ABOVE, SCOPE_GLOBAL, NULL, *path ? path : "/", end + 1))
            return;
    }
}

static bool open_root(struct memory_watch *self)
{
    char real[PATH_MAX];
    if (self->root >= 0)
        return true;
    if (os_realpath(self->ethos->root, real) != 0)
        return false;
    self->root = os_openat(AT_FDCWD, real, O_RDONLY | O_DIRECTORY, 0);
    self->real = self->root >= 0 ? strdup(real) : NULL;
    if (self->real && !looks_tells(self->real))
        self->blind = true;
    return self->real;
}

void places_scan(struct memory_watch *self)
{
    self->restart = false;
    if (strcmp(self->ethos->home, self->ethos->root) != 0)
        add_watch_place(self, PLACE_HOME, SCOPE_GLOBAL, NULL, self->ethos->home, "");
    if (!open_root(self)) {
        wait_above(self);
        self->restart = open_root(self); // it appeared before it was watched
    }
    if (self->real) {
        visit_scope(self, PLACE_ROOT, SCOPE_GLOBAL, "global", ".");
        for (size_t i = 0; i < FOLDERS; i++)
            if (folders[i].name)
                watch_scope_folder(self, (enum scope_kind)i);
    }
}

void places_poll(struct memory_watch *self)
{
    int home = os_openat(AT_FDCWD, self->ethos->home, O_RDONLY | O_DIRECTORY, 0);
    uint64_t config = print_of(home, "config.yaml"), users = 0, personalities = 0;
    if (home >= 0)
        os_close(home);
    if (self->root >= 0) {
        users = print_of(self->root, "users/identity-map.json");
        personalities = print_of(self->root, folders[SCOPE_PERSONALITY].name);
    }
    if (self->begun && self->prints[0]) {
        self->config = self->config || config + 1 != self->prints[0];
        self->users = self->users || users + 1 != self->prints[1];
        self->personalities = self->personalities || personalities + 1 != self->prints[2];
    }
    self->prints[0] = config + 1;
    self->prints[1] = users + 1;
    self->prints[2] = personalities + 1;
    places_scan(self);
}

void places_clear(struct memory_watch *self)
{
    while (self->place_count > 0) {
        if (self->events >= 0)
            os_watch_remove(self->events, self->places[self->place_count - 1].watch);
        remove_place(self, self->place_count - 1);
    }
    while (self->scopes) {
        struct watched *scope = self->scopes;
        self->scopes = scope->next;
        free_scope(self, scope);
    }
    free(self->real);
    self->real = NULL;
    if (self->root >= 0)
        os_close(self->root);
    self->root = -1;
}

/* ---- what an event means ----------------------------------------------------------------------- */

static bool is_below(const char *path, const char *dir)
{
    size_t size = strlen(dir);
    return strncmp(path, dir, size) == 0 && (path[size] == 0 || path[size] == '/');
}

/* A directory was deleted or moved. */
static void drop_below(struct memory_watch *self, const char *dir)
{
    for (size_t i = self->place_count; i-- > 0;) {
        const struct watch_place *place = &self->places[i];
        if (place->kind == PLACE_ABOVE || place->kind == PLACE_HOME || !is_below(place->path, dir))
            continue;
        os_watch_remove(self->events, place->watch);
        remove_place(self, i);
    }
    for (struct watched *scope = self->scopes; scope; scope = scope->next)
        scope->gone = scope->gone || is_below(scope->dir, dir);
}

void places_sweep(struct memory_watch *self)
{
    for (struct watched **at = &self->scopes; *at;) {
        struct watched *scope = *at;
        if (!scope->gone) {
            at = &scope->next;
            continue;
        }
        *at = scope->next;
        free_scope(self, scope);
    }
}

void places_settings(struct memory_watch *self)
{
    for (struct watched *scope = self->scopes; scope; scope = scope->next) {
        bool elsewhere = has_texts_elsewhere(self, scope);
        if (elsewhere == scope->elsewhere)
            continue;
        scope->elsewhere = elsewhere;
        scope->inode = scope->place = scope->number = 0;
        scope->since_ms = service_now_ms(self->ethos);
    }
    remote_find_backends(self);
}

/* A text, a sidecar or a folder of a scope. */
static void mark_in_scope(struct memory_watch *self, const struct watch_place *place, uint32_t mask,
                          const char *name)
{
    struct watched *scope = place->scope;
    char path[WATCH_PATH_SIZE], tree[ETHOS_MAX_SCOPE];
    bool is_tree = scope_is_tree(scope->scope), folder = mask & IN_ISDIR;
    if (strcmp(name, HISTORY) == 0) {
        scope->dirty = true;
    } else if (strcmp(name, PENDING_FILE) == 0) {
        scope->asks = true;
    } else if (strcmp(name, ".mem") == 0) {
        visit_mem(self, scope);
    } else if (folder && !is_tree && strcmp(name, TREE) == 0 && join_path(path, scope->dir, name)) {
        scope_tree(scope->scope, tree);
        if (mask & VANISHES)
            drop_below(self, path);
        else
            visit_scope(self, PLACE_SCOPE, place->of, tree, path);
    } else if (folder && is_tree && (mask & APPEARS)) {
        visit_branch(self, scope, place->of, scope->dir, name, 0);
    } else if (!folder && strstr(name, "conflict")) {
        scope->recount = true;
    } else if (!folder && scope_key_shown(scope->scope, name)) {
        see_key(self, scope, scope->dir, name);
        outside_touch(self, scope, name);
    }
}

static void mark_in_branch(struct memory_watch *self, const struct watch_place *place,
                           uint32_t mask, const char *name)
{
    struct watched *scope = place->scope;
    char path[WATCH_PATH_SIZE];
    if (!join_path(path, place->path, name))
        return;
    if (!(mask & IN_ISDIR))
        mark_file_changed(self, scope, path);
    else if (mask & APPEARS)
        visit_branch(self, scope, place->of, place->path, name, 1);
}

static void mark_in_root(struct memory_watch *self, const struct watch_place *place, uint32_t mask,
                         const char *name)
{
    for (size_t i = 0; i < FOLDERS; i++) {
        if (!folders[i].name || strcmp(folders[i].name, name) != 0)
            continue;
        if (mask & VANISHES)
            drop_below(self, name);
        watch_scope_folder(self, (enum scope_kind)i);
        self->personalities = self->personalities || i == SCOPE_PERSONALITY;
        self->users = self->users || i == SCOPE_USER;
        return;
    }
    if (strcmp(name, "config.yaml") == 0)
        self->config = self->config || strcmp(self->ethos->home, self->ethos->root) == 0;
    else if (strcmp(name, "sessions.db") == 0 || strcmp(name, "sessions.db-wal") == 0)
        self->sessions = true;
    else if (place->scope)
        mark_in_scope(self, place, mask, name);
}

/* Ids come and go; of a folder's own files only the identity map matters. */
static void mark_in_folder(struct memory_watch *self, const struct watch_place *place,
                           uint32_t mask, const char *name)
{
    char path[WATCH_PATH_SIZE];
    if (place->of == SCOPE_USER && strcmp(name, "identity-map.json") == 0)
        self->users = true;
    if (!(mask & (APPEARS | VANISHES)) || !scope_id_ok(view_str(name)) ||
        !join_path(path, place->path, name))
        return;
    self->personalities = self->personalities || place->of == SCOPE_PERSONALITY;
    self->users = self->users || place->of == SCOPE_USER;
    if (mask & VANISHES)
        drop_below(self, path);
    else
        visit_id(self, NULL, place->of, place->path, name, 0);
}

static bool is_personality_file(const struct watch_place *place, const char *name)
{
    return place->of == SCOPE_PERSONALITY && !scope_is_tree(place->scope->scope) &&
           (strcmp(name, "config.yaml") == 0 || strcmp(name, "SOUL.md") == 0 ||
            strcmp(name, "toolset.yaml") == 0);
}

/* The place may be freed when this returns. */
static void mark_place(struct memory_watch *self, const struct watch_place *place, uint32_t mask,
                       const char *name)
{
    char id[ETHOS_MAX_SCOPE], path[WATCH_PATH_SIZE];
    switch (place->kind) {
    case PLACE_ABOVE:
        self->restart = self->restart || ((mask & APPEARS) && strcmp(name, place->path) == 0);
        break;
    case PLACE_HOME:
        self->config = self->config || strcmp(name, "config.yaml") == 0;
        break;
    case PLACE_ROOT:
        self->restart = self->restart || (mask & IN_MOVE_SELF);
        mark_in_root(self, place, mask, name);
        break;
    case PLACE_FOLDER:
        mark_in_folder(self, place, mask, name);
        break;
    case PLACE_ID:
        snprintf(path, sizeof path, "%s", place->path);
        const char *own = strrchr(path, '/');
        if (own && (mask & APPEARS) && strcmp(name, folders[place->of].below) == 0 &&
            scope_make(place->of, own + 1, id, NULL) == ETHOS_OK && join_path(path, path, name))
            visit_scope(self, PLACE_SCOPE, place->of, id, path);
        break;
    case PLACE_SCOPE:
        if (is_personality_file(place, name))
            self->personalities = true;
        mark_in_scope(self, place, mask, name);
        break;
    case PLACE_BRANCH:
        mark_in_branch(self, place, mask, name);
        break;
    case PLACE_MEM:
        if (mask & APPEARS)
            visit_mem(self, place->scope);
        place->scope->recount = place->scope->recount || strcmp(name, "conflicts") == 0;
        break;
    case PLACE_CONFLICTS:
        place->scope->recount = true;
        break;
    }
}

/* The kernel has removed the watch: the directory was deleted, or we removed it. */
static void forget_watch(struct memory_watch *self, int watch)
{
    size_t at = find_watch_place(self, watch);
    while (at < self->place_count && self->places[at].watch == watch) {
        self->restart = self->restart || self->places[at].kind == PLACE_ROOT ||
                        self->places[at].kind == PLACE_ABOVE;
        remove_place(self, at);
    }
}

/* One directory may be several places, by links; marking one may change the list. */
static void handle_inotify_event(struct memory_watch *self, const struct inotify_event *event)
{
    const char *name = event->len ? event->name : "";
    if (event->mask & IN_Q_OVERFLOW) {
        self->lost = true;
        return;
    }
    if (event->mask & IN_IGNORED) {
        forget_watch(self, event->wd);
        return;
    }
    for (size_t i = 0;; i++) {
        size_t at = find_watch_place(self, event->wd) + i;
        if (at >= self->place_count || self->places[at].watch != event->wd)
            return;
        const struct watch_place place = self->places[at];
        if (place.scope || place.kind <= PLACE_ID)
            mark_place(self, &place, event->mask, name);
    }
}

void places_read(struct memory_watch *self)
{
    _Alignas(struct inotify_event) char events[16384];
    ssize_t size;
    while (self->events >= 0 && (size = os_read(self->events, events, sizeof events)) > 0) {
        for (ssize_t at = 0; at < size;) {
            const struct inotify_event *event = (const void *)(events + at);
            handle_inotify_event(self, event);
            at += (ssize_t)(sizeof *event + event->len);
        }
    }
}
