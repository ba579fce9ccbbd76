/*
 * record_messages.c: adds the messages in an event to the session of its conversation.
 *
 * Message ids are made of conversation, turn, role and text: the same event twice is recorded once.
 */
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/sessions/key.h"
#include "core/sessions/transcript.h"
#include "memory/handle_internal.h"
#include "memory/hooks/internal.h"
#include "memory/sessions/lookup.h"

#define NOT_ASKED "(what was asked was not recorded)"
#define SAYS 3     /* messages of one event: the end of an aborted turn, a question, an answer */
#define GAP "\n\n" /* between pieces of one message */

/* A conversation that is added to. */
struct saying {
    struct ethos_sessions *store;
    const struct hook *hook;
    const char *turn; /* identifies this event */
    const char *key;
    char id[ETHOS_UUID_SIZE];
    struct arena arena;
    struct ethos_message last; /* role NULL: no messages yet */
    /* appended together, so that no question stays without its answer after a crash: */
    struct ethos_message new[SAYS];
    char ids[SAYS][ETHOS_UUID_SIZE];
    size_t count;
    const char *replaced; /* the last message, of which new[0] is a longer form; or NULL */
};

static int copy_session_id(void *arg, const struct ethos_session *session)
{
    struct saying *self = arg;
    if (strlen(session->id) < sizeof self->id)
        memcpy(self->id, session->id, strlen(session->id) + 1);
    return ETHOS_OK;
}

static int copy_last_message(void *arg, const struct ethos_message *message)
{
    struct saying *self = arg;
    const char *text = arena_copy(&self->arena, message->content);
    self->last = (struct ethos_message){.id = arena_str(&self->arena, message->id),
                                        .role = arena_str(&self->arena, message->role),
                                        .content = view_of(text, message->content.size)};
    return text && self->last.id && self->last.role ? ETHOS_OK : ETHOS_NOMEM;
}

static int find_hook_session(struct saying *self, const struct ethos_turn *turn,
                             struct ethos_error *error)
{
    struct ethos_sessions *store = self->store;
    struct ethos_session session = {.key = self->key,
                                    .platform = self->hook->agent->name,
                                    .personality = turn->context.personality,
                                    .working_dir = self->hook->folder};
    int code = store->ops->get_by_key(store, self->key, copy_session_id, self, error);
    if (code == ETHOS_NOTFOUND) {
        code = sessions_user(turn, &session.user, error);
        return code == ETHOS_OK ? store->ops->create(store, &session, self->id, error) : code;
    }
    if (code == ETHOS_OK && !*self->id)
        return err_set(error, ETHOS_LIMIT, "%s: its id is too long", self->key);
    return code == ETHOS_OK
               ? store->ops->messages(store, self->id, 1, copy_last_message, self, error)
               : code;
}

static int make_message_id(struct saying *self, const struct ethos_message *message,
                           char out[ETHOS_UUID_SIZE])
{
    const struct ethos_view parts[] = {view_str(self->key), view_str(self->turn),
                                       view_str(message->role), message->content};
    CLEANUP_STR struct str text;
    str_init(&text, SIZE_MAX);
    for (size_t i = 0; i < 4; i++) {
        str_add(&text, parts[i]);
        str_addc(&text, '\0');
    }
    int code = str_code(&text);
    if (code == ETHOS_OK)
        transcript_uuid(str_view(&text), out);
    return code;
}

static bool is_last(const struct saying *self, const struct ethos_message *message)
{
    return self->last.role && strcmp(self->last.role, message->role) == 0;
}

/* Whether the text ends the last message of the same role. */
static bool is_said(const struct saying *self, const struct ethos_message *message)
{
    struct ethos_view last = self->last.content;
    size_t size = message->content.size;
    return is_last(self, message) && view_ends(last, message->content) &&
           (last.size == size || view_ends(view_of(last.data, last.size - size), VIEW(GAP)));
}

/* Joins pieces of one answer into one message. */
static int join_last(struct saying *self, struct ethos_message *message, struct ethos_error *error)
{
    CLEANUP_STR struct str text;
    str_init(&text, SIZE_MAX);
    str_add(&text, self->last.content);
    str_adds(&text, GAP);
    str_add(&text, message->content);
    const char *copy = str_code(&text) ? NULL : arena_copy(&self->arena, str_view(&text));
    message->content = view_of(copy, text.size);
    return copy ? ETHOS_OK : err_nomem(error);
}

