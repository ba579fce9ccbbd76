/*
 * sessions_import_take.c: one transcript becomes a session, or its continuation.
 *
 * A step looks where the session stands and appends one batch, both under a lock that all imports
 * of the home share: two at a time do not mix, and none waits for more than a batch of another.
 * What the transcript says of tokens is compared with what the session has, not added
 * blindly, so that a step that was killed between two writes is made good by the next one.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/os.h"
#include "base/str.h"
#include "base/view.h"
#include "core/session_key.h"
#include "memory/handle.h"
#include "memory/home.h"
#include "memory/service.h"
#include "memory/sessions_import_parts.h"

#define BATCH_BYTES 16777216 /* of one transaction */
#define NAME_MAX_BYTES 512   /* of a session's own id in its key; a longer one is hashed */
#define WIDER 64             /* how much more is looked at when the last messages tell nothing */

#define WHY_HERE "it went on here otherwise"
#define WHY_THERE "the transcript no longer begins like the session"
#define WHY_TAKEN "some of its messages were undone here, or are in another session"

struct taking {
    struct import_run *run;
    struct import_source *source;
    const char *key;
    bool own;       /* a document of ours: ids are its own */
    bool begun;     /* a batch of it was appended */
    json_t *places; /* of messages by id */
    /* The session as it was found, in the source's arena. */
    bool found;
    struct ethos_session session;
    char id[ETHOS_UUID_SIZE];
    /* How far it is the transcript. */
    size_t have;                    /* messages that both begin with */
    size_t extra;                   /* that it shows after those */
    char last_time[CLOCK_ISO_SIZE]; /* of the last that stays, or "" */
    const char *again;              /* the first of those that are to be taken again, or NULL */
    const char *conflict;           /* why nothing can be appended, or NULL */
};

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

/* Gives every message its id, and notes where it is. */
static int name_messages(struct taking *self)
{
    struct import_source *source = self->source;
    struct str scratch;
    char id[ETHOS_UUID_SIZE] = "";
    int code = ETHOS_OK;
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
    str_release(&scratch);
    return code;
}

/* <format>:<id>, in which an id that is long or odd is its hash. */
static const char *make_key(struct import_source *source)
{
    struct ethos_view id = view_str(source->about.session.id);
    char uuid[ETHOS_UUID_SIZE];
    struct str key;
    if (!id.data)
        return source->name;
    if (id.size > NAME_MAX_BYTES) {
        transcript_uuid(id, uuid);
        id = view_str(uuid);
    }
    str_init(&key, SIZE_MAX);
    const struct ethos_view parts[] = {view_str(source->about.format), id};
    const char *copy = session_key_parts(parts, 2, &key)
                           ? NULL
                           : arena_copy(&source->arena, str_view(&key));
    str_release(&key);
    return copy;
}

/* ---- where the session stands --------------------------------------------------------------- */

static int keep_session(void *arg, const struct ethos_session *session)
{
    struct taking *self = arg;
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
    const struct taking *self = arg;
    return strcmp(message->id, self->source->messages[0].id) == 0 ? ALIKE : OTHER;
}

/* Two homes may have the same conversation under different ids, or others under the same key. */
static int find_own_key(struct taking *self, struct ethos_error *error)
{
    struct ethos_sessions *store = self->run->store;
    int code = store->ops->get_by_key(store, self->source->about.session.key, keep_session, self,
                                      error);
    if (code == ETHOS_OK)
        code = store->ops->messages(store, self->id, 0, compare_first, self, error);
    self->found = code == ALIKE;
    if (!self->found)
        *self->id = '\0';
    return code > 0 ? ETHOS_OK : code;
}

