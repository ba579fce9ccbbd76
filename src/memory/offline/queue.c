/*
 * queue.c: the queue of sync calls for an unreachable backend, one file each.
 *
 *     queue/<number>-<crc32c>.json    {"opId", "updates": [...], "time", "origin": {}, "context": {}}
 *     refused/<number>-<hash>.json    likewise, with "refused": {"code", "text", "hint", "time"}
 *
 * A number is assigned under a lock, one above the highest. The folder exists while calls are
 * queued.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/str.h"
#include "base/system/dir.h"
#include "base/system/file.h"
#include "base/system/os.h"
#include "base/system/uuid.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "core/memory/update.h"
#include "memory/home/directory.h"
#include "memory/offline/internal.h"

#define FOLDER "queue"
#define REFUSED "refused"
#define LOCK_SIZE (OFFLINE_PLACE_SIZE + 32)

/* ---- what a call is made of ------------------------------------------------------------------- */

/* Names of the strings of a context and of an origin. */
struct string_member {
    const char *name;
    size_t offset;
};

#define CONTEXT(name, member)                                                                      \
    {                                                                                              \
        name, offsetof(struct ethos_context, member)                                               \
    }
static const struct string_member of_context[] = {CONTEXT("personality", personality),
                                                  CONTEXT("user", user),
                                                  CONTEXT("session", session),
                                                  CONTEXT("platform", platform),
                                                  CONTEXT("workspace", workspace),
                                                  CONTEXT("memoryScope", memory_scope),
                                                  CONTEXT("userScope", user_scope),
                                                  CONTEXT("workspaceScope", workspace_scope),
                                                  CONTEXT("profile1", profile_fallback[0]),
                                                  CONTEXT("profile2", profile_fallback[1]),
                                                  {0}};
#define ORIGIN(name, member)                                                                       \
    {                                                                                              \
        name, offsetof(struct ethos_origin, member)                                                \
    }
static const struct string_member of_origin[] = {ORIGIN("actor", actor),
                                                 ORIGIN("via", via),
                                                 ORIGIN("source", source),
                                                 ORIGIN("session", session),
                                                 ORIGIN("sessionKey", session_key),
                                                 ORIGIN("user", user),
                                                 ORIGIN("undoes", undoes),
                                                 ORIGIN("trust", trust),
                                                 ORIGIN("approvedBy", approved_by),
                                                 ORIGIN("editedFrom", edited_from),
                                                 {0}};

static const char **member_slot(const struct string_member *member, const void *object)
{
    return (const char **)((const char *)object + member->offset);
}

/* NULL: out of memory. */
static json_t *strings_json(const struct string_member *members, const void *object)
{
    json_t *json = json_object();
    for (; json && members->name; members++) {
        const char *text = *member_slot(members, object);
        if (text && json_object_set_new(json, members->name, json_text(view_str(text))) != 0) {
            json_decref(json);
            return NULL;
        }
    }
    return json;
}

static int read_string_members(const json_t *json, const struct string_member *members,
                               struct arena *arena, void *object)
{
    for (; members->name; members++) {
        struct ethos_view text = json_view(json, members->name);
        const char *copy = text.data ? arena_copy(arena, text) : NULL;
        if (text.data && !copy)
            return ETHOS_NOMEM;
        *member_slot(members, object) = copy;
    }
    return ETHOS_OK;
}

