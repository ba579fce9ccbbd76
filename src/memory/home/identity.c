/*
 * identity.c: maps (platform, platformUserId) to a user id.
 */
#include "memory/home/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/str.h"
#include "base/system/dir.h"
#include "base/system/os.h"
#include "base/text/quote.h"
#include "base/view.h"
#include "core/history/diff.h"
#include "core/memory/scope.h"
#include "memory/home/directory.h"

#define FOLDER "users"
#define NAME "identity-map.json"
#define DERIVED_SIZE 12       /* hex digits of a derived id */
#define PEOPLE_MAX 64         /* of a home that may belong to one person */
#define PLATFORM_USER_MAX 512 /* bytes */
#define PASSWD_LIMIT 1048576  /* bytes of /etc/passwd that are read */
#define PASSWD_STRINGS 4096   /* bytes of one entry */

/* ---- reading ------------------------------------------------------------------------------- */

/* Reads one version of the map. ETHOS_NOTFOUND if absent, ETHOS_CORRUPT if it is not an array. */
static int load_file(int dir, const char *name, json_t **out, struct ethos_error *error)
{
    json_t *value;
    TRY(home_read_json(dir, name, &value, error));
    if (!json_is_array(value)) {
        json_decref(value);
        return err_set(error, ETHOS_CORRUPT, "%s: not a JSON array", name);
    }
    *out = value;
    return ETHOS_OK;
}

static int empty_map(struct identity_map *out, struct ethos_error *error)
{
    out->entries = json_array();
    return out->entries ? ETHOS_OK : err_nomem(error);
}

int identity_load(int dir, struct identity_map *out, struct ethos_error *error)
{
    struct identity_map map = {0};
    struct ethos_error why = {0};
    int code = load_file(dir, IDENTITY_FILE, &map.entries, &why);
    if (code == ETHOS_NOTFOUND) {
        code = empty_map(&map, error);
    } else if (code == ETHOS_CORRUPT || code == ETHOS_LIMIT) {
        map.damaged = true;
        snprintf(map.problem, sizeof map.problem, "%.250s", why.text);
        code = load_file(dir, IDENTITY_FILE ".bak", &map.entries, error);
        if (code == ETHOS_NOTFOUND || code == ETHOS_CORRUPT || code == ETHOS_LIMIT)
            code = empty_map(&map, error);
    } else if (code != ETHOS_OK && error) {
        *error = why;
    }
    if (code == ETHOS_OK)
        *out = map;
    return code;
}

void identity_release(struct identity_map *self)
{
    json_decref(self->entries);
    self->entries = NULL;
}

int identity_damaged(const struct identity_map *self, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_CORRUPT, "%s", self->problem);
    return err_hint(error, code, "repair it by hand, or run: ethos doctor --fix");
}

/* ---- looking up ---------------------------------------------------------------------------- */

static bool entry_is(const json_t *entry, const char *platform, const char *platform_user)
{
    return view_eq_str(json_view(entry, "platform"), platform) &&
           view_eq_str(json_view(entry, "platformUserId"), platform_user);
}

/* The first entry of a pair that has a valid id, or NULL. */
static json_t *find_pair_entry(const json_t *entries, const char *platform,
                               const char *platform_user)
{
    size_t index;
    json_t *entry;
    json_array_foreach (entries, index, entry) {
        if (entry_is(entry, platform, platform_user) && scope_id_ok(json_view(entry, "userId")))
            return entry;
    }
    return NULL;
}

static bool taken_by_other(const json_t *entries, struct ethos_view user, const char *platform,
                           const char *platform_user)
{
    size_t index;
    json_t *entry;
    json_array_foreach (entries, index, entry) {
        if (view_eq(json_view(entry, "userId"), user) && !entry_is(entry, platform, platform_user))
            return true;
    }
    return false;
}

static int check_pair(const char *platform, const char *platform_user, struct ethos_error *error)
{
    char shown[QUOTE_SIZE];
    if (!scope_id_ok(view_str(platform)))
        return err_set(error, ETHOS_DENIED, "bad platform name: %s",
                       quote_line(view_str(platform), shown));
    size_t size = strlen(platform_user);
    if (size == 0 || size > PLATFORM_USER_MAX)
        return err_set(error, ETHOS_DENIED, "platform user id: must have 1 to 512 bytes");
    return ETHOS_OK;
}

