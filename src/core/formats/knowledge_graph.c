/*
 * knowledge_graph.c: imports a knowledge graph in JSON lines. An entity becomes a fact whose text lists its observations,
 * and its relations as links.
 *
 *     {"type":"entity","name":"Ada","entityType":"person","observations":["Likes tea"]}
 *     {"type":"relation","from":"Ada","to":"Acme","relationType":"works at"}
 *
 *     - Likes tea
 *     - works at [[acme]]
 */
#include "core/formats/memory_formats_internal.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "base/text/slug.h"
#include "base/view.h"

#define TEXT_MAX ((size_t)64 << 20) /* bytes of all facts together */

struct bullet {
    struct bullet *next;
    struct ethos_view text;
};

struct entity {
    struct ethos_view name, type;
    struct bullet *bullets, **last;
    size_t line;
};

struct graph {
    const struct format_reading *reading;
    struct entity *entities;
    size_t count;
    json_t *places; /* name: number of its entity */
    json_t *said;   /* "<number of the entity> <bullet>" */
    struct str scratch;
    size_t line;
    bool relations; /* this pass reads relations */
};

static bool copy_view(struct graph *graph, struct ethos_view v, struct ethos_view *out)
{
    *out = view_of(arena_copy(graph->reading->arena, v), v.size);
    return out->data;
}

static void report_skipped(const struct graph *graph, const char *why)
{
    graph->reading->skip(graph->reading->arg, graph->line, why);
}

/* *out: whether the entity has the bullet in scratch already. Records the bullet. */
static int check_said(struct graph *graph, const struct entity *entity, bool *out)
{
    struct str name;
    str_init(&name, TEXT_MAX);
    str_printf(&name, "%zu ", (size_t)(entity - graph->entities));
    str_add(&name, str_view(&graph->scratch));
    int code = str_code(&name);
    *out = code == ETHOS_OK && json_object_getn(graph->said, name.data, name.size);
    if (code == ETHOS_OK && !*out &&
        json_object_setn_new(graph->said, name.data, name.size, json_true()) != 0)
        code = ETHOS_NOMEM;
    str_release(&name);
    return code;
}

/* Adds the bullet in scratch to the entity, unless it has it already. */
static int add_bullet(struct graph *graph, struct entity *entity)
{
    bool said;
    if (str_code(&graph->scratch) != ETHOS_OK || check_said(graph, entity, &said) != ETHOS_OK)
        return ETHOS_NOMEM;
    if (said) {
        report_skipped(graph,
                       graph->relations ? "a duplicate relation" : "a duplicate observation");
        return ETHOS_OK;
    }
    struct bullet *bullet = arena_alloc(graph->reading->arena, sizeof *bullet);
    if (!bullet || !copy_view(graph, str_view(&graph->scratch), &bullet->text))
        return ETHOS_NOMEM;
    *entity->last = bullet;
    entity->last = &bullet->next;
    return ETHOS_OK;
}

/* Appends a bullet; further lines of the text are indented. */
static void write_bullet(struct str *out, struct ethos_view text)
{
    struct ethos_view line;
    bool first = true;
    while (view_line(&text, &line)) {
        str_adds(out, first ? "- " : "\n  ");
        str_add(out, view_trim_end(line));
        first = false;
    }
}

static int add_observation(struct graph *graph, struct entity *entity, const json_t *value)
{
    struct ethos_view text = view_trim(
        view_of(json_string_value(value), json_string_length(value)));
    if (text.size == 0) {
        report_skipped(graph, "an observation that is not a text");
        return ETHOS_OK;
    }
    str_clear(&graph->scratch);
    write_bullet(&graph->scratch, text);
    return add_bullet(graph, entity);
}

/* Adds a list of observations, or a single one that is not in a list. */
static int add_observations(struct graph *graph, struct entity *entity, const json_t *list)
{
    size_t index;
    json_t *value;
    if (list && !json_is_array(list))
        return add_observation(graph, entity, list);
    json_array_foreach ((json_t *)list, index, value)
        TRY(add_observation(graph, entity, value));
    return ETHOS_OK;
}

static struct entity *find_entity(const struct graph *graph, struct ethos_view name)
{
    const json_t *place = json_object_getn(graph->places, name.data, name.size);
    return place ? &graph->entities[json_integer_value(place)] : NULL;
}

/* Adds an entity; the array is large enough. Entities with the same name are one. */
static int add_entity(struct graph *graph, const json_t *row)
{
    struct ethos_view name = json_view(row, "name");
    if (view_blank(name)) {
        report_skipped(graph, "an entity without a name");
        return ETHOS_OK;
    }
    struct entity *entity = find_entity(graph, name);
    if (!entity) {
        entity = &graph->entities[graph->count];
        *entity = (struct entity){.last = &entity->bullets, .line = graph->line};
        if (!copy_view(graph, name, &entity->name) ||
            !copy_view(graph, view_trim(json_view(row, "entityType")), &entity->type) ||
            json_object_setn_new(graph->places, name.data, name.size,
                                 json_integer((json_int_t)graph->count)) != 0)
            return ETHOS_NOMEM;
        graph->count++;
    }
    return add_observations(graph, entity, json_object_get(row, "observations"));
}

