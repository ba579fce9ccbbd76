/*
 * already_shown.c: decides which parts of a memory block a conversation already has, and whether
 * they arrived.
 *
 * For each conversation a hash of every line that was sent is stored (core/agents/shown_lines.h).
 * The text of removed lines, and who changed them, comes from the history and from the agent's
 * transcript.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/agents/shown_lines.h"
#include "memory/handle_internal.h"
#include "memory/hooks/internal.h"

#define WINDOW 262144        /* bytes of a transcript that are searched for the sent lines */
#define RECENT_BYTES 4194304 /* bytes at its end that are searched for revisions */
#define RECENT_CHANGES 64    /* bytes of a file that are read */

/* A conversation at an event. */
struct shown_talk {
    struct ethos_turn *turn; /* NULL: memory cannot be read */
    const struct hook *hook;
    struct arena arena;
    struct shown had;         /* what the conversation was sent */
    bool known;               /* it was sent anything */
    struct shown_lines lines; /* lines of the current block */
    int transcript;           /* -1: not open */
    uint64_t size;            /* of the transcript */
};

/* ---- whether it arrived ---------------------------------------------------------------------- */

/*
 * Quotes a text as agents write it in transcripts: as JSON; agents that mark hook output escape
 * those marks in it.
 */
static int add_quoted(const struct agent *agent, struct ethos_view text, struct str *out)
{
    CLEANUP_STR struct str escaped = {0};
    if (!agent->marks)
        return json_quote(text, out);
    str_init(&escaped, SIZE_MAX);
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] == '<')
            str_adds(&escaped, "&lt;");
        else if (text.data[i] == '>')
            str_adds(&escaped, "&gt;");
        else
            str_addc(&escaped, text.data[i]);
    return str_code(&escaped) ? str_fail(out, str_code(&escaped))
                              : json_quote(str_view(&escaped), out);
}

static bool stands_in(struct ethos_view window, const struct agent *agent, struct ethos_view text)
{
    CLEANUP_STR struct str quoted;
    str_init(&quoted, SIZE_MAX);
    return add_quoted(agent, text, &quoted) == ETHOS_OK &&
           memmem(window.data, window.size, quoted.data + 1, quoted.size - 2); // without quotes
}

/* Whether the transcript has the block as a whole, if that was sent, else each sent line of it. */
static bool stands_there(const struct shown_talk *self, struct ethos_view block,
                         struct ethos_view window)
{
    struct ethos_view line;
    if (shown_same(&self->had.sent, &self->lines))
        return stands_in(window, self->hook->agent, block);
    while (view_line(&block, &line))
        if (shown_has(&self->had.sent, line) &&
            !stands_in(window, self->hook->agent, view_trim_end(line)))
            return false;
    return true;
}

static bool is_there(const struct shown_talk *self, struct ethos_view block)
{
    char *room = self->had.size <= self->size ? malloc(WINDOW) : NULL;
    ssize_t got = room ? os_pread(self->transcript, room, WINDOW, self->had.size) : -1;
    bool there = got >= 0 && stands_there(self, block, view_of(room, (size_t)got));
    free(room);
    return there;
}

/*
 * Whether what was sent arrived. A start belongs to a new conversation unless it resumes one: then
 * the transcript must contain it. At a prompt, a transcript that lacks what it should contain
 * proves that it did not arrive.
 */
static bool has_arrived(const struct shown_talk *self, struct ethos_view block)
{
    const struct hook *hook = self->hook;
    bool readable = self->transcript >= 0;
    if (!self->known)
        return false;
    if (hook->event->action == AGENT_START)
        return hook->resumed && readable && is_there(self, block);
    return !readable || !self->had.asked || is_there(self, block);
}

/* ---- what changed ---------------------------------------------------------------------------- */

struct shown_walk {
    const struct shown_talk *talk;
    struct arena *arena;
    struct shown_past *past;
    struct ethos_view recent; /* of the transcript */
};

static int add_shown_change(void *arg, const struct ethos_change *change)
{
    const struct shown_walk *self = arg;
    bool own = change->after && self->recent.size > 0 &&
               memmem(self->recent.data, self->recent.size, change->after, strlen(change->after));
    return shown_past_add(self->past, self->arena, change->diff, own);
}

static int read_histories(struct shown_walk *self)
{
    struct ethos_turn *turn = self->talk->turn;
    const struct ethos_context *context = &turn->context;
    const struct ethos_target files[] = {{NULL, context->user_scope, "USER.md"},
                                         {NULL, context->memory_scope, "MEMORY.md"},
                                         {NULL, context->workspace_scope, "MEMORY.md"},
                                         {NULL, context->global_scope, "MEMORY.md"}};
    const struct ethos_filter filter = {.limit = RECENT_CHANGES};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        int code = files[i].scope
                       ? ethos_history(turn, &files[i], &filter, add_shown_change, self, NULL)
                       : ETHOS_UNSUPPORTED;
        if (code == ETHOS_NOMEM)
            return code;
        self->past->known |= code == ETHOS_OK;
    }
    return ETHOS_OK;
}

