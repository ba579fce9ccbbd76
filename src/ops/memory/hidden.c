/*
 * hidden.c: the operations memory.hidden, memory.showLine and memory.hideLine: lines that the guard hides or
 * redacts in prompts, and decisions to show one anyway.
 *
 * A caller names a line by file and number. The decision is stored for the hash of the line, so it applies to this text
 * anywhere in the scope (core/memory/shown_lines.h). Only a person can decide.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text/quote.h"
#include "base/text/single_line.h"
#include "base/view.h"
#include "core/memory/hidden_lines.h"
#include "core/memory/sanitize.h"
#include "core/memory/scope.h"
#include "core/memory/shown_lines.h"
#include "memory/handle.h"
#include "memory/notes/list.h"
#include "memory/provider/missing_slots.h"
#include "memory/shown_file.h"
#include "ops/paging.h"
#include "ops/tables.h"
#include "ops/write_report.h"

#define MAX_FILES 2000    /* of a scope that are searched */
#define LEAST_HASH 8      /* digits of an abbreviated hash */
#define EXCERPT_CHARS 400 /* characters of a line in a list */

/* ---- one line as JSON -------------------------------------------------------------------------- */

static json_t *reasons_json(unsigned what)
{
    json_t *why = json_array();
    if (what & SCAN_GUARD)
        op_json_push(&why, json_string("instruction"));
    if (what & SCAN_REDACT)
        op_json_push(&why, json_string("secret"));
    return why;
}

static json_t *excerpt_json(struct ethos_view text, bool whole)
{
    size_t size = line_fitting(text, EXCERPT_CHARS);
    if (whole || size >= text.size)
        return json_text(text);
    CLEANUP_STR struct str cut;
    str_init(&cut, SIZE_MAX);
    str_add(&cut, view_of(text.data, size));
    str_adds(&cut, "\xE2\x80\xA6");
    return str_code(&cut) == ETHOS_OK ? json_text(str_view(&cut)) : NULL;
}

/* One line of a list; `whole`: without cutting its text. */
static json_t *line_json(const char *scope, const char *key, const struct hidden_line *line,
                         bool whole)
{
    return json_pack("{s:s, s:s, s:I, s:o, s:o, s:o, s:s, s:s, s:b}", "scope", scope, "key", key,
                     "line", (json_int_t)line->number, "why", reasons_json(line->found), "kind",
                     op_json_string(*line->tag ? line->tag : NULL), "text",
                     excerpt_json(line->text, whole), "hash", line->hash, "state",
                     hidden_line_is_hidden(line) ? "hidden" : "shown", "allowable", !line->block);
}

/* ---- list -------------------------------------------------------------------------------------- */

struct hidden_list {
    struct op_call *call;
    struct ethos_turn *turn;
    struct op_result *result;
    struct arena arena;
    json_t *lines;
    const char *scope;
    struct shown_decisions decisions; /* about the scope */
    struct shown_lines shown;
    bool *met; /* for each decision, whether its line was found */
    const char **keys;
    size_t key_count, key_room;
    uint64_t files;
    bool partial;
};

static int add_key(void *arg, const struct ethos_entry *entry)
{
    struct hidden_list *self = arg;
    if (!scope_key_visible(entry->key))
        return ETHOS_OK;
    if (self->key_count == MAX_FILES) {
        self->partial = true;
        return ETHOS_OK;
    }
    const char **keys = arena_grow(&self->arena, self->keys, self->key_count, &self->key_room,
                                   sizeof *keys);
    if (!keys)
        return ETHOS_NOMEM;
    self->keys = keys;
    keys[self->key_count] = arena_str(&self->arena, entry->key);
    return keys[self->key_count++] ? ETHOS_OK : ETHOS_NOMEM;
}

