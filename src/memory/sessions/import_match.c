/*
 * import_match.c: finds the session of a transcript, and how much of it is imported.
 *
 * Imported messages are recognised by their ids alone, from the last one back. Other messages of
 * the session are classified: import again, an older copy, or a conflict.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "core/sessions/key.h"
#include "memory/sessions/import_internal.h"

#define NAME_MAX_BYTES 512 /* of a session's own id in the key; a longer one is hashed */
#define WIDER 64           /* growth of the window if the last messages are unknown */

#define WHY_HERE "the session here continued differently"
#define WHY_THERE "the transcript no longer begins like the session"

/* ---- ids ------------------------------------------------------------------------------------ */

static void chain_id(const char *key, const char *before, const struct ethos_message *message,
                     struct str *scratch, char out[ETHOS_UUID_SIZE])
{
    const char *parts[] = {key, before, message->role, message->tool_call_id, message->tool_calls};
    str_clear(scratch);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        str_adds(scratch, parts[i] ? parts[i] : "");
        str_addc(scratch, '\0');
    }
    str_add(scratch, message->content);
    transcript_uuid(str_view(scratch), out);
}

/* Assigns an id to every message, and records its index. */
static int name_messages(struct session_import *self)
{
    struct import_source *source = self->source;
    CLEANUP_STR struct str scratch;
    char id[ETHOS_UUID_SIZE];
    int code = ETHOS_OK;
    snprintf(id, sizeof id, "%s", source->from ? source->from->before : "");
    str_init(&scratch, SIZE_MAX);
    for (size_t i = 0; i < source->count && code == ETHOS_OK; i++) {
        struct ethos_message *message = &source->messages[i];
        if (!self->own) {
            chain_id(self->key, id, message, &scratch, id);
            message->id = str_code(&scratch) ? NULL : arena_str(&source->arena, id);
        }
        if (!message->id ||
            json_object_set_new(self->places, message->id, json_integer((json_int_t)i)))
            code = ETHOS_NOMEM;
    }
    return code;
}

/* <format>:<id>; a long or unusual id is hashed. */
static const char *make_import_key(struct import_source *source)
{
    struct ethos_view id = view_str(source->about.session.id);
    char uuid[ETHOS_UUID_SIZE];
    CLEANUP_STR struct str key = {0};
    if (!id.data)
        return source->name;
    if (id.size > NAME_MAX_BYTES) {
        transcript_uuid(id, uuid);
        id = view_str(uuid);
    }
    str_init(&key, SIZE_MAX);
    const struct ethos_view parts[] = {view_str(source->about.format), id};
    return session_key_parts(parts, 2, &key) ? NULL : arena_copy(&source->arena, str_view(&key));
}

int import_identify(struct session_import *self)
{
    self->key = make_import_key(self->source);
    return self->key ? name_messages(self) : ETHOS_NOMEM;
}

/* ---- where the session stands --------------------------------------------------------------- */

static int copy_found_session(void *arg, const struct ethos_session *session)
{
    struct session_import *self = arg;
    struct arena *arena = &self->source->arena;
    self->found = true;
    self->session = *session;
    self->session.title = arena_str(arena, session->title);
    self->session.model = arena_str(arena, session->model);
    self->session.provider = arena_str(arena, session->provider);
    self->session.working_dir = arena_str(arena, session->working_dir);
    snprintf(self->id, sizeof self->id, "%s", session->id);
    bool whole = (!session->title || self->session.title) && self->session.model &&
                 self->session.provider && (!session->working_dir || self->session.working_dir);
    return whole ? ETHOS_OK : ETHOS_NOMEM;
}

enum { ALIKE = 1, OTHER };

static int compare_first(void *arg, const struct ethos_message *message)
{
    const struct session_import *self = arg;
    return strcmp(message->id, self->source->messages[0].id) == 0 ? ALIKE : OTHER;
}

/*
 * Two homes may have the same conversation under different ids, or different ones under the same
 * key.
 */
static int find_own_key(struct session_import *self, struct ethos_error *error)
{
    struct ethos_sessions *store = self->run->store;
    int code = store->ops->get_by_key(store, self->source->about.session.key, copy_found_session,
                                      self, error);
    if (code == ETHOS_OK)
        code = store->ops->messages(store, self->id, 0, compare_first, self, error);
    self->found = code == ALIKE;
    if (!self->found)
        *self->id = '\0';
    return code > 0 ? ETHOS_OK : code;
}

