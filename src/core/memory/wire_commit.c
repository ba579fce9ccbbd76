/*
 * wire_commit.c: changes with their texts, on the way from one store into another.
 *
 * A text goes over once, by its revision, though it stands after one change and before the next: rows and edits
 * name it. Who takes them makes the names again, so that no text comes in under another's.
 */
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/view.h"
#include "core/memory/wire.h"

#define NUMBER_MAX (UINT64_C(1) << 52)     /* as many may follow that every reader of JSON keeps */
#define TIME_MAX INT64_C(1000000000000000) /* ms: what a history line can say, either way */
#define NAMED_BYTES (4 * (uint64_t)WIRE_MAX_BYTES) /* of texts, each as often as a row names it */

/* ---- making ------------------------------------------------------------------------------------ */

static int put_commit_text(json_t *texts, const char *revision, struct ethos_view text)
{
    if (!text.data || json_object_get(texts, revision))
        return 0;
    return json_object_set_new(texts, revision, wire_bytes(text));
}

static int put_commit_rows(const struct ethos_commit *commit, json_t *texts, json_t *rows)
{
    int failed = 0;
    for (size_t i = 0; !failed && i < commit->row_count; i++) {
        const struct ethos_row *row = &commit->rows[i];
        failed = put_commit_text(texts, row->change.before, row->base) ||
                 put_commit_text(texts, row->change.after, row->whole) ||
                 json_array_append_new(rows, wire_change(&row->change));
    }
    return failed;
}

static int put_edits(const struct ethos_commit *commit, json_t *texts, json_t *edits)
{
    int failed = 0;
    for (size_t i = 0; !failed && i < commit->edit_count; i++) {
        const struct ethos_edit *edit = &commit->edits[i];
        const char *revision = edit->verdict == ETHOS_EDIT_PUT    ? edit->revision
                               : edit->verdict == ETHOS_EDIT_DROP ? "absent"
                                                                  : NULL;
        if (edit->verdict == ETHOS_EDIT_PUT)
            failed = put_commit_text(texts, revision, edit->text.data ? edit->text : VIEW(""));
        failed = failed || json_array_append_new(edits, json_pack("{s:s, s:s?}", "key", edit->key,
                                                                  "revision", revision));
    }
    return failed;
}

static int put_copies(const struct ethos_commit *commit, json_t *copies)
{
    int failed = 0;
    for (size_t i = 0; !failed && i < commit->copy_count; i++) {
        const struct ethos_copy *copy = &commit->copies[i];
        failed = json_array_append_new(copies, json_pack("{s:s, s:I, s:o}", "key", copy->key,
                                                         "timeMs", (json_int_t)copy->time_ms,
                                                         "text", wire_bytes(copy->text)));
    }
    return failed;
}

json_t *wire_commit(const struct ethos_commit *commit)
{
    json_t *texts = json_object(), *rows = json_array(), *edits = json_array(),
           *copies = json_array();
    int failed = put_commit_rows(commit, texts, rows) || put_edits(commit, texts, edits) ||
                 put_copies(commit, copies);
    json_t *json = json_pack("{s:I, s:o, s:o, s:o, s:o}", "version", (json_int_t)commit->version,
                             "texts", texts, "rows", rows, "edits", edits, "copies", copies);
    if (!failed)
        return json;
    json_decref(json);
    return NULL;
}

/* ---- taking ------------------------------------------------------------------------------------ */

struct commit_reader {
    const json_t *texts;
    struct arena *arena;
    struct str *scratch;
};

static int take_bytes(const struct commit_reader *self, const json_t *value, struct ethos_view *out)
{
    int code = wire_take_bytes(value, self->scratch, out);
    if (code != ETHOS_OK || json_is_string(value))
        return code;
    *out = view_of(arena_copy(self->arena, *out), out->size);
    return out->data ? ETHOS_OK : ETHOS_NOMEM;
}

/* Absent when it did not come along. */
static int find_commit_text(const struct commit_reader *self, const char *revision,
                            struct ethos_view *out)
{
    const json_t *value = json_object_get(self->texts, revision);
    *out = (struct ethos_view){0};
    return value ? take_bytes(self, value, out) : ETHOS_OK;
}

static int check_commit_texts(const struct commit_reader *self)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)self->texts, name, value) {
        struct ethos_view text;
        char revision[ETHOS_REVISION_SIZE];
        int code = wire_take_bytes(value, self->scratch, &text);
        if (code != ETHOS_OK)
            return code;
        hash_revision(text, revision);
        if (strcmp(revision, name) != 0)
            return ETHOS_INVALID;
    }
    return json_is_object(self->texts) ? ETHOS_OK : ETHOS_INVALID;
}

