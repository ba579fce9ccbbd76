/*
 * folder.c: the folder of a mirror: its owner, and the revisions that both sides agreed on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/system/dir.h"
#include "base/system/lock.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/home/directory.h"
#include "memory/mirror/internal.h"

#define IDENTITY HOME_RECORDS "/mirror.json"
#define LOCK_NAME "mirror"
#define LOCK_PATH HOME_RECORDS "/" LOCK_NAME ".lock"
#define STATE_KIND "mirror"
#define STATE_START STATE_KIND "-"
#define IGNORE ".gitignore"
#define MOST_NAMES 100000 /* in one directory */

static const char ignored[] = "# Made by ethos memory mirror: what is no text of memory.\n"
                              ".mem/\n"
                              "history-blobs/\n"
                              "memory-history*.jsonl\n";

/* ---- where it is ----------------------------------------------------------------------------- */

/* The real path of the existing part of a path, followed by the rest. */
static int real_path(const char *path, char out[PATH_MAX], struct ethos_error *error)
{
    char start[PATH_MAX];
    size_t size = strlen(path);
    if (size >= sizeof start)
        return err_errno(error, ENAMETOOLONG, path);
    memcpy(start, path, size + 1);
    while (os_realpath(start, out) != 0) {
        char *slash = strrchr(start, '/');
        if (errno != ENOENT || !slash)
            return err_errno(error, errno, path);
        slash[slash == start] = 0;
    }
    size_t known = strlen(out), rest = strlen(start);
    if (known + size - rest + 2 > PATH_MAX)
        return err_errno(error, ENAMETOOLONG, path);
    while (path[rest] == '/' && known > 0 && out[known - 1] == '/')
        rest++;
    memcpy(out + known, path + rest, size - rest + 1);
    return ETHOS_OK;
}

/* Whether b is a or below it. */
static bool is_below_path(const char *a, const char *b)
{
    size_t size = strlen(a);
    return strncmp(a, b, size) == 0 &&
           (b[size] == 0 || b[size] == '/' || (size && a[size - 1] == '/'));
}

static int check_apart(const struct mirror *self, const char *home, struct ethos_error *error)
{
    char real_home[PATH_MAX], real[PATH_MAX];
    int code = real_path(home, real_home, error);
    if (code == ETHOS_OK)
        code = real_path(self->folder, real, error);
    if (code != ETHOS_OK || (!is_below_path(real_home, real) && !is_below_path(real, real_home)))
        return code;
    const char *how = strcmp(real, real_home) == 0     ? "is the home itself"
                      : is_below_path(real_home, real) ? "is inside the home"
                                                       : "has the home inside";
    code = err_set(error, ETHOS_INVALID, "%s: %s", self->folder, how);
    return err_hint(error, code, "name a folder beside %s", home);
}

/* A text of one mirror would be a file of the other. */
static int check_alone(const struct mirror *self, struct ethos_error *error)
{
    char real[PATH_MAX], path[PATH_MAX + sizeof "/" IDENTITY];
    struct stat info;
    int code = real_path(self->folder, real, error);
    for (char *end = real; code == ETHOS_OK && (end = strrchr(real, '/')) && end > real;) {
        *end = 0;
        snprintf(path, sizeof path, "%s/" IDENTITY, real);
        if (os_fstatat(AT_FDCWD, path, &info, 0) == 0)
            code = err_hint(
                error,
                err_set(error, ETHOS_INVALID, "%s: is inside the mirror %s", self->folder, real),
                "name a folder beside it");
    }
    return code;
}