static json_t *update_json(const struct ethos_update *update)
{
    static const char *const names[] = {"", "add", "replace", "remove", "delete"};
    bool removes = update->action == ETHOS_ACTION_REMOVE;
    json_t *json = json_pack("{s:s, s:s, s:s}", "action", names[update->action], "scope",
                             update->scope, "key", update->key);
    if (json && update->text.data && update->action != ETHOS_ACTION_DELETE &&
        json_object_set_new(json, removes ? "substringMatch" : "content",
                            json_text(update->text)) != 0) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static json_t *updates_json(const struct ethos_update *updates, size_t count)
{
    json_t *rows = json_array();
    for (size_t i = 0; rows && i < count; i++) {
        if (json_array_append_new(rows, update_json(&updates[i])) != 0) {
            json_decref(rows);
            return NULL;
        }
    }
    return rows;
}

static int print_call(int64_t now_ms, const struct ethos_context *context,
                      const struct ethos_origin *origin, const char *op_id,
                      const struct ethos_update *updates, size_t count, struct str *out)
{
    char iso[CLOCK_ISO_SIZE];
    clock_iso(now_ms, iso);
    json_t *json = json_pack("{s:s, s:o, s:s, s:o, s:o}", "opId", op_id, "updates",
                             updates_json(updates, count), "time", iso, "origin",
                             strings_json(of_origin, origin), "context",
                             strings_json(of_context, context));
    if (!json)
        return ETHOS_NOMEM;
    int code = json_print(json, JSON_STYLE_LINE, out);
    json_decref(json);
    return code == ETHOS_OK ? str_addc(out, '\n') : code;
}

/* ---- the folder ------------------------------------------------------------------------------- */

bool queue_waits(const struct offline *self)
{
    int dir;
    int code = offline_folder(self, FOLDER, false, &dir, NULL);
    if (code == ETHOS_OK)
        os_close(dir);
    return code != ETHOS_NOTFOUND;
}

static int lock_by(const struct offline *self, const char *what, uint32_t wait_ms, int *out_lock,
                   struct ethos_error *error)
{
    int root;
    char name[LOCK_SIZE];
    TRY(home_open(self->setup.root, true, &root, error));
    snprintf(name, sizeof name, "offline-%s-%s", self->place, what);
    int code = home_lock_within(root, name, wait_ms, out_lock, error);
    os_close(root);
    return code;
}

int queue_lock(struct offline *self, uint32_t wait_ms, int *out_lock, struct ethos_error *error)
{
    return lock_by(self, "do", wait_ms, out_lock, error);
}

int queue_lock_put(struct offline *self, uint32_t wait_ms, int *out_lock, struct ethos_error *error)
{
    return lock_by(self, "put", wait_ms, out_lock, error);
}

static bool is_call(const char *name)
{
    return name[0] >= '0' && name[0] <= '9' && strlen(name) < OFFLINE_NAME_SIZE;
}

static bool is_file(int dir, const char *name)
{
    struct stat info;
    return os_fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || S_ISREG(info.st_mode);
}

/* The names of queued calls, in order, without drafts and other names. */
static int list_calls(int dir, struct arena *arena, struct dir_names *out,
                      struct ethos_error *error)
{
    if (dir_names(dir, arena, (size_t)OFFLINE_MAX_CALLS * 2, out) != 0)
        return err_errno(error, errno, FOLDER);
    size_t count = 0;
    for (size_t i = 0; i < out->count; i++)
        if (is_call(out->list[i]) && is_file(dir, out->list[i]))
            out->list[count++] = out->list[i];
    out->count = count;
    return ETHOS_OK;
}

/* ---- putting ---------------------------------------------------------------------------------- */

static int check_queue_room(int dir, const struct dir_names *names, size_t more,
                            struct ethos_error *error)
{
    uint64_t bytes = more;
    struct stat info;
    for (size_t i = 0; i < names->count; i++)
        if (os_fstatat(dir, names->list[i], &info, AT_SYMLINK_NOFOLLOW) == 0)
            bytes += (uint64_t)info.st_size;
    if (names->count < OFFLINE_MAX_CALLS && bytes <= OFFLINE_MAX_BYTES)
        return ETHOS_OK;
    int code = err_set(error, ETHOS_LIMIT,
                       "not queued: %zu calls are queued already (at most %d, %d bytes)",
                       names->count, OFFLINE_MAX_CALLS, OFFLINE_MAX_BYTES);
    return err_hint(error, code, "see ethos doctor");
}

static int write_call_locked(struct offline *self, struct ethos_view text,
                             struct ethos_error *error)
{
    int dir;
    char name[OFFLINE_NAME_SIZE];
    struct arena arena;
    struct dir_names names = {0};
    TRY(offline_folder(self, FOLDER, true, &dir, error));
    arena_init(&arena);
    int code = list_calls(dir, &arena, &names, error);
    if (code == ETHOS_OK)
        code = check_queue_room(dir, &names, text.size, error);
    uint64_t last = names.count ? strtoull(names.list[names.count - 1], NULL, 10) : 0;
    snprintf(name, sizeof name, "%012" PRIu64 "-%08x.json", last + 1, hash_crc32c(text));
    if (code == ETHOS_OK)
        code = file_replace(dir, name, text, 0600, error);
    if (code != ETHOS_OK)
        os_unlinkat(dir, name, 0); // a call that is not durable was not accepted
    arena_release(&arena);
    os_close(dir);
    return code;
}

/* The obstacle comes first, then why it matters here. */
static int cannot_wait(const struct offline *self, const char *key, const char *why,
                       struct ethos_error *error)
{
    int code = err_set(error, ETHOS_BUSY, "%s: not queued: %s", key, why);
    const char *away = self->setup.deadline->error.text;
    return *away ? err_hint(error, code, "%s", away) : code;
}

static int check_texts(const struct offline *self, const struct ethos_update *updates, size_t count,
                       struct ethos_error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (updates[i].if_match)
            return cannot_wait(self, updates[i].key, "its revision is unknown meanwhile", error);
        if (!utf8_valid(updates[i].text))
            return cannot_wait(self, updates[i].key, "the text is not UTF-8", error);
    }
    return ETHOS_OK;
}

