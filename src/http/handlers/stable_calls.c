/*
 * stable_calls.c: the stable calls of the reference: what each takes, which operation it is, what it gives.
 *
 * personalityId, userId and workspaceId belong to every call and are not listed, unless they mean
 * something else there.
 */
#include "http/handlers/stable_calls.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/view.h"

#define MAX_ATTACHMENTS 10    /* of a message */
#define MAX_ATTACHED 10485760 /* bytes of all of them */
#define END                                                                                        \
    {                                                                                              \
        0                                                                                          \
    }

#define LAST_MS 253402300799999 /* of the year 9999, the last that a time in text can have */

/* ---- sessions ------------------------------------------------------------------------------------ */

#define FIELD_ID                                                                                   \
    {                                                                                              \
        .name = "id", .type = SHAPE_TEXT, .flags = SHAPE_REQUIRED, .min = 1                        \
    }
#define FIELD_ANY_ID /* "" is one that nothing has */                                              \
    {                                                                                              \
        .name = "id", .type = SHAPE_TEXT, .flags = SHAPE_REQUIRED                                  \
    }
#define FIELD_VERSION                                                                              \
    {                                                                                              \
        .name = "expectedVersion", .type = SHAPE_INTEGER, .flags = SHAPE_KEEP                      \
    }
#define FIELD_PERSONALITY                                                                          \
    {                                                                                              \
        .name = "personalityId", .type = SHAPE_TEXT, .min = 1, .max = ETHOS_MAX_ID                 \
    }
#define FIELD_LIMIT(most)                                                                          \
    {                                                                                              \
        .name = "limit", .type = SHAPE_INTEGER, .min = 1, .max = most                              \
    }
#define FIELD_CURSOR                                                                               \
    {                                                                                              \
        .name = "cursor", .type = SHAPE_TEXT, .flags = SHAPE_NULL                                  \
    }

static const struct shape_field list_sessions[] = {
    {.name = "q", .type = SHAPE_TEXT, .arg = "query"},
    FIELD_LIMIT(200),
    FIELD_CURSOR,
    FIELD_PERSONALITY,
    END};
static const struct shape_field get_session[] = {FIELD_ANY_ID, END};
static const struct shape_field fork_session[] = {FIELD_ANY_ID, FIELD_PERSONALITY, FIELD_VERSION,
                                                  END};
static const struct shape_field delete_session[] = {FIELD_ANY_ID, FIELD_VERSION, END};
static const struct shape_field update_session[] = {
    FIELD_ANY_ID,
    {.name = "title", .type = SHAPE_TEXT, .flags = SHAPE_REQUIRED | SHAPE_NULL, .max = 200},
    FIELD_VERSION,
    END};

/* On the wire a list is of all folders, and what is blank was not asked. */
static int ask_sessions(const json_t *input, json_t **args, struct ethos_error *error)
{
    (void)input;
    (void)error;
    if (!json_object_get(*args, "all") && !json_object_get(*args, "workspaceId"))
        op_json_put(args, "all", json_true());
    return ETHOS_OK;
}

/* The start of an id is a name at a terminal only; and nothing has any version but 1. */
static int ask_session(const json_t *input, json_t **args, struct ethos_error *error)
{
    struct ethos_view id = json_view(input, "id");
    const json_t *version = json_object_get(input, "expectedVersion");
    (void)args;
    if (id.size < ETHOS_UUID_SIZE - 1 && strspn(id.data, "0123456789abcdef-") == id.size)
        return err_set(error, ETHOS_NOTFOUND, "Session %.*s not found", VIEW_ARG(id));
    if (version && json_number_value(version) != 1)
        return err_set(error, ETHOS_CONFLICT, "Session %.*s has version 1", VIEW_ARG(id));
    return ETHOS_OK;
}

/* ---- chat ---------------------------------------------------------------------------------------- */

