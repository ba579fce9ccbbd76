/*
 * rows.c: history and kept copies: how a row is written down, and reading both.
 *
 * Pages are small, since one row can hold a whole text.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "redis.h"

#define PAGE 64 /* rows asked for at once */

static const struct {
    const char *name;
    size_t offset;
} strings[] = {
    {"key", offsetof(struct ethos_change, key)},
    {"actions", offsetof(struct ethos_change, actions)},
    {"source", offsetof(struct ethos_change, source)},
    {"via", offsetof(struct ethos_change, via)},
    {"actor", offsetof(struct ethos_change, actor)},
    {"session", offsetof(struct ethos_change, session)},
    {"session_key", offsetof(struct ethos_change, session_key)},
    {"user", offsetof(struct ethos_change, user)},
    {"op_id", offsetof(struct ethos_change, op_id)},
    {"event", offsetof(struct ethos_change, event)},
    {"undoes", offsetof(struct ethos_change, undoes)},
    {"before", offsetof(struct ethos_change, before)},
    {"after", offsetof(struct ethos_change, after)},
    {"trust", offsetof(struct ethos_change, trust)},
    {"approved_by", offsetof(struct ethos_change, approved_by)},
    {"edited_from", offsetof(struct ethos_change, edited_from)},
};
#define STRINGS (sizeof strings / sizeof *strings)

_Static_assert(STRINGS + 8 <= ROW_FIELDS, "every member of a row has its field");

static const char **change_member(struct ethos_change *change, size_t i)
{
    return (const char **)(void *)((char *)change + strings[i].offset);
}

/* ---- writing down --------------------------------------------------------------------------- */

size_t row_fields(const struct ethos_row *row, const char *token, struct row_scratch *scratch,
                  struct row_field out_fields[ROW_FIELDS])
{
    struct ethos_change change = row->change;
    size_t count = 0;
    snprintf(scratch->numbers[0], 24, "%" PRId64, change.time_ms);
    snprintf(scratch->numbers[1], 24, "%" PRIu64, change.bytes_before);
    snprintf(scratch->numbers[2], 24, "%" PRIu64, change.bytes_after);
    snprintf(scratch->numbers[3], 24, "%d", change.diff_whole);
    out_fields[count++] = (struct row_field){"token", view_str(token)};
    out_fields[count++] = (struct row_field){"time", view_str(scratch->numbers[0])};
    out_fields[count++] = (struct row_field){"bytes_before", view_str(scratch->numbers[1])};
    out_fields[count++] = (struct row_field){"bytes_after", view_str(scratch->numbers[2])};
    for (size_t i = 0; i < STRINGS; i++)
        if (*change_member(&change, i))
            out_fields[count++] = (struct row_field){strings[i].name,
                                                     view_str(*change_member(&change, i))};
    out_fields[count++] = (struct row_field){"diff_whole", view_str(scratch->numbers[3])};
    if (change.diff.data)
        out_fields[count++] = (struct row_field){"diff", change.diff};
    if (row->whole.data)
        out_fields[count++] = (struct row_field){"whole", row->whole};
    if (row->base.data)
        out_fields[count++] = (struct row_field){"base", row->base};
    return count;
}

size_t row_index(const char *key, uint64_t number, char out[ETHOS_MAX_KEY + 24])
{
    size_t size = strlen(key);
    memcpy(out, key, size + 1);
    snprintf(out + size + 1, 21, "%020" PRIu64, number);
    return size + 21;
}

/* ---- taking apart --------------------------------------------------------------------------- */

static void set_field(struct ethos_row *row, const char *name, const redisReply *value)
{
    struct ethos_change *change = &row->change;
    for (size_t i = 0; i < STRINGS; i++)
        if (strcmp(name, strings[i].name) == 0)
            *change_member(change, i) = value->str;
    if (strcmp(name, "time") == 0)
        change->time_ms = strtoll(value->str, NULL, 10);
    else if (strcmp(name, "bytes_before") == 0)
        change->bytes_before = strtoull(value->str, NULL, 10);
    else if (strcmp(name, "bytes_after") == 0)
        change->bytes_after = strtoull(value->str, NULL, 10);
    else if (strcmp(name, "diff_whole") == 0)
        change->diff_whole = value->str[0] == '1';
    else if (strcmp(name, "diff") == 0)
        change->diff = view_of(value->str, value->len);
    else if (strcmp(name, "whole") == 0)
        row->whole = view_of(value->str, value->len);
    else if (strcmp(name, "base") == 0)
        row->base = view_of(value->str, value->len);
}

