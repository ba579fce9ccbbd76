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

/*
 * A file that cannot be read is named: the model would take its absence for "nothing is known".
 * Memory that cannot be read at all is a problem, too, but not what is refused.
 */
static int add_memory(struct ethos *self, const struct ethos_request *request, size_t room,
                      struct ethos_turn **out_turn, struct str *out, int *out_unread,
                      struct ethos_error *error)
{
    int code = ethos_turn_new(self, request, out_turn, error);
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

static bool is_folder(const char *path)
{
    struct stat info;
    return os_fstatat(AT_FDCWD, path, &info, 0) == 0 && S_ISDIR(info.st_mode);
}

/*
 * Where the agent works counts; what the person who set up the hook says counts more. A folder that
 * is gone, such as a work tree that was removed after its last turn, has no memory of its own; all
 * other memory is there, and so is what was said.
 */
struct ethos_request hooks_request(const struct ethos_request *given, const struct hook *hook)
{
    struct ethos_request request = *given;
    if (!request.workspace && hook->folder)
        request.workspace = is_folder(hook->folder) ? hook->folder : "";
    return request;
}

/* What is not known to the conversation yet: the block, or what changed in it, and what is wrong. */
static int add_news(struct ethos *self, const struct ethos_request *request,
                    const struct hook *hook, size_t room, struct hooks_told *out,
                    struct ethos_error *error)
{
    char line[ERROR_ROOM - 2] = "";
    bool tell = false;
    struct ethos_turn *turn = NULL;
    int code = add_memory(self, request, room, &turn, &out->text, &out->unread, error);
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
    struct ethos_request request = hooks_request(given, hook);
    struct ethos_error own = {0}, *why = error ? error : &own;
    bool recording = false;
    request.query = hook->prompt.size > 0 ? hook->prompt.data : NULL;
    if (hook->compacted && hooks_recording(self, &recording, why) != ETHOS_OK)
        recording = false;
    int code = add_news(self, &request, hook,
                        HOOK_MAX_CONTEXT - (recording ? sizeof advice + 2 : 0), out, why);
    if (code == ETHOS_OK && recording)
        code = add_paragraph(&out->text, advice) ? err_nomem(error) : ETHOS_OK;
    return code;
}