static int record_new(struct saying *self, struct ethos_error *error)
{
    struct ethos_sessions *store = self->store;
    uint64_t hidden;
    if (self->count == 0)
        return ETHOS_OK;
    if (self->replaced)
        return store->ops->rewind(store, self->id, self->replaced, self->new, self->count,
                                  ETHOS_APPEND_CHECKED | ETHOS_APPEND_REPLACE, &hidden, error);
    return store->ops->append(store, self->id, self->new, self->count, ETHOS_APPEND_CHECKED, error);
}

/* A question after an unanswered one: that turn was aborted. */
static bool is_aborted(const struct saying *self, const struct ethos_message *message)
{
    return strcmp(message->role, "user") == 0 && self->last.role &&
           (is_last(self, message) || strcmp(self->last.role, "user_steer") == 0);
}

static int add_spoken_message(struct saying *self, const char *role, struct ethos_view text,
                              struct ethos_error *error)
{
    char *id = self->ids[self->count];
    size_t at;
    struct ethos_message message = {.id = id, .role = role, .content = text};
    if (view_blank(text) || is_said(self, &message))
        return ETHOS_OK;
    if (make_message_id(self, &message, id) != ETHOS_OK)
        return err_nomem(error);
    int code = self->store->ops->taken(self->store, &message, 1, &at, error);
    if (code != ETHOS_OK || at == 0)
        return code;
    if (is_aborted(self, &message)) {
        self->new[self->count++] = (struct ethos_message){.role = "assistant",
                                                          .content = VIEW(TRANSCRIPT_NO_REPLY)};
    } else if (is_last(self, &message)) { // then nothing is new yet
        self->replaced = self->last.id;
        code = join_last(self, &message, error);
        if (code == ETHOS_OK && make_message_id(self, &message, id) != ETHOS_OK)
            code = err_nomem(error);
    }
    self->last = self->new[self->count++] = message;
    return code;
}

static int append_messages(struct saying *self, const struct ethos_turn *turn,
                           struct ethos_error *error)
{
    const struct hook *hook = self->hook;
    TRY(find_hook_session(self, turn, error));
    TRY(add_spoken_message(self, "user", hook->prompt, error));
    if (!self->last.role && hook->reply.size > 0)
        TRY(add_spoken_message(self, "user", VIEW(NOT_ASKED), error));
    TRY(add_spoken_message(self, "assistant", hook->reply, error));
    return record_new(self, error);
}

/* <agent>:<conversation>, the key of its transcript; events: a separate key beside it. */
static const char *make_session_key(struct saying *self, bool events)
{
    const struct ethos_view parts[] = {view_str(self->hook->agent->name),
                                       view_str(self->hook->session), VIEW("events")};
    CLEANUP_STR struct str key;
    str_init(&key, SIZE_MAX);
    return session_key_parts(parts, events ? 3 : 2, &key)
               ? NULL
               : arena_copy(&self->arena, str_view(&key));
}

/* Whether the transcript of the conversation was recorded, which contains everything. */
static int has_recorded_transcript(struct saying *self, bool *out, struct ethos_error *error)
{
    const char *key = make_session_key(self, false);
    int code = key ? self->store->ops->get_by_key(self->store, key, copy_session_id, self, error)
                   : err_nomem(error);
    *out = code == ETHOS_OK;
    *self->id = '\0';
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

static int append_events(struct saying *self, const struct ethos_turn *turn,
                         struct ethos_error *error)
{
    bool told = false, events = self->hook->agent->format != NULL;
    int code = events ? has_recorded_transcript(self, &told, error) : ETHOS_OK;
    if (code != ETHOS_OK || told)
        return code;
    self->key = make_session_key(self, events);
    return self->key ? append_messages(self, turn, error) : err_nomem(error);
}

int hooks_append_messages(struct ethos_turn *turn, const struct hook *hook, const char *turn_id,
                          struct ethos_error *error)
{
    struct saying self = {.hook = hook, .turn = turn_id};
    int lock;
    TRY(ethos_sessions(turn->ethos, &self.store, error));
    TRY(sessions_lock(turn->ethos, &lock, error));
    arena_init(&self.arena);
    int code = append_events(&self, turn, error);
    arena_release(&self.arena);
    os_close(lock);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}
