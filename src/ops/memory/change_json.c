/*
 * change_json.c: recorded changes as JSON, and the diff between two versions.
 */
#include "ops/memory/change_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/view.h"
#include "core/approval/removal.h"
#include "core/history/diff.h"
#include "core/history/patch.h"

/* "add,remove" as an array of names. */
static json_t *names_json(const char *names)
{
    json_t *array = json_array();
    for (const char *at = names; at && *at;) {
        size_t size = strcspn(at, ",");
        op_json_push(&array, json_text(view_of(at, size)));
        at += size + (at[size] == ',');
    }
    return array;
}

/* "7,3" as an array of numbers. */
static json_t *numbers_json(const char *numbers)
{
    json_t *array = json_array();
    char *end = (char *)numbers;
    for (const char *at = numbers; at && *at; at = end + (*end == ',')) {
        unsigned long long number = strtoull(at, &end, 10);
        if (end == at)
            break;
        op_json_push(&array, json_integer((json_int_t)number));
    }
    return array;
}

struct line_counts {
    json_int_t added, removed;
    char marker;
    struct ethos_view line; /* the first added line that is not blank, else the first removed one */
};

static void count_patch_line(struct line_counts *count, const struct patch_line *line)
{
    count->added += line->marker == '+';
    count->removed += line->marker == '-';
    bool wanted = line->marker == '+' ? count->marker != '+'
                                      : line->marker == '-' && !count->marker;
    if (wanted && !view_blank(line->text)) {
        count->marker = line->marker;
        count->line = line->text;
    }
}

/* Counts until the diff ends: ETHOS_NOTFOUND, or another code where it was cut. */
static int count_diff(struct ethos_view diff, struct line_counts *count)
{
    struct patch_hunk hunk;
    struct patch_line line;
    int code = ETHOS_OK;
    while (diff.size > 0 && (code = patch_next(&diff, &hunk)) == ETHOS_OK)
        while (patch_line(&hunk.lines, &line))
            count_patch_line(count, &line);
    return code == ETHOS_OK ? ETHOS_NOTFOUND : code;
}

/* "+two": marker and line in one string. NULL without memory. */
static json_t *line_json(const struct line_counts *count)
{
    CLEANUP_STR struct str line;
    str_init(&line, SIZE_MAX);
    str_addc(&line, count->marker);
    str_add(&line, view_trim_end(count->line));
    return str_code(&line) == ETHOS_OK ? json_text(str_view(&line)) : NULL;
}

void change_count(json_t **row, struct ethos_view diff)
{
    struct line_counts count = {0};
    bool whole = count_diff(diff, &count) == ETHOS_NOTFOUND;
    op_json_put(row, "added", whole ? json_integer(count.added) : json_null());
    op_json_put(row, "removed", whole ? json_integer(count.removed) : json_null());
    op_json_put(row, "line", count.line.data ? line_json(&count) : json_null());
}

json_t *change_json(const char *scope, const struct ethos_change *change)
{
    json_t *row = json_pack(
        "{s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "number",
        change->number ? json_integer((json_int_t)change->number) : json_null(), "time",
        op_json_time(change->time_ms), "scope", scope, "key", op_json_string(change->key),
        "actions", names_json(change->actions), "source", op_json_string(change->source), "via",
        op_json_string(change->via), "actor", op_json_string(change->actor), "session",
        op_json_string(change->session), "sessionKey", op_json_string(change->session_key), "user",
        op_json_string(change->user), "opId", op_json_string(change->op_id), "event",
        op_json_string(change->event), "undoes", numbers_json(change->undoes));
    op_json_put(&row, "before", op_json_revision(change->before));
    op_json_put(&row, "after", op_json_revision(change->after));
    op_json_put(&row, "bytesBefore", json_integer((json_int_t)change->bytes_before));
    op_json_put(&row, "bytesAfter", json_integer((json_int_t)change->bytes_after));
    if (change->group_size > 1)
        op_json_put(&row, "group", json_integer((json_int_t)change->group));
    op_json_put(&row, "trust", op_json_string(change->trust));
    op_json_put(&row, "approvedBy", op_json_string(change->approved_by));
    op_json_put(&row, "editedFrom", op_json_string(change->edited_from));
    bool agents = change->trust && strcmp(change->trust, trust_name(TRUST_OWNER)) != 0;
    op_json_put(&row, "large", json_boolean(agents && removal_is_large(change)));
    change_count(&row, change->diff);
    return row;
}

static int read_named_version(struct ethos_turn *turn, const struct ethos_target *target,
                              const char *name, struct ethos_file **out_file,
                              struct ethos_error *error)
{
    if (strcmp(name, "absent") == 0)
        return ETHOS_OK;
    return ethos_read_version(turn, target, name, out_file, error);
}

static struct ethos_view file_view(const struct ethos_file *file)
{
    return file ? view_of(file->text, file->size) : (struct ethos_view){0};
}

int change_diff(struct ethos_turn *turn, const struct ethos_target *target, const char *from,
                const char *to, struct str *out, struct ethos_error *error)
{
    CLEANUP_FILE struct ethos_file *before = NULL;
    CLEANUP_FILE struct ethos_file *after = NULL;
    TRY(read_named_version(turn, target, from, &before, error));
    TRY(read_named_version(turn, target, to, &after, error));
    const struct ethos_file *any = before ? before : after;
    if (any && diff_unified(file_view(before), file_view(after), any->key, out) != ETHOS_OK)
        return err_nomem(error);
    return ETHOS_OK;
}

static const char *revision_named(const json_t *row, const char *name)
{
    const char *revision = json_string_value(json_object_get(row, name));
    return revision ? revision : "absent";
}

int change_complete(struct ethos_turn *turn, const struct ethos_target *target, json_t *row,
                    struct ethos_error *error)
{
    CLEANUP_STR struct str diff;
    str_init(&diff, ETHOS_MAX_STORE_BYTES);
    TRY(change_diff(turn, target, revision_named(row, "before"), revision_named(row, "after"),
                    &diff, error));
    json_t *own = json_incref(row);
    op_json_put(&own, "diff", json_text(str_view(&diff)));
    change_count(&own, str_view(&diff));
    if (!own)
        return err_nomem(error);
    json_decref(own);
    return ETHOS_OK;
}
