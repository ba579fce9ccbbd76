/*
 * yaml.c: libyaml's events flattened to a table.
 *
 * A recursive walk: each mapping knows the dotted prefix of its keys and a number of its own. Every
 * key goes into one list, keys of nested mappings too; at the end the list is sorted once, which
 * finds the duplicates, and what remains is the table.
 *
 * libyaml counts characters and takes more than LF for a line end; people and editors count bytes
 * and LF. `struct cursor` translates.
 */
#include "base/yaml.h"

#include <ethos/limits.h>
#include <stdlib.h>
#include <yaml.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"

/* A place in the text: so many characters, bytes and lines from the start. */
struct cursor {
    size_t characters, bytes;
    unsigned line; /* from 1 */
};

/* One key of one mapping. value is NULL when the key holds a nested mapping. */
struct yaml_entry {
    struct yaml_pair pair;
    unsigned mapping;
    size_t order;
    struct yaml_entry *next;
};

struct yaml_walk {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one; zero when there is none */
    struct ethos_view text;
    struct cursor cursor;
    const char *what;
    struct arena *arena;
    struct yaml_entry *first, **last;
    size_t count;
    unsigned mappings; /* numbers given so far */
    unsigned depth;
    int code;
    struct ethos_error *error;
};

/* ---- places and errors ----------------------------------------------------------------------- */

static void cursor_step(struct cursor *cursor, struct ethos_view text)
{
    uint32_t cp;

    cursor->bytes += utf8_decode(text.data + cursor->bytes, text.size - cursor->bytes, &cp, NULL);
    cursor->characters++;
    cursor->line += cp == '\n';
}

/* Marks come nearly in order, so the cursor rarely starts again. */
static struct cursor cursor_at(struct yaml_walk *w, size_t characters)
{
    if (characters < w->cursor.characters)
        w->cursor = (struct cursor){.line = 1};
    while (w->cursor.characters < characters && w->cursor.bytes < w->text.size)
        cursor_step(&w->cursor, w->text);
    return w->cursor;
}

static bool fail_walk(struct yaml_walk *w, int code, unsigned line, const char *reason)
{
    w->code = err_set(w->error, code, "%s:%u: %s", w->what, line, reason);
    return false;
}

static bool fail_here(struct yaml_walk *w, const char *reason)
{
    return fail_walk(w, ETHOS_INVALID, cursor_at(w, w->event.start_mark.index).line, reason);
}

static bool fail_nomem(struct yaml_walk *w)
{
    w->code = err_nomem(w->error);
    return false;
}

static unsigned line_at_byte(struct ethos_view text, size_t bytes)
{
    unsigned line = 1;

    for (size_t i = 0; i < bytes && i < text.size; i++)
        line += text.data[i] == '\n';
    return line;
}

