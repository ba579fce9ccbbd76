/*
 * history.c: the operations memory.history, diff, restore, undo and blame, and notes.history, undo and blame, which
 * name the file by its note.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/view.h"
#include "core/memory/scope.h"
#include "core/notes/note.h"
#include "memory/handle.h"
#include "memory/history/blame.h"
#include "memory/history/restore_archived.h"
#include "memory/history/undo.h"
#include "memory/notes/list.h"
#include "memory/provider/missing_slots.h"
#include "ops/memory/change_json.h"
#include "ops/paging.h"
#include "ops/tables.h"
#include "ops/write_report.h"

/* A turn, and the file that the arguments name. */
struct named_file {
    struct ethos_turn *turn;
    struct ethos_target target; /* resolved: points into aimed */
    struct scope_target aimed;
};

/* Finds a note, which may have been removed. */
static int find_note(struct ethos_turn *turn, const struct op_call *call, struct scope_target *out,
                     struct ethos_error *error)
{
    TRY(notes_scope(turn, op_string(call, "scope"), out->scope, error));
    return notes_find_past(turn, out->scope, op_string(call, "name"), out->key, error);
}

/* The same for operations that only read: in any scope that the turn sees. */
static int find_any_note(struct ethos_turn *turn, const struct op_call *call,
                         struct scope_target *out, struct ethos_error *error)
{
    struct scope_target found;
    int code = find_note(turn, call, out, error);
    if (code == ETHOS_NOTFOUND && !op_string(call, "scope") &&
        notes_locate(turn, NULL, op_string(call, "name"), found.scope, found.key, NULL) == 0) {
        *out = found;
        return ETHOS_OK;
    }
    return code;
}

static void close_named_file(const struct named_file *file)
{
    ethos_turn_free(file->turn);
}
#define CLEANUP_NAMED_FILE __attribute__((cleanup(close_named_file)))

static int open_named_file(struct op_call *call, struct named_file *out, struct ethos_error *error)
{
    const struct ethos_target named = report_target(call);
    *out = (struct named_file){0};
    int code = ethos_turn_new(call->ethos, call->request, &out->turn, error);
    if (code == ETHOS_OK && op_string(call, "name"))
        code = find_any_note(out->turn, call, &out->aimed, error);
    else if (code == ETHOS_OK)
        code = scope_target(ethos_turn_context(out->turn), named.store, named.scope, named.key,
                            false, &out->aimed, error);
    out->target = (struct ethos_target){NULL, out->aimed.scope, out->aimed.key};
    return code;
}

static struct ethos_filter named_filter(const struct op_call *call)
{
    return (struct ethos_filter){
        .actor = op_string(call, "actor"),
        .session = op_string(call, "session"),
        .source = op_string(call, "source"),
        .since_ms = op_time(call, "since"),
        .until_ms = op_time(call, "until"),
        .number = (uint64_t)op_integer(call, "change", 0),
    };
}

/* ---- history -------------------------------------------------------------------------------- */

#define HISTORY_PAGE 50        /* changes, unless a limit is given */
#define HISTORY_WHOLE 8388608  /* bytes of complete diffs in one answer, about */
#define HISTORY_CURSOR_SIZE 48 /* bytes with terminator */

/*
 * Where a page ended: after the change `number` and `besides` more that have no number, counting only changes that
 * match the filter. number is 0 before the first numbered change.
 */
struct history_cursor {
    uint64_t number, besides;
};

struct history_page {
    struct row_pages pages;
    const struct named_file *named;
    struct ethos_error *error;
    bool diffs;
    const struct ethos_filter *filter;
    size_t limit, count;
    struct history_cursor at, from; /* the current change, and where the page begins */
    struct history_cursor last;     /* of the last row */
    bool begun, more;
};

static int parse_history_cursor(const char *cursor, struct history_cursor *out,
                                struct ethos_error *error)
{
    char again[HISTORY_CURSOR_SIZE], *end;
    *out = (struct history_cursor){.number = strtoull(cursor, &end, 10)};
    if (*end == '.')
        out->besides = strtoull(end + 1, &end, 10);
    snprintf(again, sizeof again, "%" PRIu64 ".%" PRIu64, out->number, out->besides);
    return strcmp(again, cursor) == 0 ? ETHOS_OK : pages_refuse(error);
}