/* The pair is already checked. */
static void hash_pair(const char *platform, const char *platform_user, char out[HASH_HEX_SIZE])
{
    char pair[ETHOS_MAX_ID + 1 + PLATFORM_USER_MAX + 1];
    size_t size = strlen(platform) + 1, user = strlen(platform_user);
    memcpy(pair, platform, size);
    memcpy(pair + size, platform_user, user);
    hash_hex(view_of(pair, size + user), out);
}

int identity_resolve(const struct identity_map *self, const char *platform,
                     const char *platform_user, char out_user[ETHOS_MAX_ID + 1], bool *out_known,
                     struct ethos_error *error)
{
    TRY(check_pair(platform, platform_user, error));
    const json_t *entry = find_pair_entry(self->entries, platform, platform_user);
    if (entry) {
        struct ethos_view user = json_view(entry, "userId");
        memcpy(out_user, user.data, user.size);
        out_user[user.size] = 0;
        *out_known = true;
        return ETHOS_OK;
    }
    *out_known = false;
    return identity_derive(self, platform, platform_user, out_user, error);
}

int identity_derive(const struct identity_map *self, const char *platform,
                    const char *platform_user, char out_user[ETHOS_MAX_ID + 1],
                    struct ethos_error *error)
{
    char hex[HASH_HEX_SIZE];
    TRY(check_pair(platform, platform_user, error));
    hash_pair(platform, platform_user, hex);
    for (size_t at = 0; at + DERIVED_SIZE < HASH_HEX_SIZE; at += DERIVED_SIZE) {
        struct ethos_view user = view_of(hex + at, DERIVED_SIZE);
        if (taken_by_other(self->entries, user, platform, platform_user))
            continue;
        memcpy(out_user, user.data, user.size);
        out_user[user.size] = 0;
        return ETHOS_OK;
    }
    return err_set(error, ETHOS_EXISTS, "identity map: no free id for %s %s", platform,
                   platform_user);
}

bool identity_alone(const struct identity_map *self, const char *user, const char *platform,
                    const char *platform_user)
{
    return !taken_by_other(self->entries, view_str(user), platform, platform_user);
}

/* ---- the one person of a home ---------------------------------------------------------------- */

/* People who may be the user of this machine. */
struct candidates {
    const json_t *entries;
    int users; /* descriptor of the folder */
    size_t looked, count;
    char user[ETHOS_MAX_ID + 1]; /* the first of them */
};

static void add_candidate(struct candidates *self, struct ethos_view user)
{
    if (self->count > 0 && view_eq_str(user, self->user))
        return;
    if (self->count++ == 0) {
        memcpy(self->user, user.data, user.size);
        self->user[user.size] = 0;
    }
}

static bool has_entry(const json_t *entries, struct ethos_view user)
{
    size_t index;
    json_t *entry;
    json_array_foreach (entries, index, entry)
        if (view_eq(json_view(entry, "userId"), user))
            return true;
    return false;
}

/* A profile that the map does not name: the map was lost. */
static int add_profile_candidate(void *arg, const char *name)
{
    struct candidates *self = arg;
    char path[ETHOS_MAX_ID + 16];
    struct stat info;
    if (++self->looked > PEOPLE_MAX || self->count > 1)
        return 1;
    if (!scope_id_ok(view_str(name)) || has_entry(self->entries, view_str(name)))
        return 0;
    snprintf(path, sizeof path, "%s/USER.md", name);
    if (os_fstatat(self->users, path, &info, AT_SYMLINK_NOFOLLOW) == 0)
        add_candidate(self, view_str(name));
    return 0;
}

bool identity_only(const struct identity_map *self, int dir, char out_user[ETHOS_MAX_ID + 1])
{
    struct candidates found = {.entries = self->entries};
    size_t index;
    json_t *entry;
    json_array_foreach (self->entries, index, entry) {
        struct ethos_view user = json_view(entry, "userId");
        if (view_eq_str(json_view(entry, "platform"), "cli") && scope_id_ok(user))
            add_candidate(&found, user);
    }
    if (json_array_size(self->entries) > PEOPLE_MAX)
        return false;
    found.users = dir >= 0 ? os_open_beneath(dir, FOLDER, O_RDONLY | O_DIRECTORY, 0) : -1;
    if (found.users >= 0) {
        os_list(found.users, add_profile_candidate, &found);
        os_close(found.users);
    }
    if (found.count != 1 || found.looked > PEOPLE_MAX)
        return false;
    memcpy(out_user, found.user, sizeof found.user);
    return true;
}

