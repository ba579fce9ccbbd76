/*
 * migrate_sessions.c: conversations and keys from one place to another.
 *
 * A session goes over with its id, its times and the messages that are shown, oldest first; whoever
 * comes again goes on after the messages that are there. Then both sides are read and compared.
 */
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "memory/migrate_past.h"

#define AT_ONCE 128           /* messages that are appended together */
#define BYTES_AT_ONCE 4194304 /* and what is enough of them */
#define PAGE 200              /* sessions listed at once */

/* A conversation in memory. */
struct talk {
    struct arena arena;
    struct ethos_session session;
    struct ethos_message *messages;
    size_t count, capacity;
    bool there, failed;
};

struct moving {
    struct ethos_sessions *from, *to;
    struct migrate_talk_count count;
    struct names order; /* "<created_at> <id>" */
    char digests[2][HASH_HEX_SIZE];
};

/* ---- reading --------------------------------------------------------------------------------- */

static const char *keep(struct talk *talk, const char *text)
{
    const char *copy = text ? arena_str(&talk->arena, text) : NULL;
    talk->failed = talk->failed || (text && !copy);
    return copy;
}

static int note_session(void *arg, const struct ethos_session *session)
{
    struct talk *talk = arg;
    struct ethos_session *to = &talk->session;
    *to = *session;
    const char **strings[] = {&to->id,          &to->key,      &to->platform,    &to->model,
                              &to->provider,    &to->parent,   &to->personality, &to->title,
                              &to->working_dir, &to->metadata, &to->created_at,  &to->updated_at};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        *strings[i] = keep(talk, *strings[i]);
    talk->there = true;
    return talk->failed ? ETHOS_NOMEM : ETHOS_OK;
}

static int note_message(void *arg, const struct ethos_message *message)
{
    struct talk *talk = arg;
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
        *strings[i] = keep(talk, *strings[i]);
    if (message->content.data)
        to->content.data = arena_copy(&talk->arena, message->content);
    talk->failed = talk->failed || (message->content.data && !to->content.data);
    return talk->failed ? ETHOS_NOMEM : ETHOS_OK;
}

