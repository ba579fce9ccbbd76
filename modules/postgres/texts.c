/*
 * texts.c: what is read of a scope: its texts as they are now, and what an update starts from.
 */
#include <limits.h>

#include "base/err.h"
#include "base/view.h"
#include "postgres.h"

/* ---- one text -------------------------------------------------------------------------------- */

static int reserve(const struct ethos_host *host, struct ethos_text *text, size_t size,
                   struct ethos_error *error)
{
    if (text->data && text->capacity > size)
        return ETHOS_OK;
    char *data = host->resize(host->arg, text->data, size + 1);
    if (!data)
        return err_nomem(error);
    text->data = data;
    text->capacity = size + 1;
    return ETHOS_OK;
}

/* The end of a text of so many bytes. */
static int write_tail(const struct ethos_host *host, struct ethos_view end, uint64_t total,
                      int64_t time_ms, const char *revision, struct ethos_text *out,
                      struct ethos_error *error)
{
    int code = reserve(host, out, end.size, error);
    if (code != ETHOS_OK)
        return code;
    if (end.size)
        memcpy(out->data, end.data, end.size);
    out->data[end.size] = 0;
    out->size = end.size;
    out->offset = total - end.size;
    out->total = total;
    out->mtime_ms = time_ms;
    out->unsettled = 0;
    size_t length = revision ? strlen(revision) : 0;
    if (length >= sizeof out->revision)
        return err_set(error, ETHOS_CORRUPT, "postgres: a revision is too long");
    if (length)
        memcpy(out->revision, revision, length);
    out->revision[length] = 0;
    return ETHOS_OK;
}

static void give_none(const struct ethos_host *host, struct ethos_text *out)
{
    if (out->data)
        host->resize(host->arg, out->data, 0);
    *out = (struct ethos_text){0};
}

/* ---- gather, read ---------------------------------------------------------------------------- */

static void add_how(struct pg_params *params, const struct ethos_read_how *how)
{
    bool whole = how->tail_bytes == 0 || how->tail_bytes > INT_MAX;
    pg_add_number(params, whole ? INT_MAX : (int64_t)how->tail_bytes);
    pg_add_bool(params, how->flags & ETHOS_READ_REVISION);
}

static int ask_few(struct pg_store *self, const struct ethos_read_how *how,
                   const struct ethos_section *sections, size_t count, PGresult **out_result,
                   struct ethos_error *error)
{
    struct pg_params params = {0};
    add_how(&params, how);
    for (size_t i = 0; i < count; i++) {
        pg_add_text(&params, sections[i].scope);
        pg_add_text(&params, sections[i].key);
    }
    return pg_store_ask(self, PG_GATHER + (enum pg_statement)(count - 1), &params, out_result,
                        error);
}

static int ask_many(struct pg_store *self, const struct ethos_read_how *how,
                    const struct ethos_section *sections, size_t count, PGresult **out_result,
                    struct ethos_error *error)
{
    struct pg_array scopes, keys;
    struct pg_params params = {0};
    pg_array_init(&scopes, PG_TEXT);
    pg_array_init(&keys, PG_TEXT);
    for (size_t i = 0; i < count; i++) {
        pg_array_text(&scopes, sections[i].scope);
        pg_array_text(&keys, sections[i].key);
    }
    int code = pg_array_end(&scopes) | pg_array_end(&keys) ? err_nomem(error) : ETHOS_OK;
    add_how(&params, how);
    pg_add_bytes(&params, PG_TEXTS, str_view(&scopes.bytes));
    pg_add_bytes(&params, PG_TEXTS, str_view(&keys.bytes));
    if (code == ETHOS_OK)
        code = pg_store_ask(self, PG_GATHER_MANY, &params, out_result, error);
    pg_array_release(&scopes);
    pg_array_release(&keys);
    return code;
}