int identity_ids(const struct identity_map *self, const char *user, struct arena *arena,
                 const char *const **out_ids, size_t *out_count, struct ethos_error *error)
{
    size_t index, count = 0;
    json_t *entry;
    const char **ids = arena_array(arena, json_array_size(self->entries) + 1, sizeof *ids);
    if (!ids || !(ids[count++] = arena_str(arena, user)))
        return err_nomem(error);
    json_array_foreach (self->entries, index, entry) {
        char hex[HASH_HEX_SIZE];
        const char *platform = json_string_value(json_object_get(entry, "platform"));
        const char *platform_user = json_string_value(json_object_get(entry, "platformUserId"));
        if (!view_eq_str(json_view(entry, "userId"), user) || !platform || !platform_user ||
            check_pair(platform, platform_user, NULL) != ETHOS_OK)
            continue;
        hash_pair(platform, platform_user, hex);
        if (!(ids[count++] = arena_copy(arena, view_of(hex, DERIVED_SIZE))))
            return err_nomem(error);
    }
    *out_ids = ids;
    *out_count = count;
    return ETHOS_OK;
}

/* ---- profiles out of reach ------------------------------------------------------------------- */

struct unreached {
    const struct identity_map *map;
    int users; /* descriptor of the folder */
    const char *const *own;
    size_t own_count;
    identity_person_fn *each;
    void *arg;
};

static bool is_own(const struct unreached *self, const char *user)
{
    for (size_t i = 0; i < self->own_count; i++)
        if (strcmp(self->own[i], user) == 0)
            return true;
    return false;
}

static bool is_derived(const char *user)
{
    return strlen(user) == DERIVED_SIZE && strspn(user, "0123456789abcdef") == DERIVED_SIZE;
}

/* Whether an identity of a channel is this user; *out_login: one of the user's logins, or NULL. */
static bool has_channel(const json_t *entries, const char *user, const char **out_login)
{
    size_t index;
    json_t *entry;
    *out_login = NULL;
    json_array_foreach ((json_t *)entries, index, entry) {
        if (!view_eq_str(json_view(entry, "userId"), user))
            continue;
        if (!view_eq_str(json_view(entry, "platform"), "cli"))
            return true;
        *out_login = json_string_value(json_object_get(entry, "platformUserId"));
    }
    return false;
}

static void visit_profile(struct unreached *self, const char *name)
{
    char path[ETHOS_MAX_ID + 16];
    const char *login;
    struct stat info;
    if (!scope_id_ok(view_str(name)) || is_own(self, name) ||
        has_channel(self->map->entries, name, &login) || (!login && !is_derived(name)))
        return;
    snprintf(path, sizeof path, "%s/USER.md", name);
    if (os_fstatat(self->users, path, &info, AT_SYMLINK_NOFOLLOW) == 0 && info.st_size > 0)
        self->each(self->arg, name, login);
}

int identity_unreached(const struct identity_map *self, int dir, const char *user,
                       identity_person_fn *each, void *arg)
{
    CLEANUP_ARENA struct arena arena;
    struct unreached found = {.map = self, .each = each, .arg = arg};
    arena_init(&arena);
    int code = identity_ids(self, user, &arena, &found.own, &found.own_count, NULL);
    found.users = code == ETHOS_OK && dir >= 0
                      ? os_open_beneath(dir, FOLDER, O_RDONLY | O_DIRECTORY, 0)
                      : -1;
    struct dir_names names = {0};
    if (found.users >= 0) {
        if (dir_names(found.users, &arena, PEOPLE_MAX, &names) ==
            0) // in byte order, whatever the directory order
            for (size_t i = 0; i < names.count; i++)
                visit_profile(&found, names.list[i]);
        os_close(found.users);
    }
    return code;
}

/* ---- recording ----------------------------------------------------------------------------- */

struct identity_record {
    const char *platform, *platform_user, *user;
    bool relink;
    int64_t now_ms;
};

static int make_identity_entry(const struct identity_record *record, json_t **out,
                               struct ethos_error *error)
{
    char iso[CLOCK_ISO_SIZE];
    clock_iso(record->now_ms, iso);
    json_t *entry = json_pack(
        "{s:o, s:o, s:s, s:o, s:s}", "platform", json_text(view_str(record->platform)),
        "platformUserId", json_text(view_str(record->platform_user)), "userId", record->user,
        "displayLabel", json_text(view_str(record->platform_user)), "firstSeenAt", iso);
    if (!entry)
        return err_nomem(error);
    *out = entry;
    return ETHOS_OK;
}

