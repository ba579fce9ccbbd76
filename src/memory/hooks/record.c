/*
 * record.c: records the events of agents in sessions.
 *
 * Everything goes through the spool, so that there is one path: an event is queued, then all queued
 * events of the conversation are recorded, oldest first, by one process at a time. An agent's
 * transcript is imported; if none can be read, the messages in the event itself are recorded.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/system/dir.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/handle_internal.h"
#include "memory/hooks/internal.h"
#include "memory/hooks/queue.h"
#include "memory/sessions/import.h"

#define VERSION 1        /* of queued events */
#define OLD_MS 86400000  /* an event that could not be recorded for so long is refused */
#define HEADER_MAX 65536 /* bytes of the first line of a transcript */

int hooks_recording(struct ethos *self, bool *out, struct ethos_error *error)
{
    const struct config *home, *own;
    int code = service_config(self, NULL, &home, &own, error);
    *out = code == ETHOS_OK && !self->ephemeral && config_switch(home, NULL, "hooks.record");
    return code;
}

/* ---- a transcript ---------------------------------------------------------------------------- */

static void load_place(struct ethos *self, const struct hook *hook, struct sessions_place *out)
{
    CLEANUP_STR struct str text;
    str_init(&text, SIZE_MAX);
    if (hooks_state_read(self, hook, HOOKS_PLACE, &text) != ETHOS_OK ||
        !sessions_place_parse(str_view(&text), out))
        *out = (struct sessions_place){0};
}

static void save_place(struct ethos *self, const struct hook *hook,
                       const struct sessions_place *place)
{
    CLEANUP_STR struct str text;
    str_init(&text, SIZE_MAX);
    if (sessions_place_print(place, &text) == ETHOS_OK)
        hooks_state_write(self, hook, HOOKS_PLACE, str_view(&text));
}

/* A session that has diverged from the transcript stays as it is; retrying would not help. */
static int record_transcript(struct ethos_turn *turn, const struct hook *hook,
                             struct ethos_error *error)
{
    struct sessions_place place, before;
    const struct sessions_import what = {
        .path = hook->transcript, .format = hook->agent->format, .place = &place};
    load_place(turn->ethos, hook, &place);
    before = place;
    int code = sessions_import(turn, &what, error);
    if (code == ETHOS_OK && memcmp(&before, &place, sizeof place) != 0)
        save_place(turn->ethos, hook, &place);
    return code;
}

/* Whether the agent's transcript will contain the messages of its events. */
static bool has_transcript(const struct hook *hook)
{
    return hook->transcript && hook->agent->format;
}

static bool says_something(const struct hook *hook)
{
    return !view_blank(hook->prompt) || !view_blank(hook->reply);
}

/*
 * Whether a file without messages is a transcript that has just begun: empty, or JSON from its
 * first line on.
 */
static bool has_begun(const char *path)
{
    struct stat info;
    json_t *row = NULL;
    char *room = malloc(HEADER_MAX);
    int fd = room ? os_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0) : -1;
    bool there = fd >= 0 && os_fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    ssize_t got = there ? os_pread(fd, room, HEADER_MAX, 0) : -1;
    struct ethos_view text = view_of(room, got > 0 ? (size_t)got : 0), line = {0};
    if (got > 0 && view_line(&text, &line))
        json_parse_wide(line, "transcript", &row, NULL);
    bool begun = got == 0 || json_is_object(row);
    json_decref(row);
    if (fd >= 0)
        os_close(fd);
    free(room);
    return begun;
}

/*
 * An agent may report the end of a turn before its transcript exists, or has more than its first
 * lines, which contain no message: such an event waits in the spool until it is late.
 */
static int record_or_wait(struct ethos_turn *turn, const struct hook *hook, const char *turn_id,
                          bool late, struct ethos_error *error)
{
    int code = has_transcript(hook) ? record_transcript(turn, hook, error) : ETHOS_NOTFOUND;
    if (code != ETHOS_NOTFOUND && code != ETHOS_INVALID)
        return code;
    bool begun = code == ETHOS_INVALID && has_begun(hook->transcript);
    if (has_transcript(hook) && (begun || code == ETHOS_NOTFOUND) && !late)
        return err_set(error, ETHOS_IO, "%s: not there yet", hook->transcript);
    if (says_something(hook))
        return hooks_append_messages(turn, hook, turn_id, error);
    return has_transcript(hook) && !begun ? code : ETHOS_OK;
}

/* ---- notes ----------------------------------------------------------------------------------- */

/* A parsed event of the spool. */
struct note_of_hook {
    json_t *json;
    struct hook hook;
    struct ethos_request request;
    char personality[ETHOS_MAX_ID + 1], user[ETHOS_MAX_ID + 1]; /* where it names none */
};