/* A session that is not there is none. */
static int read_talk(struct ethos_sessions *store, const char *id, struct talk *out,
                     struct ethos_error *error)
{
    *out = (struct talk){0};
    arena_init(&out->arena);
    int code = store->ops->get(store, id, note_session, out, error);
    if (code == ETHOS_NOTFOUND)
        return ETHOS_OK;
    if (code == ETHOS_OK)
        code = store->ops->messages(store, id, 0, note_message, out, error);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

static void release_talk(struct talk *talk)
{
    arena_release(&talk->arena);
}

/* A parent was made before its children. */
static int note_order(void *arg, const struct ethos_session *session)
{
    struct moving *moving = arg;
    struct str line;
    str_init(&line, SIZE_MAX);
    str_printf(&line, "%s %s", session->created_at ? session->created_at : "", session->id);
    int code = str_code(&line) == ETHOS_OK ? names_add(&moving->order, line.data) : ETHOS_NOMEM;
    str_release(&line);
    return code;
}

static int list_all(struct moving *moving, struct ethos_error *error)
{
    char cursor[ETHOS_CURSOR_SIZE] = "";
    int code = ETHOS_OK;
    do {
        const struct ethos_session_query query = {.cursor = *cursor ? cursor : NULL, .limit = PAGE};
        char next[ETHOS_CURSOR_SIZE] = "";
        code = moving->from->ops->list(moving->from, &query, note_order, moving, next, error);
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

static void print_session(const struct ethos_session *session, struct str *out)
{
    const char *const texts[] = {session->id,       session->key,         session->platform,
                                 session->model,    session->provider,    session->personality,
                                 session->parent,   session->working_dir, session->title,
                                 session->metadata, session->created_at,  session->updated_at};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        print_text(out, texts[i]);
    print_usage(out, &session->usage);
    str_printf(out, " %" PRId64 " %d\n", session->turns, session->pinned != 0);
}

static void print_message(const struct ethos_message *message, struct str *out)
{
    const char *const texts[] = {message->id,        message->role,       message->tool_call_id,
                                 message->tool_name, message->tool_calls, message->content_blocks,
                                 message->trace_id,  message->timestamp};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        print_text(out, texts[i]);
    str_printf(out, " %d %zu:", message->has_usage != 0, message->content.size);
    str_add(out, message->content);
    if (message->has_usage)
        print_usage(out, &message->usage);
    str_addc(out, '\n');
}

/* Everything of a conversation, in front of it the digest of those before. */
static int digest_talk(const struct talk *talk, char digest[HASH_HEX_SIZE])
{
    struct str text;
    str_init(&text, SIZE_MAX);
    str_adds(&text, digest);
    if (talk->there)
        print_session(&talk->session, &text);
    for (size_t i = 0; i < talk->count; i++)
        print_message(&talk->messages[i], &text);
    int code = str_code(&text);
    hash_hex(str_view(&text), digest);
    str_release(&text);
    return code;
}

static int compare(struct moving *moving, const char *id, struct ethos_error *error)
{
    char alone[2][HASH_HEX_SIZE] = {"", ""};
    struct talk talk;
    for (int side = 0; side < 2; side++) {
        int code = read_talk(side ? moving->to : moving->from, id, &talk, error);
        if (code == ETHOS_OK && (digest_talk(&talk, alone[side]) != ETHOS_OK ||
                                 digest_talk(&talk, moving->digests[side]) != ETHOS_OK))
            code = err_nomem(error);
        release_talk(&talk);
        if (code != ETHOS_OK)
            return code;
    }
    moving->count.differ += strcmp(alone[0], alone[1]) != 0;
    return ETHOS_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* append counts the turns of what it gets: those come off. */
static int create(struct moving *moving, const struct talk *talk, struct ethos_error *error)
{
    struct ethos_session session = talk->session;
    char id[ETHOS_UUID_SIZE];
    for (size_t i = 0; i < talk->count && session.turns > 0; i++)
        session.turns -= strcmp(talk->messages[i].role, "user") == 0;
    int code = moving->to->ops->create(moving->to, &session, id, error);
    if (code == ETHOS_OK)
        moving->count.moved_sessions++;
    return code;
}

/* How many of its messages the target has: the first ones, if it is ours. */
static size_t common(const struct talk *from, const struct talk *there)
{
    size_t count = 0;
    while (count < from->count && count < there->count &&
           strcmp(from->messages[count].id, there->messages[count].id) == 0)
        count++;
    return count;
}

static int append(struct moving *moving, const struct talk *talk, size_t first,
                  struct ethos_error *error)
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

/* What is taken by others stays theirs, and shows as a difference. */
static int move_talk(struct moving *moving, const char *id, bool dry_run, struct ethos_error *error)
{
    struct talk from = {0}, there = {0};
    int code = read_talk(moving->from, id, &from, error);
    if (code == ETHOS_OK)
        code = read_talk(moving->to, id, &there, error);
    moving->count.messages += from.count;
    if (code == ETHOS_OK && !dry_run) {
        if (!there.there)
            code = create(moving, &from, error);
        size_t first = common(&from, &there);
        if (code == ETHOS_OK && first == there.count)
            code = append(moving, &from, first, error);
        if (code == ETHOS_EXISTS)
            code = ETHOS_OK;
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

static int note_key(void *arg, const struct ethos_key *key)
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

/* One that is there stays as it is, unless it was revoked. */
static int move_key(struct moving *moving, const struct ethos_key *key, struct ethos_error *error)
{
    struct ethos_sessions *to = moving->to;
    int code = to->ops->key_add(to, key, error);
    if (code != ETHOS_OK && code != ETHOS_EXISTS)
        return code;
    moving->count.moved_keys += code == ETHOS_OK;
    return key->revoked_at ? to->ops->key_revoke(to, key->prefix, error) : ETHOS_OK;
}

static int move_keys(struct moving *moving, bool dry_run, struct ethos_error *error)
{
    struct key_list keys = {0};
    if (!moving->from->ops->keys || !moving->to->ops->key_add)
        return ETHOS_OK;
    arena_init(&keys.arena);
    int code = moving->from->ops->keys(moving->from, note_key, &keys, error);
    if (code == ETHOS_NOMEM)
        err_nomem(error);
    moving->count.keys = keys.count;
    for (size_t i = 0; code == ETHOS_OK && !dry_run && i < keys.count; i++)
        code = move_key(moving, &keys.list[i], error);
    arena_release(&keys.arena);
    return code;
}

/* ---- the whole ------------------------------------------------------------------------------- */

int migrate_sessions(struct ethos_sessions *from, struct ethos_sessions *to, bool dry_run,
                     struct migrate_talk_count *out, char out_digests[2][HASH_HEX_SIZE],
                     struct ethos_error *error)
{
    struct moving moving = {.from = from, .to = to};
    names_init(&moving.order);
    int code = list_all(&moving, error);
    moving.count.sessions = moving.order.count;
    for (size_t i = 0; code == ETHOS_OK && i < moving.order.count; i++) {
        const char *id = strchr(moving.order.list[i], ' ') + 1;
        code = move_talk(&moving, id, dry_run, error);
        if (code == ETHOS_OK && !dry_run)
            code = compare(&moving, id, error);
    }
    if (code == ETHOS_OK)
        code = move_keys(&moving, dry_run, error);
    if (code == ETHOS_OK && !dry_run && to->ops->settle)
        code = to->ops->settle(to, error);
    names_release(&moving.order);
    *out = moving.count;
    memcpy(out_digests, moving.digests, sizeof moving.digests);
    return code;
}
