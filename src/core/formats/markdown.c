/*
 * markdown.c: builds nodes from the callbacks of md4c.
 *
 * md4c reports no positions. But nearly every text it passes points into the source, so a block begins at the line of its
 * first text; for blocks without text, the lines after the last known position are searched.
 *
 * Links without markup are found here, because md4c 0.4.8 is quadratic there, ends spans that never began, and passes
 * texts that are longer than the source. Its other callbacks are checked, too.
 */
#include "core/formats/markdown.h"

#include <md4c.h>
#include <stdlib.h>
#include <string.h>

#include <ethos/limits.h>

#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/view.h"
#include "core/formats/markdown_internal.h"
#include "core/notes/note.h"

#define LOOK_AHEAD 16 /* lines searched for a rule */
#define OWN_STRING 64 /* bytes of a text that is not in the source: blanks, a line end */
#define FRONT 1000    /* frontmatter, a type of block that md4c does not have */

/* An open node. */
struct node_frame {
    json_t *node, *children;
    bool block;
    unsigned type; /* of the block or span */
    size_t line;   /* from 1; 0: not known yet */
};

struct builder {
    struct ethos_view source;
    uint32_t *starts; /* of lines */
    size_t line_count;
    size_t seen; /* the text up to here belongs to finished blocks */
    struct node_frame frames[MARKDOWN_DEPTH];
    size_t depth;                       /* number of open nodes */
    size_t deeper_blocks, deeper_spans; /* open ones that are too deep to be nodes */
    size_t images;                      /* open spans from an image on */
    size_t nodes, copied;
    size_t code_lines; /* empty lines of a code block before its first text */
    bool fenced;
    struct str text; /* since the last node */
    json_t *root;
    int code;
};

static json_t *children_of(struct builder *self)
{
    return self->depth > 0 ? self->frames[self->depth - 1].children : self->root;
}

/* Ends parsing. md4c does not always stop, so callbacks check the code, too. */
static int fail_parse(struct builder *self, int code)
{
    return self->code = code;
}

/* 0, or a code that ends parsing. */
static int fail_unless(struct builder *self, bool ok)
{
    return ok ? 0 : fail_parse(self, ETHOS_NOMEM);
}

static int add_plain(struct builder *self, struct ethos_view text)
{
    return fail_unless(self, text.size == 0 ||
                                 json_array_append_new(children_of(self), json_text(text)) == 0);
}

/* Adds invisible characters, as a node or as text. */
static int add_hidden(struct builder *self, struct ethos_view text, bool as_node)
{
    struct str shown;
    str_init(&shown, SIZE_MAX);
    int failed = fail_unless(self, markdown_show(text, &shown) == ETHOS_OK);
    if (!failed && as_node && ++self->nodes > MARKDOWN_NODES)
        failed = fail_parse(self, ETHOS_LIMIT);
    json_t *child = failed ? NULL : json_text(str_view(&shown));
    str_release(&shown);
    if (child && as_node)
        child = json_pack("{s:s, s:[o]}", "t", "hidden", "c", child);
    return failed ? failed
                  : fail_unless(self, json_array_append_new(children_of(self), child) == 0);
}

/* Whether a node is allowed here. In an image, everything is text. */
static bool can_hold_nodes(const struct builder *self)
{
    const struct node_frame *frame = self->depth > 0 ? &self->frames[self->depth - 1] : NULL;
    return self->depth < MARKDOWN_DEPTH && (!frame || frame->block || frame->type != MD_SPAN_IMG);
}

static int add_string(struct builder *self, struct ethos_view text)
{
    struct markdown_hidden hidden;
    size_t at = 0;
    int failed = 0;
    for (; !failed && markdown_hidden(text, at, &hidden); at = hidden.end) {
        failed = add_plain(self, view_of(text.data + at, hidden.start - at));
        if (!failed)
            failed = add_hidden(self, view_of(text.data + hidden.start, hidden.end - hidden.start),
                                can_hold_nodes(self));
    }
    return failed ? failed : add_plain(self, view_from(text, at));
}

