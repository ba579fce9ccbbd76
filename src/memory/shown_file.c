/*
 * shown_file.c: reads, adds to and removes from <root>/shown-lines.jsonl.
 */
#include "memory/shown_file.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "base/system/os.h"
#include "base/view.h"
#include "core/memory/sanitize.h"
#include "memory/handle.h"
#include "memory/home/directory.h"

static const struct {
    const char *name;
    unsigned what;
} reasons[] = {{"instruction", SCAN_GUARD}, {"secret", SCAN_REDACT}};

#define REASONS (sizeof reasons / sizeof *reasons)

/* ---- one line ---------------------------------------------------------------------------------- */

static unsigned reasons_of(const json_t *row)
{
    size_t index;
    json_t *name;
    unsigned what = 0;
    json_array_foreach (json_object_get(row, "why"), index, name)
        for (size_t i = 0; i < REASONS; i++)
            if (json_is_string(name) && strcmp(json_string_value(name), reasons[i].name) == 0)
                what |= reasons[i].what;
    return what;
}

/* Whether the JSON is a decision. Strings are borrowed from the row. */
static bool read_decision(const json_t *row, struct shown_decision *out)
{
    struct ethos_view hash = json_view(row, "hash");
    *out = (struct shown_decision){.scope = json_view(row, "scope").data,
                                   .file = json_view(row, "file").data,
                                   .at = json_view(row, "at").data,
                                   .by = json_view(row, "by").data,
                                   .line.what = reasons_of(row)};
    if (!out->scope || !out->file || !out->line.what || !hash.data || !hash_is_hex(hash))
        return false;
    memcpy(out->line.hash, hash.data, hash.size);
    out->line.hash[hash.size] = '\0';
    return true;
}

/* *out is NULL if the line is not a decision. ETHOS_OK or ETHOS_NOMEM. */
static int parse_decision(struct ethos_view line, json_t **out, struct shown_decision *decision)
{
    *out = NULL;
    int code = json_parse_most(line, SHOWN_MAX_BYTES, "line", out, NULL);
    if (code == ETHOS_OK && read_decision(*out, decision))
        return ETHOS_OK;
    if (code == ETHOS_OK)
        json_decref(*out);
    *out = NULL;
    return code == ETHOS_NOMEM ? code : ETHOS_OK;
}

static int print_decision(const struct shown_decision *decision, struct str *out)
{
    json_t *why = json_array();
    bool made = true;
    for (size_t i = 0; i < REASONS; i++)
        if (decision->line.what & reasons[i].what)
            made &= json_array_append_new(why, json_string(reasons[i].name)) == 0;
    json_t *row = json_pack("{s:s, s:s, s:o, s:s, s:s?, s:s?}", "scope", decision->scope, "hash",
                            decision->line.hash, "why", why, "file", decision->file, "at",
                            decision->at, "by", decision->by);
    int code = row && made ? json_print(row, JSON_STYLE_LINE, out) : ETHOS_NOMEM;
    json_decref(row);
    return code == ETHOS_OK ? str_addc(out, '\n') : code;
}

/* ---- reading ----------------------------------------------------------------------------------- */

static int read_decisions_file(int root, struct str *out, struct ethos_error *error)
{
    int code = root < 0 ? ETHOS_NOTFOUND
                        : home_read(root, SHOWN_FILE, SHOWN_MAX_BYTES, out, NULL, error);
    return code == ETHOS_NOTFOUND ? ETHOS_OK : code;
}

static bool copy_decision(struct arena *arena, const struct shown_decision *from,
                          struct shown_decision *out)
{
    *out = (struct shown_decision){.scope = arena_str(arena, from->scope),
                                   .line = from->line,
                                   .file = arena_str(arena, from->file),
                                   .at = arena_str(arena, from->at),
                                   .by = arena_str(arena, from->by)};
    return out->scope && out->file && (out->at || !from->at) && (out->by || !from->by);
}

static int collect_decisions(struct ethos_view text, const char *scope, struct arena *arena,
                             struct shown_decisions *out)
{
    struct ethos_view line;
    struct shown_decision found, *rows = NULL;
    size_t room = 0;
    int code = ETHOS_OK;
    while (code == ETHOS_OK && view_line(&text, &line)) {
        json_t *row;
        if (view_blank(line))
            continue;
        code = parse_decision(line, &row, &found);
        out->damaged += code == ETHOS_OK && !row;
        if (row && (!scope || strcmp(scope, found.scope) == 0) && out->count < SHOWN_MAX_LINES) {
            struct shown_decision *grown = arena_grow(arena, rows, out->count, &room, sizeof *rows);
            rows = grown ? grown : rows;
            code = grown && copy_decision(arena, &found, &rows[out->count++]) ? ETHOS_OK
                                                                              : ETHOS_NOMEM;
        }
        json_decref(row);
    }
    out->rows = rows;
    return code;
}

