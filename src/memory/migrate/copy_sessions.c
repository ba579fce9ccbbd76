/*
 * copy_sessions.c: copies conversations and API keys to another backend.
 *
 * A session is copied with its id, its times and its visible messages, oldest first; a repeated run
 * continues after the messages that were copied. Then both sides are read and compared in normal
 * form: times in one format, a session no older than its messages, at least one turn per question.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "core/sessions/key.h"
#include "memory/migrate/scope_history.h"
#include "memory/provider/missing_slots.h"

#define AT_ONCE 128           /* messages appended at once */
#define BYTES_AT_ONCE 4194304 /* or this many bytes of them */
#define PAGE 200              /* sessions listed at once */
#define KEY_BYTES 65536       /* of a session's key */
#define KEY_TRIES 1000        /* attempts to find a free key */

/* A conversation in memory. */
struct session_copy {
    struct arena arena;
    struct ethos_session session;
    struct ethos_message *messages;
    size_t count, capacity;
    bool there, failed;
};

struct session_migration {
    const struct migrate *how;
    struct ethos_sessions *from, *to;
    struct migrate_talk_count count;
    struct names order; /* "<time it was made>\n<id>" */
    char digests[2][HASH_HEX_SIZE];
    struct ethos_error why; /* why the target refused something of the current conversation */
};

/* A time in the one format that every store returns; "" if it is invalid. */
static const char *in_form(const char *time, char out[CLOCK_ISO_SIZE])
{
    int64_t ms;
    if (!time || !clock_parse(view_str(time), 0, false, &ms, NULL))
        return "";
    clock_iso(ms, out);
    return out;
}

/* ---- reading --------------------------------------------------------------------------------- */

static const char *copy_session_text(struct session_copy *talk, const char *text)
{
    const char *copy = text ? arena_str(&talk->arena, text) : NULL;
    talk->failed = talk->failed || (text && !copy);
    return copy;
}

static int copy_session(void *arg, const struct ethos_session *session)
{
    struct session_copy *talk = arg;
    struct ethos_session *to = &talk->session;
    *to = *session;
    const char **strings[] = {&to->id,          &to->key,      &to->platform,    &to->model,
                              &to->provider,    &to->parent,   &to->personality, &to->title,
                              &to->working_dir, &to->metadata, &to->created_at,  &to->updated_at,
                              &to->user};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        *strings[i] = copy_session_text(talk, *strings[i]);
    talk->there = true;
    return talk->failed ? ETHOS_NOMEM : ETHOS_OK;
}

static int copy_message(void *arg, const struct ethos_message *message)
{
    struct session_copy *talk = arg;
    struct ethos_message *messages = arena_grow(&talk->arena, talk->messages, talk->count,
                                                &talk->capacity, sizeof *messages);
    if (!messages)
        return ETHOS_NOMEM;
    talk->messages = messages;
    struct ethos_message *to = &messages[talk->count++];
    *to = *message;
    const char **strings[] = {&to->id,           &to->session,   &to->role,
                              &to->tool_call_id, &to->tool_name, &to->tool_calls,
                              &to->trace_id,     &to->timestamp, &to->content_blocks};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        *strings[i] = copy_session_text(talk, *strings[i]);
    if (message->content.data)
        to->content.data = arena_copy(&talk->arena, message->content);
    talk->failed = talk->failed || (message->content.data && !to->content.data);
    return talk->failed ? ETHOS_NOMEM : ETHOS_OK;
}