static int open_dir(struct mirror *self, struct ethos_error *error)
{
    struct stat info;
    bool there = os_fstatat(AT_FDCWD, self->folder, &info, 0) == 0;
    if (!there && errno == ENOENT &&
        os_fstatat(AT_FDCWD, self->folder, &info, AT_SYMLINK_NOFOLLOW) == 0)
        return err_hint(
            error, err_set(error, ETHOS_INVALID, "%s: is a link that leads nowhere", self->folder),
            "make the folder it names, or remove the link");
    if (there && !S_ISDIR(info.st_mode))
        return err_hint(error, err_set(error, ETHOS_INVALID, "%s: not a folder", self->folder),
                        "name an empty folder or a new one");
    if (!there && dir_make(self->folder) != 0) // unlike a home: the folder contains only texts
        return err_errno(error, errno, self->folder);
    return home_open(self->folder, true, &self->dir, error);
}

/* ---- whose it is ----------------------------------------------------------------------------- */

/*
 * What an empty folder may contain: a repository without files, or the result of an interrupted
 * start.
 */
static bool is_nothing(const char *name)
{
    return strncmp(name, ".git", 4) == 0 || strcmp(name, HOME_RECORDS) == 0 ||
           strcmp(name, "lost+found") == 0;
}

static int check_empty(const struct mirror *self, struct ethos_error *error)
{
    struct dir_names names = {0};
    CLEANUP_ARENA struct arena arena;
    const char *found = NULL;
    size_t more = 0;
    arena_init(&arena);
    int code = dir_names(self->dir, &arena, MOST_NAMES, &names) == 0
                   ? ETHOS_OK
                   : err_errno(error, errno, self->folder);
    for (size_t i = 0; i < names.count; i++) {
        if (is_nothing(names.list[i]))
            continue;
        more += found != NULL;
        found = found ? found : names.list[i];
    }
    if (found && more)
        code = err_set(error, ETHOS_DENIED, "%s: not a mirror and not empty: %s and %zu more",
                       self->folder, found, more);
    else if (found)
        code = err_set(error, ETHOS_DENIED, "%s: not a mirror and not empty: %s", self->folder,
                       found);
    if (found)
        err_hint(error, code, "name an empty folder or a new one, or move its contents away");
    return code;
}

