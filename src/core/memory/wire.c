/*
 * wire.c: what a store keeps, as JSON between two machines.
 */
#include "core/memory/wire.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"

/* ---- members --------------------------------------------------------------------------------- */

/* Takes the value; a failure leaves NULL, which stays. */
static void put_member(json_t **object, const char *name, json_t *value)
{
    if (json_object_set_new(*object, name, value) != 0) {
        json_decref(*object);
        *object = NULL;
    }
}

static void put_string(json_t **object, const char *name, const char *string)
{
    if (string)
        put_member(object, name, json_text(view_str(string)));
}

static void put_number_member(json_t **object, const char *name, uint64_t number)
{
    put_member(object, name, json_integer((json_int_t)number));
}

const char *wire_string(const json_t *object, const char *name, bool *ok)
{
    const json_t *value = json_object_get(object, name);
    if (!value || json_is_null(value))
        return NULL;
    const char *string = json_string_value(value);
    if (!string || strlen(string) != json_string_length(value))
        *ok = false;
    return string;
}

uint64_t wire_number(const json_t *object, const char *name, uint64_t fallback)
{
    const json_t *value = json_object_get(object, name);
    return json_is_integer(value) && json_integer_value(value) >= 0
               ? (uint64_t)json_integer_value(value)
               : fallback;
}

/* Strings of a struct, by the name of each. */
struct wire_member {
    const char *name;
    size_t at;
};

static void put_members(json_t **object, const void *from, const struct wire_member *members,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        put_string(object, members[i].name,
                   *(const char *const *)(const void *)((const char *)from + members[i].at));
}

static bool take_members(const json_t *object, void *to, const struct wire_member *members,
                         size_t count)
{
    bool ok = json_is_object(object);
    for (size_t i = 0; i < count; i++)
        *(const char **)(void *)((char *)to + members[i].at) = wire_string(object, members[i].name,
                                                                           &ok);
    return ok;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* How many bytes more a JSON string has. */
static size_t escaped_bytes(struct ethos_view bytes)
{
    size_t more = 0;
    for (size_t i = 0; i < bytes.size; i++) {
        unsigned char c = (unsigned char)bytes.data[i];
        bool brief = c == '"' || c == '\\' || (c >= '\b' && c <= '\r' && c != '\v');
        more += brief ? 1u : c < ' ' ? 5u : 0u;
    }
    return more;
}

json_t *wire_bytes(struct ethos_view bytes)
{
    struct str letters;
    bool plain = bytes.size == 0 || (!memchr(bytes.data, 0, bytes.size) && utf8_valid(bytes) &&
                                     escaped_bytes(bytes) <= bytes.size / 3 + 16);
    if (plain)
        return json_text(bytes.data ? bytes : VIEW(""));
    str_init(&letters, SIZE_MAX);
    json_t *json = base64_encode(bytes, &letters) == ETHOS_OK ? json_text(str_view(&letters))
                                                              : NULL;
    str_release(&letters);
    return json ? json_pack("{s:o}", "base64", json) : NULL;
}

int wire_take_bytes(const json_t *value, struct str *scratch, struct ethos_view *out)
{
    if (json_is_string(value)) {
        *out = view_of(json_string_value(value), json_string_length(value));
        return ETHOS_OK;
    }
    struct ethos_view letters = json_view(value, "base64");
    if (!letters.data)
        return ETHOS_INVALID;
    str_clear(scratch);
    int code = base64_decode(letters, scratch);
    *out = str_view(scratch);
    return code;
}

/* ---- texts ------------------------------------------------------------------------------------ */

json_t *wire_text(const struct ethos_text *text)
{
    json_t *json = json_object();
    put_member(&json, "text", wire_bytes(view_of(text->data, text->size)));
    put_number_member(&json, "offset", text->offset);
    put_number_member(&json, "total", text->total);
    put_member(&json, "mtimeMs", json_integer((json_int_t)text->mtime_ms));
    put_string(&json, "revision", text->revision);
    if (text->unsettled)
        put_member(&json, "unsettled", json_true());
    return json;
}

int wire_take_text(const json_t *value, struct str *scratch, struct ethos_text *out,
                   struct ethos_view *out_bytes)
{
    bool ok = true;
    const char *revision = wire_string(value, "revision", &ok);
    const json_t *mtime = json_object_get(value, "mtimeMs");
    int code = wire_take_bytes(json_object_get(value, "text"), scratch, out_bytes);
    if (code != ETHOS_OK)
        return code;
    if (!ok || !revision || strlen(revision) >= sizeof out->revision)
        return ETHOS_INVALID;
    out->offset = wire_number(value, "offset", 0);
    out->total = wire_number(value, "total", out_bytes->size);
    out->mtime_ms = json_is_integer(mtime) ? (int64_t)json_integer_value(mtime) : -1;
    out->unsettled = json_is_true(json_object_get(value, "unsettled"));
    memcpy(out->revision, revision, strlen(revision) + 1);
    return ETHOS_OK;
}

void wire_tag(struct str *tag, const char *scope, const char *key, uint64_t tail_bytes,
              const char *revision, int64_t mtime_ms)
{
    str_printf(tag, "%s/%s %" PRIu64 " %s %" PRId64 "\n", scope, key, tail_bytes, revision,
               mtime_ms);
}

/* ---- errors ----------------------------------------------------------------------------------- */

json_t *wire_error(const struct ethos_error *error)
{
    json_t *json = json_object();
    put_string(&json, "code", err_name(error->code));
    put_string(&json, "message", error->text);
    if (*error->hint)
        put_string(&json, "hint", error->hint);
    return json;
}

int wire_take_error(const json_t *value, struct ethos_error *out)
{
    bool ok = true;
    const char *name = wire_string(value, "code", &ok), *text = wire_string(value, "message", &ok),
               *hint = wire_string(value, "hint", &ok);
    int code = ETHOS_NOTFOUND;
    while (name && code > ETHOS_INTERNAL && strcmp(err_name(code), name) != 0)
        code--;
    if (!ok || !name || !text || strcmp(err_name(code), name) != 0)
        return ETHOS_INVALID;
    err_set(out, code, "%s", text);
    return hint ? err_hint(out, code, "%s", hint) : code;
}

/* ---- who, and what changed ---------------------------------------------------------------------- */

#define MEMBER(type, name, member)                                                                 \
    {                                                                                              \
        name, offsetof(struct type, member)                                                        \
    }
#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct wire_member origin_members[] = {
    MEMBER(ethos_origin, "actor", actor),
    MEMBER(ethos_origin, "via", via),
    MEMBER(ethos_origin, "source", source),
    MEMBER(ethos_origin, "session", session),
    MEMBER(ethos_origin, "sessionKey", session_key),
    MEMBER(ethos_origin, "user", user),
    MEMBER(ethos_origin, "opId", op_id),
    MEMBER(ethos_origin, "opDigest", op_digest),
    MEMBER(ethos_origin, "undoes", undoes),
    MEMBER(ethos_origin, "trust", trust),
    MEMBER(ethos_origin, "approvedBy", approved_by),
    MEMBER(ethos_origin, "editedFrom", edited_from),
};