/* An entry of a stream: its id, then names and values in turn. */
static int parse_row(const struct redis *self, const redisReply *entry, struct ethos_row *out,
                     struct ethos_error *error)
{
    *out = (struct ethos_row){0};
    if (entry->type != REDIS_REPLY_ARRAY || entry->elements != 2 || !entry->element[0]->str ||
        entry->element[1]->type != REDIS_REPLY_ARRAY)
        return refusal_odd(self, "a row of history", error);
    const redisReply *fields = entry->element[1];
    out->change.number = strtoull(entry->element[0]->str, NULL, 10);
    for (size_t i = 0; i + 1 < fields->elements; i += 2)
        if (fields->element[i]->str && fields->element[i + 1]->str)
            set_field(out, fields->element[i]->str, fields->element[i + 1]);
    return out->change.key ? ETHOS_OK : refusal_odd(self, "a row of history", error);
}

/* Tells the entries of a stream; *below becomes the number of the last one. */
static int tell_rows(const struct redis *self, const redisReply *entries, ethos_row_fn *each,
                     void *arg, uint64_t *below, struct ethos_error *error)
{
    int code = ETHOS_OK;
    if (entries->type != REDIS_REPLY_ARRAY)
        return refusal_odd(self, "the history", error);
    for (size_t i = 0; code == ETHOS_OK && i < entries->elements; i++) {
        struct ethos_row row;
        code = parse_row(self, entries->element[i], &row, error);
        if (code == ETHOS_OK) {
            *below = row.change.number;
            code = each(arg, &row);
        }
    }
    return code;
}

/* ---- pages ---------------------------------------------------------------------------------- */

struct rows_walk {
    struct redis *self;
    const char *scope, *key;
    uint64_t below; /* 0: no bound */
    ethos_row_fn *each;
    void *arg;
};

/* Rows of every key. *out_count: how many there were. */
static int walk_all(struct rows_walk *walk, size_t limit, size_t *out_count,
                    struct ethos_error *error)
{
    struct redis_request request;
    redisReply *reply = NULL;
    char name[REDIS_KEY_SIZE], bound[24] = "+", most[24];
    redis_key(walk->self, walk->scope, "rows", "", name);
    if (walk->below)
        snprintf(bound, sizeof bound, "%" PRIu64, walk->below - 1); // and whatever follows a dash
    snprintf(most, sizeof most, "%zu", limit);
    request_init(&request);
    request_say(&request, 6, "XREVRANGE", name, bound, "-", "COUNT", most);
    int code = redis_ask(walk->self, &request, &reply, error);
    if (code == ETHOS_OK) {
        *out_count = reply->elements;
        code = tell_rows(walk->self, reply, walk->each, walk->arg, &walk->below, error);
    }
    freeReplyObject(reply);
    request_release(&request);
    return code;
}

/* The entries of the index of one key, newest first. */
static int ask_index(struct rows_walk *walk, size_t limit, redisReply **out_reply,
                     struct ethos_error *error)
{
    struct redis_request request;
    char name[REDIS_KEY_SIZE], entry[ETHOS_MAX_KEY + 24], bound[ETHOS_MAX_KEY + 25];
    size_t size = row_index(walk->key, walk->below ? walk->below : UINT64_MAX, entry);
    redis_key(walk->self, walk->scope, "index", "", name);
    request_init(&request);
    request_string(&request, "ZREVRANGEBYLEX");
    request_string(&request, name);
    bound[0] = '(';
    memcpy(bound + 1, entry, size);
    request_word(&request, view_of(bound, size + 1));
    bound[0] = '[';
    request_word(&request, view_of(bound, size + 1 - 20)); // up to the NUL
    request_string(&request, "LIMIT");
    request_string(&request, "0");
    request_number(&request, limit);
    int code = redis_ask(walk->self, &request, out_reply, error);
    request_release(&request);
    return code;
}

/* The number at the end of an entry of the index. */
static const char *number_in(const redisReply *entry)
{
    return entry->str && entry->len > 20 ? entry->str + entry->len - 20 : "0";
}

/* The rows that these entries name, as a list of streams of one entry each. */
static int ask_rows(struct rows_walk *walk, const redisReply *entries, redisReply **out_reply,
                    struct ethos_error *error)
{
    struct redis_request request;
    char name[REDIS_KEY_SIZE], id[24];
    redis_key(walk->self, walk->scope, "rows", "", name);
    request_init(&request);
    request_string(&request, "0");
    for (size_t i = 0; i < entries->elements; i++) {
        snprintf(id, sizeof id, "%" PRIu64,
                 (uint64_t)strtoull(number_in(entries->element[i]), NULL, 10));
        request_say(&request, 5, "4", "XRANGE", name, id, id);
    }
    int code = ask_script(walk->self, SCRIPT_READ, &request, NULL, out_reply, error);
    request_release(&request);
    return code;
}