/* Adds a row. If rows are streamed, a cut diff is completed here instead of at the end. */
static int add_history_row(struct history_page *rows, const struct ethos_change *change)
{
    const struct named_file *named = rows->named;
    json_t *row = change_json(named->aimed.scope, change);
    int code = ETHOS_OK;
    if (rows->diffs)
        op_json_put(&row, "diff", change->diff_whole ? json_text(change->diff) : json_null());
    if (rows->diffs && row && rows->pages.streams && !change->diff_whole)
        code = change_complete(named->turn, &named->target, row, rows->error);
    size_t size = json_string_length(json_object_get(row, "diff"));
    if (code == ETHOS_OK)
        code = pages_add(&rows->pages, json_incref(row));
    rows->pages.bytes += size;
    json_decref(row);
    return code;
}

static int add_change_in_page(void *arg, const struct ethos_change *change)
{
    struct history_page *rows = arg;
    rows->at = change->number ? (struct history_cursor){change->number, 0}
                              : (struct history_cursor){rows->at.number, rows->at.besides + 1};
    if (!rows->begun) {
        rows->begun = rows->at.number == rows->from.number &&
                      rows->at.besides == rows->from.besides;
        return ETHOS_OK;
    }
    rows->more = rows->count >= rows->limit;
    if (rows->more)
        return 1;
    rows->last = rows->at;
    rows->count++;
    return add_history_row(rows, change);
}

/* Completes diffs that were cut, up to HISTORY_WHOLE bytes. The others stay null; memory.diff shows each. */
static int complete_diffs(const struct named_file *named, const struct row_pages *pages,
                          struct ethos_error *error)
{
    size_t index, bytes = 0;
    json_t *row;
    int code = ETHOS_OK;
    json_array_foreach (pages->rows, index, row) {
        if (!json_is_null(json_object_get(row, "diff")) || bytes > HISTORY_WHOLE)
            continue;
        code = change_complete(named->turn, &named->target, row, error);
        if (code != ETHOS_OK)
            break;
        bytes += json_string_length(json_object_get(row, "diff"));
    }
    return code;
}

static int list_history(struct op_call *call, const struct named_file *named,
                        struct history_page *rows, struct ethos_error *error)
{
    const char *cursor = op_string(call, "cursor");
    int code = cursor ? parse_history_cursor(cursor, &rows->from, error) : ETHOS_OK;
    rows->begun = !cursor || (rows->from.number == 0 && rows->from.besides == 0);
    if (rows->diffs)
        rows->pages.streams = call->tell && !call->want_json; // diffs make a single page long, too
    if (code == ETHOS_OK)
        code = ethos_history(named->turn, &named->target, rows->filter, add_change_in_page, rows,
                             error);
    if (code == 1 && rows->more)
        code = ETHOS_OK;
    if (code == ETHOS_OK && !rows->begun)
        code = pages_refuse(error);
    if (code == ETHOS_NOMEM)
        err_nomem(error);
    if (code == ETHOS_OK && rows->diffs && !rows->pages.streams)
        code = complete_diffs(named, &rows->pages, error);
    return code;
}

static int run_history(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    char next[HISTORY_CURSOR_SIZE];
    const struct ethos_filter filter = named_filter(call);
    CLEANUP_NAMED_FILE struct named_file named = {0};
    TRY(open_named_file(call, &named, error));
    struct history_page rows = {
        .named = &named, .error = error, .diffs = op_flag(call, "diff"), .filter = &filter};
    pages_init(&rows.pages, call, "items");
    rows.limit = pages_limit(&rows.pages, HISTORY_PAGE);
    int code = list_history(call, &named, &rows, error);
    snprintf(next, sizeof next, "%" PRIu64 ".%" PRIu64, rows.last.number, rows.last.besides);
    if (code == ETHOS_OK)
        code = op_return(result,
                         json_pack("{s:O, s:o}", "items", rows.pages.rows, "nextCursor",
                                   op_json_string(rows.more ? next : NULL)),
                         error);
    json_decref(rows.pages.rows);
    return code;
}

/* ---- diff ----------------------------------------------------------------------------------- */

/* The revisions of the newest change. */
struct newest_change {
    char from[ETHOS_REVISION_SIZE], to[ETHOS_REVISION_SIZE];
    bool any;
};

