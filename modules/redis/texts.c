/*
 * texts.c: reading what stands now: read, gather, list, scopes, and fetch with the operations.
 *
 * What must be of one moment is read by a script; a transaction would do, but is refused when the
 * server has no memory left. A text is there when its stamp is: an empty text and none look alike
 * to the server.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "redis.h"

void redis_key(const struct redis *self, const char *scope, const char *table, const char *key,
               char out[REDIS_KEY_SIZE])
{
    if (scope)
        snprintf(out, REDIS_KEY_SIZE, "%s:{%s}:%s%s", self->prefix, scope, table, key);
    else
        snprintf(out, REDIS_KEY_SIZE, "%s:%s%s", self->prefix, table, key);
}

static bool parse_stamp(const redisReply *reply, struct stamp *out)
{
    char revision[ETHOS_REVISION_SIZE + 1] = "";
    return reply->type == REDIS_REPLY_STRING &&
           sscanf(reply->str, "%" SCNd64 " %" SCNu64 " %80s", &out->time_ms, &out->bytes,
                  revision) == 3 &&
           snprintf(out->revision, sizeof out->revision, "%s", revision) <
               (int)sizeof out->revision;
}

int redis_give(const struct redis *self, struct ethos_view bytes, const struct stamp *stamp,
               struct ethos_text *out_text, struct ethos_error *error)
{
    if (bytes.size >= out_text->capacity) {
        size_t capacity = bytes.size + 1;
        char *data = self->host->resize(self->host->arg, out_text->data, capacity);
        if (!data)
            return err_nomem(error);
        out_text->data = data;
        out_text->capacity = capacity;
    }
    if (bytes.size)
        memcpy(out_text->data, bytes.data, bytes.size);
    out_text->data[bytes.size] = 0;
    out_text->size = bytes.size;
    out_text->offset = stamp->bytes - bytes.size;
    out_text->total = stamp->bytes;
    out_text->mtime_ms = stamp->time_ms;
    out_text->unsettled = 0;
    memcpy(out_text->revision, stamp->revision, sizeof out_text->revision);
    return ETHOS_OK;
}

void redis_give_none(const struct redis *self, struct ethos_text *out_text)
{
    if (out_text->data)
        self->host->resize(self->host->arg, out_text->data, 0);
    *out_text = (struct ethos_text){.mtime_ms = -1};
}

/* ---- read and gather ------------------------------------------------------------------------ */

/* The text, or its last tail_bytes (0: all of it). ETHOS_NOTFOUND when there is no stamp. */
static int give_text(const struct redis *self, const char *key, uint64_t tail_bytes,
                     const redisReply *stamped, const redisReply *bytes,
                     struct ethos_text *out_text, struct ethos_error *error)
{
    struct stamp stamp;
    if (stamped->type == REDIS_REPLY_NIL)
        return err_set(error, ETHOS_NOTFOUND, "%s: not found", key);
    if (!parse_stamp(stamped, &stamp) || bytes->type != REDIS_REPLY_STRING)
        return refusal_odd(self, key, error);
    uint64_t least = tail_bytes && tail_bytes < stamp.bytes ? tail_bytes : stamp.bytes;
    if (bytes->len < least || bytes->len > stamp.bytes)
        return refusal_odd(self, key, error);
    return redis_give(self, view_of(bytes->str, bytes->len), &stamp, out_text, error);
}

static int give_section(const struct redis *self, const struct ethos_read_how *how,
                        const redisReply *stamped, const redisReply *bytes,
                        struct ethos_section *section)
{
    int code = give_text(self, section->key, how->tail_bytes, stamped, bytes, &section->text,
                         &section->error);
    if (code == ETHOS_OK && !(how->flags & ETHOS_READ_REVISION))
        section->text.revision[0] = 0;
    return code;
}

