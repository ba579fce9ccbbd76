/*
 * notes_graph.c: the operation notes.graph: the notes of a scope and the links between them.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text/slug.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/notes/links.h"
#include "core/notes/note.h"
#include "memory/handle.h"
#include "memory/notes/check.h"
#include "memory/notes/list.h"
#include "ops/paging.h"
#include "ops/tables.h"

#define DAY_MS 86400000

#define GRAPH_PAGE 1000 /* notes, unless a limit is given */

struct graph {
    int64_t now_ms;
    json_t *reasons; /* of the last check: {"key": "text"} */
    struct row_pages nodes;
    const char *after; /* the cursor; NULL once the page has begun */
    size_t limit;
    char last[ETHOS_MAX_KEY + 1];
    char cursor[NOTES_CURSOR_SIZE];
    bool more;
    json_t *names; /* what links may name: {"name": "key"} */
    json_t *links; /* {"key": {"name": true}} */
    struct str word;
};

/* ---- nodes ------------------------------------------------------------------------------------ */

/* The first finding of the last check about the text of each note. */
static json_t *reasons_of(const json_t *findings)
{
    size_t i;
    json_t *row, *reasons = json_object();
    json_array_foreach ((json_t *)findings, i, row) {
        struct ethos_view kind = json_view(row, "kind"), key = json_view(row, "key");
        bool listing = view_eq_str(kind, "unlisted") || view_eq_str(kind, "double");
        json_t *text = json_object_get(row, "text");
        if (!listing && key.data && text && !json_object_get(reasons, key.data))
            op_json_put(&reasons, key.data, json_incref(text));
    }
    return reasons;
}

/* Why a note should be reviewed, by its own dates or by the last check; NULL if it need not be. */
static const char *stale_reason(const struct graph *graph, const struct ethos_note *note)
{
    return note->stale ? note->stale
                       : json_string_value(json_object_get(graph->reasons, note->key));
}

/* Days since the note was verified, created, or its file changed; JSON null if unknown. */
static json_t *age_json(const struct graph *graph, const struct ethos_note *note)
{
    const char *const dates[] = {note->verified, note->created};
    int64_t ms = note->mtime_ms;
    for (size_t i = sizeof dates / sizeof *dates; i-- > 0;) {
        int64_t said;
        if (dates[i] && clock_parse(view_str(dates[i]), graph->now_ms, false, &said, NULL))
            ms = said;
    }
    int64_t days = (graph->now_ms - ms) / DAY_MS;
    return ms < 0 ? json_null() : json_integer(days > 0 ? days : 0);
}

static int add_node(struct graph *graph, const struct ethos_note *note)
{
    snprintf(graph->last, sizeof graph->last, "%s", note->key);
    return pages_add(&graph->nodes,
                     json_pack("{s:s, s:o, s:o, s:o, s:b, s:o}", "key", note->key, "title",
                               json_text(view_str(note->title)), "type", op_json_string(note->type),
                               "stale", op_json_string(stale_reason(graph, note)), "listed",
                               note->listed, "age", age_json(graph, note)));
}

/* ---- names and links -------------------------------------------------------------------------- */

/* If several notes have a name, it means the first one. */
static void add_link_name(struct graph *graph, struct ethos_view name, const char *key)
{
    str_clear(&graph->word);
    str_add(&graph->word, view_trim(name));
    if (graph->word.size > 0 && !json_object_get(graph->names, graph->word.data))
        op_json_put(&graph->names, graph->word.data,
                    str_code(&graph->word) == ETHOS_OK ? json_string(key) : NULL);
}

static void add_note_names(struct graph *graph, const struct ethos_note *note)
{
    struct note parsed;
    struct str name;
    str_init(&name, ETHOS_MAX_READ_BYTES);
    note_parse(note->text, &parsed);
    note_value(parsed.name, &name);
    add_link_name(graph, view_str(note->key), note->key);
    add_link_name(graph, view_of(note->key, strlen(note->key) - strlen(".md")), note->key);
    add_link_name(graph, view_str(note->title), note->key);
    add_link_name(graph, str_view(&name), note->key);
    if (str_code(&name) != ETHOS_OK)
        op_json_put(&graph->names, "", NULL);
    str_release(&name);
}

static void add_links(struct graph *graph, const struct ethos_note *note)
{
    struct ethos_view rest = note->text, name;
    json_t *own = json_object();
    while (own && link_next(&rest, &name)) {
        str_clear(&graph->word);
        str_add(&graph->word, view_trim(name));
        if (utf8_valid(str_view(&graph->word)) && !memchr(name.data, 0, name.size))
            op_json_put(&own, graph->word.data,
                        str_code(&graph->word) == ETHOS_OK ? json_true() : NULL);
    }
    op_json_put(&graph->links, note->key, own);
}