/* The agent's environment says who the person is, too; another process may record the event. */
static int print_note(const struct ethos *self, const struct ethos_request *given,
                      const struct hook *hook, struct str *out, struct ethos_error *error)
{
    const struct ethos_request request = turn_request(given);
    json_t *note = json_pack("{s:i, s:s, s:s, s:I, s:s*, s:s*, s:O}", "version", VERSION, "agent",
                             hook->agent->name, "event", hook->event->name, "at",
                             (json_int_t)service_now_ms(self), "personality", request.personality,
                             "user", request.user, "input", hook->input);
    int code = note ? json_print(note, JSON_STYLE_LINE, out) : ETHOS_NOMEM;
    json_decref(note);
    return code == ETHOS_OK ? code : err_nomem(error);
}

static const char *get_string(const json_t *json, const char *name)
{
    return json_string_value(json_object_get(json, name));
}

/* ETHOS_INVALID if it is not an event of ours, ETHOS_UNSUPPORTED if a newer program wrote it. */
static int parse_note(struct ethos_view text, struct note_of_hook *out, struct ethos_error *error)
{
    *out = (struct note_of_hook){0};
    TRY(json_parse_most(text, SPOOL_MAX_NOTE, "note", &out->json, error));
    if (json_integer_value(json_object_get(out->json, "version")) > VERSION)
        return err_set(error, ETHOS_UNSUPPORTED, "queued event: of a newer version");
    const struct agent *who;
    const struct agent_event *what = agent_event_find(get_string(out->json, "agent"),
                                                      get_string(out->json, "event"), &who);
    if (!what)
        return err_set(error, ETHOS_INVALID, "queued event: unknown agent or event");
    int code = hook_take(who, what, json_incref(json_object_get(out->json, "input")), &out->hook,
                         error);
    if (code == ETHOS_OK && !out->hook.session)
        code = err_set(error, ETHOS_INVALID, "queued event: names no conversation");
    out->request = (struct ethos_request){.personality = get_string(out->json, "personality"),
                                          .user = get_string(out->json, "user"),
                                          .workspace = ""}; // such an event is not recorded
    return code;
}

static void release_note(struct note_of_hook *note)
{
    hook_release(&note->hook);
    json_decref(note->json);
}

static int record_event(struct ethos *self, const struct ethos_request *request,
                        const struct hook *hook, const char *turn_id, bool late,
                        struct ethos_error *error)
{
    struct ethos_turn *turn;
    TRY(ethos_turn_new(self, request, &turn, error));
    int code = record_or_wait(turn, hook, hook->turn ? hook->turn : turn_id, late, error);
    ethos_turn_free(turn);
    if (code == ETHOS_OK && hook->event->action == AGENT_END) {
        hooks_state_drop(self, hook, HOOKS_PLACE);
        hooks_state_clear(self);
    }
    return code;
}

/* The configuration completes the event: the environment is that of another process. */
static int complete_note(struct ethos *self, struct note_of_hook *note, struct ethos_error *error)
{
    const struct config *home, *own;
    int code = service_config(self, NULL, &home, &own, error);
    if (code == ETHOS_OK && !note->request.personality) {
        const char *active = config_get(home, NULL, "personality");
        snprintf(note->personality, sizeof note->personality, "%s", active);
        note->request.personality = note->personality;
    }
    if (code == ETHOS_OK && !note->request.user) {
        code = service_local_user(self, note->user, error);
        note->request.user = note->user;
    }
    return code;
}

static int record_note(struct ethos *self, struct note_of_hook *note, const char *name, bool late,
                       struct ethos_error *error)
{
    TRY(complete_note(self, note, error));
    return record_event(self, &note->request, &note->hook, name, late, error);
}

/* ---- taking them in -------------------------------------------------------------------------- */

/* Whether the same failure is certain next time. */
static bool is_hopeless(int code)
{
    return code == ETHOS_INVALID || code == ETHOS_LIMIT || code == ETHOS_NOTFOUND ||
           code == ETHOS_CONFLICT || code == ETHOS_EXISTS || code == ETHOS_DENIED;
}

/* Whether the failure is not about the event. */
static bool is_temporary_failure(int code)
{
    return code == ETHOS_BUSY || code == ETHOS_NOMEM;
}

static bool is_old(const struct ethos *self, const char *name)
{
    return service_now_ms(self) - strtoll(name, NULL, 10) > OLD_MS;
}

static bool is_of(const struct note_of_hook *note, const struct hook *of)
{
    return !of || (note->hook.agent == of->agent && strcmp(note->hook.session, of->session) == 0);
}

