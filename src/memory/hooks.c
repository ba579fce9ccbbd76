/*
 * hooks.c: what the model is told. What of it the conversation has already: hooks_shown.c.
 */
#include "memory/hooks.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/os.h"
#include "base/str.h"
#include "base/view.h"
#include "memory/handle.h"
#include "memory/hooks_parts.h"
#include "memory/workspace.h"

#define ERROR_ROOM 640 /* bytes */

static const char advice[] =
    "This conversation was compacted. What was said before is kept: session_search finds it.";

/* ---- the text -------------------------------------------------------------------------------- */

static int add_block(struct ethos_turn *turn, uint64_t room, struct str *out, int *out_code,
                     struct ethos_error *error)
{
    const struct ethos_prefetch_options options = {
        .max_bytes = room, .truncate = ETHOS_TRUNCATE_BALANCED, .tools = 1};
    struct ethos_block *block = NULL;
    int code = ethos_prefetch(turn, &options, &block, error);
    *out_code = ETHOS_OK;
    if (code == ETHOS_OK && block) {
        *out_code = block->code;
        if (block->code != ETHOS_OK && error)
            *error = block->error;
        code = str_add(out, view_of(block->text, block->size)) ? err_nomem(error) : ETHOS_OK;
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

static bool is_folder(const char *path)
{
    struct stat info;
    return os_fstatat(AT_FDCWD, path, &info, 0) == 0 && S_ISDIR(info.st_mode);
}

/*
 * Where an agent works, which is somewhere in the project: what it calls the place where the conversation
 * began, as a model may change the directory; else the directory. NULL when neither is there any more.
 */
static const char *find_folder(const struct hook *hook)
{
    const char *began = hook->agent->project ? getenv(hook->agent->project) : NULL;
    if (began && *began == '/' && is_folder(began))
        return began;
    return hook->folder && is_folder(hook->folder) ? hook->folder : NULL;
}

/*
 * What the person who set up the hook says counts, else where the agent works. A folder that is gone,
 * such as a work tree that was removed after its last turn, is in no project; all other memory is there.
 */
static int find_project(struct ethos *self, const struct hook *hook, struct workspace_place *place,
                        struct ethos_request *request, struct ethos_error *error)
{
    int root = -1;
    const char *folder = find_folder(hook);
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

/*
 * A file that cannot be read is named: the model would take its absence for "nothing is known".
 * Memory that cannot be read at all is a problem, too, but not what is refused.
 */
static int add_memory(struct ethos *self, const struct ethos_request *given,
                      const struct hook *hook, size_t room, struct ethos_turn **out_turn,
                      struct str *out, int *out_unread, struct ethos_error *error)
{
    struct workspace_place place;
    struct ethos_request request = turn_request(given);
    request.query = hook->prompt.size > 0 ? hook->prompt.data : NULL;
    workspace_place_init(&place);
    int code = find_project(self, hook, &place, &request, error);
    if (code == ETHOS_OK)
        code = ethos_turn_new(self, &request, out_turn, error);
    workspace_place_release(&place);
    if (code == ETHOS_OK)
        code = add_block(*out_turn, room, out, out_unread, error);
    if (code == ETHOS_OK && *out_unread != ETHOS_OK) { // room to say so
        str_clear(out);
        code = add_block(*out_turn, room - ERROR_ROOM, out, out_unread, error);
    }
    if (code != ETHOS_OK && code != ETHOS_NOMEM && code != ETHOS_DENIED) {
        *out_unread = code;
        code = ETHOS_OK;
    }
    return code;
}

/* What is not known to the conversation yet: the block, or what changed in it, and what is wrong. */
static int add_news(struct ethos *self, const struct ethos_request *request,
                    const struct hook *hook, size_t room, struct hooks_told *out,
                    struct ethos_error *error)
{
    char line[ERROR_ROOM - 2] = "";
    bool tell = false;
    struct ethos_turn *turn = NULL;
    int code = add_memory(self, request, hook, room, &turn, &out->text, &out->unread, error);
    if (code == ETHOS_OK && out->unread != ETHOS_OK)
        snprintf(line, sizeof line, "[...memory could not be read: %s]", error->text);
    if (code == ETHOS_OK && hooks_shown(self, turn, hook, *line ? line : NULL, &out->text, &tell))
        code = err_nomem(error);
    if (code == ETHOS_OK && tell)
        code = add_paragraph(&out->text, line) ? err_nomem(error) : ETHOS_OK;
    out->problem = tell;
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
    return code;
}
