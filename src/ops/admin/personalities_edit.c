/*
 * personalities_edit.c: creates, changes, copies and deletes personalities.
 *
 * A personality is a directory with config.yaml, SOUL.md and its memory, which nothing here changes. Deleting moves the
 * whole directory to <home>/removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/formats/toolset_yaml.h"
#include "core/history/diff.h"
#include "memory/handle.h"
#include "memory/home/directory.h"
#include "ops/admin/builtin_personalities.h"
#include "ops/admin/personalities.h"
#include "ops/admin/personality_json.h"

#define REMOVED "removed"
#define CONFIG "config.yaml"

static void format_personality_folder(const char *id, char out[PERSONALITIES_PATH_SIZE])
{
    snprintf(out, PERSONALITIES_PATH_SIZE, PERSONALITIES_FOLDER "/%s", id);
}

/* ---- the lock ------------------------------------------------------------------------------ */

/*
 * Locks the personalities for a change. Whether the personality exists is checked before, so that a failing call
 * creates no home, and again under the lock.
 */
static int lock_personalities(struct op_call *call, const char *id, bool exists, int *out_lock,
                              struct ethos_error *error)
{
    int home;
    *out_lock = -1;
    int code = personalities_require(call, id, exists, error);
    if (code != ETHOS_OK || call->dry_run)
        return code;
    if (service_ephemeral(call->ethos)) {
        code = err_set(error, ETHOS_DENIED,
                       PERSONALITIES_FOLDER "/%s/" CONFIG
                                            ": settings cannot be changed in ephemeral memory",
                       id);
        return err_hint(error, code, "leave out --ephemeral-memory to change them");
    }
    code = service_open_home(call->ethos, true, &home, error);
    if (code != ETHOS_OK)
        return code;
    code = home_lock(home, PERSONALITIES_FOLDER, out_lock, error);
    os_close(home);
    return code == ETHOS_OK ? personalities_require(call, id, exists, error) : code;
}

static void unlock_personalities(int lock)
{
    if (lock >= 0)
        os_close(lock);
}

/* ---- all files, or none -------------------------------------------------------------------- */

/* A file as it was before; its text is empty if there was none. */
struct previous_file {
    const char *name;
    struct str text;
    bool there;
};

#define FILES 4

