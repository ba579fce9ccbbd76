/*
 * check_results.c: records the findings of the last check of a scope.
 *
 * A record is derived data: one that cannot be parsed is ignored and replaced by the next check.
 */
#include "memory/notes/check_results.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"
#include "memory/handle_internal.h"
#include "memory/notes/list.h"

#define NAME_SIZE (HOME_RECORD_SIZE + sizeof HOME_RECORDS)
#define RECORD_BYTES 1048576 /* bytes; NOTES_CHECK_KEPT rows are far below */

/* ---- rows ----------------------------------------------------------------------------------- */

void notes_record_init(struct notes_record *self)
{
    *self = (struct notes_record){.rows = json_array()};
}

void notes_record_release(struct notes_record *self)
{
    json_decref(self->rows);
    self->rows = NULL;
}

/* Out of memory drops all rows, which notes_record_write reports. */
static void append_result_row(struct notes_record *self, json_t *row)
{
    if (row && json_array_append_new(self->rows, row) == 0)
        return;
    notes_record_release(self);
}

static json_t *make_row(const char *key, const char *kind, uint64_t line, const char *text)
{
    return json_pack("{s:o, s:s, s:I, s:o}", "key", json_text(view_str(key)), "kind", kind, "line",
                     (json_int_t)line, "text", json_text(view_str(text)));
}

void notes_record_add(struct notes_record *self, const struct note_finding *finding)
{
    if (!self->rows)
        return;
    if (json_array_size(self->rows) >= NOTES_CHECK_KEPT)
        self->more++;
    else
        append_result_row(self,
                          make_row(finding->key, finding->kind, finding->line, finding->text));
}

static bool is_row(const json_t *row)
{
    return json_view(row, "key").data && json_view(row, "kind").data &&
           json_is_integer(json_object_get(row, "line")) && json_view(row, "text").data;
}

/* ---- the file ------------------------------------------------------------------------------- */

/* Its path from the root. */
static void file_path(const char *scope, char out[NAME_SIZE])
{
    char name[HOME_RECORD_SIZE];
    home_record_name("checks", scope, name);
    snprintf(out, NAME_SIZE, HOME_RECORDS "/%s", name);
}

/* The valid rows; none if the record is missing or damaged. */
static int read_result_rows(int dir, const char *scope, json_t **out, struct ethos_error *error)
{
    char name[NAME_SIZE];
    json_t *record = NULL, *row;
    size_t i;
    file_path(scope, name);
    int code = home_read_json(dir, name, &record, error);
    if (code != ETHOS_OK && code != ETHOS_NOTFOUND && code != ETHOS_CORRUPT && code != ETHOS_LIMIT)
        return code;
    json_t *rows = json_array();
    json_array_foreach (json_object_get(record, "findings"), i, row) {
        if (rows && is_row(row) && json_array_append(rows, row) != 0) {
            json_decref(rows);
            rows = NULL;
        }
    }
    json_decref(record);
    *out = rows;
    return rows ? ETHOS_OK : err_nomem(error);
}

/* Copies the rows of other notes. */
static int copy_other_rows(int dir, const char *scope, const char *key, struct notes_record *self,
                           struct ethos_error *error)
{
    json_t *old, *row;
    size_t i;
    TRY(read_result_rows(dir, scope, &old, error));
    json_array_foreach (old, i, row) {
        bool other = !view_eq_str(json_view(row, "key"), key);
        if (other && self->rows && json_array_size(self->rows) < NOTES_CHECK_KEPT)
            append_result_row(self, json_incref(row));
    }
    json_decref(old);
    return self->rows ? ETHOS_OK : err_nomem(error);
}

static int print_record(const struct ethos_turn *turn, const char *scope, struct notes_record *self,
                        struct str *out, struct ethos_error *error)
{
    char when[CLOCK_ISO_SIZE], more[64];
    clock_iso(service_now_ms(turn->ethos), when);
    snprintf(more, sizeof more, "%llu more findings", (unsigned long long)self->more);
    if (self->more > 0)
        append_result_row(self, make_row("", "more", 0, more));
    json_t *record = self->rows ? json_pack("{s:i, s:s, s:s, s:O}", "version", 1, "scope", scope,
                                            "checkedAt", when, "findings", self->rows)
                                : NULL;
    if (record)
        json_print(record, JSON_STYLE_PRETTY, out);
    str_addc(out, '\n');
    json_decref(record);
    return record && str_code(out) == ETHOS_OK ? ETHOS_OK : err_nomem(error);
}

static int replace_rows_of_note(struct ethos_turn *turn, int dir, const char *scope,
                                const char *key, struct notes_record *self,
                                struct ethos_error *error)
{
    char name[HOME_RECORD_SIZE], path[NAME_SIZE];
    struct home_stamp stamp;
    CLEANUP_STR struct str text = {0};
    if (key)
        TRY(copy_other_rows(dir, scope, key, self, error));
    home_record_name("checks", scope, name);
    file_path(scope, path);
    home_stamp(dir, path, &stamp);
    if (json_array_size(self->rows) == 0 && stamp.inode == 0)
        return ETHOS_OK;
    str_init(&text, RECORD_BYTES);
    TRY(print_record(turn, scope, self, &text, error));
    return home_replace(dir, HOME_RECORDS, name, str_view(&text), error);
}

int notes_record_write(struct ethos_turn *turn, const char *scope, const char *key,
                       struct notes_record *self, struct ethos_error *error)
{
    int dir;
    if (!self->rows)
        return err_nomem(error);
    int code = service_open_root(turn->ethos, false, &dir, error);
    if (code != ETHOS_OK || dir < 0)
        return code;
    code = replace_rows_of_note(turn, dir, scope, key, self, error);
    os_close(dir);
    return code;
}

/* ---- for others ----------------------------------------------------------------------------- */

int notes_check_last(struct ethos_turn *turn, const char *scope, json_t **out_rows,
                     struct ethos_error *error)
{
    char real[ETHOS_MAX_SCOPE];
    int dir;
    TRY(notes_scope(turn, scope, real, error));
    TRY(service_open_root(turn->ethos, false, &dir, error));
    int code = read_result_rows(dir, real, out_rows, error);
    if (dir >= 0)
        os_close(dir);
    return code;
}

int notes_check_forget(struct ethos_turn *turn, const char *scope, struct ethos_error *error)
{
    char real[ETHOS_MAX_SCOPE], name[NAME_SIZE];
    int dir;
    int code = notes_scope(turn, scope, real, error);
    if (code == ETHOS_OK)
        code = service_open_root(turn->ethos, false, &dir, error);
    if (code != ETHOS_OK || dir < 0)
        return code;
    file_path(real, name);
    if (os_unlinkat(dir, name, 0) != 0 && errno != ENOENT && errno != ENOTDIR)
        code = err_errno(error, errno, name);
    os_close(dir);
    return code;
}