/* Adds "not queued" unless the error says it. */
static int not_queued(int code, struct ethos_error *error)
{
    struct ethos_error why;
    if (!error || code == ETHOS_NOMEM || strncmp(error->text, "not queued", 10) == 0)
        return code;
    why = *error;
    err_set(error, code, "not queued: %.400s", why.text);
    return *why.hint ? err_hint(error, code, "%s", why.hint) : code;
}

int queue_add(struct offline *self, const struct ethos_context *context,
              const struct ethos_origin *origin, const struct ethos_update *updates, size_t count,
              struct ethos_error *error)
{
    static const struct ethos_origin nobody;
    const struct ethos_host *host = self->setup.host;
    int lock;
    CLEANUP_STR struct str text = {0};
    char made[UUID_SIZE];
    const char *op_id = origin ? origin->op_id : NULL;
    TRY(check_texts(self, updates, count, error));
    if (!op_id && uuid_make(made) != 0)
        return err_errno(error, errno, FOLDER);
    str_init(&text, ETHOS_MAX_INPUT_BYTES);
    int code = print_call(host->now_ms(host->arg), context, origin ? origin : &nobody,
                          op_id ? op_id : made, updates, count, &text);
    if (code != ETHOS_OK)
        code = code == ETHOS_NOMEM
                   ? err_nomem(error)
                   : err_set(error, code, "not queued: more than %d bytes", ETHOS_MAX_INPUT_BYTES);
    if (code == ETHOS_OK)
        code = queue_lock_put(self, self->setup.deadline_ms, &lock, error);
    if (code == ETHOS_OK) {
        code = write_call_locked(self, str_view(&text), error);
        os_close(lock);
    }
    return code == ETHOS_OK ? ETHOS_OK : not_queued(code, error);
}

/* ---- taking ----------------------------------------------------------------------------------- */

int queue_list(struct offline *self, struct arena *arena, struct dir_names *out,
               struct ethos_error *error)
{
    int dir;
    *out = (struct dir_names){0};
    int code = offline_folder(self, FOLDER, false, &dir, error);
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    code = list_calls(dir, arena, out, error);
    os_close(dir);
    return code;
}

int queue_count(struct offline *self, struct offline_waiting *out, struct ethos_error *error)
{
    int dir;
    struct arena arena;
    struct dir_names names = {0};
    struct stat info = {0};
    int code = offline_folder(self, FOLDER, false, &dir, error);
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    arena_init(&arena);
    code = list_calls(dir, &arena, &names, error);
    if (names.count > 0)
        os_fstatat(dir, names.list[0], &info, AT_SYMLINK_NOFOLLOW);
    out->calls = names.count;
    out->since_ms = (int64_t)info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / 1000000;
    arena_release(&arena);
    os_close(dir);
    return code;
}

static int read_call_text(struct offline *self, const char *name, struct str *out,
                          struct ethos_error *error)
{
    int dir;
    TRY(offline_folder(self, FOLDER, false, &dir, error));
    int code = home_read(dir, name, ETHOS_MAX_INPUT_BYTES, out, NULL, error);
    os_close(dir);
    return code;
}

static bool matches_checksum(const char *name, struct ethos_view text)
{
    char crc[16];
    const char *dash = strchr(name, '-');
    snprintf(crc, sizeof crc, "-%08x.json", hash_crc32c(text));
    return dash && strcmp(dash, crc) == 0;
}

static int parse_call(struct ethos_view text, struct queue_call *out, struct ethos_error *error)
{
    json_t *json = NULL;
    struct update_batch batch = {0};
    int code = update_parse(text, &out->arena, &batch, error);
    if (code == ETHOS_OK)
        code = json_parse(text, FOLDER, &json, error);
    if (code != ETHOS_OK)
        return code;
    if (read_string_members(json_object_get(json, "context"), of_context, &out->arena,
                            &out->context) ||
        read_string_members(json_object_get(json, "origin"), of_origin, &out->arena, &out->origin))
        code = err_nomem(error);
    out->cleansed = json_is_true(json_object_get(json, OFFLINE_CLEANSED));
    json_decref(json);
    out->updates = batch.updates;
    out->count = batch.count;
    out->origin.op_id = batch.op_id;
    bool whole = out->context.user_scope && out->context.memory_scope && batch.op_id;
    for (size_t i = 0; i < batch.count; i++) {
        const struct ethos_update *update = &batch.updates[i];
        whole = whole && update->scope && update->key &&
                scope_parse(update->scope, NULL, NULL, NULL) == ETHOS_OK &&
                scope_key_check(update->scope, update->key, NULL) == ETHOS_OK;
    }
    return code == ETHOS_OK && !whole
               ? err_set(error, ETHOS_INVALID, "members are missing or wrong")
               : code;
}