static int walk_key(struct rows_walk *walk, size_t limit, size_t *out_count,
                    struct ethos_error *error)
{
    redisReply *entries = NULL, *rows = NULL;
    int code = ask_index(walk, limit, &entries, error);
    *out_count = code == ETHOS_OK ? entries->elements : 0;
    if (*out_count)
        code = ask_rows(walk, entries, &rows, error);
    for (size_t i = 0; code == ETHOS_OK && rows && i < rows->elements; i++)
        code = tell_rows(walk->self, rows->element[i], walk->each, walk->arg, &walk->below, error);
    freeReplyObject(rows);
    freeReplyObject(entries);
    return code;
}

int rows_walk(struct ethos_store *store, const char *scope, const char *key, uint64_t below,
              size_t limit, ethos_row_fn *each, void *arg, struct ethos_error *error)
{
    struct rows_walk walk = {(struct redis *)store, scope, key, below, each, arg};
    int code = ETHOS_OK;
    for (size_t asked = PAGE, given = PAGE; code == ETHOS_OK && limit && given == asked;
         limit -= given) {
        asked = limit < PAGE ? limit : PAGE;
        redis_begin(walk.self);
        code = key ? walk_key(&walk, asked, &given, error) : walk_all(&walk, asked, &given, error);
    }
    return code;
}

/* ---- copies --------------------------------------------------------------------------------- */

/* "<time> <bytes of key>\n<key><text>"; the key is terminated in a place of its own. */
struct stored_text {
    struct ethos_copy copy;
    char key[ETHOS_MAX_KEY + 1];
};

static int parse_copy(const struct redis *self, const char *id, const redisReply *value,
                      struct stored_text *out, struct ethos_error *error)
{
    size_t size;
    int head = 0;
    if (value->type != REDIS_REPLY_STRING ||
        sscanf(value->str, "%" SCNd64 " %zu%n", &out->copy.time_ms, &size, &head) != 2 ||
        size > ETHOS_MAX_KEY || (size_t)head + 1 + size > value->len)
        return refusal_odd(self, "a kept copy", error);
    const char *key = value->str + head + 1;
    memcpy(out->key, key, size);
    out->key[size] = 0;
    out->copy.id = id;
    out->copy.text = view_of(key + size, value->len - (size_t)head - 1 - size);
    return ETHOS_OK;
}

/* Ids are in order of time. */
static int by_id(const void *a, const void *b)
{
    const redisReply *const *left = a, *const *right = b;
    return strcmp((*left)->str, (*right)->str);
}

static int tell_copy(const struct redis *self, const char *id, const redisReply *value,
                     ethos_copy_fn *each, void *arg, struct ethos_error *error)
{
    struct stored_text kept = {.copy.key = kept.key};
    if (value->type == REDIS_REPLY_NIL)
        return ETHOS_OK;
    int code = parse_copy(self, id, value, &kept, error);
    return code == ETHOS_OK ? each(arg, &kept.copy) : code;
}

/* Ids and values in turn. */
static int tell_copies(const struct redis *self, redisReply *list, ethos_copy_fn *each, void *arg,
                       struct ethos_error *error)
{
    int code = ETHOS_OK;
    if (list->type != REDIS_REPLY_ARRAY)
        return refusal_odd(self, "what was kept", error);
    if (list->elements)
        qsort(list->element, list->elements / 2, 2 * sizeof(redisReply *), by_id);
    for (size_t i = 0; code == ETHOS_OK && i + 1 < list->elements; i += 2)
        code = tell_copy(self, list->element[i]->str, list->element[i + 1], each, arg, error);
    return code;
}

int rows_copies(struct ethos_store *store, const char *scope, const char *id, ethos_copy_fn *each,
                void *arg, struct ethos_error *error)
{
    struct redis *self = (struct redis *)store;
    struct redis_request request;
    redisReply *reply = NULL;
    char name[REDIS_KEY_SIZE];
    redis_begin(self);
    redis_key(self, scope, "copies", "", name);
    request_init(&request);
    if (id)
        request_say(&request, 3, "HGET", name, id);
    else
        request_say(&request, 2, "HGETALL", name);
    int code = redis_ask(self, &request, &reply, error);
    if (code == ETHOS_OK)
        code = id ? tell_copy(self, id, reply, each, arg, error)
                  : tell_copies(self, reply, each, arg, error);
    freeReplyObject(reply);
    request_release(&request);
    return code;
}