static int read_past(struct shown_talk *self, struct shown_past *out)
{
    struct shown_walk past = {.talk = self, .arena = &self->arena, .past = out};
    uint64_t from = self->had.seen;
    if (self->size > from + RECENT_BYTES)
        from = self->size - RECENT_BYTES;
    size_t size = self->transcript >= 0 && self->size > from ? (size_t)(self->size - from) : 0;
    char *room = size ? malloc(size) : NULL;
    ssize_t got = room ? os_pread(self->transcript, room, size, from) : -1;
    past.recent = view_of(room, got > 0 ? (size_t)got : 0);
    int code = read_histories(&past);
    free(room);
    return code;
}

/*
 * Replaces the block by its changes. part: some memory could not be read, so nothing counts as
 * removed.
 */
static int replace_by_changes(struct shown_talk *self, bool part, struct str *block,
                              struct shown *next)
{
    CLEANUP_STR struct str gone, text;
    struct shown_past past = {.gone = &gone};
    str_init(&gone, ETHOS_MAX_STORE_BYTES);
    str_init(&text, SIZE_MAX);
    int code = part ? ETHOS_OK : read_past(self, &past);
    if (code == ETHOS_OK)
        code = shown_changes(&self->had.lines, &self->lines, str_view(block), &past, &text);
    if (code == ETHOS_OK && part)
        code = shown_join(&next->lines, &self->arena, &self->had.lines);
    if (self->had.asked) { // what was sent before has arrived
        next->size = self->size;
        next->sent = (struct shown_lines){0};
    }
    if (code == ETHOS_OK)
        code = shown_add(&next->sent, &self->arena, str_view(&text));
    str_clear(block);
    str_add(block, str_view(&text));
    return code == ETHOS_OK ? str_code(block) : code;
}

/* ---- at an event ----------------------------------------------------------------------------- */

static void open_talk(struct shown_talk *self, struct ethos *ethos)
{
    struct str text;
    struct stat info;
    const char *path = self->hook->transcript;
    arena_init(&self->arena);
    str_init(&text, SIZE_MAX);
    self->known = hooks_state_read(ethos, self->hook, HOOKS_SHOWN, &text) == ETHOS_OK &&
                  shown_parse(str_view(&text), &self->arena, &self->had);
    str_release(&text);
    if (!self->known)
        self->had = (struct shown){0};
    self->transcript = path ? os_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0) : -1;
    if (self->transcript >= 0 &&
        (os_fstat(self->transcript, &info) != 0 || !S_ISREG(info.st_mode))) {
        os_close(self->transcript);
        self->transcript = -1;
    }
    self->size = self->transcript >= 0 ? (uint64_t)info.st_size : 0;
}

static void close_talk(struct shown_talk *self)
{
    if (self->transcript >= 0)
        os_close(self->transcript);
    arena_release(&self->arena);
}

static bool save_shown(struct ethos *ethos, const struct shown_talk *self, const struct shown *next)
{
    CLEANUP_STR struct str text;
    str_init(&text, SIZE_MAX);
    return shown_print(next, &text) == ETHOS_OK &&
           hooks_state_write(ethos, self->hook, HOOKS_SHOWN, str_view(&text));
}

/* Chooses what to send of a block, and records what the conversation then has. */
static int choose_block(struct shown_talk *self, bool part, struct str *block, struct shown *next)
{
    bool prompt = self->hook->event->action == AGENT_PROMPT;
    bool arrived = has_arrived(self, str_view(block));
    int code = ETHOS_OK;
    *next = self->had;
    next->asked = self->had.asked || prompt;
    if (!arrived || self->had.lines.count == 0) {
        *next = (struct shown){.size = self->size, .asked = prompt, .lines = self->lines};
        next->problem = arrived ? self->had.problem : 0;
        code = shown_join(&next->sent, &self->arena, &self->lines);
    } else if (shown_same(&self->had.lines, &self->lines)) {
        str_clear(block);
        return ETHOS_OK;
    } else {
        next->lines = (struct shown_lines){0};
        code = shown_join(&next->lines, &self->arena, &self->lines);
        if (code == ETHOS_OK)
            code = replace_by_changes(self, part, block, next);
        next->asked = prompt || (block->size == 0 && next->asked);
    }
    next->seen = self->size;
    return code;
}

int hooks_shown(struct ethos *ethos, struct ethos_turn *turn, const struct hook *hook,
                const char *problem, struct str *block, bool *out_tell_problem)
{
    struct shown_talk self = {.turn = turn, .hook = hook};
    struct shown next;
    *out_tell_problem = problem != NULL;
    if (!hook->session)
        return ETHOS_OK;
    open_talk(&self, ethos);
    int code = shown_add(&self.lines, &self.arena, str_view(block));
    if (code == ETHOS_OK && (self.known || block->size > 0 || problem)) {
        code = choose_block(&self, problem != NULL, block, &next);
        uint64_t told = problem ? shown_hash(view_str(problem)) : 0;
        *out_tell_problem = told != 0 && told != next.problem;
        next.problem = told;
        // what cannot be recorded would be sent with every prompt
        if (code == ETHOS_OK && !save_shown(ethos, &self, &next) &&
            hook->event->action == AGENT_PROMPT)
            *out_tell_problem = false;
    }
    close_talk(&self);
    return code;
}