int shown_file_read(struct ethos *ethos, const char *scope, struct arena *arena,
                    struct shown_decisions *out, struct ethos_error *error)
{
    int root;
    struct str text;
    *out = (struct shown_decisions){.rows = NULL};
    TRY(service_open_root(ethos, false, &root, error));
    str_init(&text, SHOWN_MAX_BYTES + 1);
    int code = read_decisions_file(root, &text, error);
    if (code == ETHOS_OK && collect_decisions(str_view(&text), scope, arena, out) != ETHOS_OK)
        code = err_nomem(error);
    str_release(&text);
    if (root >= 0)
        os_close(root);
    return code;
}

int shown_file_lines(struct ethos *ethos, const char *scope, struct arena *arena,
                     struct shown_lines *out)
{
    struct shown_decisions found;
    struct ethos_error why;
    *out = (struct shown_lines){.rows = NULL};
    int code = shown_file_read(ethos, scope, arena, &found, &why);
    if (code != ETHOS_OK || found.count == 0)
        return code == ETHOS_NOMEM ? code : ETHOS_OK;
    struct shown_line *rows = arena_array(arena, found.count, sizeof *rows);
    for (size_t i = 0; rows && i < found.count; i++)
        rows[i] = found.rows[i].line;
    *out = (struct shown_lines){rows, rows ? found.count : 0};
    return rows ? ETHOS_OK : ETHOS_NOMEM;
}

void shown_file_stamp(struct ethos *ethos, struct home_stamp *out)
{
    int root;
    *out = (struct home_stamp){0};
    if (service_open_root(ethos, false, &root, NULL) != ETHOS_OK || root < 0)
        return;
    home_stamp(root, SHOWN_FILE, out);
    os_close(root);
}

/* ---- changing ---------------------------------------------------------------------------------- */

/* Copies all lines except the decision's; out_there: whether it was found. */
static int copy_others(struct ethos_view text, const char *scope, const char *hash, struct str *out,
                       size_t *out_count, bool *out_there)
{
    struct ethos_view line;
    struct shown_decision found;
    int code = ETHOS_OK;
    *out_count = 0;
    *out_there = false;
    while (code == ETHOS_OK && view_line(&text, &line)) {
        json_t *row;
        if (view_blank(line))
            continue;
        code = parse_decision(line, &row, &found);
        bool same = row && strcmp(found.scope, scope) == 0 && strcmp(found.line.hash, hash) == 0;
        *out_count += row && !same;
        *out_there |= same;
        if (!same && code == ETHOS_OK && str_add(out, line) == ETHOS_OK)
            str_addc(out, '\n');
        json_decref(row);
    }
    return code;
}

/* added: the decision to record, or NULL to remove the one of scope and hash. */
static int change_locked(int root, const char *scope, const char *hash,
                         const struct shown_decision *added, struct ethos_error *error)
{
    CLEANUP_STR struct str before, after;
    size_t count;
    bool there;
    str_init(&before, SHOWN_MAX_BYTES + 1);
    str_init(&after, SHOWN_MAX_BYTES);
    int code = read_decisions_file(root, &before, error);
    if (code == ETHOS_OK &&
        copy_others(str_view(&before), scope, hash, &after, &count, &there) != ETHOS_OK)
        code = err_nomem(error);
    if (code == ETHOS_OK && added && count >= SHOWN_MAX_LINES)
        code = err_hint(
            error,
            err_set(error, ETHOS_LIMIT, SHOWN_FILE ": %d lines are shown already", SHOWN_MAX_LINES),
            "ethos memory hidden --shown lists them; ethos memory hide-again takes "
            "one back");
    if (code == ETHOS_OK && !added && !there)
        code = err_set(error, ETHOS_NOTFOUND, "this line is not on the list of shown lines");
    int printed = code == ETHOS_OK && added ? print_decision(added, &after) : ETHOS_OK;
    printed = printed ? printed : str_code(&after);
    if (code == ETHOS_OK && printed != ETHOS_OK)
        code = printed == ETHOS_LIMIT ? err_set(error, ETHOS_LIMIT, SHOWN_FILE ": full")
                                      : err_nomem(error);
    if (code == ETHOS_OK)
        code = home_replace(root, "", SHOWN_FILE, str_view(&after), error);
    return code;
}

static int change_decision(struct ethos *ethos, const char *scope, const char *hash,
                           const struct shown_decision *added, struct ethos_error *error)
{
    int root, lock;
    TRY(service_open_root(ethos, true, &root, error));
    int code = home_lock(root, SHOWN_FILE, &lock, error);
    if (code == ETHOS_OK) {
        code = change_locked(root, scope, hash, added, error);
        os_close(lock);
    }
    os_close(root);
    return code;
}

int shown_file_add(struct ethos *ethos, const struct shown_decision *decision,
                   struct ethos_error *error)
{
    return change_decision(ethos, decision->scope, decision->line.hash, decision, error);
}

int shown_file_remove(struct ethos *ethos, const char *scope, const char *hash,
                      struct ethos_error *error)
{
    return change_decision(ethos, scope, hash, NULL, error);
}