/* The row that holds it, or -1. */
static int find_section_row(const PGresult *result, const struct ethos_section *section)
{
    for (int row = 0; row < PQntuples(result); row++) {
        if (strcmp(pg_text(result, row, 1), section->key) == 0 &&
            strcmp(pg_text(result, row, 0), section->scope) == 0)
            return row;
    }
    return -1;
}

static void read_section_text(const struct ethos_host *host, const PGresult *result,
                              struct ethos_section *section)
{
    int row = find_section_row(result, section);
    if (row < 0)
        section->code = err_set(&section->error, ETHOS_NOTFOUND, "%s: not found", section->key);
    else
        section->code = write_tail(host, pg_bytes(result, row, 5),
                                   (uint64_t)pg_number(result, row, 2), pg_number(result, row, 3),
                                   pg_text(result, row, 4), &section->text, &section->error);
}

int pg_gather(struct ethos_store *store, const struct ethos_read_how *how,
              struct ethos_section *sections, size_t count, struct ethos_error *error)
{
    struct pg_store *self = (struct pg_store *)store;
    PGresult *result;
    if (count == 0)
        return ETHOS_OK;
    int code = count <= PG_FEW ? ask_few(self, how, sections, count, &result, error)
                               : ask_many(self, how, sections, count, &result, error);
    if (code != ETHOS_OK)
        return code;
    for (size_t i = 0; i < count; i++)
        read_section_text(self->host, result, &sections[i]);
    PQclear(result);
    return ETHOS_OK;
}

/* Names that no section holds are those of no text. */
static bool set_name(char *out, size_t size, const char *name)
{
    size_t length = strlen(name);
    if (length >= size)
        return false;
    memcpy(out, name, length + 1);
    return true;
}

int pg_read(struct ethos_store *store, const char *scope, const char *key,
            const struct ethos_read_how *how, struct ethos_text *out_text,
            struct ethos_error *error)
{
    struct ethos_section section = {.text = *out_text};
    if (!set_name(section.scope, sizeof section.scope, scope) ||
        !set_name(section.key, sizeof section.key, key))
        return err_set(error, ETHOS_NOTFOUND, "%s: not found", key);
    int code = pg_gather(store, how, &section, 1, error);
    if (code != ETHOS_OK)
        return code;
    *out_text = section.text;
    if (section.code != ETHOS_OK && error)
        *error = section.error;
    return section.code;
}

/* ---- list, scopes ---------------------------------------------------------------------------- */

int pg_list(struct ethos_store *store, const char *scope, ethos_entry_fn *each, void *arg,
            struct ethos_error *error)
{
    struct pg_params params = {0};
    PGresult *result;
    pg_add_text(&params, scope);
    int code = pg_store_ask((struct pg_store *)store, PG_LIST, &params, &result, error);
    if (code != ETHOS_OK)
        return code;
    for (int row = 0; code == ETHOS_OK && row < PQntuples(result); row++) {
        const struct ethos_entry entry = {pg_text(result, row, 0),
                                          (uint64_t)pg_number(result, row, 1),
                                          pg_number(result, row, 2)};
        code = each(arg, &entry);
    }
    PQclear(result);
    return code;
}

int pg_scopes(struct ethos_store *store, ethos_scope_fn *each, void *arg, struct ethos_error *error)
{
    const struct pg_params params = {0};
    PGresult *result;
    int code = pg_store_ask((struct pg_store *)store, PG_SCOPES, &params, &result, error);
    if (code != ETHOS_OK)
        return code;
    for (int row = 0; code == ETHOS_OK && row < PQntuples(result); row++)
        code = each(arg, pg_text(result, row, 0));
    PQclear(result);
    return code;
}

/* ---- fetch ----------------------------------------------------------------------------------- */

/* What a row of the answer is, by its first column. */
enum { FETCHED_VERSION, FETCHED_TEXT, FETCHED_RECORD };