int queue_read(struct offline *self, const char *name, struct queue_call *out,
               struct ethos_error *error)
{
    struct str text;
    *out = (struct queue_call){0};
    arena_init(&out->arena);
    str_init(&text, ETHOS_MAX_INPUT_BYTES + 1);
    int code = read_call_text(self, name, &text, error);
    if (code == ETHOS_OK && !matches_checksum(name, str_view(&text)))
        code = err_set(error, ETHOS_CORRUPT, FOLDER "/%s: changed since it was queued", name);
    else if (code == ETHOS_OK) {
        code = parse_call(str_view(&text), out, error);
        if (code != ETHOS_OK && code != ETHOS_NOMEM)
            code = err_set(error, ETHOS_CORRUPT, FOLDER "/%s: not a queued call", name);
    }
    str_release(&text);
    if (code != ETHOS_OK)
        arena_release(&out->arena);
    return code;
}

void queue_release(struct queue_call *call)
{
    arena_release(&call->arena);
}

static int drop_draft(void *arg, const char *name)
{
    if (*name == '.')
        os_unlinkat(*(int *)arg, name, 0);
    return 0;
}

/*
 * Under the lock of queueing: the folder cannot vanish for another process, nor is a draft in use.
 */
void queue_leave(struct offline *self)
{
    int lock, dir, root;
    char path[OFFLINE_PATH_SIZE];
    if (queue_lock_put(self, self->setup.deadline_ms, &lock, NULL) != ETHOS_OK)
        return;
    if (offline_folder(self, FOLDER, false, &dir, NULL) == ETHOS_OK) {
        os_list(dir, drop_draft, &dir);
        os_close(dir);
    }
    offline_path(self, FOLDER, path);
    if (home_open(self->setup.root, false, &root, NULL) == ETHOS_OK) {
        os_unlinkat(root, path, AT_REMOVEDIR); // unless it contains something
        os_close(root);
    }
    os_close(lock);
}

int queue_drop(struct offline *self, const char *name, struct ethos_error *error)
{
    int dir;
    int code = offline_folder(self, FOLDER, false, &dir, error);
    if (code != ETHOS_OK)
        return code;
    if ((os_unlinkat(dir, name, 0) != 0 && errno != ENOENT) || os_fsync(dir) != 0)
        code = err_errno(error, errno, name);
    os_close(dir);
    return code;
}

/* ---- putting aside ---------------------------------------------------------------------------- */

/* The call with the reason; what is not JSON is included as a text. */
static int print_refused(struct ethos_view text, int64_t now_ms, const struct ethos_error *why,
                         struct str *out)
{
    char iso[CLOCK_ISO_SIZE];
    json_t *json = NULL;
    clock_iso(now_ms, iso);
    if (json_parse(text, FOLDER, &json, NULL) != ETHOS_OK || !json_is_object(json)) {
        json_decref(json);
        json = json_pack("{s:o}", "damaged", json_text(text));
    }
    json_t *reason = json_pack("{s:s, s:o, s:o, s:s}", "code", err_name(why->code), "text",
                               json_text(view_str(why->text)), "hint",
                               json_text(view_str(why->hint)), "time", iso);
    int code = json && json_object_set_new(json, "refused", reason) == 0
                   ? json_print(json, JSON_STYLE_PRETTY, out)
                   : ETHOS_NOMEM;
    json_decref(json);
    return code == ETHOS_OK ? str_addc(out, '\n') : code;
}

/* A call that is refused twice, because a process was killed before removing it, is stored once. */
static void name_refused(const char *name, struct ethos_view text, char out[HASH_HEX_SIZE + 8])
{
    char hash[HASH_HEX_SIZE];
    hash_hex(text, hash);
    snprintf(out, HASH_HEX_SIZE + 8, "%.12s-%.16s.json", name, hash);
}

int queue_refuse(struct offline *self, const char *name, const struct ethos_error *why,
                 struct ethos_error *error)
{
    int dir;
    CLEANUP_STR struct str text, kept;
    char aside[HASH_HEX_SIZE + 8];
    const struct ethos_host *host = self->setup.host;
    str_init(&text, ETHOS_MAX_INPUT_BYTES + 1);
    str_init(&kept, OFFLINE_FILE_BYTES);
    int code = read_call_text(self, name, &text, error);
    name_refused(name, str_view(&text), aside);
    if (code == ETHOS_OK &&
        print_refused(str_view(&text), host->now_ms(host->arg), why, &kept) != ETHOS_OK)
        code = err_nomem(error);
    if (code == ETHOS_OK)
        code = offline_folder(self, REFUSED, true, &dir, error);
    if (code == ETHOS_OK) {
        code = file_replace(dir, aside, str_view(&kept), 0600, error);
        os_close(dir);
    }
    return code == ETHOS_OK ? queue_drop(self, name, error) : code;
}