static int add_link(struct builder *self, struct ethos_view text, bool mail)
{
    struct markdown_hidden hidden;
    struct str url;
    if (markdown_hidden(text, 0, &hidden))
        return add_string(self, text); // the link would not lead where it seems to
    str_init(&url, SIZE_MAX);
    str_adds(&url, mail ? "mailto:" : "");
    str_add(&url, text);
    json_t *node = str_code(&url) != ETHOS_OK
                       ? NULL
                       : json_pack("{s:s, s:o, s:[o]}", "t", "a", "href", json_text(str_view(&url)),
                                   "c", json_text(text));
    str_release(&url);
    if (++self->nodes > MARKDOWN_NODES) {
        json_decref(node);
        return fail_parse(self, ETHOS_LIMIT);
    }
    return fail_unless(self, json_array_append_new(children_of(self), node) == 0);
}

/* Whether a link is allowed here: not in code, and not in another link. */
static bool can_hold_links(const struct builder *self)
{
    for (size_t i = self->depth; i > 0; i--) {
        const struct node_frame *frame = &self->frames[i - 1];
        if (frame->block)
            return frame->type != MD_BLOCK_CODE && frame->type != FRONT;
        if (frame->type == MD_SPAN_CODE || frame->type == MD_SPAN_A || frame->type == MD_SPAN_IMG ||
            frame->type == MD_SPAN_WIKILINK)
            return false;
    }
    return true;
}