static int record_newest_versions(void *arg, const struct ethos_change *change)
{
    struct newest_change *last = arg;
    if (change->via && strcmp(change->via, "seen") == 0)
        return ETHOS_OK;
    snprintf(last->from, sizeof last->from, "%s", change->before);
    snprintf(last->to, sizeof last->to, "%s", change->after);
    last->any = true;
    return 1; // enough
}

/* Chooses what to compare: two versions, one version and the current text, or both sides of the last change. */
static int choose_versions(const struct op_call *call, const struct named_file *named,
                           struct newest_change *out, struct ethos_error *error)
{
    const char *names[] = {op_string(call, "from"), op_string(call, "to")};
    *out = (struct newest_change){.any = names[0] != NULL};
    if (!names[0]) {
        int code = ethos_history(named->turn, &named->target, NULL, record_newest_versions, out,
                                 error);
        return code == 1 ? ETHOS_OK : code;
    }
    for (int i = 0; i < 2; i++) {
        CLEANUP_FILE struct ethos_file *file = NULL;
        TRY(names[i] ? ethos_read_version(named->turn, &named->target, names[i], &file, error)
                     : ethos_read(named->turn, &named->target, &file, error));
        memcpy(i == 0 ? out->from : out->to, file->revision, sizeof out->from);
    }
    return ETHOS_OK;
}

static int run_diff(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    struct newest_change last;
    CLEANUP_NAMED_FILE struct named_file named = {0};
    CLEANUP_STR struct str diff;
    str_init(&diff, ETHOS_MAX_STORE_BYTES);
    TRY(open_named_file(call, &named, error));
    TRY(choose_versions(call, &named, &last, error));
    if (!last.any)
        return op_return(result, json_null(), error);
    TRY(change_diff(named.turn, &named.target, last.from, last.to, &diff, error));
    return op_return(result,
                     json_pack("{s:s, s:s, s:o, s:o, s:o}", "scope", named.aimed.scope, "key",
                               named.aimed.key, "from", op_json_revision(last.from), "to",
                               op_json_revision(last.to), "diff", json_text(str_view(&diff))),
                     error);
}

/* ---- texts of the history, by hash ---------------------------------------------------------- */

struct wanted_revision {
    const char *revision;
    char key[ETHOS_MAX_KEY + 1];
};

static int match_revision(void *arg, const struct ethos_change *change)
{
    struct wanted_revision *wanted = arg;
    bool found = strcmp(change->before, wanted->revision) == 0 ||
                 strcmp(change->after, wanted->revision) == 0;
    if (found)
        snprintf(wanted->key, sizeof wanted->key, "%s", change->key);
    return found ? 1 : ETHOS_OK;
}

/* The text with this hash if a file of the scope ever had it; JSON null if not, or if it is not a hash. */
static int read_history_blob(const struct named_file *named, const char *blob, json_t **out,
                             struct ethos_error *error)
{
    char revision[ETHOS_REVISION_SIZE];
    struct wanted_revision wanted = {.revision = revision};
    struct ethos_file *file = NULL;
    struct ethos_provider *provider = service_provider(named->turn, named->aimed.scope,
                                                       named->aimed.key);
    snprintf(revision, sizeof revision, "sha256:%s", blob);
    int code = hash_is_hex(view_str(blob)) && SLOT_PROVIDER(provider, history)
                   ? provider->ops->history(provider, named->aimed.scope, NULL, match_revision,
                                            &wanted, error)
                   : ETHOS_OK;
    const struct ethos_target target = {NULL, named->aimed.scope, wanted.key};
    if (code == 1)
        code = ethos_read_version(named->turn, &target, revision, &file, error);
    if (code == ETHOS_NOTFOUND)
        code = ETHOS_OK;
    if (code == ETHOS_OK)
        *out = file && file->text ? json_text(view_of(file->text, file->size)) : json_null();
    ethos_file_free(file);
    return code;
}

static int run_history_blob(struct op_call *call, struct op_result *result,
                            struct ethos_error *error)
{
    json_t *content = NULL;
    CLEANUP_NAMED_FILE struct named_file named = {0};
    TRY(open_named_file(call, &named, error));
    TRY(read_history_blob(&named, op_string(call, "blob"), &content, error));
    return op_return(result, json_pack("{s:o}", "content", content), error);
}

/* ---- restore and undo ----------------------------------------------------------------------- */