static int read_previous_file(int home, const char *folder, struct previous_file *file,
                              struct ethos_error *error)
{
    char path[PERSONALITIES_PATH_SIZE + 16];
    snprintf(path, sizeof path, "%s/%s", folder, file->name);
    str_init(&file->text, ETHOS_MAX_READ_BYTES);
    int code = home < 0 ? ETHOS_NOTFOUND
                        : home_read(home, path, ETHOS_MAX_READ_BYTES, &file->text, NULL, error);
    file->there = code == ETHOS_OK;
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

/* Restores the file, as far as possible. */
static void restore_previous_file(int home, const char *folder, const struct previous_file *file)
{
    char path[PERSONALITIES_PATH_SIZE + 16];
    snprintf(path, sizeof path, "%s/%s", folder, file->name);
    if (file->there)
        home_replace(home, folder, file->name, str_view(&file->text), NULL);
    else
        os_unlinkat(home, path, 0);
}

/* ---- whole texts --------------------------------------------------------------------------- */

/* Texts to write into the files beside config.yaml; absent: leave the file as it is. */
struct personality_texts {
    struct ethos_view soul, toolset, mcp;
};

/* Writes a text; a dry run appends the diff to the result's text. */
static int write_personality_file(struct op_call *call, const char *id, const char *name,
                                  struct ethos_view text, struct op_result *result,
                                  struct ethos_error *error)
{
    CLEANUP_FD int home = -1;
    char folder[PERSONALITIES_PATH_SIZE];
    if (!text.data)
        return ETHOS_OK;
    format_personality_folder(id, folder);
    CLEANUP_STR struct str old;
    str_init(&old, ETHOS_MAX_READ_BYTES);
    TRY(personalities_file(call, id, name, &old, NULL, error));
    if (view_eq(str_view(&old), text))
        return ETHOS_OK;
    if (call->dry_run)
        return diff_unified(str_view(&old), text, name, &result->text) ? err_nomem(error)
                                                                       : ETHOS_OK;
    TRY(service_open_home(call->ethos, true, &home, error));
    return home_replace(home, folder, name, text, error);
}

static int write_personality_files(struct op_call *call, const char *id,
                                   const struct personality_texts *texts, struct op_result *result,
                                   struct ethos_error *error)
{
    TRY(write_personality_file(call, id, PERSONALITIES_SOUL, texts->soul, result, error));
    TRY(write_personality_file(call, id, PERSONALITIES_TOOLSET, texts->toolset, result, error));
    return write_personality_file(call, id, PERSONALITIES_MCP, texts->mcp, result, error);
}

/* ---- toolset.yaml and mcp.yaml --------------------------------------------------------------- */

/* The new texts of these files; `texts` points into the buffers. */
struct extra_files {
    struct str toolset, mcp;
    struct personality_texts texts;
};

static void extra_files_init(struct extra_files *beside, struct ethos_view soul)
{
    *beside = (struct extra_files){.texts = {.soul = soul}};
    str_init(&beside->toolset, ETHOS_MAX_READ_BYTES);
    str_init(&beside->mcp, ETHOS_MAX_READ_BYTES);
}

static void extra_files_release(struct extra_files *beside)
{
    str_release(&beside->toolset);
    str_release(&beside->mcp);
}

/* A view that is never absent, even if the text is empty. */
static struct ethos_view present_view(const struct str *text)
{
    return view_of(text->size ? text->data : "", text->size);
}

/* If there is a toolset.yaml, moves the member "toolset" into it. */
static int move_toolset_to_file(struct op_call *call, const char *id, json_t *members,
                                struct extra_files *beside, struct ethos_error *error)
{
    bool there = false;
    const json_t *names = json_object_get(members, "toolset");
    if (!names)
        return ETHOS_OK;
    CLEANUP_STR struct str old;
    str_init(&old, ETHOS_MAX_READ_BYTES);
    TRY(personalities_file(call, id, PERSONALITIES_TOOLSET, &old, &there, error));
    if (!there)
        return ETHOS_OK;
    json_auto_t *none = json_array();
    TRY(toolset_edit(str_view(&old), json_is_null(names) ? none : names, &beside->toolset, error));
    beside->texts.toolset = present_view(&beside->toolset);
    json_object_del(members, "toolset");
    return ETHOS_OK;
}

/* {server: [tools] or null} from the arguments: null for a server that is named without tools. */
static json_t *tools_json(const json_t *members, struct ethos_view old)
{
    json_t *tools = json_object(), *server, *said = json_object_get(members, "mcp_tools");
    json_t *policy = mcp_policy_read(old), *unused;
    const char *name;
    size_t index;
    json_array_foreach (json_object_get(members, "mcp_servers"), index, server)
        if (json_is_string(server))
            op_json_put(&tools, json_string_value(server), json_null());
    json_object_foreach (json_is_null(said) ? json_object_get(policy, "servers") : NULL, name,
                         unused)
        op_json_put(&tools, name, json_null());
    if (tools && json_is_object(said))
        json_object_update(tools, said);
    json_decref(policy);
    return tools;
}

static int move_mcp_tools_to_file(struct op_call *call, const char *id, json_t *members,
                                  struct extra_files *beside, struct ethos_error *error)
{
    bool there = false;
    if (!json_object_get(members, "mcp_tools"))
        return ETHOS_OK;
    CLEANUP_STR struct str old;
    str_init(&old, ETHOS_MAX_READ_BYTES);
    TRY(personalities_file(call, id, PERSONALITIES_MCP, &old, &there, error));
    if (!there)
        return ETHOS_OK;
    json_auto_t *tools = tools_json(members, str_view(&old));
    TRY(tools ? mcp_policy_edit(str_view(&old), tools, &beside->mcp, error) : err_nomem(error));
    beside->texts.mcp = present_view(&beside->mcp);
    json_object_del(members, "mcp_tools");
    return ETHOS_OK;
}

/* ---- arguments ----------------------------------------------------------------------------- */

/* Adds a change of a one-line text, if the argument is given. */
static int read_text_argument(const struct op_call *call, const char *name,
                              struct personality_changes *changes, struct ethos_error *error)
{
    json_t *value = json_object_get(call->args, name);
    if (!value)
        return ETHOS_OK;
    json_auto_t *members = json_pack("{s:O}", name, value);
    return members ? personality_read(members, NULL, changes, error) : err_nomem(error);
}

static int read_fields(struct op_call *call, const struct config *own,
                       struct personality_changes *changes, struct extra_files *beside,
                       struct ethos_error *error)
{
    const char *id = op_string(call, "id");
    json_auto_t *members = NULL;
    struct ethos_view text = op_text(call, "fields");
    if (!text.data)
        return ETHOS_OK;
    TRY(json_parse(text, "fields", &members, error));
    if (json_is_object(members)) {
        TRY(move_toolset_to_file(call, id, members, beside, error));
        TRY(move_mcp_tools_to_file(call, id, members, beside, error));
    }
    return personality_read(members, own, changes, error);
}

/* Adds the changes of all arguments; own: the current settings, or NULL. */
static int read_changes(struct op_call *call, const struct config *own,
                        struct personality_changes *changes, struct extra_files *beside,
                        struct ethos_error *error)
{
    const char *name = op_string(call, "name"), *scope = op_string(call, "memoryScope");
    if (name)
        TRY(personality_set(changes, "name", name, error));
    TRY(read_text_argument(call, "description", changes, error));
    if (scope)
        TRY(personality_set(changes, "memoryScope", scope, error));
    return read_fields(call, own, changes, beside, error);
}

static int write_changes(struct op_call *call, const char *id,
                         const struct personality_changes *changes, struct op_result *result,
                         struct ethos_error *error)
{
    char folder[PERSONALITIES_PATH_SIZE];
    format_personality_folder(id, folder);
    return settings_write(call, folder, changes->items, changes->count, result, error);
}

/* Writes all changes; restores all files after a failure. */
static int write_files_or_restore(struct op_call *call, const char *id,
                                  const struct personality_changes *changes,
                                  const struct personality_texts *texts, struct op_result *result,
                                  struct ethos_error *error)
{
    int home;
    char folder[PERSONALITIES_PATH_SIZE];
    struct previous_file files[FILES] = {{.name = PERSONALITIES_SOUL},
                                         {.name = CONFIG},
                                         {.name = PERSONALITIES_TOOLSET},
                                         {.name = PERSONALITIES_MCP}};
    format_personality_folder(id, folder);
    int code = service_open_home(call->ethos, false, &home, error);
    if (code != ETHOS_OK)
        return code;
    for (size_t i = 0; i < FILES && code == ETHOS_OK; i++)
        code = read_previous_file(home, folder, &files[i], error);
    bool begun = code == ETHOS_OK && !call->dry_run;
    if (code == ETHOS_OK)
        code = write_personality_files(call, id, texts, result, error);
    if (code == ETHOS_OK && changes->count > 0)
        code = write_changes(call, id, changes, result, error);
    if (code != ETHOS_OK && begun && home < 0)
        service_open_home(call->ethos, false, &home, NULL); // the call created it
    if (code != ETHOS_OK && begun && home >= 0) {
        for (size_t i = 0; i < FILES; i++)
            restore_previous_file(home, folder, &files[i]);
        os_unlinkat(home, folder, AT_REMOVEDIR); // if the call created it, it is empty now
    }
    for (size_t i = 0; i < FILES; i++)
        str_release(&files[i].text);
    if (home >= 0)
        os_close(home);
    return code;
}

static int return_personality(struct op_call *call, const char *id, struct op_result *result,
                              struct ethos_error *error)
{
    json_t *row;
    TRY(personalities_row(call, id, NULL, &row, error));
    return op_return_change(call, result, json_pack("{s:s, s:o}", "id", id, "personality", row),
                            error);
}

/* ---- create -------------------------------------------------------------------------------- */

/* Copies all settings of another personality except its name, including unknown ones. */
static int copy_settings(struct op_call *call, const char *id, struct personality_changes *changes,
                         struct ethos_error *error)
{
    const struct config *home, *own;
    int code = service_config(call->ethos, id, &home, &own, error);
    if (code != ETHOS_OK)
        return code;
    for (size_t i = 0; own && code == ETHOS_OK && i < own->table.count; i++) {
        const struct yaml_pair *pair = &own->table.pairs[i];
        if (strcmp(pair->key, "name") != 0)
            code = personality_set(changes, pair->key, pair->value, error);
    }
    return code;
}

/* Copies toolset.yaml and mcp.yaml. */
static int copy_files(struct op_call *call, const char *id, struct extra_files *out,
                      struct ethos_error *error)
{
    bool toolset = false, mcp = false;
    int code = personalities_file(call, id, PERSONALITIES_TOOLSET, &out->toolset, &toolset, error);
    if (code == ETHOS_OK)
        code = personalities_file(call, id, PERSONALITIES_MCP, &out->mcp, &mcp, error);
    out->texts.toolset = toolset ? present_view(&out->toolset) : view_of(NULL, 0);
    out->texts.mcp = mcp ? present_view(&out->mcp) : view_of(NULL, 0);
    return code;
}

/* Copies settings and files of another personality; they point into `soul` and `beside`. */
static int copy_personality(struct op_call *call, const char *id,
                            struct personality_changes *changes, struct extra_files *beside,
                            struct str *soul, struct ethos_error *error)
{
    int code = copy_settings(call, id, changes, error);
    if (code == ETHOS_OK)
        code = personalities_soul(call, id, soul, error);
    if (code == ETHOS_OK)
        code = copy_files(call, id, beside, error);
    if (soul->size > 0)
        beside->texts.soul = str_view(soul);
    return code;
}

static int copy_builtin(const struct builtin_personality *from, struct personality_changes *changes,
                        struct extra_files *beside, struct ethos_error *error)
{
    beside->texts.soul = view_str(from->soul);
    if (from->toolset)
        beside->texts.toolset = view_str(from->toolset);
    return personality_set(changes, "description", from->description, error);
}

/* Starts with the personality named by "from", or with the built-in one that has the new id. */
static int start_from_template(struct op_call *call, struct personality_changes *changes,
                               struct extra_files *beside, struct str *soul,
                               struct ethos_error *error)
{
    const char *id = op_string(call, "id"), *from = op_string(call, "from");
    const struct builtin_personality *builtin = builtin_personality_find(from ? from : id);
    int code = from ? personalities_require(call, from, true, error) : ETHOS_OK;
    if (from && code == ETHOS_OK)
        code = copy_personality(call, from, changes, beside, soul, error);
    else if (builtin && (!from || code == ETHOS_NOTFOUND))
        code = copy_builtin(builtin, changes, beside, error);
    bool named = builtin && !op_string(call, "name") && strcmp(builtin->id, id) == 0;
    if (code == ETHOS_OK)
        code = personality_set(changes, "name", named ? builtin->name : id, error);
    if (op_text(call, "soulMd").data)
        beside->texts.soul = op_text(call, "soulMd");
    return code;
}

int personalities_run_create(struct op_call *call, struct op_result *result,
                             struct ethos_error *error)
{
    const char *id = op_string(call, "id");
    struct personality_changes changes;
    struct extra_files beside;
    struct str soul;
    int lock;
    str_init(&soul, ETHOS_MAX_READ_BYTES);
    personality_changes_init(&changes);
    extra_files_init(&beside, (struct ethos_view){0});
    int code = lock_personalities(call, id, false, &lock, error);
    if (code == ETHOS_OK)
        code = start_from_template(call, &changes, &beside, &soul, error);
    if (code == ETHOS_OK)
        code = read_changes(call, NULL, &changes, &beside, error);
    if (code == ETHOS_OK)
        code = write_files_or_restore(call, id, &changes, &beside.texts, result, error);
    unlock_personalities(lock);
    personality_changes_release(&changes);
    extra_files_release(&beside);
    str_release(&soul);
    return code == ETHOS_OK ? return_personality(call, id, result, error) : code;
}

/* ---- update -------------------------------------------------------------------------------- */

int personalities_run_update(struct op_call *call, struct op_result *result,
                             struct ethos_error *error)
{
    const char *id = op_string(call, "id");
    const struct config *home, *own = NULL;
    struct personality_changes changes;
    struct extra_files beside;
    int lock;
    personality_changes_init(&changes);
    extra_files_init(&beside, op_text(call, "soulMd"));
    int code = lock_personalities(call, id, true, &lock, error);
    if (code == ETHOS_OK)
        code = service_config(call->ethos, id, &home, &own, error);
    if (code == ETHOS_OK)
        code = read_changes(call, own, &changes, &beside, error);
    if (code == ETHOS_OK)
        code = write_files_or_restore(call, id, &changes, &beside.texts, result, error);
    unlock_personalities(lock);
    personality_changes_release(&changes);
    extra_files_release(&beside);
    return code == ETHOS_OK ? return_personality(call, id, result, error) : code;
}

/* ---- duplicate ----------------------------------------------------------------------------- */

static int name_copy(struct op_call *call, const char *id, struct personality_changes *changes,
                     struct ethos_error *error)
{
    const struct config *home, *own;
    int code = service_config(call->ethos, id, &home, &own, error);
    if (code != ETHOS_OK)
        return code;
    const char *name = config_own(own, "name");
    char *copy = arena_printf(&changes->arena, "%s (copy)", name && *name ? name : id);
    return copy ? personality_set(changes, "name", copy, error) : err_nomem(error);
}

int personalities_run_duplicate(struct op_call *call, struct op_result *result,
                                struct ethos_error *error)
{
    const char *id = op_string(call, "id"), *new_id = op_string(call, "newId");
    struct personality_changes changes;
    struct extra_files beside;
    struct str soul;
    int lock = -1;
    str_init(&soul, ETHOS_MAX_READ_BYTES);
    extra_files_init(&beside, (struct ethos_view){0});
    personality_changes_init(&changes);
    int code = personalities_require(call, id, true, error);
    if (code == ETHOS_OK)
        code = lock_personalities(call, new_id, false, &lock, error);
    if (code == ETHOS_OK)
        code = name_copy(call, id, &changes, error);
    if (code == ETHOS_OK)
        code = copy_personality(call, id, &changes, &beside, &soul, error);
    if (code == ETHOS_OK)
        code = write_files_or_restore(call, new_id, &changes, &beside.texts, result, error);
    unlock_personalities(lock);
    personality_changes_release(&changes);
    extra_files_release(&beside);
    str_release(&soul);
    return code == ETHOS_OK ? return_personality(call, new_id, result, error) : code;
}

/* ---- delete -------------------------------------------------------------------------------- */

static int refuse_active(struct op_call *call, const char *id, struct ethos_error *error)
{
    const struct config *home;
    int code = service_config(call->ethos, NULL, &home, NULL, error);
    if (code != ETHOS_OK || strcmp(config_get(home, NULL, "personality"), id) != 0)
        return code;
    code = err_set(error, ETHOS_DENIED, "%s is the active personality", id);
    return err_hint(error, code, "switch to another one first: ethos personality use ID");
}

/* 0, or -1 and errno. */
static int sync_folder(int home, const char *path)
{
    int folder = os_open_beneath(home, path, O_RDONLY | O_DIRECTORY, 0);
    if (folder < 0)
        return -1;
    int failed = os_fsync(folder), saved = errno;
    os_close(folder);
    errno = saved;
    return failed;
}

/* Moves the directory to removed/; *out_path is its new path below the home. */
static int move_to_removed(struct op_call *call, int home, const char *id,
                           char out_path[PERSONALITIES_PATH_SIZE], struct ethos_error *error)
{
    char folder[PERSONALITIES_PATH_SIZE], stamp[CLOCK_ISO_SIZE];
    struct stat info;
    format_personality_folder(id, folder);
    clock_iso(service_now_ms(call->ethos), stamp);
    snprintf(out_path, PERSONALITIES_PATH_SIZE,
             REMOVED "/personality-%s-%.4s%.2s%.2sT%.2s%.2s%.2sZ", id, stamp, stamp + 5, stamp + 8,
             stamp + 11, stamp + 14, stamp + 17);
    if (os_fstatat(home, folder, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? personalities_missing(id, error) : err_errno(error, errno, folder);
    if (call->dry_run)
        return ETHOS_OK;
    if (os_mkdirs(home, REMOVED) == 0 &&
        os_renameat(home, folder, home, out_path, RENAME_NOREPLACE) == 0)
        return sync_folder(home, REMOVED) == 0 && sync_folder(home, PERSONALITIES_FOLDER) == 0
                   ? ETHOS_OK
                   : err_errno(error, errno, out_path);
    int code = errno == EEXIST ? err_set(error, ETHOS_EXISTS, "%s already exists", out_path)
                               : err_errno(error, errno, out_path);
    os_unlinkat(home, REMOVED, AT_REMOVEDIR); // succeeds only if it is empty
    return code;
}

static int delete_personality(struct op_call *call, const char *id, struct op_result *result,
                              struct ethos_error *error)
{
    CLEANUP_FD int home = -1;
    char path[PERSONALITIES_PATH_SIZE], kept[PATH_MAX];
    TRY(service_open_home(call->ethos, false, &home, error));
    if (home < 0)
        return personalities_missing(id, error);
    TRY(move_to_removed(call, home, id, path, error));
    snprintf(kept, sizeof kept, "%s/%s", service_home(call->ethos), path);
    if (call->dry_run)
        str_printf(&result->text, "would move the files of %s to %s\n", id, kept);
    return op_return_change(call, result,
                            json_pack("{s:s, s:b, s:o}", "id", id, "deleted", !call->dry_run,
                                      "kept", op_json_string(kept)),
                            error);
}

int personalities_run_delete(struct op_call *call, struct op_result *result,
                             struct ethos_error *error)
{
    const char *id = op_string(call, "id");
    int lock, code = lock_personalities(call, id, true, &lock, error);
    if (code == ETHOS_OK)
        code = refuse_active(call, id, error);
    if (code == ETHOS_OK)
        code = delete_personality(call, id, result, error);
    unlock_personalities(lock);
    return code;
}