/* Changes entries in memory; *out_changed says whether anything changed. */
static int set_identity_entry(json_t *entries, const struct identity_record *record,
                              bool *out_changed, struct ethos_error *error)
{
    json_t *entry = find_pair_entry(entries, record->platform, record->platform_user);
    *out_changed = true;
    if (!entry) {
        int code = make_identity_entry(record, &entry, error);
        if (code != ETHOS_OK)
            return code;
        return json_array_append_new(entries, entry) == 0 ? ETHOS_OK : err_nomem(error);
    }
    if (!record->relink || view_eq_str(json_view(entry, "userId"), record->user)) {
        *out_changed = false;
        return ETHOS_OK;
    }
    return json_object_set_new(entry, "userId", json_string(record->user)) == 0 ? ETHOS_OK
                                                                                : err_nomem(error);
}

static int map_text(const json_t *entries, struct str *out, struct ethos_error *error)
{
    json_print(entries, JSON_STYLE_PRETTY, out);
    str_addc(out, '\n');
    return str_code(out) == ETHOS_OK
               ? ETHOS_OK
               : err_set(error, str_code(out), "%s: too large", IDENTITY_FILE);
}

/* Writes the same text to both files, the .bak first: if that fails, the map stays as it is. */
static int save_identity_map(int dir, struct ethos_view text, struct ethos_error *error)
{
    TRY(home_replace(dir, FOLDER, NAME ".bak", text, error));
    return home_replace(dir, FOLDER, NAME, text, error);
}

static int save_or_preview(int dir, const json_t *entries, struct str *preview,
                           struct ethos_error *error)
{
    CLEANUP_STR struct str old, text;
    str_init(&old, ETHOS_MAX_MAP_BYTES + 1);
    str_init(&text, ETHOS_MAX_MAP_BYTES);
    int code = home_read(dir, IDENTITY_FILE, ETHOS_MAX_MAP_BYTES, &old, NULL, error);
    if (code == ETHOS_OK || code == ETHOS_NOTFOUND)
        code = map_text(entries, &text, error);
    if (code == ETHOS_OK && !preview)
        code = save_identity_map(dir, str_view(&text), error);
    else if (code == ETHOS_OK && diff_unified(str_view(&old), str_view(&text), NAME, preview))
        code = err_nomem(error);
    return code;
}

/*
 * Linking an identity to the user of this machine uses an id that so far was only derived; without
 * an entry of their own that user would find it taken.
 */
static int record_local_person(const struct identity_map *map, const struct identity_record *record,
                               struct ethos_error *error)
{
    char login[ETHOS_MAX_ID + 1], user[ETHOS_MAX_ID + 1];
    bool known, changed;
    identity_login(login, sizeof login);
    if (strcmp(record->platform, "cli") == 0 && strcmp(record->platform_user, login) == 0)
        return ETHOS_OK;
    int code = identity_resolve(map, "cli", login, user, &known, error);
    if (code != ETHOS_OK || known || strcmp(user, record->user) != 0)
        return code;
    const struct identity_record local = {"cli", login, user, false, record->now_ms};
    return set_identity_entry(map->entries, &local, &changed, error);
}

static int record_locked(int dir, const struct identity_record *record, struct str *preview,
                         struct ethos_error *error)
{
    struct identity_map map;
    bool changed = false;
    int code = identity_load(dir, &map, error);
    if (code != ETHOS_OK)
        return code;
    if (map.damaged)
        code = identity_damaged(&map, error);
    if (code == ETHOS_OK)
        code = record_local_person(&map, record, error);
    if (code == ETHOS_OK)
        code = set_identity_entry(map.entries, record, &changed, error);
    if (code == ETHOS_OK && changed)
        code = save_or_preview(dir, map.entries, preview, error);
    identity_release(&map);
    return code;
}

int identity_record(int dir, const char *platform, const char *platform_user, const char *user,
                    bool relink, int64_t now_ms, struct str *preview, struct ethos_error *error)
{
    const struct identity_record record = {platform, platform_user, user, relink, now_ms};
    char scope[ETHOS_MAX_SCOPE];
    int code = check_pair(platform, platform_user, error);
    if (code == ETHOS_OK)
        code = scope_make(SCOPE_USER, user, scope, error);
    if (code != ETHOS_OK || preview)
        return code == ETHOS_OK ? record_locked(dir, &record, preview, error) : code;
    int lock;
    TRY(home_lock(dir, NAME, &lock, error));
    code = record_locked(dir, &record, NULL, error);
    os_close(lock);
    return code;
}