static int restore_version(struct ethos_turn *turn, const struct op_call *call,
                           const struct ethos_sync_how *how, json_t *more,
                           struct ethos_error *error)
{
    (void)more;
    struct ethos_target target = report_target(call);
    const char *revision = op_string(call, "revision"), *slug = op_string(call, "slug");
    if (!revision == !slug)
        return err_hint(error, err_set(error, ETHOS_INVALID, "give either a version or a slug"),
                        "for example: ethos memory restore 12");
    return slug ? archived_restore(turn, target.scope, slug, how, error)
                : ethos_restore(turn, &target, revision, how, error);
}

static int run_restore(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return report_run(restore_version, call, result, error);
}

/* Undoes in every file of the scope that the arguments name. */
static int undo_in_scope(struct ethos_turn *turn, const struct op_call *call,
                         const struct ethos_filter *filter, const struct ethos_sync_how *how,
                         struct ethos_error *error)
{
    struct scope_target aimed;
    const struct ethos_target named = report_target(call);
    if (op_string(call, "key") || how->if_match)
        return err_hint(
            error,
            err_set(error, ETHOS_INVALID, "'all' cannot be combined with 'key' or 'ifMatch'"),
            "leave out 'all' to undo changes of one file only");
    TRY(scope_target(ethos_turn_context(turn), named.store, named.scope, named.key, false, &aimed,
                     error));
    return undo_all(turn, aimed.scope, filter, how, error);
}

static int undo_change(struct ethos_turn *turn, const struct op_call *call,
                       const struct ethos_sync_how *how, json_t *more, struct ethos_error *error)
{
    (void)more;
    struct ethos_target target = report_target(call);
    struct scope_target aimed;
    const struct ethos_filter filter = named_filter(call);
    if (op_flag(call, "all"))
        return undo_in_scope(turn, call, &filter, how, error);
    if (filter.number && !op_string(call, "key")) {
        TRY(scope_target(ethos_turn_context(turn), target.store, target.scope, target.key, false,
                         &aimed, error));
        TRY(undo_find_number(turn, aimed.scope, filter.number, aimed.key, error));
        target = (struct ethos_target){NULL, aimed.scope, aimed.key};
    }
    return ethos_undo(turn, &target, &filter, how, error);
}

/* Undoes the last operation on the named note, or on any note of the scope. */
static int undo_note(struct ethos_turn *turn, const struct op_call *call,
                     const struct ethos_sync_how *how, json_t *more, struct ethos_error *error)
{
    (void)more;
    struct scope_target aimed;
    struct ethos_filter filter = named_filter(call);
    const struct ethos_target target = {NULL, aimed.scope, aimed.key};
    bool named = op_string(call, "name");
    if (named && filter.number)
        return err_hint(error,
                        err_set(error, ETHOS_INVALID, "a name and 'change' are mutually exclusive"),
                        "leave one of them out");
    TRY(named ? find_note(turn, call, &aimed, error)
              : notes_scope(turn, op_string(call, "scope"), aimed.scope, error));
    if (!named)
        TRY(filter.number ? undo_find_number(turn, aimed.scope, filter.number, aimed.key, error)
                          : undo_newest(turn, aimed.scope, aimed.key, &filter.number, error));
    return ethos_undo(turn, &target, &filter, how, error);
}

struct undone {
    json_t *numbers;   /* of all files so far */
    size_t seen;       /* changes of this file */
    json_int_t number; /* of the change that undid them */
    json_int_t before; /* number of the previous change, or 0 */
};

/* The newest change is the undo itself; the next one is the change before it. */
static int record_undone(void *arg, const struct ethos_change *change)
{
    struct undone *undone = arg;
    if (undone->seen++ > 0) {
        undone->before = (json_int_t)change->number;
        return 1;
    }
    json_t *row = change_json("", change);
    const json_t *numbers = json_object_get(row, "undoes");
    undone->number = (json_int_t)change->number;
    if (json_is_array(numbers))
        json_array_extend(undone->numbers, (json_t *)numbers);
    json_decref(row);
    return row ? ETHOS_OK : ETHOS_NOMEM;
}

/*
 * Adds which changes were undone, and the number of the undo, by which it can itself be undone. If they cannot be read,
 * the report is returned without them.
 */