static int compare_key_strings(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_hidden_lines(struct hidden_list *self, const char *key,
                             const struct hidden_lines *found)
{
    for (size_t i = 0; i < found->count; i++) {
        const struct hidden_line *line = &found->rows[i];
        op_json_push(&self->lines, line_json(self->scope, key, line, false));
        for (size_t d = 0; d < self->decisions.count; d++)
            self->met[d] |= strcmp(self->decisions.rows[d].line.hash, line->hash) == 0;
    }
}

/* If a file cannot be read, the result carries the error and lists the other files. */
static int add_hidden_of_file(struct hidden_list *self, const char *key, struct ethos_error *error)
{
    CLEANUP_FILE struct ethos_file *file = NULL;
    struct ethos_error why;
    struct hidden_lines found;
    const struct ethos_target target = {NULL, self->scope, key};
    int code = ethos_read(self->turn, &target, &file, &why);
    if (code == ETHOS_NOMEM)
        return err_nomem(error);
    if (code != ETHOS_OK) {
        self->result->code = code;
        self->result->error = why;
        return ETHOS_OK;
    }
    if (file->text) {
        if (hidden_lines_find(view_of(file->text, file->size), &self->shown, &self->arena,
                              &found) != ETHOS_OK)
            return err_nomem(error);
        add_hidden_lines(self, key, &found);
        self->files++;
    }
    return self->lines ? ETHOS_OK : err_nomem(error);
}

/* Adds decisions whose line was not found: it was changed, removed, or is in a file that was not searched. */
static void add_unused_decisions(struct hidden_list *self)
{
    for (size_t i = 0; i < self->decisions.count; i++) {
        const struct shown_decision *row = &self->decisions.rows[i];
        if (!self->met[i])
            op_json_push(&self->lines,
                         json_pack("{s:s, s:s, s:n, s:o, s:n, s:n, s:s, s:s, s:b}", "scope",
                                   row->scope, "key", row->file, "line", "why",
                                   reasons_json(row->line.what), "kind", "text", "hash",
                                   row->line.hash, "state", "unused", "allowable", 1));
    }
}

static int load_scope_decisions(struct hidden_list *self, const char *scope,
                                struct ethos_error *error)
{
    self->scope = scope;
    self->keys = NULL;
    self->key_count = self->key_room = 0;
    TRY(shown_file_read(self->call->ethos, scope, &self->arena, &self->decisions, error));
    int code = shown_file_lines(self->call->ethos, scope, &self->arena, &self->shown);
    self->met = arena_array(&self->arena, self->decisions.count + 1, sizeof *self->met);
    return code == ETHOS_OK && self->met ? ETHOS_OK : err_nomem(error);
}

static int add_hidden_of_scope(struct hidden_list *self, const char *scope, const char *only,
                               struct ethos_error *error)
{
    struct ethos_provider *provider = service_provider(self->turn, scope, NULL);
    int code = load_scope_decisions(self, scope, error);
    if (code == ETHOS_OK && !only && SLOT_PROVIDER(provider, list))
        code = provider->ops->list(provider, scope, add_key, self, error);
    if (code == ETHOS_NOTFOUND)
        code = ETHOS_OK;
    if (self->key_count > 0)
        qsort(self->keys, self->key_count, sizeof *self->keys, compare_key_strings);
    if (code == ETHOS_OK && only)
        code = add_hidden_of_file(self, only, error);
    for (size_t i = 0; code == ETHOS_OK && i < self->key_count; i++)
        code = add_hidden_of_file(self, self->keys[i], error);
    if (code == ETHOS_OK && !only && !self->partial)
        add_unused_decisions(self);
    return code;
}

/* Searches the file that the arguments name, or all files of every scope of the turn. */
static int collect_hidden_lines(struct hidden_list *self, struct ethos_error *error)
{
    const struct ethos_context *context = ethos_turn_context(self->turn);
    struct ethos_target target = report_target(self->call);
    struct report_scopes scopes;
    struct ethos_file *file;
    if (target.store || target.key || target.scope) {
        int code = ethos_read(self->turn, &target, &file, error);
        if (code == ETHOS_OK)
            code = add_hidden_of_scope(self, file->scope, file->key, error);
        ethos_file_free(code == ETHOS_OK ? file : NULL);
        return code;
    }
    report_scopes(self->turn, &scopes);
    int code = ETHOS_OK;
    for (size_t i = 0; code == ETHOS_OK && i < scopes.count / 2; i++)
        code = add_hidden_of_scope(self, scopes.targets[i].scope, NULL, error);
    for (size_t i = 0; code == ETHOS_OK && i < 2; i++)
        if (context->profile_fallback[i] && strcmp(context->profile_fallback[i], "global") != 0 &&
            strcmp(context->profile_fallback[i], context->memory_scope) != 0)
            code = add_hidden_of_scope(self, context->profile_fallback[i], "USER.md", error);
    return code;
}

static int run_hidden(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct hidden_list self = {.call = call, .result = result, .lines = json_array()};
    int code = ethos_turn_new(call->ethos, call->request, &self.turn, error);
    if (code != ETHOS_OK) {
        json_decref(self.lines);
        return code;
    }
    arena_init(&self.arena);
    report_workspace(ethos_turn_context(self.turn), result);
    code = collect_hidden_lines(&self, error);
    json_t *json = code == ETHOS_OK ? json_pack("{s:o, s:I, s:b}", "lines", self.lines, "files",
                                                (json_int_t)self.files, "partial", self.partial)
                                    : NULL;
    if (code == ETHOS_OK)
        code = json ? pages_cut(call, &json, "lines", "scope key line hash", PAGES_ROWS, error)
                    : err_nomem(error);
    else
        json_decref(self.lines);
    if (code == ETHOS_OK)
        code = op_return(result, json, error);
    else
        json_decref(json);
    arena_release(&self.arena);
    ethos_turn_free(self.turn);
    return code;
}

/* ---- deciding ---------------------------------------------------------------------------------- */

/* "MEMORY.md:9" */
struct line_location {
    char key[ETHOS_MAX_KEY + 1];
    size_t line; /* from 1 */
};

static int parse_line_location(struct ethos_view where, struct line_location *out,
                               struct ethos_error *error)
{
    const char *colon = where.size ? memrchr(where.data, ':', where.size) : NULL;
    size_t size = colon ? (size_t)(colon - where.data) : 0, digits = 0;
    out->line = 0;
    for (const char *p = colon ? colon + 1 : where.data; colon && p < where.data + where.size;
         p++) {
        bool digit = *p >= '0' && *p <= '9' && ++digits < 10;
        out->line = digit ? 10 * out->line + (size_t)(*p - '0') : 0;
        if (!digit)
            break;
    }
    if (size == 0 || size > ETHOS_MAX_KEY || out->line == 0) {
        int code = err_set(error, ETHOS_INVALID, "line: '%.*s' does not name a line",
                           VIEW_ARG(where));
        return err_hint(error, code, "use FILE:NUMBER, such as MEMORY.md:9");
    }
    snprintf(out->key, sizeof out->key, "%.*s", (int)size, where.data);
    return ETHOS_OK;
}

/* Reads the file of a location. A note of the workspace or of the global scope may be named without its scope. */
static int read_located_file(const struct op_call *call, struct ethos_turn *turn,
                             struct line_location *place, struct ethos_file **out,
                             struct ethos_error *error)
{
    char scope[ETHOS_MAX_SCOPE], key[ETHOS_MAX_KEY + 1];
    struct ethos_target target = {NULL, op_string(call, "scope"), place->key};
    bool main_file = strcmp(place->key, "MEMORY.md") == 0 || strcmp(place->key, "USER.md") == 0;
    if (!main_file && !target.scope &&
        notes_locate(turn, NULL, place->key, scope, key, NULL) == ETHOS_OK)
        target = (struct ethos_target){NULL, scope, key};
    int code = ethos_read(turn, &target, out, error);
    if (code != ETHOS_OK || (*out)->text)
        return code;
    ethos_file_free(*out);
    return err_set(error, ETHOS_NOTFOUND, "no such file: %s", place->key);
}

static int check_hash(struct ethos_view hash, struct ethos_error *error)
{
    bool hex = hash.size >= LEAST_HASH && hash.size < HASH_HEX_SIZE;
    for (size_t i = 0; hex && i < hash.size; i++)
        hex = strchr("0123456789abcdef", hash.data[i]) && hash.data[i];
    return !hash.data || hex ? ETHOS_OK
                             : err_set(error, ETHOS_INVALID,
                                       "hash: must be the hash of a line, or its first %d digits "
                                       "or more",
                                       LEAST_HASH);
}

static int refuse_changed_line(const struct line_location *place, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_CONFLICT, "%s:%zu is not the line that was listed", place->key,
                       place->line);
    return err_hint(error, code, "ethos memory hidden lists the lines as they are now");
}

