/* operation_id.c: makes and reads the record by which a repeated operation is recognised. */
#include "store/operation_id.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "base/view.h"

bool opid_is_given(const struct ethos_origin *origin)
{
    return origin && origin->op_id && origin->op_digest;
}

/* ---- writing -------------------------------------------------------------------------------- */

static json_t *make_record_rows(const struct ethos_edit *edits, size_t count)
{
    json_t *rows = json_array();
    for (size_t i = 0; rows && i < count; i++) {
        json_t *row = json_pack("{s:s, s:s, s:s}", "key", edits[i].key, "revision",
                                edits[i].revision, "receipt", edits[i].receipt);
        if (json_array_append_new(rows, row) != 0) {
            json_decref(rows);
            rows = NULL;
        }
    }
    return rows;
}

int opid_make_record(const struct ethos_origin *origin, int64_t now_ms,
                     const struct ethos_edit *edits, size_t count, struct str *out,
                     struct ethos_error *error)
{
    json_t *record = json_pack("{s:s, s:I, s:s}", "opId", origin->op_id, "ts", (json_int_t)now_ms,
                               "digest", origin->op_digest);
    str_clear(out);
    if (json_object_set_new(record, "rows", make_record_rows(edits, count)) != 0)
        str_fail(out, ETHOS_NOMEM);
    json_print(record, JSON_STYLE_LINE, out);
    json_decref(record);
    return str_code(out) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Parses a record. ETHOS_NOTFOUND when it is none. */
static int parse_record(struct ethos_view record, json_t **out, struct ethos_error *error)
{
    json_t *root;
    int code = json_parse(record, "", &root, NULL);
    if (code != ETHOS_OK)
        return code == ETHOS_NOMEM ? err_nomem(error) : ETHOS_NOTFOUND;
    if (json_is_string(json_object_get(root, "opId")) &&
        json_is_integer(json_object_get(root, "ts")) &&
        json_is_string(json_object_get(root, "digest")) &&
        json_is_array(json_object_get(root, "rows"))) {
        *out = root;
        return ETHOS_OK;
    }
    json_decref(root);
    return ETHOS_NOTFOUND;
}

static const json_t *find_record_row(const json_t *rows, const char *key)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (view_eq_str(json_view(row, "key"), key))
            return row;
    }
    return NULL;
}

static void copy_row_member(const json_t *row, const char *name, char *out, size_t size)
{
    struct ethos_view text = json_view(row, name);
    snprintf(out, size, "%.*s", (int)text.size, text.data ? text.data : "");
}

static void set_edit_from_rows(const json_t *rows, struct ethos_edit *edit)
{
    const json_t *row = find_record_row(rows, edit->key);
    edit->verdict = row ? ETHOS_EDIT_REPEATED : ETHOS_EDIT_KEEP;
    edit->text = (struct ethos_view){0};
    copy_row_member(row, "revision", edit->revision, sizeof edit->revision);
    copy_row_member(row, "receipt", edit->receipt, sizeof edit->receipt);
}

#define USED_FOR_OTHERS "operation id used for other updates: "

bool opid_is_used_error(const struct ethos_error *error)
{
    return error->code == ETHOS_DENIED && strstr(error->text, USED_FOR_OTHERS);
}

static int refuse_reused_id(const char *id, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_DENIED, USED_FOR_OTHERS "%s", id);
    return err_hint(error, code, "use a different id for each operation");
}

int opid_apply_record(struct ethos_view record, const struct ethos_origin *origin,
                      struct ethos_edit *edits, size_t count, struct ethos_error *error)
{
    json_t *root;
    int code = parse_record(record, &root, error);
    if (code != ETHOS_OK)
        return code;
    if (!view_eq_str(json_view(root, "opId"), origin->op_id))
        code = ETHOS_NOTFOUND;
    else if (!view_eq_str(json_view(root, "digest"), origin->op_digest))
        code = refuse_reused_id(origin->op_id, error);
    for (size_t i = 0; code == ETHOS_OK && i < count; i++)
        set_edit_from_rows(json_object_get(root, "rows"), &edits[i]);
    json_decref(root);
    return code;
}

int64_t opid_record_time(struct ethos_view record)
{
    json_t *root;
    if (parse_record(record, &root, NULL) != ETHOS_OK)
        return -1;
    int64_t time = json_integer_value(json_object_get(root, "ts"));
    json_decref(root);
    return time;
}