static int add_undone(struct op_call *call, json_t **json, struct ethos_error *error)
{
    size_t i;
    const json_t *row, *written = json_object_get(*json, "written");
    struct ethos_turn *turn = NULL;
    struct undone undone = {.numbers = json_array()};
    bool all = op_flag(call, "all");
    int code = ethos_turn_new(call->ethos, call->request, &turn, error);
    json_array_foreach (written, i, row) {
        const struct ethos_target target = {NULL, json_string_value(json_object_get(row, "scope")),
                                            json_string_value(json_object_get(row, "key"))};
        undone.seen = 0;
        if (code >= 0 && (all || i == 0))
            code = ethos_history(turn, &target, NULL, record_undone, &undone, error);
    }
    ethos_turn_free(turn);
    op_json_put(json, "undone", undone.numbers);
    if (!all && undone.number > 0)
        op_json_put(json, "change", json_integer(undone.number));
    if (undone.before > 0 && !op_flag(call, "all"))
        op_json_put(json, "before", json_integer(undone.before));
    return code == ETHOS_NOMEM || !*json ? err_nomem(error) : code < 0 ? code : ETHOS_OK;
}

static int report_undo(report_fn *undo, struct op_call *call, struct op_result *result,
                       struct ethos_error *error)
{
    int code = report_run(undo, call, result, error);
    bool any_done = result->code == ETHOS_OK || op_flag(call, "all");
    if (code == ETHOS_OK && !call->dry_run && any_done) {
        struct ethos_error why = {0};
        int undone = add_undone(call, &result->json, &why);
        if (result->code == ETHOS_OK) {
            result->code = undone;
            result->error = why;
        }
    }
    if (code == ETHOS_OK && !result->json)
        return err_set(error, ETHOS_NOMEM, "done, but out of memory for the report");
    return code;
}

static int run_undo(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    return report_undo(undo_change, call, result, error);
}

/* Whether a restored file is a note without text. */
static bool is_empty_note(struct ethos_turn *turn, const char *scope, const char *key)
{
    const struct ethos_target target = {NULL, scope, key};
    CLEANUP_FILE struct ethos_file *file = NULL;
    struct note note = {0};
    if (strcmp(key, NOTES_INDEX) == 0 || ethos_read(turn, &target, &file, NULL) != ETHOS_OK)
        return false;
    if (file->text)
        note_parse(view_of(file->text, file->size), &note);
    return note.has_frontmatter && view_trim(note.body).size == 0;
}

/* Undo restores a note, but not the lines that memory.forget removed from it. */
static int warn_empty_notes(struct op_call *call, json_t **json, struct ethos_error *error)
{
    size_t i;
    const json_t *row;
    struct ethos_turn *turn = NULL;
    json_t *others = json_object_get(*json, "warnings");
    json_t *warnings = others ? json_incref(others) : json_array();
    int code = ethos_turn_new(call->ethos, call->request, &turn, error);
    json_array_foreach (json_object_get(*json, "written"), i, row) {
        const char *key = json_string_value(json_object_get(row, "key"));
        const char *scope = json_string_value(json_object_get(row, "scope"));
        if (code == ETHOS_OK && is_empty_note(turn, scope, key))
            op_json_push(
                &warnings,
                json_sprintf("%s is empty: its text was forgotten, or it never had one", key));
    }
    ethos_turn_free(turn);
    if (json_array_size(warnings) > 0)
        op_json_put(json, "warnings", json_incref(warnings));
    json_decref(warnings);
    return code;
}

static int run_undo_note(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    int code = report_undo(undo_note, call, result, error);
    if (code == ETHOS_OK && result->code == ETHOS_OK && !call->dry_run)
        result->code = warn_empty_notes(call, &result->json, &result->error);
    return code;
}

/* ---- blame ---------------------------------------------------------------------------------- */

#define BLAME_PAGE 1000 /* lines, unless a limit is given */

#define BLAME_CHANGES 64 /* cached as JSON; neighbours in the history do not collide */

/* Lines of one change share its JSON, which is many times larger than a short line. */
struct blamed {
    struct row_pages lines;
    const char *scope;
    struct {
        const struct ethos_change *change;
        json_t *json;
    } cache[BLAME_CHANGES];
};

static json_t *blamed_change(struct blamed *blamed, const struct ethos_change *change)
{
    size_t slot = (uintptr_t)change / sizeof *change % BLAME_CHANGES;
    if (!change)
        return json_null();
    if (change != blamed->cache[slot].change) {
        json_decref(blamed->cache[slot].json);
        blamed->cache[slot].json = change_json(blamed->scope, change);
        blamed->cache[slot].change = change;
    }
    return json_incref(blamed->cache[slot].json);
}