/* Finds the line at a location among those that the guard hides or would hide. */
static int find_hidden_line(const struct line_location *place, struct ethos_view hash,
                            const struct hidden_lines *found, const struct hidden_line **out,
                            struct ethos_error *error)
{
    *out = NULL;
    for (size_t i = 0; i < found->count; i++)
        if (found->rows[i].number == place->line)
            *out = &found->rows[i];
    if (*out && view_starts(view_str((*out)->hash), hash))
        return ETHOS_OK;
    if (hash.size > 0)
        return refuse_changed_line(place, error);
    int code = err_set(error, ETHOS_NOTFOUND, "nothing is hidden in %s:%zu", place->key,
                       place->line);
    return err_hint(error, code, "ethos memory hidden lists what is hidden");
}

static int allow_line(struct op_call *call, const struct ethos_file *file,
                      const struct hidden_line *line, struct ethos_error *error)
{
    char at[CLOCK_ISO_SIZE];
    clock_iso(service_now_ms(call->ethos), at);
    const struct shown_decision decision = {.scope = file->scope,
                                            .line.what = line->found,
                                            .file = file->key,
                                            .at = at,
                                            .by = call->actor ? call->actor : "owner"};
    struct shown_decision row = decision;
    memcpy(row.line.hash, line->hash, sizeof row.line.hash);
    if (!hidden_line_is_hidden(line) || call->dry_run)
        return ETHOS_OK;
    return shown_file_add(call->ethos, &row, error);
}