/* Removes or refuses the event, depending on the result of recording it. */
static int finish_queued_event(struct ethos *self, const char *name, const char *session, int code,
                               struct hooks_drained *told, struct ethos_error *error)
{
    if (code == ETHOS_OK) {
        told->recorded++;
        return spool_drop(self, name, error);
    }
    if (is_temporary_failure(code) || !(is_hopeless(code) || is_old(self, name)))
        return code;
    told->refused++;
    return spool_refuse(self, name, session, error);
}

/* Records one event of a conversation (NULL: of any). */
static int record_queued_event(struct ethos *self, const char *name, const struct hook *of,
                               struct hooks_drained *told, struct ethos_error *error)
{
    struct note_of_hook note = {0};
    struct str text;
    str_init(&text, SIZE_MAX);
    int code = spool_read(self, name, &text, error);
    if (code == ETHOS_NOTFOUND) { // somebody removed it
        str_release(&text);
        return ETHOS_OK;
    }
    if (code == ETHOS_OK)
        code = parse_note(str_view(&text), &note, error);
    // what is not an event belongs to nobody; one that could not be read may belong to anybody
    bool mine = code == ETHOS_OK ? is_of(&note, of) : !of || !is_hopeless(code);
    if (code == ETHOS_OK && mine)
        code = record_note(self, &note, name, is_old(self, name), error);
    if (mine)
        code = finish_queued_event(
            self, name, note.json && has_transcript(&note.hook) ? note.hook.session : NULL, code,
            told, error);
    release_note(&note);
    str_release(&text);
    return mine ? code : ETHOS_OK;
}

/* A failure does not stop the others. Returns the first one. */
static int record_queued_events(struct ethos *self, const struct hook *of,
                                const struct dir_names *names, struct hooks_drained *told,
                                struct ethos_error *error)
{
    struct ethos_error other;
    int first = ETHOS_OK;
    for (size_t i = 0; i < names->count; i++) {
        int code = record_queued_event(self, names->list[i], of, told, first ? &other : error);
        if (code == ETHOS_OK)
            continue;
        told->left++;
        first = first ? first : code;
        if (is_temporary_failure(code)) {
            told->left += names->count - i - 1;
            break;
        }
    }
    return first;
}

static int drain_locked(struct ethos *self, const struct hook *of, const char *newest, bool dry_run,
                        struct hooks_drained *told, struct ethos_error *error)
{
    CLEANUP_ARENA struct arena arena;
    struct dir_names names;
    const struct dir_names one = {&newest, newest ? 1 : 0};
    arena_init(&arena);
    int code = record_queued_events(self, of, &one, told,
                                    error); // its transcript may contain what the others are about
    if (code == ETHOS_OK)
        code = spool_list(self, &arena, &names, error);
    if (code == ETHOS_OK && dry_run)
        told->left = names.count;
    else if (code == ETHOS_OK)
        code = record_queued_events(self, of, &names, told, error);
    return code;
}

/* Records the events of a conversation (NULL: of all), beginning with one, or NULL. */
static int drain_queue(struct ethos *self, const struct hook *of, const char *newest, bool dry_run,
                       struct hooks_drained *told, struct ethos_error *error)
{
    int lock;
    int code = spool_lock(self, &lock, error);
    if (code != ETHOS_OK)
        return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
    code = drain_locked(self, of, newest, dry_run, told, error);
    os_close(lock);
    return code;
}

/*
 * Moves events that could not be queued into the spool, or records them at once. False: some still
 * wait.
 */
struct retry {
    struct ethos *ethos;
    bool at_once;
};

/* Records an event that waited beside the spool. One that can never be recorded is done. */
static int record_waiting(struct ethos *self, const char *name, struct ethos_view text)
{
    struct note_of_hook note;
    int code = parse_note(text, &note, NULL);
    if (code == ETHOS_OK)
        code = record_note(self, &note, name, true, NULL);
    release_note(&note);
    return is_hopeless(code) ? ETHOS_OK : code;
}

static bool retry_lines(void *arg, struct ethos_view text)
{
    const struct retry *retry = arg;
    struct ethos_view line;
    int code = ETHOS_OK;
    while (code == ETHOS_OK && view_line(&text, &line)) {
        char name[SPOOL_NAME_SIZE];
        const char *space = memchr(line.data, ' ', line.size);
        size_t size = space ? (size_t)(space - line.data) : 0;
        if (size == 0 || size >= sizeof name)
            continue;
        memcpy(name, line.data, size);
        name[size] = '\0';
        code = retry->at_once ? record_waiting(retry->ethos, name, view_from(line, size + 1))
                              : spool_write(retry->ethos, name, view_from(line, size + 1), NULL);
    }
    return code == ETHOS_OK;
}