static int add_blamed_line(void *arg, const struct ethos_blame *blame)
{
    struct blamed *blamed = arg;
    return pages_add(&blamed->lines,
                     json_pack("{s:I, s:o, s:o, s:o}", "line", (json_int_t)blame->line, "text",
                               json_text(blame->text), "change",
                               blamed_change(blamed, blame->change), "replaced",
                               blame->replaced.data ? json_text(blame->replaced) : json_null()));
}

/* The lines to show: the named one (*out_most is 0), or a page. */
static int blame_range(const struct row_pages *pages, size_t *out_first, size_t *out_most,
                       struct ethos_error *error)
{
    const char *cursor = op_string(pages->call, "cursor");
    int64_t line = op_integer(pages->call, "line", 0);
    char *end = NULL;
    unsigned long long first = cursor ? strtoull(cursor, &end, 10) : 1;
    if (cursor && (*cursor < '1' || *cursor > '9' || *end || first > UINT32_MAX))
        return pages_refuse(error);
    *out_first = line ? (size_t)line : (size_t)first;
    *out_most = line             ? 0
                : pages->streams ? SIZE_MAX
                                 : (size_t)op_integer(pages->call, "limit", BLAME_PAGE);
    return ETHOS_OK;
}

static json_t *blame_json(const struct named_file *named, json_t *lines, size_t next, size_t total)
{
    char cursor[24];
    snprintf(cursor, sizeof cursor, "%zu", next);
    return json_pack("{s:s, s:s, s:O, s:o}", "scope", named->aimed.scope, "key", named->aimed.key,
                     "lines", lines, "nextCursor", op_json_string(next <= total ? cursor : NULL));
}

static int run_blame(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    size_t first, most, total = 0;
    CLEANUP_NAMED_FILE struct named_file named = {0};
    TRY(open_named_file(call, &named, error));
    struct blamed blamed = {.scope = named.aimed.scope};
    pages_init(&blamed.lines, call, "lines");
    int code = blame_range(&blamed.lines, &first, &most, error);
    if (code == ETHOS_OK)
        code = blame_lines(named.turn, &named.target, first, most, add_blamed_line, &blamed, &total,
                           error);
    if (code == ETHOS_NOMEM)
        err_nomem(error);
    if (code == ETHOS_OK)
        code = op_return(result,
                         blame_json(&named, blamed.lines.rows,
                                    most && most < SIZE_MAX ? first + most : SIZE_MAX, total),
                         error);
    json_decref(blamed.lines.rows);
    for (size_t i = 0; i < BLAME_CHANGES; i++)
        json_decref(blamed.cache[i].json);
    return code;
}

/* ---- the rows ------------------------------------------------------------------------------- */

#define ARG_CHANGE                                                                                 \
    {                                                                                              \
        "change", OP_INTEGER, 0, "1|9007199254740991", "N",                                        \
            "the change with this number; undoes an undo, too"                                     \
    }
#define ARG_PAST_NOTE(required)                                                                    \
    {                                                                                              \
        "name", OP_TEXT, (required) | OP_POSITIONAL, NULL, "NAME",                                 \
            "a note, by file name or title, removed ones included"                                 \
    }

static const struct op_arg history_args[] = {
    ARG_STORE,
    ARG_KEY,
    ARG_SCOPE,
    ARG_LIMIT("1|1000", "at most this many (default: all; other surfaces: 50)"),
    ARG_CURSOR,
    ARG_SOURCE,
    ARG_ACTOR,
    ARG_SESSION,
    ARG_SINCE,
    ARG_UNTIL,
    {"diff", OP_FLAG, 0, NULL, NULL, "show what each change did"},
    ARG_END};
static const struct op_arg diff_args[] = {
    {"from", OP_TEXT, OP_POSITIONAL, NULL, "REV",
     "a version: a number or a revision of the history"},
    {"to", OP_TEXT, OP_POSITIONAL, NULL, "REV", "another version (default: the file now)"},
    ARG_STORE,
    ARG_KEY,
    ARG_SCOPE,
    ARG_END};
static const struct op_arg restore_args[] = {
    {"revision", OP_TEXT, OP_POSITIONAL, NULL, "REV",
     "a version: a number or a revision of the history"},
    {"slug", OP_TEXT, 0, NULL, "SLUG", "restore this section of the archive instead"},
    ARG_STORE,
    ARG_KEY,
    ARG_SCOPE,
    ARG_IF_MATCH,
    ARG_END};
