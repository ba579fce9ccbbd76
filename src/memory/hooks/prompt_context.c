/*
 * prompt_context.c: what a hook sends to the model. already_shown.c leaves out what the
 * conversation already has.
 */
#include "memory/hooks/hooks.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/system/file.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/sessions/key.h"
#include "memory/handle_internal.h"
#include "memory/hooks/internal.h"
#include "memory/notes/list.h"
#include "memory/workspace/workspace.h"

#define ERROR_ROOM 640 /* bytes */
#define RECALLED_HEADING "## Recalled\n\n"

static const char advice[] =
    "This conversation was compacted. What was said before is kept: session_search finds it.";

/* ---- the text -------------------------------------------------------------------------------- */

/* Recalled passages are at the end of a block and are not recorded as sent. */
static int split_block(const struct ethos_block *block, struct str *out, struct str *recalled)
{
    struct ethos_view sections = view_of(block->text, block->size);
    if (block->recalled.data) {
        sections.size = (size_t)(block->recalled.data - block->text) - strlen(RECALLED_HEADING);
        str_adds(recalled, RECALLED_HEADING);
        str_add(recalled, block->recalled);
    }
    str_add(out, view_trim_end(sections));
    return str_code(out) ? str_code(out) : str_code(recalled);
}

/*
 * Reserves space for recalled passages at a start, too, so that the block is the same at each
 * event.
 */
static struct ethos_prefetch_options block_options(uint64_t room)
{
    return (struct ethos_prefetch_options){.max_bytes = room,
                                           .max_recalled = HOOKS_RECALLED,
                                           .quick = 1,
                                           .truncate = ETHOS_TRUNCATE_BALANCED,
                                           .tools = 1,
                                           .keep_sections = 1};
}

int hooks_block(struct ethos_turn *turn, struct ethos_block **out_block, struct ethos_error *error)
{
    struct ethos_prefetch_options options = block_options(HOOK_MAX_CONTEXT);
    options.receipt = 1;
    return ethos_prefetch(turn, &options, out_block, error);
}

static int add_memory_block(struct ethos_turn *turn, uint64_t room, struct str *out,
                            struct str *recalled, int *out_code, struct ethos_error *error)
{
    const struct ethos_prefetch_options options = block_options(room);
    struct ethos_block *block = NULL;
    int code = ethos_prefetch(turn, &options, &block, error);
    *out_code = ETHOS_OK;
    if (code == ETHOS_OK && block) {
        *out_code = block->code;
        if (block->code != ETHOS_OK && error)
            *error = block->error;
        code = split_block(block, out, recalled) ? err_nomem(error) : ETHOS_OK;
    }
    ethos_block_free(block);
    return code;
}

static int add_paragraph(struct str *out, const char *text)
{
    if (out->size > 0)
        str_adds(out, "\n\n");
    return str_adds(out, text);
}

/*
 * The folder an agent works in: what it calls the project, as a model may change the directory;
 * else the current directory or its nearest existing parent. NULL if there is none.
 */
static const char *find_folder(const struct hook *hook, char out[PATH_MAX])
{
    const char *began = hook->agent->project ? getenv(hook->agent->project) : NULL;
    if (began && workspace_nearest(began, out) && strcmp(began, out) == 0)
        return out;
    return hook->folder && workspace_nearest(hook->folder, out) ? out : NULL;
}

/*
 * A folder set by whoever installed the hook takes precedence over the agent's. A folder that is
 * gone belongs to the project of its nearest existing parent, if any: a work tree that was removed
 * after its last turn may have none.
 */
static int find_project(struct ethos *self, const struct hook *hook, struct workspace_place *place,
                        struct ethos_request *request, struct ethos_error *error)
{
    int root = -1;
    char nearest[PATH_MAX];
    const char *folder = find_folder(hook, nearest);
    if (request->workspace || !hook->folder)
        return ETHOS_OK;
    request->workspace = "";
    int code = folder ? service_open_root(self, false, &root, error) : ETHOS_OK;
    if (code == ETHOS_OK && folder)
        code = workspace_around(root, folder, place, error);
    if (root >= 0)
        os_close(root);
    if (code == ETHOS_OK && folder)
        request->workspace = place->root.data;
    return code;
}

#define MAX_SETTINGS 65536 /* bytes */

/* False: no such file can be read. */
static bool read_settings(const char *folder, const char *name, struct str *out)
{
    char path[PATH_MAX];
    int size = snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = size < PATH_MAX ? os_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0) : -1;
    int code = fd < 0 ? ETHOS_NOTFOUND : file_read(fd, path, MAX_SETTINGS, out, NULL, NULL);
    if (fd >= 0)
        os_close(fd);
    return code == ETHOS_OK;
}

static bool is_top(const char *folder)
{
    struct stat info;
    char path[PATH_MAX + 8];
    snprintf(path, sizeof path, "%s/.git", folder);
    return os_fstatat(AT_FDCWD, path, &info, 0) == 0;
}

/*
 * Appends where the agent keeps its own memory of a folder, if that is the notes of a workspace.
 * Its project settings are in the folder or above, up to the git top level.
 */
static int find_own_folder(const struct agent *agent, const char *folder, struct str *out)
{
    CLEANUP_STR struct str text;
    char path[PATH_MAX];
    const struct agent_file *file = agent->files;
    while (file->parts && file->parts != AGENT_OWN_MEMORY)
        file++;
    int size = snprintf(path, sizeof path, "%s", folder);
    str_init(&text, MAX_SETTINGS + 1);
    bool found = false;
    while (file->parts && size > 1 && size < PATH_MAX &&
           !(found = read_settings(path, file->project, &text)) && !is_top(path)) {
        while (size > 0 && path[size] != '/')
            size--;
        path[size] = 0;
    }
    return found ? agent_own_folder(agent, str_view(&text), out) : ETHOS_OK;
}