static const struct shape_field attachment[] = {
    {.name = "type", .type = SHAPE_CHOICE, .flags = SHAPE_REQUIRED, .choices = "image|file"},
    {.name = "data", .type = SHAPE_TEXT, .flags = SHAPE_REQUIRED},
    {.name = "mimeType", .type = SHAPE_TEXT, .flags = SHAPE_REQUIRED},
    {.name = "name", .type = SHAPE_TEXT},
    END};
static const struct shape_field send_chat[] = {
    {.name = "sessionId", .type = SHAPE_TEXT},
    {.name = "clientId", .type = SHAPE_TEXT, .flags = SHAPE_REQUIRED, .min = 1},
    {.name = "text", .type = SHAPE_TEXT, .flags = SHAPE_REQUIRED, .min = 1},
    {.name = "dryRun", .type = SHAPE_FLAG},
    {.name = "origin", .type = SHAPE_CHOICE, .flags = SHAPE_KEEP, .choices = "text|voice"},
    {.name = "attachments", .type = SHAPE_OBJECT, .flags = SHAPE_MANY, .fields = attachment},
    END};
/* Text in base64 is a third longer than what it holds. */
static int ask_chat(const json_t *input, json_t **args, struct ethos_error *error)
{
    const json_t *list = json_object_get(input, "attachments");
    size_t index, bytes = 0;
    json_t *one;
    (void)args;
    json_array_foreach ((json_t *)list, index, one)
        bytes += json_view(one, "data").size / 4 * 3;
    if (json_array_size(list) > MAX_ATTACHMENTS)
        return err_set(error, ETHOS_INVALID, "attachments: at most %d", MAX_ATTACHMENTS);
    return bytes > MAX_ATTACHED
               ? err_set(error, ETHOS_INVALID, "attachments: at most %d bytes", MAX_ATTACHED)
               : ETHOS_OK;
}

static const struct shape_field abort_chat[] = {
    {.name = "sessionId", .type = SHAPE_TEXT, .flags = SHAPE_REQUIRED}, END};

/* ---- personalities --------------------------------------------------------------------------------- */

/* "" clears what it is said of, so it is one of the choices. */

#define FIELD_TEXTS(member)                                                                        \
    {                                                                                              \
        .name = member, .type = SHAPE_TEXT, .flags = SHAPE_MANY | SHAPE_NULL                       \
    }

static const struct shape_field reach[] = {
    FIELD_TEXTS("read"),
    FIELD_TEXTS("write"),
    {.name = "workdir", .type = SHAPE_TEXT, .flags = SHAPE_NULL},
    END};
static const struct shape_field dreaming[] = {
    {.name = "enable", .type = SHAPE_FLAG, .flags = SHAPE_REQUIRED},
    {.name = "idleMinutes", .type = SHAPE_INTEGER},
    {.name = "maxPerDay", .type = SHAPE_INTEGER},
    END};
static const struct shape_field evolution[] = {
    {.name = "enabled", .type = SHAPE_FLAG},
    {.name = "evolve_existing", .type = SHAPE_FLAG},
    {.name = "min_tool_calls", .type = SHAPE_INTEGER, .min = 1, .max = 20},
    {.name = "cooldown_minutes", .type = SHAPE_INTEGER},
    {.name = "model", .type = SHAPE_TEXT},
    {.name = "promotion", .type = SHAPE_CHOICE, .choices = "|review|auto"},
    {.name = "scope", .type = SHAPE_CHOICE, .choices = "|personality|shared"},
    END};
static const struct shape_field safety[] = {
    {.name = "approvalMode", .type = SHAPE_CHOICE, .choices = "|manual|smart|off"}, END};
static const struct shape_field backend[] = {{.name = "provider", .type = SHAPE_TEXT}, END};
static const struct shape_field display[] = {{.name = "avatar_url", .type = SHAPE_TEXT}, END};
static const struct shape_field judge[] = {
    {.name = "enabled", .type = SHAPE_FLAG},
    {.name = "minInteractions", .type = SHAPE_INTEGER, .min = 1},
    END};