/* A missing session is not an error. */
static int read_talk(struct ethos_sessions *store, const char *id, struct session_copy *out,
                     struct ethos_error *error)
{
    *out = (struct session_copy){0};
    arena_init(&out->arena);
    int code = store->ops->get(store, id, copy_session, out, error);
    if (code == ETHOS_NOTFOUND)
        return ETHOS_OK;
    if (code == ETHOS_OK)
        code = store->ops->messages(store, id, 0, copy_message, out, error);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

static void release_talk(struct session_copy *talk)
{
    arena_release(&talk->arena);
}

/* Parents are created before their children. */
static int add_session_order(void *arg, const struct ethos_session *session)
{
    struct session_migration *moving = arg;
    CLEANUP_STR struct str line;
    char made[CLOCK_ISO_SIZE];
    str_init(&line, SIZE_MAX);
    str_printf(&line, "%s\n%s", in_form(session->created_at, made), session->id);
    return str_code(&line) == ETHOS_OK ? names_add(&moving->order, line.data) : ETHOS_NOMEM;
}

static int list_all(struct session_migration *moving, struct ethos_error *error)
{
    char cursor[ETHOS_CURSOR_SIZE] = "";
    int code = ETHOS_OK;
    do {
        const struct ethos_session_query query = {.cursor = *cursor ? cursor : NULL, .limit = PAGE};
        char next[ETHOS_CURSOR_SIZE] = "";
        code = moving->from->ops->list(moving->from, &query, add_session_order, moving, next,
                                       error);
        memcpy(cursor, next, sizeof cursor);
    } while (code == ETHOS_OK && *cursor);
    names_sort(&moving->order);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void print_text(struct str *out, const char *text)
{
    str_printf(out, " %zu:%s", text ? strlen(text) : 0, text ? text : "");
}

static void print_usage(struct str *out, const struct ethos_usage *usage)
{
    str_printf(out, " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %.9g %" PRId64 " %" PRId64,
               usage->input_tokens, usage->output_tokens, usage->cache_read_tokens,
               usage->cache_creation_tokens, usage->cost_usd, usage->api_calls, usage->compactions);
}

static void print_time(struct str *out, const char *time)
{
    char made[CLOCK_ISO_SIZE];
    print_text(out, in_form(time, made));
}

static size_t count_user_messages(const struct session_copy *talk, size_t first)
{
    size_t count = 0;
    for (size_t i = first; i < talk->count; i++)
        count += strcmp(talk->messages[i].role, "user") == 0;
    return count;
}

/* A session's update time is at least that of its last message. */
static const char *changed_at(const struct session_copy *talk)
{
    const char *last = talk->session.updated_at;
    for (size_t i = 0; i < talk->count; i++) {
        if (!last || strcmp(talk->messages[i].timestamp, last) > 0)
            last = talk->messages[i].timestamp;
    }
    return last;
}

static void print_session(const struct session_copy *talk, struct str *out)
{
    const struct ethos_session *session = &talk->session;
    const char *const texts[] = {session->id,       session->key,         session->platform,
                                 session->model,    session->provider,    session->personality,
                                 session->parent,   session->working_dir, session->title,
                                 session->metadata, session->user};
    int64_t asked = (int64_t)count_user_messages(talk, 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        print_text(out, texts[i]);
    print_time(out, session->created_at);
    print_time(out, changed_at(talk));
    print_usage(out, &session->usage);
    str_printf(out, " %" PRId64 " %d\n", session->turns > asked ? session->turns : asked,
               session->pinned != 0);
}

static void print_message(const struct ethos_message *message, struct str *out)
{
    const char *const texts[] = {message->id,        message->role,       message->tool_call_id,
                                 message->tool_name, message->tool_calls, message->content_blocks,
                                 message->trace_id};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        print_text(out, texts[i]);
    print_time(out, message->timestamp);
    str_printf(out, " %d %zu:", message->has_usage != 0, message->content.size);
    str_add(out, message->content);
    if (message->has_usage)
        print_usage(out, &message->usage);
    str_addc(out, '\n');
}

/* Everything of a conversation, after the digest of the previous ones. */
static int digest_talk(const struct session_copy *talk, char digest[HASH_HEX_SIZE])
{
    CLEANUP_STR struct str text;
    str_init(&text, SIZE_MAX);
    str_adds(&text, digest);
    if (talk->there)
        print_session(talk, &text);
    for (size_t i = 0; i < talk->count; i++)
        print_message(&talk->messages[i], &text);
    int code = str_code(&text);
    hash_hex(str_view(&text), digest);
    return code;
}

static void record_difference(struct session_migration *moving, const char *name)
{
    const char *why = moving->why.text;
    if (moving->count.differ++ == 0)
        snprintf(moving->count.first, sizeof moving->count.first, "%s%s%s", name, *why ? ": " : "",
                 why);
}

static int compare_session(struct session_migration *moving, const char *id,
                           struct ethos_error *error)
{
    char alone[2][HASH_HEX_SIZE] = {"", ""};
    struct session_copy talk;
    for (int side = 0; side < 2; side++) {
        int code = read_talk(side ? moving->to : moving->from, id, &talk, error);
        if (code == ETHOS_OK && (digest_talk(&talk, alone[side]) != ETHOS_OK ||
                                 digest_talk(&talk, moving->digests[side]) != ETHOS_OK))
            code = err_nomem(error);
        release_talk(&talk);
        if (code != ETHOS_OK)
            return code;
    }
    if (strcmp(alone[0], alone[1]) != 0)
        record_difference(moving, id);
    return ETHOS_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

/*
 * The key is taken by another session: creates it under "<key>:<ms>", starting from its creation
 * time.
 */
static int create_beside(struct session_migration *moving, struct ethos_session *session,
                         struct ethos_error *error)
{
    char id[ETHOS_UUID_SIZE];
    CLEANUP_STR struct str key;
    int64_t ms = 0;
    int code = ETHOS_EXISTS;
    str_init(&key, KEY_BYTES);
    str_add(&key, session_key_base(view_str(session->key)));
    clock_parse(view_str(session->created_at), 0, false, &ms, NULL);
    for (size_t stem = key.size, i = 0; code == ETHOS_EXISTS && i < KEY_TRIES; i++) {
        str_truncate(&key, stem);
        if (str_printf(&key, ":%" PRId64, ms + (int64_t)i) != ETHOS_OK) {
            code = err_set(error, str_code(&key), "%s: the key of the session is too long",
                           session->id);
            break;
        }
        session->key = key.data;
        code = moving->to->ops->create(moving->to, session, id, error);
    }
    return code;
}

/* append counts turns itself, so those are subtracted. */
static int create_session(struct session_migration *moving, const struct session_copy *talk,
                          struct ethos_error *error)
{
    struct ethos_session session = talk->session;
    char id[ETHOS_UUID_SIZE];
    int64_t asked = (int64_t)count_user_messages(talk, 0);
    session.turns = session.turns > asked ? session.turns - asked : 0;
    int code = moving->to->ops->create(moving->to, &session, id, error);
    if (code == ETHOS_EXISTS && moving->how->adds)
        code = create_beside(moving, &session, error);
    if (code == ETHOS_OK)
        moving->count.moved_sessions++;
    return code;
}

static const char *unless_same(const char *from, const char *there)
{
    return from && (!there || strcmp(from, there) != 0) ? from : NULL;
}

static struct ethos_usage usage_since(const struct ethos_usage *from,
                                      const struct ethos_usage *there)
{
    return (struct ethos_usage){
        .input_tokens = from->input_tokens - there->input_tokens,
        .output_tokens = from->output_tokens - there->output_tokens,
        .cache_read_tokens = from->cache_read_tokens - there->cache_read_tokens,
        .cache_creation_tokens = from->cache_creation_tokens - there->cache_creation_tokens,
        .cost_usd = from->cost_usd - there->cost_usd,
        .api_calls = from->api_calls - there->api_calls,
        .compactions = from->compactions - there->compactions};
}

/* Copies what was set since: a title, a pin, usage. */
static int update_session_fields(struct session_migration *moving, const struct ethos_session *from,
                                 const struct ethos_session *there, struct ethos_error *error)
{
    static const struct ethos_usage none;
    const struct ethos_usage more = usage_since(&from->usage, &there->usage);
    const struct ethos_session_patch patch = {
        .title = unless_same(from->title    ? from->title
                             : there->title ? ""
                                            : NULL,
                             there->title),
        .model = unless_same(from->model, there->model),
        .provider = unless_same(from->provider, there->provider),
        .personality = unless_same(from->personality, there->personality),
        .metadata = unless_same(from->metadata, there->metadata),
        .working_dir = unless_same(from->working_dir, there->working_dir),
        .pinned = from->pinned != there->pinned ? &from->pinned : NULL,
        .usage = memcmp(&more, &none, sizeof more) != 0 ? &more : NULL};
    bool same = !patch.title && !patch.model && !patch.provider && !patch.personality &&
                !patch.metadata && !patch.working_dir && !patch.pinned && !patch.usage;
    return same ? ETHOS_OK : moving->to->ops->update(moving->to, from->id, &patch, error);
}

/* How many of its messages the target has: the first ones, if the session is ours. */
static size_t count_common_messages(const struct session_copy *from,
                                    const struct session_copy *there)
{
    size_t count = 0;
    while (count < from->count && count < there->count &&
           strcmp(from->messages[count].id, there->messages[count].id) == 0)
        count++;
    return count;
}

static int append_messages_from(struct session_migration *moving, const struct session_copy *talk,
                                size_t first, struct ethos_error *error)
{
    int code = ETHOS_OK;
    while (code == ETHOS_OK && first < talk->count) {
        size_t count = 0, bytes = 0;
        while (count < AT_ONCE && bytes < BYTES_AT_ONCE && first + count < talk->count)
            bytes += talk->messages[first + count++].content.size;
        code = moving->to->ops->append(moving->to, talk->session.id, talk->messages + first, count,
                                       ETHOS_APPEND_KEEP_TIME, error);
        if (code == ETHOS_OK)
            moving->count.moved_messages += count;
        first += count;
    }
    return code;
}

/*
 * Whether the source had these messages: then it removed them, and they are not the target's own.
 */
static int were_there(struct session_migration *moving, const struct session_copy *there,
                      size_t first, bool *out, struct ethos_error *error)
{
    int code = ETHOS_OK;
    *out = true;
    for (size_t i = first; code == ETHOS_OK && *out && i < there->count; i++) {
        size_t at = 1;
        code = moving->from->ops->taken(moving->from, &there->messages[i], 1, &at, error);
        *out = at == 0;
    }
    return code;
}

static int bring_session_up_to_date(struct session_migration *moving,
                                    const struct session_copy *from,
                                    const struct session_copy *there, struct ethos_error *error)
{
    struct ethos_sessions *to = moving->to;
    size_t first = count_common_messages(from, there);
    bool ours = true;
    uint64_t hidden;
    int code = were_there(moving, there, first, &ours, error);
    if (code != ETHOS_OK || !ours)
        return code;
    if (first < there->count)
        code = to->ops->rewind(to, from->session.id, there->messages[first].id, NULL, 0, 0, &hidden,
                               error);
    if (code == ETHOS_OK)
        code = update_session_fields(moving, &from->session, &there->session, error);
    return code == ETHOS_OK ? append_messages_from(moving, from, first, error) : code;
}

/*
 * A key taken by others stays theirs, and what the target refuses stays in the source: both count
 * as differences.
 */
static bool is_refused(int code)
{
    return code == ETHOS_EXISTS || code == ETHOS_INVALID || code == ETHOS_LIMIT;
}

static int move_whole(struct session_migration *moving, const struct session_copy *from,
                      const struct session_copy *there, struct ethos_error *error)
{
    if (there->there)
        return bring_session_up_to_date(moving, from, there, error);
    TRY(create_session(moving, from, error));
    return append_messages_from(moving, from, 0, error);
}

/*
 * Appends the messages after those in the target. The session stays if it diverged in the target,
 * or if the target has one of the messages elsewhere or removed it.
 */
static int append_missing_messages(struct session_migration *moving,
                                   const struct session_copy *from,
                                   const struct session_copy *there, struct ethos_error *error)
{
    struct ethos_sessions *to = moving->to;
    size_t first = count_common_messages(from, there), rest = from->count - first, at = rest;
    int code = ETHOS_OK;
    if (there->there && rest == 0)
        return ETHOS_OK;
    if (rest > 0 && SLOT_SESSIONS(to, taken))
        code = to->ops->taken(to, from->messages + first, rest, &at, error);
    if (code != ETHOS_OK)
        return code;
    if (first < there->count || at < rest) {
        moving->count.kept++;
        return ETHOS_OK;
    }
    if (moving->how->dry_run) {
        moving->count.moved_sessions += !there->there;
        moving->count.moved_messages += rest;
        return ETHOS_OK;
    }
    if (!there->there)
        code = create_session(moving, from, error);
    return code == ETHOS_OK ? append_messages_from(moving, from, first, error) : code;
}

static void record_refusal(struct session_migration *moving)
{
    if (moving->count.refused++ == 0)
        snprintf(moving->count.why, sizeof moving->count.why, "%s", moving->why.text);
}

static int move_talk(struct session_migration *moving, const char *id, struct ethos_error *error)
{
    struct session_copy from = {0}, there = {0};
    bool adds = moving->how->adds;
    moving->why = (struct ethos_error){0};
    int code = read_talk(moving->from, id, &from, error);
    if (code == ETHOS_OK)
        code = read_talk(moving->to, id, &there, error);
    moving->count.messages += from.count;
    if (code == ETHOS_OK && from.there && (adds || !moving->how->dry_run)) {
        code = adds ? append_missing_messages(moving, &from, &there, &moving->why)
                    : move_whole(moving, &from, &there, &moving->why);
        if (is_refused(code)) {
            record_refusal(moving);
            code = ETHOS_OK;
        } else if (code != ETHOS_OK && error) {
            *error = moving->why;
        }
    }
    release_talk(&from);
    release_talk(&there);
    return code;
}

/* ---- keys ------------------------------------------------------------------------------------ */

struct key_list {
    struct arena arena;
    struct ethos_key *list;
    size_t count, capacity;
};

static int add_api_key(void *arg, const struct ethos_key *key)
{
    struct key_list *keys = arg;
    struct ethos_key *list = arena_grow(&keys->arena, keys->list, keys->count, &keys->capacity,
                                        sizeof *list);
    if (!list)
        return ETHOS_NOMEM;
    keys->list = list;
    struct ethos_key *to = &list[keys->count++];
    *to = *key;
    const char **strings[] = {&to->prefix,  &to->hash,       &to->name,         &to->scopes,
                              &to->origins, &to->created_at, &to->last_used_at, &to->revoked_at};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        if (*strings[i] && !(*strings[i] = arena_str(&keys->arena, *strings[i])))
            return ETHOS_NOMEM;
    }
    return ETHOS_OK;
}

static int list_keys(struct ethos_sessions *store, struct key_list *out, struct ethos_error *error)
{
    *out = (struct key_list){0};
    arena_init(&out->arena);
    int code = SLOT_SESSIONS(store, keys) ? store->ops->keys(store, add_api_key, out, error)
                                          : ETHOS_OK;
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

static void release_keys(struct key_list *keys)
{
    arena_release(&keys->arena);
}

static const struct ethos_key *find_api_key(const struct key_list *keys, const char *prefix)
{
    for (size_t i = 0; i < keys->count; i++) {
        if (strcmp(keys->list[i].prefix, prefix) == 0)
            return &keys->list[i];
    }
    return NULL;
}

/* An existing key stays as it is, unless it was revoked. */
static int move_key(struct session_migration *moving, const struct ethos_key *key,
                    const struct ethos_key *there, struct ethos_error *error)
{
    struct ethos_sessions *to = moving->to;
    if (there)
        return key->revoked_at && !there->revoked_at ? to->ops->key_revoke(to, key->prefix, error)
                                                     : ETHOS_OK;
    int code = to->ops->key_add(to, key, error);
    moving->count.moved_keys += code == ETHOS_OK;
    return is_refused(code) ? ETHOS_OK : code;
}

/* The time of last use is not compared: it may have been used since. */
static int digest_key(const struct ethos_key *key, char digest[HASH_HEX_SIZE])
{
    CLEANUP_STR struct str text;
    str_init(&text, SIZE_MAX);
    str_adds(&text, digest);
    if (key) {
        const char *const texts[] = {key->prefix, key->hash, key->name, key->scopes, key->origins};
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            print_text(&text, texts[i]);
        print_time(&text, key->created_at);
        str_printf(&text, " %d %d\n", key->agent != 0, key->revoked_at != NULL);
    }
    int code = str_code(&text);
    hash_hex(str_view(&text), digest);
    return code;
}

static int compare_api_keys(struct session_migration *moving, const struct key_list *keys,
                            struct ethos_error *error)
{
    struct key_list there;
    moving->why = (struct ethos_error){0};
    int code = list_keys(moving->to, &there, error);
    for (size_t i = 0; code == ETHOS_OK && i < keys->count; i++) {
        char alone[2][HASH_HEX_SIZE] = {"", ""};
        const struct ethos_key *sides[2] = {&keys->list[i],
                                            find_api_key(&there, keys->list[i].prefix)};
        for (int side = 0; code == ETHOS_OK && side < 2; side++) {
            if (digest_key(sides[side], alone[side]) != ETHOS_OK ||
                digest_key(sides[side], moving->digests[side]) != ETHOS_OK)
                code = err_nomem(error);
        }
        if (code == ETHOS_OK && strcmp(alone[0], alone[1]) != 0)
            record_difference(moving, keys->list[i].prefix);
    }
    release_keys(&there);
    return code;
}

static int move_keys(struct session_migration *moving, struct ethos_error *error)
{
    struct key_list keys, there;
    struct ethos_sessions *to = moving->to;
    if (moving->how->adds || !SLOT_SESSIONS(moving->from, keys) || !SLOT_SESSIONS(to, keys) ||
        !SLOT_SESSIONS(to, key_add))
        return ETHOS_OK;
    int code = list_keys(moving->from, &keys, error);
    moving->count.keys = keys.count;
    if (code == ETHOS_OK && !moving->how->dry_run) {
        code = list_keys(to, &there, error);
        for (size_t i = 0; code == ETHOS_OK && i < keys.count; i++)
            code = move_key(moving, &keys.list[i], find_api_key(&there, keys.list[i].prefix),
                            error);
        release_keys(&there);
        if (code == ETHOS_OK)
            code = compare_api_keys(moving, &keys, error);
    }
    release_keys(&keys);
    return code;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int move_talks(struct session_migration *moving, struct ethos_error *error)
{
    int code = list_all(moving, error);
    moving->count.sessions = moving->order.count;
    for (size_t i = 0; code == ETHOS_OK && i < moving->order.count; i++) {
        const char *id = strchr(moving->order.list[i], '\n') + 1;
        code = migrate_go_on(moving->how, error);
        if (code == ETHOS_OK)
            code = move_talk(moving, id, error);
        if (code == ETHOS_OK && !moving->how->dry_run)
            code = compare_session(moving, id, error);
    }
    return code;
}

int migrate_sessions(const struct migrate *self, struct ethos_sessions *from,
                     struct ethos_sessions *to, struct migrate_talk_count *out,
                     char out_digests[2][HASH_HEX_SIZE], struct ethos_error *error)
{
    struct session_migration moving = {.how = self, .from = from, .to = to};
    names_init(&moving.order);
    int code = move_talks(&moving, error);
    if (code == ETHOS_OK)
        code = move_keys(&moving, error);
    if (code == ETHOS_OK && !self->dry_run && SLOT_SESSIONS(to, settle))
        code = to->ops->settle(to, error);
    names_release(&moving.order);
    *out = moving.count;
    memcpy(out_digests, moving.digests, sizeof moving.digests);
    return code;
}