/*
 * An agent that uses these notes as its own memory shows their index itself. Its notes without an
 * index line get one when a conversation begins.
 */
static int leave_out_index(struct ethos_turn *turn, const struct hook *hook,
                           struct ethos_error *error)
{
    const struct ethos_origin origin = {.actor = hook->agent->name, .via = "hook"};
    const struct ethos_sync_how how = {.origin = &origin};
    CLEANUP_STR struct str own = {0};
    char *path = NULL;
    char nearest[PATH_MAX];
    const char *folder = find_folder(hook, nearest), *scope = turn->context.workspace_scope;
    if (!hook->agent->own_folder || !folder || !scope)
        return ETHOS_OK;
    str_init(&own, PATH_MAX);
    int code = find_own_folder(hook->agent, folder, &own);
    if (code == ETHOS_OK && own.size > 0)
        code = service_path(turn, scope, "MEMORY.md", &path, error);
    if (code == ETHOS_OK && path &&
        view_eq(view_of(path, (size_t)(strrchr(path, '/') - path)), str_view(&own))) {
        turn->has_index = true;
        turn->context.workspace_shown = 0;
        if (hook->event->action == AGENT_START)
            code = notes_list_new(turn, scope, &how, NULL);
    }
    free(path);
    return code == ETHOS_NOMEM ? err_nomem(error) : ETHOS_OK;
}

/*
 * A file that cannot be read is named: the model would take its absence for "nothing is known".
 * Memory that cannot be read at all is reported, too, but not what access rules refuse.
 */
static int add_memory(struct ethos *self, const struct ethos_request *given,
                      const struct hook *hook, size_t room, struct ethos_turn **out_turn,
                      struct str *out, struct str *recalled, int *out_unread,
                      struct ethos_error *error)
{
    struct workspace_place place;
    struct str session;
    struct ethos_request request = turn_request(given);
    const struct ethos_view parts[] = {view_str(hook->agent->name),
                                       view_str(hook->session ? hook->session : "")};
    str_init(&session, SIZE_MAX);
    if (hook->session && session_key_parts(parts, 2, &session) == ETHOS_OK)
        request.session = session.data;
    request.query = hook->prompt.size > 0 ? hook->prompt.data : NULL;
    workspace_place_init(&place);
    int code = find_project(self, hook, &place, &request, error);
    if (code == ETHOS_OK)
        code = ethos_turn_new(self, &request, out_turn, error);
    workspace_place_release(&place);
    str_release(&session);
    if (code == ETHOS_OK)
        code = leave_out_index(*out_turn, hook, error);
    if (code == ETHOS_OK)
        code = add_memory_block(*out_turn, room, out, recalled, out_unread, error);
    if (code == ETHOS_OK && *out_unread != ETHOS_OK) { // room for the report
        str_clear(out);
        str_clear(recalled);
        code = add_memory_block(*out_turn, room - ERROR_ROOM, out, recalled, out_unread, error);
    }
    if (code != ETHOS_OK && code != ETHOS_NOMEM && code != ETHOS_DENIED) {
        *out_unread = code;
        code = ETHOS_OK;
    }
    return code;
}

/*
 * What the conversation does not have yet: the block or its changes, problems, then what the prompt
 * recalls.
 */
static int add_news(struct ethos *self, const struct ethos_request *request,
                    const struct hook *hook, size_t room, struct hooks_told *out,
                    struct ethos_error *error)
{
    char line[ERROR_ROOM - 2] = "";
    bool tell = false;
    struct ethos_turn *turn = NULL;
    struct str recalled;
    str_init(&recalled, SIZE_MAX);
    int code = add_memory(self, request, hook, room, &turn, &out->text, &recalled, &out->unread,
                          error);
    if (code == ETHOS_OK && hook->tries && self->wants_sessions)
        code = err_set(error, ETHOS_UNSUPPORTED, "this program keeps no sessions");
    if (code == ETHOS_OK && out->unread != ETHOS_OK)
        snprintf(line, sizeof line, "[...memory could not be read: %s]", error->text);
    if (code == ETHOS_OK && hooks_shown(self, turn, hook, *line ? line : NULL, &out->text, &tell))
        code = err_nomem(error);
    if (code == ETHOS_OK && tell)
        code = add_paragraph(&out->text, line) ? err_nomem(error) : ETHOS_OK;
    if (code == ETHOS_OK && recalled.size > 0 && out->text.size + 2 + recalled.size <= room)
        code = add_paragraph(&out->text, recalled.data) ? err_nomem(error) : ETHOS_OK;
    out->problem = tell;
    str_release(&recalled);
    ethos_turn_free(turn);
    return code;
}

int hooks_context(struct ethos *self, const struct ethos_request *given, const struct hook *hook,
                  struct hooks_told *out, struct ethos_error *error)
{
    struct ethos_error own = {0}, *why = error ? error : &own;
    bool recording = false;
    if (hook->compacted && hooks_recording(self, &recording, why) != ETHOS_OK)
        recording = false;
    int code = add_news(self, given, hook, HOOK_MAX_CONTEXT - (recording ? sizeof advice + 2 : 0),
                        out, why);
    if (code == ETHOS_OK && recording)
        code = add_paragraph(&out->text, advice) ? err_nomem(error) : ETHOS_OK;
    if (code == ETHOS_OK)
        hooks_note_read(self, hook->agent->name);
    return code;
}