static const struct shape_field nightly[] = {
    {.name = "enabled", .type = SHAPE_FLAG},
    {.name = "expression", .type = SHAPE_FLAG},
    {.name = "judge", .type = SHAPE_OBJECT, .fields = judge},
    END};
static const struct shape_field voice[] = {
    {.name = "tts_provider", .type = SHAPE_TEXT},
    {.name = "stt_provider", .type = SHAPE_TEXT},
    {.name = "realtime_provider", .type = SHAPE_TEXT},
    {.name = "tts_voice", .type = SHAPE_TEXT},
    {.name = "model", .type = SHAPE_TEXT},
    {.name = "call_style", .type = SHAPE_CHOICE, .choices = "|liquid|orb|rings"},
    {.name = "tier", .type = SHAPE_CHOICE, .choices = "|pipeline|realtime"},
    {.name = "languages", .type = SHAPE_OBJECT},
    END};

/* What other programs of the family use: the operation takes all of it as one argument, "fields". */
#define FIELD_LIST(member)                                                                         \
    {                                                                                              \
        .name = member, .type = SHAPE_TEXT, .flags = SHAPE_KEEP | SHAPE_MANY | SHAPE_NULL          \
    }
#define FIELD_PARTS(member, parts)                                                                 \
    {                                                                                              \
        .name = member, .type = SHAPE_OBJECT, .flags = SHAPE_KEEP, .fields = parts                 \
    }
#define FIELDS_BESIDES                                                                             \
    {.name = "model", .type = SHAPE_MODEL, .flags = SHAPE_KEEP | SHAPE_NULL},                      \
        {.name = "provider",                                                                       \
         .type = SHAPE_CHOICE,                                                                     \
         .flags = SHAPE_KEEP | SHAPE_NULL,                                                         \
         .choices = "|anthropic|openai|openrouter|openai-compat|ollama|azure|codex"},              \
        FIELD_LIST("capabilities"), FIELD_LIST("mcp_servers"), FIELD_LIST("plugins"),              \
        {.name = "streamingTimeoutMs",                                                             \
         .type = SHAPE_INTEGER,                                                                    \
         .flags = SHAPE_KEEP | SHAPE_NULL,                                                         \
         .min = 1},                                                                                \
        {.name = "fs_reach",                                                                       \
         .type = SHAPE_OBJECT,                                                                     \
         .flags = SHAPE_KEEP | SHAPE_NULL,                                                         \
         .fields = reach},                                                                         \
        {.name = "evolution_approval_mode",                                                        \
         .type = SHAPE_CHOICE,                                                                     \
         .flags = SHAPE_KEEP,                                                                      \
         .choices = "|auto|user"},                                                                 \
        FIELD_PARTS("skill_evolution", evolution), FIELD_PARTS("nightly", nightly),                \
        FIELD_PARTS("voice", voice)

static const struct shape_field list_personalities[] = {
    {.name = "limit", .type = SHAPE_INTEGER, .min = 1},
    {.name = "cursor", .type = SHAPE_TEXT},
    END};
static const struct shape_field one_personality[] = {FIELD_ID, END};
static const struct shape_field create_personality[] = {
    {.name = "id",
     .type = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED | SHAPE_SLUG,
     .min = 1,
     .max = ETHOS_MAX_ID},
    {.name = "name", .type = SHAPE_TEXT, .flags = SHAPE_REQUIRED, .min = 1},
    {.name = "toolset", .type = SHAPE_TEXT, .flags = SHAPE_KEEP | SHAPE_REQUIRED | SHAPE_MANY},
    {.name = "soulMd", .type = SHAPE_TEXT, .flags = SHAPE_REQUIRED},
    {.name = "description", .type = SHAPE_TEXT, .flags = SHAPE_NULL},
    FIELDS_BESIDES,
    END};