/* The first free name for a file that is moved aside. */
static void name_aside(int dir, int64_t now_ms, char *out, size_t size)
{
    struct stat info;
    do
        snprintf(out, size, NAME ".damaged-%lld", (long long)now_ms++);
    while (os_fstatat(dir, out, &info, AT_SYMLINK_NOFOLLOW) == 0);
}

/* Writes the good map under the name for the damaged one; then the two are exchanged atomically. */
static int swap_aside(int dir, struct ethos_view text, int64_t now_ms, struct ethos_error *error)
{
    char aside[128];
    CLEANUP_FD int folder = os_open_beneath(dir, FOLDER, O_RDONLY | O_DIRECTORY, 0);
    if (folder < 0)
        return err_errno(error, errno, FOLDER);
    name_aside(folder, now_ms, aside, sizeof aside);
    int code = home_replace(dir, FOLDER, aside, text, error);
    if (code == ETHOS_OK && os_renameat(folder, aside, folder, NAME, RENAME_EXCHANGE) != 0)
        code = err_errno(error, errno, IDENTITY_FILE);
    if (code != ETHOS_OK)
        os_unlinkat(folder, aside, 0);
    else if (os_fsync(folder) != 0)
        code = err_errno(error, errno, IDENTITY_FILE);
    return code;
}

static int repair_locked(int dir, int64_t now_ms, struct ethos_error *error)
{
    struct identity_map map;
    int code = identity_load(dir, &map, error);
    if (code != ETHOS_OK)
        return code;
    struct str text;
    str_init(&text, ETHOS_MAX_MAP_BYTES);
    if (map.damaged)
        code = map_text(map.entries, &text, error);
    if (map.damaged && code == ETHOS_OK)
        code = swap_aside(dir, str_view(&text), now_ms, error);
    str_release(&text);
    identity_release(&map);
    return code;
}

int identity_repair(int dir, int64_t now_ms, struct ethos_error *error)
{
    int lock;
    TRY(home_lock(dir, NAME, &lock, error));
    int code = repair_locked(dir, now_ms, error);
    os_close(lock);
    return code;
}

/* ---- this machine's person ----------------------------------------------------------------- */

/* The name of a uid in passwd(5) text. */
static bool passwd_name(struct ethos_view text, uid_t uid, struct ethos_view *out)
{
    char wanted[32];
    int size = snprintf(wanted, sizeof wanted, ":%u:", (unsigned)uid);
    struct ethos_view line;
    while (view_line(&text, &line)) {
        const char *name_end = memchr(line.data, ':', line.size);
        if (!name_end || name_end == line.data)
            continue;
        const char *password = name_end + 1;
        const char *end = line.data + line.size;
        const char *id = memchr(password, ':', (size_t)(end - password));
        if (id && end - id > size && memcmp(id, wanted, (size_t)size) == 0) {
            *out = view_of(line.data, (size_t)(name_end - line.data));
            return true;
        }
    }
    return false;
}

/*
 * Reads /etc/passwd first: the name service behind getpwuid loads libraries, which is too slow for
 * a program that runs at every prompt.
 */
void identity_login(char *out, size_t size)
{
    CLEANUP_STR struct str text;
    struct ethos_view name;
    uid_t uid = geteuid();
    str_init(&text, PASSWD_LIMIT + 1);
    int fd = os_openat(AT_FDCWD, "/etc/passwd", O_RDONLY, 0);
    bool found = fd >= 0 && os_read_all(fd, &text, PASSWD_LIMIT) == 0 &&
                 passwd_name(str_view(&text), uid, &name);
    if (fd >= 0)
        os_close(fd);
    if (found) {
        snprintf(out, size, "%.*s", VIEW_ARG(name));
    } else {
        char strings[PASSWD_STRINGS]; // handles of several threads may call at once
        struct passwd entry, *known = NULL;
        if (getpwuid_r(uid, &entry, strings, sizeof strings, &known) == 0 && known &&
            *known->pw_name)
            snprintf(out, size, "%s", known->pw_name);
        else
            snprintf(out, size, "%u", (unsigned)uid);
    }
}
