/*
 * hooks.c: what the model is told.
 *
 * A block that the conversation has already is not told again with every prompt. That it has it is
 * seen in the agent's own transcript, and nowhere else.
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

#define WINDOW 262144  /* bytes of a transcript in which a block is looked for */
#define ERROR_ROOM 640 /* bytes */

static const char advice[] =
    "This conversation was compacted. What was said before is kept: session_search finds it.";

/* ---- whether it was told --------------------------------------------------------------------- */

/* As agents write it down: as JSON; those that mark what hooks say escape the marks in it. */
static int add_quoted(const struct agent *agent, struct ethos_view block, struct str *out)
{
    struct str escaped;
    if (!agent->marks)
        return json_quote(block, out);
    str_init(&escaped, SIZE_MAX);
    for (size_t i = 0; i < block.size; i++)
        if (block.data[i] == '<')
            str_adds(&escaped, "&lt;");
        else if (block.data[i] == '>')
            str_adds(&escaped, "&gt;");
        else
            str_addc(&escaped, block.data[i]);
    int code = str_code(&escaped) ? str_fail(out, str_code(&escaped))
                                  : json_quote(str_view(&escaped), out);
    str_release(&escaped);
    return code;
}

/* What a conversation was told last, and how long its transcript was then. */
struct told {
    char hash[HASH_HEX_SIZE];
    uint64_t size;
};

static bool load_told(struct ethos *self, const struct hook *hook, struct told *out)
{
    struct str text;
    str_init(&text, SIZE_MAX);
    bool read = hooks_state_read(self, hook, HOOKS_TOLD, &text) == ETHOS_OK &&
                str_addc(&text, '\0') == ETHOS_OK &&
                sscanf(text.data, "%64s %" SCNu64, out->hash, &out->size) == 2;
    str_release(&text);
    return read;
}

static void save_told(struct ethos *self, const struct hook *hook, const struct told *told)
{
    char text[HASH_HEX_SIZE + 32];
    int size = snprintf(text, sizeof text, "%s %" PRIu64 "\n", told->hash, told->size);
    hooks_state_write(self, hook, HOOKS_TOLD, view_of(text, (size_t)size));
}

/* Whether a transcript has the block, not far behind where it ended when that was told. */
static bool is_shown(int fd, const struct agent *agent, struct ethos_view block, uint64_t from)
{
    struct str quoted;
    char *room = malloc(WINDOW);
    str_init(&quoted, SIZE_MAX);
    bool shown = room && add_quoted(agent, block, &quoted) == ETHOS_OK;
    ssize_t got = shown ? os_pread(fd, room, WINDOW, from) : -1;
    shown = got > 0 &&
            memmem(room, (size_t)got, quoted.data + 1, quoted.size - 2) != NULL; // without quotes
    str_release(&quoted);
    free(room);
    return shown;
}

/* A start is another conversation's, unless it goes on with one. */
static bool is_told(struct ethos *self, const struct hook *hook, struct ethos_view block, int fd,
                    const struct told *now)
{
    struct told then;
    bool begins = hook->event->action == AGENT_START && !hook->resumed;
    return !begins && load_told(self, hook, &then) && strcmp(then.hash, now->hash) == 0 &&
           then.size <= now->size && is_shown(fd, hook->agent, block, then.size);
}

/* Whether it was told already; else it is noted as told now. */
static bool tell_once(struct ethos *self, const struct hook *hook, struct ethos_view block)
{
    struct stat info;
    struct told now = {.size = 0};
    if (!hook->session || !hook->transcript)
        return false;
    int fd = os_openat(AT_FDCWD, hook->transcript, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    bool there = fd >= 0 && os_fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    now.size = there ? (uint64_t)info.st_size : 0;
    hash_hex(block, now.hash);
    bool told = there && is_told(self, hook, block, fd, &now);
    if (fd >= 0)
        os_close(fd);
    if (!told)
        save_told(self, hook, &now);
    return told;
}

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

/* A file that cannot be read is named: the model would take its absence for "nothing is known". */
static int add_memory(struct ethos_turn *turn, size_t room, struct str *out, int *out_unread,
                      struct ethos_error *error)
{
    char line[ERROR_ROOM - 2];
    int code = add_block(turn, room, out, out_unread, error);
    if (code != ETHOS_OK || *out_unread == ETHOS_OK)
        return code;
    str_clear(out);
    code = add_block(turn, room - ERROR_ROOM, out, out_unread, error);
    if (code != ETHOS_OK || *out_unread == ETHOS_OK)
        return code;
    snprintf(line, sizeof line, "[...a memory file could not be read: %s]", error->text);
    return add_paragraph(out, line);
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

int hooks_context(struct ethos *self, const struct ethos_request *given, const struct hook *hook,
                  struct str *out, int *out_unread, struct ethos_error *error)
{
    struct ethos_request request = hooks_request(given, hook);
    struct ethos_error why = {0};
    struct ethos_turn *turn;
    bool recording = false;
    request.query = hook->prompt.size > 0 ? hook->prompt.data : NULL;
    int code = ethos_turn_new(self, &request, &turn, error);
    if (code != ETHOS_OK)
        return code;
    if (hook->compacted)
        code = hooks_recording(self, &recording, &why);
    if (code == ETHOS_OK)
        code = add_memory(turn, HOOK_MAX_CONTEXT - (recording ? sizeof advice + 2 : 0), out,
                          out_unread, &why);
    ethos_turn_free(turn);
    if (code == ETHOS_OK && out->size > 0 && tell_once(self, hook, str_view(out)))
        str_clear(out);
    if (code == ETHOS_OK && recording)
        code = add_paragraph(out, advice);
    if (error && (code != ETHOS_OK || *out_unread != ETHOS_OK))
        *error = why;
    return code;
}