static const struct shape_field update_personality[] = {
    FIELD_ID,
    {.name = "name", .type = SHAPE_TEXT, .min = 1},
    {.name = "toolset", .type = SHAPE_TEXT, .flags = SHAPE_KEEP | SHAPE_MANY},
    {.name = "soulMd", .type = SHAPE_TEXT},
    {.name = "description", .type = SHAPE_TEXT, .flags = SHAPE_NULL},
    FIELDS_BESIDES,
    FIELD_PARTS("dreaming", dreaming),
    FIELD_PARTS("safety", safety),
    FIELD_PARTS("memory", backend),
    FIELD_PARTS("display", display),
    FIELD_PARTS("mcp_tools", NULL),
    END};
static const struct shape_field duplicate_personality[] = {FIELD_ID,
                                                           {.name = "newId",
                                                            .type = SHAPE_TEXT,
                                                            .flags = SHAPE_REQUIRED | SHAPE_SLUG,
                                                            .min = 1,
                                                            .max = ETHOS_MAX_ID},
                                                           END};

/* What is no argument of its own goes together. */
static int ask_personality(const json_t *input, json_t **args, struct ethos_error *error)
{
    json_t *fields = json_object();
    struct str text;
    for (const struct shape_field *field = update_personality; field->name; field++) {
        json_t *value = json_object_get(input, field->name);
        if (value && (field->flags & SHAPE_KEEP))
            op_json_put(&fields, field->name, json_incref(value));
    }
    str_init(&text, SIZE_MAX);
    int code = fields ? json_print(fields, JSON_STYLE_LINE, &text) : ETHOS_NOMEM;
    if (code == ETHOS_OK && json_object_size(fields) > 0)
        op_json_put(args, "fields", json_text(str_view(&text)));
    str_release(&text);
    json_decref(fields);
    return code == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

/* ---- memory ------------------------------------------------------------------------------------------ */

#define FIELD_STORE                                                                                \
    {                                                                                              \
        .name = "store", .type = SHAPE_CHOICE, .choices = "memory|user", .unless = "key"           \
    }

static const struct shape_field list_files[] = {
    {.name = "limit", .type = SHAPE_INTEGER, .flags = SHAPE_KEEP, .min = 1},
    {.name = "cursor", .type = SHAPE_TEXT, .flags = SHAPE_KEEP},
    END};
static const struct shape_field get_file[] = {FIELD_STORE, END};
static const struct shape_field write_file[] = {
    FIELD_STORE,
    {.name = "content", .type = SHAPE_TEXT, .flags = SHAPE_REQUIRED},
    {.name = "expectedRevision", .type = SHAPE_TEXT, .flags = SHAPE_NULL, .arg = "ifMatch"},
    END};
static const struct shape_field list_history[] = {
    {.name = "key", .type = SHAPE_TEXT, .min = 1},
    {.name = "source",
     .type = SHAPE_CHOICE,
     .choices = "tool|consolidation|dream|capture|web-editor|global-entry|restore"},
    {.name = "sinceMs", .type = SHAPE_NUMBER, .flags = SHAPE_KEEP},
    {.name = "untilMs", .type = SHAPE_NUMBER, .flags = SHAPE_KEEP},
    FIELD_LIMIT(200),
    FIELD_CURSOR,
    END};
static const struct shape_field get_blob[] = {
    {.name = "blob", .type = SHAPE_TEXT, .flags = SHAPE_REQUIRED}, END};
static const struct shape_field restore_slug[] = {
    {.name = "slug", .type = SHAPE_TEXT, .min = 1, .unless = "revision"}, END};
static const struct shape_field one_pending[] = {
    FIELD_ID, {.name = "hash", .type = SHAPE_TEXT}, END};
static const struct shape_field edit_pending[] = {
    FIELD_ID,
    {.name = "update", .type = SHAPE_OBJECT, .flags = SHAPE_REQUIRED},
    {.name = "hash", .type = SHAPE_TEXT},
    END};

/* null says that there is no such file yet. */
static int ask_write(const json_t *input, json_t **args, struct ethos_error *error)
{
    (void)error;
    if (json_is_null(json_object_get(input, "expectedRevision")))
        op_json_put(args, "ifMatch", json_string("absent"));
    return ETHOS_OK;
}

/* Beyond the times that a text can have there is nothing more to find. */
static void put_time(json_t **args, const char *name, const json_t *ms)
{
    double time = fmin(fmax(json_number_value(ms), 0), LAST_MS);
    if (ms)
        op_json_put(args, name, op_json_time((int64_t)time));
}

static int ask_history(const json_t *input, json_t **args, struct ethos_error *error)
{
    (void)error;
    if (!json_object_get(*args, "scope"))
        op_json_put(args, "scope", json_string("personality"));
    op_json_put(args, "diff", json_true());
    put_time(args, "since", json_object_get(input, "sinceMs"));
    put_time(args, "until", json_object_get(input, "untilMs"));
    return ETHOS_OK;
}

/* ---- the calls --------------------------------------------------------------------------------------- */

const struct shape shapes[] = {
    {"sessions.list", NULL, list_sessions, ask_sessions, give_session_page, NULL, NULL},
    {"sessions.get", NULL, get_session, ask_session, give_transcript, NULL, NULL},
    {"sessions.fork", NULL, fork_session, ask_session, give_session, NULL, NULL},
    {"sessions.delete", NULL, delete_session, ask_session, give_ok, NULL, NULL},
    {"sessions.update", NULL, update_session, ask_session, give_session, NULL, NULL},
    {"chat.send", NULL, send_chat, ask_chat, NULL, NULL, NULL},
    {"chat.abort", NULL, abort_chat, NULL, give_ok, NULL, NULL},
    {"personalities.list", NULL, list_personalities, NULL, give_personality_page, NULL, NULL},
    {"personalities.get", NULL, one_personality, NULL, give_personality_whole, NULL, NULL},
    {"personalities.characterSheet", NULL, one_personality, NULL, NULL, NULL, NULL},
    {"personalities.create", NULL, create_personality, ask_personality, give_personality, NULL,
     NULL},
    {"personalities.update", NULL, update_personality, ask_personality, give_personality, NULL,
     NULL},
    {"personalities.delete", NULL, one_personality, NULL, give_ok, NULL, NULL},
    {"personalities.duplicate", NULL, duplicate_personality, NULL, give_personality, NULL, NULL},
    {"memory.list", NULL, list_files, NULL, give_files, NULL, NULL},
    {"memory.get", NULL, get_file, NULL, NULL, NULL, "file"},
    {"memory.write", NULL, write_file, ask_write, NULL, "web-editor", "file"},
    {"memory.listUsers", "users.list", NULL, NULL, give_users, NULL, NULL},
    {"memory.history", "memory.timeline", list_history, ask_history, give_history, NULL, NULL},
    {"memory.historyBlob", NULL, get_blob, NULL, give_blob, NULL, NULL},
    {"memory.restore", NULL, restore_slug, NULL, give_restored, NULL, NULL},
    {"memory.pendingList", NULL, NULL, NULL, NULL, NULL, NULL},
    {"memory.pendingApprove", NULL, one_pending, NULL, give_ok, NULL, NULL},
    {"memory.pendingEdit", NULL, edit_pending, NULL, NULL, NULL, NULL},
    {"memory.pendingReject", NULL, one_pending, NULL, give_ok, NULL, NULL},
    {"memory.pendingNever", NULL, one_pending, NULL, give_ok, NULL, NULL},
    {"meta.capabilities", NULL, NULL, NULL, NULL, NULL, NULL},
    {0},
};

const struct shape *shape_find(const char *name)
{
    for (const struct shape *shape = shapes; shape->name; shape++)
        if (strcmp(shape->name, name) == 0)
            return shape;
    return NULL;
}

int shapes_check(struct ethos_error *error)
{
    for (const struct shape *shape = shapes; shape->name; shape++)
        if (!shape_served(op_find(shape->op ? shape->op : shape->name)))
            return err_set(error, ETHOS_INTERNAL, "/rpc: %s is not available over HTTP",
                           shape->name);
    return ETHOS_OK;
}