/* Adds the text since the last node. */
static int flush_text(struct builder *self)
{
    struct markdown_link link;
    struct ethos_view text = str_view(&self->text);
    bool links = can_hold_nodes(self) && can_hold_links(self);
    size_t at = 0;
    int failed = 0;
    while (links && !failed && markdown_link(text, at, &link)) {
        failed = add_string(self, view_of(text.data + at, link.start - at));
        if (!failed)
            failed = add_link(self, view_of(text.data + link.start, link.end - link.start),
                              link.mail);
        at = link.end;
    }
    if (!failed)
        failed = add_string(self, view_from(text, at));
    str_clear(&self->text);
    return failed;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool index_lines(struct builder *self)
{
    size_t room = 2;
    for (size_t i = 0; i < self->source.size; i++)
        room += self->source.data[i] == '\n';
    self->starts = calloc(room, sizeof *self->starts);
    if (!self->starts)
        return false;
    for (size_t i = 0; i < self->source.size; i++)
        if (i == 0 || self->source.data[i - 1] == '\n')
            self->starts[self->line_count++] = (uint32_t)i;
    return true;
}

/* The line of an offset, from 0. */
static size_t line_at(const struct builder *self, size_t offset)
{
    size_t from = 0, to = self->line_count;
    while (from + 1 < to) {
        size_t middle = (from + to) / 2;
        if (self->starts[middle] <= offset)
            from = middle;
        else
            to = middle;
    }
    return from;
}

static struct ethos_view line_text(const struct builder *self, size_t line)
{
    size_t start = self->starts[line];
    size_t end = line + 1 < self->line_count ? self->starts[line + 1] : self->source.size;
    return view_of(self->source.data + start, end - start);
}

/* Records that everything up to the end of a line is finished. */
static void mark_line_seen(struct builder *self, size_t line)
{
    struct ethos_view text = line_text(self, line);
    self->seen = (size_t)(text.data - self->source.data) + text.size;
}

/* Sets the line of the open blocks that have none yet. */
static int set_line(struct builder *self, size_t line)
{
    for (size_t i = self->depth; i-- > 0 && !self->frames[i].line;) {
        struct node_frame *frame = &self->frames[i];
        frame->line = line + 1;
        if (frame->block &&
            json_object_set_new(frame->node, "line", json_integer((json_int_t)line + 1)) != 0)
            return fail_parse(self, ETHOS_NOMEM);
    }
    return 0;
}

/* Whether a line has only these characters, and at least `least` of the counted ones. */
static bool has_only_characters(struct ethos_view line, const char *characters, const char *counted,
                                size_t least)
{
    size_t count = 0;
    for (size_t i = 0; i < line.size; i++) {
        char c = line.data[i];
        if (!c || !strchr(characters, c))
            return false;
        count += strchr(counted, c) != NULL;
    }
    return count >= least;
}

static bool is_rule(struct ethos_view line)
{
    return has_only_characters(line, " \t\r\n>+-*_.)0123456789", "-*_", 3);
}

/* Finds the line of a block without text: the next line that could be it. */
static int guess_line(struct builder *self, bool rule)
{
    size_t next = self->seen > 0 ? line_at(self, self->seen - 1) + 1 : 0;
    while (next < self->line_count && view_blank(line_text(self, next)))
        next++;
    for (size_t i = next; rule && i < self->line_count && i < next + LOOK_AHEAD; i++) {
        if (is_rule(line_text(self, i))) {
            next = i;
            break;
        }
    }
    if (next >= self->line_count)
        next = self->line_count - 1;
    mark_line_seen(self, next);
    return set_line(self, next);
}

/* Finds the line of a block without text; an empty cell has the line of its row, if that is known. */
static int locate_unseen_block(struct builder *self, MD_BLOCKTYPE type)
{
    size_t row = self->depth > 1 ? self->frames[self->depth - 2].line : 0;
    bool cell = type == MD_BLOCK_TD || type == MD_BLOCK_TH;
    return cell && row ? set_line(self, row - 1) : guess_line(self, type == MD_BLOCK_HR);
}

/* Skips the next line if it belongs to the block that ends. */
static void mark_block_end(struct builder *self, MD_BLOCKTYPE type)
{
    size_t line = self->seen > 0 ? line_at(self, self->seen - 1) : 0;
    if (self->seen == 0 || line + 1 >= self->line_count)
        return;
    struct ethos_view text = line_text(self, line + 1);
    bool below = type == MD_BLOCK_H ? has_only_characters(text, " \t\r\n>=", "=", 1) ||
                                          has_only_characters(text, " \t\r\n>-", "-", 1)
                 : type == MD_BLOCK_CODE
                     ? self->fenced && has_only_characters(text, " \t\r\n>`~", "`~", 3)
                     : type == MD_BLOCK_THEAD;
    bool marked = type == MD_BLOCK_H &&
                  view_starts(view_trim_start(line_text(self, line)), VIEW("#"));
    if (below && !marked)
        mark_line_seen(self, line + 1);
}

/*
 * Records the position of a text. Before the first text of a code block are its fence and empty lines. False if the text
 * is neither in the source nor one of md4c's own short strings.
 */
static bool record_position(struct builder *self, struct ethos_view text, int *out_failed)
{
    uintptr_t at = (uintptr_t)text.data, start = (uintptr_t)self->source.data;
    *out_failed = 0;
    if (at < start || at >= start + self->source.size)
        return text.size <= OWN_STRING;
    size_t offset = (size_t)(at - start), line = line_at(self, offset);
    size_t before = self->code_lines + self->fenced;
    if (text.size > self->source.size - offset)
        return false;
    self->seen = offset + text.size;
    if (self->depth > 0 && !self->frames[self->depth - 1].line)
        *out_failed = set_line(self, line > before ? line - before : 0);
    return true;
}

/* ---- members --------------------------------------------------------------------------------- */

static int set_node_member(struct builder *self, json_t *node, const char *name, json_t *value)
{
    return fail_unless(self, json_object_set_new(node, name, value) == 0);
}

static void add_piece(struct str *out, MD_TEXTTYPE type, struct ethos_view piece)
{
    if (type == MD_TEXT_ENTITY)
        markdown_entity(piece, out);
    else
        str_add(out, type == MD_TEXT_NULLCHAR ? VIEW("\xEF\xBF\xBD") : piece);
}

/* Sets a member with invisible characters shown, except the name of a note. */
static int set_visible_text(struct builder *self, json_t *node, const char *name,
                            struct ethos_view text)
{
    struct str shown;
    if (strcmp(name, "note") == 0)
        return set_node_member(self, node, name, json_text(text));
    str_init(&shown, SIZE_MAX);
    int failed = fail_unless(self, markdown_show(text, &shown) == ETHOS_OK);
    if (!failed)
        failed = set_node_member(self, node, name, json_text(str_view(&shown)));
    str_release(&shown);
    return failed;
}

/* Sets a member from an attribute, unless it is empty or a link that is not allowed. */
static int set_attribute(struct builder *self, json_t *node, const char *name,
                         const MD_ATTRIBUTE *from)
{
    struct str out;
    bool link = strcmp(name, "href") == 0;
    self->copied += from->size;
    if (self->copied > MARKDOWN_COPY)
        return fail_parse(self, ETHOS_LIMIT);
    str_init(&out, SIZE_MAX);
    for (size_t i = 0; from->size > 0 && from->substr_offsets[i] < from->size; i++) {
        MD_OFFSET start = from->substr_offsets[i];
        add_piece(&out, from->substr_types[i],
                  view_of(from->text + start, from->substr_offsets[i + 1] - start));
    }
    int failed = fail_unless(self, str_code(&out) == ETHOS_OK);
    if (!failed && out.size > 0 && (!link || markdown_url_ok(str_view(&out))))
        failed = set_visible_text(self, node, name, str_view(&out));
    str_release(&out);
    return failed;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Opens a node; *out_node is NULL if it is too deep. */
static int open_node(struct builder *self, const char *tag, bool block, unsigned type,
                     json_t **out_node)
{
    *out_node = NULL;
    if (self->depth == MARKDOWN_DEPTH) {
        ++*(block ? &self->deeper_blocks : &self->deeper_spans);
        return 0;
    }
    if (++self->nodes > MARKDOWN_NODES)
        return fail_parse(self, ETHOS_LIMIT);
    if (flush_text(self))
        return self->code;
    json_t *node = json_pack("{s:s}", "t", tag), *children = json_array();
    if (!node || !children || json_array_append(children_of(self), node) != 0) {
        json_decref(node);
        json_decref(children);
        return fail_parse(self, ETHOS_NOMEM);
    }
    self->frames[self->depth++] = (struct node_frame){node, children, block, type, 0};
    *out_node = node;
    return 0;
}

/* Closes the innermost node. */
static int close_node(struct builder *self, bool empty)
{
    if (flush_text(self))
        return self->code;
    struct node_frame *frame = &self->frames[--self->depth];
    int failed = empty ? 0
                       : fail_unless(self, json_object_set(frame->node, "c", frame->children) == 0);
    json_decref(frame->children);
    json_decref(frame->node);
    return failed;
}

/* The depth of the innermost open span of a type in this block; 0 if there is none. */
static size_t find_span(const struct builder *self, unsigned type)
{
    for (size_t i = self->depth; i > 0 && !self->frames[i - 1].block; i--)
        if (self->frames[i - 1].type == type)
            return i;
    return 0;
}

/* Closes all nodes deeper than `depth`. */
static int close_to(struct builder *self, size_t depth)
{
    int failed = 0;
    while (!failed && self->depth > depth)
        failed = close_node(self, false);
    return failed;
}

/* Closes the spans of the current block. */
static int close_spans(struct builder *self)
{
    size_t depth = self->depth;
    while (depth > 0 && !self->frames[depth - 1].block)
        depth--;
    self->deeper_spans = self->images = 0;
    return close_to(self, depth);
}

static const char *const block_tags[] = {
    [MD_BLOCK_QUOTE] = "quote", [MD_BLOCK_UL] = "ul",       [MD_BLOCK_OL] = "ol",
    [MD_BLOCK_LI] = "li",       [MD_BLOCK_HR] = "hr",       [MD_BLOCK_H] = "h",
    [MD_BLOCK_CODE] = "code",   [MD_BLOCK_HTML] = "p",      [MD_BLOCK_P] = "p",
    [MD_BLOCK_TABLE] = "table", [MD_BLOCK_THEAD] = "thead", [MD_BLOCK_TBODY] = "tbody",
    [MD_BLOCK_TR] = "tr",       [MD_BLOCK_TH] = "th",       [MD_BLOCK_TD] = "td",
};

static int set_align(struct builder *self, json_t *node, const MD_BLOCK_TD_DETAIL *detail)
{
    static const char *const names[] = {NULL, "left", "center", "right"};
    const char *name = names[detail->align];
    return name ? set_node_member(self, node, "align", json_string(name)) : 0;
}

static int describe_block(struct builder *self, MD_BLOCKTYPE type, void *detail, json_t *node)
{
    const MD_BLOCK_LI_DETAIL *item = detail;
    switch (type) {
    case MD_BLOCK_H:
        return set_node_member(self, node, "level",
                               json_integer(((MD_BLOCK_H_DETAIL *)detail)->level));
    case MD_BLOCK_OL:
        return set_node_member(self, node, "start",
                               json_integer(((MD_BLOCK_OL_DETAIL *)detail)->start));
    case MD_BLOCK_LI:
        return item->is_task
                   ? set_node_member(self, node, "checked", json_boolean(item->task_mark != ' '))
                   : 0;
    case MD_BLOCK_CODE:
        return set_attribute(self, node, "lang", &((MD_BLOCK_CODE_DETAIL *)detail)->lang);
    case MD_BLOCK_TH:
    case MD_BLOCK_TD:
        return set_align(self, node, detail);
    default:
        return 0;
    }
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    struct builder *self = arg;
    json_t *node;
    if (type == MD_BLOCK_DOC || self->code != ETHOS_OK)
        return self->code;
    if (type == MD_BLOCK_CODE) {
        self->fenced = ((MD_BLOCK_CODE_DETAIL *)detail)->fence_char != 0;
        self->code_lines = 0;
    }
    int failed = open_node(self, block_tags[type], true, type, &node);
    return failed || !node ? failed : describe_block(self, type, detail, node);
}

static int end_block(struct builder *self, MD_BLOCKTYPE type)
{
    int failed = self->frames[self->depth - 1].line ? 0 : locate_unseen_block(self, type);
    mark_block_end(self, type);
    if (type == MD_BLOCK_CODE) {
        self->fenced = false;
        self->code_lines = 0;
    }
    return failed ? failed : close_node(self, type == MD_BLOCK_HR);
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    (void)detail;
    struct builder *self = arg;
    if (type == MD_BLOCK_DOC || self->code != ETHOS_OK || close_spans(self))
        return self->code;
    if (self->deeper_blocks == 0)
        return self->depth > 0 ? end_block(self, type) : 0;
    self->deeper_blocks--;
    return fail_unless(self, str_addc(&self->text, '\n') == ETHOS_OK);
}

/* ---- spans ----------------------------------------------------------------------------------- */

static const char *const span_tags[] = {
    [MD_SPAN_EM] = "em",        [MD_SPAN_STRONG] = "strong",        [MD_SPAN_A] = "a",
    [MD_SPAN_IMG] = "img",      [MD_SPAN_CODE] = "code-span",       [MD_SPAN_DEL] = "del",
    [MD_SPAN_LATEXMATH] = "em", [MD_SPAN_LATEXMATH_DISPLAY] = "em", [MD_SPAN_WIKILINK] = "a",
    [MD_SPAN_U] = "em",
};

static int describe_span(struct builder *self, MD_SPANTYPE type, void *detail, json_t *node)
{
    const MD_SPAN_A_DETAIL *link = detail;
    if (type == MD_SPAN_IMG)
        return set_attribute(self, node, "href", &((MD_SPAN_IMG_DETAIL *)detail)->src);
    if (type == MD_SPAN_WIKILINK)
        return set_attribute(self, node, "note", &((MD_SPAN_WIKILINK_DETAIL *)detail)->target);
    if (type != MD_SPAN_A)
        return 0;
    int failed = set_attribute(self, node, "href", &link->href);
    return failed ? failed : set_attribute(self, node, "title", &link->title);
}

/* In an image, everything is text. */
static int enter_span(MD_SPANTYPE type, void *detail, void *arg)
{
    struct builder *self = arg;
    json_t *node;
    if (self->code != ETHOS_OK)
        return self->code;
    if (self->images > 0) {
        self->images++;
        return 0;
    }
    self->images = type == MD_SPAN_IMG;
    int failed = open_node(self, span_tags[type], false, type, &node);
    return failed || !node ? failed : describe_span(self, type, detail, node);
}

static int leave_span(MD_SPANTYPE type, void *detail, void *arg)
{
    (void)detail;
    struct builder *self = arg;
    if (self->code != ETHOS_OK)
        return self->code;
    if (self->images > 1) {
        self->images--;
        return 0;
    }
    self->images = 0;
    size_t at = self->deeper_spans == 0 ? find_span(self, type) : 0;
    self->deeper_spans -= self->deeper_spans > 0;
    return at ? close_to(self, at - 1) : 0;
}

static int add_break(struct builder *self)
{
    json_t *node;
    if (self->images > 0 || self->depth == MARKDOWN_DEPTH)
        return fail_unless(self, str_addc(&self->text, '\n') == ETHOS_OK);
    int failed = open_node(self, "br", false, 0, &node);
    return failed ? failed : close_node(self, true);
}

static int add_source_text(MD_TEXTTYPE type, const MD_CHAR *data, MD_SIZE size, void *arg)
{
    struct builder *self = arg;
    struct ethos_view text = view_of(data, size);
    int failed;
    if (self->code != ETHOS_OK || !record_position(self, text, &failed) || failed)
        return self->code;
    if (type == MD_TEXT_BR)
        return add_break(self);
    if (type == MD_TEXT_CODE)
        self->code_lines += view_eq(text, VIEW("\n"));
    add_piece(&self->text, type, type == MD_TEXT_SOFTBR ? VIEW("\n") : text);
    return fail_unless(self, str_code(&self->text) == ETHOS_OK);
}

/* ---- the document ---------------------------------------------------------------------------- */

static int add_front(struct builder *self, struct ethos_view lines)
{
    json_t *node;
    int failed = open_node(self, "front", true, FRONT, &node);
    if (!failed)
        failed = set_line(self, 0);
    if (!failed)
        failed = fail_unless(self, str_add(&self->text, lines) == ETHOS_OK);
    return failed ? failed : close_node(self, false);
}

static int parse_document(struct builder *self, const struct note *note)
{
    static const MD_PARSER parser = {
        .flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS | MD_FLAG_WIKILINKS |
                 MD_FLAG_NOHTML,
        .enter_block = enter_block,
        .leave_block = leave_block,
        .enter_span = enter_span,
        .leave_span = leave_span,
        .text = add_source_text,
    };
    struct ethos_view body = note->body;
    if (note->has_frontmatter && add_front(self, note->frontmatter))
        return self->code;
    self->seen = (size_t)(body.data - self->source.data);
    int failed = md_parse(body.data, (MD_SIZE)body.size, &parser, self);
    if (failed && self->code == ETHOS_OK)
        self->code = ETHOS_NOMEM;
    return self->code;
}

static int build_nodes(struct ethos_view text, const struct note *note, json_t **out_nodes)
{
    struct builder builder = {.source = text, .root = json_array()};
    str_init(&builder.text, SIZE_MAX);
    int code = builder.root && index_lines(&builder) ? parse_document(&builder, note) : ETHOS_NOMEM;
    if (code == ETHOS_OK && flush_text(&builder))
        code = ETHOS_NOMEM;
    while (builder.depth > 0) { // after a failure
        json_decref(builder.frames[--builder.depth].node);
        json_decref(builder.frames[builder.depth].children);
    }
    free(builder.starts);
    str_release(&builder.text);
    if (code == ETHOS_OK)
        *out_nodes = builder.root;
    else
        json_decref(builder.root);
    return code;
}

int markdown_nodes(struct ethos_view text, json_t **out_nodes, struct ethos_error *error)
{
    struct note note;
    if (text.size > ETHOS_MAX_READ_BYTES || utf8_units(text) > ETHOS_MAX_FILE_CH)
        return err_set(error, ETHOS_LIMIT, "too long to be shown as markdown");
    note_parse(text, &note);
    int code = markdown_affordable(note.body, error);
    if (code != ETHOS_OK)
        return code;
    code = build_nodes(text, &note, out_nodes);
    return code == ETHOS_LIMIT   ? err_set(error, code, "too large to be shown as markdown")
           : code == ETHOS_NOMEM ? err_nomem(error)
                                 : code;
}