static int lock_folder(struct mirror *self, struct ethos_error *error)
{
    char holder[LOCK_HOLDER_SIZE];
    struct ethos_error why;
    int code = home_lock_within(self->dir, LOCK_NAME, 0, &self->lock, &why);
    if (code == ETHOS_OK)
        return code;
    if (code != ETHOS_BUSY) {
        err_set(error, code, "%s/%s", self->folder, why.text);
        return err_hint(error, code, "%s", why.hint);
    }
    int fd = os_open_beneath(self->dir, LOCK_PATH, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    snprintf(holder, sizeof holder, "another process");
    if (fd >= 0) {
        lock_holder(fd, holder);
        os_close(fd);
    }
    code = err_set(error, ETHOS_BUSY, "%s: already mirrored by %s", self->folder, holder);
    return err_hint(error, code, "stop that mirror first, or name another folder");
}

static int write_json(int dir, const char *name, json_t *json, struct ethos_error *error)
{
    struct str text;
    str_init(&text, MIRROR_STATE_BYTES);
    int code = json ? json_print(json, JSON_STYLE_PRETTY, &text) : ETHOS_NOMEM;
    if (code == ETHOS_OK)
        code = str_addc(&text, '\n');
    if (code != ETHOS_OK)
        code = code == ETHOS_NOMEM ? err_nomem(error) : err_set(error, code, "%s: too large", name);
    else
        code = home_replace(dir, HOME_RECORDS, name, str_view(&text), error);
    str_release(&text);
    json_decref(json);
    return code;
}

static int name_folder(struct mirror *self, const char *shown, struct ethos_error *error)
{
    unsigned char random[32];
    if (os_random(random, sizeof random) != 0)
        return err_errno(error, errno, "random numbers");
    hash_hex(view_of((const char *)random, sizeof random), self->id);
    return write_json(self->dir, "mirror.json",
                      json_pack("{s:i, s:s, s:s, s:s}", "version", 1, "id", self->id, "place",
                                self->place, "shown", shown),
                      error);
}

/* Appends the place as one line. */
static void add_place_line(struct str *out, const char *shown)
{
    struct ethos_view rest = view_str(shown), line;
    for (bool more = false; view_line(&rest, &line); more = true)
        str_printf(out, "%s%.*s", more ? " " : "", VIEW_ARG(line));
}

static int refuse_place(const struct mirror *self, const json_t *json, const char *shown,
                        struct ethos_error *error)
{
    CLEANUP_STR struct str text;
    const char *other = json_string_value(json_object_get(json, "shown"));
    str_init(&text, 4096);
    add_place_line(&text, other ? other : "?");
    str_adds(&text, "; the home has ");
    add_place_line(&text, shown);
    int code = err_set(error, ETHOS_DENIED, "%s: mirrors another place: %s", self->folder,
                       text.data);
    return err_hint(error, code, "name another folder");
}

static int read_identity(struct mirror *self, const char *shown, bool *out_known,
                         struct ethos_error *error)
{
    json_t *json;
    int code = home_read_json(self->dir, IDENTITY, &json, error);
    *out_known = code == ETHOS_OK;
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    const char *id = json_string_value(json_object_get(json, "id"));
    const char *place = json_string_value(json_object_get(json, "place"));
    if (!id || !hash_is_hex(view_str(id)) || !place ||
        json_integer_value(json_object_get(json, "version")) != 1)
        code = err_set(error, ETHOS_CORRUPT, "%s/" IDENTITY ": not a mirror of this version",
                       self->folder);
    else if (strcmp(place, self->place) != 0)
        code = refuse_place(self, json, shown, error);
    else
        memcpy(self->id, id, sizeof self->id);
    json_decref(json);
    return code;
}

static void ignore_what_is_no_text(const struct mirror *self)
{
    int fd = os_open_beneath(self->dir, IGNORE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0)
        return;
    bool whole = os_write_all(fd, ignored, sizeof ignored - 1) == 0;
    os_close(fd);
    if (!whole)
        os_unlinkat(self->dir, IGNORE, 0); // created again next time
}

int folder_open(struct mirror *self, const char *shown, struct ethos_error *error)
{
    bool known;
    int code = check_apart(self, service_home(self->ethos), error);
    if (code == ETHOS_OK)
        code = check_alone(self, error);
    if (code == ETHOS_OK)
        code = open_dir(self, error);
    if (code == ETHOS_OK)
        code = read_identity(self, shown, &known, error);
    if (code == ETHOS_OK && !known)
        code = check_empty(self, error);
    if (code == ETHOS_OK)
        code = lock_folder(self, error);
    if (code == ETHOS_OK) // another process may have created it meanwhile
        code = read_identity(self, shown, &known, error);
    if (code == ETHOS_OK && !known) {
        ignore_what_is_no_text(self);
        code = name_folder(self, shown, error);
    }
    return code;
}

int folder_check(const struct mirror *self, struct ethos_error *error)
{
    struct stat named, held, lock;
    bool stands = os_fstatat(AT_FDCWD, self->folder, &named, 0) == 0 &&
                  os_fstat(self->dir, &held) == 0 && os_fstat(self->lock, &lock) == 0 &&
                  named.st_dev == held.st_dev && named.st_ino == held.st_ino && lock.st_nlink > 0;
    if (stands)
        return ETHOS_OK;
    return err_hint(error,
                    err_set(error, ETHOS_NOTFOUND, "%s: the folder was removed", self->folder),
                    "start again to fill a new one");
}

/* ---- what was agreed on ---------------------------------------------------------------------- */

static void state_path(const char *scope, char name[HOME_RECORD_SIZE],
                       char path[HOME_RECORD_SIZE + 8])
{
    home_record_name(STATE_KIND, scope, name);
    snprintf(path, HOME_RECORD_SIZE + 8, HOME_RECORDS "/%s", name);
}

static int read_state(const struct mirror *self, const char *path, json_t **out,
                      struct ethos_error *error)
{
    struct str text;
    str_init(&text, MIRROR_STATE_BYTES + 1);
    *out = NULL;
    int code = home_read(self->dir, path, MIRROR_STATE_BYTES, &text, NULL, error);
    if (code == ETHOS_OK)
        code = json_parse_most(str_view(&text), MIRROR_STATE_BYTES, path, out, error);
    str_release(&text);
    if (code == ETHOS_NOTFOUND || code == ETHOS_INVALID) // a damaged state is ignored
        code = ETHOS_OK;
    if (code == ETHOS_OK && *out && !json_is_object(json_object_get(*out, "keys"))) {
        json_decref(*out);
        *out = NULL;
    }
    return code;
}

/* Refuses the state of another place: its revisions were agreed on with another backend. */
static int check_same_place(const struct mirror *self, const struct mirror_scope *scope,
                            const json_t *json, struct ethos_error *error)
{
    const char *place = json_string_value(json_object_get(json, "place"));
    if (place && strcmp(place, scope->place) == 0)
        return ETHOS_OK;
    int code = err_set(error, ETHOS_DENIED, "%s: the folder has this scope from another backend",
                       scope->scope);
    return err_hint(error, code, "mirror to another folder than %s", self->folder);
}

int state_load(const struct mirror *self, const struct mirror_scope *scope,
               struct mirror_state *out, struct ethos_error *error)
{
    char name[HOME_RECORD_SIZE], path[HOME_RECORD_SIZE + 8];
    json_t *json;
    *out = (struct mirror_state){0};
    state_path(scope->scope, name, path);
    int code = read_state(self, path, &json, error);
    if (code == ETHOS_OK && json)
        code = check_same_place(self, scope, json, error);
    if (code == ETHOS_OK && json) {
        out->keys = json_incref(json_object_get(json, "keys"));
        out->step = json_integer_value(json_object_get(json, "step"));
    } else if (code == ETHOS_OK) {
        out->keys = json_object();
        code = out->keys ? ETHOS_OK : err_nomem(error);
    }
    json_decref(json);
    return code;
}

int state_save(const struct mirror *self, const struct mirror_scope *scope,
               struct mirror_state *state, struct ethos_error *error)
{
    char name[HOME_RECORD_SIZE], path[HOME_RECORD_SIZE + 8];
    if (!state->changed)
        return ETHOS_OK;
    state_path(scope->scope, name, path);
    TRY(write_json(self->dir, name,
                   json_pack("{s:s, s:I, s:O}", "place", scope->place, "step",
                             (json_int_t)(state->step + 1), "keys", state->keys),
                   error));
    state->step++;
    state->changed = false;
    return ETHOS_OK;
}

void state_release(struct mirror_state *state)
{
    json_decref(state->keys);
    *state = (struct mirror_state){0};
}

const char *state_get(const struct mirror_state *state, const char *key)
{
    const char *revision = json_string_value(json_object_get(state->keys, key));
    return revision ? revision : MIRROR_ABSENT;
}

int state_set(struct mirror_state *state, const char *key, const char *revision,
              struct ethos_error *error)
{
    if (strcmp(state_get(state, key), revision) == 0)
        return ETHOS_OK;
    state->changed = true;
    if (strcmp(revision, MIRROR_ABSENT) == 0) {
        json_object_del(state->keys, key);
        return ETHOS_OK;
    }
    return json_object_set_new(state->keys, key, json_string(revision)) == 0 ? ETHOS_OK
                                                                             : err_nomem(error);
}

/* ---- all of it ------------------------------------------------------------------------------- */

struct stating {
    ethos_scope_fn *each;
    void *arg;
    int ended;
};

/* Derives the scope from the name of a record: the first hyphen was a colon. */
static int report_recorded_scope(void *arg, const char *name)
{
    struct stating *stating = arg;
    char scope[ETHOS_MAX_SCOPE];
    size_t start = strlen(STATE_START), size = strlen(name);
    const size_t end = strlen(".json");
    if (size <= start + end || size - start - end >= sizeof scope ||
        strncmp(name, STATE_START, start) != 0 || strcmp(name + size - end, ".json") != 0)
        return 0;
    snprintf(scope, sizeof scope, "%.*s", (int)(size - start - end), name + start);
    char *hyphen = strchr(scope, '-');
    if (hyphen)
        *hyphen = ':';
    if (scope_parse(scope, NULL, NULL, NULL) == ETHOS_OK)
        stating->ended = stating->each(stating->arg, scope);
    return stating->ended;
}

int folder_scopes(const struct mirror *self, ethos_scope_fn *each, void *arg,
                  struct ethos_error *error)
{
    struct stating stating = {each, arg, 0};
    CLEANUP_FD int dir = os_open_beneath(self->dir, HOME_RECORDS,
                                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (dir < 0)
        return err_errno(error, errno, HOME_RECORDS);
    return os_list(dir, report_recorded_scope, &stating) < 0 && !stating.ended
               ? err_errno(error, errno, HOME_RECORDS)
               : stating.ended;
}

bool folder_has(const struct mirror *self, const char *scope, const char *key)
{
    char path[PATH_MAX];
    struct stat info;
    return folder_path(self, scope, key, path, NULL) != ETHOS_OK ||
           os_fstatat(self->dir, path, &info, AT_SYMLINK_NOFOLLOW) == 0 ||
           (errno != ENOENT && errno != ENOTDIR); // without access it cannot be known to be gone
}

/* Loads the agreed revisions of the scope; none if they belong to another place. */
static int load_ours(const struct mirror *self, size_t i, struct mirror_state *out,
                     struct ethos_error *error)
{
    int code = state_load(self, self->scopes[i], out, error);
    return code == ETHOS_DENIED ? ETHOS_OK : code;
}

int folder_count(const struct mirror *self, size_t *out_known, size_t *out_there,
                 struct ethos_error *error)
{
    int code = ETHOS_OK;
    *out_known = *out_there = 0;
    for (size_t i = 0; code == ETHOS_OK && i < self->scope_count; i++) {
        struct mirror_state state;
        const char *key;
        json_t *revision;
        code = load_ours(self, i, &state, error);
        json_object_foreach (state.keys, key, revision) {
            ++*out_known;
            *out_there += folder_has(self, self->scopes[i]->scope, key);
        }
        state_release(&state);
    }
    return code;
}

int folder_forget_missing(const struct mirror *self, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < self->scope_count; i++) {
        struct mirror_scope *scope = self->scopes[i];
        struct mirror_state state;
        const char *key;
        json_t *revision;
        void *next;
        code = load_ours(self, i, &state, error);
        json_object_foreach_safe(state.keys, next, key,
                                 revision) if (!folder_has(self, scope->scope, key))
            state_set(&state, key, MIRROR_ABSENT, NULL);
        if (code == ETHOS_OK && state.changed) {
            scope->dirty = true;
            code = state_save(self, scope, &state, error);
        }
        state_release(&state);
    }
    return code;
}

int folder_path(const struct mirror *self, const char *scope, const char *key, char out[PATH_MAX],
                struct ethos_error *error)
{
    char path[PATH_MAX];
    size_t start = strlen(self->folder);
    TRY(self->files->ops->locate(self->files, scope, key, path, sizeof path, error));
    const char *below = path + (strncmp(path, self->folder, start) == 0 ? start : 0);
    while (*below == '/')
        below++;
    memmove(out, below, strlen(below) + 1);
    return ETHOS_OK;
}

void folder_mode(const struct mirror *self, const char *path)
{
    struct stat info;
    CLEANUP_FD int fd = os_open_beneath(self->dir, path,
                                        O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW, 0);
    if (fd < 0)
        return;
    if (os_fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        mode_t now = info.st_mode & 07777;
        mode_t wanted = self->how.two_way ? now | S_IWUSR : now & ~(mode_t)0222;
        if (wanted != now)
            os_fchmod(fd, wanted); // only a convenience
    }
}