static int add_relation(struct graph *graph, const json_t *row)
{
    struct ethos_view from = json_view(row, "from"), to = json_view(row, "to");
    struct entity *entity = from.data ? find_entity(graph, from) : NULL;
    if (!entity || view_blank(to)) {
        report_skipped(graph, entity ? "a relation to nothing" : "a relation of an unknown entity");
        return ETHOS_OK;
    }
    str_clear(&graph->scratch);
    write_bullet(&graph->scratch, view_trim(json_view(row, "relationType")));
    str_adds(&graph->scratch, graph->scratch.size > 0 ? " [[" : "- [[");
    slug_note(to, SLUG_NOTE_MAX, &graph->scratch);
    str_adds(&graph->scratch, "]]");
    return add_bullet(graph, entity);
}

/* The first pass adds entities and reports skipped lines; the second adds relations. */
static int add_graph_row(struct graph *graph, const json_t *row)
{
    struct ethos_view type = json_view(row, "type");
    bool entity = view_eq(type, VIEW("entity")), relation = view_eq(type, VIEW("relation"));
    if (graph->relations)
        return relation ? add_relation(graph, row) : ETHOS_OK;
    if (entity)
        return add_entity(graph, row);
    if (!relation)
        report_skipped(graph, "neither an entity nor a relation");
    return ETHOS_OK;
}

static int read_graph_rows(struct graph *graph, bool relations)
{
    struct ethos_view rest = view_unmarked(graph->reading->text), line;
    int code = ETHOS_OK;
    graph->line = 0;
    graph->relations = relations;
    while (code == ETHOS_OK && view_line(&rest, &line)) {
        json_t *row = NULL;
        graph->line++;
        if (view_blank(line))
            continue;
        code = json_parse_wide(line, "line", &row, NULL);
        if (code == ETHOS_OK)
            code = add_graph_row(graph, row);
        else if (code != ETHOS_NOMEM && !relations)
            report_skipped(graph, "not valid JSON");
        json_decref(row);
        code = code == ETHOS_NOMEM ? code : ETHOS_OK;
    }
    return code;
}

/* Emits an entity as a fact. Its hook is "TYPE: FIRST OBSERVATION", such as "person: Likes tea". */
static int emit_entity(struct graph *graph, const struct entity *entity)
{
    struct foreign_item item = {.kind = FOREIGN_FACT,
                                .target = FOREIGN_WORKSPACE,
                                .title = view_trim(entity->name),
                                .line = entity->line};
    struct str *out = &graph->scratch;
    struct ethos_view first;
    graph->line = entity->line;
    if (!entity->bullets && entity->type.size == 0) {
        report_skipped(graph, "an entity without observations");
        return ETHOS_OK;
    }
    str_clear(out);
    for (const struct bullet *bullet = entity->bullets; bullet; bullet = bullet->next) {
        str_add(out, bullet->text);
        str_addc(out, '\n');
    }
    if (out->size == 0)
        write_bullet(out, entity->type);
    if (str_code(out) != ETHOS_OK || !copy_view(graph, view_trim(str_view(out)), &item.text))
        return ETHOS_NOMEM;
    str_clear(out);
    if (entity->type.size > 0 && entity->bullets) {
        struct ethos_view text = view_from(entity->bullets->text, 2);
        view_line(&text, &first);
        str_add(out, entity->type);
        str_adds(out, ": ");
        str_add(out, first);
        if (str_code(out) != ETHOS_OK || !copy_view(graph, str_view(out), &item.hook))
            return ETHOS_NOMEM;
    }
    return graph->reading->each(graph->reading->arg, &item);
}

static int emit_entities(struct graph *graph)
{
    for (size_t i = 0; i < graph->count; i++)
        TRY(emit_entity(graph, &graph->entities[i]));
    return ETHOS_OK;
}

/* *out: whether any line is a JSON object. Another kind of file is reported once, not line by line. */
static int check_form(const struct format_reading *reading, bool *out)
{
    struct ethos_view rest = view_unmarked(reading->text), line;
    int code = ETHOS_OK;
    *out = view_blank(rest);
    while (!*out && code != ETHOS_NOMEM && view_line(&rest, &line)) {
        json_t *row = NULL;
        code = json_parse(line, "line", &row, NULL);
        *out = json_is_object(row);
        json_decref(row);
    }
    return code == ETHOS_NOMEM ? code : ETHOS_OK;
}

int graph_facts(const struct format_reading *reading)
{
    struct graph graph = {.reading = reading};
    bool is_graph;
    int form = check_form(reading, &is_graph);
    if (form != ETHOS_OK || !is_graph) {
        if (form == ETHOS_OK)
            reading->skip(reading->arg, 1,
                          "no line of it is a JSON object: not the file of server-memory");
        return form;
    }
    struct ethos_view rest = reading->text, line;
    size_t lines = 0;
    while (view_line(&rest, &line))
        lines++;
    graph.entities = arena_array(reading->arena, lines + 1, sizeof *graph.entities);
    graph.places = json_object();
    graph.said = json_object();
    str_init(&graph.scratch, TEXT_MAX);
    int code = graph.entities && graph.places && graph.said ? ETHOS_OK : ETHOS_NOMEM;
    if (code == ETHOS_OK)
        code = read_graph_rows(&graph, false);
    if (code == ETHOS_OK)
        code = read_graph_rows(&graph, true);
    if (code == ETHOS_OK)
        code = emit_entities(&graph);
    json_decref(graph.places);
    json_decref(graph.said);
    str_release(&graph.scratch);
    return code;
}