static void retry_waiting(struct ethos *self, const struct hook *hook, bool at_once)
{
    struct retry retry = {self, at_once};
    CLEANUP_STR struct str text;
    str_init(&text, SIZE_MAX);
    if (hooks_state_read(self, hook, HOOKS_WAITING, &text) == ETHOS_OK &&
        retry_lines(&retry, str_view(&text)))
        hooks_state_drop(self, hook, HOOKS_WAITING);
}

/* Drops queued events once recording is disabled. */
static int drop_all(struct ethos *self, struct ethos_error *error)
{
    CLEANUP_ARENA struct arena arena;
    struct dir_names names;
    arena_init(&arena);
    int code = spool_list(self, &arena, &names, error);
    for (size_t i = 0; code == ETHOS_OK && i < names.count; i++)
        code = spool_drop(self, names.list[i], error);
    return code;
}

int hooks_drain(struct ethos *self, bool dry_run, struct hooks_drained *out,
                struct ethos_error *error)
{
    bool recording;
    *out = (struct hooks_drained){0};
    if (self->ephemeral)
        return ETHOS_OK;
    TRY(hooks_recording(self, &recording, error));
    if (recording && !dry_run) {
        struct retry retry = {self, false};
        hooks_state_each(self, HOOKS_WAITING, retry_lines, &retry);
    }
    return recording || dry_run ? drain_queue(self, NULL, NULL, dry_run, out, error)
                                : drop_all(self, error);
}

/* ---- an event -------------------------------------------------------------------------------- */

/* Appends the event to a file beside the spool, for the next event of the conversation. */
static bool queue_for_next_event(struct ethos *self, const struct hook *hook, const char *name,
                                 struct ethos_view note)
{
    CLEANUP_STR struct str line;
    str_init(&line, SIZE_MAX);
    str_printf(&line, "%s ", name);
    str_add(&line, note);
    str_addc(&line, '\n');
    return str_code(&line) == ETHOS_OK &&
           hooks_state_append(self, hook, HOOKS_WAITING, str_view(&line));
}

static int queue_hook_event(struct ethos *self, const struct ethos_request *request,
                            const struct hook *hook, char out_name[SPOOL_NAME_SIZE],
                            struct ethos_error *error)
{
    CLEANUP_STR struct str text = {0};
    if (spool_name(self, out_name) != 0)
        return err_errno(error, errno, "random");
    str_init(&text, SIZE_MAX);
    TRY(print_note(self, request, hook, &text, error));
    retry_waiting(self, hook, false);
    int code = spool_write(self, out_name, str_view(&text), error);
    if (code != ETHOS_OK && hook->event->action == AGENT_PROMPT &&
        queue_for_next_event(self, hook, out_name, str_view(&text)))
        code = ETHOS_OK;
    return code;
}

/* Without a spool it is tried once, directly. */
static int record_now(struct ethos *self, const struct ethos_request *given,
                      const struct hook *hook, struct ethos_error *error)
{
    char turn_id[SPOOL_NAME_SIZE];
    struct ethos_request request = *given;
    request.workspace = ""; // such an event is not recorded
    spool_name(self, turn_id);
    retry_waiting(self, hook, true);
    return record_event(self, &request, hook, turn_id, true, error);
}

int hooks_record(struct ethos *self, const struct ethos_request *request, const struct hook *hook,
                 struct ethos_error *error)
{
    struct hooks_drained told = {0};
    char name[SPOOL_NAME_SIZE];
    bool prompt = hook->event->action == AGENT_PROMPT, recording;
    if (!hook->session || (prompt && has_transcript(hook)))
        return ETHOS_OK;
    // Gemini CLI announces before every turn that it might
    if (hook->event->action == AGENT_COMPACT && hook->agent->format)
        hooks_state_drop(self, hook, HOOKS_SHOWN);
    int settings = hooks_recording(self, &recording, error);
    if (self->ephemeral || (settings == ETHOS_OK && !recording))
        return ETHOS_OK;
    int code = queue_hook_event(self, request, hook, name, settings ? NULL : error);
    if (settings != ETHOS_OK) // it waits until they can be read
        return settings;
    if (code != ETHOS_OK && code != ETHOS_NOMEM && !prompt)
        return record_now(self, request, hook, error);
    if (code != ETHOS_OK || prompt)
        return code;
    code = drain_queue(self, hook, has_transcript(hook) ? name : NULL, false, &told, error);
    if (code != ETHOS_OK)
        spool_sync(self, name, NULL);
    return code;
}