static void request_sections(struct redis_request *request, const struct redis *self,
                             const struct ethos_read_how *how, const struct ethos_section *sections,
                             size_t count)
{
    char start[24] = "0";
    if (how->tail_bytes && how->tail_bytes < ETHOS_MAX_STORE_BYTES)
        snprintf(start, sizeof start, "-%" PRIu64, how->tail_bytes);
    request_string(request, "0");
    for (size_t i = 0; i < count; i++) {
        request_say(request, 2, "3", "HGET");
        request_key(request, self, sections[i].scope, "stamps", "");
        request_string(request, sections[i].key);
        request_say(request, 2, "4", "GETRANGE");
        request_key(request, self, sections[i].scope, "text:", sections[i].key);
        request_say(request, 2, start, "-1");
    }
}

int texts_gather(struct ethos_store *store, const struct ethos_read_how *how,
                 struct ethos_section *sections, size_t count, struct ethos_error *error)
{
    struct redis *self = (struct redis *)store;
    struct redis_request request;
    redisReply *reply = NULL;
    redis_begin_texts(self);
    request_init(&request);
    request_sections(&request, self, how, sections, count);
    int code = ask_script(self, SCRIPT_READ, &request, NULL, &reply, error);
    if (code == ETHOS_OK && (reply->type != REDIS_REPLY_ARRAY || reply->elements != count * 2))
        code = refusal_odd(self, "what was read", error);
    for (size_t i = 0; code == ETHOS_OK && i < count; i++)
        sections[i].code = give_section(self, how, reply->element[i * 2], reply->element[i * 2 + 1],
                                        &sections[i]);
    freeReplyObject(reply);
    request_release(&request);
    return code;
}

int texts_read(struct ethos_store *store, const char *scope, const char *key,
               const struct ethos_read_how *how, struct ethos_text *out_text,
               struct ethos_error *error)
{
    struct ethos_section section = {.text = *out_text};
    snprintf(section.scope, sizeof section.scope, "%s", scope);
    snprintf(section.key, sizeof section.key, "%s", key);
    int code = texts_gather(store, how, &section, 1, error);
    if (code != ETHOS_OK)
        return code;
    if (section.code == ETHOS_OK)
        *out_text = section.text;
    else if (error)
        *error = section.error;
    return section.code;
}

/* ---- lists ---------------------------------------------------------------------------------- */

static int compare_key_names(const void *a, const void *b)
{
    const redisReply *const *left = a, *const *right = b;
    return strcmp((*left)->str, (*right)->str);
}

/* Asks for the members of one key; an array with `step` elements for each. */
static int ask_all(struct redis *self, const char *command, const char *scope, const char *table,
                   size_t step, redisReply **out_reply, struct ethos_error *error)
{
    struct redis_request request;
    request_init(&request);
    request_string(&request, command);
    request_key(&request, self, scope, table, "");
    int code = redis_ask(self, &request, out_reply, error);
    request_release(&request);
    if (code != ETHOS_OK)
        return code;
    redisReply *reply = *out_reply;
    bool fine = reply->type == REDIS_REPLY_ARRAY && reply->elements % step == 0;
    for (size_t i = 0; fine && i < reply->elements; i++)
        fine = reply->element[i]->type == REDIS_REPLY_STRING;
    return fine ? ETHOS_OK : refusal_odd(self, table, error);
}

static int tell_entries(const struct redis *self, const redisReply *reply, ethos_entry_fn *each,
                        void *arg, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < reply->elements; i += 2) {
        const char *key = reply->element[i]->str;
        struct stamp stamp;
        if (!parse_stamp(reply->element[i + 1], &stamp))
            return refusal_odd(self, key, error);
        const struct ethos_entry entry = {key, stamp.bytes, stamp.time_ms};
        code = each(arg, &entry);
    }
    return code;
}

int texts_list(struct ethos_store *store, const char *scope, ethos_entry_fn *each, void *arg,
               struct ethos_error *error)
{
    struct redis *self = (struct redis *)store;
    redisReply *reply = NULL;
    redis_begin_texts(self);
    int code = ask_all(self, "HGETALL", scope, "stamps", 2, &reply, error);
    if (code == ETHOS_OK) {
        if (reply->elements)
            qsort(reply->element, reply->elements / 2, 2 * sizeof(redisReply *), compare_key_names);
        code = tell_entries(self, reply, each, arg, error);
    }
    freeReplyObject(reply);
    return code;
}