/* Rows mostly come in the order in which they were asked for: each is looked for after the last. */
struct row_reading {
    const struct ethos_host *host;
    const PGresult *result;
    struct ethos_fetch *fetch;
    size_t next_edit, next_record;
};

static struct ethos_text *find_edit(struct row_reading *taking, const char *key)
{
    struct ethos_fetch *fetch = taking->fetch;
    for (size_t i = 0; i < fetch->count; i++) {
        size_t at = (taking->next_edit + i) % fetch->count;
        if (strcmp(fetch->edits[at].key, key) == 0) {
            taking->next_edit = at + 1;
            return &fetch->edits[at].old;
        }
    }
    return NULL;
}

static struct ethos_text *find_record(struct row_reading *taking, const char *id)
{
    struct ethos_fetch *fetch = taking->fetch;
    for (size_t i = 0; i < fetch->op_count; i++) {
        size_t at = (taking->next_record + i) % fetch->op_count;
        if (!fetch->records[at].data && strcmp(fetch->op_ids[at], id) == 0) {
            taking->next_record = at + 1;
            return &fetch->records[at];
        }
    }
    return NULL;
}

static int read_text_row(struct row_reading *taking, int row, struct ethos_error *error)
{
    const PGresult *result = taking->result;
    int64_t kind = pg_number(result, row, 0), number = pg_number(result, row, 2);
    const char *name = pg_text(result, row, 1);
    struct ethos_view content = pg_bytes(result, row, 4);
    struct ethos_text *out;
    int code = ETHOS_OK;
    if (kind == FETCHED_VERSION)
        taking->fetch->version = (uint64_t)number;
    else if (kind == FETCHED_TEXT && (out = find_edit(taking, name)))
        code = write_tail(taking->host, content, content.size, number, pg_text(result, row, 3), out,
                          error);
    while (kind == FETCHED_RECORD && code == ETHOS_OK && (out = find_record(taking, name)))
        code = write_tail(taking->host, content, content.size, number, NULL, out, error);
    return code;
}

static int take_rows(const struct ethos_host *host, const PGresult *result,
                     struct ethos_fetch *fetch, struct ethos_error *error)
{
    struct row_reading taking = {.host = host, .result = result, .fetch = fetch};
    int code = ETHOS_OK;
    fetch->version = 0;
    for (size_t i = 0; i < fetch->count; i++)
        give_none(host, &fetch->edits[i].old);
    for (size_t i = 0; i < fetch->op_count; i++)
        give_none(host, &fetch->records[i]);
    for (int row = 0; code == ETHOS_OK && row < PQntuples(result); row++)
        code = read_text_row(&taking, row, error);
    return code;
}

int pg_fetch(struct ethos_store *store, const char *scope, struct ethos_fetch *fetch,
             struct ethos_error *error)
{
    struct pg_store *self = (struct pg_store *)store;
    struct pg_array keys, ids;
    struct pg_params params = {0};
    PGresult *result;
    pg_array_init(&keys, PG_TEXT);
    pg_array_init(&ids, PG_TEXT);
    for (size_t i = 0; i < fetch->count; i++)
        pg_array_text(&keys, fetch->edits[i].key);
    for (size_t i = 0; i < fetch->op_count; i++)
        pg_array_text(&ids, fetch->op_ids[i]);
    int code = pg_array_end(&keys) | pg_array_end(&ids) ? err_nomem(error) : ETHOS_OK;
    pg_add_text(&params, scope);
    pg_add_bytes(&params, PG_TEXTS, str_view(&keys.bytes));
    pg_add_bytes(&params, PG_TEXTS, str_view(&ids.bytes));
    if (code == ETHOS_OK)
        code = pg_store_ask(self, PG_FETCH, &params, &result, error);
    pg_array_release(&keys);
    pg_array_release(&ids);
    if (code != ETHOS_OK)
        return code;
    code = take_rows(self->host, result, fetch, error);
    PQclear(result);
    return code;
}