static int find_session(struct taking *self, struct ethos_error *error)
{
    struct ethos_sessions *store = self->run->store;
    const struct ethos_session *told = &self->source->about.session;
    int code = ETHOS_NOTFOUND;
    self->found = false;
    if (self->own && told->id)
        code = store->ops->get(store, told->id, keep_session, self, error);
    if (code == ETHOS_NOTFOUND)
        code = store->ops->get_by_key(store, self->key, keep_session, self, error);
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

static int keep_message(void *arg, const struct ethos_message *message)
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

/* Whether all of it is one turn, or less. */
static bool is_one_turn(const struct ethos_message *messages, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (is_user(&messages[i]))
            return false;
    return true;
}

/* Whether a message can be what became of another when the program went on writing. */
static bool grew(const struct ethos_message *from, const struct ethos_message *to)
{
    if (strcmp(from->role, to->role) != 0)
        return false;
    if (view_eq_str(from->content, TRANSCRIPT_NO_RESULT))
        return true;
    return view_starts(to->content, from->content) &&
           (!from->tool_calls ||
            (to->tool_calls && strlen(from->tool_calls) <= strlen(to->tool_calls)));
}

/* Whether messages came from an import of this transcript, the first of them after its `have`. */
static int are_ours(const struct taking *self, const struct ethos_message *messages, size_t count,
                    bool *out)
{
    struct str scratch;
    char id[ETHOS_UUID_SIZE] = "";
    str_init(&scratch, SIZE_MAX);
    if (self->have > 0)
        snprintf(id, sizeof id, "%s", self->source->messages[self->have - 1].id);
    *out = true;
    for (size_t i = 0; i < count && *out; i++) {
        chain_id(self->key, id, &messages[i], &scratch, id);
        *out = strcmp(id, messages[i].id) == 0;
    }
    int code = str_code(&scratch);
    str_release(&scratch);
    return code;
}

/* What to do with messages that the session shows after those that both begin with. */
static int judge_extra(struct taking *self, const struct ethos_message *extra, size_t count)
{
    const struct import_source *source = self->source;
    const struct ethos_message *rest = source->messages + self->have;
    size_t rest_count = source->count - self->have;
    bool ours = false;
    self->extra = count;
    if (count == 0 || rest_count == 0)
        return ETHOS_OK;
    int code = are_ours(self, extra, count, &ours);
    if (code != ETHOS_OK)
        return code;
    if (ours && (source->about.taken_back || (grew(extra, rest) && is_one_turn(extra, count)))) {
        self->again = arena_str(&self->source->arena, extra->id);
        return self->again ? ETHOS_OK : ETHOS_NOMEM;
    }
    if (!ours)
        self->conflict = WHY_HERE;
    else if (!grew(rest, extra) || !is_one_turn(rest, rest_count))
        self->conflict = WHY_THERE;
    return ETHOS_OK;
}

/* How many of the window come after the last one that is in the transcript. */
static size_t count_extra(struct taking *self, const struct window *window)
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

/* Looks at the last messages, and at more of them until one is known. */
static int look_back(struct taking *self, struct ethos_error *error)
{
    struct ethos_sessions *store = self->run->store;
    bool known = false;
    int code = ETHOS_OK;
    for (unsigned last = 1; code == ETHOS_OK && !known; last *= WIDER) {
        struct window window = {0};
        arena_init(&window.arena);
        code = store->ops->messages(store, self->id, last, keep_message, &window, error);
        size_t extra = code == ETHOS_OK ? count_extra(self, &window) : 0;
        known = code == ETHOS_OK && (self->have > 0 || window.count < last);
        if (known)
            code = judge_extra(self, window.list + window.count - extra, extra);
        arena_release(&window.arena);
    }
    return code;
}

/* A document of ours is compared by what was said: it may have been edited. */
static int compare_own(void *arg, const struct ethos_message *message)
{
    struct taking *self = arg;
    const struct import_source *source = self->source;
    const struct ethos_message *mine = &source->messages[self->have];
    snprintf(self->last_time, sizeof self->last_time, "%s", message->timestamp);
    if (self->have == source->count)
        self->extra++;
    else if (strcmp(mine->role, message->role) == 0 && view_eq(mine->content, message->content))
        self->have++;
    else
        self->conflict = "it says something else here";
    return self->conflict ? 1 : ETHOS_OK;
}

/* Whether there is more of the transcript than the session shows, or will show. */
static bool has_more(const struct taking *self)
{
    return !self->conflict && self->have < self->source->count && (self->extra == 0 || self->again);
}

/* Before anything is made of it: all that is new must be new to the store. */
static int look_taken(struct taking *self, struct ethos_error *error)
{
    struct ethos_sessions *store = self->run->store;
    size_t rest = self->source->count - self->have, at;
    int code = store->ops->taken(store, self->source->messages + self->have, rest, &at, error);
    if (code == ETHOS_OK && at < rest)
        self->conflict = WHY_TAKEN;
    return code;
}

static int look(struct taking *self, struct ethos_error *error)
{
    struct ethos_sessions *store = self->run->store;
    self->have = self->extra = 0;
    self->again = NULL;
    *self->last_time = '\0';
    int code = find_session(self, error);
    if (code == ETHOS_OK && self->found)
        code = self->own && !self->begun
                   ? store->ops->messages(store, self->id, 0, compare_own, self, error)
                   : look_back(self, error);
    if (code == 1)
        code = ETHOS_OK;
    if (code == ETHOS_OK && !self->begun && has_more(self))
        code = look_taken(self, error);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

/* ---- what is known of the session ------------------------------------------------------------ */

static int make_session(struct taking *self, struct ethos_error *error)
{
    struct ethos_sessions *store = self->run->store;
    struct ethos_session session = self->source->about.session;
    const char *format = self->source->about.format;
    session.updated_at = session.created_at;
    if (!self->own)
        session.id = NULL;
    if (!self->own || !session.key)
        session.key = self->key;
    if (!self->own || !session.platform)
        session.platform = strcmp(format, "jsonl") == 0 ? "import" : format;
    int code = store->ops->create(store, &session, self->id, error);
    if (code == ETHOS_INVALID && session.id) { // it is no id here
        session.id = NULL;
        code = store->ops->create(store, &session, self->id, error);
    }
    if (code == ETHOS_EXISTS && strcmp(session.key, self->key) != 0) {
        session.key = self->key;
        code = store->ops->create(store, &session, self->id, error);
    }
    self->session = session;
    return code;
}

/* What the whole has cost, by the messages that tell. */
static void sum_up(const struct taking *self, struct ethos_usage *usage)
{
    *usage = (struct ethos_usage){0};
    for (size_t i = 0; i < self->source->count; i++) {
        const struct ethos_message *message = &self->source->messages[i];
        if (!message->has_usage)
            continue;
        transcript_add_usage(usage, &message->usage);
        usage->api_calls++;
    }
}

/* NULL unless it is told and another. */
static const char *other(const char *told, const char *now)
{
    return told && (!now || strcmp(told, now) != 0) ? told : NULL;
}

static bool costs(const struct ethos_usage *usage)
{
    return usage->input_tokens || usage->output_tokens || usage->cache_read_tokens ||
           usage->cache_creation_tokens || usage->cost_usd != 0 || usage->api_calls ||
           usage->compactions;
}

/* What is told is never negative; what is there may be anything. */
static int64_t lacking(int64_t told, int64_t now)
{
    int64_t rest;
    return __builtin_sub_overflow(told, now, &rest) ? INT64_MAX : rest;
}

/* What is missing in the session for it to tell the cost of the transcript. */
static void compare_cost(const struct taking *self, struct ethos_usage *usage)
{
    const struct ethos_usage *now = &self->session.usage;
    struct ethos_usage told = self->source->about.session.usage;
    if (!self->own)
        sum_up(self, &told);
    *usage = (struct ethos_usage){
        .input_tokens = lacking(told.input_tokens, now->input_tokens),
        .output_tokens = lacking(told.output_tokens, now->output_tokens),
        .cache_read_tokens = lacking(told.cache_read_tokens, now->cache_read_tokens),
        .cache_creation_tokens = lacking(told.cache_creation_tokens, now->cache_creation_tokens),
        .cost_usd = told.cost_usd - now->cost_usd,
        .api_calls = lacking(told.api_calls, now->api_calls),
        .compactions = lacking(told.compactions, now->compactions)};
}

/*
 * At the end: makes the session say what the transcript says of it. A title that it has stays: it
 * may be a person's. What we exported ourselves tells nothing new unless it had messages that are.
 */
static int patch_session(struct taking *self, struct ethos_error *error)
{
    const struct ethos_session *told = &self->source->about.session, *now = &self->session;
    struct ethos_usage usage;
    struct ethos_session_patch patch = {.title = now->title ? NULL : told->title,
                                        .model = other(told->model, now->model),
                                        .provider = other(told->provider, now->provider),
                                        .working_dir = now->working_dir ? NULL : told->working_dir};
    if (self->own && !self->begun)
        return ETHOS_OK;
    compare_cost(self, &usage);
    if (costs(&usage))
        patch.usage = &usage;
    if (!patch.title && !patch.model && !patch.provider && !patch.working_dir && !patch.usage)
        return ETHOS_OK;
    return self->run->store->ops->update(self->run->store, self->id, &patch, error);
}

/* ---- appending ------------------------------------------------------------------------------- */

static size_t batch_size(const struct taking *self)
{
    const struct import_source *source = self->source;
    size_t count = 0, bytes = 0;
    while (self->have + count < source->count && count < SESSIONS_IMPORT_BATCH &&
           (count == 0 || bytes < BATCH_BYTES))
        bytes += source->messages[self->have + count++].content.size;
    return count;
}

/* One batch; no time is before that of the last message, since messages are read back by time. */
static int append_batch(struct taking *self, struct ethos_error *error)
{
    struct ethos_sessions *store = self->run->store;
    struct ethos_message *messages = self->source->messages + self->have;
    size_t count = batch_size(self);
    for (size_t i = 0; i < count; i++)
        if (messages[i].timestamp && strcmp(messages[i].timestamp, self->last_time) < 0)
            messages[i].timestamp = arena_str(&self->source->arena, self->last_time);
    int code = store->ops->append(store, self->id, messages, count,
                                  ETHOS_APPEND_KEEP_TIME | ETHOS_APPEND_CHECKED, error);
    if (code == ETHOS_EXISTS) {
        self->conflict = WHY_TAKEN;
        return ETHOS_OK;
    }
    self->have += code == ETHOS_OK ? count : 0;
    return code;
}

static int write_step(struct taking *self, struct sessions_import_row *row,
                      struct ethos_error *error)
{
    struct ethos_sessions *store = self->run->store;
    size_t before = self->have;
    uint64_t hidden;
    int code = ETHOS_OK;
    if (!self->found) {
        code = make_session(self, error);
        row->effect = "created";
    }
    if (code == ETHOS_OK && self->again)
        code = store->ops->rewind(store, self->id, self->again, &hidden, error);
    if (code == ETHOS_OK && has_more(self))
        code = append_batch(self, error);
    if (code != ETHOS_OK || self->conflict)
        return code;
    self->extra = self->again ? 0 : self->extra;
    row->messages += self->have - before;
    self->begun |= self->have > before;
    bool whole = self->have == self->source->count && self->extra == 0;
    return whole ? patch_session(self, error) : ETHOS_OK;
}

static int locked_step(struct taking *self, struct sessions_import_row *row,
                       struct ethos_error *error)
{
    int dir = -1, lock = -1;
    int code = service_open_root(self->run->turn->ethos, true, &dir, error);
    if (code == ETHOS_OK)
        code = home_lock(dir, "sessions-import", &lock, error);
    if (code == ETHOS_OK)
        code = look(self, error);
    if (code == ETHOS_OK && !self->conflict)
        code = write_step(self, row, error);
    if (lock >= 0)
        os_close(lock);
    if (dir >= 0)
        os_close(dir);
    return code;
}

/* ---- one transcript -------------------------------------------------------------------------- */

/* The effect is "created" when that was done. */
static void tell(const struct taking *self, struct sessions_import_row *row)
{
    row->total = self->have + self->extra;
    if (self->conflict) {
        row->effect = "conflict";
        row->why = self->conflict;
    } else if (!row->effect) {
        row->effect = row->messages > 0 ? "appended" : "unchanged";
    }
}

static int take_dry(struct taking *self, struct sessions_import_row *row, struct ethos_error *error)
{
    int code = look(self, error);
    if (code != ETHOS_OK || !has_more(self))
        return code;
    row->effect = self->found ? "appended" : "created";
    row->messages = self->source->count - self->have;
    self->have = self->source->count;
    self->extra = 0;
    return ETHOS_OK;
}

static int take_all(struct taking *self, struct sessions_import_row *row, struct ethos_error *error)
{
    int code;
    do {
        code = locked_step(self, row, error);
        import_progress(self->run, self->source, self->have);
    } while (code == ETHOS_OK && has_more(self));
    self->run->changed |= self->begun;
    return code;
}

int import_take(struct import_run *run, struct import_source *source,
                struct sessions_import_row *row, char id[ETHOS_UUID_SIZE],
                struct ethos_error *error)
{
    struct taking self = {.run = run,
                          .source = source,
                          .key = make_key(source),
                          .own = strcmp(source->about.format, "ethos") == 0,
                          .places = json_object()};
    int code = self.key && self.places ? name_messages(&self) : ETHOS_NOMEM;
    if (code == ETHOS_NOMEM)
        code = err_nomem(error);
    else
        code = run->what->dry_run ? take_dry(&self, row, error) : take_all(&self, row, error);
    json_decref(self.places);
    tell(&self, row);
    memcpy(id, self.id, sizeof self.id);
    row->id = *id ? id : NULL;
    return code;
}