static bool fail_parser(struct yaml_walk *w)
{
    const yaml_parser_t *parser = &w->parser;

    if (parser->error == YAML_MEMORY_ERROR)
        return fail_nomem(w);
    unsigned line = parser->error == YAML_READER_ERROR
                        ? line_at_byte(w->text, parser->problem_offset)
                        : cursor_at(w, parser->problem_mark.index).line;
    return fail_walk(w, ETHOS_INVALID, line, parser->problem ? parser->problem : "cannot be read");
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool check_node(struct yaml_walk *w, const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (anchor)
        return fail_here(w, "anchors are not allowed");
    return !tag || fail_here(w, "tags are not allowed");
}

static bool check_scalar(struct yaml_walk *w)
{
    const yaml_char_t *value = w->event.data.scalar.value;

    if (!check_node(w, w->event.data.scalar.anchor, w->event.data.scalar.tag))
        return false;
    if (memchr(value, '\0', w->event.data.scalar.length))
        return fail_here(w, "NUL is not allowed");
    return true;
}

static bool check_document(struct yaml_walk *w)
{
    const yaml_tag_directive_t *start = w->event.data.document_start.tag_directives.start;

    return start == w->event.data.document_start.tag_directives.end ||
           fail_here(w, "tags are not allowed");
}

/* Moves to the next event and refuses what the subset leaves out. */
static bool next_yaml_event(struct yaml_walk *w)
{
    yaml_event_delete(&w->event);
    if (!yaml_parser_parse(&w->parser, &w->event)) {
        w->event = (yaml_event_t){0};
        return fail_parser(w);
    }
    switch (w->event.type) {
    case YAML_ALIAS_EVENT:
        return fail_here(w, "aliases are not allowed");
    case YAML_SCALAR_EVENT:
        return check_scalar(w);
    case YAML_SEQUENCE_START_EVENT:
        return check_node(w, w->event.data.sequence_start.anchor, w->event.data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
        return check_node(w, w->event.data.mapping_start.anchor, w->event.data.mapping_start.tag);
    case YAML_DOCUMENT_START_EVENT:
        return check_document(w);
    default:
        return true;
    }
}

static struct ethos_view scalar(const struct yaml_walk *w)
{
    return view_of((const char *)w->event.data.scalar.value, w->event.data.scalar.length);
}

/* ---- the walk -------------------------------------------------------------------------------- */

static bool read_mapping(struct yaml_walk *w, const char *prefix);

/* Takes the key of the current event into a new entry. */
static struct yaml_entry *add_yaml_entry(struct yaml_walk *w, const char *prefix, unsigned mapping)
{
    struct ethos_view key = scalar(w);
    struct yaml_entry *entry = arena_alloc(w->arena, sizeof(*entry));

    if (entry)
        entry->pair.key = arena_printf(w->arena, "%s%s%.*s", prefix, *prefix ? "." : "",
                                       VIEW_ARG(key));
    if (!entry || !entry->pair.key) {
        fail_nomem(w);
        return NULL;
    }
    entry->pair.line = cursor_at(w, w->event.start_mark.index).line;
    entry->mapping = mapping;
    entry->order = w->count++;
    *w->last = entry;
    w->last = &entry->next;
    return entry;
}

/*
 * Whether what follows a value reads the same when the value changes its quotes. Two things libyaml
 * reads do not: 'a'#b, and a plain value before an otherwise blank line with a tab.
 */
static bool stands_apart(struct ethos_view rest)
{
    bool new_line = false;

    if (rest.size > 0 && !strchr(" \t\r\n", rest.data[0]))
        return false;
    for (size_t i = 0; i < rest.size && strchr(" \t\r\n", rest.data[i]); i++) {
        if (new_line && rest.data[i] == '\t')
            return false;
        new_line = new_line || rest.data[i] == '\n' || rest.data[i] == '\r';
    }
    return true;
}

/* Whether yaml_quote's text may take the place of this scalar; see struct yaml_pair. */
static bool replaceable(const struct yaml_walk *w, const struct yaml_pair *pair)
{
    const yaml_event_t *event = &w->event;
    yaml_scalar_style_t style = event->data.scalar.style;

    if (style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE)
        return false;
    // An empty value may also belong to a key that stands alone after "?".
    if (pair->start == pair->end && (pair->start == 0 || w->text.data[pair->start - 1] != ':'))
        return false;
    return event->start_mark.line == event->end_mark.line &&
           stands_apart(view_from(w->text, pair->end));
}

static bool read_scalar(struct yaml_walk *w, struct yaml_pair *pair, bool flow)
{
    pair->value = arena_copy(w->arena, scalar(w));
    if (!pair->value)
        return fail_nomem(w);
    pair->start = cursor_at(w, w->event.start_mark.index).bytes;
    pair->end = cursor_at(w, w->event.end_mark.index).bytes;
    pair->plain = !flow && replaceable(w, pair);
    return true;
}

static bool read_sequence_items(struct yaml_walk *w, struct str *joined)
{
    bool first = true;

    while (next_yaml_event(w)) {
        if (w->event.type == YAML_SEQUENCE_END_EVENT)
            return str_code(joined) == ETHOS_OK || fail_nomem(w);
        if (w->event.type != YAML_SCALAR_EVENT)
            return fail_here(w, "a list may hold single values only");
        if (!first)
            str_addc(joined, ',');
        str_add(joined, scalar(w));
        first = false;
    }
    return false;
}

static bool read_sequence(struct yaml_walk *w, struct yaml_pair *pair)
{
    struct str joined;

    str_init(&joined, ETHOS_MAX_YAML_BYTES * 4);
    pair->start = cursor_at(w, w->event.start_mark.index).bytes;
    bool ok = read_sequence_items(w, &joined);
    if (ok) {
        pair->end = cursor_at(w, w->event.end_mark.index).bytes;
        pair->value = arena_copy(w->arena, str_view(&joined));
        ok = pair->value || fail_nomem(w);
    }
    str_release(&joined);
    return ok;
}

static bool check_mapping_key(struct yaml_walk *w)
{
    if (w->event.type != YAML_SCALAR_EVENT)
        return fail_here(w, "a key must be a single value");
    struct ethos_view key = scalar(w);
    if (key.size == 0)
        return fail_here(w, "empty key");
    if (view_eq_str(key, "<<") && w->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
        return fail_here(w, "merge keys are not allowed");
    return true;
}

/* One key and its value; the current event is the key. */
static bool read_mapping_member(struct yaml_walk *w, const char *prefix, unsigned mapping,
                                bool flow)
{
    if (!check_mapping_key(w))
        return false;
    struct yaml_entry *entry = add_yaml_entry(w, prefix, mapping);
    if (!entry || !next_yaml_event(w))
        return false;
    switch (w->event.type) {
    case YAML_SCALAR_EVENT:
        return read_scalar(w, &entry->pair, flow);
    case YAML_SEQUENCE_START_EVENT:
        return read_sequence(w, &entry->pair);
    default:
        return read_mapping(w, entry->pair.key);
    }
}

static bool read_mapping(struct yaml_walk *w, const char *prefix)
{
    unsigned mapping = ++w->mappings;
    bool flow = w->event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;

    if (w->depth == ETHOS_MAX_YAML_DEPTH)
        return fail_walk(w, ETHOS_LIMIT, cursor_at(w, w->event.start_mark.index).line,
                         "nested too deeply");
    w->depth++;
    while (next_yaml_event(w)) {
        if (w->event.type == YAML_MAPPING_END_EVENT) {
            w->depth--;
            return true;
        }
        if (!read_mapping_member(w, prefix, mapping, flow))
            return false;
    }
    return false;
}

/* What stands at the top: a mapping, or nothing. */
static bool read_root(struct yaml_walk *w)
{
    if (w->event.type == YAML_MAPPING_START_EVENT)
        return read_mapping(w, "");
    if (w->event.type == YAML_SCALAR_EVENT && scalar(w).size == 0)
        return true;
    return fail_here(w, "keys and values are expected");
}

static bool read_stream(struct yaml_walk *w)
{
    if (!next_yaml_event(w) ||
        !next_yaml_event(w)) // the start of the stream, and what comes first in it
        return false;
    if (w->event.type == YAML_STREAM_END_EVENT)
        return true;
    if (!next_yaml_event(w) || !read_root(w) || !next_yaml_event(w) || !next_yaml_event(w))
        return false;
    return w->event.type == YAML_STREAM_END_EVENT || fail_here(w, "only one document is allowed");
}

/* ---- from entries to the table --------------------------------------------------------------- */

static int compare_entries_by_key(const void *a, const void *b)
{
    const struct yaml_entry *left = *(struct yaml_entry *const *)a,
                            *right = *(struct yaml_entry *const *)b;
    int order = strcmp(left->pair.key, right->pair.key);

    return order ? order : left->order < right->order ? -1 : 1;
}

/* The same dotted key twice: an error, or the later one is dropped because it says the same. */
static bool reconcile(struct yaml_walk *w, const struct yaml_entry *early, struct yaml_entry *late)
{
    const struct yaml_pair *pair = &late->pair;
    const char *reason = NULL;

    if (early->mapping == late->mapping)
        reason = "duplicate key";
    else if (early->pair.value && pair->value && strcmp(early->pair.value, pair->value) != 0)
        reason = "another value for the key";
    if (reason) {
        w->code = err_set(w->error, ETHOS_INVALID, "%s:%u: %s %s, first on line %u", w->what,
                          pair->line, reason, pair->key, early->pair.line);
        return false;
    }
    if (early->pair.value)
        late->pair.value = NULL;
    return true;
}

static bool drop_repeated(struct yaml_walk *w)
{
    struct yaml_entry **sorted = arena_array(w->arena, w->count, sizeof(struct yaml_entry *));
    size_t count = 0;

    if (!sorted)
        return fail_nomem(w);
    for (struct yaml_entry *entry = w->first; entry; entry = entry->next)
        sorted[count++] = entry;
    qsort(sorted, count, sizeof(struct yaml_entry *), compare_entries_by_key);
    for (size_t i = 1; i < count; i++) {
        for (size_t j = i; j > 0 && strcmp(sorted[j - 1]->pair.key, sorted[i]->pair.key) == 0;
             j--) {
            if (!reconcile(w, sorted[j - 1], sorted[i]))
                return false;
        }
    }
    return true;
}

static bool make_table(struct yaml_walk *w, struct yaml_table *out)
{
    struct yaml_table table = {.pairs = arena_array(w->arena, w->count, sizeof(struct yaml_pair))};

    if (!table.pairs)
        return fail_nomem(w);
    for (const struct yaml_entry *entry = w->first; entry; entry = entry->next) {
        if (entry->pair.value)
            table.pairs[table.count++] = entry->pair;
    }
    *out = table;
    return true;
}

/* ---- interface ------------------------------------------------------------------------------- */

/* What libyaml would report without a line, or in its own words. */
static int check_encoding(struct ethos_view text, const char *what, struct ethos_error *error)
{
    bool ok = true;
    size_t at = 0;

    if (text.size > ETHOS_MAX_YAML_BYTES)
        return err_set(error, ETHOS_LIMIT, "%s: larger than %d bytes", what, ETHOS_MAX_YAML_BYTES);
    while (at < text.size && ok && text.data[at] != '\0') {
        uint32_t cp;
        size_t taken = utf8_decode(text.data + at, text.size - at, &cp, &ok);

        at += ok ? taken : 0;
    }
    if (at == text.size)
        return ETHOS_OK;
    return err_set(error, ETHOS_INVALID, "%s:%u: %s", what, line_at_byte(text, at),
                   ok ? "NUL is not allowed" : "invalid UTF-8");
}

int yaml_parse(struct ethos_view text, const char *what, struct arena *arena,
               struct yaml_table *out, struct ethos_error *error)
{
    struct yaml_walk w = {
        .text = text, .cursor = {.line = 1}, .what = what, .arena = arena, .error = error};
    int code = check_encoding(text, what, error);

    if (code)
        return code;
    w.last = &w.first;
    if (!yaml_parser_initialize(&w.parser))
        return err_nomem(error);
    yaml_parser_set_encoding(&w.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&w.parser, (const yaml_char_t *)(text.size ? text.data : ""),
                                 text.size);
    if (read_stream(&w) && drop_repeated(&w))
        make_table(&w, out);
    yaml_event_delete(&w.event);
    yaml_parser_delete(&w.parser);
    return w.code;
}

const struct yaml_pair *yaml_find(const struct yaml_table *table, const char *key)
{
    for (size_t i = 0; i < table->count; i++) {
        if (strcmp(table->pairs[i].key, key) == 0)
            return &table->pairs[i];
    }
    return NULL;
}

const char *yaml_get(const struct yaml_table *table, const char *key)
{
    const struct yaml_pair *pair = yaml_find(table, key);

    return pair ? pair->value : NULL;
}
