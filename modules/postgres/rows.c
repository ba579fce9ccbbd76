/*
 * rows.c: history and kept copies, read.
 */
#include <limits.h>

#include "base/view.h"
#include "postgres.h"

static struct ethos_row read_change_row(const PGresult *result, int row)
{
    int column = 0;
    struct ethos_row out = {0};
    struct ethos_change *change = &out.change;
    change->number = (uint64_t)pg_number(result, row, column++);
    change->time_ms = pg_number(result, row, column++);
    change->key = pg_text(result, row, column++);
    change->actions = pg_text(result, row, column++);
    change->source = pg_text(result, row, column++);
    change->via = pg_text(result, row, column++);
    change->actor = pg_text(result, row, column++);
    change->session = pg_text(result, row, column++);
    change->session_key = pg_text(result, row, column++);
    change->user = pg_text(result, row, column++);
    change->op_id = pg_text(result, row, column++);
    change->event = pg_text(result, row, column++);
    change->undoes = pg_text(result, row, column++);
    change->before = pg_text(result, row, column++);
    change->after = pg_text(result, row, column++);
    change->bytes_before = (uint64_t)pg_number(result, row, column++);
    change->bytes_after = (uint64_t)pg_number(result, row, column++);
    change->diff = pg_bytes(result, row, column++);
    change->diff_whole = pg_bool(result, row, column++);
    out.whole = pg_bytes(result, row, column++);
    out.base = pg_bytes(result, row, column++);
    change->trust = pg_text(result, row, column++);
    change->approved_by = pg_text(result, row, column++);
    change->edited_from = pg_text(result, row, column++);
    return out;
}

int pg_rows(struct ethos_store *store, const char *scope, const char *key, uint64_t below,
            size_t limit, ethos_row_fn *each, void *arg, struct ethos_error *error)
{
    struct pg_params params = {0};
    PGresult *result;
    pg_add_text(&params, scope);
    pg_add_number(&params, below && below <= INT64_MAX ? (int64_t)below : INT64_MAX);
    pg_add_number(&params, limit <= INT_MAX ? (int64_t)limit : INT_MAX);
    if (key)
        pg_add_text(&params, key);
    int code = pg_store_ask((struct pg_store *)store, key ? PG_ROWS_OF_KEY : PG_ROWS, &params,
                            &result, error);
    if (code != ETHOS_OK)
        return code;
    for (int i = 0; code == ETHOS_OK && i < PQntuples(result); i++) {
        const struct ethos_row row = read_change_row(result, i);
        code = each(arg, &row);
    }
    PQclear(result);
    return code;
}

int pg_copies(struct ethos_store *store, const char *scope, const char *id, ethos_copy_fn *each,
              void *arg, struct ethos_error *error)
{
    struct pg_params params = {0};
    PGresult *result;
    pg_add_text(&params, scope);
    pg_add_text(&params, id);
    int code = pg_store_ask((struct pg_store *)store, PG_COPIES, &params, &result, error);
    if (code != ETHOS_OK)
        return code;
    for (int i = 0; code == ETHOS_OK && i < PQntuples(result); i++) {
        const struct ethos_copy copy = {pg_text(result, i, 0), pg_text(result, i, 1),
                                        pg_number(result, i, 2), pg_bytes(result, i, 3)};
        code = each(arg, &copy);
    }
    PQclear(result);
    return code;
}