static bool is_commit_revision(const char *revision)
{
    struct ethos_view prefix = VIEW("sha256:"), all = view_str(revision);
    return revision && (strcmp(revision, "absent") == 0 ||
                        (view_starts(all, prefix) && hash_is_hex(view_from(all, prefix.size))));
}

static int read_commit_row(const struct commit_reader *self, const json_t *value, uint64_t last,
                           struct ethos_row *out)
{
    struct ethos_change *change = &out->change;
    int code = wire_take_change(value, self->scratch, change);
    if (code == ETHOS_OK && change->diff.data)
        code = take_bytes(self, json_object_get(value, "diff"), &change->diff);
    if (code != ETHOS_OK)
        return code;
    if (!change->actions || !change->source || !is_commit_revision(change->before) ||
        !is_commit_revision(change->after) || change->number <= last ||
        change->number > NUMBER_MAX || change->time_ms <= -TIME_MAX || change->time_ms >= TIME_MAX)
        return ETHOS_INVALID;
    code = find_commit_text(self, change->before, &out->base);
    return code == ETHOS_OK ? find_commit_text(self, change->after, &out->whole) : code;
}

static int take_edit(const struct commit_reader *self, const json_t *value, struct ethos_edit *out)
{
    bool ok = true;
    const char *revision = wire_string(value, "revision", &ok);
    *out = (struct ethos_edit){.key = wire_string(value, "key", &ok)};
    if (!ok || !out->key || (revision && !is_commit_revision(revision)))
        return ETHOS_INVALID;
    if (!revision)
        return ETHOS_OK;
    out->verdict = strcmp(revision, "absent") == 0 ? ETHOS_EDIT_DROP : ETHOS_EDIT_PUT;
    memcpy(out->revision, revision, strlen(revision) + 1);
    int code = find_commit_text(self, revision, &out->text);
    bool there = out->text.data || out->verdict == ETHOS_EDIT_DROP;
    return code == ETHOS_OK && !there ? ETHOS_INVALID : code;
}

static int take_copy(const struct commit_reader *self, const json_t *value, struct ethos_copy *out)
{
    bool ok = true;
    const json_t *time = json_object_get(value, "timeMs");
    *out = (struct ethos_copy){.key = wire_string(value, "key", &ok),
                               .time_ms = (int64_t)json_integer_value(time)};
    return ok && out->key ? take_bytes(self, json_object_get(value, "text"), &out->text)
                          : ETHOS_INVALID;
}

int wire_take_commit(const json_t *value, struct arena *arena, struct str *scratch,
                     struct ethos_commit *out)
{
    const json_t *rows = json_object_get(value, "rows"), *edits = json_object_get(value, "edits"),
                 *copies = json_object_get(value, "copies");
    const struct commit_reader self = {json_object_get(value, "texts"), arena, scratch};
    const size_t count[] = {json_array_size(rows), json_array_size(edits), json_array_size(copies)};
    struct ethos_row *row = arena_array(arena, count[0] + 1, sizeof *row);
    struct ethos_edit *edit = arena_array(arena, count[1] + 1, sizeof *edit);
    struct ethos_copy *copy = arena_array(arena, count[2] + 1, sizeof *copy);
    *out = (struct ethos_commit){.version = wire_number(value, "version", 0)};
    if (!row || !edit || !copy)
        return ETHOS_NOMEM;
    uint64_t last = 0, named = 0;
    int code = check_commit_texts(&self);
    for (size_t i = 0; code == ETHOS_OK && i < count[0]; i++) {
        code = read_commit_row(&self, json_array_get(rows, i), last, &row[i]);
        last = row[i].change.number;
        named += row[i].base.size + row[i].whole.size;
        if (code == ETHOS_OK && named > NAMED_BYTES)
            code = ETHOS_LIMIT;
    }
    for (size_t i = 0; code == ETHOS_OK && i < count[1]; i++)
        code = take_edit(&self, json_array_get(edits, i), &edit[i]);
    for (size_t i = 0; code == ETHOS_OK && i < count[2]; i++)
        code = take_copy(&self, json_array_get(copies, i), &copy[i]);
    out->rows = row, out->row_count = count[0];
    out->edits = edit, out->edit_count = count[1];
    out->copies = copy, out->copy_count = count[2];
    return code;
}
