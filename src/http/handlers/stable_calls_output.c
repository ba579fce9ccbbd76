/*
 * stable_calls_output.c: results of operations as the reference's objects.
 *
 * Members of our own stay beside those that the contract names: its clients do not look at them.
 */
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/utf8.h"
#include "base/view.h"
#include "http/handlers/stable_calls.h"

#define MAX_DIFF 4096 /* bytes of a diff; a longer one is cut */
#define HASH_PREFIX "sha256:"
#define HASH_NOTHING HASH_PREFIX "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static json_t *object_member(const json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);
    return value ? json_incref(value) : json_null();
}

static int done(json_t *value, json_t **out, struct ethos_error *error)
{
    if (!value)
        return err_nomem(error);
    *out = value;
    return ETHOS_OK;
}

/* What the contract calls a string is one, whatever another program stored. */
static json_t *text_or(const json_t *object, const char *name, const char *otherwise)
{
    json_t *value = json_object_get(object, name);
    return json_is_string(value) ? json_incref(value) : op_json_string(otherwise);
}

int give_ok(const json_t *input, const json_t *result, json_t **out, struct ethos_error *error)
{
    (void)input;
    (void)result;
    return done(json_pack("{s:b}", "ok", 1), out, error);
}

/* ---- sessions ------------------------------------------------------------------------------------ */

static json_t *session_json(const json_t *row)
{
    static const char *const texts[] = {"id", "key", "platform", "model", "provider"};
    json_t *session = json_copy((json_t *)row);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        op_json_put(&session, texts[i], text_or(row, texts[i], ""));
    return session;
}

int give_session(const json_t *input, const json_t *result, json_t **out, struct ethos_error *error)
{
    (void)input;
    return done(json_pack("{s:o}", "session", session_json(json_object_get(result, "session"))),
                out, error);
}

int give_session_page(const json_t *input, const json_t *result, json_t **out,
                      struct ethos_error *error)
{
    json_t *items = json_array(), *row;
    size_t index;
    (void)input;
    json_array_foreach (json_object_get(result, "items"), index, row)
        op_json_push(&items, session_json(row));
    return done(
        json_pack("{s:o, s:o}", "items", items, "nextCursor", object_member(result, "nextCursor")),
        out, error);
}

int give_transcript(const json_t *input, const json_t *result, json_t **out,
                    struct ethos_error *error)
{
    json_t *json = json_copy((json_t *)result);
    (void)input;
    op_json_put(&json, "session", session_json(json_object_get(result, "session")));
    return done(json, out, error);
}

/* ---- files ----------------------------------------------------------------------------------------- */

/* Memory first, then the profile; the index of a workspace is none of the two. */
int give_files(const json_t *input, const json_t *result, json_t **out, struct ethos_error *error)
{
    json_t *json = json_copy((json_t *)result), *files = json_object_get(result, "files");
    json_t *workspace = json_array_get(files, 2);
    (void)input;
    op_json_put(&json, "items",
                json_pack("[O, O]", json_array_get(files, 1), json_array_get(files, 0)));
    op_json_put(&json, "nextCursor", json_null());
    op_json_put(&json, "workspace", workspace ? json_incref(workspace) : json_null());
    if (json)
        json_object_del(json, "files");
    return done(json, out, error);
}

int give_users(const json_t *input, const json_t *result, json_t **out, struct ethos_error *error)
{
    json_t *users = json_array(), *row;
    size_t index;
    (void)input;
    json_array_foreach (json_object_get(result, "users"), index, row) {
        const char *id = json_view(row, "userId").data;
        json_t *user = json_copy(row);
        op_json_put(&user, "displayLabel", text_or(row, "displayLabel", id));
        op_json_put(&user, "platform", text_or(row, "platform", ""));
        op_json_put(&user, "firstSeenAt", text_or(row, "firstSeenAt", ""));
        op_json_push(&users, user);
    }
    return done(json_pack("{s:o, s:o, s:o}", "users", users, "localUserId",
                          object_member(result, "localUserId"), "nextCursor",
                          object_member(result, "nextCursor")),
                out, error);
}

/* ---- history --------------------------------------------------------------------------------------- */

static const char *hash_of(const json_t *row, const char *name)
{
    const char *revision = json_view(row, name).data;
    return revision ? revision : HASH_NOTHING;
}

static json_t *cut_diff(struct ethos_view diff, const char *before)
{
    struct str text;
    size_t size = MAX_DIFF;
    while (size > 0 && (diff.data[size] & 0xC0) == 0x80)
        size--;
    str_init(&text, SIZE_MAX);
    str_add(&text, view_of(diff.data, size));
    str_printf(&text, "\n\u2026 [diff truncated; before-state in blob %s]", before);
    json_t *json = str_code(&text) == ETHOS_OK ? json_text(str_view(&text)) : NULL;
    str_release(&text);
    return json;
}

/* The seven of the contract; what else stands there came from a tool. */
static const char *source_of(const json_t *row)
{
    static const char *const sources[] = {"tool",       "consolidation", "dream",  "capture",
                                          "web-editor", "global-entry",  "restore"};
    struct ethos_view source = json_view(row, "source");
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (view_eq_str(source, sources[i]))
            return sources[i];
    return sources[0];
}