static const struct op_arg undo_args[] = {
    ARG_STORE,
    ARG_KEY,
    ARG_SCOPE,
    {"all", OP_FLAG, 0, NULL, NULL, "in every file of the scope, deleted ones included"},
    ARG_CHANGE,
    ARG_ACTOR,
    ARG_SOURCE,
    ARG_SESSION,
    ARG_SINCE,
    ARG_UNTIL,
    ARG_IF_MATCH,
    ARG_END};
static const struct op_arg blame_args[] = {
    {"line", OP_INTEGER, 0, "1|100000000", "N", "only this line, in detail"},
    ARG_LIMIT("1|10000", "at most this many lines (default: all; with --json 1000)"),
    ARG_CURSOR,
    ARG_STORE,
    ARG_KEY,
    ARG_SCOPE,
    ARG_END};

static const struct op_arg blob_args[] = {
    {"blob", OP_TEXT, OP_REQUIRED, NULL, "HEX", "the SHA-256 of a text, in hexadecimal digits"},
    ARG_SCOPE,
    ARG_END};

static const struct op_arg note_history_args[] = {
    ARG_PAST_NOTE(OP_REQUIRED),
    ARG_NOTE_SCOPE,
    ARG_LIMIT("1|1000", "at most this many (default: all; other surfaces: 50)"),
    ARG_CURSOR,
    ARG_SOURCE,
    ARG_ACTOR,
    ARG_SESSION,
    ARG_SINCE,
    ARG_UNTIL,
    {"diff", OP_FLAG, 0, NULL, NULL, "show what each change did"},
    ARG_END};
static const struct op_arg note_undo_args[] = {ARG_PAST_NOTE(0), ARG_NOTE_SCOPE, ARG_CHANGE,
                                               ARG_IF_MATCH, ARG_END};
static const struct op_arg note_blame_args[] = {
    ARG_PAST_NOTE(OP_REQUIRED),
    {"line", OP_INTEGER, 0, "1|100000000", "N", "only this line, in detail"},
    ARG_LIMIT("1|10000", "at most this many lines (default: all; with --json 1000)"),
    ARG_CURSOR,
    ARG_NOTE_SCOPE,
    ARG_END};

const struct op ops_history[] = {
    {"memory.history", "memory history", "List the versions of a file, newest first",
     "ethos memory history --since 7d --diff", history_args, OP_MEMORY_READ, OP_IDEMPOTENT,
     run_history},
    {"memory.diff", "memory diff", "Show the last change, or how versions differ",
     "ethos memory diff 12", diff_args, OP_MEMORY_READ, OP_IDEMPOTENT, run_diff},
    {"memory.historyBlob", NULL, "Read a text of the history by its hash", NULL, blob_args,
     OP_MEMORY_READ, OP_IDEMPOTENT, run_history_blob},
    {"memory.restore", "memory restore", "Restore a version, byte for byte",
     "ethos memory restore 12", restore_args, OP_MEMORY_WRITE,
     OP_WRITES | OP_DESTRUCTIVE | OP_IDEMPOTENT, run_restore},
    {"memory.undo", "memory undo", "Undo the last change, or those of an actor or session",
     "ethos memory undo --actor external --since 12h", undo_args, OP_MEMORY_WRITE,
     OP_WRITES | OP_DESTRUCTIVE, run_undo},
    {"memory.blame", "memory blame", "Show who wrote each line, when and how",
     "ethos memory blame --line 3", blame_args, OP_MEMORY_READ, OP_IDEMPOTENT, run_blame},
    {"notes.history", "notes history", "List the versions of a note, newest first",
     "ethos notes history running-the-tests --diff", note_history_args, OP_MEMORY_READ,
     OP_IDEMPOTENT, run_history},
    {"notes.undo", "notes undo", "Undo the last operation on a note, with its line in the index",
     "ethos notes undo running-the-tests", note_undo_args, OP_MEMORY_WRITE,
     OP_WRITES | OP_DESTRUCTIVE, run_undo_note},
    {"notes.blame", "notes blame", "Show who wrote each line of a note, when and how",
     "ethos notes blame running-the-tests", note_blame_args, OP_MEMORY_READ, OP_IDEMPOTENT,
     run_blame},
    {0}};