static int refuse_block(const struct line_location *place, struct ethos_error *error)
{
    int code = err_set(error, ETHOS_DENIED, "%s:%zu: a private key over several lines is not shown",
                       place->key, place->line);
    return err_hint(error, code, "if it is not a key, put it on one line, or shorten it");
}

/* Allows the line at a location of the file, and returns it. */
static int show_line_of_file(struct op_call *call, const struct line_location *place,
                             const struct ethos_file *file, struct op_result *result,
                             struct ethos_error *error)
{
    struct shown_lines shown;
    struct hidden_lines found;
    const struct hidden_line *line = NULL;
    CLEANUP_ARENA struct arena arena;
    arena_init(&arena);
    if (shown_file_lines(call->ethos, file->scope, &arena, &shown) != ETHOS_OK ||
        hidden_lines_find(view_of(file->text, file->size), &shown, &arena, &found) != ETHOS_OK)
        return err_nomem(error);
    TRY(find_hidden_line(place, op_text(call, "hash"), &found, &line, error));
    if (line->block)
        return refuse_block(place, error);
    TRY(allow_line(call, file, line, error));
    json_t *json = line_json(file->scope, file->key, line, true);
    op_json_put(&json, "state", json_string("shown"));
    if (call->dry_run)
        op_json_put(&json, "dryRun", json_true());
    return op_return(result, json, error);
}

static int run_show_line(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct line_location place;
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    struct ethos_file *file = NULL;
    TRY(parse_line_location(op_text(call, "line"), &place, error));
    TRY(check_hash(op_text(call, "hash"), error));
    TRY(ethos_turn_new(call->ethos, call->request, &turn, error));
    TRY(read_located_file(call, turn, &place, &file, error));
    int code = show_line_of_file(call, &place, file, result, error);
    ethos_file_free(file);
    return code;
}

/* Finds the hash of the line at a location, and its scope. */
static int hash_located_line(const struct op_call *call, struct ethos_turn *turn,
                             struct line_location *place, char out_scope[ETHOS_MAX_SCOPE],
                             char out_hash[HASH_HEX_SIZE], struct ethos_error *error)
{
    struct ethos_file *file;
    struct ethos_view line, hash = op_text(call, "hash");
    int code = read_located_file(call, turn, place, &file, error);
    if (code != ETHOS_OK)
        return code;
    struct ethos_view rest = view_of(file->text, file->size);
    memcpy(out_scope, file->scope, strlen(file->scope) + 1);
    bool there = view_skip_lines(&rest, place->line - 1) && view_line(&rest, &line);
    if (there)
        shown_line_hash(line, out_hash);
    ethos_file_free(file);
    if (there && view_starts(view_str(out_hash), hash))
        return ETHOS_OK;
    return hash.size > 0
               ? refuse_changed_line(place, error)
               : err_set(error, ETHOS_NOTFOUND, "%s has no line %zu", place->key, place->line);
}

static bool is_scope_of_turn(struct ethos_turn *turn, const char *scope)
{
    const char *const *fallback = ethos_turn_context(turn)->profile_fallback;
    struct report_scopes scopes;
    report_scopes(turn, &scopes);
    for (size_t i = 0; i < scopes.count; i++)
        if (strcmp(scopes.targets[i].scope, scope) == 0)
            return true;
    return (fallback[0] && strcmp(fallback[0], scope) == 0) ||
           (fallback[1] && strcmp(fallback[1], scope) == 0);
}

