/*
 * export_text.c: all notes of a scope as one text.
 *
 *     markdown               # Memory, then a section per note: its title and its text
 *     json                   {"scope", "index", "notes": [{"key", "title", "hook", "type", "created",
 *                            "verified", "expires", "listed", "text"}]}; unknown members are null
 *     agents-md, claude-md   the sections one level deeper; those past BLOCK_MAX by their line only,
 *                            since agents read the whole file at every start
 *
 * The text depends on the notes alone, so that the same memory gives the same file. It is for
 * others to read: what looks like a secret is redacted, and told of.
 */
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "base/view.h"
#include "core/notes/index.h"
#include "core/notes/note.h"
#include "memory/import_export/export_internal.h"

#define BLOCK_MAX 16384 /* bytes of a block before only lines follow */
#define BLOCK_LEAD                                                                                 \
    "## Memory\n\nWhat was learned in this project. Written by `ethos export`; edits between the " \
    "two markers are lost.\n"

struct rendering {
    struct export *export;
    struct str *out;
    struct str piece; /* the text of one note, unredacted */
    json_t *notes;    /* of the json format */
    bool block;
    bool secret; /* a secret was redacted; reported with the next note */
    struct ethos_error *error;
};

/* ---- secrets -------------------------------------------------------------------------------- */

/* Appends a text without its secrets. */
static void add_clean(struct rendering *rendering, struct ethos_view text, struct str *out)
{
    size_t start = out->size;
    if (secret_redact(text, out) == ETHOS_OK && !view_eq(view_from(str_view(out), start), text))
        rendering->secret = true;
}

/* Warns of a note whose secret was redacted. */
static int warn_of_secret(struct rendering *rendering, const char *key, struct ethos_view text)
{
    bool secret = rendering->secret;
    rendering->secret = false;
    return secret ? export_warn(rendering->export, key, text, true, rendering->error) : ETHOS_OK;
}

/* Moves the piece to the end of the text. */
static int flush_piece(struct rendering *rendering, const char *key, struct ethos_view text)
{
    add_clean(rendering, str_view(&rendering->piece), rendering->out);
    int code = str_code(&rendering->piece);
    str_clear(&rendering->piece);
    if (code == ETHOS_OK)
        code = warn_of_secret(rendering, key, text);
    return code == ETHOS_OK ? str_code(rendering->out) : code;
}

/* ---- markdown ------------------------------------------------------------------------------- */