json_t *wire_origin(const struct ethos_origin *origin)
{
    json_t *json = json_object();
    if (origin)
        put_members(&json, origin, origin_members, COUNT(origin_members));
    return json;
}

int wire_take_origin(const json_t *value, struct ethos_origin *out)
{
    *out = (struct ethos_origin){0};
    return take_members(value, out, origin_members, COUNT(origin_members)) ? ETHOS_OK
                                                                           : ETHOS_INVALID;
}

static const struct wire_member change_members[] = {
    MEMBER(ethos_change, "key", key),
    MEMBER(ethos_change, "actions", actions),
    MEMBER(ethos_change, "source", source),
    MEMBER(ethos_change, "via", via),
    MEMBER(ethos_change, "actor", actor),
    MEMBER(ethos_change, "session", session),
    MEMBER(ethos_change, "sessionKey", session_key),
    MEMBER(ethos_change, "user", user),
    MEMBER(ethos_change, "opId", op_id),
    MEMBER(ethos_change, "event", event),
    MEMBER(ethos_change, "undoes", undoes),
    MEMBER(ethos_change, "before", before),
    MEMBER(ethos_change, "after", after),
    MEMBER(ethos_change, "trust", trust),
    MEMBER(ethos_change, "approvedBy", approved_by),
    MEMBER(ethos_change, "editedFrom", edited_from),
};

json_t *wire_change(const struct ethos_change *change)
{
    json_t *json = json_object();
    put_number_member(&json, "number", change->number);
    put_member(&json, "timeMs", json_integer((json_int_t)change->time_ms));
    put_members(&json, change, change_members, COUNT(change_members));
    put_number_member(&json, "bytesBefore", change->bytes_before);
    put_number_member(&json, "bytesAfter", change->bytes_after);
    if (change->group > 0) {
        put_number_member(&json, "group", change->group);
        put_number_member(&json, "groupSize", change->group_size);
    }
    if (change->diff.data)
        put_member(&json, "diff", wire_bytes(change->diff));
    put_member(&json, "diffWhole", json_boolean(change->diff_whole));
    return json;
}

int wire_take_change(const json_t *value, struct str *scratch, struct ethos_change *out)
{
    const json_t *time = json_object_get(value, "timeMs"), *diff = json_object_get(value, "diff");
    *out = (struct ethos_change){
        .number = wire_number(value, "number", 0),
        .time_ms = json_is_integer(time) ? (int64_t)json_integer_value(time) : -1,
        .bytes_before = wire_number(value, "bytesBefore", 0),
        .bytes_after = wire_number(value, "bytesAfter", 0),
        .diff_whole = json_is_true(json_object_get(value, "diffWhole")),
        .group = wire_number(value, "group", 0),
        .group_size = wire_number(value, "groupSize", 0),
    };
    if (!take_members(value, out, change_members, COUNT(change_members)) || !out->key ||
        !out->before || !out->after) // whoever reads changes compares them
        return ETHOS_INVALID;
    return diff ? wire_take_bytes(diff, scratch, &out->diff) : ETHOS_OK;
}