static int find_imported_session(struct session_import *self, struct ethos_error *error)
{
    struct ethos_sessions *store = self->run->store;
    const struct ethos_session *told = &self->source->about.session;
    int code = ETHOS_NOTFOUND;
    self->found = false;
    if (self->own && told->id)
        code = store->ops->get(store, told->id, copy_found_session, self, error);
    if (code == ETHOS_NOTFOUND)
        code = store->ops->get_by_key(store, self->key, copy_found_session, self, error);
    if (code == ETHOS_NOTFOUND && self->own && told->key)
        code = find_own_key(self, error);
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

/* The last messages of a session. */
struct window {
    struct arena arena;
    struct ethos_message *list;
    size_t count, capacity;
};

static int add_window_message(void *arg, const struct ethos_message *message)
{
    struct window *window = arg;
    struct arena *arena = &window->arena;
    struct ethos_message *list = arena_grow(arena, window->list, window->count, &window->capacity,
                                            sizeof *list);
    if (!list)
        return ETHOS_NOMEM;
    window->list = list;
    list[window->count] = (struct ethos_message){
        .id = arena_str(arena, message->id),
        .role = arena_str(arena, message->role),
        .content = view_of(arena_copy(arena, message->content), message->content.size),
        .tool_call_id = arena_str(arena, message->tool_call_id),
        .tool_calls = arena_str(arena, message->tool_calls),
        .timestamp = arena_str(arena, message->timestamp)};
    const struct ethos_message *kept = &list[window->count++];
    bool whole = kept->id && kept->role && kept->content.data && kept->timestamp &&
                 (!message->tool_call_id || kept->tool_call_id) &&
                 (!message->tool_calls || kept->tool_calls);
    return whole ? ETHOS_OK : ETHOS_NOMEM;
}

static bool is_user(const struct ethos_message *message)
{
    return strcmp(message->role, "user") == 0;
}

/* Whether the transcript has at most one turn. */
static bool is_one_turn(const struct ethos_message *messages, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (is_user(&messages[i]))
            return false;
    return true;
}

/* Whether a message may be a longer form of another, written later by the program. */
static bool is_grown_message(const struct ethos_message *from, const struct ethos_message *to)
{
    if (strcmp(from->role, to->role) != 0)
        return false;
    if (view_eq_str(from->content, TRANSCRIPT_NO_RESULT))
        return true;
    return view_starts(to->content, from->content) &&
           (!from->tool_calls ||
            (to->tool_calls && strlen(from->tool_calls) <= strlen(to->tool_calls)));
}

/* Whether messages were imported from this transcript, the first of them after its `have`. */
static int are_ours(const struct session_import *self, const struct ethos_message *messages,
                    size_t count, bool *out)
{
    CLEANUP_STR struct str scratch;
    char id[ETHOS_UUID_SIZE] = "";
    str_init(&scratch, SIZE_MAX);
    if (self->have > 0)
        snprintf(id, sizeof id, "%s", self->source->messages[self->have - 1].id);
    *out = true;
    for (size_t i = 0; i < count && *out; i++) {
        chain_id(self->key, id, &messages[i], &scratch, id);
        *out = strcmp(id, messages[i].id) == 0;
    }
    return str_code(&scratch);
}

/* Decides about messages that the session has after the common ones. */
static int classify_extra(struct session_import *self, const struct ethos_message *extra,
                          size_t count)
{
    const struct import_source *source = self->source;
    const struct ethos_message *rest = source->messages + self->have;
    size_t rest_count = source->count - self->have;
    bool ours = false;
    self->extra = count;
    if (count == 0 || rest_count == 0)
        return ETHOS_OK;
    TRY(are_ours(self, extra, count, &ours));
    if (ours && (source->about.taken_back ||
                 (is_grown_message(extra, rest) && is_one_turn(extra, count)))) {
        self->again = arena_str(&self->source->arena, extra->id);
        return self->again ? ETHOS_OK : ETHOS_NOMEM;
    }
    if (!ours)
        self->conflict = WHY_HERE;
    else if (!is_grown_message(rest, extra) || !is_one_turn(rest, rest_count))
        self->conflict = WHY_THERE;
    return ETHOS_OK;
}

/* The number of messages in the window after the last one that is in the transcript. */
static size_t count_extra(struct session_import *self, const struct window *window)
{
    size_t at = window->count;
    self->have = 0;
    *self->last_time = '\0';
    while (at > 0 && self->have == 0) {
        const json_t *place = json_object_get(self->places, window->list[--at].id);
        if (!place)
            continue;
        self->have = (size_t)json_integer_value(place) + 1;
        snprintf(self->last_time, sizeof self->last_time, "%s", window->list[at].timestamp);
        return window->count - at - 1;
    }
    return window->count;
}

/*
 * Looks at the last messages, and at more until one is known. After a place it must be among as
 * many as were read, otherwise the place is invalid.
 */
static int match_last_messages(struct session_import *self, struct ethos_error *error)
{
    struct ethos_sessions *store = self->run->store;
    const struct import_source *source = self->source;
    bool known = false;
    int code = ETHOS_OK;
    for (unsigned last = 1; code == ETHOS_OK && !known; last *= WIDER) {
        struct window window = {0};
        arena_init(&window.arena);
        code = store->ops->messages(store, self->id, last, add_window_message, &window, error);
        size_t extra = code == ETHOS_OK ? count_extra(self, &window) : 0;
        bool all = window.count < last || (source->from && window.count > source->count);
        known = code == ETHOS_OK && (self->have > 0 || all);
        if (known)
            code = classify_extra(self, window.list + window.count - extra, extra);
        arena_release(&window.arena);
    }
    return code;
}

/* Our own export is compared by content: it may have been edited. */
static int compare_own(void *arg, const struct ethos_message *message)
{
    struct session_import *self = arg;
    const struct import_source *source = self->source;
    const struct ethos_message *mine = &source->messages[self->have];
    snprintf(self->last_time, sizeof self->last_time, "%s", message->timestamp);
    if (self->have == source->count)
        self->extra++;
    else if (strcmp(mine->role, message->role) == 0 && view_eq(mine->content, message->content))
        self->have++;
    else
        self->conflict = "a message differs here";
    return self->conflict ? 1 : ETHOS_OK;
}

bool import_has_more(const struct session_import *self)
{
    return !self->conflict && !self->source->unfit && self->have < self->source->count &&
           (self->extra == 0 || self->again);
}

/* Before a session is created: all new messages must be new to the store. */
static int check_ids_unused(struct session_import *self, struct ethos_error *error)
{
    struct ethos_sessions *store = self->run->store;
    size_t rest = self->source->count - self->have, at;
    int code = store->ops->taken(store, self->source->messages + self->have, rest, &at, error);
    if (code == ETHOS_OK && at < rest)
        self->conflict = IMPORT_TAKEN;
    return code;
}

/*
 * The session must end in the part that was read. Other differences need the whole file, which
 * shows what was undone before.
 */
static void check_place_fits(struct session_import *self)
{
    if (self->source->from && (self->have == 0 || (self->extra > 0 && !self->again)))
        self->source->unfit = true;
}

/* Finds the session, and checks that the place belongs to it. */
static int find_and_check_place(struct session_import *self, struct ethos_error *error)
{
    bool sealed = true;
    int code = find_imported_session(self, error);
    if (code == ETHOS_OK && self->source->from)
        code = import_place_sealed(self, &sealed);
    self->source->unfit |= !sealed;
    return code;
}

int import_match(struct session_import *self, struct ethos_error *error)
{
    struct ethos_sessions *store = self->run->store;
    self->have = self->extra = 0;
    self->again = NULL;
    *self->last_time = '\0';
    int code = find_and_check_place(self, error);
    if (code == ETHOS_OK && self->found && !self->source->unfit)
        code = self->own && !self->begun
                   ? store->ops->messages(store, self->id, 0, compare_own, self, error)
                   : match_last_messages(self, error);
    if (code == 1)
        code = ETHOS_OK;
    if (code == ETHOS_OK && !self->begun && import_has_more(self))
        code = check_ids_unused(self, error);
    check_place_fits(self);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}
