/*
 * pages.c: the rows of a list that may be long.
 */
#include "ops/pages.h"

#include <string.h>

#include "base/err.h"

void pages_init(struct pages *self, const struct op_call *call, const char *name)
{
    bool some = op_integer(call, "limit", 0) || op_string(call, "cursor");
    bool all = call->tell && !some;
    *self = (struct pages){call, name, json_array(), all, all && !call->want_json, 0};
}

static int send_part(struct pages *self)
{
    json_t *event = json_pack("{s:s, s:O}", "what", "page", self->name, self->rows);
    if (!event)
        return ETHOS_NOMEM;
    self->call->tell(self->call->progress_arg, event);
    json_decref(event);
    self->bytes = 0;
    return json_array_clear(self->rows) == 0 ? ETHOS_OK : ETHOS_NOMEM;
}

int pages_add(struct pages *self, json_t *row)
{
    bool full = self->streams &&
                (json_array_size(self->rows) >= PAGES_PART || self->bytes >= PAGES_BYTES);
    if (full && send_part(self) != ETHOS_OK) {
        json_decref(row);
        return ETHOS_NOMEM;
    }
    op_json_push(&self->rows, row);
    return self->rows ? ETHOS_OK : ETHOS_NOMEM;
}

size_t pages_limit(const struct pages *self, size_t page)
{
    return self->all ? SIZE_MAX : (size_t)op_integer(self->call, "limit", (int64_t)page);
}

int pages_refuse(struct ethos_error *error)
{
    return err_hint(error, err_set(error, ETHOS_INVALID, "cursor: not one of this list"),
                    "begin again without it");
}

/* The index behind the row that a cursor names; SIZE_MAX: there is none. */
static size_t find_start(const json_t *rows, const char *id, const char *cursor)
{
    size_t index;
    json_t *row;
    if (!cursor)
        return 0;
    json_array_foreach ((json_t *)rows, index, row) {
        const char *own = json_string_value(json_object_get(row, id));
        if (own && strcmp(own, cursor) == 0)
            return index + 1;
    }
    return SIZE_MAX;
}

int pages_cut(const struct op_call *call, json_t **json, const char *name, const char *id,
              size_t page, struct ethos_error *error)
{
    json_t *rows = json_object_get(*json, name), *part = json_array(), *next = json_null();
    bool some = op_integer(call, "limit", 0) || op_string(call, "cursor");
    size_t limit = call->tell && !some ? SIZE_MAX
                                       : (size_t)op_integer(call, "limit", (int64_t)page);
    size_t start = find_start(rows, id, op_string(call, "cursor")), count = json_array_size(rows);
    if (start == SIZE_MAX) {
        json_decref(part);
        return pages_refuse(error);
    }
    size_t end = count - start > limit ? start + limit : count;
    for (size_t i = start; i < end; i++)
        op_json_push(&part, json_incref(json_array_get(rows, i)));
    if (end < count)
        next = json_incref(json_object_get(json_array_get(rows, end - 1), id));
    op_json_put(json, name, part);
    op_json_put(json, "nextCursor", next);
    return *json ? ETHOS_OK : err_nomem(error);
}
