/*
 * transfer_export_text.c: all notes of a scope as one text.
 *
 *     markdown               # Memory, then a section per note: its title and its text
 *     json                   {"scope", "index", "notes": [{"key", "title", "hook", "type", "created",
 *                            "verified", "expires", "listed", "text"}]}; unknown members are null
 *     agents-md, claude-md   the sections one level deeper; those past BLOCK_MAX by their line only,
 *                            since agents read the whole file at every start
 *
 * The text depends on the notes alone, so that the same memory gives the same file.
 */
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "core/index.h"
#include "core/note.h"
#include "memory/transfer_export.h"

#define BLOCK_MAX 16384 /* bytes of a block before only lines follow */
#define BLOCK_LEAD                                                                                 \
    "## Memory\n\nWhat was learned in this project. Written by `ethos export`; edits between the " \
    "two markers are lost.\n"

struct rendering {
    struct export *export;
    struct str *out;
    json_t *notes; /* of the json format */
    bool block;
};

/* ---- markdown ------------------------------------------------------------------------------- */

/* What of the index or log is not an entry: prose that stands nowhere else. */
static void add_prose(struct ethos_view index, struct str *out)
{
    struct ethos_view rest = index, line;
    struct index_entry entry;
    size_t start = out->size;
    bool blank = true; // blank lines are not doubled where entries went
    while (view_line(&rest, &line)) {
        if (index_line(line, &entry) || (blank && view_blank(line)))
            continue;
        blank = view_blank(line);
        str_add(out, line);
        str_addc(out, '\n');
    }
    while (out->size > start + 1 && out->data[out->size - 1] == '\n' &&
           out->data[out->size - 2] == '\n')
        str_truncate(out, out->size - 1);
}

static void add_section(const struct ethos_note *told, const char *marks, struct str *out)
{
    struct note note;
    note_parse(told->text, &note);
    str_printf(out, "\n%s %s\n\n", marks, told->title);
    struct ethos_view body = view_trim(note.body);
    str_add(out, body.size > 0 ? body : view_str(told->hook ? told->hook : ""));
    str_addc(out, '\n');
}

/* A section, or a line where the block is full; lines can hold a whole memory, sections cannot. */
static void add_to_block(struct rendering *rendering, const struct ethos_note *note)
{
    struct str *out = rendering->out;
    if (out->size + note->text.size <= BLOCK_MAX) {
        add_section(note, "###", out);
        return;
    }
    str_printf(out, "\n- %s: %s", note->title, note->hook ? note->hook : "");
    export_tell(rendering->export, "skipped", note->key, note->key,
                "the block is full: only its title and hook are in it", NULL);
}

/* ---- json ----------------------------------------------------------------------------------- */

static int put_text(json_t *object, const char *name, const char *value)
{
    return json_object_set_new(object, name, value ? json_text(view_str(value)) : json_null());
}

static int add_json(json_t *notes, const struct ethos_note *note)
{
    json_t *row = json_object();
    bool bad = !row || put_text(row, "key", note->key) || put_text(row, "title", note->title) ||
               put_text(row, "hook", note->hook) || put_text(row, "type", note->type) ||
               put_text(row, "created", note->created) ||
               put_text(row, "verified", note->verified) ||
               put_text(row, "expires", note->expires) ||
               json_object_set_new(row, "listed", json_boolean(note->listed)) ||
               json_object_set_new(row, "text", json_text(note->text));
    if (bad) {
        json_decref(row);
        return ETHOS_NOMEM;
    }
    return json_array_append_new(notes, row) == 0 ? ETHOS_OK : ETHOS_NOMEM;
}

static int print_json(const struct rendering *rendering, struct ethos_view index)
{
    json_t *json = json_pack("{s:s, s:o, s:O}", "scope", rendering->export->notes.scope, "index",
                             index.data ? json_text(index) : json_null(), "notes",
                             rendering->notes);
    if (!json)
        return ETHOS_NOMEM;
    json_print(json, JSON_STYLE_PRETTY, rendering->out);
    json_decref(json);
    return str_addc(rendering->out, '\n');
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int add_note(void *arg, const struct ethos_note *note)
{
    struct rendering *rendering = arg;
    export_step(rendering->export);
    if (rendering->notes)
        return add_json(rendering->notes, note);
    if (rendering->block)
        add_to_block(rendering, note);
    else
        add_section(note, "##", rendering->out);
    return str_code(rendering->out);
}

static int render_markdown(struct rendering *rendering, struct ethos_view index,
                           struct ethos_error *error)
{
    struct str raw, *out = rendering->out;
    str_init(&raw, ETHOS_MAX_STORE_BYTES);
    rendering->out = &raw;
    str_adds(&raw, rendering->block ? BLOCK_LEAD "\n" : "# Memory\n\n");
    add_prose(index, &raw);
    if (view_ends(str_view(&raw), VIEW("\n\n")))
        str_truncate(&raw, raw.size - 1);
    struct export *export = rendering->export;
    int code = ethos_notes(export->turn, export->notes.scope, add_note, rendering, error);
    if (code == ETHOS_OK)
        code = rendering->block ? foreign_disarm(str_view(&raw), out)
                                : str_add(out, str_view(&raw));
    str_release(&raw);
    return code;
}

int export_render(struct export *export, struct str *out, struct ethos_error *error)
{
    const char *format = export->what->format;
    bool json = strcmp(format, "json") == 0;
    struct rendering rendering = {.export = export,
                                  .out = out,
                                  .notes = json ? json_array() : NULL,
                                  .block = strcmp(format, "markdown") != 0 && !json};
    struct ethos_view index = view_of(export->notes.index.data, export->notes.index.size);
    int code;
    if (json && !rendering.notes)
        return err_nomem(error);
    if (json) {
        code = ethos_notes(export->turn, export->notes.scope, add_note, &rendering, error);
        if (code == ETHOS_OK)
            code = print_json(&rendering, index);
    } else {
        code = render_markdown(&rendering, index, error);
    }
    json_decref(rendering.notes);
    if (code == ETHOS_LIMIT)
        return err_set(error, code, "%s: larger than %d bytes", format, ETHOS_MAX_STORE_BYTES);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}