static int add_note_to_graph(void *arg, const struct ethos_note *note)
{
    struct graph *graph = arg;
    if (graph->after && notes_cursor_next(graph->after, note->key))
        graph->after = NULL;
    bool begun = !graph->after, full = json_array_size(graph->nodes.rows) >= graph->limit;
    int code = ETHOS_OK;
    add_note_names(graph, note); // a link may lead to a note of another page
    if (begun && !full) {
        code = add_node(graph, note);
        add_links(graph, note);
    }
    if (begun && full && !graph->more)
        snprintf(graph->cursor, sizeof graph->cursor, "%s/%s", graph->last, note->key);
    graph->more |= begun && full;
    if (graph->after && notes_cursor_last(graph->after, note->key))
        graph->after = NULL;
    return code == ETHOS_OK && graph->names && graph->links ? ETHOS_OK : ETHOS_NOMEM;
}

/* The key that a link names, directly or by the file name its title would get; NULL if there is none. */
static const char *find_link_target(struct graph *graph, const char *name)
{
    const json_t *key = json_object_get(graph->names, name);
    if (!key) {
        str_clear(&graph->word);
        slug_note(view_str(name), SLUG_NOTE_MAX, &graph->word);
        key = json_object_get(graph->names, graph->word.data);
    }
    return json_string_value(key);
}

static json_t *link_rows(struct graph *graph)
{
    json_t *rows = json_array(), *own, *unused;
    const char *from, *name;
    json_object_foreach (graph->links, from, own) {
        json_t *seen = json_object();
        json_object_foreach (own, name, unused) {
            const char *to = find_link_target(graph, name);
            const char *shown = to ? to : name;
            if (json_object_get(seen, shown) || strcmp(shown, from) == 0)
                continue;
            op_json_put(&seen, shown, json_true());
            op_json_push(&rows,
                         json_pack("{s:s, s:s, s:b}", "from", from, "to", shown, "broken", !to));
        }
        if (!seen)
            op_json_push(&rows, NULL);
        json_decref(seen);
    }
    return rows;
}

/* ---- the operation ---------------------------------------------------------------------------- */

static int build_graph(struct ethos_turn *turn, const char *scope, struct graph *graph,
                       struct op_result *result, struct ethos_error *error)
{
    json_t *findings = NULL;
    int code = notes_check_last(turn, scope, &findings, error);
    graph->reasons = reasons_of(findings);
    json_decref(findings);
    if (code == ETHOS_OK && !graph->reasons)
        code = ETHOS_NOMEM;
    if (code == ETHOS_OK)
        code = ethos_notes(turn, scope, add_note_to_graph, graph, error);
    if (code == ETHOS_OK && graph->after)
        code = pages_refuse(error);
    if (code == ETHOS_OK)
        code = op_return(result,
                         json_pack("{s:s, s:O, s:o, s:o}", "scope", scope, "nodes",
                                   graph->nodes.rows, "links", link_rows(graph), "nextCursor",
                                   op_json_string(graph->more ? graph->cursor : NULL)),
                         error);
    json_decref(graph->reasons);
    return code == ETHOS_NOMEM ? err_nomem(error) : code;
}

static int run_graph(struct op_call *call, struct op_result *result, struct ethos_error *error)
{
    char scope[ETHOS_MAX_SCOPE];
    CLEANUP_TURN struct ethos_turn *turn = NULL;
    TRY(ethos_turn_new(call->ethos, call->request, &turn, error));
    TRY(notes_scope(turn, op_string(call, "scope"), scope, error));
    if (!op_string(call, "cursor"))
        notes_record_external_edits(turn, scope);
    struct graph graph = {.now_ms = service_now_ms(call->ethos),
                          .after = op_string(call, "cursor"),
                          .names = json_object(),
                          .links = json_object()};
    pages_init(&graph.nodes, call, "nodes");
    graph.nodes.streams = false; // links are complete only at the end
    graph.limit = pages_limit(&graph.nodes, GRAPH_PAGE);
    str_init(&graph.word, ETHOS_MAX_READ_BYTES);
    int code = build_graph(turn, scope, &graph, result, error);
    str_release(&graph.word);
    json_decref(graph.nodes.rows);
    json_decref(graph.names);
    json_decref(graph.links);
    return code;
}

static const struct op_arg graph_args[] = {
    {"scope", OP_TEXT, 0, NULL, "SCOPE", "whose notes: workspace (default), personality, global"},
    ARG_LIMIT("1|20000", "at most this many notes (default: all; other surfaces: 1000)"),
    ARG_CURSOR,
    {NULL, OP_TEXT, 0, NULL, NULL, NULL}};

const struct op ops_notes_graph[] = {
    {"notes.graph", "notes graph", "List the notes and the links between them", "ethos notes graph",
     graph_args, OP_MEMORY_READ, OP_IDEMPOTENT, run_graph},
    {0}};