/* The lines of the index or log that are not entries: prose that is nowhere else. */
static void add_prose(struct ethos_view index, struct str *out)
{
    struct ethos_view rest = index, line;
    struct index_entry entry;
    size_t start = out->size;
    bool blank = true; // no double blank lines where entries were removed
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

/* A section, or a line if the block is full; a memory always fits as lines, but not as sections. */
static void add_to_block(struct rendering *rendering, const struct ethos_note *note)
{
    if (rendering->out->size + note->text.size <= BLOCK_MAX) {
        add_section(note, "###", &rendering->piece);
        return;
    }
    str_printf(&rendering->piece, "\n- %s: %s", note->title, note->hook ? note->hook : "");
    export_report(rendering->export, "skipped", note->key, note->key,
                  "the block is full: it has only the title and hook of this note", NULL);
}

/* ---- json ----------------------------------------------------------------------------------- */

/* A text, or null for the absent view. */
static json_t *clean_json(struct rendering *rendering, struct ethos_view text)
{
    if (!text.data)
        return json_null();
    str_clear(&rendering->piece);
    add_clean(rendering, text, &rendering->piece);
    return str_code(&rendering->piece) == ETHOS_OK ? json_text(str_view(&rendering->piece)) : NULL;
}

static int set_clean_text(struct rendering *rendering, json_t *object, const char *name,
                          const char *value)
{
    return json_object_set_new(object, name, clean_json(rendering, view_str(value)));
}

static int add_json(struct rendering *rendering, const struct ethos_note *note)
{
    json_t *row = json_object();
    bool bad = !row || set_clean_text(rendering, row, "key", note->key) ||
               set_clean_text(rendering, row, "title", note->title) ||
               set_clean_text(rendering, row, "hook", note->hook) ||
               set_clean_text(rendering, row, "type", note->type) ||
               set_clean_text(rendering, row, "created", note->created) ||
               set_clean_text(rendering, row, "verified", note->verified) ||
               set_clean_text(rendering, row, "expires", note->expires) ||
               json_object_set_new(row, "listed", json_boolean(note->listed)) ||
               json_object_set_new(row, "text", clean_json(rendering, note->text));
    if (bad) {
        json_decref(row);
        return ETHOS_NOMEM;
    }
    return json_array_append_new(rendering->notes, row) == 0
               ? warn_of_secret(rendering, note->key, note->text)
               : ETHOS_NOMEM;
}

static int print_json(struct rendering *rendering, struct ethos_view index)
{
    json_t *json = json_pack("{s:s, s:o, s:O}", "scope", rendering->export->notes.scope, "index",
                             clean_json(rendering, index), "notes", rendering->notes);
    if (!json)
        return ETHOS_NOMEM;
    json_print(json, JSON_STYLE_PRETTY, rendering->out);
    json_decref(json);
    str_addc(rendering->out, '\n');
    TRY(warn_of_secret(rendering, TRANSFER_INDEX, index));
    return str_code(rendering->out);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int render_note(void *arg, const struct ethos_note *note)
{
    struct rendering *rendering = arg;
    export_step(rendering->export);
    if (rendering->notes)
        return add_json(rendering, note);
    if (rendering->block)
        add_to_block(rendering, note);
    else
        add_section(note, "##", &rendering->piece);
    return flush_piece(rendering, note->key, note->text);
}

static int add_notes(struct rendering *rendering)
{
    struct export *export = rendering->export;
    return ethos_notes(export->turn, export->notes.scope, render_note, rendering, rendering->error);
}

static int render_markdown(struct rendering *rendering, struct ethos_view index)
{
    struct str raw, *out = rendering->out, *piece = &rendering->piece;
    str_init(&raw, ETHOS_MAX_STORE_BYTES);
    rendering->out = &raw;
    str_adds(piece, rendering->block ? BLOCK_LEAD "\n" : "# Memory\n\n");
    add_prose(index, piece);
    if (view_ends(str_view(piece), VIEW("\n\n")))
        str_truncate(piece, piece->size - 1);
    int code = flush_piece(rendering, TRANSFER_INDEX, index);
    if (code == ETHOS_OK)
        code = add_notes(rendering);
    if (code == ETHOS_OK)
        code = rendering->block ? foreign_disarm(str_view(&raw), out)
                                : str_add(out, str_view(&raw));
    str_release(&raw);
    return code;
}

static int render_json(struct rendering *rendering, struct ethos_view index)
{
    rendering->notes = json_array();
    int code = rendering->notes ? add_notes(rendering) : ETHOS_NOMEM;
    if (code == ETHOS_OK)
        code = print_json(rendering, index);
    json_decref(rendering->notes);
    return code;
}

int export_render(struct export *export, struct str *out, struct ethos_error *error)
{
    const char *format = export->what->format;
    bool json = strcmp(format, "json") == 0;
    struct rendering rendering = {.export = export,
                                  .out = out,
                                  .block = strcmp(format, "markdown") != 0 && !json,
                                  .error = error};
    struct ethos_view index = view_of(export->notes.index.data, export->notes.index.size);
    str_init(&rendering.piece, ETHOS_MAX_STORE_BYTES);
    int code = json ? render_json(&rendering, index) : render_markdown(&rendering, index);
    str_release(&rendering.piece);
    if (code == ETHOS_LIMIT)
        return err_set(error, code, "%s: larger than %d bytes", format, ETHOS_MAX_STORE_BYTES);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}
