/*
 * paging.c: limits, cursors and streaming of long lists.
 */
#include "ops/paging.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/view.h"

#define CURSOR_SIZE 40 /* bytes with terminator */
#define ROW_NAME 32    /* bytes of a member's name, likewise */

/* Whether to list all rows: on the command line, without limit and cursor. */
static bool should_list_all(const struct op_call *call)
{
    return call->whole_lists && !op_integer(call, "limit", 0) && !op_string(call, "cursor");
}

void pages_init(struct row_pages *self, const struct op_call *call, const char *name)
{
    bool all = should_list_all(call);
    *self = (struct row_pages){call, name, json_array(), all, all && call->tell && !call->want_json,
                               0};
}

static int send_page(struct row_pages *self)
{
    json_t *event = json_pack("{s:s, s:O}", "what", "page", self->name, self->rows);
    if (!event)
        return ETHOS_NOMEM;
    self->call->tell(self->call->progress_arg, event);
    json_decref(event);
    self->bytes = 0;
    return json_array_clear(self->rows) == 0 ? ETHOS_OK : ETHOS_NOMEM;
}

int pages_add(struct row_pages *self, json_t *row)
{
    bool full = self->streams &&
                (json_array_size(self->rows) >= PAGES_PART || self->bytes >= PAGES_BYTES);
    if (full && send_page(self) != ETHOS_OK) {
        json_decref(row);
        return ETHOS_NOMEM;
    }
    op_json_push(&self->rows, row);
    return self->rows ? ETHOS_OK : ETHOS_NOMEM;
}

size_t pages_limit(const struct row_pages *self, size_t page)
{
    return self->all ? SIZE_MAX : (size_t)op_integer(self->call, "limit", (int64_t)page);
}

int pages_refuse(struct ethos_error *error)
{
    return err_hint(error, err_set(error, ETHOS_INVALID, "cursor: not one of this list"),
                    "start again without it");
}

/* The text of a string; "" for other values. */
static struct ethos_view text_or_empty(const json_t *value)
{
    const char *text = json_string_value(value);
    return text ? view_of(text, json_string_length(value)) : VIEW("");
}

/* The hash of a row's identity, which a cursor contains. */
static uint32_t row_hash(const json_t *row, const char *id, uint64_t seed)
{
    uint64_t hash = hash_mix(seed, text_or_empty(row));
    char name[ROW_NAME];
    for (size_t size; *id; id += size + (id[size] != 0)) {
        size = strcspn(id, " ");
        snprintf(name, sizeof name, "%.*s", (int)size, id);
        const json_t *member = json_object_get(row, name);
        hash = hash_mix(hash ^ (uint64_t)json_integer_value(member), text_or_empty(member));
    }
    return (uint32_t)(hash ^ hash >> 32);
}

static bool parse_cursor(const char *cursor, size_t *out_count, uint32_t *out_hash)
{
    char again[CURSOR_SIZE], *end;
    *out_count = strtoull(cursor, &end, 10);
    *out_hash = *end == '-' ? (uint32_t)strtoul(end + 1, NULL, 16) : 0;
    snprintf(again, sizeof again, "%zu-%08" PRIx32, *out_count, *out_hash);
    return *out_count > 0 && strcmp(again, cursor) == 0;
}

/* The index after the row that a cursor names, even if that row has moved. SIZE_MAX if it is gone. */
static size_t find_cursor_row(const json_t *rows, const char *id, uint64_t seed, const char *cursor)
{
    size_t count, found = SIZE_MAX, index;
    uint32_t hash;
    json_t *row;
    if (!cursor)
        return 0;
    if (!parse_cursor(cursor, &count, &hash))
        return SIZE_MAX;
    if (count <= json_array_size(rows) &&
        row_hash(json_array_get(rows, count - 1), id, seed) == hash)
        return count;
    json_array_foreach ((json_t *)rows, index, row)
        if ((found == SIZE_MAX || index < count) && row_hash(row, id, seed) == hash)
            found = index + 1;
    return found;
}

int pages_cut(const struct op_call *call, json_t **json, const char *name, const char *id,
              size_t page, struct ethos_error *error)
{
    return pages_cut_same(call, json, name, id, 0, page, error);
}

int pages_cut_same(const struct op_call *call, json_t **json, const char *name, const char *id,
                   uint64_t seed, size_t page, struct ethos_error *error)
{
    json_t *rows = json_object_get(*json, name), *part = json_array(), *next = json_null();
    size_t limit = should_list_all(call) ? SIZE_MAX
                                         : (size_t)op_integer(call, "limit", (int64_t)page);
    size_t start = find_cursor_row(rows, id, seed, op_string(call, "cursor"));
    size_t count = json_array_size(rows);
    char cursor[CURSOR_SIZE];
    if (start == SIZE_MAX) {
        json_decref(part);
        return pages_refuse(error);
    }
    size_t end = count - start > limit ? start + limit : count;
    for (size_t i = start; i < end; i++)
        op_json_push(&part, json_incref(json_array_get(rows, i)));
    if (end < count) {
        snprintf(cursor, sizeof cursor, "%zu-%08" PRIx32, end,
                 row_hash(json_array_get(rows, end - 1), id, seed));
        next = json_string(cursor);
    }
    op_json_put(json, name, part);
    op_json_put(json, "nextCursor", next);
    return *json ? ETHOS_OK : err_nomem(error);
}