/* Finds the only decision whose hash starts so, in the named scope or else in the scopes of the turn. */
static int find_decision(const struct op_call *call, struct ethos_turn *turn,
                         struct ethos_view hash, char out_scope[ETHOS_MAX_SCOPE],
                         char out_hash[HASH_HEX_SIZE], struct ethos_error *error)
{
    struct arena arena;
    struct shown_decisions found;
    char named[ETHOS_MAX_SCOPE];
    size_t count = 0;
    const char *scope = op_string(call, "scope");
    int code = scope ? notes_scope(turn, scope, named, error) : ETHOS_OK;
    if (code != ETHOS_OK)
        return code;
    arena_init(&arena);
    code = shown_file_read(call->ethos, scope ? named : NULL, &arena, &found, error);
    for (size_t i = 0; code == ETHOS_OK && i < found.count; i++) {
        const struct shown_decision *row = &found.rows[i];
        if (!view_starts(view_str(row->line.hash), hash) ||
            (!scope && !is_scope_of_turn(turn, row->scope)))
            continue;
        count++;
        snprintf(out_scope, ETHOS_MAX_SCOPE, "%s", row->scope);
        memcpy(out_hash, row->line.hash, HASH_HEX_SIZE);
    }
    arena_release(&arena);
    if (code == ETHOS_OK && count != 1)
        code = count == 0
                   ? err_set(error, ETHOS_NOTFOUND, "this line is not on the list of shown lines")
                   : err_hint(error,
                              err_set(error, ETHOS_INVALID,
                                      "hash: ambiguous: %zu shown lines start with it", count),
                              "give more digits, or --scope");
    return code;
}

static int run_hide_line(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct line_location place;
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    char scope[ETHOS_MAX_SCOPE], hash[HASH_HEX_SIZE];
    struct ethos_view where = op_text(call, "line"), given = op_text(call, "hash");
    TRY(check_hash(given, error));
    if (!where.data && !given.data)
        return err_set(error, ETHOS_INVALID, "give a line or a hash");
    if (where.data)
        TRY(parse_line_location(where, &place, error));
    TRY(ethos_turn_new(call->ethos, call->request, &turn, error));
    TRY(where.data ? hash_located_line(call, turn, &place, scope, hash, error)
                   : find_decision(call, turn, given, scope, hash, error));
    if (!call->dry_run)
        TRY(shown_file_remove(call->ethos, scope, hash, error));
    return op_return(
        result, json_pack("{s:s, s:s, s:b}", "scope", scope, "hash", hash, "hidden", 1), error);
}

#define ARG_HASH                                                                                   \
    {                                                                                              \
        "hash", OP_TEXT, 0, NULL, "HASH",                                                          \
            "only if the line has this hash, as memory hidden prints it (8 digits or more)"        \
    }

static const struct op_arg hidden_args[] = {ARG_STORE, ARG_KEY, ARG_SCOPE, ARG_PAGE, ARG_END};
static const struct op_arg show_args[] = {{"line", OP_TEXT, OP_REQUIRED | OP_POSITIONAL, NULL,
                                           "FILE:LINE", "the line: MEMORY.md:9, USER.md:3"},
                                          ARG_HASH,
                                          ARG_SCOPE,
                                          ARG_END};
static const struct op_arg hide_args[] = {
    {"line", OP_TEXT, OP_POSITIONAL, NULL, "FILE:LINE", "the line: MEMORY.md:9, USER.md:3"},
    {"hash", OP_TEXT, 0, NULL, "HASH", "the hash of the line, if no file has it any more"},
    ARG_SCOPE,
    ARG_END};

const struct op ops_hidden[] = {
    {"memory.hidden", "memory hidden", "List lines that the guard hides from prompts",
     "ethos memory hidden", hidden_args, OP_MEMORY_READ, OP_IDEMPOTENT | OP_PERSON, run_hidden},
    {"memory.showLine", "memory show-anyway",
     "Show one line in prompts although the guard hides it", "ethos memory show-anyway MEMORY.md:9",
     show_args, OP_MEMORY_WRITE, OP_WRITES | OP_IDEMPOTENT | OP_PERSON, run_show_line},
    {"memory.hideLine", "memory hide-again", "Hide a line again that show-anyway shows",
     "ethos memory hide-again MEMORY.md:9", hide_args, OP_MEMORY_WRITE, OP_WRITES | OP_PERSON,
     run_hide_line},
    {0}};