static json_int_t time_of(const json_t *row)
{
    int64_t ms = 0;
    clock_parse(json_view(row, "time"), 0, false, &ms, NULL);
    return (json_int_t)ms;
}

static json_t *entry_json(const json_t *row)
{
    struct ethos_view diff = json_view(row, "diff");
    const char *before = hash_of(row, "before");
    bool cut = diff.size > MAX_DIFF;
    json_t *entry = json_pack(
        "{s:I, s:o, s:o, s:o, s:s, s:o, s:o, s:s, s:s, s:o, s:o, s:o}", "ts", time_of(row),
        "scopeId", text_or(row, "scope", ""), "key", text_or(row, "key", ""), "actions",
        object_member(row, "actions"), "source", source_of(row), "sessionId",
        text_or(row, "session", ""), "sessionKey", text_or(row, "sessionKey", ""), "beforeHash",
        before, "afterHash", hash_of(row, "after"), "diff",
        cut ? cut_diff(diff, before) : text_or(row, "diff", ""), "sizeBefore",
        object_member(row, "bytesBefore"), "sizeAfter", object_member(row, "bytesAfter"));
    if (cut && view_starts(view_str(before), VIEW(HASH_PREFIX)))
        op_json_put(&entry, "blob", json_string(before + strlen(HASH_PREFIX)));
    return entry;
}

int give_history(const json_t *input, const json_t *result, json_t **out, struct ethos_error *error)
{
    json_t *entries = json_array(), *row, *corrupt = json_object_get(result, "corruptLines");
    size_t index;
    (void)input;
    json_array_foreach (json_object_get(result, "items"), index, row)
        op_json_push(&entries, entry_json(row));
    return done(json_pack("{s:o, s:o, s:o}", "entries", entries, "nextCursor",
                          object_member(result, "nextCursor"), "corruptLines",
                          corrupt ? json_incref(corrupt) : json_integer(0)),
                out, error);
}

int give_blob(const json_t *input, const json_t *result, json_t **out, struct ethos_error *error)
{
    (void)input;
    return done(json_pack("{s:o}", "content", object_member(result, "content")), out, error);
}

/* Which file has the text again. */
int give_restored(const json_t *input, const json_t *result, json_t **out,
                  struct ethos_error *error)
{
    const json_t *row = json_array_get(json_object_get(result, "written"), 0);
    (void)input;
    if (!row)
        row = json_array_get(json_object_get(result, "unchanged"), 0);
    return done(json_pack("{s:b, s:o, s:o, s:o}", "ok", 1, "restoredTo",
                          text_or(row, "key", "MEMORY.md"), "scope", object_member(row, "scope"),
                          "revision", object_member(row, "revision")),
                out, error);
}

/* ---- personalities ----------------------------------------------------------------------------------- */

static json_t *reach_json(const json_t *reach)
{
    return json_is_object(reach)
               ? json_pack("{s:o, s:o, s:o}", "read", object_member(reach, "read"), "write",
                           object_member(reach, "write"), "workdir",
                           object_member(reach, "workdir"))
               : json_null();
}

static json_t *personality_json(const json_t *row)
{
    static const char *const members[] = {"description", "provider",          "model",
                                          "toolset",     "capabilities",      "mcp_servers",
                                          "plugins",     "streamingTimeoutMs"};
    json_t *json = json_copy((json_t *)row);
    op_json_put(&json, "name", text_or(row, "name", json_view(row, "id").data));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        op_json_put(&json, members[i], object_member(row, members[i]));
    op_json_put(&json, "fs_reach", reach_json(json_object_get(row, "fs_reach")));
    op_json_put(&json, "system", json_boolean(json_is_true(json_object_get(row, "system"))));
    op_json_put(&json, "builtin", json_boolean(json_is_true(json_object_get(row, "builtin"))));
    op_json_put(&json, "version", json_integer(1));
    return json;
}

int give_personality(const json_t *input, const json_t *result, json_t **out,
                     struct ethos_error *error)
{
    (void)input;
    return done(
        json_pack("{s:o}", "personality", personality_json(json_object_get(result, "personality"))),
        out, error);
}

int give_personality_whole(const json_t *input, const json_t *result, json_t **out,
                           struct ethos_error *error)
{
    (void)input;
    return done(json_pack("{s:o, s:o, s:o}", "personality",
                          personality_json(json_object_get(result, "personality")), "soulMd",
                          text_or(result, "soulMd", ""), "mcpPolicy",
                          object_member(result, "mcpPolicy")),
                out, error);
}

int give_personality_page(const json_t *input, const json_t *result, json_t **out,
                          struct ethos_error *error)
{
    json_t *items = json_array(), *row;
    size_t index;
    (void)input;
    json_array_foreach (json_object_get(result, "items"), index, row)
        op_json_push(&items, personality_json(row));
    return done(json_pack("{s:o, s:o, s:o}", "items", items, "nextCursor",
                          object_member(result, "nextCursor"), "defaultId",
                          object_member(result, "defaultId")),
                out, error);
}