int texts_scopes(struct ethos_store *store, ethos_scope_fn *each, void *arg,
                 struct ethos_error *error)
{
    struct redis *self = (struct redis *)store;
    redisReply *reply = NULL;
    redis_begin_texts(self);
    int code = ask_all(self, "SMEMBERS", NULL, "scopes", 1, &reply, error);
    if (code == ETHOS_OK && reply->elements)
        qsort(reply->element, reply->elements, sizeof(redisReply *), compare_key_names);
    for (size_t i = 0; code == ETHOS_OK && i < reply->elements; i++)
        code = each(arg, reply->element[i]->str);
    freeReplyObject(reply);
    return code;
}

/* ---- fetch ---------------------------------------------------------------------------------- */

/* The version; stamp and text of each key; the record of each operation. */
static void request_fetch(struct redis_request *request, const struct redis *self,
                          const char *scope, const struct ethos_fetch *fetch)
{
    request_say(request, 3, "0", "3", "HGET");
    request_key(request, self, scope, "meta", "");
    request_string(request, "version");
    for (size_t i = 0; i < fetch->count; i++) {
        request_say(request, 2, "3", "HGET");
        request_key(request, self, scope, "stamps", "");
        request_string(request, fetch->edits[i].key);
        request_say(request, 2, "2", "GET");
        request_key(request, self, scope, "text:", fetch->edits[i].key);
    }
    for (size_t i = 0; i < fetch->op_count; i++) {
        request_say(request, 2, "3", "HGET");
        request_key(request, self, scope, "ops", "");
        request_string(request, fetch->op_ids[i]);
    }
}

static int give_old(const struct redis *self, redisReply *const *replies, struct ethos_fetch *fetch,
                    struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < fetch->count; i++) {
        struct ethos_edit *edit = &fetch->edits[i];
        code = give_text(self, edit->key, 0, replies[2 * i], replies[2 * i + 1], &edit->old, error);
        if (code == ETHOS_NOTFOUND) {
            redis_give_none(self, &edit->old);
            code = ETHOS_OK;
        }
    }
    return code;
}

static int give_records(const struct redis *self, redisReply *const *replies,
                        struct ethos_fetch *fetch, struct ethos_error *error)
{
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < fetch->op_count; i++) {
        const redisReply *record = replies[i];
        const struct stamp stamp = {-1, record->len, ""};
        if (record->type == REDIS_REPLY_STRING)
            code = redis_give(self, view_of(record->str, record->len), &stamp, &fetch->records[i],
                              error);
        else
            redis_give_none(self, &fetch->records[i]);
    }
    return code;
}

static int give_fetched(const struct redis *self, const redisReply *reply,
                        struct ethos_fetch *fetch, struct ethos_error *error)
{
    size_t keys = 2 * fetch->count;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 1 + keys + fetch->op_count)
        return refusal_odd(self, "what was fetched", error);
    int code = give_old(self, reply->element + 1, fetch, error);
    if (code == ETHOS_OK)
        code = give_records(self, reply->element + 1 + keys, fetch, error);
    const redisReply *version = reply->element[0];
    if (code == ETHOS_OK)
        fetch->version = version->type == REDIS_REPLY_STRING ? strtoull(version->str, NULL, 10) : 0;
    return code;
}

int texts_fetch(struct ethos_store *store, const char *scope, struct ethos_fetch *fetch,
                struct ethos_error *error)
{
    struct redis *self = (struct redis *)store;
    struct redis_request request;
    redisReply *reply = NULL;
    redis_begin(self);
    request_init(&request);
    request_fetch(&request, self, scope, fetch);
    int code = ask_script(self, SCRIPT_READ, &request, NULL, &reply, error);
    if (code == ETHOS_OK)
        code = give_fetched(self, reply, fetch, error);
    freeReplyObject(reply);
    request_release(&request);
    return code;
}
